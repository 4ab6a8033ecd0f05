//! The timeouts of a connection that hyper does not have.
//!
//! hyper 1.12 has a single timer, from one request to the end of the next one's header: it is both header timeout and
//! idle timeout, and nothing limits writing. So hyper's timer is off. The socket and the service record events in
//! [`ConnectionState`], which derives the deadline from them, and [`ConnectionDeadline`] enforces it next to hyper.
//!
//! Every state has a deadline, so no connection can stay for ever:
//!
//! | state | deadline | at the deadline |
//! |---|---|---|
//! | output is pending and the peer does not read it | [`ServerLimits::rate_time`], plus a second for each [`RATE_MIN`] bytes read since, at most [`CREDIT_MAX`] times [`ServerLimits::rate_time`] ahead | reset |
//! | a handler runs | [`ServerLimits::stall_time`] after the last byte | reset |
//! | the connection is to be closed | [`CLOSING`] after the last byte | reset |
//! | part of a head was read | [`ServerLimits::header_time`] after its first byte | 408, closed |
//! | idle | [`ServerLimits::idle_time`] after the last answer | closed |

use std::cell::Cell;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::task::unconstrained;
use tokio::time::{Instant, Sleep, sleep_until};

use super::clock;
use super::config::ServerLimits;
use super::connections::{ConnectionPermit, Leave};
use crate::limits::{Account, ENCODED_OUTPUT_BYTES, RATE_MIN, Share, UNREAD_OUTPUT_BYTES};

/// How long a peer may take to close its side of a connection that the server is closing.
const CLOSING: Duration = Duration::from_secs(5);

/// How many times [`ServerLimits::rate_time`] a peer can be ahead of the minimum rate. Our choice: clients that limit their
/// own rate read a megabyte at once, and then nothing for minutes. Without this limit a peer could read much at once, and
/// then nothing for ever.
const CREDIT_MAX: u32 = 5;

/// How far hyper is with a response of ours, on HTTP/1.1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ResponseProgress {
    /// hyper has written the response completely, or there is none.
    #[default]
    None,
    /// hyper holds the body of the response, and perhaps its head.
    Body,
    /// hyper has encoded the response, and has not written all of it.
    Encoded,
}

/// The deadline of output that the peer has to read.
#[derive(Clone, Copy, Debug)]
struct OutputDeadline {
    at: Instant,
    /// Bytes that the kernel had accepted when the deadline was computed.
    written: u64,
}

/// The state of one connection, updated by the socket, the service and the deadline, all on one thread.
#[derive(Debug)]
pub(super) struct ConnectionState {
    /// Whether the connection uses HTTP/2; false until the protocol is detected.
    pub(super) is_http2: Cell<bool>,
    /// Whether the connection uses TLS.
    pub(super) is_tls: Cell<bool>,
    /// When the current poll began, or when the connection went on after it had yielded to others.
    pub(super) now: Cell<Instant>,
    /// Whether a request was answered in the current poll, so that `now` may be too old for the next one.
    pub(super) has_answered: Cell<bool>,
    /// When a byte last moved in either direction.
    last_io: Cell<Instant>,
    /// When a handler last ended, or on HTTP/2 a response body.
    last_answer: Cell<Instant>,
    /// When the first byte of an incomplete head was read.
    head_since: Cell<Option<Instant>>,
    /// When the server began to close the connection.
    closing_since: Cell<Option<Instant>>,
    /// Bytes that the kernel has accepted.
    written: Cell<u64>,
    /// Bytes that were read.
    read: Cell<u64>,
    /// Handlers that have not answered yet.
    handling: Cell<u32>,
    /// Responses whose body hyper still holds, on HTTP/2.
    sending: Cell<u32>,
    /// How far hyper is with the last response, on HTTP/1.1.
    response: Cell<ResponseProgress>,
    /// Whether the next response must be the last.
    pub(super) is_leaving: Cell<bool>,
    /// Whether closing must reset the connection, so that the kernel frees unsent data at once.
    pub(super) is_reset: Cell<bool>,
    /// Whether a write has blocked, and not everything has been flushed since.
    pub(super) is_blocked: Cell<bool>,
    /// The deadline of pending output, as computed last; `None` while there was none.
    pending: Cell<Option<OutputDeadline>>,
}

impl ConnectionState {
    /// Creates the state of a connection that was accepted at `accepted`, by default HTTP/1.1.
    pub(super) fn new(accepted: Instant) -> ConnectionState {
        ConnectionState {
            is_http2: Cell::default(),
            is_tls: Cell::default(),
            now: Cell::new(accepted),
            has_answered: Cell::default(),
            last_io: Cell::new(accepted),
            last_answer: Cell::new(accepted),
            // The timeout of the first head starts when the connection is accepted.
            head_since: Cell::new(Some(accepted)),
            closing_since: Cell::default(),
            written: Cell::default(),
            read: Cell::default(),
            handling: Cell::default(),
            sending: Cell::default(),
            response: Cell::default(),
            is_leaving: Cell::default(),
            is_reset: Cell::default(),
            is_blocked: Cell::default(),
            pending: Cell::default(),
        }
    }

    /// Records that `bytes` bytes, or with 0 the end of the stream, have been read.
    pub(super) fn note_read(&self, bytes: usize) {
        let now = self.now.get();
        self.last_io.set(now);
        self.read.update(|sum| sum + bytes as u64);
        // While a handler runs, the bytes are its body or pipelined requests, which have other deadlines. HTTP/2 frames
        // may come at any time: only the first request has a head timeout, later ones the idle timeout.
        let may_be_head = !self.is_http2.get() && self.handling.get() == 0;
        if may_be_head && self.head_since.get().is_none() {
            self.head_since.set(Some(now));
        }
    }

    /// Records that the kernel has accepted `bytes` bytes.
    pub(super) fn note_written(&self, bytes: usize) {
        self.last_io.set(self.now.get());
        self.written.update(|sum| sum + bytes as u64);
    }

    /// Records that a handler starts.
    pub(super) fn note_request(&self) {
        self.head_since.set(None);
        self.handling.update(|count| count + 1);
    }

    /// Records that a handler has answered, or was dropped.
    pub(super) fn note_answer(&self) {
        self.handling.update(|count| count - 1);
        self.last_answer.set(self.now.get());
    }

    /// Records that hyper has got a response with its body.
    pub(super) fn note_body(&self) {
        if self.is_http2.get() {
            self.sending.update(|count| count + 1);
        } else {
            self.response.set(ResponseProgress::Body);
        }
    }

    /// Records that hyper has dropped the body of a response.
    pub(super) fn note_body_end(&self) {
        if self.is_http2.get() {
            self.sending.update(|count| count - 1);
            self.last_answer.set(self.now.get());
        } else {
            self.response.set(ResponseProgress::Encoded);
        }
    }

    /// Records that hyper has written all that it has encoded.
    pub(super) fn note_flush(&self) {
        if self.response.get() == ResponseProgress::Encoded {
            self.response.set(ResponseProgress::None);
        }
    }

    /// Tells whether what hyper writes now is its own response to an invalid head.
    ///
    /// It is if hyper holds no response of ours and no handler runs: while one runs, hyper may write `100 Continue`.
    pub(super) fn is_hyper_responding(&self) -> bool {
        !self.is_http2.get()
            && self.handling.get() == 0
            && self.response.get() == ResponseProgress::None
    }

    /// Records that the connection is closing; only the first call has an effect.
    pub(super) fn note_closing(&self) {
        let since = self.closing_since.get().unwrap_or(self.now.get());
        self.closing_since.set(Some(since));
    }

    /// Returns the number of bytes moved in both directions.
    fn moved_bytes(&self) -> u64 {
        self.read.get() + self.written.get()
    }

    /// Returns since when the connection has only waited for a request head; `None` while a request or a response is in
    /// progress.
    fn waits_since(&self) -> Option<Instant> {
        if self.is_pending() || self.handling.get() > 0 {
            return None;
        }
        let since = self.head_since.get();
        Some(since.unwrap_or_else(|| self.idle_since()))
    }

    /// Tells whether output waits for the peer to read it: in the socket, or on HTTP/2 for its flow-control window.
    fn is_pending(&self) -> bool {
        self.is_blocked.get() || self.sending.get() > 0
    }

    /// Returns since when a connection without requests, responses and heads is idle.
    fn idle_since(&self) -> Instant {
        let answered = self.last_answer.get();
        if self.is_http2.get() {
            // Pings are I/O as well, and would keep a connection without requests open for ever.
            return answered;
        }
        // A large response is sent long after its handler has answered.
        answered.max(self.last_io.get())
    }

    /// Returns the deadline of the current state. Remembers that of pending output, from which the next one is computed.
    fn update_deadline(&self, limits: &ServerLimits) -> Deadline {
        if self.is_pending() {
            return Deadline {
                at: self.update_output_deadline(limits.rate_time),
                ending: Ending::SlowReader,
            };
        }
        self.pending.set(None);
        let last_io = self.last_io.get();
        if self.handling.get() > 0 {
            Deadline {
                at: last_io + limits.stall_time,
                ending: Ending::Stalled,
            }
        } else if let Some(since) = self.closing_since.get() {
            Deadline {
                at: since.max(last_io) + CLOSING,
                ending: Ending::Stalled,
            }
        } else if let Some(since) = self.head_since.get() {
            Deadline {
                at: since + limits.header_time,
                ending: Ending::HeadTimeout,
            }
        } else {
            Deadline {
                at: self.idle_since() + limits.idle_time,
                ending: Ending::Idle,
            }
        }
    }

    /// Returns the deadline of pending output: each byte that the kernel has accepted since the last call extends it by the
    /// time of one byte at the minimum rate. An average over a fixed time would not work: the kernel accepts bytes in steps,
    /// over loopback of more than 100 KB.
    fn update_output_deadline(&self, rate_time: Duration) -> Instant {
        let now = self.now.get();
        let written = self.written.get();
        let last = self.pending.get().unwrap_or(OutputDeadline {
            at: now + rate_time,
            written,
        });
        // A second for each byte, divided by the bytes per second.
        let earned = Duration::from_secs(written - last.written) / RATE_MIN;
        let ahead_max = rate_time * CREDIT_MAX;
        let at = (last.at + earned.min(ahead_max)).min(now + ahead_max);
        self.pending.set(Some(OutputDeadline { at, written }));
        at
    }
}

/// When a connection ends if nothing happens before, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Deadline {
    at: Instant,
    ending: Ending,
}

/// How a connection ends at its deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// Nothing was in progress: an orderly close.
    Idle,
    /// A head did not arrive in time: 408, if nothing else has been sent.
    HeadTimeout,
    /// The peer does not read its responses: a reset.
    SlowReader,
    /// No progress while a request or the close is in progress: a reset.
    Stalled,
    /// The place of the connection, or what it holds, is needed: a reset.
    Evicted,
}

/// Enforces the deadline of a connection, and observes shutdown.
pub(super) struct ConnectionDeadline {
    pub(super) state: Rc<ConnectionState>,
    pub(super) permit: ConnectionPermit,
    account: Account,
    /// The share of output that the peer does not read; `None` while it reads all.
    unread_output: Option<Share>,
    limits: Arc<ServerLimits>,
    timer: Pin<Box<Sleep>>,
    /// The time that the timer is set to; `None` before the first poll.
    set: Option<Instant>,
    /// Whether hyper was told to shut down gracefully.
    is_finishing: bool,
    /// When the connection is closed if it is idle, because the server stops; `None` before the server stops.
    drain_ends: Option<Instant>,
    /// How long an idle connection stays open after shutdown begins.
    farewell: Duration,
}

impl ConnectionDeadline {
    pub(super) fn new(
        accepted: Instant,
        limits: Arc<ServerLimits>,
        farewell: Duration,
        permit: ConnectionPermit,
    ) -> ConnectionDeadline {
        ConnectionDeadline {
            state: Rc::new(ConnectionState::new(accepted)),
            account: permit.peer().account,
            unread_output: None,
            permit,
            limits,
            timer: Box::pin(sleep_until(accepted)),
            set: None,
            is_finishing: false,
            drain_ends: None,
            farewell,
        }
    }

    /// Reads the clock for this poll.
    pub(super) fn tick(&self) {
        self.state.now.set(clock::instant());
        self.state.has_answered.set(false);
    }

    /// Returns the error that tells how the connection ends, if its deadline has passed. For an idle connection it first
    /// returns `Ok`, once: the connection must then accept no further request, and end after the current one.
    ///
    /// Before the deadline it registers the task, which must be the same at each call, to be woken then.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Ending>> {
        let waits_since = self.state.waits_since();
        self.note_progress(waits_since);
        if self.permit.leave() == Some(Leave::Aborted) {
            return Poll::Ready(Err(Ending::Evicted));
        }
        loop {
            let mut deadline = self.state.update_deadline(&self.limits);
            if let Some(leave_at) = self.leave_at(waits_since.is_some())
                && leave_at < deadline.at
            {
                deadline = Deadline {
                    at: leave_at,
                    ending: Ending::Idle,
                };
            }
            if deadline.at <= self.state.now.get() {
                if deadline.ending != Ending::Idle || self.is_finishing {
                    return Poll::Ready(Err(deadline.ending));
                }
                self.is_finishing = true;
                self.state.note_closing();
                return Poll::Ready(Ok(()));
            }
            // If the deadline has moved to a later time, the timer stays as it is: most connections move theirs with
            // each request, and resetting the timer each time would cost more than one early wake-up.
            if self.set.is_none_or(|set| deadline.at < set) {
                self.set_timer(deadline.at, context);
            }
            if !self.timer.is_elapsed() {
                return Poll::Pending;
            }
            self.tick();
            self.set_timer(deadline.at, context);
        }
    }

    /// Records the progress of the connection in the table, and counts output that the peer does not read.
    fn note_progress(&mut self, waits_since: Option<Instant>) {
        let state = &self.state;
        match waits_since {
            Some(since) => self.permit.note_waiting(since),
            None => self.permit.note_busy(state.now.get(), state.moved_bytes()),
        }
        if !state.is_blocked.get() {
            self.unread_output = None;
        } else if self.unread_output.is_none() {
            let mut bytes = UNREAD_OUTPUT_BYTES;
            if state.is_http2.get() || state.is_tls.get() {
                bytes += ENCODED_OUTPUT_BYTES;
            }
            self.unread_output = Some(self.account.hold_output(bytes));
            self.permit
                .note_blocked(state.now.get(), state.moved_bytes());
        }
    }

    /// Sets the timer, and registers the task with it.
    fn set_timer(&mut self, until: Instant, context: &mut Context<'_>) {
        self.set = Some(until);
        self.timer.as_mut().reset(until);
        // A timer does not register a task that has used up its tokio budget, hence `unconstrained`.
        let _elapsed = pin!(unconstrained(self.timer.as_mut())).poll(context);
    }

    /// Returns when the connection must end if no further request arrives; `waits` tells whether it has only waited for one.
    /// If it must close, marks the next response as the last.
    fn leave_at(&mut self, waits: bool) -> Option<Instant> {
        let leave = self.permit.leave();
        if leave.is_some() {
            self.state.is_leaving.set(true);
        }
        let now = self.state.now.get();
        let is_http2 = self.state.is_http2.get();
        match leave {
            // A new connection already has its place.
            Some(Leave::Evicted) if waits => Some(now),
            _ if self.is_finishing => None,
            // HTTP/2 needs no delay: GOAWAY tells the client which requests were accepted (RFC 9113 §6.8).
            Some(Leave::Drain) if !is_http2 => {
                let farewell = self.farewell;
                Some(*self.drain_ends.get_or_insert(now + farewell))
            }
            Some(_) => Some(now),
            // HTTP/1.1 closes by its `Connection` header; HTTP/2 needs a graceful shutdown.
            None if is_http2 && self.state.closing_since.get().is_some() => Some(now),
            None => None,
        }
    }
}

#[cfg(test)]
mod tests;
