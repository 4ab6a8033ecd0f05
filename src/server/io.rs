//! The streams that hyper uses. A [`Socket`], below TLS if there is any, records written bytes in the [`ConnectionState`]. An
//! [`HttpStream`] above it records reads, and drops hyper's own error responses, so that ours can be sent.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::http::{HttpError, UNREAD_BYTES_MAX, UNREAD_TIME, protocol_error};
use crate::platform;

use super::deadline::ConnectionState;

/// How long the kernel keeps sending to a peer that does not read, after the connection is closed.
const LAST_BYTES: Duration = Duration::from_secs(60);

/// A socket that records the bytes that the kernel accepts. They cannot be recorded above TLS, which reports up to 64 KiB as
/// written that it has only buffered.
#[derive(Debug)]
pub(super) struct Socket {
    pub(super) stream: TcpStream,
    pub(super) state: Rc<ConnectionState>,
}

impl Socket {
    /// Records the result of a write, and returns it.
    fn note_write(&self, polled: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        match &polled {
            Poll::Ready(Ok(bytes)) => self.state.note_written(*bytes),
            Poll::Ready(Err(_)) => {}
            Poll::Pending => self.state.is_blocked.set(true),
        }
        polled
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        // Without one of these options, or if setting it fails, the kernel keeps the socket with its unsent data in
        // FIN-WAIT-1 for minutes.
        let _refused = if self.state.is_reset.get() {
            self.stream.set_zero_linger()
        } else {
            platform::limit_unacknowledged_time(SockRef::from(&self.stream), LAST_BYTES)
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
        self.note_write(polled)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.note_write(polled)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_flush(context);
        self.state.is_blocked.set(polled.is_pending());
        polled
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// A stream below an [`HttpStream`]: a [`Socket`], or TLS over one.
pub(super) trait TransportStream: AsyncRead + AsyncWrite + Unpin + 'static {}

impl<S: AsyncRead + AsyncWrite + Unpin + 'static> TransportStream for S {}

/// The stream that hyper reads and writes. It records reads above TLS, so a peer that only sends TLS records without data
/// counts as idle.
///
/// hyper answers an invalid head of HTTP/1.1 by itself, which cannot be configured, and then ends the connection with an
/// error. So what it writes while no response of ours is in progress is dropped, and so is the shutdown after it:
/// `Protocols::end_http1` sends our response to that error instead.
#[derive(Debug)]
pub(super) struct HttpStream<S> {
    pub(super) stream: S,
    pub(super) state: Rc<ConnectionState>,
    /// Whether a response of hyper was dropped, so that ours has to be sent.
    pub(super) has_dropped_response: bool,
}

impl<S: TransportStream> HttpStream<S> {
    pub(super) fn new(stream: S, state: Rc<ConnectionState>) -> HttpStream<S> {
        HttpStream {
            stream,
            state,
            has_dropped_response: false,
        }
    }

    /// Sends the response to `error`, as much of it as the socket accepts at once, and closes like
    /// [`linger`](HttpStream::linger).
    pub(super) async fn respond_and_close(mut self, error: HttpError) {
        let response = protocol_error(error);
        // The connection ends whether or not the response arrives.
        let _sent = Pin::new(&mut self.stream)
            .poll_write(&mut Context::from_waker(Waker::noop()), &response);
        self.linger().await;
    }

    /// Closes our side, then reads and drops what the peer still sends, for at most [`UNREAD_TIME`] and
    /// [`UNREAD_BYTES_MAX`] bytes.
    ///
    /// Closing a socket with unread bytes resets the connection, and after a reset the peer discards a response that it
    /// has not read yet: a client whose body is too large would get an error instead of the 413.
    pub(super) async fn linger(mut self) {
        let drained = async {
            self.stream.shutdown().await?;
            let mut scrap = [0; 1024];
            let mut taken = 0;
            while taken < UNREAD_BYTES_MAX {
                match self.stream.read(&mut scrap).await? {
                    0 => break,
                    bytes => taken += bytes,
                }
            }
            io::Result::Ok(())
        };
        // The socket is closed in either case.
        let _result = timeout(UNREAD_TIME, drained).await;
    }
}

impl<S: TransportStream> AsyncRead for HttpStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(context, buffer);
        if polled.is_ready() {
            self.state.note_read(buffer.filled().len() - before);
        }
        polled
    }
}

impl<S: TransportStream> AsyncWrite for HttpStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.state.is_hyper_responding() {
            self.has_dropped_response = true;
            return Poll::Ready(Ok(bytes.len()));
        }
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.state.is_hyper_responding() {
            self.has_dropped_response = true;
            let bytes = slices.iter().map(|slice| slice.len()).sum();
            return Poll::Ready(Ok(bytes));
        }
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    /// hyper calls this when it has written all that it holds.
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.state.note_flush();
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.has_dropped_response {
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
