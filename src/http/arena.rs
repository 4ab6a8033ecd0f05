//! Short-lived bytes without an allocation each: header values and heads of bodies that are made per request.
//!
//! A search's entity-tag, its Link, and the first bytes of a `since` answer are small, and are done with once they
//! are written to the socket. They are cut from one block per thread; when its end is reached and nothing cut from
//! it is alive any more, the same block begins anew. A slow reader holds at most one block.

use std::cell::RefCell;

use bytes::{Bytes, BytesMut};

/// Size of a block in bytes; a value larger than what is left of it moves to a new block.
const BLOCK_BYTES: usize = 4_096;

thread_local! {
    static BLOCK: RefCell<BytesMut> = RefCell::new(BytesMut::with_capacity(BLOCK_BYTES));
}

/// Returns what `write` appends, at most `bytes_max` of it without a new block.
pub(crate) fn cut(bytes_max: usize, write: impl FnOnce(&mut BytesMut)) -> Bytes {
    BLOCK.with_borrow_mut(|block| {
        // Reuses the block from its start when nothing cut from it is alive.
        block.reserve(bytes_max);
        write(block);
        block.split().freeze()
    })
}

/// Returns a copy of `value`.
pub(crate) fn copy(value: &[u8]) -> Bytes {
    cut(value.len(), |block| block.extend_from_slice(value))
}
