//! Where a business is, and when it is open, in a line each for its front page.

use super::messages::Messages;
use crate::model::Address;

/// The days of the notation of schema.org, from Monday.
const DAYS: [&str; 7] = ["Mo", "Tu", "We", "Th", "Fr", "Sa", "Su"];

/// Countries, by code or name, where the region stands between place and postal code.
const WITH_REGION: [&str; 7] = [
    "US",
    "USA",
    "United States",
    "CA",
    "Canada",
    "AU",
    "Australia",
];

/// Countries, by code or name, where the postal code stands last.
const CODE_LAST: [&str; 5] = ["GB", "UK", "United Kingdom", "IE", "Ireland"];

/// Returns an address in a line, in the order of its country; empty without street and place.
pub(super) fn address_line(address: &Address) -> String {
    let street = address.street_address.trim();
    let place = address.locality.trim();
    if street.is_empty() && place.is_empty() {
        return String::new();
    }
    let region = address.region.trim();
    let code = address.postal_code.trim();
    let country = address.country.trim();
    let mut parts = vec![street.to_owned()];
    if is_among(country, &WITH_REGION) {
        parts.push(place.to_owned());
        parts.push(joined(region, code));
    } else if is_among(country, &CODE_LAST) && region.is_empty() {
        parts.push(joined(place, code));
    } else if is_among(country, &CODE_LAST) {
        parts.push(place.to_owned());
        parts.push(joined(region, code));
    } else {
        parts.push(joined(code, place));
        // Of Berlin in the region Berlin, once is enough.
        if region != place {
            parts.push(region.to_owned());
        }
    }
    parts.retain(|part| !part.is_empty());
    parts.join(", ")
}

fn is_among(country: &str, countries: &[&str]) -> bool {
    let mut countries = countries.iter();
    countries.any(|listed| listed.eq_ignore_ascii_case(country))
}

/// Returns two words with a space between them if both are there.
fn joined(first: &str, second: &str) -> String {
    format!("{first} {second}").trim().to_owned()
}

/// Returns the opening hours in a line. Entries in the notation of schema.org, days and then times, have the names of the
/// days in the language of `t`; others are the owner's own words, and stay as they are.
pub(super) fn hours_line(opening_hours: &[String], t: &Messages) -> String {
    let entries = opening_hours
        .iter()
        .map(|entry| hours_in_language(entry, t).unwrap_or_else(|| entry.clone()));
    entries.collect::<Vec<_>>().join(" · ")
}

/// Returns an entry such as `Mo-Fr 09:00-12:00,13:00-17:30` in the words of the language; `None` if it has another form.
fn hours_in_language(entry: &str, t: &Messages) -> Option<String> {
    let (days, times) = entry.trim().split_once(' ')?;
    let mut days_shown = Vec::new();
    for part in days.split(',') {
        days_shown.push(days_in_language(part, t)?);
    }
    let mut times_shown = Vec::new();
    for part in times.split(',') {
        let (from, until) = part.trim().split_once('-')?;
        if !is_time(from) || !is_time(until) {
            return None;
        }
        times_shown.push(format!("{from}–{until}"));
    }
    let days = days_shown.join(&t.comma);
    let times = times_shown.join(&t.comma);
    Some(format!("{days} {times}"))
}

/// Returns a day, or the first and the last of several (`Mo-Fr`).
fn days_in_language(part: &str, t: &Messages) -> Option<String> {
    let Some((first, last)) = part.split_once('-') else {
        return day_in_language(part, t).map(str::to_owned);
    };
    let first = day_in_language(first, t)?;
    let last = day_in_language(last, t)?;
    Some(format!("{first}–{last}"))
}

fn day_in_language<'t>(day: &str, t: &'t Messages) -> Option<&'t str> {
    let at = DAYS.iter().position(|known| *known == day)?;
    Some(&t.weekdays_short[at])
}

/// Whether a text is a time such as `9:00` or `17:30`.
fn is_time(text: &str) -> bool {
    let Some((hour, minute)) = text.split_once(':') else {
        return false;
    };
    let is_number = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
    matches!(hour.len(), 1 | 2) && minute.len() == 2 && is_number(hour) && is_number(minute)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::Language;

    fn line_of(hours: &str, language: &str) -> String {
        let language = Language::of_tag(language.as_bytes()).expect("a language");
        hours_line(&[hours.to_owned()], language.messages())
    }

    #[test]
    fn hours_have_the_days_of_the_language() {
        for (language, hours, expected) in [
            ("en", "Mo-Th 08:30-17:30", "Mon–Thu 08:30–17:30"),
            ("de", "Mo,We,Su 09:00-12:00", "Mo, Mi, So 09:00–12:00"),
            (
                "en",
                "Mo-We,Fr 9:00-12:00,13:00-17:00",
                "Mon–Wed, Fri 9:00–12:00, 13:00–17:00",
            ),
            (
                "en",
                "Sa  9:00-12:00, 13:00-17:00",
                "Sat 9:00–12:00, 13:00–17:00",
            ),
        ] {
            assert_eq!(line_of(hours, language), expected);
        }
    }

    #[test]
    fn the_owners_own_words_about_hours_stay_as_they_are() {
        for hours in [
            "We are open by appointment",
            "Su cita previa",
            "Tel. 555-0100",
            "PH 2026-12-24",
            "PH  by appointment",
            "Mo-",
            "Mo-Fr",
            "Mo- 09:00-12:00",
            "Mo-Fr 09:00-12:00 by appointment",
            "Mo-Fr 09:00-",
            "Mo-Fr 9-5",
            "Sa 2026-12-24",
            "Mo-Fr 09:00-12:00; Sa 09:00-12:00",
        ] {
            assert_eq!(line_of(hours, "en"), hours);
        }
    }

    #[test]
    fn an_address_is_in_the_order_of_its_country_with_its_region() {
        let american = "1 Main St, Salem, OR 97301";
        for (country, region, expected) in [
            ("US", "OR", american),
            ("us", "OR", american),
            ("USA", "OR", american),
            ("United States", "OR", american),
            ("US", "", "1 Main St, Salem, 97301"),
            ("GB", "", "1 Main St, Salem 97301"),
            ("GB", "Kent", "1 Main St, Salem, Kent 97301"),
            ("DE", "", "1 Main St, 97301 Salem"),
            ("DE", "Salem", "1 Main St, 97301 Salem"),
            ("BR", "SP", "1 Main St, 97301 Salem, SP"),
            ("", "OR", "1 Main St, 97301 Salem, OR"),
        ] {
            let address = Address {
                street_address: "1 Main St".to_owned(),
                locality: "Salem".to_owned(),
                region: region.to_owned(),
                postal_code: "97301".to_owned(),
                country: country.to_owned(),
            };
            assert_eq!(address_line(&address), expected, "{country}");
        }
    }
}
