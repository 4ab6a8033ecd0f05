//! What the document says about itself: how it was made, how good that is, and what it cannot do.

use std::sync::LazyLock;

use sha2::{Digest, Sha256};

use super::lexicon;
use super::polarity::table;
use super::temporal::TREND_RULE;
use crate::wire::json::{Array, Object};

/// Name and version of the method.
pub const MODEL: &str = "reviewd-lexicon-1";

/// What the reader has to know before using the numbers.
pub(super) const LIMITS: &str = "Derived from words and stars by rules and a small model, without understanding: \
about one judgement in three is wrong on the sentences it was measured on, and it hears complaints more readily than \
praise. Each mention can be checked against the words it came from. Only English texts are scored; others, and texts \
too short to tell, are counted as unscored. Aspects are found by the phrases of the taxonomy, so other wordings are \
missed, and those with too few mentions have no score. People, services and places are counted where the review's own \
list or its text names them. Evidence holds the newest mentions of each aspect; the counts are of all.";

/// A figure that was measured.
struct Figure {
    measured_on: &'static str,
    /// Four decimals.
    accuracy: &'static str,
    negative_recall: &'static str,
    /// Of plain VADER by sentence, on the same.
    vader_accuracy: &'static str,
    vader_negative_recall: &'static str,
}

/// The figure that speaks for a practice: `tests/fixtures/polarity/practice.jsonl`, held by a test.
const PRACTICE: Figure = Figure {
    measured_on: "345 mentions in 323 sentences about a law practice, written and labelled by one person before any tuning",
    accuracy: "0.6696",
    negative_recall: "0.8473",
    vader_accuracy: "0.4087",
    vader_negative_recall: "0.2519",
};

/// The same without ratings.
const UNRATED: Figure = Figure {
    measured_on: "the same sentences without the ratings of their reviews",
    accuracy: "0.4377",
    negative_recall: "0.6641",
    ..PRACTICE
};

/// The figure that can be compared with other methods.
const MAMS: Figure = Figure {
    measured_on: "MAMS-ATSA test set, 1,336 mentions in sentences with several opinions about restaurants",
    accuracy: "0.7425",
    negative_recall: "0.7933",
    vader_accuracy: "0.4289",
    vader_negative_recall: "0.3070",
};

/// Appends the method card; `summary` says where the document's summary comes from, `mentions_min` from how many
/// mentions on an aspect is scored.
pub(super) fn render(out: &mut Vec<u8>, summary: &str, mentions_min: u32) {
    let mut card = Object::begin(out);
    card.string(
        "name",
        "VADER rules, a linear model over the words around a mention, and the stars as a prior",
    );
    push_figure(&mut card, &PRACTICE);
    let mut further = Array::begin(card.key("further"));
    for figure in [&UNRATED, &MAMS] {
        let mut each = Object::begin(further.item());
        push_figure(&mut each, figure);
        each.end();
    }
    further.end();
    let [lexicon, table] = digests();
    card.string("lexicon_sha256", lexicon)
        .string("table_sha256", table)
        .string("score_rule", SCORE_RULE)
        .string(
            "interval_rule",
            "Wilson score interval, 95 %, of the share of positive mentions, from 0 to 1",
        )
        .string("trend_rule", TREND_RULE)
        .u64("mentions_min", u64::from(mentions_min))
        .string("summary", summary);
    card.end();
}

fn push_figure(object: &mut Object<'_>, figure: &Figure) {
    object
        .string("measured_on", figure.measured_on)
        .raw("accuracy", figure.accuracy.as_bytes())
        .raw("negative_recall", figure.negative_recall.as_bytes())
        .raw("vader_accuracy", figure.vader_accuracy.as_bytes())
        .raw(
            "vader_negative_recall",
            figure.vader_negative_recall.as_bytes(),
        );
}

const SCORE_RULE: &str = "an aspect's score is its positive less its negative mentions, divided by all; a review's is \
the mean of its stars (1 to 5 as -1 to 1) and of the VADER scores of its sentences that have one, positive from 0.2, \
negative from -0.2; the overall score is the mean over scored reviews";

/// Returns the SHA-256 of the lexicon and of the table, in hexadecimal digits.
pub(super) fn digests() -> &'static [String; 2] {
    &DIGESTS
}

static DIGESTS: LazyLock<[String; 2]> = LazyLock::new(|| {
    let hex = |parts: &[&[u8]]| {
        let mut hasher = Sha256::new();
        parts.iter().for_each(|part| hasher.update(part));
        hasher
            .finalize()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    };
    [
        hex(&[lexicon::WORDS.as_bytes(), lexicon::EMOJI.as_bytes()]),
        hex(&[table::TABLE]),
    ]
});

#[cfg(test)]
mod tests {
    use super::super::evaluate::{Method, evaluate};
    use super::*;

    #[test]
    fn the_figures_are_those_of_the_fixture() {
        let cases = include_str!("../../tests/fixtures/polarity/practice.jsonl");
        for (figure, method) in [(&PRACTICE, Method::Own), (&UNRATED, Method::Unrated)] {
            let rendered = evaluate(cases, method).expect("cases").render();
            let value: serde_json::Value = serde_json::from_slice(&rendered).expect("JSON");
            assert_eq!(
                value["accuracy"].to_string().parse::<f64>(),
                figure.accuracy.parse()
            );
            assert_eq!(
                value["negative_recall"].to_string().parse::<f64>(),
                figure.negative_recall.parse()
            );
        }
        let vader = evaluate(cases, Method::Vader).expect("cases").render();
        let value: serde_json::Value = serde_json::from_slice(&vader).expect("JSON");
        for (key, figure) in [
            ("accuracy", PRACTICE.vader_accuracy),
            ("negative_recall", PRACTICE.vader_negative_recall),
        ] {
            assert_eq!(value[key].to_string().parse::<f64>(), figure.parse());
        }
    }
}
