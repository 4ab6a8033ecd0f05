//! The service as a whole: what is served now, what the operator has set, and whether it is ready.

use std::net::IpAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use arc_swap::ArcSwap;
use hyper::header::HeaderValue;

use super::access_log::AccessLog;
use super::client::Proxies;
use super::host;
use super::rate_limit::{RateLimitStatus, RateLimiter};
use super::readiness::Readiness;
use super::request_metrics::RequestMetrics;
use super::served_state::ServedState;
use crate::clock;
use crate::hub::Hub;
use crate::mcp;

/// What the operator sets about replies; it lasts as long as the process.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The public address without a trailing slash, such as `https://reviews.example`.
    pub base_url: String,
    /// The Cache-Control of every GET that has validators.
    pub cache_control: String,
    /// Bounds of a request.
    pub limits: Limits,
    /// How often one client may ask.
    pub rates: Rates,
    /// Whose word about the client of a request counts.
    pub proxies: Proxies,
}

/// Requests that one client, an IPv6 one being its /64, may make in a minute; 0 for any number. More get 429.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rates {
    /// All that is neither of the others, without `/healthz` and `/readyz`; any number by default.
    pub reads: u32,
    /// `/mcp`; any number by default.
    pub mcp: u32,
    /// The hub; 60 by default.
    pub hub: u32,
}

/// Bounds of a request that the service itself watches; the server has those of connections and header blocks.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Most header fields of a request, 64 by default; one with more gets 431.
    pub header_fields: usize,
    /// Longest request target in bytes, 8 KiB by default; a longer one gets 414.
    pub target_bytes: usize,
    /// Largest body of a POST to the hub, 8 KiB by default; a larger one gets 413.
    pub hub_body_bytes: usize,
    /// Largest body of a POST to /mcp, 1 MiB by default; a larger one gets 413.
    pub mcp_body_bytes: usize,
    /// How long a request's body may take to arrive in full, 10 s by default; a later one gets 408.
    pub body_time: Duration,
}

/// Why the settings cannot be used: the operator's mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// `cache_control` holds a byte that no header may carry.
    #[error("cache-control: only visible ASCII and spaces can be sent in a header")]
    CacheControl,
    /// `base_url` holds a byte that no header may carry.
    #[error("base-url: only visible ASCII can be sent in a header")]
    BaseUrl,
}

/// A part of the service with a rate limit of its own; the number is its index in the table of limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RateLimitScope {
    /// Whatever is answered from the head alone.
    Reads = 0,
    /// `/mcp`.
    Mcp = 1,
    /// The hub.
    Hub = 2,
}

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
    /// `None` where `/mcp` is not served: it answers 503.
    pub(crate) mcp: Option<mcp::Server>,
    /// Empty where the hub is not served: it answers 503.
    hub: OnceLock<Hub>,
    /// Empty where requests are not logged.
    access_log: OnceLock<AccessLog>,
    base_url: String,
    /// Host and port of `base_url`.
    own_authority: String,
    /// They are written as those of a request have to be.
    is_own_authority: bool,
}

impl AppState {
    /// Builds the service on its first site.
    ///
    /// # Errors
    /// When a setting cannot be written into a header.
    pub fn new(settings: Settings, served: ServedState) -> Result<AppState, SettingsError> {
        let cache_control = HeaderValue::from_str(&settings.cache_control)
            .map_err(|_| SettingsError::CacheControl)?;
        HeaderValue::from_str(&settings.base_url).map_err(|_| SettingsError::BaseUrl)?;
        let began = clock::instant();
        let own_authority = host::authority_of(&settings.base_url).to_owned();
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
            mcp: None,
            hub: OnceLock::new(),
            access_log: OnceLock::new(),
            is_own_authority: host::is_authority(own_authority.as_bytes()),
            own_authority,
            base_url: settings.base_url,
        })
    }

    /// Serves the Model Context Protocol at `/mcp`.
    #[must_use]
    pub fn with_mcp(mut self, server: mcp::Server) -> AppState {
        self.mcp = Some(server);
        self
    }

    /// Serves the hub; the first one stays.
    pub fn set_hub(&self, hub: Hub) {
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

    /// Returns the access log, where there is one.
    #[must_use]
    pub fn access_log(&self) -> Option<&AccessLog> {
        self.access_log.get()
    }

    /// Returns the MCP server, where it is served.
    #[must_use]
    pub fn mcp(&self) -> Option<&mcp::Server> {
        self.mcp.as_ref()
    }

    /// Puts `site` in place of `expected`, unless that is no longer the current one; tells whether it did.
    pub fn replace(&self, expected: &Arc<ServedState>, served: ServedState) -> bool {
        let previous = self.served.compare_and_swap(expected, Arc::new(served));
        Arc::ptr_eq(&previous, expected)
    }

    /// Puts `site` in place of the current one, and returns that. Requests in flight finish on the site they began with,
    /// and the last of them would have to free it, gigabytes of a large dataset, unless the caller keeps it longer.
    pub fn publish(&self, served: ServedState) -> Arc<ServedState> {
        self.served.swap(Arc::new(served))
    }

    /// Returns the site that is served now.
    pub fn current(&self) -> Arc<ServedState> {
        self.served.load_full()
    }

    /// Takes one token of `scope` for `client`, which is looked up only where there is a limit; `None` where there is none.
    pub(crate) fn take(
        &self,
        scope: RateLimitScope,
        client: impl FnOnce() -> IpAddr,
    ) -> Option<RateLimitStatus> {
        self.rates[scope as usize].take(client, clock::instant)
    }

    /// Returns the rate limits by name, and how many requests each has refused.
    #[must_use]
    pub fn rate_limited(&self) -> [(&'static str, u64); 3] {
        self.rates.each_ref().map(RateLimiter::refused)
    }

    /// Returns the host and port of the public address.
    pub(crate) fn own_authority(&self) -> &str {
        &self.own_authority
    }

    /// Tells whether `host` is a host with an optional port. Most requests name the public address, which was looked at once.
    pub(crate) fn is_authority(&self, host: &[u8]) -> bool {
        let is_own = self.is_own_authority && host == self.own_authority.as_bytes();
        is_own || host::is_authority(host)
    }

    /// Returns the public address without a trailing slash.
    #[must_use]
    pub fn base_url(&self) -> &str {
        &self.base_url
    }
}
