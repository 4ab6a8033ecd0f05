//! Stars in the notations of exports: `5`, `4.0`, `5/5`, `FIVE`, `★★★★☆`, `4 out of 5 stars`.

use super::text::quote;
use crate::model::Rating;

/// Reads whole stars from 1 to 5.
///
/// `best` is the most that the source gives, where it says so beside the value; a scale other than 5 is converted if
/// the result is a whole star, and refused if it is not.
///
/// # Errors
/// A line that says why it is no rating.
pub(super) fn parse(text: &str, best: Option<&str>) -> Result<Rating, String> {
    let text = text.trim();
    let refused = || format!("rating: {} is not from 1 to 5 stars", quote(text));
    if let Some(stars) = word(text).or_else(|| symbols(text)) {
        return Rating::new(stars).ok_or_else(refused);
    }
    let (value, rest) = number(text).ok_or_else(refused)?;
    let best = best.map(str::trim).filter(|best| !best.is_empty());
    let scale = match (scale(rest).ok_or_else(refused)?, best) {
        (Some(scale), _) => scale,
        (None, None) => 5_000,
        (None, Some(best)) => match number(best) {
            Some((scale, "")) => scale,
            _ => return Err(refused()),
        },
    };
    // Thousandths on both sides, so that no float decides.
    let scaled = u64::from(value) * 5;
    if scale == 0 || scaled % u64::from(scale) != 0 {
        return Err(format!(
            "rating: {} is not a whole number of stars",
            quote(text)
        ));
    }
    let stars = u8::try_from(scaled / u64::from(scale)).ok();
    stars.and_then(Rating::new).ok_or_else(refused)
}

/// `FIVE`, as Google writes it, with or without "stars" behind it.
fn word(text: &str) -> Option<u8> {
    let lower = text.to_ascii_lowercase();
    let word = lower
        .strip_suffix("stars")
        .or_else(|| lower.strip_suffix("star"));
    let word = word.unwrap_or(&lower).trim_end_matches([' ', '_', '-']);
    let known = ["one", "two", "three", "four", "five"];
    let at = known.iter().position(|known| *known == word)?;
    u8::try_from(at + 1).ok()
}

/// `★★★★☆`, `⭐⭐⭐⭐` and `****`: filled ones count, and only empty ones may stand beside them.
fn symbols(text: &str) -> Option<u8> {
    let (mut filled, mut empty) = (0u8, 0u8);
    for symbol in text.chars() {
        match symbol {
            '★' | '⭐' | '🌟' | '*' => filled = filled.checked_add(1)?,
            '☆' | '✩' => empty = empty.checked_add(1)?,
            // Asks for the colored picture of the character before it.
            '\u{fe0f}' | ' ' => {}
            _ => return None,
        }
    }
    (filled > 0 && filled.saturating_add(empty) <= 5).then_some(filled)
}

/// A number in thousandths, with a point or a comma, and what follows it.
fn number(text: &str) -> Option<(u32, &str)> {
    let digits = |text: &'_ str| {
        text.find(|c: char| !c.is_ascii_digit())
            .unwrap_or(text.len())
    };
    let (whole, rest) = text.split_at(digits(text));
    if whole.is_empty() || whole.len() > 4 {
        return None;
    }
    let value = whole.parse::<u32>().ok()? * 1_000;
    let Some(fraction) = rest.strip_prefix(['.', ',']) else {
        return Some((value, rest));
    };
    let (fraction, rest) = fraction.split_at(digits(fraction));
    // Zeros may follow in any number, other digits only as far as thousandths go.
    let fraction = fraction.trim_end_matches('0');
    if fraction.len() > 3 {
        return None;
    }
    Some((value + format!("{fraction:0<3}").parse::<u32>().ok()?, rest))
}

/// What stands behind the number: nothing (`Some(None)`), or the scale in thousandths.
fn scale(rest: &str) -> Option<Option<u32>> {
    let lower = rest.to_lowercase();
    let rest = strip_stars(&lower);
    if rest.is_empty() {
        return Some(None);
    }
    let separators = ["/", "out of", "of", "von", "sur", "de", "su", "van", "av"];
    let rest = separators.iter().find_map(|word| rest.strip_prefix(word))?;
    let (scale, rest) = number(rest.trim())?;
    strip_stars(rest).is_empty().then_some(Some(scale))
}

/// Removes the word for stars, in the languages of the separators.
fn strip_stars(text: &str) -> &str {
    let words = "stars star sternen sterne stern étoiles étoile estrellas estrella stelle ★ ⭐";
    let text = text.trim();
    let found = words.split(' ').find_map(|word| text.strip_prefix(word));
    found.unwrap_or(text).trim()
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn every_notation_of_whole_stars_is_read() {
        let stars = |text, best| parse(text, best).ok().map(|rating| rating.stars());
        for text in [
            "4",
            " 4 ",
            "4.0",
            "4,0",
            "4.000000",
            "4/5",
            "4 / 5",
            "4.0/5.0",
            "8/10",
            "FOUR",
            "four",
            "Four stars",
            "FOUR_STARS",
            "★★★★☆",
            "★★★★",
            "⭐⭐⭐⭐",
            "⭐️⭐️⭐️⭐️",
            "****",
            "4 out of 5",
            "4 out of 5 stars",
            "4 stars",
            "4 of 5",
            "4 von 5 Sternen",
            "4 sur 5",
            "4 de 5 estrellas",
            "4★",
            "04",
        ] {
            assert_eq!(stars(text, None), Some(4), "{text}");
        }
        for text in [
            "",
            "0",
            "6",
            "-1",
            "4.5",
            "4.0001",
            "five point",
            "★★★★★★",
            "☆☆☆☆☆",
            "4/0",
            "3/10",
            "10",
            "5/4",
            "nan",
            "1e0",
            "4x",
            "4/5/6",
            "STAR_RATING_UNSPECIFIED",
            "99999999999999999999",
        ] {
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
