//! Nodes as bytes, and what must hold of a tree that was read before a search may walk it.

use crate::search::arena::Arena;
use crate::search::tree::{GRAM_BYTES_MAX, Node, Set, Tree};

/// Bytes of one node.
pub(super) const NODE_BYTES: usize = 30;

/// Tells whether every number in `tree` points into its array, and each node but the root is the child of exactly
/// one before it, none deeper than grams are long. Lists need no look: whatever they decode to is bounded by the rows.
pub(super) fn is_sound(tree: &Tree, arena: &Arena) -> bool {
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
    bytes[29] = kind;
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
        set: match bytes[29] {
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
    }
}
