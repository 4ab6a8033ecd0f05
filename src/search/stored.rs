//! The bytes in which an index outlives the process: only the gram tree, as everything else is made sooner than read.
//!
//! A header names the version, the folded texts, the budget and the length of each array; a sum of all bytes
//! stands at the end. What it lets through is checked all the same, so that no bytes can make a search panic or run
//! without end. Bytes are read part by part into the arrays of the tree, so that no second copy is ever in memory.

mod checksum;
mod encode;
mod header;
mod nodes;

use std::fmt;
use std::thread;

use crate::search::arena::Arena;
use crate::search::index::IndexOptions;
use crate::search::rows::words_for;
use crate::search::tree::Tree;
pub(crate) use checksum::{Checksum, SUM_BYTES};
pub use header::Origin;
use header::{HEADER_BYTES, Header};
use nodes::{decode_node, is_sound};

/// Changes with every change of the format, of folding, or of what a tree holds.
const MAGIC: &[u8; 16] = b"reviewd-index\0\0\x06";

/// What stands around the arrays.
const OTHER_BYTES: u64 = (HEADER_BYTES + SUM_BYTES) as u64;
/// Bytes that are handed on at once.
const PART_BYTES: usize = 1 << 20;

/// Why bytes are not the index that is asked for. All but `Source` are the fault of the bytes; the answer to each is
/// to build anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoredError<E> {
    /// It is not an index, or one of another version of this program.
    Version,
    /// It was built of other texts.
    Texts,
    /// It was built within another budget.
    Budget,
    /// It is incomplete, or was changed after it was written.
    Damaged,
    /// The bytes cannot be had.
    Source(E),
}

impl<E: fmt::Display> fmt::Display for StoredError<E> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            StoredError::Version => "it is not an index of this version",
            StoredError::Texts => "it is of other texts",
            StoredError::Budget => "it was built for another --search-memory",
            StoredError::Damaged => "it is damaged",
            StoredError::Source(error) => return error.fmt(formatter),
        })
    }
}

/// What a stored index must have been built of to be taken in place of a new one.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    pub(in crate::search) arena: &'a Arena,
    pub(in crate::search) options: &'a IndexOptions,
}

/// A tree that was read and fits.
#[derive(Debug)]
pub struct Restored {
    /// `None` where the budget is too small for any tree.
    pub(in crate::search) tree: Option<Tree>,
}

/// An index that was read whole, undamaged and sound, before anybody could tell whether it is the one that is wanted.
#[derive(Debug)]
pub struct Stored {
    origin: Origin,
    tree: Option<Tree>,
}

/// An index of which no more than the header was read.
#[derive(Debug)]
pub struct Reading<S> {
    input: In<S>,
    header: Header,
}

impl<E, S: FnMut(&mut [u8]) -> Result<(), E>> Reading<S> {
    /// Begins to take an index that [`Index::encode`](crate::search::index::Index::encode) wrote for whatever texts,
    /// within a budget of at most `memory_max` bytes, out of `bytes` bytes, which `source` hands over in order, filling
    /// each buffer that it is given. Asks for the header alone, which [`Wanted::check`] judges.
    ///
    /// # Errors
    /// [`StoredError`], but for `Texts`, of which nothing is known yet.
    pub fn begin(bytes: u64, memory_max: u64, source: S) -> Result<Reading<S>, StoredError<E>> {
        let mut input = In::new(source);
        let header = input.header(bytes)?;
        match header.origin.memory_bytes <= memory_max {
            true => Ok(Reading { input, header }),
            false => Err(StoredError::Budget),
        }
    }

    /// Returns what the index was built of, as its header tells.
    #[must_use]
    pub fn origin(&self) -> &Origin {
        &self.header.origin
    }

    /// Reads the rest; [`Wanted::accept`] tells whether it fits. Holds no more memory than the tree and a part of 1 MiB.
    ///
    /// # Errors
    /// [`StoredError`], but for `Texts` and `Budget`.
    pub fn finish(self) -> Result<Stored, StoredError<E>> {
        self.input.stored(self.header)
    }
}

impl Wanted<'_> {
    /// Returns the bytes of all folded texts, from which one may judge whether an index is worth storing.
    #[must_use]
    pub fn texts_bytes(&self) -> u64 {
        self.arena.len()
    }

    /// Takes the index that [`Index::encode`](crate::search::index::Index::encode) wrote for the same texts and options out of `bytes` bytes, which
    /// `source` hands over in order, filling each buffer that it is given.
    ///
    /// Holds no more memory than the tree and a part of 1 MiB, and none of it before the header fits.
    ///
    /// # Errors
    /// [`StoredError`] for any other bytes, and where `source` fails.
    pub fn decode<E>(
        &self,
        bytes: u64,
        source: impl FnMut(&mut [u8]) -> Result<(), E>,
    ) -> Result<Restored, StoredError<E>> {
        let mut input = In::new(source);
        let header = input.header(bytes)?;
        self.check(&header.origin)?;
        // The sum of the texts costs about as much as reading: both at once.
        let (sum, stored) = thread::scope(|scope| {
            let sum = thread::Builder::new().spawn_scoped(scope, || self.arena.sum());
            let stored = input.stored(header);
            let sum = match sum {
                Ok(thread) => thread.join().expect("summing has no panic"),
                Err(_refused) => self.arena.sum(),
            };
            (sum, stored)
        });
        judge(stored?, &sum)
    }

    /// Takes `stored` if it was built of the same texts and options; costs a sum of all texts.
    ///
    /// # Errors
    /// [`StoredError::Texts`] and [`StoredError::Budget`]; what was stored is gone then.
    pub fn accept<E>(&self, stored: Stored) -> Result<Restored, StoredError<E>> {
        self.check(&stored.origin)?;
        judge(stored, &self.arena.sum())
    }

    /// Checks what can be told without the texts' sum, at no cost.
    ///
    /// # Errors
    /// [`StoredError::Texts`] and [`StoredError::Budget`].
    pub fn check<E>(&self, origin: &Origin) -> Result<(), StoredError<E>> {
        if (origin.rows, origin.texts_bytes) != (u64::from(self.arena.rows()), self.arena.len()) {
            return Err(StoredError::Texts);
        }
        match origin.memory_bytes == self.options.memory_bytes {
            true => Ok(()),
            false => Err(StoredError::Budget),
        }
    }
}

/// Returns what `stored` holds, if its texts have this `sum`.
fn judge<E>(stored: Stored, sum: &[u8; SUM_BYTES]) -> Result<Restored, StoredError<E>> {
    match stored.origin.texts_sum == *sum {
        true => Ok(Restored { tree: stored.tree }),
        false => Err(StoredError::Texts),
    }
}

/// Reads part by part and sums up.
#[derive(Debug)]
struct In<S> {
    source: S,
    sum: Checksum,
    part: Vec<u8>,
}

impl<E, S: FnMut(&mut [u8]) -> Result<(), E>> In<S> {
    fn new(source: S) -> In<S> {
        In {
            source,
            sum: Checksum::new(),
            part: Vec::new(),
        }
    }

    /// Reads the header of an index of `bytes` bytes, and checks what can be told of any.
    fn header(&mut self, bytes: u64) -> Result<Header, StoredError<E>> {
        let mut header = [0; HEADER_BYTES];
        if bytes < OTHER_BYTES {
            return Err(StoredError::Version);
        }
        self.fill(&mut header)?;
        let header = Header::parse(&header).ok_or(StoredError::Version)?;
        // What a tree takes in memory is within the budget, and no part of it takes more as bytes.
        let bytes_max = header.origin.memory_bytes.saturating_add(OTHER_BYTES);
        match header.bytes() == Some(bytes) && bytes <= bytes_max {
            true => Ok(header),
            false => Err(StoredError::Damaged),
        }
    }

    /// Reads what follows `header`, to the end.
    fn stored(mut self, header: Header) -> Result<Stored, StoredError<E>> {
        let origin = header.origin;
        let rows = u32::try_from(origin.rows).map_err(|_| StoredError::Damaged)?;
        let tree = self.tree(&header, rows)?;
        self.end()?;
        match tree
            .as_ref()
            .is_none_or(|tree| is_sound(tree, rows, origin.texts_bytes))
        {
            true => Ok(Stored { origin, tree }),
            false => Err(StoredError::Damaged),
        }
    }

    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), StoredError<E>> {
        (self.source)(bytes).map_err(StoredError::Source)?;
        self.sum.update(bytes);
        Ok(())
    }

    /// Reads the arrays whose lengths `header` tells, which together are no more than the bytes that there are.
    fn tree(&mut self, header: &Header, rows: u32) -> Result<Option<Tree>, StoredError<E>> {
        let [nodes, labels, leaves, lists, own_starts, own, words] = header
            .lengths
            .map(|length| usize::try_from(length).unwrap_or(usize::MAX));
        let each = words_for(rows).max(1);
        // Each bitmap is that of a node at least. Of more and shorter ones, as a header of few rows would have them,
        // each takes thrice its bytes.
        if words % each != 0 || words / each > nodes {
            return Err(StoredError::Damaged);
        }
        let mut tree = Tree {
            nodes: self.array(nodes, decode_node)?,
            leaves: self.array(leaves, |bytes| u32::from_le_bytes(*bytes))?,
            own_starts: self.array(own_starts, |bytes| u32::from_le_bytes(*bytes))?,
            is_tight: header.is_tight,
            ..Tree::default()
        };
        for _ in 0..words / each {
            let bitmap = self.array(each, |bytes| u64::from_le_bytes(*bytes))?;
            tree.bitmaps.push(bitmap.into());
        }
        tree.labels = self.bytes(labels)?;
        tree.lists = self.bytes(lists)?;
        tree.own = self.bytes(own)?;
        Ok((nodes > 0).then_some(tree))
    }

    /// Reads `length` values of `N` bytes.
    fn array<T, const N: usize>(
        &mut self,
        length: usize,
        value: impl Fn(&[u8; N]) -> T,
    ) -> Result<Vec<T>, StoredError<E>> {
        let mut values = Vec::with_capacity(length);
        let mut part = std::mem::take(&mut self.part);
        while values.len() < length {
            let count = (length - values.len()).min(PART_BYTES / N);
            part.resize(count * N, 0);
            self.fill(&mut part)?;
            values.extend(part.as_chunks().0.iter().map(&value));
        }
        self.part = part;
        Ok(values)
    }

    /// Reads `length` bytes.
    fn bytes(&mut self, length: usize) -> Result<Vec<u8>, StoredError<E>> {
        let mut bytes = vec![0; length];
        for part in bytes.chunks_mut(PART_BYTES) {
            self.fill(part)?;
        }
        Ok(bytes)
    }

    /// Reads the sum at the end.
    fn end(mut self) -> Result<(), StoredError<E>> {
        let actual = self.sum.finish();
        let mut sum = [0; SUM_BYTES];
        (self.source)(&mut sum).map_err(StoredError::Source)?;
        if actual == sum {
            Ok(())
        } else {
            Err(StoredError::Damaged)
        }
    }
}

#[cfg(test)]
mod tests;
