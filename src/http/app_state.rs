//! The service as a whole: what is served now, what the operator has set, and whether it is ready.

use std::net::IpAddr;
use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwap;
use hyper::header::HeaderValue;

use super::access_log::AccessLog;
use super::client::Proxies;
use super::host::OwnAuthority;
use super::rate_limit::{RateLimitScope, RateLimitStatus, RateLimiter};
use super::readiness::Readiness;
use super::request_metrics::RequestMetrics;
use super::served_state::ServedState;
use super::settings::{Limits, Settings, SettingsError};
use crate::clock;
use crate::hub::Hub;
use crate::mcp;

/// Everything that requests share.
pub struct AppState {
    /// What is served now; a request loads it once.
    pub(crate) served: ArcSwap<ServedState>,
    /// Whether traffic should be sent here, and why not.
    pub readiness: Arc<Readiness>,
    /// What requests leave behind.
    pub traffic: RequestMetrics,
    pub(crate) limits: Limits,
    pub(crate) proxies: Proxies,
    /// At `RateLimitScope as usize`.
    rates: [RateLimiter; 3],
    pub(crate) cache_control: HeaderValue,
    pub(crate) mcp: mcp::Server,
    /// Empty where the hub is not served: it answers 503.
    hub: OnceLock<Hub>,
    /// Empty where requests are not logged.
    pub(crate) access_log: OnceLock<AccessLog>,
    /// The public address without a trailing slash.
    pub(crate) base_url: String,
    pub(crate) own_authority: OwnAuthority,
}

impl AppState {
    /// Builds the service on its first state.
    ///
    /// # Errors
    /// When a setting cannot be written into a header.
    pub fn new(settings: Settings, served: ServedState) -> Result<AppState, SettingsError> {
        let cache_control = HeaderValue::from_str(&settings.cache_control)
            .map_err(|_| SettingsError::CacheControl)?;
        HeaderValue::from_str(&settings.base_url).map_err(|_| SettingsError::BaseUrl)?;
        let began = clock::instant();
        Ok(AppState {
            served: ArcSwap::from_pointee(served),
            readiness: Arc::default(),
            traffic: RequestMetrics::default(),
            limits: settings.limits,
            proxies: settings.proxies,
            rates: [
                RateLimiter::new("reads", settings.rates.reads, began),
                RateLimiter::new("mcp", settings.rates.mcp, began),
                RateLimiter::new("hub", settings.rates.hub, began),
            ],
            cache_control,
            mcp: mcp::Server::new(settings.mcp),
            hub: OnceLock::new(),
            access_log: OnceLock::new(),
            own_authority: OwnAuthority::of(&settings.base_url),
            base_url: settings.base_url,
        })
    }

    /// Serves the hub; the first one stays.
    pub(crate) fn set_hub(&self, hub: Hub) {
        // The hub reports to our readiness, so it starts after us; a second one would be a mistake of the caller.
        let _second = self.hub.set(hub);
    }

    /// Returns the hub, where it is served.
    #[must_use]
    pub fn hub(&self) -> Option<&Hub> {
        self.hub.get()
    }

    /// Logs each answered request; the first log stays.
    pub fn set_access_log(&self, log: AccessLog) {
        // Set once, at the start, by the server.
        let _second = self.access_log.set(log);
    }

    /// Puts `served` in place of the current state, and returns that. Requests in flight finish on the state they began with,
    /// and the last of them would have to free it, gigabytes of a large dataset, unless the caller keeps it longer.
    pub fn publish(&self, served: ServedState) -> Arc<ServedState> {
        self.served.swap(Arc::new(served))
    }

    /// Returns the state that is served now.
    pub fn current(&self) -> Arc<ServedState> {
        self.served.load_full()
    }

    /// Takes one token of `scope` for `client`, which is looked up only where there is a limit; `None` where there is none.
    pub(crate) fn take(
        &self,
        scope: RateLimitScope,
        client: impl FnOnce() -> IpAddr,
    ) -> Option<RateLimitStatus> {
        let rate = &self.rates[scope as usize];
        rate.is_limited()
            .then(|| rate.take(client(), clock::instant()))
    }

    /// Returns the rate limits by name, and how many requests each has refused.
    pub(crate) fn rate_limited(&self) -> [(&'static str, u64); 3] {
        self.rates.each_ref().map(RateLimiter::refused)
    }
}
