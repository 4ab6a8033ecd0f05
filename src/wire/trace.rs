//! The trace context that a client or proxy sends along (W3C Trace Context, Recommendation of 23 November 2021).

use std::fmt;

/// A `traceparent`, checked: 32 digits of the trace and 16 of the parent, in lower case.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct TraceParent {
    text: [u8; LENGTH],
}

/// Length of version 00 in bytes; a later version may append a hyphen and more fields.
const LENGTH: usize = 55;

impl TraceParent {
    /// Parses a header's value (§3.2.2), or returns `None` if it must be ignored: wrong format, upper case,
    /// version ff, an id of only zeros, or trailing data in version 00.
    #[must_use]
    pub fn parse(value: &[u8]) -> Option<TraceParent> {
        let (text, rest) = value.split_first_chunk::<LENGTH>()?;
        let is_digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        let shape = text.iter().enumerate().all(|(at, byte)| match at {
            2 | 35 | 52 => *byte == b'-',
            _ => is_digit(byte),
        });
        let version = &text[..2];
        let ends = match version {
            b"ff" => false,
            b"00" => rest.is_empty(),
            _ => rest.first().is_none_or(|byte| *byte == b'-'),
        };
        let is_set = |id: &[u8]| id.iter().any(|byte| *byte != b'0');
        (shape && ends && is_set(&text[3..35]) && is_set(&text[36..52]))
            .then_some(TraceParent { text: *text })
    }

    /// Returns its digits and hyphens.
    #[must_use]
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.text).unwrap_or_default()
    }
}

impl fmt::Debug for TraceParent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "TraceParent({})", self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::TraceParent;

    const GOOD: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn version_00_and_the_prefix_of_later_versions_parse() {
        let later = GOOD.replacen("00", "cc", 1);
        for (text, tail) in [(GOOD, ""), (&later, ""), (&later, "-more of the future")] {
            let parsed = TraceParent::parse(format!("{text}{tail}").as_bytes());
            assert_eq!(parsed.expect("a good one").as_str(), text);
        }
        let zeros = |from: usize, to: usize| {
            let mut text = GOOD.to_owned();
            text.replace_range(from..to, &"0".repeat(to - from));
            text
        };
        for bad in [
            String::new(),
            GOOD[..54].to_owned(),
            format!("{GOOD}-"),
            format!("{later}.what"),
            GOOD.replacen("00", "ff", 1),
            GOOD.to_uppercase(),
            GOOD.replace('-', "_"),
            GOOD.replace('4', "g"),
            zeros(3, 35),
            zeros(36, 52),
        ] {
            assert_eq!(TraceParent::parse(bad.as_bytes()), None, "{bad}");
        }
    }
}
