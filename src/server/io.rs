//! The socket as hyper sees it: every operation is noted in the connection's [`Activity`].

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::activity::Activity;

/// How long a connection that we have closed may take to close on the other side.
const LINGER: Duration = Duration::from_secs(1);

/// How many late bytes of a peer are taken in after our side is closed.
const LINGER_BYTES: usize = 256 * 1024;

/// A socket under watch.
///
/// It adds a few relaxed stores to each operation and copies nothing.
#[derive(Debug)]
pub(super) struct Watched {
    stream: TokioIo<TcpStream>,
    activity: Arc<Activity>,
}

impl Watched {
    /// Puts `stream` under watch.
    pub(super) fn new(stream: TcpStream, activity: Arc<Activity>) -> Watched {
        Watched {
            stream: TokioIo::new(stream),
            activity,
        }
    }

    /// Sends `reply` if the kernel takes it at once; for the last words to a peer that has lost its chance.
    pub(super) fn send_now(&self, reply: &[u8]) {
        // The connection ends whether or not these words arrive.
        let _sent = self.stream.inner().try_write(reply);
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
        // Either outcome ends with the socket closed; there is nobody left to tell.
        let _outcome = timeout(LINGER, drained).await;
    }

    /// Notes the outcome of a write and passes it on.
    fn note(&self, outcome: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        match &outcome {
            Poll::Ready(Ok(bytes)) => self.activity.note_written(*bytes),
            Poll::Ready(Err(_)) => {}
            Poll::Pending => self.activity.note_refused(),
        }
        outcome
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        if self.activity.is_reset() {
            // Without it the socket would wait in FIN-WAIT-1 for minutes, its unsent data with it. If the option is
            // refused the kernel does just that, within TCP_USER_TIMEOUT.
            let _refused = self.stream.inner().set_zero_linger();
        }
    }
}

impl Read for Watched {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.stream).poll_read(context, buffer);
        match &outcome {
            Poll::Ready(_) => self.activity.note_read(),
            Poll::Pending => self.activity.note_listening(),
        }
        outcome
    }
}

impl Write for Watched {
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
        let outcome = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.note(outcome)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.stream).poll_flush(context);
        if outcome.is_ready() {
            self.activity.note_flushed();
        }
        outcome
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
