//! Budgets of bytes in flight: what one client, and all clients together, can make the process hold.

use std::time::Duration;

use reviewd::server::{Config, DataSource};
use serde_json::Value;

use crate::attacks::other_clients;
use crate::support::dataset::{DataDir, large_reviews_json};
use crate::support::frames::{Frames, kind};
use crate::support::{Connection, Program, Response, Server, wait_until};
use crate::tls::Pair;

/// A search whose response is half a megabyte of [`large`] reviews.
const SEARCH: &str = "/api/reviews/search?limit=100";

/// SETTINGS_INITIAL_WINDOW_SIZE of 0: the server may send no byte of a body.
const SHUT: (u16, u32) = (4, 0);

const ONE: &str = "192.0.2.1";
const OTHER: &str = "192.0.2.2";

fn large() -> DataDir {
    let data = DataDir::empty();
    data.write("reviews.json", &large_reviews_json("2026-01-01T00:00:00Z"));
    data
}

/// Starts a server on `data` to which this machine is a proxy of clients.
fn serve(data: &DataDir, change: impl FnOnce(&mut Config)) -> Server {
    Server::start_behind_proxy(|config| {
        config.data = DataSource::Directory(data.path().to_owned());
        change(config);
    })
}

fn search_for(server: &Server, client: &str) -> Response {
    server.get_with(SEARCH, &[("X-Forwarded-For", client)])
}

/// Sends this many searches of a client and reads none of the responses.
fn hold(server: &Server, client: &str, searches: u32) -> Frames {
    let mut frames = Frames::open(server.address(), &[SHUT]);
    for stream in (0..searches).map(|number| 1 + 2 * number) {
        frames.try_get_for(client, stream, SEARCH).unwrap();
        frames.wait_for(kind::HEADERS);
    }
    frames
}

fn assert_busy(response: &Response) {
    response.assert_error(503, "unavailable");
    assert_eq!(response.field("retry-after"), Some("10"));
}

#[test]
fn a_client_holds_its_budget_of_responses_and_not_one_more() {
    let data = large();
    // The length of one response.
    let length = serve(&data, |_| {}).get(SEARCH).body.len() as u64;
    let server = serve(&data, |config| config.client_memory = 3 * length);
    let held = hold(&server, ONE, 2);
    assert_eq!(search_for(&server, ONE).status, 200);
    let third = hold(&server, ONE, 1);
    assert_busy(&search_for(&server, ONE));
    // Stored documents and other clients are served.
    let stored = server.get_with("/reviews.json", &[("X-Forwarded-For", ONE)]);
    assert_eq!(stored.status, 200);
    assert_eq!(search_for(&server, OTHER).status, 200);
    drop(third);
    wait_until("the bytes of a closed connection are given back", || {
        search_for(&server, ONE).status == 200
    });
    drop(held);
}

#[test]
fn bytes_count_until_the_last_is_taken_by_the_socket() {
    let data = large();
    let length = serve(&data, |_| {}).get(SEARCH).body.len() as u64;
    let server = serve(&data, |config| config.client_memory = length);
    let mut frames = hold(&server, ONE, 1);
    assert_busy(&search_for(&server, ONE));
    // All but the last byte.
    let window = u32::try_from(length - 1).unwrap().to_be_bytes();
    frames.send(kind::WINDOW_UPDATE, 0, 0, &window);
    frames.send(kind::WINDOW_UPDATE, 0, 1, &window);
    let mut received = 0;
    while received < length - 1 {
        received += frames.wait_for(kind::DATA).payload.len() as u64;
    }
    assert_busy(&search_for(&server, ONE));
    frames.send(kind::WINDOW_UPDATE, 0, 1, &1_u32.to_be_bytes());
    frames.send(kind::WINDOW_UPDATE, 0, 0, &1_u32.to_be_bytes());
    wait_until("the bytes are given back", || {
        search_for(&server, ONE).status == 200
    });
}

#[test]
fn one_response_larger_than_the_budget_is_served_if_the_client_holds_no_other() {
    let data = large();
    let server = serve(&data, |config| config.client_memory = 8 << 10);
    assert_eq!(search_for(&server, ONE).status, 200);
    let held = hold(&server, ONE, 1);
    let small = server.get_with("/api/reviews/search?limit=1", &[("X-Forwarded-For", ONE)]);
    assert_busy(&small);
    drop(held);
}

#[test]
fn pages_and_parts_of_the_sitemap_count_as_they_are_rendered_for_each_request() {
    let data = large();
    let server = serve(&data, |config| config.client_memory = 8 << 10);
    let held = hold(&server, ONE, 1);
    for target in ["/sitemaps/1", "/reviews/r00000", "/widget.json?limit=10"] {
        let refused = server.get_with(target, &[("X-Forwarded-For", ONE)]);
        assert_busy(&refused);
        let served = server.get_with(target, &[("X-Forwarded-For", OTHER)]);
        assert_eq!(served.status, 200, "{target}");
    }
    drop(held);
}

#[test]
fn request_bodies_count_and_a_message_without_room_gets_503() {
    let data = large();
    let server = serve(&data, |config| {
        config.client_memory = 2 << 20;
        config.limits.requests.body_time = Duration::from_secs(60);
        config.limits.stall_time = Duration::from_secs(60);
    });
    let fields = [
        ("Content-Type", "application/json"),
        ("X-Forwarded-For", ONE),
    ];
    // All but the last byte; the heads are counted, too.
    let part = vec![b' '; (1 << 20) - 1];
    let held = [(); 2].map(|()| {
        let mut connection = server.connect();
        let head = connection.head("POST", "/mcp", &fields, 1 << 20);
        connection.write(head.as_bytes());
        // The server may refuse one before it has read everything.
        let _closed = connection.try_write(&part);
        connection.stream().set_nonblocking(true).unwrap();
        connection
    });
    let is_answered = |connection: &Connection| connection.stream().peek(&mut [0]).is_ok();
    wait_until("one of them is refused", || held.iter().any(is_answered));
    let [mut refused, mut other] = held;
    if !is_answered(&refused) {
        (refused, other) = (other, refused);
    }
    refused.stream().set_nonblocking(false).unwrap();
    let response = refused.response("POST");
    assert_eq!(response.status, 503);
    assert_eq!(response.field("retry-after"), Some("10"));
    assert_eq!(response.json()["error"]["code"], -32_600);
    // The other message is read to its end: it is no JSON.
    other.stream().set_nonblocking(false).unwrap();
    other.write(b" ");
    assert_eq!(other.response("POST").status, 400);
}

#[test]
fn a_client_on_loopback_has_the_budget_of_the_process() {
    let data = large();
    let server = serve(&data, |config| {
        config.client_memory = 1;
        config.proxies.networks.clear();
    });
    let mut frames = Frames::open(server.address(), &[SHUT]);
    for stream in [1, 3, 5] {
        frames.get(stream, SEARCH);
        frames.wait_for(kind::HEADERS);
    }
    assert_eq!(server.get(SEARCH).status, 200);
}

#[test]
fn if_the_budget_of_the_process_is_short_the_connection_that_holds_most_is_closed() {
    let data = large();
    let length = serve(&data, |_| {}).get(SEARCH).body.len() as u64;
    let server = serve(&data, |config| {
        config.client_memory = 0;
        config.in_flight_memory = Some(16 * length);
    });
    // More than three quarters together.
    let mut most = hold(&server, OTHER, 11);
    let mut little = hold(&server, ONE, 2);
    // The server closes it.
    while most.next().is_some() {}
    assert_eq!(search_for(&server, OTHER).status, 200);
    // The other connection is still served.
    little.try_get_for(ONE, 5, "/healthz").unwrap();
    little.wait_for(kind::HEADERS);
}

/// Starts the program with 512 MiB of data (`ulimit -d`), and returns the event that names its limits of memory.
fn limits_of_memory(arguments: &[&str]) -> Value {
    let program = Program::serve_with_limit("-d 524288", arguments);
    let event = program.seen("limits of memory").to_owned();
    serde_json::from_str(&event).unwrap()
}

#[test]
fn by_default_connections_and_budgets_fit_in_the_memory_of_the_process() {
    let limits = limits_of_memory(&["--threads", "2"]);
    assert_eq!(limits["memory_mib"], 512);
    assert_eq!(limits["connections"], 2_048);
    assert_eq!(limits["in_flight_mib"], 64);
    assert_eq!(limits["clients_mib"], 2 * 64 + 128 + 2 * 5 + 13);
    assert_eq!(limits["level"], "INFO");
}

#[test]
fn connections_with_tls_count_twice() {
    let pair = Pair::new();
    let flags = pair.flags();
    let limits = limits_of_memory(&flags.each_ref().map(String::as_str));
    assert_eq!(limits["connections"], 1_024);
}

#[test]
fn more_connections_than_fit_in_the_memory_are_warned_of() {
    // Three quarters exactly: 256 MiB of connections, twice 55 in flight, 5 of a thread and 13 of tables.
    let flags = ["--threads", "1", "--in-flight-memory", "55MiB"];
    let at_most = limits_of_memory(&[&flags[..], &["--max-connections", "4096"]].concat());
    assert_eq!(at_most["clients_mib"], 384);
    assert_eq!(at_most["level"], "INFO");
    let above = limits_of_memory(&[&flags[..], &["--max-connections", "4097"]].concat());
    assert_eq!(above["level"], "WARN");
}

#[test]
fn clients_that_read_nothing_cannot_end_the_process_by_its_memory() {
    let data = large();
    let directory = data.path().to_str().unwrap();
    // In kilobytes: 384 MiB of data, of which the program and its stacks have 280.
    let program = Program::serve_with_limit("-d 393216", &["--data", directory]);
    let address = program.address();
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search_reviews","arguments":{"limit":100}}}"#;
    let batch = format!("[{}]", [call; 6].join(","));
    let (times, held) = other_clients::during(address, || {
        let mut held = Vec::new();
        for number in 0..60 {
            let mut frames = Frames::open(address, &[SHUT]);
            for stream in (0..16).map(|number| 1 + 2 * number) {
                // The server may close the connection meanwhile.
                let _closed = if number % 2 == 0 {
                    frames.try_get_for(ONE, stream, SEARCH)
                } else {
                    frames.try_post_mcp(stream, &batch)
                };
            }
            held.push(frames);
        }
        for frames in &mut held {
            read_heads(frames, 16);
        }
        held
    });
    assert!(!times.is_empty());
    drop(held);
    Connection::kept(address);
    program.stop();
}

/// Reads frames until this many responses have begun, or the connection ends.
fn read_heads(frames: &mut Frames, mut responses: u32) {
    while responses > 0 {
        match frames.next() {
            Some(frame) if frame.kind == kind::HEADERS => responses -= 1,
            Some(_) => {}
            None => return,
        }
    }
}
