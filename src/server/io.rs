//! The socket as hyper sees it, plain or under TLS: every operation is noted in the connection's [`ConnectionState`].
//!
//! Two layers, one of them below TLS. What the kernel takes is counted where it takes it, at the [`Socket`]: TLS holds up
//! to 64 KiB that it has said to have written. What hyper waits for is seen by [`Watched`]: under TLS there are bytes that
//! are no news to it, and a peer that sends only those is idle.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::http::{HttpError, protocol_error};

use super::deadline::ConnectionState;

/// How long a connection that we have closed may take to close on the other side.
const LINGER: Duration = Duration::from_secs(1);

/// How many late bytes of a peer are taken in after our side is closed.
const LINGER_BYTES: usize = 256 * 1024;

/// How long the kernel goes on sending to a peer that takes nothing, after the connection is closed.
const LAST_BYTES: Duration = Duration::from_secs(60);

/// A socket that counts what the kernel takes.
#[derive(Debug)]
pub(super) struct Socket {
    stream: TcpStream,
    state: Arc<ConnectionState>,
}

impl Socket {
    pub(super) fn new(stream: TcpStream, state: Arc<ConnectionState>) -> Socket {
        Socket { stream, state }
    }

    fn note(&self, polled: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if let Poll::Ready(Ok(bytes)) = &polled {
            self.state.note_written(*bytes);
        }
        polled
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        // Without either the socket would wait in FIN-WAIT-1 for minutes, its unsent data with it; if the option is
        // refused the kernel does just that.
        let _refused = match self.state.is_reset() {
            true => self.stream.set_zero_linger(),
            false => SockRef::from(&self.stream).set_tcp_user_timeout(Some(LAST_BYTES)),
        };
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.note(polled)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.note(polled)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// What hyper reads and writes: a [`Socket`], or TLS over one.
pub(super) trait Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> Stream for S {}

/// A stream of which is noted what hyper waits for. It adds a few relaxed stores to each operation and copies nothing.
#[derive(Debug)]
pub(super) struct Watched<S> {
    stream: S,
    state: Arc<ConnectionState>,
}

impl<S: Stream> Watched<S> {
    pub(super) fn new(stream: S, state: Arc<ConnectionState>) -> Watched<S> {
        Watched { stream, state }
    }

    /// Sends the response to `error` if it is taken at once, and closes like [`linger`](Watched::linger).
    pub(super) async fn refuse(mut self, error: HttpError) {
        let response = protocol_error(error);
        // The connection ends whether or not these words arrive.
        let _sent = Pin::new(&mut self.stream)
            .poll_write(&mut Context::from_waker(Waker::noop()), &response);
        self.linger().await;
    }

    /// Closes our side and takes in what the peer still sends, at most [`LINGER`] long and [`LINGER_BYTES`] bytes.
    ///
    /// Closing a socket that holds unread bytes resets the connection, and a reset makes the peer throw away the
    /// response that it has not read yet: a client that is refused its body would see an error and no 413.
    pub(super) async fn linger(mut self) {
        let drained = async {
            self.stream.shutdown().await?;
            let mut scrap = [0; 1024];
            let mut taken = 0;
            while taken < LINGER_BYTES {
                match self.stream.read(&mut scrap).await? {
                    0 => break,
                    bytes => taken += bytes,
                }
            }
            io::Result::Ok(())
        };
        // Either result ends with the socket closed; there is no peer left to tell.
        let _result = timeout(LINGER, drained).await;
    }

    /// Notes where the kernel takes no more at present.
    fn note<T>(&self, polled: Poll<T>) -> Poll<T> {
        if polled.is_pending() {
            self.state.note_blocked(true);
        }
        polled
    }
}

/// Recognises what hyper itself answers to bytes that are no request, which it offers no way to change: a head in one piece
/// and no body. Each of our own responses of these statuses has one.
fn error_of_hyper(bytes: &[u8]) -> Option<HttpError> {
    let (error, fields) = if let Some(fields) = bytes.strip_prefix(b"HTTP/1.1 400 Bad Request\r\n")
    {
        (HttpError::Malformed, fields)
    } else {
        let line = b"HTTP/1.1 431 Request Header Fields Too Large\r\n";
        (HttpError::HeadBytes, bytes.strip_prefix(line)?)
    };
    let mut lines = fields.split(|byte| *byte == b'\n');
    let is_bare = fields.ends_with(b"\r\n\r\n") && lines.any(|line| line == b"content-length: 0\r");
    is_bare.then_some(error)
}

impl<S: Stream> AsyncRead for Watched<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_read(context, buffer);
        if polled.is_ready() {
            self.state.note_read();
        }
        polled
    }
}

impl<S: Stream> AsyncWrite for Watched<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let stream = Pin::new(&mut self.stream);
        let polled = match error_of_hyper(bytes) {
            None => stream.poll_write(context, bytes),
            Some(error) => {
                let polled = stream.poll_write(context, &protocol_error(error));
                polled.map_ok(|_| bytes.len())
            }
        };
        self.note(polled)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if let [only] = slices {
            return self.poll_write(context, only);
        }
        let polled = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.note(polled)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_flush(context);
        // Under TLS the last part of a response may still be waiting for the kernel.
        self.state.note_blocked(polled.is_pending());
        polled
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
