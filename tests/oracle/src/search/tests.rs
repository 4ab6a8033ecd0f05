//! The index beside its reference, at random and over texts of all alphabets at every cut of the tree.

use std::env;

use proptest::prelude::*;
use reviewd::search::filter::{Query, Sort};

use super::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), ..ProptestConfig::default() })]

    #[test]
    fn search_agrees_with_a_linear_scan(data in proptest::collection::vec(any::<u8>(), 0..1500)) {
        check_search(&data);
    }
}

/// How many random inputs are compared: 512, or as many as `PROPTEST_CASES` says.
fn cases() -> u32 {
    env::var("PROPTEST_CASES").map_or(512, |cases| cases.parse().expect("a number"))
}

/// Reviews of the given texts, newest first, on days and with ratings that differ.
fn searched<T: Into<String>>(texts: impl IntoIterator<Item = T>) -> Searched {
    let newest = Date::new(2026, 11, 1).expect("a day").days();
    let review = |(number, text): (usize, T)| {
        let id = format!("R{:07}", 9_999_999 - number);
        let rating = Rating::new(1 + (number * 7 % 5) as u8).expect("a rating");
        let date = Date::from_days(newest - number as u32 / 3).expect("a day");
        review_of(id, rating, date, text.into())
    };
    let reviews = texts.into_iter().enumerate().map(review).collect();
    Searched::new(reviews, Taxonomy::default(), Insights::default())
}

impl Searched {
    /// An index with leaves of at most so many reviews.
    fn tuned(&self, leaf_rows_max: u32) -> Index {
        let tuning = Tuning {
            leaf_rows_max,
            bitmap_rows_min: 24,
            union_steps_max: 16,
        };
        Index::build_tuned(&self.reviews, &self.taxonomy, tuning, &options(u64::MAX))
    }

    /// Compares the answers to `needles` in all orders, and with a filter in one.
    fn check_needles(&self, index: Index, needles: &[&str]) {
        let indexes = [index];
        for needle in needles {
            for sort in Sort::ALL {
                let mut pairs = vec![
                    ("query", (*needle).to_owned()),
                    ("sort", sort.as_str().to_owned()),
                ];
                if sort == Sort::Oldest {
                    pairs.push(("rating", "5".to_owned()));
                }
                self.check(&indexes, &pairs);
            }
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
    let searched = searched((0..900).map(|at| format!("{} {}", ALPHABETS[at % 14], at % 70)));
    let (mut steps, mut last) = (0, u64::MAX);
    for shift in 0..28 {
        let budget = (1 << 28 >> shift) - 1;
        let index = Index::build(&searched.reviews, &searched.taxonomy, &options(budget));
        let tree = index.tree_bytes();
        assert!(tree <= budget, "{tree} bytes within {budget}");
        if tree != last {
            steps += 1;
            searched.check_needles(index, &["great", "e", "ß", "very rare", "1"]);
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
            .into_iter()
            .cycle()
            .skip(number)
            .take(2_000)
            .collect();
        text.truncate(text.floor_char_boundary(65_536 - 6));
        text + &format!("<{number}>")
    };
    let searched = searched((0..40).map(|number| match number % 4 {
        0 => long(number),
        1 => "ß".to_owned(),
        2 => String::new(),
        _ => format!("ok {number}"),
    }));
    let needle: String = long(4).chars().skip(9).take(1_500).collect();
    let needle = &needle[..needle.floor_char_boundary(1_024)];
    for leaf_rows_max in [1, 4, 40] {
        let index = searched.tuned(leaf_rows_max);
        searched.check_needles(index, &[needle, "<4>", "ß", "ẞ", "k 1", "great", "ıĞ"]);
    }
}

#[test]
fn long_runs_of_one_letter_stay_small() {
    let searched = searched((0..12).map(|number| "a".repeat(65_536 - number)));
    let index = searched.tuned(2);
    // One node for each byte of the longest gram at most, and each leaf lists twelve rows at most.
    assert!(index.tree_bytes() < 64 * 1024, "{}", index.tree_bytes());
    let long = "A".repeat(1_024);
    let needles = [
        "a",
        "aa",
        &long[..127],
        &long[..128],
        &long[..129],
        &long,
        "ab",
    ];
    searched.check_needles(index, &needles);
}

#[test]
fn a_million_equal_texts_stay_small() {
    const REVIEWS: u32 = 1_000_000;
    let searched = searched((0..REVIEWS).map(|_| "Good!"));
    let index = Index::build(&searched.reviews, &searched.taxonomy, &options(u64::MAX));
    // Every gram is in all reviews, and so there is one bitmap; and one list, of the reviews that end in the same letter.
    let bytes = index.tree_bytes();
    assert!(bytes < 3 * u64::from(REVIEWS), "{bytes}");
    for (text, matched) in [("oo", REVIEWS), ("good!", REVIEWS), ("goods", 0)] {
        let filter = Filter {
            text: Some(text),
            ..Filter::default()
        };
        let page = run(
            &index,
            &Query::new(filter, Sort::Newest, 20),
            &mut Scratch::default(),
        );
        assert_eq!(
            (page.matched, page.rows.len() as u32),
            (matched, 20.min(matched))
        );
    }
}
