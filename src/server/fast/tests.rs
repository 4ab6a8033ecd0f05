use std::cell::RefCell;
use std::convert::Infallible;
use std::future::poll_fn;

use hyper::body::Incoming;
use hyper::{Request, Response};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::time::Instant;

use crate::http::Body;

use super::super::activity::Protocol;
use super::*;

/// Answers each byte, which is a request that costs as much as the byte says, with itself. What zeros begin is not whole
/// before another byte comes, and the bytes of [`CALLS`] are heads of calls.
#[derive(Clone, Copy)]
struct Echo;

thread_local! {
    /// From when [`Echo`] was to count each answer's time, and when it had answered.
    static BEGAN: RefCell<Vec<[std::time::Instant; 2]>> = const { RefCell::new(Vec::new()) };
}

/// Heads of calls, and how long each is with its body.
const CALLS: [(u8, usize); 3] = [(253, 4), (254, 1_024), (255, 1_025)];

impl Handler for Echo {
    type Answer = std::future::Pending<Result<Response<Body>, Infallible>>;

    fn begin(&self, _: Request<Incoming>, _: SocketAddr) -> Self::Answer {
        std::future::pending()
    }

    fn answer_plain(
        &self,
        bytes: &[u8],
        _: SocketAddr,
        began: std::time::Instant,
        out: &mut Vec<u8>,
    ) -> Result<Answered, NotPlain> {
        let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
        let byte = *bytes.get(zeros).ok_or(NotPlain::Part)?;
        let call = CALLS.iter().find(|(head, _)| *head == byte);
        let length = zeros + call.map_or(1, |(_, length)| *length);
        if length > bytes.len() {
            return Err(NotPlain::Body { length });
        }
        out.push(byte);
        let answered = std::time::Instant::now();
        BEGAN.with_borrow_mut(|all| all.push([began, answered]));
        Ok(Answered {
            length,
            cost: call.map_or(byte.into(), |_| 1),
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
        body_wait: Duration::from_secs(3_600),
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
async fn the_time_of_an_answer_counts_from_when_its_turn_came() {
    let (mut stream, terms, mut peer) = connection_with(2, 1).await;
    let activity = Activity::new(Protocol::Http1, Instant::now());
    let mut fast = FastPath::new(&mut stream, &Echo, &activity, terms);
    for requests in [2, 4] {
        let before = std::time::Instant::now();
        poll_fn(|context| match fast.poll(context, false) {
            Poll::Pending if activity.requests() == requests => Poll::Ready(()),
            polled => {
                assert!(polled.is_pending());
                Poll::Pending
            }
        })
        .await;
        // The first was read in this poll and not in one before; the second waited for the first.
        match BEGAN.take()[..] {
            [[first, answered], [second, _]] => {
                assert!(before <= first && first <= answered && answered <= second);
            }
            ref began => panic!("{began:?}"),
        }
        peer.write_all(&[1, 1]).await.expect("a write");
    }
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

/// Goes on until so many bytes of a head are kept, or the fast path ends; `None` for the former.
async fn until_begun(fast: &mut FastPath<'_, Echo>, bytes: usize) -> Option<End> {
    poll_fn(|context| match fast.poll(context, false) {
        Poll::Ready(end) => Poll::Ready(Some(end)),
        Poll::Pending if fast.begun.len() == bytes => Poll::Ready(None),
        Poll::Pending => Poll::Pending,
    })
    .await
}

#[tokio::test]
async fn a_head_in_parts_is_kept_while_it_is_not_whole() {
    let parts = usize::from(PARTS_MAX) - 1;
    let (mut stream, terms, mut peer) = connection_with(1, 1).await;
    let activity = Activity::new(Protocol::Http1, Instant::now());
    let mut fast = FastPath::new(&mut stream, &Echo, &activity, terms);
    // The first head has no more parts than the second: each has its own number.
    for _ in 0..2 {
        assert!(until_begun(&mut fast, 0).await.is_none());
        for bytes in 1..=parts {
            peer.write_all(&[0]).await.expect("a write");
            assert!(until_begun(&mut fast, bytes).await.is_none());
            assert!(fast.is_busy());
        }
        let requests = activity.requests();
        peer.write_all(&[1, 1]).await.expect("a write");
        assert!(until_begun(&mut fast, 0).await.is_none());
        assert_eq!(activity.requests(), requests + 2);
        assert_eq!((fast.begun.capacity(), fast.is_busy()), (0, false));
    }
    for bytes in 1..=parts {
        peer.write_all(&[0]).await.expect("a write");
        assert!(until_begun(&mut fast, bytes).await.is_none());
    }
    peer.write_all(&[0]).await.expect("a write");
    match until_begun(&mut fast, 0).await {
        Some(End::Hand(rest)) => assert_eq!(rest, vec![0; parts + 1]),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_head_that_can_no_longer_fit_goes_to_hyper() {
    for (bytes, is_kept) in [(1_023, true), (1_024, false)] {
        let (mut stream, terms, _peer) = connection_with(bytes, 0).await;
        let activity = Activity::new(Protocol::Http1, Instant::now());
        let mut fast = FastPath::new(&mut stream, &Echo, &activity, terms);
        let end = until_begun(&mut fast, bytes).await;
        assert_eq!(end.is_none(), is_kept, "{bytes} bytes: {end:?}");
    }
}

#[tokio::test]
async fn half_a_head_goes_to_hyper_when_nothing_more_comes() {
    for is_closed in [true, false] {
        let (mut stream, terms, peer) = connection_with(3, 0).await;
        let activity = Activity::new(Protocol::Http1, Instant::now());
        let mut fast = FastPath::new(&mut stream, &Echo, &activity, terms);
        assert!(until_begun(&mut fast, 3).await.is_none());
        // Either the peer has closed its side, or the server stops.
        let peer = (!is_closed).then_some(peer);
        match poll_fn(|context| fast.poll(context, !is_closed)).await {
            End::Hand(rest) => assert_eq!(rest, [0, 0, 0]),
            other => panic!("{other:?}"),
        }
        drop(peer);
    }
}

#[tokio::test]
async fn a_body_that_comes_behind_its_head_is_waited_for() {
    let (mut stream, terms, mut peer) = connection_with(1, 253).await;
    let activity = Activity::new(Protocol::Http1, Instant::now());
    let mut fast = FastPath::new(&mut stream, &Echo, &activity, terms);
    // In one part or several; the second call comes in the piece with which the first becomes whole.
    assert!(until_begun(&mut fast, 1).await.is_none());
    peer.write_all(&[9, 9]).await.expect("a write");
    assert!(until_begun(&mut fast, 3).await.is_none());
    peer.write_all(&[9, 253]).await.expect("a write");
    assert!(until_begun(&mut fast, 1).await.is_none());
    assert_eq!((activity.requests(), fast.is_busy()), (1, true));
    peer.write_all(&[9, 9, 9, 1]).await.expect("a write");
    assert!(until_begun(&mut fast, 0).await.is_none());
    assert_eq!((activity.requests(), fast.is_busy()), (3, false));
    assert!(fast.body_wait.is_none() && fast.parts == 0);
    let mut replies = [0; 3];
    peer.read_exact(&mut replies).await.expect("replies");
    assert_eq!(replies, [253, 253, 1]);
}

#[tokio::test]
async fn a_call_that_cannot_fit_goes_to_hyper_at_once() {
    for (head, is_kept) in [(254, true), (255, false)] {
        let (mut stream, terms, _peer) = connection_with(1, head).await;
        let activity = Activity::new(Protocol::Http1, Instant::now());
        let mut fast = FastPath::new(&mut stream, &Echo, &activity, terms);
        let end = until_begun(&mut fast, 1).await;
        assert_eq!(end.is_none(), is_kept, "{head}: {end:?}");
    }
}

#[tokio::test]
async fn a_body_in_many_parts_goes_to_hyper() {
    let parts = usize::from(PARTS_MAX) - 1;
    let (mut stream, terms, mut peer) = connection_with(1, 254).await;
    let activity = Activity::new(Protocol::Http1, Instant::now());
    let mut fast = FastPath::new(&mut stream, &Echo, &activity, terms);
    for bytes in 1..=parts {
        assert!(until_begun(&mut fast, bytes).await.is_none());
        peer.write_all(&[9]).await.expect("a write");
    }
    match until_begun(&mut fast, usize::MAX).await {
        Some(End::Hand(rest)) => assert_eq!(rest.len(), parts + 1),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_head_whose_body_does_not_come_goes_to_hyper() {
    for (wait, is_closed) in [(0, false), (3_600, true)] {
        let (mut stream, mut terms, peer) = connection_with(1, 253).await;
        terms.body_wait = Duration::from_secs(wait);
        let activity = Activity::new(Protocol::Http1, Instant::now());
        let mut fast = FastPath::new(&mut stream, &Echo, &activity, terms);
        let _peer = (!is_closed).then_some(peer);
        match poll_fn(|context| fast.poll(context, false)).await {
            End::Hand(rest) => assert_eq!(rest, [253]),
            other => panic!("{other:?}"),
        }
    }
}
