//! Which protocol a new connection speaks, told by its first bytes, within a time.
//!
//! HTTP/2 without TLS announces itself by 24 bytes that no HTTP/1.1 request begins with (RFC 9113 §3.4). The bytes are
//! only looked at and stay in the socket. hyper-util's detector does the same and waits for ever for a peer that says
//! nothing (measured: half a preface stayed open past 18 s), and hyper's buffers are not needed before there is a
//! byte: a silent connection costs a tenth of one that was handed to hyper at once.

use std::io;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout_at};

use super::activity::Protocol;

/// What an HTTP/2 client with prior knowledge sends first.
pub(super) const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// First pause before an incomplete preface is looked at again; it doubles each time, up to [`PAUSE_MAX`].
///
/// Bytes that are only peeked at leave the socket readable, so there is nothing to wait for but time. Clients send the
/// preface in one piece; a client that does not is slow on purpose and may wait.
const PAUSE: Duration = Duration::from_millis(5);

/// Longest pause between two looks.
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// Looks at the first bytes of `stream`, at most until `deadline`; `None` if the peer closed or said too little.
///
/// # Errors
/// Those of the socket.
pub(super) async fn detect(stream: &TcpStream, deadline: Instant) -> io::Result<Option<Protocol>> {
    // A deadline that passes is an answer, not an error: the caller closes either way.
    match timeout_at(deadline, look(stream)).await {
        Ok(found) => found,
        Err(_elapsed) => Ok(None),
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

async fn look(stream: &TcpStream) -> io::Result<Option<Protocol>> {
    let mut first = [0; PREFACE.len()];
    let mut pause = PAUSE;
    loop {
        let length = stream.peek(&mut first).await?;
        match classify(&first[..length]) {
            Some(protocol) => return Ok(Some(protocol)),
            None if length == 0 => return Ok(None),
            None => sleep(pause).await,
        }
        pause = (pause * 2).min(PAUSE_MAX);
    }
}

/// Tells the protocol from what has come so far, and `None` while that could be the beginning of either.
fn classify(first: &[u8]) -> Option<Protocol> {
    if !PREFACE.starts_with(first) {
        Some(Protocol::Http1)
    } else if first.len() == PREFACE.len() {
        Some(Protocol::Http2)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::{PREFACE, classify};
    use crate::server::activity::Protocol;

    #[test]
    fn the_whole_preface_is_http2_and_every_part_of_it_is_undecided() {
        assert_eq!(classify(PREFACE), Some(Protocol::Http2));
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
