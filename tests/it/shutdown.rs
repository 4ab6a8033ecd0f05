//! Shutdown: requests already on their way are answered before idle connections close, requests in flight have the
//! drain time, and a second signal skips the wait.

use std::io::ErrorKind;
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use crate::support::{Connection, PING, Program, Server, wait_until};

/// Sends the head of a request, and waits for 100 (Continue); from then on the request is in flight.
pub(crate) fn begin(connection: &mut Connection) {
    let fields = [
        ("Content-Type", "application/json"),
        ("Expect", "100-continue"),
    ];
    let head = connection.head("POST", "/mcp", &fields, BODY.len());
    connection.write(head.as_bytes());
    let mut first = [0; 12];
    wait_until("100 (Continue) comes", || {
        connection.stream().peek(&mut first).unwrap() == first.len()
    });
    assert_eq!(&first, b"HTTP/1.1 100");
}

pub(crate) const BODY: &[u8] = PING.as_bytes();

#[test]
fn a_request_in_flight_is_answered_while_new_connections_are_refused() {
    let server = Server::start();
    let address = server.address();
    let mut connection = server.connect();
    begin(&mut connection);
    // Idle connections on every worker; they close when the drain reaches the worker.
    let mut idle = [(); 8].map(|()| server.kept());
    let end = thread::spawn(move || server.shutdown());
    wait_until("connections are refused", || {
        TcpStream::connect(address).is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused)
    });
    for connection in &mut idle {
        assert_eq!(connection.rest(), b"");
    }
    connection.write(BODY);
    let response = connection.response("POST");
    assert_eq!(response.status, 200);
    assert_eq!(response.field("connection"), Some("close"));
    assert_eq!(connection.rest(), b"");
    assert!(end.join().unwrap(), "nothing had to be cut");
}

#[test]
fn a_request_that_does_not_end_is_cut_after_the_drain_time() {
    let server = Server::start_with(|config| config.drain_time = Duration::from_millis(200));
    let mut connection = server.connect();
    begin(&mut connection);
    assert!(!server.shutdown(), "a connection had to be cut");
}

/// A client does not know of the shutdown when it sends its next request, or the first one on a new connection.
#[test]
fn requests_on_their_way_at_shutdown_are_answered_with_connection_close() {
    let program = Program::serve(&[]);
    let clients = [(); 4].map(|()| {
        let mut connection = Connection::kept(program.address());
        thread::spawn(move || {
            loop {
                let response = connection.get("/reviews.json");
                assert_eq!(response.status, 200);
                if response.field("connection") == Some("close") {
                    return connection.rest();
                }
            }
        })
    });
    let mut new = [(); 8].map(|()| Connection::open(program.address()));
    program.signal("TERM");
    program.wait_for_log("SIGTERM");
    new.iter_mut().for_each(Connection::assert_served);
    for client in clients {
        assert_eq!(client.join().expect("no request is lost"), b"");
    }
    assert_eq!(program.wait().0, Some(0));
}

/// A supervisor may stop the program as soon as it reports that it serves.
#[cfg(target_os = "linux")]
#[test]
fn sigterm_and_sigint_are_caught_before_the_program_serves() {
    const TERM_AND_INT: u64 = 1 << (15 - 1) | 1 << (2 - 1);
    let program = Program::serve(&[]);
    let caught = u64::from_str_radix(&program.status("SigCgt"), 16).unwrap();
    assert_eq!(caught & TERM_AND_INT, TERM_AND_INT, "{caught:x}");
}

#[test]
fn a_second_signal_ends_the_program_at_once() {
    let program = Program::serve(&["--drain-time", "1h"]);
    let mut connection = Connection::open(program.address());
    begin(&mut connection);
    program.signal("INT");
    program.wait_for_log("SIGINT");
    program.signal("INT");
    program.wait_for_log("connections are closed");
    assert_eq!(program.wait().0, Some(0));
}
