//! What the operator sets about requests and responses; it lasts as long as the process.

use std::time::Duration;

use super::client::Proxies;
use crate::mcp;

/// What the operator sets.
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
    /// The proxies that are trusted to name the client of a request.
    pub proxies: Proxies,
    /// The Model Context Protocol at `/mcp`.
    pub mcp: mcp::Settings,
}

/// Requests that one client, an IPv6 one being its /64, may make in a minute; 0 for any number. More get 429.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rates {
    /// All other addresses but `/healthz` and `/readyz`; any number by default.
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
