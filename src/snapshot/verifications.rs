//! Counts of the published reviews by verifier.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};

use crate::model::{Review, Verification, VerificationState};

/// Largest number of verifiers that are listed; the reviews of further verifiers are counted together.
const NAMED_MAX: usize = 5;

/// The reviews by their verifiers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verifications {
    /// Verifiers, at most five, with their numbers of reviews, most reviews first. `None` is the business itself.
    pub named: Vec<(Option<Verification>, u64)>,
    /// Reviews of further verifiers.
    pub other_count: u64,
    /// Reviews that a platform published with an account, not matched with a customer.
    pub account_count: u64,
    /// The platforms of those reviews, in alphabetical order, at most five.
    pub account_platforms: Vec<String>,
}

impl Verifications {
    /// Counts `reviews`.
    pub(super) fn of(reviews: &[Review]) -> Verifications {
        let mut counts: HashMap<Option<&Verification>, u64> = HashMap::new();
        let mut account_count = 0;
        let mut account_platforms = BTreeSet::new();
        for review in reviews {
            if review.state() == Some(VerificationState::Account) {
                account_count += 1;
                account_platforms.extend(review.verification.as_ref().map(|one| one.by.as_str()));
                continue;
            }
            *counts.entry(review.verification.as_ref()).or_default() += 1;
        }
        let mut named: Vec<_> = counts.into_iter().collect();
        named.sort_unstable_by_key(|(verification, count)| {
            let words = verification.map(|one| (&one.by, &one.method));
            (Reverse(*count), words)
        });
        let others = named.split_off(named.len().min(NAMED_MAX));
        Verifications {
            named: named
                .into_iter()
                .map(|(verification, count)| (verification.cloned(), count))
                .collect(),
            other_count: others.iter().map(|(_, count)| count).sum(),
            account_count,
            account_platforms: account_platforms
                .into_iter()
                .take(NAMED_MAX)
                .map(str::to_owned)
                .collect(),
        }
    }
}
