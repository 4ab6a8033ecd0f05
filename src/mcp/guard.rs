//! Whether a page may talk to the server: `Origin` and `Host`, against DNS rebinding (transports, security).
//!
//! A browser always says where a page comes from. Anything that is not a browser sends no Origin and is welcome.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::head::{Field, Head};

/// What is let in besides loopback and requests without an Origin.
#[derive(Clone, Debug)]
pub(super) struct Guard {
    /// Lower-case origins such as `https://reviews.example`, the server's own first.
    origins: Vec<String>,
    /// The host of the server's own origin, in lower case, without its port.
    host: String,
    /// The operator's `*`: every origin and every host.
    is_open: bool,
}

/// Why a request is refused; the culprit is the page, or whoever pointed its name at this server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GuardError {
    /// An origin that is not allowed.
    Origin,
    /// A host name that is not this server's.
    Host,
}

/// What an allowed origin gets to see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visitor {
    /// No browser: no CORS headers are needed.
    Direct,
    /// An allowed page: its origin is echoed in `Access-Control-Allow-Origin`.
    Page,
}

impl Guard {
    /// Allows the origin of `base_url`, and `allowed`: origins, or `*` for everybody.
    #[must_use]
    pub(super) fn new(base_url: &str, allowed: &[String]) -> Guard {
        let own = origin_of(base_url).to_ascii_lowercase();
        let host = host_of(&own).to_owned();
        let mut origins = vec![own];
        origins.extend(
            allowed
                .iter()
                .map(|origin| origin.trim_end_matches('/').to_ascii_lowercase()),
        );
        Guard {
            is_open: origins.iter().any(|origin| origin == "*"),
            origins,
            host,
        }
    }

    /// Judges a request.
    ///
    /// A Host may be our own, loopback, or any address: only a name can be rebound. The port is not looked at.
    ///
    /// # Errors
    /// `Origin` for a foreign, repeated or opaque (`null`) one, `Host` for a foreign or repeated one.
    pub(super) fn check(&self, head: &Head<'_>) -> Result<Visitor, GuardError> {
        let visitor = match head.origin {
            Field::Absent => Visitor::Direct,
            Field::One(origin) if self.allows_origin(origin) => Visitor::Page,
            _ => return Err(GuardError::Origin),
        };
        match head.host {
            Field::Absent => Ok(visitor),
            Field::One(host) if self.is_open || self.allows_host(host) => Ok(visitor),
            _ => Err(GuardError::Host),
        }
    }

    fn allows_origin(&self, origin: &[u8]) -> bool {
        if self.is_open {
            return true;
        }
        let is_listed = |listed: &String| listed.as_bytes().eq_ignore_ascii_case(origin);
        if self.origins.iter().any(is_listed) {
            return true;
        }
        let Ok(origin) = std::str::from_utf8(origin) else {
            return false;
        };
        match origin.split_once("://") {
            Some((scheme, _)) if scheme == "http" || scheme == "https" => {
                is_loopback(host_of(origin))
            }
            _ => false,
        }
    }

    fn allows_host(&self, host: &[u8]) -> bool {
        let Ok(host) = std::str::from_utf8(host) else {
            return false;
        };
        let name = name_of(host);
        name.eq_ignore_ascii_case(&self.host) || is_loopback(name) || is_address(name)
    }
}

/// The scheme and authority of a URL.
fn origin_of(url: &str) -> &str {
    let authority = url.find("://").map_or(0, |at| at + 3);
    match url[authority..].find(['/', '?', '#']) {
        Some(end) => &url[..authority + end],
        None => url,
    }
}

/// The host of an origin, as [`name_of`] gives it.
fn host_of(origin: &str) -> &str {
    name_of(origin.split_once("://").map_or(origin, |(_, rest)| rest))
}

/// The host of an authority, without its port; an IPv6 address keeps its brackets. Empty if there is more.
fn name_of(authority: &str) -> &str {
    let end = match authority.find(']') {
        Some(bracket) if authority.starts_with('[') => bracket + 1,
        _ => authority.find(':').unwrap_or(authority.len()),
    };
    let (host, port) = authority.split_at(end);
    // What is neither empty nor a port is no authority that a browser sends, so it is nobody's.
    let is_port = match port.strip_prefix(':') {
        Some(digits) => digits.bytes().all(|byte| byte.is_ascii_digit()),
        None => port.is_empty(),
    };
    if is_port { host } else { "" }
}

fn is_loopback(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<Ipv4Addr>().is_ok_and(|ip| ip.is_loopback())
        || ipv6(host).is_some_and(|ip| ip.is_loopback())
}

fn is_address(host: &str) -> bool {
    host.parse::<Ipv4Addr>().is_ok() || ipv6(host).is_some()
}

fn ipv6(host: &str) -> Option<Ipv6Addr> {
    host.strip_prefix('[')?.strip_suffix(']')?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(
        guard: &Guard,
        origin: Option<&str>,
        host: Option<&str>,
    ) -> Result<Visitor, GuardError> {
        let field = |text: Option<&'static str>| match text {
            Some(text) => Field::One(text.as_bytes()),
            None => Field::Absent,
        };
        let leak = |text: &str| -> &'static str { String::leak(text.to_owned()) };
        let mut head = Head::bare(b"POST");
        head.origin = field(origin.map(leak));
        head.host = field(host.map(leak));
        guard.check(&head)
    }

    #[test]
    fn own_and_loopback_origins_are_welcome_and_so_is_none() {
        let guard = Guard::new("https://Reviews.example/", &[]);
        assert_eq!(judge(&guard, None, None), Ok(Visitor::Direct));
        for origin in [
            "https://reviews.example",
            "HTTPS://REVIEWS.EXAMPLE",
            "http://localhost",
            "http://localhost:5173",
            "https://127.0.0.1:1",
            "http://127.8.9.1",
            "http://[::1]:3000",
        ] {
            assert_eq!(
                judge(&guard, Some(origin), None),
                Ok(Visitor::Page),
                "{origin}"
            );
        }
    }

    #[test]
    fn foreign_origins_are_refused() {
        let guard = Guard::new("https://reviews.example", &[]);
        for origin in [
            "http://reviews.example",
            "https://reviews.example:444",
            "https://reviews.example.evil.example",
            "http://localhost.evil.example",
            "http://127.0.0.1.evil.example",
            "https://evil.example",
            "null",
            "",
            "file://localhost",
            "localhost",
            "http://[::2]",
            "http://localhost:1@evil.example",
            "http://localhost@evil.example",
            "http://localhost/",
            "http://localhost:80:80",
            "http://[::1]x",
        ] {
            assert_eq!(
                judge(&guard, Some(origin), None),
                Err(GuardError::Origin),
                "{origin}"
            );
        }
        let mut head = Head::bare(b"POST");
        head.origin = Field::Repeated;
        assert_eq!(guard.check(&head), Err(GuardError::Origin));
        head.origin = Field::One(b"http://\xff");
        assert_eq!(guard.check(&head), Err(GuardError::Origin));
    }

    #[test]
    fn the_operator_may_allow_more_or_everybody() {
        let some = Guard::new("https://reviews.example", &["https://App.example/".into()]);
        assert_eq!(
            judge(&some, Some("https://app.example"), None),
            Ok(Visitor::Page)
        );
        assert_eq!(
            judge(&some, Some("https://evil.example"), None),
            Err(GuardError::Origin)
        );
        let open = Guard::new("https://reviews.example", &["*".into()]);
        let verdict = judge(&open, Some("null"), Some("any.example"));
        assert_eq!(verdict, Ok(Visitor::Page));
    }

    #[test]
    fn only_a_foreign_name_is_refused_as_host() {
        let guard = Guard::new("https://reviews.example:8443", &[]);
        for host in [
            "reviews.example",
            "REVIEWS.example:9000",
            "localhost:8080",
            "127.0.0.1",
            "[::1]:80",
            "192.0.2.7:8080",
            "[2001:db8::1]",
        ] {
            assert_eq!(
                judge(&guard, None, Some(host)),
                Ok(Visitor::Direct),
                "{host}"
            );
        }
        for host in [
            "evil.example",
            "evil.example:80",
            "reviews.example.evil",
            "",
            "1.2.3.4.evil",
        ] {
            assert_eq!(
                judge(&guard, None, Some(host)),
                Err(GuardError::Host),
                "{host}"
            );
        }
        let mut head = Head::bare(b"POST");
        head.host = Field::Repeated;
        assert_eq!(guard.check(&head), Err(GuardError::Host));
    }
}
