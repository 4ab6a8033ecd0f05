//! Pruned suffix tree over all folded texts: it is cut off where a gram (a byte string) occurs in few texts.
//!
//! A leaf stores the rows in which its gram occurs. An inner node stores their exact number, and the rows themselves as
//! a bitmap if there are many, or as a list if collecting them from the leaves below would take long. A needle that
//! ends inside the tree is answered without reading any text. A needle that is longer than the gram of its leaf has few
//! candidates. A needle for which there is no path matches nothing. Grams may split a code point; needles are valid
//! UTF-8.

mod build;
mod grow;

pub use build::build_within;

use crate::rows::{insert, rows_of, unpack};
use std::num::NonZeroUsize;

/// First rows stored in a node whose rows are otherwise collected from its leaves: a page of the default length, and
/// one more to tell whether another page follows. Most searches need no more, and so need not read dozens of leaves.
const HEAD_ROWS: usize = 21;

/// Limits and tuning of the build of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexOptions {
    /// Limit of the text index in bytes, without the folded texts; a smaller index or a scan gives the same results.
    pub memory_bytes: u64,
    /// Threads that build the index.
    pub threads: NonZeroUsize,
    /// Where the tree is cut off; `None` for the finest tree that fits.
    pub tuning: Option<Tuning>,
}

impl Default for IndexOptions {
    /// The finest tree, without a limit of memory, built by one thread.
    fn default() -> IndexOptions {
        IndexOptions {
            memory_bytes: u64::MAX,
            threads: NonZeroUsize::MIN,
            tuning: None,
        }
    }
}

/// Where the tree is cut off, and what its nodes store. Never affects results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tuning {
    /// A gram that occurs in at most this many texts is a leaf; at least 1.
    pub leaf_rows_max: u32,
    /// A gram that occurs in at least this many texts has a bitmap.
    pub bitmap_rows_min: u32,
    /// A gram without a bitmap has its own list if collecting its rows would take more steps than this.
    pub union_steps_max: u32,
}

/// The tree of an arena; node 0 is the root.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    nodes: Vec<Node>,
    /// Node after node:
    ///
    /// 1. its edge: the bytes that follow its label at every position of the gram;
    /// 2. the labels of its inner children: the next byte of each;
    /// 3. the labels of its leaves.
    ///
    /// If "con" is always followed by "t", and "cont" often by "a" or "r" and rarely by "e", the node of "con" has the bytes
    /// `t` `ar` `e`. Edge and labels are together, so that a step down the tree reads two memory locations, not three.
    labels: Vec<u8>,
    /// Node after node: where the list of each of its leaves begins in `lists`, then where the last one ends.
    leaves: Vec<u32>,
    /// Node after node:
    ///
    /// 1. the packed rows of each of its leaves;
    /// 2. its packed first rows, [`Node::head_len`] bytes.
    ///
    /// The lists that inner nodes have of their own stand between those of two nodes: the length in four bytes,
    /// little-endian, then the packed rows.
    lists: Vec<u8>,
    /// The bitmaps of frequent grams, without duplicates.
    bitmaps: Vec<Box<[u64]>>,
}

/// A gram that occurs in more texts than a leaf may hold.
#[derive(Clone, Copy, Debug, Default)]
pub struct Node {
    /// How many texts the gram occurs in.
    count: u32,
    /// How many rows are decoded to collect its texts; 0 with a bitmap.
    steps: u32,
    set: Set,
    /// Where its edge begins in [`Tree::labels`]; the labels of its children follow.
    labels_start: u32,
    /// Number of its first inner child; the others follow.
    inner_start: u32,
    /// Index of its first leaf in [`Tree::leaves`].
    leaves_start: u32,
    /// Number of its inner children.
    inner_len: u16,
    /// Number of its leaves.
    leaf_len: u16,
    /// Length of its edge in bytes.
    edge_len: u8,
    /// Length in bytes of its first rows, which follow the lists of its leaves; 0 if they are not stored.
    head_len: u8,
}

/// The rows that a node stores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Set {
    /// None: they are collected from the leaves below.
    #[default]
    FromLeaves,
    /// The bitmap of this number.
    Bitmap(u32),
    /// The list that begins at this byte of [`Tree::lists`].
    List(u32),
}

/// The texts in which a gram occurs.
#[derive(Clone, Copy, Debug)]
pub enum Postings<'t> {
    /// A packed list, and its number of rows if it belongs to an inner node.
    List(&'t [u8], Option<u32>),
    /// A bitmap, and its number of rows.
    Bitmap(&'t [u64], u32),
    /// The lists of the leaves below a node.
    FromLeaves(&'t Node),
}

impl Postings<'_> {
    /// Returns an upper bound of the number of rows; for a leaf, derived from its bytes.
    pub fn rows_max(self) -> u32 {
        match self {
            Postings::List(packed, count) => count.unwrap_or(packed.len() as u32),
            Postings::Bitmap(_, count) => count,
            Postings::FromLeaves(node) => node.count,
        }
    }

    /// Returns roughly how many rows must be decoded to get all rows.
    pub fn steps(self) -> u32 {
        match self {
            Postings::List(..) => self.rows_max(),
            Postings::Bitmap(..) => 0,
            Postings::FromLeaves(node) => node.steps,
        }
    }

    /// Calls `each` with the rows of a list or a bitmap, ascending. Does nothing for [`Postings::FromLeaves`], whose rows
    /// are in several lists: [`Tree::each_stored`] gives these.
    pub fn each_row(self, mut each: impl FnMut(u32)) {
        match self {
            Postings::List(packed, _) => unpack(packed, |row| {
                each(row);
                true
            }),
            Postings::Bitmap(words, _) => {
                rows_of(&[words], 0..words.len() as u32 * 64).for_each(each)
            }
            Postings::FromLeaves(_) => {}
        }
    }
}

impl Tree {
    /// Looks up `needle`, which is not empty and valid UTF-8. Returns the texts that may contain it, and whether all
    /// of them certainly do; `None` if no text contains it.
    pub fn find(&self, needle: &[u8]) -> Option<(Postings<'_>, bool)> {
        let mut node = self.nodes.first()?;
        let mut rest = needle;
        loop {
            let (edge, children) = self.labels_of(node)?;
            let common = edge.len().min(rest.len());
            if edge[..common] != rest[..common] {
                return None;
            }
            rest = &rest[common..];
            let Some((label, after)) = rest.split_first() else {
                return Some((self.postings(node)?, true));
            };
            if children.is_empty() {
                // The tree is cut off here, so the rest of the needle is not looked up.
                return Some((self.postings(node)?, false));
            }
            let child = memchr::memchr(*label, children)?;
            rest = after;
            match child.checked_sub(usize::from(node.inner_len)) {
                None => node = self.nodes.get(node.inner_start as usize + child)?,
                Some(leaf) => {
                    let list = self.leaf(node.leaves_start + leaf as u32);
                    return Some((Postings::List(list, None), rest.is_empty()));
                }
            }
        }
    }

    /// Returns the bytes that may follow `needle`, as far as the tree knows them: none if it is not in an inner node.
    pub fn bytes_after(&self, needle: &[u8]) -> &[u8] {
        self.find_bytes_after(needle).unwrap_or_default()
    }

    /// Does the same; `None` if the needle leaves the inner nodes.
    fn find_bytes_after(&self, needle: &[u8]) -> Option<&[u8]> {
        let mut rest = needle;
        let mut node = self.nodes.first()?;
        loop {
            let (edge, children) = self.labels_of(node)?;
            if let Some(after) = edge.strip_prefix(rest) {
                // Only one byte follows within an edge.
                return Some(after.get(..1).unwrap_or(children));
            }
            let (label, after) = rest.strip_prefix(edge)?.split_first()?;
            let child = memchr::memchr(*label, children)?;
            node = self.inner_child(node, child)?;
            rest = after;
        }
    }

    /// Returns the child of `node` with this number, if it is an inner node.
    fn inner_child(&self, node: &Node, child: usize) -> Option<&Node> {
        if child >= usize::from(node.inner_len) {
            return None;
        }
        self.nodes.get(node.inner_start as usize + child)
    }

    /// Returns the rows of a node.
    fn postings<'t>(&'t self, node: &'t Node) -> Option<Postings<'t>> {
        Some(match node.set {
            Set::FromLeaves => Postings::FromLeaves(node),
            Set::Bitmap(bitmap) => Postings::Bitmap(self.bitmaps.get(bitmap as usize)?, node.count),
            Set::List(start) => {
                let bytes = self.lists.get(start as usize..)?;
                let (len, bytes) = bytes.split_first_chunk()?;
                let packed = bytes.get(..u32::from_le_bytes(*len) as usize)?;
                Postings::List(packed, Some(node.count))
            }
        })
    }

    /// Returns the bytes of a node's edge, and the labels of its children.
    fn labels_of(&self, node: &Node) -> Option<(&[u8], &[u8])> {
        let edge = usize::from(node.edge_len);
        let len = edge + usize::from(node.inner_len) + usize::from(node.leaf_len);
        let bytes = self.labels.get(node.labels_start as usize..)?.get(..len)?;
        Some(bytes.split_at(edge))
    }

    /// Returns the list of leaf `leaf`; an empty one if there is no such leaf.
    fn leaf(&self, leaf: u32) -> &[u8] {
        let leaf = leaf as usize;
        let bounds = self.leaves.get(leaf).zip(self.leaves.get(leaf + 1));
        let list = bounds.and_then(|(start, end)| self.lists.get(*start as usize..*end as usize));
        list.unwrap_or_default()
    }

    /// Returns the packed first rows of `node`, `HEAD_ROWS` of them; empty if they are not stored.
    pub fn head(&self, node: &Node) -> &[u8] {
        let end_of_leaves = node.leaves_start as usize + usize::from(node.leaf_len);
        let start = self.leaves.get(end_of_leaves);
        let lists = start.and_then(|start| self.lists.get(*start as usize..));
        lists
            .and_then(|lists| lists.get(..usize::from(node.head_len)))
            .unwrap_or_default()
    }

    /// Adds the rows of `postings` to the bitmap `bits`, in as many steps as [`Postings::steps`] says.
    pub fn mark(&self, postings: Postings<'_>, bits: &mut [u64]) {
        self.each_stored(postings, &mut |rows| match rows {
            Postings::Bitmap(words, _) => {
                for (bits, word) in bits.iter_mut().zip(words) {
                    *bits |= word;
                }
            }
            rows => rows.each_row(|row| insert(bits, row)),
        });
    }

    /// Calls `each` with the stored lists and bitmaps that together contain the rows of `postings`; a row may be in
    /// several of them.
    pub fn each_stored<'t>(&'t self, postings: Postings<'t>, each: &mut impl FnMut(Postings<'t>)) {
        let Postings::FromLeaves(node) = postings else {
            return each(postings);
        };
        let leaves_end = node.leaves_start + u32::from(node.leaf_len);
        for leaf in node.leaves_start..leaves_end {
            each(Postings::List(self.leaf(leaf), None));
        }
        let start = node.inner_start as usize;
        let children = self.nodes.get(start..start + usize::from(node.inner_len));
        for child in children.unwrap_or_default() {
            if let Some(postings) = self.postings(child) {
                self.each_stored(postings, each);
            }
        }
    }

    /// Returns the size of the tree in bytes.
    pub fn memory(&self) -> u64 {
        let bitmaps: usize = self.bitmaps.iter().map(|words| words.len() * 8).sum();
        let rest = self.nodes.len() * size_of::<Node>()
            + self.labels.len()
            + self.leaves.len() * 4
            + self.lists.len();
        (rest + bitmaps) as u64
    }
}
