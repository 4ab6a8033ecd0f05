//! The bitmaps of a tree that is being built, each kept once, and the budget of all that is built.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// What the threads that build a tree share.
pub(super) struct Shelf<'c> {
    bytes_max: u64,
    bytes: AtomicU64,
    /// How often a place was looked at or moved, as a measure of time that no other work on the machine disturbs.
    work: AtomicU64,
    bitmaps: Mutex<Bitmaps>,
    cancelled: &'c (dyn Fn() -> bool + Sync),
}

#[derive(Default)]
struct Bitmaps {
    kept: Vec<Box<[u64]>>,
    /// Numbers of the kept bitmaps by a hash of their words; equal hashes are told apart by comparing.
    by_hash: HashMap<u64, Vec<u32>>,
}

impl<'c> Shelf<'c> {
    /// Allows `bytes_max` bytes in all, and nothing more once `cancelled`.
    pub(super) fn new(bytes_max: u64, cancelled: &'c (dyn Fn() -> bool + Sync)) -> Shelf<'c> {
        Shelf {
            bytes_max,
            bytes: AtomicU64::new(0),
            work: AtomicU64::new(0),
            bitmaps: Mutex::default(),
            cancelled,
        }
    }

    /// Books `bytes` more.
    pub(super) fn book(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Adds to the work done.
    pub(super) fn add_work(&self, work: u64) {
        self.work.fetch_add(work, Ordering::Relaxed);
    }

    /// Returns all work done.
    #[cfg(test)]
    pub(super) fn work(&self) -> u64 {
        self.work.load(Ordering::Relaxed)
    }

    /// Tells whether more was booked than is allowed, or the build is cancelled.
    ///
    /// Bookings never depend on the threads' order, and their sum only grows: so it does not either whether a whole build fits.
    pub(super) fn is_over(&self) -> bool {
        self.bytes.load(Ordering::Relaxed) > self.bytes_max || (self.cancelled)()
    }

    /// Keeps `words`, unless an equal bitmap is kept already, and returns its number, which depends on the threads' order.
    pub(super) fn put(&self, words: &[u64]) -> u32 {
        let hash = words.iter().fold(words.len() as u64, |hash, word| {
            (hash.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95)
        });
        let mut bitmaps = self.bitmaps.lock().unwrap_or_else(PoisonError::into_inner);
        let Bitmaps { kept, by_hash } = &mut *bitmaps;
        let known = by_hash.entry(hash).or_default();
        if let Some(number) = known
            .iter()
            .find(|number| *kept[**number as usize] == *words)
        {
            return *number;
        }
        let number = kept.len() as u32;
        known.push(number);
        kept.push(words.into());
        self.book(words.len() as u64 * 8);
        number
    }

    /// Takes all bitmaps, by their numbers.
    pub(super) fn take_bitmaps(&self) -> Vec<Box<[u64]>> {
        std::mem::take(&mut *self.bitmaps.lock().unwrap_or_else(PoisonError::into_inner)).kept
    }
}
