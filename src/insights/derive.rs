//! Two passes over the reviews: first their languages and what their own stars teach, then what each says about what.

use std::collections::{HashMap, HashSet};

use tracing::info;
use whatlang::Lang;

use super::Options;
use super::aspect::{Finder, Found};
use super::evidence::{Context, Judge, review_score};
use super::language::{Languages, certain};
use super::own_stars::{OwnScore, OwnStars};
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
    /// Range in code points of the review's text, the end exclusive.
    pub(super) start: u32,
    pub(super) end: u32,
    /// The same in bytes.
    pub(super) bytes: (u32, u32),
    pub(super) polarity: Polarity,
    /// By how much the answer won.
    pub(super) margin: i32,
}

/// What is known of a dataset before its reviews are judged.
pub(super) struct Basis {
    /// The language of each review, `None` without letters.
    pub(super) languages: Vec<Option<Lang>>,
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
    /// Tells the languages and learns the own stars; `None` once `cancelled`.
    pub(super) fn of(
        dataset: &Dataset,
        options: &Options,
        cancelled: &(dyn Fn() -> bool + Sync),
    ) -> Option<Basis> {
        let reviews = &dataset.reviews;
        let told = over_chunks(
            reviews.len(),
            options.threads,
            || (),
            |(), rows| match cancelled() {
                true => Vec::new(),
                false => reviews[rows].iter().map(certain).collect(),
            },
        )
        .concat();
        if told.len() < reviews.len() {
            return None;
        }
        let usual = Languages::of(&told);
        let resolved = reviews.iter().zip(&told);
        let languages: Vec<Option<Lang>> = resolved
            .map(|(review, told)| usual.resolve(&review.text, *told))
            .collect();
        let known: HashSet<Option<Lang>> = languages.iter().copied().collect();
        let mut own = HashMap::new();
        for lang in known.iter().copied().flatten() {
            if cancelled() {
                return None;
            }
            let rows = reviews.iter().zip(&languages);
            let of_language = rows
                .filter(|(_, one)| **one == Some(lang))
                .map(|(review, _)| review);
            if let Some(model) = OwnStars::learn(of_language).filter(OwnStars::is_useful) {
                own.insert(lang, model);
            }
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
        let reader = || Reader {
            basis: &basis,
            judge: Judge::default(),
            found: Vec::new(),
        };
        let parts = over_chunks(
            dataset.reviews.len(),
            options.threads,
            reader,
            |reader, rows| {
                let mut part = (Vec::new(), Vec::new());
                if cancelled() {
                    return None;
                }
                for row in rows {
                    let score = reader.read(&dataset.reviews[row], row, &mut part.1);
                    part.0.push(score);
                }
                Some(part)
            },
        );
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

/// Reads reviews, reusing its buffers from one to the next.
struct Reader<'b> {
    basis: &'b Basis,
    judge: Judge,
    found: Vec<Found>,
}

impl Reader<'_> {
    /// Returns the score of `review` and appends what it mentions; cost is linear in its text.
    fn read(&mut self, review: &Review, row: usize, mentions: &mut Vec<Mention>) -> i32 {
        let lang = self.basis.languages[row];
        let own = self.basis.own(row);
        let mut points = CodePoints::of(&review.text);
        let mut context = Context {
            is_english: lang == Some(Lang::Eng),
            rating: Some(review.rating),
            ..Context::default()
        };
        let (mut sum, mut count, mut own_sum) = (0i64, 0i64, OwnScore::default());
        for range in sentences(&review.text) {
            self.judge.read(&review.text[range.clone()]);
            let words = &self.judge.collector.words;
            self.basis.finder.find(lang, words, &mut self.found);
            context.own = own.map_or(0, |own| own.score(words));
            if let Some(own) = own {
                own_sum.add(own, words);
            }
            if count < SENTENCES_MAX {
                sum += i64::from(self.judge.sentence(context.is_english));
                count += 1;
            }
            for found in &self.found {
                context.opinion = found.opinion;
                let judgement = self.judge.mention(found.range.clone(), &context);
                mentions.push(Mention {
                    row: row as u32,
                    aspect: found.aspect,
                    start: points.at(range.start + found.range.start),
                    end: points.at(range.start + found.range.end),
                    bytes: (
                        (range.start + found.range.start) as u32,
                        (range.start + found.range.end) as u32,
                    ),
                    polarity: judgement.polarity,
                    margin: judgement.margin,
                });
            }
        }
        let own = own.map_or(0, |own| own_sum.finish(own));
        review_score(
            review.rating,
            sum.checked_div(count).unwrap_or(0) as i32,
            own,
        )
    }
}

/// Sentences that a review's own score rests on; mentions are judged in all.
const SENTENCES_MAX: i64 = 50;

/// Turns bytes of a text into code points, walking on from the place asked for last.
struct CodePoints<'t> {
    text: &'t str,
    byte: usize,
    point: u32,
}

impl<'t> CodePoints<'t> {
    fn of(text: &'t str) -> CodePoints<'t> {
        CodePoints {
            text,
            byte: 0,
            point: 0,
        }
    }

    fn at(&mut self, byte: usize) -> u32 {
        let count = |part: &str| part.chars().count() as u32;
        match byte >= self.byte {
            true => self.point += count(&self.text[self.byte..byte]),
            false => self.point -= count(&self.text[byte..self.byte]),
        }
        self.byte = byte;
        self.point
    }
}
