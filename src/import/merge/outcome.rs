//! What came of an import: counts, refusals, what is missing, and the new file.

use std::cmp::Reverse;

use super::{Merge, Note, REMARKS_MAX, SEPARATOR, Slot, Tally};
use crate::dataset::{PLACEHOLDER_NAME, PLACEHOLDER_URL};
use crate::wire::date::{Date, Timestamp};

/// Ids of missing reviews that are named; further ones are counted.
pub(crate) const MISSING_MAX: usize = 10;

impl Merge<'_> {
    /// What came of each source.
    pub(crate) fn tallies(&self) -> &[Tally] {
        &self.tallies
    }

    /// The first refusals, by source and line.
    pub(crate) fn refusals(&self) -> Vec<&Note> {
        let mut refusals: Vec<&Note> = self.refusals.iter().collect();
        refusals.sort_by_key(|refusal| (refusal.source, refusal.line));
        refusals
    }

    /// How much there is to look at in what was taken, and the first of it: what was left out, then what may be there
    /// twice.
    pub(crate) fn remarks(&self) -> (u64, Vec<Note>) {
        let twins = self.twins();
        let count = self.remark_count + twins.len() as u64;
        let mut remarks = self.remarks.clone();
        remarks.extend(twins);
        remarks.truncate(REMARKS_MAX);
        (count, remarks)
    }

    /// Whether the file would be another one.
    pub(crate) fn is_change(&self) -> bool {
        let is_changed = |tally: &Tally| tally.added + tally.changed > 0;
        !self.pruned.is_empty() || self.tallies.iter().any(is_changed)
    }

    /// How many reviews the file would hold, and how many of them would be published.
    pub(crate) fn counts(&self) -> (u64, u64) {
        let verified = self.slots.values().filter(|slot| slot.version().2).count();
        (self.slots.len() as u64, verified as u64)
    }

    /// How many reviews that were there, and not verified, are verified now.
    pub(crate) fn newly_verified(&self) -> u64 {
        let is_new = |slot: &&Slot<'_>| {
            let was = slot.kept.as_ref().map(|kept| kept.verified);
            was == Some(false) && slot.version().2
        };
        self.slots.values().filter(is_new).count() as u64
    }

    /// How many reviews of the sources that were imported are not in them any more, and the first of their ids.
    pub(crate) fn missing(&self) -> (u64, Vec<&str>) {
        let mut ids: Vec<&str> = self
            .slots
            .iter()
            .filter(|(_, slot)| self.is_gone(slot))
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
        let mut file = self.beginning(updated_at);
        let size: usize = reviews
            .iter()
            .map(|(_, _, json)| json.len() + SEPARATOR.len())
            .sum();
        file.reserve(size + END.len());
        for (number, (_, _, json)) in reviews.iter().enumerate() {
            file.push_str(if number == 0 {
                &SEPARATOR[1..]
            } else {
                SEPARATOR
            });
            file.push_str(json);
        }
        file.push_str(END);
        file
    }

    /// Bytes of the new file, exact where it holds a review.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.saturating_sub(1)
    }

    /// Bytes of the new file without its reviews.
    pub(super) fn frame_bytes(&self) -> u64 {
        (self.beginning(Timestamp::from_unix(0)).len() + END.len()) as u64
    }

    /// The new file up to the first review.
    fn beginning(&self, updated_at: Timestamp) -> String {
        let part = |key: &str| self.parts.get(key).map(|part| part.get().to_owned());
        format!(
            "{{\n  \"business\": {},\n  \"disclaimer\": {},\n  \"updated_at\": \"{updated_at}\",\n  \"reviews\": [",
            part("business").unwrap_or_else(skeleton),
            part("disclaimer").as_deref().unwrap_or("null")
        )
    }
}

/// The end of the file.
const END: &str = "\n  ]\n}\n";

/// The business of a folder that had none: every key, to be filled in; the check takes it with a remark.
fn skeleton() -> String {
    format!(
        r#"{{
    "name": "{PLACEHOLDER_NAME}",
    "type": "LocalBusiness",
    "description": "",
    "url": "{PLACEHOLDER_URL}",
    "telephone": "",
    "email": "",
    "address": {{
      "street_address": "",
      "locality": "",
      "region": "",
      "postal_code": "",
      "country": ""
    }},
    "geo": null,
    "opening_hours": [],
    "service_areas": [],
    "services": [],
    "technicians": [],
    "same_as": []
  }}"#
    )
}
