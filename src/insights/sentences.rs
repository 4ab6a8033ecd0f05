//! The sentences of the derived text, in ten languages.
//!
//! `sentences.txt` has a block for each language: its tag, its decimal mark, and lines of a key and a sentence with places
//! in braces. A dataset is described in the language that its owner chose in `site.json`, else in that of most of its
//! reviews, if it is one of the ten, else in English.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::model::{Dataset, Review};

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
        let mut text = self.by_key.get(key).copied().unwrap_or_default().to_owned();
        for (place, value) in values {
            text = text.replace(&format!("{{{place}}}"), value);
        }
        text
    }

    /// A number with this many decimals.
    pub(super) fn number(&self, value: f64, decimals: usize) -> String {
        let mark = self.by_key.get("decimal").copied().unwrap_or(".");
        format!("{value:.decimals$}").replace('.', mark)
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
}
