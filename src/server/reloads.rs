//! How reloads ended: plain atomics, for metrics.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};

use crate::clock;

/// How a reload ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reloaded {
    /// Another dataset is served.
    Replaced = 0,
    /// The files hold what is served already.
    Same = 1,
    /// The files cannot be used; what was read before is still served.
    Refused = 2,
    /// The files are gone; what was read before is still served.
    Gone = 3,
}

impl Reloaded {
    /// Every end, each at its number.
    pub const ALL: [Reloaded; 4] = [
        Reloaded::Replaced,
        Reloaded::Same,
        Reloaded::Refused,
        Reloaded::Gone,
    ];

    /// Returns the label.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Reloaded::Replaced => "replaced",
            Reloaded::Same => "same",
            Reloaded::Refused => "refused",
            Reloaded::Gone => "gone",
        }
    }
}

/// Totals since the start.
#[derive(Debug)]
pub struct Reloads {
    counts: [AtomicU64; Reloaded::ALL.len()],
    /// When the dataset that is served was read, in milliseconds since 1970.
    loaded_ms: AtomicI64,
}

impl Default for Reloads {
    fn default() -> Reloads {
        Reloads {
            counts: Default::default(),
            loaded_ms: AtomicI64::new(clock::unix_ms()),
        }
    }
}

impl Reloads {
    /// Returns how many reloads ended so.
    #[must_use]
    pub fn count(&self, end: Reloaded) -> u64 {
        self.counts[end as usize].load(Relaxed)
    }

    /// Returns when the dataset that is served was read, in milliseconds since 1970.
    #[must_use]
    pub fn loaded_ms(&self) -> i64 {
        self.loaded_ms.load(Relaxed)
    }

    pub(super) fn note(&self, end: Reloaded) {
        self.counts[end as usize].fetch_add(1, Relaxed);
        if end == Reloaded::Replaced {
            self.loaded_ms.store(clock::unix_ms(), Relaxed);
        }
    }
}
