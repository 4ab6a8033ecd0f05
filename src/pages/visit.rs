//! Where a business is, and when it is open, in a line each for its front page.

use super::messages::Messages;
use crate::model::Address;

/// The days of the notation of schema.org, from Monday.
const DAYS: [&str; 7] = ["Mo", "Tu", "We", "Th", "Fr", "Sa", "Su"];

/// Countries where the region stands between place and postal code.
const WITH_REGION: [&str; 3] = ["US", "CA", "AU"];

/// Countries where the postal code stands after the place.
const CODE_LAST: [&str; 2] = ["GB", "IE"];

/// Returns an address in a line, in the order of its country; empty without street and place.
pub(super) fn address_line(address: &Address) -> String {
    let street = address.street_address.trim();
    let place = address.locality.trim();
    if street.is_empty() && place.is_empty() {
        return String::new();
    }
    let code = address.postal_code.trim();
    let country = address.country.trim();
    let parts = if WITH_REGION.contains(&country) {
        vec![
            street.to_owned(),
            place.to_owned(),
            joined(address.region.trim(), code),
        ]
    } else if CODE_LAST.contains(&country) {
        vec![street.to_owned(), joined(place, code)]
    } else {
        vec![street.to_owned(), joined(code, place)]
    };
    let mut filled = parts;
    filled.retain(|part| !part.is_empty());
    filled.join(", ")
}

/// Returns two words with a space between them if both are there.
fn joined(first: &str, second: &str) -> String {
    format!("{first} {second}").trim().to_owned()
}

/// Returns the opening hours in a line, with the names of the days in the language of `t`. What is not in the notation of
/// schema.org stays as it is.
pub(super) fn hours_line(opening_hours: &[String], t: &Messages) -> String {
    let entries = opening_hours.iter().map(|entry| {
        let words = entry.split_whitespace().map(|word| in_language(word, t));
        words.collect::<Vec<_>>().join(" ")
    });
    entries.collect::<Vec<_>>().join(" · ")
}

/// Returns days (`Mo-Fr`, `Mo,We`) or times (`09:00-17:30`) as people write them.
fn in_language(word: &str, t: &Messages) -> String {
    if word.starts_with(|first: char| first.is_ascii_digit()) {
        return word.replace('-', "–");
    }
    let mut text = String::new();
    for part in word.split_inclusive(['-', ',']) {
        let day = part.trim_end_matches(['-', ',']);
        let Some(at) = DAYS.iter().position(|known| *known == day) else {
            return word.to_owned();
        };
        text.push_str(&t.weekdays_short[at]);
        if part.ends_with('-') {
            text.push('–');
        } else if part.ends_with(',') {
            text.push_str(", ");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::Language;

    #[test]
    fn hours_have_the_days_of_the_language_and_unknown_words_stay() {
        for (code, hours, expected) in [
            ("en", "Mo-Th 08:30-17:30", "Mon–Thu 08:30–17:30"),
            ("de", "Mo,We,Su 09:00-12:00", "Mo, Mi, So 09:00–12:00"),
            ("fr", "PH by appointment", "PH by appointment"),
        ] {
            let language = Language::of_tag(code.as_bytes()).expect("a language");
            let line = hours_line(&[hours.to_owned()], language.messages());
            assert_eq!(line, expected, "{code}");
        }
    }

    #[test]
    fn an_address_is_in_the_order_of_its_country() {
        for (country, expected) in [
            ("US", "1 Main St, Salem, OR 97301"),
            ("GB", "1 Main St, Salem 97301"),
            ("DE", "1 Main St, 97301 Salem"),
            ("", "1 Main St, 97301 Salem"),
        ] {
            let address = Address {
                street_address: "1 Main St".to_owned(),
                locality: "Salem".to_owned(),
                region: "OR".to_owned(),
                postal_code: "97301".to_owned(),
                country: country.to_owned(),
            };
            assert_eq!(address_line(&address), expected, "{country}");
        }
    }
}
