//! How looks at an address ended, for the metrics.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};

use crate::clock;

/// How looks ended, since the start.
#[derive(Debug, Default)]
pub(in crate::server) struct Polls {
    counts: [AtomicU64; Polled::NAMES.len()],
    /// When one last went well, in milliseconds since 1970; 0 for never.
    well_ms: AtomicI64,
}

/// How a look ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Polled {
    /// Another dataset was fetched and is kept.
    Replaced = 0,
    /// There is nothing new.
    Same = 1,
    /// What is there cannot be had or used.
    Failed = 2,
}

impl Polled {
    const NAMES: [&str; 3] = ["replaced", "same", "failed"];
}

impl Polls {
    /// Returns how often looks ended, by the name of the end.
    pub(in crate::server) fn counts(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let counts = self.counts.iter().map(|count| count.load(Relaxed));
        Polled::NAMES.into_iter().zip(counts)
    }

    /// Returns when a look last went well, in milliseconds since 1970.
    pub(in crate::server) fn well_ms(&self) -> i64 {
        self.well_ms.load(Relaxed)
    }

    pub(super) fn note(&self, end: Polled) {
        self.counts[end as usize].fetch_add(1, Relaxed);
        if end != Polled::Failed {
            self.well_ms.store(clock::unix_ms(), Relaxed);
        }
    }
}
