//! Parses the validity of a certificate (RFC 5280 §4.1.2.5), and nothing else of it.
//!
//! rustls verifies the certificates of peers and does not expose these dates; a complete parser would be a dependency
//! larger than all of our TLS code. The file is the operator's own, but no byte of it is trusted.

use std::ops::RangeInclusive;

use crate::wire::date::{Timestamp, parse_timestamp};

const INTEGER: u8 = 0x02;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
const SEQUENCE: u8 = 0x30;
/// The tag of the version, which version 1 certificates do not have.
const VERSION: u8 = 0xa0;

/// Returns the range of seconds in which a DER certificate is valid; `None` if it cannot be parsed.
pub(super) fn parse_validity(der: &[u8]) -> Option<RangeInclusive<Timestamp>> {
    let (certificate, _) = take(der, SEQUENCE)?;
    let (mut fields, _) = take(certificate, SEQUENCE)?;
    if fields.first() == Some(&VERSION) {
        (_, fields) = take(fields, VERSION)?;
    }
    // Serial number, signature algorithm, issuer.
    for tag in [INTEGER, SEQUENCE, SEQUENCE] {
        (_, fields) = take(fields, tag)?;
    }
    let (validity, _) = take(fields, SEQUENCE)?;
    let (begins, rest) = take_time(validity)?;
    let (ends, _) = take_time(rest)?;
    Some(begins..=ends)
}

/// Splits off the first element, which must have `tag`: returns its contents and the remaining bytes.
fn take(bytes: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (&found, bytes) = bytes.split_first()?;
    let (&first, bytes) = bytes.split_first()?;
    let (length, bytes) = match first {
        0..=0x7f => (usize::from(first), bytes),
        // Lengths of up to four bytes; no certificate is longer.
        0x81..=0x84 => {
            let (digits, bytes) = bytes.split_at_checked(usize::from(first & 0x7f))?;
            let mut length = 0;
            for digit in digits {
                length = length << 8 | usize::from(*digit);
            }
            (length, bytes)
        }
        _ => return None,
    };
    if found != tag {
        return None;
    }
    bytes.split_at_checked(length)
}

/// Splits off a time: `YYMMDDHHMMSSZ`, years from 1950 to 2049, or `YYYYMMDDHHMMSSZ`.
fn take_time(bytes: &[u8]) -> Option<(Timestamp, &[u8])> {
    let tag = *bytes.first()?;
    let (time, rest) = take(bytes, tag)?;
    let century = match tag {
        UTC_TIME if *time.first()? >= b'5' => "19",
        UTC_TIME => "20",
        GENERALIZED_TIME => "",
        _ => return None,
    };
    let digits = format!("{century}{}", std::str::from_utf8(time).ok()?);
    let mut text = String::new();
    for (at, digit) in digits.char_indices() {
        text.push_str(match at {
            4 | 6 => "-",
            8 => "T",
            10 | 12 => ":",
            _ => "",
        });
        text.push(digit);
    }
    Some((parse_timestamp(text.as_bytes())?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(begins: (i32, u8, u8), ends: (i32, u8, u8)) -> Vec<u8> {
        let mut params = rcgen::CertificateParams::new(vec!["a.example".to_owned()]).unwrap();
        params.not_before = rcgen::date_time_ymd(begins.0, begins.1, begins.2);
        params.not_after = rcgen::date_time_ymd(ends.0, ends.1, ends.2);
        let key = rcgen::KeyPair::generate().unwrap();
        params.self_signed(&key).unwrap().der().to_vec()
    }

    fn day(text: &str) -> Timestamp {
        parse_timestamp(format!("{text}T00:00:00Z").as_bytes()).unwrap()
    }

    #[test]
    fn both_forms_of_a_time_are_read() {
        let validity = parse_validity(&made((2026, 1, 2), (2049, 12, 31)));
        assert_eq!(validity, Some(day("2026-01-02")..=day("2049-12-31")));
        // From 2050 on the year has four digits.
        let validity = parse_validity(&made((1975, 1, 1), (4096, 1, 1)));
        assert_eq!(validity, Some(day("1975-01-01")..=day("4096-01-01")));
    }

    #[test]
    fn no_cut_or_change_of_a_certificate_panics() {
        let der = made((2026, 1, 2), (2050, 1, 1));
        for length in 0..150 {
            assert_eq!(parse_validity(&der[..length.min(der.len() / 3)]), None);
        }
        for at in 0..der.len() {
            for byte in [0, 0x30, 0x7f, 0x80, 0x84, 0xff] {
                let mut changed = der.clone();
                changed[at] = byte;
                let _any = parse_validity(&changed);
            }
        }
    }
}
