//! The settings of the hub, which the command line has validated, and its interface to the system.

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
    /// The location of the state.
    pub place: StoreLocation,
    /// Limits of leases.
    pub leases: Leases,
    /// Retries and removals after failures.
    pub policy: Policy,
    /// Limits of the store.
    pub quotas: Quotas,
    /// Time limit of a complete verification or denial. In a delivery it limits each step: the lookup, every wait until
    /// more of the body can be sent, and the wait for the response. A complete delivery gets this time, plus one second
    /// for every 32 KiB of content.
    pub timeout: Duration,
    /// Decides which callbacks are permitted.
    pub guard: Guard,
    /// A PEM file of authorities trusted in addition to the public ones.
    pub ca_file: Option<PathBuf>,
    /// Limits of concurrent exchanges.
    pub lanes: Lanes,
}

impl Settings {
    /// Returns the default settings of a hub with its state at `place` and callbacks that `guard` permits.
    ///
    /// Our choice of each number: leases from 5 minutes to 30 days, by default 10 days (the Recommendation's advice);
    /// three failures in a row remove a subscription, with delays of 1 and 15 minutes between them; a `Retry-After` is
    /// honoured up to an hour; 100,000 subscriptions, 1,000 of one callback host, and a hundredth as many pending
    /// verifications; 10 s for a request to a callback.
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

/// The hub's interface to the system, which tests replace.
pub struct Outside {
    /// Looks up the addresses of a name.
    pub lookup: Lookup,
    /// Returns the wall-clock time in milliseconds since 1970-01-01T00:00:00Z, which may jump.
    pub unix_ms: Box<dyn Fn() -> i64 + Send>,
}

impl Outside {
    /// Returns the interface to the real system.
    #[must_use]
    pub fn system() -> Outside {
        Outside {
            lookup: Arc::new(look_up),
            unix_ms: Box::new(clock::unix_ms),
        }
    }
}

/// Limits of concurrent exchanges; each exchange uses a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lanes {
    /// Young deliveries of each kind, fast and slow. A delivery is young until it makes no progress at a sufficient
    /// rate; then it no longer counts here.
    pub fast: usize,
    /// Deliveries that hang, or go to subscribers whose last delivery was slow or failed, or that have had none yet.
    /// These subscribers may use half of them, so that half is left for other deliveries that hang.
    pub slow: usize,
    /// Young verifications and denials; one that hangs no longer counts here.
    pub verify: usize,
    /// Young deliveries to one callback host, and as many young verifications.
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
    /// Returns the largest number of concurrent deliveries of all lanes.
    #[must_use]
    pub fn deliveries(&self) -> usize {
        self.fast + self.slow
    }

    /// Returns the largest number of concurrent verifications and denials, including those that hang.
    #[must_use]
    pub fn verify_threads(&self) -> usize {
        self.verify * VERIFY_THREADS
    }

    /// Returns the largest number of open sockets of the hub: one for each exchange.
    #[must_use]
    pub fn sockets(&self) -> usize {
        self.deliveries() + self.verify_threads()
    }
}

/// Threads for each place of a verification. Our choice: a hundred callbacks that never answer delay others by a few
/// seconds.
const VERIFY_THREADS: usize = 8;
