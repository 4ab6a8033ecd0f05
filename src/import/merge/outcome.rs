//! What came of an import: counts, refusals, what is missing, and the new file.

use std::cmp::Reverse;

use super::{Merge, Refusal, Slot, Tally};
use crate::wire::date::{Date, Timestamp};

/// Ids of missing reviews that are named; further ones are counted.
pub(crate) const MISSING_MAX: usize = 10;

impl Merge<'_> {
    /// What came of each source.
    pub(crate) fn tallies(&self) -> &[Tally] {
        &self.tallies
    }

    /// The first refusals, by source and line.
    pub(crate) fn refusals(&self) -> Vec<&Refusal> {
        let mut refusals: Vec<&Refusal> = self.refusals.iter().collect();
        refusals.sort_by_key(|refusal| (refusal.source, refusal.line));
        refusals
    }

    /// Whether the file would be another one.
    pub(crate) fn is_change(&self) -> bool {
        self.tallies
            .iter()
            .any(|tally| tally.added + tally.changed > 0)
    }

    /// How many reviews the file would hold, and how many of them would be published.
    pub(crate) fn counts(&self) -> (u64, u64) {
        let verified = self.slots.values().filter(|slot| slot.version().2).count();
        (self.slots.len() as u64, verified as u64)
    }

    /// How many reviews of the sources that were imported are not in them any more, and the first of their ids.
    pub(crate) fn missing(&self) -> (u64, Vec<&str>) {
        let gone = |slot: &Slot<'_>| {
            !slot.named
                && slot
                    .kept
                    .as_ref()
                    .is_some_and(|kept| self.spoken.contains(&kept.source))
        };
        let mut ids: Vec<&str> = self
            .slots
            .iter()
            .filter(|(_, slot)| gone(slot))
            .map(|(id, _)| id.as_str())
            .collect();
        ids.sort_unstable();
        let count = ids.len() as u64;
        ids.truncate(MISSING_MAX);
        (count, ids)
    }

    /// Whether `business` is still to be filled in.
    pub(crate) fn is_skeleton(&self) -> bool {
        self.parts.is_empty()
    }

    /// Renders the new file, newest first.
    pub(crate) fn render(&self, updated_at: Timestamp) -> String {
        let mut reviews: Vec<(Date, &str, &str)> = self
            .slots
            .iter()
            .map(|(id, slot)| {
                let (json, date, _) = slot.version();
                (date, id.as_str(), json)
            })
            .collect();
        reviews.sort_unstable_by_key(|&(date, id, _)| Reverse((date, id)));
        let part = |key: &str, missing: &'static str| {
            self.parts.get(key).map_or(missing, |part| part.get())
        };
        let size: usize = reviews.iter().map(|(_, _, json)| json.len() + 6).sum();
        let mut file = String::with_capacity(size + 4_096);
        file.push_str("{\n  \"business\": ");
        file.push_str(part("business", SKELETON));
        file.push_str(",\n  \"disclaimer\": ");
        file.push_str(part("disclaimer", "null"));
        file.push_str(&format!(
            ",\n  \"updated_at\": \"{updated_at}\",\n  \"reviews\": ["
        ));
        for (number, (_, _, json)) in reviews.iter().enumerate() {
            file.push_str(if number == 0 { "\n    " } else { ",\n    " });
            file.push_str(json);
        }
        file.push_str("\n  ]\n}\n");
        file
    }
}

/// The business of a folder that had none: every key, to be filled in; it passes the check as it stands.
const SKELETON: &str = r#"{
    "name": "Fill in: the name of your business",
    "type": "LocalBusiness",
    "description": "",
    "url": "https://fill-in.example/",
    "telephone": "",
    "email": "",
    "address": {
      "street_address": "",
      "locality": "",
      "region": "",
      "postal_code": "",
      "country": ""
    },
    "geo": null,
    "opening_hours": [],
    "service_areas": [],
    "services": [],
    "technicians": [],
    "same_as": []
  }"#;

impl Tally {
    /// Records that became, or are, reviews of the file.
    pub(crate) fn taken(&self) -> u64 {
        self.added + self.changed + self.unchanged + self.repeated
    }

    /// Both counts together.
    pub(crate) fn plus(&self, other: &Tally) -> Tally {
        Tally {
            added: self.added + other.added,
            changed: self.changed + other.changed,
            unchanged: self.unchanged + other.unchanged,
            repeated: self.repeated + other.repeated,
            refused: self.refused + other.refused,
        }
    }
}
