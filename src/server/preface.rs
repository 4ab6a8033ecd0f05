//! Which protocol a new connection speaks, told by its first bytes, within a time.
//!
//! HTTP/2 without TLS announces itself by 24 bytes that no HTTP/1.1 request begins with (RFC 9113 §3.4). hyper-util's
//! detector waits for ever for a peer that says nothing (measured: half a preface stayed open past 18 s), and hyper's
//! buffers are not needed before there is a byte: a silent connection costs a tenth of one that was handed to hyper at
//! once.

use std::io;
use std::sync::Arc;

use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};

use crate::http::{ProtocolError, protocol_error};

use super::io::{Socket, Watched};
use super::state::{ConnectionState, Protocol};

/// What an HTTP/2 client with prior knowledge sends first.
pub(super) const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Tells the protocol from `first`, what was read so far, and reads on where that does not tell it, at most until
/// `deadline`; `None` if the peer closed or said too little.
///
/// # Errors
/// Those of the socket.
pub(super) async fn detect(
    stream: &mut TcpStream,
    first: &mut Vec<u8>,
    deadline: Instant,
) -> io::Result<Option<Protocol>> {
    // A deadline that passes is an answer, not an error: the caller closes either way.
    match timeout_at(deadline, read_on(stream, first)).await {
        Ok(found) => found,
        Err(_elapsed) => Ok(None),
    }
}

async fn read_on(stream: &mut TcpStream, first: &mut Vec<u8>) -> io::Result<Option<Protocol>> {
    loop {
        if let Some(protocol) = classify(first) {
            return Ok(Some(protocol));
        }
        let mut more = [0; PREFACE.len()];
        match stream.read(&mut more).await? {
            0 => return Ok(None),
            length => first.extend_from_slice(&more[..length]),
        }
    }
}

/// Looks at the first byte of `stream`, at most until `deadline`; `None` if the peer closed or said nothing.
///
/// # Errors
/// Those of the socket.
pub(super) async fn first_byte(stream: &TcpStream, deadline: Instant) -> io::Result<Option<u8>> {
    let mut first = [0];
    match timeout_at(deadline, stream.peek(&mut first)).await {
        Ok(length) => Ok((length? > 0).then_some(first[0])),
        Err(_elapsed) => Ok(None),
    }
}

/// Tells a client that has begun with something else that TLS is spoken here.
pub(super) async fn refuse_plain(socket: Socket, state: Arc<ConnectionState>) {
    let mut io = Watched::new(socket, state);
    io.send_now(&protocol_error(ProtocolError::Plaintext));
    io.linger().await;
}

/// Tells the protocol from what has come so far, and `None` while that could be the beginning of either.
fn classify(first: &[u8]) -> Option<Protocol> {
    if first.starts_with(PREFACE) {
        Some(Protocol::Http2)
    } else if PREFACE.starts_with(first) {
        None
    } else {
        Some(Protocol::Http1)
    }
}

#[cfg(test)]
mod tests {
    use super::{PREFACE, classify};
    use crate::server::state::Protocol;

    #[test]
    fn the_whole_preface_is_http2_and_every_part_of_it_is_undecided() {
        assert_eq!(classify(PREFACE), Some(Protocol::Http2));
        let longer = [&PREFACE[..], b"\0"].concat();
        assert_eq!(classify(&longer), Some(Protocol::Http2));
        for length in 0..PREFACE.len() {
            assert_eq!(classify(&PREFACE[..length]), None, "{length} bytes");
        }
    }

    #[test]
    fn anything_else_is_http1_from_its_first_other_byte_on() {
        assert_eq!(classify(b"G"), Some(Protocol::Http1));
        assert_eq!(classify(b"PO"), Some(Protocol::Http1));
        assert_eq!(classify(b"PRI * HTTP/1.1\r\n"), Some(Protocol::Http1));
        assert_eq!(
            classify(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\rX"),
            Some(Protocol::Http1)
        );
    }
}
