//! What hyper calls for each request: the handler, guarded, counted and watched.

use std::any::Any;
use std::convert::Infallible;
use std::future::Future;
use std::mem;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};
use hyper::header::{CONNECTION, HeaderValue, STRICT_TRANSPORT_SECURITY};
use hyper::{Request, Response};
use tracing::error;

use crate::http::{Body, FastResponse};

use super::fairness::PollBudget;
use super::send::yield_now;
use super::state::{ConnectionState, Protocol};

/// Answers requests: `http::handle` in the server, smaller things in tests.
pub(super) trait Handler: Clone + Send + Sync + 'static {
    /// The reply to come.
    type Answer: Future<Output = Result<Response<Body>, Infallible>> + Unpin + Send + 'static;

    /// Begins to answer one request of the client at `peer`.
    fn begin(&self, request: Request<Incoming>, peer: SocketAddr) -> Self::Answer;

    /// Returns what `answer` has cost so far, as [`FastResponse::cost`] counts; it may grow with each poll.
    fn cost(&self, _answer: &Self::Answer) -> usize {
        1
    }

    /// Answers the simple request at the beginning of `bytes` by appending to `out`; its time is counted from `began`.
    /// `None` where that is for [`begin`](Handler::begin); then `out` does not count.
    fn respond_simple(
        &self,
        _bytes: &[u8],
        _peer: SocketAddr,
        _began: Instant,
        _out: &mut Vec<u8>,
    ) -> Option<FastResponse> {
        None
    }

    /// Returns the reply to a request whose handler panicked.
    fn broken(&self) -> Response<Body>;

    /// Notes that a peer got `status` for what was no request, or not in time: the protocol's answer, not ours.
    fn refused(&self, _status: u16) {}
}

/// The service of one connection.
#[derive(Debug)]
pub(super) struct Service<H> {
    link: Arc<Link<H>>,
}

/// What the replies of one connection share.
#[derive(Debug)]
struct Link<H> {
    handler: H,
    peer: SocketAddr,
    state: Arc<ConnectionState>,
    /// Requests after which the connection is closed.
    requests_max: u32,
    /// Strict-Transport-Security of every reply.
    hsts: Option<HeaderValue>,
    /// What was begun since other connections had their turn.
    turn: PollBudget,
}

impl<H: Handler> Service<H> {
    /// Returns the service of the connection to `peer`.
    pub(super) fn new(
        handler: H,
        peer: SocketAddr,
        state: Arc<ConnectionState>,
        requests_max: u32,
        hsts: Option<HeaderValue>,
    ) -> Service<H> {
        let link = Link {
            handler,
            peer,
            state,
            requests_max,
            hsts,
            turn: PollBudget::default(),
        };
        Service {
            link: Arc::new(link),
        }
    }
}

impl<H: Handler> hyper::service::Service<Request<Incoming>> for Service<H> {
    type Response = Response<Tracked>;
    type Error = Infallible;
    type Future = Reply<H>;

    fn call(&self, request: Request<Incoming>) -> Reply<H> {
        let link = &self.link;
        let count = link.state.note_request();
        let stage = match link.turn.is_over() {
            false => link.begin(request),
            true => Stage::Waiting(Box::new(request), None),
        };
        Reply {
            stage,
            link: Arc::clone(link),
            last: count >= link.requests_max,
            is_answered: false,
        }
    }
}

impl<H: Handler> Link<H> {
    /// Has the handler begin with `request`.
    fn begin(&self, request: Request<Incoming>) -> Stage<H> {
        // A handler owns nothing that a panic could leave half changed: shared state is swapped whole or atomic.
        let begin = || {
            let answer = self.handler.begin(request, self.peer);
            self.turn.add(self.handler.cost(&answer));
            answer
        };
        match catch_unwind(AssertUnwindSafe(begin)) {
            Ok(answer) => Stage::Begun(answer),
            Err(panic) => {
                report(panic.as_ref());
                Stage::Broken
            }
        }
    }
}

/// How far a request has come.
enum Stage<H: Handler> {
    /// It came when the turn was over; of this number is the turn in which it gave way.
    Waiting(Box<Request<Incoming>>, Option<usize>),
    /// The handler is working on it.
    Begun(H::Answer),
    /// The handler has panicked.
    Broken,
}

/// A reply that the handler is working on.
pub(super) struct Reply<H: Handler> {
    stage: Stage<H>,
    link: Arc<Link<H>>,
    /// The connection has had its share of requests.
    last: bool,
    is_answered: bool,
}

impl<H: Handler> Drop for Reply<H> {
    /// A stream that is reset drops its reply: no handler works on it any more.
    fn drop(&mut self) {
        if !self.is_answered {
            self.link.state.note_answer();
        }
    }
}

impl<H: Handler> Future for Reply<H> {
    type Output = Result<Response<Tracked>, Infallible>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        if let Stage::Waiting(_, gave_way) = &mut this.stage {
            let turn = &this.link.turn;
            if let Some(number) = *gave_way {
                turn.end(number);
            }
            if turn.is_over() {
                *gave_way = Some(turn.number());
                return yield_now(context);
            }
            if let Stage::Waiting(request, _) = mem::replace(&mut this.stage, Stage::Broken) {
                this.stage = this.link.begin(*request);
            }
        }
        let response = match &mut this.stage {
            Stage::Begun(answer) => {
                let handler = &this.link.handler;
                let before = handler.cost(answer);
                let polled =
                    catch_unwind(AssertUnwindSafe(|| Pin::new(&mut *answer).poll(context)));
                let cost = handler.cost(answer).saturating_sub(before);
                this.link.turn.add(cost);
                match polled {
                    Ok(Poll::Pending) => return Poll::Pending,
                    Ok(Poll::Ready(Ok(response))) => response,
                    Err(panic) => {
                        report(panic.as_ref());
                        this.stage = Stage::Broken;
                        this.broken()
                    }
                }
            }
            _ => this.broken(),
        };
        Poll::Ready(Ok(this.finish(response)))
    }
}

impl<H: Handler> Reply<H> {
    /// Returns the reply in place of one that a panic has eaten; the connection ends with it.
    fn broken(&self) -> Response<Body> {
        let mut response = self.link.handler.broken();
        close(&mut response);
        response
    }

    /// Notes the answer, and closes the connection if it is the last or says so.
    fn finish(&mut self, mut response: Response<Body>) -> Response<Tracked> {
        let state = &self.link.state;
        state.note_answer();
        self.is_answered = true;
        if self.last || state.is_leaving() {
            close(&mut response);
        }
        if let Some(hsts) = &self.link.hsts {
            let fields = response.headers_mut();
            fields.insert(STRICT_TRANSPORT_SECURITY, hsts.clone());
        }
        let http2 = state.protocol() == Protocol::Http2;
        if let Some(value) = response.headers().get(CONNECTION) {
            if value == "close" {
                state.note_closing();
            }
            if http2 {
                // RFC 9113 §8.2.2: there is no such field in HTTP/2; the connection ends by GOAWAY.
                response.headers_mut().remove(CONNECTION);
            }
        }
        let sending = http2.then(|| Sending::begin(state));
        response.map(|body| Tracked {
            body,
            _sending: sending,
        })
    }
}

/// Makes `response` the last of its connection.
fn close(response: &mut Response<Body>) {
    response
        .headers_mut()
        .insert(CONNECTION, HeaderValue::from_static("close"));
}

/// Logs a handler's panic, an error in reviewd.
pub(super) fn report(panic: &(dyn Any + Send)) {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    error!(
        panic = text.unwrap_or("of another type"),
        "a request handler panicked, its client got 500"
    );
}

/// A reply's body; on HTTP/2 it counts as owed until hyper lets go of it.
#[derive(Debug)]
pub(super) struct Tracked {
    body: Body,
    _sending: Option<Sending>,
}

impl HttpBody for Tracked {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Counts a body that hyper holds.
///
/// On HTTP/1.1 the socket itself tells that a peer is slow. On HTTP/2 the peer may close the window of a stream while
/// the socket is free, and only the body that hyper does not let go of shows it.
#[derive(Debug)]
struct Sending(Arc<ConnectionState>);

impl Sending {
    fn begin(state: &Arc<ConnectionState>) -> Sending {
        state.note_body();
        Sending(Arc::clone(state))
    }
}

impl Drop for Sending {
    fn drop(&mut self) {
        self.0.note_body_end();
    }
}

#[cfg(test)]
mod tests;
