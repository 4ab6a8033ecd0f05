//! The part of the tree below one short gram, by radix steps over all its places.

use super::place::{Depth, Place, distinct, key, label, shared_bytes};
use super::shelf::Shelf;
use super::{HEAD_ROWS, Node, Set, Tree, Tuning, Within};
use crate::search::arena::END;
use crate::search::rows::{insert, pack, rows_of, words_for};

/// The longest gram of a node, in bytes. Longer needles that still have many candidates are looked for in the
/// texts; only equal or machine-made texts have such needles, and the bound keeps their trees small.
pub(in crate::search) const GRAM_BYTES_MAX: u32 = 128;

/// Grows parts of one tree into `tree`, whose bitmap numbers are those of `shelf`.
pub(super) struct Grower<'a> {
    arena: &'a [u8],
    tuning: Tuning,
    shelf: &'a Shelf<'a>,
    pub(super) tree: Tree,
    tally: Box<Tally>,
    /// Children of the nodes from the root to the one in hand.
    children: Vec<Child>,
    /// An empty bitmap between uses.
    bits: Vec<u64>,
    /// Work that the shelf does not know yet.
    work: u64,
}

/// Places and reviews by the byte that follows.
struct Tally {
    places: [u32; 256],
    rows: [u32; 256],
    last: [u32; 256],
}

#[derive(Clone, Copy)]
struct Child {
    label: u8,
    start: usize,
    end: usize,
    rows: u32,
}

impl<'a> Grower<'a> {
    pub(super) fn new(
        arena: &'a [u8],
        rows: u32,
        tuning: Tuning,
        shelf: &'a Shelf<'a>,
    ) -> Grower<'a> {
        let tally = Box::new(Tally {
            places: [0; 256],
            rows: [0; 256],
            last: [0; 256],
        });
        let tree = Tree {
            own_starts: vec![0],
            ..Tree::default()
        };
        Grower {
            arena,
            tuning,
            shelf,
            tree,
            tally,
            children: Vec::new(),
            bits: vec![0; words_for(rows)],
            work: 0,
        }
    }

    /// Returns what has grown; the next tree begins empty, in the same memory.
    ///
    /// There are thousands of units, and a vector that grows anew for each meets new pages of memory again and again.
    pub(super) fn take(&mut self) -> Tree {
        self.shelf.add_work(std::mem::take(&mut self.work));
        let tree = self.tree.clone();
        self.tree.nodes.clear();
        self.tree.labels.clear();
        self.tree.leaves.clear();
        self.tree.lists.clear();
        self.tree.own_starts.truncate(1);
        self.tree.own.clear();
        tree
    }

    /// Returns what has grown, whole.
    pub(super) fn finish_all(mut self) -> Tree {
        self.tree.labels.shrink_to_fit();
        self.tree.leaves.shrink_to_fit();
        self.tree.lists.shrink_to_fit();
        self.tree.own.shrink_to_fit();
        self.tree.own_starts.shrink_to_fit();
        self.tree.nodes.shrink_to_fit();
        self.tree
    }

    /// Appends the packed rows of `places`, which are in the order of the arena, to the leaves' lists.
    pub(super) fn list(&mut self, places: &[Place]) {
        pack(distinct(places), &mut self.tree.lists);
    }

    /// Grows node `node` out of all `places` of its gram, which are in the order of the arena and of `count` reviews.
    ///
    /// `above` is its parent's set and number of reviews; `spare` is as long as `places`, and both are in disorder afterwards.
    pub(super) fn grow(
        &mut self,
        node: usize,
        places: &mut [Place],
        spare: &mut [Place],
        depth: Depth,
        count: u32,
        above: (Set, u32),
    ) {
        let mut at = depth;
        while at.bytes < GRAM_BYTES_MAX {
            self.work += places.len() as u64;
            at.keys_from = self.refresh(places, at);
            let shared = shared_bytes(places, at);
            if shared == 0 {
                break;
            }
            at.bytes = (at.bytes + shared).min(GRAM_BYTES_MAX);
        }
        let grown = &mut self.tree.nodes[node];
        grown.count = count;
        grown.edge_len = (at.bytes - depth.bytes) as u8;
        grown.labels = self.tree.labels.len() as u32;
        if let Some(place) = places.first() {
            let edge =
                (place.position + depth.bytes) as usize..(place.position + at.bytes) as usize;
            self.tree
                .labels
                .extend_from_slice(self.arena.get(edge).unwrap_or_default());
        }
        if count >= self.tuning.bitmap_rows_min {
            let shared = above.1 == count;
            self.tree.nodes[node].set = if shared {
                above.0
            } else {
                self.bitmap(distinct(places))
            };
        }
        if at.bytes == GRAM_BYTES_MAX {
            return self.keep_own(node, distinct(places));
        }
        let first = self.children.len();
        self.work += places.len() as u64;
        let inner = self.spread(places, spare, at);
        self.attach(node, first, inner, spare);
        self.keep_head(node, places);
        for child in 0..inner {
            let Child {
                start, end, rows, ..
            } = self.children[first + child];
            let slot = self.tree.nodes[node].inner as usize + child;
            let above = (self.tree.nodes[node].set, count);
            let below = Depth {
                bytes: at.bytes + 1,
                ..at
            };
            self.grow(
                slot,
                &mut spare[start..end],
                &mut places[start..end],
                below,
                rows,
                above,
            );
        }
        self.children.truncate(first);
        self.finish(node);
    }

    /// Reads the keys again where the last ones are used up; returns the depth that they are from.
    fn refresh(&self, places: &mut [Place], at: Depth) -> u32 {
        if at.bytes - at.keys_from < 8 {
            return at.keys_from;
        }
        for place in places {
            place.key = key(self.arena, place.position as usize + at.bytes as usize);
        }
        at.bytes
    }

    /// Counts places and reviews by the next byte.
    fn take_tally(&mut self, places: &[Place], at: Depth) {
        let Tally {
            places: counts,
            rows,
            last,
        } = &mut *self.tally;
        counts.fill(0);
        rows.fill(0);
        last.fill(u32::MAX);
        for place in places {
            let label = label(place, at);
            counts[label] += 1;
            rows[label] += u32::from(last[label] != place.row);
            last[label] = place.row;
        }
    }

    /// Sorts `places` by the next byte into `spare`, and pushes the children: inner ones, then leaves. Returns how many are inner.
    fn spread(&mut self, places: &[Place], spare: &mut [Place], at: Depth) -> usize {
        self.take_tally(places, at);
        let mut next = [0_usize; 256];
        let mut start = 0;
        let first = self.children.len();
        for (label, next) in next.iter_mut().enumerate() {
            let end = start + self.tally.places[label] as usize;
            *next = start;
            if end > start {
                self.children.push(Child {
                    label: label as u8,
                    start,
                    end,
                    rows: self.tally.rows[label],
                });
            }
            start = end;
        }
        for place in places {
            let slot = &mut next[label(place, at)];
            spare[*slot] = *place;
            *slot += 1;
        }
        let is_leaf = |child: &Child| child.label == END || child.rows <= self.tuning.leaf_rows_max;
        let children = &mut self.children[first..];
        children.sort_by_key(|child| (is_leaf(child), child.label));
        children.partition_point(|child| !is_leaf(child))
    }

    /// Gives `node` its children, which are those pushed since `first`, with the lists of its leaves and slots for the inner ones.
    fn attach(&mut self, node: usize, first: usize, inner: usize, places: &[Place]) {
        let Tree {
            nodes,
            labels,
            leaves,
            lists,
            ..
        } = &mut self.tree;
        let with_bitmap = nodes[node].set != Set::Below;
        let slots = nodes.len();
        let grown = &mut nodes[node];
        grown.leaves = leaves.len() as u32;
        grown.inner_len = inner as u16;
        labels.extend(
            self.children[first..first + inner]
                .iter()
                .map(|child| child.label),
        );
        for child in &self.children[first + inner..] {
            labels.push(child.label);
            leaves.push(lists.len() as u32);
            grown.leaf_len += 1;
            // No needle asks for the reviews that end here: they serve only where a node's rows are collected from below.
            if child.label == END && with_bitmap {
                continue;
            }
            pack(distinct(&places[child.start..child.end]), lists);
            grown.steps += child.rows;
        }
        leaves.push(lists.len() as u32);
        grown.inner = slots as u32;
        nodes.resize(slots + inner, Node::EMPTY);
    }

    /// Keeps the first rows of a node without a bitmap, whose leaves were the last to be attached.
    fn keep_head(&mut self, node: usize, places: &[Place]) {
        let Tree { nodes, lists, .. } = &mut self.tree;
        if nodes[node].set == Set::Below {
            let start = lists.len();
            pack(distinct(places).take(HEAD_ROWS), lists);
            // Each row takes five bytes at most.
            nodes[node].head_len = (lists.len() - start) as u8;
        }
    }

    /// Decides, once all below `node` is there, whether it keeps a list of its own.
    pub(super) fn finish(&mut self, node: usize) {
        let Node {
            set,
            count,
            inner,
            inner_len,
            steps,
            ..
        } = self.tree.nodes[node];
        if set != Set::Below {
            self.tree.nodes[node].steps = 0;
            return;
        }
        let children = &self.tree.nodes[inner as usize..][..usize::from(inner_len)];
        if let Some(same) = children
            .iter()
            .find(|child| child.count == count && child.set != Set::Below)
        {
            let (set, steps) = (same.set, same.steps);
            self.tree.nodes[node].set = set;
            self.tree.nodes[node].steps = steps;
            return;
        }
        let steps = children
            .iter()
            .fold(steps, |steps, child| steps.saturating_add(child.steps));
        self.tree.nodes[node].steps = steps;
        if steps > self.tuning.union_steps_max {
            let mut bits = std::mem::take(&mut self.bits);
            self.tree
                .mark(Within::Below(&self.tree.nodes[node]), &mut bits);
            self.keep_own(node, rows_of(&[&bits], 0..bits.len() as u32 * 64));
            bits.fill(0);
            self.bits = bits;
        }
    }

    /// Makes node `node` one of `rows` without anything below.
    pub(super) fn stump(&mut self, node: usize, rows: &[u32]) {
        self.tree.nodes[node].count = rows.len() as u32;
        if self.tree.nodes[node].count >= self.tuning.bitmap_rows_min {
            self.tree.nodes[node].set = self.bitmap(rows.iter().copied());
        }
        self.keep_own(node, rows.iter().copied());
    }

    /// Gives `node` the list of its `rows`, unless it has a bitmap.
    fn keep_own(&mut self, node: usize, rows: impl Iterator<Item = u32>) {
        let Tree {
            nodes,
            own,
            own_starts,
            ..
        } = &mut self.tree;
        if nodes[node].set == Set::Below {
            let start = own.len();
            let mut last = 0_u32;
            own.extend_from_slice(&[0; 4]);
            pack(rows.inspect(|row| last = *row), own);
            own[start..start + 4].copy_from_slice(&last.to_le_bytes());
            nodes[node].set = Set::Own(own_starts.len() as u32 - 1);
            nodes[node].steps = nodes[node].count;
            own_starts.push(own.len() as u32);
        }
    }

    fn bitmap(&mut self, rows: impl Iterator<Item = u32>) -> Set {
        for row in rows {
            insert(&mut self.bits, row);
        }
        let number = self.shelf.put(&self.bits);
        self.bits.fill(0);
        Set::Bitmap(number)
    }
}

impl Node {
    /// A node of no review and no child.
    pub(super) const EMPTY: Node = Node {
        count: 0,
        steps: 0,
        set: Set::Below,
        labels: 0,
        inner: 0,
        leaves: 0,
        inner_len: 0,
        leaf_len: 0,
        edge_len: 0,
        head_len: 0,
    };
}
