//! HTTP/2 with prior knowledge, on the port of HTTP/1.1.

use crate::support::Server;
use crate::support::frames::{ACK, END_HEADERS, END_STREAM, Frames, frame, kind, literal};

/// `:status: 200` in the static table.
const OK: u8 = 0x88;

/// `:status: 404` in the static table.
const NOT_FOUND: u8 = 0x8d;

/// The error code for excessive load (RFC 9113 §7).
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
fn more_than_16_streams_are_refused() {
    let server = Server::start();
    let mut frames = Frames::open(server.address(), &[(4, 0)]);
    for number in 0..17 {
        frames.get(1 + 2 * number, "/reviews.json");
    }
    let refused = frames.wait_for(kind::RST_STREAM);
    assert_eq!(refused.stream, 33);
}

/// A literal field without indexing, of 4,129 bytes as counted by RFC 9113 §6.5.2.
pub(crate) fn filler() -> Vec<u8> {
    [&[0x00, 0x01, b'x', 0x7f, 0x81, 0x1f][..], &[b'y'; 4_096]].concat()
}

/// Sends a request with `fillers` CONTINUATION frames, and returns the first byte of the response's header block.
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

/// Sends and cancels this many requests in one write, so that the server processes none of them in between.
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
fn a_client_may_cancel_20_unprocessed_requests_and_no_more() {
    let server = Server::start();
    let mut frames = take_back(&server, 20);
    frames.get(41, "/healthz");
    assert_eq!(frames.answer(41).0, OK);
    let goaway = take_back(&server, 21).wait_for(kind::GOAWAY);
    assert_eq!(goaway.payload[4..8], ENHANCE_YOUR_CALM.to_be_bytes());
}

/// Begins a POST to `path` with a Content-Length of `length`, if given.
fn post(server: &Server, path: &str, length: Option<usize>) -> Frames {
    let mut frames = Frames::open(server.address(), &[]);
    let mut block = frames.post_block(path);
    // A literal without indexing, whose name is this entry of the static table.
    let mut field = |entry: u8, value: &str| {
        block.extend([0x0f, entry - 15, value.len() as u8]);
        block.extend(value.bytes());
    };
    field(31, "application/x-www-form-urlencoded");
    if let Some(length) = length {
        field(28, &length.to_string());
    }
    // Only a client that a proxy names has a rate.
    block.extend(literal("x-forwarded-for", "192.0.2.1"));
    frames.send(kind::HEADERS, END_HEADERS, 1, &block);
    frames
}

/// Sends a body of this many bytes and ends the stream, within the flow-control window.
fn send_body(frames: &mut Frames, bytes: usize) {
    const FRAME_BYTES: usize = 8 << 10;
    // The update of the connection's window, which is then larger than any body here.
    assert_eq!(frames.wait_for(kind::WINDOW_UPDATE).stream, 0);
    let mut window = 65_535;
    let mut left = bytes;
    while left > 0 {
        let length = left.min(FRAME_BYTES);
        while window < length {
            let update = frames.wait_for(kind::WINDOW_UPDATE);
            if update.stream == 1 {
                let more: [u8; 4] = update.payload[..].try_into().unwrap();
                window += u32::from_be_bytes(more) as usize;
            }
        }
        (window, left) = (window - length, left - length);
        let end = if left == 0 { END_STREAM } else { 0 };
        frames.send(kind::DATA, end, 1, &vec![b'x'; length]);
    }
}

/// Returns the error code if the stream is reset after its response.
fn reset_after_answer(frames: &mut Frames) -> Option<[u8; 4]> {
    frames.send(kind::PING, 0, 0, &[7; 8]);
    loop {
        let frame = frames.next().expect("the ping is answered");
        match frame.kind {
            kind::RST_STREAM => return frame.payload.try_into().ok(),
            kind::PING if frame.flags & ACK != 0 => return None,
            _ => {}
        }
    }
}

#[test]
fn the_stream_of_a_refused_body_ends_without_a_reset() {
    let server = Server::start_behind_proxy(|config| config.limits.rates.hub = 1);
    for (path, bytes, expected) in [
        ("/nowhere", 1, "not_found"),
        ("/reviews.json", 64 << 10, "method_not_allowed"),
        ("/api/websub/hub", 9 << 10, "must not be longer than 8192"),
        (
            "/api/websub/hub",
            9 << 10,
            "more than 1 requests per minute",
        ),
    ] {
        let mut frames = post(&server, path, None);
        send_body(&mut frames, bytes);
        let (_, body) = frames.answer(1);
        let body = String::from_utf8_lossy(&body);
        assert!(body.contains(expected), "{path}: {body}");
        assert_eq!(reset_after_answer(&mut frames), None, "{path}");
    }
}

#[test]
fn a_refused_body_is_read_up_to_256_kib_and_for_a_second() {
    let server = Server::start();
    let bytes_max = 256 << 10;
    let mut frames = post(&server, "/nowhere", Some(bytes_max));
    send_body(&mut frames, bytes_max);
    assert_eq!(frames.answer(1).0, NOT_FOUND);
    assert_eq!(reset_after_answer(&mut frames), None);
    // A longer body is answered at once, and a missing one after a second; both are reset with NO_ERROR.
    for length in [Some(bytes_max + 1), None] {
        let mut frames = post(&server, "/nowhere", length);
        assert_eq!(frames.answer(1).0, NOT_FOUND);
        assert_eq!(reset_after_answer(&mut frames), Some([0; 4]), "{length:?}");
    }
}
