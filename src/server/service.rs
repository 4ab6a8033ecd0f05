//! What hyper calls for each request: the handler, guarded, counted, and fair to other connections.

use std::any::Any;
use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};
use hyper::header::{CONNECTION, HeaderValue, STRICT_TRANSPORT_SECURITY};
use hyper::service::{Service, service_fn};
use hyper::{Request, Response};
use tracing::error;

use crate::clock;
use crate::http::Body;

use super::state::{ConnectionState, Protocol};

/// The cost, in stored documents, after which a connection yields to others, also while more requests wait: 8 responses
/// that are made for one request. A search may take a millisecond, and 128 of those would keep others waiting for a tenth
/// of a second.
const POLL_COST_MAX: usize = 128;

/// Microseconds that cost as much as a stored document, most of which the kernel takes.
const DOCUMENT_US: u128 = 8;

/// Returns how many stored documents so much time would have served.
fn documents(elapsed: Duration) -> usize {
    usize::try_from(elapsed.as_micros() / DOCUMENT_US).unwrap_or(usize::MAX)
}

/// Answers requests: `http::handle` in the server, metrics for the administrator, smaller things in tests.
pub(super) trait Handler: Clone + Send + Sync + 'static {
    /// Answers one request of the client at `peer`.
    fn handle(
        &self,
        request: Request<Incoming>,
        peer: SocketAddr,
    ) -> impl Future<Output = Response<Body>> + Send;

    /// Returns the response to a request whose handler panicked.
    fn internal_error(&self) -> Response<Body>;

    /// Notes that a peer got `status` for what was no request, or not in time: the protocol's answer, not ours.
    fn refused(&self, _status: u16) {}
}

/// What the responses of one connection share.
#[derive(Debug)]
pub(super) struct Link<H> {
    pub(super) handler: H,
    pub(super) peer: SocketAddr,
    pub(super) state: Arc<ConnectionState>,
    /// Requests after which the connection is closed.
    pub(super) requests_max: u32,
    /// Strict-Transport-Security of every response.
    pub(super) hsts: Option<HeaderValue>,
    pub(super) budget: PollBudget,
}

impl<H: Handler> Link<H> {
    /// Returns the service of the connection.
    pub(super) fn service(
        self,
    ) -> impl Service<
        Request<Incoming>,
        Response = Response<Tracked>,
        Error = Infallible,
        Future: Send + 'static,
    > {
        let link = Arc::new(self);
        service_fn(move |request| {
            let link = Arc::clone(&link);
            let is_last = link.state.note_request() >= link.requests_max;
            let handling = Handling(Arc::clone(&link.state));
            async move {
                link.budget.wait().await;
                let response = link.handle(request).await;
                drop(handling);
                Ok(link.finish(response, is_last))
            }
        })
    }

    async fn handle(&self, request: Request<Incoming>) -> Response<Body> {
        // A handler owns nothing that a panic could leave half changed: shared state is swapped whole or atomic.
        let mut response = pin!(async { self.handler.handle(request, self.peer).await });
        poll_fn(|context| {
            let began = clock::instant();
            let polled = catch_unwind(AssertUnwindSafe(|| response.as_mut().poll(context)));
            self.budget.add(1 + documents(began.elapsed()));
            polled.unwrap_or_else(|panic| {
                report_panic(panic.as_ref());
                let mut response = self.handler.internal_error();
                close(&mut response);
                Poll::Ready(response)
            })
        })
        .await
    }

    /// Closes the connection if the response is the last or says so.
    fn finish(&self, mut response: Response<Body>, is_last: bool) -> Response<Tracked> {
        let state = &self.state;
        if is_last || state.is_leaving() {
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
        let mut body_of = None;
        if state.protocol() == Protocol::Http2 {
            // RFC 9113 §8.2.2: there is no such field in HTTP/2; the connection ends by GOAWAY.
            headers.remove(CONNECTION);
            state.note_body();
            body_of = Some(Arc::clone(state));
        }
        response.map(|body| Tracked { body, body_of })
    }
}

/// Makes `response` the last of its connection.
fn close(response: &mut Response<Body>) {
    let close = HeaderValue::from_static("close");
    response.headers_mut().insert(CONNECTION, close);
}

/// A request that is being answered. A stream that is reset drops it.
struct Handling(Arc<ConnectionState>);

impl Drop for Handling {
    fn drop(&mut self) {
        self.0.note_answer();
    }
}

/// Logs a handler's panic, an error in reviewd.
fn report_panic(panic: &(dyn Any + Send)) {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    error!(
        panic = text.unwrap_or("of another type"),
        "a request handler panicked, its client got 500"
    );
}

/// How much hyper may answer on one connection before others are polled.
///
/// tokio looks at the sockets after 61 polls of tasks, and hyper answers 16 requests in each; so a row of pipelined
/// requests, or the streams of HTTP/2, would keep all other connections of a thread waiting for up to 976 answers.
#[derive(Debug, Default)]
pub(super) struct PollBudget {
    /// What the connection has cost since others were polled.
    cost: AtomicUsize,
    /// How often others were polled since.
    rounds: AtomicUsize,
}

impl PollBudget {
    fn add(&self, cost: usize) {
        let sum = self.cost.load(Relaxed).saturating_add(cost);
        self.cost.store(sum, Relaxed);
    }

    /// Waits, where the budget is used up, until others were polled; of the streams that wait for that the first begins
    /// a new round, and the others see what it has used.
    async fn wait(&self) {
        while self.cost.load(Relaxed) >= POLL_COST_MAX {
            let round = self.rounds.load(Relaxed);
            tokio::task::yield_now().await;
            if self.rounds.load(Relaxed) == round {
                self.rounds.store(round.wrapping_add(1), Relaxed);
                self.cost.store(0, Relaxed);
            }
        }
    }
}

/// The body of a response. On HTTP/1.1 the socket itself tells that a peer is slow. On HTTP/2 the peer may close the
/// window of a stream while the socket is free, and only the body that hyper does not let go of shows it.
#[derive(Debug)]
pub(super) struct Tracked {
    body: Body,
    body_of: Option<Arc<ConnectionState>>,
}

impl Drop for Tracked {
    fn drop(&mut self) {
        if let Some(state) = &self.body_of {
            state.note_body_end();
        }
    }
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

#[cfg(test)]
mod tests;
