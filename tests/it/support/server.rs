//! The real server in this process, on a free port of 127.0.0.1.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::Path;
use std::time::Duration;

use reviewd::http::{Proxies, ProxyField, Rates};
use reviewd::server::{self, Config, DataSource, Limits, Mcp, Running};

use super::client::{Connection, Response, get};

/// A running server; dropping it ends it.
pub(crate) struct Server {
    running: Running,
}

/// Returns the configuration of a test: the defaults of the program, but the embedded sample, a free port, two
/// threads, and files looked at ten times a second.
pub(crate) fn config() -> Config {
    Config {
        data: DataSource::Sample,
        search_memory: Some(64 << 20),
        mentions_min: reviewd::insights::MENTIONS_MIN,
        state: None,
        listen: SocketAddr::from(([127, 0, 0, 1], 0)),
        inherited: None,
        systemd: Default::default(),
        // The conformance tests run once with it and once without.
        admin_listen: None,
        access_log: None,
        base_url: None,
        cache_control: "public, max-age=60, stale-while-revalidate=600".to_owned(),
        threads: NonZeroUsize::MIN.saturating_add(1),
        drain_time: Duration::from_secs(8),
        poll: Duration::from_millis(100),
        mcp: Mcp {
            allowed_origins: Vec::new(),
            allowed_hosts: Vec::new(),
        },
        tls: None,
        proxies: Proxies {
            networks: Vec::new(),
            field: ProxyField::XForwardedFor,
        },
        limits: Limits {
            rates: Rates {
                reads: 0,
                mcp: 0,
                hub: 0,
            },
            ..Limits::default()
        },
        hub: None,
    }
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
        let running = server::start(config).unwrap_or_else(|error| panic!("no server: {error}"));
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
