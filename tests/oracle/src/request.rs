//! Any bytes on a connection to the whole service: the output must be a sequence of well-formed responses.

use std::convert::Infallible;
use std::future::Future;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use reviewd::http::{AppState, handle};
use tokio::runtime::{Builder, Runtime};

use super::service;

/// The address of the client, which the service trusts as a proxy.
const PEER: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// Sends `data` to the service with the sample, on one HTTP/1.1 connection, and checks that each response has an
/// expected status, a Date, and as many bytes as its Content-Length, and that there are not more responses than
/// requests.
///
/// # Panics
/// If a response is malformed, reports an internal error, or belongs to no request.
pub fn check_request(data: &[u8]) {
    // Every answered request has a line with a version, except the last one, which may be malformed.
    let requests = memchr::memmem::find_iter(data, b" HTTP/1.").count() + 1;
    let statuses = responses(data);
    assert!(statuses.len() <= requests, "{statuses:?}");
}

/// Checks the same; returns the statuses in their order.
pub(super) fn responses(data: &[u8]) -> Vec<u16> {
    let sent = respond(data);
    let mut rest = &sent[..];
    let mut statuses = Vec::new();
    while !rest.is_empty() {
        let end = memchr::memmem::find(rest, b"\r\n\r\n").expect("a head has an end") + 4;
        let (head, behind) = rest.split_at(end);
        let head = str::from_utf8(head).expect("a head is text");
        let digits = head.strip_prefix("HTTP/1.").and_then(|rest| rest.get(2..5));
        let status: u16 = digits.expect(head).parse().expect(head);
        assert!(
            (200..500).contains(&status) || [501, 503].contains(&status),
            "{head}"
        );
        assert!(head.contains("\r\ndate: "), "{head}");
        // The response to HEAD has a Content-Length but no body.
        let has_body = !behind.is_empty() && !behind.starts_with(b"HTTP/1.");
        let body_length = if has_body { content_length(head) } else { 0 };
        rest = behind.get(body_length..).expect(head);
        statuses.push(status);
    }
    statuses
}

/// Returns the Content-Length of a head; 0 if it has none.
fn content_length(head: &str) -> usize {
    let field = head
        .split("\r\n")
        .find_map(|line| line.strip_prefix("content-length: "));
    match field {
        Some(digits) => digits.parse().expect(head),
        None => 0,
    }
}

/// Returns everything that a client receives if it sends `bytes` and then closes its sending side. All requests are
/// answered without waiting for another thread or a timer.
fn respond(bytes: &[u8]) -> Vec<u8> {
    // Reading a body starts a timer, which needs a runtime, although no timer expires here.
    static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
        let runtime = Builder::new_current_thread().enable_time().build();
        runtime.expect("a runtime without I/O")
    });
    let _entered = RUNTIME.enter();
    let mut written = Vec::new();
    let io = TokioIo::new(tokio::io::join(bytes, &mut written));
    let mut builder = http1::Builder::new();
    builder.half_close(true);
    let service = service_fn(|request| async move {
        let peer = APP.peer(PEER);
        let answer = handle(&APP, request, &peer, Instant::now());
        Ok::<_, Infallible>(answer.response().await)
    });
    let mut connection = Box::pin(builder.serve_connection(io, service));
    let mut context = Context::from_waker(Waker::noop());
    // One poll for a read, and more for a body. Errors are ignored: responses before an error have been written.
    let mut polls = (0..8).map(|_| connection.as_mut().poll(&mut context));
    let _ended = polls.find(Poll::is_ready);
    drop(connection);
    written
}

/// The service, with limits that short inputs reach.
static APP: LazyLock<Arc<AppState>> = LazyLock::new(|| {
    let snapshot = service::snapshot(service::sample());
    let mut settings = service::settings();
    settings.limits.header_fields = 8;
    settings.limits.target_bytes = 256;
    let local = "127.0.0.0/8".parse().expect("a network");
    settings.proxies.networks.push(local);
    let app = service::app(settings, snapshot);
    app.current().compress(|| false);
    Arc::new(app)
});
