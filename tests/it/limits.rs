//! Limits of connections and heads, on both sides of each.

use crate::support::{Connection, Program, Server, get, wait_until};

/// Returns a request whose head has exactly `bytes` bytes.
fn head_of(bytes: usize) -> String {
    let start = "GET /healthz HTTP/1.1\r\nHost: x\r\nX-Filler: ";
    let end = "\r\n\r\n";
    let filler = "x".repeat(bytes - start.len() - end.len());
    format!("{start}{filler}{end}")
}

#[test]
fn a_head_may_have_16_kib_and_no_more() {
    let server = Server::start();
    let mut connection = server.connect();
    connection.write(head_of(16 << 10).as_bytes());
    assert_eq!(connection.response("GET").status, 200);
    connection.write(head_of((16 << 10) + 1).as_bytes());
    let response = connection.response("GET");
    assert_eq!(response.status, 431);
    assert_eq!(connection.rest(), b"");
}

#[test]
fn a_head_may_have_64_fields_and_no_more() {
    let server = Server::start();
    let mut connection = server.connect();
    // The Host is one of them.
    connection.request("GET", "/healthz", &[("x", "1"); 63], b"");
    assert_eq!(connection.response("GET").status, 200);
    connection.request("GET", "/healthz", &[("x", "1"); 64], b"");
    let response = connection.response("GET");
    assert_eq!(response.status, 431);
    assert_eq!(response.json()["error"], "header_fields_too_large");
    assert_eq!(connection.rest(), b"");
}

#[test]
fn hundred_and_one_fields_are_431_by_hyper_itself() {
    let server = Server::start();
    let mut connection = server.connect();
    connection.request("GET", "/healthz", &[("x", "1"); 100], b"");
    assert_eq!(connection.response("GET").status, 431);
    assert_eq!(connection.rest(), b"");
}

#[test]
fn a_connection_beyond_the_limit_is_closed_at_once_and_a_free_place_is_taken_again() {
    let server = Server::start_with(|config| config.limits.connections = 2);
    let mut first = server.connect();
    let mut second = server.connect();
    assert_eq!(first.get("/healthz").status, 200);
    assert_eq!(second.get("/healthz").status, 200);
    assert_eq!(server.connect().rest(), b"");
    assert_eq!(server.running().counters().turned_away(), 1);
    drop(first);
    wait_until("the place is free", || {
        server.running().open_connections() == 1
    });
    assert_eq!(server.get("/healthz").status, 200);
    assert_eq!(second.get("/healthz").status, 200);
}

#[test]
fn connections_without_a_place_are_told_of_once() {
    let program = Program::serve(&["--max-connections", "3", "--address-connections", "2"]);
    let mut held: Vec<_> = (0..2)
        .map(|_| Connection::open(program.address()))
        .collect();
    for connection in &mut held {
        assert_eq!(connection.get("/healthz").status, 200);
    }
    for _ in 0..3 {
        assert_eq!(Connection::open(program.address()).rest(), b"");
    }
    let line = program.wait_for_log("--address-connections");
    assert!(line.contains("\"since_last\":0"), "{line}");
    program.signal("TERM");
    let (status, _, rest) = program.wait_with_log();
    assert_eq!(status, Some(0));
    assert!(
        !rest
            .iter()
            .any(|line| line.contains("--address-connections")),
        "{rest:#?}"
    );
}

#[test]
fn the_last_request_of_a_connection_says_so() {
    let server = Server::start_with(|config| config.limits.connection_requests = 3);
    let mut connection = server.connect();
    for _ in 0..2 {
        assert_eq!(connection.get("/healthz").field("connection"), None);
    }
    let last = connection.get("/healthz");
    assert_eq!(
        (last.status, last.field("connection")),
        (200, Some("close"))
    );
    assert_eq!(connection.rest(), b"");
}

#[test]
fn a_refused_body_that_is_still_coming_does_not_swallow_the_answer() {
    let server = Server::start();
    let mut connection = server.connect();
    let head = connection.head(
        "POST",
        "/mcp",
        &[("Content-Type", "application/json")],
        64 << 20,
    );
    connection.write(head.as_bytes());
    // More than the sockets hold: a server that closed without taking it in would reset the connection.
    for _ in 0..3 {
        connection.write(&[b'x'; 64 << 10]);
    }
    let response = connection.response("POST");
    assert_eq!(
        (response.status, response.field("connection")),
        (413, Some("close"))
    );
}

#[test]
fn a_server_with_descriptors_for_all_says_nothing() {
    let program = Program::serve_with_descriptors(4_096, &["--max-connections", "100"]);
    assert!(!program.has_seen("the limit on open files"));
}

#[test]
fn a_server_without_descriptors_complains_once_a_second_and_recovers() {
    let program = Program::serve_with_descriptors(64, &["--threads", "1"]);
    let warning = program.seen("the limit on open files");
    assert!(warning.contains("\"granted\":64"), "{warning}");
    let connections: Vec<_> = (0..80)
        .map(|_| Connection::open(program.address()))
        .collect();
    program.wait_for_log("a connection could not be accepted");
    drop(connections);
    // Those that the kernel held back are accepted, found closed, and make room for this one.
    assert_eq!(get(program.address(), "/healthz", &[]).status, 200);
    program.signal("TERM");
    assert_eq!(program.wait().0, Some(0));
}
