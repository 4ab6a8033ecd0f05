//! Stars in the notations of exports: `5`, `4.0`, `5/5`, `FIVE`, `★★★★☆`, `4 out of 5 stars`, `3 bintang`, `8.3` of ten.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Number, Value, json};
use thiserror::Error;

use super::text::is_listed;
use reviewd_data::model::Rating;

/// The scale of ratings without another one.
const BEST_DEFAULT: &str = "5";

/// The best value of a percentage.
const BEST_PERCENT: &str = "100";

/// Words for the stars themselves, in the languages of exports.
const UNITS: &str = "rating star stars stern sterne sternen étoile étoiles etoile etoiles estrella estrellas stella stelle ster \
    sterren estrela estrelas bintang gwiazdka gwiazdki gwiazdek stjärna stjärnor stjerne stjerner yıldız звезда звезды \
    звёзд звезд 星 つ星 星级 points punkte";

/// Words between the rating and the best value.
const OF: &str = r"/|out\s+of|of|von|sur|de|di|su|van|av|af|из|out";

/// Headings of grades, of which 1 is the best, in German and Czech.
const GRADES: &str = "schulnote zensur zensuren známka známky znamka znamky";

/// Words in headings of French tables, in which `Note` is a rating of which the highest is the best.
const FRENCH: &str = "nom prénom prenom auteur auteure pseudo pseudonyme client message contenu avis titre \
    commentaire commentaires réponse réponses reponse reponses témoignage temoignage établissement etablissement \
    langue ville produit horodateur sur globale générale generale moyenne attribuée attribuee votre étoiles etoiles";

/// A rating in whole stars.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Stars {
    pub(super) rating: Rating,
    /// The value and the best value of the source, if that scale is not five whole stars.
    pub(super) original: Option<Value>,
}

/// What a source says about the scale of its ratings.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Scale<'s> {
    /// The best value that the operator named; then values are rounded to whole stars.
    pub(super) named: Option<u32>,
    /// The best value in a column of the record, or of the format; values are rounded, too.
    pub(super) best: Option<&'s str>,
}

/// Why a text is not a rating. The sentences follow the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(super) enum RatingError {
    /// It has another form, or is below one star.
    #[error("is not from 1 to 5 stars")]
    NotStars,
    /// It is more than the best value of the scale that it, the source or the operator states.
    #[error("is more than the best rating of its scale")]
    AboveBest,
    /// It is a percentage, and neither the operator nor the source says that ratings are.
    #[error("is a percentage: --scale 100 reads it")]
    Percentage,
    /// It states no scale, and is too much for five stars.
    #[error("is more than 5 stars; if its column is a scale of ten, --scale 10 reads it")]
    AboveFive,
    /// It is between two stars, and neither the operator nor the source gives a scale.
    #[error("is not a whole number of stars: --scale rounds it, such as --scale 5")]
    NotWhole,
}

/// A number and perhaps the best value, without symbols and words.
struct Notation<'t> {
    value: &'t str,
    best: Option<&'t str>,
}

/// Parses stars from 1 to 5.
///
/// A value on another scale becomes `value / best * 5`, rounded to whole stars, halves down, and at least 1, if the
/// operator or the source states the scale. Otherwise a value that is no whole number of stars is refused. So is 0 of five,
/// which exports have where no stars were given.
pub(super) fn parse(text: &str, scale: Scale<'_>) -> Result<Stars, RatingError> {
    let lower = text.trim().to_lowercase();
    if let Some(stars) = word(&lower).or_else(|| symbols(&lower)) {
        return Ok(Stars {
            rating: Rating::new(stars).ok_or(RatingError::NotStars)?,
            original: None,
        });
    }
    let notation = notation(&lower).ok_or(RatingError::NotStars)?;
    let named = scale.named.map(|best| best.to_string());
    let column = scale.best.map(str::trim).filter(|best| !best.is_empty());
    let is_rounded = scale.named.is_some() || (notation.best.is_none() && column.is_some());
    if notation.best == Some(BEST_PERCENT) && !is_rounded {
        return Err(RatingError::Percentage);
    }
    let stated = notation.best.or(column).or(named.as_deref());
    let best = stated.unwrap_or(BEST_DEFAULT);
    let value_thousandths = thousandths(notation.value).ok_or(RatingError::NotStars)?;
    let best_thousandths = thousandths(best).ok_or(RatingError::NotStars)?;
    let is_five = best_thousandths == 5_000;
    if best_thousandths == 0 || (is_five && value_thousandths == 0) {
        return Err(RatingError::NotStars);
    }
    if value_thousandths > best_thousandths {
        return Err(if best == BEST_DEFAULT && notation.best.is_none() {
            RatingError::AboveFive
        } else {
            RatingError::AboveBest
        });
    }
    // Both values are integers, in thousandths, so no float is compared.
    let scaled = u64::from(value_thousandths) * 5;
    let is_whole = scaled.is_multiple_of(u64::from(best_thousandths));
    if !is_whole && !is_rounded {
        return Err(RatingError::NotWhole);
    }
    let mut stars = round_half_down(scaled, u64::from(best_thousandths));
    if is_rounded {
        stars = stars.max(1);
    }
    let rating = u8::try_from(stars).ok().and_then(Rating::new);
    let original = if is_whole && is_five {
        None
    } else {
        original(notation.value, best)
    };
    Ok(Stars {
        rating: rating.ok_or(RatingError::NotStars)?,
        original,
    })
}

/// Returns a rating as the source has it.
fn original(value: &str, best: &str) -> Option<Value> {
    let value = number(value)?;
    let best = number(best)?;
    Some(json!({"value": value, "best": best}))
}

/// Tells whether a text is a rating with its scale, such as `5.0 out of 5 stars`, or symbols, and nothing else.
pub(super) fn states_scale(text: &str) -> bool {
    let lower = text.trim().to_lowercase();
    symbols(&lower).is_some() || notation(&lower).is_some_and(|notation| notation.best.is_some())
}

/// The number of a rating without a scale, in thousandths.
pub(super) fn bare_thousandths(text: &str) -> Option<u32> {
    let lower = text.trim().to_lowercase();
    if symbols(&lower).is_some() {
        return None;
    }
    let notation = notation(&lower)?;
    match notation.best {
        None => thousandths(notation.value),
        Some(_) => None,
    }
}

/// Tells whether the name of a column says that its scale is not five stars: `NPS (0-10)`, `Note sur 10`.
pub(super) fn names_ten(name: &str) -> bool {
    static TEN: LazyLock<Regex> = LazyLock::new(|| {
        let pattern = r"(?i)\bnps\b|\b[01]\s*(?:-|–|to|bis|à|a)\s*100?\b|(?:/|out\s+of|von|sur|su|van)\s*100?\b";
        Regex::new(pattern).expect("the pattern is valid")
    });
    TEN.is_match(name)
}

/// Whether values of a column may be grades, of which 1 is the best.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GradeName {
    /// The name says so: `Schulnote`.
    Grade,
    /// The name may be that of grades: `Gesamtnote`, `Grade`, and `Note` without a French heading beside it.
    Ambiguous,
    /// It is another name.
    Other,
}

/// Tells whether the name of a column is that of grades; `headings` are those of all columns.
pub(super) fn grade_name<'h>(name: &str, headings: impl Iterator<Item = &'h str>) -> GradeName {
    static BEST_IS_ONE: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?i)\b1\s*[=:–-]?\s*(ist\s+|is\s+)?(sehr\s+gut|best|excellent)")
            .expect("the pattern is valid")
    });
    if BEST_IS_ONE.is_match(name) {
        return GradeName::Grade;
    }
    let words = heading_words(name);
    let is_grade = |word: &String| word.starts_with("schulnote") || is_listed(GRADES, word);
    if words.iter().any(is_grade) {
        return GradeName::Grade;
    }
    if words.iter().any(|word| is_compound_of_grades(word)) {
        return GradeName::Ambiguous;
    }
    if !words.iter().any(|word| word == "note") {
        return GradeName::Other;
    }
    for heading in headings {
        if heading_words(heading)
            .iter()
            .any(|word| is_listed(FRENCH, word))
        {
            return GradeName::Other;
        }
    }
    GradeName::Ambiguous
}

/// Whether a word means grades, alone or as a part: `grade`, `gesamtnote`, `notendurchschnitt`, `benotung`.
fn is_compound_of_grades(word: &str) -> bool {
    let ends_with_note = word != "note" && word.ends_with("note");
    let has_grades = word.contains("noten") || word.contains("benotung");
    ends_with_note || has_grades || word == "grade" || word == "grades"
}

/// The words of a heading in lower case; those of a key such as `noteGlobale` are two.
fn heading_words(heading: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut is_after_small = false;
    for letter in heading.chars() {
        if !letter.is_alphabetic() || (letter.is_uppercase() && is_after_small) {
            words.push(std::mem::take(&mut word));
        }
        if letter.is_alphabetic() {
            word.extend(letter.to_lowercase());
        }
        is_after_small = letter.is_lowercase();
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}

/// Tells whether a text may be a rating on any scale.
pub(super) fn is_rating(text: &str) -> bool {
    let lower = text.trim().to_lowercase();
    if word(&lower).is_some() || symbols(&lower).is_some() {
        return true;
    }
    let value = notation(&lower).and_then(|notation| thousandths(notation.value));
    value.is_some_and(|value| value <= 100_000)
}

/// `five`, `FIVE_STARS`.
fn word(text: &str) -> Option<u8> {
    let text = without_unit(text);
    let words = ["one", "two", "three", "four", "five"];
    let at = words.iter().position(|word| *word == text)?;
    u8::try_from(at + 1).ok()
}

/// Returns the text without the words for stars at its end, as in `5 star rating`.
fn without_unit(text: &str) -> &str {
    let mut text = text.trim();
    loop {
        let unit_start = text.trim_end_matches(char::is_alphabetic).len();
        let (head, unit) = text.split_at(unit_start);
        if unit.is_empty() || !is_listed(UNITS, unit) {
            return text;
        }
        text = head.trim_end_matches([' ', '_', '-', '\u{a0}']);
    }
}

/// `★★★★☆`, `⭐⭐⭐⭐` and `****`: counts the filled symbols; besides them only empty ones are allowed.
fn symbols(text: &str) -> Option<u8> {
    let mut filled = 0u8;
    let mut empty = 0u8;
    for symbol in text.chars() {
        match symbol {
            '★' | '⭐' | '🌟' | '*' => filled = filled.checked_add(1)?,
            '☆' | '✩' => empty = empty.checked_add(1)?,
            // U+FE0F selects the emoji form of the character before it.
            '\u{fe0f}' | ' ' => {}
            _ => return None,
        }
    }
    if filled == 0 || filled.saturating_add(empty) > 5 {
        return None;
    }
    Some(filled)
}

/// Splits `4`, `4 stars`, `4/5`, `rated 4 out of 5 stars` and `80%` into the value and the best value.
fn notation(text: &str) -> Option<Notation<'_>> {
    static PATTERN: LazyLock<Regex> = LazyLock::new(|| {
        let number = r"[0-9]+(?:[.,][0-9]+)?";
        let pattern = format!(
            r"^(?:rated\s+|note\s*:?\s+)?({number})\s*(?:\pL+\s+)?(?:(%)|(?:{OF})\s*({number}))?$"
        );
        Regex::new(&pattern).expect("the pattern is valid")
    });
    let text = without_unit(text);
    let found = PATTERN.captures(text)?;
    let value = found.get(1)?.as_str();
    if found.get(2).is_some() {
        return Some(Notation {
            value,
            best: Some(BEST_PERCENT),
        });
    }
    // After a leading value, as in `4 stars of 5`, the next word must be for stars or begin the words for "of".
    if let Some(after) = text.strip_prefix(value) {
        let after = after.trim_start();
        let word_end = after.find(|c: char| !c.is_alphabetic());
        let word = &after[..word_end.unwrap_or(after.len())];
        if !word.is_empty() && !is_listed(UNITS, word) && !begins_of(word) {
            return None;
        }
    }
    let best = found.get(3).map(|best| best.as_str());
    Some(Notation { value, best })
}

/// Whether `word` is the first word of an alternative of [`OF`].
fn begins_of(word: &str) -> bool {
    OF.split('|')
        .any(|of| of.split("\\s+").next() == Some(word))
}

/// Returns `numerator / denominator` as a whole number, halves rounded down.
fn round_half_down(numerator: u64, denominator: u64) -> u64 {
    (2 * numerator + denominator - 1) / (2 * denominator)
}

/// Parses a number with a decimal point or comma, in thousandths.
fn thousandths(text: &str) -> Option<u32> {
    let (whole, fraction) = text.split_once(['.', ',']).unwrap_or((text, "0"));
    if !is_short_number(whole) || !is_short_number(fraction) {
        return None;
    }
    // After the third decimal place only zeros are allowed.
    let fraction = fraction.trim_end_matches('0');
    if fraction.len() > 3 {
        return None;
    }
    format!("{whole}{fraction:0<3}").parse().ok()
}

/// Whether a text has one to six digits, and nothing else.
fn is_short_number(text: &str) -> bool {
    (1..=6).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns a number as JSON: an integer, or a decimal fraction.
fn number(text: &str) -> Option<Number> {
    let decimal = text.replace(',', ".");
    let (whole, fraction) = decimal.split_once('.').unwrap_or((&decimal, ""));
    if fraction.trim_end_matches('0').is_empty()
        && let Ok(number) = whole.parse::<u64>()
    {
        return Some(Number::from(number));
    }
    Number::from_f64(decimal.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stars(text: &str, named: Option<u32>, best: Option<&str>) -> Option<u8> {
        let read = parse(text, Scale { named, best }).ok()?;
        Some(read.rating.stars())
    }

    #[test]
    fn every_notation_of_whole_stars_is_read() {
        let four = "4|4.0|4,0|4/5|8/10|four|FOUR_STARS|★★★★☆|⭐️⭐️⭐️⭐️|****|4 out of 5 stars|4 stars|4 of 5|4/5 stars|\
            4 bintang|4 von 5 Sternen|Rated 4.0 out of 5|4 étoiles|4 stars out of 5|★★★★|4つ星|4 star rating|4-star rating";
        for text in four.split('|') {
            assert_eq!(stars(text, None, None), Some(4), "{text}");
        }
        let none = "|0|6|-1|4.5|4.0001|★★★★★★|☆☆☆☆☆|4/0|3/10|9/10|10|5/4|1e0|4x|4/5/6|STAR_RATING_UNSPECIFIED|100%|4 cats|\
            4 cats of 5";
        for text in none.split('|') {
            assert_eq!(stars(text, None, None), None, "{text}");
        }
    }

    #[test]
    fn a_stated_scale_is_converted_with_halves_down_and_never_below_one() {
        for (text, named, best, expected) in [
            ("8", None, Some("10"), Some(4)),
            ("100", None, Some("100"), Some(5)),
            ("7", None, Some("10"), Some(3)),
            ("4", None, Some(""), Some(4)),
            ("4", None, Some("many"), None),
            ("4/5", None, Some("10"), Some(4)),
            ("4.5", Some(5), None, Some(4)),
            ("4.6", Some(5), None, Some(5)),
            ("8.3", Some(10), None, Some(4)),
            ("0.4", Some(10), None, Some(1)),
            ("9/10", Some(5), None, Some(4)),
            ("100%", Some(100), None, Some(5)),
            ("11", Some(10), None, None),
            ("0", Some(10), None, Some(1)),
            ("0", Some(5), None, None),
            ("0,0", None, Some("5"), None),
        ] {
            assert_eq!(
                stars(text, named, best),
                expected,
                "{text} {named:?} {best:?}"
            );
        }
    }

    #[test]
    fn an_error_says_what_would_help() {
        for (text, expected) in [
            ("80%", RatingError::Percentage),
            ("8", RatingError::AboveFive),
            ("8/5", RatingError::AboveBest),
            ("8/0", RatingError::NotStars),
            ("4.5", RatingError::NotWhole),
            ("good", RatingError::NotStars),
        ] {
            assert_eq!(parse(text, Scale::default()), Err(expected), "{text}");
        }
    }

    #[test]
    fn a_grade_is_known_by_its_name_and_an_ambiguous_one_by_the_names_beside_it() {
        for (name, headings, expected) in [
            ("Schulnote", "name", GradeName::Grade),
            ("Bewertung (1 = sehr gut)", "name", GradeName::Grade),
            ("Rating (1 = best, 5 = worst)", "name", GradeName::Grade),
            ("Rating (1 to 5)", "name", GradeName::Other),
            ("Note", "client", GradeName::Other),
            ("Bewertung (Schulnoten 1-6)", "name", GradeName::Grade),
            ("Gesamtnote", "name", GradeName::Ambiguous),
            ("Schulnotensystem", "nom avis", GradeName::Grade),
            ("Benotung", "name text", GradeName::Ambiguous),
            ("Notendurchschnitt", "name text", GradeName::Ambiguous),
            ("overallGrade", "name text", GradeName::Ambiguous),
            ("Note", "Name|Datum|Note", GradeName::Ambiguous),
            ("Note", "Name|Bewertet am|Note|Text", GradeName::Ambiguous),
            ("Note", "Name|Date|Note|Text", GradeName::Ambiguous),
            ("note", "name|day|note|review", GradeName::Ambiguous),
            ("Note", "Nom|Date|Note|Avis", GradeName::Other),
            ("Note", "Auteur|Date|Note|Titel|Avis", GradeName::Other),
            ("Note", "Name|Datum|Note|Date de l'avis", GradeName::Other),
            (
                "Note globale",
                "Name|Date|Note globale|Text",
                GradeName::Other,
            ),
            ("noteGlobale", "name|noteGlobale", GradeName::Other),
            ("Note sur 5", "Client|Note sur 5", GradeName::Other),
            ("Sterne", "name|datum", GradeName::Other),
            ("Upgrade", "name|text", GradeName::Other),
        ] {
            let found = grade_name(name, headings.split('|'));
            assert_eq!(found, expected, "{name} beside {headings}");
        }
    }

    #[test]
    fn the_original_is_kept_unless_it_is_five_whole_stars() {
        for (text, named, original) in [
            ("8.3", 10, json!({"value": 8.3, "best": 10})),
            ("8", 10, json!({"value": 8, "best": 10})),
            ("4,5", 5, json!({"value": 4.5, "best": 5})),
            ("80%", 5, json!({"value": 80, "best": 100})),
            ("4.0", 5, Value::Null),
        ] {
            let scale = Scale {
                named: Some(named),
                best: None,
            };
            let read = parse(text, scale).expect("a rating");
            assert_eq!(read.original.unwrap_or_default(), original, "{text}");
        }
    }
}
