//! Rounds over HTTP/2 without TLS, with prior knowledge (RFC 9113 §3.3).
//!
//! Each connection has [`STREAMS`] requests in flight. A library's client takes more processor time than the servers, which
//! would wait for it, so frames are written and read here. Each response must have the status 200. The lengths of the bodies
//! are checked only by their sum for each connection. The server ends a connection after 10,000 requests, so a round can
//! last about three seconds at most.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::{CONNECTIONS, PATIENCE, Result, Round, Server};

/// Requests in flight on each connection, half of what reviewd permits.
const STREAMS: u32 = 8;

/// The preface, and the largest windows for a stream (SETTINGS) and for the connection (WINDOW_UPDATE).
const OPENING: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\
    \x00\x00\x06\x04\x00\x00\x00\x00\x00\x00\x04\x7f\xff\xff\xff\
    \x00\x00\x04\x08\x00\x00\x00\x00\x00\x7f\xff\x00\x00";
/// The acknowledgement of the server's settings.
const SETTINGS_ACK: &[u8] = b"\x00\x00\x00\x04\x01\x00\x00\x00\x00";

/// Bytes of the head of a frame: the length of its payload, its type, flags and stream.
const FRAME_HEAD_BYTES: usize = 9;
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const WINDOW_UPDATE: u8 = 8;
const ACK: u8 = 1;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// `:method: GET` and `:scheme: http`, from the static table (RFC 7541, appendix A).
const GET_HTTP: [u8; 2] = [0x82, 0x86];
/// `:status: 200`, from the static table.
const OK: u8 = 0x88;
/// Entries of the static table; those of the dynamic table follow, the newest first.
const STATIC_ENTRIES: usize = 61;
/// Largest length or index that one byte can hold (RFC 7541 §5.1).
const SHORT_MAX: usize = 126;

/// Keeps [`STREAMS`] requests in flight on each connection for `time`.
pub(crate) fn round(server: &Server, time: Duration) -> Result<Round> {
    let blocks = HeaderBlocks::of(&server.request)?;
    let mut lanes = Vec::new();
    for _ in 0..CONNECTIONS {
        lanes.push(Lane::open(server, &blocks.first)?);
    }
    let beginning = server.begin()?;
    let until = beginning.time + time;
    for lane in &mut lanes {
        lane.send(STREAMS, &blocks.later)?;
    }
    let mut done = 0;
    let mut under_way = STREAMS * u32::try_from(CONNECTIONS)?;
    let mut now = beginning.time;
    let mut latest = now;
    while under_way > 0 {
        let is_over = now >= until;
        let before = done;
        for lane in &mut lanes {
            let complete = lane.receive()?;
            done += complete;
            if is_over {
                under_way -= complete;
            } else if complete > 0 {
                lane.send(complete, &blocks.later)?;
            }
        }
        now = Instant::now();
        if done > before {
            latest = now;
        } else if now > latest + PATIENCE {
            return Err("no response".into());
        }
    }
    let round = server.end(&beginning, done, lanes[0].body())?;
    for lane in &lanes {
        if lane.body_bytes != lane.responses as usize * round.body {
            return Err("responses of several lengths".into());
        }
    }
    Ok(round)
}

/// The header blocks of a request (RFC 7541).
struct HeaderBlocks {
    /// Adds the fields to the dynamic table of the connection.
    first: Vec<u8>,
    /// Refers to them.
    later: Vec<u8>,
}

impl HeaderBlocks {
    /// Encodes a request in the form of HTTP/1.1.
    fn of(request: &str) -> Result<HeaderBlocks> {
        let mut lines = request.lines();
        let target = lines.next().and_then(|line| line.split(' ').nth(1));
        let mut fields = vec![(":path".to_owned(), target.ok_or("no target")?)];
        for line in lines {
            match line.split_once(": ") {
                Some(("Host", host)) => fields.push((":authority".to_owned(), host)),
                Some((name, value)) => fields.push((name.to_ascii_lowercase(), value)),
                None => {}
            }
        }
        let mut first = GET_HTTP.to_vec();
        let mut later = GET_HTTP.to_vec();
        for (number, (name, value)) in fields.iter().enumerate() {
            // A literal with incremental indexing and a new name (§6.2.1), and an indexed field (§6.1).
            first.push(0x40);
            push_short(&mut first, 0, name.len())?;
            first.extend_from_slice(name.as_bytes());
            push_short(&mut first, 0, value.len())?;
            first.extend_from_slice(value.as_bytes());
            push_short(&mut later, 0x80, STATIC_ENTRIES + fields.len() - number)?;
        }
        Ok(HeaderBlocks { first, later })
    }
}

/// Appends a length or an index of one byte, with a bit before it.
fn push_short(block: &mut Vec<u8>, bit: u8, number: usize) -> Result<()> {
    if number > SHORT_MAX {
        return Err("the request is too long".into());
    }
    block.push(bit | number as u8);
    Ok(())
}

/// A connection.
struct Lane {
    stream: TcpStream,
    /// The newest stream of HTTP/2.
    newest: u32,
    /// The beginning of a frame that has not arrived whole.
    unparsed: Vec<u8>,
    buffer: Vec<u8>,
    /// Complete responses so far.
    responses: u32,
    /// Bytes of their bodies.
    body_bytes: usize,
}

impl Lane {
    /// Opens a connection, sends the first request, and waits for its response.
    fn open(server: &Server, first: &[u8]) -> Result<Lane> {
        let stream = TcpStream::connect_timeout(&server.address, PATIENCE)?;
        stream.set_nodelay(true)?;
        let mut lane = Lane {
            stream,
            newest: 1,
            unparsed: Vec::new(),
            buffer: vec![0; 1 << 16],
            responses: 0,
            body_bytes: 0,
        };
        let mut opening = OPENING.to_vec();
        push_headers(&mut opening, lane.newest, first)?;
        lane.stream.write_all(&opening)?;
        lane.stream.set_nonblocking(true)?;
        let began = Instant::now();
        while lane.receive()? == 0 {
            if began.elapsed() > PATIENCE {
                return Err("no response".into());
            }
        }
        Ok(lane)
    }

    /// Returns the bytes of the body of one response.
    fn body(&self) -> usize {
        self.body_bytes / self.responses as usize
    }

    /// Sends so many requests; the socket takes them whole, because previous ones were answered.
    fn send(&mut self, requests: u32, block: &[u8]) -> Result<()> {
        let mut frames = Vec::new();
        for _ in 0..requests {
            self.newest += 2;
            push_headers(&mut frames, self.newest, block)?;
        }
        if self.stream.write(&frames)? == frames.len() {
            Ok(())
        } else {
            Err("the socket took half of a request".into())
        }
    }

    /// Reads the available bytes; returns how many responses they complete.
    fn receive(&mut self) -> Result<u32> {
        let read = match self.stream.read(&mut self.buffer) {
            Ok(0) => return Err(std::io::Error::from(ErrorKind::UnexpectedEof).into()),
            Ok(read) => read,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(0),
            Err(error) => return Err(error.into()),
        };
        self.unparsed.extend_from_slice(&self.buffer[..read]);
        let received = std::mem::take(&mut self.unparsed);
        let mut rest = &received[..];
        let mut complete = 0;
        while let Some(frame) = Frame::take(&mut rest) {
            if self.is_end(&frame)? {
                complete += 1;
            }
        }
        self.unparsed.extend_from_slice(rest);
        self.responses += complete;
        Ok(complete)
    }

    /// Checks a frame; returns whether it ends a response.
    fn is_end(&mut self, frame: &Frame<'_>) -> Result<bool> {
        match frame.kind {
            DATA => self.body_bytes += frame.payload.len(),
            HEADERS if frame.payload.first() == Some(&OK) => {}
            SETTINGS => {
                if frame.flags & ACK == 0 {
                    self.stream.write_all(SETTINGS_ACK)?;
                }
                return Ok(false);
            }
            WINDOW_UPDATE => return Ok(false),
            kind => return Err(format!("type {kind} of a frame, or a status but 200").into()),
        }
        Ok(frame.flags & END_STREAM != 0)
    }
}

/// A frame of the server.
struct Frame<'b> {
    kind: u8,
    flags: u8,
    payload: &'b [u8],
}

impl<'b> Frame<'b> {
    /// Takes a frame from the beginning of `bytes`; `None` if it has not arrived whole.
    fn take(bytes: &mut &'b [u8]) -> Option<Frame<'b>> {
        let [high, middle, low, kind, flags, ..] = **bytes else {
            return None;
        };
        let length = u32::from_be_bytes([0, high, middle, low]) as usize;
        let frame = bytes.split_off(..FRAME_HEAD_BYTES + length)?;
        Some(Frame {
            kind,
            flags,
            payload: &frame[FRAME_HEAD_BYTES..],
        })
    }
}

/// Appends a frame with the header block of a whole request.
fn push_headers(frames: &mut Vec<u8>, stream: u32, block: &[u8]) -> Result<()> {
    let [high, low] = u16::try_from(block.len())?.to_be_bytes();
    frames.extend_from_slice(&[0, high, low, HEADERS, END_STREAM | END_HEADERS]);
    frames.extend_from_slice(&stream.to_be_bytes());
    frames.extend_from_slice(block);
    Ok(())
}
