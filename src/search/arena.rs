//! All folded texts in one run of bytes, with marks that tell where words begin.

use crate::model::Review;
use crate::search::fold::fold_into;
use crate::search::words::words_after_signs;
use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};
use std::thread;

/// The folded texts of all reviews, row after row: [`START`] and the text, then [`START`] and each word of it that
/// follows another sign than a space, then [`END`].
///
/// So a word begins where a space or [`START`] precedes it, and two needles find it everywhere. No UTF-8 text holds
/// either mark: no match crosses two reviews, and the words behind a text add none to it.
#[derive(Clone, Debug)]
pub(in crate::search) struct Arena {
    bytes: Vec<u8>,
    /// Where each row's text starts, and one entry past the last.
    starts: Vec<u64>,
}

/// Precedes each text that is not empty, and each word that follows another sign than a space.
pub(in crate::search) const START: u8 = 0xfe;

/// Closes each text.
pub(in crate::search) const END: u8 = 0xff;

/// Bytes of `END` after the last text, so that eight bytes can be read from any place of a text.
const PADDING: usize = 8;

impl Arena {
    /// Folds the texts of `reviews` on up to `threads` threads, each of which writes to its place in the arena: folding
    /// mostly keeps a text's length, and memory that is touched once costs half of what a copy of it does.
    pub(in crate::search) fn build(reviews: &[Review], threads: NonZeroUsize) -> Arena {
        let share = reviews.len().div_ceil(threads.get()).max(1);
        // Words behind the text take a twentieth of it in most languages.
        let room = |review: &Review| review.text.len() + review.text.len() / 8 + 2;
        let room_of = |part: &[Review]| part.iter().map(room).sum();
        let rooms: Vec<usize> = reviews.chunks(share).map(room_of).collect();
        let mut bytes = vec![0; rooms.iter().sum::<usize>() + PADDING];
        let mut parts = vec![Part::default(); rooms.len()];
        let mut jobs = Vec::with_capacity(rooms.len());
        let mut rest = bytes.as_mut_slice();
        for ((texts, room), part) in reviews.chunks(share).zip(&rooms).zip(&mut parts) {
            let (room, after) = rest.split_at_mut(*room);
            rest = after;
            jobs.push((texts, room, part));
        }
        let jobs = Mutex::new(jobs);
        let next = || jobs.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let work = || {
            while let Some((texts, room, part)) = next() {
                part.fold(texts, room);
            }
        };
        thread::scope(|scope| {
            for _ in 1..threads.get() {
                // Where the system gives no thread, the others do its share.
                let _refused = thread::Builder::new().spawn_scoped(scope, work);
            }
            work();
        });
        Arena::of(bytes, &rooms, &parts)
    }

    /// Puts `parts` together, each of which was given its share of `bytes` as `rooms` tell.
    fn of(mut bytes: Vec<u8>, rooms: &[usize], parts: &[Part]) -> Arena {
        let rows: usize = parts.iter().map(|part| part.lengths.len()).sum();
        let mut starts = Vec::with_capacity(rows + 1);
        let mut end = 0;
        for length in parts.iter().flat_map(|part| &part.lengths) {
            starts.push(end);
            end += u64::from(*length);
        }
        starts.push(end);
        if parts.iter().all(|part| part.spill.is_empty()) {
            let (mut from, mut to) = (0, 0);
            for (room, part) in rooms.iter().zip(parts) {
                bytes.copy_within(from..from + part.used, to);
                from += room;
                to += part.used;
            }
            bytes.truncate(to);
        } else {
            let held = bytes;
            bytes = Vec::with_capacity(end as usize + PADDING);
            let mut from = 0;
            for (room, part) in rooms.iter().zip(parts) {
                bytes.extend_from_slice(&held[from..from + part.used]);
                bytes.extend_from_slice(&part.spill);
                from += room;
            }
        }
        bytes.extend_from_slice(&[END; PADDING]);
        bytes.shrink_to_fit();
        Arena { bytes, starts }
    }

    /// Returns the number of texts.
    pub(in crate::search) fn rows(&self) -> u32 {
        (self.starts.len() - 1) as u32
    }

    /// Returns the folded text of `row`, which is below [`Arena::rows`], with its marks and the words behind it.
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

    /// Returns the bytes that texts and starts take.
    pub(in crate::search) fn memory(&self) -> u64 {
        self.bytes.capacity() as u64 + self.starts.capacity() as u64 * 8
    }
}

/// Some texts, folded.
#[derive(Clone, Debug, Default)]
struct Part {
    /// Of each text with all that belongs to it, which fits as no text is longer than 64 KiB.
    lengths: Vec<u32>,
    /// Bytes of the room that are taken.
    used: usize,
    /// The texts from the first one on for which there was no room, as some letters fold to longer ones.
    spill: Vec<u8>,
}

impl Part {
    /// Folds the texts of `reviews` into `room`.
    fn fold(&mut self, reviews: &[Review], room: &mut [u8]) {
        self.lengths.reserve_exact(reviews.len());
        let (mut folded, mut row) = (String::new(), Vec::new());
        for review in reviews {
            folded.clear();
            fold_into(&review.text, &mut folded);
            push_row(&folded, &mut row);
            self.lengths.push(row.len() as u32);
            match room.get_mut(self.used..self.used + row.len()) {
                Some(room) if self.spill.is_empty() => {
                    room.copy_from_slice(&row);
                    self.used += row.len();
                }
                _ => self.spill.extend_from_slice(&row),
            }
        }
    }
}

/// Replaces `row` by what the arena holds of a folded text.
fn push_row(folded: &str, row: &mut Vec<u8>) {
    row.clear();
    if !folded.is_empty() {
        row.push(START);
        row.extend_from_slice(folded.as_bytes());
    }
    for word in words_after_signs(folded) {
        row.push(START);
        row.extend_from_slice(word.as_bytes());
    }
    row.push(END);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::tests::reviews;
    use proptest::prelude::*;

    #[test]
    fn words_after_signs_stand_behind_their_text() {
        let mut row = Vec::new();
        push_row("it's a (red) car", &mut row);
        assert_eq!(row, b"\xfeit's a (red) car\xfes\xfered)\xff");
        push_row("", &mut row);
        assert_eq!(row, b"\xff");
    }

    proptest! {
        // U+023A folds to a letter of one byte more, U+212A to one of two bytes fewer.
        #[test]
        fn threads_that_share_an_arena_fill_it_like_one(
            texts in proptest::collection::vec("[aB\u{23a}\u{212a}e\u{301} '-]{0,6}", 0..12),
            threads in 1..6_usize,
        ) {
            let reviews = reviews(&texts);
            let arena = Arena::build(&reviews, NonZeroUsize::new(threads).expect("threads"));
            let mut bytes = Vec::new();
            for (row, text) in (0..).zip(&texts) {
                let mut folded = String::new();
                fold_into(text, &mut folded);
                prop_assert_eq!(arena.start(row), bytes.len() as u64);
                let mut held = Vec::new();
                push_row(&folded, &mut held);
                prop_assert_eq!(arena.text(row), &held[..held.len() - 1]);
                bytes.extend(held);
            }
            prop_assert_eq!(arena.len(), bytes.len() as u64);
            bytes.extend_from_slice(&[END; PADDING]);
            prop_assert_eq!(arena.bytes(), &bytes[..]);
        }
    }
}
