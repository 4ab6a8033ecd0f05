//! The proxies that a request came through: Forwarded (RFC 7239 §4) and X-Forwarded-For, which has no standard.
//!
//! Each proxy appends the address from which it got the request. Hops left of the first unparsable or untrusted one are
//! client-controlled and ignored; so both parsers return hops from the right, and the caller stops there.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::text::{is_token_byte, trim};

/// The address from which a proxy got the request; `None` if it is not given (`unknown`, `_hidden`, or malformed).
pub type Hop = Option<IpAddr>;

/// Hops of one field line that are read; a chain of our own proxies is shorter.
pub const HOPS_MAX: usize = 32;

/// Longest node that is read, in bytes: an IPv6 address with an IPv4 tail, brackets and a port have 54.
const NODE_BYTES_MAX: usize = 64;

/// Returns the hops of an X-Forwarded-For line, the right-most first, without allocating.
pub fn parse_x_forwarded_for(line: &[u8]) -> impl Iterator<Item = Hop> + '_ {
    members(line).map(parse_node)
}

/// Returns the hops of a Forwarded line, the right-most first, without allocating.
///
/// Our choice: any comma ends an element, so that a client cannot hide the elements that our proxies append
/// behind an unclosed quotation mark. A comma in quotation marks, which no proxy needs, gives two malformed elements, and
/// a malformed element is an unknown hop. With a 400, one broken proxy among many would cause an outage.
pub fn parse_forwarded(line: &[u8]) -> impl Iterator<Item = Hop> + '_ {
    members(line).map(parse_element)
}

fn members(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    let members = line.rsplit(|&byte| byte == b',').map(trim);
    members.filter(|member| !member.is_empty()).take(HOPS_MAX)
}

/// Parses `[pair] *(";" [pair])`, in which exactly one pair must be `for`.
fn parse_element(element: &[u8]) -> Hop {
    let mut node = None;
    let pairs = element.split(|&byte| byte == b';').map(trim);
    for pair in pairs.filter(|pair| !pair.is_empty()) {
        let (name, value) = parse_pair(pair)?;
        if name.eq_ignore_ascii_case(b"for") && node.replace(value).is_some() {
            return None;
        }
    }
    parse_node(node?)
}

/// Reads `token "=" (token / quoted-string)`, without escapes. A token may be any run of visible bytes without quotation
/// marks, as many proxies write `for=[::1]` without them.
fn parse_pair(pair: &[u8]) -> Option<(&[u8], &[u8])> {
    let equals = pair.iter().position(|&byte| !is_token_byte(byte))?;
    let (name, value) = pair.split_at(equals);
    let value = value.strip_prefix(b"=").filter(|_| !name.is_empty())?;
    let quoted = value.strip_prefix(b"\"");
    let text = match quoted {
        Some(quoted) => quoted.strip_suffix(b"\"")?,
        None => value,
    };
    let may_hold = |byte: &u8| match byte {
        b'"' | b'\\' => false,
        b' ' | b'\t' => quoted.is_some(),
        byte => byte.is_ascii_graphic(),
    };
    text.iter().all(may_hold).then_some((name, text))
}

/// Reads an address with an optional port: `192.0.2.1`, `192.0.2.1:80`, `[2001:db8::1]:80`, and `2001:db8::1` without
/// brackets, as in X-Forwarded-For.
fn parse_node(node: &[u8]) -> Hop {
    let node = std::str::from_utf8(node).ok()?;
    if node.len() > NODE_BYTES_MAX {
        return None;
    }
    if let Some(rest) = node.strip_prefix('[') {
        let (inner, port) = rest.split_once(']')?;
        let address: Ipv6Addr = inner.parse().ok()?;
        return is_port(port).then_some(IpAddr::V6(address));
    }
    if let Ok(address) = node.parse::<IpAddr>() {
        return Some(address);
    }
    let (address, port) = node.split_at(node.find(':')?);
    let address: Ipv4Addr = address.parse().ok()?;
    is_port(port).then_some(IpAddr::V4(address))
}

/// Tells whether `text` is empty, or a colon with a port or an obfuscated port (RFC 7239 §6).
fn is_port(text: &str) -> bool {
    match text.strip_prefix(':') {
        None => text.is_empty(),
        Some(hidden) if hidden.starts_with('_') => {
            let is_hidden = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
            hidden.len() > 1 && hidden.bytes().all(is_hidden)
        }
        Some(digits) => {
            (1..=5).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_hops(read: impl Iterator<Item = Hop>, expected: &str, line: &str) {
        let expected = expected.split_whitespace().map(|text| text.parse().ok());
        let (read, expected) = (read.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
        assert_eq!(read, expected, "{line}");
    }

    #[test]
    fn forwarded_lines_are_read_from_the_right() {
        for (line, expected) in [
            ("for=192.0.2.60;proto=http;by=203.0.113.43", "192.0.2.60"),
            ("for=192.0.2.43, For=192.0.2.1", "192.0.2.1 192.0.2.43"),
            ("for=\"192.0.2.1:80\",FOR=\"[::1]:4711\"", "::1 192.0.2.1"),
            ("for=[2001:db8::1]", "2001:db8::1"),
            ("for=\"192.0.2.1:_port\"", "192.0.2.1"),
            (";;for=::1 ; proto=https;,,for=::2", "::2 ::1"),
            ("for=,for=192.0.2.2", "192.0.2.2 ?"),
            ("for=unknown", "?"),
            ("for=\"_mdn\"", "?"),
            ("proto=https", "?"),
            ("for=192.0.2.1;for=192.0.2.2", "?"),
            ("for=\"192.0.2.1:_\"", "?"),
            ("for=\"192.0.2.1:123456\"", "?"),
            ("for=\"192.0.2.1:\"", "?"),
            ("for=\"[fe80::1%25eth0]\"", "?"),
            ("for=\"\\1\\92.0.2.1\"", "?"),
            ("for=192.0.2.1;by=\"a,b\"", "? ?"),
            ("for=192.0.2.1;host=\"a,for=10.0.0.1;x=\\\"\"", "? ?"),
            ("", ""),
        ] {
            assert_hops(parse_forwarded(line.as_bytes()), expected, line);
        }
        let broken = "for=\"192.0.2.2|for=a b|for = a|for|=x|for=\"a\"b|for=a\u{b}";
        for middle in broken.split('|') {
            let line = format!("for=192.0.2.1, {middle}, for=192.0.2.3");
            let hops = parse_forwarded(line.as_bytes());
            assert_hops(hops, "192.0.2.3 ? 192.0.2.1", &line);
        }
    }

    #[test]
    fn x_forwarded_for_takes_addresses_with_and_without_ports() {
        for (line, expected) in [
            ("192.0.2.1, 2001:db8::1", "2001:db8::1 192.0.2.1"),
            ("192.0.2.1:80,[2001:db8::1]:80", "2001:db8::1 192.0.2.1"),
            ("unknown, 192.0.2.1", "192.0.2.1 ?"),
            ("192.0.2.1, \"192.0.2.2\"", "? 192.0.2.1"),
            ("192.0.2.1 192.0.2.2", "?"),
            (",, 192.0.2.1 ,", "192.0.2.1"),
        ] {
            assert_hops(parse_x_forwarded_for(line.as_bytes()), expected, line);
        }
    }

    #[test]
    fn thirty_two_hops_of_a_line_and_nodes_of_64_bytes_are_read() {
        let line = |count: usize| vec!["for=192.0.2.1"; count].join(",");
        assert_eq!(parse_forwarded(line(32).as_bytes()).count(), 32);
        assert_eq!(parse_forwarded(line(33).as_bytes()).count(), 32);
        let port = |bytes: usize| format!("192.0.2.1:_{}", "p".repeat(bytes - 11));
        for (bytes, hop) in [(64, "192.0.2.1"), (65, "?")] {
            assert_hops(parse_x_forwarded_for(port(bytes).as_bytes()), hop, "port");
        }
    }
}
