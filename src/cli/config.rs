//! The flags of `serve`, and the configuration that they become.
//!
//! A limit has a flag only where an operator has a reason to change it; the others are constants, documented at
//! [`ServerLimits`] and [`crate::hub::HubSettings`]. The variable of each flag is set in [`super::command`].

#![allow(rustdoc::bare_urls, reason = "the help is plain text")]

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::thread::available_parallelism;
use std::time::Duration;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use ipnet::IpNet;
use tracing::Level;

use super::exit::{Failure, Status};
use super::values::{
    RATE_MAX, SecretFlag, ValueError, number, parse_base_url, parse_header_value, parse_host,
    parse_listen, parse_origin, parse_size, parse_time, time,
};
use crate::http::{Proxies, Rates};
use crate::hub::guard::{Guard, Ports};
#[cfg(feature = "postgres")]
use crate::hub::store::Database;
use crate::hub::store::Quotas;
use crate::hub::subscription::FailurePolicy;
use crate::hub::{HubSettings, StoreLocation};
use crate::server::logs::{AccessLogTarget, Format, LogSettings};
use crate::server::{Config, DataSource, ServerLimits, TlsFiles, process};
use crate::wire::network::parse_network;

/// The data directory that is used without `--data`, where it exists.
pub(super) const DATA_DEFAULT: &str = "data";

/// The schema of the hub's tables in a database, and the name of its connections.
#[cfg(feature = "postgres")]
const DATABASE_SCHEMA: &str = "reviewd";

/// Most connections that can be allowed.
const CONNECTIONS_MAX: u32 = 1_000_000;

/// Most seconds that --hsts can be set to: two years, the most that the preload lists of browsers ask for.
const HSTS_MAX_S: u32 = 63_072_000;

/// The least memory for bytes in flight, in bytes.
const IN_FLIGHT_BYTES_MIN: u64 = 1 << 20;

/// Most subscriptions that can be allowed; each takes a row.
const SUBSCRIPTIONS_MAX: u32 = 10_000_000;

/// Most waits between failed deliveries.
const RETRY_DELAYS_MAX: usize = 1_000;

const LOG_LEVELS: [&str; 5] = ["error", "warn", "info", "debug", "trace"];

/// The flags of `serve`; `GROUPS` says where each group of its help begins.
#[derive(Args)]
pub struct ServeArgs {
    /// Directory with reviews.json and the files beside it [default: `data` if that directory exists, else a sample]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// How often to check the data files for changes; with 0 they are reloaded only at SIGHUP
    #[arg(long, value_name = "TIME", default_value = "250ms", value_parser = parse_poll)]
    poll: Duration,
    /// Memory limit of the search index; with less memory searches are slower, and their results are the same [default:
    /// five times the size of the texts, at least 128MiB, at most a quarter of the memory]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    search_memory: Option<u64>,
    /// Address and port to listen on; a port alone means this machine only, and `:8080` all addresses; port 0 takes any
    /// free one
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8080", value_parser = parse_listen)]
    listen: SocketAddr,
    /// Public address of the service, such as https://reviews.example [default: the listening address]
    #[arg(long, value_name = "URL", value_parser = parse_base_url)]
    base_url: Option<String>,
    /// Cache-Control header of the documents
    #[arg(long, value_name = "TEXT", default_value = "public, max-age=60, stale-while-revalidate=600",
        value_parser = parse_header_value)]
    cache_control: String,
    /// Serve HTTPS with this certificate chain (PEM, the server's own certificate first); a changed file is read again
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// Private key of the certificate (PEM, not encrypted)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Seconds for which browsers use HTTPS only (Strict-Transport-Security); needs --tls-cert, as behind a proxy the
    /// proxy sends the header [default: no such header]
    #[arg(long, value_name = "SECONDS", requires = "tls_cert", value_parser = number(0, HSTS_MAX_S))]
    hsts: Option<u32>,
    /// Address or network of a reverse proxy, such as 10.0.0.0/8, whose X-Forwarded-For names the client; may be
    /// repeated
    #[arg(long = "trusted-proxy", value_name = "NETWORK", value_delimiter = ',', value_parser = parse_network)]
    trusted_proxies: Vec<IpNet>,
    /// Origin whose web pages may use /mcp, such as https://app.example, besides the service's own and loopback; `*`
    /// allows every origin and Host header; may be repeated
    #[arg(long = "mcp-allow-origin", value_name = "ORIGIN", value_delimiter = ',', value_parser = parse_origin)]
    allowed_origins: Vec<String>,
    /// Host name by which clients of /mcp may call this server, such as reviewd between containers, besides the public
    /// address, loopback and IP addresses; does not allow an origin; may be repeated
    #[arg(long = "allow-host", value_name = "NAME", value_delimiter = ',', value_parser = parse_host)]
    allowed_hosts: Vec<String>,
    /// Disable the hub: its address answers 503, and it stores nothing
    #[arg(long)]
    no_hub: bool,
    /// PostgreSQL database that replicas share, postgres://USER:PASSWORD@HOST/NAME; set the variable instead of the
    /// flag if it has a password, as other users can see flags [default: a file in --state]
    #[arg(long, value_name = "URL", hide_env_values = true)]
    store: Option<SecretFlag>,
    /// Waits after the first failed delivery, the second, and so on, each plus up to 25 %; after one failure more in a
    /// row the subscription is removed
    #[arg(long, value_name = "TIMES", default_value = "1m,15m", value_delimiter = ',',
        value_parser = time("1ms", "30d"))]
    retry_delays: Vec<Duration>,
    /// Time limit of a request to a callback, from the lookup of its name to the response; content gets one second more
    /// for every 32 KiB
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = time("100ms", "5m"))]
    delivery_timeout: Duration,
    /// File of certificate authorities (PEM) to trust for callbacks, besides the public ones
    #[arg(long, value_name = "FILE")]
    callback_ca: Option<PathBuf>,
    /// Allow callbacks in private networks and on this machine; link-local and cloud metadata addresses stay forbidden
    #[arg(long)]
    allow_private_callbacks: bool,
    /// Ports that callbacks may use
    #[arg(long, value_name = "RANGES", default_value = "443,8443,1024-", value_parser = Ports::parse)]
    callback_ports: Ports,
    /// Requests to the hub per minute from one client address (IPv6: a /64; a /48 gets four times as many), then 429; 0
    /// means no limit
    #[arg(long, value_name = "COUNT", default_value = "60", value_parser = number(0, RATE_MAX))]
    hub_rate: u32,
    /// Limit of subscriptions, then 503; a hundredth as many requests may wait for verification
    #[arg(long, value_name = "COUNT", default_value = "100000", value_parser = number(1, SUBSCRIPTIONS_MAX))]
    subscriptions_max: u32,
    /// Limit of subscriptions of one callback host and port, then 429; a hundredth as many requests may wait for
    /// verification
    #[arg(long, value_name = "COUNT", default_value = "1000", value_parser = number(1, SUBSCRIPTIONS_MAX))]
    subscriptions_per_host: u32,
    /// Directory for data that must survive a restart, such as subscriptions; created with access for its owner only
    #[arg(long, value_name = "DIR", default_value = "state")]
    state: PathBuf,
    /// Threads that serve requests, at most 1024 [default: one for each core]
    #[arg(long, value_name = "NUMBER", value_parser = number(1, 1_024))]
    threads: Option<u32>,
    /// Time that running requests get after SIGTERM; a second signal stops at once
    #[arg(long, value_name = "TIME", default_value = "8s", value_parser = time("0", "1h"))]
    drain_time: Duration,
    /// Second address, with /metrics, /healthz and /readyz; keep it private
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = parse_listen)]
    admin_listen: Option<SocketAddr>,
    /// Access log, one JSON line for each request; `-` is standard output; SIGHUP and SIGUSR1 open the file again
    #[arg(long, value_name = "FILE")]
    access_log: Option<PathBuf>,
    /// Format of the log on standard error; auto is text on a terminal and JSON elsewhere
    #[arg(long, value_name = "FORMAT", default_value = "auto", value_parser = log_format())]
    log_format: Format,
    /// Lowest level that is logged
    #[arg(long, value_name = "LEVEL", default_value = "info",
        value_parser = PossibleValuesParser::new(LOG_LEVELS).try_map(|level| level.parse::<Level>()))]
    log_level: Level,
    /// Limit of open connections; a new one beyond it closes the one that was idle longest or makes the least progress
    /// [default: a quarter of the memory, by 64KiB for each connection, or 128KiB with TLS, from 64 to 10000]
    #[arg(long, value_name = "NUMBER", value_parser = number(1, CONNECTIONS_MAX))]
    max_connections: Option<u32>,
    /// Limit of open connections from one client address (IPv6: a /64; a /48 gets four times as many); trusted proxies
    /// are exempt; 0 means no limit
    #[arg(long, value_name = "NUMBER", default_value_t = ServerLimits::default().connections_per_address,
        value_parser = number(0, CONNECTIONS_MAX))]
    address_connections: u32,
    /// Memory for responses and request bodies that are not completely sent or received, then 503; the connections that
    /// hold most for longest without progress are closed [default: an eighth of the memory, at least 8MiB]
    #[arg(long, value_name = "SIZE", value_parser = parse_in_flight_memory)]
    in_flight_memory: Option<u64>,
    /// The same for one client address (IPv6: a /64; a /48 gets four times as much), then 503; 0 means no limit
    #[arg(long, value_name = "SIZE", default_value = "8MiB", value_parser = parse_size)]
    client_memory: u64,
    /// Requests for pages and documents per minute from one client address, then 429; 0 means no limit
    #[arg(long, value_name = "COUNT", default_value = "6000", value_parser = number(0, RATE_MAX))]
    read_rate: u32,
    /// Requests to /mcp per minute from one client address, each message of a batch counted, then 429; 0 means no limit
    #[arg(long, value_name = "COUNT", default_value = "1200", value_parser = number(0, RATE_MAX))]
    mcp_rate: u32,
    /// Time for which an idle connection stays open; longer than that of a load balancer in front
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = time("100ms", "24h"))]
    idle_time: Duration,
}

fn log_format() -> impl TypedValueParser<Value = Format> {
    PossibleValuesParser::new(["auto", "text", "json"]).map(|name| match &*name {
        "text" => Format::Text,
        "json" => Format::Json,
        _ => Format::Auto,
    })
}

impl ServeArgs {
    /// Returns the configuration that these flags ask for.
    ///
    /// # Errors
    /// 64 or 78 for settings of the hub that cannot be used.
    pub fn config(&self) -> Result<Config, Failure> {
        let cores = available_parallelism().unwrap_or(NonZeroUsize::MIN);
        let threads = self.threads.map(|threads| threads as usize);
        let pair = self.tls_cert.clone().zip(self.tls_key.clone());
        Ok(Config {
            data: match data_directory(self.data.as_deref()) {
                Some(directory) => DataSource::Directory(directory.to_owned()),
                None => DataSource::Sample,
            },
            search_memory: self.search_memory,
            in_flight_memory: self.in_flight_memory,
            client_memory: self.client_memory,
            state: Some(self.state.clone()),
            listen: self.listen,
            // It comes from the service manager, not from a flag.
            inherited: None,
            admin_listen: self.admin_listen,
            logs_requests: self.access_log.is_some(),
            base_url: self.base_url.clone(),
            cache_control: self.cache_control.clone(),
            threads: threads.and_then(NonZeroUsize::new).unwrap_or(cores),
            drain_time: self.drain_time,
            poll: self.poll,
            mcp_origins: self.allowed_origins.clone(),
            mcp_hosts: self.allowed_hosts.clone(),
            tls: pair.map(|(certificate, key)| TlsFiles {
                certificate,
                key,
                hsts_s: self.hsts.unwrap_or(0),
            }),
            proxies: Proxies {
                networks: self.trusted_proxies.clone(),
            },
            limits: ServerLimits {
                connections: self
                    .max_connections
                    .unwrap_or_else(|| process::default_connections(self.tls_cert.is_some())),
                connections_per_address: self.address_connections,
                rates: Rates {
                    reads: self.read_rate,
                    mcp: self.mcp_rate,
                    // Without a hub its address answers 503, however often.
                    hub: if self.no_hub { 0 } else { self.hub_rate },
                },
                idle_time: self.idle_time,
                ..ServerLimits::default()
            },
            hub: if self.no_hub {
                None
            } else {
                Some(self.hub_settings()?)
            },
        })
    }

    /// Returns the settings of the logs.
    #[must_use]
    pub fn log_settings(&self) -> LogSettings {
        let access_log = self.access_log.as_ref().map(|path| match path.to_str() {
            Some("-") => AccessLogTarget::Stdout,
            _ => AccessLogTarget::File(path.clone()),
        });
        LogSettings {
            format: self.log_format,
            level: self.log_level,
            access_log,
        }
    }

    fn hub_settings(&self) -> Result<HubSettings, Failure> {
        let waits = self.retry_delays.len();
        if waits > RETRY_DELAYS_MAX {
            let message =
                format!("--retry-delays: must have at most {RETRY_DELAYS_MAX} times, not {waits}");
            return Err(Failure::new(Status::Usage, message));
        }
        let guard = Guard {
            allow_private: self.allow_private_callbacks,
            ports: self.callback_ports.clone(),
        };
        let defaults = HubSettings::new(store_location(self.store.as_ref(), &self.state)?, guard);
        Ok(HubSettings {
            user_agent: concat!("reviewd/", env!("CARGO_PKG_VERSION")).to_owned(),
            policy: FailurePolicy {
                failures_max: waits as u32 + 1,
                retry_delays: self.retry_delays.clone(),
                ..defaults.policy
            },
            quotas: Quotas::new(self.subscriptions_max, self.subscriptions_per_host),
            timeout: self.delivery_timeout,
            ca_file: self.callback_ca.clone(),
            ..defaults
        })
    }
}

/// Returns the directory that `--data` names, else the usual one if it exists; `None` for the sample.
pub(super) fn data_directory(named: Option<&Path>) -> Option<&Path> {
    if named.is_some() {
        return named;
    }
    let usual = Path::new(DATA_DEFAULT);
    if usual.is_dir() { Some(usual) } else { None }
}

/// Parses the time between two checks of the data files; 0 means that they are not checked.
fn parse_poll(text: &str) -> Result<Duration, ValueError> {
    match parse_time(text)? {
        Duration::ZERO => Ok(Duration::ZERO),
        _ => time("100ms", "24h")(text),
    }
}

/// Parses the memory for bytes in flight. It cannot be so small that there is no room for a response of usual size.
fn parse_in_flight_memory(text: &str) -> Result<u64, ValueError> {
    let bytes = parse_size(text)?;
    if bytes < IN_FLIGHT_BYTES_MIN {
        return Err(ValueError::TooSmall("1MiB"));
    }
    Ok(bytes)
}

/// Returns where the hub keeps its state: in the database, else in the state directory.
///
/// # Errors
/// 78 for a database address that cannot be used.
#[cfg_attr(not(feature = "postgres"), expect(unused_variables))]
pub(super) fn store_location(
    store: Option<&SecretFlag>,
    state: &Path,
) -> Result<StoreLocation, Failure> {
    // An empty variable counts as unset.
    let Some(SecretFlag(address)) = store.filter(|store| !store.0.is_empty()) else {
        return Ok(StoreLocation::Directory(state.to_owned()));
    };
    #[cfg(feature = "postgres")]
    let found = Database::parse(address, DATABASE_SCHEMA)
        .map(|found| StoreLocation::Database(Box::new(found)));
    #[cfg(not(feature = "postgres"))]
    let found = Err("this reviewd was built without the feature `postgres`");
    found.map_err(|what| Failure::new(Status::Config, format!("--store: {what}")))
}

#[cfg(test)]
mod tests;
