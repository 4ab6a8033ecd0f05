//! Strict checks of the Host of a request: hyper accepts requests without one, with two, and with an invalid one.
//!
//! No response depends on Host: the public address is configured. It is checked because intermediaries route by Host,
//! and a request that two parsers read differently can poison a cache.

#![warn(clippy::indexing_slicing)]

use std::net::{Ipv4Addr, Ipv6Addr};

use hyper::Version;
use hyper::header::{HOST, HeaderMap, HeaderValue};
use hyper::http::uri::{Authority, Scheme, Uri};

/// Longest host name in bytes, by the limit of DNS (RFC 1035 §2.3.4).
const NAME_BYTES_MAX: usize = 255;

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
    if !names(uri, headers).all(|name| own.admits(name)) {
        return Err(HostError::Malformed);
    }
    let authority = uri.authority().map(Authority::as_str);
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
    let (Some(scheme), Some(authority)) = (uri.scheme(), authority) else {
        return Ok(());
    };
    if scheme != &Scheme::HTTP && scheme != &Scheme::HTTPS {
        return Err(HostError::Malformed);
    }
    let (name, _) = split_port(authority.as_bytes());
    let (own, _) = split_port(own.0.as_bytes());
    if is_local(name) || name.eq_ignore_ascii_case(own) {
        Ok(())
    } else {
        Err(HostError::Foreign)
    }
}

/// Tells whether each name of this server in a request is an address or `localhost`.
///
/// Any other name may be that of a page which uses DNS rebinding to read the response.
pub(crate) fn is_without_name(uri: &Uri, headers: &HeaderMap) -> bool {
    names(uri, headers).all(|name| is_local(split_port(name).0))
}

/// Returns the names of this server in a request: in Host and in its target.
fn names<'r>(uri: &'r Uri, headers: &'r HeaderMap) -> impl Iterator<Item = &'r [u8]> {
    let hosts = headers.get_all(HOST).iter().map(HeaderValue::as_bytes);
    let authority = uri.authority().map(Authority::as_str);
    hosts.chain(authority.map(str::as_bytes))
}

/// Tells whether a name is an IP address or `localhost`.
fn is_local(name: &[u8]) -> bool {
    let is_ipv4 = |text: &str| text.parse::<Ipv4Addr>().is_ok();
    name.eq_ignore_ascii_case(b"localhost")
        || is_ipv6_literal(name)
        || std::str::from_utf8(name).is_ok_and(is_ipv4)
}

/// Host and port of the public address.
#[derive(Debug)]
pub(crate) struct OwnAuthority(String);

impl OwnAuthority {
    /// Returns the authority of an absolute URL such as `https://reviews.example:8443/x`.
    pub(crate) fn of(url: &str) -> OwnAuthority {
        let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
        let text = rest.split(['/', '?', '#']).next().unwrap_or(rest);
        OwnAuthority(text.to_owned())
    }

    /// Tells whether `host` is the public authority, as in most requests, or any host with an optional port.
    pub(crate) fn admits(&self, host: &[u8]) -> bool {
        host == self.0.as_bytes() || is_authority(host)
    }
}

/// Tells whether `value` is a host name, an IPv4 address or a bracketed IPv6 address, with an optional port.
///
/// Stricter than `http::uri::Authority`, which accepts `a:b`, `a:99999999` and `a,b`. Names consist of letters, digits
/// and `-._~`: the other characters of RFC 3986's reg-name never occur in DNS names.
fn is_authority(value: &[u8]) -> bool {
    let (name, rest) = split_port(value);
    let is_port = match rest {
        [] | [b':'] => true,
        [b':', port @ ..] => is_port(port),
        _ => false,
    };
    is_port
        && !name.is_empty()
        && name.len() <= NAME_BYTES_MAX
        && (!name.starts_with(b"[") || is_ipv6_literal(name))
}

/// Splits after the host: after the bytes of a name, or after the closing bracket.
fn split_port(value: &[u8]) -> (&[u8], &[u8]) {
    let end = match value.first() {
        Some(b'[') => value.iter().position(|byte| *byte == b']').map(|at| at + 1),
        _ => value.iter().position(|byte| !is_name_byte(byte)),
    };
    value.split_at(end.unwrap_or(value.len()))
}

fn is_port(digits: &[u8]) -> bool {
    let number = std::str::from_utf8(digits).map(str::parse::<u16>);
    let is_number = matches!(number, Ok(Ok(_))) && !digits.starts_with(b"+");
    is_number && digits.len() <= 5
}

fn is_ipv6_literal(name: &[u8]) -> bool {
    let text = std::str::from_utf8(name).unwrap_or_default();
    let inner = text.strip_prefix('[');
    let inner = inner.and_then(|text| text.strip_suffix(']'));
    inner.is_some_and(|inner| inner.parse::<Ipv6Addr>().is_ok())
}

fn is_name_byte(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
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
    fn a_host_is_a_name_or_an_address_with_an_optional_port() {
        for good in "a A-b_c.d~e. 127.0.0.1:8080 [::1]:80 a: a:0 a:65535".split(' ') {
            assert!(is_authority(good.as_bytes()), "{good}");
        }
        let bad = "|:80|a:b|a:65536|a:000080|a,b|a b|user@a|a/b|a?b|a#b|[::1|::1|[::1]x|[v1.x]|[fe80::1%1]|a:80:80\
            |a\\b|%61|a:+1|é";
        for bad in bad.split('|') {
            assert!(!is_authority(bad.as_bytes()), "{bad}");
        }
        assert!(is_authority(&[b'a'; 255]) && !is_authority(&[b'a'; 256]));
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
    fn addresses_and_localhost_are_no_names() {
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
            let found = is_without_name(&Uri::from_static(target), &headers(hosts));
            assert_eq!(found, expected, "{target} {hosts:?}");
        }
    }
}
