//! The deadlines of a connection, which hyper does not have.
//!
//! hyper 1.12 knows one timer, from one request to the end of the next one's header: it is the header timeout and the
//! idle timeout at once, and nothing bounds writing. So hyper gets no timer from us. The socket and the service note facts
//! in [`ConnectionState`], [`DeadlinePolicy`] makes one deadline of them, and [`ConnectionDeadline`] keeps that beside hyper.
//!
//! Every state has a deadline, so no connection can stay for ever:
//!
//! | state | deadline | at the deadline |
//! |---|---|---|
//! | output is pending and the peer does not take it | [`Limits::rate_time`], and a second for each [`Limits::rate_min`] bytes taken since, at most [`CREDIT_MAX`] times the former ahead | reset |
//! | a handler runs | [`Limits::stall_time`] after the last byte | reset |
//! | the connection is to be closed | [`CLOSING`] after the last byte | reset |
//! | part of a head was read | [`Limits::header_time`] after its first byte | 408, closed |
//! | idle | [`Limits::idle_time`] after the last answer | closed |

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::task::unconstrained;
use tokio::time::{Instant, Sleep, sleep_until};

use super::clock::{self, micros};
use super::config::Limits;
use super::connections::{ConnectionPermit, Leave};

/// How long a peer may take to close its side of a connection that we are closing.
const CLOSING: Duration = Duration::from_secs(5);

/// How many times [`Limits::rate_time`] a peer can be ahead of the least rate. Our choice: clients that limit their own
/// rate read a megabyte at once and then nothing for minutes, and one that reads much may not keep its place for ever.
const CREDIT_MAX: u64 = 5;

/// A time that has not come.
const NEVER: u64 = u64::MAX;

/// A fact that is so or not.
#[derive(Debug, Default)]
pub(super) struct Flag(AtomicBool);

impl Flag {
    pub(super) fn set(&self, value: bool) {
        self.0.store(value, Relaxed);
    }

    pub(super) fn get(&self) -> bool {
        self.0.load(Relaxed)
    }
}

/// The facts about one connection, noted where they happen and read by its [`DeadlinePolicy`].
///
/// Plain relaxed atomics: one thread touches them, the type only has to be shareable. Times are microseconds since the
/// connection was accepted, so that they fit an atomic.
#[derive(Debug)]
pub(super) struct ConnectionState {
    accepted: Instant,
    /// HTTP/2 shows its state through its streams, HTTP/1.1 through its bytes. Not known at first.
    pub(super) is_http2: Flag,
    /// The time of the current poll, read from the clock once for all the facts of that poll.
    now: AtomicU64,
    /// When a byte last moved in either direction.
    last_io: AtomicU64,
    /// When the last request was answered in full.
    last_answer: AtomicU64,
    /// When the first byte of a head was read, and `NEVER` while there is none.
    head_since: AtomicU64,
    /// When we began to close, and `NEVER` before.
    closing_since: AtomicU64,
    /// Bytes that the kernel has taken from us.
    written: AtomicU64,
    /// Handlers that have not answered yet.
    handling: AtomicU32,
    /// Responses whose body hyper still holds; counted on HTTP/2 only.
    sending: AtomicU32,
    /// The next response is to be the last.
    pub(super) is_leaving: Flag,
    /// The socket is to be reset when it is closed, so that the kernel lets go of unsent data at once.
    pub(super) is_reset: Flag,
    /// The kernel took no more bytes, and not everything has been flushed since.
    pub(super) is_blocked: Flag,
}

impl ConnectionState {
    /// Begins the record of a connection of HTTP/1.1 that was accepted at `accepted`.
    pub(super) fn new(accepted: Instant) -> ConnectionState {
        ConnectionState {
            accepted,
            is_http2: Flag::default(),
            now: AtomicU64::new(0),
            last_io: AtomicU64::new(0),
            last_answer: AtomicU64::new(0),
            // The first head is under way from the moment of acceptance.
            head_since: AtomicU64::new(0),
            closing_since: AtomicU64::new(NEVER),
            written: AtomicU64::new(0),
            handling: AtomicU32::new(0),
            sending: AtomicU32::new(0),
            is_leaving: Flag::default(),
            is_reset: Flag::default(),
            is_blocked: Flag::default(),
        }
    }

    /// Sets the time of the facts that follow.
    pub(super) fn tick(&self, now: Instant) {
        self.now.store(self.age(now), Relaxed);
    }

    /// Returns the microseconds from acceptance to `now`.
    fn age(&self, now: Instant) -> u64 {
        micros(now.saturating_duration_since(self.accepted))
    }

    /// Returns the microseconds since acceptance as of the last [`ConnectionState::tick`].
    pub(super) fn elapsed(&self) -> u64 {
        self.now.load(Relaxed)
    }

    /// Returns the whole microseconds from the last [`ConnectionState::tick`] to `now`.
    pub(super) fn since_tick(&self, now: Instant) -> u64 {
        self.age(now).saturating_sub(self.elapsed())
    }

    /// Notes that bytes, or the end of them, have come from the peer.
    pub(super) fn note_read(&self) {
        let now = self.elapsed();
        self.last_io.store(now, Relaxed);
        // While a handler runs, what comes is its body or the requests behind it, and they have rules of their own.
        // Frames of HTTP/2 may come at any time; there the first request has the deadline, later ones are idle time.
        let starts_head = !self.is_http2.get()
            && self.head_since.load(Relaxed) == NEVER
            && self.handling.load(Relaxed) == 0;
        if starts_head {
            self.head_since.store(now, Relaxed);
        }
    }

    /// Notes that the kernel has taken `bytes` bytes.
    pub(super) fn note_written(&self, bytes: usize) {
        self.last_io.store(self.elapsed(), Relaxed);
        let written = self.written.load(Relaxed).wrapping_add(bytes as u64);
        self.written.store(written, Relaxed);
    }

    /// Notes that a handler begins.
    pub(super) fn note_request(&self) {
        self.head_since.store(NEVER, Relaxed);
        add(&self.handling, 1);
    }

    /// Notes that a handler has answered, or was dropped.
    pub(super) fn note_answer(&self) {
        add(&self.handling, -1);
        self.last_answer.store(self.elapsed(), Relaxed);
    }

    #[cfg(test)]
    pub(super) fn handling(&self) -> u32 {
        self.handling.load(Relaxed)
    }

    /// Notes that hyper holds a body whose sending the peer's window may delay.
    pub(super) fn note_body(&self) {
        add(&self.sending, 1);
    }

    /// Notes that hyper has let go of such a body.
    pub(super) fn note_body_end(&self) {
        add(&self.sending, -1);
        self.last_answer.store(self.elapsed(), Relaxed);
    }

    /// Notes that no further request is welcome; the first time counts.
    pub(super) fn note_closing(&self) {
        if !self.is_closing() {
            self.closing_since.store(self.elapsed(), Relaxed);
        }
    }

    fn is_closing(&self) -> bool {
        self.closing_since.load(Relaxed) != NEVER
    }

    /// Returns since when nothing but a request, or the rest of its head, is waited for; `None` while a request or its
    /// response is under way.
    fn waits_since(&self) -> Option<u64> {
        let is_busy = self.is_pending() || self.handling.load(Relaxed) > 0;
        let head_since = self.head_since.load(Relaxed);
        (!is_busy).then(|| match head_since {
            NEVER => self.idle_since(),
            since => since,
        })
    }

    /// Tells whether output waits for the peer to take it.
    fn is_pending(&self) -> bool {
        self.is_blocked.get() || self.sending.load(Relaxed) > 0
    }

    /// Returns when the connection last had something to do, of a connection that has nothing to do.
    fn idle_since(&self) -> u64 {
        let answered = self.last_answer.load(Relaxed);
        match self.is_http2.get() {
            // Pings are bytes as well, and would keep a connection without a request for ever.
            true => answered,
            // A large response goes on long after its handler has answered.
            false => answered.max(self.last_io.load(Relaxed)),
        }
    }
}

/// Adds to a number that no other thread touches at the same time, so the processor need not lock it.
fn add(number: &AtomicU32, more: i32) {
    let sum = number.load(Relaxed).wrapping_add_signed(more);
    number.store(sum, Relaxed);
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

/// Turns the facts of a connection into its deadline.
#[derive(Debug)]
struct DeadlinePolicy {
    limits: Arc<Limits>,
    output: Option<PendingOutput>,
}

/// Output that is pending since then, when the kernel had taken `written` bytes.
#[derive(Clone, Copy, Debug)]
struct PendingOutput {
    since: u64,
    written: u64,
}

impl DeadlinePolicy {
    /// Returns the deadline as of the last [`ConnectionState::tick`], in microseconds after acceptance, or how the
    /// connection ends where it has passed.
    fn review(&mut self, state: &ConnectionState) -> Result<u64, Ending> {
        let last_io = state.last_io.load(Relaxed);
        let is_pending = state.is_pending();
        let (until, ending) = if is_pending && self.limits.rate_min > 0 {
            (self.output_until(state), Ending::SlowReader)
        } else {
            self.output = None;
            let head_since = state.head_since.load(Relaxed);
            let (since, allowance, ending) = if is_pending || state.handling.load(Relaxed) > 0 {
                (last_io, self.limits.stall_time, Ending::Stalled)
            } else if state.is_closing() {
                let since = state.closing_since.load(Relaxed).max(last_io);
                (since, CLOSING, Ending::Stalled)
            } else if head_since != NEVER {
                (head_since, self.limits.header_time, Ending::HeadTimeout)
            } else {
                (state.idle_since(), self.limits.idle_time, Ending::Idle)
            };
            (since.saturating_add(micros(allowance)), ending)
        };
        match state.elapsed() < until {
            true => Ok(until),
            false => Err(ending),
        }
    }

    /// Returns the deadline of pending output: each byte that the kernel takes prolongs the time by what it may take at
    /// the least rate. A mean over a fixed time would not do: the kernel takes bytes in steps, over loopback of more than
    /// 100 KB.
    fn output_until(&mut self, state: &ConnectionState) -> u64 {
        let now = state.elapsed();
        let rate_time = micros(self.limits.rate_time);
        let written = state.written.load(Relaxed);
        let since = now;
        let output = self.output.get_or_insert(PendingOutput { since, written });
        let moved = written.saturating_sub(output.written);
        let earned = moved.saturating_mul(1_000_000) / self.limits.rate_min;
        let latest = now.saturating_add(rate_time.saturating_mul(CREDIT_MAX));
        let until = output
            .since
            .saturating_add(rate_time)
            .saturating_add(earned);
        if until > latest {
            output.since = latest.saturating_sub(rate_time);
            output.written = written;
        }
        until.min(latest)
    }
}

/// What the deadline of a connection asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DeadlineAction {
    /// Take no further request, and end after the current one; asked once.
    GracefulShutdown,
    /// End now.
    Abort(Ending),
}

/// Keeps a connection's deadline, and observes shutdown. Times are microseconds after acceptance.
pub(super) struct ConnectionDeadline {
    pub(super) state: Arc<ConnectionState>,
    pub(super) permit: ConnectionPermit,
    policy: DeadlinePolicy,
    timer: Pin<Box<Sleep>>,
    /// What the timer is set to.
    set: u64,
    /// [`DeadlineAction::GracefulShutdown`] has been given.
    is_finishing: bool,
    /// When an idle connection is closed because the server stops.
    drain_ends: Option<u64>,
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
            state: Arc::new(ConnectionState::new(accepted)),
            permit,
            policy: DeadlinePolicy {
                limits,
                output: None,
            },
            timer: Box::pin(sleep_until(accepted)),
            set: NEVER,
            is_finishing: false,
            drain_ends: None,
            farewell,
        }
    }

    /// Reads the clock for all that happens in this poll.
    pub(super) fn tick(&self) {
        self.state.tick(clock::instant());
    }

    /// Returns what is to be done now, or has the task woken at the deadline; the same task has to poll it each time.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<DeadlineAction> {
        let waits_since = self.state.waits_since();
        self.permit.note_waiting(waits_since);
        let leave = self.permit.leave();
        loop {
            let leave_at = self.leave_at(leave);
            if leave_at <= self.state.elapsed() {
                return Poll::Ready(self.finish());
            }
            // Its place is another's already.
            if leave == Some(Leave::Evicted) && waits_since.is_some() {
                return Poll::Ready(DeadlineAction::Abort(Ending::Idle));
            }
            let until = match self.policy.review(&self.state) {
                Ok(until) => until.min(leave_at),
                Err(Ending::Idle) if !self.is_finishing => return Poll::Ready(self.finish()),
                Err(ending) => return Poll::Ready(DeadlineAction::Abort(ending)),
            };
            // A deadline that has moved away is left to the timer that is set: most connections move theirs with
            // each request, and setting the timer each time would cost more than waking once too early.
            if until < self.set {
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
    fn set_timer(&mut self, until: u64, context: &mut Context<'_>) {
        self.set = until;
        let deadline = self.state.accepted + Duration::from_micros(until);
        self.timer.as_mut().reset(deadline);
        // Of a task that has used up its budget a timer takes no note.
        let _elapsed = pin!(unconstrained(self.timer.as_mut())).poll(context);
    }

    /// Returns when the connection is to finish if no further request comes; where it is to leave, the next response is
    /// the last from now on.
    fn leave_at(&mut self, leave: Option<Leave>) -> u64 {
        if leave.is_some() {
            self.state.is_leaving.set(true);
        }
        let is_http2 = self.state.is_http2.get();
        match leave {
            _ if self.is_finishing => NEVER,
            // HTTP/2 has its own way to tell which requests were taken (RFC 9113 §6.8).
            Some(Leave::Drain) if !is_http2 => {
                let ends = self.state.elapsed().saturating_add(micros(self.farewell));
                *self.drain_ends.get_or_insert(ends)
            }
            Some(_) => 0,
            // HTTP/1.1 closes by its own header; HTTP/2 has to be told.
            None if is_http2 && self.state.is_closing() => 0,
            None => NEVER,
        }
    }

    fn finish(&mut self) -> DeadlineAction {
        self.is_finishing = true;
        self.state.note_closing();
        DeadlineAction::GracefulShutdown
    }
}

#[cfg(test)]
mod tests;
