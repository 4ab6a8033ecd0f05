//! The insights document as types: built once for each dataset, serialized as `/insights.json`, read by pages and MCP.
//! The fields are in the order of the document.

use std::collections::BTreeMap;
use std::ops::{Index, IndexMut};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use super::{Question, Row};

/// The sentiment of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Polarity {
    Negative,
    /// No opinion, or no clear one.
    Neutral,
    Positive,
}

impl Polarity {
    pub const ALL: [Polarity; 3] = [Polarity::Negative, Polarity::Neutral, Polarity::Positive];

    /// The word that documents and parameters use.
    #[must_use]
    pub const fn word(self) -> &'static str {
        ["negative", "neutral", "positive"][self as usize]
    }

    /// Returns the polarity of this word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Polarity> {
        Polarity::ALL.into_iter().find(|one| one.word() == word)
    }
}

/// A value for each polarity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ByPolarity<T> {
    pub negative: T,
    pub neutral: T,
    pub positive: T,
}

impl<T> ByPolarity<T> {
    /// Calls `value_of` for each polarity.
    pub fn from_fn(mut value_of: impl FnMut(Polarity) -> T) -> ByPolarity<T> {
        ByPolarity {
            negative: value_of(Polarity::Negative),
            neutral: value_of(Polarity::Neutral),
            positive: value_of(Polarity::Positive),
        }
    }
}

impl<T> Index<Polarity> for ByPolarity<T> {
    type Output = T;

    fn index(&self, polarity: Polarity) -> &T {
        match polarity {
            Polarity::Negative => &self.negative,
            Polarity::Neutral => &self.neutral,
            Polarity::Positive => &self.positive,
        }
    }
}

impl<T> IndexMut<Polarity> for ByPolarity<T> {
    fn index_mut(&mut self, polarity: Polarity) -> &mut T {
        match polarity {
            Polarity::Negative => &mut self.negative,
            Polarity::Neutral => &mut self.neutral,
            Polarity::Positive => &mut self.positive,
        }
    }
}

/// The document. An operator's own document is published byte for byte. In its parsed value, a part that depends on the
/// method is empty if it does not have our schema. `Option::deserialize` marks keys that may be null but not missing.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Insights {
    pub version: u64,
    pub generated_at: String,
    pub model: String,
    #[serde(deserialize_with = "or_default")]
    pub method: Method,
    #[serde(deserialize_with = "or_default")]
    pub coverage: Coverage,
    #[serde(deserialize_with = "or_default")]
    pub limits: String,
    pub review_count: u64,
    pub date_range: DateRange,
    #[serde(deserialize_with = "Option::deserialize")]
    pub overall_sentiment: Option<Overall>,
    pub aspects: Vec<Aspect>,
    #[serde(deserialize_with = "or_default")]
    pub entities: Entities,
    #[serde(deserialize_with = "valid_entries")]
    pub topics: Vec<InsightsTopic>,
    #[serde(default, deserialize_with = "valid_entries")]
    pub name_candidates: Vec<NameCandidate>,
    #[serde(deserialize_with = "or_default")]
    pub temporal: Temporal,
    /// Insights of single reviews, by id; `None` once the document is serialized, as this is its largest part.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(deserialize_with = "Option::deserialize")]
    pub per_review: Option<BTreeMap<String, ReviewInsights>>,
    pub faq: Vec<Question>,
    #[serde(deserialize_with = "Option::deserialize")]
    pub summary: Option<String>,
    #[serde(deserialize_with = "Option::deserialize")]
    pub pull_quote: Option<String>,
}

/// The method of the figures, and its measured accuracy.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Method {
    pub name: String,
    #[serde(flatten)]
    pub measured: Figure,
    /// The same method measured on other data sets.
    pub further: Vec<Figure>,
    pub text_model_sha256: String,
    pub formula: String,
    pub score_rule: String,
    pub polarity_rule: String,
    pub interval_rule: String,
    pub topic_rule: String,
    pub trend_rule: String,
    pub mentions_min: u64,
    /// Where the summary comes from: `editorial`, `derived` or `none`.
    pub summary: String,
}

/// A measurement, with baselines that had the same information.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Figure {
    pub measured_on: String,
    pub accuracy: f64,
    pub macro_f1: f64,
    pub negative_recall: f64,
    pub baselines: Vec<Baseline>,
}

/// The result of a simpler method on the same data set.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Baseline {
    pub name: String,
    pub accuracy: f64,
    pub macro_f1: f64,
    pub negative_recall: f64,
}

/// The data behind the figures; counts of reviews, except `mentions` and `unscored_mentions`. All reviews and mentions are
/// scored, so the two `unscored` keys are 0: clients may read them, as keys are only ever added (our choice).
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Coverage {
    pub with_text: u64,
    pub scored: u64,
    pub unscored: u64,
    pub with_aspect: u64,
    pub mentions: u64,
    pub unscored_mentions: u64,
    pub with_technician: u64,
    pub with_service: u64,
    pub with_service_area: u64,
    pub languages: Vec<LanguageCoverage>,
}

/// The data behind the figures of one language.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct LanguageCoverage {
    /// A BCP 47 tag such as `es`, or `und` if the language is not known.
    pub language: String,
    /// Reviews with text.
    pub reviews: u64,
    /// Some of `text_model`, `opinions`, `own_stars` and `stars`.
    pub evidence: Vec<String>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct DateRange {
    #[serde(deserialize_with = "Option::deserialize")]
    pub earliest: Option<String>,
    #[serde(deserialize_with = "Option::deserialize")]
    pub latest: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Overall {
    pub score: f64,
    pub positive_pct: f64,
    pub neutral_pct: f64,
    pub negative_pct: f64,
}

/// A topic of praise and complaint that is named in the taxonomy.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Aspect {
    pub id: String,
    pub label: String,
    pub mention_count: u64,
    pub positive_count: u64,
    pub neutral_count: u64,
    pub negative_count: u64,
    #[serde(deserialize_with = "Option::deserialize")]
    pub positive_pct: Option<f64>,
    #[serde(deserialize_with = "Option::deserialize")]
    pub score: Option<f64>,
    pub top_phrases: Vec<String>,
    pub example_review_ids: Vec<String>,
    /// The interval of the share of praise, from 0 to 1.
    #[serde(deserialize_with = "Option::deserialize")]
    pub interval: Option<[f64; 2]>,
    /// The same interval in per cent, to stand beside `positive_pct`; an operator's own document is served as it is.
    #[serde(skip_deserializing)]
    pub positive_pct_interval: Option<[f64; 2]>,
    /// Newest first; `None` where the aspect is shown without evidence.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(deserialize_with = "Option::deserialize")]
    pub evidence: Option<Vec<Evidence>>,
    #[serde(default, deserialize_with = "valid_entries")]
    pub quarterly: Vec<Quarter>,
    /// One sentence, if the share of praise has changed significantly.
    pub change: Option<String>,
    /// Every review that mentions it, ascending.
    #[serde(skip)]
    pub rows: Vec<Row>,
    /// The reviews with a mention of each polarity; for an operator's own document, those that its evidence names.
    #[serde(skip)]
    pub rows_by_polarity: ByPolarity<Vec<Row>>,
}

impl Aspect {
    /// Returns the number of mentions, of one polarity if given.
    #[must_use]
    pub fn count(&self, polarity: Option<Polarity>) -> u64 {
        match polarity {
            None => self.mention_count,
            Some(Polarity::Negative) => self.negative_count,
            Some(Polarity::Neutral) => self.neutral_count,
            Some(Polarity::Positive) => self.positive_count,
        }
    }
}

/// A quotation with a mention that is counted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    pub review_id: String,
    /// Offset of the mention in the review's text, in code points.
    pub start: u32,
    pub end: u32,
    pub polarity: Polarity,
}

/// The mentions of an aspect in three months.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Quarter {
    /// Such as `2026-Q1`.
    pub quarter: String,
    pub mention_count: u64,
    pub positive_count: u64,
    pub neutral_count: u64,
    pub negative_count: u64,
    /// Confidence interval of the share of praise.
    pub interval: [f64; 2],
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Entities {
    pub technicians: Vec<Person>,
    pub services: Vec<Entity>,
    pub problems: Vec<Entity>,
    pub service_areas: Vec<Entity>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Person {
    pub name: String,
    pub mention_count: u64,
    pub mean_rating: Option<f64>,
}

/// A service, problem or place; the mean is of the reviews that mention it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Entity {
    pub id: String,
    pub label: String,
    pub mention_count: u64,
    pub mean_rating: Option<f64>,
}

/// A phrase that is typical of reviews of five stars, or of reviews of at most three.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InsightsTopic {
    pub phrase: String,
    /// The phrase, and up to two words that its reviews often say near it.
    #[serde(default)]
    pub label: String,
    pub polarity: Polarity,
    pub five_star_count: u64,
    pub low_star_count: u64,
    /// Standard errors of the log-odds.
    pub weight: f64,
    /// The aspect of the taxonomy that lists the phrase.
    #[serde(default)]
    pub aspect: Option<String>,
    /// The reviews of its group with the clearest opinions of its polarity about it, the newest first.
    #[serde(default)]
    pub review_ids: Vec<String>,
}

/// A name that reviews thank and that no list has.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NameCandidate {
    pub name: String,
    /// Reviews that name it, and those of them that thank it or give it a title.
    pub review_count: u64,
    pub thanked_count: u64,
    /// The newest reviews.
    #[serde(default)]
    pub review_ids: Vec<String>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Temporal {
    pub monthly: Vec<Month>,
    pub trend: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Month {
    pub month: String,
    pub scored_count: u64,
    pub sentiment: Option<f64>,
    pub review_count: u64,
    pub mean_rating: Option<f64>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ReviewInsights {
    #[serde(deserialize_with = "or_default")]
    pub sentiment: Option<Polarity>,
    #[serde(deserialize_with = "Option::deserialize")]
    pub score: Option<f64>,
    #[serde(deserialize_with = "valid_entries")]
    pub aspects: Vec<String>,
    #[serde(deserialize_with = "valid_entries")]
    pub technicians: Vec<String>,
    #[serde(deserialize_with = "valid_entries")]
    pub services: Vec<String>,
}

/// Another method may write any JSON here. The raw text is parsed: deserializing a [`serde_json::Value`] would also parse
/// the value of a private key of serde_json, without a limit on depth.
fn or_default<'de, D: Deserializer<'de>, T: DeserializeOwned + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    let text = Box::<RawValue>::deserialize(deserializer)?;
    Ok(serde_json::from_str(text.get()).unwrap_or_default())
}

fn valid_entries<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    let texts: Vec<Box<RawValue>> = or_default(deserializer)?;
    let values = texts.iter().map(|text| serde_json::from_str(text.get()));
    Ok(values.filter_map(Result::ok).collect())
}
