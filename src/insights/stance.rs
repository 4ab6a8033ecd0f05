//! What a review says of a phrase: the evidence that makes a candidate a topic.
//!
//! The stars of a review are not what it says of each thing. So the words around each mention are judged again, for some
//! reviews of each candidate: by the text model in English, else by the listed opinions, the negations, and the words learned
//! from the stars. Neither the stars of the review count nor the words of the phrase itself, which are learned words, too. A
//! negation alone is no complaint here, as it is for a mention of an aspect in a review of one or two stars.

use std::ops::Range;

use super::evidence::{Context, Reader, stars};
use super::known::{Known, KnownLanguages};
use super::own_stars::{GramReader, SENTENCES_MAX};
use super::text_model::Sentence;
use super::topic_phrases::{NearWord, PhraseKey, visit_uses};
use crate::model::Dataset;
use crate::model::insights::Polarity;
use crate::wire::sentence::sentences;

/// The least evidence for praise or complaint that counts, in units of 1/64: less than one listed opinion.
const TILT_MIN: i32 = 32;
/// Most different words near a phrase in one review; others are ignored.
const WORDS_MAX: usize = 64;

/// Judges what reviews say of phrases; its buffers are reused.
pub(super) struct StanceReader<'d> {
    dataset: &'d Dataset,
    known: &'d KnownLanguages,
    sentence: Sentence,
    grams: GramReader,
}

impl<'d> StanceReader<'d> {
    pub(super) fn new(dataset: &'d Dataset, known: &'d KnownLanguages) -> StanceReader<'d> {
        StanceReader {
            dataset,
            known,
            sentence: Sentence::default(),
            grams: GramReader::default(),
        }
    }

    /// Returns what the review of `row` says of each of these phrases of its language, in all its mentions together; neutral
    /// if it has no opinion of it. In a language without any evidence the stars decide.
    ///
    /// Only the first [`SENTENCES_MAX`] sentences are read, some 50 KB at most: those in which phrases are counted.
    pub(super) fn stances(&mut self, row: u32, phrases: &[PhraseKey]) -> Vec<Stance> {
        let dataset = self.dataset;
        let review = &dataset.reviews[row as usize];
        let languages = self.known;
        let lang = phrases.first().map(|phrase| phrase.lang);
        let Some(known) = languages.get(&lang) else {
            return vec![Stance::of(Said::default()); phrases.len()];
        };
        let mut read = vec![Said::default(); phrases.len()];
        for range in sentences(&review.text).take(SENTENCES_MAX) {
            let text = &review.text[range];
            self.sentence.read(text);
            known.phrases.find(&mut self.sentence.words);
            for mention in self.mentions(phrases) {
                let said = &mut read[mention.phrase];
                said.tilt += self.tilt(row, text, &mention.range, known);
                said.add(mention.near);
            }
        }
        if known.reader == Reader::Stars {
            for said in &mut read {
                said.tilt = stars(Some(review.rating));
            }
        }
        read.into_iter().map(Stance::of).collect()
    }

    /// The mentions of these phrases of one language in the sentence.
    fn mentions(&self, phrases: &[PhraseKey]) -> Vec<PhraseMention> {
        let mut mentions = Vec::new();
        let Some(first) = phrases.first() else {
            return mentions;
        };
        visit_uses(&self.sentence.words, first.lang, |used| {
            let phrase = phrases.iter().position(|phrase| phrase.hash == used.hash);
            if let Some(phrase) = phrase {
                let range = used.range();
                let near = used.words_near(first.lang);
                mentions.push(PhraseMention {
                    phrase,
                    range,
                    near,
                });
            }
        });
        mentions
    }

    /// The margin of praise over complaint in the sentence `text` about its `mention`, without the stars of the review.
    fn tilt(&mut self, row: u32, text: &str, mention: &Range<usize>, known: &Known) -> i32 {
        if known.reader == Reader::English {
            // With stars the whole sentence counts, too; their own evidence is taken off again.
            let rating = Some(self.dataset.reviews[row as usize].rating);
            let context = Context {
                reader: known.reader,
                rating,
                ..Context::default()
            };
            return self.sentence.tilt(Some(mention), &context) - stars(rating);
        }
        // Without stars, as in low reviews a negation alone would be a complaint.
        let mut context = Context {
            reader: known.reader,
            ..Context::default()
        };
        if let Some(own) = &known.own {
            let others = format!("{}.{}", &text[..mention.start], &text[mention.end..]);
            context.own = own.log_odds(own.sum(row as usize, &others, &mut self.grams));
        }
        self.sentence.tilt(Some(mention), &context)
    }
}

/// A mention of one of several phrases in a sentence.
struct PhraseMention {
    /// Index of the phrase.
    phrase: usize,
    /// Byte range in the sentence.
    range: Range<usize>,
    near: Vec<NearWord>,
}

/// What the mentions of a phrase in one review say.
#[derive(Clone, Default)]
struct Said {
    /// The margin of praise over complaint.
    tilt: i32,
    /// The first [`WORDS_MAX`] words near them, each once.
    words: Vec<NearWord>,
}

impl Said {
    fn add(&mut self, near: Vec<NearWord>) {
        for word in near {
            let is_new = self.words.iter().all(|known| known.form != word.form);
            if is_new && self.words.len() < WORDS_MAX {
                self.words.push(word);
            }
        }
    }
}

/// What a review says of a phrase.
#[derive(Clone, Debug)]
pub(super) struct Stance {
    pub(super) polarity: Polarity,
    /// How much the words of praise and of complaint differ, in units of 1/64.
    pub(super) clarity: u32,
    /// The words near its mentions, each once.
    pub(super) words: Vec<NearWord>,
}

impl Stance {
    fn of(said: Said) -> Stance {
        let tilt = said.tilt;
        let polarity = match tilt {
            TILT_MIN.. => Polarity::Positive,
            _ if tilt <= -TILT_MIN => Polarity::Negative,
            _ => Polarity::Neutral,
        };
        Stance {
            polarity,
            clarity: tilt.unsigned_abs(),
            words: said.words,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_review_says_a_bounded_number_of_words() {
        let mut said = Said::default();
        let near = (0..1000_u64).map(|at| NearWord {
            form: at % 500,
            text: String::new(),
            sign: 0,
        });
        said.add(near.collect());
        let forms: Vec<u64> = said.words.iter().map(|word| word.form).collect();
        assert_eq!(forms, (0..WORDS_MAX as u64).collect::<Vec<_>>());
    }
}
