//! What building costs, in places looked at: time, but for the machine.

use super::*;
use crate::search::tests::{de_bruijn, reviews};

/// Returns how often each place of `texts` was looked at or moved, on the average.
fn work_per_place(texts: Vec<String>, leaf_rows_max: u32) -> f64 {
    let places: usize = texts.iter().map(String::len).sum();
    let arena = Arena::build(&reviews(texts), NonZeroUsize::MIN);
    let tuning = Tuning {
        leaf_rows_max,
        bitmap_rows_min: u32::MAX,
        union_steps_max: u32::MAX,
        unit_places_max: 1 << 26,
    };
    let shelf = Shelf::new(u64::MAX, &|| false);
    assert!(grow_on(&shelf, &arena, tuning, NonZeroUsize::MIN).is_some());
    shelf.work() as f64 / places as f64
}

/// A node looks at its places once for each eight bytes of its edge, once more to find the edge's end, and once to sort
/// them; its gram is at least a byte longer than its parent's.
const WORST: f64 = 3.0 * GRAM_BYTES_MAX as f64;

#[test]
fn texts_of_one_letter_cost_three_looks_for_each_byte_of_the_longest_gram() {
    let texts = |length: usize| (0..12).map(|_| "a".repeat(length)).collect();
    let (short, long) = (
        work_per_place(texts(4_096), 2),
        work_per_place(texts(32_768), 2),
    );
    assert!(long <= WORST, "{long}");
    // Not more for each place of longer texts.
    assert!(long <= short * 1.1, "{long} after {short}");
}

#[test]
fn a_text_in_which_no_gram_repeats_costs_some_looks() {
    let text: String = de_bruijn(4, 8)
        .into_iter()
        .map(|letter| char::from(b'a' + letter))
        .collect();
    let parts = text.as_bytes().chunks(1_024);
    let texts = parts.map(|part| String::from_utf8_lossy(part).into_owned());
    let work = work_per_place(texts.collect(), 1);
    assert!(work <= 3.0 * 8.0, "{work}");
}

#[test]
fn equal_texts_cost_as_much_as_their_longest_gram() {
    let text: String = (0..200).map(|number| format!("{number} ")).collect();
    let work = work_per_place(vec![text; 300], 4);
    assert!(work <= WORST / 2.0, "{work}");
}
