//! One connection from its acceptance to its end: the fast path and then hyper speak the protocol, and a
//! [`ConnectionDeadline`] enforces the timeouts beside them.

use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use hyper::header::HeaderValue;
use hyper::server::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tokio::net::TcpStream;
use tokio::time::timeout_at;
use tokio_rustls::TlsAcceptor;

use crate::http::{ProtocolError, protocol_error};

use super::clock;
use super::config::Config;
use super::connections::ConnectionPermit;
use super::counters::Counters;
use super::deadline::{ConnectionDeadline, DeadlineAction};
use super::fast::{Exit, FastPath, FastPathConfig};
use super::io::{Socket, Stream, Watched};
use super::preface;
use super::service::{Handler, Service};
use super::state::{ConnectionState, Ending, Protocol, Timeouts};
use super::tls;

/// hyper's read buffer at its largest; it has to hold a header block, and bounds what a slow sender can occupy.
const BUFFER_BYTES: usize = 32 * 1024;

/// What a peer may send on one stream before we have read it; the largest body that we accept needs 16 rounds.
const STREAM_WINDOW_BYTES: u32 = 64 * 1024;

/// The same for all the streams of a connection together.
const CONNECTION_WINDOW_BYTES: u32 = 256 * 1024;

/// Reply bytes that hyper copies ahead of the peer's window, for each stream.
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

/// What all connections of a server share.
pub(super) struct Protocols<H> {
    handler: H,
    timeouts: Timeouts,
    requests_max: u32,
    header_bytes: usize,
    /// Begin on the fast path.
    fast_path: bool,
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
            header_bytes: limits.header_bytes,
            fast_path: config.fast_path,
            counters,
            hsts: config.hsts().filter(|_| tls.is_some()),
            tls,
            http1,
            http2,
        }
    }

    /// Serves the connection `stream` until it ends.
    pub(super) async fn serve(
        self: Arc<Self>,
        stream: TcpStream,
        peer: SocketAddr,
        mut permit: ConnectionPermit,
    ) {
        let accepted = clock::instant();
        let until = accepted + self.timeouts.head;
        // An error or an end before the first byte is the peer's business; there is nothing to answer. All that is
        // large is boxed, so that a connection that has not said a word costs none of it.
        if let Some(acceptor) = self.tls.clone() {
            let first = preface::first_byte(&stream, until);
            if let Some(Ok(Some(first))) =
                permit.unless_leaving(first, self.timeouts.farewell).await
            {
                let state = Arc::new(ConnectionState::new(Protocol::Http1, accepted));
                let socket = Socket::new(stream, Arc::clone(&state));
                match first {
                    HANDSHAKE => {
                        let deadline = ConnectionDeadline::new(state, self.timeouts, permit);
                        Box::pin(self.serve_tls(acceptor, socket, peer, deadline)).await;
                    }
                    _ => {
                        self.handler.refused(400);
                        Box::pin(preface::refuse_plain(socket, state)).await;
                    }
                }
            }
            return;
        }
        if !self.fast_path {
            let state = Arc::new(ConnectionState::new(Protocol::Http1, accepted));
            let deadline = ConnectionDeadline::new(state, self.timeouts, permit);
            return Box::pin(self.serve_plain(stream, Vec::new(), peer, deadline)).await;
        }
        let readable = timeout_at(until, stream.readable());
        if let Some(Ok(Ok(()))) = permit
            .unless_leaving(readable, self.timeouts.farewell)
            .await
        {
            let state = Arc::new(ConnectionState::new(Protocol::Http1, accepted));
            let deadline = ConnectionDeadline::new(state, self.timeouts, permit);
            self.serve_fast(stream, peer, deadline).await;
        }
    }

    /// Serves on the fast path as far as it goes, and hands what it has left to hyper.
    async fn serve_fast(
        self: Arc<Self>,
        mut stream: TcpStream,
        peer: SocketAddr,
        mut deadline: ConnectionDeadline,
    ) {
        let state = Arc::clone(&deadline.state);
        let config = FastPathConfig {
            peer,
            requests_max: self.requests_max,
            header_bytes: self.header_bytes,
        };
        let mut fast = FastPath::new(&mut stream, &self.handler, &state, config);
        let exit = poll_fn(|context| {
            loop {
                if let Poll::Ready(exit) = fast.poll(context, deadline.is_leaving()) {
                    return Poll::Ready(Ok(exit));
                }
                if deadline.is_finishing() && !fast.is_busy() {
                    return Poll::Ready(Ok(Exit::Close));
                }
                match ready!(deadline.poll(context)) {
                    // Once more, for what has come meanwhile.
                    DeadlineAction::GracefulShutdown => {}
                    DeadlineAction::Abort(ending) => return Poll::Ready(Err(ending)),
                }
            }
        })
        .await;
        let ending = match exit {
            Ok(Exit::HandOff(first)) => {
                return Box::pin(self.serve_plain(stream, first, peer, deadline)).await;
            }
            Ok(Exit::Close) => None,
            // There is no peer to tell, or it has sent no byte of a head.
            Ok(Exit::PeerClosed) | Err(Ending::HeadTimeout) => Some(Ending::Idle),
            Err(ending) => Some(ending),
        };
        let io = Watched::new(Socket::new(stream, Arc::clone(&state)), state);
        Box::pin(self.end_http1(io, &deadline, ending)).await;
    }

    /// Serves by hyper a connection without TLS of which `first` was read.
    async fn serve_plain(
        self: Arc<Self>,
        mut stream: TcpStream,
        mut first: Vec<u8>,
        peer: SocketAddr,
        mut deadline: ConnectionDeadline,
    ) {
        // Only the first bytes of a connection tell its protocol.
        if deadline.state.requests() == 0 {
            let until = deadline.accepted + self.timeouts.head;
            let found = preface::detect(&mut stream, &mut first, until);
            match deadline
                .permit
                .unless_leaving(found, self.timeouts.farewell)
                .await
            {
                Some(Ok(Some(Protocol::Http2))) => deadline.state.note_http2(),
                Some(Ok(Some(Protocol::Http1))) => {}
                _ => return,
            }
        }
        let state = Arc::clone(&deadline.state);
        let socket = Socket::resume(stream, state, Bytes::from(first));
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
        let until = deadline.accepted + self.timeouts.head;
        let handshake = timeout_at(until, acceptor.accept(socket));
        let Some(outcome) = deadline
            .permit
            .unless_leaving(handshake, self.timeouts.farewell)
            .await
        else {
            return;
        };
        let Ok(Ok(stream)) = outcome else {
            // Too late, or nothing that we can agree on; rustls has told the peer what.
            self.counters.count_handshake_failure();
            return;
        };
        if stream.get_ref().1.alpn_protocol() == Some(tls::H2) {
            deadline.state.note_http2();
        }
        deadline.tick();
        self.serve_stream(stream, peer, deadline).await;
    }

    async fn serve_stream(
        self: Arc<Self>,
        stream: impl Stream,
        peer: SocketAddr,
        deadline: ConnectionDeadline,
    ) {
        let io = Watched::new(stream, Arc::clone(&deadline.state));
        match deadline.state.protocol() {
            Protocol::Http1 => Box::pin(self.serve_http1(io, peer, deadline)).await,
            Protocol::Http2 => Box::pin(self.serve_http2(io, peer, deadline)).await,
        }
    }

    async fn serve_http1<S: Stream>(
        self: Arc<Self>,
        io: Watched<S>,
        peer: SocketAddr,
        mut deadline: ConnectionDeadline,
    ) {
        let service = self.service(peer, &deadline);
        let mut connection = self.http1.serve_connection(io, service);
        let cut = poll_fn(|context| {
            loop {
                deadline.tick();
                // hyper's errors are the peer's: it has answered what can be answered, and closed. Not
                // `poll_without_shutdown`: that one is ready while a reply is still unsent.
                if let Poll::Ready(ended) = Pin::new(&mut connection).poll(context) {
                    self.note_refusal(ended.err());
                    return Poll::Ready(None);
                }
                match ready!(deadline.poll(context)) {
                    DeadlineAction::GracefulShutdown => {
                        Pin::new(&mut connection).graceful_shutdown()
                    }
                    DeadlineAction::Abort(ending) => return Poll::Ready(Some(ending)),
                }
            }
        })
        .await;
        let io = connection.into_parts().io;
        self.end_http1(io, &deadline, cut).await;
    }

    /// Closes a connection of HTTP/1.1 in good order, or as the deadline that has passed demands.
    async fn end_http1<S: Stream>(
        &self,
        mut io: Watched<S>,
        deadline: &ConnectionDeadline,
        ending: Option<Ending>,
    ) {
        match ending {
            // Another connection has its place already.
            None if deadline.is_evicted() => {}
            None => io.linger().await,
            Some(Ending::Idle) => {}
            Some(Ending::HeadTimeout) => {
                self.counters.count_ending(Ending::HeadTimeout);
                self.handler.refused(408);
                io.send_now(&protocol_error(ProtocolError::HeadTime));
                io.linger().await;
            }
            Some(ending) => {
                self.counters.count_ending(ending);
                deadline.state.note_reset();
            }
        }
    }

    /// Notes what hyper has answered by itself to bytes that are no request.
    fn note_refusal(&self, error: Option<hyper::Error>) {
        match error {
            Some(error) if error.is_parse_too_large() => self.handler.refused(431),
            Some(error) if error.is_parse() => self.handler.refused(400),
            _ => {}
        }
    }

    async fn serve_http2<S: Stream>(
        self: Arc<Self>,
        io: Watched<S>,
        peer: SocketAddr,
        mut deadline: ConnectionDeadline,
    ) {
        let service = self.service(peer, &deadline);
        let connection = self.http2.serve_connection(io, service);
        let mut connection = pin!(connection);
        let cut = poll_fn(|context| {
            loop {
                deadline.tick();
                if connection.as_mut().poll(context).is_ready() {
                    return Poll::Ready(None);
                }
                match ready!(deadline.poll(context)) {
                    DeadlineAction::GracefulShutdown => connection.as_mut().graceful_shutdown(),
                    DeadlineAction::Abort(ending) => return Poll::Ready(Some(ending)),
                }
            }
        })
        .await;
        if let Some(ending) = cut.filter(|ending| *ending != Ending::Idle) {
            self.counters.count_ending(ending);
            deadline.state.note_reset();
        }
    }

    fn service(&self, peer: SocketAddr, deadline: &ConnectionDeadline) -> Service<H> {
        // What was read before hyper has it is answered and is the last.
        if deadline.is_leaving() {
            deadline.state.note_leaving();
        }
        let handler = self.handler.clone();
        let state = Arc::clone(&deadline.state);
        let hsts = self.hsts.clone();
        Service::new(handler, peer, state, self.requests_max, hsts)
    }
}

#[cfg(test)]
pub(super) mod tests;
