//! One pass over the reviews: what each says about what, and how it sounds as a whole.

use std::sync::atomic::{AtomicUsize, Ordering};

use tracing::info;

use super::Options;
use super::aspect::{Finder, Found};
use super::language::Language;
use super::parallel::over_chunks;
use super::polarity::{Judge, Polarity};
use super::sentence::sentences;
use super::sentiment::Scorer;
use crate::model::{Dataset, Review};

/// What a review says about an aspect in one sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mention {
    /// Place in the dataset.
    pub(super) row: u32,
    /// Place in the taxonomy.
    pub(super) aspect: u16,
    /// The sentence's place in its review.
    pub(super) sentence: u32,
    /// Range in code points of the review's text, the end exclusive.
    pub(super) start: u32,
    pub(super) end: u32,
    pub(super) polarity: Polarity,
    /// By how much the answer won, in weights.
    pub(super) margin: i32,
}

/// How a review sounds as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Without text.
    Silent,
    /// In a language that the lexicon does not speak, or too short to tell.
    Unscored {
        /// Mentions of aspects that were found and not judged.
        mentions: u32,
    },
    /// Scored from -10,000 to 10,000.
    Scored(i32),
}

impl Outcome {
    /// The score, if there is one.
    pub(super) fn score(self) -> Option<i32> {
        match self {
            Outcome::Scored(score) => Some(score),
            _ => None,
        }
    }
}

/// What the pass made of a dataset.
#[derive(Debug, Default)]
pub(super) struct Derived {
    /// One for each review, in order.
    pub(super) outcomes: Vec<Outcome>,
    /// Those of scored reviews, in order of row and place.
    pub(super) mentions: Vec<Mention>,
}

impl Derived {
    /// Reads every review of `dataset`; `None` once `cancelled`, which is asked every
    /// [`CHUNK_ROWS`](super::parallel::CHUNK_ROWS) reviews.
    pub(super) fn of(
        dataset: &Dataset,
        options: &Options,
        cancelled: &(dyn Fn() -> bool + Sync),
    ) -> Option<Derived> {
        let progress = Progress::of(dataset.reviews.len());
        // The decoder built automata of the same taxonomy, so this succeeds; without it no aspect counts.
        let finder = Finder::new(&dataset.taxonomy.aspects).or_else(|_| Finder::new(&[]));
        let reader = || {
            finder
                .as_ref()
                .ok()
                .map(|finder| Reader::new(finder.clone()))
        };
        let parts = over_chunks(
            dataset.reviews.len(),
            options.threads,
            reader,
            |reader, rows| {
                if cancelled() {
                    return None;
                }
                let mut part = Derived::default();
                let count = rows.len();
                for row in rows {
                    let (review, mentions) = (&dataset.reviews[row], &mut part.mentions);
                    part.outcomes.push(match reader {
                        Some(reader) => reader.read(review, row as u32, mentions),
                        None => Outcome::Silent,
                    });
                }
                progress.add(count);
                Some(part)
            },
        );
        let mut whole = Derived::default();
        for part in parts {
            let part = part?;
            whole.outcomes.extend(part.outcomes);
            whole.mentions.extend(part.mentions);
        }
        Some(whole)
    }
}

/// Logs how far the reading of a large dataset has come: ten lines in all.
struct Progress {
    count: usize,
    done: AtomicUsize,
}

impl Progress {
    fn of(count: usize) -> Progress {
        Progress {
            count,
            done: AtomicUsize::new(0),
        }
    }

    fn add(&self, rows: usize) {
        let before = self.done.fetch_add(rows, Ordering::Relaxed);
        let tenths = |done: usize| done * 10 / self.count;
        let done = before + rows;
        if self.count >= LARGE_ROWS && tenths(done) > tenths(before) {
            info!(
                reviews = done,
                of = self.count,
                "insights: reviews are read"
            );
        }
    }
}

/// Reviews from which on the log is told how far the reading has come: some seconds of it.
const LARGE_ROWS: usize = 20_000;

/// Reads reviews, reusing its buffers from one to the next.
pub(super) struct Reader {
    finder: Finder,
    judge: Judge,
    scorer: Scorer,
    found: Vec<Found>,
}

impl Reader {
    fn new(finder: Finder) -> Reader {
        Reader {
            finder,
            judge: Judge::default(),
            scorer: Scorer::default(),
            found: Vec::new(),
        }
    }

    /// Scores `review` and appends what it mentions to `mentions`; cost is linear in its text.
    fn read(&mut self, review: &Review, row: u32, mentions: &mut Vec<Mention>) -> Outcome {
        if review.text.trim().is_empty() {
            return Outcome::Silent;
        }
        if Language::of(&review.text) == Language::Other {
            return Outcome::Unscored {
                mentions: self.count(&review.text),
            };
        }
        let mut points = Points::of(&review.text);
        let (mut sum, mut speaking) = (0i64, 0i64);
        for (number, range) in sentences(&review.text).enumerate() {
            let sentence = &review.text[range.clone()];
            let compound = self.scorer.compound(sentence);
            sum += i64::from(compound);
            speaking += i64::from(compound != 0);
            self.finder.find(sentence, &mut self.found);
            for found in &self.found {
                let judgement =
                    self.judge
                        .judge(sentence, found.from, found.to, Some(review.rating));
                mentions.push(Mention {
                    row,
                    aspect: found.aspect,
                    sentence: number as u32,
                    start: points.at(range.start + found.from),
                    end: points.at(range.start + found.to),
                    polarity: judgement.polarity,
                    margin: judgement.margin,
                });
            }
        }
        let text = sum.checked_div(speaking).unwrap_or(0);
        let stars = (i64::from(review.rating.stars()) - 3) * 5_000;
        // Both lie between -10,000 and 10,000, and so does their mean.
        Outcome::Scored(((text + stars) / 2) as i32)
    }

    fn count(&mut self, text: &str) -> u32 {
        let mut count = 0;
        for range in sentences(text) {
            self.finder.find(&text[range], &mut self.found);
            count += self.found.len() as u32;
        }
        count
    }
}

/// The sign of a review's score: an opinion from 0.2 on.
pub(super) fn sign(score: i32) -> Polarity {
    match score {
        2_000.. => Polarity::Positive,
        ..=-2_000 => Polarity::Negative,
        _ => Polarity::Neutral,
    }
}

/// Turns bytes of a text into code points, walking on from the place asked for last.
struct Points<'t> {
    text: &'t str,
    byte: usize,
    point: u32,
}

impl<'t> Points<'t> {
    fn of(text: &'t str) -> Points<'t> {
        Points {
            text,
            byte: 0,
            point: 0,
        }
    }

    fn at(&mut self, byte: usize) -> u32 {
        let count = |part: &str| part.chars().count() as u32;
        // Mentions overlap at times, so the next place may lie a phrase back.
        match byte >= self.byte {
            true => self.point += count(&self.text[self.byte..byte]),
            false => self.point -= count(&self.text[byte..self.byte]),
        }
        self.byte = byte;
        self.point
    }
}
