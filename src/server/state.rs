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
//! | output is owed and the peer does not take it | [`Timeouts::rate_time`], and a second for each [`Timeouts::rate_min`] bytes taken since, at most [`CREDIT_MAX`](watch::CREDIT_MAX) times the former ahead | reset |
//! | a handler runs | [`Timeouts::stall`] after the last byte | reset |
//! | the connection is to be closed | [`CLOSING`] after the last byte | reset |
//! | part of a head was read | [`Timeouts::head`] after its first byte | 408, closed |
//! | idle, and hyper waits for the next request | [`Timeouts::idle`] after the last answer | closed |
//! | idle, and hyper waits for nothing (a lost wake-up) | [`Timeouts::stall`] after the last byte | reset |

mod watch;

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use tokio::time::Instant;

use super::clock;

pub(super) use watch::{DeadlinePolicy, Ending, Verdict};

/// How long a peer may take to close its side of a connection that we are closing.
pub(super) const CLOSING: Duration = Duration::from_secs(5);

/// The times that a connection has; see the table of the module.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timeouts {
    /// From the first byte of a head to its last.
    pub(super) head: Duration,
    /// Between two requests.
    pub(super) idle: Duration,
    /// Without a byte in either direction while something is under way.
    pub(super) stall: Duration,
    /// Bytes a second that a peer has to take while output is owed; 0 switches the rule off.
    pub(super) rate_min: u64,
    /// How long a peer may take nothing while output is owed.
    pub(super) rate_time: Duration,
    /// From the order to stop until idle connections are closed: a request that is on its way is answered.
    pub(super) farewell: Duration,
}

/// Which protocol a connection speaks: HTTP/2 shows its state through its streams, HTTP/1.1 through its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protocol {
    /// One request at a time.
    Http1,
    /// Many requests at a time, and frames that belong to none.
    Http2,
}

/// The facts about one connection, noted where they happen and read by its [`DeadlinePolicy`].
///
/// Plain relaxed atomics: one thread touches them, the type only has to be shareable. Times are milliseconds
/// since the connection was accepted, so that they fit an atomic.
#[derive(Debug)]
pub(super) struct ConnectionState {
    /// HTTP/2 is spoken; under TLS that is known after the handshake.
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
    /// Replies whose body hyper still holds; counted on HTTP/2 only.
    sending: AtomicU32,
    /// Counts the times at which nothing more was owed, so that two slow replies are not taken for one.
    settled: AtomicU32,
    /// The next reply is to be the last.
    leaving: AtomicBool,
    /// The socket is to be reset when it is closed.
    reset: AtomicBool,
    /// The socket refused bytes, and not everything has been flushed since.
    refused: AtomicBool,
    /// hyper has asked for bytes since the last came, and been told to wait: the next will wake it. Where it has not,
    /// it still holds what came, perhaps another request, and nothing is going to remind it.
    listening: AtomicBool,
}

/// A time that has not come.
const NEVER: u64 = u64::MAX;

impl ConnectionState {
    /// Returns the protocol that the connection speaks.
    pub(super) fn protocol(&self) -> Protocol {
        if self.is_http2.load(Relaxed) {
            Protocol::Http2
        } else {
            Protocol::Http1
        }
    }

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
            leaving: AtomicBool::new(false),
            reset: AtomicBool::new(false),
            refused: AtomicBool::new(false),
            listening: AtomicBool::new(false),
        }
    }

    /// Notes that the handshake has ended with HTTP/2.
    pub(super) fn note_http2(&self) {
        self.is_http2.store(true, Relaxed);
    }

    /// Returns when the connection was accepted.
    pub(super) fn accepted(&self) -> Instant {
        self.accepted
    }

    /// Reads the clock for the facts that follow.
    pub(super) fn tick(&self, now: Instant) {
        let elapsed = now.saturating_duration_since(self.accepted);
        self.now.store(millis(elapsed), Relaxed);
    }

    /// Notes that bytes, or the end of them, have come from the peer.
    pub(super) fn note_read(&self) {
        let now = self.now.load(Relaxed);
        self.last_io.store(now, Relaxed);
        self.listening.store(false, Relaxed);
        // While a handler runs, what comes is its body or the requests behind it, and they have rules of their own.
        // Frames of HTTP/2 may come at any time; there the first request has the deadline, later ones are idle time.
        let starts_head = self.protocol() == Protocol::Http1
            && self.head_since.load(Relaxed) == NEVER
            && self.handling.load(Relaxed) == 0;
        if starts_head {
            self.head_since.store(now, Relaxed);
        }
    }

    /// Notes that hyper wants bytes and has to wait for them.
    pub(super) fn note_listening(&self) {
        self.listening.store(true, Relaxed);
    }

    /// Notes that the kernel has taken `bytes` bytes.
    pub(super) fn note_written(&self, bytes: usize) {
        self.last_io.store(self.now.load(Relaxed), Relaxed);
        let written = self.written.load(Relaxed).wrapping_add(bytes as u64);
        self.written.store(written, Relaxed);
    }

    /// Notes that the kernel takes no more bytes at present.
    pub(super) fn on_write_blocked(&self) {
        self.refused.store(true, Relaxed);
    }

    /// Notes that the kernel has taken everything that hyper had for it.
    pub(super) fn note_flushed(&self) {
        if self.refused.swap(false, Relaxed) {
            add(&self.settled, 1);
        }
    }

    /// Notes that a handler begins, and returns how many requests this connection has now had.
    pub(super) fn note_request(&self) -> u32 {
        self.head_since.store(NEVER, Relaxed);
        add(&self.handling, 1);
        add(&self.requests, 1)
    }

    /// Returns how many requests this connection has had.
    pub(super) fn requests(&self) -> u32 {
        self.requests.load(Relaxed)
    }

    /// Notes that a handler has answered.
    pub(super) fn note_answer(&self) {
        add(&self.handling, -1);
        self.last_answer.store(self.now.load(Relaxed), Relaxed);
    }

    /// Returns how many handlers have not answered yet.
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
            self.last_answer.store(self.now.load(Relaxed), Relaxed);
        }
    }

    /// Notes that the next reply is to be the last.
    pub(super) fn note_leaving(&self) {
        self.leaving.store(true, Relaxed);
    }

    /// Returns whether the next reply is to be the last.
    pub(super) fn is_leaving(&self) -> bool {
        self.leaving.load(Relaxed)
    }

    /// Notes that no further request is welcome; the first time counts.
    pub(super) fn note_closing(&self) {
        if self.closing_since.load(Relaxed) == NEVER {
            self.closing_since.store(self.now.load(Relaxed), Relaxed);
        }
    }

    /// Asks for a reset in place of an orderly close, so that the kernel lets go of unsent data at once.
    pub(super) fn note_reset(&self) {
        self.reset.store(true, Relaxed);
    }

    /// Returns whether the socket is to be reset when it is closed.
    pub(super) fn is_reset(&self) -> bool {
        self.reset.load(Relaxed)
    }

    /// Returns whether the connection is being closed.
    pub(super) fn is_closing(&self) -> bool {
        self.closing_since.load(Relaxed) != NEVER
    }

    /// Returns since when nothing but a request, or the rest of its head, is waited for; `None` while a request or its
    /// reply is under way.
    pub(super) fn waits_since(&self) -> Option<u64> {
        let is_busy = self.is_owing() || self.handling.load(Relaxed) > 0;
        let head_since = self.head_since.load(Relaxed);
        (!is_busy).then(|| match head_since {
            NEVER => self.idle_since(),
            since => since,
        })
    }

    /// Returns whether output waits for the peer to take it.
    fn is_owing(&self) -> bool {
        self.refused.load(Relaxed) || self.sending.load(Relaxed) > 0
    }

    /// Returns when the connection last had something to do, of a connection that has nothing to do.
    fn idle_since(&self) -> u64 {
        let answered = self.last_answer.load(Relaxed);
        match self.protocol() {
            // A large reply goes on long after its handler has answered.
            Protocol::Http1 => answered.max(self.last_io.load(Relaxed)),
            // Pings are bytes as well, and would keep a connection without a request for ever.
            Protocol::Http2 => answered,
        }
    }

    /// Returns the time since acceptance, in milliseconds, as of the last [`ConnectionState::tick`].
    pub(super) fn elapsed(&self) -> u64 {
        self.now.load(Relaxed)
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

#[cfg(test)]
mod tests;
