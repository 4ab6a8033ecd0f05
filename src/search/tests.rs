//! What needs the inside of the index; answers are compared with a linear scan in `tests/oracle`.

mod questions;

use std::num::NonZeroUsize;

use crate::model::{Rating, Review, Taxonomy};
use crate::search::Tuning;
use crate::search::arena::Arena;
use crate::search::index::{Index, IndexOptions};
use crate::search::run::Scratch;
use crate::search::tree::build_tree;
use crate::wire::date::Date;

/// A dataset of the given texts, newest first, on days and with ratings that differ.
pub(super) fn reviews<T: Into<String>>(texts: impl IntoIterator<Item = T>) -> Vec<Review> {
    let newest = Date::new(2026, 11, 1).expect("a day").days();
    let review = |(number, text): (usize, T)| Review {
        id: format!("R{:07}", 9_999_999 - number),
        author: String::new(),
        author_avatar_url: None,
        rating: Rating::new(1 + (number * 7 % 5) as u8).expect("a rating"),
        date: Date::from_days(newest - number as u32 / 3).expect("a day"),
        text: text.into(),
        source: String::new(),
        source_url: None,
        owner_reply: None,
        verified: true,
        mentioned_technicians: Vec::new(),
        mentioned_services: Vec::new(),
        verification: None,
        language: None,
        media: Vec::new(),
        translation: None,
    };
    texts.into_iter().enumerate().map(review).collect()
}

fn options(memory_bytes: u64) -> IndexOptions {
    IndexOptions {
        memory_bytes,
        threads: NonZeroUsize::MIN,
    }
}

fn tuning(leaf_rows_max: u32) -> Tuning {
    Tuning {
        leaf_rows_max,
        bitmap_rows_min: 24,
        union_steps_max: 16,
    }
}

#[test]
fn the_size_of_the_tree_does_not_depend_on_the_number_of_threads() {
    let reviews = reviews(
        (0..3_000).map(|number| format!("Great. Großartig {} {}", number % 14, number * number)),
    );
    let arena = Arena::build(&reviews);
    let grow = |threads| {
        let options = IndexOptions {
            threads: NonZeroUsize::new(threads).expect("threads"),
            ..options(u64::MAX)
        };
        let tree = build_tree(&arena, tuning(40), &options, &|| false);
        tree.expect("it fits").memory()
    };
    let one = grow(1);
    assert!(one > 0);
    assert_eq!([one; 2], [grow(2), grow(5)]);
}
