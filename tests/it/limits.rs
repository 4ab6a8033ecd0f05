//! Limits of connections and heads, on both sides of each.

use std::thread;
use std::time::Duration;

use crate::support::frames::{Frames, kind};
use crate::support::{Connection, Program, Server, wait_until};

/// Waits until a new connection is answered: the server records the end of a request after it has sent the response.
fn wait_until_answered(server: &Server) {
    wait_until("a new connection is answered", || {
        let response = server.connect().try_get("/healthz", &[]);
        response.is_ok_and(|response| response.status == 200)
    });
}

#[test]
fn a_head_may_have_16_kib_and_64_fields_and_no_more() {
    let server = Server::start();
    let filled = |bytes: usize| {
        let head = "GET /healthz HTTP/1.1\r\nHost: x\r\nX-Filler: \r\n\r\n";
        let filler = "x".repeat(bytes - head.len());
        head.replace("Filler: ", &format!("Filler: {filler}"))
    };
    // From 101 fields on, hyper itself refuses.
    let fields = |count: usize| {
        let more = "X: y\r\n".repeat(count - 1);
        format!("GET /healthz HTTP/1.1\r\nHost: x\r\n{more}\r\n")
    };
    for (head, status) in [
        (filled(16 << 10), 200),
        (filled((16 << 10) + 1), 431),
        (fields(64), 200),
        (fields(65), 431),
        (fields(101), 431),
    ] {
        let mut connection = server.connect();
        connection.write(head.as_bytes());
        let response = connection.response("GET");
        assert_eq!(response.status, status);
        if status == 431 {
            response.assert_error(431, "header_fields_too_large");
            assert_eq!(connection.rest(), b"");
        }
    }
}

#[test]
fn at_the_limit_the_connection_that_is_idle_longest_is_closed_for_a_new_one() {
    let server = Server::start_with(|config| config.limits.connections = 3);
    // The third connection never sends anything.
    let mut kept = [server.kept(), server.kept()];
    let mut silent = server.connect();
    server.wait_for_open(3);
    // Idle times have a resolution of one millisecond.
    thread::sleep(Duration::from_millis(3));
    // The server records the end of a request after it has sent the response, but before it reads the next request.
    kept[0].assert_served();
    kept[0].assert_served();
    let mut first = server.kept();
    assert_eq!(kept[1].rest(), b"");
    let mut second = server.kept();
    assert_eq!(silent.rest(), b"");
    for open in [&mut kept[0], &mut first, &mut second] {
        open.assert_served();
    }
    assert_eq!(server.running().counters().rejected_total.get(), 0);
    assert_eq!(server.running().open_connections(), 3);
}

#[test]
fn an_idle_http2_connection_gets_goaway_for_a_new_connection() {
    let server = Server::start_with(|config| config.limits.connections = 1);
    let mut frames = Frames::open(server.address(), &[]);
    frames.get(1, "/healthz");
    frames.answer(1);
    wait_until_answered(&server);
    frames.wait_for(kind::GOAWAY);
    while frames.next().is_some() {}
}

#[test]
fn if_all_connections_are_busy_a_new_one_is_closed_at_once() {
    let server = Server::start_with(|config| config.limits.connections = 2);
    let mut busy: Vec<Connection> = (0..2).map(|_| server.connect()).collect();
    busy.iter_mut().for_each(crate::shutdown::begin);
    assert_eq!(server.connect().rest(), b"");
    assert_eq!(server.running().counters().rejected_total.get(), 1);
    busy[0].write(crate::shutdown::BODY);
    assert_eq!(busy[0].response("POST").status, 200);
    // This connection is idle now, so it is closed for a new one.
    wait_until_answered(&server);
    assert_eq!(busy[0].rest(), b"");
}

/// The connection with the unfinished head is the older one.
#[test]
fn a_connection_with_an_unfinished_head_is_closed_for_a_new_one() {
    let server = Server::start_with(|config| config.limits.connections = 2);
    let mut slow = server.connect();
    slow.write(b"GET /healthz HTTP/1.1\r\nHost:");
    server.wait_for_open(1);
    let mut kept = server.kept();
    server.kept();
    assert_eq!(slow.rest(), b"");
    kept.assert_served();
}

#[test]
fn a_reached_connection_limit_is_logged_once() {
    let program = Program::serve(&["--max-connections", "3", "--address-connections", "2"]);
    let _held = [(); 5].map(|()| Connection::kept(program.address()));
    program.wait_for_log("--address-connections");
    program.signal("TERM");
    let again = program.rest_of_log().into_iter();
    let again: Vec<_> = again
        .filter(|line| line.contains("--address-connections"))
        .collect();
    assert_eq!(again, [""; 0]);
}

#[test]
fn the_response_arrives_although_the_refused_body_is_still_being_sent() {
    let server = Server::start();
    let mut connection = server.connect();
    let fields = [("Content-Type", "application/json")];
    let head = connection.head("POST", "/mcp", &fields, 64 << 20);
    connection.write(head.as_bytes());
    // More than the socket buffers hold: a server that closed without reading it would reset the connection.
    for _ in 0..3 {
        connection.write(&[b'x'; 64 << 10]);
    }
    let response = connection.response("POST");
    assert_eq!(response.status, 413);
    assert_eq!(response.field("connection"), Some("close"));
    let error = &response.json()["error"];
    assert_eq!(error["code"], -32_600);
    let message = "the message must not be longer than 1048576 bytes";
    assert_eq!(error["message"], message);
}
