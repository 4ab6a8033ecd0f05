//! Checks `Origin` and `Host` against DNS rebinding (transports, security).
//!
//! Browsers always send the origin of a page. Other clients send no Origin and are allowed. The two checks are
//! independent: an allowed host allows no origin, and no allowed origin except `*` allows a host.

use url::{Host, Url};

use super::head::{Field, Head};
use super::jsonrpc::RpcError;
use crate::wire::text::cut_lossy;

/// Origins and hosts that are allowed in addition to loopback and requests without an Origin.
#[derive(Clone, Debug)]
pub(super) struct Guard {
    /// Lower-case origins such as `https://reviews.example`, the server's own first.
    origins: Vec<String>,
    /// Names of this server, `localhost` among them.
    hosts: Vec<Host>,
    /// The operator's `*`: every origin and every host.
    is_open: bool,
}

/// The origin of an allowed request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Not a browser: no CORS headers are needed.
    Absent,
    /// An allowed page: its origin is echoed in `Access-Control-Allow-Origin`.
    Allowed,
}

impl Guard {
    /// Allows the origin and host of `base_url`, the listed ones, and all if an origin is `*`.
    pub(super) fn new(base_url: &str, origins: &[String], hosts: &[String]) -> Guard {
        let own = Url::parse(base_url).map(|url| url.origin().ascii_serialization());
        let listed = origins.iter().map(|origin| origin.trim_end_matches('/'));
        let listed = listed.map(str::to_ascii_lowercase);
        let names = hosts.iter().map(String::as_str).chain(["localhost"]);
        let names = names.filter_map(|host| host_of(&format!("http://{host}")));
        Guard {
            is_open: origins.iter().any(|origin| origin == "*"),
            hosts: host_of(base_url).into_iter().chain(names).collect(),
            origins: own.into_iter().chain(listed).collect(),
        }
    }

    /// Checks a request.
    ///
    /// A Host may be our own, an allowed one, loopback, or any IP address, as only names can be rebound. The port is
    /// ignored.
    pub(super) fn check(&self, head: &Head<'_>) -> Result<Origin, RpcError> {
        let origin = match head.origin {
            Field::Absent => Origin::Absent,
            Field::One(origin) if self.allows_origin(origin) => Origin::Allowed,
            _ => return Err(RpcError::invalid(FOREIGN_ORIGIN).with_status(403)),
        };
        let foreign = match head.host {
            Field::Absent => return Ok(origin),
            Field::One(host) if self.is_open || self.allows_host(host) => return Ok(origin),
            Field::One(host) => cut_lossy(host),
            Field::Repeated => "two names".to_owned(),
        };
        let message = format!(
            "{foreign:?} is not a name of this server; the operator can allow it with --allow-host"
        );
        Err(RpcError::invalid(message).with_status(403))
    }

    fn allows_origin(&self, origin: &[u8]) -> bool {
        let origin = String::from_utf8_lossy(origin).to_ascii_lowercase();
        if self.is_open || self.origins.contains(&origin) {
            return true;
        }
        // A browser sends only scheme, host and port: no user, no path.
        let is_origin = Url::parse(&origin).is_ok_and(|url| {
            matches!(url.scheme(), "http" | "https") && url.origin().ascii_serialization() == origin
        });
        is_origin && host_of(&origin).is_some_and(|host| is_loopback(&host))
    }

    fn allows_host(&self, authority: &[u8]) -> bool {
        let authority = String::from_utf8_lossy(authority).to_ascii_lowercase();
        let host = host_of(&format!("http://{authority}"));
        host.is_some_and(|host| match host {
            Host::Domain(ref name) => authority.starts_with(name) && self.hosts.contains(&host),
            // Other spellings, such as `127.1`, are names that could be resolved by DNS.
            Host::Ipv4(address) => authority.starts_with(&address.to_string()),
            Host::Ipv6(_) => true,
        })
    }
}

/// The host of an absolute URL.
pub(super) fn host_of(url: &str) -> Option<Host> {
    Url::parse(url).ok()?.host().map(|host| host.to_owned())
}

fn is_loopback(host: &Host) -> bool {
    match host {
        Host::Domain(name) => name == "localhost",
        Host::Ipv4(address) => address.is_loopback(),
        Host::Ipv6(address) => address.is_loopback(),
    }
}

const FOREIGN_ORIGIN: &str = "pages of this origin may not use the server; the operator can allow it with --mcp-allow-origin";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::tests::with;

    /// Returns why a server at `https://reviews.example:8443` that allows a few other names refuses a request.
    fn refused(origin: &'static str, host: &'static str) -> Option<String> {
        let origins = ["https://App.example/".to_owned()];
        let hosts = ["reviewd:8080", "Proxy.internal"].map(str::to_owned);
        let guard = Guard::new("https://Reviews.example:8443/", &origins, &hosts);
        let checked = guard.check(&with(&[("origin", origin), ("host", host)]));
        if let Ok(found) = &checked {
            assert_eq!(*found == Origin::Absent, origin == "-");
        }
        checked.err().map(|error| error.message.into_owned())
    }

    #[test]
    fn origins_are_our_own_loopback_or_allowed() {
        let taken = "- https://reviews.example:8443 HTTPS://REVIEWS.EXAMPLE:8443 https://app.example \
            http://localhost:5173 http://127.8.9.1 http://[::1]:3000";
        for origin in taken.split(' ') {
            assert_eq!(refused(origin, "-"), None, "{origin}");
        }
        let foreign = "+||null|http://reviews.example:8443|https://reviews.example|\
            https://reviews.example:8443.evil.example|http://localhost.evil.example|\
            http://127.0.0.1.evil.example|http://reviewd:8080|file://localhost|localhost|http://[::2]|\
            http://localhost:1@evil.example|http://localhost/|http://localhost:80:80|http://[::1]x|\
            ws://localhost";
        for origin in foreign.split('|') {
            let message = refused(origin, "-").expect(origin);
            assert!(message.contains("--mcp-allow-origin"), "{message}");
        }
        let open = Guard::new("https://reviews.example", &["*".to_owned()], &[]);
        let head = with(&[("origin", "null"), ("host", "any.example")]);
        assert!(open.check(&head).is_ok());
    }

    #[test]
    fn hosts_are_our_own_addresses_or_allowed_on_any_port() {
        let taken = "reviews.example REVIEWS.example:9000 REVIEWD proxy.internal:1 localhost:8080 127.0.0.1 [::1]:80 \
            192.0.2.7:8080 [2001:db8::1] [::ffff:192.0.2.7] [0:0:0:0:0:0:0:1]:80";
        for host in taken.split(' ') {
            assert_eq!(refused("-", host), None, "{host}");
        }
        let foreign = "+|evil.example:80|reviews.example.evil||1.2.3.4.evil|xreviewd|127.1|0x7f.1|2130706433|evil@localhost";
        for host in foreign.split('|') {
            let message = refused("-", host).expect(host);
            assert!(message.contains("--allow-host"), "{message}");
        }
    }
}
