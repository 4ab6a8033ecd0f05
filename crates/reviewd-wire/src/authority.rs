//! Host and port, as in URLs and in the Host header (RFC 3986 §3.2, RFC 9110 §7.2).
//!
//! Stricter than RFC 3986: a name has only letters, digits and `-._~`, as the other characters of its reg-name never occur
//! in DNS names, and there is no user. Nothing is resolved or decoded, so a name with an escape is not valid.

#![warn(clippy::indexing_slicing)]

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Longest host that [`Authority::parse`] accepts, in bytes: the limit of an encoded DNS name (RFC 1035 §2.3.4).
const NAME_BYTES_MAX: usize = 255;
/// Longest name that DNS resolves, and longest label of it, in bytes of text without the last dot: an encoded name of 255
/// bytes has a length byte before each label, and one for the root.
const DNS_NAME_BYTES_MAX: usize = 253;
const DNS_LABEL_BYTES_MAX: usize = 63;

/// Host and port, borrowed as they were written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Authority<'a> {
    /// A name, an IPv4 address, or an IPv6 address in its brackets; empty if there is none.
    pub host: &'a str,
    /// The text after the colon, or `None` without a colon.
    pub port: Option<&'a str>,
}

impl<'a> Authority<'a> {
    /// Splits `value` after the bytes of a name or after the closing bracket; `None` if neither a colon nor the end
    /// follows. Host and port are not checked yet.
    #[must_use]
    pub fn split(value: &'a [u8]) -> Option<Authority<'a>> {
        let end = match value.first() {
            Some(b'[') => value.iter().position(|byte| *byte == b']')? + 1,
            _ => value
                .iter()
                .position(|byte| !is_name_byte(*byte))
                .unwrap_or(value.len()),
        };
        let (host, rest) = value.split_at_checked(end)?;
        let host = std::str::from_utf8(host).ok()?;
        let rest = std::str::from_utf8(rest).ok()?;
        let port = match rest.strip_prefix(':') {
            None if rest.is_empty() => None,
            None => return None,
            Some(port) => Some(port),
        };
        Some(Authority { host, port })
    }

    /// Parses a host name, an IPv4 address or a bracketed IPv6 address, with an optional port, which may be empty.
    ///
    /// `http::uri::Authority` also accepts `a:b`, `a:99999999` and `a,b`.
    #[must_use]
    pub fn parse(value: &'a [u8]) -> Option<Authority<'a>> {
        let authority = Authority::split(value)?;
        if authority.is_host() && authority.is_port() {
            Some(authority)
        } else {
            None
        }
    }

    /// Parses the authority of an absolute URL such as `https://reviews.example:8443/x`.
    #[must_use]
    pub fn of_url(url: &'a str) -> Option<Authority<'a>> {
        Authority::parse(text_in_url(url)?.as_bytes())
    }

    /// Returns the address, if the host is one: dotted decimal, or IPv6 in brackets without a zone.
    #[must_use]
    pub fn address(&self) -> Option<IpAddr> {
        match self.host.strip_prefix('[') {
            Some(rest) => {
                let address: Ipv6Addr = rest.strip_suffix(']')?.parse().ok()?;
                Some(address.into())
            }
            None => self.host.parse::<Ipv4Addr>().ok().map(IpAddr::V4),
        }
    }

    /// Tells whether the host is `localhost` or any IP address, also a public one: a page cannot use DNS rebinding with
    /// these.
    #[must_use]
    pub fn is_local(&self) -> bool {
        self.host.eq_ignore_ascii_case("localhost") || self.address().is_some()
    }

    /// Returns the port from 1 to 65535; `None` for another text, and if there is none.
    #[must_use]
    pub fn port_number(&self) -> Option<u16> {
        let digits = self.port?;
        // `str::parse` would accept a plus sign.
        if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        digits.parse().ok().filter(|number| *number > 0)
    }

    fn is_host(&self) -> bool {
        let host = self.host;
        if host.is_empty() || host.len() > NAME_BYTES_MAX {
            return false;
        }
        !host.starts_with('[') || self.address().is_some()
    }

    fn is_port(&self) -> bool {
        let port = self.port.unwrap_or_default();
        let is_digits = port.len() <= 5 && port.bytes().all(|byte| byte.is_ascii_digit());
        is_digits && (port.is_empty() || port.parse::<u16>().is_ok())
    }
}

/// Returns the text between `://` and the path, the query or the fragment of an absolute URL.
#[must_use]
pub fn text_in_url(url: &str) -> Option<&str> {
    let (_, rest) = url.split_once("://")?;
    rest.split(['/', '?', '#']).next()
}

/// Tells whether `text` can be a name of a host (RFC 1123 §2.1): labels of letters, digits and hyphens, separated by
/// dots. Underscores are permitted, because such names exist.
#[must_use]
pub fn is_dns_name(text: &str) -> bool {
    let name = text.strip_suffix('.').unwrap_or(text);
    if name.len() > DNS_NAME_BYTES_MAX {
        return false;
    }
    name.split('.').all(is_dns_label)
}

fn is_dns_label(label: &str) -> bool {
    if label.is_empty() || label.len() > DNS_LABEL_BYTES_MAX {
        return false;
    }
    label
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_a_name_or_an_address_with_an_optional_port() {
        for good in "a A-b_c.d~e. 127.0.0.1:8080 [::1]:80 a: a:0 a:65535".split(' ') {
            assert!(Authority::parse(good.as_bytes()).is_some(), "{good}");
        }
        let bad = "|:80|a:b|a:65536|a:000080|a,b|a b|user@a|a/b|a?b|a#b|[::1|::1|[::1]x|[v1.x]|[fe80::1%1]|a:80:80\
            |a\\b|%61|a:+1|é";
        for bad in bad.split('|') {
            assert_eq!(Authority::parse(bad.as_bytes()), None, "{bad}");
        }
    }

    #[test]
    fn a_host_has_at_most_255_bytes() {
        assert!(Authority::parse(&[b'a'; 255]).is_some());
        assert!(Authority::parse(&[b'a'; 256]).is_none());
    }

    #[test]
    fn addresses_and_localhost_are_local() {
        for (value, expected) in [
            ("127.0.0.1", true),
            ("[::1]:9090", true),
            ("LOCALHOST:9090", true),
            ("127.1", false),
            ("localhost.example", false),
        ] {
            let authority = Authority::parse(value.as_bytes()).expect(value);
            assert_eq!(authority.is_local(), expected, "{value}");
        }
    }

    #[test]
    fn a_dns_name_has_labels_of_at_most_63_bytes_and_253_bytes() {
        let label = "a".repeat(63);
        let name = [&label, &label, &label, &label[..61]].join(".");
        let with_dot = format!("{name}.");
        for good in ["a", "A-b_c.example", "1.2", &label, &name, &with_dot] {
            assert!(is_dns_name(good), "{good}");
        }
        let long_label = format!("{label}a");
        let long_name = format!("{name}a");
        for bad in [
            "",
            ".",
            "a..b",
            ".a",
            "a b",
            "a~b",
            "é",
            &long_label,
            &long_name,
        ] {
            assert!(!is_dns_name(bad), "{bad}");
        }
    }

    #[test]
    fn the_authority_of_a_url_ends_before_its_path() {
        for (url, expected) in [
            (
                "https://reviews.example:8443/x",
                Some(("reviews.example", Some("8443"))),
            ),
            ("http://[::1]?a", Some(("[::1]", None))),
            ("https://user@a/", None),
            ("reviews.example", None),
        ] {
            let found = Authority::of_url(url).map(|found| (found.host, found.port));
            assert_eq!(found, expected, "{url}");
        }
    }

    #[test]
    fn a_port_number_is_from_1_to_65535() {
        for (value, expected) in [
            ("a:443", Some(443)),
            ("a:65535", Some(65_535)),
            ("a:65536", None),
            ("a:0", None),
            ("a:", None),
            ("a", None),
        ] {
            let authority = Authority::split(value.as_bytes()).expect(value);
            assert_eq!(authority.port_number(), expected, "{value}");
        }
    }
}
