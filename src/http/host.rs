//! The Host of a request, checked strictly: hyper hands on requests without one, with two, and with nonsense in it.
//!
//! Nothing is ever built from it: the public address is configuration. The check is there because intermediaries
//! route by Host, and a request that two parsers read differently is how caches are poisoned.

use std::net::{Ipv4Addr, Ipv6Addr};

use hyper::Version;
use hyper::header::{HOST, HeaderMap};
use hyper::http::uri::{Scheme, Uri};

/// Longest host name in bytes: what DNS can hold (RFC 1035 §2.3.4).
const NAME_BYTES_MAX: usize = 255;

/// Why a request is refused for its Host: the client's mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum HostError {
    #[error("the Host header is missing")]
    Missing,
    #[error("the Host header must be given once")]
    Repeated,
    /// Or at odds with the authority of the target.
    #[error("the Host header must be a host with an optional port")]
    Malformed,
    /// Another server is named: we are no proxy.
    #[error("the request is for another server")]
    Foreign,
}

/// Checks Host and the target's authority (RFC 9112 §3.2, RFC 9113 §8.3.1).
///
/// `own` is the authority of the public address. An absolute target may name it, this machine's own name for itself,
/// or an address literal; any other name is another server's.
///
/// # Errors
/// The first fault found.
pub(crate) fn check(
    version: Version,
    uri: &Uri,
    headers: &HeaderMap,
    own: &str,
) -> Result<(), HostError> {
    let mut fields = headers.get_all(HOST).iter();
    let host = fields.next().map(|value| value.as_bytes());
    if fields.next().is_some() {
        return Err(HostError::Repeated);
    }
    if host.is_some_and(|host| !is_authority(host)) {
        return Err(HostError::Malformed);
    }
    let authority = uri.authority().map(|authority| authority.as_str());
    if authority.is_some_and(|authority| !is_authority(authority.as_bytes())) {
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
    match (uri.scheme(), authority) {
        (Some(scheme), Some(authority)) => check_absolute(scheme, authority, own),
        _ => Ok(()),
    }
}

/// Tells whether each name that a request has for this server is an address or `localhost`.
///
/// Any other name may belong to a page that was led here by DNS rebinding and could read the response.
pub(crate) fn is_without_name(uri: &Uri, headers: &HeaderMap) -> bool {
    let fields = headers.get_all(HOST).iter().map(|value| value.as_bytes());
    let authority = uri
        .authority()
        .map(|authority| authority.as_str().as_bytes());
    fields.chain(authority).all(|host| {
        let (name, _) = split_port(host);
        is_address(name) || name.eq_ignore_ascii_case(b"localhost")
    })
}

fn is_address(name: &[u8]) -> bool {
    is_ipv6_literal(name)
        || std::str::from_utf8(name).is_ok_and(|name| name.parse::<Ipv4Addr>().is_ok())
}

fn check_absolute(scheme: &Scheme, authority: &str, own: &str) -> Result<(), HostError> {
    if scheme != &Scheme::HTTP && scheme != &Scheme::HTTPS {
        return Err(HostError::Malformed);
    }
    let (name, _) = split_port(authority.as_bytes());
    let (own, _) = split_port(own.as_bytes());
    let is_own = name.eq_ignore_ascii_case(b"localhost") || name.eq_ignore_ascii_case(own);
    if is_address(name) || is_own {
        Ok(())
    } else {
        Err(HostError::Foreign)
    }
}

/// Returns the authority of an absolute URL such as `https://reviews.example:8443/x`, without the rest.
pub(crate) fn authority_of(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split(['/', '?', '#']).next().unwrap_or(rest)
}

/// Tells whether `value` is a host name, an IPv4 address or a bracketed IPv6 address, with an optional port.
///
/// Stricter than `http::uri::Authority`, which takes `a:b`, `a:99999999` and `a,b`. Names are letters, digits and
/// `-._~`: the rest of RFC 3986's reg-name is never a host that DNS has.
pub(crate) fn is_authority(value: &[u8]) -> bool {
    let (name, rest) = split_port(value);
    let is_port = match rest {
        [] | [b':'] => true,
        [b':', port @ ..] => is_port(port),
        _ => false,
    };
    is_port
        && !name.is_empty()
        && name.len() <= NAME_BYTES_MAX
        && (name[0] != b'[' || is_ipv6_literal(name))
}

/// Splits behind the host, which is all bytes of a name, or everything up to the closing bracket.
fn split_port(value: &[u8]) -> (&[u8], &[u8]) {
    let end = match value.first() {
        Some(b'[') => value.iter().position(|byte| *byte == b']').map(|at| at + 1),
        _ => value.iter().position(|byte| !is_name_byte(byte)),
    };
    value.split_at(end.unwrap_or(value.len()))
}

fn is_port(digits: &[u8]) -> bool {
    let number = std::str::from_utf8(digits).map(str::parse::<u16>);
    let is_number = matches!(number, Ok(Ok(_))) && digits[0] != b'+';
    is_number && digits.len() <= 5
}

fn is_ipv6_literal(name: &[u8]) -> bool {
    let text = std::str::from_utf8(name).unwrap_or_default();
    let inner = text
        .strip_prefix('[')
        .and_then(|text| text.strip_suffix(']'));
    inner.is_some_and(|inner| inner.parse::<Ipv6Addr>().is_ok())
}

fn is_name_byte(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::HeaderValue;

    fn verdict(
        version: Version,
        target: &'static str,
        hosts: &[&'static str],
    ) -> Result<(), HostError> {
        let mut headers = HeaderMap::new();
        for host in hosts {
            headers.append(HOST, HeaderValue::from_static(host));
        }
        check(
            version,
            &Uri::from_static(target),
            &headers,
            "reviews.example",
        )
    }

    #[test]
    fn names_and_addresses_with_or_without_port_are_hosts() {
        for host in [
            "a",
            "reviews.example",
            "reviews.example.",
            "A-b_c.d~e",
            "127.0.0.1",
            "127.0.0.1:8080",
            "[::1]",
            "[::1]:80",
            "a:",
            "a:0",
            "a:65535",
            "1.2.3.4.5",
        ] {
            assert_eq!(verdict(Version::HTTP_11, "/", &[host]), Ok(()), "{host}");
        }
        assert!(is_authority(&[b'a'; 255]));
    }

    #[test]
    fn everything_else_is_malformed() {
        for host in [
            "",
            ":80",
            "a:b",
            "a:65536",
            "a:000080",
            "a:99999999",
            "a,b",
            "a b",
            "user@a",
            "a/b",
            "a?b",
            "a#b",
            "[::1",
            "::1",
            "[::1]x",
            "[v1.x]",
            "[fe80::1%25eth0]",
            "a:80:80",
            "a\\b",
            "%61",
            "a:+1",
        ] {
            assert_eq!(
                verdict(Version::HTTP_11, "/", &[host]),
                Err(HostError::Malformed),
                "{host}"
            );
        }
        assert!(!is_authority(&[b'a'; 256]));
        assert!(!is_authority(b"caf\xc3\xa9"));
        assert!(!is_authority(b"\xff"));
    }

    #[test]
    fn one_host_is_needed_from_http_1_1_on() {
        assert_eq!(verdict(Version::HTTP_11, "/", &[]), Err(HostError::Missing));
        assert_eq!(verdict(Version::HTTP_10, "/", &[]), Ok(()));
        assert_eq!(
            verdict(Version::HTTP_11, "/", &["a", "a"]),
            Err(HostError::Repeated)
        );
        assert_eq!(
            verdict(Version::HTTP_10, "/", &["a", "b"]),
            Err(HostError::Repeated)
        );
    }

    #[test]
    fn http_2_takes_the_authority_or_an_equal_host() {
        assert_eq!(verdict(Version::HTTP_2, "http://a/", &[]), Ok(()));
        assert_eq!(verdict(Version::HTTP_2, "http://a/", &["A"]), Ok(()));
        assert_eq!(verdict(Version::HTTP_2, "/", &["a"]), Ok(()));
        assert_eq!(verdict(Version::HTTP_2, "/", &[]), Err(HostError::Missing));
        assert_eq!(
            verdict(Version::HTTP_2, "http://a/", &["b"]),
            Err(HostError::Malformed)
        );
    }

    #[test]
    fn an_absolute_target_must_name_this_server() {
        for target in [
            "http://reviews.example/",
            "https://REVIEWS.example:443/",
            "http://localhost:8080/",
            "http://127.0.0.1/",
            "http://[::1]:1/",
        ] {
            assert_eq!(
                verdict(Version::HTTP_11, target, &["a"]),
                Ok(()),
                "{target}"
            );
        }
        assert_eq!(
            verdict(Version::HTTP_11, "http://example.com/", &["example.com"]),
            Err(HostError::Foreign)
        );
        assert_eq!(
            verdict(Version::HTTP_11, "ftp://localhost/", &["a"]),
            Err(HostError::Malformed)
        );
        assert_eq!(
            verdict(Version::HTTP_11, "http://u@localhost/", &["a"]),
            Err(HostError::Malformed)
        );
    }

    #[test]
    fn addresses_and_localhost_are_no_names() {
        let verdict = |target: &'static str, hosts: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for host in hosts {
                headers.append(HOST, HeaderValue::from_static(host));
            }
            is_without_name(&Uri::from_static(target), &headers)
        };
        for host in ["127.0.0.1", "[::1]:9090", "LOCALHOST:9090", "192.0.2.1:1"] {
            assert!(verdict("/", &[host]), "{host}");
        }
        assert!(verdict("/", &[]));
        for host in [
            "reviews.example",
            "localhost.example",
            "a",
            "",
            "127.0.0.1.example",
        ] {
            assert!(!verdict("/", &[host]), "{host}");
        }
        assert!(!verdict("/", &["localhost", "a.example"]));
        assert!(!verdict("http://a.example/", &["localhost"]));
    }

    #[test]
    fn authority_of_a_url_is_what_stands_before_the_path() {
        for (url, authority) in [
            ("https://reviews.example", "reviews.example"),
            ("http://127.0.0.1:8080/", "127.0.0.1:8080"),
            ("http://a?b", "a"),
        ] {
            assert_eq!(authority_of(url), authority);
        }
    }
}
