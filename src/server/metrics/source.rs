//! The address that a dataset comes from.

use crate::wire::openmetrics::{Exposition, Kind};

use super::super::bundle::Polls;

/// Renders how it is followed.
pub(super) fn render(out: &mut Exposition, polls: &Polls) {
    out.family(
        "reviewd_source_polls",
        Kind::Counter,
        "Looks at the address of the dataset, by how they ended.",
    );
    for (end, count) in polls.counts() {
        out.sample("_total", &[("end", end)], count);
    }
    out.family(
        "reviewd_source_followed_timestamp_seconds",
        Kind::Gauge,
        "When a look last went well; 0 for never since the start.",
    );
    let well_s = u64::try_from(polls.well_ms() / 1_000).unwrap_or(0);
    out.sample("", &[], well_s);
}
