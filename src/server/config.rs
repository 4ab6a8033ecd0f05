//! The server's configuration: plain values, which the command line has validated.

use std::net::{SocketAddr, TcpListener};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use hyper::header::HeaderValue;

use crate::http;
use crate::hub;
use crate::limits::CONNECTIONS_DEFAULT;

/// The configuration of a server.
#[derive(Clone, Debug)]
pub struct Config {
    /// The source of the operator's files.
    pub data: DataSource,
    /// Memory limit of the text index in bytes; results never depend on it. `None` for the default of
    /// [`search_memory`](super::process::search_memory).
    pub search_memory: Option<u64>,
    /// Budget of bytes of responses and request bodies in flight; `None` for the default of
    /// [`in_flight_memory`](super::process::in_flight_memory).
    pub in_flight_memory: Option<u64>,
    /// Budget of one client in bytes; 0 for no limit.
    pub client_memory: u64,
    /// The state directory; `None` for a server that stores no state.
    pub state: Option<PathBuf>,
    /// The address to listen on; the system chooses a free port for port 0.
    pub listen: SocketAddr,
    /// A listening socket that the service manager created and keeps across restarts; used instead of the address.
    pub inherited: Option<Arc<TcpListener>>,
    /// The address for metrics and health; `None` if they are not served.
    pub admin_listen: Option<SocketAddr>,
    /// Whether requests are logged, in the access log of [`logs::set_up`](super::logs::set_up).
    pub logs_requests: bool,
    /// The public address, scheme and authority without a path; `None` for the listening address.
    pub base_url: Option<String>,
    /// The Cache-Control of documents.
    pub cache_control: String,
    /// Threads that serve requests.
    pub threads: NonZeroUsize,
    /// How long requests in flight may take after shutdown begins.
    pub drain_time: Duration,
    /// How often to check for changed files; zero means never. SIGHUP works in any case.
    pub poll: Duration,
    /// Origins whose pages may use `/mcp`, besides the server's own and loopback; `*` for all.
    pub mcp_origins: Vec<String>,
    /// Host names that requests to `/mcp` may use, besides that of `base_url`, `localhost` and any IP address.
    pub mcp_hosts: Vec<String>,
    /// The certificate and key for TLS; `None` for plain HTTP.
    pub tls: Option<TlsFiles>,
    /// The trusted proxies in front of the service.
    pub proxies: http::Proxies,
    /// Limits of connections and requests.
    pub limits: ServerLimits,
    /// The hub; `None` disables it, and its route answers 503.
    pub hub: Option<hub::HubSettings>,
}

impl Config {
    /// Returns the origin of a server at its own address.
    #[must_use]
    pub fn origin_at(&self, address: SocketAddr) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{address}")
    }

    /// Tells whether requests seem to come through a proxy that is not configured, so that all clients share the limits of
    /// one: the public address is https and this server has no TLS, or the server listens on loopback and its public
    /// address is another one. False if clients have no limits.
    pub(super) fn seems_proxied(&self, address: SocketAddr) -> bool {
        let Some(base_url) = &self.base_url else {
            return false;
        };
        if !self.proxies.networks.is_empty() {
            return false;
        }
        let rates = &self.limits.rates;
        let has_rates = rates.reads > 0 || rates.mcp > 0 || rates.hub > 0;
        if !has_rates && self.limits.connections_per_address == 0 {
            return false;
        }
        let ends_tls_elsewhere = base_url.starts_with("https://") && self.tls.is_none();
        let is_local = address.ip().is_loopback();
        ends_tls_elsewhere || (is_local && *base_url != self.origin_at(address))
    }

    /// Returns the value of Strict-Transport-Security; `None` if it is not enabled.
    pub(super) fn hsts(&self) -> Option<HeaderValue> {
        let seconds = self.tls.as_ref().map_or(0, |files| files.hsts_s);
        if seconds == 0 {
            return None;
        }
        HeaderValue::from_str(&format!("max-age={seconds}")).ok()
    }
}

/// A certificate and its key, in PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The server's own certificate first, then the intermediate certificates.
    pub certificate: PathBuf,
    /// The unencrypted key of the first certificate.
    pub key: PathBuf,
    /// For how many seconds browsers must use only https (HSTS, RFC 6797); 0 sends no header.
    pub hsts_s: u32,
}

/// The source of the operator's files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DataSource {
    /// A directory with `reviews.json` and its companions.
    Directory(PathBuf),
    /// The sample that is compiled into the program.
    Sample,
}

/// Limits of connections and requests.
#[derive(Clone, Debug)]
pub struct ServerLimits {
    /// Concurrent connections; beyond it a new one evicts the one that is idle longest or makes the least progress.
    pub connections: u32,
    /// Concurrent connections from one client that is not a proxy: from an IPv4 address, or an IPv6 /64. From an IPv6 /48 four
    /// times as many. 0 for no limit.
    pub connections_per_address: u32,
    /// Requests of one client per minute.
    pub rates: http::Rates,
    /// Requests on one connection; the last of them is answered with `Connection: close`.
    pub connection_requests: u32,
    /// Time for a request's head, from its first byte to its last.
    pub header_time: Duration,
    /// Time between two requests of a connection.
    pub idle_time: Duration,
    /// Time without a byte in either direction while a request is in progress.
    pub stall_time: Duration,
    /// How long a peer may read nothing of a response, 60 s by default. Each byte that it reads extends this by the time of
    /// a byte at the minimum rate; the deadline is never more than five times 60 s away. A default shorter than 60 s would
    /// end connections of honest readers: a kernel accepts bytes in steps, and over loopback a reader of 5 KiB/s makes
    /// progress only about every 30 s.
    pub rate_time: Duration,
    /// The limits that `http` enforces; hyper itself refuses more than 100 fields.
    pub requests: http::RequestLimits,
}

impl Default for ServerLimits {
    /// The default limits. Our choice of each: far above what browsers, feed readers and agents need, and low enough
    /// that a client that sends or reads slowly on purpose is disconnected within about a minute.
    fn default() -> ServerLimits {
        ServerLimits {
            connections: CONNECTIONS_DEFAULT,
            connections_per_address: 256,
            rates: http::Rates {
                reads: 6_000,
                mcp: 1_200,
                hub: 60,
            },
            connection_requests: 10_000,
            header_time: Duration::from_secs(10),
            idle_time: Duration::from_secs(60),
            stall_time: Duration::from_secs(20),
            rate_time: Duration::from_secs(60),
            requests: http::RequestLimits {
                header_fields: 64,
                target_bytes: 8 << 10,
                mcp_body_bytes: 1 << 20,
                hub_body_bytes: 8 << 10,
                body_time: Duration::from_secs(10),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(clap::Parser)]
    struct Flags {
        #[command(flatten)]
        serve: crate::cli::ServeArgs,
    }

    impl Config {
        /// Returns the program's configuration with one thread and a free port, and without hub and state.
        pub(in crate::server) fn for_tests() -> Config {
            let flags = "serve --listen 127.0.0.1:0 --threads 1 --no-hub".split(' ');
            let flags = <Flags as clap::Parser>::parse_from(flags).serve.config();
            let mut config = flags.unwrap_or_else(|failure| panic!("{failure}"));
            config.state = None;
            config
        }
    }
}
