//! Rows of requests on one connection: each is answered, in order, and no byte is lost, wherever the row is cut.

use std::net::{Shutdown, SocketAddr, TcpStream};
use std::num::NonZeroUsize;
use std::thread;
use std::time::Duration;

use crate::support::dataset::DataDir;
use crate::support::{Connection, DEADLINE, Server, connect_narrow, wait_until};

/// The last request of an exchange.
pub(super) const LAST: &str = "GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";

fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n")
}

/// Sends bytes, and returns all that comes until the server closes.
pub(super) fn exchange(address: SocketAddr, bytes: &[u8]) -> Vec<u8> {
    let mut connection = Connection::open(address);
    // A server that has refused the beginning may be gone before the end.
    let _gone = connection.try_write(bytes);
    connection.rest()
}

/// Returns `reply` with every date the same.
pub(super) fn undated(mut reply: Vec<u8>) -> Vec<u8> {
    const DATE: &[u8] = b"\r\ndate: ";
    let mut at = 0;
    while let Some(found) = memchr::memmem::find(&reply[at..], DATE) {
        at += found + DATE.len();
        let end = (at + 29).min(reply.len());
        reply[at..end].fill(b'-');
    }
    reply
}

#[test]
fn a_row_of_requests_may_be_cut_anywhere() {
    let server = Server::start_with(|config| config.threads = NonZeroUsize::MIN);
    let row = [
        get("/robots.txt"),
        "HEAD /feed.xml HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\n\r\n".to_owned(),
        get("/api/reviews/search?limit=1"),
        get("/?query=will"),
        get("/favicon.svg"),
        LAST.to_owned(),
    ];
    let row = row.concat();
    wait_until("the compressed variants are made", || {
        server
            .get_with("/feed.xml", &[("Accept-Encoding", "gzip")])
            .field("content-encoding")
            .is_some()
    });
    let whole = undated(exchange(server.address(), row.as_bytes()));
    let answered = memchr::memmem::find_iter(&whole, b"HTTP/1.1 200 OK");
    assert_eq!(answered.count(), 6);
    // The one thread that serves has read the first part once it has answered a later connection.
    let mut other = server.connect();
    for cut in 1..row.len() {
        let mut connection = server.connect();
        connection.write(&row.as_bytes()[..cut]);
        assert_eq!(other.get("/healthz").status, 200);
        connection.write(&row.as_bytes()[cut..]);
        let replies = undated(connection.rest());
        assert!(replies == whole, "{cut}: {}", replies.escape_ascii());
    }
}

#[test]
fn a_peer_that_has_closed_its_side_gets_its_answers() {
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let post = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: {}\r\n\r\n{call}",
        call.len()
    );
    let rows = [
        get("/nothing/here"),
        get("/api/reviews/search?limit=1"),
        get("/robots.txt") + &get("/api/reviews/search?limit=1"),
        get("/nothing/here").repeat(3) + &get("/robots.txt"),
        post,
    ];
    let server = Server::start();
    for row in rows.iter().cycle().take(rows.len() * 8) {
        let mut connection = server.connect();
        connection.write(row.as_bytes());
        connection.stream().shutdown(Shutdown::Write).unwrap();
        for _ in 0..row.matches("HTTP/1.1").count() {
            let status = connection.response("GET").status;
            assert!([200, 404].contains(&status), "{status} to {row}");
        }
        assert_eq!(connection.rest(), b"");
    }
}

#[test]
fn half_a_head_after_an_answered_request_has_its_time_and_is_told_so() {
    let server =
        Server::start_with(|config| config.limits.header_time = Duration::from_millis(500));
    let mut connection = server.connect();
    let row = get("/robots.txt").repeat(2);
    connection.write(&row.as_bytes()[..row.len() - 2]);
    assert_eq!(connection.response("GET").status, 200);
    // What came with the request before counts as idle time.
    connection.write(b"\r");
    let late = connection.response("GET");
    let close = late.field("connection");
    assert_eq!((late.status, close), (408, Some("close")));
    assert_eq!(connection.rest(), b"");
    assert_eq!(server.running().counters().head_timeouts.get(), 1);
}

#[test]
fn the_last_request_of_a_connection_is_told_so() {
    let server = Server::start_with(|config| config.limits.connection_requests = 3);
    let mut connection = server.connect();
    connection.write(get("/robots.txt").repeat(4).as_bytes());
    for expected in [None, None, Some("close")] {
        assert_eq!(connection.response("GET").field("connection"), expected);
    }
    assert_eq!(connection.rest(), b"");
}

/// A document of a megabyte, more than the sockets take.
fn large() -> (DataDir, Server) {
    let data = DataDir::with_reviews(4_000, "2026-01-01T00:00:00Z");
    let server = Server::start_with(|config| {
        config.data = reviewd::server::DataSource::Directory(data.path().to_owned());
        config.drain_time = DEADLINE;
    });
    (data, server)
}

#[test]
fn what_was_asked_for_is_answered_when_the_server_stops() {
    let (_data, server) = large();
    let expected = server.get("/reviews.json").body;
    assert!(expected.len() > 1 << 20);
    let mut connection = Connection::over(connect_narrow(server.address()));
    connection.write((get("/reviews.json") + &get("/robots.txt")).as_bytes());
    let mut first = [0; 1];
    connection.stream().peek(&mut first).unwrap();
    let address = server.address();
    let end = thread::spawn(move || server.shutdown());
    wait_until("no connection is accepted any more", || {
        TcpStream::connect(address).is_err()
    });
    assert!(connection.response("GET").body == expected);
    assert_eq!(
        connection.response("GET").field("connection"),
        Some("close")
    );
    assert_eq!(connection.rest(), b"");
    assert!(end.join().unwrap(), "nothing had to be cut");
}

#[test]
fn what_follows_a_large_document_waits_for_its_turn() {
    let (_data, server) = large();
    let expected = server.get("/reviews.json").body;
    let mut connection = Connection::over(connect_narrow(server.address()));
    let since = "/api/reviews/since/2000-01-01";
    let expected_since = server.get(since).body;
    assert!(expected_since.len() > 1 << 20);
    let row = ["/reviews.json", since, "/robots.txt", "/reviews.json"].map(get);
    connection.write((row.concat() + LAST).as_bytes());
    assert!(connection.response("GET").body == expected);
    assert!(connection.response("GET").body == expected_since);
    let text = connection.response("GET");
    assert_eq!(
        text.field("content-type"),
        Some("text/plain; charset=utf-8")
    );
    assert!(connection.response("GET").body == expected);
    assert_eq!(connection.response("GET").status, 200);
    assert_eq!(connection.rest(), b"");
}
