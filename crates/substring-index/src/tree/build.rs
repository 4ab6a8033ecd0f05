//! Builds the tree: the suffixes of all texts are divided into units by their first two bytes, and threads build one
//! unit after the other.

use super::grow::{GRAM_BYTES_MAX, Grower, SuffixPos, key};
use super::{IndexOptions, Node, Postings, Set, Tree, Tuning};
use crate::arena::{Arena, END};
use crate::rows::{count_common, words_for};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Positions that one thread has in memory at a time, 32 bytes each: 512 MiB. A single unit may have more.
const BATCH_SUFFIXES_MAX: usize = 1 << 24;

/// Largest number of positions of one unit: 2 GiB of memory while it is built. Only texts of more than half a gigabyte,
/// or texts that mostly repeat two bytes, have a larger unit; such texts are scanned.
const UNIT_SUFFIXES_MAX: usize = 1 << 26;

/// A tuning relative to the number of texts, and the size of its tree.
struct Step {
    /// The limit of a leaf is the number of texts divided by this.
    leaf_one_in: u32,
    /// The limit of a leaf is never below this number of texts.
    leaf_rows_min: u32,
    /// A gram has a bitmap if it occurs in at least the number of texts divided by this.
    bitmap_one_in: u32,
    union_steps_max: u32,
    /// Bytes of the tree for each byte of ordinary folded text, measured on 200,000 and a million texts.
    bytes_per_text_byte: f64,
}

/// From the fastest to the smallest, which is nearly an index of bigrams and trigrams.
const STEPS: [Step; 7] = [
    Step {
        leaf_one_in: 4096,
        leaf_rows_min: 64,
        bitmap_one_in: 32,
        union_steps_max: 8_192,
        bytes_per_text_byte: 5.4,
    },
    Step {
        leaf_one_in: 2048,
        leaf_rows_min: 64,
        bitmap_one_in: 16,
        union_steps_max: 32_768,
        bytes_per_text_byte: 3.7,
    },
    Step {
        leaf_one_in: 512,
        leaf_rows_min: 128,
        bitmap_one_in: 8,
        union_steps_max: 65_536,
        bytes_per_text_byte: 2.3,
    },
    Step {
        leaf_one_in: 128,
        leaf_rows_min: 256,
        bitmap_one_in: 4,
        union_steps_max: u32::MAX,
        bytes_per_text_byte: 1.65,
    },
    Step {
        leaf_one_in: 64,
        leaf_rows_min: 256,
        bitmap_one_in: 4,
        union_steps_max: u32::MAX,
        bytes_per_text_byte: 1.45,
    },
    Step {
        leaf_one_in: 24,
        leaf_rows_min: 512,
        bitmap_one_in: 2,
        union_steps_max: u32::MAX,
        bytes_per_text_byte: 1.1,
    },
    Step {
        leaf_one_in: 4,
        leaf_rows_min: 512,
        bitmap_one_in: 2,
        union_steps_max: u32::MAX,
        bytes_per_text_byte: 0.65,
    },
];

/// The positions of a gram of two bytes.
struct Unit {
    gram: u16,
    /// The number of positions.
    count: usize,
}

/// Builds the tree of `arena` with the tuning of `options`, or, if it has none, with the first of `STEPS` whose tree
/// is within its memory limit; `None` if no tree is (texts are then scanned), or if `cancelled`.
///
/// A step that is unlikely to fit is skipped: its size is estimated from the bytes of text. A step that is tried is
/// aborted as soon as it exceeds the limit.
pub fn build_within(
    arena: &Arena,
    options: &IndexOptions,
    cancelled: &(dyn Fn() -> bool + Sync),
) -> Option<Tree> {
    if let Some(tuning) = options.tuning {
        return build_tree(arena, tuning, options, cancelled);
    }
    for step in &STEPS {
        let bytes = (arena.bytes.len() as f64 * step.bytes_per_text_byte) as u64;
        if bytes > options.memory_bytes {
            continue;
        }
        if cancelled() {
            return None;
        }
        if let Some(tree) = build_tree(arena, step.tuning(arena.rows()), options, cancelled) {
            return Some(tree);
        }
    }
    None
}

impl Step {
    /// Returns the tuning for this many texts.
    fn tuning(&self, rows: u32) -> Tuning {
        Tuning {
            leaf_rows_max: (rows / self.leaf_one_in).max(self.leaf_rows_min),
            bitmap_rows_min: (rows / self.bitmap_one_in).max(64),
            union_steps_max: self.union_steps_max,
        }
    }
}

/// Builds the tree of `arena` with the threads and bytes of `options`. `None` in these cases:
///
/// - the tree would exceed the bytes;
/// - one gram of two bytes has more than [`UNIT_SUFFIXES_MAX`] positions;
/// - the arena exceeds 32-bit positions;
/// - the build is `cancelled`, which is called for each unit.
///
/// Any number of threads builds the same nodes, possibly in another order. Each thread has at most
/// [`BATCH_SUFFIXES_MAX`] positions or one unit in memory, and reads the arena once for each batch.
fn build_tree(
    arena: &Arena,
    tuning: Tuning,
    options: &IndexOptions,
    cancelled: &(dyn Fn() -> bool + Sync),
) -> Option<Tree> {
    let units = units(arena);
    let is_large = units.iter().any(|unit| unit.count > UNIT_SUFFIXES_MAX);
    if is_large || arena.bytes.len() > (u32::MAX - GRAM_BYTES_MAX) as usize {
        return None;
    }
    let shared = BuildState {
        bytes_max: options.memory_bytes,
        is_over: AtomicBool::new(false),
        cancelled,
        state: Mutex::default(),
    };
    let threads = options.threads.get();
    let total: usize = units.iter().map(|unit| unit.count).sum();
    let batch_max = (total / (threads * 4)).clamp(1 << 16, BATCH_SUFFIXES_MAX);
    let queue = BatchQueue {
        batches: batches(&units, batch_max),
        next: AtomicUsize::new(0),
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.min(queue.batches.len()) {
            // If a thread cannot be started, the others do its work.
            let _ = std::thread::Builder::new()
                .spawn_scoped(scope, || grow_batches(arena, &queue, tuning, &shared));
        }
        grow_batches(arena, &queue, tuning, &shared);
    });
    let tree = join_units(arena, tuning, &shared);
    if shared.is_stopped() {
        None
    } else {
        Some(tree)
    }
}

/// The batches, which the threads take one after the other.
struct BatchQueue<'u> {
    batches: Vec<&'u [Unit]>,
    next: AtomicUsize,
}

impl<'u> BatchQueue<'u> {
    fn take(&self) -> Option<&'u [Unit]> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        self.batches.get(number).copied()
    }
}

/// State shared by the threads that build a tree.
struct BuildState<'c> {
    bytes_max: u64,
    is_over: AtomicBool,
    cancelled: &'c (dyn Fn() -> bool + Sync),
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The nodes built so far; node 0, the root, is filled in last.
    tree: Tree,
    /// The node of each unit, by its gram.
    units: Vec<(u16, u32)>,
    /// Numbers of the bitmaps by a hash of their words; bitmaps with equal hashes are compared.
    by_hash: HashMap<u64, Vec<u32>>,
}

impl BuildState<'_> {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells whether the tree exceeds its limit, or the build is cancelled.
    fn is_stopped(&self) -> bool {
        self.is_over.load(Ordering::Relaxed) || (self.cancelled)()
    }

    /// Stops the build if `tree` exceeds the limit.
    fn check_size(&self, tree: &Tree) {
        let lengths = [tree.nodes.len(), tree.labels.len(), tree.lists.len()];
        if tree.memory() > self.bytes_max || lengths.iter().any(|len| *len > u32::MAX as usize / 2)
        {
            self.is_over.store(true, Ordering::Relaxed);
        }
    }

    /// Stores `words`, unless an equal bitmap is stored already, and returns its number.
    fn store_bitmap(&self, words: &[u64]) -> u32 {
        let hash = words.iter().fold(words.len() as u64, |hash, word| {
            (hash.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95)
        });
        let mut state = self.state();
        let State { tree, by_hash, .. } = &mut *state;
        let with_hash = by_hash.entry(hash).or_default();
        for number in &*with_hash {
            if *tree.bitmaps[*number as usize] == *words {
                return *number;
            }
        }
        let number = tree.bitmaps.len() as u32;
        with_hash.push(number);
        tree.bitmaps.push(words.into());
        self.check_size(tree);
        number
    }
}

/// Counts the positions of each gram of two bytes, ascending. No gram begins within a code point or with the end of a
/// text, but it may have that as its second byte.
fn units(arena: &Arena) -> Vec<Unit> {
    let mut counts = vec![0; 1 << 16];
    for pair in arena.bytes.windows(2) {
        counts[usize::from(u16::from_be_bytes([pair[0], pair[1]]))] += 1;
    }
    let mut units = Vec::new();
    for (gram, count) in (0..=u16::MAX).zip(counts) {
        let is_inside_code_point = gram >> 14 == 0b10;
        let begins_with_end = gram >> 8 == u16::from(END);
        if count > 0 && !is_inside_code_point && !begins_with_end {
            units.push(Unit { gram, count });
        }
    }
    units
}

/// Divides `units` into runs of at most `suffixes_max` positions, or of one unit.
fn batches(units: &[Unit], suffixes_max: usize) -> Vec<&[Unit]> {
    let mut batches = Vec::new();
    let mut start = 0;
    let mut held = 0;
    for (number, unit) in units.iter().enumerate() {
        if number > start && held + unit.count > suffixes_max {
            batches.push(&units[start..number]);
            start = number;
            held = 0;
        }
        held += unit.count;
    }
    batches.push(&units[start..]);
    batches
}

/// Takes batches from the queue and grows their units, until the queue is empty or the build is stopped. Each thread runs
/// this once.
fn grow_batches(arena: &Arena, queue: &BatchQueue<'_>, tuning: Tuning, shared: &BuildState<'_>) {
    let mut memory = [Vec::new(), Vec::new()];
    while let Some(batch) = queue.take()
        && !shared.is_stopped()
    {
        grow_batch(arena, batch, tuning, shared, &mut memory);
    }
}

fn grow_batch(
    arena: &Arena,
    units: &[Unit],
    tuning: Tuning,
    shared: &BuildState<'_>,
    [suffixes, spare]: &mut [Vec<SuffixPos>; 2],
) {
    let store_bitmap = |words: &[u64]| shared.store_bitmap(words);
    let mut grower = Grower::new(&arena.bytes, words_for(arena.rows()), tuning, &store_bitmap);
    collect(arena, units, suffixes);
    let mut rest = &mut suffixes[..];
    let mut nodes = Vec::with_capacity(units.len());
    for unit in units {
        if shared.is_stopped() {
            return;
        }
        let of_unit;
        (of_unit, rest) = rest.split_at_mut(unit.count);
        if spare.len() < unit.count {
            spare.resize(unit.count, SuffixPos::default());
        }
        nodes.push((unit.gram, grower.tree.nodes.len() as u32));
        grower.grow_unit(of_unit, &mut spare[..unit.count], unit.gram as u8);
    }
    let mut state = shared.state();
    let first = state.tree.append(&grower.tree);
    let moved = nodes.into_iter().map(|(gram, node)| (gram, node + first));
    state.units.extend(moved);
    shared.check_size(&state.tree);
}

/// Collects the positions of `units`, unit after unit, each in the order of the arena.
///
/// All batches together read the arena dozens of times, so if the grams of all `units` begin with the same byte, a
/// fast byte search skips all other bytes. `suffixes` never shrinks, as new memory costs more than reused memory.
fn collect(arena: &Arena, units: &[Unit], suffixes: &mut Vec<SuffixPos>) {
    const OTHER: usize = usize::MAX;
    let mut next = vec![OTHER; 1 << 16];
    let mut is_first = [false; 256];
    let mut total = 0;
    for unit in units {
        next[usize::from(unit.gram)] = total;
        is_first[usize::from(unit.gram >> 8)] = true;
        total += unit.count;
    }
    if suffixes.len() < total {
        suffixes.resize(total, SuffixPos::default());
    }
    let bytes = &*arena.bytes;
    let mut row = 0;
    let visit = |position: usize| {
        if bytes[position] == END {
            row += 1;
            return;
        }
        // Every text has an end mark, so another byte follows.
        let gram = u16::from_be_bytes([bytes[position], bytes[position + 1]]);
        let next = &mut next[usize::from(gram)];
        if *next != OTHER {
            suffixes[*next] = SuffixPos {
                key: key(bytes, position + 2),
                position: position as u32,
                row,
            };
            *next += 1;
        }
    };
    let mut firsts = (0..END).filter(|byte| is_first[usize::from(*byte)]);
    match (firsts.next(), firsts.next()) {
        (Some(first), None) => memchr::memchr2_iter(first, END, bytes).for_each(visit),
        _ => {
            is_first[usize::from(END)] = true;
            let here = bytes
                .iter()
                .zip(0..)
                .filter(|(byte, _)| is_first[usize::from(**byte)]);
            here.map(|(_, position)| position).for_each(visit);
        }
    }
}

/// Takes the tree out of `shared`, and adds a parent node for the units of each first byte, and the root above these.
/// The grower stores no bitmap here: the numbers of `shared` no longer fit the tree.
fn join_units(arena: &Arena, tuning: Tuning, shared: &BuildState<'_>) -> Tree {
    let store_bitmap = |words: &[u64]| shared.store_bitmap(words);
    let mut grower = Grower::new(&arena.bytes, words_for(arena.rows()), tuning, &store_bitmap);
    let mut units = {
        let mut state = shared.state();
        grower.tree = std::mem::take(&mut state.tree);
        std::mem::take(&mut state.units)
    };
    units.sort_unstable();
    let mut first_bytes = Vec::new();
    for group in units.chunk_by(|left, right| left.0 >> 8 == right.0 >> 8) {
        let children = group.iter().map(|(gram, number)| {
            let child = grower.tree.nodes[*number as usize];
            (*gram as u8, child)
        });
        let mut node = grower.tree.adopt(children.collect());
        let mut bits = vec![0; words_for(arena.rows())];
        grower.tree.mark(Postings::FromLeaves(&node), &mut bits);
        node.count = count_common(&[&bits], &(0..arena.rows()));
        if node.count >= tuning.bitmap_rows_min {
            node.set = Set::Bitmap(grower.tree.bitmaps.len() as u32);
            grower.tree.bitmaps.push(bits.into());
        }
        let number = grower.tree.nodes.len();
        grower.tree.nodes.push(node);
        grower.finish(number);
        first_bytes.push(((group[0].0 >> 8) as u8, grower.tree.nodes[number]));
    }
    let mut tree = grower.tree;
    let root = tree.adopt(first_bytes);
    if let Some(slot) = tree.nodes.first_mut() {
        *slot = root;
    }
    shared.check_size(&tree);
    tree.nodes.shrink_to_fit();
    tree.labels.shrink_to_fit();
    tree.leaves.shrink_to_fit();
    tree.lists.shrink_to_fit();
    tree
}

impl Tree {
    /// Appends the nodes of `part` with their labels and lists; returns the number of the first. Its bitmaps are in the
    /// shared tree already.
    fn append(&mut self, part: &Tree) -> u32 {
        // Node 0 is reserved for the root.
        if self.nodes.is_empty() {
            self.nodes.push(Node::default());
        }
        let nodes = self.nodes.len() as u32;
        let labels = self.labels.len() as u32;
        let leaves = self.leaves.len() as u32;
        let lists = self.lists.len() as u32;
        for node in &part.nodes {
            self.nodes.push(Node {
                labels_start: node.labels_start + labels,
                leaves_start: node.leaves_start + leaves,
                inner_start: node.inner_start + nodes,
                set: match node.set {
                    Set::List(start) => Set::List(start + lists),
                    other => other,
                },
                ..*node
            });
        }
        self.labels.extend_from_slice(&part.labels);
        self.leaves
            .extend(part.leaves.iter().map(|start| start + lists));
        self.lists.extend_from_slice(&part.lists);
        nodes
    }

    /// Appends `children`, with the byte that leads to each; returns a node that has them.
    fn adopt(&mut self, children: Vec<(u8, Node)>) -> Node {
        let node = Node {
            labels_start: self.labels.len() as u32,
            inner_start: self.nodes.len() as u32,
            inner_len: children.len() as u16,
            ..Node::default()
        };
        for (label, child) in children {
            self.labels.push(label);
            self.nodes.push(child);
        }
        node
    }
}
