//! All folded texts in one run of bytes, with marks that tell where words begin.

use crate::model::Review;
use crate::search::fold::fold_into;
use crate::search::words::words_after_signs;
use memchr::memchr;
use std::num::NonZeroUsize;
use std::thread;

/// The folded texts of all reviews, row after row: [`START`] and the text, then [`START`] and each word of it that
/// follows another sign than a space, then [`START`] and [`END`]; an empty text is [`END`] alone.
///
/// So a word begins where a space or [`START`] precedes it, and two needles find it everywhere. No UTF-8 text holds
/// either mark: no match crosses two reviews, and the words behind a text add none to it.
#[derive(Clone, Debug)]
pub(in crate::search) struct Arena {
    bytes: Vec<u8>,
    /// Where each row's text starts, and one entry past the last.
    starts: Vec<u64>,
    /// Rows whose words behind signs are not listed, ascending.
    unlisted: Vec<u32>,
}

/// Precedes each text that is not empty, and each word that follows another sign than a space; follows the last one.
pub(in crate::search) const START: u8 = 0xfe;

/// Closes each text.
pub(in crate::search) const END: u8 = 0xff;

/// Bytes of `END` after the last text, so that eight bytes can be read from any place of a text.
const PADDING: usize = 8;

/// The words listed behind a text, with their marks, take at most its own length and this many bytes; of a text with
/// more, which letters and signs in turn make, none is listed, and every search for words looks at the text.
const LISTED_BYTES_SPARE: usize = 64;

impl Arena {
    /// Folds the texts of `reviews` on up to `threads` threads.
    pub(in crate::search) fn build(reviews: &[Review], threads: NonZeroUsize) -> Arena {
        let share = reviews.len().div_ceil(threads.get()).max(1);
        let parts: Vec<Part> = thread::scope(|scope| {
            let spawn = |texts| {
                let work = move || Part::of(texts);
                (texts, thread::Builder::new().spawn_scoped(scope, work).ok())
            };
            let spawned: Vec<_> = reviews.chunks(share).map(spawn).collect();
            // Where the system gives no thread, this one does its share.
            let part = |(texts, thread): (_, Option<thread::ScopedJoinHandle<'_, Part>>)| {
                let part = thread.and_then(|thread| thread.join().ok());
                part.unwrap_or_else(|| Part::of(texts))
            };
            spawned.into_iter().map(part).collect()
        });
        let len: usize = parts.iter().map(|part| part.bytes.len()).sum();
        let mut arena = Arena {
            bytes: Vec::with_capacity(len + PADDING),
            starts: Vec::with_capacity(reviews.len() + 1),
            unlisted: Vec::new(),
        };
        for part in parts {
            let (start, row) = (arena.bytes.len() as u64, arena.starts.len() as u32);
            arena.starts.extend(part.starts.iter().map(|at| at + start));
            let unlisted = part.unlisted.iter().map(|at| at + row);
            arena.unlisted.extend(unlisted);
            arena.bytes.extend_from_slice(&part.bytes);
        }
        arena.starts.push(arena.bytes.len() as u64);
        arena.bytes.extend_from_slice(&[END; PADDING]);
        arena
    }

    /// Returns the number of texts.
    pub(in crate::search) fn rows(&self) -> u32 {
        (self.starts.len() - 1) as u32
    }

    /// Returns the folded text of `row`, which is below [`Arena::rows`], with its marks and the words behind it.
    pub(in crate::search) fn row(&self, row: u32) -> &[u8] {
        let row = row as usize;
        &self.bytes[self.starts[row] as usize..self.starts[row + 1] as usize - 1]
    }

    /// Returns the folded text of `row`, which is below [`Arena::rows`].
    pub(in crate::search) fn text(&self, row: u32) -> &[u8] {
        let text = self.row(row).get(1..).unwrap_or_default();
        &text[..memchr(START, text).unwrap_or(text.len())]
    }

    /// Returns the rows of which any word may begin where neither a space nor [`START`] precedes it.
    pub(in crate::search) fn unlisted(&self) -> &[u32] {
        &self.unlisted
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
        (self.bytes.capacity() + self.starts.capacity() * 8 + self.unlisted.capacity() * 4) as u64
    }
}

/// Some texts, folded, with places from the first of them on.
#[derive(Default)]
struct Part {
    bytes: Vec<u8>,
    starts: Vec<u64>,
    unlisted: Vec<u32>,
}

impl Part {
    fn of(reviews: &[Review]) -> Part {
        // Words behind the text take a twentieth of it in most languages.
        let room = |review: &Review| review.text.len() + review.text.len() / 8 + 3;
        let mut part = Part {
            bytes: Vec::with_capacity(reviews.iter().map(room).sum()),
            starts: Vec::with_capacity(reviews.len()),
            unlisted: Vec::new(),
        };
        let mut folded = String::new();
        for review in reviews {
            folded.clear();
            fold_into(&review.text, &mut folded);
            part.push(&folded);
        }
        part
    }

    fn push(&mut self, folded: &str) {
        let row = self.starts.len() as u32;
        self.starts.push(self.bytes.len() as u64);
        if !folded.is_empty() {
            self.bytes.push(START);
            self.bytes.extend_from_slice(folded.as_bytes());
            let listed = self.bytes.len();
            for word in words_after_signs(folded) {
                self.bytes.push(START);
                self.bytes.extend_from_slice(word.as_bytes());
                if self.bytes.len() - listed > folded.len() + LISTED_BYTES_SPARE {
                    self.bytes.truncate(listed);
                    self.unlisted.push(row);
                    break;
                }
            }
            self.bytes.push(START);
        }
        self.bytes.push(END);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::tests::reviews;
    use proptest::prelude::*;

    fn part(texts: &[&str]) -> Part {
        let mut part = Part::default();
        texts.iter().for_each(|text| part.push(text));
        part
    }

    #[test]
    fn words_after_signs_stand_behind_their_text() {
        let part = part(&["it's a (red) car", ""]);
        assert_eq!(part.bytes, b"\xfeit's a (red) car\xfes\xfered)\xfe\xff\xff");
        assert_eq!(part.starts, [0, 26]);
    }

    #[test]
    fn words_behind_a_text_are_listed_up_to_its_length_and_64_bytes() {
        // Each letter after a sign lists the 32 bytes that follow; the last ones fewer.
        let text = |letters: usize| "-a".repeat(letters);
        for letters in 1..40 {
            let text = text(letters);
            let listed: usize = words_after_signs(&text).map(|word| word.len() + 1).sum();
            let part = part(&["b", &text]);
            let is_listed = listed <= text.len() + LISTED_BYTES_SPARE;
            assert_eq!(part.unlisted, [1][usize::from(is_listed)..]);
            let behind = if is_listed { listed } else { 0 };
            assert_eq!(part.bytes.len(), 4 + 1 + text.len() + behind + 2);
        }
        assert_eq!(part(&[&text(8)]).unlisted, [0_u32; 0]);
        assert_eq!(part(&[&text(10)]).unlisted, [0]);
    }

    proptest! {
        #[test]
        fn threads_that_share_an_arena_fill_it_like_one(
            texts in proptest::collection::vec("[aBe\u{301} '-]{0,30}", 0..12),
            threads in 1..6_usize,
        ) {
            let reviews = reviews(&texts);
            let arena = |threads| Arena::build(&reviews, NonZeroUsize::new(threads).expect("threads"));
            let (one, several) = (arena(1), arena(threads));
            prop_assert_eq!(&one.bytes, &several.bytes);
            prop_assert_eq!(&one.starts, &several.starts);
            prop_assert_eq!(&one.unlisted, &several.unlisted);
            for (row, text) in (0..).zip(&texts) {
                let mut folded = String::new();
                fold_into(text, &mut folded);
                prop_assert_eq!(one.text(row), folded.as_bytes());
            }
        }
    }
}
