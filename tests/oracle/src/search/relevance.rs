//! Reference implementation of `search::rank`: BM25 in a few plain loops over all reviews.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use reviewd::model::Row;
use reviewd::search::filter::is_of_word;
use reviewd::wire::text::LANGUAGES;
use rust_stemmers::{Algorithm, Stemmer};

use super::{NamedEntry, Pairs, Searched, fold, given, holds_words, terms};

/// Words that judge, that ask for few stars, that negate, and that only ask for reviews, as far as the pieces have
/// them.
const BAD: &str = "bad";
const GOOD: &str = "good";
const COMPLAINING: [&str; 2] = ["never", "complaints"];
const NEGATION: &str = "never";
const ASKING: &str = "complaints";

/// The languages of the vocabulary, in the order of its lines.
const LANGUAGE_TAGS: [&str; 4] = ["en", "de", "es", "fr"];

/// The words of each subject, each with its language.
static SUBJECTS: LazyLock<Vec<Vec<(&str, String)>>> = LazyLock::new(|| {
    let lines = include_str!("../../../../src/search/vocabulary.txt").lines();
    let subject = |line: &'static str| {
        let (_, words) = line.split_once(':')?;
        let languages = LANGUAGE_TAGS.into_iter().zip(words.split('|'));
        let words = languages.flat_map(|(tag, words)| {
            let words = words.split_whitespace();
            words.map(move |word| (tag, stem(tag, &fold(word))))
        });
        Some(words.collect())
    };
    lines
        .filter(|line| !line.starts_with('#'))
        .filter_map(subject)
        .collect()
});

/// Reviews by relevance.
pub(super) struct Ranked {
    /// How many reviews fit some of the words.
    pub(super) fitting: usize,
    /// The rows that are listed, the best first.
    pub(super) listed: Vec<usize>,
}

impl Searched {
    /// Returns the rows that fit the words of `pairs`.
    pub(super) fn rank(&self, pairs: &Pairs) -> Ranked {
        let mut given = given(pairs);
        let terms = terms(&given.remove("words").unwrap_or_default());
        let mut exact = Vec::new();
        let mut free: Vec<String> = Vec::new();
        for term in terms {
            let text: String = term.text.into_iter().collect();
            match (term.is_excluded, term.is_quoted) {
                (true, true) => exact.push(format!("-\"{text}\"")),
                (true, false) => exact.push(format!("-{text}")),
                (false, true) => exact.push(format!("\"{text}\"")),
                (false, false) => free.push(text),
            }
        }
        if !exact.is_empty() {
            given.insert("words", exact.join(" "));
        }
        let scores = self.scores(&free);
        let mut rows = self.select(&given);
        rows.retain(|row| scores[*row] > 0);
        rows.sort_by(|left, right| scores[*right].cmp(&scores[*left]).then(left.cmp(right)));
        let fitting = rows.len();
        let best = rows.first().map_or(0, |row| scores[*row]);
        rows.retain(|row| scores[*row] >= best / 7);
        Ranked {
            fitting,
            listed: rows,
        }
    }

    /// Returns the score of each review for the terms that rank.
    fn scores(&self, free: &[String]) -> Vec<u64> {
        let ranking = words_to_rank(free);
        let mut scores = vec![0; self.reviews.len()];
        for (word, is_word) in &ranking {
            let weight = if [BAD, GOOD].contains(&&**word) { 2 } else { 4 };
            if let Some(subject) = subject_of_phrase(word) {
                let phrases = subject.iter().filter(|(_, word)| word.contains('_'));
                let phrases: Vec<String> = phrases
                    .map(|(_, word)| format!("\"{}\"", word.replace('_', " ")))
                    .collect();
                let has_one =
                    |text: &String| phrases.iter().any(|phrase| holds_words(text, phrase));
                let itself = self.folded.iter().map(|text| u64::from(has_one(text)));
                let itself = self.sense(itself.collect(), weight, true);
                let counts = self.counts_of_subject(subject);
                let of_subject = self.sense(counts, weight / 2, true);
                self.add_best(&mut scores, &[itself, of_subject]);
                continue;
            }
            let positive = self.positive(word, *is_word);
            let word = positive.as_ref().unwrap_or(word);
            let mut senses = vec![self.sense_of_word(word, *is_word, weight)];
            if *is_word {
                for subject in subjects_of(word) {
                    let counts = self.counts_of_subject(subject);
                    senses.push(self.sense(counts, weight / 2, true));
                }
                for mentions in self.mentions(word) {
                    senses.push(self.sense(mentions, weight, false));
                }
            }
            self.add_best(&mut scores, &senses);
        }
        let ranks = |term: &String| ranking.iter().any(|(word, _)| word == term);
        for pair in free.windows(2) {
            let weight = match pair.iter().filter(|term| ranks(term)).count() {
                0 => continue,
                1 => 2,
                _ => WEIGHT_OF_PAIR,
            };
            let phrase = format!("\"{}\"", pair.join(" "));
            let counts = self.folded.iter();
            let counts = counts.map(|text| u64::from(holds_words(text, &phrase)));
            let sense = self.sense(counts.collect(), weight, true);
            self.add_best(&mut scores, &[sense]);
        }
        for negation in free.iter().filter(|term| *term == NEGATION) {
            let counts = (0..self.reviews.len()).map(|row| self.forms(row, negation));
            let bonus = self.sense(counts.collect(), 4, true);
            for (score, bonus) in scores.iter_mut().zip(bonus) {
                *score += if *score > 0 { bonus.unwrap_or(0) } else { 0 };
            }
        }
        let has = |words: &[&str]| free.iter().any(|term| words.contains(&&**term));
        let is_complaint = has(&COMPLAINING) || has(&[BAD]);
        let is_praise = has(&[GOOD]);
        for (score, review) in scores.iter_mut().zip(&self.reviews) {
            let stars = review.rating.stars();
            *score *= match (is_complaint, is_praise, stars) {
                (true, false, 3) | (false, true, 3) => 7,
                (true, false, 4 | 5) | (false, true, 1 | 2) => 6,
                _ => 8,
            };
        }
        scores
    }

    /// Returns the form of a superlative that reviews have, if none has the superlative.
    fn positive(&self, word: &str, is_word: bool) -> Option<String> {
        let is_known = |word: &str| (0..self.reviews.len()).any(|row| self.forms(row, word) > 0);
        let start = word.strip_suffix("est")?;
        if !is_word || start.len() < 3 || is_known(word) {
            return None;
        }
        let mut forms = vec![format!("{start}e"), start.to_owned()];
        forms.extend(start.strip_suffix('i').map(|start| format!("{start}y")));
        let letters: Vec<char> = start.chars().collect();
        if let [before @ .., last] = &letters[..]
            && before.last() == Some(last)
        {
            forms.push(before.iter().collect());
        }
        forms.into_iter().find(|form| is_known(form))
    }

    /// Adds half of the best sense of a word, and half of all its senses.
    fn add_best(&self, scores: &mut [u64], senses: &[Vec<Option<u64>>]) {
        for (row, score) in scores.iter_mut().enumerate() {
            let mut best = 0;
            for sense in senses.iter().filter_map(|sense| sense[row]) {
                *score += sense / 2;
                if sense > best {
                    *score += (sense - best) / 2;
                    best = sense;
                }
            }
        }
    }

    /// Returns the scores of the word itself: half where only a longer word begins with it.
    fn sense_of_word(&self, word: &str, is_word: bool, weight: u64) -> Vec<Option<u64>> {
        let mut counts = self.counts(word, is_word);
        let mut parts: Vec<usize> = Vec::new();
        if is_word && word.chars().count() >= 4 {
            for (row, count) in counts.iter_mut().enumerate() {
                if *count == 0 && holds_words(&self.folded[row], word) {
                    *count = 1;
                    parts.push(row);
                }
            }
        }
        let mut sense = self.sense(counts, weight, true);
        for row in parts {
            sense[row] = sense[row].map(|score| score / 2);
        }
        sense
    }

    /// Returns how often each review has the word, or a form of it.
    fn counts(&self, word: &str, is_word: bool) -> Vec<u64> {
        let count = |row| {
            let forms = self.forms(row, word);
            if is_word && forms > 0 {
                return forms;
            }
            let tag = self.reviews[row].language.as_deref().unwrap_or_default();
            let german = stem("de", word);
            let in_compound =
                is_word && tag == "de" && german.len() >= 5 && self.folded[row].contains(&german);
            let holds = !is_word && holds_words(&self.folded[row], word);
            u64::from(holds || in_compound)
        };
        (0..self.reviews.len()).map(count).collect()
    }

    /// Returns how many forms of the word the review has.
    fn forms(&self, row: usize, word: &str) -> u64 {
        let language = self.language(row);
        let asked = stem(&language, word);
        let words = words_of(&self.folded[row]);
        let forms = words.iter().filter(|known| stem(&language, known) == asked);
        forms.count() as u64
    }

    /// Returns how many words of a subject each review has.
    fn counts_of_subject(&self, subject: &[(&'static str, String)]) -> Vec<u64> {
        let count = |row| {
            let language = self.language(row);
            let words = words_of(&self.folded[row]);
            let is_of = |word: &&String| {
                let stem = stem(&language, word);
                subject
                    .iter()
                    .any(|(tag, known)| *tag == language && *known == stem)
            };
            words.iter().filter(is_of).count() as u64
        };
        (0..self.reviews.len()).map(count).collect()
    }

    /// Returns the primary language of the review, or that of most reviews.
    fn language(&self, row: usize) -> String {
        let primary = |row: usize| -> Option<String> {
            let tag = self.reviews[row].language.as_deref()?;
            tag.split('-').next().map(str::to_owned)
        };
        if let Some(language) = primary(row) {
            return language;
        }
        let mut counts: HashMap<String, usize> = HashMap::new();
        for language in (0..self.reviews.len()).filter_map(primary) {
            *counts.entry(language).or_default() += 1;
        }
        let most = counts.values().copied().max().unwrap_or(0);
        let mut usual: Vec<String> = counts
            .into_iter()
            .filter(|(_, count)| *count == most)
            .map(|(language, _)| language)
            .collect();
        usual.sort();
        usual.first().cloned().unwrap_or_default()
    }

    /// Returns, for technicians, services and aspects, which reviews mention an entry with `word` in a name.
    fn mentions(&self, word: &str) -> [Vec<u64>; 3] {
        let named = |entries: &[NamedEntry]| -> Vec<String> {
            let has_it = |entry: &&NamedEntry| {
                let mut names = entry.names_and_aliases().chain(&entry.phrases);
                names.any(|name| has_word(name, word))
            };
            let named = entries.iter().filter(has_it);
            named.map(|entry| entry.name.clone()).collect()
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

    /// Returns the score of a sense that each review has as often as `counts` says; `None` without it.
    fn sense(&self, counts: Vec<u64>, weight: u64, by_length: bool) -> Vec<Option<u64>> {
        let having = counts.iter().filter(|count| **count > 0).count();
        let log = |number: usize| ((number as f64).log2() * 256.0).floor() as u64;
        let rarity = (log(2 * (counts.len() + 1)) - log(2 * having + 1)) * weight / 4;
        let lengths: Vec<u64> = self
            .folded
            .iter()
            .map(|text| words_of(text).len() as u64)
            .collect();
        let total: u64 = lengths.iter().sum();
        let with_words = lengths.iter().filter(|length| **length > 0).count() as u64;
        let score = |(row, count): (usize, u64)| {
            let length = if by_length {
                (lengths[row] * with_words * 16 / total.max(1)).min(63)
            } else {
                16
            };
            let count = count.min(4);
            let factor = (count * 2_200 * 4_096) / (count * 1_000 + 300 + 900 * length / 16);
            (count > 0).then_some(rarity * factor / 4_096)
        };
        counts.into_iter().enumerate().map(score).collect()
    }
}

/// The weight of two words side by side.
const WEIGHT_OF_PAIR: u64 = 4;

/// Returns the stem of a word in the language with this tag.
fn stem(language: &str, word: &str) -> String {
    let algorithm = match language {
        "de" => Algorithm::German,
        "en" => Algorithm::English,
        "es" => Algorithm::Spanish,
        "fr" => Algorithm::French,
        _ => return word.to_owned(),
    };
    // Of the words that the stemmer takes for forms of others, the pieces have one.
    if language == "en" && word.strip_suffix('s').unwrap_or(word) == "evening" {
        return "evening".to_owned();
    }
    Stemmer::create(algorithm).stem(word).into_owned()
}

/// Returns the subjects of a word in any language.
fn subjects_of(word: &str) -> Vec<&'static [(&'static str, String)]> {
    let stems: HashSet<(&str, String)> = LANGUAGE_TAGS
        .into_iter()
        .map(|tag| (tag, stem(tag, word)))
        .collect();
    // By language and then by line, as the score of the first sense is rounded before that of the second.
    let mut subjects: Vec<&'static [(&'static str, String)]> = Vec::new();
    for tag in LANGUAGE_TAGS {
        for subject in SUBJECTS.iter() {
            let is_of = subject
                .iter()
                .any(|known| known.0 == tag && stems.contains(known));
            if is_of
                && !subjects
                    .iter()
                    .any(|other| std::ptr::eq(*other, &**subject))
            {
                subjects.push(subject);
            }
        }
    }
    subjects
}

/// Returns the subject of two words with a space between them; no phrase has several.
fn subject_of_phrase(phrase: &str) -> Option<&'static [(&'static str, String)]> {
    let joined = phrase.replace(' ', "_");
    if !phrase.contains(' ') {
        return None;
    }
    let mut subjects = SUBJECTS.iter();
    let subject = subjects.find(|subject| subject.iter().any(|(_, word)| *word == joined))?;
    Some(subject)
}

/// Returns the words of a folded text that have at most 32 bytes.
fn words_of(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    for run in text.split(|character| !is_of_word(character) && character != '\'') {
        let run = run.trim_matches('\'');
        if run.ends_with("n't") {
            words.push(run.to_owned());
        } else {
            words.extend(run.split('\'').map(str::to_owned));
        }
    }
    words.retain(|word| (1..=32).contains(&word.len()));
    words
}

/// The folded function words of each language of the file.
static FUNCTION_WORDS: LazyLock<Vec<HashSet<String>>> = LazyLock::new(|| {
    let mut lists = Vec::new();
    for line in LANGUAGES.lines() {
        let [code, _name, words] = line.splitn(3, ' ').collect::<Vec<&str>>()[..] else {
            continue;
        };
        if code != "determiner" && code != "homonym" {
            lists.push(words.split(' ').map(fold).collect());
        }
    }
    lists
});

/// Returns each word of the terms once, without function words and words that ask unless there are no others; and
/// whether it is a word, or a term without any.
fn words_to_rank(terms: &[String]) -> Vec<(String, bool)> {
    let mut most = 0;
    let mut common = &FUNCTION_WORDS[0];
    for words in FUNCTION_WORDS.iter() {
        let count = terms.iter().filter(|term| words.contains(*term)).count();
        if count > most {
            most = count;
            common = words;
        }
    }
    let mut ranking: Vec<(String, bool)> = Vec::new();
    let mut others: Vec<&String> = Vec::new();
    let mut at = 0;
    while at < terms.len() {
        let pair = terms[at..].get(..2).map(|pair| pair.join(" "));
        match pair.filter(|pair| subject_of_phrase(pair).is_some()) {
            Some(phrase) => {
                if ranking.iter().all(|(known, _)| *known != phrase) {
                    ranking.push((phrase, false));
                }
                at += 2;
            }
            None => {
                others.push(&terms[at]);
                at += 1;
            }
        }
    }
    let told: Vec<&String> = others
        .iter()
        .copied()
        .filter(|term| *term != ASKING)
        .filter(|term| !common.contains(*term) || !subjects_of(term).is_empty())
        .collect();
    let told = if told.is_empty() && ranking.is_empty() {
        terms.iter().collect()
    } else {
        told
    };
    for term in told {
        let words = words_of(term);
        let parts = if words.is_empty() {
            vec![(term.clone(), false)]
        } else {
            words.into_iter().map(|word| (word, true)).collect()
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
