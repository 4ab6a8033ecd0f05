//! Stars in the notations of exports: `5`, `4.0`, `5/5`, `FIVE`, `★★★★☆`, `4 out of 5 stars`.

use reviewd_data::model::Rating;
use reviewd_wire::text::quote;

/// Parses whole stars from 1 to 5; the error is a message.
///
/// `best` is the maximum of the source's scale, if it is given separately. A scale other than 5 is converted if the
/// result is a whole number of stars, and refused otherwise.
pub(super) fn parse(text: &str, best: Option<&str>) -> Result<Rating, String> {
    let refused = || format!("rating: {} is not from 1 to 5 stars", quote(text.trim()));
    let lower = text.trim().to_ascii_lowercase();
    let value = lower.strip_suffix("stars").or(lower.strip_suffix("star"));
    let value = value.unwrap_or(&lower).trim_end_matches([' ', '_', '-']);
    let words = ["one", "two", "three", "four", "five"];
    let word = words.iter().position(|known| *known == value);
    let word = word.and_then(|at| u8::try_from(at + 1).ok());
    if let Some(stars) = word.or_else(|| symbols(value)) {
        return Rating::new(stars).ok_or_else(refused);
    }
    let best = best.map(str::trim).filter(|best| !best.is_empty());
    let stated = value.split_once('/').or_else(|| value.split_once("out of"));
    let (value, scale) = stated.unwrap_or((value, best.unwrap_or("5")));
    let [value, scale] = [value, scale].map(|text| thousandths(text.trim()));
    let (value, scale) = value.zip(scale).ok_or_else(refused)?;
    // Both values are integers, in thousandths, so no float is compared.
    let scaled = u64::from(value) * 5;
    if scale == 0 || scaled % u64::from(scale) != 0 {
        let quoted = quote(text.trim());
        return Err(format!("rating: {quoted} is not a whole number of stars"));
    }
    let stars = u8::try_from(scaled / u64::from(scale)).ok();
    stars.and_then(Rating::new).ok_or_else(refused)
}

/// `★★★★☆`, `⭐⭐⭐⭐` and `****`: counts the filled symbols; besides them only empty ones are allowed.
fn symbols(text: &str) -> Option<u8> {
    let (mut filled, mut empty) = (0u8, 0u8);
    for symbol in text.chars() {
        match symbol {
            '★' | '⭐' | '🌟' | '*' => filled = filled.checked_add(1)?,
            '☆' | '✩' => empty = empty.checked_add(1)?,
            // U+FE0F selects the emoji form of the character before it.
            '\u{fe0f}' | ' ' => {}
            _ => return None,
        }
    }
    (filled > 0 && filled.saturating_add(empty) <= 5).then_some(filled)
}

/// Parses a number with a decimal point or comma, in thousandths.
fn thousandths(text: &str) -> Option<u32> {
    let (whole, fraction) = text.split_once(['.', ',']).unwrap_or((text, "0"));
    let is_number = |digits: &str| {
        (1..=6).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    let (whole, fraction) =
        (is_number(whole) && is_number(fraction)).then_some((whole, fraction))?;
    // After the third decimal place only zeros are allowed.
    let fraction = fraction.trim_end_matches('0');
    let fraction = (fraction.len() <= 3).then(|| format!("{fraction:0<3}"))?;
    (whole.to_owned() + &fraction).parse().ok()
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn every_notation_of_whole_stars_is_read() {
        let stars = |text, best| parse(text, best).ok().map(|rating| rating.stars());
        let four =
            "4|4.0|4,0|4/5|8/10|four|FOUR_STARS|★★★★☆|⭐️⭐️⭐️⭐️|****|4 out of 5 stars|4 stars";
        for text in four.split('|') {
            assert_eq!(stars(text, None), Some(4), "{text}");
        }
        let none =
            "|0|6|-1|4.5|4.0001|★★★★★★|☆☆☆☆☆|4/0|3/10|10|5/4|1e0|4x|4/5/6|STAR_RATING_UNSPECIFIED";
        for text in none.split('|') {
            assert_eq!(stars(text, None), None, "{text}");
        }
        for (text, best, expected) in [
            ("8", "10", Some(4)),
            ("100", "100", Some(5)),
            ("7", "10", None),
            ("4", "", Some(4)),
            ("4", "many", None),
            ("4/5", "10", Some(4)),
        ] {
            assert_eq!(stars(text, Some(best)), expected, "{text} of {best}");
        }
    }
}
