//! The bytes in which an index outlives the process: only the gram tree, as everything else is made sooner than read.
//!
//! A header names version, dataset, budget and the folded texts; a SHA-256 of all bytes stands at the end. What it
//! lets through is checked all the same, so that no bytes can make a search panic or run without end.

use std::fmt;

use sha2::{Digest, Sha256};

use crate::model::{Review, Taxonomy};
use crate::search::arena::Arena;
use crate::search::index::{Index, IndexOptions};
use crate::search::rows::words_for;
use crate::search::tree::{GRAM_BYTES_MAX, Node, Set, Tree};

/// Changes with every change of the format, of folding, or of what a tree holds.
const MAGIC: &[u8; 16] = b"reviewd-index\0\0\x02";

const SUM_BYTES: usize = 32;
const NODE_BYTES: usize = 30;
/// Lengths of the seven arrays of a tree, each in eight bytes.
const LENGTHS_BYTES: usize = 7 * 8;
const HEADER_BYTES: usize = MAGIC.len() + 32 + 8 + 32 + LENGTHS_BYTES;

/// Why bytes are not the index that is asked for. All are the fault of the file, and answered by building anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoredError {
    /// It is not an index, or one of another version of this program.
    Version,
    /// It was built for other files.
    Dataset,
    /// It was built within another budget.
    Budget,
    /// It is incomplete, or was changed after it was written.
    Damaged,
}

impl fmt::Display for StoredError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            StoredError::Version => "not an index of this version",
            StoredError::Dataset => "an index of other data",
            StoredError::Budget => "an index within another memory budget",
            StoredError::Damaged => "a damaged index",
        })
    }
}

impl std::error::Error for StoredError {}

impl Index {
    /// Hands the bytes of the index to `sink` part by part, each at most about 1 MiB.
    ///
    /// `digest` and `options` are those that it was built for, and that [`Index::decode`] asks for again.
    ///
    /// # Errors
    /// The first of `sink`, which is not called again.
    pub fn encode<E>(
        &self,
        digest: &[u8; 32],
        options: &IndexOptions,
        sink: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let empty = Tree::default();
        let tree = self.tree.as_ref().unwrap_or(&empty);
        let words: usize = tree.bitmaps.iter().map(|words| words.len()).sum();
        let mut out = Out {
            sink,
            sum: Sha256::new(),
            part: Vec::with_capacity(PART_BYTES + 64),
        };
        out.put(MAGIC)?;
        out.put(digest)?;
        out.put(&options.memory_bytes.to_le_bytes())?;
        out.put(&self.arena.sum())?;
        let Tree {
            nodes,
            labels,
            leaves,
            lists,
            own_starts,
            own,
            ..
        } = tree;
        let lengths = [
            nodes.len(),
            labels.len(),
            leaves.len(),
            lists.len(),
            own_starts.len(),
            own.len(),
            words,
        ];
        for length in lengths {
            out.put(&(length as u64).to_le_bytes())?;
        }
        for node in nodes {
            out.put(&encode_node(node))?;
        }
        for number in leaves.iter().chain(own_starts) {
            out.put(&number.to_le_bytes())?;
        }
        for word in tree.bitmaps.iter().flatten() {
            out.put(&word.to_le_bytes())?;
        }
        for bytes in [labels, lists, own] {
            for part in bytes.chunks(PART_BYTES) {
                out.put(part)?;
            }
        }
        out.end()
    }

    /// Makes the index of `reviews` from `bytes` that [`Index::encode`] wrote for the same `digest` and `options`.
    ///
    /// # Errors
    /// [`StoredError`] for any other bytes; then [`Index::build`] is the way.
    pub fn decode(
        bytes: &[u8],
        digest: &[u8; 32],
        reviews: &[Review],
        taxonomy: &Taxonomy,
        options: &IndexOptions,
    ) -> Result<Index, StoredError> {
        let (header, payload) = check(bytes, digest, options)?;
        let arena = Arena::build(reviews, options.threads);
        if header.arena != arena.sum() {
            return Err(StoredError::Dataset);
        }
        let tree = decode_tree(payload, &header, arena.rows())?;
        if let Some(tree) = &tree {
            is_sound(tree, &arena)
                .then_some(())
                .ok_or(StoredError::Damaged)?;
        }
        Ok(Index::around(reviews, taxonomy, arena, tree))
    }
}

/// Bytes that are handed on at once.
const PART_BYTES: usize = 1 << 20;

/// Collects small pieces, sums them up and hands them on.
struct Out<S> {
    sink: S,
    sum: Sha256,
    part: Vec<u8>,
}

impl<E, S: FnMut(&[u8]) -> Result<(), E>> Out<S> {
    fn put(&mut self, bytes: &[u8]) -> Result<(), E> {
        if self.part.len() + bytes.len() > PART_BYTES {
            self.flush()?;
        }
        self.part.extend_from_slice(bytes);
        Ok(())
    }

    fn flush(&mut self) -> Result<(), E> {
        self.sum.update(&self.part);
        (self.sink)(&self.part)?;
        self.part.clear();
        Ok(())
    }

    fn end(mut self) -> Result<(), E> {
        self.flush()?;
        let sum: [u8; SUM_BYTES] = self.sum.finalize().into();
        (self.sink)(&sum)
    }
}

struct Header {
    arena: [u8; 32],
    lengths: [usize; 7],
}

/// Checks everything about `bytes` that needs no reviews; returns the header and what follows it.
fn check<'b>(
    bytes: &'b [u8],
    digest: &[u8; 32],
    options: &IndexOptions,
) -> Result<(Header, &'b [u8]), StoredError> {
    let damaged = StoredError::Damaged;
    let rest = bytes.strip_prefix(MAGIC).ok_or(StoredError::Version)?;
    let (known, rest) = rest.split_first_chunk::<32>().ok_or(damaged)?;
    let (memory, rest) = rest.split_first_chunk::<8>().ok_or(damaged)?;
    let (arena, rest) = rest.split_first_chunk::<32>().ok_or(damaged)?;
    let (lengths, rest) = rest.split_first_chunk::<LENGTHS_BYTES>().ok_or(damaged)?;
    let (payload, sum) = rest.split_last_chunk::<SUM_BYTES>().ok_or(damaged)?;
    if known != digest {
        return Err(StoredError::Dataset);
    }
    if *memory != options.memory_bytes.to_le_bytes() {
        return Err(StoredError::Budget);
    }
    let body = &bytes[..HEADER_BYTES + payload.len()];
    let actual: [u8; SUM_BYTES] = Sha256::digest(body).into();
    if actual != *sum {
        return Err(damaged);
    }
    let mut numbers = [0; 7];
    for (number, bytes) in numbers.iter_mut().zip(lengths.as_chunks::<8>().0) {
        *number = usize::try_from(u64::from_le_bytes(*bytes)).map_err(|_| damaged)?;
    }
    Ok((
        Header {
            arena: *arena,
            lengths: numbers,
        },
        payload,
    ))
}

/// Cuts `payload` into the arrays of a tree; `None` where it holds none.
fn decode_tree(payload: &[u8], header: &Header, rows: u32) -> Result<Option<Tree>, StoredError> {
    let [nodes, labels, leaves, lists, own_starts, own, words] = header.lengths;
    let mut rest = payload;
    let mut take = |count: usize, size: usize| {
        let bytes = count.checked_mul(size).ok_or(StoredError::Damaged)?;
        let (taken, after) = rest.split_at_checked(bytes).ok_or(StoredError::Damaged)?;
        rest = after;
        Ok::<_, StoredError>(taken)
    };
    let node_bytes = take(nodes, NODE_BYTES)?.as_chunks::<NODE_BYTES>().0;
    let numbers = |bytes: &[u8]| {
        bytes
            .as_chunks()
            .0
            .iter()
            .map(|number| u32::from_le_bytes(*number))
            .collect()
    };
    let decoded = node_bytes
        .iter()
        .map(decode_node)
        .collect::<Option<Vec<Node>>>();
    let mut tree = Tree {
        nodes: decoded.ok_or(StoredError::Damaged)?,
        leaves: numbers(take(leaves, 4)?),
        own_starts: numbers(take(own_starts, 4)?),
        ..Tree::default()
    };
    let each = words_for(rows).max(1);
    for bitmap in take(words, 8)?.as_chunks::<8>().0.chunks(each) {
        tree.bitmaps.push(
            bitmap
                .iter()
                .map(|word| u64::from_le_bytes(*word))
                .collect(),
        );
    }
    tree.labels = take(labels, 1)?.to_vec();
    tree.lists = take(lists, 1)?.to_vec();
    tree.own = take(own, 1)?.to_vec();
    if !rest.is_empty() || words % each != 0 {
        return Err(StoredError::Damaged);
    }
    Ok((nodes > 0).then_some(tree))
}

/// Tells whether every number in `tree` points into its array, and each node but the root is the child of exactly
/// one before it, none deeper than grams are long. Lists need no look: whatever they decode to is bounded by the rows.
fn is_sound(tree: &Tree, arena: &Arena) -> bool {
    let mut depths = vec![0_u8; tree.nodes.len()];
    depths[0] = 1;
    for (number, node) in tree.nodes.iter().enumerate() {
        let depth = depths[number];
        let (inner, inner_len) = (node.inner as usize, usize::from(node.inner_len));
        let labels = node.labels as usize
            + usize::from(node.edge_len)
            + inner_len
            + usize::from(node.leaf_len);
        let set = match node.set {
            Set::Below => true,
            Set::Bitmap(bitmap) => (bitmap as usize) < tree.bitmaps.len(),
            Set::Own(own) => (own as usize) + 1 < tree.own_starts.len(),
        };
        let leaves = node.leaf_len == 0
            || node.leaves as usize + usize::from(node.leaf_len) < tree.leaves.len();
        let reached = depth > 0 && u32::from(depth) <= GRAM_BYTES_MAX + 1;
        if !(reached && set && leaves && labels <= tree.labels.len() && node.count <= arena.rows())
        {
            return false;
        }
        if inner_len > 0 && inner <= number {
            return false;
        }
        let Some(children) = depths.get_mut(inner..inner + inner_len) else {
            return inner_len == 0 && number + 1 == tree.nodes.len();
        };
        if children.iter().any(|depth| *depth > 0) {
            return false;
        }
        children.fill(depth + 1);
    }
    true
}

fn encode_node(node: &Node) -> [u8; NODE_BYTES] {
    let (kind, set) = match node.set {
        Set::Below => (0, 0),
        Set::Bitmap(number) => (1, number),
        Set::Own(number) => (2, number),
    };
    let mut bytes = [0; NODE_BYTES];
    let numbers = [
        node.count,
        node.steps,
        set,
        node.labels,
        node.inner,
        node.leaves,
    ];
    for (place, number) in bytes.as_chunks_mut().0.iter_mut().zip(numbers) {
        *place = number.to_le_bytes();
    }
    bytes[24..26].copy_from_slice(&node.inner_len.to_le_bytes());
    bytes[26..28].copy_from_slice(&node.leaf_len.to_le_bytes());
    bytes[28] = node.edge_len;
    bytes[29] = kind;
    bytes
}

fn decode_node(bytes: &[u8; NODE_BYTES]) -> Option<Node> {
    let mut numbers = [0; 6];
    for (number, place) in numbers.iter_mut().zip(bytes.as_chunks().0) {
        *number = u32::from_le_bytes(*place);
    }
    let [count, steps, set, labels, inner, leaves] = numbers;
    Some(Node {
        count,
        steps,
        set: match bytes[29] {
            0 => Set::Below,
            1 => Set::Bitmap(set),
            2 => Set::Own(set),
            _ => return None,
        },
        labels,
        inner,
        leaves,
        inner_len: u16::from_le_bytes([bytes[24], bytes[25]]),
        leaf_len: u16::from_le_bytes([bytes[26], bytes[27]]),
        edge_len: bytes[28],
    })
}

#[cfg(test)]
mod tests;
