//! Divides the reviews into parts, and reads each part once: what its reviews give by themselves, whatever all others are.
//!
//! This takes most of the time in which insights are derived. So it is kept in memory, and a reload reads only those parts
//! again in which a review has changed: [`ReviewReadings`]. The id of a review decides its part, so a new review changes one
//! part and not all that follow. A part has some 1,000 to 2,000 reviews: counts of phrases take less memory by the part than
//! by the review. What depends on other reviews, such as the words learned from all stars, is added by `read`.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use whatlang::Lang;

use super::IsCancelled;
use super::evidence::{Context, Reader};
use super::keys::key;
use super::known::KnownLanguages;
use super::own_stars::SENTENCES_MAX;
use super::people::NameCounts;
use super::text_model::{Sentence, Weights};
use super::topic_phrases::Counts;
use crate::dataset::mentions::Finder;
use crate::dataset::names::comparable;
use crate::model::{Dataset, Review, Taxonomy};
use crate::wire::sentence::sentences;

/// Most reviews of a part on average. If there are several parts, they have at least half as many on average.
const PART_REVIEWS: usize = 2_048;

/// What the reviews of a dataset give one by one, to be used again for the next dataset. It takes some 220 bytes a review,
/// mostly for the counts of phrases and names.
///
/// It is empty for up to 2,048 reviews, which are read again in less time than a reload waits for files to be written.
#[derive(Debug, Default)]
pub struct ReviewReadings {
    /// All that a reading depends on besides the reviews; the method is the same in one process.
    taxonomy: Taxonomy,
    parts: Vec<Arc<PartReading>>,
    reviews_read: usize,
}

impl ReviewReadings {
    /// Returns how many reviews were read for it; the others are from the readings before.
    #[must_use]
    pub fn reviews_read(&self) -> usize {
        self.reviews_read
    }

    /// Returns its size in bytes.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.parts.iter().map(|part| part.memory()).sum()
    }

    /// Keeps the `parts` of `dataset`; `reviews_read` of its reviews were read for them.
    pub(super) fn keep(
        dataset: &Dataset,
        parts: Vec<Arc<PartReading>>,
        reviews_read: usize,
    ) -> ReviewReadings {
        if parts.len() == 1 {
            return ReviewReadings {
                reviews_read,
                ..ReviewReadings::default()
            };
        }
        ReviewReadings {
            taxonomy: dataset.taxonomy.clone(),
            parts,
            reviews_read,
        }
    }

    /// Returns its part of this number, if `reader` would read the same from `part`.
    pub(super) fn reading_of(
        &self,
        reader: &PartReader<'_>,
        number: usize,
        part: &Part,
    ) -> Option<Arc<PartReading>> {
        if self.parts.len() != part.of || self.taxonomy != reader.dataset.taxonomy {
            return None;
        }
        let reading = &self.parts[number];
        if reading.digest == reader.digest(part) {
            Some(Arc::clone(reading))
        } else {
            None
        }
    }
}

/// A part of the reviews.
#[derive(Clone, Debug)]
pub(super) struct Part {
    /// Its reviews, ascending.
    pub(super) rows: Vec<u32>,
    /// The number of parts.
    of: usize,
}

/// Divides the reviews. The number of parts is a power of two, so that it seldom changes.
pub(super) fn divide(reviews: &[Review]) -> Vec<Part> {
    let of = reviews.len().div_ceil(PART_REVIEWS).next_power_of_two();
    let rows = Vec::new();
    let mut parts = vec![Part { rows, of }; of];
    for (row, review) in (0..).zip(reviews) {
        let number = key(&review.id) as usize % of;
        parts[number].rows.push(row);
    }
    parts
}

/// What a part of the reviews gives.
#[derive(Debug)]
pub(super) struct PartReading {
    digest: [u8; 32],
    /// In the order of the rows.
    pub(super) reviews: Vec<ReviewReading>,
    /// In the order of the reviews, and of their texts.
    pub(super) mentions: Vec<MentionReading>,
    pub(super) places: Vec<PlaceReading>,
    /// [`PartCounts`], packed: maps with thousands of short strings take five times the memory.
    counts: Vec<u8>,
}

/// What a review gives.
#[derive(Debug)]
pub(super) struct ReviewReading {
    /// Mean margin of praise over complaint of its sentences, without its stars.
    pub(super) tilt: i32,
    /// The number of mentions in the part up to this review.
    pub(super) mentions_end: u32,
}

/// A mention of an aspect in one sentence of a review, before it is judged.
#[derive(Debug)]
pub(super) struct MentionReading {
    /// Index in the taxonomy.
    pub(super) aspect: u16,
    /// Sign of the phrase if it is itself an opinion.
    pub(super) opinion: i8,
    /// Byte offset of the sentence in the review's text.
    pub(super) sentence: u32,
    /// Byte range in the review's text.
    pub(super) start: u32,
    pub(super) end: u32,
    /// The evidence of the text.
    pub(super) weights: Weights,
}

/// A place that a review names.
#[derive(Debug)]
pub(super) struct PlaceReading {
    /// The number of the review in its part.
    pub(super) review: u32,
    /// Index in the taxonomy.
    pub(super) place: u16,
}

/// What the reviews of a part say together.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct PartCounts {
    pub(super) phrases: Counts,
    pub(super) names: NameCounts,
}

/// What parts are read with.
pub(super) struct PartReader<'d> {
    pub(super) dataset: &'d Dataset,
    /// Of each row.
    pub(super) languages: &'d [Option<Lang>],
    pub(super) known: &'d KnownLanguages,
    /// `None` if the business serves no places.
    pub(super) places: Option<Finder>,
}

impl PartReader<'_> {
    /// The digest of all that a reading of `part` depends on, besides the taxonomy. It includes the kind of evidence of each
    /// language, which changes when enough of its reviews have stars to learn words from.
    fn digest(&self, part: &Part) -> [u8; 32] {
        let mut hasher = Sha256::new();
        for row in &part.rows {
            let review = &self.dataset.reviews[*row as usize];
            let language = review.language.as_deref().unwrap_or_default();
            let translation = review.translation.as_deref();
            let evidence = self.known[&self.languages[*row as usize]].reader;
            let is_translated = u8::from(translation.is_some());
            hasher.update([review.rating.stars(), is_translated, evidence as u8]);
            for text in [&review.text, language, translation.unwrap_or_default()] {
                hasher.update((text.len() as u64).to_le_bytes());
                hasher.update(text);
            }
        }
        hasher.finalize().into()
    }

    /// Reads every review of `part`, and counts its phrases and names. In these counts, rows are numbers within the part.
    /// `None` if `cancelled`, which is called for each review.
    pub(super) fn read(&self, part: &Part, cancelled: IsCancelled<'_>) -> Option<PartReading> {
        let mut reading = PartReading {
            digest: self.digest(part),
            reviews: Vec::with_capacity(part.rows.len()),
            mentions: Vec::new(),
            places: Vec::new(),
            counts: Vec::new(),
        };
        let mut counts = PartCounts::default();
        let mut sentence = Sentence::default();
        for row in &part.rows {
            if cancelled() {
                return None;
            }
            self.read_review(*row as usize, &mut sentence, &mut reading, &mut counts);
        }
        if part.of > 1 {
            counts.phrases.retain_frequent();
            counts.names.retain_frequent();
        }
        reading.mentions.shrink_to_fit();
        let packed = postcard::to_allocvec(&counts);
        reading.counts = packed.expect("memory can be written to");
        reading.counts.shrink_to_fit();
        Some(reading)
    }

    /// Adds what the review of `row` gives; cost is linear in its text.
    fn read_review(
        &self,
        row: usize,
        sentence: &mut Sentence,
        reading: &mut PartReading,
        counts: &mut PartCounts,
    ) {
        let review = &self.dataset.reviews[row];
        let lang = self.languages[row];
        let known = &self.known[&lang];
        let number = reading.reviews.len() as u32;
        // Without a rating, as the score of the review adds the stars separately.
        let of_text = Context {
            reader: known.reader,
            ..Context::default()
        };
        let mut tilts = Vec::new();
        for range in sentences(&review.text) {
            let start = range.start;
            sentence.read(&review.text[range]);
            for found in known.phrases.find(&mut sentence.words) {
                let context = Context {
                    rating: Some(review.rating),
                    opinion: found.opinion,
                    ..of_text
                };
                reading.mentions.push(MentionReading {
                    aspect: found.aspect,
                    opinion: found.opinion,
                    sentence: start as u32,
                    start: (start + found.range.start) as u32,
                    end: (start + found.range.end) as u32,
                    weights: sentence.text(Some(&found.range), &context),
                });
            }
            if tilts.len() < SENTENCES_MAX {
                let tilt = sentence.tilt(None, &of_text);
                tilts.push(tilt);
                if let Some(lang) = lang {
                    let phrases = &mut counts.phrases;
                    phrases.count(number, review, lang, &sentence.words);
                    counts.names.count(number, &sentence.words);
                }
            }
        }
        if let Some(translation) = &review.translation
            && known.reader != Reader::English
        {
            tilts = translation_tilts(sentence, translation);
        }
        if let Some(finder) = &self.places {
            for place in finder.find(&comparable(&review.text)) {
                reading.places.push(PlaceReading {
                    review: number,
                    place: place as u16,
                });
            }
        }
        reading.reviews.push(ReviewReading {
            tilt: tilts.iter().sum::<i32>() / tilts.len().max(1) as i32,
            mentions_end: reading.mentions.len() as u32,
        });
    }
}

/// The margins of praise over complaint of the sentences of an English translation.
fn translation_tilts(sentence: &mut Sentence, translation: &str) -> Vec<i32> {
    let english = Context {
        reader: Reader::English,
        ..Context::default()
    };
    let mut tilts = Vec::new();
    for range in sentences(translation).take(SENTENCES_MAX) {
        sentence.read(&translation[range]);
        tilts.push(sentence.tilt(None, &english));
    }
    tilts
}

impl PartReading {
    /// Unpacks the counts.
    pub(super) fn counts(&self) -> PartCounts {
        postcard::from_bytes(&self.counts).expect("the counts were packed by this program")
    }

    /// The mentions of the review of this number in the part.
    pub(super) fn mentions_of(&self, number: usize) -> &[MentionReading] {
        let before = number.checked_sub(1);
        let start = before.map_or(0, |before| self.reviews[before].mentions_end);
        let end = self.reviews[number].mentions_end;
        &self.mentions[start as usize..end as usize]
    }

    fn memory(&self) -> usize {
        size_of::<PartReading>()
            + self.reviews.capacity() * size_of::<ReviewReading>()
            + self.mentions.capacity() * size_of::<MentionReading>()
            + self.places.capacity() * size_of::<PlaceReading>()
            + self.counts.capacity()
    }
}

#[cfg(test)]
mod tests;
