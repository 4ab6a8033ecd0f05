//! The index beside the linear scan, over texts of all alphabets and at every cut of the tree.

use std::num::NonZeroUsize;

use proptest::prelude::*;
use reviewd::model::insights::Insights;
use reviewd::model::{Rating, Review, Taxonomy};
use reviewd::search::Tuning;
use reviewd::search::filter::{Cursor, Filter, Query, RatingSet, Sort};
use reviewd::search::fold::fold_into;
use reviewd::search::index::{Index, IndexOptions};
use reviewd::search::run::{Scratch, run};
use reviewd::wire::date::Date;

use super::{check_page, check_search, review_of};

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), ..ProptestConfig::default() })]

    #[test]
    fn search_agrees_with_a_linear_scan(data in proptest::collection::vec(any::<u8>(), 0..1500)) {
        check_search(&data);
    }
}

/// How many random requests are compared: 512, or as many as `PROPTEST_CASES` says.
fn cases() -> u32 {
    let asked = std::env::var("PROPTEST_CASES");
    asked.map_or(512, |cases| cases.parse().expect("a number"))
}

/// A dataset of the given texts, newest first, on days and with ratings that differ.
fn reviews<T: Into<String>>(texts: impl IntoIterator<Item = T>) -> Vec<Review> {
    let newest = Date::new(2026, 11, 1).expect("a day").days();
    let review = |(number, text): (usize, T)| {
        let id = format!("R{:07}", 9_999_999 - number);
        let rating = Rating::new(1 + (number * 7 % 5) as u8).expect("a rating");
        let date = Date::from_days(newest - number as u32 / 3).expect("a day");
        review_of(id, rating, date, text.into())
    };
    texts.into_iter().enumerate().map(review).collect()
}

fn options(memory_bytes: u64) -> IndexOptions {
    IndexOptions {
        memory_bytes,
        threads: NonZeroUsize::MIN,
    }
}

/// An index with leaves of at most so many reviews.
fn tuned(reviews: &[Review], leaf_rows_max: u32) -> Index {
    let tuning = Tuning {
        leaf_rows_max,
        bitmap_rows_min: 24,
        union_steps_max: 16,
    };
    Index::build_tuned(reviews, &Taxonomy::default(), tuning, &options(u64::MAX))
}

/// Compares the answers to `query`; returns where its next page begins.
fn check_query(
    reviews: &[Review],
    index: &Index,
    query: &Query<'_>,
    scratch: &mut Scratch,
) -> Option<Cursor> {
    let (taxonomy, insights) = (Taxonomy::default(), Insights::default());
    check_page(reviews, &taxonomy, &insights, index, query, scratch)
}

fn of_text(text: &str) -> Filter<'_> {
    Filter {
        text: Some(text),
        ..Filter::ALL
    }
}

/// Compares the answers to `needles`, unfolded, in all orders and with a filter.
fn check(reviews: &[Review], index: &Index, needles: &[&str]) {
    let mut scratch = Scratch::default();
    for needle in needles {
        let mut text = String::new();
        fold_into(needle, &mut text);
        for sort in Sort::ALL {
            let mut filter = of_text(&text);
            if sort == Sort::Oldest {
                filter.ratings = RatingSet::only(Rating::MAX);
            }
            let query = Query::new(filter, sort, 20);
            check_query(reviews, index, &query, &mut scratch);
        }
    }
}

const ALPHABETS: [&str; 14] = [
    "The attorney was great, really GREAT.",
    "Großartig! STRASSE und Straße, ẞ",
    "İstanbul'da ıhlamur, Iğdır",
    "ΟΔΥΣΣΕΥΣ οδυσσεύς σίγμα",
    "Спасибо большое, ОТЛИЧНО",
    "非常好的律师，谢谢！",
    "とてもよかったです。ありがとう",
    "훌륭한 변호사, 감사합니다",
    "\u{1112}\u{116e}\u{11af}\u{1105}\u{1172}\u{11bc}",
    "محام ممتاز وشكرا",
    "बहुत अच्छा वकील",
    "👩\u{200d}⚖\u{fe0f} 👍🏽👍🏾 🇺🇸🇪🇸",
    "cafe\u{301} CAFÉ café Ångström A\u{30a}",
    "",
];

#[test]
fn every_budget_is_kept_and_gives_the_same_answers() {
    let reviews =
        reviews((0..900).map(|number| format!("{} {}", ALPHABETS[number % 14], number % 70)));
    let mut steps = 0;
    let mut last = u64::MAX;
    for shift in 0..28 {
        let budget = (1 << 28 >> shift) - 1;
        let index = Index::build(&reviews, &Taxonomy::default(), &options(budget));
        let tree = index.tree_bytes();
        assert!(tree <= budget, "{tree} bytes within {budget}");
        steps += u32::from(tree != last);
        if tree != last {
            check(&reviews, &index, &["great", "e", "ß", "very rare", "1"]);
        }
        last = tree;
    }
    assert_eq!(last, 0);
    assert!(steps > 2, "{steps} different trees");
}

#[test]
fn texts_of_64_kib_among_short_ones_are_found_at_every_cut() {
    let long = |number: usize| {
        let mut text: String = ALPHABETS
            .iter()
            .cycle()
            .skip(number)
            .take(2_000)
            .copied()
            .collect();
        text.truncate(text.floor_char_boundary(65_536 - 6));
        text + &format!("<{number}>")
    };
    let texts = (0..40).map(|number| match number % 4 {
        0 => long(number),
        1 => "ß".to_owned(),
        2 => String::new(),
        _ => format!("ok {number}"),
    });
    let reviews = reviews(texts);
    let needle: String = long(4).chars().skip(9).take(1_500).collect();
    let needle = &needle[..needle.floor_char_boundary(8_192)];
    for leaf_rows_max in [1, 4, 40] {
        let index = tuned(&reviews, leaf_rows_max);
        check(
            &reviews,
            &index,
            &[needle, "<4>", "ß", "ẞ", "k 1", "great", "ıĞ"],
        );
    }
}

#[test]
fn a_page_of_a_long_list_equals_the_page_of_the_reference_in_every_order() {
    // Lists of their own, bitmaps and leaves to collect from, each with more rows than a page, and pages after it.
    let texts = (0..600).map(|number| {
        format!(
            "{}{}",
            ["alpha ", "beta ", "al "][number % 3],
            "xyz".repeat(number % 5)
        )
    });
    let reviews = reviews(texts);
    let mut scratch = Scratch::default();
    for (bitmap_rows_min, union_steps_max) in [(601, 0), (601, 1_000), (90, 16)] {
        let tuning = Tuning {
            leaf_rows_max: 40,
            bitmap_rows_min,
            union_steps_max,
        };
        let index = Index::build_tuned(&reviews, &Taxonomy::default(), tuning, &options(u64::MAX));
        for (text, sort) in ["al", "xyz", "a", "zx", "alpha xyzx"]
            .into_iter()
            .flat_map(|text| Sort::ALL.map(|sort| (text, sort)))
        {
            let mut query = Query::new(of_text(text), sort, 7);
            for _ in 0..40 {
                query.cursor = check_query(&reviews, &index, &query, &mut scratch);
                if query.cursor.is_none() {
                    break;
                }
            }
        }
    }
}

#[test]
fn long_runs_of_one_letter_stay_small() {
    let reviews = reviews((0..12).map(|number| "a".repeat(65_536 - number)));
    let index = tuned(&reviews, 2);
    // One node for each byte of the longest gram at most, and each leaf lists twelve rows at most.
    assert!(index.tree_bytes() < 64 * 1024, "{}", index.tree_bytes());
    let long = "A".repeat(8_192);
    check(
        &reviews,
        &index,
        &[
            "a",
            "aa",
            &long[..127],
            &long[..128],
            &long[..129],
            &long,
            "ab",
        ],
    );
    let nearly_all = "a".repeat(65_530);
    check(&reviews, &index, &[&nearly_all]);
}

#[test]
fn a_million_equal_texts_stay_small() {
    const REVIEWS: u32 = 1_000_000;
    let reviews = reviews((0..REVIEWS).map(|_| "Good!"));
    let index = Index::build(&reviews, &Taxonomy::default(), &options(u64::MAX));
    // Every gram is in all reviews, and so there is one bitmap; and one list, of the reviews that end in the same letter.
    assert!(
        index.tree_bytes() < 3 * u64::from(REVIEWS),
        "{}",
        index.tree_bytes()
    );
    let mut scratch = Scratch::default();
    for (text, matched) in [("oo", REVIEWS), ("good!", REVIEWS), ("goods", 0)] {
        let query = Query::new(of_text(text), Sort::Newest, 20);
        let page = run(&index, &query, &mut scratch);
        assert_eq!(
            (page.matched, page.rows.len() as u32),
            (matched, 20.min(matched))
        );
    }
}
