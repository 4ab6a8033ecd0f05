//! One pass over the reviews, after training on their stars: finds mentions and their polarity.

use std::collections::{HashMap, HashSet};
use std::num::NonZeroUsize;
use std::ops::Range;

use whatlang::Lang;

use super::aspect::{Phrases, has_opinions};
use super::evidence::{Context, Judgement, Reader, review_score};
use super::own_stars::{OwnStars, OwnSum, SENTENCES_MAX};
use super::people::NameCounts;
use super::text_model::Sentence;
use super::topics::Counts;
use crate::dataset::chunks::{CHUNK_ROWS, over_chunks};
use crate::dataset::language_of_tag;
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

/// Derived data about a language.
pub(super) struct Known {
    pub(super) reader: Reader,
    pub(super) phrases: Phrases,
    /// The model trained on the stars of its reviews, if there are enough.
    pub(super) own: Option<OwnStars>,
}

/// The result of the pass over a dataset, or over some rows.
#[derive(Default)]
pub(super) struct Derived {
    /// The language of each review, `None` if it is not known.
    pub(super) languages: Vec<Option<Lang>>,
    /// One entry per language.
    pub(super) known: HashMap<Option<Lang>, Known>,
    /// The score of each review, from -10,000 to 10,000.
    pub(super) scores: Vec<i32>,
    /// In order of row and position.
    pub(super) mentions: Vec<Mention>,
    pub(super) phrases: Counts,
    pub(super) names: NameCounts,
}

impl Derived {
    /// Reads every review of `dataset`; `None` if `cancelled`, which is called for every language and row.
    pub(super) fn of(
        dataset: &Dataset,
        threads: NonZeroUsize,
        cancelled: &(dyn Fn() -> bool + Sync),
    ) -> Option<Derived> {
        let languages: Vec<Option<Lang>> = dataset.reviews.iter().map(language).collect();
        let mut known = HashMap::new();
        for lang in languages.iter().copied().collect::<HashSet<_>>() {
            if cancelled() {
                return None;
            }
            let reviews = dataset.reviews.iter().enumerate();
            let of_language = reviews.filter(|(row, _)| languages[*row] == lang && lang.is_some());
            let phrases = Phrases::new(&dataset.taxonomy, lang);
            let own = OwnStars::learn(of_language);
            let reader = reader(lang, own.is_some());
            let of_lang = Known {
                reader,
                phrases,
                own,
            };
            known.insert(lang, of_lang);
        }
        let rows = languages.len();
        let parts = over_chunks(rows, threads, |chunk| {
            let mut part = Derived::default();
            let mut sentence = Sentence::default();
            for row in chunk.take_while(|_| !cancelled()) {
                let review = &dataset.reviews[row];
                let lang = languages[row];
                part.read(&mut sentence, row, review, lang, &known[&lang]);
            }
            if rows > CHUNK_ROWS {
                part.phrases.retain_frequent();
            }
            part
        });
        let mut all = Derived {
            languages,
            known,
            ..Derived::default()
        };
        for part in parts {
            all.scores.extend(part.scores);
            all.mentions.extend(part.mentions);
            all.phrases.add(part.phrases);
            all.names.add(part.names);
        }
        // Fewer if it was cancelled.
        Some(all).filter(|all| all.scores.len() == rows)
    }

    /// Adds the score, mentions and phrases of `review`; cost is linear in its text.
    fn read(
        &mut self,
        sentence: &mut Sentence,
        row: usize,
        review: &Review,
        lang: Option<Lang>,
        known: &Known,
    ) {
        // Without a rating, as the score of the review adds the stars separately.
        let of_text = Context {
            reader: known.reader,
            ..Context::default()
        };
        let mut own_sum = OwnSum::default();
        let mut tilts = Vec::new();
        for range in sentences(&review.text) {
            let start = range.start;
            sentence.read(&review.text[range]);
            let of_sentence = known.own_sum(row, sentence);
            own_sum.add(of_sentence);
            for found in known.phrases.find(&mut sentence.words) {
                let context = Context {
                    rating: Some(review.rating),
                    opinion: found.opinion,
                    own: known.own_odds(of_sentence),
                    ..of_text
                };
                let Judgement {
                    polarity,
                    margin,
                    doubt,
                } = sentence.judge(Some(&found.range), &context);
                self.mentions.push(Mention {
                    row: row as u32,
                    aspect: found.aspect,
                    sentence: start,
                    range: start + found.range.start..start + found.range.end,
                    context,
                    polarity,
                    margin,
                    doubt,
                });
            }
            if tilts.len() < SENTENCES_MAX {
                let tilt = sentence.tilt(None, &of_text);
                tilts.push(tilt);
                if let Some(lang) = lang {
                    let row = row as u32;
                    self.phrases.count(row, review, lang, &sentence.words, tilt);
                    self.names.count(row, &sentence.words);
                }
            }
        }
        if let Some(translation) = &review.translation
            && known.reader != Reader::English
        {
            tilts = translation_tilts(sentence, translation);
        }
        let mean = tilts.iter().sum::<i32>() / tilts.len().max(1) as i32;
        let own = known.own_odds(own_sum);
        self.scores.push(review_score(review.rating, mean, own));
    }
}

impl Known {
    /// The sum of the learned weights of a sentence of the review of `row`; empty if nothing was learned.
    fn own_sum(&self, row: usize, sentence: &Sentence) -> OwnSum {
        let own = self.own.as_ref();
        own.map_or_else(OwnSum::default, |own| own.sum(row, &sentence.words))
    }

    fn own_odds(&self, sum: OwnSum) -> i32 {
        self.own.as_ref().map_or(0, |own| own.log_odds(sum))
    }
}

/// The language of a review, stated or detected when its file was read.
fn language(review: &Review) -> Option<Lang> {
    language_of_tag(review.language.as_deref()?)
}

/// The evidence of a language, whose own stars have been learned or not.
fn reader(lang: Option<Lang>, has_own_stars: bool) -> Reader {
    match lang {
        Some(Lang::Eng) => Reader::English,
        Some(lang) if has_opinions(lang) => Reader::Words,
        _ if has_own_stars => Reader::Words,
        _ => Reader::Stars,
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
