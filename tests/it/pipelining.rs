//! Pipelined requests on one connection: each is answered, in order, and no byte is lost, wherever the stream is split.

use std::net::{Shutdown, TcpStream};
use std::num::NonZeroUsize;
use std::thread;

use crate::support::dataset::{DataDir, large_reviews_json};
use crate::support::{Connection, DEADLINE, PING, Server, connect_narrow, wait_until};

fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n")
}

/// Reads until the connection closes, and returns the text without the dates.
fn undated(mut connection: Connection) -> String {
    let replies = String::from_utf8(connection.rest()).expect("UTF-8");
    let lines = replies.lines().filter(|line| !line.starts_with("date: "));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn pipelined_requests_may_be_split_anywhere() {
    let server = Server::start_with(|config| config.threads = NonZeroUsize::MIN);
    server.wait_for_variants("/feed.xml");
    // `P` is also the first byte of the HTTP/2 preface.
    let requests = [
        "PUT /robots.txt HTTP/1.1\r\nHost: a\r\n\r\n",
        "HEAD /feed.xml HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\n\r\n",
        &get("/api/reviews/search?limit=1"),
        &get("/?query=will"),
        "GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
    ];
    let requests = requests.concat();
    // There is one serving thread: when it has answered another connection, it has read the first part.
    let mut other = server.connect();
    let mut cut_at = |at: usize| {
        let mut connection = server.connect();
        connection.write(&requests.as_bytes()[..at]);
        assert_eq!(other.get("/healthz").status, 200);
        connection.write(&requests.as_bytes()[at..]);
        undated(connection)
    };
    let whole = cut_at(requests.len());
    assert_eq!(whole.matches("HTTP/1.1 200 OK").count(), 4);
    assert!(whole.starts_with("HTTP/1.1 405 "), "{whole}");
    for at in 1..requests.len() {
        let replies = cut_at(at);
        assert!(replies == whole, "{at}: {replies}");
    }
}

#[test]
fn a_half_closed_client_gets_its_responses() {
    let post = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    let sent = [
        get("/nothing/here"),
        get("/api/reviews/search?limit=1"),
        get("/robots.txt") + &get("/api/reviews/search?limit=1"),
        get("/nothing/here").repeat(3) + &get("/robots.txt"),
        format!("{post}Content-Length: {}\r\n\r\n{PING}", PING.len()),
    ];
    let server = Server::start();
    for requests in sent.iter().cycle().take(sent.len() * 8) {
        let mut connection = server.connect();
        connection.write(requests.as_bytes());
        connection.stream().shutdown(Shutdown::Write).unwrap();
        for _ in 0..requests.matches("HTTP/1.1").count() {
            let status = connection.response("GET").status;
            assert!([200, 404].contains(&status), "{status} to {requests}");
        }
        assert_eq!(connection.rest(), b"");
    }
}

#[test]
fn the_last_response_of_a_connection_says_close() {
    let server = Server::start_with(|config| config.limits.connection_requests = 3);
    let mut connection = server.connect();
    connection.write(get("/robots.txt").repeat(4).as_bytes());
    for expected in [None, None, Some("close")] {
        assert_eq!(connection.response("GET").field("connection"), expected);
    }
    assert_eq!(connection.rest(), b"");
}

#[test]
fn large_documents_are_sent_whole_and_in_order_even_during_shutdown() {
    // Larger than the socket buffers.
    let data = DataDir::empty();
    data.write("reviews.json", &large_reviews_json("2026-01-01T00:00:00Z"));
    let server = Server::start_with(|config| {
        config.data = reviewd::server::DataSource::Directory(data.path().to_owned());
        config.drain_time = DEADLINE;
    });
    let since = "/api/reviews/since/2000-01-01";
    let large = ["/reviews.json", since, "/reviews.json"];
    let expected = large.map(|path| server.get(path).body);
    assert!(expected.iter().all(|body| body.len() > 1 << 20));
    let mut connection = Connection::over(connect_narrow(server.address()));
    // Responses after a large document wait until it has been sent.
    connection.write(large.map(get).concat().as_bytes());
    for (path, body) in large.iter().zip(&expected) {
        assert!(connection.response("GET").body == *body, "{path}");
    }
    connection.write((get(large[0]) + &get("/robots.txt")).as_bytes());
    connection.stream().peek(&mut [0]).unwrap();
    let address = server.address();
    let end = thread::spawn(move || server.shutdown());
    wait_until("no connection is accepted any more", || {
        TcpStream::connect(address).is_err()
    });
    assert!(connection.response("GET").body == expected[0]);
    let last = connection.response("GET");
    assert_eq!(last.field("connection"), Some("close"));
    assert_eq!(connection.rest(), b"");
    assert!(end.join().unwrap(), "nothing had to be cut");
}
