//! The service on the sample practice: the real server for all who only read it, and the service alone on a
//! loopback port for tests that change what it serves.

use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use reviewd::http::{self, AppState, ServedState, Settings};
use reviewd::model;
use reviewd::search::index::IndexOptions;
use reviewd::snapshot::Snapshot;

use crate::support::{Connection, Response, Server, wait_until};

/// The public address of the service under test, which is not where it listens.
pub(crate) use oracle::service::{BASE_URL, sample};

/// How long a request's body may take.
const BODY_TIME: Duration = Duration::from_millis(500);

/// Returns bounds that the sample stays far below.
pub(crate) fn index_options() -> IndexOptions {
    oracle::service::snapshot_settings().index
}

/// Returns the snapshot of `dataset`, with its compressed variants.
pub(crate) fn snapshot_of(dataset: model::Dataset) -> Snapshot {
    let snapshot = Snapshot::build(dataset, &oracle::service::snapshot_settings());
    snapshot.compress(|| false);
    snapshot
}

/// Returns settings like those of the program, with less time for a body.
fn settings() -> Settings {
    let mut settings = oracle::service::settings();
    settings.limits.body_time = BODY_TIME;
    settings
}

/// A service that listens on loopback until the process ends.
pub(crate) struct Service {
    address: SocketAddr,
}

/// The real server on the sample practice, shared by the tests that only read; its documents are compressed.
pub(crate) fn service() -> &'static Service {
    static SERVICE: OnceLock<(Server, Service)> = OnceLock::new();
    let (_, service) = SERVICE.get_or_init(|| {
        let server = Server::start_with(|config| {
            config.base_url = Some(BASE_URL.to_owned());
            config.limits.body_time = BODY_TIME;
        });
        let service = Service {
            address: server.address(),
        };
        wait_until("every document has its variants", || {
            ["/reviews.json", "/api/feed.json", "/feed.xml"]
                .iter()
                .all(|path| {
                    ["gzip", "br"].iter().all(|coding| {
                        let reply = service.send("HEAD", path, &[("Accept-Encoding", coding)]);
                        reply.field("content-encoding").is_some()
                    })
                })
        });
        (server, service)
    });
    service
}

impl Service {
    /// Starts the service alone, on what the returned app says.
    pub(crate) fn alone(dataset: model::Dataset) -> (Service, Arc<AppState>) {
        let site =
            ServedState::new(Arc::new(snapshot_of(dataset))).expect("the base URL fits a header");
        let app = Arc::new(AppState::new(settings(), site).expect("the settings fit headers"));
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has ports");
        let address = listener
            .local_addr()
            .expect("a bound socket has an address");
        listener
            .set_nonblocking(true)
            .expect("sockets can be non-blocking");
        let shared = app.clone();
        thread::spawn(move || accept(listener, &shared));
        (Service { address }, app)
    }

    /// Opens a connection.
    pub(crate) fn connect(&self) -> Connection {
        Connection::open(self.address)
    }

    /// Sends a request on a connection of its own.
    pub(crate) fn send(&self, method: &str, target: &str, fields: &[(&str, &str)]) -> Response {
        self.connect().send(method, target, fields)
    }

    /// Sends a GET without header fields.
    pub(crate) fn get(&self, target: &str) -> Response {
        self.send("GET", target, &[])
    }

    /// Sends bytes as they are, and returns everything until the service closes the connection.
    pub(crate) fn exchange(&self, bytes: &[u8]) -> String {
        let mut connection = self.connect();
        connection.write(bytes);
        String::from_utf8_lossy(&connection.rest()).into_owned()
    }
}

#[tokio::main(flavor = "current_thread")]
async fn accept(listener: TcpListener, app: &Arc<AppState>) {
    let listener = tokio::net::TcpListener::from_std(listener).expect("a runtime is there");
    loop {
        let (stream, peer) = listener.accept().await.expect("loopback accepts");
        let app = app.clone();
        let service = service_fn(move |request| {
            let app = app.clone();
            async move {
                let response = http::handle(&app, request, peer, Instant::now());
                Ok::<_, Infallible>(response.await)
            }
        });
        let connection = hyper::server::conn::http1::Builder::new()
            .timer(TokioTimer::new())
            .serve_connection(TokioIo::new(stream), service);
        tokio::spawn(async move {
            // A client that breaks off is its own affair.
            let _ended = connection.await;
        });
    }
}
