//! What was encoded comes back, and nothing else does.

use std::convert::Infallible;
use std::num::NonZeroUsize;

use sha2::{Digest, Sha256};

use super::header::{ARRAYS, NUMBERS_FROM};
use super::*;
use crate::dataset;
use crate::model::Dataset;
use crate::search::index::Index;

mod forged;

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

/// Reads `bytes` as the index of `dataset`, and makes sure that nothing beyond them is asked for, and that reading
/// ahead of knowing the dataset ends alike.
fn decode(
    bytes: &[u8],
    dataset: &Dataset,
    options: &IndexOptions,
) -> Result<Index, StoredError<&'static str>> {
    let mut refusal = None;
    let index = Index::build_or_restore(&dataset.reviews, &dataset.taxonomy, options, |wanted| {
        let restored = wanted.decode(bytes.len() as u64, source(bytes));
        let ahead =
            read_ahead(bytes, options.memory_bytes).and_then(|stored| wanted.accept(stored));
        assert_eq!(
            restored.as_ref().ok().map(|restored| &restored.tree),
            ahead.as_ref().ok().map(|ahead| &ahead.tree)
        );
        restored.map_err(|error| refusal = Some(error)).ok()
    });
    match refusal {
        Some(error) => Err(error),
        None => Ok(index),
    }
}

/// Reads `bytes` as a start does that does not know the texts yet.
fn read_ahead(bytes: &[u8], memory_max: u64) -> Result<Stored, StoredError<&'static str>> {
    Reading::begin(bytes.len() as u64, memory_max, source(bytes))?.finish()
}

/// Hands over `bytes` and nothing beyond them.
fn source(bytes: &[u8]) -> impl FnMut(&mut [u8]) -> Result<(), &'static str> {
    let mut rest = bytes;
    move |part| {
        let (taken, after) = rest.split_at_checked(part.len()).ok_or("too short")?;
        part.copy_from_slice(taken);
        rest = after;
        Ok(())
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

#[test]
fn an_index_that_was_read_ahead_of_its_texts_is_judged_by_them() {
    let dataset = sample();
    let index = Index::build(&dataset.reviews, &dataset.taxonomy, &OPTIONS);
    let bytes = encode(&index);
    let read = |memory_max| read_ahead(&bytes, memory_max);
    assert!(read(OPTIONS.memory_bytes).is_ok());
    let refused = read(OPTIONS.memory_bytes - 1).err();
    assert_eq!(refused, Some(StoredError::Budget), "nothing was read of it");
    let mut other = dataset.clone();
    other.reviews.swap(0, 1);
    let larger = IndexOptions {
        memory_bytes: OPTIONS.memory_bytes + 1,
        ..OPTIONS
    };
    for (reviews, options, expected) in [
        (&dataset.reviews, &OPTIONS, None),
        (&other.reviews, &OPTIONS, Some(StoredError::Texts)),
        (&dataset.reviews, &larger, Some(StoredError::Budget)),
    ] {
        let arena = Arena::build(reviews, OPTIONS.threads);
        let arena = &arena;
        let wanted = Wanted { arena, options };
        let stored = read(OPTIONS.memory_bytes).expect("its own bytes");
        let accepted = wanted.accept::<&str>(stored);
        assert_eq!(accepted.err(), expected);
    }
}

#[test]
fn other_texts_and_another_budget_are_told_by_the_header_alone() {
    let (few, more) = (newest(3), newest(4));
    let index = Index::build(&few.reviews, &few.taxonomy, &OPTIONS);
    let bytes = encode(&index);
    let mut asked = 0;
    let mut take = source(&bytes);
    let reading = Reading::begin(bytes.len() as u64, u64::MAX, |part| {
        asked += 1;
        take(part)
    });
    let origin = *reading.expect("its own bytes").origin();
    assert_eq!(asked, 1);
    let arenas = [&few, &more].map(|dataset| Arena::build(&dataset.reviews, OPTIONS.threads));
    let larger = IndexOptions {
        memory_bytes: OPTIONS.memory_bytes + 1,
        ..OPTIONS
    };
    for (arena, options, expected) in [
        (&arenas[0], &OPTIONS, Ok(())),
        (&arenas[1], &OPTIONS, Err(StoredError::Texts)),
        (&arenas[0], &larger, Err(StoredError::Budget)),
    ] {
        let wanted = Wanted { arena, options };
        assert_eq!(wanted.check::<&str>(&origin), expected);
    }
}

/// Replaces the sum at the end by that of the bytes before it, as a forger would.
fn seal(bytes: &mut [u8]) {
    let end = bytes.len() - SUM_BYTES;
    let mut sum = Checksum::new();
    sum.update(&bytes[..end]);
    bytes[end..].copy_from_slice(&sum.finish());
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
            origin: Origin {
                texts_sum: arena.sum(),
                rows: 3,
                texts_bytes: arena.len(),
                memory_bytes: OPTIONS.memory_bytes,
            },
            lengths: [0, words, 0, 0, 0, 0, 0],
            is_tight: false,
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

/// A dataset whose index never changes with the sample.
fn fixed() -> Dataset {
    let mut dataset = sample();
    let words = "The LAWYER was kind, Élodie explained each step of a probate: ñandú straße 你好 "
        .split_inclusive(' ')
        .collect::<Vec<_>>();
    let mut state = 1_u32;
    let first = dataset.reviews[0].clone();
    dataset.reviews = (0..600)
        .map(|_| {
            let mut review = first.clone();
            review.text.clear();
            for _ in 0..20 {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                review
                    .text
                    .push_str(words[(state >> 16) as usize % words.len()]);
            }
            review
        })
        .collect();
    dataset
}

#[test]
fn what_is_stored_does_not_change_within_a_version() {
    let dataset = fixed();
    let mut sum = Sha256::new();
    for memory_bytes in [0, 1 << 16, 1 << 17, 1 << 20, 1 << 30] {
        let options = IndexOptions {
            memory_bytes,
            ..OPTIONS
        };
        let index = Index::build(&dataset.reviews, &dataset.taxonomy, &options);
        sum.update(encode(&index));
    }
    let hex: String = sum
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    assert_eq!(
        (MAGIC[MAGIC.len() - 1], hex.as_str()),
        (
            6,
            "9370edd0ba370e9f484f3d7f2c5db471218473bdc4d1e1e433dd4ff6a55c90f3"
        ),
        "indexes that earlier programs have stored would be taken for today's: raise the last byte of MAGIC in \
         stored.rs, then put it and the new sum here"
    );
}
