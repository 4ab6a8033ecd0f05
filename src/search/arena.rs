//! All folded texts in one run of bytes.

use crate::model::Review;
use crate::search::fold::fold_into;
use sha2::{Digest, Sha256};
use std::num::NonZeroUsize;
use std::thread;

/// The folded texts of all reviews, row after row, each closed by a byte that no UTF-8 text holds, so that no match crosses two reviews.
#[derive(Clone, Debug)]
pub(in crate::search) struct Arena {
    bytes: Vec<u8>,
    /// Where each row's text starts, and one entry past the last.
    starts: Vec<u64>,
}

/// Closes each text.
pub(in crate::search) const END: u8 = 0xff;

/// Bytes of `END` after the last text, so that eight bytes can be read from any place of a text.
const PADDING: usize = 8;

impl Arena {
    /// Folds the texts of `reviews` on up to `threads` threads.
    pub(in crate::search) fn build(reviews: &[Review], threads: NonZeroUsize) -> Arena {
        let share = reviews.len().div_ceil(threads.get()).max(1);
        let parts: Vec<(Vec<u8>, Vec<u64>)> = thread::scope(|scope| {
            let workers: Vec<_> = reviews
                .chunks(share)
                .map(|part| {
                    let spawned = thread::Builder::new().spawn_scoped(scope, || fold_part(part));
                    spawned.map_err(|_refused| part)
                })
                .collect();
            workers
                .into_iter()
                .map(|worker| match worker {
                    Ok(thread) => thread.join().expect("folding has no panic"),
                    Err(part) => fold_part(part),
                })
                .collect()
        });
        let total: usize = parts.iter().map(|(bytes, _)| bytes.len()).sum();
        let mut arena = Arena {
            bytes: Vec::with_capacity(total + PADDING),
            starts: Vec::with_capacity(reviews.len() + 1),
        };
        for (bytes, lengths) in parts {
            let mut start = arena.bytes.len() as u64;
            for length in lengths {
                arena.starts.push(start);
                start += length;
            }
            arena.bytes.extend_from_slice(&bytes);
        }
        arena.starts.push(total as u64);
        arena.bytes.extend_from_slice(&[END; PADDING]);
        arena
    }

    /// Returns the number of texts.
    pub(in crate::search) fn rows(&self) -> u32 {
        (self.starts.len() - 1) as u32
    }

    /// Returns the folded text of `row`, which is below [`Arena::rows`].
    pub(in crate::search) fn text(&self, row: u32) -> &[u8] {
        let row = row as usize;
        &self.bytes[self.starts[row] as usize..self.starts[row + 1] as usize - 1]
    }

    /// Returns the length of all texts with their closing bytes.
    pub(in crate::search) fn len(&self) -> u64 {
        (self.bytes.len() - PADDING) as u64
    }

    /// Returns all bytes, with some closing bytes more than [`Arena::len`].
    pub(in crate::search) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns where the text of `row` starts in [`Arena::bytes`]; `row` is at most [`Arena::rows`].
    pub(in crate::search) fn start(&self, row: u32) -> u64 {
        self.starts[row as usize]
    }

    /// Returns the row of the text that holds `position`, which is in the text of `from` or later.
    ///
    /// Steps that double find it, so that a near row is found soon.
    pub(in crate::search) fn row_at(&self, position: u64, from: u32) -> u32 {
        let starts = &self.starts[from as usize + 1..];
        let mut bound = 1;
        while bound < starts.len() && starts[bound] <= position {
            bound *= 2;
        }
        let near = &starts[bound / 2..bound.min(starts.len())];
        from + (bound / 2 + near.partition_point(|start| *start <= position)) as u32
    }

    /// Returns the SHA-256 of all texts, which tells whether another arena is the same.
    pub(in crate::search) fn sum(&self) -> [u8; 32] {
        Sha256::digest(&self.bytes).into()
    }

    /// Returns the bytes that texts and starts take.
    pub(in crate::search) fn memory(&self) -> u64 {
        self.bytes.capacity() as u64 + self.starts.capacity() as u64 * 8
    }
}

fn fold_part(reviews: &[Review]) -> (Vec<u8>, Vec<u64>) {
    let mut bytes = Vec::with_capacity(reviews.iter().map(|review| review.text.len() + 1).sum());
    let mut lengths = Vec::with_capacity(reviews.len());
    let mut folded = String::new();
    for review in reviews {
        folded.clear();
        fold_into(&review.text, &mut folded);
        bytes.extend_from_slice(folded.as_bytes());
        bytes.push(END);
        lengths.push(folded.len() as u64 + 1);
    }
    (bytes, lengths)
}
