//! Values of flags: times and sizes with their units, addresses, and text that goes into headers.

use std::time::Duration;

use crate::mcp::Key;
use crate::mcp::session::KEY_BYTES;

/// Longest time that a flag takes: a year. What is longer is a mistake, and sums with it could overflow.
const TIME_MAX: Duration = Duration::from_secs(366 * 24 * 60 * 60);

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

/// Parses a time that may not be zero.
///
/// # Errors
/// A line that names what is wrong.
pub(super) fn parse_positive_time(text: &str) -> Result<Duration, String> {
    match parse_time(text)? {
        Duration::ZERO => Err("must be longer than 0".to_owned()),
        time => Ok(time),
    }
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

/// Parses a size within bounds.
///
/// # Errors
/// A line that names what is wrong.
pub(super) fn parse_size_within(text: &str, min: u64, max: u64) -> Result<usize, String> {
    let size = parse_size(text)?;
    if size < min || size > max {
        return Err(format!("must be from {min} to {max} bytes"));
    }
    usize::try_from(size).map_err(|_| "is larger than this machine can address".to_owned())
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

/// Parses a key of 32 bytes, written as 64 hexadecimal digits.
///
/// # Errors
/// A line that names what is wrong, without the value: it is a secret.
pub(super) fn parse_key(text: &str) -> Result<Key, String> {
    let mut key = [0u8; KEY_BYTES];
    let digits: Option<Vec<u32>> = text.chars().map(|digit| digit.to_digit(16)).collect();
    let digits = digits.filter(|digits| digits.len() == 2 * KEY_BYTES);
    let digits = digits.ok_or_else(|| "must be 64 hexadecimal digits".to_owned())?;
    for (byte, pair) in key.iter_mut().zip(digits.chunks(2)) {
        // Two digits below 16 make a byte.
        *byte = (pair[0] * 16 + pair[1]) as u8;
    }
    Ok(Key::new(key))
}

/// Parses a value for a header: visible ASCII and spaces, not empty.
///
/// # Errors
/// A line that names what is wrong.
pub(super) fn parse_header_value(text: &str) -> Result<String, String> {
    let fine = !text.is_empty() && text.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    if fine {
        Ok(text.to_owned())
    } else {
        Err("must be visible ASCII characters and spaces, at least one".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::{parse_base_url, parse_header_value, parse_size, parse_size_within, parse_time};
    use std::time::Duration;

    #[test]
    fn times_have_units() {
        assert_eq!(parse_time("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(parse_time("10s"), Ok(Duration::from_secs(10)));
        assert_eq!(parse_time("2m"), Ok(Duration::from_secs(120)));
        assert_eq!(parse_time("1h"), Ok(Duration::from_secs(3_600)));
        assert_eq!(parse_time("366d"), Ok(Duration::from_secs(366 * 86_400)));
        assert_eq!(parse_time("0"), Ok(Duration::ZERO));
    }

    #[test]
    fn times_without_sense_are_refused_with_a_remedy() {
        assert_eq!(
            parse_time("10").unwrap_err(),
            "needs a unit: 10ms, 10s, 10m, 10h or 10d"
        );
        assert!(
            parse_time("10y")
                .unwrap_err()
                .contains("not a unit of time")
        );
        assert_eq!(
            parse_time("-1s").unwrap_err(),
            "must begin with a whole number"
        );
        assert_eq!(parse_time("367d").unwrap_err(), "is longer than 366 days");
        assert!(parse_time("99999999999999999999s").is_err());
        assert!(parse_time("18446744073709551615d").is_err());
        assert!(parse_time("").is_err());
    }

    #[test]
    fn sizes_have_units_of_1024() {
        assert_eq!(parse_size("512"), Ok(512));
        assert_eq!(parse_size("512B"), Ok(512));
        assert_eq!(parse_size("16KiB"), Ok(16_384));
        assert_eq!(parse_size("1MiB"), Ok(1_048_576));
        assert_eq!(parse_size("1GiB"), Ok(1_073_741_824));
        assert!(parse_size("1KB").is_err());
        assert!(parse_size("18446744073709551615KiB").is_err());
    }

    #[test]
    fn size_bounds_hold_on_both_sides() {
        assert_eq!(parse_size_within("1KiB", 1_024, 2_048), Ok(1_024));
        assert_eq!(parse_size_within("2KiB", 1_024, 2_048), Ok(2_048));
        assert!(parse_size_within("1023", 1_024, 2_048).is_err());
        assert!(parse_size_within("2049", 1_024, 2_048).is_err());
    }

    #[test]
    fn a_base_url_is_an_origin() {
        assert_eq!(
            parse_base_url("https://reviews.example"),
            Ok("https://reviews.example".to_owned())
        );
        assert_eq!(
            parse_base_url("https://Reviews.Example/"),
            Ok("https://reviews.example".to_owned())
        );
        assert_eq!(
            parse_base_url("http://127.0.0.1:8080"),
            Ok("http://127.0.0.1:8080".to_owned())
        );
        assert_eq!(
            parse_base_url("https://reviews.example:443"),
            Ok("https://reviews.example".to_owned())
        );
    }

    #[test]
    fn a_base_url_with_anything_more_is_refused() {
        for text in [
            "reviews.example",
            "ftp://reviews.example",
            "https://",
            "https://reviews.example/api",
            "https://reviews.example?x",
            "https://reviews.example#x",
            "https://me@reviews.example",
            "https://me:secret@reviews.example",
        ] {
            assert!(parse_base_url(text).is_err(), "{text}");
        }
    }

    #[test]
    fn header_values_are_visible_ascii() {
        assert!(parse_header_value("public, max-age=60").is_ok());
        assert!(parse_header_value("").is_err());
        assert!(parse_header_value("a\r\nb").is_err());
        assert!(parse_header_value("ä").is_err());
    }
}
