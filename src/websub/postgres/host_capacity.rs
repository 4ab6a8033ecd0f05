//! Room for exchanges, host by host, while a claim looks for what is due.

use std::collections::HashMap;

use super::super::store::Claim;

/// How much more may be claimed, and of which hosts no more.
///
/// What is due comes a window at a time. A host with thousands of callbacks could fill every window, so one that is
/// full is left out of the next; a claim that would need many windows ends earlier, with less.
pub(super) struct Rooms<'a> {
    claim: &'a Claim<'a>,
    taken: HashMap<String, usize>,
    windows: usize,
    is_done: bool,
}

impl<'a> Rooms<'a> {
    pub(super) fn new(claim: &'a Claim<'a>) -> Rooms<'a> {
        Rooms {
            claim,
            taken: HashMap::new(),
            windows: 0,
            is_done: false,
        }
    }

    /// Returns how many rows to ask for next, `None` when `found` are enough or no more will come.
    pub(super) fn wanted(&mut self, found: usize) -> Option<usize> {
        let wanted = self.claim.limit.saturating_sub(found);
        if wanted == 0 || self.is_done || self.windows == WINDOWS_MAX {
            return None;
        }
        self.windows += 1;
        Some(wanted)
    }

    /// Begins to look somewhere else.
    pub(super) fn look_on(&mut self) {
        self.windows = 0;
        self.is_done = false;
    }

    /// Notes whether a window held everything there is.
    pub(super) fn note(&mut self, is_last: bool) {
        self.is_done = is_last;
    }

    /// Tells whether one more exchange with `host` fits, and counts it if so.
    pub(super) fn take(&mut self, host: &str) -> bool {
        let room = self.claim.per_host > self.busy(host);
        if room {
            *self.taken.entry(host.to_owned()).or_default() += 1;
        }
        room
    }

    /// Hosts of which no more may be claimed.
    pub(super) fn full_hosts(&self) -> Vec<&str> {
        let hosts = self.claim.busy.keys().chain(self.taken.keys());
        let mut full: Vec<&str> = hosts
            .map(String::as_str)
            .filter(|host| self.busy(host) >= self.claim.per_host)
            .collect();
        full.sort_unstable();
        full.dedup();
        full
    }

    fn busy(&self, host: &str) -> usize {
        let before = self.claim.busy.get(host).copied().unwrap_or_default();
        before + self.taken.get(host).copied().unwrap_or_default()
    }
}

/// Windows looked at in one place.
const WINDOWS_MAX: usize = 8;
