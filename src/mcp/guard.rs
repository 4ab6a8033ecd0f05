//! Whether a page may talk to the server: `Origin` and `Host`, against DNS rebinding (transports, security).
//!
//! A browser always says where a page comes from. Anything that is not a browser sends no Origin and is welcome. The
//! two checks are independent: an allowed name allows no origin, and no origin but `*` allows a name.

use std::net::IpAddr;

use super::head::{Field, Head};
use super::jsonrpc::RpcError;
use super::server::Settings;
use crate::wire::text::cut_lossy;

/// What is let in besides loopback and requests without an Origin.
#[derive(Clone, Debug)]
pub(super) struct Guard {
    /// Lower-case origins such as `https://reviews.example`, the server's own first.
    origins: Vec<String>,
    /// Names of this server without a port, the host of its own origin first.
    hosts: Vec<String>,
    /// The operator's `*`: every origin and every host.
    is_open: bool,
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
    /// Allows what `settings` name: their own origin and host, the listed ones, and all where an origin is `*`.
    #[must_use]
    pub(super) fn new(settings: &Settings) -> Guard {
        let own = origin_of(&settings.base_url).to_ascii_lowercase();
        let mut hosts = vec![host_of(&own).to_owned()];
        let listed = settings.allowed_hosts.iter();
        hosts.extend(listed.map(|host| name_of(host).to_owned()));
        let mut origins = vec![own];
        let listed = settings.allowed_origins.iter();
        origins.extend(listed.map(|origin| origin.trim_end_matches('/').to_ascii_lowercase()));
        Guard {
            is_open: origins.iter().any(|origin| origin == "*"),
            origins,
            hosts,
        }
    }

    /// Checks a request.
    ///
    /// A Host may be our own, an allowed one, loopback, or any address: only a name can be rebound. The port is not
    /// looked at.
    ///
    /// # Errors
    /// What to answer with 403: a foreign, repeated or opaque (`null`) origin, a foreign or repeated host.
    pub(super) fn check(&self, head: &Head<'_>) -> Result<Visitor, RpcError> {
        let visitor = match head.origin {
            Field::Absent => Visitor::Direct,
            Field::One(origin) if self.allows_origin(origin) => Visitor::Page,
            _ => return Err(RpcError::invalid(FOREIGN_ORIGIN).with_status(403)),
        };
        let foreign = match head.host {
            Field::Absent => return Ok(visitor),
            Field::One(host) if self.is_open || self.allows_host(host) => return Ok(visitor),
            Field::One(host) => cut_lossy(host),
            Field::Repeated => "two names".to_owned(),
        };
        let message = format!(
            "{foreign:?} is not a name of this server; the operator can allow it with --allow-host"
        );
        Err(RpcError::invalid(message).with_status(403))
    }

    fn allows_origin(&self, origin: &[u8]) -> bool {
        let is_listed = |listed: &String| listed.as_bytes().eq_ignore_ascii_case(origin);
        if self.is_open || self.origins.iter().any(is_listed) {
            return true;
        }
        let Ok(origin) = std::str::from_utf8(origin) else {
            return false;
        };
        (origin.starts_with("http://") || origin.starts_with("https://"))
            && is_loopback(host_of(origin))
    }

    fn allows_host(&self, host: &[u8]) -> bool {
        let Ok(host) = std::str::from_utf8(host) else {
            return false;
        };
        let name = name_of(host);
        let is_listed = |listed: &String| !name.is_empty() && name.eq_ignore_ascii_case(listed);
        self.hosts.iter().any(is_listed) || is_loopback(name) || address(name).is_some()
    }
}

/// The scheme and authority of a URL.
fn origin_of(url: &str) -> &str {
    let authority = url.find("://").map_or(0, |at| at + 3);
    let end = url[authority..].find(['/', '?', '#']);
    end.map_or(url, |end| &url[..authority + end])
}

/// The host of an origin, as [`name_of`] gives it.
pub(super) fn host_of(origin: &str) -> &str {
    name_of(origin.split_once("://").map_or(origin, |(_, rest)| rest))
}

/// The host of an authority, without its port; an IPv6 address keeps its brackets. Empty if there is more.
fn name_of(authority: &str) -> &str {
    let end = match authority.find(']') {
        Some(bracket) if authority.starts_with('[') => bracket + 1,
        _ => authority.find(':').unwrap_or(authority.len()),
    };
    let (host, port) = authority.split_at(end);
    // What is neither empty nor a port is no authority that a browser sends, so it is no name at all.
    let is_digit = |byte: u8| byte.is_ascii_digit();
    let is_port = port.is_empty()
        || port
            .strip_prefix(':')
            .is_some_and(|port| port.bytes().all(is_digit));
    if is_port { host } else { "" }
}

fn is_loopback(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost") || address(host).is_some_and(|ip| ip.is_loopback())
}

/// Reads an IPv4 address, or an IPv6 one in brackets.
fn address(host: &str) -> Option<IpAddr> {
    match host.strip_prefix('[') {
        Some(literal) => literal.strip_suffix(']')?.parse().ok().map(IpAddr::V6),
        None => host.parse().ok().map(IpAddr::V4),
    }
}

const FOREIGN_ORIGIN: &str = "pages of this origin may not use the server; the operator can allow it with --mcp-allow-origin";

#[cfg(test)]
mod tests {
    use super::*;

    fn guard(base_url: &str, origins: &[&str], hosts: &[&str]) -> Guard {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Guard::new(&Settings {
            base_url: base_url.to_owned(),
            allowed_origins: owned(origins),
            allowed_hosts: owned(hosts),
            body_bytes_max: 0,
        })
    }

    fn judge(guard: &Guard, origin: Option<&str>, host: Option<&str>) -> Result<Visitor, RpcError> {
        let field = |text: Option<&'static str>| match text {
            Some(text) => Field::One(text.as_bytes()),
            None => Field::Absent,
        };
        let leak = |text: &str| -> &'static str { String::leak(text.to_owned()) };
        guard.check(&Head {
            origin: field(origin.map(leak)),
            host: field(host.map(leak)),
            ..Head::default()
        })
    }

    #[test]
    fn own_and_loopback_origins_are_welcome_and_so_is_none() {
        let guard = guard("https://Reviews.example/", &[], &[]);
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
        let guard = guard("https://reviews.example", &[], &[]);
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
                Err(RpcError::invalid(FOREIGN_ORIGIN).with_status(403)),
                "{origin}"
            );
        }
        let mut head = Head {
            origin: Field::Repeated,
            ..Head::default()
        };
        assert_eq!(
            guard.check(&head),
            Err(RpcError::invalid(FOREIGN_ORIGIN).with_status(403))
        );
        head.origin = Field::One(b"http://\xff");
        assert_eq!(
            guard.check(&head),
            Err(RpcError::invalid(FOREIGN_ORIGIN).with_status(403))
        );
    }

    #[test]
    fn the_operator_may_allow_more_or_all() {
        let some = guard("https://reviews.example", &["https://App.example/"], &[]);
        assert_eq!(
            judge(&some, Some("https://app.example"), None),
            Ok(Visitor::Page)
        );
        assert_eq!(
            judge(&some, Some("https://evil.example"), None),
            Err(RpcError::invalid(FOREIGN_ORIGIN).with_status(403))
        );
        let open = guard("https://reviews.example", &["*"], &[]);
        let verdict = judge(&open, Some("null"), Some("any.example"));
        assert_eq!(verdict, Ok(Visitor::Page));
    }

    #[test]
    fn only_a_foreign_name_is_refused_as_host() {
        let guard = guard("https://reviews.example:8443", &[], &[]);
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
            let refusal = judge(&guard, None, Some(host)).expect_err(host);
            assert!(
                refusal.message.starts_with(&format!("{host:?} is not")),
                "{refusal:?}"
            );
        }
        let head = Head {
            host: Field::Repeated,
            ..Head::default()
        };
        assert!(guard.check(&head).is_err());
    }

    #[test]
    fn allowed_names_are_hosts_on_any_port_and_no_origins() {
        let guard = guard(
            "https://reviews.example",
            &[],
            &["reviewd:8080", "Proxy.internal"],
        );
        for host in ["reviewd:8080", "REVIEWD", "proxy.internal:1"] {
            assert_eq!(
                judge(&guard, None, Some(host)),
                Ok(Visitor::Direct),
                "{host}"
            );
        }
        for host in ["reviewd.evil.example", "xreviewd", ""] {
            let refusal = judge(&guard, None, Some(host)).expect_err("foreign");
            assert!(refusal.message.contains("--allow-host"), "{refusal:?}");
        }
        let refusal = judge(&guard, Some("http://reviewd:8080"), Some("reviewd:8080"));
        let refusal = refusal.expect_err("a foreign origin");
        assert!(
            refusal.message.contains("--mcp-allow-origin"),
            "{refusal:?}"
        );
    }
}
