//! From lists in bytes to tight ones, once the tree is whole.

use super::tight::{BASE_ROWS_MAX, BASES_MAX, pack_ranks};
use super::{Node, Tree, Within};
use crate::search::arena::END;
use crate::search::rows::{packed_count, unpack};
use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};
use std::thread;

/// A list of fewer rows has no base: its own codes take hardly more than the base's number.
const BASED_ROWS_MIN: u32 = 8;

/// Lists that a thread takes on at a time.
const SHARE: usize = 4096;

/// What stands from one entry of `leaves` to the next.
#[derive(Clone, Copy, Debug)]
enum Entry {
    /// The first rows of a node, behind its leaves.
    Head,
    /// The list of a leaf: the leaf of what follows its first code point, if that is one, and how many rows it has.
    Leaf(Option<u32>, u32),
}

impl Tree {
    /// Makes the lists of all leaves tight, by up to `threads` threads; `rows` is the number of all reviews.
    ///
    /// The same bytes come of any number of threads. False, and nothing of use in the tree, where the lists would take more
    /// bytes than 32-bit positions can tell.
    #[must_use]
    pub(super) fn tighten(&mut self, rows: u32, threads: NonZeroUsize) -> bool {
        let bases = Bases::choose(self);
        let shares: Vec<Range<usize>> = (0..self.leaves.len())
            .step_by(SHARE)
            .map(|start| start..self.leaves.len().min(start + SHARE))
            .collect();
        let jobs = Mutex::new(shares.iter().cloned().enumerate());
        let next = || jobs.lock().unwrap_or_else(PoisonError::into_inner).next();
        let parts: Vec<Mutex<Part>> = shares.iter().map(|_| Mutex::default()).collect();
        let work = || {
            let mut memory = Memory::default();
            while let Some((number, share)) = next() {
                let part = self.pack_share(share, rows, &bases, &mut memory);
                *parts[number].lock().unwrap_or_else(PoisonError::into_inner) = part;
            }
        };
        thread::scope(|scope| {
            for _ in 1..threads.get().min(shares.len()) {
                // Where the system gives no thread, the others do its share.
                let _refused = thread::Builder::new().spawn_scoped(scope, work);
            }
            work();
        });
        drop(bases);
        let parts: Vec<Part> = parts
            .into_iter()
            .map(|part| part.into_inner().unwrap_or_else(PoisonError::into_inner))
            .collect();
        let bytes: usize = parts.iter().map(|part| part.lists.len()).sum();
        if u32::try_from(bytes).is_err() {
            return false;
        }
        let mut leaves = Vec::with_capacity(self.leaves.len());
        // What is taken apart is not needed any more.
        self.lists = Vec::with_capacity(bytes);
        let lists = &mut self.lists;
        for part in parts {
            leaves.extend(part.starts.iter().map(|start| start + lists.len() as u32));
            lists.extend_from_slice(&part.lists);
        }
        (self.leaves, self.is_tight) = (leaves, true);
        true
    }

    fn pack_share(
        &self,
        share: Range<usize>,
        rows: u32,
        bases: &Bases,
        memory: &mut Memory,
    ) -> Part {
        let Memory { own, base, ranks } = memory;
        let read = |entry: usize, rows: &mut Vec<u32>| {
            rows.clear();
            unpack(self.entry(entry), u32::MAX, |row| {
                rows.push(row);
                true
            });
        };
        let mut part = Part::default();
        for entry in share {
            part.starts.push(part.lists.len() as u32);
            match (&bases.entries[entry], bases.base[entry]) {
                (Entry::Head, _) => part.lists.extend_from_slice(self.entry(entry)),
                (Entry::Leaf(..), None) => {
                    read(entry, own);
                    pack_ranks(own, rows, None, &mut part.lists);
                }
                (Entry::Leaf(..), Some(of)) => {
                    read(entry, own);
                    read(of as usize, base);
                    ranks.clear();
                    let places = (0..).zip(&*base);
                    let mut wanted = own.iter().peekable();
                    ranks.extend(
                        places.filter_map(|(place, row)| wanted.next_if_eq(&row).map(|_| place)),
                    );
                    pack_ranks(ranks, base.len() as u32, Some(of), &mut part.lists);
                }
            }
        }
        part
    }

    /// Returns what stands from entry `entry` of `leaves` to the next.
    fn entry(&self, entry: usize) -> &[u8] {
        let end = self.leaves.get(entry + 1).map(|end| *end as usize);
        &self.lists[self.leaves[entry] as usize..end.unwrap_or(self.lists.len())]
    }
}

/// Some lists, and where each begins.
#[derive(Default)]
struct Part {
    starts: Vec<u32>,
    lists: Vec<u8>,
}

/// Memory that a thread uses again for each list.
#[derive(Default)]
struct Memory {
    own: Vec<u32>,
    base: Vec<u32>,
    ranks: Vec<u32>,
}

/// The base of each list.
struct Bases {
    entries: Vec<Entry>,
    base: Vec<Option<u32>>,
}

impl Bases {
    fn choose(tree: &Tree) -> Bases {
        let mut entries = vec![Entry::Head; tree.leaves.len()];
        let mut by_length = Vec::new();
        each_leaf(tree, &tree.nodes[0], &mut Vec::new(), &mut |gram, leaf| {
            let base = rest_of(gram).and_then(|rest| leaf_of(tree, rest));
            entries[leaf] = Entry::Leaf(base, packed_count(tree.entry(leaf)));
            by_length.push((gram.len() as u32, leaf as u32));
        });
        // A base's gram is shorter, so that its own base is known before.
        by_length.sort_unstable();
        let mut base = vec![None; tree.leaves.len()];
        // How many bases each list has, and the rows of all of them.
        let mut chains = vec![(0_u32, 0_u64); tree.leaves.len()];
        for (_, leaf) in by_length {
            let leaf = leaf as usize;
            let Entry::Leaf(Some(mut of), count) = entries[leaf] else {
                continue;
            };
            if chains[of as usize].0 == BASES_MAX {
                of = base[of as usize].unwrap_or(of);
            }
            // Where a node has a bitmap, the reviews that end with its gram are not kept.
            let Entry::Leaf(_, of_count) = entries[of as usize] else {
                continue;
            };
            let (bases, rows) = chains[of as usize];
            let rows = rows + u64::from(of_count);
            let is_cheap = rows <= u64::from(count) * u64::from(BASE_ROWS_MAX);
            if count >= BASED_ROWS_MIN && of_count >= count && is_cheap {
                base[leaf] = Some(of);
                chains[leaf] = (bases + 1, rows);
            }
        }
        Bases { entries, base }
    }
}

/// Calls `each` with the gram of every leaf below `node`, whose own gram without its edge is `gram`.
fn each_leaf(tree: &Tree, node: &Node, gram: &mut Vec<u8>, each: &mut impl FnMut(&[u8], usize)) {
    let Some((edge, children)) = tree.labels_of(node) else {
        return;
    };
    let length = gram.len();
    gram.extend_from_slice(edge);
    for (number, label) in children.iter().enumerate() {
        gram.push(*label);
        match number.checked_sub(usize::from(node.inner_len)) {
            None => each_leaf(tree, &tree.nodes[node.inner as usize + number], gram, each),
            Some(leaf) => each(gram, node.leaves as usize + leaf),
        }
        gram.pop();
    }
    gram.truncate(length);
}

/// Returns what follows the first code point of `gram`; `None` where no text does.
fn rest_of(gram: &[u8]) -> Option<&[u8]> {
    let second = (1..gram.len()).find(|at| gram[*at] & 0xc0 != 0x80)?;
    (gram[second] != END).then(|| &gram[second..])
}

/// Returns the leaf in which the walk for `gram` ends.
fn leaf_of(tree: &Tree, gram: &[u8]) -> Option<u32> {
    match tree.find(gram)?.within {
        Within::Leaf(leaf) => Some(leaf),
        _ => None,
    }
}
