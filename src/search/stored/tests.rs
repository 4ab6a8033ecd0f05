//! What was encoded comes back, and nothing else does.

use std::convert::Infallible;
use std::num::NonZeroUsize;

use super::*;
use crate::dataset;
use crate::model::Dataset;
use crate::search::filter::{Filter, Query, Sort};
use crate::search::index::Index;
use crate::search::run::{Scratch, run};

const OPTIONS: IndexOptions = IndexOptions {
    memory_bytes: 1 << 30,
    threads: NonZeroUsize::MIN,
};

fn sample() -> Dataset {
    dataset::decode(dataset::embedded(), crate::clock::now())
        .expect("the sample is right")
        .dataset
}

/// Returns the sample with its newest `count` reviews alone.
fn newest(count: usize) -> Dataset {
    let mut dataset = sample();
    dataset.reviews.truncate(count);
    dataset
}

fn encode(index: &Index) -> Vec<u8> {
    let mut bytes = Vec::new();
    let Ok(()) = index.encode::<Infallible>(|part| {
        bytes.extend_from_slice(part);
        Ok(())
    });
    bytes
}

/// Reads `bytes` as the index of `dataset`, and makes sure that nothing beyond them is asked for.
fn decode(
    bytes: &[u8],
    dataset: &Dataset,
    options: &IndexOptions,
) -> Result<Index, StoredError<&'static str>> {
    let mut refusal = None;
    let index = Index::build_or_restore(&dataset.reviews, &dataset.taxonomy, options, |wanted| {
        let mut rest = bytes;
        let restored = wanted.decode(bytes.len() as u64, |part| {
            let (taken, after) = rest.split_at_checked(part.len()).ok_or("too short")?;
            part.copy_from_slice(taken);
            rest = after;
            Ok(())
        });
        restored.map_err(|error| refusal = Some(error)).ok()
    });
    match refusal {
        Some(error) => Err(error),
        None => Ok(index),
    }
}

/// Returns why `bytes` are refused.
fn refusal(
    bytes: &[u8],
    dataset: &Dataset,
    options: &IndexOptions,
) -> Option<StoredError<&'static str>> {
    decode(bytes, dataset, options).err()
}

/// Replaces the sum at the end by that of the bytes before it, as a forger would.
fn seal(bytes: &mut [u8]) {
    let end = bytes.len() - SUM_BYTES;
    let sum: [u8; SUM_BYTES] = Sha256::digest(&bytes[..end]).into();
    bytes[end..].copy_from_slice(&sum);
}

#[test]
fn a_stored_index_comes_back_as_it_was() {
    let dataset = sample();
    let index = Index::build(&dataset.reviews, &dataset.taxonomy, &OPTIONS);
    let back = decode(&encode(&index), &dataset, &OPTIONS).expect("its own bytes");
    assert!(index.tree.is_some());
    assert_eq!(index.tree, back.tree);
    assert_eq!(index.footprint(), back.footprint());
}

#[test]
fn an_index_without_a_tree_comes_back() {
    let dataset = sample();
    let options = IndexOptions {
        memory_bytes: 0,
        ..OPTIONS
    };
    let index = Index::build(&dataset.reviews, &dataset.taxonomy, &options);
    let bytes = encode(&index);
    let back = decode(&bytes, &dataset, &options).expect("its own bytes");
    assert!(back.tree.is_none());
}

#[test]
fn other_texts_another_budget_and_another_version_are_told_apart() {
    let dataset = sample();
    let index = Index::build(&dataset.reviews, &dataset.taxonomy, &OPTIONS);
    let bytes = encode(&index);
    let budget = IndexOptions {
        memory_bytes: OPTIONS.memory_bytes + 1,
        ..OPTIONS
    };
    let mut swapped = dataset.clone();
    swapped.reviews.swap(0, 1);
    for other in [&newest(dataset.reviews.len() - 1), &swapped] {
        assert_eq!(refusal(&bytes, other, &OPTIONS), Some(StoredError::Texts));
    }
    assert_eq!(
        refusal(&bytes, &dataset, &budget),
        Some(StoredError::Budget)
    );
    for place in [0, MAGIC.len() - 1] {
        let mut other = bytes.clone();
        other[place] += 1;
        assert_eq!(
            refusal(&other, &dataset, &OPTIONS),
            Some(StoredError::Version)
        );
    }
    for text in ["", "reviewd-index", &"x".repeat(10_000)] {
        let found = refusal(text.as_bytes(), &dataset, &OPTIONS);
        assert_eq!(found, Some(StoredError::Version));
    }
}

#[test]
fn what_a_review_says_besides_its_text_does_not_matter() {
    let dataset = sample();
    let index = Index::build(&dataset.reviews, &dataset.taxonomy, &OPTIONS);
    let bytes = encode(&index);
    let mut other = dataset.clone();
    other.reviews[3].mentioned_services.clear();
    other.reviews[5].author.push('x');
    let back = decode(&bytes, &other, &OPTIONS).expect("the same texts");
    assert_eq!(index.tree, back.tree);
}

#[test]
fn lengths_that_do_not_fit_the_bytes_are_refused_before_memory_is_taken() {
    let dataset = newest(3);
    let index = Index::build(&dataset.reviews, &dataset.taxonomy, &OPTIONS);
    let bytes = encode(&index);
    for place in 0..ARRAYS {
        for length in [1 << 40, u64::MAX, u64::MAX / 2] {
            let mut forged = bytes.clone();
            let at = NUMBERS_FROM + (3 + place) * 8;
            forged[at..at + 8].copy_from_slice(&length.to_le_bytes());
            seal(&mut forged);
            assert_eq!(
                refusal(&forged, &dataset, &OPTIONS),
                Some(StoredError::Damaged)
            );
        }
    }
}

#[test]
fn more_bytes_than_the_budget_allows_are_refused_after_the_header() {
    let dataset = newest(3);
    let arena = Arena::build(&dataset.reviews, OPTIONS.threads);
    let wanted = Wanted {
        arena: &arena,
        options: &OPTIONS,
    };
    let parts = |words: u64| {
        let header = Header {
            texts_sum: arena.sum(),
            rows: 3,
            texts_bytes: arena.len(),
            memory_bytes: OPTIONS.memory_bytes,
            lengths: [0, words, 0, 0, 0, 0, 0],
        };
        let mut asked = 0;
        let refused = wanted.decode(words + OTHER_BYTES, |part| {
            asked += 1;
            part.copy_from_slice(header.render().get(..part.len()).ok_or("enough")?);
            Ok::<_, &str>(())
        });
        assert!(refused.is_err());
        asked
    };
    assert_eq!(parts(OPTIONS.memory_bytes), 2, "goes on with the arrays");
    assert_eq!(parts(OPTIONS.memory_bytes + 1), 1);
}

#[test]
fn every_truncation_and_every_changed_byte_is_refused() {
    let dataset = newest(3);
    let index = Index::build(&dataset.reviews, &dataset.taxonomy, &OPTIONS);
    let bytes = encode(&index);
    for end in 0..bytes.len() {
        let found = refusal(&bytes[..end], &dataset, &OPTIONS);
        assert!(found.is_some(), "cut at {end}");
    }
    let mut changed = bytes.clone();
    for place in 0..bytes.len() {
        changed[place] ^= 1;
        let found = refusal(&changed, &dataset, &OPTIONS);
        assert!(found.is_some(), "changed at {place}");
        changed[place] ^= 1;
    }
    changed.push(0);
    let found = refusal(&changed, &dataset, &OPTIONS);
    assert_eq!(found, Some(StoredError::Damaged), "a byte too many");
}

#[test]
fn forged_bytes_never_make_a_search_panic() {
    let dataset = newest(60);
    let tuning = crate::search::Tuning {
        leaf_rows_max: 2,
        bitmap_rows_min: 40,
        union_steps_max: 20,
        unit_places_max: 1 << 20,
    };
    let index = Index::build_tuned(&dataset.reviews, &dataset.taxonomy, tuning, &OPTIONS);
    let bytes = encode(&index);
    let mut scratch = Scratch::default();
    let mut accepted = 0;
    for number in 0..400_usize {
        let mut forged = bytes.clone();
        let place = HEADER_BYTES + number * 7919 % (bytes.len() - HEADER_BYTES - SUM_BYTES);
        forged[place] = forged[place].wrapping_add(1 + (number % 255) as u8);
        seal(&mut forged);
        let Ok(index) = decode(&forged, &dataset, &OPTIONS) else {
            continue;
        };
        accepted += 1;
        for text in ["e", "th", "the", "attorney", "ñ", "."] {
            for sort in Sort::ALL {
                let filter = Filter {
                    text: Some(text),
                    ..Filter::ALL
                };
                let query = Query {
                    filter,
                    sort,
                    limit: 100,
                    cursor: None,
                    ignored: &[],
                };
                let _ = run(&index, &query, &mut scratch);
            }
        }
    }
    assert!(accepted > 0);
}
