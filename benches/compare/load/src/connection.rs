//! A client's connection that is kept open: just enough HTTP/1.1 to cost little beside the servers.

use std::io::{Error, ErrorKind, Read, Result, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Longest wait for a byte.
const PATIENCE: Duration = Duration::from_secs(10);
/// Largest head and body together.
const BYTES_MAX: usize = 4 << 20;
/// What is read at a time before a longer answer has been announced.
const BYTES_FIRST: usize = 64 << 10;

/// Which status an answer must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// 200, with a Content-Length.
    Ok,
    /// 304, without a body.
    NotModified,
}

/// A connection that opens when it is needed, and again when the server has ended it.
pub struct Connection {
    address: SocketAddr,
    expected: Expected,
    stream: Option<TcpStream>,
    buffer: Vec<u8>,
}

/// An answer, as it lies in the connection's buffer.
#[derive(Clone, Copy, Debug)]
pub struct Answer<'b> {
    head: &'b [u8],
    /// The body, coded as it came.
    pub body: &'b [u8],
}

impl<'b> Answer<'b> {
    /// Bytes of head and body.
    #[must_use]
    pub fn length(&self) -> usize {
        self.head.len() + self.body.len()
    }

    /// The value of a field of the head.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&'b str> {
        str::from_utf8(field(self.head, name.as_bytes())?).ok()
    }

    /// All fields of the head, in their order.
    pub fn fields(&self) -> impl Iterator<Item = (&'b str, &'b str)> {
        let head = str::from_utf8(self.head).unwrap_or_default();
        let lines = head.lines().skip(1);
        lines
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name, value.trim()))
    }
}

impl Connection {
    /// Describes a connection; nothing is opened yet.
    #[must_use]
    pub fn new(address: SocketAddr, expected: Expected) -> Connection {
        Connection {
            address,
            expected,
            stream: None,
            buffer: vec![0; BYTES_FIRST],
        }
    }

    /// Returns the stream, if one is open.
    #[must_use]
    pub fn into_stream(self) -> Option<TcpStream> {
        self.stream
    }

    /// Sends a request.
    pub fn send(&mut self, request: &[u8]) -> Result<()> {
        let stream = match &mut self.stream {
            Some(stream) => stream,
            none => {
                let stream = TcpStream::connect_timeout(&self.address, PATIENCE)?;
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(PATIENCE))?;
                stream.set_write_timeout(Some(PATIENCE))?;
                none.insert(stream)
            }
        };
        stream.write_all(request)
    }

    /// Receives an answer, which has to have the status that is expected, and a length.
    pub fn receive(&mut self) -> Result<Answer<'_>> {
        let stream = self
            .stream
            .as_mut()
            .ok_or_else(|| wrong("nothing was sent"))?;
        let mut filled = 0;
        let mut body = None;
        let (start, end) = loop {
            if body.is_none() {
                body = head(&self.buffer[..filled], self.expected)?;
            }
            match body {
                Some((_, end)) if end > BYTES_MAX => return Err(wrong("the answer is too large")),
                Some((start, end)) if end == filled => break (start, end),
                Some((_, end)) if end < filled => return Err(wrong("more than was announced")),
                Some((_, end)) if end > self.buffer.len() => self.buffer.resize(end, 0),
                None if filled == self.buffer.len() => return Err(wrong("the head is too large")),
                _ => {}
            }
            match stream.read(&mut self.buffer[filled..])? {
                0 => return Err(ErrorKind::UnexpectedEof.into()),
                read => filled += read,
            }
        };
        if field(&self.buffer[..start], b"connection").is_some_and(|value| value == b"close") {
            self.stream = None;
        }
        Ok(Answer {
            head: &self.buffer[..start],
            body: &self.buffer[start..end],
        })
    }
}

/// Where the body starts and ends, once the head is complete.
fn head(bytes: &[u8], expected: Expected) -> Result<Option<(usize, usize)>> {
    let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else {
        return Ok(None);
    };
    let start = at + 4;
    let head = &bytes[..start];
    let status: &[u8] = match expected {
        Expected::Ok => b"HTTP/1.1 200 ",
        Expected::NotModified => b"HTTP/1.1 304 ",
    };
    if !head.starts_with(status) {
        return Err(wrong(&String::from_utf8_lossy(head)));
    }
    if expected == Expected::NotModified {
        return Ok(Some((start, start)));
    }
    let length = field(head, b"content-length")
        .and_then(|value| str::from_utf8(value).ok()?.parse::<usize>().ok())
        .ok_or_else(|| wrong("no Content-Length"))?;
    Ok(Some((start, start.saturating_add(length))))
}

/// The value of a field.
fn field<'h>(head: &'h [u8], name: &[u8]) -> Option<&'h [u8]> {
    head.split(|byte| *byte == b'\n').find_map(|line| {
        let colon = line.iter().position(|byte| *byte == b':')?;
        let (found, value) = (&line[..colon], &line[colon + 1..]);
        found.eq_ignore_ascii_case(name).then(|| value.trim_ascii())
    })
}

fn wrong(message: &str) -> Error {
    Error::new(ErrorKind::InvalidData, message)
}
