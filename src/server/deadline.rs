//! The deadlines of a connection, which hyper does not have.
//!
//! hyper 1.12 knows one timer, from one request to the end of the next one's header: it is the header timeout and the
//! idle timeout at once, and nothing bounds writing. So hyper gets no timer from us. The socket and the service note facts
//! in [`ConnectionState`], which makes one deadline of them, and [`ConnectionDeadline`] keeps that beside hyper.
//!
//! Every state has a deadline, so no connection can stay for ever:
//!
//! | state | deadline | at the deadline |
//! |---|---|---|
//! | output is pending and the peer does not take it | [`Limits::rate_time`], and a second for each [`RATE_MIN`] bytes taken since, at most [`CREDIT_MAX`] times the former ahead | reset |
//! | a handler runs | [`Limits::stall_time`] after the last byte | reset |
//! | the connection is to be closed | [`CLOSING`] after the last byte | reset |
//! | part of a head was read | [`Limits::header_time`] after its first byte | 408, closed |
//! | idle | [`Limits::idle_time`] after the last answer | closed |

use std::cell::Cell;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::task::unconstrained;
use tokio::time::{Instant, Sleep, sleep_until};

use super::clock;
use super::config::Limits;
use super::connections::{ConnectionPermit, Leave};

/// How long a peer may take to close its side of a connection that we are closing.
const CLOSING: Duration = Duration::from_secs(5);

/// Bytes a second that a peer has to take while output is pending, on average.
const RATE_MIN: u32 = 4 << 10;

/// How many times [`Limits::rate_time`] a peer can be ahead of the least rate. Our choice: clients that limit their own
/// rate read a megabyte at once and then nothing for minutes, and one that reads much may not keep its place for ever.
const CREDIT_MAX: u32 = 5;

/// The facts about one connection, noted where they happen. One thread has them all.
#[derive(Debug)]
pub(super) struct ConnectionState {
    /// HTTP/2 shows its state through its streams, HTTP/1.1 through its bytes. Not known at first.
    pub(super) is_http2: Cell<bool>,
    /// The time of the current poll, read from the clock once for all the facts of that poll.
    pub(super) now: Cell<Instant>,
    /// When a byte last moved in either direction.
    last_io: Cell<Instant>,
    /// When the last request was answered in full.
    last_answer: Cell<Instant>,
    /// When the first byte of a head was read that is not complete.
    head_since: Cell<Option<Instant>>,
    /// When we began to close.
    closing_since: Cell<Option<Instant>>,
    /// Bytes that the kernel has taken from us.
    written: Cell<u64>,
    /// Handlers that have not answered yet.
    handling: Cell<u32>,
    /// Responses whose body hyper still holds; counted on HTTP/2 only.
    sending: Cell<u32>,
    /// The next response is to be the last.
    pub(super) is_leaving: Cell<bool>,
    /// The socket is to be reset when it is closed, so that the kernel lets go of unsent data at once.
    pub(super) is_reset: Cell<bool>,
    /// The kernel took no more bytes, and not everything has been flushed since.
    pub(super) is_blocked: Cell<bool>,
    /// Deadline of the pending output, and the bytes written when it was computed.
    pending: Cell<Option<(Instant, u64)>>,
}

impl ConnectionState {
    /// Begins the record of a connection of HTTP/1.1 that was accepted at `accepted`.
    pub(super) fn new(accepted: Instant) -> ConnectionState {
        ConnectionState {
            is_http2: Cell::default(),
            now: Cell::new(accepted),
            last_io: Cell::new(accepted),
            last_answer: Cell::new(accepted),
            // The first head is under way from the moment of acceptance.
            head_since: Cell::new(Some(accepted)),
            closing_since: Cell::default(),
            written: Cell::default(),
            handling: Cell::default(),
            sending: Cell::default(),
            is_leaving: Cell::default(),
            is_reset: Cell::default(),
            is_blocked: Cell::default(),
            pending: Cell::default(),
        }
    }

    /// Notes that bytes, or the end of them, have come from the peer.
    pub(super) fn note_read(&self) {
        let now = self.now.get();
        self.last_io.set(now);
        // While a handler runs, what comes is its body or the requests behind it, and they have rules of their own.
        // Frames of HTTP/2 may come at any time; there the first request has the deadline, later ones are idle time.
        let may_be_head = !self.is_http2.get() && self.handling.get() == 0;
        if may_be_head && self.head_since.get().is_none() {
            self.head_since.set(Some(now));
        }
    }

    /// Notes that the kernel has taken `bytes` bytes.
    pub(super) fn note_written(&self, bytes: usize) {
        self.last_io.set(self.now.get());
        self.written.update(|sum| sum + bytes as u64);
    }

    /// Notes that a handler begins.
    pub(super) fn note_request(&self) {
        self.head_since.set(None);
        self.handling.update(|count| count + 1);
    }

    /// Notes that a handler has answered, or was dropped.
    pub(super) fn note_answer(&self) {
        self.handling.update(|count| count - 1);
        self.last_answer.set(self.now.get());
    }

    /// Notes that hyper holds a body whose sending the peer's window may delay.
    pub(super) fn note_body(&self) {
        self.sending.update(|count| count + 1);
    }

    /// Notes that hyper has let go of such a body.
    pub(super) fn note_body_end(&self) {
        self.sending.update(|count| count - 1);
        self.last_answer.set(self.now.get());
    }

    /// Notes that no further request is welcome; the first time counts.
    pub(super) fn note_closing(&self) {
        let since = self.closing_since.get().unwrap_or(self.now.get());
        self.closing_since.set(Some(since));
    }

    /// Returns since when nothing but a request, or the rest of its head, is waited for; `None` while a request or its
    /// response is under way.
    fn waits_since(&self) -> Option<Instant> {
        let is_busy = self.is_pending() || self.handling.get() > 0;
        (!is_busy).then(|| self.head_since.get().unwrap_or_else(|| self.idle_since()))
    }

    /// Tells whether output waits for the peer to take it.
    fn is_pending(&self) -> bool {
        self.is_blocked.get() || self.sending.get() > 0
    }

    /// Returns when the connection last had something to do, of a connection that has nothing to do.
    fn idle_since(&self) -> Instant {
        let answered = self.last_answer.get();
        match self.is_http2.get() {
            // Pings are bytes as well, and would keep a connection without a request for ever.
            true => answered,
            // A large response goes on long after its handler has answered.
            false => answered.max(self.last_io.get()),
        }
    }

    /// Returns how long the present state may last, and how the connection ends then.
    fn deadline(&self, limits: &Limits) -> (Instant, Ending) {
        if self.is_pending() {
            return (self.pending_until(limits.rate_time), Ending::SlowReader);
        }
        self.pending.set(None);
        let last_io = self.last_io.get();
        if self.handling.get() > 0 {
            (last_io + limits.stall_time, Ending::Stalled)
        } else if let Some(since) = self.closing_since.get() {
            (since.max(last_io) + CLOSING, Ending::Stalled)
        } else if let Some(since) = self.head_since.get() {
            (since + limits.header_time, Ending::HeadTimeout)
        } else {
            (self.idle_since() + limits.idle_time, Ending::Idle)
        }
    }

    /// Returns the deadline of pending output: each byte that the kernel takes prolongs the time by what it may take at
    /// the least rate. A mean over a fixed time would not do: the kernel takes bytes in steps, over loopback of more than
    /// 100 KB.
    fn pending_until(&self, rate_time: Duration) -> Instant {
        let (now, written) = (self.now.get(), self.written.get());
        let first = (now + rate_time, written);
        let (until, seen) = self.pending.get().unwrap_or(first);
        let ahead_max = rate_time * CREDIT_MAX;
        let earned = Duration::from_secs(written - seen) / RATE_MIN;
        let until = (until + earned.min(ahead_max)).min(now + ahead_max);
        self.pending.set(Some((until, written)));
        until
    }
}

/// How a connection ends that has reached its deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// Nothing was under way: an orderly end.
    Idle,
    /// A head did not arrive in time: 408 where nothing else has been sent.
    HeadTimeout,
    /// The peer does not take what it asked for: a reset.
    SlowReader,
    /// Nothing moves although something is under way: a reset.
    Stalled,
}

/// Keeps a connection's deadline, and observes shutdown.
pub(super) struct ConnectionDeadline {
    pub(super) state: Rc<ConnectionState>,
    pub(super) permit: ConnectionPermit,
    limits: Arc<Limits>,
    timer: Pin<Box<Sleep>>,
    /// What the timer was set to, if it was.
    set: Option<Instant>,
    /// The connection was asked to finish.
    is_finishing: bool,
    /// When an idle connection is closed because the server stops.
    drain_ends: Option<Instant>,
    /// How long an idle connection stays open from then on.
    farewell: Duration,
}

impl ConnectionDeadline {
    pub(super) fn new(
        accepted: Instant,
        limits: Arc<Limits>,
        farewell: Duration,
        permit: ConnectionPermit,
    ) -> ConnectionDeadline {
        ConnectionDeadline {
            state: Rc::new(ConnectionState::new(accepted)),
            permit,
            limits,
            timer: Box::pin(sleep_until(accepted)),
            set: None,
            is_finishing: false,
            drain_ends: None,
            farewell,
        }
    }

    /// Reads the clock for all that happens in this poll.
    pub(super) fn tick(&self) {
        self.state.now.set(clock::instant());
    }

    /// Has the task woken at the deadline; the same task has to poll it each time. At the deadline the connection ends as
    /// the error says. `Ok` comes once before that of an idle connection: it is to take no further request, and to end
    /// after the current one.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Ending>> {
        let waits_since = self.state.waits_since();
        self.permit.note_waiting(waits_since);
        loop {
            let (mut until, mut ending) = self.state.deadline(&self.limits);
            if let Some(leave_at) = self.leave_at(waits_since.is_some())
                && leave_at < until
            {
                (until, ending) = (leave_at, Ending::Idle);
            }
            if until <= self.state.now.get() {
                if ending != Ending::Idle || self.is_finishing {
                    return Poll::Ready(Err(ending));
                }
                self.is_finishing = true;
                self.state.note_closing();
                return Poll::Ready(Ok(()));
            }
            // A deadline that has moved away is left to the timer that is set: most connections move theirs with
            // each request, and setting the timer each time would cost more than waking once too early.
            if self.set.is_none_or(|set| until < set) {
                self.set_timer(until, context);
            }
            if !self.timer.is_elapsed() {
                return Poll::Pending;
            }
            self.tick();
            self.set_timer(until, context);
        }
    }

    /// Sets the timer, and has it wake the task.
    fn set_timer(&mut self, until: Instant, context: &mut Context<'_>) {
        self.set = Some(until);
        self.timer.as_mut().reset(until);
        // Of a task that has used up its budget a timer takes no note.
        let _elapsed = pin!(unconstrained(self.timer.as_mut())).poll(context);
    }

    /// Returns when the connection is to end if no further request comes; where it is to leave, the next response is the
    /// last from now on.
    fn leave_at(&mut self, waits: bool) -> Option<Instant> {
        let leave = self.permit.leave();
        if leave.is_some() {
            self.state.is_leaving.set(true);
        }
        let now = self.state.now.get();
        let is_http2 = self.state.is_http2.get();
        match leave {
            // Its place is another's already.
            Some(Leave::Evicted) if waits => Some(now),
            _ if self.is_finishing => None,
            // HTTP/2 has its own way to tell which requests were taken (RFC 9113 §6.8).
            Some(Leave::Drain) if !is_http2 => {
                let farewell = self.farewell;
                Some(*self.drain_ends.get_or_insert(now + farewell))
            }
            Some(_) => Some(now),
            // HTTP/1.1 closes by its own header; HTTP/2 has to be told.
            None => (is_http2 && self.state.closing_since.get().is_some()).then_some(now),
        }
    }
}

#[cfg(test)]
mod tests;
