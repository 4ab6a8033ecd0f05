//! Counts the published reviews by verifier.

use std::cmp::Reverse;
use std::collections::HashMap;

use crate::model::{Review, Verification};

/// Largest number of listed verifiers; the reviews of further verifiers are counted together.
const NAMED_MAX: usize = 5;

/// The reviews by their verifiers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verifications {
    /// Verifier (`None` is the business itself) and number of reviews, most reviews first.
    pub named: Vec<(Option<Verification>, u64)>,
    /// Reviews of further verifiers.
    pub other_count: u64,
}

impl Verifications {
    /// Counts `reviews`.
    pub(super) fn of(reviews: &[Review]) -> Verifications {
        let mut counts: HashMap<Option<&Verification>, u64> = HashMap::new();
        for review in reviews {
            *counts.entry(review.verification.as_ref()).or_default() += 1;
        }
        let mut counts: Vec<_> = counts.into_iter().collect();
        counts.sort_unstable_by_key(|(verification, count)| {
            let words = verification.map(|one| (&one.by, &one.method));
            (Reverse(*count), words)
        });
        let others = counts.split_off(counts.len().min(NAMED_MAX));
        Verifications {
            named: counts
                .into_iter()
                .map(|(verification, count)| (verification.cloned(), count))
                .collect(),
            other_count: others.iter().map(|(_, count)| count).sum(),
        }
    }
}
