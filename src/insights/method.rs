//! What the document says about itself: how it was made, how good that is, and what it cannot do.

use sha2::{Digest, Sha256};

use super::text_model;
use super::trends::TREND_RULE;
use crate::model::insights::{Figure, Method};
use crate::wire::text::hex;

/// Name and version of the method.
pub const MODEL: &str = "reviewd-evidence-3";

/// What the reader has to know before using the numbers.
pub(super) const LIMITS: &str = "Derived from words and stars by a formula, without understanding: some judgements are \
wrong, and each can be checked against the words it came from. Mentions that are not clearly praise or complaint count as \
neutral. English texts are read by a trained model; texts in other languages by the emoji in them, by what the stars of \
this dataset's own reviews teach where a language has some 200 of them, and else by their stars alone: `coverage` says \
which. Aspects are found by the phrases of the taxonomy, so other wordings are missed, and those with too few mentions \
have no score. People, services and places are counted where the review's own list or its text names them. Evidence \
holds the newest mentions of each aspect; the counts are of all.";

/// The formula in one line; `evidence.rs` has the reasons.
const FORMULA: &str = "log-odds of a mention: text model + own stars of the sentence + 1.25 if the phrase is itself an \
opinion + 1.25 for each star from 3, half of it for praise and half against complaint; neutral has 0.625 less, and 1.5 more \
at three stars";

const SCORE_RULE: &str = "an aspect's score is its positive less its negative mentions, divided by all; a review's is \
twice the probability of praise less 1, of the log-odds 3, 2, 0, 1.5 and 3 of its stars and at most 3.5 of its words, \
positive from 0.3, negative from -0.3; the overall score is the mean over all reviews";

const POLARITY_RULE: &str = "praise and complaint count and are listed where they win by 0.125 in log-odds, all else is \
neutral; in a review of five stars a complaint has to win by 3 without the stars";

const INTERVAL_RULE: &str = "95 % interval of the share of positive mentions, from 0 to 1: the Wilson score interval for \
the number of mentions, widened by the error of the method, a standard error of 0.08 measured on labelled sentences";

const TOPIC_RULE: &str = "noun-like phrases of one to three words by log-odds between reviews of five and of at most \
three stars, in standard errors";

/// The accuracy on labelled sets beside baselines; the first speaks for a service. The test `insights_accuracy` writes it.
const FIGURES: &str = include_str!("figures.json");

/// Returns the method card; `summary` says where the document's summary comes from.
pub(super) fn card(summary: &str, mentions_min: u32) -> Method {
    let mut further: Vec<Figure> =
        serde_json::from_str(FIGURES).expect("the test that writes the figures reads them");
    let digest = Sha256::digest(text_model::MODEL);
    Method {
        name: "a linear model over the words around a mention, what the dataset's own stars teach, and the stars"
            .to_owned(),
        measured: further.remove(0),
        further,
        text_model_sha256: hex(&digest),
        formula: FORMULA.to_owned(),
        score_rule: SCORE_RULE.to_owned(),
        polarity_rule: POLARITY_RULE.to_owned(),
        interval_rule: INTERVAL_RULE.to_owned(),
        topic_rule: TOPIC_RULE.to_owned(),
        trend_rule: TREND_RULE.to_owned(),
        mentions_min: mentions_min.into(),
        summary: summary.to_owned(),
    }
}
