//! What a text index may cost, and the steps by which it becomes cheaper.

use crate::search::arena::Arena;
use crate::search::tree::{Tree, Tuning, grow_tree};
use std::num::NonZeroUsize;

/// Grows the finest tree of `arena` that takes at most `bytes_max` bytes; `None` where even the coarsest takes more, and texts are scanned.
///
/// A step that is unlikely to fit is left out unseen, as the number of bytes of text tells roughly what a step takes;
/// one that is tried and does not fit is given up as soon as it passes the budget. `None` as well once `cancelled`.
pub(in crate::search) fn grow_within(
    arena: &Arena,
    bytes_max: u64,
    threads: NonZeroUsize,
    cancelled: &(dyn Fn() -> bool + Sync),
) -> Option<Tree> {
    let steps = STEPS
        .iter()
        .filter(|step| (arena.len() as f64 * step.bytes_per_byte) as u64 <= bytes_max);
    steps
        .map(|step| step.tuning(arena.rows()))
        .take_while(|_| !cancelled())
        .find_map(|tuning| grow_tree(arena, tuning, threads, bytes_max, cancelled))
}

/// One way to tune a tree, relative to the number of reviews.
struct Step {
    leaf_one_in: u32,
    leaf_rows_min: u32,
    bitmap_one_in: u32,
    union_steps_max: u32,
    /// What the tree of ordinary texts takes, for each byte of folded text; measured on 100,000 and a million reviews.
    bytes_per_byte: f64,
}

impl Step {
    fn tuning(&self, rows: u32) -> Tuning {
        Tuning {
            leaf_rows_max: (rows / self.leaf_one_in).max(self.leaf_rows_min),
            bitmap_rows_min: (rows / self.bitmap_one_in).max(64),
            union_steps_max: self.union_steps_max,
            unit_places_max: UNIT_PLACES_MAX,
        }
    }
}

/// 2 GiB of memory for the largest unit while it grows.
const UNIT_PLACES_MAX: u64 = 1 << 26;

/// From the fastest to the smallest.
const STEPS: [Step; 7] = [
    Step {
        leaf_one_in: 4096,
        leaf_rows_min: 64,
        bitmap_one_in: 32,
        union_steps_max: 8192,
        bytes_per_byte: 4.5,
    },
    Step {
        leaf_one_in: 2048,
        leaf_rows_min: 64,
        bitmap_one_in: 16,
        union_steps_max: 16_384,
        bytes_per_byte: 3.5,
    },
    Step {
        leaf_one_in: 512,
        leaf_rows_min: 128,
        bitmap_one_in: 8,
        union_steps_max: 65_536,
        bytes_per_byte: 2.3,
    },
    Step {
        leaf_one_in: 128,
        leaf_rows_min: 256,
        bitmap_one_in: 4,
        union_steps_max: u32::MAX,
        bytes_per_byte: 1.65,
    },
    Step {
        leaf_one_in: 64,
        leaf_rows_min: 256,
        bitmap_one_in: 4,
        union_steps_max: u32::MAX,
        bytes_per_byte: 1.45,
    },
    Step {
        leaf_one_in: 24,
        leaf_rows_min: 512,
        bitmap_one_in: 2,
        union_steps_max: u32::MAX,
        bytes_per_byte: 1.1,
    },
    // Little more than an index of grams of two and three letters.
    Step {
        leaf_one_in: 4,
        leaf_rows_min: 512,
        bitmap_one_in: 2,
        union_steps_max: u32::MAX,
        bytes_per_byte: 0.65,
    },
];
