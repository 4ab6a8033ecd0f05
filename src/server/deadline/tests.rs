//! Each row of the module's table of deadlines. Time is passed in.

use std::future::poll_fn;

use tokio::task::consume_budget;
use tokio::time::timeout;

use super::*;
use crate::http::Proxies;
use crate::limits::{BudgetLimits, Budgets};
use crate::server::connections::Connections;

const WINDOW: Duration = Duration::from_secs(10);

/// A connection with a clock of its own.
struct ClockedConnection {
    accepted: Instant,
    state: ConnectionState,
}

impl ClockedConnection {
    fn new() -> ClockedConnection {
        let accepted = Instant::now();
        ClockedConnection {
            accepted,
            state: ConnectionState::new(accepted),
        }
    }

    /// Sets the clock to `now` after acceptance.
    fn at(&self, now: Duration) -> &ConnectionState {
        self.state.now.set(self.accepted + now);
        &self.state
    }

    fn assert_ends(&self, deadline: Duration, ending: Ending) {
        let limits = ServerLimits {
            rate_time: WINDOW,
            ..ServerLimits::default()
        };
        let expected = Deadline {
            at: self.accepted + deadline,
            ending,
        };
        assert_eq!(self.state.update_deadline(&limits), expected);
    }

    /// A request that arrives at `now` and is answered at once.
    fn exchange(&self, now: Duration) {
        let state = self.at(now);
        state.note_read(1);
        state.note_request();
        state.note_answer();
        state.note_written(500);
        state.is_blocked.set(false);
    }
}

fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[test]
fn a_connection_stalls_20_s_after_its_last_byte_while_a_request_is_handled() {
    let connection = ClockedConnection::new();
    let state = connection.at(s(1));
    state.note_read(1);
    state.note_request();
    connection.at(s(15)).note_read(1);
    connection.assert_ends(s(35), Ending::Stalled);
}

#[test]
fn a_reader_below_the_least_rate_is_dropped_when_its_bytes_are_used_up() {
    let connection = ClockedConnection::new();
    owe(&connection, s(1));
    connection.assert_ends(s(1) + WINDOW, Ending::SlowReader);
    let written = 4_096 * 5 - 1;
    connection.at(s(10)).note_written(written);
    // Each 4,096 bytes earn a second.
    let earned = s(written as u64) / 4_096;
    connection.assert_ends(s(1) + WINDOW + earned, Ending::SlowReader);
}

#[test]
fn a_burst_earns_five_times_the_time_and_no_more() {
    let connection = ClockedConnection::new();
    owe(&connection, s(1));
    connection.assert_ends(s(1) + WINDOW, Ending::SlowReader);
    connection.at(s(2)).note_written(100 << 20);
    connection.assert_ends(s(2) + WINDOW * 5, Ending::SlowReader);
    connection.at(s(40));
    connection.assert_ends(s(2) + WINDOW * 5, Ending::SlowReader);
}

#[test]
fn a_closing_connection_gets_a_short_time() {
    let connection = ClockedConnection::new();
    connection.exchange(s(3));
    connection.at(s(4)).note_closing();
    connection.assert_ends(s(4) + CLOSING, Ending::Stalled);
}

#[test]
fn a_large_reply_does_not_use_up_idle_time() {
    let connection = ClockedConnection::new();
    owe(&connection, s(1));
    let state = connection.at(s(300));
    state.note_written(1 << 20);
    state.is_blocked.set(false);
    connection.assert_ends(s(360), Ending::Idle);
}

#[test]
fn pings_do_not_keep_an_http2_connection_without_requests() {
    let connection = ClockedConnection::new();
    connection.state.is_http2.set(true);
    connection.exchange(s(3));
    for second in (5..60).step_by(5) {
        let state = connection.at(s(second));
        state.note_read(1);
        state.note_written(17);
    }
    connection.assert_ends(s(63), Ending::Idle);
}

/// A request arrives at `now`, and its response does not fit into the socket.
fn owe(connection: &ClockedConnection, now: Duration) {
    let state = connection.at(now);
    state.note_read(1);
    state.note_request();
    state.note_answer();
    state.note_written(131_072);
    state.is_blocked.set(true);
}

#[tokio::test]
async fn a_deadline_comes_also_to_a_task_that_had_used_up_its_budget() {
    let limits = Arc::new(ServerLimits {
        header_time: Duration::from_millis(20),
        ..ServerLimits::default()
    });
    let proxies = Proxies {
        networks: Vec::new(),
    };
    let budgets = Budgets::new(BudgetLimits {
        process_bytes: 1 << 20,
        client_bytes: 0,
    });
    let table = Arc::new(Connections::new(&limits, proxies, budgets));
    let permit = table.admit([127, 0, 0, 1].into()).expect("a permit").permit;
    let mut deadline = ConnectionDeadline::new(clock::instant(), limits, s(1), permit);
    let mut polls = 0;
    let action = poll_fn(|context| {
        polls += 1;
        deadline.tick();
        // The first poll uses up the budget of the task, so that timers no longer become ready in it.
        while polls == 1 && pin!(consume_budget()).poll(context).is_ready() {}
        deadline.poll(context)
    });
    let action = timeout(s(60), action).await;
    assert_eq!(action, Ok(Err(Ending::HeadTimeout)));
}
