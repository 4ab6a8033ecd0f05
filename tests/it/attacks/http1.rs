//! Attacks over HTTP/1.1.

use std::io::{self, Write};
use std::net::{Shutdown, TcpStream};
use std::thread;

use super::Target;

pub(super) const READ: &[u8] = b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n";
const LARGE: &[u8] = b"GET /reviews.json HTTP/1.1\r\nHost: a\r\n\r\n";
const POST: &str = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";

/// Opens a crowd of connections; each sends `first`, and then `more` in each round.
pub(super) fn crowd(target: &Target, first: &[u8], more: &[u8]) -> Vec<TcpStream> {
    let mut held = target.crowd(|_, connection| {
        connection.write_all(first)?;
        connection.set_nonblocking(true)
    });
    if more.is_empty() {
        target.wait();
        return held;
    }
    while target.goes_on() {
        for connection in &mut held {
            // Connections that the server has closed are counted at the end.
            let _ended = connection.write(more);
        }
        thread::sleep(target.round);
    }
    held
}

pub(super) fn slow_bodies(target: &Target) -> Vec<TcpStream> {
    let head = format!("{POST}Content-Length: 1000000\r\n\r\n{{");
    crowd(target, head.as_bytes(), b" ")
}

/// Many clients that read nothing. Every tenth requests more than its socket buffers hold.
pub(super) fn slow_readers(target: &Target) -> Vec<TcpStream> {
    let held = target.crowd(|number, connection| {
        let requests = if number % 10 == 0 { 40 } else { 1 };
        connection.write_all(&LARGE.repeat(requests))
    });
    target.wait();
    held
}

/// Connections whose sending side is closed: at the start, within a head, after a request, and within a body.
pub(super) fn half_closed(target: &Target) -> Vec<TcpStream> {
    let body = format!("{POST}Content-Length: 100\r\n\r\n{{");
    let firsts = [b"", &READ[..20], LARGE, body.as_bytes()];
    let held = target.crowd(|number, connection| {
        connection.write_all(firsts[number % firsts.len()])?;
        connection.shutdown(Shutdown::Write)
    });
    target.wait();
    held
}

/// Sends results of `next` on one connection after another, on each until the server closes it or stops reading.
pub(super) fn flood(target: &Target, mut next: impl FnMut() -> Vec<u8>) -> Vec<TcpStream> {
    target.flood(|mut connection| {
        while target.goes_on() {
            connection.write_all(&next())?;
        }
        Ok(())
    })
}

pub(super) fn oversized(target: &Target) -> Vec<TcpStream> {
    let large = "x".repeat(64 << 10);
    let fields = "x: y\r\n".repeat(10_000);
    let requests = [
        format!("GET /{large} HTTP/1.1\r\nHost: a\r\n\r\n"),
        format!("GET / HTTP/1.1\r\nHost: a\r\nX: {large}\r\n\r\n"),
        format!("GET / HTTP/1.1\r\nHost: a\r\n{fields}\r\n"),
        format!("{large} / HTTP/1.1\r\nHost: a\r\n\r\n"),
        format!("{POST}Content-Length: 9223372036854775807\r\n\r\n{large}"),
        format!("{POST}Transfer-Encoding: chunked\r\n\r\n1;{large}"),
    ];
    let mut next = requests.iter().cycle();
    flood(target, || next.next().expect("a cycle").clone().into())
}

/// Four clients, each of which opens one connection after another, with one request on each.
pub(super) fn reconnecting(target: &Target) -> Vec<TcpStream> {
    thread::scope(|scope| {
        for client in 0..4 {
            scope.spawn(move || {
                let mut number = client;
                while target.goes_on() {
                    // A full server closes the connection; then the next one is tried.
                    let _closed = ask_once(target, number);
                    number += 4;
                }
            });
        }
    });
    Vec::new()
}

/// Opens a connection, sends one request, and reads to the end.
fn ask_once(target: &Target, number: usize) -> io::Result<()> {
    let mut connection = target.connect(number % target.crowd)?;
    connection.write_all(b"GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")?;
    io::copy(&mut connection, &mut io::sink())?;
    Ok(())
}
