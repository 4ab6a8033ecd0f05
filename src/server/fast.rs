//! The fast path of a connection without TLS: simple reads answered without hyper.
//!
//! A connection begins here. It waits without a buffer; what arrives is read into one that all connections of a thread
//! share, and the [`Handler`] answers each simple request in it at once. At the first thing that is anything else, also a
//! head that has not arrived in full, the connection goes to hyper with the bytes that are left, and never comes back:
//! hyper would have to be idle, with everything flushed and nothing read ahead, and it does not tell. So hyper and its
//! buffers (16 KB) are there only for connections that have needed them.
//!
//! The same deadlines hold as for hyper: both note their facts in [`ConnectionState`]. The last request of a connection,
//! and any that comes while the server drains, is left to hyper, which says `connection: close`.

use std::cell::RefCell;
use std::io::{self, ErrorKind, IoSlice};
use std::mem;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use std::time::Instant;

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use crate::http::{Body, FastResponse};

use super::clock;
use super::service::{Handler, POLL_COST_MAX, report_panic};
use super::state::ConnectionState;

/// What is read at a time; requests beyond it wait in the socket. A head that is longer is hyper's.
const INPUT_BYTES: usize = 16 * 1024;

/// Responses to pipelined requests are collected up to about this many bytes before they are sent, so a peer that takes
/// none of them makes us keep little more.
const BATCH_BYTES: usize = 16 * 1024;

/// Bytes after which other connections are polled, also while the socket takes more.
const POLL_BYTES_MAX: usize = 2 << 20;

/// How the fast path ends.
#[derive(Debug)]
pub(super) enum Exit {
    /// hyper goes on, from these bytes that were read and not answered.
    HandOff(Vec<u8>),
    /// We close, in good order.
    Close,
    /// The peer has closed, or broken off.
    PeerClosed,
}

/// What the connections of a thread share; each leaves it before another is polled.
struct Buffers {
    input: Box<[u8]>,
    out: Vec<u8>,
}

thread_local! {
    static BUFFERS: RefCell<Buffers> = RefCell::new(Buffers {
        input: vec![0; INPUT_BYTES].into_boxed_slice(),
        out: Vec::new(),
    });
}

/// What does not change while a connection is on the fast path.
#[derive(Clone, Copy)]
pub(super) struct FastPathConfig {
    pub(super) peer: SocketAddr,
    /// Requests of one connection; the last is hyper's.
    pub(super) requests_max: u32,
    /// Longest head in bytes.
    pub(super) header_bytes: usize,
}

/// A connection on the fast path.
pub(super) struct FastPath<'c, H> {
    stream: &'c mut TcpStream,
    handler: &'c H,
    state: &'c ConnectionState,
    config: FastPathConfig,
    /// What the socket has not taken yet, and the requests after it; empty for all but slow readers.
    pending: Option<Box<Output>>,
    unanswered: Vec<u8>,
    /// Cost of what was answered in this poll, and bytes that were sent.
    cost: usize,
    sent: usize,
    /// When what is answered first in this poll was there; the clock is read once for it and the deadlines.
    began: Option<Instant>,
}

/// Bytes to send, and a body behind them, which is shared with all that are sent the same.
struct Output {
    head: Vec<u8>,
    body: Option<Body>,
    /// How far of both the socket has taken.
    at: usize,
}

impl<'c, H: Handler> FastPath<'c, H> {
    /// Begins on a connection of which nothing was read.
    pub(super) fn new(
        stream: &'c mut TcpStream,
        handler: &'c H,
        state: &'c ConnectionState,
        config: FastPathConfig,
    ) -> FastPath<'c, H> {
        FastPath {
            stream,
            handler,
            state,
            config,
            pending: None,
            unanswered: Vec::new(),
            cost: 0,
            sent: 0,
            began: None,
        }
    }

    /// Goes on until the socket has nothing more to give or to take, or others are to be polled; `finishing` if no further
    /// request is to be answered here.
    pub(super) fn poll(&mut self, context: &mut Context<'_>, finishing: bool) -> Poll<Exit> {
        let now = clock::instant();
        self.state.tick(now);
        (self.cost, self.sent, self.began) = (0, 0, Some(now.into_std()));
        BUFFERS.with_borrow_mut(|buffers| {
            loop {
                if let Some(mut pending) = self.pending.take() {
                    let polled = self.poll_send(context, &mut pending);
                    if polled.is_pending() {
                        self.pending = Some(pending);
                    }
                    if ready!(polled).is_err() {
                        return Poll::Ready(Exit::PeerClosed);
                    }
                    self.state.note_flushed();
                }
                let Buffers { input, out } = buffers;
                let exit = if self.unanswered.is_empty() {
                    match ready!(self.poll_read(context, input)) {
                        Ok(length) if length > 0 => {
                            self.answer(context, &input[..length], finishing, out)
                        }
                        _ => Some(Exit::PeerClosed),
                    }
                } else {
                    let unanswered = mem::take(&mut self.unanswered);
                    self.answer(context, &unanswered, finishing, out)
                };
                if let Some(exit) = exit {
                    return Poll::Ready(exit);
                }
                if self.pending.is_some() {
                    return Poll::Pending;
                }
                if self.is_used_up() {
                    return yield_now(context);
                }
            }
        })
    }

    /// Tells whether a response is still being sent, or a request waits for it.
    pub(super) fn is_busy(&self) -> bool {
        self.pending.is_some() || !self.unanswered.is_empty()
    }

    fn is_used_up(&self) -> bool {
        self.cost >= POLL_COST_MAX || self.sent >= POLL_BYTES_MAX
    }

    /// Reads into `input`, and returns how much; 0 if nothing more comes.
    fn poll_read(
        &mut self,
        context: &mut Context<'_>,
        input: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        let mut buffer = ReadBuf::new(input);
        let polled = Pin::new(&mut *self.stream).poll_read(context, &mut buffer);
        match &polled {
            Poll::Ready(_) => self.state.note_read(),
            Poll::Pending => self.state.note_listening(),
        }
        let length = buffer.filled().len();
        polled.map_ok(|()| length)
    }

    /// Answers the requests in `input` in their order, as far as this poll may; returns the exit, if they have led to it.
    fn answer(
        &mut self,
        context: &mut Context<'_>,
        input: &[u8],
        finishing: bool,
        out: &mut Vec<u8>,
    ) -> Option<Exit> {
        let mut rest = input;
        while !rest.is_empty() {
            if self.is_used_up() {
                self.unanswered = rest.to_vec();
                return None;
            }
            out.clear();
            let (mut body, mut is_hypers) = (None, false);
            while !is_hypers
                && body.is_none()
                && !rest.is_empty()
                && out.len() < BATCH_BYTES
                && self.cost < POLL_COST_MAX
            {
                match (!finishing).then(|| self.answer_one(rest, out)).flatten() {
                    Some(response) => {
                        self.cost += response.cost;
                        rest = rest.get(response.length..).unwrap_or_default();
                        body = response.body;
                    }
                    None => is_hypers = true,
                }
            }
            let mut output = Output {
                head: mem::take(out),
                body,
                at: 0,
            };
            match self.poll_send(context, &mut output) {
                // The buffer stays with the thread.
                Poll::Ready(Ok(())) => *out = output.head,
                Poll::Ready(Err(_)) => return Some(Exit::PeerClosed),
                Poll::Pending => {
                    self.state.on_write_blocked();
                    output.head.shrink_to_fit();
                    self.pending = Some(Box::new(output));
                    self.unanswered = rest.to_vec();
                    return None;
                }
            }
            if is_hypers {
                return Some(Exit::HandOff(rest.to_vec()));
            }
        }
        None
    }

    /// Answers the first request of `bytes`, if it is one for this path.
    fn answer_one(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Option<FastResponse> {
        if self.state.requests() + 1 >= self.config.requests_max {
            return None;
        }
        let start = out.len();
        // A head beyond the limit looks like a part of one, which is hyper's.
        let bytes = &bytes[..bytes.len().min(self.config.header_bytes)];
        let began = self.began.take().unwrap_or_else(crate::clock::instant);
        let (handler, peer) = (self.handler, self.config.peer);
        // A handler owns nothing that a panic could leave half changed; what it has appended is cut off again.
        let respond = AssertUnwindSafe(|| handler.respond_simple(bytes, peer, began, out));
        let response = catch_unwind(respond).unwrap_or_else(|panic| {
            report_panic(panic.as_ref());
            None
        });
        if response.is_some() {
            self.state.note_request();
            self.state.note_answer();
        } else {
            out.truncate(start);
        }
        response
    }

    /// Sends what is left of `output`; ready when all of it is sent.
    fn poll_send(
        &mut self,
        context: &mut Context<'_>,
        output: &mut Output,
    ) -> Poll<io::Result<()>> {
        let Output { head, body, at } = output;
        let slices = body.as_ref().map(Body::slices);
        let total = head.len() + slices.map_or(0, |slices| slices.iter().map(Bytes::len).sum());
        while *at < total {
            if self.sent >= POLL_BYTES_MAX {
                return yield_now(context);
            }
            let stream = Pin::new(&mut *self.stream);
            let polled = match slices {
                None => stream.poll_write(context, &head[*at..]),
                Some([first, middle, last]) => {
                    let mut slices = [head, &first[..], middle, last].map(IoSlice::new);
                    let mut left = &mut slices[..];
                    IoSlice::advance_slices(&mut left, *at);
                    stream.poll_write_vectored(context, left)
                }
            };
            let bytes = ready!(polled)?;
            if bytes == 0 {
                return Poll::Ready(Err(ErrorKind::WriteZero.into()));
            }
            self.state.note_written(bytes);
            *at += bytes;
            self.sent += bytes;
        }
        Poll::Ready(Ok(()))
    }
}

/// Has the task polled again after all that is ready now, other sockets included.
fn yield_now<T>(context: &mut Context<'_>) -> Poll<T> {
    // tokio's future does that at its first poll; a waker called at once would come before the sockets are looked at.
    let _ = pin!(tokio::task::yield_now()).poll(context);
    Poll::Pending
}

#[cfg(test)]
mod tests;
