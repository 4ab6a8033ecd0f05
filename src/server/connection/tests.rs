//! Connections with handlers of the test, which do what `http::handle` does never, or only with a bug.

use std::future::{Future, pending, ready};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use hyper::body::Incoming;
use hyper::{Request, Response, StatusCode};

use crate::http::{self, Body, HttpAnswer, Peer};
use crate::limits::{BudgetLimits, Budgets};
use crate::server::config::{Config, ServerLimits};
use crate::server::connection::PING_INTERVAL;
use crate::server::listener::{self, ListenerGroup, ListenerService, ShutdownPhase};
use crate::server::service::Handler;
use crate::server::threads::ThreadStarter;

/// The size of a response that the kernel does not accept in one piece.
const LARGE: usize = 200_000;

/// How long a test waits for an expected event.
const DEADLINE: Duration = Duration::from_secs(20);

#[test]
fn a_request_that_hyper_has_forgotten_is_answered() {
    // This handler does not read the body, does not close the connection, and drops the request when it answers.
    let large = |_| ready(Response::new(Body::made(vec![b'x'; LARGE])));
    let listeners = Served::start(large, |limits| {
        // No deadline wakes the connection within the test.
        limits.stall_time = DEADLINE * 2;
        limits.header_time = DEADLINE * 2;
    });
    let clients: Vec<_> = (0..10)
        .map(|_| thread::spawn(listeners.two_requests_with_a_body()))
        .collect();
    for client in clients {
        assert_eq!(client.join().unwrap(), 2, "answers");
    }
}

#[test]
fn a_response_of_ours_is_sent_as_it_is_whatever_it_looks_like() {
    let bare = |_| {
        let mut response = Response::new(Body::default());
        *response.status_mut() = StatusCode::BAD_REQUEST;
        ready(response)
    };
    let listeners = Served::start(bare, |_| {});
    let response = listeners.exchange("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    let head = "HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
    assert_eq!(response, head);
}

#[test]
fn an_invalid_head_after_a_response_gets_our_error() {
    let empty = |_| ready(Response::new(Body::default()));
    let listeners = Served::start(empty, |_| {});
    let response = listeners.exchange("GET / HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/9\r\n\r\n");
    let (first, second) = response.split_once("\r\n\r\n").unwrap();
    assert!(first.starts_with("HTTP/1.1 200 OK\r\n"), "{first}");
    assert!(
        second.starts_with("HTTP/1.1 400 Bad Request\r\n"),
        "{second}"
    );
    assert!(second.contains("\"error\":\"bad_request\""), "{second}");
}

#[test]
fn a_panic_in_a_handler_is_a_500_and_the_others_go_on() {
    for late in [false, true] {
        let panic = move |_| async move {
            if late {
                tokio::task::yield_now().await;
            }
            panic!("on purpose")
        };
        assert_panics_are_answered(&Served::start(panic, |_| {}));
    }
    assert_panics_are_answered(&Served::start_handler(PanicsAtOnce, |_| {}));
}

fn assert_panics_are_answered(listeners: &Served) {
    let reply = listeners.exchange("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    assert!(reply.starts_with("HTTP/1.1 500 "), "{reply}");
    assert!(reply.contains("connection: close\r\n"), "{reply}");
    assert!(reply.contains("\"error\":\"internal_error\""), "{reply}");
    let reply = listeners.exchange("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    assert!(reply.starts_with("HTTP/1.1 500 "), "{reply}");
}

#[test]
fn a_neighbor_is_answered_before_the_end_of_a_row_that_began_before_it_asked() {
    let row = "GET /row HTTP/1.1\r\nHost: a\r\n\r\n".repeat(128);
    assert_neighbor_is_answered(row.as_bytes(), 128);
    // Without a yield, all streams would be polled before the sockets are read.
    let streams = (0..64).flat_map(|number| get_stream(1 + 2 * number));
    let row: Vec<u8> = PREFACE.iter().copied().chain(streams).collect();
    assert_neighbor_is_answered(&row, 32);
}

/// Sends `row`, and asserts that fewer than `max` of its requests are answered before that of another connection.
fn assert_neighbor_is_answered(row: &[u8], max: usize) {
    let turns = Turns::default();
    let handler_turns = turns.clone();
    let handler = move |request: Request<Incoming>| {
        handler_turns.note(&request);
        // The other connection sends its request while the first request is answered.
        handler_turns.ask();
        // After two such handlers other tasks are polled.
        let began = Instant::now();
        while began.elapsed() < Duration::from_micros(200) {}
        ready(Response::new(Body::default()))
    };
    let listeners = Served::start(handler, |_| {});
    let mut neighbor = listeners.connect();
    turns.wait_to_ask(&neighbor);
    let mut client = listeners.connect();
    client.write_all(row).unwrap();
    neighbor.read_to_string(&mut String::new()).unwrap();
    let answered = turns.answered.lock().unwrap();
    let place = answered.iter().position(|path| path == "/neighbor");
    assert!(place.is_some_and(|place| place < max), "behind {place:?}");
}

#[test]
fn a_neighbor_is_answered_before_the_request_that_follows_a_late_answer() {
    let turns = Turns::default();
    let handler_turns = turns.clone();
    let handler = move |request: Request<Incoming>| {
        let turns = handler_turns.clone();
        async move {
            turns.note(&request);
            if request.uri().path() == "/late" {
                // The answer comes in a later poll than the request.
                tokio::task::yield_now().await;
                turns.ask();
                // It uses up the turn of its connection.
                thread::sleep(Duration::from_millis(1));
            }
            Response::new(Body::default())
        }
    };
    let listeners = Served::start(handler, |_| {});
    // The only serving thread knows the connection of the neighbor.
    let mut neighbor = listeners.connect();
    neighbor
        .write_all(b"GET /first HTTP/1.1\r\nHost: a\r\n\r\n")
        .unwrap();
    assert_ne!(neighbor.read(&mut [0; 256]).unwrap(), 0, "an answer");
    turns.wait_to_ask(&neighbor);
    let late = "GET /late HTTP/1.1\r\nHost: a\r\n\r\n";
    let next = "GET /next HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    listeners.exchange(&format!("{late}{next}"));
    let answered = turns.answered.lock().unwrap();
    assert_eq!(*answered, ["/first", "/late", "/neighbor", "/next"]);
}

/// In which order requests get their turns, and the connection of a neighbor.
#[derive(Clone, Default)]
struct Turns {
    answered: Arc<Mutex<Vec<String>>>,
    /// `None` once the neighbor has asked.
    neighbor: Arc<Mutex<Option<TcpStream>>>,
}

impl Turns {
    fn note(&self, request: &Request<Incoming>) {
        let path = request.uri().path().to_owned();
        self.answered.lock().unwrap().push(path);
    }

    /// The next [`Turns::ask`] asks on this connection.
    fn wait_to_ask(&self, connection: &TcpStream) {
        *self.neighbor.lock().unwrap() = Some(connection.try_clone().unwrap());
    }

    /// Sends the request of the neighbor, which closes its connection; a second call does nothing.
    fn ask(&self) {
        if let Some(mut stream) = self.neighbor.lock().unwrap().take() {
            let request = b"GET /neighbor HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
            stream.write_all(request).unwrap();
        }
    }
}

/// The first bytes of an HTTP/2 client: its preface, and empty SETTINGS.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

/// Returns HEADERS that open and end `stream`: GET, http, "/", and the authority "a" (RFC 9113 §6.2, RFC 7541 appendix
/// A).
fn get_stream(stream: u32) -> Vec<u8> {
    let block = [0x82, 0x86, 0x84, 0x41, 1, b'a'];
    [&[0, 0, 6, 1, 5][..], &stream.to_be_bytes(), &block].concat()
}

#[test]
fn a_connection_whose_stream_was_reset_before_its_answer_is_idle() {
    let never = |_| pending();
    let listeners = Served::start(never, |limits| {
        limits.stall_time = DEADLINE * 2;
        limits.idle_time = Duration::from_millis(300);
    });
    let mut client = listeners.connect();
    // RST_STREAM with CANCEL (RFC 9113 §6.4).
    let reset = [0, 0, 4, 3, 0, 0, 0, 0, 1, 0, 0, 0, 8];
    let bytes = [PREFACE, &get_stream(1), &reset].concat();
    client.write_all(&bytes).unwrap();
    let began = Instant::now();
    // GOAWAY, of 8 bytes (RFC 9113 §6.8).
    let mut received = Vec::new();
    while !received.windows(4).any(|bytes| bytes == [0, 0, 8, 7]) {
        let mut buffer = [0; 256];
        let length = client.read(&mut buffer).unwrap();
        received.extend_from_slice(&buffer[..length]);
    }
    assert!(began.elapsed() < PING_INTERVAL, "ended by a ping");
}

/// A handler that panics before it returns.
#[derive(Clone)]
struct PanicsAtOnce;

impl Handler for PanicsAtOnce {
    fn handle(&self, _: Request<Incoming>, _: &Peer, _: Instant) -> HttpAnswer {
        panic!("on purpose")
    }

    fn internal_error(&self) -> Response<Body> {
        http::internal_error()
    }
}

/// A handler that calls a function.
#[derive(Clone)]
struct By<F>(F);

impl<F, A> Handler for By<F>
where
    F: Fn(Request<Incoming>) -> A + Clone + Send + Sync + 'static,
    A: Future<Output = Response<Body>> + 'static,
{
    fn handle(&self, request: Request<Incoming>, _: &Peer, _: Instant) -> HttpAnswer {
        let handler = self.0.clone();
        HttpAnswer::Later(Box::pin(async move { handler(request).await }))
    }

    fn internal_error(&self) -> Response<Body> {
        http::internal_error()
    }
}

/// A listener with a handler of the test.
struct Served(ListenerGroup);

impl Served {
    fn start<F, A>(handler: F, change: impl FnOnce(&mut ServerLimits)) -> Served
    where
        By<F>: Handler,
        F: Fn(Request<Incoming>) -> A,
    {
        Served::start_handler(By(handler), change)
    }

    fn start_handler(handler: impl Handler, change: impl FnOnce(&mut ServerLimits)) -> Served {
        let mut config = Config::for_tests();
        change(&mut config.limits);
        let socket = listener::bind("--listen", config.listen).unwrap();
        // With a small send buffer the server has to wait for its clients.
        socket.set_send_buffer_size(64 << 10).unwrap();
        let listener = listener::listen("--listen", config.listen, socket).unwrap();
        let threads = ThreadStarter::default();
        let budgets = Budgets::new(BudgetLimits {
            process_bytes: 64 << 20,
            client_bytes: 0,
        });
        let service = ListenerService {
            handler,
            tls: None,
            counters: Arc::default(),
            budgets,
        };
        Served(ListenerGroup::start(listener, service, &config, &threads).unwrap())
    }

    fn connect(&self) -> TcpStream {
        let client = TcpStream::connect(self.0.address).unwrap();
        client.set_read_timeout(Some(DEADLINE)).unwrap();
        client
    }

    /// Returns a function that sends a request with a chunked body and another after it, and counts the responses.
    ///
    /// hyper 1.12 answers the first and then usually does not process the second until it is polled again.
    fn two_requests_with_a_body(&self) -> impl FnOnce() -> usize + use<> {
        let mut client = self.connect();
        move || {
            let requests = b"GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n\
                GET /second HTTP/1.1\r\nHost: x\r\n\r\n";
            client.write_all(requests).unwrap();
            // The server has to wait, as nothing is read while it could still write.
            thread::park_timeout(Duration::from_millis(50));
            let mut replies = Vec::new();
            let mut buffer = vec![0; LARGE];
            while replies.len() < 2 * LARGE {
                let length = client.read(&mut buffer).unwrap();
                assert!(length > 0, "it ends after {} bytes", replies.len());
                replies.extend_from_slice(&buffer[..length]);
            }
            replies.len() / LARGE
        }
    }

    /// Sends a request, and returns everything up to the close.
    fn exchange(&self, request: &str) -> String {
        let mut client = self.connect();
        client.write_all(request.as_bytes()).unwrap();
        let mut reply = String::new();
        client.read_to_string(&mut reply).unwrap();
        reply
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // Its threads end soon after.
        listener::set_phase(&self.0.phase, ShutdownPhase::Quit);
    }
}
