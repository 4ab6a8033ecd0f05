//! The proxies that a request came through: Forwarded (RFC 7239 §4) and X-Forwarded-For, which has no standard.
//!
//! Each proxy appends the address that it was asked from. Hops left of the first unparsable or untrusted one are
//! client-controlled and ignored; so both parsers return hops from the right, and the caller stops there.

use std::borrow::Cow;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::text::{is_token_byte, trim, trim_start};

/// An address that a proxy was asked from; `None` where it does not say (`unknown`, `_hidden`, or nonsense).
pub type Hop = Option<IpAddr>;

/// Hops of one field line that are looked at; a chain of our own proxies is shorter.
pub const HOPS_MAX: usize = 32;

/// Longest Forwarded line that is read whole, in bytes: what proxies of ours write fits many times.
pub const LINE_BYTES_MAX: usize = 2_048;

/// Longest node that is read, in bytes: an IPv6 address with an IPv4 tail, brackets and a port have 54.
const NODE_BYTES_MAX: usize = 64;

/// Returns the hops of an X-Forwarded-For line, the right-most first, without allocating.
pub fn parse_x_forwarded_for(line: &[u8]) -> impl Iterator<Item = Hop> + '_ {
    line.rsplit(|&byte| byte == b',')
        .map(trim)
        .filter(|member| !member.is_empty())
        .take(HOPS_MAX)
        .map(parse_node)
}

/// Returns the hops of a Forwarded line, the right-most first.
///
/// A quoted string may hold commas, so the line is read from the left. What does not fit the grammar is one hop that
/// is unknown, together with everything after it but the element after the last comma: our proxy wrote that one, and a
/// client that opens a quotation mark and leaves it open must not hide it. Of a line over 2 KiB only that
/// element is read. Our choice: 400 would make one broken proxy among many an outage.
pub fn parse_forwarded(line: &[u8]) -> Vec<Hop> {
    let mut hops = Vec::new();
    let mut rest = line;
    if line.len() > LINE_BYTES_MAX {
        hops.push(None);
        hops.extend(parse_last(line));
        rest = &[];
    }
    while let Some(begin) = rest.iter().position(|byte| !b", \t".contains(byte)) {
        match parse_element(&rest[begin..]) {
            Some((hop, after)) => {
                hops.push(hop);
                rest = after;
            }
            None => {
                hops.push(None);
                hops.extend(parse_last(&rest[begin..]));
                rest = &[];
            }
        }
    }
    hops.reverse();
    hops.truncate(HOPS_MAX);
    hops
}

/// Reads the element behind the last comma of `rest`; `None` if there is none, or it does not fit.
fn parse_last(rest: &[u8]) -> Option<Hop> {
    let comma = rest.iter().rposition(|&byte| byte == b',')?;
    let element = trim_start(&rest[comma + 1..]);
    let (hop, after) = parse_element(element)?;
    (!element.is_empty() && after.is_empty()).then_some(hop)
}

/// Reads `[pair] *(";" [pair])` up to the next comma or the end: its hop, and what follows. `None` if it does not fit.
fn parse_element(element: &[u8]) -> Option<(Hop, &[u8])> {
    let mut hop = None;
    let mut named = 0;
    let mut rest = element;
    loop {
        if !matches!(rest.first(), None | Some(b';' | b',')) {
            let (name, value, after) = parse_pair(rest)?;
            if name.eq_ignore_ascii_case(b"for") {
                named += 1;
                hop = parse_node(&value);
            }
            rest = after;
        }
        let after = trim_start(rest);
        match after {
            [] | [b',', ..] => return Some((hop.filter(|_| named == 1), after)),
            // The grammar has white space beside commas alone; some write it here, and it can mean nothing else.
            [b';', after @ ..] => rest = trim_start(after),
            _ => return None,
        }
    }
}

/// Name, value, and what follows.
type Pair<'a> = (&'a [u8], Cow<'a, [u8]>, &'a [u8]);

/// Reads `token "=" (token / quoted-string)`. A token may be any run of visible bytes without delimiters: many write `for=[::1]` without the quotes.
fn parse_pair(pair: &[u8]) -> Option<Pair<'_>> {
    let equals = pair.iter().position(|&byte| !is_token_byte(byte))?;
    let (name, after) = pair.split_at(equals);
    let value = after.strip_prefix(b"=").filter(|_| !name.is_empty())?;
    if let Some(quoted) = value.strip_prefix(b"\"") {
        let mut value = Vec::new();
        let mut bytes = quoted.iter();
        loop {
            match bytes.next()? {
                b'"' => return Some((name, value.into(), bytes.as_slice())),
                b'\\' => value.push(*bytes.next()?),
                byte => value.push(*byte),
            }
        }
    }
    let is_end = |byte: &u8| !byte.is_ascii_graphic() || b"\",;".contains(byte);
    let end = value.iter().position(is_end).unwrap_or(value.len());
    Some((name, value[..end].into(), &value[end..]))
}

/// Reads an address with an optional port: `192.0.2.1`, `192.0.2.1:80`, `[2001:db8::1]:80`, and bare `2001:db8::1`,
/// which X-Forwarded-For has.
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

/// Tells whether `text` is empty, or a colon and a port or a name that hides one (RFC 7239 §6).
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

    fn hops(texts: &[&str]) -> Vec<Hop> {
        texts.iter().map(|text| text.parse().ok()).collect()
    }

    #[test]
    fn forwarded_lines_are_read_from_the_right() {
        for (line, expected) in [
            (
                "for=192.0.2.60;proto=http;by=203.0.113.43",
                &["192.0.2.60"][..],
            ),
            (
                "for=192.0.2.43, for=198.51.100.17",
                &["198.51.100.17", "192.0.2.43"],
            ),
            ("For=\"[2001:db8:cafe::17]:4711\"", &["2001:db8:cafe::17"]),
            ("for=\"192.0.2.1:80\",FOR=\"[::1]\"", &["::1", "192.0.2.1"]),
            ("for=[2001:db8::1]", &["2001:db8::1"]),
            ("for=192.0.2.1:80", &["192.0.2.1"]),
            ("for=\"192.0.2.1:_port\"", &["192.0.2.1"]),
            ("for=\"\\1\\92.0.2.1\"", &["192.0.2.1"]),
            (";;for=192.0.2.1;", &["192.0.2.1"]),
            (
                "for=192.0.2.1 ; proto=https;,for=192.0.2.2",
                &["192.0.2.2", "192.0.2.1"],
            ),
            ("for=,for=192.0.2.2", &["192.0.2.2", "?"]),
            ("for=\"192.0.2.1:_\"", &["?"]),
            (
                "for=192.0.2.1 ,\t, for=192.0.2.2",
                &["192.0.2.2", "192.0.2.1"],
            ),
            ("by=\"a,b;c\";for=192.0.2.1", &["192.0.2.1"]),
            ("for=unknown", &["?"]),
            ("for=\"_mdn\"", &["?"]),
            ("proto=https", &["?"]),
            ("for=192.0.2.1;for=192.0.2.2", &["?"]),
            ("for=\"192.0.2.1:123456\"", &["?"]),
            ("for=\"192.0.2.1:\"", &["?"]),
            ("for=\"[fe80::1%25eth0]\"", &["?"]),
            ("", &[]),
            (" , ,", &[]),
        ] {
            assert_eq!(parse_forwarded(line.as_bytes()), hops(expected), "{line}");
        }
    }

    #[test]
    fn what_does_not_fit_hides_neither_what_is_before_nor_what_our_proxy_wrote() {
        for line in [
            "for=192.0.2.1, for=\"192.0.2.2, for=192.0.2.3",
            "for=192.0.2.1, for=a b, for=192.0.2.3",
            "for=192.0.2.1, for = 192.0.2.2, for=192.0.2.3",
            "for=192.0.2.1, for, for=192.0.2.3",
            "for=192.0.2.1, =x, for=192.0.2.3",
            "for=192.0.2.1, for=\"a\"b, for=192.0.2.3",
            "for=192.0.2.1, for=a\"b, for=192.0.2.3",
            "for=192.0.2.1, for=a\u{b}, for=192.0.2.3",
        ] {
            assert_eq!(
                parse_forwarded(line.as_bytes()),
                hops(&["192.0.2.3", "?", "192.0.2.1"]),
                "{line}"
            );
        }
        for line in [
            "for=192.0.2.1, for=\"192.0.2.2\\",
            "for=192.0.2.1, for=\"192.0.2.2,",
            "for=192.0.2.1, for=\"192.0.2.2, a b",
        ] {
            let read = parse_forwarded(line.as_bytes());
            assert_eq!(read, hops(&["?", "192.0.2.1"]), "{line}");
        }
    }

    #[test]
    fn x_forwarded_for_takes_addresses_with_and_without_ports() {
        let parse = |line: &str| parse_x_forwarded_for(line.as_bytes()).collect::<Vec<_>>();
        for (line, expected) in [
            ("192.0.2.1, 2001:db8::1", &["2001:db8::1", "192.0.2.1"][..]),
            (
                "192.0.2.1:80,[2001:db8::1]:80, [::1]",
                &["::1", "2001:db8::1", "192.0.2.1"],
            ),
            ("unknown, 192.0.2.1", &["192.0.2.1", "?"]),
            ("192.0.2.1, \"192.0.2.2\"", &["?", "192.0.2.1"]),
            ("192.0.2.1 192.0.2.2", &["?"]),
            (",, 192.0.2.1 ,", &["192.0.2.1"]),
            ("", &[]),
        ] {
            assert_eq!(parse(line), hops(expected), "{line}");
        }
    }

    #[test]
    fn thirty_two_hops_of_a_line_are_read() {
        let line = vec!["192.0.2.1"; 33].join(",");
        assert_eq!(parse_x_forwarded_for(line.as_bytes()).count(), 32);
        let line = vec!["for=192.0.2.1"; 33].join(",");
        assert_eq!(parse_forwarded(line.as_bytes()).len(), 32);
    }

    #[test]
    fn of_a_line_over_2048_bytes_the_last_element_is_read() {
        let line = |bytes: usize| {
            let ends = "for=192.0.2.1;by=, for=192.0.2.2";
            ends.replace("by=", &format!("by={}", "b".repeat(bytes - ends.len())))
        };
        let read = |bytes: usize| parse_forwarded(line(bytes).as_bytes());
        assert_eq!(read(2_048), hops(&["192.0.2.2", "192.0.2.1"]));
        assert_eq!(read(2_049), hops(&["192.0.2.2", "?"]));
    }

    #[test]
    fn a_node_may_have_64_bytes() {
        // Zeros in front do not change a hidden port's worth.
        let port = |bytes: usize| format!("for=\"192.0.2.1:_{}\"", "p".repeat(bytes - 11));
        assert_eq!(parse_forwarded(port(64).as_bytes()), hops(&["192.0.2.1"]));
        assert_eq!(parse_forwarded(port(65).as_bytes()), hops(&["?"]));
    }
}
