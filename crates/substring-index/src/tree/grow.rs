//! Builds the subtree below one short gram, by radix sort of all its positions.

use super::{HEAD_ROWS, Node, Postings, Set, Tree, Tuning};
use crate::arena::END;
use crate::rows::{insert, pack, rows_of};

/// The longest gram of a node, in bytes. Longer needles that still have many candidates are searched in the
/// texts; such needles occur only in equal or generated texts, and the bound keeps their trees small.
pub(super) const GRAM_BYTES_MAX: u32 = 128;

/// One position of a gram.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SuffixPos {
    /// Eight bytes of the text from the depth at which keys were last read, in big-endian order.
    pub(super) key: u64,
    /// Where the gram begins in the arena.
    pub(super) position: u32,
    /// The row of the text at this position.
    pub(super) row: u32,
}

impl SuffixPos {
    /// Returns the byte of the key at this distance from its lowest bit.
    fn label(&self, shift: u32) -> usize {
        (self.key >> shift & 0xff) as usize
    }
}

/// How deep in the tree a node is.
#[derive(Clone, Copy)]
struct Depth {
    /// Length of its gram in bytes.
    bytes: u32,
    /// The depth in bytes at which the keys of its positions were read.
    keys_from: u32,
}

/// The rows of a parent node.
#[derive(Clone, Copy)]
struct ParentRows {
    set: Set,
    count: u32,
}

/// Adds subtrees to `tree`.
pub(super) struct Grower<'a> {
    arena: &'a [u8],
    tuning: Tuning,
    /// Stores a bitmap, unless an equal one is stored already, and returns its number.
    store_bitmap: &'a dyn Fn(&[u64]) -> u32,
    pub(super) tree: Tree,
    /// Children of the nodes from the root to the current one.
    children: Vec<Child>,
    /// A reusable bitmap, empty between uses.
    bits: Vec<u64>,
}

/// A child of a node that is being built: `start..end` are its positions among those of the node.
#[derive(Clone, Copy)]
struct Child {
    label: u8,
    start: usize,
    end: usize,
    /// How many texts its gram occurs in.
    rows: u32,
}

impl Child {
    fn is_leaf(&self, leaf_rows_max: u32) -> bool {
        self.label == END || self.rows <= leaf_rows_max
    }
}

impl<'a> Grower<'a> {
    pub(super) fn new(
        arena: &'a [u8],
        words: usize,
        tuning: Tuning,
        store_bitmap: &'a dyn Fn(&[u64]) -> u32,
    ) -> Grower<'a> {
        Grower {
            arena,
            tuning,
            store_bitmap,
            tree: Tree::default(),
            children: Vec::new(),
            bits: vec![0; words],
        }
    }

    /// Builds a node from all `suffixes` that begin with one gram of two bytes; `second` is the second one.
    pub(super) fn grow_unit(
        &mut self,
        suffixes: &mut [SuffixPos],
        spare: &mut [SuffixPos],
        second: u8,
    ) {
        let node = self.tree.nodes.len();
        let count = distinct(suffixes).count() as u32;
        self.tree.nodes.push(Node {
            count,
            ..Node::default()
        });
        if second == END || count <= self.tuning.leaf_rows_max {
            return self.store_list(node, distinct(suffixes));
        }
        let depth = Depth {
            bytes: 2,
            keys_from: 2,
        };
        let no_parent = ParentRows {
            set: Set::FromLeaves,
            count: 0,
        };
        self.grow(node, suffixes, spare, depth, count, no_parent);
    }

    /// Builds node `node` from all `suffixes` that begin with its gram, in arena order; they are in `count` texts.
    ///
    /// `spare` is as long as `suffixes`; both are overwritten. A node reads its positions once for each eight bytes of its
    /// edge, and twice to sort them.
    fn grow(
        &mut self,
        node: usize,
        suffixes: &mut [SuffixPos],
        spare: &mut [SuffixPos],
        depth: Depth,
        count: u32,
        parent: ParentRows,
    ) {
        let mut at = depth;
        while at.bytes < GRAM_BYTES_MAX {
            if at.bytes - at.keys_from >= 8 {
                for suffix in &mut *suffixes {
                    suffix.key = key(self.arena, suffix.position as usize + at.bytes as usize);
                }
                at.keys_from = at.bytes;
            }
            let shared = shared_bytes(suffixes, at);
            if shared == 0 {
                break;
            }
            at.bytes = (at.bytes + shared).min(GRAM_BYTES_MAX);
        }
        let grown = &mut self.tree.nodes[node];
        grown.count = count;
        grown.edge_len = (at.bytes - depth.bytes) as u8;
        grown.labels_start = self.tree.labels.len() as u32;
        if let Some(suffix) = suffixes.first() {
            let start = suffix.position as usize;
            let range = start + depth.bytes as usize..start + at.bytes as usize;
            let edge = self.arena.get(range).unwrap_or_default();
            self.tree.labels.extend_from_slice(edge);
        }
        if count >= self.tuning.bitmap_rows_min {
            // Its texts are among those of its parent, so an equal number of them are the same ones.
            self.tree.nodes[node].set = if parent.count == count {
                parent.set
            } else {
                self.store_rows_as_bitmap(suffixes)
            };
        }
        if at.bytes == GRAM_BYTES_MAX {
            if self.tree.nodes[node].set == Set::FromLeaves {
                self.store_list(node, distinct(suffixes));
            }
            return;
        }
        let first = self.children.len();
        let inner = self.spread(suffixes, spare, at);
        self.attach(node, first, inner, spare);
        if self.tree.nodes[node].set == Set::FromLeaves {
            let start = self.tree.lists.len();
            pack(distinct(suffixes).take(HEAD_ROWS), &mut self.tree.lists);
            // Each row takes five bytes at most.
            self.tree.nodes[node].head_len = (self.tree.lists.len() - start) as u8;
        }
        at.bytes += 1;
        for number in 0..inner {
            let child = self.children[first + number];
            let grown = self.tree.nodes[node];
            // The sorted positions are in `spare`; those of the child use this node's as their spare room.
            let of_child = &mut spare[child.start..child.end];
            let spare_of_child = &mut suffixes[child.start..child.end];
            let slot = grown.inner_start as usize + number;
            let rows = ParentRows {
                set: grown.set,
                count,
            };
            self.grow(slot, of_child, spare_of_child, at, child.rows, rows);
        }
        self.children.truncate(first);
        self.finish(node);
    }

    /// Stores the rows of `suffixes` as a bitmap.
    fn store_rows_as_bitmap(&mut self, suffixes: &[SuffixPos]) -> Set {
        for row in distinct(suffixes) {
            insert(&mut self.bits, row);
        }
        let number = (self.store_bitmap)(&self.bits);
        self.bits.fill(0);
        Set::Bitmap(number)
    }

    /// Sorts `suffixes` by the next byte into `spare`, and pushes the children: inner nodes, then leaves. Returns the
    /// number of inner nodes.
    fn spread(&mut self, suffixes: &[SuffixPos], spare: &mut [SuffixPos], at: Depth) -> usize {
        let shift = 56 - 8 * (at.bytes - at.keys_from);
        let mut counts = [0_usize; 256];
        let mut rows = [0; 256];
        let mut last = [u32::MAX; 256];
        for suffix in suffixes {
            let label = suffix.label(shift);
            counts[label] += 1;
            rows[label] += u32::from(last[label] != suffix.row);
            last[label] = suffix.row;
        }
        let first = self.children.len();
        let mut next = [0; 256];
        let mut start = 0;
        for label in 0..256 {
            let end = start + counts[label];
            next[label] = start;
            if end > start {
                self.children.push(Child {
                    label: label as u8,
                    start,
                    end,
                    rows: rows[label],
                });
            }
            start = end;
        }
        for suffix in suffixes {
            let slot = &mut next[suffix.label(shift)];
            spare[*slot] = *suffix;
            *slot += 1;
        }
        let leaf_rows_max = self.tuning.leaf_rows_max;
        let children = &mut self.children[first..];
        children.sort_by_key(|child| (child.is_leaf(leaf_rows_max), child.label));
        children.partition_point(|child| !child.is_leaf(leaf_rows_max))
    }

    /// Gives `node` the children that were pushed since `first`: adds the lists of its leaves, and slots for its inner
    /// nodes.
    fn attach(&mut self, node: usize, first: usize, inner: usize, suffixes: &[SuffixPos]) {
        let tree = &mut self.tree;
        let slots = tree.nodes.len();
        tree.nodes.resize(slots + inner, Node::default());
        let grown = &mut tree.nodes[node];
        grown.inner_start = slots as u32;
        grown.inner_len = inner as u16;
        grown.leaves_start = tree.leaves.len() as u32;
        let children = &self.children[first..];
        tree.labels.extend(children.iter().map(|child| child.label));
        for child in &children[inner..] {
            tree.leaves.push(tree.lists.len() as u32);
            grown.leaf_len += 1;
            // No needle matches the end of a text: this leaf is read only when the rows of an ancestor are collected.
            if child.label != END || grown.set == Set::FromLeaves {
                pack(distinct(&suffixes[child.start..child.end]), &mut tree.lists);
                grown.steps += child.rows;
            }
        }
        tree.leaves.push(tree.lists.len() as u32);
    }

    /// Decides, once the subtree of `node` is built, whether the node stores its own list.
    pub(super) fn finish(&mut self, node: usize) {
        let grown = self.tree.nodes[node];
        if grown.set != Set::FromLeaves {
            self.tree.nodes[node].steps = 0;
            return;
        }
        let mut steps = grown.steps;
        let children = &self.tree.nodes[grown.inner_start as usize..];
        for child in &children[..usize::from(grown.inner_len)] {
            steps = steps.saturating_add(child.steps);
        }
        self.tree.nodes[node].steps = steps;
        if steps > self.tuning.union_steps_max {
            let mut bits = std::mem::take(&mut self.bits);
            let below = Postings::FromLeaves(&self.tree.nodes[node]);
            self.tree.mark(below, &mut bits);
            self.store_list(node, rows_of(&[&bits], 0..bits.len() as u32 * 64));
            bits.fill(0);
            self.bits = bits;
        }
    }

    /// Stores `rows` as the list of `node`.
    fn store_list(&mut self, node: usize, rows: impl Iterator<Item = u32>) {
        let Tree { nodes, lists, .. } = &mut self.tree;
        let start = lists.len();
        lists.extend_from_slice(&[0; 4]);
        pack(rows, lists);
        let len = (lists.len() - start - 4) as u32;
        lists[start..start + 4].copy_from_slice(&len.to_le_bytes());
        nodes[node].set = Set::List(start as u32);
        nodes[node].steps = nodes[node].count;
    }
}

/// Reads eight bytes of `arena` from `position`; past its end every byte is [`END`].
pub(super) fn key(arena: &[u8], position: usize) -> u64 {
    match arena.get(position..).and_then(|rest| rest.first_chunk()) {
        Some(bytes) => u64::from_be_bytes(*bytes),
        None => u64::MAX,
    }
}

/// Returns the rows of `suffixes`, ascending; `suffixes` must be in the order of the arena.
fn distinct(suffixes: &[SuffixPos]) -> impl Iterator<Item = u32> {
    let runs = suffixes.chunk_by(|left, right| left.row == right.row);
    runs.filter_map(|run| Some(run.first()?.row))
}

/// Returns how many of the remaining key bytes all `suffixes` share, up to the end of a text.
fn shared_bytes(suffixes: &[SuffixPos], at: Depth) -> u32 {
    let used = at.bytes - at.keys_from;
    let Some(first) = suffixes.first() else {
        return 0;
    };
    let bytes = first.key.to_be_bytes();
    let end = bytes[used as usize..].iter().position(|byte| *byte == END);
    let mut shared = end.map_or(8 - used, |end| end as u32);
    for suffix in suffixes {
        let alike = ((suffix.key ^ first.key) << (8 * used)).leading_zeros() / 8;
        shared = shared.min(alike);
        if shared == 0 {
            break;
        }
    }
    shared
}
