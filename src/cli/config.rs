//! The flags of `serve`, and the configuration that they become.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::thread::available_parallelism;
use std::time::Duration;

use clap::{Args, ValueEnum};
use tracing::Level;

use crate::http::{Proxies, ProxyField};
use crate::insights;
use crate::mcp::Key;
use crate::server::supervisor::Supervisor;
use crate::server::{Config, DataSource, Mcp, Reload, SessionKey, TlsFiles, logs};
use crate::wire::network::Network;

use super::exit::{Failure, Status};
use super::hub_flags::HubFlags;
use super::limit_flags::LimitFlags;
use super::observe_flags::ObserveFlags;
use super::values::{
    parse_base_url, parse_file_size, parse_header_value, parse_key, parse_listen, parse_origin,
    parse_size, parse_time, render_time, time, whole,
};

/// The data directory that is used without `--data`, where it exists.
pub(super) const DATA_DEFAULT: &str = "data";

/// The file in the state directory that keeps the key of session ids.
const SESSION_KEY_FILE: &str = "session-key";

/// Bytes of text below which the index of them is built within a second, and not worth a file.
const INDEX_TEXTS_MIN: u64 = 1 << 20;

/// How often files can be looked at, at most and at least: more often is work without end, and never is 0.
const POLL_MIN: Duration = Duration::from_millis(100);
const POLL_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// Longest time that requests in flight can be given.
const DRAIN_MAX: Duration = Duration::from_secs(60 * 60);

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
    observe: ObserveFlags,
    #[command(flatten)]
    limits: LimitFlags,
    #[command(flatten)]
    pub(super) logs: LogArgs,
}

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Data")]
struct DataArgs {
    /// Directory with reviews.json and its companions [default: `data` if that directory exists, else a sample]
    #[arg(long, env = "REVIEWD_DATA", value_name = "DIR")]
    data: Option<PathBuf>,
    /// Do not ask the system to report changed files; SIGHUP and --poll remain
    #[arg(long, env = "REVIEWD_NO_WATCH")]
    no_watch: bool,
    /// How often to look for changed files, for file systems that report none; 0 never looks
    #[arg(long, env = "REVIEWD_POLL", value_name = "TIME", default_value = "5s", value_parser = parse_poll)]
    poll: Duration,
    /// Largest data file that is read
    #[arg(long, env = "REVIEWD_DATA_FILE_BYTES", value_name = "SIZE", default_value = "256MiB", value_parser = parse_file_size)]
    data_file_bytes: u64,
    /// Mentions from which on an aspect of the insights is scored; with fewer it is counted only
    #[arg(long, env = "REVIEWD_MENTIONS_MIN", value_name = "NUMBER", default_value_t = insights::MENTIONS_MIN,
        value_parser = whole::<u32>(1, 1_000_000))]
    mentions_min: u32,
    /// Most memory that the index of the texts may take; searches get slower with less, answers stay the same
    /// [default: five times the texts, at least 128MiB, at most a quarter of the memory]
    #[arg(long, env = "REVIEWD_SEARCH_MEMORY", value_name = "SIZE", value_parser = parse_size)]
    search_memory: Option<u64>,
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
    /// Listen also where another reviewd does that was started with this flag, so that a new one can begin before the
    /// old one ends; --admin-listen is never shared
    #[arg(long, env = "REVIEWD_REUSE_PORT")]
    reuse_port: bool,
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
    /// Key that signs session ids, 64 hexadecimal digits, the same on every replica [default: made once in --state]
    #[arg(long, env = "REVIEWD_SESSION_KEY", value_name = "HEX", hide_env_values = true, value_parser = parse_key)]
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
    /// Leave every request to the HTTP library, also those that could be answered from ready bytes; replies are the same
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
            data: data_source(self.data.data.as_deref(), Path::new(DATA_DEFAULT)),
            search_memory: self.data.search_memory,
            mentions_min: self.data.mentions_min,
            cache: Some(self.process.state.clone()),
            index_texts_min: INDEX_TEXTS_MIN,
            listen: self.address.listen,
            // Both come from whoever has started the process, not from its flags.
            inherited: None,
            supervisor: Supervisor::default(),
            reuse_port: self.address.reuse_port,
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
            })),
            (Some(certificate), None) => lonely("--tls-cert", certificate, "--tls-key"),
            (None, Some(key)) => lonely("--tls-key", key, "--tls-cert"),
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

/// Takes the directory that was asked for, else the usual one where it exists, else the sample.
fn data_source(asked: Option<&Path>, usual: &Path) -> DataSource {
    match asked {
        Some(directory) => DataSource::Directory(directory.to_owned()),
        None if usual.is_dir() => DataSource::Directory(usual.to_owned()),
        None => DataSource::Sample,
    }
}

fn parse_poll(text: &str) -> Result<Duration, String> {
    match parse_time(text)? {
        Duration::ZERO => Ok(Duration::ZERO),
        time if (POLL_MIN..=POLL_MAX).contains(&time) => Ok(time),
        _ => Err(format!(
            "must be 0, or from {} to {}",
            render_time(POLL_MIN),
            render_time(POLL_MAX)
        )),
    }
}

fn parse_threads(text: &str) -> Result<NonZeroUsize, String> {
    let threads: usize = whole(1, 1_024)(text)?;
    NonZeroUsize::new(threads).ok_or_else(|| "must not be 0".to_owned())
}

#[cfg(test)]
mod tests {
    use super::data_source;
    use crate::server::DataSource;
    use std::path::Path;

    #[test]
    fn a_directory_that_was_asked_for_is_taken_even_if_it_is_missing() {
        let source = data_source(Some(Path::new("/nowhere")), Path::new("/"));
        assert_eq!(source, DataSource::Directory("/nowhere".into()));
    }

    #[test]
    fn without_one_the_usual_directory_is_taken_where_it_exists() {
        let usual = tempfile::tempdir().unwrap();
        let source = data_source(None, usual.path());
        assert_eq!(source, DataSource::Directory(usual.path().to_owned()));
        assert_eq!(
            data_source(None, &usual.path().join("none")),
            DataSource::Sample
        );
    }
}
