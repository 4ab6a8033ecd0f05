//! The state that all requests share: the served documents, the settings, rate limits, metrics, readiness and the hub.

use std::net::{IpAddr, Ipv6Addr};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use arc_swap::ArcSwap;
use hyper::header::HeaderValue;

use super::client::{Peer, Proxies};
use super::host::OwnAuthority;
use super::liveness::Liveness;
use super::log_throttle::LogThrottle;
use super::rate_limit::{RateLimitScope, RateLimitStatus, RateLimiter};
use super::readiness::{Readiness, Reason};
use super::request_metrics::RequestMetrics;
use super::served_state::ServedState;
use super::settings::{RequestLimits, Settings, SettingsError};
use crate::clock;
use crate::hub::Hub;
use crate::limits::{Budgets, SITE_SHARES};
use crate::mcp;
use crate::model::sync::SyncState;

/// The code on `/readyz` of insights that are not derived yet.
pub(super) const INSIGHTS_PENDING: &str = "insights_pending";

/// The state that all requests share.
pub struct AppState {
    /// What is served now. A request loads it once; one to `/mcp` once more when its body is complete.
    pub(crate) served: ArcSwap<ServedState>,
    /// Whether traffic should be sent here, and the reasons if not.
    pub readiness: Arc<Readiness>,
    /// The long-lived threads, and whether they make progress.
    pub liveness: Arc<Liveness>,
    /// The state of the sources of `reviewd sync`, as its last run has stored it.
    pub sources: ArcSwap<SyncState>,
    /// Request counters.
    pub traffic: RequestMetrics,
    pub(crate) limits: RequestLimits,
    pub(crate) proxies: Proxies,
    /// Indexed by `RateLimitScope as usize`.
    rates: [RateLimiter; 3],
    pub(crate) budgets: Arc<Budgets>,
    /// Requests to the hub from one IPv6 /48, which may send [`SITE_SHARES`] times as many as a client.
    hub_sites: RateLimiter,
    pub(crate) cache_control: HeaderValue,
    /// The directory of our own pictures; `None` for the embedded sample.
    pub(crate) media: Option<PathBuf>,
    /// Limits the log lines about pictures that cannot be read.
    pub(super) media_log: LogThrottle,
    pub(crate) mcp: mcp::Server,
    /// Empty if the hub is not served; its route then answers 503.
    hub: OnceLock<Hub>,
    /// Whether each response is an event of the access log.
    pub(crate) logs_requests: bool,
    /// The public address without a trailing slash.
    pub(crate) base_url: String,
    pub(crate) own_authority: OwnAuthority,
}

impl AppState {
    /// Creates the state from the settings and the first documents to serve.
    ///
    /// # Errors
    /// If a setting is not a valid header value.
    pub fn new(settings: Settings, served: ServedState) -> Result<AppState, SettingsError> {
        let cache_control = HeaderValue::from_str(&settings.cache_control)
            .map_err(|_| SettingsError::CacheControl(settings.cache_control.clone()))?;
        HeaderValue::from_str(&settings.base_url)
            .map_err(|_| SettingsError::BaseUrl(settings.base_url.clone()))?;
        let began = clock::instant();
        Ok(AppState {
            served: ArcSwap::from_pointee(served),
            readiness: Arc::default(),
            liveness: Arc::default(),
            sources: ArcSwap::default(),
            traffic: RequestMetrics::default(),
            limits: settings.limits,
            proxies: settings.proxies,
            rates: [
                RateLimiter::new("reads", settings.rates.reads, began),
                RateLimiter::new("mcp", settings.rates.mcp, began),
                RateLimiter::new("hub", settings.rates.hub, began),
            ],
            budgets: Budgets::new(settings.budgets),
            hub_sites: RateLimiter::new(
                "hub",
                settings.rates.hub.saturating_mul(SITE_SHARES),
                began,
            ),
            cache_control,
            media: settings.media,
            media_log: LogThrottle::default(),
            mcp: mcp::Server::new(settings.mcp),
            hub: OnceLock::new(),
            logs_requests: settings.logs_requests,
            own_authority: OwnAuthority::of(&settings.base_url),
            base_url: settings.base_url,
        })
    }

    /// Sets the hub; a second call has no effect.
    pub(crate) fn set_hub(&self, hub: Hub) {
        // Not an argument of `new`, because the hub needs `readiness`; a second call would be a bug of the caller.
        let _second = self.hub.set(hub);
    }

    /// Returns the hub, if it is served.
    #[must_use]
    pub fn hub(&self) -> Option<&Hub> {
        self.hub.get()
    }

    /// Replaces the current state with `served`, and returns the old one, which requests in flight keep until their end.
    ///
    /// Its last owner frees it, which can be gigabytes: a caller that keeps it longer than these requests spares them the
    /// time.
    pub fn publish(&self, served: ServedState) -> Arc<ServedState> {
        self.served.swap(Arc::new(served))
    }

    /// Returns the state that is served now.
    pub fn current(&self) -> Arc<ServedState> {
        self.served.load_full()
    }

    /// Returns the peer of a new connection, and opens its account.
    pub fn peer(&self, address: IpAddr) -> Peer {
        Peer {
            address,
            account: self.budgets.account(self.proxies.limited(address)),
        }
    }

    /// Returns the reasons that `/readyz` reports while `served` is served, oldest first.
    pub(crate) fn reasons(&self, served: &ServedState) -> Vec<Reason> {
        let mut reasons = self.readiness.reasons().to_vec();
        if served.snapshot().insights().is_none() {
            let message = "the insights are being derived; until then requests for them get 503";
            reasons.push(Reason::new(INSIGHTS_PENDING, message));
        }
        reasons
    }

    /// Takes one token of `scope` at the time `now` for the client that `client` returns, which is called only if the scope
    /// has a limit. Returns `None` if it has none, or none for this client.
    ///
    /// The hub also counts by IPv6 /48, because one has 65,536 networks of the size /64, each of which counts as a client.
    pub(crate) fn take(
        &self,
        scope: RateLimitScope,
        now: Instant,
        client: impl FnOnce() -> IpAddr,
    ) -> Option<RateLimitStatus> {
        let rate = &self.rates[scope as usize];
        if rate.is_unlimited() {
            return None;
        }
        let client = self.proxies.limited(client())?;
        let status = rate.take(client, now)?;
        if scope == RateLimitScope::Hub
            && !status.is_exceeded
            && let Some(site) = ipv6_site(client)
            && let Some(site_status) = self.hub_sites.take(site, now)
            && site_status.is_exceeded
        {
            return Some(site_status);
        }
        Some(status)
    }

    /// Returns the name of each rate limit, and the number of requests that it has refused.
    pub(crate) fn rate_limited(&self) -> [(&'static str, u64); 3] {
        let mut refused = self.rates.each_ref().map(RateLimiter::refused);
        let (_, of_sites) = self.hub_sites.refused();
        refused[RateLimitScope::Hub as usize].1 += of_sites;
        refused
    }
}

/// Returns the first address of a client's IPv6 /48; `None` for IPv4.
fn ipv6_site(client: IpAddr) -> Option<IpAddr> {
    match client.to_canonical() {
        IpAddr::V4(_) => None,
        IpAddr::V6(address) => {
            let [first, second, third, ..] = address.segments();
            Some(Ipv6Addr::new(first, second, third, 0, 0, 0, 0, 0).into())
        }
    }
}
