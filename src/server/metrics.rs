//! Renders the metrics as OpenMetrics text, collected at each scrape from the counters of the server's parts.
//!
//! Every label comes from a table in the program (routes, tools, reasons) or is one of the operator's sources, so the
//! number of lines of a scrape does not grow over time.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{
    DescriptorEncoder, EncodeCounterValue, MetricEncoder, NoLabelSet, text,
};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::registry::Registry;

use crate::clock;
use crate::http::{AppState, BOUNDS_US, ROUTE_LABELS, STATUS_CLASSES};
use crate::hub::subscription::{AttemptFailure, RemovalReason};
use crate::hub::{Hub, Stats};
use crate::platform;

use super::connections::Connections;
use super::deadline::Ending;
use super::log_writer::{self, Log};
use super::process;
use super::tls::CertificateResolver;

/// Counters since the start of the process.
#[derive(Debug, Default)]
pub struct Counters {
    /// Connections that were accepted and served.
    pub accepted: Counter,
    /// Connections that were closed at once because of the limit of all connections.
    pub rejected_total: Counter,
    /// Connections that were closed at once because of the limit per address.
    pub rejected_per_address: Counter,
    /// Failed accepts, for example without free file descriptors.
    pub accept_errors: Counter,
    /// TLS handshakes that failed or took too long.
    pub handshake_failures: Counter,
    /// Connections that ended because a request's head did not arrive in time.
    pub head_timeouts: Counter,
    /// Connections that ended because the peer did not read its response fast enough.
    pub slow_readers: Counter,
    /// Connections that ended because a request in progress made no progress.
    pub stalls: Counter,
    /// Reloads, indexed by `ReloadOutcome as usize`.
    pub(super) reloads: [Counter; ReloadOutcome::LABELS.len()],
}

/// The result of a reload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReloadOutcome {
    /// A new dataset is served.
    Replaced,
    /// The files contain the dataset that is already served.
    Same,
    /// The files cannot be used; the previous dataset is still served.
    Refused,
    /// The files are missing; the previous dataset is still served.
    Gone,
}

impl ReloadOutcome {
    /// The labels in metrics, in the order of the variants.
    const LABELS: [&str; 4] = ["replaced", "same", "refused", "gone"];
}

impl Counters {
    /// Counts a connection that ended by a deadline, unless it was idle.
    pub(super) fn count_ending(&self, ending: Ending) {
        let counter = match ending {
            // The table of connections counts evictions.
            Ending::Idle | Ending::Evicted => return,
            Ending::HeadTimeout => &self.head_timeouts,
            Ending::SlowReader => &self.slow_readers,
            Ending::Stalled => &self.stalls,
        };
        counter.inc();
    }
}

/// The sources of all metrics.
#[derive(Clone)]
pub(super) struct MetricSources {
    pub(super) app: Arc<AppState>,
    pub(super) counters: Arc<Counters>,
    /// `None` without TLS.
    pub(super) certificate: Option<Arc<CertificateResolver>>,
    pub(super) connections: Arc<Connections>,
    /// When the process started, in milliseconds since 1970.
    pub(super) started_ms: i64,
}

impl fmt::Debug for MetricSources {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("MetricSources")
            .finish_non_exhaustive()
    }
}

impl MetricSources {
    /// Renders all metrics as OpenMetrics text.
    pub(super) fn render(&self) -> Vec<u8> {
        let mut registry = Registry::default();
        registry.register_collector(Box::new(self.clone()));
        let mut out = String::new();
        // Writing to a string cannot fail.
        let _always = text::encode(&mut out, &registry);
        out.into_bytes()
    }
}

impl Collector for MetricSources {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut out = Encoder(encoder);
        out.info("reviewd_build", ("version", env!("CARGO_PKG_VERSION")))?;
        self.requests(&mut out)?;
        self.rates_and_tools(&mut out)?;
        self.connections(&mut out)?;
        self.dataset(&mut out)?;
        self.sources(&mut out)?;
        self.readiness(&mut out)?;
        if let Some(hub) = self.app.hub() {
            hub_metrics(&mut out, hub)?;
        }
        self.process(&mut out)
    }
}

impl MetricSources {
    fn requests(&self, out: &mut Encoder<'_>) -> fmt::Result {
        let traffic = &self.app.traffic;
        let mut family = out.family("reviewd_http_requests", MetricType::Counter)?;
        for (route, label) in ROUTE_LABELS.into_iter().enumerate() {
            for (class, name) in STATUS_CLASSES.iter().enumerate() {
                let labels = [("route", label), ("status", *name)];
                let mut metric = family.encode_family(&labels)?;
                let count = traffic.sum(|shard| &shard.routes[route].requests[class]);
                encode_counter(&mut metric, count)?;
            }
        }
        let bytes = ROUTE_LABELS.into_iter().enumerate().map(|(route, label)| {
            let sum = traffic.sum(|shard| &shard.routes[route].bytes);
            (label, sum)
        });
        out.counters("reviewd_http_response_body_bytes", "route", bytes)?;
        let name = "reviewd_http_request_duration_seconds";
        let mut family = out.family(name, MetricType::Histogram)?;
        for (route, label) in ROUTE_LABELS.into_iter().enumerate() {
            let counts: [u64; BOUNDS_US.len() + 1] = std::array::from_fn(|bucket| {
                traffic.sum(|shard| &shard.routes[route].buckets[bucket])
            });
            let elapsed_ns = traffic.sum(|shard| &shard.routes[route].elapsed_ns);
            let finite_bounds = BOUNDS_US.iter().map(|bound| seconds(bound * 1_000));
            let bounds = finite_bounds.chain([f64::INFINITY]);
            let buckets: Vec<(f64, u64)> = bounds.zip(counts).collect();
            let sum = seconds(elapsed_ns);
            let count = counts.iter().sum();
            let labels = [("route", label)];
            let mut metric = family.encode_family(&labels)?;
            metric.encode_histogram::<NoLabelSet>(sum, count, &buckets, None)?;
        }
        Ok(())
    }

    fn rates_and_tools(&self, out: &mut Encoder<'_>) -> fmt::Result {
        out.counters("reviewd_rate_limited", "surface", self.app.rate_limited())?;
        let calls = self.app.mcp.calls().totals();
        out.counters("reviewd_mcp_tool_calls", "tool", calls)
    }

    fn connections(&self, out: &mut Encoder<'_>) -> fmt::Result {
        let connections = &self.connections;
        let counters = &self.counters;
        let refused = [
            ("limit", counters.rejected_total.get()),
            ("address_limit", counters.rejected_per_address.get()),
        ];
        let cut = [
            ("handshake", counters.handshake_failures.get()),
            ("head_timeout", counters.head_timeouts.get()),
            ("slow_reader", counters.slow_readers.get()),
            ("stalled", counters.stalls.get()),
            ("evicted", connections.evicted.get()),
            ("evicted_stalled", connections.evicted_stalled.get()),
            ("evicted_holding", connections.evicted_holding.get()),
        ];
        out.gauge("reviewd_connections", connections.open())?;
        out.gauge("reviewd_connections_limit", connections.max)?;
        out.counter("reviewd_connections_accepted", counters.accepted.get())?;
        out.counters("reviewd_connections_refused", "reason", refused)?;
        out.counter("reviewd_accept_errors", counters.accept_errors.get())?;
        out.counters("reviewd_connections_cut", "reason", cut)?;
        let budgets = &self.app.budgets;
        let in_flight = [
            ("responses", budgets.held()),
            ("sockets", budgets.held_by_sockets()),
        ];
        out.gauges("reviewd_in_flight_bytes", "held_by", in_flight)?;
        let process_bytes = budgets.limits().process_bytes;
        out.gauge("reviewd_in_flight_bytes_limit", process_bytes)?;
        out.counters("reviewd_budget_refused", "budget", budgets.refused())?;
        if let Some(certificate) = &self.certificate {
            let name = "reviewd_tls_certificate_expiry_timestamp_seconds";
            out.gauge(name, unsigned(certificate.ends().unix()))?;
        }
        Ok(())
    }

    fn dataset(&self, out: &mut Encoder<'_>) -> fmt::Result {
        let served = self.app.current();
        let snapshot = served.snapshot();
        let updated = snapshot.updated_at.unix();
        out.info("reviewd_dataset", ("version", snapshot.version()))?;
        out.gauge("reviewd_dataset_reviews", snapshot.len())?;
        out.gauge(
            "reviewd_dataset_updated_timestamp_seconds",
            unsigned(updated),
        )?;
        let counts = self.counters.reloads.each_ref().map(Counter::get);
        let reloads = ReloadOutcome::LABELS.into_iter().zip(counts);
        out.counters("reviewd_reloads", "outcome", reloads)
    }

    /// The sources of `reviewd sync`, at most 100.
    fn sources(&self, out: &mut Encoder<'_>) -> fmt::Result {
        let state = self.app.sources.load();
        let now = clock::now();
        let mut ages = Vec::new();
        let mut failures = Vec::new();
        let mut changes = Vec::new();
        for (id, source) in &state.sources {
            let id = id.as_str();
            // A source that was never read has no age.
            if let Some(age_s) = source.age_s(now) {
                ages.push((id, age_s));
            }
            failures.push((id, source.failures));
            changes.push((id, source.added + source.changed));
        }
        out.gauges("reviewd_source_age_seconds", "source", ages)?;
        out.gauges("reviewd_source_failures", "source", failures)?;
        out.counters("reviewd_source_changes", "source", changes)
    }

    fn readiness(&self, out: &mut Encoder<'_>) -> fmt::Result {
        let reasons = self.app.reasons(&self.app.current());
        let ready = !reasons.iter().any(|reason| reason.blocking);
        out.gauge("reviewd_ready", ready)?;
        let mut family = out.family("reviewd_ready_reason", MetricType::Gauge)?;
        for reason in &reasons {
            let labels = [("code", reason.code)];
            family.encode_family(&labels)?.encode_gauge(&1_u64)?;
        }
        out.gauge(
            "reviewd_threads_hung",
            self.app.liveness.hung().len() as u64,
        )
    }

    fn process(&self, out: &mut Encoder<'_>) -> fmt::Result {
        let usage = platform::usage();
        let started_s = unsigned(self.started_ms / 1_000);
        log_lines(out)?;
        out.counter_of_seconds("process_cpu_seconds", usage.cpu_ns)?;
        out.gauge("process_start_time_seconds", started_s)?;
        out.gauge("process_resident_memory_bytes", usage.resident_bytes)?;
        out.gauge("process_threads", usage.threads)?;
        out.gauge("process_open_fds", usage.descriptors)?;
        out.gauge("process_max_fds", process::descriptors_max())
    }
}

/// Writes what happened to the lines of each log.
fn log_lines(out: &mut Encoder<'_>) -> fmt::Result {
    let mut family = out.family("reviewd_log_lines", MetricType::Counter)?;
    for log in Log::ALL {
        let counts = log_writer::counts(log);
        for (outcome, count) in [
            ("written", &counts.written),
            ("dropped", &counts.dropped),
            ("failed", &counts.failed),
        ] {
            let labels = [("log", log.name()), ("outcome", outcome)];
            encode_counter(&mut family.encode_family(&labels)?, count.load(Relaxed))?;
        }
    }
    Ok(())
}

fn hub_metrics(out: &mut Encoder<'_>, hub: &Hub) -> fmt::Result {
    let health = hub.health();
    let stats = hub.stats();
    out.info("reviewd_hub_store", ("kind", hub.store()))?;
    out.gauge("reviewd_hub_store_usable", health.store_error.is_none())?;
    out.gauge("reviewd_hub_delivering", health.delivering)?;
    out.gauge("reviewd_hub_paused", health.paused)?;
    out.gauge("reviewd_hub_lagging", health.lagging)?;
    out.gauge(
        "reviewd_hub_subscriptions",
        stats.subscriptions.load(Relaxed),
    )?;
    out.gauge("reviewd_hub_pending", stats.requests.load(Relaxed))?;
    out.gauge("reviewd_hub_undelivered", stats.undelivered.load(Relaxed))?;
    out.gauge("reviewd_hub_due", stats.due.load(Relaxed))?;
    let due_age_s = age_s(stats.due_since_ms.load(Relaxed));
    out.gauge("reviewd_hub_oldest_due_age_seconds", due_age_s)?;
    out.gauge("reviewd_hub_exchanges", stats.in_flight.load(Relaxed))?;
    hub_outcomes(out, stats)?;
    notice_metrics(out, stats)
}

/// Writes the outcomes of what the hub has done.
fn hub_outcomes(out: &mut Encoder<'_>, stats: &Stats) -> fmt::Result {
    let requests = [
        ("accepted", stats.accepted.load(Relaxed)),
        ("refused", stats.refused.load(Relaxed)),
    ];
    out.counters("reviewd_hub_requests", "outcome", requests)?;
    let verifications = [
        ("confirmed", stats.confirmed.load(Relaxed)),
        ("rejected", stats.rejected.load(Relaxed)),
    ];
    out.counters("reviewd_hub_verifications", "outcome", verifications)?;
    let attempts = [
        ("delivered", stats.delivered.load(Relaxed)),
        ("status", stats.failed_status.load(Relaxed)),
        ("deferred", stats.deferred.load(Relaxed)),
    ];
    let failures = AttemptFailure::ALL
        .iter()
        .zip(&stats.failed)
        .map(|((_, name), count)| (*name, count.load(Relaxed)));
    out.counters(
        "reviewd_hub_attempts",
        "outcome",
        attempts.into_iter().chain(failures),
    )?;
    let delivered_ns = stats.delivered_ms.load(Relaxed).saturating_mul(1_000_000);
    out.counter_of_seconds("reviewd_hub_delivery_seconds", delivered_ns)?;
    let removals = RemovalReason::ALL
        .iter()
        .zip(&stats.removed)
        .map(|((_, name, _), count)| (*name, count.load(Relaxed)));
    out.counters("reviewd_hub_removals", "reason", removals)
}

/// Writes the metrics of notices, without their targets.
fn notice_metrics(out: &mut Encoder<'_>, stats: &Stats) -> fmt::Result {
    let oldest_age_s = age_s(stats.notices_since_ms.load(Relaxed));
    let waiting = stats.notices_waiting.load(Relaxed);
    out.gauge("reviewd_notices_waiting", waiting)?;
    out.gauge("reviewd_notices_oldest_age_seconds", oldest_age_s)?;
    let attempts = [
        ("delivered", stats.notices_delivered.load(Relaxed)),
        ("failed", stats.notices_failed.load(Relaxed)),
        ("deferred", stats.notices_deferred.load(Relaxed)),
    ];
    out.counters("reviewd_notice_attempts", "outcome", attempts)?;
    let given_up = stats.notices_given_up.load(Relaxed);
    out.counter("reviewd_notices_given_up", given_up)
}

/// Returns the seconds since a time in milliseconds since 1970; 0 for a time of 0, which stands for none.
fn age_s(since_ms: u64) -> u64 {
    if since_ms == 0 {
        return 0;
    }
    unsigned(clock::unix_ms()).saturating_sub(since_ms) / 1_000
}

/// Writes one metric family at a time; each is described by [`help`].
struct Encoder<'e>(DescriptorEncoder<'e>);

impl Encoder<'_> {
    /// Begins a family, with its help text.
    fn family(
        &mut self,
        name: &'static str,
        kind: MetricType,
    ) -> Result<MetricEncoder<'_>, fmt::Error> {
        let help = help(name).ok_or(fmt::Error)?;
        self.0.encode_descriptor(name, help, None, kind)
    }

    fn info(&mut self, name: &'static str, label: (&str, &str)) -> fmt::Result {
        self.family(name, MetricType::Info)?.encode_info(&[label])
    }

    fn gauge(&mut self, name: &'static str, value: impl Into<u64>) -> fmt::Result {
        self.family(name, MetricType::Gauge)?
            .encode_gauge(&value.into())
    }

    fn counter(&mut self, name: &'static str, value: u64) -> fmt::Result {
        encode_counter(&mut self.family(name, MetricType::Counter)?, value)
    }

    /// Writes a gauge for each value of a label.
    fn gauges<'v>(
        &mut self,
        name: &'static str,
        label: &str,
        values: impl IntoIterator<Item = (&'v str, u64)>,
    ) -> fmt::Result {
        let mut family = self.family(name, MetricType::Gauge)?;
        for (value, amount) in values {
            let labels = [(label, value)];
            family.encode_family(&labels)?.encode_gauge(&amount)?;
        }
        Ok(())
    }

    /// Writes a counter of time, in seconds.
    fn counter_of_seconds(&mut self, name: &'static str, value_ns: u64) -> fmt::Result {
        encode_counter(
            &mut self.family(name, MetricType::Counter)?,
            seconds(value_ns),
        )
    }

    /// Writes a counter for each value of a label.
    fn counters<'v>(
        &mut self,
        name: &'static str,
        label: &str,
        values: impl IntoIterator<Item = (&'v str, u64)>,
    ) -> fmt::Result {
        let mut family = self.family(name, MetricType::Counter)?;
        for (value, count) in values {
            let labels = [(label, value)];
            encode_counter(&mut family.encode_family(&labels)?, count)?;
        }
        Ok(())
    }
}

/// Writes the value of a counter without further labels.
fn encode_counter(metric: &mut MetricEncoder<'_>, value: impl EncodeCounterValue) -> fmt::Result {
    metric.encode_counter::<NoLabelSet, _, u64>(&value, None)
}

/// Converts nanoseconds into seconds.
fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

/// Returns a time since 1970, or 0 for a time before 1970.
fn unsigned(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}

/// Returns the help text of a metric family; `None` for an unknown name, which is an error of the program.
fn help(name: &str) -> Option<&'static str> {
    Some(match name {
        "reviewd_build" => "The version of the program.",
        "reviewd_http_requests" => {
            "Requests by route and class of status; `other` has no route: protocol errors, timeouts."
        }
        "reviewd_http_response_body_bytes" => "Bytes of response bodies, as sent.",
        "reviewd_http_request_duration_seconds" => "Time from request head to ready response.",
        "reviewd_rate_limited" => "Requests refused by a rate limit (429).",
        "reviewd_mcp_tool_calls" => "Calls of MCP tools, refused ones included.",
        "reviewd_connections" => "Connections open now.",
        "reviewd_connections_limit" => "Largest number of concurrent connections.",
        "reviewd_connections_accepted" => "Connections accepted and served.",
        "reviewd_connections_refused" => "Connections closed at once, by reason.",
        "reviewd_accept_errors" => "Failed accepts, for example without free descriptors.",
        "reviewd_connections_cut" => "Connections closed by a timeout or by eviction, by reason.",
        "reviewd_in_flight_bytes" => {
            "Bytes held by unfinished responses and request bodies, and by output that peers do not read."
        }
        "reviewd_in_flight_bytes_limit" => "Most bytes that each of them may hold.",
        "reviewd_budget_refused" => "Requests refused because a budget had no room (503).",
        "reviewd_tls_certificate_expiry_timestamp_seconds" => "Expiry of the certificate.",
        "reviewd_dataset" => "The dataset that is served.",
        "reviewd_dataset_reviews" => "Published reviews.",
        "reviewd_dataset_updated_timestamp_seconds" => "The dataset's own date, updated_at.",
        "reviewd_reloads" => "Reloads, by outcome.",
        "reviewd_source_age_seconds" => {
            "Time since a source of `reviewd sync` was last read completely."
        }
        "reviewd_source_failures" => "Tries of a source that failed since its last success.",
        "reviewd_source_changes" => "Reviews that a source has added or changed.",
        "reviewd_ready" => "1 if traffic should be sent here, as /readyz says.",
        "reviewd_ready_reason" => "1 for each reason that /readyz lists.",
        "reviewd_threads_hung" => "Threads that have not reported for 30 seconds.",
        "reviewd_hub_store" => "The type of the hub's store: a directory, or a database.",
        "reviewd_hub_store_usable" => "1 if the hub can read and write its state.",
        "reviewd_hub_delivering" => {
            "1 if this process delivers; of those that share a store, one does."
        }
        "reviewd_hub_paused" => {
            "1 while most hosts cannot be reached, so failed deliveries do not count."
        }
        "reviewd_hub_lagging" => {
            "1 while attempts are late because this machine has no core for them."
        }
        "reviewd_hub_subscriptions" => "Active subscriptions.",
        "reviewd_hub_pending" => "Requests that wait for verification.",
        "reviewd_hub_undelivered" => {
            "Subscriptions with a delivery that is due or waits for a retry."
        }
        "reviewd_hub_due" => "Subscriptions with a delivery that is due or in progress.",
        "reviewd_hub_oldest_due_age_seconds" => "Time since the oldest due delivery became due.",
        "reviewd_hub_exchanges" => "Requests to subscribers in progress.",
        "reviewd_hub_requests" => "Requests whose form could be read, by outcome.",
        "reviewd_hub_verifications" => "Verifications of intent, by outcome.",
        "reviewd_hub_attempts" => "Attempts to deliver, by outcome.",
        "reviewd_hub_delivery_seconds" => "Total time of acknowledged deliveries.",
        "reviewd_hub_removals" => "Subscriptions that ended, by reason.",
        "reviewd_notices_waiting" => "Notices that are to be sent, or sent again.",
        "reviewd_notices_oldest_age_seconds" => "Age of the oldest notice that waits.",
        "reviewd_notice_attempts" => "Attempts to send a notice, by outcome.",
        "reviewd_notices_given_up" => "Notices that are not sent again.",
        "reviewd_log_lines" => {
            "Lines of the logs: written, dropped because the queue was full, or failed."
        }
        "process_cpu_seconds" => "Processor time used.",
        "process_start_time_seconds" => "Start time of the process.",
        "process_resident_memory_bytes" => "Memory in use.",
        "process_threads" => "Threads.",
        "process_open_fds" => "Open file descriptors.",
        "process_max_fds" => "Largest number of open file descriptors.",
        _ => return None,
    })
}
