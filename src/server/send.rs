//! Sending what is ready: one send for a small reply, the kernel's own hands for a large body.

use std::future::Future;
use std::io::{self, ErrorKind, IoSlice};
use std::pin::pin;
use std::task::{Context, Poll, ready};

use rustix::fs::sendfile;
use rustix::net::SendFlags;
use tokio::io::Interest;
use tokio::net::TcpStream;

use crate::http::{SealedFile, Stored};

use super::activity::Activity;

/// Bytes after which other connections have their turn, also while the socket takes more.
pub(super) const TURN_BYTES: usize = 2 << 20;

/// How far sending has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sent {
    /// The kernel has everything.
    All,
    /// The rest has to wait.
    Part,
}

/// Sends `head` and what follows it, from the byte `at` of both together, as far as the socket takes it at once.
///
/// # Errors
/// Those of the socket.
pub(super) fn send(
    stream: &TcpStream,
    activity: &Activity,
    head: &[u8],
    body: Option<&Stored>,
    at: &mut usize,
) -> io::Result<Sent> {
    let total = head.len() + body.map_or(0, |body| body.bytes.len() + body.tail.len());
    let turn = at.saturating_add(TURN_BYTES);
    while *at < total {
        if *at >= turn {
            return Ok(Sent::Part);
        }
        match send_some(stream, head, body, *at) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(bytes) => {
                activity.note_written(bytes);
                *at += bytes;
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(Sent::Part),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Sent::All)
}

/// Sends what one call sends.
fn send_some(
    stream: &TcpStream,
    head: &[u8],
    body: Option<&Stored>,
    at: usize,
) -> io::Result<usize> {
    let head_left = head.get(at..).unwrap_or_default();
    let Some(body) = body else {
        return stream.try_write(head_left);
    };
    let from = at.saturating_sub(head.len());
    let bytes_left = body.bytes.get(from..).unwrap_or_default();
    match &body.file {
        Some(_) if !head_left.is_empty() => stream.try_io(Interest::WRITABLE, || {
            // More follows at once, so the head waits for the first bytes of the body.
            let flags = SendFlags::MORE | SendFlags::NOSIGNAL;
            Ok(rustix::net::send(stream, head_left, flags)?)
        }),
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
fn send_file(stream: &TcpStream, file: &SealedFile, at: usize, bytes: usize) -> io::Result<usize> {
    stream.try_io(Interest::WRITABLE, || {
        let mut offset = at as u64;
        Ok(sendfile(
            stream,
            file,
            Some(&mut offset),
            bytes.min(TURN_BYTES),
        )?)
    })
}

/// Has the task polled again after all that is ready now, other sockets included.
pub(super) fn give_way<T>(context: &mut Context<'_>) -> Poll<T> {
    // Its first poll does just that; a waker called at once would come before the sockets are looked at.
    let _ = pin!(tokio::task::yield_now()).poll(context);
    Poll::Pending
}

/// What a socket has not taken yet. The body is shared with all who are sent the same.
#[derive(Debug)]
pub(super) struct Owed {
    head: Vec<u8>,
    body: Option<Stored>,
    /// How far of both the socket has taken.
    at: usize,
}

impl Owed {
    /// Keeps what is left of `head` and `body` behind the byte `at` of both.
    pub(super) fn new(head: &[u8], body: Option<Stored>, at: usize) -> Owed {
        Owed {
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
        activity: &Activity,
    ) -> Poll<io::Result<()>> {
        loop {
            ready!(stream.poll_write_ready(context))?;
            let before = self.at;
            let body = self.body.as_ref();
            match send(stream, activity, &self.head, body, &mut self.at) {
                Ok(Sent::All) => return Poll::Ready(Ok(())),
                Ok(Sent::Part) if self.at - before >= TURN_BYTES => {
                    return give_way(context);
                }
                Ok(Sent::Part) => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}
