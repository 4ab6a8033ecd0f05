//! Parser of the `traceparent` header (W3C Trace Context, Recommendation of 23 November 2021).

#![warn(clippy::indexing_slicing)]

/// Length of version 00 in bytes; a later version may append a hyphen and more fields.
pub const LENGTH: usize = 55;

/// Returns the fields of version 00 of a `traceparent` (§3.2.2), or `None` if the value must be ignored: wrong format,
/// upper-case letters, version ff, an id of only zeros, or trailing data in version 00.
#[must_use]
pub fn parse_traceparent(value: &[u8]) -> Option<&str> {
    let (text, rest) = value.split_at_checked(LENGTH)?;
    let is_formed = text.iter().enumerate().all(|(at, byte)| match at {
        2 | 35 | 52 => *byte == b'-',
        _ => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
    });
    let ends = match text.get(..2)? {
        b"ff" => false,
        b"00" => rest.is_empty(),
        _ => rest.first().is_none_or(|byte| *byte == b'-'),
    };
    let trace_id = text.get(3..35)?;
    let parent_id = text.get(36..52)?;
    let is_valid = is_formed && ends && is_set(trace_id) && is_set(parent_id);
    std::str::from_utf8(text).ok().filter(|_| is_valid)
}

/// Tells whether an id has another digit than 0.
fn is_set(id: &[u8]) -> bool {
    id.iter().any(|byte| *byte != b'0')
}

#[cfg(test)]
mod tests {
    use super::parse_traceparent;

    const GOOD: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn version_00_and_the_prefix_of_later_versions_parse() {
        let later = GOOD.replacen("00", "cc", 1);
        for (text, tail) in [(GOOD, ""), (&later, ""), (&later, "-more of the future")] {
            let value = format!("{text}{tail}");
            assert_eq!(parse_traceparent(value.as_bytes()), Some(text));
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
            assert_eq!(parse_traceparent(bad.as_bytes()), None, "{bad}");
        }
    }
}
