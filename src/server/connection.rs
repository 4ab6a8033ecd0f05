//! One connection from its acceptance to its end.
//!
//! hyper serves it, and a [`ConnectionDeadline`] enforces the timeouts beside. All that is large is boxed, so that a
//! connection that has not sent a byte costs none of it.

use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::header::HeaderValue;
use hyper::server::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::time::timeout_at;
use tokio_rustls::TlsAcceptor;

use crate::http::HttpError;

use super::clock;
use super::config::Config;
use super::connections::{ConnectionPermit, Leave};
use super::counters::Counters;
use super::deadline::{ConnectionDeadline, DeadlineAction};
use super::io::{Socket, Stream, Watched};
use super::service::{Handler, Link, PollBudget};
use super::state::{ConnectionState, Ending, Protocol, Timeouts};
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

/// What all connections of a server share.
pub(super) struct Protocols<H> {
    handler: H,
    timeouts: Timeouts,
    requests_max: u32,
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
            // The watch has better timers, and without hyper's a request costs no timer at all.
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
            timeouts: Timeouts {
                head: limits.header_time,
                idle: limits.idle_time,
                stall: limits.stall_time,
                rate_min: limits.rate_min,
                rate_time: limits.rate_time,
                farewell: FAREWELL.min(config.drain_time / 2),
            },
            requests_max: limits.connection_requests,
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
        mut permit: ConnectionPermit,
    ) {
        let accepted = clock::instant();
        let until = accepted + self.timeouts.head;
        let mut first = [0];
        let begun = timeout_at(until, async {
            match self.tls {
                Some(_) => stream.peek(&mut first).await.is_ok_and(|length| length > 0),
                None => stream.readable().await.is_ok(),
            }
        });
        let farewell = self.timeouts.farewell;
        if permit.unless_leaving(begun, farewell).await != Some(Ok(true)) {
            return;
        }
        let state = Arc::new(ConnectionState::new(Protocol::Http1, accepted));
        let deadline = ConnectionDeadline::new(Arc::clone(&state), self.timeouts, permit);
        match self.tls.clone() {
            None => Box::pin(self.serve_plain(stream, peer, deadline)).await,
            Some(acceptor) => {
                let socket = Socket::new(stream, Arc::clone(&state), Vec::new());
                if first == [HANDSHAKE] {
                    Box::pin(self.serve_tls(acceptor, socket, peer, deadline)).await;
                } else {
                    self.handler.refused(400);
                    let refused = Watched::new(socket, state).refuse(HttpError::Plaintext);
                    Box::pin(refused).await;
                }
            }
        }
    }

    /// Serves a connection without TLS, whose first bytes tell its protocol.
    async fn serve_plain(
        self: Arc<Self>,
        mut stream: TcpStream,
        peer: SocketAddr,
        mut deadline: ConnectionDeadline,
    ) {
        let mut first = Vec::new();
        let until = deadline.state.accepted() + self.timeouts.head;
        let found = timeout_at(until, detect(&mut stream, &mut first));
        let farewell = self.timeouts.farewell;
        match deadline.permit.unless_leaving(found, farewell).await {
            Some(Ok(Some(Protocol::Http2))) => deadline.state.note_http2(),
            Some(Ok(Some(Protocol::Http1))) => {}
            _ => return,
        }
        let socket = Socket::new(stream, Arc::clone(&deadline.state), first);
        self.serve_stream(socket, peer, deadline).await;
    }

    /// Shakes hands and serves; the handshake has its time together with the first head, and a server that drains
    /// begins none and ends those that are under way.
    async fn serve_tls(
        self: Arc<Self>,
        acceptor: TlsAcceptor,
        socket: Socket,
        peer: SocketAddr,
        mut deadline: ConnectionDeadline,
    ) {
        let until = deadline.state.accepted() + self.timeouts.head;
        let handshake = timeout_at(until, acceptor.accept(socket));
        let farewell = self.timeouts.farewell;
        let Some(result) = deadline.permit.unless_leaving(handshake, farewell).await else {
            return;
        };
        let Ok(Ok(stream)) = result else {
            // Too late, or nothing that we can agree on; rustls has told the peer what.
            self.counters.handshake_failures.count();
            return;
        };
        if stream.get_ref().1.alpn_protocol() == Some(tls::H2) {
            deadline.state.note_http2();
        }
        deadline.tick();
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
        if deadline.is_leaving() {
            state.note_leaving();
        }
        let link = Link {
            handler: self.handler.clone(),
            peer,
            state: Arc::clone(&state),
            requests_max: self.requests_max,
            hsts: self.hsts.clone(),
            budget: PollBudget::default(),
        };
        let io = TokioIo::new(Watched::new(stream, Arc::clone(&state)));
        if state.protocol() == Protocol::Http2 {
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
                state.note_reset();
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
        io: Watched<S>,
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
                deadline.state.note_reset();
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
            if let Poll::Ready(ended) = poll(connection, context) {
                return Poll::Ready(Ok(ended));
            }
            match ready!(deadline.poll(context)) {
                DeadlineAction::GracefulShutdown => graceful_shutdown(connection),
                DeadlineAction::Abort(ending) => return Poll::Ready(Err(ending)),
            }
        }
    })
    .await
}

/// Tells the protocol from `first`, what was read so far, and reads on where that does not tell it; `None` if the peer
/// closed or broke off.
async fn detect(stream: &mut TcpStream, first: &mut Vec<u8>) -> Option<Protocol> {
    loop {
        if first.starts_with(PREFACE) {
            return Some(Protocol::Http2);
        } else if !PREFACE.starts_with(first) {
            return Some(Protocol::Http1);
        }
        let mut more = [0; PREFACE.len()];
        match stream.read(&mut more).await {
            Ok(0) | Err(_) => return None,
            Ok(length) => first.extend_from_slice(&more[..length]),
        }
    }
}

#[cfg(test)]
mod tests;
