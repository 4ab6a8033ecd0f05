//! Strict checks of the Host of a request: hyper accepts requests without one, with two, and with an invalid one.
//!
//! No response depends on Host: the public address is configured. It is checked because intermediaries route by Host,
//! and a request that two parsers read differently can poison a cache.

#![warn(clippy::indexing_slicing)]

use hyper::Version;
use hyper::header::{HOST, HeaderMap, HeaderValue};
use hyper::http::uri::{Scheme, Uri};

use crate::wire::authority::{self, Authority};

/// Why the Host of a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum HostError {
    #[error("the Host header is missing")]
    Missing,
    #[error("the Host header must be given once")]
    Repeated,
    /// Invalid, or different from the authority of the target.
    #[error("the Host header must be a host with an optional port")]
    Malformed,
    /// The target names another server; reviewd is not a proxy.
    #[error("the request is for another server")]
    Foreign,
}

/// Checks Host and the target's authority (RFC 9112 §3.2, RFC 9113 §8.3.1).
///
/// `own` is the authority of the public address. An absolute target may name it, `localhost` or an address literal; any
/// other name belongs to another server.
pub(crate) fn check(
    version: Version,
    uri: &Uri,
    headers: &HeaderMap,
    own: &OwnAuthority,
) -> Result<(), HostError> {
    let mut hosts = headers.get_all(HOST).iter();
    let host = hosts.next().map(HeaderValue::as_bytes);
    if hosts.next().is_some() {
        return Err(HostError::Repeated);
    }
    let authority = uri.authority().map(|authority| authority.as_str());
    let mut names = host.into_iter().chain(authority.map(str::as_bytes));
    if !names.all(|name| own.admits(name)) {
        return Err(HostError::Malformed);
    }
    if version == Version::HTTP_2 {
        return match (authority, host) {
            (None, None) => Err(HostError::Missing),
            (Some(authority), Some(host)) if !authority.as_bytes().eq_ignore_ascii_case(host) => {
                Err(HostError::Malformed)
            }
            _ => Ok(()),
        };
    }
    if host.is_none() && version != Version::HTTP_10 {
        return Err(HostError::Missing);
    }
    let Some(scheme) = uri.scheme() else {
        return Ok(());
    };
    let Some(authority) = authority else {
        return Ok(());
    };
    if scheme != &Scheme::HTTP && scheme != &Scheme::HTTPS {
        return Err(HostError::Malformed);
    }
    let Some(target) = Authority::split(authority.as_bytes()) else {
        return Err(HostError::Foreign);
    };
    if target.is_local() {
        return Ok(());
    }
    match Authority::split(own.0.as_bytes()) {
        Some(own) if own.host.eq_ignore_ascii_case(target.host) => Ok(()),
        _ => Err(HostError::Foreign),
    }
}

/// Tells whether a request names this server only by addresses or as `localhost`.
///
/// Any other name may be that of a page which uses DNS rebinding to read the response.
pub(crate) fn is_safe_from_rebinding(uri: &Uri, headers: &HeaderMap) -> bool {
    authorities(uri, headers).all(|authority| {
        let authority = Authority::split(authority);
        authority.is_some_and(|authority| authority.is_local())
    })
}

/// Returns what a request calls this server: each value of Host, and the authority of the target.
fn authorities<'r>(uri: &'r Uri, headers: &'r HeaderMap) -> impl Iterator<Item = &'r [u8]> {
    let hosts = headers.get_all(HOST).iter().map(HeaderValue::as_bytes);
    let authority = uri.authority().map(|authority| authority.as_str());
    hosts.chain(authority.map(str::as_bytes))
}

/// Host and port of the public address.
#[derive(Debug)]
pub(crate) struct OwnAuthority(String);

impl OwnAuthority {
    /// Returns the authority of an absolute URL such as `https://reviews.example:8443/x`.
    pub(crate) fn of(url: &str) -> OwnAuthority {
        OwnAuthority(authority::text_in_url(url).unwrap_or_default().to_owned())
    }

    /// Tells whether `host` is a host with an optional port; the public authority, which most requests have, is not parsed.
    pub(crate) fn admits(&self, host: &[u8]) -> bool {
        host == self.0.as_bytes() || Authority::parse(host).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(hosts: &[&'static str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for host in hosts {
            headers.append(HOST, HeaderValue::from_static(host));
        }
        headers
    }

    #[test]
    fn one_host_is_needed_and_an_absolute_target_must_name_this_server() {
        use HostError::{Foreign, Malformed, Missing, Repeated};
        let own = OwnAuthority::of("https://reviews.example/x");
        let old = Version::HTTP_10;
        let one = Version::HTTP_11;
        let two = Version::HTTP_2;
        for (version, target, hosts, expected) in [
            (one, "/", &["a:b"][..], Err(Malformed)),
            (one, "/", &[], Err(Missing)),
            (one, "/", &["a", "a"], Err(Repeated)),
            (old, "/", &[], Ok(())),
            (old, "/", &["a", "b"], Err(Repeated)),
            (two, "http://a/", &[], Ok(())),
            (two, "http://a/", &["A"], Ok(())),
            (two, "http://a/", &["b"], Err(Malformed)),
            (two, "/", &[], Err(Missing)),
            (one, "https://REVIEWS.example:443/", &["a"], Ok(())),
            (one, "http://localhost:8080/", &["a"], Ok(())),
            (one, "http://127.0.0.1/", &["a"], Ok(())),
            (one, "http://[::1]:1/", &["a"], Ok(())),
            (one, "http://example.com/", &["example.com"], Err(Foreign)),
            (one, "ftp://localhost/", &["a"], Err(Malformed)),
            (one, "http://u@localhost/", &["a"], Err(Malformed)),
        ] {
            let found = check(version, &Uri::from_static(target), &headers(hosts), &own);
            assert_eq!(found, expected, "{version:?} {target} {hosts:?}");
        }
    }

    #[test]
    fn addresses_and_localhost_are_safe_from_rebinding() {
        for (target, hosts, expected) in [
            ("/", &["127.0.0.1"][..], true),
            ("/", &["[::1]:9090"], true),
            ("/", &["LOCALHOST:9090"], true),
            ("/", &[], true),
            ("/", &["localhost.example"], false),
            ("/", &[""], false),
            ("/", &["127.0.0.1.example"], false),
            ("/", &["localhost", "a.example"], false),
            ("http://a.example/", &["localhost"], false),
        ] {
            let found = is_safe_from_rebinding(&Uri::from_static(target), &headers(hosts));
            assert_eq!(found, expected, "{target} {hosts:?}");
        }
    }
}
