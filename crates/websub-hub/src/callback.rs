//! The callback URL of a subscriber: stored unchanged, parsed once, never printed in full.

#![warn(clippy::indexing_slicing)]

use std::fmt;
use std::net::IpAddr;

use thiserror::Error;
use ureq::http::Uri;
use ureq::http::uri::InvalidUri;
use url::Host;

use reviewd_wire::authority::{self, Authority, is_dns_name};
use reviewd_wire::form::unescape;
use reviewd_wire::text::{push_percent, quote};

/// Longest callback or topic URL, in bytes after form decoding; a longer one is refused. Our choice: four times the
/// longest callbacks of public subscribers, and short enough for a log line.
const URI_BYTES: usize = 2048;

/// The default port of https.
const HTTPS_PORT: u16 = 443;

/// The https URL of a subscriber, with its host and port for the limits and the guard.
///
/// A callback is often a capability (only its path or query protects it), so `Debug` shows its origin and length only.
#[derive(Clone, PartialEq, Eq)]
pub struct Callback {
    uri: String,
    host: Host,
    port: u16,
}

/// Why a text is not a callback or topic URL, as the rest of a message that begins with the field's name.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CallbackError {
    /// Longer than 2,048 bytes; the number of bytes.
    #[error("must be at most {URI_BYTES} bytes, not {0}")]
    TooLong(usize),
    /// A percent sign without two hexadecimal digits.
    #[error("has an invalid percent-encoding")]
    Escape,
    /// A fragment.
    #[error("must not have a fragment")]
    Fragment,
    /// A byte that a URL cannot have; its position after decoding.
    #[error("byte {0} must be percent-encoded in a URL")]
    Byte(usize),
    /// A host with characters outside ASCII.
    #[error("host must be ASCII: an internationalized name must be in its xn-- form")]
    Unicode,
    /// No URL; the parser's message.
    #[error("must be an absolute https URL: {0}")]
    Syntax(String),
    /// A URL without a scheme.
    #[error("must be an absolute https URL")]
    Relative,
    /// Another scheme.
    #[error("must be an https URL, not {}", quote(.0))]
    Scheme(String),
    /// User name or password.
    #[error("must not contain credentials")]
    Credentials,
    /// No host.
    #[error("must have a host")]
    NoHost,
    /// A host in brackets that is no IPv6 address.
    #[error("host {} is not an IPv6 address", quote(.0))]
    Address(String),
    /// A host that is no DNS name.
    #[error("host {} is not a name", quote(.0))]
    Name(String),
    /// A port that is not from 1 to 65535.
    #[error("port {} is not from 1 to 65535", quote(.0))]
    Port(String),
}

impl Callback {
    /// Parses an absolute https URL of at most `URI_BYTES` bytes, without credentials and fragment, by the parser that
    /// deliveries use. Percent-escaped unreserved characters are decoded (WebSub §5.1.1), everything else is kept byte for
    /// byte.
    ///
    /// # Errors
    /// If the text is not such a URL.
    pub fn parse(text: &str) -> Result<Callback, CallbackError> {
        if authority::text_in_url(text).is_some_and(|authority| !authority.is_ascii()) {
            return Err(CallbackError::Unicode);
        }
        let decoded = normalize(text)?;
        let uri: Uri = decoded
            .parse()
            .map_err(|error: InvalidUri| CallbackError::Syntax(error.to_string()))?;
        match uri.scheme_str() {
            Some("https") => {}
            Some(other) => return Err(CallbackError::Scheme(other.to_owned())),
            None => return Err(CallbackError::Relative),
        }
        let parsed = uri.authority().ok_or(CallbackError::NoHost)?;
        if parsed.as_str().contains('@') {
            return Err(CallbackError::Credentials);
        }
        let after_host = parsed.as_str().strip_prefix(parsed.host());
        let authority = Authority {
            host: parsed.host(),
            port: after_host.and_then(|rest| rest.strip_prefix(':')),
        };
        let port = match authority.port {
            None => HTTPS_PORT,
            Some(digits) => authority
                .port_number()
                .ok_or_else(|| CallbackError::Port(digits.to_owned()))?,
        };
        Ok(Callback {
            host: parse_host(authority)?,
            port,
            uri: decoded,
        })
    }

    /// Returns the URL, exactly as deliveries use it.
    #[must_use]
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// Returns the host: a name in lower case, or an IP address.
    #[must_use]
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// Returns the port, 443 if the URL has none.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns host and port, `host:port`: what the limits for a callback host count by.
    #[must_use]
    pub fn authority(&self) -> String {
        format!("{}:{}", self.host, self.port)
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
            // All bytes except unreserved ones are escaped, so no value can end or add a pair.
            push_percent(&mut uri, value, is_unreserved);
            joint = "&";
        }
        uri
    }

    /// Returns the URL for the operator, with `…` in place of its query.
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
        let host = &self.host;
        let port = self.port;
        let bytes = self.uri.len();
        write!(f, "Callback(https://{host}:{port}/… ({bytes} bytes))")
    }
}

/// Parses the host of an authority: a name in any case, dotted decimal, or IPv6 in brackets without a zone.
fn parse_host(authority: Authority<'_>) -> Result<Host, CallbackError> {
    let text = authority.host;
    match authority.address() {
        Some(IpAddr::V4(address)) => Ok(Host::Ipv4(address)),
        Some(IpAddr::V6(address)) => Ok(Host::Ipv6(address)),
        None if text.is_empty() => Err(CallbackError::NoHost),
        None if text.starts_with('[') => Err(CallbackError::Address(text.to_owned())),
        None if !is_dns_name(text) => Err(CallbackError::Name(text.to_owned())),
        None => Ok(Host::Domain(text.to_ascii_lowercase())),
    }
}

/// Decodes percent-escaped unreserved characters (`/%66eed.xml` is `/feed.xml`, RFC 3986 §6.2.2.2) and leaves every
/// other escape as it is. Length, escapes and the absence of a fragment are checked on the way.
///
/// # Errors
/// If the text is too long, or a byte or an escape is not permitted in it.
pub(crate) fn normalize(text: &str) -> Result<String, CallbackError> {
    let bytes = text.len();
    if bytes > URI_BYTES {
        return Err(CallbackError::TooLong(bytes));
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((plain, escaped)) = rest.split_once('%') {
        out.push_str(plain);
        // `None` also if the second byte is not the end of a character.
        let (digits, after) = escaped.split_at_checked(2).unwrap_or_default();
        let byte = unescape(digits.as_bytes()).ok_or(CallbackError::Escape)?;
        if is_unreserved(byte) {
            out.push(char::from(byte));
        } else {
            out.push('%');
            out.push_str(digits);
        }
        rest = after;
    }
    out.push_str(rest);
    for (at, byte) in out.bytes().enumerate() {
        if byte == b'#' {
            return Err(CallbackError::Fragment);
        }
        if !byte.is_ascii_graphic() {
            return Err(CallbackError::Byte(at));
        }
    }
    Ok(out)
}

fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)
}

#[cfg(test)]
#[path = "callback/tests.rs"]
mod tests;
