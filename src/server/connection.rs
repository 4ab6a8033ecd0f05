//! Serves one connection, from accept to close.
//!
//! hyper serves it, and a [`ConnectionDeadline`] enforces the timeouts. Large futures are boxed, so that they cost no
//! memory before the first byte of the connection.

use std::cell::Cell;
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Poll, ready};
use std::time::Duration;

use hyper::header::HeaderValue;
use hyper::rt::Executor;
use hyper::server::conn::{http1, http2};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulConnection;
use tokio::net::TcpStream;
use tokio::task::spawn_local;
use tokio::time::error::Elapsed;
use tokio::time::{Instant, timeout_at};
use tokio_rustls::TlsAcceptor;

use crate::http::{HEAD_BYTES_MAX, HttpError};

use super::clock;
use super::config::{Config, ServerLimits};
use super::connections::ConnectionPermit;
use super::deadline::{ConnectionDeadline, Ending};
use super::io::{HttpStream, Socket, TransportStream};
use super::metrics::Counters;
use super::service::{ConnectionService, Handler};
use super::tls;

/// Largest read buffer of hyper. It has to hold a header block, and limits the memory that a slow sender can occupy.
const BUFFER_BYTES: usize = 32 * 1024;

/// Streams that an HTTP/2 peer may have open at a time.
const STREAMS_MAX: u32 = 16;

/// Streams that the peer may reset before they are accepted; one more ends the connection (CVE-2023-44487).
const RESETS_MAX: usize = 20;

/// What a peer may send on one stream before the server has read it. The largest accepted body needs 16 round trips.
const STREAM_WINDOW_BYTES: u32 = 64 * 1024;

/// What a peer may send on all streams of a connection together before the server has read it.
const CONNECTION_WINDOW_BYTES: u32 = 256 * 1024;

/// Bytes of a response that hyper copies for each stream before the peer's window lets it send them.
const SEND_BUFFER_BYTES: usize = 64 * 1024;

/// Streams that the server may reset for the peer's errors; one more ends the connection (CVE-2025-8671).
const LOCAL_RESETS_MAX: usize = 1_024;

/// Time without a frame after which an HTTP/2 peer is pinged.
const PING_INTERVAL: Duration = Duration::from_secs(10);

/// How long the peer may take to answer a ping before its connection is closed.
const PING_TIMEOUT: Duration = Duration::from_secs(5);

/// How long an idle connection stays open after shutdown begins, but at most half of the drain time: time for a request
/// that is already on its way, which is answered as the last one of the connection. Our choice: more than a round trip.
const FAREWELL: Duration = Duration::from_secs(1);

/// The first byte of every TLS handshake (RFC 8446 §5.1).
const HANDSHAKE: u8 = 22;

/// The connection preface of an HTTP/2 client with prior knowledge (RFC 9113 §3.4).
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Bytes of the preface that identify HTTP/2: no HTTP/1.1 method begins with them (RFC 7540 §11.6).
const PREFACE_MIN: usize = 3;

/// The state that all connections of a server share.
pub(super) struct Protocols<H> {
    handler: H,
    limits: Arc<ServerLimits>,
    /// [`FAREWELL`], at most half of the drain time.
    farewell: Duration,
    counters: Arc<Counters>,
    /// `None` if connections do not use TLS.
    tls: Option<TlsAcceptor>,
    /// Strict-Transport-Security, which is sent only under TLS (RFC 6797 §7.2); `None` to send none.
    hsts: Option<HeaderValue>,
    http1: http1::Builder,
    http2: http2::Builder<LocalExecutor>,
}

/// Runs the streams of HTTP/2 on the thread of their connection.
#[derive(Clone, Copy)]
struct LocalExecutor;

impl<F: Future<Output: 'static> + 'static> Executor<F> for LocalExecutor {
    fn execute(&self, stream: F) {
        spawn_local(stream);
    }
}

impl<H: Handler> Protocols<H> {
    /// Configures hyper with the limits of `config`; every relevant option is set explicitly.
    pub(super) fn new(
        handler: H,
        config: &Config,
        tls: Option<TlsAcceptor>,
        counters: Arc<Counters>,
    ) -> Protocols<H> {
        let mut http1 = http1::Builder::new();
        http1
            .keep_alive(true)
            .half_close(true)
            .max_header_size(HEAD_BYTES_MAX as usize)
            .max_buf_size(BUFFER_BYTES)
            // `ConnectionDeadline` replaces hyper's timer, which would be set for every request.
            .header_read_timeout(None)
            .pipeline_flush(false)
            // `http` writes it.
            .auto_date_header(false);
        let mut http2 = http2::Builder::new(LocalExecutor);
        http2
            .timer(TokioTimer::new())
            .max_concurrent_streams(STREAMS_MAX)
            .initial_stream_window_size(STREAM_WINDOW_BYTES)
            .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
            .max_send_buf_size(SEND_BUFFER_BYTES)
            .max_pending_accept_reset_streams(RESETS_MAX)
            .max_local_error_reset_streams(LOCAL_RESETS_MAX)
            .max_header_list_size(HEAD_BYTES_MAX)
            .keep_alive_interval(PING_INTERVAL)
            .keep_alive_timeout(PING_TIMEOUT)
            // `http` writes it.
            .auto_date_header(false);
        Protocols {
            handler,
            limits: Arc::new(config.limits.clone()),
            farewell: FAREWELL.min(config.drain_time / 2),
            counters,
            hsts: if tls.is_some() { config.hsts() } else { None },
            tls,
            http1,
            http2,
        }
    }

    /// Serves the connection `stream` until it ends. A peer that closes it before the first byte, or does not send one
    /// in time, gets no response.
    pub(super) async fn serve(self: Arc<Self>, stream: TcpStream, permit: ConnectionPermit) {
        let accepted = clock::instant();
        let mut buffer = [0; PREFACE.len()];
        let peek = stream.peek(&mut buffer);
        // Otherwise the server stops, the first byte is late, the socket has failed, or the peer has closed it.
        let Some(Ok(Ok(length @ 1..))) = self.within_head_time(accepted, &permit, peek).await
        else {
            return;
        };
        let first = &buffer[..length];
        let limits = Arc::clone(&self.limits);
        let deadline = ConnectionDeadline::new(accepted, limits, self.farewell, permit);
        let state = Rc::clone(&deadline.state);
        let socket = Socket { stream, state };
        deadline.state.is_tls.set(self.tls.is_some());
        match self.tls.clone() {
            None => {
                let is_http2 = first.len() >= PREFACE_MIN && PREFACE.starts_with(first);
                deadline.state.is_http2.set(is_http2);
                Box::pin(self.serve_stream(socket, deadline)).await;
            }
            Some(acceptor) if first[0] == HANDSHAKE => {
                // Handshake and first head share one timeout; shutdown cancels the handshake.
                let handshake = Box::pin(acceptor.accept(socket));
                let shaken = self.within_head_time(accepted, &deadline.permit, handshake);
                let Some(result) = shaken.await else {
                    return;
                };
                let Ok(Ok(stream)) = result else {
                    // A timeout, or a TLS error, of which rustls has sent the alert.
                    self.counters.handshake_failures.inc();
                    return;
                };
                let is_http2 = stream.get_ref().1.alpn_protocol() == Some(tls::H2);
                deadline.state.is_http2.set(is_http2);
                Box::pin(self.serve_stream(stream, deadline)).await;
            }
            Some(_) => {
                self.handler
                    .record_refusal(deadline.permit.address(), HttpError::Plaintext);
                let stream = HttpStream::new(socket, deadline.state);
                Box::pin(stream.respond_and_close(HttpError::Plaintext)).await;
            }
        }
    }

    /// Waits for `event` until the timeout of the first head; `None` if the connection must close before.
    async fn within_head_time<T>(
        &self,
        accepted: Instant,
        permit: &ConnectionPermit,
        event: impl Future<Output = T>,
    ) -> Option<Result<T, Elapsed>> {
        let event = timeout_at(accepted + self.limits.header_time, event);
        permit.unless_leaving(event, self.farewell).await
    }

    /// Serves the stream with hyper, in the detected protocol.
    async fn serve_stream<S: TransportStream>(
        self: Arc<Self>,
        stream: S,
        mut deadline: ConnectionDeadline,
    ) {
        let state = Rc::clone(&deadline.state);
        // If the connection must close already, the next request is answered as the last one.
        state.is_leaving.set(deadline.permit.leave().is_some());
        let service = ConnectionService {
            handler: self.handler.clone(),
            peer: deadline.permit.peer(),
            state: Rc::clone(&state),
            requests_left: Cell::new(self.limits.connection_requests),
            hsts: self.hsts.clone(),
        };
        let io = TokioIo::new(HttpStream::new(stream, Rc::clone(&state)));
        if state.is_http2.get() {
            let mut connection = Box::pin(self.http2.serve_connection(io, service.into_hyper()));
            if let Err(ending) = drive(connection.as_mut(), &mut deadline).await {
                self.counters.count_ending(ending);
                state.is_reset.set(ending != Ending::Idle);
            }
            return;
        }
        let mut connection = Box::pin(self.http1.serve_connection(io, service.into_hyper()));
        // Not by `poll_without_shutdown`, which is ready while a response is still unsent.
        let ended = drive(connection.as_mut(), &mut deadline).await;
        let io = Pin::into_inner(connection).into_parts().io.into_inner();
        Box::pin(self.end_http1(io, &deadline, ended)).await;
    }

    /// Closes an HTTP/1.1 connection after hyper has ended it, or a deadline has passed: in an orderly way, after our own
    /// response to a head that is invalid or late, or by a reset.
    async fn end_http1<S: TransportStream>(
        &self,
        io: HttpStream<S>,
        deadline: &ConnectionDeadline,
        ended: Result<hyper::Result<()>, Ending>,
    ) {
        let peer = deadline.permit.address();
        match ended {
            Ok(result) => {
                // Errors of hyper are caused by the peer.
                let error = result.err().and_then(|error| head_error(&error));
                if let Some(error) = error {
                    self.handler.record_refusal(peer, error.clone());
                    if io.has_dropped_response {
                        return io.respond_and_close(error).await;
                    }
                }
                // An evicted connection is closed at once, because a new connection has its place already.
                if !deadline.permit.is_evicted() {
                    io.linger().await;
                }
            }
            Err(ending) => {
                self.counters.count_ending(ending);
                if ending == Ending::HeadTimeout {
                    self.handler.record_refusal(peer, HttpError::HeadTime);
                    return io.respond_and_close(HttpError::HeadTime).await;
                }
                deadline.state.is_reset.set(ending != Ending::Idle);
            }
        }
    }
}

/// Returns our error for a head that hyper has refused; `None` if the connection broke.
fn head_error(error: &hyper::Error) -> Option<HttpError> {
    if error.is_parse_too_large() {
        Some(HttpError::HeadBytes)
    } else if error.is_parse() {
        Some(HttpError::Malformed)
    } else {
        None
    }
}

/// Polls a hyper connection until it ends, or fails with how it has to end because its deadline has passed.
async fn drive<C: GracefulConnection>(
    mut connection: Pin<&mut C>,
    deadline: &mut ConnectionDeadline,
) -> Result<Result<(), C::Error>, Ending> {
    poll_fn(|context| {
        loop {
            deadline.tick();
            let was_blocked = deadline.state.is_blocked.get();
            if let Poll::Ready(ended) = connection.as_mut().poll(context) {
                return Poll::Ready(Ok(ended));
            }
            // hyper 1.12 forgets a request that it has read while the socket was full, until it is polled again.
            if was_blocked && !deadline.state.is_blocked.get() {
                continue;
            }
            match ready!(deadline.poll(context)) {
                Ok(()) => connection.as_mut().graceful_shutdown(),
                Err(ending) => return Poll::Ready(Err(ending)),
            }
        }
    })
    .await
}

#[cfg(test)]
mod tests;
