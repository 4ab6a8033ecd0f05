//! The administrator's listener: small, apart from the public one, and answering to the end.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::{Request, Response};

use crate::http::{Body, Proxies, admin};

use super::config::{Config, Limits};
use super::listener_group::{ListenerGroup, Listeners};
use super::metrics::MetricSources;
use super::service::Handler;
use super::threads::Threads;

/// Connections of the administrator's at a time: a few scrapers and probes.
const CONNECTIONS_MAX: u32 = 32;

/// How many of them one address may have, so that it takes no other's place.
const CONNECTIONS_PER_ADDRESS: u32 = 8;

/// Time for a head or a body, for a client to take what it asked for, and between two requests: who asks every quarter
/// of a minute may as well connect anew.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long the end waits for a scrape under way.
const GRACE: Duration = Duration::from_millis(500);

/// Starts to answer on `listener`.
///
/// # Errors
/// When the system refuses threads or descriptors.
pub(super) fn start(
    listener: TcpListener,
    config: &Config,
    observed: MetricSources,
) -> io::Result<ListenerGroup> {
    let limits = Limits {
        connections: CONNECTIONS_MAX,
        connections_per_address: CONNECTIONS_PER_ADDRESS,
        header_time: PATIENCE,
        idle_time: PATIENCE,
        stall_time: PATIENCE,
        ..config.limits.clone()
    };
    let config = Config {
        limits,
        threads: NonZeroUsize::MIN,
        drain_time: GRACE,
        // Nobody has any number here.
        proxies: Proxies {
            networks: Vec::new(),
            ..config.proxies
        },
        ..config.clone()
    };
    // Counted apart: the public connections are what the numbers are about.
    let counters = Arc::clone(&observed.admin_counters);
    let listeners = Listeners::alone(listener);
    let threads = Threads::new(&observed.app.readiness, "admin-");
    ListenerGroup::start(listeners, Admin(observed), &config, None, counters, threads)
}

/// The service of the administrator's connections.
#[derive(Clone)]
struct Admin(MetricSources);

impl Handler for Admin {
    type Answer = Ready<Result<Response<Body>, Infallible>>;

    fn begin(&self, request: Request<Incoming>, peer: SocketAddr) -> Self::Answer {
        let metrics = || self.0.render();
        let response = admin::handle(&self.0.app, &request, peer.ip(), metrics);
        ready(Ok(response))
    }

    fn broken(&self) -> Response<Body> {
        admin::broken()
    }
}
