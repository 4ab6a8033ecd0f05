//! The twin of `wire::forwarded`: quoted strings masked first, then everything split; and what a proxy relies on.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::lines;
use reviewd::wire::forwarded::{
    HOPS_MAX, Hop, LINE_BYTES_MAX, parse_forwarded, parse_x_forwarded_for,
};

/// What our own proxy adds in this check.
const PEER: &str = "192.0.2.7";

/// Checks both fields on each line of `data`.
///
/// # Panics
/// If code and twin differ, or if what a stranger sent makes a proxy's own hop anything but itself or unknown.
pub fn check_forwarded(data: &[u8]) {
    for line in lines(data) {
        let hops = parse_forwarded(line);
        assert_eq!(hops, twin_forwarded(line), "{:?}", line.escape_ascii());
        let listed: Vec<Hop> = parse_x_forwarded_for(line).collect();
        assert_eq!(listed, twin_listed(line), "{:?}", line.escape_ascii());
        let added = [line, b", for=", PEER.as_bytes()].concat();
        let nearest = parse_forwarded(&added)[0];
        assert!(
            nearest.is_none() || nearest == PEER.parse().ok(),
            "{:?}: {nearest:?}",
            line.escape_ascii()
        );
        let added = [line, b", ", PEER.as_bytes()].concat();
        let nearest = parse_x_forwarded_for(&added).next();
        assert_eq!(
            nearest,
            Some(PEER.parse().ok()),
            "{:?}",
            line.escape_ascii()
        );
    }
}

fn twin_listed(line: &[u8]) -> Vec<Hop> {
    let text: String = line.iter().map(|&byte| char::from(byte)).collect();
    let mut hops: Vec<Hop> = text
        .split(',')
        .map(|member| member.trim_matches([' ', '\t']))
        .filter(|member| !member.is_empty())
        .map(twin_node)
        .collect();
    hops.reverse();
    hops.truncate(HOPS_MAX);
    hops
}

fn twin_forwarded(line: &[u8]) -> Vec<Hop> {
    let text: Vec<char> = line.iter().map(|&byte| char::from(byte)).collect();
    let masked = mask(&text);
    let mut hops = Vec::new();
    let mut begin = 0;
    if text.len() > LINE_BYTES_MAX {
        return [twin_last(&text), Some(None)]
            .into_iter()
            .flatten()
            .collect();
    }
    for part in masked.split(|&character| character == ',') {
        let rest = &text[begin..];
        let element: String = text[begin..begin + part.len()].iter().collect();
        begin += part.len() + 1;
        if element.trim_matches([' ', '\t']).is_empty() {
            continue;
        }
        match twin_element(&element, part) {
            Ok(hop) => hops.push(hop),
            Err(()) => {
                hops.push(None);
                hops.extend(twin_last(rest));
                break;
            }
        }
    }
    hops.reverse();
    hops.truncate(HOPS_MAX);
    hops
}

/// The hop behind the last comma, quoted or not, if there is a comma and what follows fits.
fn twin_last(text: &[char]) -> Option<Hop> {
    let comma = text.iter().rposition(|&character| character == ',')?;
    let last = &text[comma + 1..];
    let element: String = last.iter().collect();
    let is_blank = element.trim_matches([' ', '\t']).is_empty();
    twin_element(&element, &mask(last))
        .ok()
        .filter(|_| !is_blank)
}

/// `text` with every character of a quoted string, its marks included, replaced by `q`.
fn mask(text: &[char]) -> Vec<char> {
    let (mut quoted, mut escaped) = (false, false);
    let mask = |&character: &char| {
        let was_quoted = quoted;
        if escaped {
            escaped = false;
        } else if quoted && character == '\\' {
            escaped = true;
        } else if character == '"' {
            quoted = !quoted;
        }
        if was_quoted || quoted { 'q' } else { character }
    };
    text.iter().map(mask).collect()
}

/// The hop of one element, or `Err` if it does not fit the grammar.
fn twin_element(element: &str, masked: &[char]) -> Result<Hop, ()> {
    let characters: Vec<char> = element.chars().collect();
    let mut named = Vec::new();
    let mut begin = 0;
    for part in masked.split(|&character| character == ';') {
        let pair: String = characters[begin..begin + part.len()].iter().collect();
        begin += part.len() + 1;
        let pair = pair.trim_matches([' ', '\t']);
        if pair.is_empty() {
            continue;
        }
        let (name, value) = pair.split_once('=').ok_or(())?;
        let is_token = |character: char| {
            character.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(character)
        };
        if name.is_empty() || !name.chars().all(is_token) {
            return Err(());
        }
        let value = twin_value(value)?;
        if name.eq_ignore_ascii_case("for") {
            named.push(value);
        }
    }
    Ok(match &named[..] {
        [only] => twin_node(only),
        _ => None,
    })
}

fn twin_value(value: &str) -> Result<String, ()> {
    let Some(quoted) = value.strip_prefix('"') else {
        let fits = value
            .chars()
            .all(|character| character.is_ascii_graphic() && character != '"');
        return if fits { Ok(value.to_owned()) } else { Err(()) };
    };
    let mut meant = String::new();
    let mut characters = quoted.chars();
    loop {
        match characters.next().ok_or(())? {
            '"' if characters.as_str().is_empty() => return Ok(meant),
            '"' => return Err(()),
            '\\' => meant.push(characters.next().ok_or(())?),
            character => meant.push(character),
        }
    }
}

fn twin_node(node: &str) -> Hop {
    if node.chars().count() > 64 || !node.is_ascii() {
        return None;
    }
    if let Ok(address) = node.parse::<IpAddr>() {
        return Some(address);
    }
    let bracketed = |text: &str| -> Hop {
        let inner = text.strip_prefix('[')?.strip_suffix(']')?;
        inner.parse::<Ipv6Addr>().ok().map(IpAddr::V6)
    };
    if let Some(address) = bracketed(node) {
        return Some(address);
    }
    let (host, port) = node.rsplit_once(':')?;
    let is_number =
        (1..=5).contains(&port.len()) && port.chars().all(|digit| digit.is_ascii_digit());
    let is_hidden = port.len() > 1
        && port.starts_with('_')
        && port
            .chars()
            .all(|character| character.is_ascii_alphanumeric() || "._-".contains(character));
    if !is_number && !is_hidden {
        return None;
    }
    bracketed(host).or_else(|| host.parse::<Ipv4Addr>().ok().map(IpAddr::V4))
}
