//! Parses X-Forwarded-For, the chain of proxies of a request; it has no standard, and every proxy can send it.
//!
//! Each proxy appends the address from which it got the request. Hops left of the first unparsable or untrusted one are
//! client-controlled and ignored; so the parser returns hops from the right, and the caller stops there.

#![warn(clippy::indexing_slicing)]

use std::net::{IpAddr, Ipv6Addr};

use super::authority::Authority;

/// Most hops that are read of one field line; a chain of our own proxies is shorter.
pub const HOPS_MAX: usize = 32;

/// The address from which a proxy got the request; `None` if it is not given (`unknown`, or malformed).
pub type Hop = Option<IpAddr>;

/// Returns the hops of an X-Forwarded-For line, the right-most first, without allocating.
pub fn parse_x_forwarded_for(line: &[u8]) -> impl Iterator<Item = Hop> + '_ {
    let members = line
        .rsplit(|&byte| byte == b',')
        .map(<[u8]>::trim_ascii)
        .filter(|member| !member.is_empty());
    members.take(HOPS_MAX).map(parse_node)
}

/// Reads an address with an optional port: `192.0.2.1`, `192.0.2.1:80`, `[2001:db8::1]:80`, and `2001:db8::1` with and
/// without brackets.
fn parse_node(node: &[u8]) -> Hop {
    let authority = Authority::split(node);
    if let Some(authority) = authority
        && let Some(address) = authority.address()
    {
        if authority.port.is_some() && authority.port_number().is_none() {
            return None;
        }
        return Some(address);
    }
    // Without brackets an IPv6 address has no port.
    let address: Ipv6Addr = std::str::from_utf8(node).ok()?.parse().ok()?;
    Some(address.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_hops(read: impl Iterator<Item = Hop>, expected: &str, line: &str) {
        let expected = expected.split_whitespace().map(|text| text.parse().ok());
        let read = read.collect::<Vec<_>>();
        let expected = expected.collect::<Vec<_>>();
        assert_eq!(read, expected, "{line}");
    }

    #[test]
    fn x_forwarded_for_takes_addresses_with_and_without_ports() {
        for (line, expected) in [
            ("192.0.2.1, 2001:db8::1", "2001:db8::1 192.0.2.1"),
            ("192.0.2.1:80,[2001:db8::1]:80", "2001:db8::1 192.0.2.1"),
            ("unknown, 192.0.2.1", "192.0.2.1 ?"),
            ("192.0.2.1, \"192.0.2.2\"", "? 192.0.2.1"),
            ("192.0.2.1 192.0.2.2", "?"),
            ("192.0.2.1:, 192.0.2.1:123456, 192.0.2.1:_port", "? ? ?"),
            ("[fe80::1%25eth0], [::1", "? ?"),
            (",, 192.0.2.1 ,", "192.0.2.1"),
        ] {
            assert_hops(parse_x_forwarded_for(line.as_bytes()), expected, line);
        }
    }

    #[test]
    fn thirty_two_hops_of_a_line_are_read() {
        let line = |count: usize| vec!["192.0.2.1"; count].join(",");
        assert_eq!(parse_x_forwarded_for(line(32).as_bytes()).count(), 32);
        assert_eq!(parse_x_forwarded_for(line(33).as_bytes()).count(), 32);
    }
}
