//! The table of the module, row by row, on both sides of each deadline. Time is passed in.

use super::{CLOSING, ConnectionState, DeadlinePolicy, Ending, Protocol, Timeouts, millis};
use std::time::Duration;
use tokio::time::Instant;

const WINDOW: Duration = Duration::from_secs(10);

const ALLOWANCES: Timeouts = Timeouts {
    head: Duration::from_secs(10),
    idle: Duration::from_secs(60),
    stall: Duration::from_secs(20),
    rate_min: 4_096,
    rate_time: WINDOW,
    farewell: Duration::from_secs(1),
};

/// A connection on a clock of its own.
struct Bench {
    accepted: Instant,
    state: ConnectionState,
    watch: DeadlinePolicy,
}

impl Bench {
    fn new(protocol: Protocol) -> Bench {
        Bench::with(protocol, ALLOWANCES)
    }

    fn with(protocol: Protocol, timeouts: Timeouts) -> Bench {
        let accepted = Instant::now();
        Bench {
            accepted,
            state: ConnectionState::new(protocol, accepted),
            watch: DeadlinePolicy::new(timeouts),
        }
    }

    /// Sets the clock to `now` after acceptance.
    fn at(&self, now: Duration) -> &ConnectionState {
        self.state.tick(self.accepted + now);
        &self.state
    }

    fn review(&mut self, now: Duration) -> Result<u64, Ending> {
        self.at(now);
        self.watch.review(&self.state)
    }

    /// Asserts that the connection ends with `ending` at `deadline`, and a millisecond earlier does not.
    fn assert_ends(&mut self, deadline: Duration, ending: Ending) {
        let before = self.review(deadline - Duration::from_millis(1));
        assert_eq!(before, Ok(millis(deadline)));
        assert_eq!(self.review(deadline), Err(ending));
    }

    /// One request that comes and is answered at once at `now`.
    fn exchange(&self, now: Duration) {
        let state = self.at(now);
        state.note_read();
        state.note_request();
        state.note_answer();
        state.note_written(500);
        state.note_flushed();
        state.note_listening();
    }
}

fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[test]
fn an_idle_connection_that_hyper_does_not_listen_to_is_stalled() {
    let mut bench = Bench::new(Protocol::Http1);
    let state = bench.at(s(3));
    state.note_read();
    state.note_request();
    state.note_answer();
    state.note_written(500);
    state.note_flushed();
    bench.assert_ends(s(23), Ending::Stalled);
}

#[test]
fn a_handler_may_run_as_long_as_bytes_come_and_a_stall_after_that() {
    let mut bench = Bench::new(Protocol::Http1);
    let state = bench.at(s(1));
    state.note_read();
    state.note_request();
    bench.at(s(15)).note_read();
    bench.assert_ends(s(35), Ending::Stalled);
}

#[test]
fn a_reader_below_the_least_rate_is_dropped_when_its_bytes_are_used_up() {
    let mut bench = Bench::new(Protocol::Http1);
    owe(&bench, s(1));
    bench.review(s(1)).unwrap();
    bench.at(s(10)).note_written(4_096 * 5 - 1);
    bench.state.on_write_blocked();
    let deadline = s(1) + WINDOW + s(5) - Duration::from_millis(1);
    bench.assert_ends(deadline, Ending::SlowReader);
}

#[test]
fn a_burst_earns_five_times_the_time_and_no_more() {
    let mut bench = Bench::new(Protocol::Http1);
    owe(&bench, s(1));
    bench.review(s(1)).unwrap();
    bench.at(s(2)).note_written(100 << 20);
    bench.state.on_write_blocked();
    assert_eq!(bench.review(s(2)), Ok(millis(s(2) + WINDOW * 5)));
    bench.assert_ends(s(2) + WINDOW * 5, Ending::SlowReader);
}

#[test]
fn two_slow_replies_are_not_one() {
    let mut bench = Bench::new(Protocol::Http1);
    owe(&bench, s(1));
    bench.review(s(1)).unwrap();
    bench.at(s(9)).note_written(10);
    bench.state.note_flushed();
    bench.state.on_write_blocked();
    assert_eq!(bench.review(s(11)), Ok(millis(s(11) + WINDOW)));
}

#[test]
fn a_closing_connection_gets_a_short_time() {
    let mut bench = Bench::new(Protocol::Http1);
    bench.exchange(s(3));
    bench.at(s(4)).note_closing();
    bench.assert_ends(s(4) + CLOSING, Ending::Stalled);
}

#[test]
fn a_large_reply_does_not_use_up_idle_time() {
    let mut bench = Bench::new(Protocol::Http1);
    owe(&bench, s(1));
    let state = bench.at(s(300));
    state.note_written(1 << 20);
    state.note_flushed();
    state.note_listening();
    bench.assert_ends(s(360), Ending::Idle);
}

#[test]
fn pings_do_not_keep_an_http2_connection_without_requests() {
    let mut bench = Bench::new(Protocol::Http2);
    bench.exchange(s(3));
    for second in (5..60).step_by(5) {
        let state = bench.at(s(second));
        state.note_read();
        state.note_written(17);
    }
    bench.assert_ends(s(63), Ending::Idle);
}

/// A request comes at `now`, and its reply does not fit into the socket.
fn owe(bench: &Bench, now: Duration) {
    let state = bench.at(now);
    state.note_read();
    state.note_request();
    state.note_answer();
    state.note_written(131_072);
    state.on_write_blocked();
}
