//! Reads all reviews, part by part, and judges their mentions with the words learned from their stars.

use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::Arc;

use whatlang::Lang;

use super::IsCancelled;
use super::evidence::{Context, Judgement, judge, review_score};
use super::known::{Known, KnownLanguages, known_languages, language};
use super::own_stars::{GramReader, OwnSum};
use super::parts::{MentionReading, Part, PartReader, PartReading, ReviewReadings, divide};
use super::people::NameCounts;
use super::topic_phrases::Counts;
use crate::dataset::chunks::over_jobs;
use crate::dataset::mentions::Finder;
use crate::model::insights::Polarity;
use crate::model::{Dataset, Review};
use crate::wire::sentence::sentences;

/// A mention of an aspect in one sentence of a review.
#[derive(Clone, Debug)]
pub(super) struct Mention {
    /// Row of the review.
    pub(super) row: u32,
    /// Index in the taxonomy.
    pub(super) aspect: u16,
    /// Byte offset of the sentence in the review's text.
    pub(super) sentence: usize,
    /// Byte range in the review's text.
    pub(super) range: Range<usize>,
    pub(super) context: Context,
    pub(super) polarity: Polarity,
    /// Margin of the polarity.
    pub(super) margin: i32,
    /// Probability of an error about praise, in ten-thousandths.
    pub(super) doubt: u32,
}

/// A place that a review names.
#[derive(Debug)]
pub(super) struct PlaceMention {
    /// Row of the review.
    pub(super) row: u32,
    /// Index in the taxonomy.
    pub(super) place: u16,
}

/// What is derived from all reviews of a dataset.
#[derive(Default)]
pub(super) struct Derived {
    /// The language of each review, `None` if it is not known.
    pub(super) languages: Vec<Option<Lang>>,
    pub(super) known: KnownLanguages,
    /// The score of each review, from -10,000 to 10,000.
    pub(super) scores: Vec<i32>,
    /// In order of row and position.
    pub(super) mentions: Vec<Mention>,
    /// In the order of the rows.
    pub(super) places: Vec<PlaceMention>,
    pub(super) phrases: Counts,
    pub(super) names: NameCounts,
    /// What a reload can use again.
    pub(super) readings: ReviewReadings,
}

/// What is derived from a part of the reviews.
struct DerivedPart {
    reading: Arc<PartReading>,
    is_new: bool,
    scores: Vec<i32>,
    mentions: Vec<Mention>,
}

impl Derived {
    /// Reads the reviews of `dataset`, except those whose part is in the `previous` readings. `None` if `cancelled`, which
    /// is called for every language, part and review.
    pub(super) fn of(
        dataset: &Dataset,
        previous: Option<&ReviewReadings>,
        threads: NonZeroUsize,
        cancelled: IsCancelled<'_>,
    ) -> Option<Derived> {
        let languages: Vec<Option<Lang>> = dataset.reviews.iter().map(language).collect();
        let known = known_languages(dataset, &languages, threads, cancelled)?;
        let areas = &dataset.taxonomy.service_areas;
        let mut places = None;
        if !areas.is_empty() {
            // Cannot fail, as the decoder built the same automaton from this taxonomy; if it did, no place would be counted.
            places = Finder::concepts(areas, false).ok();
        }
        let reader = PartReader {
            dataset,
            languages: &languages,
            known: &known,
            places,
        };
        let parts = divide(&dataset.reviews);
        let derived = over_jobs(parts.len(), threads, |number| {
            reader.derive(number, &parts[number], previous, cancelled)
        });
        let derived = derived.into_iter().collect::<Option<Vec<_>>>()?;
        let mut all = Derived {
            scores: vec![0; dataset.reviews.len()],
            ..Derived::default()
        };
        let mut readings = Vec::with_capacity(parts.len());
        let mut reviews_read = 0;
        for (part, derived) in parts.iter().zip(derived) {
            reviews_read += if derived.is_new { part.rows.len() } else { 0 };
            readings.push(Arc::clone(&derived.reading));
            all.add(part, derived);
        }
        // Parts have rows from everywhere.
        all.mentions.sort_by_key(|mention| mention.row);
        all.places.sort_by_key(|mention| mention.row);
        all.readings = ReviewReadings::keep(dataset, readings, reviews_read);
        all.languages = languages;
        all.known = known;
        Some(all)
    }

    fn add(&mut self, part: &Part, derived: DerivedPart) {
        for (row, score) in part.rows.iter().zip(derived.scores) {
            self.scores[*row as usize] = score;
        }
        self.mentions.extend(derived.mentions);
        for mention in &derived.reading.places {
            self.places.push(PlaceMention {
                row: part.rows[mention.review as usize],
                place: mention.place,
            });
        }
        // Only here are the maps of one part in memory beside those of all.
        let counts = derived.reading.counts();
        self.phrases.add(counts.phrases, &part.rows);
        self.names.add(counts.names, &part.rows);
    }
}

impl PartReader<'_> {
    /// Takes what the `part` of this number gives from the `previous` readings, or reads it, and judges its mentions.
    fn derive(
        &self,
        number: usize,
        part: &Part,
        previous: Option<&ReviewReadings>,
        cancelled: IsCancelled<'_>,
    ) -> Option<DerivedPart> {
        if cancelled() {
            return None;
        }
        let kept = previous.and_then(|previous| previous.reading_of(self, number, part));
        let is_new = kept.is_none();
        let reading = match kept {
            Some(reading) => reading,
            None => Arc::new(self.read(part, cancelled)?),
        };
        let mut derived = DerivedPart {
            reading: Arc::clone(&reading),
            is_new,
            scores: Vec::with_capacity(part.rows.len()),
            mentions: Vec::with_capacity(reading.mentions.len()),
        };
        let mut grams = GramReader::default();
        for (number, row) in part.rows.iter().enumerate() {
            let review = &self.dataset.reviews[*row as usize];
            let known = &self.known[&self.languages[*row as usize]];
            let judged = JudgedReview {
                row: *row,
                review,
                known,
            };
            let own = judged.judge(
                reading.mentions_of(number),
                &mut grams,
                &mut derived.mentions,
            );
            let tilt = reading.reviews[number].tilt;
            derived.scores.push(review_score(review.rating, tilt, own));
        }
        Some(derived)
    }
}

/// A review whose mentions are judged.
struct JudgedReview<'d> {
    row: u32,
    review: &'d Review,
    known: &'d Known,
}

impl JudgedReview<'_> {
    /// Judges `mentions`; returns the log-odds of the whole text by the words learned from the stars.
    fn judge(
        &self,
        mentions: &[MentionReading],
        grams: &mut GramReader,
        judged: &mut Vec<Mention>,
    ) -> i32 {
        let Some(own) = &self.known.own else {
            judged.extend(mentions.iter().map(|mention| self.mention(mention, 0)));
            return 0;
        };
        let mut sum = OwnSum::default();
        let mut mentions = mentions.iter().peekable();
        for range in sentences(&self.review.text) {
            let sentence = &self.review.text[range.clone()];
            let of_sentence = own.sum(self.row as usize, sentence, grams);
            sum.add(of_sentence);
            let odds = own.log_odds(of_sentence);
            while let Some(mention) = mentions.next_if(|one| one.sentence as usize == range.start) {
                judged.push(self.mention(mention, odds));
            }
        }
        own.log_odds(sum)
    }

    /// Judges a mention in a sentence with these log-odds.
    fn mention(&self, mention: &MentionReading, own: i32) -> Mention {
        let context = Context {
            reader: self.known.reader,
            rating: Some(self.review.rating),
            opinion: mention.opinion,
            own,
        };
        let Judgement {
            polarity,
            margin,
            doubt,
        } = judge(mention.weights, &context);
        Mention {
            row: self.row,
            aspect: mention.aspect,
            sentence: mention.sentence as usize,
            range: mention.start as usize..mention.end as usize,
            context,
            polarity,
            margin,
            doubt,
        }
    }
}
