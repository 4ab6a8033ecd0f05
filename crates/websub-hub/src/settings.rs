//! The hub's settings, which are checked when flags are parsed, and the system functions that it uses.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::guard::Guard;
use super::resolve::{Lookup, look_up};
use super::scheduler::AttemptLimits;
use crate::StoreLocation;
use crate::clock;
use crate::store::Quotas;
use crate::subscription::{FailurePolicy, Leases};

/// The hub's configuration.
#[derive(Clone, Debug)]
pub struct HubSettings {
    /// Name and version of the server in the User-Agent of requests, such as `news/1.2`; its address follows.
    pub user_agent: String,
    /// Where the state is stored.
    pub location: StoreLocation,
    /// Limits of leases.
    pub leases: Leases,
    /// Retries of failed deliveries.
    pub policy: FailurePolicy,
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
    /// Limits of concurrent deliveries.
    pub deliveries: AttemptLimits,
    /// Limits of concurrent verifications and denials.
    pub verifications: AttemptLimits,
}

impl HubSettings {
    /// Returns the largest number of open sockets of the hub: one for each attempt.
    #[must_use]
    pub fn sockets(&self) -> usize {
        self.deliveries.threads + self.verifications.threads
    }

    /// Returns the settings of a hub that stores its state at `location` and calls the callbacks that `guard` permits.
    ///
    /// Our choice of each number: leases from 5 minutes to 30 days, 10 days if none is requested (as WebSub
    /// recommends); three failures in a row remove a subscription, with delays of 1 and 15 minutes between them;
    /// `Retry-After` is honored up to an hour; 100,000 subscriptions, 1,000 per callback host, and a hundredth of
    /// these numbers of requests that wait for verification; 10 s for a request to a callback; 1,024 deliveries and 512
    /// verifications at a time, so that a quarter of each is enough for the hosts that hang at the same moment.
    #[must_use]
    pub fn new(location: StoreLocation, guard: Guard) -> HubSettings {
        const MINUTE: Duration = Duration::from_secs(60);
        HubSettings {
            user_agent: concat!("websub-hub/", env!("CARGO_PKG_VERSION")).to_owned(),
            location,
            leases: Leases {
                min_s: 300,
                default_s: 864_000,
                max_s: 2_592_000,
            },
            policy: FailurePolicy {
                failures_max: 3,
                retry_delays: vec![MINUTE, 15 * MINUTE],
                retry_after_max: 60 * MINUTE,
            },
            quotas: Quotas::new(100_000, 1_000),
            timeout: Duration::from_secs(10),
            guard,
            ca_file: None,
            deliveries: AttemptLimits {
                threads: 1_024,
                moving: 64,
            },
            verifications: AttemptLimits {
                threads: 512,
                moving: 64,
            },
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
