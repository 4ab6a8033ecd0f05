//! Values of flags: times and sizes with their units, addresses, secrets, choices, and text for headers. Each parser's
//! error is one line, to which clap adds the flag and its value.

use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use url::Url;

use crate::dataset::REVIEWS_BYTES_MAX;

/// Longest time that a flag takes, a year: sums with a longer one could overflow.
const TIME_MAX: Duration = Duration::from_secs(366 * 24 * 60 * 60);

/// Largest data file that can be allowed, which is the largest that is ever decoded.
const FILE_BYTES_MAX: u64 = REVIEWS_BYTES_MAX as u64;

/// Most requests a minute that a rate limit can be set to.
pub(super) const RATE_MAX: i64 = 1_000_000;

/// Longest value of a header that can be set, in bytes.
const HEADER_BYTES_MAX: usize = 1_024;

/// A value that is never printed. It is validated after the command line was parsed, as clap prints values that its
/// parsers refuse.
#[derive(Clone)]
pub(super) struct Secret(pub(super) String);

impl From<String> for Secret {
    fn from(text: String) -> Secret {
        Secret(text)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// Returns a parser of one of these names, each with its value.
pub(super) fn one_of<T: Clone + Send + Sync + 'static>(
    choices: &'static [(&'static str, T)],
) -> impl TypedValueParser<Value = T> {
    let names = PossibleValuesParser::new(choices.iter().map(|(name, _)| *name));
    names.try_map(move |name| {
        let choice = choices.iter().find(|(known, _)| *known == name);
        choice.map(|(_, value)| value.clone()).ok_or("unknown")
    })
}

/// Parses a time: a whole number and its unit, `ms`, `s`, `m`, `h` or `d`; `0` needs none.
pub(super) fn parse_time(text: &str) -> Result<Duration, String> {
    let (number, unit) = split(text)?;
    let unit_ms: u64 = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        "" if number == 0 => 0,
        "" => {
            return Err(format!(
                "needs a unit: {number}ms, {number}s, {number}m, {number}h or {number}d"
            ));
        }
        _ => {
            return Err(format!(
                "`{unit}` is not a unit of time: use ms, s, m, h or d"
            ));
        }
    };
    let time = number.checked_mul(unit_ms).map(Duration::from_millis);
    let time = time.filter(|time| *time <= TIME_MAX);
    time.ok_or_else(|| "is longer than 366 days".to_owned())
}

/// Returns a parser of a time from `min` to `max`.
pub(super) fn time(
    min: Duration,
    max: Duration,
) -> impl Fn(&str) -> Result<Duration, String> + Clone + Send + Sync + 'static {
    move |text| match parse_time(text)? {
        time if (min..=max).contains(&time) => Ok(time),
        _ => Err(format!("must be from {min:?} to {max:?}")),
    }
}

/// Parses an address and a port to listen on. A name is refused, as it may stand for several addresses.
pub(super) fn parse_listen(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| {
        "must be an address and a port, such as 127.0.0.1:8080, 0.0.0.0:8080 or [::]:8080"
            .to_owned()
    })
}

/// Parses a size: a whole number, and `B`, `KiB`, `MiB` or `GiB`; a bare number is bytes.
pub(super) fn parse_size(text: &str) -> Result<u64, String> {
    let (number, unit) = split(text)?;
    let unit_bytes: u64 = match unit {
        "" | "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => {
            return Err(format!(
                "`{unit}` is not a unit of size: use B, KiB, MiB or GiB"
            ));
        }
    };
    let size = number.checked_mul(unit_bytes);
    size.ok_or_else(|| "is larger than any machine".to_owned())
}

/// Parses the largest size of a data file.
pub(super) fn parse_file_size(text: &str) -> Result<u64, String> {
    match parse_size(text)? {
        size @ 1..=FILE_BYTES_MAX => Ok(size),
        _ => Err("must be from 1B to 1GiB".to_owned()),
    }
}

/// Splits a value into its digits and what follows them.
fn split(text: &str) -> Result<(u64, &str), String> {
    let end = text.find(|character: char| !character.is_ascii_digit());
    let (digits, unit) = text.split_at(end.unwrap_or(text.len()));
    if digits.is_empty() {
        return Err("must begin with a whole number".to_owned());
    }
    let number = digits.parse();
    let number = number.map_err(|_| format!("{digits} is too large a number"))?;
    Ok((number, unit))
}

/// Parses a URL of `http` or `https`.
pub(super) fn parse_http_url(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).map_err(|error| format!("is not a URL: {error}"))?;
    match url.scheme() {
        "http" | "https" => Ok(url),
        scheme => Err(format!(
            "must begin with http:// or https://, not {scheme}:"
        )),
    }
}

/// Parses the public address: `http` or `https`, a host, perhaps a port, and nothing after that.
///
/// The result has no trailing slash, and the scheme and host are in lower case as RFC 3986 §6.2.2.1 compares them.
pub(super) fn parse_base_url(text: &str) -> Result<String, String> {
    let url = parse_http_url(text)?;
    if url.host_str().is_none_or(str::is_empty) {
        return Err("has no host".to_owned());
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("must not contain a user name or password".to_owned());
    }
    if url.path() != "/" {
        return Err(format!(
            "must have no path, all addresses lie at its root; without `{}` it is fine",
            url.path()
        ));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err("must end after the host and port".to_owned());
    }
    Ok(url.origin().ascii_serialization())
}

/// Parses an origin of web pages, or `*`.
pub(super) fn parse_origin(text: &str) -> Result<String, String> {
    match text {
        "*" => Ok(text.to_owned()),
        _ => parse_base_url(text),
    }
}

/// Parses the name of a host, with or without a port.
pub(super) fn parse_host(text: &str) -> Result<String, String> {
    let url = parse_base_url(&format!("http://{text}")).unwrap_or_default();
    match url.strip_prefix("http://") {
        Some(host) if !host.contains('*') => Ok(host.to_owned()),
        _ => Err("must be the name of a host, such as reviewd, with or without a port".to_owned()),
    }
}

/// Parses a value for a header: visible ASCII and spaces, not empty.
pub(super) fn parse_header_value(text: &str) -> Result<String, String> {
    if text.len() > HEADER_BYTES_MAX {
        return Err(format!("must be at most {HEADER_BYTES_MAX} bytes"));
    }
    match !text.is_empty() && text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
        true => Ok(text.to_owned()),
        false => Err("must be visible ASCII characters and spaces, at least one".to_owned()),
    }
}

#[cfg(test)]
mod tests;
