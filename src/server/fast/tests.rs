use std::future::poll_fn;

use hyper::body::Incoming;
use hyper::{Request, Response};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;
use tokio::time::Instant;

use super::super::state::Protocol;
use super::*;

/// Answers each byte, which is a request that costs as much as the byte says, with itself; zero is no simple request.
#[derive(Clone, Copy)]
struct Echo;

impl Handler for Echo {
    async fn handle(&self, _: Request<Incoming>, _: SocketAddr) -> Response<Body> {
        std::future::pending().await
    }

    fn respond_simple(
        &self,
        bytes: &[u8],
        _: SocketAddr,
        _: std::time::Instant,
        out: &mut Vec<u8>,
    ) -> Option<FastResponse> {
        let byte = bytes.first().copied().filter(|byte| *byte != 0)?;
        out.push(byte);
        Some(FastResponse {
            length: 1,
            cost: byte.into(),
            body: None,
        })
    }

    fn internal_error(&self) -> Response<Body> {
        Response::new(Body::empty())
    }
}

/// A connection on which so many requests of such a cost wait, and the peer's end of it.
async fn connection_with(requests: usize, cost: u8) -> (TcpStream, FastPathConfig, TcpStream) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let mut peer = TcpStream::connect(address).await.expect("a connection");
    let (stream, _) = listener.accept().await.expect("a connection");
    let requests = vec![cost; requests];
    peer.write_all(&requests).await.expect("a write");
    stream.readable().await.expect("readable");
    let config = FastPathConfig {
        peer: address,
        requests_max: u32::MAX,
        header_bytes: 1024,
    };
    (stream, config, peer)
}

/// Returns how many requests were answered after each turn, and whether more waited then.
async fn turns(requests: usize, cost: u8) -> Vec<(usize, bool)> {
    let (mut stream, config, _peer) = connection_with(requests, cost).await;
    let state = ConnectionState::new(Protocol::Http1, Instant::now());
    let mut fast = FastPath::new(&mut stream, &Echo, &state, config);
    let mut turns = Vec::new();
    while (state.requests() as usize) < requests {
        poll_fn(|context| {
            assert!(fast.poll(context, false).is_pending());
            Poll::Ready(())
        })
        .await;
        turns.push((state.requests() as usize, fast.is_busy()));
    }
    turns
}

#[tokio::test]
async fn a_long_row_of_requests_lets_others_have_their_turn() {
    let (once, twice) = (POLL_COST_MAX, POLL_COST_MAX * 2);
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
    let (mut stream, config, _peer) = connection_with(POLL_COST_MAX + 3, 1).await;
    let state = ConnectionState::new(Protocol::Http1, Instant::now());
    let mut fast = FastPath::new(&mut stream, &Echo, &state, config);
    poll_fn(|context| {
        assert!(fast.poll(context, false).is_pending());
        assert!(fast.is_busy());
        match fast.poll(context, true) {
            Poll::Ready(Exit::HandOff(rest)) => assert_eq!(rest, [1, 1, 1]),
            other => panic!("{other:?}"),
        }
        Poll::Ready(())
    })
    .await;
}
