//! What the operator watches the server by: the administrator's listener, small and apart from the public one, and the
//! access log. Both start before the first request and end after the last.

use std::net::{SocketAddr, TcpListener};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use hyper::body::Incoming;
use hyper::{Request, Response};
use tracing::info;

use crate::http::{AppState, Body, Proxies, admin};

use super::config::{AccessLogTarget, Config, Limits};
use super::listener::{ListenerGroup, ShutdownPhase, set_phase};
use super::metrics::MetricSources;
use super::service::Handler;
use super::threads::Threads;
use super::{StartError, access_log, clock};

/// Connections of the administrator at a time: a few scrapers and probes.
const CONNECTIONS_MAX: u32 = 32;

/// How many of them one address may have.
const CONNECTIONS_PER_ADDRESS: u32 = 8;

/// Time for a head or a body, for a client to take its response, and between two requests: a client that asks every 15
/// seconds may as well connect again.
const CONNECTION_TIME: Duration = Duration::from_secs(5);

/// How long the end waits for a scrape under way.
const DRAIN_TIME: Duration = Duration::from_millis(500);

/// How long the last lines of the access log may take to be written.
const LAST_LINES_TIME: Duration = Duration::from_secs(2);

/// The administrator's listener and the access log.
pub(super) struct AdminServices {
    pub(super) listener: Option<ListenerGroup>,
    /// The thread that writes the access log.
    pub(super) log_writer: Option<JoinHandle<()>>,
}

impl AdminServices {
    /// Returns the address of the listener.
    pub(super) fn address(&self) -> Option<SocketAddr> {
        self.listener.as_ref().map(|group| group.address)
    }

    /// Ends them.
    pub(super) fn stop(self, app: &AppState) {
        if let Some(listener) = self.listener {
            set_phase(&listener.phase, ShutdownPhase::Drain);
            // Scrapes that do not end in time are cut.
            let _cut = listener.join();
        }
        if let (Some(log), Some(writer)) = (app.access_log.get(), self.log_writer) {
            // A disk that hangs delays the end no longer than that.
            let deadline = clock::instant() + LAST_LINES_TIME;
            let mut notified = log.stop();
            while !(notified && writer.is_finished()) && clock::instant() < deadline {
                thread::sleep(Duration::from_millis(5));
                notified = notified || log.stop();
            }
        }
    }
}

/// Begins to answer the administrator on `listener`.
pub(super) fn start(
    listener: TcpListener,
    config: &Config,
    sources: MetricSources,
) -> Result<ListenerGroup, StartError> {
    let limits = Limits {
        connections: CONNECTIONS_MAX,
        connections_per_address: CONNECTIONS_PER_ADDRESS,
        header_time: CONNECTION_TIME,
        idle_time: CONNECTION_TIME,
        stall_time: CONNECTION_TIME,
        ..config.limits.clone()
    };
    let config = Config {
        limits,
        threads: NonZeroUsize::MIN,
        drain_time: DRAIN_TIME,
        // No address is exempt from the limit here.
        proxies: Proxies {
            networks: Vec::new(),
            ..config.proxies
        },
        ..config.clone()
    };
    // Apart from the counters of public connections.
    let counters = Arc::clone(&sources.admin_counters);
    let threads = Threads::new(&sources.app.readiness, "admin-");
    let handler = Admin(sources);
    let group = ListenerGroup::start(listener, handler, &config, None, counters, threads);
    let group = group.map_err(StartError::Threads)?;
    info!(address = %group.address, "metrics and health are served to the administrator");
    Ok(group)
}

/// Begins to log requests, if they are to be logged.
pub(super) fn start_access_log(
    config: &Config,
    app: &AppState,
) -> Result<Option<JoinHandle<()>>, StartError> {
    let Some(target) = &config.access_log else {
        return Ok(None);
    };
    let threads = Threads::new(&app.readiness, "");
    let started = access_log::start(target, &threads);
    let (log, writer) = started.map_err(|cause| StartError::AccessLog {
        path: match target {
            AccessLogTarget::File(path) => path.clone(),
            AccessLogTarget::Stdout => "-".into(),
        },
        cause,
    })?;
    app.set_access_log(log);
    Ok(Some(writer))
}

/// The service of the administrator's connections.
#[derive(Clone)]
struct Admin(MetricSources);

impl Handler for Admin {
    async fn handle(
        &self,
        request: Request<Incoming>,
        peer: SocketAddr,
        _: Instant,
    ) -> Response<Body> {
        admin::handle(&self.0.app, &request, peer.ip(), || self.0.render())
    }

    fn internal_error(&self) -> Response<Body> {
        admin::internal_error()
    }
}
