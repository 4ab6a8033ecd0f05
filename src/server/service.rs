//! Answers the requests of a connection, as hyper's service: calls the handler, catches panics, and yields to other
//! connections.

use std::cell::Cell;
use std::convert::Infallible;
use std::future::poll_fn;
use std::net::IpAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};
use hyper::header::{CONNECTION, HeaderValue, STRICT_TRANSPORT_SECURITY};
use hyper::service::{Service, service_fn};
use hyper::{Request, Response};
use tracing::error;

use crate::http::{self, AppState, Body, BodySlice, HttpError, Peer, close};
use crate::limits::Share;

use super::clock;
use super::deadline::ConnectionState;
use super::logs::panic_message;

/// How long one poll of a connection may answer requests before other connections are polled; enough for some searches.
/// Otherwise others would wait long: hyper answers up to 16 pipelined requests in a poll, and tokio checks the sockets after
/// 61 polls.
const POLL_TIME_MAX: Duration = Duration::from_micros(250);

/// Answers requests: `http::handle` on the public listener, metrics on the administrator's, test handlers in tests.
pub(super) trait Handler: Clone + Send + Sync + 'static {
    /// Answers one request; `peer` is the connection's peer, and the turn of the request came at `began`.
    fn handle(
        &self,
        request: Request<Incoming>,
        peer: &Peer,
        began: Instant,
    ) -> impl Future<Output = Response<Body>>;

    /// Returns the response to a request whose handler panicked.
    fn internal_error(&self) -> Response<Body>;

    /// Records that the connection of `peer` sent `error` without a call of `handle`, because a request was invalid or late.
    fn record_refusal(&self, _peer: IpAddr, _error: HttpError) {}
}

/// The service of the public listener.
impl Handler for Arc<AppState> {
    async fn handle(
        &self,
        request: Request<Incoming>,
        peer: &Peer,
        began: Instant,
    ) -> Response<Body> {
        http::handle(self, request, peer, began).await
    }

    fn internal_error(&self) -> Response<Body> {
        self.traffic.record_refusal(500);
        http::internal_error()
    }

    fn record_refusal(&self, peer: IpAddr, error: HttpError) {
        http::record_refusal(self, peer, error);
    }
}

/// Answers the requests of one connection.
#[derive(Debug)]
pub(super) struct ConnectionService<H> {
    pub(super) handler: H,
    pub(super) peer: Peer,
    pub(super) state: Rc<ConnectionState>,
    /// How many more requests are answered; the connection is closed after the last.
    pub(super) requests_left: Cell<u32>,
    /// Strict-Transport-Security of every response; `None` to send none.
    pub(super) hsts: Option<HeaderValue>,
}

impl<H: Handler> ConnectionService<H> {
    /// Returns the service that hyper calls for each request.
    pub(super) fn into_hyper(
        self,
    ) -> impl Service<
        Request<Incoming>,
        Response = Response<TrackedBody>,
        Error = Infallible,
        Future: 'static,
    > {
        let service = Rc::new(self);
        service_fn(move |request| {
            service.requests_left.update(|left| left.saturating_sub(1));
            let is_last = service.requests_left.get() == 0;
            service.state.note_request();
            let share = service.hold_stream();
            let handling = Handling(Rc::clone(&service));
            async move {
                let service = &handling.0;
                let began = service.wait_for_turn().await;
                let response = service.handle(request, began).await;
                Ok(service.finish(response, share, is_last))
            }
        })
    }

    /// Counts a stream of HTTP/2, whose memory cannot be refused; `None` on HTTP/1.1, where the connection is counted.
    fn hold_stream(&self) -> Option<Share> {
        if !self.state.is_http2.get() {
            return None;
        }
        Some(self.peer.account.hold_stream())
    }

    /// Yields to other connections until this one has time left in its poll; returns the time then.
    async fn wait_for_turn(&self) -> Instant {
        let mut now = clock::instant();
        let poll_began = &self.state.now;
        while now - poll_began.get() >= POLL_TIME_MAX {
            let began_before = poll_began.get();
            tokio::task::yield_now().await;
            now = clock::instant();
            // The first of the streams that wait here sets the beginning anew, and the others share its time.
            if poll_began.get() == began_before {
                poll_began.set(now);
            }
        }
        now.into_std()
    }

    /// Calls the handler; a panic becomes a response.
    async fn handle(&self, request: Request<Incoming>, began: Instant) -> Response<Body> {
        // A panic leaves no inconsistent state: shared state is atomic, or replaced as a whole.
        let mut response = pin!(async { self.handler.handle(request, &self.peer, began).await });
        poll_fn(|context| {
            let polled = catch_unwind(AssertUnwindSafe(|| response.as_mut().poll(context)));
            polled.unwrap_or_else(|panic| {
                let panic = panic_message(&*panic);
                error!(panic, "a request handler panicked; the client gets 500");
                let mut response = self.handler.internal_error();
                close(&mut response);
                Poll::Ready(response)
            })
        })
        .await
    }

    /// Adds common headers; closes the connection if this is the last response, the connection must end, or the response
    /// has `Connection: close`.
    fn finish(
        &self,
        mut response: Response<Body>,
        share: Option<Share>,
        is_last: bool,
    ) -> Response<TrackedBody> {
        let state = &self.state;
        if is_last || state.is_leaving.get() {
            close(&mut response);
        }
        let headers = response.headers_mut();
        if let Some(hsts) = &self.hsts {
            headers.insert(STRICT_TRANSPORT_SECURITY, hsts.clone());
        }
        if headers
            .get(CONNECTION)
            .is_some_and(|value| value == "close")
        {
            state.note_closing();
        }
        if state.is_http2.get() {
            // HTTP/2 does not allow this field (RFC 9113 §8.2.2); the connection ends by GOAWAY.
            headers.remove(CONNECTION);
        }
        state.note_body();
        response.map(|body| TrackedBody {
            body,
            state: Rc::clone(state),
            _share: share,
        })
    }
}

/// A request in progress; dropped with its stream if that is reset.
struct Handling<H>(Rc<ConnectionService<H>>);

impl<H> Drop for Handling<H> {
    fn drop(&mut self) {
        self.0.state.note_answer();
    }
}

/// The body of a response, which tells the connection's state when hyper has dropped it.
///
/// On HTTP/2 a peer can hold a response back with the window of its stream, while the socket stays writable. Then only the
/// body, which hyper still holds, shows that the response is unfinished.
#[derive(Debug)]
pub(super) struct TrackedBody {
    body: Body,
    state: Rc<ConnectionState>,
    /// The share of the stream, given back with the body; `None` on HTTP/1.1.
    _share: Option<Share>,
}

impl Drop for TrackedBody {
    fn drop(&mut self) {
        self.state.note_body_end();
    }
}

impl HttpBody for TrackedBody {
    type Data = BodySlice;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<BodySlice>, Infallible>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
