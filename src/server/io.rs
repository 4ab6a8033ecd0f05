//! The streams that hyper uses. Below TLS, a [`Socket`] records written bytes in the [`ConnectionState`]; above TLS, or
//! without it, [`Replaced`] records reads, and replaces hyper's error responses by our own.

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

use super::deadline::ConnectionState;

/// How long the kernel keeps sending to a peer that does not read, after the connection is closed.
const LAST_BYTES: Duration = Duration::from_secs(60);

/// A socket that records the bytes that the kernel accepts: TLS buffers up to 64 KiB that it reports as written.
#[derive(Debug)]
pub(super) struct Socket {
    pub(super) stream: TcpStream,
    pub(super) state: Rc<ConnectionState>,
}

impl Socket {
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
        // Without one of these options, the kernel would keep the socket with its unsent data in FIN-WAIT-1 for
        // minutes; if setting the option fails, it does so.
        let _refused = match self.state.is_reset.get() {
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

/// A stream that hyper reads and writes: a [`Socket`], or TLS over one.
pub(super) trait Stream: AsyncRead + AsyncWrite + Unpin + 'static {}

impl<S: AsyncRead + AsyncWrite + Unpin + 'static> Stream for S {}

/// A stream that replaces hyper's responses to invalid requests by our own. It records reads above TLS, so a peer that
/// only sends TLS records without data counts as idle.
#[derive(Debug)]
pub(super) struct Replaced<S> {
    pub(super) stream: S,
    pub(super) state: Rc<ConnectionState>,
}

impl<S: Stream> Replaced<S> {
    /// Sends the response to `error` if the socket accepts it at once, and closes like [`linger`](Replaced::linger).
    pub(super) async fn refuse(mut self, error: HttpError) {
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
        // The socket is closed in either case, so no response can be sent.
        let _result = timeout(UNREAD_TIME, drained).await;
    }
}

/// Recognises hyper's own response to an invalid request, which cannot be configured: a head in one piece without a
/// body. All our own responses with these statuses have a body.
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

impl<S: Stream> AsyncRead for Replaced<S> {
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

impl<S: Stream> AsyncWrite for Replaced<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let stream = Pin::new(&mut self.stream);
        match error_of_hyper(bytes) {
            None => stream.poll_write(context, bytes),
            Some(error) => {
                let polled = stream.poll_write(context, &protocol_error(error));
                polled.map_ok(|_| bytes.len())
            }
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match slices {
            [only] => self.poll_write(context, only),
            slices => Pin::new(&mut self.stream).poll_write_vectored(context, slices),
        }
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
