//! The fast path: plain requests on a connection without TLS, answered beneath hyper.
//!
//! A connection begins here. It waits without a buffer; what has come is read into one that all connections of a thread
//! share, and each plain request in it is answered by the [`Handler`] at once. A request that has come in part is kept
//! until the rest comes: most clients send the head of a call (a POST) by itself and its body behind it. At the first
//! thing that is anything else, the connection goes to hyper with what was read of it, and never comes back: hyper would
//! have to be idle, with everything flushed and nothing read ahead, and nobody outside can tell. So hyper and its buffers
//! (16 KB) are there only for connections that have needed them.
//!
//! What hyper's connections are held to holds here: the facts go to the same [`Activity`], and the same
//! [`Sentry`](super::sentry::Sentry) judges them. The last request of a connection, and any that comes while the server
//! drains, is left to hyper, which says `connection: close`.

use std::cell::RefCell;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep_until};

use crate::http::Answered;
use crate::wire::plain::NotPlain;

use super::activity::Activity;
use super::clock;
use super::send::{Owed, Sent, TURN_BYTES, give_way, send};
use super::service::{Handler, report};

/// What is read at a time; requests beyond it wait in the socket. A head that is longer is hyper's.
const INPUT_BYTES: usize = 16 * 1024;

/// Replies to pipelined requests are gathered up to about this many bytes before they are sent, so a peer that takes
/// none of them makes us keep little more.
const BATCH_BYTES: usize = 16 * 1024;

/// The [`Answered::cost`] after which other connections have their turn, also while more requests wait: 128 ready documents,
/// or 8 replies that are made. A search may take a millisecond, and 128 of those would keep others waiting for a tenth of
/// a second.
pub(super) const TURN_COST: usize = 128;

/// Parts in which one request may come; with one more it goes to hyper. Each is looked at together with all before it, so
/// that a head of single bytes would cost thousands.
const PARTS_MAX: u8 = 8;

/// How long a whole head waits here for its body; then it goes to hyper, where bodies have their own time, which begins
/// there. So this is what a body may take longer than that. Our choice: a client that sends it at all has sent it by then.
pub(super) const BODY_WAIT: Duration = Duration::from_millis(250);

/// How the fast path ends.
#[derive(Debug)]
pub(super) enum End {
    /// hyper goes on, from these bytes that were read and not answered.
    Hand(Vec<u8>),
    /// We close, in good order.
    Close,
    /// The peer has closed, or broken off.
    Gone,
}

/// What all connections of a thread use in turn; each leaves it before another begins.
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
pub(super) struct Terms {
    pub(super) peer: SocketAddr,
    /// Requests of one connection; the last is hyper's.
    pub(super) requests_max: u32,
    /// Longest head in bytes.
    pub(super) header_bytes: usize,
    /// How long the body of a call is waited for: [`BODY_WAIT`].
    pub(super) body_wait: Duration,
}

/// A connection on the fast path.
pub(super) struct FastPath<'c, H> {
    stream: &'c mut TcpStream,
    handler: &'c H,
    activity: &'c Activity,
    terms: Terms,
    /// What the socket has not taken yet, and the requests behind it; empty for all but slow readers.
    owed: Option<Box<Owed>>,
    rest: Vec<u8>,
    /// The beginning of a request, and in how many parts it has come; empty for all but those.
    begun: Vec<u8>,
    parts: u8,
    /// Until when the rest of its body is waited for.
    body_wait: Option<Pin<Box<Sleep>>>,
    /// Cost and bytes of what was answered in this turn.
    turn: (usize, usize),
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
        activity: &'c Activity,
        terms: Terms,
    ) -> FastPath<'c, H> {
        FastPath {
            stream,
            handler,
            activity,
            terms,
            owed: None,
            rest: Vec::new(),
            begun: Vec::new(),
            parts: 0,
            body_wait: None,
            turn: (0, 0),
            is_timed: false,
            began: None,
        }
    }

    /// Goes on until the socket has nothing more to give or to take, or others have their turn; `finishing` if no further
    /// request is to be answered here.
    pub(super) fn poll(&mut self, context: &mut Context<'_>, finishing: bool) -> Poll<End> {
        self.turn = (0, 0);
        self.is_timed = false;
        self.began = None;
        if self.owed.is_some() || !self.rest.is_empty() {
            self.tick();
        }
        BUFFERS.with_borrow_mut(|buffers| {
            let Buffers { input, out } = buffers;
            loop {
                if let Some(owed) = &mut self.owed {
                    if ready!(owed.poll(context, self.stream, self.activity)).is_err() {
                        return Poll::Ready(End::Gone);
                    }
                    self.owed = None;
                    self.activity.note_flushed();
                }
                let end = if self.rest.is_empty() {
                    if finishing && self.has_begun() {
                        return Poll::Ready(End::Hand(std::mem::take(&mut self.begun)));
                    }
                    let read = match self.read(context, input) {
                        Poll::Pending if self.is_body_late(context) => {
                            return Poll::Ready(End::Hand(std::mem::take(&mut self.begun)));
                        }
                        read => ready!(read),
                    };
                    match read {
                        Ok(length) if length > 0 => self.answer(&input[..length], finishing, out),
                        // hyper knows what becomes of half a request.
                        Ok(_) if self.has_begun() => {
                            Some(End::Hand(std::mem::take(&mut self.begun)))
                        }
                        _ => Some(End::Gone),
                    }
                } else {
                    let rest = std::mem::take(&mut self.rest);
                    self.answer(&rest, finishing, out)
                };
                if let Some(end) = end {
                    return Poll::Ready(end);
                }
                if self.owed.is_none() && self.is_turn_over() {
                    return give_way(context);
                }
            }
        })
    }

    /// Tells whether a reply is still being sent, or a request waits for its turn or for the rest of it.
    pub(super) fn is_busy(&self) -> bool {
        self.owed.is_some() || !self.rest.is_empty() || self.has_begun()
    }

    /// Tells whether a part of a request has come, and the rest has not.
    pub(super) fn has_begun(&self) -> bool {
        !self.begun.is_empty()
    }

    /// Tells whether a body has been waited for long enough, and else has the task woken when it has.
    fn is_body_late(&mut self, context: &mut Context<'_>) -> bool {
        let wait = self.body_wait.as_mut();
        wait.is_some_and(|wait| wait.as_mut().poll(context).is_ready())
    }

    /// Reads the clock for all that happens in this poll.
    fn tick(&mut self) -> Instant {
        self.is_timed = true;
        let now = clock::instant();
        self.activity.tick(now);
        now.into_std()
    }

    fn is_turn_over(&self) -> bool {
        let (cost, bytes) = self.turn;
        cost >= TURN_COST || bytes >= TURN_BYTES
    }

    /// Reads into `input`, behind what has begun, and returns how long both are; 0 if nothing more comes.
    fn read(&mut self, context: &mut Context<'_>, input: &mut [u8]) -> Poll<io::Result<usize>> {
        let (begun, behind) = input.split_at_mut(self.begun.len());
        let mut buffer = ReadBuf::new(behind);
        let outcome = Pin::new(&mut *self.stream).poll_read(context, &mut buffer);
        if !self.is_timed {
            self.began = Some(self.tick());
        }
        match &outcome {
            Poll::Ready(_) => self.activity.note_read(),
            Poll::Pending => self.activity.note_listening(),
        }
        let length = buffer.filled().len();
        if length > 0 && self.has_begun() {
            begun.copy_from_slice(&std::mem::take(&mut self.begun));
            return Poll::Ready(Ok(begun.len() + length));
        }
        outcome.map_ok(|()| length)
    }

    /// Answers the requests in `input` in their order; returns the end, if they have led to it.
    fn answer(&mut self, input: &[u8], finishing: bool, out: &mut Vec<u8>) -> Option<End> {
        let mut rest = input;
        while !rest.is_empty() {
            if self.is_turn_over() {
                self.rest = rest.to_vec();
                return None;
            }
            out.clear();
            let (mut body, mut stopped) = (None, None);
            while stopped.is_none()
                && body.is_none()
                && !rest.is_empty()
                && out.len() < BATCH_BYTES
                && self.turn.0 < TURN_COST
            {
                let answered = match finishing {
                    true => Err(NotPlain::Other),
                    false => self.answer_one(rest, out),
                };
                match answered {
                    Ok(answered) => {
                        self.parts = 0;
                        self.body_wait = None;
                        self.turn.0 += answered.cost;
                        rest = rest.get(answered.length..).unwrap_or_default();
                        body = answered.body;
                    }
                    Err(why) => stopped = Some(why),
                }
            }
            let mut at = 0;
            let sent = send(self.stream, self.activity, out, body.as_ref(), &mut at);
            self.turn.1 += at;
            match sent {
                Ok(Sent::All) => {}
                Ok(Sent::Part) => {
                    self.activity.note_refused();
                    self.owed = Some(Box::new(Owed::new(out, body, at)));
                    self.rest = rest.to_vec();
                    return None;
                }
                Err(_) => return Some(End::Gone),
            }
            match stopped {
                None => {}
                Some(why) if self.may_wait_for(rest, why) => {
                    self.keep(rest, why);
                    return None;
                }
                Some(_) => return Some(End::Hand(rest.to_vec())),
            }
        }
        None
    }

    /// Tells whether the rest of a request that has begun so is worth waiting for, and may fit.
    fn may_wait_for(&self, begun: &[u8], why: NotPlain) -> bool {
        let bytes_max = INPUT_BYTES.min(self.terms.header_bytes);
        let fits = match why {
            NotPlain::Part => begun.len() < bytes_max,
            NotPlain::Body { length } => length <= bytes_max,
            NotPlain::Other => false,
        };
        fits && self.parts < PARTS_MAX - 1
    }

    /// Keeps the beginning of a request until the rest comes.
    fn keep(&mut self, begun: &[u8], why: NotPlain) {
        self.begun = begun.to_vec();
        self.parts += 1;
        if why == NotPlain::Part {
            // Behind an answered request it is where a head begins, and has its time.
            self.activity.note_read();
        } else {
            self.activity.note_head_end();
            let until = clock::instant() + self.terms.body_wait;
            let wait = || Box::pin(sleep_until(until));
            self.body_wait.get_or_insert_with(wait);
        }
    }

    /// Answers the first request of `bytes`, if it is one for this path.
    fn answer_one(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<Answered, NotPlain> {
        if self.activity.requests() + 1 >= self.terms.requests_max {
            return Err(NotPlain::Other);
        }
        let mark = out.len();
        // A request that does not fit, a call's body included, looks like a part of one; hyper knows better.
        let bytes = &bytes[..bytes.len().min(self.terms.header_bytes)];
        let began = self.began.take().unwrap_or_else(crate::clock::instant);
        let (handler, peer) = (self.handler, self.terms.peer);
        // A handler owns nothing that a panic could leave half changed; what it has appended is cut off again.
        let begun = AssertUnwindSafe(|| handler.answer_plain(bytes, peer, began, out));
        let answered = catch_unwind(begun).unwrap_or_else(|panic| {
            report(panic.as_ref());
            Err(NotPlain::Other)
        });
        if answered.is_ok() {
            self.activity.note_request();
            self.activity.note_answer();
        } else {
            out.truncate(mark);
        }
        answered
    }
}

#[cfg(test)]
mod tests;
