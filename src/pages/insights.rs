//! What the pages show of the insights: aspects with their evidence, questions, and the hand-written parts.

mod per_review;

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::ops::Range;

use serde_core::de::{Deserializer as _, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;

use crate::model::Row;
use crate::snapshot::Snapshot;

/// Read from `/insights.json`, derived or made elsewhere.
#[derive(Debug, Default)]
pub(super) struct Insights {
    /// Those that are mentioned at all, the most mentioned first.
    pub(super) aspects: Vec<Aspect>,
    pub(super) summary: Option<String>,
    pub(super) pull_quote: Option<String>,
    pub(super) faq: Vec<Question>,
}

/// A subject of praise and complaint.
#[derive(Debug)]
pub(super) struct Aspect {
    pub(super) id: String,
    pub(super) label: String,
    pub(super) mentions: u64,
    pub(super) positive: u64,
    pub(super) neutral: u64,
    pub(super) negative: u64,
    /// In order of row and place; of a large dataset the newest and the clearest.
    pub(super) evidence: Vec<Mention>,
    /// Every review that mentions it, ascending, those of the evidence among them.
    pub(super) reviews: Vec<Row>,
}

/// The words that a count rests on.
#[derive(Clone, Debug)]
pub(super) struct Mention {
    pub(super) row: Row,
    /// Code points of the review's text.
    pub(super) points: Range<u32>,
    pub(super) polarity: Polarity,
}

/// How a mention sounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Polarity {
    Positive,
    Neutral,
    Negative,
}

/// A question and its answer.
#[derive(Debug)]
pub(super) struct Question {
    pub(super) question: String,
    pub(super) answer: String,
}

impl Polarity {
    pub(super) const ALL: [Polarity; 3] =
        [Polarity::Positive, Polarity::Neutral, Polarity::Negative];

    /// Returns the word of the document, which is that of the parameter too.
    pub(super) fn word(self) -> &'static str {
        match self {
            Polarity::Positive => "positive",
            Polarity::Neutral => "neutral",
            Polarity::Negative => "negative",
        }
    }

    /// Returns the word that people read.
    pub(super) fn label(self) -> &'static str {
        match self {
            Polarity::Positive => "favorable",
            Polarity::Neutral => "neutral",
            Polarity::Negative => "critical",
        }
    }

    /// Returns the polarity of this word.
    pub(super) fn parse(word: &str) -> Option<Polarity> {
        Polarity::ALL
            .into_iter()
            .find(|polarity| polarity.word() == word)
    }
}

impl Aspect {
    /// Returns its evidence, of one polarity where that is asked for.
    pub(super) fn mentions_of(&self, polarity: Option<Polarity>) -> impl Iterator<Item = &Mention> {
        let is_asked =
            move |mention: &&Mention| polarity.is_none_or(|polarity| mention.polarity == polarity);
        self.evidence.iter().filter(is_asked)
    }

    /// Returns the rows of the reviews that mention it, ascending, each once; where a polarity is asked for, of those
    /// whose evidence has it, as only the evidence tells.
    pub(super) fn rows(&self, polarity: Option<Polarity>) -> Cow<'_, [Row]> {
        if polarity.is_none() {
            return Cow::Borrowed(&self.reviews);
        }
        let mentions = self.mentions_of(polarity);
        let mut rows: Vec<Row> = mentions.map(|mention| mention.row).collect();
        rows.dedup();
        Cow::Owned(rows)
    }

    /// Returns how many mentions are kept as evidence, and of how many; of one polarity where that is asked for.
    pub(super) fn kept_of(&self, polarity: Option<Polarity>) -> (u64, u64) {
        let kept = self.mentions_of(polarity).count() as u64;
        (kept, self.count(polarity))
    }

    /// Returns how many mentions there are, of one polarity where that is asked for.
    fn count(&self, polarity: Option<Polarity>) -> u64 {
        match polarity {
            None => self.mentions,
            Some(Polarity::Positive) => self.positive,
            Some(Polarity::Neutral) => self.neutral,
            Some(Polarity::Negative) => self.negative,
        }
    }
}

impl Insights {
    /// Reads the parts of `document` that the pages show; `None` where it is no JSON object, which was checked when
    /// it was loaded.
    pub(super) fn read(document: &[u8], snapshot: &Snapshot) -> Option<Insights> {
        let mut reader = serde_json::Deserializer::from_slice(document);
        let parts = reader.deserialize_map(PartsVisitor { snapshot }).ok()?;
        let mut reviews = parts.reviews;
        let mut insights = Insights {
            summary: text(parts.summary),
            pull_quote: text(parts.pull_quote),
            faq: list(parts.faq).filter_map(question).collect(),
            aspects: list(parts.aspects)
                .filter_map(|value| aspect(&value, snapshot, &mut reviews))
                .collect(),
        };
        insights.aspects.retain(|aspect| aspect.mentions > 0);
        // Stable, so that equals stay in the order of the taxonomy.
        insights
            .aspects
            .sort_by_key(|aspect| std::cmp::Reverse(aspect.mentions));
        Some(insights)
    }
}

/// The parts before they are looked at; the rest of the document, which is most of it, is not kept.
#[derive(Default)]
struct Parts {
    aspects: Value,
    summary: Value,
    pull_quote: Value,
    faq: Value,
    /// The reviews of each aspect, by its id.
    reviews: HashMap<String, Vec<Row>>,
}

struct PartsVisitor<'s> {
    snapshot: &'s Snapshot,
}

impl<'de> Visitor<'de> for PartsVisitor<'_> {
    type Value = Parts;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Parts, A::Error> {
        let mut parts = Parts::default();
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "aspects" => parts.aspects = map.next_value()?,
                "summary" => parts.summary = map.next_value()?,
                "pull_quote" => parts.pull_quote = map.next_value()?,
                "faq" => parts.faq = map.next_value()?,
                "per_review" => {
                    map.next_value_seed(per_review::ByAspect {
                        snapshot: self.snapshot,
                        reviews: &mut parts.reviews,
                    })?;
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(parts)
    }
}

fn text(value: Value) -> Option<String> {
    match value {
        Value::String(text) if !text.trim().is_empty() => Some(text),
        _ => None,
    }
}

fn list(value: Value) -> impl Iterator<Item = Value> {
    match value {
        Value::Array(values) => values,
        _ => Vec::new(),
    }
    .into_iter()
}

fn question(mut value: Value) -> Option<Question> {
    Some(Question {
        question: text(value.get_mut("question")?.take())?,
        answer: text(value.get_mut("answer")?.take())?,
    })
}

fn aspect(
    value: &Value,
    snapshot: &Snapshot,
    reviews: &mut HashMap<String, Vec<Row>>,
) -> Option<Aspect> {
    let count = |key: &str| value.get(key).and_then(Value::as_u64).unwrap_or(0);
    let evidence = value.get("evidence").and_then(Value::as_array);
    let mut evidence: Vec<Mention> = evidence
        .into_iter()
        .flatten()
        .filter_map(|value| mention(value, snapshot))
        .collect();
    evidence.sort_by_key(|mention| (mention.row, mention.points.start));
    let id = value.get("id")?.as_str()?.to_owned();
    // A document made elsewhere may name more reviews in one of the two places than in the other.
    let mut reviews = reviews.remove(&id).unwrap_or_default();
    reviews.extend(evidence.iter().map(|mention| mention.row));
    reviews.sort_unstable();
    reviews.dedup();
    Some(Aspect {
        reviews,
        id,
        label: value.get("label")?.as_str()?.to_owned(),
        mentions: count("mention_count"),
        positive: count("positive_count"),
        neutral: count("neutral_count"),
        negative: count("negative_count"),
        evidence,
    })
}

fn mention(value: &Value, snapshot: &Snapshot) -> Option<Mention> {
    let point = |key: &str| u32::try_from(value.get(key)?.as_u64()?).ok();
    Some(Mention {
        row: snapshot
            .index
            .row_of_id(value.get("review_id")?.as_str()?)?,
        points: point("start")?..point("end")?,
        polarity: Polarity::parse(value.get("polarity")?.as_str()?)?,
    })
}
