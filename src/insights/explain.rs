//! Why each mention of an aspect was judged as it was.

use super::aspect::{Finder, Found};
use super::language::Language;
use super::polarity::{Judge, Polarity};
use super::sentence::sentences;
use crate::model::{Dataset, Review};

/// A mention, the sentence around it, and what decided.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation<'d> {
    /// The review.
    pub review: &'d Review,
    /// The sentence.
    pub sentence: &'d str,
    /// Byte range of the mention in the sentence.
    pub from: usize,
    /// Exclusive.
    pub to: usize,
    /// The answer, or `None` where the review is not scored.
    pub polarity: Option<Polarity>,
    /// What spoke for the answer, the strongest first.
    pub reasons: Vec<Reason>,
}

/// Something that spoke for an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Reason {
    /// What it was.
    pub cause: Cause,
    /// By how much, in tenths of the logarithm of odds; above 0.
    pub tenths: i32,
}

/// What may speak for an answer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// The review's own rating.
    Stars,
    /// The scores of phrase, clause and sentence.
    Tone,
    /// A number, whichever it is.
    Number,
    /// A word, in lower case.
    Word(String),
}

/// Explains every mention of the aspect with this id or, without regard to case, this label, in the order of the
/// reviews; `None` if the taxonomy lists no such aspect.
#[must_use]
pub fn explain<'d>(dataset: &'d Dataset, id: &str) -> Option<Vec<Explanation<'d>>> {
    let aspects = || dataset.taxonomy.aspects.iter();
    let aspect = aspects()
        .find(|aspect| aspect.id == id)
        .or_else(|| aspects().find(|aspect| aspect.label.to_lowercase() == id.to_lowercase()))?;
    // The decoder built an automaton of the same phrases. All aspects are looked for, as a longer phrase of one
    // hides a shorter of another.
    let mut finder = Finder::new(&dataset.taxonomy.aspects).ok()?;
    let wanted = dataset
        .taxonomy
        .aspects
        .iter()
        .position(|one| one == aspect)?;
    let (mut judge, mut found) = (Judge::default(), Vec::new());
    let mut explanations = Vec::new();
    for review in &dataset.reviews {
        let scored = Language::of(&review.text) == Language::English;
        for range in sentences(&review.text) {
            let sentence = &review.text[range];
            finder.find(sentence, &mut found);
            for &Found { from, to, .. } in
                found.iter().filter(|one| usize::from(one.aspect) == wanted)
            {
                let judged = scored.then(|| judge.explain(sentence, from, to, Some(review.rating)));
                let (polarity, reasons) = match judged {
                    Some((judgement, reasons)) => (Some(judgement.polarity), reasons),
                    None => (None, Vec::new()),
                };
                explanations.push(Explanation {
                    review,
                    sentence,
                    from,
                    to,
                    polarity,
                    reasons,
                });
            }
        }
    }
    Some(explanations)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::{decode, embedded};
    use crate::insights::{Options, document};
    use crate::wire::date::Timestamp;

    #[test]
    fn explanations_are_those_of_the_document() {
        let dataset = decode(embedded(), Timestamp::from_unix(4_000_000_000))
            .expect("the sample is valid")
            .dataset;
        let options = Options {
            threads: std::num::NonZeroUsize::MIN,
            mentions_min: 1,
        };
        let value: serde_json::Value =
            serde_json::from_slice(&document(&dataset, &options)).expect("JSON");
        for aspect in value["aspects"].as_array().expect("aspects") {
            let explanations =
                explain(&dataset, aspect["id"].as_str().expect("an id")).expect("listed");
            for polarity in Polarity::ALL {
                let count = explanations
                    .iter()
                    .filter(|one| one.polarity == Some(polarity))
                    .count();
                assert_eq!(aspect[format!("{}_count", polarity.word())], count);
            }
            for one in explanations.iter().filter(|one| one.polarity.is_some()) {
                assert!(
                    one.reasons.iter().all(|reason| reason.tenths > 0),
                    "{one:?}"
                );
                assert!(one.reasons.len() <= 4, "{one:?}");
            }
        }
        assert_eq!(explain(&dataset, "nothing"), None);
    }
}
