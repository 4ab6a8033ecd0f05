//! Limits of connections and heads, on both sides of each.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use reviewd::limits::{
    CLIENT_BYTES, CONNECTIONS_DEFAULT, CONNECTIONS_LEAST, ENCODED_OUTPUT_BYTES, PROCESS_PART,
    SITE_SHARES, SMALL_BODY_BYTES, STREAM_BYTES, UNREAD_OUTPUT_BYTES,
};
use reviewd::server::{DataSource, ServerLimits};

use crate::support::dataset::{DataDir, large_reviews_json};
use crate::support::frames::{Frames, kind};
use crate::support::{Connection, Program, Server, connect_narrow, wait_until};

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
    for (head, status) in [
        (head_of_bytes(16 << 10), 200),
        (head_of_bytes((16 << 10) + 1), 431),
        (head_of_fields(64), 200),
        (head_of_fields(65), 431),
        // From 101 fields on, hyper itself refuses.
        (head_of_fields(101), 431),
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

/// A head of this length.
fn head_of_bytes(bytes: usize) -> String {
    let head = "GET /healthz HTTP/1.1\r\nHost: x\r\nX-Filler: \r\n\r\n";
    let filler = "x".repeat(bytes - head.len());
    head.replace("Filler: ", &format!("Filler: {filler}"))
}

/// A head with this number of fields.
fn head_of_fields(count: usize) -> String {
    let more = "X: y\r\n".repeat(count - 1);
    format!("GET /healthz HTTP/1.1\r\nHost: x\r\n{more}\r\n")
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
    for connection in &mut busy {
        crate::shutdown::begin(connection);
    }
    assert_eq!(server.connect().rest(), b"");
    assert_eq!(server.running().counters().rejected_total.get(), 1);
    busy[0].write(crate::shutdown::BODY);
    assert_eq!(busy[0].response("POST").status, 200);
    // This connection is idle now, so it is closed for a new one.
    wait_until_answered(&server);
    assert_eq!(busy[0].rest(), b"");
}

/// Asserts that each of these busy connections is closed for a new one.
fn assert_give_way(server: &Server, mut held: Vec<Connection>) {
    let mut new_ones = Vec::new();
    for _ in &held {
        let mut new = connect_when_served(server);
        // It becomes busy, so that it is not closed for the next one.
        crate::shutdown::begin(&mut new);
        new_ones.push(new);
    }
    for connection in &mut held {
        connection.rest();
    }
}

/// Opens one connection after another until one is served, and returns that one.
fn connect_when_served(server: &Server) -> Connection {
    let mut new = None;
    wait_until("a new connection is served", || {
        let mut connection = server.connect();
        let served = connection.try_get("/healthz", &[]);
        new = Some(connection);
        served.is_ok_and(|response| response.status == 200)
    });
    new.expect("it is served")
}

#[test]
fn connections_with_half_a_body_give_way_to_new_ones_after_a_second() {
    let server = Server::start_with(|config| config.limits.connections = 4);
    let mut held: Vec<Connection> = (0..4).map(|_| server.connect()).collect();
    for connection in &mut held {
        crate::shutdown::begin(connection);
    }
    assert_eq!(server.connect().rest(), b"");
    assert_give_way(&server, held);
}

#[test]
fn connections_with_unread_responses_give_way_to_new_ones_after_a_second() {
    let server = Server::start_with(|config| config.limits.connections = 4);
    let held = (0..4).map(|_| {
        let mut connection = Connection::over(connect_narrow(server.address()));
        let head = connection.head("GET", "/reviews.json", &[], 0);
        connection.write(head.repeat(20).as_bytes());
        connection
    });
    assert_give_way(&server, held.collect());
}

#[test]
fn a_connection_that_reads_its_response_keeps_its_place() {
    let data = DataDir::empty();
    data.write("reviews.json", &large_reviews_json("2026-01-01T00:00:00Z"));
    let server = Server::start_with(|config| {
        config.data = DataSource::Directory(data.path().to_owned());
        config.limits.connections = 2;
    });
    let mut reader = Connection::over(connect_narrow(server.address()));
    let mut stalled = server.connect();
    crate::shutdown::begin(&mut stalled);
    // Pipelined, so that it is never idle; each response is more than a megabyte.
    let head = reader.head("GET", "/reviews.json", &[], 0);
    reader.write(head.repeat(8).as_bytes());
    assert_eq!(reader.response("GET").status, 200);
    thread::scope(|scope| {
        let new = scope.spawn(|| wait_until_answered(&server));
        // The other connection gives way meanwhile.
        while !new.is_finished() {
            reader.write(head.as_bytes());
            assert_eq!(reader.response("GET").status, 200);
        }
    });
    // It is reset, and not answered with 408.
    assert_eq!(stalled.rest(), b"HTTP/1.1 100 Continue\r\n\r\n");
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
    let again: Vec<_> = program
        .rest_of_log()
        .into_iter()
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

/// docs/design/limits.md computes what all clients together can make the process hold.
#[test]
fn the_page_of_limits_names_the_defaults_and_tests_that_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("docs/design/limits.md")).unwrap();
    let limits = ServerLimits::default();
    for text in [
        format!(
            "from {CONNECTIONS_LEAST} to {},000 (`--max-connections`)",
            CONNECTIONS_DEFAULT / 1_000
        ),
        format!(
            "| connections of a client | {} (",
            limits.connections_per_address
        ),
        format!(
            "| requests on a connection | {},000 |",
            limits.connection_requests / 1_000
        ),
        format!("of them {} MiB for a client", CLIENT_BYTES >> 20),
        format!(
            "output that peers do not read: {} KiB of the kernel's memory",
            UNREAD_OUTPUT_BYTES >> 10
        ),
        format!("and {} KiB of the process's on", ENCODED_OUTPUT_BYTES >> 10),
        format!("(16 × {} KiB each", STREAM_BYTES >> 10),
        format!("bodies of less than {} KiB", SMALL_BODY_BYTES >> 10),
        format!("a /48 may hold {} times as much", words(SITE_SHARES)),
    ] {
        assert!(page.contains(&text), "{text}");
    }
    assert_eq!(PROCESS_PART, 8, "an eighth of the memory");
    let rows = page.lines().filter(|line| line.starts_with("| "));
    let tests = rows.filter_map(|row| row.rsplit('|').nth(1));
    for name in tests.flat_map(|cell| cell.split('`').skip(1).step_by(2)) {
        let is_there = [root.join(name), root.join("tests/it").join(name)]
            .iter()
            .any(|path| path.exists());
        assert!(is_there || !name.ends_with(".rs"), "{name}");
    }
}

/// Returns a small number as a word.
fn words(number: u32) -> &'static str {
    ["no", "one", "two", "three", "four"][number as usize]
}
