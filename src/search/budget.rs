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
        .filter(|step| (arena.len() as f64 * step.4) as u64 <= bytes_max);
    steps
        .map(|step| step.tuning(arena.rows()))
        .take_while(|_| !cancelled())
        .find_map(|tuning| grow_tree(arena, tuning, threads, bytes_max, cancelled))
}

/// One way to tune a tree, relative to the number of reviews: leaves of one review in so many, and at least of so many;
/// bitmaps from one in so many; steps of a union; and what the tree of ordinary texts takes for each byte of folded text,
/// measured on 100,000 and a million reviews.
struct Step(u32, u32, u32, u32, f64);

impl Step {
    fn tuning(&self, rows: u32) -> Tuning {
        let Step(leaf_one_in, leaf_rows_min, bitmap_one_in, union_steps_max, _) = *self;
        Tuning {
            leaf_rows_max: (rows / leaf_one_in).max(leaf_rows_min),
            bitmap_rows_min: (rows / bitmap_one_in).max(64),
            union_steps_max,
            unit_places_max: UNIT_PLACES_MAX,
        }
    }
}

/// 2 GiB of memory for the largest unit while it grows.
const UNIT_PLACES_MAX: u64 = 1 << 26;

/// From the fastest to the smallest, which is little more than an index of grams of two and three letters.
const STEPS: [Step; 7] = [
    Step(4096, 64, 32, 8192, 4.5),
    Step(2048, 64, 16, 16_384, 3.5),
    Step(512, 128, 8, 65_536, 2.3),
    Step(128, 256, 4, u32::MAX, 1.65),
    Step(64, 256, 4, u32::MAX, 1.45),
    Step(24, 512, 2, u32::MAX, 1.1),
    Step(4, 512, 2, u32::MAX, 0.65),
];
