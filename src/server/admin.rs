//! The administrator's listener, small and apart from the public one: metrics, and how the process is.

use std::net::{SocketAddr, TcpListener};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hyper::body::Incoming;
use hyper::{Request, Response};
use tracing::info;

use crate::http::{Body, Proxies, admin};

use super::StartError;
use super::config::{Config, Limits};
use super::listener::ListenerGroup;
use super::metrics::{Counters, MetricSources};
use super::service::Handler;

/// Connections of the administrator at a time: a few scrapers and probes.
const CONNECTIONS_MAX: u32 = 32;

/// How many of them one address may have.
const CONNECTIONS_PER_ADDRESS: u32 = 8;

/// Time for a head or a body, between two requests, and for which a client may take nothing of its response: a client that
/// asks every 15 seconds may as well connect again.
const CONNECTION_TIME: Duration = Duration::from_secs(5);

/// How long the end waits for a scrape under way.
const DRAIN_TIME: Duration = Duration::from_millis(500);

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
        rate_time: CONNECTION_TIME,
        ..config.limits.clone()
    };
    let config = Config {
        limits,
        threads: NonZeroUsize::MIN,
        drain_time: DRAIN_TIME,
        // No address is exempt from the limit here.
        proxies: Proxies {
            networks: Vec::new(),
        },
        ..config.clone()
    };
    // Apart from the counters of public connections, and of no interest.
    let counters = Arc::<Counters>::default();
    let readiness = Arc::clone(&sources.app.readiness);
    let threads = (&readiness, "admin-");
    let group = ListenerGroup::start(listener, sources, &config, None, counters, threads);
    let group = group.map_err(StartError::Threads)?;
    info!(address = %group.address, "metrics and health are served to the administrator");
    Ok(group)
}

/// The service of the administrator's connections.
impl Handler for MetricSources {
    async fn handle(
        &self,
        request: Request<Incoming>,
        peer: SocketAddr,
        _: Instant,
    ) -> Response<Body> {
        admin::handle(&self.app, &request, peer.ip(), || self.render())
    }

    fn internal_error(&self) -> Response<Body> {
        admin::internal_error()
    }
}
