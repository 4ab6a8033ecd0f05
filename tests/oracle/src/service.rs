//! Settings and data of a service without flags, for tests and benches that build it themselves.

use std::num::NonZeroUsize;
use std::sync::Arc;

use reviewd::dataset;
use reviewd::http::{AppState, Proxies, Rates, ServedState, Settings};
use reviewd::limits::{BudgetLimits, CLIENT_BYTES};
use reviewd::mcp;
use reviewd::model::Dataset;
use reviewd::search::index::IndexOptions;
use reviewd::server::ServerLimits;
use reviewd::snapshot::{self, Snapshot};
use reviewd::wire::date::Timestamp;

/// The public address.
pub const BASE_URL: &str = "https://reviews.example";

/// Returns the sample practice.
pub fn sample() -> Dataset {
    let now = Timestamp::from_unix(1_800_000_000);
    let decoded = dataset::decode(dataset::embedded(), now);
    decoded.expect("the sample is well formed").dataset
}

/// Returns settings of a snapshot of a small dataset.
pub fn snapshot_settings() -> snapshot::SnapshotSettings {
    snapshot::SnapshotSettings {
        base_url: BASE_URL.to_owned(),
        index: IndexOptions {
            memory_bytes: 64 << 20,
            threads: NonZeroUsize::MIN,
            tuning: None,
        },
    }
}

/// Returns a snapshot of a small dataset, without compressed variants.
pub fn snapshot(dataset: Dataset) -> Arc<Snapshot> {
    Arc::new(Snapshot::build(dataset, &snapshot_settings()))
}

/// Returns a service that serves `snapshot`.
pub fn app(settings: Settings, snapshot: Arc<Snapshot>) -> AppState {
    let served = ServedState::new(snapshot).expect("the base URL fits a header");
    AppState::new(settings, served).expect("the settings fit headers")
}

/// Returns the settings of the program, without rate limits and proxies.
pub fn settings() -> Settings {
    Settings {
        base_url: BASE_URL.to_owned(),
        cache_control: "public, max-age=60, stale-while-revalidate=600".to_owned(),
        media: None,
        logs_requests: false,
        rates: Rates {
            reads: 0,
            mcp: 0,
            hub: 0,
        },
        budgets: BudgetLimits {
            process_bytes: 64 << 20,
            client_bytes: CLIENT_BYTES,
        },
        proxies: Proxies {
            networks: Vec::new(),
        },
        limits: ServerLimits::default().requests,
        mcp: mcp::McpSettings {
            base_url: BASE_URL.to_owned(),
            allowed_origins: Vec::new(),
            allowed_hosts: Vec::new(),
            body_bytes_max: 1 << 20,
        },
    }
}
