//! The sentences of the derived text, in ten languages.
//!
//! `sentences.txt` has a block for each language: its tag, its decimal mark, the mark between thousands, its months, and
//! lines of a key and a sentence with places in braces. A sentence is right with any numbers in its places: no plural and no
//! article depends on them, as in Polish and before Italian "8". Percent signs follow a blank where the language has one.
//! A dataset is described in the language that its owner chose in `site.json`, else in that of most of its
//! reviews, if it is one of the ten, else in English.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::model::{Dataset, Review};
use crate::wire::date::Date;
use crate::wire::text::fill_places;

/// Fewest digits of a count that is written with a mark between thousands: languages differ about four digits.
const GROUPED_DIGITS_MIN: usize = 5;

/// The sentences of one language.
#[derive(Debug, Default)]
pub(super) struct Sentences {
    by_key: HashMap<&'static str, &'static str>,
}

impl Sentences {
    /// The sentences in the owner's language, else in that of most reviews; of equally frequent ones the first by tag.
    pub(super) fn of(dataset: &Dataset) -> &'static Sentences {
        let owners = dataset.site.language.as_deref();
        let tag = owners.unwrap_or_else(|| usual_language(&dataset.reviews));
        let sentences = BY_LANGUAGE.get(tag).or_else(|| BY_LANGUAGE.get("en"));
        sentences.expect("the file has English sentences")
    }

    /// The sentence of `key` with these values in its places.
    pub(super) fn fill(&self, key: &str, values: &[(&str, &str)]) -> String {
        fill_places(self.by_key.get(key).copied().unwrap_or_default(), values)
    }

    /// A number with this many decimals.
    pub(super) fn number(&self, value: f64, decimals: usize) -> String {
        let mark = self.by_key.get("decimal").copied().unwrap_or(".");
        format!("{value:.decimals$}").replace('.', mark)
    }

    /// A count, with a mark between thousands if it has at least [`GROUPED_DIGITS_MIN`] digits.
    pub(super) fn count(&self, count: u64) -> String {
        let digits = count.to_string();
        if digits.len() < GROUPED_DIGITS_MIN {
            return digits;
        }
        let mark = self.by_key.get("thousands").copied().unwrap_or_default();
        let mut text = String::new();
        for (at, digit) in digits.chars().enumerate() {
            if at > 0 && (digits.len() - at).is_multiple_of(3) {
                text.push_str(mark);
            }
            text.push(digit);
        }
        text
    }

    /// A day as the language writes it.
    pub(super) fn day(&self, date: Date) -> String {
        let is_named = date.day() == 1 && self.by_key.contains_key("first_day");
        let key = if is_named { "first_day" } else { "day" };
        let day = date.day().to_string();
        let year = date.year().to_string();
        let month = self.month_name(date.month());
        self.fill(key, &[("day", &day), ("month", month), ("year", &year)])
    }

    /// A month from 1 to 12 of a year.
    pub(super) fn month(&self, year: u16, month: u8) -> String {
        let year = year.to_string();
        let values = [("month", self.month_name(month)), ("year", &*year)];
        self.fill("month", &values)
    }

    fn month_name(&self, month: u8) -> &str {
        let names = self.by_key.get("months").copied().unwrap_or_default();
        let name = names.split(',').nth(usize::from(month).saturating_sub(1));
        name.unwrap_or_default()
    }

    /// Names several things one after the other.
    pub(super) fn list(&self, names: Vec<String>) -> String {
        let listed = names.into_iter().reduce(|before, next| {
            let values = [("before", &*before), ("next", &*next)];
            self.fill("list", &values)
        });
        listed.unwrap_or_default()
    }

    /// Joins sentences, with a blank where the language writes blanks.
    pub(super) fn join(&self, sentences: &[String]) -> String {
        let is_unspaced = self
            .by_key
            .get("one")
            .is_some_and(|one| one.ends_with('。'));
        sentences.join(if is_unspaced { "" } else { " " })
    }
}

/// The language of most reviews with text.
fn usual_language(reviews: &[Review]) -> &str {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for review in reviews.iter().filter(|review| !review.text.is_empty()) {
        let tag = review.language.as_deref().unwrap_or_default();
        *counts.entry(primary(tag)).or_default() += 1;
    }
    let known = counts.into_iter().filter(|(tag, _)| !tag.is_empty());
    let most = known.max_by_key(|(tag, count)| (*count, std::cmp::Reverse(*tag)));
    most.map_or("en", |(tag, _)| tag)
}

/// The language of a tag.
fn primary(tag: &str) -> &str {
    tag.split('-').next().unwrap_or_default()
}

static BY_LANGUAGE: LazyLock<HashMap<&str, Sentences>> = LazyLock::new(|| {
    let mut by_language: HashMap<&str, Sentences> = HashMap::new();
    let mut language = "";
    for line in include_str!("sentences.txt").lines() {
        match line.split_once(' ') {
            None => language = line,
            Some((key, sentence)) => {
                let sentences = by_language.entry(language).or_default();
                sentences.by_key.insert(key, sentence);
            }
        }
    }
    by_language
});

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// The places of a sentence, in alphabetical order.
    fn places(sentence: &str) -> Vec<&str> {
        let parts = sentence.split('{').skip(1);
        let mut places: Vec<&str> = parts.filter_map(|part| part.split('}').next()).collect();
        places.sort_unstable();
        places
    }

    #[test]
    fn every_language_has_the_same_sentences_with_the_same_places() {
        let english = &BY_LANGUAGE["en"].by_key;
        assert_eq!(BY_LANGUAGE.len(), 10);
        for (language, sentences) in BY_LANGUAGE.iter() {
            for (key, sentence) in english {
                let other = sentences.by_key.get(key).copied().unwrap_or_default();
                assert_eq!(places(other), places(sentence), "{language} {key}");
            }
        }
    }

    #[test]
    fn every_language_names_twelve_months() {
        for (language, sentences) in BY_LANGUAGE.iter() {
            let names: HashSet<&str> = sentences.by_key["months"].split(',').collect();
            assert_eq!(names.len(), 12, "{language}");
        }
    }

    #[test]
    fn dates_are_written_as_the_language_writes_them() {
        let day = Date::new(2025, 3, 1).expect("a day");
        for (language, expected, month) in [
            ("en", "March 1, 2025", "March 2025"),
            ("es", "1 de marzo de 2025", "marzo de 2025"),
            ("de", "1. März 2025", "März 2025"),
            ("fr", "1er mars 2025", "mars 2025"),
            ("it", "1 marzo 2025", "marzo 2025"),
            ("pt", "1 de março de 2025", "março de 2025"),
            ("nl", "1 maart 2025", "maart 2025"),
            ("pl", "1 marca 2025", "marca 2025"),
            ("ja", "2025年3月1日", "2025年3月"),
            ("ar", "1 مارس 2025", "مارس 2025"),
        ] {
            let sentences = &BY_LANGUAGE[language];
            assert_eq!(sentences.day(day), expected);
            assert_eq!(sentences.month(2025, 3), month);
        }
    }

    #[test]
    fn counts_of_five_digits_have_a_mark() {
        let english = &BY_LANGUAGE["en"];
        assert_eq!(english.count(9_999), "9999");
        assert_eq!(english.count(10_000), "10,000");
        assert_eq!(BY_LANGUAGE["pl"].count(1_234_567), "1\u{a0}234\u{a0}567");
    }

    #[test]
    fn the_names_of_a_list_are_separated() {
        let names = ["あ", "い", "う"].map(str::to_owned).to_vec();
        assert_eq!(BY_LANGUAGE["ja"].list(names), "あ、い、う");
        assert_eq!(BY_LANGUAGE["de"].list(Vec::new()), "");
    }
}
