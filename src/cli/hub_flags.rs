//! The flags of the hub, the settings that they become, and the address of its database.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;

use super::exit::{Failure, Status};
use super::values::{RATE_MAX, Secret, number, time};
use crate::hub::Settings;
use crate::hub::StoreLocation;
use crate::hub::guard::{Guard, Ports};
#[cfg(feature = "postgres")]
use crate::hub::store::Database;
use crate::hub::store::Quotas;
use crate::hub::subscription::Policy;

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "WebSub hub")]
pub(super) struct HubFlags {
    /// Disable the hub: its address answers 503, and it stores nothing
    #[arg(long)]
    no_hub: bool,
    /// PostgreSQL database that replicas share, postgres://USER:PASSWORD@HOST/NAME; set the variable instead of the flag
    /// if it has a password, as other users can see flags [default: a file in --state]
    #[arg(long, value_name = "URL", hide_env_values = true)]
    store: Option<Secret>,
    /// Waits after the first failed delivery, the second, and so on, each plus up to 25 %; after one failure more in a
    /// row the subscription is removed
    #[arg(long, value_name = "TIMES", default_value = "1m,15m", value_delimiter = ',',
        value_parser = time(Duration::from_millis(1), RETRY_DELAY_MAX))]
    retry_delays: Vec<Duration>,
    /// Time limit of a request to a callback, from the lookup of its name to the response; content gets one second more
    /// for every 32 KiB
    #[arg(long, value_name = "TIME", default_value = "10s",
        value_parser = time(TIMEOUT_MIN, TIMEOUT_MAX))]
    delivery_timeout: Duration,
    /// File of certificate authorities (PEM) to trust for callbacks, besides the public ones
    #[arg(long, value_name = "FILE")]
    callback_ca: Option<PathBuf>,
    /// Allow callbacks in private networks and on this machine; link-local and cloud metadata addresses stay forbidden
    #[arg(long)]
    allow_private_callbacks: bool,
    /// Ports that callbacks may use
    #[arg(long, value_name = "RANGES", default_value = "443,8443,1024-", value_parser = Ports::parse)]
    callback_ports: Ports,
    /// Requests to the hub a minute of one client address, IPv6: of a /64 (429); 0 means no limit
    #[arg(long, value_name = "COUNT", default_value = "60", value_parser = number(0, RATE_MAX))]
    hub_rate: u32,
    /// Most subscriptions (503); a hundredth as many requests may wait for verification
    #[arg(long, value_name = "COUNT", default_value = "100000", value_parser = number(1, SUBSCRIPTIONS_MAX))]
    subscriptions_max: u32,
    /// Most subscriptions of one callback host (429); a hundredth as many requests may wait for verification
    #[arg(long, value_name = "COUNT", default_value = "1000", value_parser = number(1, SUBSCRIPTIONS_MAX))]
    subscriptions_per_host: u32,
}

impl HubFlags {
    /// Returns the requests a minute that one client may send; 0, for any number, where there is no hub.
    pub(super) fn rate(&self) -> u32 {
        if self.no_hub { 0 } else { self.hub_rate }
    }

    /// Returns the hub's settings, `None` for `--no-hub`.
    ///
    /// # Errors
    /// 64 for more waits than [`RETRY_DELAYS_MAX`], 78 for a database address that cannot be used.
    pub(super) fn settings(&self, state: &Path) -> Result<Option<Settings>, Failure> {
        if self.no_hub {
            return Ok(None);
        }
        let failures_max = u32::try_from(self.retry_delays.len() + 1).unwrap_or(u32::MAX);
        if failures_max > RETRY_DELAYS_MAX + 1 {
            let count = self.retry_delays.len();
            let message = format!(
                "--retry-delays: takes at most {RETRY_DELAYS_MAX} times, and {count} are given"
            );
            return Err(Failure::new(Status::Usage, message));
        }
        let guard = Guard {
            allow_private: self.allow_private_callbacks,
            ports: self.callback_ports.clone(),
        };
        let defaults = Settings::new(store_location(self.store.as_ref(), state)?, guard);
        Ok(Some(Settings {
            policy: Policy {
                failures_max,
                retry_delays: self.retry_delays.clone(),
                ..defaults.policy
            },
            quotas: Quotas {
                requests: (self.subscriptions_max / PENDING_SHARE).max(1),
                requests_per_host: (self.subscriptions_per_host / PENDING_SHARE).max(1),
                subscriptions: self.subscriptions_max,
                subscriptions_per_host: self.subscriptions_per_host,
            },
            timeout: self.delivery_timeout,
            ca_file: self.callback_ca.clone(),
            ..defaults
        }))
    }
}

/// Returns where the hub keeps its state: in the database, else in the state directory.
///
/// # Errors
/// 78 for a database address that cannot be used.
pub(super) fn store_location(
    store: Option<&Secret>,
    state: &Path,
) -> Result<StoreLocation, Failure> {
    // An empty variable counts as unset.
    let Some(Secret(text)) = store.filter(|store| !store.0.is_empty()) else {
        return Ok(StoreLocation::Directory(state.to_owned()));
    };
    database(text).map_err(|what| Failure::new(Status::Config, format!("--store: {what}")))
}

#[cfg(feature = "postgres")]
fn database(text: &str) -> Result<StoreLocation, String> {
    Ok(StoreLocation::Database(Box::new(Database::parse(text)?)))
}

#[cfg(not(feature = "postgres"))]
fn database(_text: &str) -> Result<StoreLocation, String> {
    Err("this reviewd was built without the feature `postgres`".to_owned())
}

/// Subscriptions for each request that may wait for verification. Our choice: few wait at a time, each takes a row, and
/// the two limits grow together.
const PENDING_SHARE: u32 = 100;

/// Most waits between failed deliveries.
const RETRY_DELAYS_MAX: u32 = 1_000;

/// Longest wait after a failed delivery, 30 days.
const RETRY_DELAY_MAX: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Most subscriptions that can be allowed; each takes a row.
const SUBSCRIPTIONS_MAX: i64 = 10_000_000;

/// Bounds of the time limit of a request to a callback.
const TIMEOUT_MIN: Duration = Duration::from_millis(100);
const TIMEOUT_MAX: Duration = Duration::from_secs(5 * 60);

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        hub: HubFlags,
    }

    fn settings(flags: &[&str]) -> Option<Settings> {
        let line = Line::parse_from([&["reviewd"], flags].concat());
        line.hub.settings(Path::new("state")).expect("settings")
    }

    #[test]
    fn the_defaults_are_those_that_the_documentation_names() {
        let settings = settings(&[]).expect("a hub");
        let leases = settings.leases;
        assert_eq!(
            (leases.min_s, leases.default_s, leases.max_s),
            (300, 864_000, 2_592_000)
        );
        let policy = settings.policy;
        assert_eq!(policy.retry_delays, [60, 900].map(Duration::from_secs));
        assert_eq!(policy.failures_max, 3);
        let quotas = settings.quotas;
        assert_eq!((quotas.requests, quotas.requests_per_host), (1_000, 10));
        assert_eq!(
            (quotas.subscriptions, quotas.subscriptions_per_host),
            (100_000, 1_000)
        );
        assert!(!settings.guard.allow_private);
    }

    #[test]
    fn one_failure_more_than_there_are_waits_removes_a_subscription() {
        let policy = settings(&["--retry-delays", "1s,200ms,5s"]).unwrap().policy;
        assert_eq!(policy.retry_delays.len(), 3);
        assert_eq!(policy.failures_max, 4);
        let why = "--retry-delays: takes at most 1000 times, and 1001 are given";
        for (count, refused) in [(1_000, None), (1_001, Some(why))] {
            let delays = vec!["1s"; count].join(",");
            let line = Line::parse_from(["reviewd", "--retry-delays", &delays]);
            let failure = line.hub.settings(Path::new("state")).err();
            let message = failure.map(|failure| failure.message);
            assert_eq!(message.as_deref(), refused);
        }
    }

    #[test]
    fn the_limits_of_waiting_requests_follow_those_of_subscriptions() {
        let flags = ["--subscriptions-max=500000", "--subscriptions-per-host=50"];
        let quotas = settings(&flags).unwrap().quotas;
        assert_eq!((quotas.requests, quotas.requests_per_host), (5_000, 1));
        assert!(settings(&["--no-hub"]).is_none());
    }
}
