//! Numbers of the document: rounded once, in whole numbers, so that every machine writes the same digits.

use crate::wire::json::push_u64;

/// `part / whole` times `scale`, rounded half away from zero; 0 where `whole` is.
pub(super) fn ratio(part: i64, whole: u64, scale: i64) -> i64 {
    let (part, whole, scale) = (i128::from(part), i128::from(whole), i128::from(scale));
    let rounded = (part.abs() * scale * 2 + whole)
        .checked_div(whole * 2)
        .unwrap_or(0);
    // No part of ours is larger than its whole by more than the number of stars, nor is a scale beyond 10^4.
    (rounded * part.signum()) as i64
}

/// Appends `value` divided by 10^`decimals`, with that many decimals.
pub(super) fn push_decimal(out: &mut Vec<u8>, value: i64, decimals: u32) {
    if value < 0 {
        out.push(b'-');
    }
    let unit = 10u64.pow(decimals);
    push_u64(out, value.unsigned_abs() / unit);
    out.push(b'.');
    let rest = value.unsigned_abs() % unit;
    for place in (0..decimals).rev() {
        out.push(b'0' + (rest / 10u64.pow(place) % 10) as u8);
    }
}

/// The bounds of the Wilson score interval (1927) of the share `part / whole` with 95 % confidence, in
/// ten-thousandths.
pub(super) fn wilson(part: u64, whole: u64) -> [i64; 2] {
    if whole == 0 {
        return [0, 10_000];
    }
    let (share, count) = (part as f64 / whole as f64, whole as f64);
    let square = NORMAL_95 * NORMAL_95;
    let centre = share + square / (2.0 * count);
    let spread =
        NORMAL_95 * (share * (1.0 - share) / count + square / (4.0 * count * count)).sqrt();
    [centre - spread, centre + spread].map(|bound| {
        (bound / (1.0 + square / count) * 10_000.0)
            .round()
            .clamp(0.0, 10_000.0) as i64
    })
}

/// The normal deviate of a two-sided confidence of 95 %.
const NORMAL_95: f64 = 1.959_963_985;

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(value: i64, decimals: u32) -> String {
        let mut out = Vec::new();
        push_decimal(&mut out, value, decimals);
        String::from_utf8(out).expect("digits")
    }

    #[test]
    fn numbers_are_rounded_and_written() {
        assert_eq!(ratio(2, 3, 1_000), 667);
        assert_eq!(ratio(-1, 8, 100), -13);
        assert_eq!(ratio(5, 0, 100), 0);
        assert_eq!(decimal(-5, 4), "-0.0005");
        assert_eq!(decimal(10_000, 4), "1.0000");
        assert_eq!(decimal(667, 1), "66.7");
    }

    #[test]
    fn wilson_intervals_as_published() {
        // Newcombe (1998), table I, method 3: 81 of 263, 15 of 148, 0 of 20, 1 of 29.
        assert_eq!(wilson(81, 263), [2553, 3662]);
        assert_eq!(wilson(15, 148), [624, 1605]);
        assert_eq!(wilson(0, 20), [0, 1611]);
        assert_eq!(wilson(1, 29), [61, 1718]);
        assert_eq!(wilson(0, 0), [0, 10_000]);
    }
}
