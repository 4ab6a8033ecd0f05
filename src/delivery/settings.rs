//! What the hub is started with: plain values, checked where flags become them.

use std::path::PathBuf;
use std::time::Duration;

use super::guard::Guard;
use crate::websub::policy::{Leases, Policy};
use crate::websub::store::Caps;

/// The hub's configuration.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The state directory, made when it does not exist.
    pub state_dir: PathBuf,
    /// Bounds of leases.
    pub leases: Leases,
    /// How failures are answered.
    pub policy: Policy,
    /// Bounds of what is kept.
    pub caps: Caps,
    /// Requests of one client address in a minute; 0 for any number.
    pub requests_per_minute: u32,
    /// One deadline over a delivery, plus a second for every 256 KiB of content.
    pub delivery_timeout: Duration,
    /// One deadline over a verification, and over a denial.
    pub verify_timeout: Duration,
    /// What callbacks are permitted.
    pub guard: Guard,
    /// A PEM file of authorities trusted besides the public ones.
    pub ca_file: Option<PathBuf>,
    /// How much goes on at a time.
    pub lanes: Lanes,
    /// How long tombstones are kept.
    pub tombstone_age: Duration,
}

/// Exchanges under way at a time; each has a thread while it lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lanes {
    /// Deliveries that are still young; one that takes long moves to the slow lane and gives its place to another.
    pub fast: usize,
    /// Deliveries that take long, or go to subscribers whose last one did or failed.
    pub slow: usize,
    /// Verifications, denials and probes.
    pub verify: usize,
    /// Deliveries to one callback host, and as many verifications.
    pub per_host: usize,
}
