//! What came of an import: counts, refusals, what is missing, and the new file.

use std::cmp::Reverse;

use super::{Merge, Note, REFUSALS_MAX, REMARKS_MAX, SEPARATOR, Slot, Tally};
use crate::dataset::{PLACEHOLDER_NAME, PLACEHOLDER_URL};
use crate::wire::date::{Date, Timestamp};
use crate::wire::json::push_string;

/// Ids of missing reviews that are named; further ones are counted.
pub const MISSING_MAX: usize = 10;

/// Reviews that a dry run shows.
const SAMPLE_MAX: usize = 3;

impl Merge<'_> {
    /// Notes why a record is no review.
    pub(super) fn refuse(&mut self, source: usize, line: u64, reason: String) {
        if let Some(tally) = self.tallies.get_mut(source) {
            tally.refused += 1;
        }
        if self.refusals.len() < REFUSALS_MAX {
            self.refusals.push(Note::new(source, line, reason));
        }
    }

    /// Notes what to look at in a record that was taken.
    pub(super) fn remark(&mut self, source: usize, line: u64, text: String) {
        self.remark_count += 1;
        if self.remarks.len() < REMARKS_MAX {
            self.remarks.push(Note::new(source, line, text));
        }
    }

    /// What came of each source.
    pub fn tallies(&self) -> &[Tally] {
        &self.tallies
    }

    /// The first refusals, by source and line.
    pub fn refusals(&self) -> Vec<&Note> {
        let mut refusals: Vec<&Note> = self.refusals.iter().collect();
        refusals.sort_by_key(|refusal| (refusal.source, refusal.line));
        refusals
    }

    /// How much there is to look at in what was taken, and the first of it: what was left out, then what may be there
    /// twice.
    pub fn remarks(&self) -> (u64, Vec<Note>) {
        let twins = self.twins();
        let count = self.remark_count + twins.len() as u64;
        let mut remarks = self.remarks.clone();
        remarks.extend(twins);
        remarks.truncate(REMARKS_MAX);
        (count, remarks)
    }

    /// Whether the file would be another one.
    pub fn is_change(&self) -> bool {
        let is_changed = |tally: &Tally| tally.added + tally.changed > 0;
        !self.pruned.is_empty()
            || self.tallies.iter().any(is_changed)
            || (!self.is_skeleton() && self.business() != self.stored_business())
    }

    /// How many reviews the file would hold, and how many of them would be published.
    pub fn counts(&self) -> (u64, u64) {
        let verified = self.slots.values().filter(|slot| slot.version().2).count();
        (self.slots.len() as u64, verified as u64)
    }

    /// The newest reviews that are new or different, at most three, each as the file would hold it; those that would be
    /// published come first.
    pub fn sample(&self) -> Vec<&str> {
        let fresh = self.slots.iter().filter_map(|(id, slot)| {
            let fresh = slot.arrived.as_ref()?.fresh.as_ref()?;
            Some((fresh.verified, fresh.date, id, &*fresh.json))
        });
        let mut fresh: Vec<_> = fresh.collect();
        fresh.sort_unstable_by_key(|&(verified, date, id, _)| Reverse((verified, date, id)));
        fresh.truncate(SAMPLE_MAX);
        fresh.into_iter().map(|(.., json)| json).collect()
    }

    /// How many reviews of this import their sources hide, so that they are not published here.
    pub fn hidden(&self) -> u64 {
        let arrived = self.slots.values().filter_map(|slot| slot.arrived.as_ref());
        arrived.filter(|arrived| arrived.hidden).count() as u64
    }

    /// How many reviews that were there, and not verified, are verified now.
    pub fn newly_verified(&self) -> u64 {
        let is_new = |slot: &&Slot<'_>| {
            let was = slot.kept.as_ref().map(|kept| kept.verified);
            was == Some(false) && slot.version().2
        };
        self.slots.values().filter(is_new).count() as u64
    }

    /// How many reviews of the sources that were imported are not in them any more, and the first of their ids.
    pub fn missing(&self) -> (u64, Vec<&str>) {
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
    pub fn is_skeleton(&self) -> bool {
        self.parts.is_empty()
    }

    /// Renders the new file, newest first.
    pub fn render(&self, updated_at: Timestamp) -> String {
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
    pub fn bytes(&self) -> u64 {
        self.bytes.saturating_sub(1)
    }

    /// Bytes of the new file without its reviews.
    pub(super) fn frame_bytes(&self) -> u64 {
        (self.beginning(Timestamp::from_unix(0)).len() + END.len()) as u64
    }

    /// The new file up to the first review.
    fn beginning(&self, updated_at: Timestamp) -> String {
        let disclaimer = self
            .parts
            .get("disclaimer")
            .map_or("null", |part| part.get());
        format!(
            "{{\n  \"business\": {},\n  \"disclaimer\": {disclaimer},\n  \"updated_at\": \"{updated_at}\",\n  \"reviews\": [",
            self.business(),
        )
    }

    /// The business as the file that is there has it.
    fn stored_business(&self) -> String {
        let stored = self.parts.get("business");
        stored.map_or_else(skeleton, |part| part.get().to_owned())
    }

    /// The business with what the operator said in the place of placeholders.
    fn business(&self) -> String {
        let mut business = self.stored_business();
        let given = [&self.business.name, &self.business.url];
        for (placeholder, value) in [PLACEHOLDER_NAME, PLACEHOLDER_URL].into_iter().zip(given) {
            if let Some(value) = value {
                business = business.replace(&quoted(placeholder), &quoted(value));
            }
        }
        match &self.business.kind {
            Some(kind) if self.is_skeleton() => {
                business.replacen(&quoted(PLACEHOLDER_TYPE), &quoted(kind), 1)
            }
            _ => business,
        }
    }

    /// Which placeholders of the business are still to be filled in: that of the name, and that of the address.
    pub fn placeholders(&self) -> [bool; 2] {
        let business = self.business();
        [PLACEHOLDER_NAME, PLACEHOLDER_URL].map(|value| business.contains(&quoted(value)))
    }

    /// Replaces placeholders of the business by the values that the operator gave. Values that are no placeholders stay.
    ///
    /// # Errors
    /// A line, where the result would exceed its bounds.
    pub fn fill_in(&mut self, business: BusinessFacts) -> Result<(), String> {
        let before = self.frame_bytes();
        self.business = business;
        self.bytes = self.bytes + self.frame_bytes() - before;
        self.bound()
    }
}

/// What an import is told of the business.
#[derive(Clone, Debug, Default)]
pub struct BusinessFacts {
    /// Its name.
    pub name: Option<String>,
    /// Its web site.
    pub url: Option<String>,
    /// A type of schema.org, for a file that is yet to be made.
    pub kind: Option<String>,
}

/// A text as a JSON string.
fn quoted(text: &str) -> String {
    let mut out = Vec::new();
    push_string(&mut out, text);
    String::from_utf8_lossy(&out).into_owned()
}

/// The end of the file.
const END: &str = "\n  ]\n}\n";

/// The type of a business of which nothing is known.
const PLACEHOLDER_TYPE: &str = "LocalBusiness";

/// The business of a folder that had none: every key, to be filled in; the check takes it with a remark.
fn skeleton() -> String {
    format!(
        r#"{{
    "name": "{PLACEHOLDER_NAME}",
    "type": "{PLACEHOLDER_TYPE}",
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
