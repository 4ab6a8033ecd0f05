//! The administrator's listener, separate from the public one, with low limits: serves metrics and health.

use std::net::TcpListener;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hyper::body::Incoming;
use hyper::{Request, Response};
use tracing::info;

use crate::http::{Body, HttpAnswer, Peer, Proxies, admin};
use crate::limits::Budgets;

use super::StartError;
use super::config::{Config, ServerLimits};
use super::listener::{ListenerGroup, ListenerService};
use super::metrics::MetricSources;
use super::service::Handler;
use super::threads::ThreadStarter;

/// Concurrent connections of the administrator: a few scrapers and probes.
const CONNECTIONS_MAX: u32 = 32;

/// Concurrent connections from one address.
const CONNECTIONS_PER_ADDRESS: u32 = 8;

/// How long a connection may take for a head, for a body, between two requests, and without reading its response. Our
/// choice: a scraper that sends a request every 15 seconds may as well connect again.
const CONNECTION_TIME: Duration = Duration::from_secs(5);

/// How long shutdown waits for a running scrape.
const DRAIN_TIME: Duration = Duration::from_millis(500);

/// Starts to serve the administrator on `listener`.
pub(super) fn start(
    listener: TcpListener,
    config: &Config,
    sources: MetricSources,
) -> Result<ListenerGroup, StartError> {
    let limits = ServerLimits {
        connections: CONNECTIONS_MAX,
        connections_per_address: CONNECTIONS_PER_ADDRESS,
        header_time: CONNECTION_TIME,
        idle_time: CONNECTION_TIME,
        stall_time: CONNECTION_TIME,
        rate_time: CONNECTION_TIME,
        ..config.limits.clone()
    };
    let config = Config {
        limits,
        threads: NonZeroUsize::MIN,
        drain_time: DRAIN_TIME,
        // Without proxies, no address is exempt from the limit.
        proxies: Proxies {
            networks: Vec::new(),
        },
        ..config.clone()
    };
    let threads = ThreadStarter::new(&sources.app, "admin-");
    let service = ListenerService {
        tls: None,
        // The metrics have only the counters of the public listener.
        counters: Arc::default(),
        // Budgets of its own, so that metrics are sent when those of the clients are used up.
        budgets: Budgets::new(sources.app.budgets.limits()),
        handler: sources,
    };
    let group =
        ListenerGroup::start(listener, service, &config, &threads).map_err(StartError::Threads)?;
    info!(address = %group.address, "metrics and health are served to the administrator");
    Ok(group)
}

/// The service of the administrator's connections.
impl Handler for MetricSources {
    fn handle(&self, request: Request<Incoming>, peer: &Peer, _: Instant) -> HttpAnswer {
        let response = admin::handle(&self.app, &request, peer.address, || self.render());
        HttpAnswer::Now(response)
    }

    fn internal_error(&self) -> Response<Body> {
        admin::internal_error()
    }
}
