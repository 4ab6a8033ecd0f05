//! What the insights say about themselves: how they were made, how good that is, and what they rest on.

use serde::{Deserialize, Serialize};

/// How the figures are made, and how good that is.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
#[allow(missing_docs, reason = "keys of the document")]
pub struct Method {
    pub name: String,
    #[serde(flatten)]
    pub measured: Figure,
    /// The same method on other sets.
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

/// A measurement beside baselines that had the same information.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
#[allow(missing_docs, reason = "keys of the document")]
pub struct Figure {
    pub measured_on: String,
    pub accuracy: f64,
    pub macro_f1: f64,
    pub negative_recall: f64,
    pub baselines: Vec<Baseline>,
}

/// What a simpler method reaches on the same set.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
#[allow(missing_docs, reason = "keys of the document")]
pub struct Baseline {
    pub name: String,
    pub accuracy: f64,
    pub macro_f1: f64,
    pub negative_recall: f64,
}

/// What the figures rest on; counts of reviews, but for `mentions` and `unscored_mentions`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
#[allow(missing_docs, reason = "keys of the document")]
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

/// What the figures of one language rest on.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct LanguageCoverage {
    /// ISO 639-3, or `und` where it cannot be told.
    pub language: String,
    /// Reviews with text.
    pub reviews: u64,
    /// Among `text_model`, `own_stars` and `stars`.
    pub evidence: Vec<String>,
}
