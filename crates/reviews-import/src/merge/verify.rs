//! Changes how stored reviews were verified, without an import.

use serde_json::{Value, json};

use super::{Merge, Slot, Version};
use crate::review::ReviewObject;
use crate::text::normal;
use reviewd_data::model::METHOD_ACCOUNT;

/// How a review was verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VerifiedAs {
    /// The business has matched the author with a customer.
    Business,
    /// A platform has checked a purchase or an invitation.
    Platform {
        /// Its name.
        by: String,
        /// Its method, if that is known.
        method: Option<String>,
    },
    /// The platform of this name published it with an account, and nothing else is known.
    Account(String),
    /// It is not verified, and so not published.
    Unverified,
}

impl Merge<'_> {
    /// Sets how a stored review was verified. Returns whether that changes it; `false` if it is not stored.
    pub fn verify(&mut self, id: &str, how: &VerifiedAs) -> bool {
        let Some(slot) = self.slots.get_mut(id) else {
            return false;
        };
        let Some(stored) = slot.stored_review() else {
            return false;
        };
        let is_verified = matches!(how, VerifiedAs::Business | VerifiedAs::Platform { .. });
        let verification = match how {
            VerifiedAs::Business | VerifiedAs::Unverified => Value::Null,
            VerifiedAs::Platform { by, method } => json!({"by": by, "method": method}),
            VerifiedAs::Account(by) => json!({"by": by, "method": METHOD_ACCOUNT}),
        };
        let mut changes = ReviewObject::default();
        changes.set("verified", is_verified);
        changes.set("verification", verification);
        let review = changes.over(Some(&stored));
        if review == stored {
            return false;
        }
        let Some(date) = stored.date() else {
            return false;
        };
        slot.stored = Some(Version::new(review.render(), date, &review));
        true
    }

    /// The source of a stored review; `None` if it is not stored.
    pub fn source_of(&self, id: &str) -> Option<String> {
        let stored = self.slots.get(id).and_then(Slot::stored_review)?;
        Some(stored.text("source").to_owned())
    }

    /// The ids of the stored reviews from `source`, ascending, without regard to case and punctuation of its name.
    pub fn ids_from(&self, source: &str) -> Vec<String> {
        let source = normal(source);
        let mut ids = Vec::new();
        for (id, slot) in &self.slots {
            let stored = slot.stored_review();
            if stored.is_some_and(|stored| normal(stored.text("source")) == source) {
                ids.push(id.clone());
            }
        }
        ids.sort_unstable();
        ids
    }

    /// The sources of the stored reviews, ascending.
    pub fn sources(&self) -> Vec<String> {
        let stored = self.slots.values().filter_map(Slot::stored_review);
        let mut sources: Vec<String> = stored
            .map(|stored| stored.text("source").to_owned())
            .collect();
        sources.sort_unstable();
        sources.dedup();
        sources
    }
}
