//! hyper without a socket: what the fast path is compared with.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use hyper::rt::{Read, ReadBufCursor, Write};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use reviewd::http::{AppState, handle};

/// Returns all that a client at `peer` gets on a connection on which it sends `bytes`, and then closes its side.
///
/// Reads are answered; nothing here waits for another thread or for a clock.
pub(super) fn respond_via_hyper(app: &Arc<AppState>, bytes: &[u8], peer: SocketAddr) -> Vec<u8> {
    let mut written = Vec::new();
    let io = InMemoryIo {
        unread: bytes,
        written: &mut written,
    };
    let mut builder = http1::Builder::new();
    builder.half_close(true);
    let service = service_fn(|request| {
        let response = handle(Arc::clone(app), request, peer);
        async { Ok::<_, Infallible>(response.await) }
    });
    let mut connection = Box::pin(builder.serve_connection(io, service));
    let mut context = Context::from_waker(Waker::noop());
    // One poll for a read, and more for a body. An error is the peer's: what could be answered was.
    let mut polls = (0..8).map(|_| connection.as_mut().poll(&mut context));
    let _ended = polls.find(Poll::is_ready);
    drop(connection);
    written
}

/// A peer that has sent everything, and takes whatever it is sent.
struct InMemoryIo<'b> {
    unread: &'b [u8],
    written: &'b mut Vec<u8>,
}

impl Read for InMemoryIo<'_> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        mut buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let (read, unread) = self
            .unread
            .split_at(self.unread.len().min(buffer.remaining()));
        buffer.put_slice(read);
        self.unread = unread;
        Poll::Ready(Ok(()))
    }
}

impl Write for InMemoryIo<'_> {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.get_mut().written.extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
