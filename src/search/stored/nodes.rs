//! Nodes as bytes, and what must hold of a tree that was read before a search may walk it.

use crate::search::tree::{GRAM_BYTES_MAX, Node, Set, Tree};

/// Bytes of one node.
pub(super) const NODE_BYTES: usize = 31;

/// Tells whether every number in `tree`, of `rows` reviews, points into its array, each node but the root is the child
/// of exactly one before it, none deeper than grams are long, and no walk meets bytes twice, so that the whole tree is
/// the most that a search can read. Lists of bytes need no look: whatever they hold, they unpack to ascending rows below
/// the end. Tight ones may share rows, no more than texts of `texts_bytes` have.
pub(super) fn is_sound(tree: &Tree, rows: u32, texts_bytes: u64) -> bool {
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
        if !(reached && set && leaves && labels <= tree.labels.len() && node.count <= rows) {
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
    u32::try_from(tree.leaves.len()).is_ok()
        && tree.leaves.is_sorted()
        && tree.own_starts.is_sorted()
        && tree.nodes[0].edge_len == 0
        && Ends::default().pass(tree, &tree.nodes[0], true)
        && (!tree.is_tight || tree.has_sound_lists(texts_bytes, rows))
}

/// How much of a tree belongs to the nodes that a walk has passed, each node before its children. A tree is written in
/// this order, own lists once all below a node is there.
#[derive(Default)]
struct Ends {
    labels: usize,
    leaves: usize,
    own: u32,
}

impl Ends {
    /// Passes `node` and all below it; `false` where that takes what another node has, or would read a bitmap for
    /// each child. Numbers have been found to point into their arrays, and depth to be bounded.
    fn pass(&mut self, tree: &Tree, node: &Node, is_root: bool) -> bool {
        let labels =
            usize::from(node.edge_len) + usize::from(node.inner_len) + usize::from(node.leaf_len);
        let children = &tree.nodes[node.inner as usize..][..usize::from(node.inner_len)];
        // The root is never asked for its rows.
        let is_dear = |child: &Node| matches!(child.set, Set::Bitmap(_));
        take(&mut self.labels, node.labels, labels)
            && take(&mut self.leaves, node.leaves, usize::from(node.leaf_len))
            && (is_root || node.set != Set::Below || !children.iter().any(is_dear))
            && children.iter().all(|child| self.pass(tree, child, false))
            && match node.set {
                Set::Own(own) if children.iter().all(|child| child.set != node.set) => {
                    let is_next = own >= self.own;
                    self.own = own.saturating_add(1);
                    is_next
                }
                _ => true,
            }
    }
}

/// Takes `len` entries from `start` on, which is not before `end`, and moves that behind them; nothing is always there.
fn take(end: &mut usize, start: u32, len: usize) -> bool {
    let start = start as usize;
    if len > 0 && start < *end {
        return false;
    }
    if len > 0 {
        *end = start + len;
    }
    true
}

/// Returns the bytes of `node`.
pub(super) fn encode_node(node: &Node) -> [u8; NODE_BYTES] {
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
    bytes[29] = node.head_len;
    bytes[30] = kind;
    bytes
}

/// Returns the node of `bytes`. One whose kind of set is unknown points nowhere, and so is not sound.
pub(super) fn decode_node(bytes: &[u8; NODE_BYTES]) -> Node {
    let mut numbers = [0; 6];
    for (number, place) in numbers.iter_mut().zip(bytes.as_chunks().0) {
        *number = u32::from_le_bytes(*place);
    }
    let [count, steps, set, labels, inner, leaves] = numbers;
    Node {
        count,
        steps,
        set: match bytes[30] {
            0 => Set::Below,
            1 => Set::Bitmap(set),
            2 => Set::Own(set),
            _ => Set::Own(u32::MAX),
        },
        labels,
        inner,
        leaves,
        inner_len: u16::from_le_bytes([bytes[24], bytes[25]]),
        leaf_len: u16::from_le_bytes([bytes[26], bytes[27]]),
        edge_len: bytes[28],
        head_len: bytes[29],
    }
}
