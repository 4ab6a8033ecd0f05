//! The parts of a date: numbers with what separates them, names of months and weekdays, and a time as one part.

use super::months::{is_weekday, month};

/// One part of a date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// A number, how many digits it has, and the character behind it.
    Number(u32, usize, char),
    /// A month by its name, from 1.
    Month(u32),
    /// A day of the week.
    Weekday,
    /// A time of day with its zone.
    Time,
}

/// A date has fewer characters than this, with its time and zone.
const CHARACTERS_MAX: usize = 80;

/// Splits a text into its parts; `None` where something in it belongs to no date.
pub(super) fn tokens(text: &str) -> Option<Vec<Token>> {
    if text.len() > CHARACTERS_MAX {
        return None;
    }
    let mut parts = Vec::new();
    let mut rest = text.trim();
    while let Some(first) = rest.chars().next() {
        if first.is_ascii_digit() {
            let end = rest
                .find(|c: char| !c.is_ascii_digit())
                .unwrap_or(rest.len());
            let (digits, after) = rest.split_at(end);
            if after.starts_with(':') {
                // A time is the last part: whatever follows belongs to it, and has to look like it.
                parts.push(is_time(rest).then_some(Token::Time)?);
                return Some(parts);
            }
            let separator = after.chars().next().unwrap_or(' ');
            parts.push(Token::Number(digits.parse().ok()?, digits.len(), separator));
            rest = ordinal(after);
            // The letter between the day and the time of RFC 3339.
            if let Some(time) = rest.strip_prefix(['T', 't']).filter(|_| digits.len() == 2) {
                parts.push(is_time(time).then_some(Token::Time)?);
                return Some(parts);
            }
        } else if first.is_alphabetic() {
            let end = rest
                .find(|c: char| !c.is_alphabetic())
                .unwrap_or(rest.len());
            let (word, after) = rest.split_at(end);
            rest = after;
            match word {
                "de" | "del" | "of" | "at" | "um" | "à" | "le" | "the" | "T" | "o" => {}
                _ if parts.is_empty()
                    && is_weekday(word)
                    && !after.trim_start_matches(['.', ' ']).is_empty()
                    && is_not_the_month(word, after) =>
                {
                    parts.push(Token::Weekday);
                }
                _ => parts.push(Token::Month(month(word)?)),
            }
        } else if matches!(first, '/' | '-' | '.' | ',' | ' ' | '\u{a0}' | '\u{202f}') {
            rest = &rest[first.len_utf8()..];
        } else {
            return None;
        }
    }
    Some(parts)
}

/// "Mar" is March in "Mar 4, 2024" and Tuesday ("mardi") in "mar. 4 mars 2024".
fn is_not_the_month(word: &str, after: &str) -> bool {
    let mut words = after.split(|c: char| !c.is_alphabetic());
    month(word).is_none() || words.any(|word| word.chars().count() > 2 && month(word).is_some())
}

/// Takes the ending of an English day away: 1st, 2nd, 3rd, 4th.
fn ordinal(text: &str) -> &str {
    let endings = ["st", "nd", "rd", "th"];
    let found = endings.iter().find_map(|ending| text.strip_prefix(ending));
    found
        .filter(|rest| !rest.starts_with(char::is_alphabetic))
        .unwrap_or(text)
}

/// Whether a text is a time of day, perhaps with a fraction, AM or PM, and a zone.
fn is_time(text: &str) -> bool {
    let end = text
        .find(|c: char| !(c.is_ascii_digit() || matches!(c, ':' | '.' | ',')))
        .unwrap_or(text.len());
    let (clock, zone) = text.split_at(end);
    let clock = clock.split(['.', ',']).next().unwrap_or_default();
    let parts: Vec<Option<u32>> = clock.split(':').map(|part| part.parse().ok()).collect();
    let within = match parts.as_slice() {
        [Some(hour), Some(minute)] => *hour < 25 && *minute < 60,
        [Some(hour), Some(minute), Some(second)] => *hour < 25 && *minute < 60 && *second < 61,
        _ => false,
    };
    // "AM", "Z", "+01:00", " UTC", "GMT+0100 (CET)", "Uhr".
    let zone_fits = |c: char| {
        c.is_ascii_alphanumeric()
            || matches!(
                c,
                '+' | '-' | '−' | ':' | ' ' | '.' | '(' | ')' | '/' | '_' | '\u{a0}' | '\u{202f}'
            )
    };
    within && zone.chars().all(zone_fits)
}
