//! A per-thread arena for small, short-lived bytes: header values and heads of bodies that are created per request.
//!
//! A search's entity-tag, its Link, and the first bytes of a `since` response are small, and are dropped once they are
//! written to the socket. They are split off one block per thread. When the block is used up, it is reused from its
//! start if all values that were split off are dropped; otherwise the thread gets a new block. So a value of a slow reader
//! keeps one block from being reused.

use std::cell::RefCell;

use bytes::{Bytes, BytesMut};

/// Size of a block in bytes.
const BLOCK_BYTES: usize = 4_096;

thread_local! {
    static BLOCK: RefCell<BytesMut> = RefCell::new(BytesMut::with_capacity(BLOCK_BYTES));
}

/// Returns the bytes that `write` appends. It should append at most `bytes_max`: more may cost an allocation and a copy.
pub(crate) fn write_bytes(bytes_max: usize, write: impl FnOnce(&mut BytesMut)) -> Bytes {
    BLOCK.with_borrow_mut(|block| {
        // Reuses the block from its start if no value split off it is alive.
        block.reserve(bytes_max);
        write(block);
        block.split().freeze()
    })
}

/// Returns a copy of `value`, of which clones and drops are cheap.
pub(crate) fn copy(value: &[u8]) -> Bytes {
    write_bytes(value.len(), |block| block.extend_from_slice(value))
}
