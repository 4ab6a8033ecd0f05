//! Values of flags: times and sizes with their units, addresses, secrets, and text that goes into headers.

use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;
use std::time::Duration;

use crate::dataset::REVIEWS_BYTES_MAX;

/// Longest time that a flag takes: a year. What is longer is a mistake, and sums with it could overflow.
const TIME_MAX: Duration = Duration::from_secs(366 * 24 * 60 * 60);

/// Largest data file that can be asked for, which is the largest that is ever decoded.
const FILE_BYTES_MAX: u64 = REVIEWS_BYTES_MAX as u64;

/// A value that is never printed. It is parsed after the command line was: clap quotes what its parsers refuse.
#[derive(Clone)]
pub(super) struct Secret(pub(super) String);

impl FromStr for Secret {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Secret, Self::Err> {
        Ok(Secret(text.to_owned()))
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// Parses a time: a whole number and its unit, `ms`, `s`, `m`, `h` or `d`; a bare `0` needs none.
///
/// # Errors
/// A line that names what is wrong.
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
    time.filter(|time| *time <= TIME_MAX)
        .ok_or_else(|| "is longer than 366 days".to_owned())
}

/// Returns what parses a time from `min` to `max`.
pub(super) fn time(
    min: Duration,
    max: Duration,
) -> impl Fn(&str) -> Result<Duration, String> + Clone + Send + Sync + 'static {
    move |text| match parse_time(text)? {
        time if (min..=max).contains(&time) => Ok(time),
        _ => Err(format!("must be from {min:?} to {max:?}")),
    }
}

/// Parses an address and a port to listen on.
///
/// # Errors
/// A line that names what is right; a name is refused, as it may stand for several addresses.
pub(super) fn parse_listen(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| {
        "must be an address and a port, such as 127.0.0.1:8080, 0.0.0.0:8080 or [::]:8080"
            .to_owned()
    })
}

/// Parses a size: a whole number, and `B`, `KiB`, `MiB` or `GiB`; a bare number is bytes.
///
/// # Errors
/// A line that names what is wrong.
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
    number
        .checked_mul(unit_bytes)
        .ok_or_else(|| "is larger than any machine".to_owned())
}

/// Parses the largest size of a data file: what is larger could not be indexed.
///
/// # Errors
/// A line that names what is wrong.
pub(super) fn parse_file_size(text: &str) -> Result<u64, String> {
    match parse_size(text)? {
        size @ 1..=FILE_BYTES_MAX => Ok(size),
        _ => Err("must be from 1B to 1GiB".to_owned()),
    }
}

/// Splits a value into its digits and what follows them.
fn split(text: &str) -> Result<(u64, &str), String> {
    let end = text
        .find(|character: char| !character.is_ascii_digit())
        .unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    if digits.is_empty() {
        return Err("must begin with a whole number".to_owned());
    }
    let number = digits
        .parse()
        .map_err(|_| format!("{digits} is too large a number"))?;
    Ok((number, unit))
}

/// Parses the public address: `http` or `https`, a host, perhaps a port, and nothing after that.
///
/// The result has no trailing slash, and the scheme and host are in lower case as RFC 3986 §6.2.2.1 compares them.
///
/// # Errors
/// A line that names what is wrong.
pub(super) fn parse_base_url(text: &str) -> Result<String, String> {
    let url = url::Url::parse(text).map_err(|error| format!("is not a URL: {error}"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!(
            "must begin with http:// or https://, not {}:",
            url.scheme()
        ));
    }
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

/// Parses an origin that pages may come from, or `*`.
///
/// # Errors
/// A line that names what is wrong.
pub(super) fn parse_origin(text: &str) -> Result<String, String> {
    match text {
        "*" => Ok(text.to_owned()),
        _ => parse_base_url(text),
    }
}

/// Parses the name of a host, with or without a port.
///
/// # Errors
/// A line that names what is wrong.
pub(super) fn parse_host(text: &str) -> Result<String, String> {
    let refusal = "must be the name of a host, such as reviewd, with or without a port";
    let url = parse_base_url(&format!("http://{text}")).map_err(|_| refusal)?;
    match url.strip_prefix("http://") {
        Some(host) if !host.contains('*') => Ok(host.to_owned()),
        _ => Err(refusal.to_owned()),
    }
}

/// Longest value of a header that can be set, in bytes.
const HEADER_BYTES_MAX: usize = 1_024;

/// Parses a value for a header: visible ASCII and spaces, not empty.
///
/// # Errors
/// A line that names what is wrong.
pub(super) fn parse_header_value(text: &str) -> Result<String, String> {
    if text.len() > HEADER_BYTES_MAX {
        return Err(format!("must be at most {HEADER_BYTES_MAX} bytes"));
    }
    let fine = !text.is_empty() && text.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    if fine {
        Ok(text.to_owned())
    } else {
        Err("must be visible ASCII characters and spaces, at least one".to_owned())
    }
}

#[cfg(test)]
mod tests;
