//! The real server in this process, on a free port of 127.0.0.1.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use clap::Parser;
use reviewd::cli::ServeArgs;
use reviewd::http::ServedState;
use reviewd::server::{self, Config, DataSource, Running};
use reviewd::snapshot::Snapshot;

use super::client::{Connection, Fields, Response, get, post_mcp, send};
use super::wait_until;

/// The public address of [`service`], which differs from the address that it listens on.
pub(crate) use oracle::service::BASE_URL;

/// A running server; dropping it stops it.
pub(crate) struct Server {
    running: Running,
}

/// The flags of `serve`, used for their defaults.
#[derive(Parser)]
struct Flags {
    #[command(flatten)]
    serve: ServeArgs,
}

/// Returns the configuration of a test: the defaults of the program, except for the embedded sample, a free port, two
/// threads, no hub, state or rate limits, and polling of files ten times a second.
fn config() -> Config {
    let flags =
        "serve --listen 127.0.0.1:0 --threads 2 --poll 100ms --no-hub --read-rate 0 --mcp-rate 0";
    let flags = Flags::parse_from(flags.split(' ')).serve.config();
    let mut config = flags.unwrap_or_else(|failure| panic!("{failure}"));
    config.data = DataSource::Sample;
    config.search_memory = Some(64 << 20);
    config.state = None;
    config.limits.rates.hub = 0;
    config
}

/// Returns a server on the sample, shared by all tests that only read; its documents are compressed, and its timeout
/// for bodies is 500 ms.
pub(crate) fn service() -> &'static Server {
    static SERVICE: OnceLock<Server> = OnceLock::new();
    SERVICE.get_or_init(|| {
        let server = Server::start_with(|config| {
            config.base_url = Some(BASE_URL.to_owned());
            config.limits.requests.body_time = Duration::from_millis(500);
        });
        for path in [
            "/reviews.json",
            "/api/feed.json",
            "/feed.xml",
            "/insights.json",
        ] {
            server.wait_for_variants(path);
        }
        server
    })
}

impl Server {
    /// Starts a server that serves the embedded sample.
    pub(crate) fn start() -> Server {
        Server::start_with(|_| {})
    }

    /// Starts a server on the files in `directory`.
    pub(crate) fn start_on(directory: &Path) -> Server {
        Server::start_with(|config| config.data = DataSource::Directory(directory.to_owned()))
    }

    /// Starts a server with a changed configuration.
    pub(crate) fn start_with(change: impl FnOnce(&mut Config)) -> Server {
        let mut config = config();
        change(&mut config);
        let running =
            server::start(config, None).unwrap_or_else(|error| panic!("no server: {error}"));
        Server { running }
    }

    /// Starts a server with a changed configuration, to which this machine is a proxy of clients.
    pub(crate) fn start_behind_proxy(change: impl FnOnce(&mut Config)) -> Server {
        Server::start_with(|config| {
            config.proxies.networks = vec!["127.0.0.0/8".parse().unwrap()];
            change(config);
        })
    }

    /// Publishes `snapshot`.
    pub(crate) fn publish(&self, snapshot: &Arc<Snapshot>) {
        let state = ServedState::new(Arc::clone(snapshot)).expect("the base URL fits a header");
        self.running.app().publish(state);
    }

    /// Returns the state that is served now.
    pub(crate) fn current(&self) -> Arc<ServedState> {
        self.running.app().current()
    }

    /// Waits until the document at `path` is available in every content coding.
    pub(crate) fn wait_for_variants(&self, path: &str) {
        wait_until("the compressed variants are made", || {
            ["gzip", "br"].iter().all(|coding| {
                let response = self.get_with(path, &[("Accept-Encoding", coding)]);
                response.field("content-encoding") == Some(coding)
            })
        });
    }

    /// Returns the address of the server.
    pub(crate) fn address(&self) -> SocketAddr {
        self.running.local_addr()
    }

    /// Returns the handle of the running server.
    pub(crate) fn running(&self) -> &Running {
        &self.running
    }

    /// Waits until this many connections are open.
    pub(crate) fn wait_for_open(&self, count: u32) {
        wait_until("connections are accepted or closed", || {
            self.running.open_connections() == count
        });
    }

    /// Opens a connection.
    pub(crate) fn connect(&self) -> Connection {
        Connection::open(self.address())
    }

    /// Opens a connection, and gets a response on it.
    pub(crate) fn kept(&self) -> Connection {
        Connection::kept(self.address())
    }

    /// Sends one GET for `target` on a new connection.
    pub(crate) fn get(&self, target: &str) -> Response {
        self.get_with(target, &[])
    }

    /// Sends one GET for `target` with further header fields on a new connection.
    pub(crate) fn get_with(&self, target: &str, fields: Fields<'_>) -> Response {
        get(self.address(), target, fields)
    }

    /// Sends a request without a body on a new connection.
    pub(crate) fn send(&self, method: &str, target: &str, fields: Fields<'_>) -> Response {
        send(self.address(), method, target, fields, b"")
    }

    /// Sends a JSON message to `/mcp` with further header fields on a new connection.
    pub(crate) fn post_mcp(&self, fields: Fields<'_>, message: &str) -> Response {
        post_mcp(self.address(), fields, message)
    }

    /// Sends raw bytes, and returns everything until the server closes the connection.
    pub(crate) fn exchange(&self, bytes: &[u8]) -> String {
        let mut connection = self.connect();
        connection.write(bytes);
        String::from_utf8_lossy(&connection.rest()).into_owned()
    }

    /// Shuts down gracefully; false if connections had to be aborted.
    pub(crate) fn shutdown(self) -> bool {
        self.running.shutdown()
    }
}
