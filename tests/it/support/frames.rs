//! A client for HTTP/2 with prior knowledge that writes and reads single frames (RFC 9113 §4.1).

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};

use super::DEADLINE;

/// The connection preface of a client (RFC 9113 §3.4).
pub(crate) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Types of frames.
pub(crate) mod kind {
    pub(crate) const DATA: u8 = 0;
    pub(crate) const HEADERS: u8 = 1;
    pub(crate) const RST_STREAM: u8 = 3;
    pub(crate) const SETTINGS: u8 = 4;
    pub(crate) const PING: u8 = 6;
    pub(crate) const GOAWAY: u8 = 7;
    pub(crate) const WINDOW_UPDATE: u8 = 8;
    pub(crate) const CONTINUATION: u8 = 9;
}

/// Flag of DATA and HEADERS: the stream ends with this frame.
pub(crate) const END_STREAM: u8 = 1;
/// Flag of SETTINGS and PING: the frame is an acknowledgement.
pub(crate) const ACK: u8 = 1;
/// Flag of HEADERS and CONTINUATION: the header block ends with this frame.
pub(crate) const END_HEADERS: u8 = 4;

/// One frame, as received.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    /// Its type.
    pub(crate) kind: u8,
    /// Its flags.
    pub(crate) flags: u8,
    /// Its stream, 0 for the connection.
    pub(crate) stream: u32,
    /// Its payload.
    pub(crate) payload: Vec<u8>,
}

/// A connection that speaks HTTP/2.
pub(crate) struct Frames<S = TcpStream> {
    stream: S,
    host: String,
}

impl Frames {
    /// Connects and sends the preface and a SETTINGS frame with these parameters.
    pub(crate) fn open(address: SocketAddr, settings: &[(u16, u32)]) -> Frames {
        let stream = TcpStream::connect(address).expect("the server accepts");
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        stream.set_nodelay(true).unwrap();
        let frames = Frames::over(stream, &address.to_string(), settings);
        frames.expect("the server takes the preface")
    }
}

impl<S: Read + Write> Frames<S> {
    /// Sends the preface and a SETTINGS frame with these parameters over a stream to `host`.
    pub(crate) fn over(stream: S, host: &str, settings: &[(u16, u32)]) -> io::Result<Frames<S>> {
        let host = host.to_owned();
        let mut frames = Frames { stream, host };
        frames.try_write(PREFACE)?;
        let mut payload = Vec::new();
        for (id, value) in settings {
            payload.extend(id.to_be_bytes());
            payload.extend(value.to_be_bytes());
        }
        frames.try_send(kind::SETTINGS, 0, 0, &payload)?;
        Ok(frames)
    }

    /// Sends one frame; panics if the server does not take it.
    pub(crate) fn send(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        self.try_send(kind, flags, stream, payload)
            .expect("the server takes the frame");
    }

    /// Sends one frame.
    pub(crate) fn try_send(
        &mut self,
        kind: u8,
        flags: u8,
        stream: u32,
        payload: &[u8],
    ) -> io::Result<()> {
        self.try_write(&frame(kind, flags, stream, payload))
    }

    /// Sends bytes in one piece.
    pub(crate) fn try_write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// Sends a GET for `path` on `stream`.
    pub(crate) fn get(&mut self, stream: u32, path: &str) {
        let block = self.get_block(path);
        self.send(kind::HEADERS, END_HEADERS | END_STREAM, stream, &block);
    }

    /// Sends a GET for `path` on `stream`, as a proxy that names the client.
    pub(crate) fn try_get_for(&mut self, client: &str, stream: u32, path: &str) -> io::Result<()> {
        let mut block = self.get_block(path);
        block.extend(literal("x-forwarded-for", client));
        self.try_send(kind::HEADERS, END_HEADERS | END_STREAM, stream, &block)
    }

    /// Sends a POST of a JSON message to `/mcp` on `stream`.
    pub(crate) fn try_post_mcp(&mut self, stream: u32, message: &str) -> io::Result<()> {
        let mut block = self.post_block("/mcp");
        block.extend(literal("content-type", "application/json"));
        self.try_send(kind::HEADERS, END_HEADERS, stream, &block)?;
        self.try_send(kind::DATA, END_STREAM, stream, message.as_bytes())
    }

    /// Returns the header block of a POST.
    pub(crate) fn post_block(&self, path: &str) -> Vec<u8> {
        let mut block = self.get_block(path);
        // `:method: POST` in the static table.
        block[0] = 0x83;
        block
    }

    /// Returns the header block of a GET: indexed fields, and literals without indexing (RFC 7541 §6).
    pub(crate) fn get_block(&self, path: &str) -> Vec<u8> {
        // `:method: GET` and `:scheme: http` are entries of the static table, and so are the names of the other fields.
        let mut block = vec![0x82, 0x86];
        for (name, value) in [(0x04, path), (0x01, self.host.as_str())] {
            let length = u8::try_from(value.len()).expect("a value is short");
            assert!(length < 127, "one byte tells the length");
            block.extend_from_slice(&[name, length]);
            block.extend_from_slice(value.as_bytes());
        }
        block
    }

    /// Reads the next frame, and answers it if it is a ping; `None` if the connection has ended, also by an error.
    pub(crate) fn next(&mut self) -> Option<Frame> {
        let mut head = [0; 9];
        match self.stream.read_exact(&mut head) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => panic!("no frame comes"),
            ended => ended.ok()?,
        }
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
        let kind = head[3];
        let flags = head[4];
        let mut payload = vec![0; length as usize];
        self.stream.read_exact(&mut payload).ok()?;
        if kind == kind::PING && flags & ACK == 0 {
            // If the server has closed the connection, the next read notices.
            let _gone = self.try_send(kind::PING, ACK, 0, &payload);
        }
        Some(Frame {
            kind,
            flags,
            stream: stream & 0x7fff_ffff,
            payload,
        })
    }

    /// Reads frames until one of `kind` arrives; panics at the end of the connection.
    pub(crate) fn wait_for(&mut self, kind: u8) -> Frame {
        loop {
            let frame = self
                .next()
                .unwrap_or_else(|| panic!("the connection ends without a frame {kind}"));
            if frame.kind == kind {
                return frame;
            }
        }
    }

    /// Reads the response on `stream`: the first byte of its header block, and its body; extends the windows.
    pub(crate) fn answer(&mut self, stream: u32) -> (u8, Vec<u8>) {
        let mut status = 0;
        let mut body = Vec::new();
        loop {
            let frame = self.next().expect("the answer comes before the end");
            if frame.stream != stream {
                continue;
            }
            match frame.kind {
                kind::HEADERS => status = frame.payload[0],
                kind::DATA => {
                    let more = u32::try_from(frame.payload.len()).expect("a frame is short");
                    if more > 0 {
                        self.send(kind::WINDOW_UPDATE, 0, 0, &more.to_be_bytes());
                        self.send(kind::WINDOW_UPDATE, 0, stream, &more.to_be_bytes());
                    }
                    body.extend(frame.payload);
                }
                kind::RST_STREAM => panic!("the stream is reset: {frame:?}"),
                _ => {}
            }
            if frame.flags & END_STREAM != 0 && frame.kind <= kind::HEADERS {
                return (status, body);
            }
        }
    }
}

/// Returns a literal field without indexing (RFC 7541 §6.2.2).
pub(crate) fn literal(name: &str, value: &str) -> Vec<u8> {
    let mut field = vec![0];
    for text in [name, value] {
        let length = u8::try_from(text.len()).expect("a text is short");
        assert!(length < 127, "one byte tells the length");
        field.push(length);
        field.extend_from_slice(text.as_bytes());
    }
    field
}

/// Returns the bytes of a frame.
pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len())
        .expect("a frame is short")
        .to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}
