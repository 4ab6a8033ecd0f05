//! The hub's settings, which are checked when flags are parsed, and the system functions that it uses.

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
pub struct HubSettings {
    /// Where the state is stored.
    pub place: StoreLocation,
    /// Limits of leases.
    pub leases: Leases,
    /// Retries of failed deliveries.
    pub policy: Policy,
    /// Limits of the store.
    pub quotas: Quotas,
    /// Time limit of a verification or a denial as a whole. For a delivery, it limits each step: the lookup, every wait
    /// until more of the body can be sent, and the wait for the response. A delivery as a whole gets this time plus one
    /// second for every 32 KiB of content.
    pub timeout: Duration,
    /// The rules for callbacks.
    pub guard: Guard,
    /// A PEM file of authorities trusted in addition to the public ones.
    pub ca_file: Option<PathBuf>,
    /// Limits of concurrent exchanges.
    pub lanes: Lanes,
}

impl HubSettings {
    /// Returns the settings of a hub that stores its state at `place` and calls the callbacks that `guard` permits.
    ///
    /// Our choice of each number: leases from 5 minutes to 30 days, 10 days if none is requested (as WebSub
    /// recommends); three failures in a row remove a subscription, with delays of 1 and 15 minutes between them;
    /// `Retry-After` is honoured up to an hour; 100,000 subscriptions, 1,000 per callback host, and a hundredth of
    /// these numbers of requests that wait for verification; 10 s for a request to a callback.
    #[must_use]
    pub fn new(place: StoreLocation, guard: Guard) -> HubSettings {
        const MINUTE: Duration = Duration::from_secs(60);
        HubSettings {
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

/// The system functions that the hub uses; tests replace them.
pub struct Outside {
    /// Resolves a name to its addresses.
    pub lookup: Lookup,
    /// Returns the time of day in milliseconds since 1970-01-01T00:00:00Z, which may jump.
    pub unix_ms: Box<dyn Fn() -> i64 + Send>,
}

impl Outside {
    /// Returns the functions of the real system.
    #[must_use]
    pub fn system() -> Outside {
        Outside {
            lookup: Arc::new(look_up),
            unix_ms: Box::new(clock::unix_ms),
        }
    }
}

/// Limits of concurrent exchanges; each exchange has a thread until it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lanes {
    /// Young deliveries in each of the lanes fast and slow. A delivery stays young while its body is sent at a
    /// sufficient rate; one that hangs frees its place.
    pub fast: usize,
    /// Deliveries that hang, and those to subscribers whose last delivery failed or was slow, or that have had none
    /// yet. The latter get at most half; the other half is for deliveries of the fast lane that begin to hang.
    pub slow: usize,
    /// Young verifications and denials; one that hangs frees its place.
    pub verify: usize,
    /// Young deliveries to one callback host, and as many young verifications and denials.
    pub per_host: usize,
}

impl Default for Lanes {
    fn default() -> Lanes {
        Lanes {
            fast: 64,
            slow: 1024,
            verify: 16,
            per_host: 4,
        }
    }
}

impl Lanes {
    /// Returns the largest number of concurrent deliveries in both lanes.
    #[must_use]
    pub fn deliveries(&self) -> usize {
        self.fast + self.slow
    }

    /// Returns the largest number of concurrent verifications and denials, young or hanging.
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

/// Threads for each place of a verification. Our choice: a hundred callbacks that never respond delay one that does by
/// a few seconds.
const VERIFY_THREADS: usize = 8;
