//! An index into bytes.

use super::nodes::encode_node;
use super::{Checksum, Header, PART_BYTES};
use crate::search::index::Index;
use crate::search::tree::Tree;

impl Index {
    /// Hands the bytes of the index to `sink` part by part, each at most about 1 MiB.
    ///
    /// # Errors
    /// The first of `sink`, which is not called again.
    pub fn encode<E>(&self, sink: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        let empty = Tree::default();
        let tree = self.tree.as_ref().unwrap_or(&empty);
        let mut out = Out {
            sink,
            sum: Checksum::new(),
            part: Vec::with_capacity(PART_BYTES + 64),
        };
        out.put(&Header::of(tree, &self.arena, self.memory_bytes).render())?;
        let Tree {
            nodes,
            labels,
            leaves,
            lists,
            own_starts,
            own,
            bitmaps,
            is_tight: _,
        } = tree;
        for node in nodes {
            out.put(&encode_node(node))?;
        }
        for number in leaves.iter().chain(own_starts) {
            out.put(&number.to_le_bytes())?;
        }
        for word in bitmaps.iter().flatten() {
            out.put(&word.to_le_bytes())?;
        }
        for bytes in [labels, lists, own] {
            for part in bytes.chunks(PART_BYTES) {
                out.put(part)?;
            }
        }
        out.end()
    }
}

/// Collects small pieces, sums them up and hands them on.
struct Out<S> {
    sink: S,
    sum: Checksum,
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
        (self.sink)(&self.sum.finish())
    }
}
