//! The socket as hyper sees it, plain or under TLS. Below TLS a [`Socket`] notes in the connection's [`ConnectionState`] what
//! the kernel takes; above it [`Replaced`] notes what comes, and sends our own responses in place of hyper's.

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

/// How long the kernel goes on sending to a peer that takes nothing, after the connection is closed.
const LAST_BYTES: Duration = Duration::from_secs(60);

/// A socket that notes what the kernel takes: TLS holds up to 64 KiB that it has said to have written.
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
        // Without either the socket would wait in FIN-WAIT-1 for minutes, its unsent data with it; if the option is
        // refused the kernel does just that.
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

/// What hyper reads and writes: a [`Socket`], or TLS over one.
pub(super) trait Stream: AsyncRead + AsyncWrite + Unpin + 'static {}

impl<S: AsyncRead + AsyncWrite + Unpin + 'static> Stream for S {}

/// A stream that sends our own responses in place of those that hyper makes of bytes that are no request. It notes what
/// comes: of a peer that sends records of TLS without data hyper gets nothing, so that peer is idle.
#[derive(Debug)]
pub(super) struct Replaced<S> {
    pub(super) stream: S,
    pub(super) state: Rc<ConnectionState>,
}

impl<S: Stream> Replaced<S> {
    /// Sends the response to `error` if it is taken at once, and closes like [`linger`](Replaced::linger).
    pub(super) async fn refuse(mut self, error: HttpError) {
        let response = protocol_error(error);
        // The connection ends whether or not these words arrive.
        let _sent = Pin::new(&mut self.stream)
            .poll_write(&mut Context::from_waker(Waker::noop()), &response);
        self.linger().await;
    }

    /// Closes our side and takes in what the peer still sends, at most [`UNREAD_TIME`] long and
    /// [`UNREAD_BYTES_MAX`] bytes.
    ///
    /// Closing a socket that holds unread bytes resets the connection, and a reset makes the peer throw away the
    /// response that it has not read yet: a client that is refused its body would see an error and no 413.
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
        // Either result ends with the socket closed; there is no peer left to tell.
        let _result = timeout(UNREAD_TIME, drained).await;
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

impl<S: Stream> AsyncRead for Replaced<S> {
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
