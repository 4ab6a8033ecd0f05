//! Texts made to be hard: what is built of them stays within bounds.

use super::*;

#[test]
fn long_runs_of_one_letter_stay_small() {
    let reviews = reviews((0..12).map(|number| "a".repeat(65_536 - number)));
    let index = Index::build_tuned(
        &reviews,
        &Taxonomy::default(),
        tuning(2),
        &options(u64::MAX),
    );
    // One node for each byte of the longest gram at most, and each leaf lists twelve rows at most.
    assert!(
        index.footprint().tree < 64 * 1024,
        "{:?}",
        index.footprint()
    );
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
        index.footprint().tree < 3 * u64::from(REVIEWS),
        "{:?}",
        index.footprint()
    );
    let mut scratch = Scratch::default();
    for (text, matched) in [("oo", REVIEWS), ("good!", REVIEWS), ("goods", 0)] {
        let query = Query {
            filter: Filter {
                text: Some(text),
                ..Filter::ALL
            },
            sort: Sort::Newest,
            limit: 20,
            cursor: None,
            ignored: &[],
        };
        let page = crate::search::run::run(&index, &query, &mut scratch);
        assert_eq!(
            (page.matched, page.rows.len() as u32),
            (matched, 20.min(matched))
        );
    }
}

#[test]
fn a_de_bruijn_sequence_takes_a_few_bytes_for_each_of_its_own() {
    // Every word of eight letters out of four, once, as the worst there is for a tree: no gram repeats.
    let text: String = de_bruijn(4, 8)
        .into_iter()
        .map(|letter| char::from(b'a' + letter))
        .collect();
    let parts: Vec<&str> = (0..64)
        .map(|part| &text[part * 1024..(part + 1) * 1024])
        .collect();
    let reviews = reviews(parts);
    let index = Index::build_tuned(
        &reviews,
        &Taxonomy::default(),
        tuning(1),
        &options(u64::MAX),
    );
    assert!(
        index.footprint().tree < 24 * text.len() as u64,
        "{:?}",
        index.footprint()
    );
    check(
        &reviews,
        &index,
        &[
            "abcd",
            &text[1000..1040],
            &text[5000..5012],
            "aaaaaaaa",
            "dcbadcba",
        ],
    );
}

/// Returns a cyclic sequence that holds each word of `length` letters below `letters` once.
pub(in crate::search) fn de_bruijn(letters: u8, length: usize) -> Vec<u8> {
    let mut sequence = Vec::new();
    let mut word = vec![0; length + 1];
    // The Lyndon words whose length divides `length`, in order (Fredricksen, Kessler and Maiorana).
    let mut last = 1;
    loop {
        if length.is_multiple_of(last) {
            sequence.extend_from_slice(&word[1..=last]);
        }
        for place in last + 1..=length {
            word[place] = word[place - last];
        }
        let Some(place) = (1..=length).rev().find(|place| word[*place] < letters - 1) else {
            return sequence;
        };
        word[place] += 1;
        last = place;
    }
}
