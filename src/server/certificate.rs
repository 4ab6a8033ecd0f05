//! Parses the validity of a certificate (RFC 5280 §4.1.2.5), and nothing else of it.
//!
//! rustls verifies the certificates of peers, but does not tell these dates, and a complete parser would be a dependency
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
    let mut file = DerReader(der);
    let mut certificate = DerReader(file.read(SEQUENCE)?);
    let mut fields = DerReader(certificate.read(SEQUENCE)?);
    if fields.next_tag() == Some(VERSION) {
        fields.read(VERSION)?;
    }
    // Serial number, signature algorithm, issuer.
    for tag in [INTEGER, SEQUENCE, SEQUENCE] {
        fields.read(tag)?;
    }
    let mut validity = DerReader(fields.read(SEQUENCE)?);
    let begins = validity.read_time()?;
    let ends = validity.read_time()?;
    Some(begins..=ends)
}

/// Reads the elements of DER (X.690 §10) one after the other, from the bytes that are left.
struct DerReader<'d>(&'d [u8]);

impl<'d> DerReader<'d> {
    /// Returns the tag of the next element; `None` if there is none.
    fn next_tag(&self) -> Option<u8> {
        self.0.first().copied()
    }

    /// Reads the next element, which must have `tag`, and returns its contents.
    fn read(&mut self, tag: u8) -> Option<&'d [u8]> {
        if self.read_byte()? != tag {
            return None;
        }
        let length = self.read_length()?;
        self.read_bytes(length)
    }

    /// Reads the length of an element.
    fn read_length(&mut self) -> Option<usize> {
        let first = self.read_byte()?;
        match first {
            0..=0x7f => Some(usize::from(first)),
            // Lengths of up to four bytes; no certificate is longer.
            0x81..=0x84 => {
                let mut length = 0;
                for digit in self.read_bytes(usize::from(first & 0x7f))? {
                    length = length << 8 | usize::from(*digit);
                }
                Some(length)
            }
            _ => None,
        }
    }

    /// Reads a time: `YYMMDDHHMMSSZ`, years from 1950 to 2049, or `YYYYMMDDHHMMSSZ`.
    fn read_time(&mut self) -> Option<Timestamp> {
        let tag = self.next_tag()?;
        let time = self.read(tag)?;
        let century = match tag {
            UTC_TIME if *time.first()? >= b'5' => "19",
            UTC_TIME => "20",
            GENERALIZED_TIME => "",
            _ => return None,
        };
        let digits = format!("{century}{}", std::str::from_utf8(time).ok()?);
        let mut text = String::new();
        for (position, digit) in digits.char_indices() {
            text.push_str(match position {
                4 | 6 => "-",
                8 => "T",
                10 | 12 => ":",
                _ => "",
            });
            text.push(digit);
        }
        parse_timestamp(text.as_bytes())
    }

    fn read_byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn read_bytes(&mut self, count: usize) -> Option<&'d [u8]> {
        let (bytes, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(bytes)
    }
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
