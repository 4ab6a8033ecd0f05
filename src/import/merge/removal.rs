//! Reviews that leave the file: those on the ignore list, and those that their sources have no more.

use super::super::normalise::{Rules, known_id};
use super::super::record::Record;
use super::{Merge, SEPARATOR_BYTES, Slot};

impl Merge<'_> {
    /// Adds none of `ids`, whatever the sources say.
    pub fn ignore(&mut self, ids: impl IntoIterator<Item = String>) {
        self.ignored.extend(ids);
    }

    /// Removes one review; `false` where it is not there.
    pub fn forget(&mut self, id: &str) -> bool {
        let Some(slot) = self.slots.remove(id) else {
            return false;
        };
        let bytes = slot.version().0.len() + SEPARATOR_BYTES;
        self.bytes = self.bytes.saturating_sub(bytes as u64);
        true
    }

    /// Removes the reviews of the sources that were imported which are not in them any more.
    ///
    /// # Errors
    /// A line, where a source may not be complete or nothing would remain; nothing is removed then.
    pub fn prune(&mut self) -> Result<(), String> {
        if self.unknown_count > 0 {
            let count = self.unknown_count;
            return Err(format!(
                "--prune: {count} of the refused records have no id that could be read, so it is not known which reviews \
                 the source still has; nothing was written"
            ));
        }
        if self.tallies.iter().any(|tally| tally.taken() == 0) {
            let message = "--prune: a source holds no review; nothing was written";
            return Err(message.to_owned());
        }
        let gone = self.slots.iter().filter(|(_, slot)| self.is_gone(slot));
        let mut gone: Vec<String> = gone.map(|(id, _)| id.clone()).collect();
        if gone.len() == self.slots.len() && !gone.is_empty() {
            return Err("--prune: no review would remain; nothing was written".to_owned());
        }
        gone.sort_unstable();
        for id in &gone {
            self.forget(id);
        }
        self.pruned = gone;
        Ok(())
    }

    /// Remembers that the source still has a review, though its record was refused.
    pub(super) fn name(&mut self, record: &Record, rules: &Rules) {
        let Some(id) = known_id(record, rules) else {
            self.unknown_count += 1;
            return;
        };
        if let Some(slot) = self.slots.get_mut(&id) {
            slot.named = true;
        }
    }

    /// Ids of the reviews that [`Merge::prune`] removed, ascending.
    pub fn pruned(&self) -> &[String] {
        &self.pruned
    }

    /// Whether a review was there, and its source, which was imported, has it no more.
    pub(super) fn is_gone(&self, slot: &Slot<'_>) -> bool {
        let is_of = |source: u32| self.spoken.contains(&source);
        !slot.named && slot.kept.as_ref().is_some_and(|kept| is_of(kept.source))
    }
}
