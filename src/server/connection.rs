//! One connection from its acceptance to its end.
//!
//! hyper serves it, and a [`ConnectionDeadline`] enforces the timeouts beside. All that is large is boxed, so that a
//! connection that has not sent a byte costs none of it.

use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::header::HeaderValue;
use hyper::server::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::time::error::Elapsed;
use tokio::time::{Instant, timeout_at};
use tokio_rustls::TlsAcceptor;

use crate::http::HttpError;

use super::clock;
use super::config::{Config, Limits};
use super::connections::{ConnectionPermit, Leave};
use super::counters::Counters;
use super::deadline::{ConnectionDeadline, DeadlineAction, Ending};
use super::io::{Replaced, Socket, Stream};
use super::service::{Handler, Link};
use super::tls;

/// hyper's read buffer at its largest; it has to hold a header block, and bounds what a slow sender can occupy.
const BUFFER_BYTES: usize = 32 * 1024;

/// What a peer may send on one stream before we have read it; the largest body that we accept needs 16 rounds.
const STREAM_WINDOW_BYTES: u32 = 64 * 1024;

/// The same for all the streams of a connection together.
const CONNECTION_WINDOW_BYTES: u32 = 256 * 1024;

/// Response bytes that hyper copies ahead of the peer's window, for each stream.
const SEND_BUFFER_BYTES: usize = 64 * 1024;

/// Streams that we had to reset for the peer's errors; one more ends the connection (CVE-2025-8671).
const LOCAL_RESETS_MAX: usize = 1_024;

/// Silence after which an HTTP/2 peer is pinged.
const PING_INTERVAL: Duration = Duration::from_secs(10);

/// How long the peer may take to answer a ping before its connection is closed.
const PING_TIMEOUT: Duration = Duration::from_secs(5);

/// How long an idle connection stays open when the server begins to stop: a request that is on its way by then is
/// answered, and told that it is the last. At most half of the drain time. Our choice: more than a round trip.
const FAREWELL: Duration = Duration::from_secs(1);

/// The first byte of every TLS handshake (RFC 8446 §5.1).
const HANDSHAKE: u8 = 22;

/// What an HTTP/2 client with prior knowledge sends first, and no client of HTTP/1.1 (RFC 9113 §3.4).
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Bytes of the preface that tell HTTP/2: no method of HTTP/1.1 begins so (RFC 7540 §11.6), and clients send it whole.
const PREFACE_MIN: usize = 3;

/// What all connections of a server share.
pub(super) struct Protocols<H> {
    handler: H,
    limits: Arc<Limits>,
    farewell: Duration,
    counters: Arc<Counters>,
    /// `None` where HTTP is spoken without TLS.
    tls: Option<TlsAcceptor>,
    /// Strict-Transport-Security, under TLS alone (RFC 6797 §7.2).
    hsts: Option<HeaderValue>,
    http1: http1::Builder,
    http2: http2::Builder<TokioExecutor>,
}

impl<H: Handler> Protocols<H> {
    /// Prepares hyper for the limits of `config`; every option that matters is written out.
    pub(super) fn new(
        handler: H,
        config: &Config,
        tls: Option<TlsAcceptor>,
        counters: Arc<Counters>,
    ) -> Protocols<H> {
        let limits = &config.limits;
        let mut http1 = http1::Builder::new();
        http1
            .keep_alive(true)
            .half_close(true)
            .max_header_size(limits.header_bytes)
            .max_buf_size(BUFFER_BYTES.max(limits.header_bytes * 2))
            // `ConnectionDeadline` has better timers, and without hyper's a request costs no timer at all.
            .header_read_timeout(None)
            .pipeline_flush(false)
            .auto_date_header(true);
        let mut http2 = http2::Builder::new(TokioExecutor::new());
        http2
            .timer(TokioTimer::new())
            .max_concurrent_streams(limits.http2_streams)
            .initial_stream_window_size(STREAM_WINDOW_BYTES)
            .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
            .max_send_buf_size(SEND_BUFFER_BYTES)
            .max_pending_accept_reset_streams(limits.http2_resets)
            .max_local_error_reset_streams(LOCAL_RESETS_MAX)
            .max_header_list_size(u32::try_from(limits.header_bytes).unwrap_or(u32::MAX))
            .keep_alive_interval(PING_INTERVAL)
            .keep_alive_timeout(PING_TIMEOUT)
            .auto_date_header(true);
        Protocols {
            handler,
            limits: Arc::new(limits.clone()),
            farewell: FAREWELL.min(config.drain_time / 2),
            counters,
            hsts: config.hsts().filter(|_| tls.is_some()),
            tls,
            http1,
            http2,
        }
    }

    /// Serves the connection `stream` until it ends. A peer that ends it before its first byte, or does not send one in
    /// time, is told nothing.
    pub(super) async fn serve(
        self: Arc<Self>,
        stream: TcpStream,
        peer: SocketAddr,
        permit: ConnectionPermit,
    ) {
        let accepted = clock::instant();
        permit.register().await;
        let mut first = [0; PREFACE.len()];
        let begun = self.first(accepted, &permit, stream.peek(&mut first));
        let Some(Ok(Ok(length @ 1..))) = begun.await else {
            return;
        };
        let first = &first[..length];
        let limits = Arc::clone(&self.limits);
        let deadline = ConnectionDeadline::new(accepted, limits, self.farewell, permit);
        let socket = Socket::new(stream, Arc::clone(&deadline.state));
        match self.tls.clone() {
            None => {
                if first.len() >= PREFACE_MIN && PREFACE.starts_with(first) {
                    deadline.state.is_http2.set(true);
                }
                Box::pin(self.serve_stream(socket, peer, deadline)).await;
            }
            Some(acceptor) if first[0] == HANDSHAKE => {
                let handshake = self.serve_tls(acceptor, accepted, socket, peer, deadline);
                Box::pin(handshake).await;
            }
            Some(_) => {
                self.handler.refused(400);
                let stream = Replaced {
                    stream: socket,
                    state: deadline.state,
                };
                Box::pin(stream.refuse(HttpError::Plaintext)).await;
            }
        }
    }

    /// Waits for `event` at most as long as a first head may take; `None` if the connection is to leave before.
    async fn first<T>(
        &self,
        accepted: Instant,
        permit: &ConnectionPermit,
        event: impl Future<Output = T>,
    ) -> Option<Result<T, Elapsed>> {
        let event = timeout_at(accepted + self.limits.header_time, event);
        permit.unless_leaving(event, self.farewell).await
    }

    /// Shakes hands and serves; the handshake has its time together with the first head, and a server that drains
    /// begins none and ends those that are under way.
    async fn serve_tls(
        self: Arc<Self>,
        acceptor: TlsAcceptor,
        accepted: Instant,
        socket: Socket,
        peer: SocketAddr,
        deadline: ConnectionDeadline,
    ) {
        let handshake = self.first(accepted, &deadline.permit, acceptor.accept(socket));
        let Some(result) = handshake.await else {
            return;
        };
        let Ok(Ok(stream)) = result else {
            // Too late, or nothing that we can agree on; rustls has told the peer what.
            self.counters.handshake_failures.count();
            return;
        };
        if stream.get_ref().1.alpn_protocol() == Some(tls::H2) {
            deadline.state.is_http2.set(true);
        }
        self.serve_stream(stream, peer, deadline).await;
    }

    /// Serves by hyper in the protocol that was found.
    async fn serve_stream<S: Stream>(
        self: Arc<Self>,
        stream: S,
        peer: SocketAddr,
        mut deadline: ConnectionDeadline,
    ) {
        let state = Arc::clone(&deadline.state);
        // What was read before hyper has it is answered and is the last.
        if deadline.permit.leave().is_some() {
            state.is_leaving.set(true);
        }
        let link = Link {
            handler: self.handler.clone(),
            peer,
            state: Arc::clone(&state),
            requests: AtomicU32::new(0),
            requests_max: self.limits.connection_requests,
            hsts: self.hsts.clone(),
        };
        let io = TokioIo::new(Replaced {
            stream,
            state: Arc::clone(&state),
        });
        if state.is_http2.get() {
            let mut connection = Box::pin(self.http2.serve_connection(io, link.service()));
            let ended = drive(
                &mut connection,
                &mut deadline,
                |connection, context| connection.as_mut().poll(context),
                |connection| connection.as_mut().graceful_shutdown(),
            );
            if let Err(ending @ (Ending::SlowReader | Ending::Stalled | Ending::HeadTimeout)) =
                ended.await
            {
                self.counters.count_ending(ending);
                state.is_reset.set(true);
            }
            return;
        }
        let mut connection = Box::pin(self.http1.serve_connection(io, link.service()));
        // Not `poll_without_shutdown`: that one is ready while a response is still unsent.
        let ended = drive(
            &mut connection,
            &mut deadline,
            |connection, context| connection.as_mut().poll(context),
            |connection| connection.as_mut().graceful_shutdown(),
        );
        let ending = match ended.await {
            Ok(result) => {
                self.note_refusal(result.err());
                None
            }
            Err(ending) => Some(ending),
        };
        let io = Pin::into_inner(connection).into_parts().io.into_inner();
        Box::pin(self.end_http1(io, &deadline, ending)).await;
    }

    /// Closes a connection of HTTP/1.1 in good order, or as the deadline that has passed demands.
    async fn end_http1<S: Stream>(
        &self,
        io: Replaced<S>,
        deadline: &ConnectionDeadline,
        ending: Option<Ending>,
    ) {
        match ending {
            // Another connection has its place already.
            None if deadline.permit.leave() == Some(Leave::Evicted) => {}
            None => io.linger().await,
            Some(Ending::Idle) => {}
            Some(Ending::HeadTimeout) => {
                self.counters.count_ending(Ending::HeadTimeout);
                self.handler.refused(408);
                io.refuse(HttpError::HeadTime).await;
            }
            Some(ending) => {
                self.counters.count_ending(ending);
                deadline.state.is_reset.set(true);
            }
        }
    }

    /// Notes what hyper has answered by itself to bytes that are no request. Its errors are the peer's: it has answered
    /// what can be answered, and closed.
    fn note_refusal(&self, error: Option<hyper::Error>) {
        match error {
            Some(error) if error.is_parse_too_large() => self.handler.refused(431),
            Some(error) if error.is_parse() => self.handler.refused(400),
            _ => {}
        }
    }
}

/// Polls a connection of hyper's until it ends, or its deadline does that.
async fn drive<C, T>(
    connection: &mut C,
    deadline: &mut ConnectionDeadline,
    mut poll: impl FnMut(&mut C, &mut Context<'_>) -> Poll<T>,
    mut graceful_shutdown: impl FnMut(&mut C),
) -> Result<T, Ending> {
    poll_fn(|context| {
        loop {
            deadline.tick();
            let was_blocked = deadline.state.is_blocked.get();
            if let Poll::Ready(ended) = poll(connection, context) {
                return Poll::Ready(Ok(ended));
            }
            // hyper 1.12 forgets a request that it has read while the socket was full.
            if was_blocked && !deadline.state.is_blocked.get() {
                continue;
            }
            match ready!(deadline.poll(context)) {
                DeadlineAction::GracefulShutdown => graceful_shutdown(connection),
                DeadlineAction::Abort(ending) => return Poll::Ready(Err(ending)),
            }
        }
    })
    .await
}

#[cfg(test)]
mod tests;
