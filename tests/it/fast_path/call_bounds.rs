//! Calls at the bounds: as long as a buffer, more than is read, and of clients whom a proxy names.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use reviewd::http::ProxyField;
use serde_json::json;
use socket2::{Domain, Socket, Type};

use super::alike::Pair;
use super::calls::{JSON, call, message, search};
use super::rates::untimed;
use super::{LAST, exchange, plain, start_with, undated};
use crate::rates::behind_proxies;
use crate::support::{DEADLINE, wait_until};

/// Bytes that the fast path reads at a time: a call that is longer with its head is hyper's.
const INPUT_BYTES: usize = 16 << 10;

/// A call whose body has `bytes` bytes: blanks may follow a message.
fn long_call(bytes: usize) -> String {
    let body = message("tools/call", search(json!({"limit": 1})));
    call(JSON, &format!("{body}{}", " ".repeat(bytes - body.len())))
}

#[test]
fn calls_as_long_as_a_buffer_are_answered_alike_whatever_a_head_may_hold() {
    for header_bytes in [1 << 10, 16 << 10] {
        let pair = Pair::start_with(|config| config.limits.header_bytes = header_bytes);
        for bytes in [
            header_bytes - 1,
            header_bytes,
            header_bytes + 1,
            INPUT_BYTES - 1,
            INPUT_BYTES,
            INPUT_BYTES + 1,
            1 << 20,
        ] {
            let row = format!("{}{LAST}", long_call(bytes));
            let reply = pair.exchange(row.as_bytes());
            assert!(
                reply.starts_with(b"HTTP/1.1 200 "),
                "{header_bytes} {bytes}"
            );
        }
    }
}

#[test]
fn a_call_that_fills_the_buffer_is_answered_beneath_hyper_and_one_byte_more_is_not() {
    let pair = Pair::start();
    let room = INPUT_BYTES - (long_call(10_000).len() - 10_000);
    for (bytes, answered) in [(room, 1), (room + 1, 0)] {
        let before = plain(&pair.fast);
        let mut connection = pair.fast.connect();
        connection.write(long_call(bytes).as_bytes());
        assert_eq!(connection.response("POST").status, 200, "{bytes}");
        assert_eq!(plain(&pair.fast) - before, answered, "{bytes}");
    }
}

#[test]
fn a_reader_that_takes_no_answers_to_calls_is_dropped_and_no_more_are_made_for_it() {
    const CALLS: usize = 2_000;
    let short = Duration::from_millis(300);
    for fast_path in [true, false] {
        let server = start_with(|config| {
            config.fast_path = fast_path;
            config.limits.rate_time = short;
        });
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        socket.set_recv_buffer_size(4 << 10).unwrap();
        socket.connect(&server.address().into()).unwrap();
        let mut slow = TcpStream::from(socket);
        slow.set_read_timeout(Some(DEADLINE)).unwrap();
        let much = message("tools/call", search(json!({"limit": 100})));
        let much = call(JSON, &much).replace("reviews.example", "127.0.0.1");
        let mut writer = slow.try_clone().unwrap();
        let sender = std::thread::spawn(move || {
            // The server may be gone before the end of it.
            writer.write_all(much.repeat(CALLS).as_bytes())
        });
        wait_until("the slow reader is dropped", || {
            server.running().counters().slow_readers() == 1
        });
        let _gone = sender.join().unwrap();
        wait_until("its place is free", || {
            server.running().open_connections() == 0
        });
        // What was made for it is what the sockets held: some megabytes of more than a hundred.
        let totals = server.running().app().mcp().map(|mcp| mcp.calls().totals());
        let made: u64 = totals.into_iter().flatten().sum();
        assert!((1..CALLS as u64 / 4).contains(&made), "{made} answers");
        let mut rest = Vec::new();
        slow.read_to_end(&mut rest).unwrap_err();
        assert_eq!(server.get("/healthz").status, 200);
    }
}

#[test]
fn calls_of_clients_whom_a_proxy_names_are_counted_alike() {
    for (field, name, prefix) in [
        (ProxyField::XForwardedFor, "X-Forwarded-For", ""),
        (ProxyField::Forwarded, "Forwarded", "for="),
    ] {
        let ping = message("ping", json!({}));
        let of = |client: &str| {
            let fields = format!(
                "{JSON}{name}: {prefix}203.0.113.1\r\n{name}: {prefix}{client}, {prefix}127.0.0.9\r\n"
            );
            call(&fields, &ping)
        };
        let row = |last: &str| {
            let calls = ["192.0.2.1", "192.0.2.1", "192.0.2.2", "192.0.2.1"].map(of);
            calls.concat() + last
        };
        // With a rate, hyper answers all of them, and the one over it ends its connection.
        for (rate, row, answered, expected) in [
            (0, row(LAST), 4, &["200", "200", "200", "200", "200"][..]),
            (2, row(""), 0, &["200", "200", "200", "429"]),
        ] {
            let [fast, slow] = [true, false].map(|fast_path| {
                let server = start_with(|config| {
                    behind_proxies(field)(config);
                    config.base_url = Some("https://reviews.example".to_owned());
                    config.limits.rates.mcp = rate;
                    config.fast_path = fast_path;
                });
                let replies = undated(exchange(server.address(), row.as_bytes()));
                assert_eq!(plain(&server), if fast_path { answered } else { 0 });
                untimed(&String::from_utf8_lossy(&replies))
            });
            assert!(fast == slow, "{name} {rate}: {fast}\n{slow}");
            let starts = fast.split("HTTP/1.1 ").skip(1);
            let statuses: Vec<_> = starts.filter_map(|start| start.split(' ').next()).collect();
            assert_eq!(statuses, expected, "{name}");
        }
    }
}
