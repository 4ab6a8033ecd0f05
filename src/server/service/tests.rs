//! Fairness of a row of pipelined requests and of streams, and streams that are reset.

use std::io::Write;
use std::sync::Mutex;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::*;

/// What one answer takes: two of them, and others are polled.
const ANSWER_TIME: Duration = Duration::from_micros(200);

/// Notes what it answers, and has the neighbour ask while it answers the first of the row.
#[derive(Clone)]
struct Street {
    answered: Arc<Mutex<Vec<String>>>,
    neighbour: Arc<Mutex<Option<std::net::TcpStream>>>,
}

impl Handler for Street {
    async fn handle(
        &self,
        request: Request<Incoming>,
        _: SocketAddr,
        _: Instant,
    ) -> Response<Body> {
        let path = request.uri().path().to_owned();
        self.answered.lock().expect("no panic").push(path);
        if let Some(mut stream) = self.neighbour.lock().expect("no panic").take() {
            let request = b"GET /neighbour HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
            stream.write_all(request).expect("a write");
        }
        let began = Instant::now();
        while began.elapsed() < ANSWER_TIME {}
        self.internal_error()
    }

    fn internal_error(&self) -> Response<Body> {
        Response::new(Body::empty())
    }
}

fn link<H: Handler>(handler: H, state: &Arc<ConnectionState>) -> Link<H> {
    Link {
        handler,
        peer: SocketAddr::from(([127, 0, 0, 1], 1)),
        state: Arc::clone(state),
        requests: AtomicU32::new(0),
        requests_max: u32::MAX,
        hsts: None,
    }
}

fn state() -> Arc<ConnectionState> {
    Arc::new(ConnectionState::new(tokio::time::Instant::now()))
}

/// Serves `stream` by hyper until it ends.
async fn serve(stream: TcpStream, handler: Street) {
    let service = link(handler, &state()).service();
    let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
    connection.await.expect("an end in good order");
}

#[tokio::test]
async fn a_neighbour_is_answered_before_the_end_of_a_row_that_began_before_it_asked() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let neighbour = std::net::TcpStream::connect(address).expect("a connection");
    let (beside, _) = listener.accept().await.expect("a connection");
    let mut client = TcpStream::connect(address).await.expect("a connection");
    let (stream, _) = listener.accept().await.expect("a connection");
    let row = "GET /row HTTP/1.1\r\nHost: a\r\n\r\n".repeat(127);
    let last = "GET /row HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    let row = row + last;
    client.write_all(row.as_bytes()).await.expect("a write");
    stream.readable().await.expect("readable");

    let answered = Arc::default();
    let handler = Street {
        answered: Arc::clone(&answered),
        neighbour: Arc::new(Mutex::new(Some(neighbour.try_clone().expect("a handle")))),
    };
    let beside = tokio::spawn(serve(beside, handler.clone()));
    let served = tokio::spawn(serve(stream, handler));
    let mut replies = String::new();
    client.read_to_string(&mut replies).await.expect("replies");
    assert_eq!(replies.matches("HTTP/1.1 200 OK").count(), 128);
    drop((
        neighbour,
        served.await.expect("no panic"),
        beside.await.expect("no panic"),
    ));
    let answered = answered.lock().expect("no panic");
    let place = answered.iter().position(|path| path == "/neighbour");
    // After a few answers, if the system is quick to tell that it asked; before the end of the row in any case.
    assert!(place.is_some_and(|place| place < 128), "behind {place:?}");
}

/// Begins, and never answers.
#[derive(Clone)]
struct Stuck;

impl Handler for Stuck {
    async fn handle(&self, _: Request<Incoming>, _: SocketAddr, _: Instant) -> Response<Body> {
        std::future::pending().await
    }

    fn internal_error(&self) -> Response<Body> {
        Response::new(Body::empty())
    }
}

#[tokio::test]
async fn the_streams_of_one_connection_share_the_time_after_which_it_yields() {
    const STREAMS: usize = 64;
    let link = Arc::new(link(Stuck, &state()));
    let answered = Arc::new(AtomicU32::new(0));
    for _ in 0..STREAMS {
        let (link, answered) = (Arc::clone(&link), Arc::clone(&answered));
        tokio::spawn(async move {
            let began = link.begin().await;
            while began.elapsed() < ANSWER_TIME {}
            answered.fetch_add(1, Relaxed);
        });
    }
    // What is answered between two turns of another task.
    let (mut before, mut most) = (0, 0);
    while before < STREAMS as u32 {
        tokio::task::yield_now().await;
        let now = answered.load(Relaxed);
        most = most.max(now - before);
        before = now;
    }
    assert!(most <= 4, "{most} streams in a row");
}

/// Waits, a bounded time, until so many requests are in hand.
async fn wait_for_handling(state: &ConnectionState, count: u32) {
    for _ in 0..10_000 {
        if state.handling() == count {
            return;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    panic!("{} requests in hand, not {count}", state.handling());
}

#[tokio::test]
async fn a_stream_that_is_reset_before_its_answer_leaves_nothing_in_hand() {
    let (ours, mut theirs) = tokio::io::duplex(1 << 16);
    let state = state();
    state.is_http2.set(true);
    let service = link(Stuck, &state).service();
    let server = hyper::server::conn::http2::Builder::new(hyper_util::rt::TokioExecutor::new())
        .serve_connection(TokioIo::new(ours), service);
    let server = tokio::spawn(server);
    let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    bytes.extend([0, 0, 0, 4, 0, 0, 0, 0, 0]);
    // HEADERS of stream 1, its end too: GET, http, "/", and "a" as the authority (RFC 9113 §6.2, RFC 7541 appendix A).
    bytes.extend([0, 0, 6, 1, 5, 0, 0, 0, 1, 0x82, 0x86, 0x84, 0x41, 1, b'a']);
    theirs.write_all(&bytes).await.expect("a write");
    wait_for_handling(&state, 1).await;
    // RST_STREAM with CANCEL (RFC 9113 §6.4).
    let reset = [0, 0, 4, 3, 0, 0, 0, 0, 1, 0, 0, 0, 8];
    theirs.write_all(&reset).await.expect("a write");
    wait_for_handling(&state, 0).await;
    assert!(!server.is_finished(), "the connection goes on");
    server.abort();
}
