//! What was encoded comes back, and nothing else does.

use std::convert::Infallible;
use std::num::NonZeroUsize;

use super::*;
use crate::dataset;
use crate::model::Dataset;
use crate::search::filter::{Filter, Query, Sort};
use crate::search::run::{Scratch, run};

const OPTIONS: IndexOptions = IndexOptions {
    memory_bytes: 1 << 30,
    threads: NonZeroUsize::MIN,
};
const DIGEST: [u8; 32] = [7; 32];

fn sample() -> Dataset {
    dataset::decode(dataset::embedded(), crate::clock::now())
        .expect("the sample is right")
        .dataset
}

fn encode(index: &Index, options: &IndexOptions) -> Vec<u8> {
    let mut bytes = Vec::new();
    let Ok(()) = index.encode::<Infallible>(&DIGEST, options, |part| {
        bytes.extend_from_slice(part);
        Ok(())
    });
    bytes
}

fn decode(bytes: &[u8], dataset: &Dataset) -> Result<Index, StoredError> {
    Index::decode(
        bytes,
        &DIGEST,
        &dataset.reviews,
        &dataset.taxonomy,
        &OPTIONS,
    )
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
    let back = decode(&encode(&index, &OPTIONS), &dataset).expect("its own bytes");
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
    let bytes = encode(&index, &options);
    let back = Index::decode(
        &bytes,
        &DIGEST,
        &dataset.reviews,
        &dataset.taxonomy,
        &options,
    );
    assert!(back.expect("its own bytes").tree.is_none());
}

#[test]
fn other_data_another_budget_and_another_version_are_told_apart() {
    let dataset = sample();
    let index = Index::build(&dataset.reviews, &dataset.taxonomy, &OPTIONS);
    let bytes = encode(&index, &OPTIONS);
    let with = |digest: &[u8; 32], reviews: &[Review], options: &IndexOptions| {
        Index::decode(&bytes, digest, reviews, &dataset.taxonomy, options).map(|_| ())
    };
    let budget = IndexOptions {
        memory_bytes: 1,
        ..OPTIONS
    };
    assert_eq!(
        with(&[8; 32], &dataset.reviews, &OPTIONS),
        Err(StoredError::Dataset)
    );
    assert_eq!(
        with(&DIGEST, &dataset.reviews[1..], &OPTIONS),
        Err(StoredError::Dataset)
    );
    assert_eq!(
        with(&DIGEST, &dataset.reviews, &budget),
        Err(StoredError::Budget)
    );
    let mut other = bytes.clone();
    other[15] += 1;
    assert_eq!(
        decode(&other, &dataset).map(|_| ()),
        Err(StoredError::Version)
    );
    assert_eq!(decode(b"", &dataset).map(|_| ()), Err(StoredError::Version));
}

#[test]
fn every_truncation_and_every_changed_byte_is_refused() {
    let dataset = sample();
    let reviews = Dataset {
        reviews: dataset.reviews[..3].to_vec(),
        ..dataset
    };
    let index = Index::build(&reviews.reviews, &reviews.taxonomy, &OPTIONS);
    let bytes = encode(&index, &OPTIONS);
    for end in 0..bytes.len() {
        assert!(decode(&bytes[..end], &reviews).is_err(), "cut at {end}");
    }
    let mut changed = bytes.clone();
    for place in 0..bytes.len() {
        changed[place] ^= 1;
        assert!(decode(&changed, &reviews).is_err(), "changed at {place}");
        changed[place] ^= 1;
    }
    changed.push(0);
    assert!(decode(&changed, &reviews).is_err(), "a byte too many");
}

#[test]
fn forged_bytes_never_make_a_search_panic() {
    let dataset = sample();
    let tuning = crate::search::Tuning {
        leaf_rows_max: 2,
        bitmap_rows_min: 40,
        union_steps_max: 20,
        unit_places_max: 1 << 20,
    };
    let index = Index::build_tuned(&dataset.reviews[..60], &dataset.taxonomy, tuning, &OPTIONS);
    let dataset = Dataset {
        reviews: dataset.reviews[..60].to_vec(),
        ..dataset
    };
    let bytes = encode(&index, &OPTIONS);
    let mut scratch = Scratch::default();
    let mut accepted = 0;
    for number in 0..400_usize {
        let mut forged = bytes.clone();
        let place = HEADER_BYTES + number * 7919 % (bytes.len() - HEADER_BYTES - SUM_BYTES);
        forged[place] = forged[place].wrapping_add(1 + (number % 255) as u8);
        seal(&mut forged);
        let Ok(index) = decode(&forged, &dataset) else {
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
