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
use std::io;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use tokio::io::{AsyncRead, ReadBuf};
use tokio::net::TcpStream;

use crate::http::FastResponse;

use super::clock;
use super::send::{POLL_BYTES_MAX, PendingWrite, Written, send, yield_now};
use super::service::{Handler, report};
use super::state::ConnectionState;

/// What is read at a time; requests beyond it wait in the socket. A head that is longer is hyper's.
const INPUT_BYTES: usize = 16 * 1024;

/// Responses to pipelined requests are collected up to about this many bytes before they are sent, so a peer that takes
/// none of them makes us keep little more.
const BATCH_BYTES: usize = 16 * 1024;

/// The [`FastResponse::cost`] after which a connection yields to others, also while more requests wait: 128 ready
/// documents, or 8 responses that are made. A search may take a millisecond, and 128 of those would keep others waiting
/// for a tenth of a second.
pub(super) const POLL_COST_MAX: usize = 128;

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

/// What the connections of a thread use in turn; each leaves it before another begins.
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
    pending: Option<Box<PendingWrite>>,
    unanswered: Vec<u8>,
    /// Cost and bytes of what was answered in this poll.
    used: (usize, usize),
    /// The clock was read in this poll.
    is_timed: bool,
    /// When what is answered next was read, if the clock has told; it is read once for both.
    began: Option<Instant>,
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
            used: (0, 0),
            is_timed: false,
            began: None,
        }
    }

    /// Goes on until the socket has nothing more to give or to take, or others are to be polled; `finishing` if no further
    /// request is to be answered here.
    pub(super) fn poll(&mut self, context: &mut Context<'_>, finishing: bool) -> Poll<Exit> {
        self.used = (0, 0);
        self.is_timed = false;
        self.began = None;
        if self.is_busy() {
            self.tick();
        }
        BUFFERS.with_borrow_mut(|buffers| {
            let Buffers { input, out } = buffers;
            loop {
                if let Some(pending) = &mut self.pending {
                    if ready!(pending.poll(context, self.stream, self.state)).is_err() {
                        return Poll::Ready(Exit::PeerClosed);
                    }
                    self.pending = None;
                    self.state.note_flushed();
                }
                let exit = if self.unanswered.is_empty() {
                    match ready!(self.read(context, input)) {
                        Ok(length) if length > 0 => self.answer(&input[..length], finishing, out),
                        _ => Some(Exit::PeerClosed),
                    }
                } else {
                    let unanswered = std::mem::take(&mut self.unanswered);
                    self.answer(&unanswered, finishing, out)
                };
                if let Some(exit) = exit {
                    return Poll::Ready(exit);
                }
                if self.pending.is_none() && self.is_used_up() {
                    return yield_now(context);
                }
            }
        })
    }

    /// Tells whether a response is still being sent, or a request waits for it.
    pub(super) fn is_busy(&self) -> bool {
        self.pending.is_some() || !self.unanswered.is_empty()
    }

    /// Reads the clock for all that happens in this poll.
    fn tick(&mut self) -> Instant {
        self.is_timed = true;
        let now = clock::instant();
        self.state.tick(now);
        now.into_std()
    }

    fn is_used_up(&self) -> bool {
        let (cost, bytes) = self.used;
        cost >= POLL_COST_MAX || bytes >= POLL_BYTES_MAX
    }

    /// Reads into `input`, and returns how much; 0 if nothing more comes.
    fn read(&mut self, context: &mut Context<'_>, input: &mut [u8]) -> Poll<io::Result<usize>> {
        let mut buffer = ReadBuf::new(input);
        let polled = Pin::new(&mut *self.stream).poll_read(context, &mut buffer);
        if !self.is_timed {
            self.began = Some(self.tick());
        }
        match &polled {
            Poll::Ready(_) => self.state.note_read(),
            Poll::Pending => self.state.note_listening(),
        }
        let length = buffer.filled().len();
        polled.map_ok(|()| length)
    }

    /// Answers the requests in `input` in their order; returns the exit, if they have led to it.
    fn answer(&mut self, input: &[u8], finishing: bool, out: &mut Vec<u8>) -> Option<Exit> {
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
                && self.used.0 < POLL_COST_MAX
            {
                match (!finishing).then(|| self.answer_one(rest, out)).flatten() {
                    Some(response) => {
                        self.used.0 += response.cost;
                        rest = rest.get(response.length..).unwrap_or_default();
                        body = response.body;
                    }
                    None => is_hypers = true,
                }
            }
            let mut at = 0;
            let sent = send(self.stream, self.state, out, body.as_ref(), &mut at);
            self.used.1 += at;
            match sent {
                Ok(Written::All) => {}
                Ok(Written::Partial) => {
                    self.state.on_write_blocked();
                    self.pending = Some(Box::new(PendingWrite::new(out, body, at)));
                    self.unanswered = rest.to_vec();
                    return None;
                }
                Err(_) => return Some(Exit::PeerClosed),
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
            report(panic.as_ref());
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
}

#[cfg(test)]
mod tests;
