//! The process around the service: listeners, connections, reload, shutdown, logs and metrics.
//!
//! [`start`] is the entry point, for the program and for all tests over a socket. The threads by name: `accept` accepts
//! connections and waits for shutdown, `serve-N` serve them; `admin-accept` and `admin-serve-0` do the same for the
//! administrator. `signals` receives signals, and `watch` looks for changed files and certificates. `reload` reads changed
//! files, builds the served state, and then derives the insights and warnings of a large dataset; `compress` creates
//! compressed variants; `purge` returns freed memory to the system; these three have a low priority. `hub` and its workers
//! belong to the hub, and `log` writes the logs. `watchdog` looks whether the others report; `compress`, `purge` and `log` do
//! not.

mod admin;
mod certificate;
mod clock;
mod config;
mod connection;
mod connections;
mod deadline;
pub mod files;
mod hub;
mod io;
mod listener;
mod load;
mod log_writer;
pub mod logs;
mod metrics;
pub mod process;
mod reload;
mod retry;
mod running;
mod service;
mod sources;
mod start_error;
mod state_file;
mod systemd;
mod threads;
mod tls;
mod told;
mod watch;
mod watchdog;

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use socket2::Socket;
use tracing::{info, warn};

use crate::http::{self, AppState, ServedState};
use crate::limits::BudgetLimits;
use crate::mcp;
use crate::model::MEDIA_DIRECTORY;
use crate::wire::authority::Authority;

pub use config::{Config, DataSource, ServerLimits, TlsFiles};
pub use load::LoadError;
pub use metrics::Counters;
pub use running::{Running, Signals};
pub use start_error::StartError;
pub use threads::end_process_on_panic;
pub use tls::TlsError;

use listener::{ListenerGroup, ListenerService};
use load::{BuiltState, Loader};
use metrics::MetricSources;
use reload::{Reloader, ReloaderParts};
use running::Parts;
use threads::ThreadStarter;
use tls::CertificateReloader;

/// What is said of clients on this machine if no proxy is configured.
const EXEMPT_CLIENTS: &str = "requests from this machine have no rates and no memory budget of a client: if a proxy on it \
    passes requests on, --trusted-proxy has to name it, so that each client has its own";

/// What is said if a proxy on another machine seems not to be configured.
const ONE_CLIENT: &str = "the public address seems to be that of a proxy which --trusted-proxy does not name: all its \
    clients count as one for --hub-rate, --read-rate, --mcp-rate and --address-connections";

/// Starts a server; when it returns, the first request can be sent. If `signals` are given, SIGTERM and SIGINT are
/// caught before the first client is answered.
///
/// # Errors
/// If an address cannot be bound, the data or a setting cannot be used, or signals cannot be caught.
pub fn start(config: Config, signals: Option<&mut Signals>) -> Result<Running, StartError> {
    let started_ms = crate::clock::unix_ms();
    let tls = match &config.tls {
        Some(files) => Some(CertificateReloader::load(files)?),
        None => None,
    };
    // Bound before the data are read, so that a port in use is reported at once.
    let sockets = BoundSockets::bind(&config)?;
    let address = sockets.address;
    refuse_placeholder(&config, address)?;
    warn_of_addresses(&config, address);
    process::log_client_memory(&config, in_flight_bytes(&config));

    let base_url = match &config.base_url {
        Some(base_url) => base_url.clone(),
        None => config.origin_at(address),
    };
    let mut loader = Loader::new(&config, &base_url);
    let BuiltState { served, deferred } = loader.build_first()?;
    let app = make_app(&config, base_url, served)?;

    if let Some(signals) = signals {
        signals.catch_stops().map_err(StartError::Signals)?;
    }
    let listeners = sockets.listen()?;
    let counters = Arc::new(Counters::default());
    let reloading = ReloaderParts {
        poll: config.poll,
        app: Arc::clone(&app),
        loader,
        deferred,
        counters: Arc::clone(&counters),
        tls,
    };
    let parts = start_threads(&config, listeners, reloading, started_ms)?;
    systemd::ready();
    log_serving(&app, address, started_ms);
    Ok(Running {
        app,
        counters,
        drain_time: config.drain_time,
        parts: Some(parts),
    })
}

/// Starts the threads of a server that began to start at `started_ms`: first those that serve, then all others.
fn start_threads(
    config: &Config,
    listeners: Listeners,
    reloading: ReloaderParts,
    started_ms: i64,
) -> Result<Parts, StartError> {
    let app = Arc::clone(&reloading.app);
    let counters = Arc::clone(&reloading.counters);
    let tls = reloading.tls.as_ref();
    let certificate = tls.map(|tls| Arc::clone(&tls.resolver));
    let service = ListenerService {
        handler: Arc::clone(&app),
        tls: tls.map(|tls| tls.acceptor.clone()),
        counters: Arc::clone(&counters),
        budgets: Arc::clone(&app.budgets),
    };
    let threads = ThreadStarter::new(&app, "");
    let group = ListenerGroup::start(listeners.public, service, config, &threads)
        .map_err(StartError::Threads)?;
    let is_public = config.base_url.is_some() || group.address.ip().is_loopback();
    hub::start(config, &app, is_public)?;
    let reloader = Reloader::start(reloading).map_err(StartError::Threads)?;
    let sources = MetricSources {
        app: Arc::clone(&app),
        counters,
        certificate,
        connections: Arc::clone(&group.connections),
        started_ms,
    };
    let admin = match listeners.admin {
        Some(listener) => Some(admin::start(listener, config, sources)?),
        None => None,
    };
    watchdog::start(&app).map_err(StartError::Threads)?;
    Ok(Parts {
        group,
        reloader,
        admin,
    })
}

/// The sockets of a server, bound and not listening yet.
struct BoundSockets {
    public: Socket,
    /// The address of `public`, with the port that the system chose for port 0.
    address: SocketAddr,
    /// The socket for the administrator with its address, if there is one.
    admin: Option<(Socket, SocketAddr)>,
}

/// The listening sockets of a server.
struct Listeners {
    public: TcpListener,
    admin: Option<TcpListener>,
}

impl BoundSockets {
    fn bind(config: &Config) -> Result<BoundSockets, StartError> {
        let public = listener::bind_public(config)?;
        let bound = public.local_addr().ok().and_then(|bound| bound.as_socket());
        let admin = match config.admin_listen {
            Some(address) => Some((listener::bind("--admin-listen", address)?, address)),
            None => None,
        };
        Ok(BoundSockets {
            public,
            address: bound.unwrap_or(config.listen),
            admin,
        })
    }

    /// Listens on the administrator's socket first, so that a conflict of addresses is found before a client is answered.
    fn listen(self) -> Result<Listeners, StartError> {
        let admin = match self.admin {
            Some((socket, address)) => Some(listener::listen("--admin-listen", address, socket)?),
            None => None,
        };
        let public = listener::listen("--listen", self.address, self.public)?;
        Ok(Listeners { public, admin })
    }
}

/// Logs that the server, which began to start at `started_ms`, is ready for requests.
fn log_serving(app: &AppState, address: SocketAddr, started_ms: i64) {
    let elapsed_ms = crate::clock::unix_ms() - started_ms;
    let served = app.current();
    let version = served.snapshot().version();
    let reviews = served.snapshot().len();
    info!(%address, version, reviews, elapsed_ms, "serving");
}

/// Creates the service with its first state.
fn make_app(
    config: &Config,
    base_url: String,
    served: ServedState,
) -> Result<Arc<AppState>, StartError> {
    let settings = http::Settings {
        mcp: mcp::McpSettings {
            base_url: base_url.clone(),
            allowed_origins: config.mcp_origins.clone(),
            allowed_hosts: config.mcp_hosts.clone(),
            body_bytes_max: config.limits.requests.mcp_body_bytes,
        },
        base_url,
        logs_requests: config.logs_requests,
        cache_control: config.cache_control.clone(),
        media: match &config.data {
            DataSource::Directory(directory) => Some(directory.join(MEDIA_DIRECTORY)),
            DataSource::Sample => None,
        },
        rates: config.limits.rates,
        budgets: BudgetLimits {
            process_bytes: in_flight_bytes(config),
            client_bytes: config.client_memory,
        },
        proxies: config.proxies.clone(),
        limits: config.limits.requests.clone(),
    };
    Ok(Arc::new(AppState::new(settings, served)?))
}

/// Returns the budget of bytes in flight: the configured one, or the default for the memory of the process.
fn in_flight_bytes(config: &Config) -> u64 {
    match config.in_flight_memory {
        Some(bytes) => bytes,
        None => process::in_flight_memory(),
    }
}

/// Refuses a public address under `.example` (RFC 6761 §6.5) on a listener that other machines can reach: subscribers and
/// feed readers would store links that never work.
///
/// # Errors
/// [`StartError::Placeholder`] for such an address.
pub fn refuse_placeholder(config: &Config, address: SocketAddr) -> Result<(), StartError> {
    let base_url = config.base_url.as_deref().unwrap_or_default();
    let host = Authority::of_url(base_url).map_or("", |authority| authority.host);
    let is_placeholder = host == "example" || host.ends_with(".example");
    if is_placeholder && !address.ip().is_loopback() {
        return Err(StartError::Placeholder(base_url.to_owned()));
    }
    Ok(())
}

/// Returns warnings of a public address that other machines cannot use, or that seems to belong to an unconfigured proxy.
#[must_use]
pub fn address_warnings(config: &Config, address: SocketAddr) -> Vec<String> {
    let mut warnings = Vec::new();
    if config.base_url.is_none() && !address.ip().is_loopback() {
        warnings.push(format!(
            "without --base-url the documents name the listening address {address}, which others cannot use"
        ));
    }
    if config.seems_proxied(address) {
        let text = if address.ip().is_loopback() {
            EXEMPT_CLIENTS
        } else {
            ONE_CLIENT
        };
        warnings.push(text.to_owned());
    }
    warnings
}

/// Logs the warnings of the addresses, and tells once that clients on this machine have no limits of their own unless a proxy
/// is configured.
fn warn_of_addresses(config: &Config, address: SocketAddr) {
    for warning in address_warnings(config, address) {
        warn!("{warning}");
    }
    let has_proxy = !config.proxies.networks.is_empty() || config.seems_proxied(address);
    if address.ip().is_loopback() && !has_proxy {
        info!("{EXEMPT_CLIENTS}");
    }
}
