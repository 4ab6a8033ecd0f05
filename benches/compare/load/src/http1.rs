//! Rounds over HTTP/1.1.
//!
//! Each connection has one request in flight. Only the first response is read whole: later ones are checked by status and
//! length, which takes two system calls.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use crate::{CONNECTIONS, PATIENCE, Result, Round, Server};

/// Bytes of a response that are read into a buffer; the rest is only counted.
const BEGIN_BYTES: usize = 16 << 10;
/// Bytes of a response that hold its version and status.
const STATUS_BYTES: usize = 12;
/// Largest response.
const BYTES_MAX: usize = 4 << 20;

/// Keeps one request in flight on each connection for `time`.
pub(crate) fn round(server: &Server, time: Duration) -> Result<Round> {
    let mut lanes = Vec::new();
    for _ in 0..CONNECTIONS {
        let mut stream = connect(server)?;
        let response = Response::first(&mut stream)?;
        stream.set_nonblocking(true)?;
        lanes.push((
            Lane {
                stream,
                received: 0,
            },
            response,
        ));
    }
    let expected = lanes[0].1;
    if lanes.iter().any(|(_, response)| *response != expected) {
        return Err("responses of several lengths".into());
    }
    let mut buffers = [vec![0; BEGIN_BYTES], vec![0; expected.length]];
    let beginning = server.begin()?;
    let start = beginning.time;
    for (lane, _) in &lanes {
        send_again(server, &lane.stream)?;
    }
    let mut done = 0_u32;
    let mut under_way = lanes.len();
    let mut now = start;
    let mut latest = start;
    while under_way > 0 {
        let is_over = now >= start + time;
        let before = done;
        for (lane, _) in &mut lanes {
            if !lane.is_complete(&expected, &mut buffers)? {
                continue;
            }
            done += 1;
            if is_over {
                under_way -= 1
            } else {
                send_again(server, &lane.stream)?
            }
        }
        now = Instant::now();
        if done > before {
            latest = now;
        } else if now > latest + PATIENCE {
            return Err("no response".into());
        }
    }
    server.end(&beginning, done, expected.body)
}

/// Opens a connection and sends the request.
fn connect(server: &Server) -> Result<TcpStream> {
    let mut stream = TcpStream::connect_timeout(&server.address, PATIENCE)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(server.request.as_bytes())?;
    Ok(stream)
}

/// Sends the request again; the socket takes it whole, because the previous one was answered.
fn send_again(server: &Server, stream: &TcpStream) -> Result<()> {
    let request = server.request.as_bytes();
    if send(stream, request, SendFlags::NOSIGNAL)? == request.len() {
        Ok(())
    } else {
        Err("the socket took half of a request".into())
    }
}

/// The properties that all responses of a round must share.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Response {
    status: [u8; STATUS_BYTES],
    /// Bytes of head and body.
    length: usize,
    /// Bytes of the body.
    body: usize,
}

impl Response {
    /// Reads the first response of a connection, which has a length, or is 304.
    fn first(stream: &mut TcpStream) -> Result<Response> {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte)?;
            head.extend(byte);
            if head.len() > BEGIN_BYTES {
                return Err("the head is too large".into());
            }
        }
        let text = String::from_utf8_lossy(&head).to_ascii_lowercase();
        let field = text.lines().find_map(|l| l.strip_prefix("content-length:"));
        let body = match text.get(..STATUS_BYTES) {
            Some("http/1.1 304") => 0,
            Some(_) => field.ok_or("no Content-Length")?.trim().parse()?,
            None => return Err(text.into()),
        };
        if body > BYTES_MAX {
            return Err("the response is too large".into());
        }
        stream.read_exact(&mut vec![0; body])?;
        Ok(Response {
            status: head[..STATUS_BYTES].try_into()?,
            length: head.len() + body,
            body,
        })
    }
}

/// A connection with a request in flight.
struct Lane {
    stream: TcpStream,
    /// Bytes of its response so far.
    received: usize,
}

impl Lane {
    /// Reads the available bytes, and tells whether the response is complete. The second buffer is never written: with
    /// `MSG_TRUNC` the kernel discards the bytes.
    fn is_complete(&mut self, expected: &Response, buffers: &mut [Vec<u8>; 2]) -> Result<bool> {
        let [begin, rest] = buffers;
        loop {
            let is_first = self.received == 0;
            let read = if is_first {
                recv(&self.stream, &mut begin[..], RecvFlags::empty())
            } else {
                recv(&self.stream, &mut rest[..], RecvFlags::TRUNC)
            };
            match read {
                Ok((0, _)) => return Err(std::io::Error::from(ErrorKind::UnexpectedEof).into()),
                Ok((read, _)) => {
                    let status = &begin[..read.min(STATUS_BYTES)];
                    if is_first && !expected.status.starts_with(status) {
                        return Err(String::from_utf8_lossy(status).into());
                    }
                    self.received += read;
                }
                Err(Errno::AGAIN) => return Ok(false),
                Err(error) => return Err(error.into()),
            }
            if self.received > expected.length {
                return Err("more than was announced".into());
            }
            if self.received == expected.length {
                self.received = 0;
                return Ok(true);
            }
        }
    }
}
