//! Connections with handlers of our own: what `http::handle` never does, or does only when it is broken.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use hyper::body::Incoming;
use hyper::{Request, Response, StatusCode};

use crate::http::{self, Body};
use crate::server::config::{Config, Limits};
use crate::server::counters::Counters;
use crate::server::listener::{self, ListenerGroup, ShutdownPhase};
use crate::server::service::Handler;
use crate::server::threads::Threads;

/// The size of a reply that the kernel does not take in one piece.
const LARGE: usize = 200_000;

/// How long a test waits for what has to happen.
const DEADLINE: Duration = Duration::from_secs(20);

#[test]
fn a_request_that_hyper_has_forgotten_is_answered() {
    let listeners = Served::start(Ignore, |limits| {
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
fn a_panic_in_a_handler_is_a_500_and_the_others_go_on() {
    for late in [false, true] {
        let listeners = Served::start(Panic { late }, |_| {});
        let reply = listeners.exchange("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
        assert!(reply.starts_with("HTTP/1.1 500 "), "{reply}");
        assert!(reply.contains("connection: close\r\n"), "{reply}");
        assert!(reply.contains("\"error\":\"internal_error\""), "{reply}");
        let reply = listeners.exchange("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
        assert!(reply.starts_with("HTTP/1.1 500 "), "{reply}");
    }
}

/// Answers everything with [`LARGE`] bytes, and leaves bodies alone without closing: it lets go of the request when it
/// answers, as an `async fn` does.
#[derive(Clone)]
struct Ignore;

impl Handler for Ignore {
    async fn handle(
        &self,
        request: Request<Incoming>,
        _: SocketAddr,
        _: Instant,
    ) -> Response<Body> {
        drop(request);
        Response::new(Body::full(Bytes::from(vec![b'x'; LARGE])))
    }

    fn internal_error(&self) -> Response<Body> {
        http::internal_error()
    }
}

/// Panics at once, or when it is polled.
#[derive(Clone)]
struct Panic {
    late: bool,
}

impl Handler for Panic {
    async fn handle(&self, _: Request<Incoming>, _: SocketAddr, _: Instant) -> Response<Body> {
        if self.late {
            tokio::task::yield_now().await;
        }
        panic!("on purpose")
    }

    fn internal_error(&self) -> Response<Body> {
        let response = http::internal_error();
        assert_eq!(response.status(), StatusCode::INTERNAL_SERVER_ERROR);
        response
    }
}

/// A listener with a handler of the test.
struct Served {
    listeners: Option<ListenerGroup>,
}

impl Served {
    fn start<H: Handler>(handler: H, change: impl FnOnce(&mut Limits)) -> Served {
        let mut config = config();
        change(&mut config.limits);
        let counters = Arc::new(Counters::default());
        let socket = listener::bind("--listen", config.listen).unwrap();
        // A kernel that takes little at a time, so that the server has to wait for its clients.
        socket.set_send_buffer_size(64 << 10).unwrap();
        let listener = listener::listen("--listen", socket).unwrap();
        let threads = Threads::new(&Arc::default(), "");
        let listeners =
            ListenerGroup::start(listener, handler, &config, None, counters, threads).unwrap();
        Served {
            listeners: Some(listeners),
        }
    }

    fn connect(&self) -> TcpStream {
        let client = TcpStream::connect(self.listeners.as_ref().unwrap().address).unwrap();
        client.set_read_timeout(Some(DEADLINE)).unwrap();
        client
    }

    /// Returns what sends a request with a chunked body and another right behind it, and counts the answers.
    ///
    /// hyper 1.12 answers the first and then, most times, forgets the second until it is polled again.
    fn two_requests_with_a_body(&self) -> impl FnOnce() -> usize + use<> {
        let mut client = self.connect();
        move || {
            client
                .write_all(
                    b"GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n\
                      GET /second HTTP/1.1\r\nHost: x\r\n\r\n",
                )
                .unwrap();
            // Nothing is read while the server could still write: that is what makes it wait.
            thread::park_timeout(Duration::from_millis(50));
            let mut replies = Vec::new();
            let mut buffer = vec![0; LARGE];
            while replies.len() < 2 * LARGE {
                let length = client.read(&mut buffer).unwrap();
                assert!(
                    length > 0,
                    "the connection ends after {} bytes",
                    replies.len()
                );
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
        if let Some(listeners) = self.listeners.take() {
            listener::set_phase(&listeners.phase, ShutdownPhase::Quit);
            let _ended = listeners.join();
        }
    }
}

#[derive(clap::Parser)]
struct Flags {
    #[command(flatten)]
    serve: crate::cli::ServeArgs,
}

/// Returns the configuration of the program, but one thread, a free port, and neither hub nor state.
fn config() -> Config {
    let flags = [
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--threads",
        "1",
        "--no-hub",
    ];
    let flags = <Flags as clap::Parser>::parse_from(flags).serve.config();
    let mut config = flags.unwrap_or_else(|failure| panic!("{failure}"));
    config.state = None;
    config
}
