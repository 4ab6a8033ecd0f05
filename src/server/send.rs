//! Sending responses of the fast path: one send for a small one, `sendfile` for a large body.

use std::future::Future;
use std::io::{self, ErrorKind, IoSlice};
use std::pin::pin;
use std::task::{Context, Poll, ready};

use rustix::fs::sendfile;
use rustix::net::sockopt::set_tcp_cork;
use tokio::io::Interest;
use tokio::net::TcpStream;

use crate::http::{FileBody, MemFd};

use super::state::ConnectionState;

/// Bytes after which other connections have their turn, also while the socket takes more.
pub(super) const POLL_BYTES_MAX: usize = 2 << 20;

/// How far sending has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Written {
    /// The kernel has everything.
    All,
    /// The rest has to wait.
    Partial,
}

/// Sends `head` and what follows it, from the byte `at` of both together, as far as the socket takes it at once.
///
/// What the kernel reads itself is corked until all of it is sent. It takes a file in lots of 64 KB, and each
/// acknowledgement that came between two of them would send the end of the first by itself: over loopback a packet
/// of 53 bytes behind every second of 65,483. `MSG_MORE` does not help: it says nothing about acknowledgements.
///
/// # Errors
/// Those of the socket.
pub(super) fn send(
    stream: &TcpStream,
    state: &ConnectionState,
    head: &[u8],
    body: Option<&FileBody>,
    at: &mut usize,
) -> io::Result<Written> {
    let total = head.len() + body.map_or(0, |body| body.bytes.len() + body.tail.len());
    let turn = at.saturating_add(POLL_BYTES_MAX);
    let is_by_kernel = body.is_some_and(|body| body.file.is_some());
    if is_by_kernel && *at == 0 {
        set_tcp_cork(stream, true)?;
    }
    while *at < total {
        if *at >= turn {
            return Ok(Written::Partial);
        }
        match send_some(stream, head, body, *at) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(bytes) => {
                state.note_written(bytes);
                *at += bytes;
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(Written::Partial),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    if is_by_kernel {
        set_tcp_cork(stream, false)?;
    }
    Ok(Written::All)
}

/// Sends what one call sends.
fn send_some(
    stream: &TcpStream,
    head: &[u8],
    body: Option<&FileBody>,
    at: usize,
) -> io::Result<usize> {
    let head_left = head.get(at..).unwrap_or_default();
    let Some(body) = body else {
        return stream.try_write(head_left);
    };
    let from = at.saturating_sub(head.len());
    let bytes_left = body.bytes.get(from..).unwrap_or_default();
    match &body.file {
        Some(_) if !head_left.is_empty() => stream.try_write(head_left),
        Some(part) if !bytes_left.is_empty() => {
            send_file(stream, &part.file, part.at + from, bytes_left.len())
        }
        _ => {
            let tail_from = from.saturating_sub(body.bytes.len());
            let tail_left = body.tail.get(tail_from..).unwrap_or_default();
            let slices = [head_left, bytes_left, tail_left].map(IoSlice::new);
            stream.try_write_vectored(&slices)
        }
    }
}

/// Has the kernel send the next `bytes` bytes of `file` from `at` on.
fn send_file(stream: &TcpStream, file: &MemFd, at: usize, bytes: usize) -> io::Result<usize> {
    stream.try_io(Interest::WRITABLE, || {
        let mut offset = at as u64;
        Ok(sendfile(
            stream,
            file,
            Some(&mut offset),
            bytes.min(POLL_BYTES_MAX),
        )?)
    })
}

/// Has the task polled again after all that is ready now, other sockets included.
pub(super) fn yield_now<T>(context: &mut Context<'_>) -> Poll<T> {
    // tokio's future does that at its first poll; a waker called at once would come before the sockets are looked at.
    let _ = pin!(tokio::task::yield_now()).poll(context);
    Poll::Pending
}

/// What a socket has not taken yet. The body is shared with all who are sent the same.
#[derive(Debug)]
pub(super) struct PendingWrite {
    head: Vec<u8>,
    body: Option<FileBody>,
    /// How far of both the socket has taken.
    at: usize,
}

impl PendingWrite {
    /// Keeps what is left of `head` and `body` after the byte `at` of both.
    pub(super) fn new(head: &[u8], body: Option<FileBody>, at: usize) -> PendingWrite {
        PendingWrite {
            head: head.get(at..).unwrap_or_default().to_vec(),
            body,
            at: at.saturating_sub(head.len()),
        }
    }

    /// Sends on; ready when everything is sent.
    pub(super) fn poll(
        &mut self,
        context: &mut Context<'_>,
        stream: &TcpStream,
        state: &ConnectionState,
    ) -> Poll<io::Result<()>> {
        loop {
            ready!(stream.poll_write_ready(context))?;
            let before = self.at;
            let body = self.body.as_ref();
            match send(stream, state, &self.head, body, &mut self.at) {
                Ok(Written::All) => return Poll::Ready(Ok(())),
                Ok(Written::Partial) if self.at - before >= POLL_BYTES_MAX => {
                    return yield_now(context);
                }
                Ok(Written::Partial) => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bytes::Bytes;
    use rustix::net::sockopt::tcp_cork;
    use tokio::io::AsyncReadExt;
    use tokio::net::TcpListener;
    use tokio::time::{Duration, Instant, timeout};

    use super::super::state::Protocol;
    use super::*;
    use crate::http::MemFdRange;

    /// Longest wait for what has to come.
    const PATIENCE: Duration = Duration::from_secs(60);

    #[tokio::test]
    async fn what_the_kernel_reads_itself_is_corked_until_it_is_sent() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let mut peer = TcpStream::connect(address).await.expect("connected");
        let (stream, _) = listener.accept().await.expect("accepted");
        let state = ConnectionState::new(Protocol::Http1, Instant::now());
        let bytes = Bytes::from(vec![b'x'; 16 << 20]);
        let file = MemFd::new(&bytes).expect("a file in memory");
        let body = FileBody {
            bytes: bytes.clone(),
            file: Some(MemFdRange::whole(&Arc::new(file))),
            tail: Bytes::from_static(b"]"),
        };
        let is_corked = || tcp_cork(&stream).expect("the option");
        let mut at = 0;
        let sent = send(&stream, &state, b"head", Some(&body), &mut at).expect("a peer");
        assert_eq!((sent, is_corked()), (Written::Partial, true));
        let mut pending = PendingWrite::new(b"head", Some(body), at);
        let mut come = vec![0; 4 + bytes.len() + 1];
        let all = std::future::poll_fn(|context| pending.poll(context, &stream, &state));
        let both = async { tokio::join!(all, peer.read_exact(&mut come)) };
        let (all, read) = timeout(PATIENCE, both).await.expect("in time");
        all.and(read.map(drop)).expect("all of it");
        assert!(come.starts_with(b"headxx") && come.ends_with(b"xx]"));
        assert!(!is_corked(), "the end of it waits for nothing");
        // What we copy leaves at once anyway.
        send(&stream, &state, b"head", None, &mut 0).expect("a peer");
        assert!(!is_corked());
    }
}
