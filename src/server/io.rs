//! The socket as hyper sees it, plain or under TLS: every operation is noted in the connection's [`ConnectionState`].
//!
//! Two layers, one of them below TLS. What the kernel takes is counted where it takes it, at the [`Socket`]: TLS holds up
//! to 64 KiB that it has said to have written. What hyper waits for is seen by [`Watched`]: under TLS there are bytes that
//! are no news to it, and a peer that sends only those is idle.

use std::cell::RefCell;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::{Buf, Bytes};
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::rt::TokioIo;
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::http::{ProtocolError, protocol_error};

use super::state::ConnectionState;

/// How long a connection that we have closed may take to close on the other side.
const LINGER: Duration = Duration::from_secs(1);

/// How long the kernel goes on sending to a peer that makes no room, after the connection is closed.
const LAST_BYTES: Duration = Duration::from_secs(60);

/// How many late bytes of a peer are taken in after our side is closed.
const LINGER_BYTES: usize = 256 * 1024;

/// Head and body of up to this many bytes are copied into one piece: one part less for the kernel to look at.
const FLAT_BYTES_MAX: usize = 16 * 1024;

thread_local! {
    static FLAT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// A socket that counts what the kernel takes.
#[derive(Debug)]
pub(super) struct Socket {
    stream: TcpStream,
    state: Arc<ConnectionState>,
    /// What was read of the peer and belongs before all that is still to be read.
    first: Bytes,
}

impl Socket {
    /// Counts what `stream` takes.
    pub(super) fn new(stream: TcpStream, state: Arc<ConnectionState>) -> Socket {
        Socket::resume(stream, state, Bytes::new())
    }

    /// The same for a stream of which `first` was read already, which is read once more.
    pub(super) fn resume(stream: TcpStream, state: Arc<ConnectionState>, first: Bytes) -> Socket {
        Socket {
            stream,
            state,
            first,
        }
    }

    fn note(&self, outcome: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if let Poll::Ready(Ok(bytes)) = &outcome {
            self.state.note_written(*bytes);
        }
        outcome
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
        if !self.first.is_empty() {
            let length = self.first.len().min(buffer.remaining());
            buffer.put_slice(&self.first[..length]);
            self.first.advance(length);
            if self.first.is_empty() {
                // What is empty still holds its memory.
                self.first = Bytes::new();
            }
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.note(outcome)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let total: usize = slices.iter().map(|slice| slice.len()).sum();
        let outcome = if let [only] = slices {
            Pin::new(&mut self.stream).poll_write(context, only)
        } else if total <= FLAT_BYTES_MAX {
            FLAT.with_borrow_mut(|flat| {
                flat.clear();
                for slice in slices {
                    flat.extend_from_slice(slice);
                }
                Pin::new(&mut self.stream).poll_write(context, flat)
            })
        } else {
            Pin::new(&mut self.stream).poll_write_vectored(context, slices)
        };
        self.note(outcome)
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

/// What a [`Socket`] can be under when hyper sees it: itself, or TLS.
pub(super) trait Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> Stream for S {}

/// A stream under watch.
///
/// It adds a few relaxed stores to each operation and copies nothing.
#[derive(Debug)]
pub(super) struct Watched<S> {
    stream: TokioIo<S>,
    state: Arc<ConnectionState>,
}

impl<S: Stream> Watched<S> {
    /// Puts `stream` under watch.
    pub(super) fn new(stream: S, state: Arc<ConnectionState>) -> Watched<S> {
        Watched {
            stream: TokioIo::new(stream),
            state,
        }
    }

    /// Sends `reply` if it is taken at once, and the connection is not to be reset; for the last words to a peer that has
    /// lost its chance.
    pub(super) fn send_now(&mut self, reply: &[u8]) {
        if self.state.is_reset() {
            return;
        }
        let mut context = Context::from_waker(Waker::noop());
        // The connection ends whether or not these words arrive.
        let _sent = Pin::new(self.stream.inner_mut()).poll_write(&mut context, reply);
    }

    /// Closes our side and takes in what the peer still sends, at most [`LINGER`] long and [`LINGER_BYTES`] bytes.
    ///
    /// Closing a socket that holds unread bytes resets the connection, and a reset makes the peer throw away the
    /// reply that it has not read yet: a client that is refused its body would see an error and no 413.
    pub(super) async fn linger(mut self) {
        let stream = self.stream.inner_mut();
        let drained = async {
            stream.shutdown().await?;
            let mut scrap = [0; 1024];
            let mut taken = 0;
            while taken < LINGER_BYTES {
                match stream.read(&mut scrap).await? {
                    0 => break,
                    bytes => taken += bytes,
                }
            }
            io::Result::Ok(())
        };
        // Either outcome ends with the socket closed; there is no peer left to tell.
        let _outcome = timeout(LINGER, drained).await;
    }

    /// Notes whether the outcome leaves something to be taken, and passes it on.
    fn note<T>(&self, outcome: Poll<T>) -> Poll<T> {
        if outcome.is_pending() {
            self.state.on_write_blocked();
        }
        outcome
    }
}

/// Recognises what hyper itself answers to bytes that are no request, which it offers no way to change: a head in one piece
/// and no body. Each of our own replies of these statuses has one.
fn refusal_by_hyper(bytes: &[u8]) -> Option<ProtocolError> {
    let (error, fields) = [
        (
            ProtocolError::Malformed,
            &b"HTTP/1.1 400 Bad Request\r\n"[..],
        ),
        (
            ProtocolError::HeadBytes,
            b"HTTP/1.1 431 Request Header Fields Too Large\r\n",
        ),
    ]
    .into_iter()
    .find_map(|(error, line)| Some((error, bytes.strip_prefix(line)?)))?;
    let is_bare = fields.ends_with(b"\r\n\r\n")
        && fields
            .split(|byte| *byte == b'\n')
            .any(|field| field == b"content-length: 0\r");
    is_bare.then_some(error)
}

impl<S: Stream> Read for Watched<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.stream).poll_read(context, buffer);
        match &outcome {
            Poll::Ready(_) => self.state.note_read(),
            Poll::Pending => self.state.note_listening(),
        }
        outcome
    }
}

impl<S: Stream> Write for Watched<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let outcome = match refusal_by_hyper(bytes) {
            None => Pin::new(&mut self.stream).poll_write(context, bytes),
            Some(error) => {
                let reply = protocol_error(error);
                let outcome = Pin::new(&mut self.stream).poll_write(context, &reply);
                outcome.map_ok(|_| bytes.len())
            }
        };
        self.note(outcome)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if let [only] = slices {
            return self.poll_write(context, only);
        }
        let outcome = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.note(outcome)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.stream).poll_flush(context);
        if outcome.is_ready() {
            self.state.note_flushed();
        }
        // Under TLS the last part of a reply may still be waiting for the kernel.
        self.note(outcome)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
