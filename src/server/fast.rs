//! The fast path: plain requests on a connection without TLS, answered beneath hyper.
//!
//! A connection begins here. It waits without a buffer; what has come is read into one that all connections of a thread
//! share, and each plain request in it is answered by the [`Handler`] at once. At the first thing that
//! is anything else, a part of a request included, the connection goes to hyper with what was read of it, and never
//! comes back: hyper would have to be idle, with everything flushed and nothing read ahead, and nobody outside can tell.
//! So hyper and its buffers (16 KB) are there only for connections that have needed them.
//!
//! What hyper's connections are held to holds here: the facts go to the same [`Activity`], and the same
//! [`Sentry`](super::sentry::Sentry) judges them. The last request of a connection, and any that comes while the server
//! drains, is left to hyper, which says `connection: close`.

use std::cell::RefCell;
use std::io;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};
use tokio::net::TcpStream;

use crate::http::Answered;

use super::activity::Activity;
use super::send::{Owed, Sent, TURN_BYTES, give_way, send};
use super::service::{Handler, report};

/// What is read at a time; requests beyond it wait in the socket. A head that is longer is hyper's.
const INPUT_BYTES: usize = 16 * 1024;

/// Replies to pipelined requests are gathered up to about this many bytes before they are sent, so a peer that takes
/// none of them makes us keep little more.
const BATCH_BYTES: usize = 16 * 1024;

/// The [`Answered::cost`] after which other connections have their turn, also while more requests wait: 128 ready documents,
/// or 8 replies that are made. A search may take a millisecond, and 128 of those would keep others waiting for a tenth of
/// a second.
const TURN_COST: usize = 128;

/// How the fast path ends.
#[derive(Debug)]
pub(super) enum End {
    /// hyper goes on, from these bytes that were read and not answered.
    Hand(Vec<u8>),
    /// We close, in good order.
    Close,
    /// The peer has closed, or broken off.
    Gone,
}

/// What all connections of a thread use in turn; each leaves it before another begins.
struct Buffers {
    input: Box<[u8]>,
    out: Vec<u8>,
}

thread_local! {
    static BUFFERS: RefCell<Buffers> = RefCell::new(Buffers {
        input: vec![0; INPUT_BYTES].into_boxed_slice(),
        out: Vec::new(),
    });
}

/// What does not change while a connection is on the fast path.
#[derive(Clone, Copy)]
pub(super) struct Terms {
    pub(super) peer: SocketAddr,
    /// Requests of one connection; the last is hyper's.
    pub(super) requests_max: u32,
    /// Longest head in bytes.
    pub(super) header_bytes: usize,
}

/// A connection on the fast path.
pub(super) struct FastPath<'c, H> {
    stream: &'c mut TcpStream,
    handler: &'c H,
    activity: &'c Activity,
    terms: Terms,
    /// What the socket has not taken yet, and the requests behind it; empty for all but slow readers.
    owed: Option<Box<Owed>>,
    rest: Vec<u8>,
    /// Cost and bytes of what was answered in this turn.
    turn: (usize, usize),
}

impl<'c, H: Handler> FastPath<'c, H> {
    /// Begins on a connection of which nothing was read.
    pub(super) fn new(
        stream: &'c mut TcpStream,
        handler: &'c H,
        activity: &'c Activity,
        terms: Terms,
    ) -> FastPath<'c, H> {
        FastPath {
            stream,
            handler,
            activity,
            terms,
            owed: None,
            rest: Vec::new(),
            turn: (0, 0),
        }
    }

    /// Goes on until the socket has nothing more to give or to take, or others have their turn; `finishing` if no further
    /// request is to be answered here.
    pub(super) fn poll(&mut self, context: &mut Context<'_>, finishing: bool) -> Poll<End> {
        self.turn = (0, 0);
        BUFFERS.with_borrow_mut(|buffers| {
            let Buffers { input, out } = buffers;
            loop {
                if let Some(owed) = &mut self.owed {
                    if ready!(owed.poll(context, self.stream, self.activity)).is_err() {
                        return Poll::Ready(End::Gone);
                    }
                    self.owed = None;
                    self.activity.note_flushed();
                }
                let end = if self.rest.is_empty() {
                    match ready!(self.read(context, input)) {
                        Ok(length) if length > 0 => self.answer(&input[..length], finishing, out),
                        _ => Some(End::Gone),
                    }
                } else {
                    let rest = std::mem::take(&mut self.rest);
                    self.answer(&rest, finishing, out)
                };
                if let Some(end) = end {
                    return Poll::Ready(end);
                }
                if self.owed.is_none() && self.is_turn_over() {
                    return give_way(context);
                }
            }
        })
    }

    /// Tells whether a reply is still being sent, or a request waits for its turn.
    pub(super) fn is_busy(&self) -> bool {
        self.owed.is_some() || !self.rest.is_empty()
    }

    fn is_turn_over(&self) -> bool {
        let (cost, bytes) = self.turn;
        cost >= TURN_COST || bytes >= TURN_BYTES
    }

    fn read(&mut self, context: &mut Context<'_>, input: &mut [u8]) -> Poll<io::Result<usize>> {
        let mut buffer = ReadBuf::new(input);
        let outcome = Pin::new(&mut *self.stream).poll_read(context, &mut buffer);
        match &outcome {
            Poll::Ready(_) => self.activity.note_read(),
            Poll::Pending => self.activity.note_listening(),
        }
        outcome.map_ok(|()| buffer.filled().len())
    }

    /// Answers the requests in `input` in their order; returns the end, if they have led to it.
    fn answer(&mut self, input: &[u8], finishing: bool, out: &mut Vec<u8>) -> Option<End> {
        let mut rest = input;
        while !rest.is_empty() {
            if self.is_turn_over() {
                self.rest = rest.to_vec();
                return None;
            }
            out.clear();
            let (mut body, mut is_plain) = (None, true);
            while is_plain
                && body.is_none()
                && !rest.is_empty()
                && out.len() < BATCH_BYTES
                && self.turn.0 < TURN_COST
            {
                let answered = match finishing {
                    true => None,
                    false => self.answer_one(rest, out),
                };
                match answered {
                    Some(answered) => {
                        self.turn.0 += answered.cost;
                        rest = rest.get(answered.length..).unwrap_or_default();
                        body = answered.body;
                    }
                    None => is_plain = false,
                }
            }
            let mut at = 0;
            let sent = send(self.stream, self.activity, out, body.as_ref(), &mut at);
            self.turn.1 += at;
            match sent {
                Ok(Sent::All) => {}
                Ok(Sent::Part) => {
                    self.activity.note_refused();
                    self.owed = Some(Box::new(Owed::new(out, body, at)));
                    self.rest = rest.to_vec();
                    return None;
                }
                Err(_) => return Some(End::Gone),
            }
            if !is_plain {
                return Some(End::Hand(rest.to_vec()));
            }
        }
        None
    }

    /// Answers the first request of `bytes`, if it is one for this path.
    fn answer_one(&self, bytes: &[u8], out: &mut Vec<u8>) -> Option<Answered> {
        if self.activity.requests() + 1 >= self.terms.requests_max {
            return None;
        }
        let mark = out.len();
        // A request that does not fit, a call's body included, looks like a part of one; hyper knows better.
        let bytes = &bytes[..bytes.len().min(self.terms.header_bytes)];
        // A handler owns nothing that a panic could leave half changed; what it has appended is cut off again.
        let begun = AssertUnwindSafe(|| self.handler.answer_plain(bytes, self.terms.peer, out));
        let answered = catch_unwind(begun).unwrap_or_else(|panic| {
            report(panic.as_ref());
            None
        });
        if answered.is_some() {
            self.activity.note_request();
            self.activity.note_answer();
        } else {
            out.truncate(mark);
        }
        answered
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::future::poll_fn;

    use hyper::body::Incoming;
    use hyper::{Request, Response};
    use tokio::io::AsyncWriteExt;
    use tokio::net::TcpListener;
    use tokio::time::Instant;

    use crate::http::Body;

    use super::super::activity::Protocol;
    use super::*;

    /// Answers each byte, which is a request that costs as much as the byte says, with itself.
    #[derive(Clone, Copy)]
    struct Echo;

    impl Handler for Echo {
        type Answer = std::future::Pending<Result<Response<Body>, Infallible>>;

        fn begin(&self, _: Request<Incoming>, _: SocketAddr) -> Self::Answer {
            std::future::pending()
        }

        fn answer_plain(&self, bytes: &[u8], _: SocketAddr, out: &mut Vec<u8>) -> Option<Answered> {
            let byte = *bytes.first()?;
            out.push(byte);
            Some(Answered {
                length: 1,
                cost: byte.into(),
                body: None,
            })
        }

        fn broken(&self) -> Response<Body> {
            Response::new(Body::empty())
        }
    }

    /// A connection on which so many requests of such a cost wait, and the peer's end of it.
    async fn connection_with(requests: usize, cost: u8) -> (TcpStream, Terms, TcpStream) {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let mut peer = TcpStream::connect(address).await.expect("a connection");
        let (stream, _) = listener.accept().await.expect("a connection");
        let requests = vec![cost; requests];
        peer.write_all(&requests).await.expect("a write");
        stream.readable().await.expect("readable");
        let terms = Terms {
            peer: address,
            requests_max: u32::MAX,
            header_bytes: 1024,
        };
        (stream, terms, peer)
    }

    /// Returns how many requests were answered after each turn, and whether more waited then.
    async fn turns(requests: usize, cost: u8) -> Vec<(usize, bool)> {
        let (mut stream, terms, _peer) = connection_with(requests, cost).await;
        let activity = Activity::new(Protocol::Http1, Instant::now());
        let mut fast = FastPath::new(&mut stream, &Echo, &activity, terms);
        let mut turns = Vec::new();
        while (activity.requests() as usize) < requests {
            poll_fn(|context| {
                assert!(fast.poll(context, false).is_pending());
                Poll::Ready(())
            })
            .await;
            turns.push((activity.requests() as usize, fast.is_busy()));
        }
        turns
    }

    #[tokio::test]
    async fn a_long_row_of_requests_lets_others_have_their_turn() {
        let (once, twice) = (TURN_COST, TURN_COST * 2);
        let expected = [(once, true), (twice, true), (twice + 1, false)];
        assert_eq!(turns(twice + 1, 1).await, expected);
    }

    #[tokio::test]
    async fn dear_requests_let_others_have_their_turn_sooner() {
        assert_eq!(turns(17, 16).await, [(8, true), (16, true), (17, false)]);
        // The one with which the turn's cost is passed is answered still.
        assert_eq!(turns(3, 127).await, [(2, true), (3, false)]);
    }

    #[tokio::test]
    async fn requests_that_wait_for_their_turn_go_to_hyper_when_the_server_stops() {
        let (mut stream, terms, _peer) = connection_with(TURN_COST + 3, 1).await;
        let activity = Activity::new(Protocol::Http1, Instant::now());
        let mut fast = FastPath::new(&mut stream, &Echo, &activity, terms);
        poll_fn(|context| {
            assert!(fast.poll(context, false).is_pending());
            assert!(fast.is_busy());
            match fast.poll(context, true) {
                Poll::Ready(End::Hand(rest)) => assert_eq!(rest, [1, 1, 1]),
                other => panic!("{other:?}"),
            }
            Poll::Ready(())
        })
        .await;
    }
}
