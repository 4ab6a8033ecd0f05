//! What one connection is doing, and until when: the deadlines that hyper does not have.
//!
//! hyper 1.12 knows one timer, from one request to the end of the next one's header: it is the header timeout and the
//! idle timeout at once, and nothing bounds writing. Worse, a connection whose wake-up hyper has lost runs no timer at
//! all. So hyper gets no timer from us. The socket wrapper and the service note facts in [`ConnectionState`], and
//! [`DeadlinePolicy`] makes of them one deadline, which the task of the connection keeps beside hyper.
//!
//! Every state has a deadline, so no connection can stay for ever:
//!
//! | state | deadline | at the deadline |
//! |---|---|---|
//! | output is pending and the peer does not take it | [`Timeouts::rate_time`], and a second for each [`Timeouts::rate_min`] bytes taken since, at most [`CREDIT_MAX`] times the former ahead | reset |
//! | a handler runs | [`Timeouts::stall`] after the last byte | reset |
//! | the connection is to be closed | [`CLOSING`] after the last byte | reset |
//! | part of a head was read | [`Timeouts::head`] after its first byte | 408, closed |
//! | idle, and hyper waits for the next request | [`Timeouts::idle`] after the last answer | closed |
//! | idle, and hyper waits for nothing (a lost wake-up) | [`Timeouts::stall`] after the last byte | reset |

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use tokio::time::Instant;

use super::clock;

/// How long a peer may take to close its side of a connection that we are closing.
const CLOSING: Duration = Duration::from_secs(5);

/// How many times [`Timeouts::rate_time`] a peer can be ahead of the least rate. Our choice: clients that limit their own
/// rate read a megabyte at once and then nothing for minutes, and one that reads much may not keep its place for ever.
const CREDIT_MAX: u64 = 5;

/// The times that a connection has; see the table of the module.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timeouts {
    /// From the first byte of a head to its last.
    pub(super) head: Duration,
    /// Between two requests.
    pub(super) idle: Duration,
    /// Without a byte in either direction while something is under way.
    pub(super) stall: Duration,
    /// Bytes a second that a peer has to take while output is pending; 0 switches the rule off.
    pub(super) rate_min: u64,
    /// How long a peer may take nothing while output is pending.
    pub(super) rate_time: Duration,
    /// From the order to stop until idle connections are closed: a request that is on its way is answered.
    pub(super) farewell: Duration,
}

/// Which protocol a connection speaks: HTTP/2 shows its state through its streams, HTTP/1.1 through its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protocol {
    Http1,
    Http2,
}

/// The facts about one connection, noted where they happen and read by its [`DeadlinePolicy`].
///
/// Plain relaxed atomics: one thread touches them, the type only has to be shareable. Times are milliseconds since the
/// connection was accepted, so that they fit an atomic.
#[derive(Debug)]
pub(super) struct ConnectionState {
    is_http2: AtomicBool,
    accepted: Instant,
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
    /// Requests that the service has been given.
    requests: AtomicU32,
    /// Handlers that have not answered yet.
    handling: AtomicU32,
    /// Responses whose body hyper still holds; counted on HTTP/2 only.
    sending: AtomicU32,
    /// Counts the times at which nothing more was pending, so that two slow responses are not taken for one.
    settled: AtomicU32,
    /// The next response is to be the last.
    is_leaving: AtomicBool,
    /// The socket is to be reset when it is closed.
    is_reset: AtomicBool,
    /// The socket took no more bytes, and not everything has been flushed since.
    is_blocked: AtomicBool,
    /// hyper has asked for bytes since the last came, and been told to wait: the next will wake it. Where it has not,
    /// it still holds what came, perhaps another request, and nothing is going to remind it.
    is_listening: AtomicBool,
}

/// A time that has not come.
const NEVER: u64 = u64::MAX;

impl ConnectionState {
    /// Begins the record of a connection that was accepted at `accepted`.
    pub(super) fn new(protocol: Protocol, accepted: Instant) -> ConnectionState {
        ConnectionState {
            is_http2: AtomicBool::new(protocol == Protocol::Http2),
            accepted,
            now: AtomicU64::new(0),
            last_io: AtomicU64::new(0),
            last_answer: AtomicU64::new(0),
            // The first head is under way from the moment of acceptance.
            head_since: AtomicU64::new(0),
            closing_since: AtomicU64::new(NEVER),
            written: AtomicU64::new(0),
            requests: AtomicU32::new(0),
            handling: AtomicU32::new(0),
            sending: AtomicU32::new(0),
            settled: AtomicU32::new(0),
            is_leaving: AtomicBool::new(false),
            is_reset: AtomicBool::new(false),
            is_blocked: AtomicBool::new(false),
            is_listening: AtomicBool::new(false),
        }
    }

    pub(super) fn protocol(&self) -> Protocol {
        match self.is_http2.load(Relaxed) {
            true => Protocol::Http2,
            false => Protocol::Http1,
        }
    }

    /// Notes that the first bytes, or the TLS handshake, have told HTTP/2.
    pub(super) fn note_http2(&self) {
        self.is_http2.store(true, Relaxed);
    }

    pub(super) fn accepted(&self) -> Instant {
        self.accepted
    }

    /// Sets the time of the facts that follow.
    pub(super) fn tick(&self, now: Instant) {
        let elapsed = now.saturating_duration_since(self.accepted);
        self.now.store(millis(elapsed), Relaxed);
    }

    /// Returns the milliseconds since acceptance as of the last [`ConnectionState::tick`].
    pub(super) fn elapsed(&self) -> u64 {
        self.now.load(Relaxed)
    }

    /// Notes that bytes, or the end of them, have come from the peer.
    pub(super) fn note_read(&self) {
        let now = self.elapsed();
        self.last_io.store(now, Relaxed);
        self.is_listening.store(false, Relaxed);
        // While a handler runs, what comes is its body or the requests behind it, and they have rules of their own.
        // Frames of HTTP/2 may come at any time; there the first request has the deadline, later ones are idle time.
        let starts_head = self.protocol() == Protocol::Http1
            && self.head_since.load(Relaxed) == NEVER
            && self.handling.load(Relaxed) == 0;
        if starts_head {
            self.head_since.store(now, Relaxed);
        }
    }

    /// Notes that the protocol wants bytes and has to wait for them.
    pub(super) fn note_listening(&self) {
        self.is_listening.store(true, Relaxed);
    }

    /// Notes that the kernel has taken `bytes` bytes.
    pub(super) fn note_written(&self, bytes: usize) {
        self.last_io.store(self.elapsed(), Relaxed);
        let written = self.written.load(Relaxed).wrapping_add(bytes as u64);
        self.written.store(written, Relaxed);
    }

    /// Notes that the kernel takes no more bytes at present.
    pub(super) fn on_write_blocked(&self) {
        self.is_blocked.store(true, Relaxed);
    }

    /// Notes that the kernel has taken everything that there was for it.
    pub(super) fn note_flushed(&self) {
        if self.is_blocked.swap(false, Relaxed) {
            add(&self.settled, 1);
        }
    }

    /// Notes that a handler begins, and returns how many requests this connection has now had.
    pub(super) fn note_request(&self) -> u32 {
        self.head_since.store(NEVER, Relaxed);
        add(&self.handling, 1);
        add(&self.requests, 1)
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
        if add(&self.sending, -1) == 0 {
            add(&self.settled, 1);
            self.tick(clock::instant());
            self.last_answer.store(self.elapsed(), Relaxed);
        }
    }

    /// Notes that the next response is to be the last.
    pub(super) fn note_leaving(&self) {
        self.is_leaving.store(true, Relaxed);
    }

    pub(super) fn is_leaving(&self) -> bool {
        self.is_leaving.load(Relaxed)
    }

    /// Notes that no further request is welcome; the first time counts.
    pub(super) fn note_closing(&self) {
        if !self.is_closing() {
            self.closing_since.store(self.elapsed(), Relaxed);
        }
    }

    pub(super) fn is_closing(&self) -> bool {
        self.closing_since.load(Relaxed) != NEVER
    }

    /// Asks for a reset in place of an orderly close, so that the kernel lets go of unsent data at once.
    pub(super) fn note_reset(&self) {
        self.is_reset.store(true, Relaxed);
    }

    pub(super) fn is_reset(&self) -> bool {
        self.is_reset.load(Relaxed)
    }

    /// Returns since when nothing but a request, or the rest of its head, is waited for; `None` while a request or its
    /// response is under way.
    pub(super) fn waits_since(&self) -> Option<u64> {
        let is_busy = self.is_pending() || self.handling.load(Relaxed) > 0;
        let head_since = self.head_since.load(Relaxed);
        (!is_busy).then(|| match head_since {
            NEVER => self.idle_since(),
            since => since,
        })
    }

    /// Tells whether output waits for the peer to take it.
    fn is_pending(&self) -> bool {
        self.is_blocked.load(Relaxed) || self.sending.load(Relaxed) > 0
    }

    /// Returns when the connection last had something to do, of a connection that has nothing to do.
    fn idle_since(&self) -> u64 {
        let answered = self.last_answer.load(Relaxed);
        match self.protocol() {
            // A large response goes on long after its handler has answered.
            Protocol::Http1 => answered.max(self.last_io.load(Relaxed)),
            // Pings are bytes as well, and would keep a connection without a request for ever.
            Protocol::Http2 => answered,
        }
    }
}

/// Adds to a number that no other thread touches at the same time, so the processor need not lock it; returns the sum.
fn add(number: &AtomicU32, more: i32) -> u32 {
    let sum = number.load(Relaxed).wrapping_add_signed(more);
    number.store(sum, Relaxed);
    sum
}

/// Returns whole milliseconds; a duration beyond 580 million years counts as that.
pub(super) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(NEVER - 1)
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
pub(super) struct DeadlinePolicy {
    timeouts: Timeouts,
    output: Option<PendingOutput>,
}

/// Output that is pending since then, when the kernel had taken `written` bytes.
#[derive(Clone, Copy, Debug)]
struct PendingOutput {
    since: u64,
    written: u64,
    settled: u32,
}

impl DeadlinePolicy {
    pub(super) fn new(timeouts: Timeouts) -> DeadlinePolicy {
        DeadlinePolicy {
            timeouts,
            output: None,
        }
    }

    /// Returns the deadline as of the last [`ConnectionState::tick`], in milliseconds after acceptance.
    ///
    /// # Errors
    /// How the connection ends, where the deadline has passed.
    pub(super) fn review(&mut self, state: &ConnectionState) -> Result<u64, Ending> {
        let last_io = state.last_io.load(Relaxed);
        let is_pending = state.is_pending();
        let (until, ending) = if is_pending && self.timeouts.rate_min > 0 {
            (self.output_until(state), Ending::SlowReader)
        } else {
            self.output = None;
            let head_since = state.head_since.load(Relaxed);
            let (since, allowance, ending) = if is_pending || state.handling.load(Relaxed) > 0 {
                (last_io, self.timeouts.stall, Ending::Stalled)
            } else if state.is_closing() {
                let since = state.closing_since.load(Relaxed).max(last_io);
                (since, CLOSING, Ending::Stalled)
            } else if head_since != NEVER {
                (head_since, self.timeouts.head, Ending::HeadTimeout)
            } else if state.protocol() == Protocol::Http1 && !state.is_listening.load(Relaxed) {
                (last_io, self.timeouts.stall, Ending::Stalled)
            } else {
                (state.idle_since(), self.timeouts.idle, Ending::Idle)
            };
            (since.saturating_add(millis(allowance)), ending)
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
        let rate_time = millis(self.timeouts.rate_time);
        let written = state.written.load(Relaxed);
        let settled = state.settled.load(Relaxed);
        let known = self.output.filter(|output| output.settled == settled);
        let mut output = known.unwrap_or(PendingOutput {
            since: now,
            written,
            settled,
        });
        let moved = written.saturating_sub(output.written);
        let earned = moved.saturating_mul(1_000) / self.timeouts.rate_min;
        let latest = now.saturating_add(rate_time.saturating_mul(CREDIT_MAX));
        let mut until = output
            .since
            .saturating_add(rate_time)
            .saturating_add(earned);
        if until > latest {
            until = latest;
            output.since = latest.saturating_sub(rate_time);
            output.written = written;
        }
        self.output = Some(output);
        until
    }
}

#[cfg(test)]
mod tests;
