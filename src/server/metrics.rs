//! The metrics, rendered by hand from counters that others own.
//!
//! Every label comes from a table in the program (routes, tools, reasons), so a scrape has as many lines on its last
//! day as on its first.

mod hub;

use std::sync::Arc;

use crate::clock;
use crate::http::{AppState, BOUNDS_NS, Class, ROUTE_LABELS, Searcher};
use crate::mcp::calls::TOOLS;
use crate::wire::openmetrics::{Exposition, Kind};

use super::connections::Connections;
use super::counters::Counters;
use super::logs;
use super::process;
use super::reload::ReloadTotals;
use super::tls::Expiry;

/// The upper bounds of [`BOUNDS_NS`] in seconds, as labels.
const BOUNDS: [&str; BOUNDS_NS.len()] = [
    "0.00001", "0.000025", "0.00005", "0.0001", "0.00025", "0.0005", "0.001", "0.0025", "0.005",
    "0.01", "0.025", "0.1", "1.0",
];

/// Everything that is counted, where it is counted.
#[derive(Clone)]
pub(super) struct MetricSources {
    pub(super) app: Arc<AppState>,
    pub(super) counters: Arc<Counters>,
    /// Those of the administrator's own listener.
    pub(super) admin_counters: Arc<Counters>,
    /// Until when the certificate is valid that is served now; `None` without TLS.
    pub(super) expiry: Option<Expiry>,
    pub(super) connections: Arc<Connections>,
    pub(super) reloads: Arc<ReloadTotals>,
    /// When the process began, in milliseconds since 1970.
    pub(super) started_ms: i64,
}

impl MetricSources {
    /// Renders everything as OpenMetrics text.
    pub(super) fn render(&self) -> Vec<u8> {
        let mut out = Exposition::new();
        out.family("reviewd_build", Kind::Info, "The program.");
        out.sample("_info", &[("version", env!("CARGO_PKG_VERSION"))], 1);
        self.requests(&mut out);
        self.durations(&mut out);
        self.work(&mut out);
        self.connections(&mut out);
        self.certificate(&mut out);
        self.dataset(&mut out);
        self.readiness(&mut out);
        if let Some(hub) = self.app.hub() {
            hub::render(&mut out, hub);
        }
        self.process(&mut out);
        out.finish()
    }

    fn requests(&self, out: &mut Exposition) {
        let traffic = &self.app.traffic;
        out.family(
            "reviewd_http_requests",
            Kind::Counter,
            "Requests answered, by address and class of status; what was no request, or too late, is among `other`.",
        );
        for (place, route) in ROUTE_LABELS.iter().enumerate() {
            for class in Class::ALL {
                let labels = [("route", *route), ("status", class.as_str())];
                out.sample("_total", &labels, traffic.requests(place, class));
            }
        }
        out.family(
            "reviewd_http_not_modified",
            Kind::Counter,
            "Requests answered by 304: the client had the content already.",
        );
        for (place, route) in ROUTE_LABELS.iter().enumerate() {
            let count = traffic.requests(place, Class::NotModified);
            out.sample("_total", &[("route", route)], count);
        }
        out.family(
            "reviewd_http_requests_plain",
            Kind::Counter,
            "Requests answered beneath the HTTP library; they count among all others as well.",
        );
        out.sample("_total", &[], traffic.plain());
        out.family(
            "reviewd_http_response_body_bytes",
            Kind::Counter,
            "Bytes of reply bodies, as compressed as they were sent.",
        );
        for (place, route) in ROUTE_LABELS.iter().enumerate() {
            out.sample("_total", &[("route", route)], traffic.bytes(place));
        }
    }

    fn durations(&self, out: &mut Exposition) {
        let traffic = &self.app.traffic;
        out.family(
            "reviewd_http_request_duration_seconds",
            Kind::Histogram,
            "Time from a request's head to a reply that is ready to be sent.",
        );
        for (place, route) in ROUTE_LABELS.iter().enumerate() {
            let cumulative = traffic.cumulative(place);
            let bounds = BOUNDS.iter().copied().chain(["+Inf"]);
            for (bound, count) in bounds.zip(cumulative) {
                out.sample("_bucket", &[("route", route), ("le", bound)], count);
            }
            let labels = [("route", *route)];
            out.sample("_count", &labels, cumulative[BOUNDS.len()]);
            out.nanoseconds("_sum", &labels, traffic.elapsed_ns(place));
        }
    }

    fn work(&self, out: &mut Exposition) {
        out.family(
            "reviewd_rate_limited",
            Kind::Counter,
            "Requests that were too many for their client's rate, answered by 429.",
        );
        for (surface, count) in self.app.rate_limited() {
            out.sample("_total", &[("surface", surface)], count);
        }
        let calls = self.app.mcp().map(|server| server.calls().totals());
        let calls = calls.unwrap_or_default();
        let of_tool = |name: &str| {
            let named = TOOLS.iter().zip(calls).find(|(tool, _)| **tool == name);
            named.map_or(0, |(_, count)| count)
        };
        out.family(
            "reviewd_searches",
            Kind::Counter,
            "Searches that were run; those answered by 304 are not, calls of the MCP tool that it refused are.",
        );
        for (interface, count) in [
            ("rest", self.app.traffic.searches(Searcher::Rest)),
            ("page", self.app.traffic.searches(Searcher::Page)),
            ("mcp", of_tool("search_reviews")),
        ] {
            out.sample("_total", &[("interface", interface)], count);
        }
        out.family(
            "reviewd_mcp_tool_calls",
            Kind::Counter,
            "Calls of MCP tools, refused ones included.",
        );
        for (tool, count) in TOOLS.iter().zip(calls) {
            out.sample("_total", &[("tool", tool)], count);
        }
        if let Some(log) = self.app.access_log() {
            out.family(
                "reviewd_access_log_entries",
                Kind::Counter,
                "Lines of the access log: written, dropped as its queue was full, or failed to be written.",
            );
            let ledger = log.stats();
            for (outcome, count) in [
                ("written", ledger.written()),
                ("dropped", ledger.dropped()),
                ("failed", ledger.failed()),
            ] {
                out.sample("_total", &[("outcome", outcome)], count);
            }
        }
    }

    fn connections(&self, out: &mut Exposition) {
        let counters = &self.counters;
        out.family("reviewd_connections", Kind::Gauge, "Connections open now.");
        out.sample("", &[], u64::from(self.connections.open()));
        out.family(
            "reviewd_connections_limit",
            Kind::Gauge,
            "Connections that may be open at a time.",
        );
        out.sample("", &[], u64::from(self.connections.max()));
        out.family(
            "reviewd_connections_accepted",
            Kind::Counter,
            "Connections accepted and served.",
        );
        out.sample("_total", &[], counters.accepted());
        out.family(
            "reviewd_connections_refused",
            Kind::Counter,
            "Connections closed at once, by reason.",
        );
        for (reason, count) in [
            ("limit", counters.rejected_total()),
            ("address_limit", counters.rejected_per_address()),
        ] {
            out.sample("_total", &[("reason", reason)], count);
        }
        out.family(
            "reviewd_admin_connections_refused",
            Kind::Counter,
            "Connections to the administrator's port closed at once, by reason.",
        );
        for (reason, count) in [
            ("limit", self.admin_counters.rejected_total()),
            ("address_limit", self.admin_counters.rejected_per_address()),
        ] {
            out.sample("_total", &[("reason", reason)], count);
        }
        out.family(
            "reviewd_accept_errors",
            Kind::Counter,
            "Times that accepting failed, for want of descriptors for example.",
        );
        out.sample("_total", &[], counters.accept_errors());
        out.family(
            "reviewd_connections_cut",
            Kind::Counter,
            "Connections that we ended for what the client did or left undone, or for a new one where a limit was reached (evicted).",
        );
        for (reason, count) in [
            ("handshake", counters.handshake_failures()),
            ("head_timeout", counters.head_timeouts()),
            ("slow_reader", counters.slow_readers()),
            ("stalled", counters.stalls()),
            ("evicted", self.connections.evicted()),
        ] {
            out.sample("_total", &[("reason", reason)], count);
        }
    }

    fn certificate(&self, out: &mut Exposition) {
        let Some(ends) = self.expiry.as_ref().and_then(Expiry::unix) else {
            return;
        };
        out.family(
            "reviewd_tls_certificate_expiry_timestamp_seconds",
            Kind::Gauge,
            "The last second in which the certificate that is served is valid.",
        );
        out.sample("", &[], unsigned(ends));
    }

    fn dataset(&self, out: &mut Exposition) {
        let served = self.app.current();
        let snapshot = served.snapshot();
        out.family("reviewd_dataset", Kind::Info, "The dataset that is served.");
        out.sample("_info", &[("version", snapshot.version())], 1);
        out.family("reviewd_dataset_reviews", Kind::Gauge, "Published reviews.");
        out.sample("", &[], u64::from(snapshot.len()));
        out.family(
            "reviewd_dataset_size_bytes",
            Kind::Gauge,
            "Bytes of /reviews.json, not compressed.",
        );
        out.sample("", &[], snapshot.reviews.body.len() as u64);
        out.family(
            "reviewd_dataset_updated_timestamp_seconds",
            Kind::Gauge,
            "The dataset's own date, updated_at.",
        );
        out.sample("", &[], unsigned(snapshot.updated_at.unix()));
        out.family(
            "reviewd_dataset_age_seconds",
            Kind::Gauge,
            "Time since the dataset's own date.",
        );
        let age_s = clock::now().unix() - snapshot.updated_at.unix();
        out.sample("", &[], unsigned(age_s));
        out.family(
            "reviewd_dataset_loaded_timestamp_seconds",
            Kind::Gauge,
            "When the dataset was read.",
        );
        out.sample("", &[], unsigned(self.reloads.loaded_ms() / 1_000));
        out.family("reviewd_reloads", Kind::Counter, "Reloads, by outcome.");
        for (outcome, count) in self.reloads.counts() {
            out.sample("_total", &[("outcome", outcome)], count);
        }
    }

    fn readiness(&self, out: &mut Exposition) {
        let reasons = self.app.readiness.reasons();
        let ready = !reasons.iter().any(|reason| reason.blocking);
        out.family(
            "reviewd_ready",
            Kind::Gauge,
            "1 if traffic should come here, as /readyz says.",
        );
        out.sample("", &[], u64::from(ready));
        out.family(
            "reviewd_ready_reason",
            Kind::Gauge,
            "1 for each reason that /readyz lists.",
        );
        for reason in reasons.iter() {
            out.sample("", &[("code", reason.code)], 1);
        }
    }

    fn process(&self, out: &mut Exposition) {
        out.family(
            "reviewd_log_lines_dropped",
            Kind::Counter,
            "Lines of the log that standard error did not take.",
        );
        out.sample("_total", &[], logs::dropped_lines());
        let process = process::usage();
        out.family("process_cpu_seconds", Kind::Counter, "Processor time used.");
        out.nanoseconds("_total", &[], process.cpu_ns);
        out.family(
            "process_start_time_seconds",
            Kind::Gauge,
            "When the process began.",
        );
        out.sample("", &[], unsigned(self.started_ms / 1_000));
        for (name, value, help) in [
            (
                "process_resident_memory_bytes",
                process.resident_bytes,
                "Memory in use.",
            ),
            (
                "process_virtual_memory_bytes",
                process.virtual_bytes,
                "Address space.",
            ),
            ("process_threads", process.threads, "Threads."),
            (
                "process_open_fds",
                process.descriptors,
                "Open file descriptors.",
            ),
            (
                "process_max_fds",
                process.descriptors_max,
                "File descriptors that may be open.",
            ),
        ] {
            out.family(name, Kind::Gauge, help);
            out.sample("", &[], value);
        }
    }
}

/// A time before 1970 or from the future counts as none.
fn unsigned(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}
