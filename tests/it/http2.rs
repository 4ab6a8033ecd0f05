//! HTTP/2 with prior knowledge, on the port of HTTP/1.1.

use crate::support::Server;
use crate::support::frames::{END_HEADERS, END_STREAM, Frames, frame, kind};

/// `:status: 200` in the static table.
const OK: u8 = 0x88;

/// The error code of a peer that asks for too much (RFC 9113 §7).
const ENHANCE_YOUR_CALM: u32 = 0xb;

#[test]
fn the_last_request_of_a_connection_is_followed_by_goaway() {
    let server = Server::start_with(|config| config.limits.connection_requests = 2);
    let mut frames = Frames::open(server.address(), &[]);
    frames.get(1, "/healthz");
    frames.answer(1);
    frames.get(3, "/healthz");
    let goaway = frames.wait_for(kind::GOAWAY);
    assert_eq!(goaway.payload[4..8], [0; 4], "no error");
}

#[test]
fn more_than_64_streams_are_refused() {
    let server = Server::start();
    let mut frames = Frames::open(server.address(), &[(4, 0)]);
    for number in 0..65 {
        frames.get(1 + 2 * number, "/reviews.json");
    }
    let refused = frames.wait_for(kind::RST_STREAM);
    assert_eq!(refused.stream, 129);
}

/// A literal field that no table keeps, of 4,129 bytes as they count (RFC 9113 §6.5.2).
fn filler() -> Vec<u8> {
    [&[0x00, 0x01, b'x', 0x7f, 0x81, 0x1f][..], &[b'y'; 4_096]].concat()
}

/// Asks with a head of `fillers` CONTINUATION frames, and returns the first byte of what comes as its answer.
fn ask_with(fillers: usize) -> Option<u8> {
    let server = Server::start();
    let mut frames = Frames::open(server.address(), &[]);
    let block = frames.get_block("/healthz");
    frames.send(kind::HEADERS, END_STREAM, 1, &block);
    for number in 1..=fillers {
        let end = if number == fillers { END_HEADERS } else { 0 };
        let sent = frames.try_send(kind::CONTINUATION, end, 1, &filler());
        sent.ok()?;
    }
    std::iter::from_fn(|| frames.next())
        .find(|frame| frame.stream == 1 && frame.kind == kind::HEADERS)
        .map(|frame| frame.payload[0])
}

#[test]
fn a_head_in_several_frames_may_have_16_kib_and_no_more() {
    assert_eq!(ask_with(3), Some(OK));
    assert_ne!(ask_with(4), Some(OK));
}

/// Asks and takes back so many times in one piece, so that the server looks at none of them in between.
fn take_back(server: &Server, requests: u32) -> Frames {
    let mut frames = Frames::open(server.address(), &[]);
    let block = frames.get_block("/reviews.json");
    let mut bytes = Vec::new();
    for stream in (0..requests).map(|number| 1 + 2 * number) {
        let flags = END_HEADERS | END_STREAM;
        bytes.extend(frame(kind::HEADERS, flags, stream, &block));
        bytes.extend(frame(kind::RST_STREAM, 0, stream, &8_u32.to_be_bytes()));
    }
    frames.try_write(&bytes).expect("the server takes it");
    frames
}

#[test]
fn a_client_may_take_20_requests_back_before_they_are_looked_at_and_no_more() {
    let server = Server::start();
    let mut frames = take_back(&server, 20);
    frames.get(41, "/healthz");
    assert_eq!(frames.answer(41).0, OK);
    let goaway = take_back(&server, 21).wait_for(kind::GOAWAY);
    assert_eq!(goaway.payload[4..8], ENHANCE_YOUR_CALM.to_be_bytes());
}
