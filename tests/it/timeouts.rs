//! Slow clients: each is disconnected after its timeout, and others are served meanwhile.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::support::frames::{Frames, kind};
use crate::support::{Server, connect_narrow, wait_until};

/// The timeout that each test sets.
const SHORT: Duration = Duration::from_millis(300);

fn with_header_time() -> Server {
    Server::start_with(|config| config.limits.header_time = SHORT)
}

fn with_rate_time(time: Duration) -> Server {
    Server::start_with(|config| config.limits.rate_time = time)
}

#[test]
fn a_silent_connection_is_closed_after_the_header_time() {
    let server = with_header_time();
    let began = Instant::now();
    assert_eq!(server.connect().rest(), b"");
    assert!(began.elapsed() >= SHORT, "{:?}", began.elapsed());
    // On HTTP/2, a silent connection sends its preface and no request.
    let mut frames = Frames::open(server.address(), &[]);
    while frames.next().is_some() {}
    server.wait_for_open(0);
}

/// Head bytes that arrive with the previous request count as idle time, so one more byte is sent after the response.
#[test]
fn a_slow_head_gets_408_also_after_an_answered_request() {
    let server = with_header_time();
    let answered = "GET /robots.txt HTTP/1.1\r\nHost: x\r\n\r\n";
    for (number, before) in ["", answered].iter().enumerate() {
        let began = Instant::now();
        let mut slow = server.connect();
        slow.write(format!("{before}GET /healthz HTTP/1.1\r\nHost: x\r\n").as_bytes());
        if !before.is_empty() {
            assert_eq!(slow.response("GET").status, 200);
            slow.write(b"\r");
        }
        assert_eq!(server.get("/healthz").status, 200);
        let response = slow.response("GET");
        response.assert_error(408, "request_timeout");
        assert_eq!(response.field("connection"), Some("close"));
        assert!(began.elapsed() >= SHORT, "{:?}", began.elapsed());
        assert_eq!(slow.rest(), b"");
        let timeouts = server.running().counters().head_timeouts.get();
        assert_eq!(timeouts, number as u64 + 1);
    }
}

#[test]
fn a_trickling_head_does_not_extend_the_header_time() {
    let server = with_header_time();
    let mut slow = server.connect();
    let pause = Some(Duration::from_millis(20));
    slow.stream().set_read_timeout(pause).unwrap();
    slow.write(b"GET /healthz HTTP/1.1\r\n");
    wait_until("the slow head is answered", || {
        // `try_response` waits for the read timeout, which is the pause between two bytes.
        let _closed = slow.try_write(b"x");
        server.running().counters().head_timeouts.get() == 1
            || matches!(slow.try_response("GET"), Ok(response) if response.status == 408)
    });
}

#[test]
fn an_idle_connection_is_closed_after_the_idle_time_without_an_error() {
    let server = Server::start_with(|config| config.limits.idle_time = SHORT);
    let mut connection = server.kept();
    let mut frames = Frames::open(server.address(), &[]);
    frames.get(1, "/healthz");
    frames.answer(1);
    let began = Instant::now();
    assert_eq!(connection.rest(), b"");
    let goaway = frames.wait_for(kind::GOAWAY);
    assert_eq!(goaway.payload[4..8], [0; 4], "no error");
    while frames.next().is_some() {}
    // The default would be a minute.
    assert!(began.elapsed() < SHORT * 100, "{:?}", began.elapsed());
}

#[test]
fn a_client_that_reads_nothing_is_reset_and_its_permit_freed() {
    let server = with_rate_time(SHORT);
    let mut slow = ask_for_much(&server);
    wait_for_slow_reader(&server);
    assert_eq!(server.get("/healthz").status, 200);
    let error = slow.read_to_end(&mut Vec::new()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
}

/// Waits until one slow reader has been dropped, and no connection is open.
pub(crate) fn wait_for_slow_reader(server: &Server) {
    wait_until("the slow reader is dropped", || {
        server.running().counters().slow_readers.get() == 1
    });
    server.wait_for_open(0);
}

#[test]
fn a_client_that_reads_fast_enough_gets_everything() {
    let server = with_rate_time(SHORT * 10);
    let length = server.get("/reviews.json").body.len();
    let mut received = Vec::new();
    ask_for_much(&server).read_to_end(&mut received).unwrap();
    assert!(received.len() > REQUESTS * length);
    assert_eq!(server.running().counters().slow_readers.get(), 0);
}

#[test]
fn an_http2_peer_that_opens_no_window_is_dropped() {
    let server = with_rate_time(SHORT);
    let initial_window_size = 4;
    let mut frames = Frames::open(server.address(), &[(initial_window_size, 0)]);
    frames.get(1, "/reviews.json");
    frames.wait_for(kind::HEADERS);
    while frames.next().is_some() {}
    assert_eq!(server.running().counters().slow_readers.get(), 1);
}

/// Number of requests that [`ask_for_much`] sends: their responses exceed the socket buffers of both sides.
const REQUESTS: usize = 40;

/// Sends pipelined requests for the largest document, the last of which closes the connection.
fn ask_for_much(server: &Server) -> TcpStream {
    let mut stream = connect_narrow(server.address());
    let one = "GET /reviews.json HTTP/1.1\r\nHost: a\r\n";
    let requests = format!("{one}\r\n").repeat(REQUESTS - 1);
    let requests = format!("{requests}{one}Connection: close\r\n\r\n");
    stream.write_all(requests.as_bytes()).unwrap();
    stream
}
