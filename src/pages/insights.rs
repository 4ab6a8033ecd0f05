//! The insights that pages show: aspects with their evidence, by row instead of review id.

use std::ops::Range;

pub(super) use crate::model::insights::Polarity;
use crate::model::insights::{Insights as Value, Quarter};
use crate::model::{Question, Row};
use crate::snapshot::Snapshot;

/// The parts of the insights that pages show.
#[derive(Debug, Default)]
pub(super) struct Insights {
    /// Aspects with mentions, the most mentioned first.
    pub(super) aspects: Vec<Aspect>,
    pub(super) summary: Option<String>,
    pub(super) pull_quote: Option<String>,
    pub(super) faq: Vec<Question>,
}

/// An aspect, such as fees or communication.
#[derive(Debug)]
pub(super) struct Aspect {
    pub(super) id: String,
    pub(super) label: String,
    pub(super) mentions: u64,
    pub(super) positive: u64,
    pub(super) neutral: u64,
    pub(super) negative: u64,
    /// In order of row and offset; of a large dataset the newest and the clearest mentions.
    pub(super) evidence: Vec<Mention>,
    /// Oldest first.
    pub(super) quarterly: Vec<Quarter>,
    /// One sentence about a significant change.
    pub(super) change: Option<String>,
}

/// The text range that a count rests on.
#[derive(Clone, Debug)]
pub(super) struct Mention {
    pub(super) row: Row,
    /// Code points of the review's text.
    pub(super) points: Range<u32>,
    pub(super) polarity: Polarity,
}

/// Returns the polarity as a word for readers.
pub(super) fn label(polarity: Polarity) -> &'static str {
    match polarity {
        Polarity::Positive => "favorable",
        Polarity::Neutral => "neutral or unclear",
        Polarity::Negative => "critical",
    }
}

impl Aspect {
    /// Returns its evidence, of one polarity where that is asked for.
    pub(super) fn mentions_of(&self, polarity: Option<Polarity>) -> impl Iterator<Item = &Mention> {
        let is_asked =
            move |mention: &&Mention| polarity.is_none_or(|polarity| mention.polarity == polarity);
        self.evidence.iter().filter(is_asked)
    }

    /// Returns how many mentions are kept as evidence, and of how many; of one polarity where that is asked for.
    pub(super) fn kept_of(&self, polarity: Option<Polarity>) -> (u64, u64) {
        let kept = self.mentions_of(polarity).count() as u64;
        let all = match polarity {
            None => self.mentions,
            Some(Polarity::Positive) => self.positive,
            Some(Polarity::Neutral) => self.neutral,
            Some(Polarity::Negative) => self.negative,
        };
        (kept, all)
    }
}

impl Insights {
    /// Takes the parts of `value` that the pages show.
    pub(super) fn of(value: &Value, snapshot: &Snapshot) -> Insights {
        let mentioned = value
            .aspects
            .iter()
            .filter(|aspect| aspect.mention_count > 0);
        let mut aspects: Vec<Aspect> = mentioned
            .map(|aspect| {
                let mention = |piece: &crate::model::insights::Evidence| {
                    Some(Mention {
                        row: snapshot.index.row_of_id(&piece.review_id)?,
                        points: piece.start..piece.end,
                        polarity: piece.polarity,
                    })
                };
                let evidence = aspect.evidence.iter().flatten();
                let mut evidence: Vec<Mention> = evidence.filter_map(mention).collect();
                evidence.sort_by_key(|mention| (mention.row, mention.points.start));
                Aspect {
                    id: aspect.id.clone(),
                    label: aspect.label.clone(),
                    mentions: aspect.mention_count,
                    positive: aspect.positive_count,
                    neutral: aspect.neutral_count,
                    negative: aspect.negative_count,
                    evidence,
                    quarterly: aspect.quarterly.clone(),
                    change: aspect.change.clone(),
                }
            })
            .collect();
        // Stable, so that equals stay in the order of the taxonomy.
        aspects.sort_by_key(|aspect| std::cmp::Reverse(aspect.mentions));
        let text = |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty());
        Insights {
            aspects,
            summary: text(&value.summary),
            pull_quote: text(&value.pull_quote),
            faq: value.faq.clone(),
        }
    }
}
