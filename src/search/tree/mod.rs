//! The gram tree: the top of the suffix tree of all folded texts, cut where a gram occurs in few reviews.
//!
//! A leaf keeps the rows that its gram occurs in. An inner node keeps their exact number, and the rows themselves as
//! a bitmap where they are many, or as a list of its own where collecting them from the leaves below would take long.
//! A needle that ends inside the tree is answered without a look at any text; one that goes on below a leaf has few
//! candidates; one that falls off matches nothing. Grams are bytes, needles valid UTF-8, and so no code point is ever broken.

mod assemble;
mod build;
mod grow;
mod place;
mod shelf;

pub(in crate::search) use build::grow_tree;

use crate::search::rows::{insert, unpack};

/// Where the tree is cut, and what its nodes keep. Answers never depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tuning {
    /// A gram that occurs in at most this many reviews is a leaf; at least 1.
    pub leaf_rows_max: u32,
    /// A gram that occurs in at least this many reviews keeps a bitmap.
    pub bitmap_rows_min: u32,
    /// A gram without a bitmap keeps its own list when collecting its rows would take more steps than this.
    pub union_steps_max: u32,
    /// Places of the largest gram of two bytes, 32 bytes of memory each while the tree grows. Of a larger one, which
    /// takes two bytes that make up a good part of a huge text, only the reviews are kept.
    pub unit_places_max: u64,
}

/// The gram tree of an arena; node 0 is the root, and every node has a higher number than its parent.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::search) struct Tree {
    pub(in crate::search) nodes: Vec<Node>,
    /// For each node the bytes of its edge, which follow its label at every place of the gram; then the next byte of
    /// each child, inner ones before leaves. A hop down the tree so reads two places of memory, not three.
    pub(in crate::search) labels: Vec<u8>,
    /// Where each leaf's list begins in `lists`: for each node its leaves in order, then the end of the last one.
    pub(in crate::search) leaves: Vec<u32>,
    /// For each node the packed rows of its leaves, then the packed first rows of its own.
    pub(in crate::search) lists: Vec<u8>,
    /// Where the own list of a node begins in `own`, and one entry past the last.
    pub(in crate::search) own_starts: Vec<u32>,
    /// For each node with a list of its own the last row, in four bytes, and the packed rows.
    pub(in crate::search) own: Vec<u8>,
    /// The bitmaps of frequent grams, each kept once.
    pub(in crate::search) bitmaps: Vec<Box<[u64]>>,
}

/// A gram that occurs in more reviews than a leaf may hold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::search) struct Node {
    /// How many reviews the gram occurs in.
    pub(in crate::search) count: u32,
    /// How many rows are decoded to collect its reviews; 0 with a bitmap.
    pub(in crate::search) steps: u32,
    pub(in crate::search) set: Set,
    /// First byte of its edge, which its children's labels follow.
    pub(in crate::search) labels: u32,
    /// First of its inner children, which have consecutive numbers.
    pub(in crate::search) inner: u32,
    /// First of its leaves.
    pub(in crate::search) leaves: u32,
    pub(in crate::search) inner_len: u16,
    pub(in crate::search) leaf_len: u16,
    /// Bytes of its edge.
    pub(in crate::search) edge_len: u8,
    /// Bytes of its first rows, which stand behind the lists of its leaves; 0 where they are not kept.
    pub(in crate::search) head_len: u8,
}

/// The first rows that a node keeps where its rows are collected from below: a page of the default length, and the one
/// that tells whether another page follows. Most searches ask for no more, and so need not look at dozens of leaves.
pub(in crate::search) const HEAD_ROWS: usize = 21;

/// The rows that a node keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::search) enum Set {
    /// None: they are collected from the leaves below.
    Below,
    /// The bitmap of this number.
    Bitmap(u32),
    /// The own list of this number.
    Own(u32),
}

/// What the tree knows of a needle.
#[derive(Clone, Copy, Debug)]
pub(in crate::search) struct Found<'t> {
    /// Reviews among which are all that hold the needle.
    pub(in crate::search) within: Within<'t>,
    /// Whether they are exactly those.
    pub(in crate::search) exact: bool,
    /// How many bytes of the needle the tree has seen.
    pub(in crate::search) seen: usize,
}

/// Some reviews.
#[derive(Clone, Copy, Debug)]
pub(in crate::search) enum Within<'t> {
    /// Those of a leaf's packed list.
    Leaf(&'t [u8]),
    /// Those of a node's own list.
    Own(Own<'t>),
    /// Those of a bitmap, and their number.
    Bitmap(&'t [u64], u32),
    /// Those below a node, collected by [`Tree::mark`].
    Below(&'t Node),
}

impl Within<'_> {
    /// Returns at most how many rows there are, a leaf's by its bytes.
    pub(in crate::search) fn rows_max(self) -> u32 {
        match self {
            Within::Leaf(packed) => packed.len() as u32,
            Within::Own(own) => own.count,
            Within::Bitmap(_, count) => count,
            Within::Below(node) => node.count,
        }
    }

    /// Returns roughly how many rows must be decoded before all are at hand.
    pub(in crate::search) fn steps(self) -> u32 {
        match self {
            Within::Leaf(packed) => packed.len() as u32,
            Within::Own(own) => own.count,
            Within::Bitmap(..) => 0,
            Within::Below(node) => node.steps,
        }
    }
}

/// The own list of a node.
#[derive(Clone, Copy, Debug)]
pub(in crate::search) struct Own<'t> {
    pub(in crate::search) packed: &'t [u8],
    /// How many rows it has.
    pub(in crate::search) count: u32,
    /// The last of them.
    pub(in crate::search) last: u32,
}

impl Tree {
    /// Looks for `needle`, which is not empty and valid UTF-8; `None` where no review holds it.
    pub(in crate::search) fn find(&self, needle: &[u8]) -> Option<Found<'_>> {
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
                return self.within(node, true, needle.len());
            };
            if children.is_empty() {
                return self.within(node, false, needle.len() - rest.len());
            }
            let child = memchr::memchr(*label, children)?;
            rest = after;
            match child.checked_sub(usize::from(node.inner_len)) {
                None => node = self.nodes.get(node.inner as usize + child)?,
                Some(leaf) => {
                    return Some(Found {
                        within: Within::Leaf(self.leaf(node.leaves + leaf as u32)),
                        exact: rest.is_empty(),
                        seen: needle.len() - rest.len(),
                    });
                }
            }
        }
    }

    fn within<'t>(&'t self, node: &'t Node, exact: bool, seen: usize) -> Option<Found<'t>> {
        let within = match node.set {
            Set::Below => Within::Below(node),
            Set::Bitmap(bitmap) => Within::Bitmap(self.bitmaps.get(bitmap as usize)?, node.count),
            Set::Own(own) => Within::Own(self.own_list(own, node.count)?),
        };
        Some(Found {
            within,
            exact,
            seen,
        })
    }

    /// Returns the bytes of a node's edge, and the labels of its children.
    fn labels_of(&self, node: &Node) -> Option<(&[u8], &[u8])> {
        let edge = usize::from(node.edge_len);
        let len = edge + usize::from(node.inner_len) + usize::from(node.leaf_len);
        let bytes = self.labels.get(node.labels as usize..)?.get(..len)?;
        Some(bytes.split_at(edge))
    }

    /// Returns the list of leaf `leaf`; none where there is no such leaf.
    fn leaf(&self, leaf: u32) -> &[u8] {
        let leaf = leaf as usize;
        let bounds = self.leaves.get(leaf).zip(self.leaves.get(leaf + 1));
        bounds
            .and_then(|(start, end)| self.lists.get(*start as usize..*end as usize))
            .unwrap_or_default()
    }

    fn own_list(&self, own: u32, count: u32) -> Option<Own<'_>> {
        let (start, end) = (
            *self.own_starts.get(own as usize)?,
            *self.own_starts.get(own as usize + 1)?,
        );
        let bytes = self.own.get(start as usize..end as usize)?;
        let (last, packed) = bytes.split_first_chunk()?;
        Some(Own {
            packed,
            count,
            last: u32::from_le_bytes(*last),
        })
    }

    /// Returns the packed first rows of `node`, [`HEAD_ROWS`] of them; empty where it does not keep them.
    pub(in crate::search) fn head(&self, node: &Node) -> &[u8] {
        let end_of_leaves = node.leaves as usize + usize::from(node.leaf_len);
        let start = self.leaves.get(end_of_leaves);
        start
            .and_then(|start| self.lists.get(*start as usize..))
            .and_then(|lists| lists.get(..usize::from(node.head_len)))
            .unwrap_or_default()
    }

    /// Puts the first rows from `from` on below `node`, at most `rows_max` of them, into `rows`, ascending.
    ///
    /// Reads of each leaf what may be among them, so that a page of the newest reviews costs a step or two for each leaf.
    pub(in crate::search) fn first_below(
        &self,
        node: &Node,
        from: u32,
        rows_max: usize,
        rows: &mut Vec<u32>,
    ) {
        let mut add = |row: u32| {
            let is_full = rows.len() >= rows_max;
            if is_full && rows.last().is_some_and(|last| *last <= row) {
                return false;
            }
            if row >= from
                && let Err(place) = rows.binary_search(&row)
            {
                rows.truncate(rows_max.saturating_sub(1));
                rows.insert(place, row);
            }
            true
        };
        // A node without a bitmap has none below it.
        self.each_below(node, &mut |rows| {
            if let Within::Leaf(packed) | Within::Own(Own { packed, .. }) = rows {
                unpack(packed, &mut add);
            }
        });
    }

    /// Adds the rows of `within` to the bitmap `bits`, in as many steps as [`Within::steps`] says.
    pub(in crate::search) fn mark(&self, within: Within<'_>, bits: &mut [u64]) {
        match within {
            Within::Leaf(packed) | Within::Own(Own { packed, .. }) => {
                unpack(packed, |row| {
                    insert(bits, row);
                    true
                });
            }
            Within::Bitmap(words, _) => {
                for (bits, word) in bits.iter_mut().zip(words) {
                    *bits |= word;
                }
            }
            Within::Below(node) => self.each_below(node, &mut |kept| self.mark(kept, bits)),
        }
    }

    /// Calls `each` with the leaves, own lists and bitmaps that together hold the rows of `node`.
    fn each_below<'t>(&'t self, node: &'t Node, each: &mut impl FnMut(Within<'t>)) {
        match self.within(node, true, 0).map(|found| found.within) {
            None => {}
            Some(Within::Below(_)) => {
                for leaf in node.leaves..node.leaves + u32::from(node.leaf_len) {
                    each(Within::Leaf(self.leaf(leaf)));
                }
                let inner = node.inner as usize;
                let children = self.nodes.get(inner..inner + usize::from(node.inner_len));
                for child in children.unwrap_or_default() {
                    self.each_below(child, each);
                }
            }
            Some(kept) => each(kept),
        }
    }

    /// Returns the bytes that the tree takes.
    pub(in crate::search) fn memory(&self) -> u64 {
        let bitmaps: usize = self.bitmaps.iter().map(|words| words.len() * 8).sum();
        (self.nodes.len() * size_of::<Node>()
            + self.labels.len()
            + (self.leaves.len() + self.own_starts.len()) * 4
            + self.lists.len()
            + self.own.len()
            + bitmaps) as u64
    }
}
