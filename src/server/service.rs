//! Answers the requests of a connection, as hyper's service: calls the handler, catches panics, and yields to other
//! connections.

use std::any::Any;
use std::cell::Cell;
use std::convert::Infallible;
use std::future::poll_fn;
use std::net::IpAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};
use hyper::header::{CONNECTION, HeaderValue, STRICT_TRANSPORT_SECURITY};
use hyper::service::{Service, service_fn};
use hyper::{Request, Response};
use tracing::error;

use crate::http::{self, AppState, Body, BodySlice, HttpAnswer, HttpError, Peer, close};
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
    fn handle(&self, request: Request<Incoming>, peer: &Peer, began: Instant) -> HttpAnswer;

    /// Returns the response to a request whose handler panicked.
    fn internal_error(&self) -> Response<Body>;

    /// Records that the connection of `peer` sent `error` without a call of `handle`, because a request was invalid or late.
    fn record_refusal(&self, _peer: IpAddr, _error: HttpError) {}
}

/// The service of the public listener.
impl Handler for Arc<AppState> {
    fn handle(&self, request: Request<Incoming>, peer: &Peer, began: Instant) -> HttpAnswer {
        http::handle(self, request, peer, began)
    }

    fn internal_error(&self) -> Response<Body> {
        self.traffic.count_refusal(500);
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
        Future = ResponseFuture,
    > {
        let service = Rc::new(self);
        service_fn(move |request| service.answer(request))
    }

    /// Answers a request, at once if possible.
    fn answer(self: &Rc<Self>, request: Request<Incoming>) -> ResponseFuture {
        self.requests_left.update(|left| left.saturating_sub(1));
        let is_last = self.requests_left.get() == 0;
        self.state.note_request();
        let share = self.hold_stream();
        let poll_began = self.state.now.get();
        let now = if self.state.has_answered.replace(true) {
            clock::instant()
        } else {
            poll_began
        };
        let answer = if now - poll_began < POLL_TIME_MAX {
            self.call_handler(request, now.into_std())
        } else {
            let service = Rc::clone(self);
            let answer = async move { service.call_handler_in_turn(request).await };
            HttpAnswer::Later(Box::pin(answer))
        };
        match answer {
            HttpAnswer::Now(response) => {
                let response = self.finish(response, share, is_last);
                self.state.note_answer();
                ResponseFuture::Now(Some(response))
            }
            HttpAnswer::Later(answer) => {
                let pending = PendingRequest(Rc::clone(self));
                ResponseFuture::Later(Box::pin(async move {
                    let service = &pending.0;
                    let response = service.catch_late_panic(answer).await;
                    service.finish(response, share, is_last)
                }))
            }
        }
    }

    /// Counts a stream of HTTP/2, whose memory cannot be refused; `None` on HTTP/1.1, where the connection is counted.
    fn hold_stream(&self) -> Option<Share> {
        if !self.state.is_http2.get() {
            return None;
        }
        Some(self.peer.account.hold_stream())
    }

    /// Calls the handler when other connections have had their turn.
    async fn call_handler_in_turn(&self, request: Request<Incoming>) -> Response<Body> {
        let poll_began = &self.state.now;
        let began = loop {
            let began_before = poll_began.get();
            tokio::task::yield_now().await;
            let now = clock::instant();
            // The first of the streams that wait here sets the beginning anew, and the others share its time.
            if poll_began.get() == began_before {
                poll_began.set(now);
            }
            if now - poll_began.get() < POLL_TIME_MAX {
                break now.into_std();
            }
        };
        let answer = self.handler.handle(request, &self.peer, began);
        answer.response().await
    }

    /// Calls the handler; a panic becomes a response.
    fn call_handler(&self, request: Request<Incoming>, began: Instant) -> HttpAnswer {
        // A panic leaves no inconsistent state: shared state is atomic, or replaced as a whole.
        let handled = catch_unwind(AssertUnwindSafe(|| {
            self.handler.handle(request, &self.peer, began)
        }));
        handled.unwrap_or_else(|panic| HttpAnswer::Now(self.panic_response(&*panic)))
    }

    /// Waits for a late answer; a panic becomes a response.
    async fn catch_late_panic(
        &self,
        mut answer: Pin<Box<dyn Future<Output = Response<Body>>>>,
    ) -> Response<Body> {
        poll_fn(|context| {
            let polled = catch_unwind(AssertUnwindSafe(|| answer.as_mut().poll(context)));
            polled.unwrap_or_else(|panic| Poll::Ready(self.panic_response(&*panic)))
        })
        .await
    }

    /// Logs a panic of the handler; returns the response, after which the connection is closed.
    fn panic_response(&self, panic: &(dyn Any + Send)) -> Response<Body> {
        let panic = panic_message(panic);
        error!(panic, "a request handler panicked; the client gets 500");
        let mut response = self.handler.internal_error();
        close(&mut response);
        response
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
        // Also of an answer that came in a later poll than its request.
        state.has_answered.set(true);
        response.map(|body| TrackedBody {
            body,
            state: Rc::clone(state),
            _share: share,
        })
    }
}

/// The response to a request, or what gives it later: what hyper polls.
#[allow(clippy::large_enum_variant, reason = "as for `HttpAnswer`")]
pub(super) enum ResponseFuture {
    /// `None` once it is taken.
    Now(Option<Response<TrackedBody>>),
    Later(Pin<Box<dyn Future<Output = Response<TrackedBody>>>>),
}

impl Future for ResponseFuture {
    type Output = Result<Response<TrackedBody>, Infallible>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut *self {
            ResponseFuture::Now(response) => match response.take() {
                Some(response) => Poll::Ready(Ok(response)),
                // hyper polls no future again that was ready.
                None => Poll::Pending,
            },
            ResponseFuture::Later(response) => response.as_mut().poll(context).map(Ok),
        }
    }
}

/// A request that is answered later; dropped with its stream if that is reset.
struct PendingRequest<H>(Rc<ConnectionService<H>>);

impl<H> Drop for PendingRequest<H> {
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
