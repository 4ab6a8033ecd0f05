//! The flags of `serve`, and the configuration that they become.
//!
//! A limit has a flag only where an operator has a reason to change it; the others are constants, documented at
//! [`Limits`] and [`crate::hub::Settings`].

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::thread::available_parallelism;
use std::time::Duration;

use clap::{Args, value_parser};
use ipnet::IpNet;
use tracing::Level;

use crate::http::{Proxies, ProxyField, Rates};
use crate::insights;
use crate::server::logs::{self, Format};
use crate::server::systemd::SdNotify;
use crate::server::{AccessLogTarget, Config, DataSource, Limits, Mcp, TlsFiles};
use crate::wire::network::parse_network;

use super::exit::{Failure, Status};
use super::hub_flags::HubFlags;
use super::values::{
    RATE_MAX, one_of, parse_base_url, parse_file_size, parse_header_value, parse_host,
    parse_listen, parse_origin, parse_size, parse_time, time,
};

/// The data directory that is used without `--data`, where it exists.
pub(super) const DATA_DEFAULT: &str = "data";

/// Longest time that requests in flight can be given.
const DRAIN_MAX: Duration = Duration::from_secs(60 * 60);

/// Bounds of the time between two requests of a connection, and of that between two looks at the files.
const INTERVAL_MIN: Duration = Duration::from_millis(100);
const INTERVAL_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// Most connections that can be allowed.
const CONNECTIONS_MAX: i64 = 1_000_000;

/// Longest time that --hsts can be set to, two years: the most that the preload lists of browsers ask for.
const HSTS_MAX: i64 = 63_072_000;

/// The flags of `serve`.
#[derive(Args, Clone, Debug)]
pub struct ServeArgs {
    #[command(flatten)]
    data: DataArgs,
    #[command(flatten)]
    address: AddressArgs,
    #[command(flatten)]
    mcp: McpArgs,
    #[command(flatten)]
    hub: HubFlags,
    #[command(flatten)]
    process: ProcessArgs,
    #[command(flatten)]
    monitoring: MonitoringArgs,
    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    pub(super) logs: LogArgs,
}

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Data")]
struct DataArgs {
    /// Directory with reviews.json and the files beside it [default: `data` if that directory exists, else a sample]
    #[arg(long, env = "REVIEWD_DATA", value_name = "DIR")]
    data: Option<PathBuf>,
    /// How often to check the data files for changes; with 0 only SIGHUP reads them again
    #[arg(long, env = "REVIEWD_POLL", value_name = "TIME", default_value = "1s", value_parser = parse_poll)]
    poll: Duration,
    /// Largest data file that is read, at most 1GiB
    #[arg(long, env = "REVIEWD_DATA_FILE_BYTES", value_name = "SIZE", default_value = "256MiB", value_parser = parse_file_size)]
    data_file_bytes: u64,
    /// Fewest mentions for which the insights give an aspect a score; below it the aspect is only counted
    #[arg(long, env = "REVIEWD_MENTIONS_MIN", value_name = "NUMBER", default_value_t = insights::MENTIONS_MIN,
        value_parser = value_parser!(u32).range(1..=1_000_000))]
    mentions_min: u32,
    /// Memory limit of the search index; with less memory searches are slower, and their results are the same [default:
    /// five times the size of the texts, at least 128MiB, at most a quarter of the memory]
    #[arg(long, env = "REVIEWD_SEARCH_MEMORY", value_name = "SIZE", value_parser = parse_size)]
    search_memory: Option<u64>,
}

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Address")]
struct AddressArgs {
    /// Address and port to listen on; port 0 takes any free one
    #[arg(
        long,
        env = "REVIEWD_LISTEN",
        value_name = "ADDRESS:PORT",
        default_value = "127.0.0.1:8080",
        value_parser = parse_listen
    )]
    listen: SocketAddr,
    /// Public address of the service, such as https://reviews.example [default: the listening address]
    #[arg(long, env = "REVIEWD_BASE_URL", value_name = "URL", value_parser = parse_base_url)]
    base_url: Option<String>,
    /// Cache-Control header of the documents
    #[arg(
        long,
        env = "REVIEWD_CACHE_CONTROL",
        value_name = "TEXT",
        default_value = "public, max-age=60, stale-while-revalidate=600",
        value_parser = parse_header_value
    )]
    cache_control: String,
    /// Serve HTTPS with this certificate chain (PEM, the server's own certificate first); a changed file is read again
    #[arg(long, env = "REVIEWD_TLS_CERT", value_name = "FILE")]
    tls_cert: Option<PathBuf>,
    /// Private key of the certificate (PEM, not encrypted)
    #[arg(long, env = "REVIEWD_TLS_KEY", value_name = "FILE")]
    tls_key: Option<PathBuf>,
    /// Seconds for which browsers use HTTPS only (Strict-Transport-Security); 0 sends no such header
    #[arg(long, env = "REVIEWD_HSTS", value_name = "SECONDS", default_value = "0",
        value_parser = value_parser!(u32).range(0..=HSTS_MAX))]
    hsts: u32,
    /// Address or network of a reverse proxy, such as 10.0.0.0/8, whose header names the client; may be repeated
    #[arg(long = "trusted-proxy", env = "REVIEWD_TRUSTED_PROXY", value_name = "NETWORK", value_delimiter = ',',
        value_parser = parse_network)]
    trusted_proxies: Vec<IpNet>,
    /// Header in which trusted proxies name the client; the other one is ignored
    #[arg(
        long,
        env = "REVIEWD_PROXY_FIELD",
        value_name = "FIELD",
        default_value = "x-forwarded-for",
        value_parser = one_of(&PROXY_FIELDS)
    )]
    proxy_field: ProxyField,
}

const PROXY_FIELDS: [(&str, ProxyField); 2] = [
    ("x-forwarded-for", ProxyField::XForwardedFor),
    ("forwarded", ProxyField::Forwarded),
];

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Model Context Protocol")]
struct McpArgs {
    /// Origin whose web pages may use /mcp, such as https://app.example, besides our own and loopback; `*` allows every
    /// origin and Host header; may be repeated
    #[arg(long = "mcp-allow-origin", env = "REVIEWD_MCP_ALLOW_ORIGIN", value_name = "ORIGIN", value_delimiter = ',',
        value_parser = parse_origin)]
    allowed_origins: Vec<String>,
    /// Host name by which clients of /mcp may call this server, such as reviewd between containers, besides the public
    /// address, loopback and IP addresses; does not allow an origin; may be repeated
    #[arg(long = "allow-host", env = "REVIEWD_ALLOW_HOST", value_name = "NAME", value_delimiter = ',',
        value_parser = parse_host)]
    allowed_hosts: Vec<String>,
}

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Process")]
struct ProcessArgs {
    /// Directory for data that must survive a restart, such as subscriptions; created with access for its owner only
    #[arg(
        long,
        env = "REVIEWD_STATE",
        value_name = "DIR",
        default_value = "state"
    )]
    state: PathBuf,
    /// Threads that serve requests, at most 1024 [default: one for each core]
    #[arg(long, env = "REVIEWD_THREADS", value_name = "NUMBER", value_parser = value_parser!(u16).range(1..=1_024))]
    threads: Option<u16>,
    /// Time that running requests get after SIGTERM; a second signal stops at once
    #[arg(long, env = "REVIEWD_DRAIN_TIME", value_name = "TIME", default_value = "8s", value_parser = time(Duration::ZERO, DRAIN_MAX))]
    drain_time: Duration,
}

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Monitoring")]
struct MonitoringArgs {
    /// Second address, with /metrics, /healthz and /readyz; keep it private
    #[arg(long, env = "REVIEWD_ADMIN_LISTEN", value_name = "ADDRESS:PORT", value_parser = parse_listen)]
    admin_listen: Option<SocketAddr>,
    /// Access log, one JSON line for each request; `-` is standard output; SIGHUP and SIGUSR1 open the file again
    #[arg(long, env = "REVIEWD_ACCESS_LOG", value_name = "FILE")]
    access_log: Option<PathBuf>,
}

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Limits")]
struct LimitArgs {
    /// Most open connections; a new one beyond that closes the one that was idle longest
    #[arg(long, env = "REVIEWD_MAX_CONNECTIONS", value_name = "NUMBER", default_value_t = Limits::default().connections,
        value_parser = value_parser!(u32).range(1..=CONNECTIONS_MAX))]
    max_connections: u32,
    /// Most open connections of one client address (IPv6: a /64; a /48 gets four times as many); trusted proxies are
    /// exempt; 0 means no limit
    #[arg(long = "address-connections", env = "REVIEWD_ADDRESS_CONNECTIONS", value_name = "NUMBER",
        default_value_t = Limits::default().connections_per_address,
        value_parser = value_parser!(u32).range(0..=CONNECTIONS_MAX))]
    connections_per_address: u32,
    /// Requests a minute of one client address for pages and documents (429); 0 means no limit
    #[arg(long, env = "REVIEWD_READ_RATE", value_name = "COUNT", default_value = "0",
        value_parser = value_parser!(u32).range(0..=RATE_MAX))]
    read_rate: u32,
    /// Requests a minute of one client address to /mcp (429); 0 means no limit
    #[arg(long, env = "REVIEWD_MCP_RATE", value_name = "COUNT", default_value = "0",
        value_parser = value_parser!(u32).range(0..=RATE_MAX))]
    mcp_rate: u32,
    /// Time for which an idle connection stays open; longer than that of a load balancer in front
    #[arg(long, env = "REVIEWD_IDLE_TIME", value_name = "TIME", default_value = "60s", value_parser = time(INTERVAL_MIN, INTERVAL_MAX))]
    idle_time: Duration,
}

/// The flags of every command that logs.
#[derive(Args, Clone, Copy, Debug)]
#[command(next_help_heading = "Logs")]
pub(super) struct LogArgs {
    /// Format of the log on standard error; auto is text on a terminal and JSON elsewhere
    #[arg(
        long,
        env = "REVIEWD_LOG_FORMAT",
        value_name = "FORMAT",
        default_value = "auto",
        value_parser = one_of(&LOG_FORMATS)
    )]
    log_format: Format,
    /// Lowest level that is logged
    #[arg(
        long,
        env = "REVIEWD_LOG_LEVEL",
        value_name = "LEVEL",
        default_value = "info",
        value_parser = one_of(&LOG_LEVELS)
    )]
    log_level: Level,
}

const LOG_FORMATS: [(&str, Format); 3] = [
    ("auto", Format::Auto),
    ("text", Format::Text),
    ("json", Format::Json),
];

const LOG_LEVELS: [(&str, Level); 5] = [
    ("error", Level::ERROR),
    ("warn", Level::WARN),
    ("info", Level::INFO),
    ("debug", Level::DEBUG),
    ("trace", Level::TRACE),
];

impl ServeArgs {
    /// Returns the configuration that these flags ask for.
    ///
    /// # Errors
    /// 64 for flags that contradict each other, 78 for an invalid database address.
    pub fn config(&self) -> Result<Config, Failure> {
        let cores = available_parallelism().unwrap_or(NonZeroUsize::MIN);
        let threads = self.process.threads.map(usize::from);
        let access_log = self.monitoring.access_log.clone();
        Ok(Config {
            data: self.data.source(),
            search_memory: self.data.search_memory,
            mentions_min: self.data.mentions_min,
            state: Some(self.process.state.clone()),
            listen: self.address.listen,
            // Both come from the service manager, not from flags.
            inherited: None,
            systemd: SdNotify::default(),
            admin_listen: self.monitoring.admin_listen,
            access_log: access_log.map(|path| match path.to_str() {
                Some("-") => AccessLogTarget::Stdout,
                _ => AccessLogTarget::File(path),
            }),
            base_url: self.address.base_url.clone(),
            cache_control: self.address.cache_control.clone(),
            threads: threads.and_then(NonZeroUsize::new).unwrap_or(cores),
            drain_time: self.process.drain_time,
            poll: self.data.poll,
            file_bytes: self.data.data_file_bytes,
            mcp: Mcp {
                allowed_origins: self.mcp.allowed_origins.clone(),
                allowed_hosts: self.mcp.allowed_hosts.clone(),
            },
            tls: self.address.tls()?,
            proxies: Proxies {
                networks: self.address.trusted_proxies.clone(),
                field: self.address.proxy_field,
            },
            limits: Limits {
                connections: self.limits.max_connections,
                connections_per_address: self.limits.connections_per_address,
                rates: Rates {
                    reads: self.limits.read_rate,
                    mcp: self.limits.mcp_rate,
                    hub: self.hub.rate(),
                },
                idle_time: self.limits.idle_time,
                ..Limits::default()
            },
            hub: self.hub.settings(&self.process.state)?,
        })
    }
}

impl DataArgs {
    /// Returns the directory that the flag names, else the usual one where it exists, else the sample.
    fn source(&self) -> DataSource {
        let usual = Path::new(DATA_DEFAULT);
        match &self.data {
            Some(directory) => DataSource::Directory(directory.clone()),
            None if usual.is_dir() => DataSource::Directory(usual.to_owned()),
            None => DataSource::Sample,
        }
    }
}

impl AddressArgs {
    fn tls(&self) -> Result<Option<TlsFiles>, Failure> {
        let incomplete = |flag: &str, path: &Path, other: &str| {
            let message = format!("{flag} {} also needs {other} FILE", path.display());
            Err(Failure::new(Status::Usage, message))
        };
        match (&self.tls_cert, &self.tls_key) {
            (Some(certificate), Some(key)) => Ok(Some(TlsFiles {
                certificate: certificate.clone(),
                key: key.clone(),
                hsts_s: self.hsts,
            })),
            (Some(certificate), None) => incomplete("--tls-cert", certificate, "--tls-key"),
            (None, Some(key)) => incomplete("--tls-key", key, "--tls-cert"),
            (None, None) if self.hsts > 0 => {
                let message = format!(
                    "--hsts {} needs --tls-cert and --tls-key; behind a proxy the proxy sends the header",
                    self.hsts
                );
                Err(Failure::new(Status::Usage, message))
            }
            (None, None) => Ok(None),
        }
    }
}

impl LogArgs {
    /// Begins to log as these flags ask.
    pub(super) fn set_up(self) {
        // A program that embeds this one may have set up logging, and keeps it.
        let _already = logs::set_up(self.log_format, self.log_level);
    }
}

fn parse_poll(text: &str) -> Result<Duration, String> {
    match parse_time(text)? {
        Duration::ZERO => Ok(Duration::ZERO),
        time if (INTERVAL_MIN..=INTERVAL_MAX).contains(&time) => Ok(time),
        _ => Err("must be 0, or from 100ms to 24h".to_owned()),
    }
}

#[cfg(test)]
mod tests;
