//! What the hub is started with: plain values, checked where flags become them, and what it asks the system for.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::guard::Guard;
use super::resolve::{Lookup, look_up};
use crate::clock;
use crate::hub::StoreLocation;
use crate::hub::store::Quotas;
use crate::hub::subscription::{Leases, Policy};

/// The hub's configuration.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where the state is kept.
    pub place: StoreLocation,
    /// Bounds of leases.
    pub leases: Leases,
    /// How failures are answered.
    pub policy: Policy,
    /// Bounds of what is kept.
    pub quotas: Quotas,
    /// Time limit of a verification or a denial as a whole. Of a delivery, it limits each step: the lookup, every wait
    /// until more of the body can be sent, and the wait for the answer. A delivery as a whole gets this time, and one
    /// second more for every 32 KiB of content.
    pub timeout: Duration,
    /// What callbacks are permitted.
    pub guard: Guard,
    /// A PEM file of authorities trusted besides the public ones.
    pub ca_file: Option<PathBuf>,
    /// How much goes on at a time.
    pub lanes: Lanes,
}

impl Settings {
    /// Returns the settings of a hub that keeps its state at `place` and calls the callbacks that `guard` permits.
    ///
    /// Our choice of each number: leases from 5 minutes to 30 days, 10 days when none is asked for (the Recommendation's
    /// advice); three failures in a row remove a subscription, with waits of 1 and 15 minutes between them; a
    /// `Retry-After` is honoured up to an hour; 100,000 subscriptions, 1,000 of one callback host, and a hundredth as
    /// many requests that wait for verification; 10 s for a request to a callback.
    #[must_use]
    pub fn new(place: StoreLocation, guard: Guard) -> Settings {
        const MINUTE: Duration = Duration::from_secs(60);
        Settings {
            place,
            leases: Leases {
                min_s: 300,
                default_s: 864_000,
                max_s: 2_592_000,
            },
            policy: Policy {
                failures_max: 3,
                retry_delays: vec![MINUTE, 15 * MINUTE],
                retry_after_max: 60 * MINUTE,
            },
            quotas: Quotas::new(100_000, 1_000),
            timeout: Duration::from_secs(10),
            guard,
            ca_file: None,
            lanes: Lanes::default(),
        }
    }
}

/// What the hub asks the system for; a test answers in its place.
pub struct Outside {
    /// Addresses of names.
    pub lookup: Lookup,
    /// The time of day in milliseconds since 1970-01-01T00:00:00Z, which may jump.
    pub unix_ms: Box<dyn Fn() -> i64 + Send>,
}

impl Outside {
    /// Returns the system itself.
    #[must_use]
    pub fn system() -> Outside {
        Outside {
            lookup: Arc::new(look_up),
            unix_ms: Box::new(clock::unix_ms),
        }
    }
}

/// Exchanges under way at a time; each has a thread while it lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lanes {
    /// Deliveries of each kind, fast and slow, that are still young, or whose body is taken at a fair pace; another one that
    /// takes long gives its place away.
    pub fast: usize,
    /// Deliveries that take long, or go to subscribers whose last one did or failed, or that have had none yet. The latter
    /// may have half of them, so that subscribers known to hang leave room for those that begin to.
    pub slow: usize,
    /// Verifications and denials that are still young; one that takes long gives its place to another.
    pub verify: usize,
    /// Deliveries to one callback host that are still young, and as many verifications.
    pub per_host: usize,
}

impl Default for Lanes {
    fn default() -> Lanes {
        Lanes {
            fast: 64,
            slow: 512,
            verify: 16,
            per_host: 4,
        }
    }
}

impl Lanes {
    /// Returns how many deliveries may be under way, whatever their lane.
    #[must_use]
    pub fn deliveries(&self) -> usize {
        self.fast + self.slow
    }

    /// Returns how many verifications and denials may be under way, whether or not they take long.
    #[must_use]
    pub fn verify_threads(&self) -> usize {
        self.verify * VERIFY_THREADS
    }

    /// Returns how many sockets the hub may have open: one for each exchange.
    #[must_use]
    pub fn sockets(&self) -> usize {
        self.deliveries() + self.verify_threads()
    }
}

/// Threads for each place of a verification. Our choice: a hundred callbacks that never answer delay one that does by a few
/// seconds.
const VERIFY_THREADS: usize = 8;
