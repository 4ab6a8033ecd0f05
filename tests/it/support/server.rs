//! The real server in this process, on a free port of 127.0.0.1.

use std::net::SocketAddr;
use std::path::Path;

use clap::Parser;
use reviewd::cli::ServeArgs;
use reviewd::server::{self, Config, DataSource, Running};

use super::client::{Connection, Response, get};

/// A running server; dropping it ends it.
pub(crate) struct Server {
    running: Running,
}

/// The flags of `serve`, which know every default.
#[derive(Parser)]
struct Flags {
    #[command(flatten)]
    serve: ServeArgs,
}

/// Returns the configuration of a test: the defaults of the program, but the embedded sample, a free port, two
/// threads, neither hub, state nor rates, and files looked at ten times a second.
pub(crate) fn config() -> Config {
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

    /// Returns the address of the server.
    pub(crate) fn address(&self) -> SocketAddr {
        self.running.local_addr()
    }

    /// Returns what runs.
    pub(crate) fn running(&self) -> &Running {
        &self.running
    }

    /// Opens a connection.
    pub(crate) fn connect(&self) -> Connection {
        Connection::open(self.address())
    }

    /// Sends one GET for `target` on a connection of its own.
    pub(crate) fn get(&self, target: &str) -> Response {
        get(self.address(), target, &[])
    }

    /// Sends one GET for `target` with further header fields on a connection of its own.
    pub(crate) fn get_with(&self, target: &str, fields: &[(&str, &str)]) -> Response {
        get(self.address(), target, fields)
    }

    /// Stops in good order; false if connections had to be cut.
    pub(crate) fn shutdown(self) -> bool {
        self.running.shutdown()
    }
}
