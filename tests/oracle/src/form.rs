//! The reference implementation of `wire::form`: pieces by `split`, bytes gathered in a vector and checked once at the end.

use reviewd::wire::form::{FormError, decode_into, decode_path, pairs};

/// Checks the splitting of `data` into pairs, and the decoding of `data` and of each name and value in it.
///
/// # Panics
/// If code and reference differ.
pub fn check_form(data: &[u8]) {
    let ours: Vec<(&[u8], &[u8])> = pairs(data).map(|pair| (pair.name, pair.value)).collect();
    let reference: Vec<(&[u8], &[u8])> = data
        .split(|&byte| byte == b'&')
        .filter(|piece| !piece.is_empty())
        .map(reference_pair)
        .collect();
    assert_eq!(ours, reference);

    check_decoding(data);
    for (name, value) in ours {
        check_decoding(name);
        check_decoding(value);
    }
    check_round_trip(&String::from_utf8_lossy(data));
}

fn check_decoding(raw: &[u8]) {
    let mut out = "before".to_owned();
    let result = decode_into(raw, &mut out);
    compare(result, &out, reference_decode(raw, true));
    out.clear();
    out.push_str("before");
    let result = decode_path(raw, &mut out);
    compare(result, &out, reference_decode(raw, false));
}

fn compare(result: Result<(), FormError>, out: &str, reference: Result<String, FormError>) {
    match (result, reference) {
        (Ok(()), Ok(reference)) => assert_eq!(out.strip_prefix("before"), Some(reference.as_str())),
        // Of two faults in one text, either may be found first.
        (Err(ours), Err(reference)) => {
            assert!(
                ours == reference || ours == FormError::NotUtf8,
                "{ours:?} and {reference:?}"
            );
            assert_eq!(out, "before");
        }
        (ours, reference) => panic!("{ours:?} and {reference:?}"),
    }
}

/// Every text survives being escaped, byte by byte, and decoded.
fn check_round_trip(text: &str) {
    let escaped: String = text.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let mut out = String::new();
    assert_eq!(decode_into(escaped.as_bytes(), &mut out), Ok(()));
    assert_eq!(out, text);
}

fn reference_pair(piece: &[u8]) -> (&[u8], &[u8]) {
    let mut parts = piece.splitn(2, |&byte| byte == b'=');
    (
        parts.next().unwrap_or_default(),
        parts.next().unwrap_or_default(),
    )
}

fn reference_decode(raw: &[u8], plus_is_space: bool) -> Result<String, FormError> {
    let mut bytes = Vec::new();
    let mut at = 0;
    while at < raw.len() {
        if raw[at] == b'%' {
            let digits = raw
                .get(at + 1..at + 3)
                .filter(|digits| digits.iter().all(u8::is_ascii_hexdigit));
            let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
            let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
            bytes.push(byte.ok_or(FormError::BrokenEscape { at })?);
            at += 3;
        } else {
            bytes.push(if raw[at] == b'+' && plus_is_space {
                b' '
            } else {
                raw[at]
            });
            at += 1;
        }
    }
    String::from_utf8(bytes).map_err(|_| FormError::NotUtf8)
}
