//! What runs around the service: listeners, reload, shutdown, and the site that is swapped as one.
//!
//! [`start`] is the way in, for the program and for every test over a socket alike. The threads, by name: `accept`
//! takes connections and waits for the end, `serve-N` serve them, `reload` reads changed files and builds what is
//! served, `compress` makes its compressed variants, and `insights` makes the remarks and insights
//! that a large dataset starts without, all three at low priority; `hub` and its helpers are delivery's own.

mod access_log;
mod admin;
mod certificate;
mod clock;
mod config;
mod connection;
mod connections;
mod content_dates;
mod counters;
mod deadline;
pub mod descriptors;
mod fairness;
mod fast;
pub mod files;
mod hub;
mod io;
mod listen;
mod listener_group;
mod load;
pub mod logs;
pub mod memory;
mod metrics;
mod observers;
mod post_reload;
mod preface;
mod process;
mod reload;
mod reload_trigger;
mod reloads;
mod running;
mod send;
mod service;
pub mod signals;
mod start_error;
mod state;
pub mod systemd;
mod threads;
mod tls;
mod watch;
mod workers;

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use hyper::body::Incoming;
use hyper::{Request, Response};
use tokio_rustls::TlsAcceptor;
use tracing::{info, warn};

use crate::http::{self, AppState, Body, ServedState};
use crate::mcp;

pub use config::{AccessLogTarget, Config, DataSource, Limits, Mcp, Reload, TlsFiles};
pub use counters::Counters;
pub use reloads::{Reloaded, Reloads};
pub use running::Running;
pub use start_error::StartError;
pub use tls::TlsError;

use files::Stamps;
use listener_group::{ListenerGroup, Listeners};
use load::Loader;
use metrics::MetricSources;
use observers::AdminServices;
use reload::Reloader;
use running::Parts;
use service::Handler;
use signals::Signals;
use systemd::{Probe, SdNotify};
use threads::Threads;
use tls::CertificateReloader;

/// Starts a server; when it returns, the first request can be sent.
///
/// # Errors
/// When the address cannot be had, the data cannot be used, or a setting cannot.
pub fn start(config: Config) -> Result<Running, StartError> {
    start_with(config, || Ok(()))
}

/// As [`start`], for a process that stops by signals: they are caught before the first client is answered.
///
/// # Errors
/// As [`start`], and when signals cannot be caught.
pub fn start_obeying(config: Config, signals: &mut Signals) -> Result<Running, StartError> {
    start_with(config, || {
        signals.catch_stops().map_err(StartError::Signals)
    })
}

fn start_with(
    config: Config,
    before_listening: impl FnOnce() -> Result<(), StartError>,
) -> Result<Running, StartError> {
    let started_ms = crate::clock::unix_ms();
    observers::check_addresses(&config)?;
    let keeper = config
        .tls
        .as_ref()
        .map(CertificateReloader::load)
        .transpose()?;
    let acceptor = keeper.as_ref().map(CertificateReloader::acceptor);
    let expiry = keeper.as_ref().map(CertificateReloader::expiry);
    let refused = |cause| StartError::Listen {
        flag: "--listen",
        address: config.listen,
        cause,
    };
    let socket = listen::obtain(&config).map_err(refused)?;
    let bound = socket.local_addr().map_err(refused)?;
    let address = bound.as_socket().unwrap_or(config.listen);
    let admin_socket = observers::bind_admin(&config)?;
    warn_of_addresses(&config, address);
    let is_public = config.base_url.is_some() || address.ip().is_loopback();
    let base_url = config.public_address(address);
    let loader = Loader::new(&config, &base_url);
    // Looked at before reading: what changes meanwhile is read once more, never missed.
    let seen = stamps(&config.data);
    let decoded = loader.decode_when_written(config.threads)?;
    let (served, deferred) = loader.build_first(decoded, config.threads)?;
    loader.remember(served.snapshot());
    let (version, reviews) = (
        served.snapshot().version().to_owned(),
        served.snapshot().len(),
    );
    let app = make_app(&config, base_url, served)?;
    let log_writer = observers::start_access_log(&config, &app)?;
    let counters = Arc::new(Counters::default());
    before_listening()?;
    let admin_listener = observers::listen_admin(admin_socket, &config)?;
    let listener = listen::listen(socket).map_err(refused)?;
    let (listeners, watched) = listeners(listener, &config).map_err(StartError::Threads)?;
    let group = start_listener_group(listeners, &app, &config, acceptor, &counters)?;
    hub::start(&config, &app, is_public)?;
    if let Some(deferred) = deferred {
        post_reload::finish_first(Arc::clone(&app), loader.clone(), deferred, config.threads);
    }
    let reloads = Arc::new(Reloads::default());
    let reloader = start_reloader(&config, &app, loader, seen, keeper, Arc::clone(&reloads))?;
    let observed = MetricSources {
        app: Arc::clone(&app),
        counters: Arc::clone(&counters),
        admin_counters: Arc::default(),
        expiry,
        connections: Arc::clone(group.connections()),
        reloads,
        started_ms,
    };
    let observers = AdminServices {
        admin: observers::start_admin(admin_listener, &config, observed)?,
        log_writer,
    };
    report_to(&config.systemd, watched, &group, &counters)?;
    let elapsed_ms = crate::clock::unix_ms() - started_ms;
    info!(%address, version, reviews, elapsed_ms, "serving");
    let parts = Parts {
        group,
        reloader,
        observers,
    };
    Ok(Running::new(app, counters, parts, &config))
}

/// Begins to serve the public address.
fn start_listener_group(
    listeners: Listeners,
    app: &Arc<AppState>,
    config: &Config,
    acceptor: Option<TlsAcceptor>,
    counters: &Arc<Counters>,
) -> Result<ListenerGroup, StartError> {
    let (handler, counters) = (Requests(Arc::clone(app)), Arc::clone(counters));
    let threads = Threads::new(&app.readiness, "");
    let group = ListenerGroup::start(listeners, handler, config, acceptor, counters, threads);
    group.map_err(StartError::Threads)
}

/// Returns the state of the files.
fn stamps(data: &DataSource) -> Stamps {
    match data {
        DataSource::Directory(directory) => Stamps::of(directory),
        DataSource::Sample => Stamps::default(),
    }
}

/// Returns the listeners, and the address that the watchdog probes.
fn listeners(public: TcpListener, config: &Config) -> std::io::Result<(Listeners, SocketAddr)> {
    let is_inherited = config.inherited.is_some();
    let own = config.systemd.private_listener(is_inherited)?;
    let watched = own.as_ref().unwrap_or(&public).local_addr()?;
    Ok((Listeners { public, own }, watched))
}

/// Tells the service manager that requests are served, and then that they still are.
fn report_to(
    systemd: &SdNotify,
    watched: SocketAddr,
    group: &ListenerGroup,
    counters: &Arc<Counters>,
) -> Result<(), StartError> {
    let probe = Probe {
        address: watched,
        connections: Arc::clone(group.connections()),
        counters: Arc::clone(counters),
    };
    systemd.watch(probe).map_err(StartError::Threads)?;
    systemd.ready();
    Ok(())
}

/// Makes the service on its first site.
fn make_app(
    config: &Config,
    base_url: String,
    served: ServedState,
) -> Result<Arc<AppState>, StartError> {
    let mcp = mcp::Server::new(mcp::Settings {
        base_url: base_url.clone(),
        allowed_origins: config.mcp.allowed_origins.clone(),
        allowed_hosts: config.mcp.allowed_hosts.clone(),
        body_bytes_max: config.limits.mcp_body_bytes,
    });
    let app =
        AppState::new(config.http_settings(base_url), served).map_err(StartError::Settings)?;
    let app = app.with_mcp(mcp);
    Ok(Arc::new(app.with_fast_path(config.has_fast_path())))
}

/// Begins to look for changed files; the hub is told of every new site.
fn start_reloader(
    config: &Config,
    app: &Arc<AppState>,
    loader: Loader,
    seen: Stamps,
    keeper: Option<CertificateReloader>,
    reloads: Arc<Reloads>,
) -> Result<Reloader, StartError> {
    let told = Arc::downgrade(app);
    let published = move |served: &ServedState| {
        if let Some(hub) = told.upgrade().as_ref().and_then(|app| app.hub()) {
            hub.topics_changed(served.snapshot().topics());
        }
    };
    Reloader::start(
        config,
        Arc::clone(app),
        loader,
        seen,
        reloads,
        keeper,
        Box::new(published),
    )
    .map_err(StartError::Threads)
}

/// Warns of a public address that others cannot use, or that is a proxy's of which we know nothing.
fn warn_of_addresses(config: &Config, address: SocketAddr) {
    if config.base_url.is_none() && !address.ip().is_loopback() {
        warn!(%address, "without --base-url the documents name the listening address, which others cannot use");
    }
    if config.seems_proxied(address) {
        warn!(
            "the public address is a proxy's, which --trusted-proxy does not name: all its clients count as one for \
             --hub-rate, --read-rate, --mcp-rate and --address-connections"
        );
    } else if config.has_lonely_field() {
        warn!(
            "--proxy-field is without effect, as --trusted-proxy names no proxy: a client is who connects, whatever its \
             fields say"
        );
    }
}

/// The service as the connections see it.
#[derive(Clone)]
struct Requests(Arc<AppState>);

impl Handler for Requests {
    type Answer = http::ResponseFuture;

    fn begin(&self, request: Request<Incoming>, peer: SocketAddr) -> http::ResponseFuture {
        http::handle(&self.0, request, peer)
    }

    fn cost(&self, answer: &http::ResponseFuture) -> usize {
        answer.cost()
    }

    fn respond_simple(
        &self,
        bytes: &[u8],
        peer: SocketAddr,
        began: std::time::Instant,
        out: &mut Vec<u8>,
    ) -> Option<http::FastResponse> {
        http::respond_simple(&self.0, bytes, peer, began, out)
    }

    fn broken(&self) -> Response<Body> {
        self.0.traffic.record_panic();
        http::internal_error()
    }

    fn refused(&self, status: u16) {
        self.0.traffic.record_refusal(status);
    }
}
