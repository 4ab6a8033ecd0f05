//! The server's configuration: plain values, checked where flags become them, without defaults of its own.

use std::net::{SocketAddr, TcpListener};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use hyper::header::HeaderValue;

use crate::http;
use crate::hub;

/// Everything that a server is started with.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where the operator's files come from.
    pub data: DataSource,
    /// The most bytes that the index of the texts may keep; answers never depend on it. `None` for as many as
    /// [`search_memory`](super::process::search_memory) finds right.
    pub search_memory: Option<u64>,
    /// The state directory; `None` for a server that remembers nothing.
    pub state: Option<PathBuf>,
    /// The address to listen on; port 0 takes a free one.
    pub listen: SocketAddr,
    /// A listening socket that the service manager made, and keeps over our restarts; it takes the place of the address.
    pub inherited: Option<Arc<TcpListener>>,
    /// Where metrics and the state of the process are served; `None` for nowhere.
    pub admin_listen: Option<SocketAddr>,
    /// Where each answered request is logged; `None` for nowhere.
    pub access_log: Option<AccessLogTarget>,
    /// The public address, scheme and authority without a path; `None` for the listening address.
    pub base_url: Option<String>,
    /// The Cache-Control of documents.
    pub cache_control: String,
    /// Threads that serve requests.
    pub threads: NonZeroUsize,
    /// How long requests in flight may take after the order to stop.
    pub drain_time: Duration,
    /// How often to look for changed files; zero never does, and SIGHUP works in any case.
    pub poll: Duration,
    /// Origins whose pages may use `/mcp` besides our own and loopback; `*` for all.
    pub mcp_origins: Vec<String>,
    /// Names by which requests may call `/mcp`, besides the host of the public address, loopback and addresses.
    pub mcp_hosts: Vec<String>,
    /// The certificate and key of our own TLS; `None` speaks plain HTTP.
    pub tls: Option<TlsFiles>,
    /// The proxies in front of the service.
    pub proxies: http::Proxies,
    /// Bounds of connections and requests.
    pub limits: Limits,
    /// The hub; `None` leaves it out, and its address answers 503.
    pub hub: Option<hub::Settings>,
}

impl Config {
    /// Returns the origin of a server that is reached by its own address.
    #[must_use]
    pub fn origin_at(&self, address: SocketAddr) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{address}")
    }

    /// Tells whether requests seem to come through a proxy that is not configured, so that all clients look like one
    /// and share what each was to have.
    pub(super) fn seems_proxied(&self, address: SocketAddr) -> bool {
        let limits = &self.limits;
        let is_limited = limits.connections_per_address > 0
            || [limits.rates.reads, limits.rates.mcp, limits.rates.hub]
                .iter()
                .any(|&rate| rate > 0);
        let is_elsewhere = self.base_url.as_ref().is_some_and(|base_url| {
            (base_url.starts_with("https://") && self.tls.is_none())
                || (address.ip().is_loopback() && *base_url != self.origin_at(address))
        });
        is_limited && is_elsewhere && self.proxies.networks.is_empty()
    }

    /// Returns the value of Strict-Transport-Security, if it is to be sent.
    pub(super) fn hsts(&self) -> Option<HeaderValue> {
        let seconds = self.tls.as_ref().map_or(0, |files| files.hsts_s);
        let value = || HeaderValue::from_str(&format!("max-age={seconds}")).ok();
        (seconds > 0).then(value)?
    }
}

/// A certificate and its key, in PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The server's own certificate first, then those that lead to its authority.
    pub certificate: PathBuf,
    /// The key of the first one, not encrypted.
    pub key: PathBuf,
    /// For how many seconds browsers are to ask by https alone (HSTS, RFC 6797); 0 says nothing.
    pub hsts_s: u32,
}

/// Where the access log goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccessLogTarget {
    /// To standard output.
    Stdout,
    /// To this file, at its end.
    File(PathBuf),
}

/// Where the operator's files come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DataSource {
    /// A directory with `reviews.json` and its companions.
    Directory(PathBuf),
    /// The sample that is compiled into the program.
    Sample,
}

/// Bounds of connections and requests.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Connections open at a time; for one more the one that is idle longest is closed.
    pub connections: u32,
    /// Connections open at a time from one client address that is no proxy's, and four times as many from a /48 of
    /// IPv6; 0 for any number.
    pub connections_per_address: u32,
    /// Requests of one client in a minute.
    pub rates: http::Rates,
    /// Requests on one connection; the last of them is answered with `Connection: close`.
    pub connection_requests: u32,
    /// Time for a request's head, from its first byte to its last.
    pub header_time: Duration,
    /// Time between two requests of a connection.
    pub idle_time: Duration,
    /// Time without a byte in either direction while something is under way.
    pub stall_time: Duration,
    /// How long a peer may take nothing of a reply; 60 s by default. What it takes prolongs that by the time that it may
    /// take at the least rate, to five times as long. A shorter one ends honest readers: a kernel takes bytes in steps,
    /// and over loopback one that reads 5 KiB/s is seen to move every 30 s or so.
    pub rate_time: Duration,
    /// Those that the service watches; hyper itself refuses more than 100 fields.
    pub requests: http::Limits,
}

impl Default for Limits {
    /// The limits of a service without flags. Our choice of each: far above what browsers, feed readers and agents need,
    /// and low enough that a client that sends or reads slowly on purpose is gone within a minute or so.
    fn default() -> Limits {
        Limits {
            connections: 10_000,
            connections_per_address: 256,
            rates: http::Rates {
                reads: 0,
                mcp: 0,
                hub: 60,
            },
            connection_requests: 10_000,
            header_time: Duration::from_secs(10),
            idle_time: Duration::from_secs(60),
            stall_time: Duration::from_secs(20),
            rate_time: Duration::from_secs(60),
            requests: http::Limits {
                header_fields: 64,
                target_bytes: 8 << 10,
                mcp_body_bytes: 1 << 20,
                hub_body_bytes: 8 << 10,
                body_time: Duration::from_secs(10),
            },
        }
    }
}
