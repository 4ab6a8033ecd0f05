//! The callback URL of a subscriber: kept exactly, taken apart once, never printed in full.

use std::fmt;

use url::Host;

use crate::wire::text::{push_percent, quote};

/// An https URL that a subscriber gave: the URL itself, and its host and port as the limits and the guard need them.
///
/// A callback is often a capability (its path or query is all that protects it), so `Debug` and `Display` show the
/// origin and path length only.
#[derive(Clone, PartialEq, Eq)]
pub struct Callback {
    uri: String,
    host: Host,
    port: u16,
}

impl Callback {
    /// Parses an absolute https URL of at most `URI_BYTES` bytes in RFC 3986 characters (and the few more that
    /// queries in the wild carry), without credentials and fragment. Percent-escaped unreserved characters are
    /// decoded (WebSub §5.1.1), everything else is kept byte for byte.
    ///
    /// # Errors
    /// What is wrong, for a message that begins with the field's name.
    pub fn parse(text: &str) -> Result<Callback, String> {
        let end = |rest: &str| rest.find(['/', '?', '#']).unwrap_or(rest.len());
        if let Some((_, rest)) = text.split_once("://")
            && !rest[..end(rest)].is_ascii()
        {
            let what = "host must be written in ASCII: an internationalized name in its xn-- form";
            return Err(what.to_owned());
        }
        let uri = normalize(text)?;
        let parts = uri.split_once("://");
        let (scheme, rest) = parts.ok_or("must be an absolute https URL")?;
        if scheme.eq_ignore_ascii_case("http") {
            return Err("must be https, plain http is refused".to_owned());
        }
        if !scheme.eq_ignore_ascii_case("https") {
            return Err(format!("must be an https URL, not {}", quote(scheme)));
        }
        let (authority, path) = rest.split_at(end(rest));
        if authority.contains('@') {
            return Err("must not carry credentials".to_owned());
        }
        check_characters(path)?;
        let (host, port) = split_port(authority)?;
        let host = parse_host(host)?;
        Ok(Callback { host, port, uri })
    }

    /// Returns the URL, exactly as deliveries use it.
    #[must_use]
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// Returns the host: a name in lower case, or an address written as one.
    #[must_use]
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// Returns the port, 443 when the URL names none.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the URL with `pairs` appended to its own query, which stays as it is (WebSub §5.1.1, §5.3).
    #[must_use]
    pub fn with_query(&self, pairs: &[(&str, &str)]) -> String {
        let mut uri = String::with_capacity(self.uri.len() + 256);
        uri.push_str(&self.uri);
        let mut joint = match uri.find('?') {
            None => "?",
            Some(_) if uri.ends_with(['?', '&']) => "",
            Some(_) => "&",
        };
        for (name, value) in pairs {
            uri.push_str(joint);
            uri.push_str(name);
            uri.push('=');
            // Every byte but the unreserved ones is escaped, so that no value can end or add a pair.
            push_percent(&mut uri, value, is_unreserved);
            joint = "&";
        }
        uri
    }

    /// Returns the URL with its query replaced by a sign that there is one, for the operator.
    #[must_use]
    pub fn without_query(&self) -> String {
        match self.uri.split_once('?') {
            None => self.uri.clone(),
            Some((before, _)) => format!("{before}?…"),
        }
    }
}

impl fmt::Debug for Callback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (host, port, bytes) = (&self.host, self.port, self.uri.len());
        write!(f, "Callback(https://{host}:{port}/… ({bytes} bytes))")
    }
}

/// Parses the host of an authority: a name in any case, dotted decimal, or IPv6 in brackets without a zone.
fn parse_host(text: &str) -> Result<Host, String> {
    let bracketed = text.strip_prefix('[');
    if let Some(inner) = bracketed.and_then(|rest| rest.strip_suffix(']')) {
        let address = inner.parse().map(Host::Ipv6);
        return address.map_err(|_| format!("host {} is not an IPv6 address", quote(text)));
    }
    if let Ok(address) = text.parse() {
        return Ok(Host::Ipv4(address));
    }
    check_name(text)?;
    Ok(Host::Domain(text.to_ascii_lowercase()))
}

/// Decodes percent-escaped unreserved characters (`/%66eed.xml` is `/feed.xml`, RFC 3986 §6.2.2.2) and leaves every
/// other escape as it is. Length, escapes and the absence of a fragment are checked on the way.
///
/// # Errors
/// What is wrong, for a message that begins with the field's name.
pub(crate) fn normalize(text: &str) -> Result<String, String> {
    let bytes = text.len();
    if bytes > URI_BYTES {
        return Err(format!("must be at most {URI_BYTES} bytes, not {bytes}"));
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        let escape = rest.as_bytes().get(at + 1..at + 3).unwrap_or_default();
        let byte = escape_value(escape).ok_or("has a broken percent-escape")?;
        if is_unreserved(byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&rest[at..at + 3]);
        }
        rest = &rest[at + 3..];
    }
    out.push_str(rest);
    let refused = |byte: &u8| !byte.is_ascii_graphic() || *byte == b'#';
    match out.bytes().enumerate().find(|(_, byte)| refused(byte)) {
        Some((_, b'#')) => Err("must not have a fragment".to_owned()),
        Some((at, _)) => Err(format!("byte {at} may not appear in a URL unescaped")),
        None => Ok(out),
    }
}

fn escape_value(hex: &[u8]) -> Option<u8> {
    let [high, low] = hex else { return None };
    let high = char::from(*high).to_digit(16)?;
    let low = char::from(*low).to_digit(16)?;
    u8::try_from(high * 16 + low).ok()
}

fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)
}

/// Path and query in the characters of RFC 3986, and in the query also `[ ] { } | ^`, which real callbacks carry.
fn check_characters(path: &str) -> Result<(), String> {
    let query_at = path.find('?').unwrap_or(path.len());
    let refused = path.bytes().enumerate().find(|(at, byte)| {
        let permitted = is_unreserved(*byte) || b"!$&'()*+,;=:@/?%".contains(byte);
        !(permitted || (*at > query_at && b"[]{}|^".contains(byte)))
    });
    let Some((_, byte)) = refused else {
        return Ok(());
    };
    let found = quote(&char::from(byte).to_string());
    Err(format!("{found} may not appear in it unescaped"))
}

fn split_port(authority: &str) -> Result<(&str, u16), String> {
    let after_brackets = authority.rfind(']').map_or(0, |at| at + 1);
    let Some(colon) = authority[after_brackets..].find(':') else {
        return Ok((authority, HTTPS_PORT));
    };
    let (host, port) = authority.split_at(after_brackets + colon);
    let digits = &port[1..];
    let is_number =
        (1..=5).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
    match digits.parse::<u16>() {
        Ok(port) if is_number && port > 0 => Ok((host, port)),
        _ => Err(format!("port {} is not from 1 to 65535", quote(digits))),
    }
}

/// Checks a DNS name: labels of 1 to 63 letters, digits, `-` and `_`, without a trailing dot. The last label must not be a number: resolvers take `127.1`, `2130706433`, `017700000001` and
/// `0x7f.1` for addresses, and so would reach hosts that no one has judged.
fn check_name(text: &str) -> Result<(), String> {
    let bytes = text.len();
    if text.is_empty() {
        return Err("must have a host".to_owned());
    }
    if bytes > NAME_BYTES {
        return Err(format!(
            "host must be at most {NAME_BYTES} bytes, not {bytes}"
        ));
    }
    let is_permitted = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    let is_label =
        |label: &str| (1..=LABEL_BYTES).contains(&label.len()) && label.bytes().all(is_permitted);
    let host = quote(text);
    if !text.split('.').all(is_label) {
        return Err(format!("host {host} is not a DNS name"));
    }
    let last = text.rsplit('.').next().unwrap_or(text);
    let is_number = last.bytes().all(|byte| byte.is_ascii_digit());
    if is_number || last.starts_with("0x") || last.starts_with("0X") {
        let what = "is a number, not a name or a dotted-decimal address";
        return Err(format!("host {host} {what}"));
    }
    Ok(())
}

/// Longest callback or topic URL, in bytes after form decoding; a longer one is refused. Our choice: four times what
/// the longest callbacks of public subscribers need, and small enough for every line of a log.
const URI_BYTES: usize = 2048;

/// Longest DNS name in text form (RFC 1035 §2.3.4).
const NAME_BYTES: usize = 253;

/// Longest label of a DNS name (RFC 1035 §2.3.4).
const LABEL_BYTES: usize = 63;

/// The port of an https URL that names none.
const HTTPS_PORT: u16 = 443;

#[cfg(test)]
#[path = "callback/tests.rs"]
mod tests;
