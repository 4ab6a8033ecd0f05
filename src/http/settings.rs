//! The operator's settings for requests and responses; they do not change while the process runs.

use std::path::PathBuf;
use std::time::Duration;

use super::client::Proxies;
use crate::limits::BudgetLimits;
use crate::mcp;
use crate::wire::text::quote;

/// The operator's settings.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The public address without a trailing slash, such as `https://reviews.example`.
    pub base_url: String,
    /// The Cache-Control of every GET that has validators.
    pub cache_control: String,
    /// The directory with the pictures that `import --media` has fetched. `None` if the embedded sample is served: it has no
    /// pictures.
    pub media: Option<PathBuf>,
    /// Limits of a request.
    pub limits: RequestLimits,
    /// Rate limits per client.
    pub rates: Rates,
    /// Whether each response is an event with the target [`ACCESS_LOG`](super::ACCESS_LOG).
    pub logs_requests: bool,
    /// Budgets of the bytes that responses and request bodies in flight hold.
    pub budgets: BudgetLimits,
    /// The proxies whose X-Forwarded-For is trusted.
    pub proxies: Proxies,
    /// The Model Context Protocol at `/mcp`.
    pub mcp: mcp::McpSettings,
}

/// Requests per minute that one client (IPv6: its /64) may send; 0 means no limit. Further requests get 429.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rates {
    /// All paths except `/mcp`, the hub, `/healthz` and `/readyz`; 6,000 by default.
    pub reads: u32,
    /// `/mcp`, where each message of a batch counts; 1,200 by default.
    pub mcp: u32,
    /// The hub; 60 by default.
    pub hub: u32,
}

/// The limits of a request that `http` enforces. Those of connections and header blocks are enforced by `server`.
#[derive(Clone, Debug)]
pub struct RequestLimits {
    /// Largest number of header fields of a request, 64 by default; a request with more gets 431.
    pub header_fields: usize,
    /// Longest request target in bytes, 8 KiB by default; a longer one gets 414.
    pub target_bytes: usize,
    /// Largest body of a POST to the hub, 8 KiB by default; a larger one gets 413.
    pub hub_body_bytes: usize,
    /// Largest body of a POST to /mcp, 1 MiB by default; a larger one gets 413.
    pub mcp_body_bytes: usize,
    /// Time limit for the complete body of a request, 10 s by default; a slower one gets 408.
    pub body_time: Duration,
}

/// Why the settings cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// `cache_control` contains a byte that is invalid in a header.
    #[error("cache-control: {} cannot be sent in a header: only visible ASCII and spaces can", quote(.0))]
    CacheControl(String),
    /// `base_url` contains a byte that is invalid in a header.
    #[error("base-url: {} cannot be sent in a header: only visible ASCII can", quote(.0))]
    BaseUrl(String),
}
