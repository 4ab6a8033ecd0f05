//! Values of flags: times and sizes with their units, addresses, secrets, choices, and text for headers. The error of
//! each parser is one line; clap puts the flag and its value before it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use clap::ValueEnum;
use thiserror::Error;
use url::Url;

use crate::pages::Language;

/// Largest rate limit in requests per minute.
pub(super) const RATE_MAX: u32 = 1_000_000;

/// Longest configurable header value in bytes.
const HEADER_BYTES_MAX: usize = 1_024;

/// Units of a time, and their milliseconds.
const TIME_UNITS: [(&str, u64); 5] = [
    ("ms", 1),
    ("s", 1_000),
    ("m", 60_000),
    ("h", 3_600_000),
    ("d", 86_400_000),
];

/// Units of a size, and their bytes.
const SIZE_UNITS: [(&str, u64); 4] = [
    ("B", 1),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
];

/// Why a value of a flag is refused, as the end of a line that begins with the flag.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(super) enum ValueError {
    #[error("must be a whole number from {min} to {max}")]
    Number { min: u32, max: u32 },
    #[error("must be a whole number with ms, s, m, h or d")]
    Time,
    #[error("must be from {min} to {max}")]
    TimeRange {
        min: &'static str,
        max: &'static str,
    },
    #[error("must be a whole number with B, KiB, MiB or GiB")]
    Size,
    #[error("must be at least {0}")]
    TooSmall(&'static str),
    #[error(
        "must be ADDRESS:PORT with an IP address, localhost:PORT, :PORT for all addresses, or PORT"
    )]
    Listen,
    #[error("must be a URL that begins with http:// or https://")]
    Url,
    /// The part of the URL that is permitted.
    #[error("must have nothing after host and port, and no user name: {0}")]
    AfterPort(String),
    #[error("must have nothing after the path, and no user name")]
    AfterPath,
    /// The permitted values.
    #[error("must be one of {0}")]
    OneOf(String),
    #[error("must be the name of a host, such as reviewd, with or without a port")]
    Host,
    #[error("must be 1 to {HEADER_BYTES_MAX} visible ASCII characters and spaces")]
    HeaderValue,
}

/// How a command prints its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum OutputFormat {
    /// Lines
    Text,
    /// One object
    Json,
}

/// A value that is never printed: it does not even implement `Debug`. It is checked after the command line was parsed,
/// because clap prints the values that its parsers reject.
#[derive(Clone)]
pub(super) struct SecretFlag(pub(super) String);

impl From<String> for SecretFlag {
    fn from(text: String) -> SecretFlag {
        SecretFlag(text)
    }
}

/// Returns a parser of a whole number from `min` to `max`.
pub(super) fn number(
    min: u32,
    max: u32,
) -> impl Fn(&str) -> Result<u32, ValueError> + Clone + Send + Sync + 'static {
    move |text| match text.parse() {
        Ok(number) if (min..=max).contains(&number) => Ok(number),
        _ => Err(ValueError::Number { min, max }),
    }
}

/// Returns a parser of a time from `min` to `max`, which are in the syntax of the flag.
pub(super) fn time(
    min: &'static str,
    max: &'static str,
) -> impl Fn(&str) -> Result<Duration, ValueError> + Clone + Send + Sync + 'static {
    move |text| {
        let time = parse_time(text)?;
        if time < parse_time(min)? || time > parse_time(max)? {
            return Err(ValueError::TimeRange { min, max });
        }
        Ok(time)
    }
}

/// Parses a time: a whole number and its unit; `0` needs none.
pub(super) fn parse_time(text: &str) -> Result<Duration, ValueError> {
    let ms = match text {
        "0" => Some(0),
        text => parse_scaled(text, &TIME_UNITS),
    };
    ms.map(Duration::from_millis).ok_or(ValueError::Time)
}

/// Parses a size: a whole number, and `B`, `KiB`, `MiB` or `GiB`; `0` needs none.
pub(super) fn parse_size(text: &str) -> Result<u64, ValueError> {
    let bytes = match text {
        "0" => Some(0),
        text => parse_scaled(text, &SIZE_UNITS),
    };
    bytes.ok_or(ValueError::Size)
}

/// Parses digits followed by one of `units`; `None` for any other text and for numbers that are too large.
fn parse_scaled(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let end = text.find(|character: char| !character.is_ascii_digit());
    let (digits, unit) = text.split_at(end.unwrap_or(text.len()));
    let (_, scale) = units.iter().find(|(name, _)| *name == unit)?;
    digits.parse::<u64>().ok()?.checked_mul(*scale)
}

/// Parses an address to listen on: `ADDRESS:PORT`; `PORT` or `localhost:PORT` for this machine only; `:PORT` for all
/// addresses, of IPv4 and IPv6.
pub(super) fn parse_listen(text: &str) -> Result<SocketAddr, ValueError> {
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    let (host, port) = text.rsplit_once(':').unwrap_or(("localhost", text));
    let ip = match host {
        "localhost" => IpAddr::from(Ipv4Addr::LOCALHOST),
        "" => IpAddr::from(Ipv6Addr::UNSPECIFIED),
        _ => return Err(ValueError::Listen),
    };
    match port.parse() {
        Ok(port) => Ok(SocketAddr::new(ip, port)),
        Err(_) => Err(ValueError::Listen),
    }
}

/// Parses an `http` or `https` URL.
pub(super) fn parse_http_url(text: &str) -> Result<Url, ValueError> {
    match Url::parse(text) {
        Ok(url) if ["http", "https"].contains(&url.scheme()) => Ok(url),
        _ => Err(ValueError::Url),
    }
}

/// Parses the public address: `http` or `https`, a host and an optional port, without a path.
///
/// The result has no trailing slash, and scheme and host are in lower case, normalized by RFC 3986 §6.2.2.1.
pub(super) fn parse_base_url(text: &str) -> Result<String, ValueError> {
    let url = parse_http_url(text)?;
    let origin = url.origin().ascii_serialization();
    // Any other part, such as a path or a user name, makes the URL longer than its origin.
    if url.as_str().strip_suffix('/') != Some(origin.as_str()) {
        return Err(ValueError::AfterPort(origin));
    }
    Ok(origin)
}

/// Parses the public address of files: like [`parse_base_url`], but also with a path.
pub(super) fn parse_site_url(text: &str) -> Result<String, ValueError> {
    let url = parse_http_url(text)?;
    let has_user = !url.username().is_empty() || url.password().is_some();
    if has_user || url.query().is_some() || url.fragment().is_some() {
        return Err(ValueError::AfterPath);
    }
    Ok(url.as_str().trim_end_matches('/').to_owned())
}

/// Parses the language of pages: the tag of one that has a message file.
pub(super) fn parse_page_language(text: &str) -> Result<String, ValueError> {
    match Language::of_tag(text.as_bytes()) {
        Some(language) => Ok(language.code().to_owned()),
        None => {
            let codes: Vec<&str> = Language::all().map(Language::code).collect();
            Err(ValueError::OneOf(codes.join(", ")))
        }
    }
}

/// Parses an origin of web pages, or `*`.
pub(super) fn parse_origin(text: &str) -> Result<String, ValueError> {
    match text {
        "*" => Ok(text.to_owned()),
        _ => parse_base_url(text),
    }
}

/// Parses a host name, with or without a port.
pub(super) fn parse_host(text: &str) -> Result<String, ValueError> {
    let url = parse_base_url(&format!("http://{text}")).unwrap_or_default();
    match url.strip_prefix("http://") {
        Some(host) if !host.contains('*') => Ok(host.to_owned()),
        _ => Err(ValueError::Host),
    }
}

/// Parses a value for a header: visible ASCII and spaces, not empty.
pub(super) fn parse_header_value(text: &str) -> Result<String, ValueError> {
    let is_visible = text.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    if !is_visible || !(1..=HEADER_BYTES_MAX).contains(&text.len()) {
        return Err(ValueError::HeaderValue);
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests;
