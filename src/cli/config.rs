//! The flags of `serve`, and the configuration that they become.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::thread::available_parallelism;
use std::time::Duration;

use clap::{Args, ValueEnum};
use tracing::Level;

use crate::http::{Proxies, ProxyField};
use crate::mcp::Key;
use crate::server::supervisor::Supervisor;
use crate::server::{Config, Mcp, Reload, SessionKey, TlsFiles, logs};
use crate::wire::network::Network;

use super::data_flags::DataFlags;
use super::exit::{Failure, Status};
use super::hub_flags::HubFlags;
use super::limit_flags::LimitFlags;
use super::observe_flags::ObserveFlags;
use super::values::{
    parse_base_url, parse_header_value, parse_key, parse_listen, parse_origin, time, whole,
};

/// The data directory that is used without `--data`, where it exists.
pub(super) const DATA_DEFAULT: &str = "data";

/// The file in the state directory that keeps the key of session ids.
const SESSION_KEY_FILE: &str = "session-key";

/// Longest time that requests in flight can be given.
const DRAIN_MAX: Duration = Duration::from_secs(60 * 60);

/// The flags of `serve`.
#[derive(Args, Clone, Debug)]
pub struct ServeArgs {
    #[command(flatten)]
    data: DataFlags,
    #[command(flatten)]
    address: AddressArgs,
    #[command(flatten)]
    mcp: McpArgs,
    #[command(flatten)]
    hub: HubFlags,
    #[command(flatten)]
    process: ProcessArgs,
    #[command(flatten)]
    observe: ObserveFlags,
    #[command(flatten)]
    limits: LimitFlags,
    #[command(flatten)]
    pub(super) logs: LogArgs,
}

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Address")]
struct AddressArgs {
    /// Address and port to listen on; port 0 takes a free one
    #[arg(
        long,
        env = "REVIEWD_LISTEN",
        value_name = "ADDRESS:PORT",
        default_value = "127.0.0.1:8080",
        value_parser = parse_listen
    )]
    listen: SocketAddr,
    /// Public address, such as https://reviews.example [default: the listening address]
    #[arg(long, env = "REVIEWD_BASE_URL", value_name = "URL", value_parser = parse_base_url)]
    base_url: Option<String>,
    /// Cache-Control of the documents
    #[arg(
        long,
        env = "REVIEWD_CACHE_CONTROL",
        value_name = "TEXT",
        default_value = "public, max-age=60, stale-while-revalidate=600",
        value_parser = parse_header_value
    )]
    cache_control: String,
    /// Certificate of the server in PEM, its own first and then those that lead to its authority; HTTPS is spoken then,
    /// and files that change are read again
    #[arg(long, env = "REVIEWD_TLS_CERT", value_name = "FILE")]
    tls_cert: Option<PathBuf>,
    /// Private key of that certificate in PEM, not encrypted
    #[arg(long, env = "REVIEWD_TLS_KEY", value_name = "FILE")]
    tls_key: Option<PathBuf>,
    /// For how long browsers are to ask this host by https alone (Strict-Transport-Security), in seconds; 0 says nothing
    #[arg(long, env = "REVIEWD_HSTS", value_name = "SECONDS", default_value = "0", value_parser = whole::<u32>(0, HSTS_MAX))]
    hsts: u32,
    /// Proxies in front of the service, addresses or networks such as 10.0.0.0/8: a client is whom they name, not they
    /// themselves; may be given more than once
    #[arg(long = "trusted-proxy", env = "REVIEWD_TRUSTED_PROXY", value_name = "NETWORK", value_delimiter = ',',
        value_parser = Network::parse)]
    trusted_proxies: Vec<Network>,
    /// Field in which they name it; the other one is not looked at, as clients could write it themselves
    #[arg(
        long,
        env = "REVIEWD_PROXY_FIELD",
        value_name = "FIELD",
        default_value = "x-forwarded-for"
    )]
    proxy_field: ProxyFieldFlag,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ProxyFieldFlag {
    XForwardedFor,
    Forwarded,
}

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Model Context Protocol")]
struct McpArgs {
    /// Origin whose pages may use /mcp, such as https://app.example, besides our own and loopback; `*` for all, and
    /// then any Host; may be given more than once
    #[arg(long = "mcp-allow-origin", env = "REVIEWD_MCP_ALLOW_ORIGIN", value_name = "ORIGIN", value_delimiter = ',',
        value_parser = parse_origin)]
    allowed_origins: Vec<String>,
    /// Key that signs session ids, 64 hexadecimal digits, the same on every replica; behind a comma one more that is
    /// honoured, for a rotation [default: made once in --state]
    #[arg(long, env = "REVIEWD_SESSION_KEY", value_name = "HEX[,HEX]", hide_env_values = true, value_parser = parse_key)]
    session_key: Option<Key>,
    /// Offer the fixtures of the conformance suite
    #[arg(
        long = "mcp-conformance-fixtures",
        env = "REVIEWD_MCP_CONFORMANCE_FIXTURES",
        hide = true
    )]
    has_fixtures: bool,
}

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Process")]
struct ProcessArgs {
    /// Directory for what outlives a restart; created where it is missing, readable by its owner alone
    #[arg(
        long,
        env = "REVIEWD_STATE",
        value_name = "DIR",
        default_value = "state"
    )]
    state: PathBuf,
    /// Threads that serve requests [default: one for each core]
    #[arg(long, env = "REVIEWD_THREADS", value_name = "NUMBER", value_parser = parse_threads)]
    threads: Option<NonZeroUsize>,
    /// Leave every request to the HTTP library, also those that could be answered beneath it; replies are the same
    #[arg(long, env = "REVIEWD_NO_FAST_PATH")]
    no_fast_path: bool,
    /// How long requests in flight may take after SIGTERM; a second signal ends at once
    #[arg(long, env = "REVIEWD_DRAIN_TIME", value_name = "TIME", default_value = "8s", value_parser = time(Duration::ZERO, DRAIN_MAX))]
    drain_time: Duration,
}

/// The flags of every command that logs.
#[derive(Args, Clone, Copy, Debug)]
#[command(next_help_heading = "Logs")]
pub(super) struct LogArgs {
    /// How events are written to standard error; auto is text on a terminal and JSON elsewhere
    #[arg(
        long,
        env = "REVIEWD_LOG_FORMAT",
        value_name = "FORMAT",
        default_value = "auto"
    )]
    log_format: LogFormat,
    /// Least level that is written
    #[arg(
        long,
        env = "REVIEWD_LOG_LEVEL",
        value_name = "LEVEL",
        default_value = "info"
    )]
    log_level: LogLevel,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum LogFormat {
    Auto,
    Text,
    Json,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum LogLevel {
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

impl ServeArgs {
    /// Returns the configuration that these flags ask for.
    ///
    /// # Errors
    /// 64 for flags that contradict each other, 78 for an address of a database that is none.
    pub(super) fn config(&self) -> Result<Config, Failure> {
        let cores = || available_parallelism().unwrap_or(NonZeroUsize::MIN);
        Ok(Config {
            data: self.data.source(Path::new(DATA_DEFAULT)),
            search_memory: self.data.search_memory,
            mentions_min: self.data.mentions_min,
            state: Some(self.process.state.clone()),
            listen: self.address.listen,
            // Both come from whoever has started the process, not from its flags.
            inherited: None,
            supervisor: Supervisor::default(),
            admin_listen: self.observe.admin_listen,
            access_log: self.observe.access_log(),
            base_url: self.address.base_url.clone(),
            cache_control: self.address.cache_control.clone(),
            fast_path: !self.process.no_fast_path,
            threads: self.process.threads.unwrap_or_else(cores),
            drain_time: self.process.drain_time,
            reload: Reload {
                watch: !self.data.no_watch,
                poll: self.data.poll,
                file_bytes: self.data.data_file_bytes,
            },
            mcp: Mcp {
                allowed_origins: self.mcp.allowed_origins.clone(),
                session_key: match &self.mcp.session_key {
                    Some(key) => SessionKey::Given(key.clone()),
                    None => SessionKey::File(self.process.state.join(SESSION_KEY_FILE)),
                },
                has_fixtures: self.mcp.has_fixtures,
            },
            tls: self.address.tls()?,
            proxies: Proxies {
                networks: self.address.trusted_proxies.clone(),
                field: match self.address.proxy_field {
                    ProxyFieldFlag::XForwardedFor => ProxyField::XForwardedFor,
                    ProxyFieldFlag::Forwarded => ProxyField::Forwarded,
                },
            },
            limits: self.limits.limits(self.hub.rate()),
            hub: self.hub.settings(&self.process.state)?,
        })
    }
}

/// Longest time that --hsts can be set to, two years: what the preload lists of browsers ask for at the most.
const HSTS_MAX: u64 = 63_072_000;

impl AddressArgs {
    fn tls(&self) -> Result<Option<TlsFiles>, Failure> {
        let lonely = |flag: &str, path: &Path, other: &str| {
            let message = format!(
                "{flag} {} needs {other} FILE beside it, the other half of the pair",
                path.display()
            );
            Err(Failure::new(Status::Usage, message))
        };
        match (&self.tls_cert, &self.tls_key) {
            (Some(certificate), Some(key)) => Ok(Some(TlsFiles {
                certificate: certificate.clone(),
                key: key.clone(),
                hsts_s: self.hsts,
            })),
            (Some(certificate), None) => lonely("--tls-cert", certificate, "--tls-key"),
            (None, Some(key)) => lonely("--tls-key", key, "--tls-cert"),
            (None, None) if self.hsts > 0 => {
                let message = format!(
                    "--hsts {} needs --tls-cert and --tls-key: without them https is the proxy's to promise",
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
        let format = match self.log_format {
            LogFormat::Auto => logs::Format::Auto,
            LogFormat::Text => logs::Format::Text,
            LogFormat::Json => logs::Format::Json,
        };
        let level = match self.log_level {
            LogLevel::Error => Level::ERROR,
            LogLevel::Warn => Level::WARN,
            LogLevel::Info => Level::INFO,
            LogLevel::Debug => Level::DEBUG,
            LogLevel::Trace => Level::TRACE,
        };
        // Somebody who embeds the program may have set logging up, and keeps it.
        let _already = logs::set_up(format, level);
    }
}

fn parse_threads(text: &str) -> Result<NonZeroUsize, String> {
    let threads: usize = whole(1, 1_024)(text)?;
    NonZeroUsize::new(threads).ok_or_else(|| "must not be 0".to_owned())
}

#[cfg(test)]
mod tests;
