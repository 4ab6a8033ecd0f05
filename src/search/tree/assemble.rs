//! One tree out of the parts that threads have grown.

use super::build::Grown;
use super::grow::Grower;
use super::shelf::Shelf;
use super::{Node, Set, Tree, Tuning, Within};
use crate::search::arena::{Arena, END};
use crate::search::rows::{count_common, packed_count, words_for};

/// Puts `grown`, ascending by gram, under one root; `None` where that passes the shelf's budget or 32 bits.
///
/// The bitmaps get numbers in the order of the nodes that keep them, so that the tree does not depend on the threads.
pub(super) fn assemble(
    arena: &Arena,
    grown: Vec<Grown>,
    tuning: Tuning,
    shelf: &Shelf<'_>,
) -> Option<Tree> {
    let sizes =
        |size: fn(&Tree) -> usize| grown.iter().map(|grown| size(&grown.tree)).sum::<usize>();
    let lengths = [
        sizes(|tree| tree.nodes.len()) + 257,
        sizes(|tree| tree.labels.len()) + grown.len() + 256,
        sizes(|tree| tree.leaves.len()) + grown.len() + 257,
        sizes(|tree| tree.lists.len()),
        sizes(|tree| tree.own.len()) + arena.rows() as usize * 5,
    ];
    // Lists of first bytes come on top of the own lists: at most five bytes a row each, of 256.
    if lengths.iter().any(|length| *length > u32::MAX as usize / 2) {
        return None;
    }
    let mut tree = Tree {
        nodes: Vec::with_capacity(lengths[0]),
        labels: Vec::with_capacity(lengths[1]),
        leaves: Vec::with_capacity(lengths[2]),
        lists: Vec::with_capacity(lengths[3]),
        own_starts: vec![0],
        ..Tree::default()
    };
    let mut groups: Vec<Vec<Grown>> = Vec::new();
    for part in grown {
        match groups.last_mut() {
            Some(group) if group[0].unit.first == part.unit.first => group.push(part),
            _ => groups.push(vec![part]),
        }
    }
    let (leaves, inner): (Vec<_>, Vec<_>) = groups
        .into_iter()
        .partition(|group| group[0].unit.second.is_none());
    tree.nodes.push(Node {
        inner: 1,
        inner_len: inner.len() as u16,
        leaf_len: leaves.len() as u16,
        ..Node::EMPTY
    });
    tree.labels
        .extend(inner.iter().chain(&leaves).map(|group| group[0].unit.first));
    for part in leaves.into_iter().flatten() {
        tree.leaves.push(tree.lists.len() as u32);
        tree.lists.extend_from_slice(&part.tree.lists);
    }
    tree.leaves.push(tree.lists.len() as u32);
    tree.nodes.resize(1 + inner.len(), Node::EMPTY);
    tree.bitmaps = shelf.take_bitmaps();
    let mut grower = Grower::new(arena.bytes(), arena.rows(), tuning, shelf);
    grower.tree = tree;
    for (number, group) in inner.into_iter().enumerate() {
        attach(&mut grower.tree, number + 1, group);
        complete(&mut grower, arena.rows(), number + 1, tuning, shelf);
    }
    let tree = grower.finish_all();
    (!shelf.is_over()).then(|| number_bitmaps(tree))
}

/// Gives `node` the parts of `group` as its children.
fn attach(tree: &mut Tree, node: usize, group: Vec<Grown>) {
    let (leaves, inner): (Vec<_>, Vec<_>) = group
        .into_iter()
        .partition(|part| part.tree.nodes.is_empty());
    let slots = tree.nodes.len();
    tree.nodes[node] = Node {
        labels: tree.labels.len() as u32,
        leaves: tree.leaves.len() as u32,
        leaf_len: leaves.len() as u16,
        inner: slots as u32,
        inner_len: inner.len() as u16,
        ..Node::EMPTY
    };
    tree.labels.extend(
        inner
            .iter()
            .chain(&leaves)
            .map(|part| part.unit.second.unwrap_or(END)),
    );
    for part in leaves {
        tree.leaves.push(tree.lists.len() as u32);
        tree.lists.extend_from_slice(&part.tree.lists);
    }
    tree.leaves.push(tree.lists.len() as u32);
    tree.nodes.resize(slots + inner.len(), Node::EMPTY);
    for (number, part) in inner.into_iter().enumerate() {
        append(tree, slots + number, part.tree);
    }
}

/// Appends `part`, whose node 0 goes to `slot`; every number in it moves to its new place.
fn append(tree: &mut Tree, slot: usize, part: Tree) {
    let nodes = tree.nodes.len() as u32;
    let (labels, leaves, lists) = (
        tree.labels.len() as u32,
        tree.leaves.len() as u32,
        tree.lists.len() as u32,
    );
    let (owns, own) = (tree.own_starts.len() as u32 - 1, tree.own.len() as u32);
    let moved = |node: &Node| Node {
        labels: node.labels + labels,
        leaves: node.leaves + leaves,
        // Numbers within the part begin at 1, as its node 0 has its slot already; a node without children may say 0.
        inner: (node.inner + nodes).saturating_sub(1),
        set: match node.set {
            Set::Own(number) => Set::Own(number + owns),
            other => other,
        },
        ..*node
    };
    let (own_gram, below) = part.nodes.split_first().unwrap_or((&Node::EMPTY, &[]));
    tree.nodes[slot] = moved(own_gram);
    tree.nodes.extend(below.iter().map(moved));
    tree.labels.extend_from_slice(&part.labels);
    tree.leaves
        .extend(part.leaves.iter().map(|start| start + lists));
    tree.lists.extend_from_slice(&part.lists);
    tree.own.extend_from_slice(&part.own);
    tree.own_starts
        .extend(part.own_starts[1..].iter().map(|start| start + own));
}

/// Counts the reviews of `node`, whose children are all there, and gives it the rows that it should keep.
fn complete(grower: &mut Grower<'_>, rows: u32, node: usize, tuning: Tuning, shelf: &Shelf<'_>) {
    let mut bits = vec![0; words_for(rows)];
    grower
        .tree
        .mark(Within::Below(&grower.tree.nodes[node]), &mut bits);
    let grown = &mut grower.tree.nodes[node];
    grown.count = count_common(&[&bits]);
    if grown.count >= tuning.bitmap_rows_min {
        grown.set = Set::Bitmap(grower.tree.bitmaps.len() as u32);
        shelf.book(bits.len() as u64 * 8);
        grower.tree.bitmaps.push(bits.into());
    }
    let leaves = &grower.tree.leaves[grown.leaves as usize..][..=usize::from(grown.leaf_len)];
    let (start, end) = (
        leaves.first().copied().unwrap_or(0),
        leaves.last().copied().unwrap_or(0),
    );
    grown.steps = packed_count(&grower.tree.lists[start as usize..end as usize]);
    grower.finish(node);
}

/// Numbers the bitmaps anew, in the order of the nodes that keep them.
fn number_bitmaps(mut tree: Tree) -> Tree {
    let mut numbers: Vec<Option<u32>> = vec![None; tree.bitmaps.len()];
    let mut old: Vec<Box<[u64]>> = std::mem::take(&mut tree.bitmaps);
    for node in &mut tree.nodes {
        let Set::Bitmap(number) = &mut node.set else {
            continue;
        };
        let place = *number as usize;
        *number = *numbers[place].get_or_insert_with(|| {
            tree.bitmaps.push(std::mem::take(&mut old[place]));
            tree.bitmaps.len() as u32 - 1
        });
    }
    tree
}
