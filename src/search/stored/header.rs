//! What stands before the arrays.

use super::nodes::NODE_BYTES;
use super::{MAGIC, OTHER_BYTES, SUM_BYTES};
use crate::search::arena::Arena;
use crate::search::tree::Tree;

/// Arrays of a tree.
pub(super) const ARRAYS: usize = 7;
/// Where the numbers of a header begin.
pub(super) const NUMBERS_FROM: usize = MAGIC.len() + SUM_BYTES;
/// Magic, sum of the texts, their rows and bytes, budget, lengths of the arrays, whether lists are tight.
pub(super) const HEADER_BYTES: usize = NUMBERS_FROM + (3 + ARRAYS + 1) * 8;

/// What an index was built of.
#[derive(Clone, Copy, Debug)]
pub struct Origin {
    pub(super) texts_sum: [u8; SUM_BYTES],
    pub(super) rows: u64,
    pub(super) texts_bytes: u64,
    /// The budget of the tree.
    pub(super) memory_bytes: u64,
}

/// What stands before the arrays.
#[derive(Debug)]
pub(super) struct Header {
    pub(super) origin: Origin,
    /// Entries of nodes, labels, leaves, lists, starts of own lists, own lists, and words of bitmaps.
    pub(super) lengths: [u64; ARRAYS],
    /// Whether the lists of leaves are tight ones.
    pub(super) is_tight: bool,
}

impl Header {
    /// Returns the header of the index of `arena` that is `tree`, built within `memory_bytes`. Costs a sum of all texts.
    pub(super) fn of(tree: &Tree, arena: &Arena, memory_bytes: u64) -> Header {
        let words: usize = tree.bitmaps.iter().map(|words| words.len()).sum();
        let lengths = [
            tree.nodes.len(),
            tree.labels.len(),
            tree.leaves.len(),
            tree.lists.len(),
            tree.own_starts.len(),
            tree.own.len(),
            words,
        ];
        Header {
            origin: Origin {
                texts_sum: arena.sum(),
                rows: u64::from(arena.rows()),
                texts_bytes: arena.len(),
                memory_bytes,
            },
            lengths: lengths.map(|length| length as u64),
            is_tight: tree.is_tight,
        }
    }

    /// Returns the header's bytes.
    pub(super) fn render(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        let Origin {
            texts_sum,
            rows,
            texts_bytes,
            memory_bytes,
        } = self.origin;
        bytes[..MAGIC.len()].copy_from_slice(MAGIC);
        bytes[MAGIC.len()..NUMBERS_FROM].copy_from_slice(&texts_sum);
        let numbers = [rows, texts_bytes, memory_bytes];
        let places = bytes[NUMBERS_FROM..].as_chunks_mut().0;
        for (place, number) in places.iter_mut().zip(
            numbers
                .into_iter()
                .chain(self.lengths)
                .chain([u64::from(self.is_tight)]),
        ) {
            *place = number.to_le_bytes();
        }
        bytes
    }

    /// Takes the header of `bytes`; `None` where they are not one of this version.
    pub(super) fn parse(bytes: &[u8; HEADER_BYTES]) -> Option<Header> {
        let rest = bytes.strip_prefix(MAGIC)?;
        let (texts_sum, rest) = rest.split_first_chunk()?;
        let mut numbers = rest
            .as_chunks()
            .0
            .iter()
            .map(|place| u64::from_le_bytes(*place));
        let mut next = || numbers.next().unwrap_or_default();
        Some(Header {
            origin: Origin {
                texts_sum: *texts_sum,
                rows: next(),
                texts_bytes: next(),
                memory_bytes: next(),
            },
            lengths: std::array::from_fn(|_| next()),
            is_tight: match next() {
                0 => false,
                1 => true,
                _ => return None,
            },
        })
    }

    /// Returns the bytes of everything together; `None` where they are too many to count.
    pub(super) fn bytes(&self) -> Option<u64> {
        const EACH: [u64; ARRAYS] = [NODE_BYTES as u64, 1, 4, 1, 4, 1, 8];
        let mut total = OTHER_BYTES;
        for (length, each) in self.lengths.iter().zip(EACH) {
            total = total.checked_add(length.checked_mul(each)?)?;
        }
        Some(total)
    }
}
