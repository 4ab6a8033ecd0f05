//! The hub's part of the metrics.

use std::time::Duration;

use crate::clock;
use crate::hub::subscription::{Failure, RemovalReason};
use crate::hub::{Hub, stats::Stats};
use crate::wire::openmetrics::{Exposition, Kind};

use super::unsigned;

/// Renders how the hub is and what it has done.
pub(super) fn render(out: &mut Exposition, hub: &Hub) {
    gauges(out, hub);
    totals(out, hub.stats());
}

fn gauges(out: &mut Exposition, hub: &Hub) {
    let (health, stats) = (hub.health(), hub.stats());
    let due_age = match stats.due_since_ms.value() {
        0 => Duration::ZERO,
        since_ms => Duration::from_millis(unsigned(clock::unix_ms()).saturating_sub(since_ms)),
    };
    out.family(
        "reviewd_hub_store",
        Kind::Info,
        "Where the hub keeps its state: a directory, or a database that replicas share.",
    );
    out.sample("_info", &[("kind", hub.store())], 1);
    for (name, value, help) in [
        (
            "reviewd_hub_store_usable",
            u64::from(health.store_error.is_none()),
            "1 if the hub can read and write its state.",
        ),
        (
            "reviewd_hub_delivering",
            u64::from(health.delivering),
            "1 if this process delivers; of those that share a state directory one does.",
        ),
        (
            "reviewd_hub_paused",
            u64::from(health.paused),
            "1 while deliveries pause because most hosts cannot be reached.",
        ),
        (
            "reviewd_hub_subscriptions",
            stats.subscriptions.value(),
            "Active subscriptions.",
        ),
        (
            "reviewd_hub_pending",
            stats.requests.value(),
            "Requests that wait for verification.",
        ),
        (
            "reviewd_hub_owed",
            stats.owed.value(),
            "Subscriptions that are owed content, due or waiting for a retry.",
        ),
        (
            "reviewd_hub_due",
            stats.due.value(),
            "Subscriptions whose next delivery could begin, or is under way.",
        ),
        (
            "reviewd_hub_oldest_due_age_seconds",
            due_age.as_secs(),
            "How long the oldest of those has been due.",
        ),
        (
            "reviewd_hub_exchanges",
            stats.in_flight.value(),
            "Exchanges with subscribers under way.",
        ),
    ] {
        out.family(name, Kind::Gauge, help);
        out.sample("", &[], value);
    }
}

fn totals(out: &mut Exposition, stats: &Stats) {
    out.family(
        "reviewd_hub_requests",
        Kind::Counter,
        "Requests to subscribe or unsubscribe, by outcome.",
    );
    for (outcome, count) in [("accepted", &stats.accepted), ("refused", &stats.refused)] {
        out.sample("_total", &[("outcome", outcome)], count.value());
    }
    out.family(
        "reviewd_hub_verifications",
        Kind::Counter,
        "Verifications of intent, by outcome.",
    );
    for (outcome, count) in [
        ("confirmed", &stats.confirmed),
        ("rejected", &stats.rejected),
    ] {
        out.sample("_total", &[("outcome", outcome)], count.value());
    }
    out.family(
        "reviewd_hub_attempts",
        Kind::Counter,
        "Attempts to deliver, by outcome.",
    );
    let failures = Failure::ALL.map(Failure::as_str);
    for (outcome, count) in [
        ("delivered", &stats.delivered),
        ("status", &stats.failed_status),
        ("withheld", &stats.withheld),
    ]
    .into_iter()
    .chain(failures.into_iter().zip(&stats.failed))
    {
        out.sample("_total", &[("outcome", outcome)], count.value());
    }
    out.family(
        "reviewd_hub_delivery_seconds",
        Kind::Counter,
        "Time that acknowledged deliveries took, in all.",
    );
    let delivered_ns = stats.delivered_ms.value().saturating_mul(1_000_000);
    out.nanoseconds("_total", &[], delivered_ns);
    out.family(
        "reviewd_hub_removals",
        Kind::Counter,
        "Subscriptions that ended, by reason.",
    );
    let removals = RemovalReason::ALL.map(RemovalReason::as_str);
    for (reason, count) in removals.into_iter().zip(&stats.removed) {
        out.sample("_total", &[("reason", reason)], count.value());
    }
}
