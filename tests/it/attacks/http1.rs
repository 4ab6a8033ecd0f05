//! Attacks that begin as HTTP/1.1, or as nothing at all.

use std::io::{self, Write};
use std::net::{Shutdown, TcpStream};
use std::thread;
use std::time::Duration;

use super::Target;
use crate::support::frames::PREFACE;

/// Pause after each [`BATCH`] of connections that a crowd opens: 1,000 a second come, as what is measured is what it
/// costs to hold them and not to serve their requests.
const PACE: Duration = Duration::from_millis(10);

/// See [`PACE`].
const BATCH: usize = 10;

/// Opens a crowd, of which each begins with `first`, and has each send `more` again and again.
fn crowd(target: &Target, first: &[u8], more: &[u8]) -> Vec<TcpStream> {
    let mut held = gather(target, |number| {
        let mut connection = target.connect(number)?;
        connection.write_all(first)?;
        connection.set_nonblocking(true)?;
        Ok(connection)
    });
    while target.goes_on() {
        if !more.is_empty() {
            for connection in &mut held {
                // Ended ones are counted when all is over.
                let _ended = connection.write(more);
            }
        }
        thread::sleep(target.round);
    }
    held
}

/// Opens a crowd by `open`; the server may be full, and is right to close.
pub(super) fn gather(
    target: &Target,
    mut open: impl FnMut(usize) -> io::Result<TcpStream>,
) -> Vec<TcpStream> {
    let mut held = Vec::new();
    for number in 0..target.crowd {
        held.extend(open(number));
        if number % BATCH == 0 {
            thread::sleep(PACE);
        }
    }
    held
}

/// Waits until the time is over.
pub(super) fn wait(target: &Target) {
    while target.goes_on() {
        thread::sleep(PACE);
    }
}

pub(super) fn silence(target: &Target) -> Vec<TcpStream> {
    crowd(target, b"", b"")
}

pub(super) fn idle(target: &Target) -> Vec<TcpStream> {
    crowd(target, b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n", b"")
}

pub(super) fn slow_heads(target: &Target) -> Vec<TcpStream> {
    crowd(target, b"GET /healthz HTTP/1.1\r\nHost: a\r\nX: ", b"x")
}

pub(super) fn slow_bodies(target: &Target) -> Vec<TcpStream> {
    let head = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n{";
    crowd(target, head, b" ")
}

pub(super) fn half_handshakes(target: &Target) -> Vec<TcpStream> {
    // To a server without TLS it is a bad request, to one with it (tests/it/tls.rs) half of a handshake.
    crowd(target, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"")
}

pub(super) fn half_prefaces(target: &Target) -> Vec<TcpStream> {
    crowd(target, &PREFACE[..PREFACE.len() / 2], b"")
}

/// A crowd of which every tenth asks for much, and that reads nothing.
pub(super) fn slow_readers(target: &Target) -> Vec<TcpStream> {
    let request = "GET /reviews.json HTTP/1.1\r\nHost: a\r\n\r\n";
    let held = gather(target, |number| {
        let mut connection = target.connect_narrow(number)?;
        let requests = if number % 10 == 0 { 40 } else { 1 };
        connection.write_all(request.repeat(requests).as_bytes())?;
        Ok(connection)
    });
    wait(target);
    held
}

/// Connections whose sending side is closed: in a head, behind a request, and before a body is whole.
pub(super) fn half_closed(target: &Target) -> Vec<TcpStream> {
    let firsts: [&[u8]; 4] = [
        b"",
        b"GET /healthz HTTP/1.1\r\nHost",
        b"GET /reviews.json HTTP/1.1\r\nHost: a\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
    ];
    let held = gather(target, |number| {
        let mut connection = target.connect(number)?;
        connection.write_all(firsts[number % firsts.len()])?;
        connection.shutdown(Shutdown::Write)?;
        Ok(connection)
    });
    wait(target);
    held
}

/// Sends what `next` makes on one connection after another, each until the server has enough of it.
fn flood(target: &Target, mut next: impl FnMut() -> Vec<u8>) -> Vec<TcpStream> {
    let mut held = Vec::new();
    let mut number = 0;
    while target.goes_on() {
        number += 1;
        let Ok(mut connection) = target.connect(number % target.crowd) else {
            continue;
        };
        let _limit = connection.set_write_timeout(Some(Duration::from_millis(200)));
        while target.goes_on() && connection.write_all(&next()).is_ok() {}
        held.push(connection);
        if held.len() >= target.crowd / 10 {
            held.clear();
        }
    }
    held
}

pub(super) fn pipelining(target: &Target) -> Vec<TcpStream> {
    let requests = b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n".repeat(1_000);
    flood(target, || requests.clone())
}

pub(super) fn oversized(target: &Target) -> Vec<TcpStream> {
    let mut number = 0;
    flood(target, || {
        number += 1;
        let large = "x".repeat(64 << 10);
        match number % 6 {
            0 => format!("GET /{large} HTTP/1.1\r\nHost: a\r\n\r\n"),
            1 => format!("GET / HTTP/1.1\r\nHost: a\r\nX: {large}\r\n\r\n"),
            2 => format!("GET / HTTP/1.1\r\nHost: a\r\n{}\r\n", "x: y\r\n".repeat(10_000)),
            3 => format!("{large} / HTTP/1.1\r\nHost: a\r\n\r\n"),
            4 => format!("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9223372036854775807\r\n\r\n{large}"),
            _ => format!("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n1;{large}"),
        }
        .into_bytes()
    })
}

/// A request on each of as many connections as four clients can open one after another.
pub(super) fn reconnecting(target: &Target) -> Vec<TcpStream> {
    let ask = |number| -> io::Result<()> {
        let mut connection = target.connect(number % target.crowd)?;
        connection.write_all(b"GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")?;
        io::copy(&mut connection, &mut io::sink())?;
        Ok(())
    };
    thread::scope(|scope| {
        for client in 0..4 {
            scope.spawn(move || {
                let mut number = client;
                while target.goes_on() {
                    // A server that is full closes, and the next connection is tried.
                    let _closed = ask(number);
                    number += 4;
                }
            });
        }
    });
    Vec::new()
}
