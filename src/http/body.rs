//! Bodies: those of responses, and the collection of a request's body within limits of size and time.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Buf, Bytes};
use http_body_util::{BodyExt, Limited};
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};

use super::error::HttpError;
use crate::limits::{Account, Share};

/// How long [`discard`] waits for the rest of a request's body that is not needed for the response.
pub(crate) const UNREAD_TIME: Duration = Duration::from_secs(1);

/// How many bytes of such a body are read, 256 KiB. Our choice: as much as a client sends before it can receive the response.
pub(crate) const UNREAD_BYTES_MAX: usize = 256 * 1024;

/// The body of a response: at most three slices, sent one after the other, with a total length known in advance.
///
/// A stored document is one shared slice; a `since` response is a head, a shared slice of the stored array and a tail;
/// a search response is one buffer of its own. None of them is copied here.
#[derive(Debug, Default)]
pub struct Body {
    slices: [Bytes; 3],
    /// Bytes that hyper has not taken yet: at first the Content-Length. A response to HEAD has this length and no slices.
    length: u64,
    /// Bytes of the slices that were made for this response, and are not shared with the snapshot.
    made: u64,
    /// The share of the budgets that the made bytes have. It is given back when the last slice is dropped; `None` if these
    /// bytes are not counted.
    share: Option<Share>,
}

/// A slice of a body. hyper drops it when the last byte is written to the socket, and with it the share.
#[derive(Debug)]
pub struct BodySlice {
    bytes: Bytes,
    _share: Option<Share>,
}

impl Buf for BodySlice {
    fn remaining(&self) -> usize {
        self.bytes.len()
    }

    fn chunk(&self) -> &[u8] {
        &self.bytes
    }

    fn advance(&mut self, count: usize) {
        self.bytes.advance(count);
    }
}

impl Body {
    /// Returns a body of one slice that is shared with the snapshot, or is small.
    pub(crate) fn full(slice: Bytes) -> Body {
        let length = slice.len() as u64;
        Body {
            slices: [Bytes::new(), Bytes::new(), slice],
            length,
            made: 0,
            share: None,
        }
    }

    /// Returns a body of one slice that was made for this response.
    pub(crate) fn made(slice: Vec<u8>) -> Body {
        Body {
            made: slice.capacity() as u64,
            ..Body::full(slice.into())
        }
    }

    /// Returns a body of three slices, sent in this order; only the middle one is shared with the snapshot.
    pub(crate) fn joined(head: Bytes, middle: Bytes, tail: Bytes) -> Body {
        let made = (head.len() + tail.len()) as u64;
        Body {
            length: made + middle.len() as u64,
            slices: [head, middle, tail],
            made,
            share: None,
        }
    }

    /// Returns the number of bytes that were made for this response.
    pub(crate) fn made_bytes(&self) -> u64 {
        self.made
    }

    /// Keeps the share of the made bytes until the body is written.
    pub(crate) fn keep(&mut self, share: Option<Share>) {
        self.share = share;
    }

    /// Returns the slices; in a body of one slice the first two are empty.
    #[must_use]
    pub fn slices(&self) -> &[Bytes; 3] {
        &self.slices
    }

    /// Returns the body of the response to HEAD: without bytes, and with the length of this one.
    ///
    /// hyper takes Content-Length from the size hint of the body, so HEAD and GET get the same headers by the same code
    /// path, on HTTP/1.1 and on HTTP/2.
    pub(crate) fn into_head(self) -> Body {
        Body {
            length: self.length,
            ..Body::default()
        }
    }

    /// Returns the number of bytes in the slices. Before hyper takes the first, this is what will be sent: 0 for a HEAD.
    #[must_use]
    pub fn sent(&self) -> u64 {
        self.slices.iter().map(|slice| slice.len() as u64).sum()
    }

    /// Returns the number of bytes that hyper has not taken yet. Before it takes the first, this is the Content-Length.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.length
    }
}

impl HttpBody for Body {
    type Data = BodySlice;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<BodySlice>, Infallible>>> {
        for slice in &mut self.slices {
            if !slice.is_empty() {
                let bytes = std::mem::take(slice);
                self.length = self.length.saturating_sub(bytes.len() as u64);
                let is_last = self.length == 0;
                let share = if is_last { self.share.take() } else { None };
                let slice = BodySlice {
                    bytes,
                    _share: share,
                };
                return Poll::Ready(Some(Ok(Frame::data(slice))));
            }
        }
        self.length = 0;
        Poll::Ready(None)
    }

    fn is_end_stream(&self) -> bool {
        self.length == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.length)
    }
}

/// Reads and drops the rest of a body that is not needed for the response, for at most [`UNREAD_TIME`] and
/// [`UNREAD_BYTES_MAX`] bytes, so that its HTTP/2 stream ends without a reset.
///
/// Otherwise hyper resets the stream after the response, and clients such as curl 7.88 then discard the response. The
/// stream of a longer body is reset with NO_ERROR (RFC 9113 §8.1), at once if its length is declared.
pub(crate) async fn discard(body: Incoming) {
    if body.size_hint().lower() > UNREAD_BYTES_MAX as u64 {
        return;
    }
    let mut body = Limited::new(body, UNREAD_BYTES_MAX);
    let rest = async { while let Some(Ok(_)) = body.frame().await {} };
    // The response is sent in either case.
    let _elapsed = tokio::time::timeout(UNREAD_TIME, rest).await;
}

/// A request's body, with its share of the budgets.
#[derive(Debug)]
pub(crate) struct CollectedBody {
    pub(crate) bytes: Vec<u8>,
    _share: Share,
}

/// The limits of a request's body.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BodyLimits {
    pub(crate) bytes_max: usize,
    /// How long the complete body may take.
    pub(crate) time_max: Duration,
}

/// Reads a request's body within `limits`.
///
/// The buffer grows with the bytes that have arrived. It counts for `account`, and so do `head_bytes`, which the head of the
/// request occupies meanwhile. A declared length is checked before a byte is read, so that a client need not send a body
/// that will be refused.
///
/// # Errors
/// The body is too long or too slow, or its framing is invalid, or the account has no room.
pub(crate) async fn collect(
    body: &mut Incoming,
    limits: BodyLimits,
    account: &Account,
    head_bytes: usize,
) -> Result<CollectedBody, HttpError> {
    let BodyLimits {
        bytes_max,
        time_max,
    } = limits;
    if body.size_hint().lower() > bytes_max as u64 {
        return Err(HttpError::BodyBytes(bytes_max));
    }
    let read = read_all(body, bytes_max, account, head_bytes);
    match tokio::time::timeout(time_max, read).await {
        Ok(collected) => collected,
        Err(_) => Err(HttpError::BodyTime(time_max)),
    }
}

/// Reads the body like [`collect`], but for as long as it takes.
async fn read_all(
    body: &mut Incoming,
    bytes_max: usize,
    account: &Account,
    head_bytes: usize,
) -> Result<CollectedBody, HttpError> {
    let mut share = account.take(head_bytes as u64)?;
    // Frames are copied into one buffer, as a kept frame of one byte would occupy forty.
    let mut bytes = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| HttpError::BodyBroken)?;
        let Ok(data) = frame.into_data() else {
            // Trailers are ignored.
            continue;
        };
        let length = bytes.len() + data.len();
        if length > bytes_max {
            return Err(HttpError::BodyBytes(bytes_max));
        }
        if length > bytes.capacity() {
            let capacity = length.max(bytes.capacity() * 2).min(bytes_max);
            share.grow((capacity - bytes.capacity()) as u64)?;
            bytes.reserve_exact(capacity - bytes.len());
        }
        bytes.extend_from_slice(&data);
    }
    Ok(CollectedBody {
        bytes,
        _share: share,
    })
}
