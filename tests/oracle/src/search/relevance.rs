//! Reference implementation of `search::rank`: BM25 in a few plain loops over all reviews.

use reviewd::model::Row;
use reviewd::search::filter::is_of_word;
use reviewd::wire::text::LANGUAGES;
use rust_stemmers::{Algorithm, Stemmer};

use super::{Entries, Pairs, Searched, fold, given, holds_words, terms};

impl Searched {
    /// Returns all rows that fit the words of `pairs`, the best first.
    pub(super) fn rank(&self, pairs: &Pairs) -> Vec<usize> {
        let mut given = given(pairs);
        let terms = terms(&given.remove("words").unwrap_or_default());
        let mut exact = Vec::new();
        let mut ranking: Vec<String> = Vec::new();
        for (term, is_quoted, is_excluded) in terms {
            let term: String = term.into_iter().collect();
            let sign = if is_excluded { "-" } else { "" };
            match is_quoted {
                true => exact.push(format!("{sign}\"{term}\"")),
                false if is_excluded => exact.push(format!("-{term}")),
                false => ranking.push(term),
            }
        }
        if !exact.is_empty() {
            given.insert("words", exact.join(" "));
        }
        let mut scores = vec![0; self.reviews.len()];
        for (word, is_word) in words_to_rank(ranking) {
            let counts = (0..self.reviews.len()).map(|row| self.count(row, &word, is_word));
            self.add_scores(&mut scores, counts.collect(), true);
            if is_word {
                for mentions in self.mentions(&word) {
                    self.add_scores(&mut scores, mentions, false);
                }
            }
        }
        let mut rows = self.select(&given);
        rows.retain(|row| scores[*row] > 0);
        rows.sort_by(|left, right| scores[*right].cmp(&scores[*left]).then(left.cmp(right)));
        rows
    }

    /// Returns how often the review has the word, or a form of it.
    fn count(&self, row: usize, word: &str, is_word: bool) -> u64 {
        let stemmer = self.stemmer(row);
        let stem = |word: &str| match &stemmer {
            Some(stemmer) => stemmer.stem(word).into_owned(),
            None => word.to_owned(),
        };
        let words = words_of(&self.folded[row]);
        let forms = words
            .iter()
            .filter(|known| stem(known) == stem(word))
            .count();
        if is_word && forms > 0 {
            return forms as u64;
        }
        let may_begin = !is_word || word.chars().count() >= 3;
        u64::from(may_begin && holds_words(&self.folded[row], word))
    }

    fn stemmer(&self, row: usize) -> Option<Stemmer> {
        let language = self.reviews[row].language.as_deref()?.to_lowercase();
        let algorithm = match language.split('-').next()? {
            "en" => Algorithm::English,
            "es" => Algorithm::Spanish,
            _ => return None,
        };
        Some(Stemmer::create(algorithm))
    }

    /// Returns, for technicians, services and aspects, which reviews mention an entry with `word` in a name.
    fn mentions(&self, word: &str) -> [Vec<u64>; 3] {
        let named = |entries: &Entries| -> Vec<String> {
            let named = entries
                .iter()
                .filter(|names| names.iter().any(|name| has_word(name, word)));
            named.map(|names| names[0].clone()).collect()
        };
        let technicians = named(&self.technicians);
        let services = named(&self.services);
        let aspects = named(&self.aspects);
        let is_any =
            |of: &[String], named: &[String]| u64::from(of.iter().any(|one| named.contains(one)));
        let reviews = self.reviews.iter();
        [
            reviews
                .clone()
                .map(|review| is_any(&review.mentioned_technicians, &technicians))
                .collect(),
            reviews
                .map(|review| is_any(&review.mentioned_services, &services))
                .collect(),
            (0..self.reviews.len())
                .map(|row| {
                    let mut known = self.insights.aspects.iter();
                    let is_of = known.any(|aspect| {
                        aspects.contains(&aspect.id) && aspect.rows.contains(&Row(row as u32))
                    });
                    u64::from(is_of)
                })
                .collect(),
        ]
    }

    /// Adds the score of a word that each review has as often as `counts` says.
    fn add_scores(&self, scores: &mut [u64], counts: Vec<u64>, by_length: bool) {
        let having = counts.iter().filter(|count| **count > 0).count();
        let log = |number: usize| ((number as f64).log2() * 256.0).floor() as u64;
        let rarity = log(2 * (counts.len() + 1)) - log(2 * having + 1);
        let lengths: Vec<u64> = self
            .folded
            .iter()
            .map(|text| words_of(text).len() as u64)
            .collect();
        let total: u64 = lengths.iter().sum();
        let with_words = lengths.iter().filter(|length| **length > 0).count() as u64;
        for (row, count) in counts
            .into_iter()
            .enumerate()
            .filter(|(_, count)| *count > 0)
        {
            let length = match by_length {
                true => lengths[row] * with_words * 256 / total.max(1),
                false => 256,
            };
            scores[row] += rarity * count * 2_200 / (count * 1_000 + 300 + 900 * length / 256);
        }
    }
}

/// Returns the words of a folded text that have at most 32 bytes.
fn words_of(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for character in text.chars() {
        if is_of_word(character) {
            words.last_mut().expect("a word").push(character);
        } else {
            words.push(String::new());
        }
    }
    words.retain(|word| (1..=32).contains(&word.len()));
    words
}

/// Returns each word of the terms once, without function words unless there are no others; and whether it is a word, or a
/// term without any.
fn words_to_rank(terms: Vec<String>) -> Vec<(String, bool)> {
    let is_common = |line: &str, term: &String| line.split(' ').any(|word| word == term);
    let mut most = 0;
    let mut language = LANGUAGES.lines().next().expect("a language");
    for line in LANGUAGES.lines() {
        let count = terms.iter().filter(|term| is_common(line, term)).count();
        if count > most {
            most = count;
            language = line;
        }
    }
    let told: Vec<String> = terms
        .iter()
        .filter(|term| !is_common(language, term))
        .cloned()
        .collect();
    let told = if told.is_empty() { terms } else { told };
    let mut ranking: Vec<(String, bool)> = Vec::new();
    for term in told {
        let words = words_of(&term);
        let parts = match words.is_empty() {
            true => vec![(term, false)],
            false => words.into_iter().map(|word| (word, true)).collect(),
        };
        for (word, is_word) in parts {
            if ranking.iter().all(|(known, _)| *known != word) {
                ranking.push((word, is_word));
            }
        }
    }
    ranking
}

/// Tells whether a name has a word.
fn has_word(name: &str, word: &str) -> bool {
    let name = fold(name);
    let mut words = name.split(|character: char| !character.is_alphanumeric());
    words.any(|known| known == word)
}
