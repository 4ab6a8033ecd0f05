//! Checks `Origin` and `Host` against DNS rebinding (MCP 2025-11-25, transports, security).
//!
//! Browsers always send the origin of a page. Other clients send no Origin and are allowed. The two checks are
//! independent: to allow a host allows no origin, and to allow an origin allows no host. Only the origin `*` allows all of
//! both.

use super::head::{Head, SingleField};
use super::jsonrpc::RpcError;
use crate::wire::authority::Authority;
use crate::wire::text::cut_lossy;

/// The message for a page of another origin.
const FOREIGN_ORIGIN: &str = "pages of this origin may not use the server; the operator can allow it with --mcp-allow-origin";

/// Origins and hosts that are allowed in addition to loopback and requests without an Origin.
#[derive(Clone, Debug)]
pub(super) struct OriginGuard {
    /// Lower-case origins such as `https://reviews.example`, the server's own first.
    origins: Vec<String>,
    /// Names of this server in lower case, `localhost` among them.
    hosts: Vec<String>,
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

impl OriginGuard {
    /// Allows the origin and host of `base_url`, the listed ones, and all if an origin is `*`.
    pub(super) fn new(base_url: &str, origins: &[String], hosts: &[String]) -> OriginGuard {
        let mut allowed_origins = vec![normal_origin(base_url)];
        for origin in origins {
            allowed_origins.push(normal_origin(origin));
        }
        let mut names = vec!["localhost".to_owned()];
        names.extend(Authority::of_url(base_url).map(host_name));
        for host in hosts {
            names.extend(Authority::parse(host.as_bytes()).map(host_name));
        }
        OriginGuard {
            origins: allowed_origins,
            hosts: names,
            is_open: origins.iter().any(|origin| origin == "*"),
        }
    }

    /// Checks the origin of a request, then its host.
    pub(super) fn check(&self, head: &Head<'_>) -> Result<Origin, RpcError> {
        let origin = self.check_origin(head.origin)?;
        self.check_host(head.host)?;
        Ok(origin)
    }

    fn check_origin(&self, field: SingleField<'_>) -> Result<Origin, RpcError> {
        match field {
            SingleField::Absent => Ok(Origin::Absent),
            SingleField::One(origin) if self.allows_origin(origin) => Ok(Origin::Allowed),
            SingleField::One(_) | SingleField::Repeated => {
                Err(RpcError::invalid(FOREIGN_ORIGIN).with_status(403))
            }
        }
    }

    /// A Host may be our own, an allowed one, loopback, or any IP address, as only names can be rebound. The port is
    /// ignored.
    fn check_host(&self, field: SingleField<'_>) -> Result<(), RpcError> {
        let foreign = match field {
            SingleField::Absent => return Ok(()),
            SingleField::One(host) if self.allows_host(host) => return Ok(()),
            SingleField::One(host) => cut_lossy(host),
            SingleField::Repeated => "two names".to_owned(),
        };
        let message = format!(
            "{foreign:?} is not a name of this server; the operator can allow it with --allow-host"
        );
        Err(RpcError::invalid(message).with_status(403))
    }

    fn allows_origin(&self, origin: &[u8]) -> bool {
        let origin = String::from_utf8_lossy(origin).to_ascii_lowercase();
        self.is_open || self.origins.contains(&origin) || is_loopback(&origin)
    }

    fn allows_host(&self, host: &[u8]) -> bool {
        if self.is_open {
            return true;
        }
        let Some(authority) = Authority::parse(host) else {
            return false;
        };
        // Other spellings of an address, such as `127.1`, are names that could be resolved by DNS.
        authority.address().is_some() || self.hosts.contains(&host_name(authority))
    }
}

/// Returns an origin as it is compared: in lower case, without a slash at its end.
fn normal_origin(origin: &str) -> String {
    origin.trim_end_matches('/').to_ascii_lowercase()
}

/// Tells whether an origin is that of a page of this machine. A browser sends only scheme, host and port: no user, no
/// path.
fn is_loopback(origin: &str) -> bool {
    let Some(("http" | "https", host)) = origin.split_once("://") else {
        return false;
    };
    let Some(authority) = Authority::parse(host.as_bytes()) else {
        return false;
    };
    match authority.address() {
        Some(address) => address.is_loopback(),
        None => authority.host == "localhost",
    }
}

/// Returns the host in lower case, without its port.
fn host_name(authority: Authority<'_>) -> String {
    authority.host.to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::tests::with;

    /// Returns why a server at `https://reviews.example:8443` that allows a few other names refuses a request.
    fn refused(origin: &'static str, host: &'static str) -> Option<String> {
        let origins = ["https://App.example/".to_owned()];
        let hosts = ["reviewd:8080", "Proxy.internal"].map(str::to_owned);
        let guard = OriginGuard::new("https://Reviews.example:8443/", &origins, &hosts);
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
        let open = OriginGuard::new("https://reviews.example", &["*".to_owned()], &[]);
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
