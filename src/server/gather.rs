//! What HTTP/2 writes while its connection is polled once, sent together.
//!
//! h2 writes and flushes each frame with 256 bytes of a body or more by itself, so a hundred replies of that size,
//! ready at the same moment, would be a hundred calls to the kernel and as many packets, and over TLS as many records.
//! Here they are copied behind each other, which costs a twentieth of that, and leave when h2 has nothing more to say,
//! or when there are enough of them.
//!
//! h2 owns the stream and flushes it at the end of each frame, so a flush in itself says nothing. What says it is that
//! the connection's poll comes back, which its task sees: it polls the connection once more, and that flush counts.
//!
//! A peer that does not read keeps one lot of [`GATHER_BYTES`] of ours, beside what the kernel has for it.

use std::cell::Cell;
use std::io::{self, ErrorKind, IoSlice};
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::task::{Context, Poll, ready};

use hyper::rt::{Read, ReadBufCursor, Write};

use super::io::{Stream, Watched};
use super::send::{TURN_BYTES, yield_now};

/// Bytes that are sent together at the most: 45 segments of Ethernet, the most that the kernel hands on as one piece
/// (65,535 bytes with its headers), less what TLS adds to its four records. A few bytes more, and they would leave in a
/// packet of their own.
const GATHER_BYTES: usize = 45 * 1_448 - 4 * 29;

thread_local! {
    /// The memory of what was sent last, so that a connection has none but while it waits for its peer.
    static SPARE: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Says to a [`Gathered`] stream, from outside of the connection that owns it, when to send.
///
/// One thread at a time touches it; it only has to be shareable.
#[derive(Debug, Default)]
pub(super) struct Gathering {
    /// A flush waits until the connection has been polled.
    is_held: AtomicBool,
    /// Something was written since the last flush that came to its end.
    is_owing: AtomicBool,
    /// Bytes that were sent since the connection was polled: others have their turn after [`TURN_BYTES`].
    sent: AtomicUsize,
}

impl Gathering {
    /// Polls a connection by `poll`, and once more to send what it has written, if it has.
    pub(super) fn poll<T>(&self, mut poll: impl FnMut() -> Poll<T>) -> Poll<T> {
        self.sent.store(0, Relaxed);
        self.is_held.store(true, Relaxed);
        let polled = poll();
        self.is_held.store(false, Relaxed);
        match polled {
            // Once hands are shaken, h2 flushes in each poll, whether or not it has written. When the turn is over
            // nothing is kept here, and the task is polled again after others.
            Poll::Pending if self.is_owing.load(Relaxed) && !self.is_turn_over() => poll(),
            polled => polled,
        }
    }

    fn is_turn_over(&self) -> bool {
        self.sent.load(Relaxed) >= TURN_BYTES
    }
}

/// A stream that keeps what is written until its [`Gathering`] lets it go.
#[derive(Debug)]
pub(super) struct Gathered<S: Stream> {
    stream: Watched<S>,
    gathering: Arc<Gathering>,
    /// What was written and is not sent; without memory while there is none.
    bytes: Vec<u8>,
    /// How far of it the stream has taken.
    sent: usize,
    /// The peer has said something. Before, h2 flushes its first words once, and then only listens.
    has_read: bool,
}

impl<S: Stream> Gathered<S> {
    /// Gathers what is written to `stream`.
    pub(super) fn new(stream: Watched<S>, gathering: Arc<Gathering>) -> Gathered<S> {
        Gathered {
            stream,
            gathering,
            bytes: Vec::new(),
            sent: 0,
            has_read: false,
        }
    }

    /// Copies as much of `slices` as there is room for, and returns how much.
    fn gather(&mut self, slices: &[IoSlice<'_>]) -> usize {
        if self.bytes.capacity() == 0 {
            self.bytes = SPARE.take();
            // It never grows: an exact capacity is the bound.
            self.bytes.reserve_exact(GATHER_BYTES);
        }
        let before = self.bytes.len();
        for slice in slices {
            let room = GATHER_BYTES - self.bytes.len();
            self.bytes
                .extend_from_slice(&slice[..slice.len().min(room)]);
        }
        self.gathering.is_owing.store(true, Relaxed);
        self.bytes.len() - before
    }

    /// Lets go of what was gathered, sent or not.
    fn discard(&mut self) {
        self.bytes.clear();
        self.sent = 0;
    }

    /// Sends what was gathered; ready when the stream has taken everything.
    fn send(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while let Some(rest @ [_, ..]) = self.bytes.get(self.sent..) {
            match ready!(Pin::new(&mut self.stream).poll_write(context, rest)) {
                Ok(taken @ 1..) => self.sent += taken,
                outcome => {
                    // TLS may have taken what it could not send; it is not to be said twice.
                    self.discard();
                    let error = outcome.err();
                    return Poll::Ready(Err(error.unwrap_or(ErrorKind::WriteZero.into())));
                }
            }
        }
        if self.bytes.capacity() > 0 {
            let turn = &self.gathering.sent;
            turn.store(turn.load(Relaxed) + self.sent, Relaxed);
            self.discard();
            SPARE.set(mem::take(&mut self.bytes));
        }
        Poll::Ready(Ok(()))
    }

    /// Sends what was gathered, and flushes the stream: under TLS the last of it may still wait there.
    fn flush(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.send(context))?;
        ready!(Pin::new(&mut self.stream).poll_flush(context))?;
        self.gathering.is_owing.store(false, Relaxed);
        Poll::Ready(Ok(()))
    }
}

impl<S: Stream> Drop for Gathered<S> {
    /// A connection may end without a flush, and what was said in that poll is still to be heard.
    fn drop(&mut self) {
        if let Some(rest @ [_, ..]) = self.bytes.get(self.sent..) {
            self.stream.send_now(rest);
        }
    }
}

impl<S: Stream> Read for Gathered<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.stream).poll_read(context, buffer);
        match &outcome {
            Poll::Ready(Ok(())) => self.has_read = true,
            // Under TLS our last word is the alert that says why.
            Poll::Ready(Err(_)) => self.discard(),
            Poll::Pending => {}
        }
        outcome
    }
}

impl<S: Stream> Write for Gathered<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(context, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        if this.bytes.len() >= GATHER_BYTES {
            ready!(this.send(context))?;
        }
        if this.gathering.is_turn_over() {
            return yield_now(context);
        }
        Poll::Ready(Ok(this.gather(slices)))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.has_read && self.gathering.is_held.load(Relaxed) {
            true => Poll::Ready(Ok(())),
            false => self.get_mut().flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        ready!(this.flush(context))?;
        Pin::new(&mut this.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests;
