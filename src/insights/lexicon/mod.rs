//! The words that carry sentiment: the lexicon of VADER as data, and the words that its rules know.
//!
//! `words.txt` and `emoji.txt` come from the reference implementation (vaderSentiment 3.3.2, C. J. Hutto, MIT:
//! `LICENSES/MIT-vaderSentiment.txt`) by `tests/fixtures/vader/make.py`. A line of the first is a valence in tenths
//! and the words that have it; a line of the second an emoji and the words that stand for it. Entries that no token
//! can equal (with blanks or capitals) are left out.

use std::collections::HashMap;
use std::sync::LazyLock;

/// What the rules know about a word in lower case.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Entry {
    /// Mean sentiment from -4 to 4, if the lexicon lists the word.
    pub(super) valence: Option<f64>,
    /// Whether it strengthens (1) or weakens (-1) what follows, else 0.
    pub(super) step: i8,
    /// Whether it turns what follows around.
    pub(super) negates: bool,
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
        for line in WORDS.lines() {
            let mut fields = line.split(' ');
            let tenths: Option<i8> = fields.next().and_then(|field| field.parse().ok());
            for word in fields {
                words.entry(word).or_default().valence =
                    tenths.map(|tenths| f64::from(tenths) / 10.0);
            }
        }
        for word in STRONGER.split_ascii_whitespace() {
            words.entry(word).or_default().step = 1;
        }
        for word in WEAKER.split_ascii_whitespace() {
            words.entry(word).or_default().step = -1;
        }
        for word in NEGATIONS.split_ascii_whitespace() {
            words.entry(word).or_default().negates = true;
        }
        for line in EMOJI.lines() {
            let Some((emoji, name)) = line.split_once(' ') else {
                continue;
            };
            let valence = |word| words.get(word).and_then(|entry: &Entry| entry.valence);
            let valences: Vec<f64> = name.split(' ').filter_map(valence).collect();
            if !valences.is_empty() {
                words.entry(emoji).or_default().valence = Some(valences.iter().sum());
            }
        }
        Lexicon { words }
    }
}

pub(super) const WORDS: &str = include_str!("words.txt");
pub(super) const EMOJI: &str = include_str!("emoji.txt");

/// Words of degree that strengthen.
const STRONGER: &str = "absolutely amazingly awfully completely considerable considerably decidedly deeply effing \
enormous enormously entirely especially exceptional exceptionally extreme extremely fabulously flipping flippin \
frackin fracking fricking frickin frigging friggin fully fuckin fucking fuggin fugging greatly hella highly hugely \
incredible incredibly intensely major majorly more most particularly purely quite really remarkably so \
substantially thoroughly total totally tremendous tremendously uber unbelievably unusually utter utterly very";

/// Words of degree that weaken; the pairs "kind of", "sort of" and "just enough" have a rule of their own.
const WEAKER: &str = "almost barely hardly kinda kindof kind-of less little marginal marginally occasional \
occasionally partly scarce scarcely slight slightly somewhat sorta sortof sort-of";

/// Words that turn around what follows, besides all that contain "n't".
const NEGATIONS: &str = "aint arent cannot cant couldnt darent didnt doesnt dont hadnt hasnt havent isnt mightnt \
mustnt neither neednt never none nope nor not nothing nowhere oughtnt shant shouldnt uhuh uh-uh wasnt werent without \
wont wouldnt rarely seldom despite";

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
