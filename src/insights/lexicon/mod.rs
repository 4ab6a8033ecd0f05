//! The words that carry sentiment: the lexicon of VADER as data, and the words and marks that its rules know.
//!
//! `words.txt` and `emoji.txt` come from the reference implementation (vaderSentiment 3.3.2, C. J. Hutto, MIT:
//! `LICENSES/MIT-vaderSentiment.txt`) by `tests/fixtures/vader/make.py`. A line of the first is a valence in tenths
//! and the words that have it; a line of the second an emoji and the words that stand for it. Entries that no token
//! can equal (with blanks or capitals) are left out. A line of `rules.txt` is a role and the words that play it.

use std::collections::HashMap;
use std::sync::LazyLock;

/// What the rules know about a word in lower case, or about a mark.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Entry {
    /// Mean sentiment from -4 to 4, if the lexicon lists the word.
    pub(super) valence: Option<f64>,
    /// Whether it strengthens (1) or weakens (-1) what follows, else 0.
    pub(super) step: i8,
    /// Whether it turns what follows around.
    pub(super) negates: bool,
    /// Whether a clause begins with it, as with "but", or a full stop.
    pub(super) is_clause: bool,
    /// Whether a part of a clause begins with it, as with "and".
    pub(super) is_phrase: bool,
}

/// The lexicon, read once when it is first needed: some milliseconds and 500 KB.
pub(super) static LEXICON: LazyLock<Lexicon> = LazyLock::new(Lexicon::read);

/// Words and emoji by lookup.
#[derive(Debug)]
pub(super) struct Lexicon {
    words: HashMap<&'static str, Entry>,
}

impl Lexicon {
    /// What is known about `word`, which has to be in lower case.
    pub(super) fn entry(&self, word: &str) -> Entry {
        let mut entry = self.words.get(word).copied().unwrap_or_default();
        entry.negates |= word.contains("n't");
        entry
    }

    fn read() -> Lexicon {
        let mut words: HashMap<&'static str, Entry> = HashMap::with_capacity(8192);
        for line in WORDS.lines().chain(RULES.lines()) {
            let mut fields = line.split(' ');
            let role = fields.next().unwrap_or_default();
            for word in fields {
                let entry = words.entry(word).or_default();
                match role {
                    "stronger" => entry.step = 1,
                    "weaker" => entry.step = -1,
                    "negates" => entry.negates = true,
                    "clause" => entry.is_clause = true,
                    "phrase" => entry.is_phrase = true,
                    tenths => entry.valence = tenths.parse().ok().map(|tenths: f64| tenths / 10.0),
                }
            }
        }
        for line in EMOJI.lines() {
            let (emoji, name) = line.split_once(' ').unwrap_or((line, ""));
            let valence = |word| words.get(word).and_then(|entry: &Entry| entry.valence);
            let valences: Vec<f64> = name.split(' ').filter_map(valence).collect();
            if !valences.is_empty() {
                words.entry(emoji).or_default().valence = Some(valences.iter().sum());
            }
        }
        Lexicon { words }
    }
}

const WORDS: &str = include_str!("words.txt");
const EMOJI: &str = include_str!("emoji.txt");
const RULES: &str = include_str!("rules.txt");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_read() {
        let scored = LEXICON
            .words
            .values()
            .filter(|entry| entry.valence.is_some());
        let listed: usize = WORDS.lines().map(|line| line.split(' ').count() - 1).sum();
        assert!(scored.count() > listed, "words and emoji");
        assert!(listed > 7000, "{listed}");
    }

    #[test]
    fn entries_of_each_kind() {
        assert_eq!(LEXICON.entry("good").valence, Some(1.9));
        assert_eq!(LEXICON.entry("very").step, 1);
        assert_eq!(LEXICON.entry("barely").step, -1);
        assert!(LEXICON.entry("never").negates);
        assert!(LEXICON.entry("couldn't've").negates);
        assert_eq!(LEXICON.entry("deadline"), Entry::default());
        assert!(LEXICON.entry("😍").valence > Some(0.0) && LEXICON.entry("😡").valence < Some(0.0));
    }
}
