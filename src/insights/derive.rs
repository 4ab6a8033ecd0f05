//! Two passes over the reviews: first their languages and what their own stars teach, then what each says about what.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use tracing::info;
use whatlang::Lang;

use super::Options;
use super::aspect::{Finder, Found};
use super::evidence::{Context, Judge, Judgement, review_score};
use super::language::detect_all;
use super::own_stars::{OwnStars, OwnSum};
use super::parallel::over_chunks;
use super::sentence::sentences;
use crate::model::insights::Polarity;
use crate::model::{Dataset, Review};

/// What a review says about an aspect in one sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mention {
    /// Row of the review.
    pub(super) row: u32,
    /// Index in the taxonomy.
    pub(super) aspect: u16,
    /// Range in bytes of the review's text, the end exclusive.
    pub(super) start: u32,
    pub(super) end: u32,
    pub(super) polarity: Polarity,
    /// By how much the polarity won.
    pub(super) margin: i32,
}

/// What is known of a dataset before its reviews are judged.
pub(super) struct Basis {
    /// The language of each review, `None` without letters.
    pub(super) languages: Vec<Option<Lang>>,
    /// The weights of each language with enough reviews.
    pub(super) own: HashMap<Lang, OwnStars>,
    pub(super) finder: Finder,
}

/// What the passes made of a dataset.
pub(super) struct Derived {
    pub(super) basis: Basis,
    /// Of each review, from -10,000 to 10,000.
    pub(super) scores: Vec<i32>,
    /// In order of row and place.
    pub(super) mentions: Vec<Mention>,
}

impl Basis {
    /// Detects the languages and trains on the own stars; `None` once `cancelled`.
    pub(super) fn of(
        dataset: &Dataset,
        options: &Options,
        cancelled: &(dyn Fn() -> bool + Sync),
    ) -> Option<Basis> {
        let languages = detect_all(&dataset.reviews, options.threads, cancelled)?;
        let known: HashSet<Option<Lang>> = languages.iter().copied().collect();
        let mut own = HashMap::new();
        for lang in known.iter().copied().flatten() {
            if cancelled() {
                return None;
            }
            let rows = dataset.reviews.iter().zip(&languages);
            let of_language = rows.filter(|(_, one)| **one == Some(lang));
            let model = OwnStars::learn(of_language.map(|(review, _)| review));
            own.extend(model.map(|model| (lang, model)));
        }
        let finder = Finder::new(&dataset.taxonomy.aspects, &known);
        Some(Basis {
            languages,
            own,
            finder,
        })
    }

    /// The own stars of the language of `row`.
    pub(super) fn own(&self, row: usize) -> Option<&OwnStars> {
        self.own.get(&self.languages[row]?)
    }
}

impl Derived {
    /// Reads every review of `dataset`; `None` once `cancelled`, which is asked for every chunk.
    pub(super) fn of(
        dataset: &Dataset,
        options: &Options,
        cancelled: &(dyn Fn() -> bool + Sync),
    ) -> Option<Derived> {
        let basis = Basis::of(dataset, options, cancelled)?;
        let count = dataset.reviews.len();
        let read = |reader: &mut Reader<'_>, rows: Range<usize>| {
            let (mut scores, mut mentions) = (Vec::new(), Vec::new());
            for row in rows {
                let review = &dataset.reviews[row];
                scores.push(reader.read(review, row, |one| mentions.push(one.mention(row))));
            }
            (scores, mentions)
        };
        let read = |reader: &mut Reader<'_>, rows| (!cancelled()).then(|| read(reader, rows));
        let parts = over_chunks(count, options.threads, || Reader::new(&basis), read);
        let (mut scores, mut mentions) = (Vec::new(), Vec::new());
        for part in parts {
            let part = part?;
            scores.extend(part.0);
            mentions.extend(part.1);
        }
        info!(
            reviews = scores.len(),
            mentions = mentions.len(),
            own_stars = basis.own.len(),
            "insights: reviews read"
        );
        Some(Derived {
            basis,
            scores,
            mentions,
        })
    }
}

/// A mention as it is judged.
pub(super) struct Judged<'j> {
    /// Has read the sentence.
    pub(super) judge: &'j mut Judge,
    /// Bytes of the sentence in the review's text.
    pub(super) sentence: Range<usize>,
    pub(super) found: &'j Found,
    pub(super) context: Context,
    pub(super) judgement: Judgement,
}

impl Judged<'_> {
    fn mention(&self, row: usize) -> Mention {
        Mention {
            row: row as u32,
            aspect: self.found.aspect,
            start: (self.sentence.start + self.found.range.start) as u32,
            end: (self.sentence.start + self.found.range.end) as u32,
            polarity: self.judgement.polarity,
            margin: self.judgement.margin,
        }
    }
}

/// Reads reviews, reusing its buffers from one to the next.
pub(super) struct Reader<'b> {
    basis: &'b Basis,
    judge: Judge,
    found: Vec<Found>,
}

impl<'b> Reader<'b> {
    pub(super) fn new(basis: &'b Basis) -> Reader<'b> {
        Reader {
            basis,
            judge: Judge::default(),
            found: Vec::new(),
        }
    }

    /// Passes each mention of `review` to `each` and returns the score of the review; cost is linear in its text.
    pub(super) fn read(
        &mut self,
        review: &Review,
        row: usize,
        mut each: impl FnMut(Judged<'_>),
    ) -> i32 {
        let lang = self.basis.languages[row];
        let own = self.basis.own(row);
        let is_english = lang == Some(Lang::Eng);
        let mut own_sum = OwnSum::default();
        for sentence in sentences(&review.text) {
            self.judge.read(&review.text[sentence.clone()]);
            let words = &self.judge.collector.words;
            self.basis.finder.find(lang, words, &mut self.found);
            let of_sentence = own.map(|own| own.sum(words)).unwrap_or_default();
            own_sum += of_sentence;
            for found in &self.found {
                let context = Context {
                    is_english,
                    rating: Some(review.rating),
                    opinion: found.opinion,
                    own: own.map_or(0, |own| own.log_odds(of_sentence)),
                };
                let judgement = self.judge.mention(&found.range, &context);
                each(Judged {
                    judge: &mut self.judge,
                    sentence: sentence.clone(),
                    found,
                    context,
                    judgement,
                });
            }
        }
        let words = match &review.translation {
            Some(translation) if !is_english => self.judge.mean_tilt(translation, true),
            _ => self.judge.mean_tilt(&review.text, is_english),
        };
        let own = own.map_or(0, |own| own.log_odds(own_sum));
        review_score(review.rating, words, own)
    }
}
