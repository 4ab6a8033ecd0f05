//! Every substring of some texts, looked up in trees of several tunings, compared with reading the texts.

#![allow(
    clippy::unwrap_used,
    reason = "a failure of a test is its message, in helpers as well"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};

use substring_index::Tuning;
use substring_index::arena::Arena;
use substring_index::rows::{packed_count, rows_of, unpack, words_for};
use substring_index::tree::{IndexOptions, Postings, Tree, build_within};

/// The first rows that a node stores.
const HEAD_ROWS: usize = 21;

/// The longest gram of a node.
const GRAM_BYTES_MAX: usize = 128;

/// Trees with lists, bitmaps and unions, cut off early and late.
const TUNINGS: [Tuning; 5] = [
    tuning(1, 4, 3),
    tuning(1, u32::MAX, u32::MAX),
    tuning(2, u32::MAX, 30),
    tuning(3, 30, u32::MAX),
    tuning(20, 60, 5),
];

const fn tuning(leaf_rows_max: u32, bitmap_rows_min: u32, union_steps_max: u32) -> Tuning {
    Tuning {
        leaf_rows_max,
        bitmap_rows_min,
        union_steps_max,
    }
}

fn options(tuning: Tuning, threads: usize) -> IndexOptions {
    IndexOptions {
        memory_bytes: u64::MAX,
        threads: NonZeroUsize::new(threads).unwrap(),
        tuning: Some(tuning),
    }
}

fn arena_of(texts: &[String]) -> Arena {
    Arena::build(texts.iter().map(String::as_str))
}

fn build(arena: &Arena, options: &IndexOptions) -> Option<Tree> {
    build_within(arena, options, &|| false)
}

/// Numbers that look random and are the same in each run.
fn random(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut state = seed;
    move |below| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    }
}

/// Eighty short texts with frequent and rare words, signs, an empty text, and a long beginning that three of them share.
fn short_texts() -> Vec<String> {
    const WORDS: [&str; 12] = [
        "aa", "ab", "ba", "cont", "conta", "café", "日本", "(ab", "-cont", "the", "the the",
        "zebra",
    ];
    let mut next = random(7);
    let mut texts = vec![String::new()];
    for number in 0..76 {
        let mut text = String::new();
        for _ in 0..next(5) {
            text.push_str(WORDS[next(next_bound(number)) as usize]);
            text.push(' ');
        }
        texts.push(text);
    }
    let long = "lorem ipsum dolor sit amet ".repeat(6);
    for end in ["x", "y", "y"] {
        texts.push(format!("{long}{end}"));
    }
    texts
}

/// The later a text, the more words occur.
fn next_bound(number: u64) -> u64 {
    3 + number % 10
}

/// All substrings of the texts of up to `bytes_max` bytes, with their rows.
fn substrings(arena: &Arena, bytes_max: usize) -> BTreeMap<Vec<u8>, BTreeSet<u32>> {
    let mut found: BTreeMap<Vec<u8>, BTreeSet<u32>> = BTreeMap::new();
    for row in 0..arena.rows() {
        let text = str::from_utf8(arena.text(row)).unwrap();
        for (start, _) in text.char_indices() {
            for (end, character) in text[start..].char_indices() {
                let end = start + end + character.len_utf8();
                if end - start <= bytes_max {
                    let needle = text.as_bytes()[start..end].to_vec();
                    found.entry(needle).or_default().insert(row);
                }
            }
        }
    }
    found
}

/// The rows of `postings`, by each of the two ways to get them.
fn marked(arena: &Arena, tree: &Tree, postings: Postings<'_>) -> BTreeSet<u32> {
    let mut bits = vec![0; words_for(arena.rows())];
    tree.mark(postings, &mut bits);
    let marked: BTreeSet<u32> = rows_of(&[&bits], 0..arena.rows()).collect();
    let mut each = BTreeSet::new();
    tree.each_stored(postings, &mut |stored| {
        stored.each_row(|row| {
            each.insert(row);
        });
    });
    assert_eq!(marked, each);
    marked
}

/// The rows of a packed list.
fn unpacked(packed: &[u8]) -> Vec<u32> {
    let mut rows = Vec::new();
    unpack(packed, |row| {
        rows.push(row);
        true
    });
    rows
}

/// How many rows are decoded to get all of `postings`.
fn decoded(tree: &Tree, postings: Postings<'_>) -> u32 {
    let mut count = 0;
    tree.each_stored(postings, &mut |stored| {
        if let Postings::List(packed, _) = stored {
            count += packed_count(packed);
        }
    });
    count
}

/// Checks what the tree says of one needle, which is in `rows`.
fn check_needle(arena: &Arena, tree: &Tree, tuning: Tuning, needle: &[u8], rows: &BTreeSet<u32>) {
    let shown = String::from_utf8_lossy(needle);
    let (postings, is_exact) = tree.find(needle).expect(&shown);
    let found = marked(arena, tree, postings);
    let count = rows.len() as u32;
    assert!(found.is_superset(rows), "{shown:?}");
    assert!(postings.rows_max() >= found.len() as u32, "{shown:?}");
    if !is_exact {
        let is_cut_off = count <= tuning.leaf_rows_max || needle.len() > GRAM_BYTES_MAX;
        assert!(is_cut_off, "{shown:?}");
        return;
    }
    assert_eq!(&found, rows, "{shown:?}");
    match postings {
        Postings::List(packed, of_node) => {
            assert_eq!(packed_count(packed), count, "{shown:?}");
            assert_eq!(of_node.unwrap_or(count), count, "{shown:?}");
            assert_eq!(postings.steps(), postings.rows_max());
        }
        Postings::Bitmap(_, of_node) => {
            assert_eq!(of_node, count, "{shown:?}");
            assert_eq!(postings.steps(), 0);
        }
        Postings::FromLeaves(node) => {
            assert_eq!(postings.rows_max(), count, "{shown:?}");
            assert_eq!(postings.steps(), decoded(tree, postings), "{shown:?}");
            assert!(postings.steps() <= tuning.union_steps_max, "{shown:?}");
            postings.each_row(|row| panic!("{row}: these rows are in several lists"));
            let head: Vec<u32> = rows.iter().copied().take(HEAD_ROWS).collect();
            // The nodes of one byte have no first rows.
            if needle.len() > 1 {
                assert_eq!(unpacked(tree.head(node)), head, "{shown:?}");
            }
        }
    }
    let has_bitmap = matches!(postings, Postings::Bitmap(..));
    let is_inner = count > tuning.leaf_rows_max;
    let is_frequent = count >= tuning.bitmap_rows_min;
    if is_inner {
        assert_eq!(has_bitmap, is_frequent, "{shown:?}");
    }
}

/// The bytes that follow `needle` in the texts and their marks.
fn following(arena: &Arena, needle: &[u8]) -> BTreeSet<u8> {
    let windows = arena.bytes.windows(needle.len() + 1);
    let found = windows.filter(|window| window.starts_with(needle));
    found.map(|window| window[needle.len()]).collect()
}

#[test]
fn every_substring_has_its_rows_by_every_tuning() {
    let texts = short_texts();
    let arena = arena_of(&texts);
    let needles = substrings(&arena, 12);
    for tuning in TUNINGS {
        let tree = build(&arena, &options(tuning, 1)).unwrap();
        for (needle, rows) in &needles {
            check_needle(&arena, &tree, tuning, needle, rows);
        }
        for absent in ["q", "ac", "zebrb", "contb", "日日", "café!"] {
            assert!(!needles.contains_key(absent.as_bytes()), "{absent}");
            let found = tree.find(absent.as_bytes());
            // Without a path, or with candidates that have its beginning.
            assert!(found.is_none_or(|(_, is_exact)| !is_exact), "{absent}");
        }
        assert!(tree.find(b"q").is_none());
    }
}

#[test]
fn a_beginning_of_more_bytes_than_a_node_can_have_is_cut_off_there() {
    let texts = short_texts();
    let arena = arena_of(&texts);
    let long = texts.last().unwrap();
    let rows = BTreeSet::from([77, 78, 79]);
    for tuning in [tuning(1, u32::MAX, u32::MAX), tuning(1, 2, u32::MAX)] {
        let tree = build(&arena, &options(tuning, 1)).unwrap();
        for len in 20..=160 {
            check_needle(&arena, &tree, tuning, &long.as_bytes()[..len], &rows);
        }
        let is_exact = |len: usize| tree.find(&long.as_bytes()[..len]).unwrap().1;
        assert!(is_exact(GRAM_BYTES_MAX));
        assert!(!is_exact(GRAM_BYTES_MAX + 1));
        // Another byte within the long edge leads nowhere.
        assert!(tree.find(b"lorem ipsum dolor sit amex").is_none());
    }
}

#[test]
fn the_bytes_after_a_needle_are_those_of_the_texts() {
    let arena = arena_of(&short_texts());
    let needles = substrings(&arena, 12);
    let tuning = tuning(2, 8, 20);
    let tree = build(&arena, &options(tuning, 1)).unwrap();
    for (needle, rows) in &needles {
        let shown = String::from_utf8_lossy(needle);
        let known: BTreeSet<u8> = tree.bytes_after(needle).iter().copied().collect();
        // Each first byte has an inner node.
        let is_inner = needle.len() == 1 || rows.len() as u32 > tuning.leaf_rows_max;
        let expected = if is_inner {
            following(&arena, needle)
        } else {
            BTreeSet::new()
        };
        assert_eq!(known, expected, "{shown:?}");
    }
    assert_eq!(tree.bytes_after(b"q"), b"");
    assert_eq!(tree.bytes_after(b"zebra q"), b"");
}

#[test]
fn a_tree_is_built_if_it_has_at_most_the_bytes_that_it_may_have() {
    let arena = arena_of(&short_texts());
    for tuning in TUNINGS {
        let limited = |memory_bytes| IndexOptions {
            memory_bytes,
            ..options(tuning, 1)
        };
        let memory = build(&arena, &limited(u64::MAX)).unwrap().memory();
        assert!(build(&arena, &limited(memory)).is_some(), "{tuning:?}");
        assert!(build(&arena, &limited(memory - 1)).is_none(), "{tuning:?}");
    }
}

#[test]
fn a_tree_takes_as_many_bytes_as_its_parts() {
    let sizes = TUNINGS.map(|tuning| {
        let arena = arena_of(&short_texts());
        build(&arena, &options(tuning, 1)).unwrap().memory()
    });
    // Other texts, or another layout of a node, change these numbers.
    assert_eq!(sizes, [39_578, 38_556, 28_644, 14_962, 9_485]);
}

/// Texts of 200 kB, whose grams are in several batches.
fn many_texts() -> Vec<String> {
    let mut next = random(11);
    let mut texts = Vec::new();
    for _ in 0..2_000 {
        let mut text = String::new();
        for _ in 0..100 {
            text.push(char::from(b"etaoinshr bcdfghjk"[next(18) as usize]));
        }
        texts.push(text);
    }
    texts
}

#[test]
fn any_number_of_threads_builds_the_same_tree() {
    let texts = many_texts();
    let arena = arena_of(&texts);
    // Nodes with bitmaps, and nodes with lists of their own.
    for tuning in [tuning(30, 400, 2_000), tuning(30, u32::MAX, 100)] {
        let alone = build(&arena, &options(tuning, 1)).unwrap();
        let together = build(&arena, &options(tuning, 3)).unwrap();
        assert_eq!(alone.memory(), together.memory());
        for needle in ["e", "et", "eta", "tao", "k", "kk", "h b", "oi", "ninn"] {
            let needle = needle.as_bytes();
            let mut rows = BTreeSet::new();
            for row in 0..arena.rows() {
                if memchr::memmem::find(arena.text(row), needle).is_some() {
                    rows.insert(row);
                }
            }
            for tree in [&alone, &together] {
                check_needle(&arena, tree, tuning, needle, &rows);
            }
        }
    }
}

#[test]
fn a_build_is_cancelled_at_any_time() {
    let texts = many_texts();
    let arena = arena_of(&texts);
    let asked = AtomicUsize::new(0);
    let built = build_within(&arena, &options(tuning(30, 400, 2_000), 1), &|| {
        asked.fetch_add(1, Ordering::Relaxed);
        false
    });
    assert!(built.is_some());
    let all = asked.load(Ordering::Relaxed);
    // At least once for each first byte.
    assert!(all > 20, "{all}");
    for after in [0, 1, all / 2, all - 1] {
        let asked = AtomicUsize::new(0);
        let is_over = || asked.fetch_add(1, Ordering::Relaxed) >= after;
        let built = build_within(&arena, &options(tuning(30, 400, 2_000), 1), &is_over);
        assert!(built.is_none(), "{after}");
    }
}
