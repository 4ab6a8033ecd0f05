//! The flags of the hub, and the settings that they become.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;

use super::exit::{Failure, Status};
use super::limit_flags::RATE_MAX;
use super::store_url::{StoreUrl, place};
use super::values::{parse_positive_time, parse_time, render_time, time, whole};
use crate::delivery::guard::{Guard, Ports};
use crate::delivery::{Lanes, Settings};
use crate::websub::policy::{Leases, Policy};
use crate::websub::store::Caps;

/// The hub's flags.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "WebSub hub")]
pub(super) struct HubFlags {
    /// Leave the hub out: its address answers 503, and nothing of it is stored
    #[arg(long, env = "REVIEWD_NO_HUB")]
    no_hub: bool,
    /// PostgreSQL database that replicas share, postgres://USER:PASSWORD@HOST/NAME; a password belongs into the variable,
    /// as flags are seen by all [default: a file in --state]
    #[arg(long, env = "REVIEWD_STORE", value_name = "URL", hide_env_values = true, value_parser = StoreUrl::read)]
    store: Option<StoreUrl>,
    /// Shortest lease granted, in whole seconds
    #[arg(long, env = "REVIEWD_LEASE_MIN", value_name = "TIME", default_value = "5m", value_parser = parse_lease)]
    lease_min: u32,
    /// Lease when none is asked for, shortened by up to 5 % so that leases do not end together
    #[arg(long, env = "REVIEWD_LEASE_DEFAULT", value_name = "TIME", default_value = "10d", value_parser = parse_lease)]
    lease_default: u32,
    /// Longest lease granted
    #[arg(long, env = "REVIEWD_LEASE_MAX", value_name = "TIME", default_value = "30d", value_parser = parse_lease)]
    lease_max: u32,
    /// Waits after the first failed delivery, the second, and so on; the last repeats, each lengthened by up to 25 %
    #[arg(
        long,
        env = "REVIEWD_RETRY_DELAYS",
        value_name = "TIMES",
        default_value = "1m,15m",
        value_delimiter = ',',
        value_parser = time(Duration::from_millis(1), MONTH)
    )]
    retry_delays: Vec<Duration>,
    /// Longest wait that a subscriber's Retry-After can ask for
    #[arg(long, env = "REVIEWD_RETRY_AFTER_MAX", value_name = "TIME", default_value = "1h", value_parser = time(Duration::ZERO, MONTH))]
    retry_after_max: Duration,
    /// Consecutive failed deliveries that remove a subscription
    #[arg(long, env = "REVIEWD_FAILURES_MAX", value_name = "COUNT", default_value = "3", value_parser = whole::<u32>(1, 1_000))]
    failures_max: u32,
    /// One deadline over a delivery, name to answer; a second more for every 256 KiB of content
    #[arg(
        long,
        env = "REVIEWD_DELIVERY_TIMEOUT",
        value_name = "TIME",
        default_value = "10s",
        value_parser = time(EXCHANGE_MIN, EXCHANGE_MAX)
    )]
    delivery_timeout: Duration,
    /// One deadline over a verification
    #[arg(
        long,
        env = "REVIEWD_VERIFY_TIMEOUT",
        value_name = "TIME",
        default_value = "10s",
        value_parser = time(EXCHANGE_MIN, EXCHANGE_MAX)
    )]
    verify_timeout: Duration,
    /// Trust the certificate authorities in this PEM file, too, for callbacks
    #[arg(long, env = "REVIEWD_CALLBACK_CA", value_name = "FILE")]
    callback_ca: Option<PathBuf>,
    /// Permit callbacks in private networks and on this machine; link-local and metadata addresses stay refused
    #[arg(long, env = "REVIEWD_ALLOW_PRIVATE_CALLBACKS")]
    allow_private_callbacks: bool,
    /// Ports that callbacks may have
    #[arg(
        long,
        env = "REVIEWD_CALLBACK_PORTS",
        value_name = "RANGES",
        default_value = "443,8443,1024-",
        value_parser = Ports::parse
    )]
    callback_ports: Ports,
    /// Requests to the hub in a minute from one address, an IPv6 client being its /64 (429); 0 for any number
    #[arg(
        long,
        env = "REVIEWD_HUB_RATE",
        value_name = "COUNT",
        default_value = "60",
        value_parser = whole::<u32>(0, RATE_MAX)
    )]
    hub_rate: u32,
    /// Requests that wait for verification (503)
    #[arg(
        long,
        env = "REVIEWD_PENDING_MAX",
        value_name = "COUNT",
        default_value = "1000",
        value_parser = whole::<u32>(1, PENDING_MAX)
    )]
    pending_max: u32,
    /// Requests that wait for verification, for one callback host (429)
    #[arg(
        long,
        env = "REVIEWD_PENDING_PER_HOST",
        value_name = "COUNT",
        default_value = "10",
        value_parser = whole::<u32>(1, PENDING_MAX)
    )]
    pending_per_host: u32,
    /// Subscriptions (503)
    #[arg(
        long,
        env = "REVIEWD_SUBSCRIPTIONS_MAX",
        value_name = "COUNT",
        default_value = "100000",
        value_parser = whole::<u32>(1, SUBSCRIPTIONS_MAX)
    )]
    subscriptions_max: u32,
    /// Subscriptions of one callback host (429)
    #[arg(
        long,
        env = "REVIEWD_SUBSCRIPTIONS_PER_HOST",
        value_name = "COUNT",
        default_value = "1000",
        value_parser = whole::<u32>(1, SUBSCRIPTIONS_MAX)
    )]
    subscriptions_per_host: u32,
    /// Deliveries at a time; one older than half a second, or four times the usual, no longer counts here
    #[arg(long, env = "REVIEWD_DELIVERIES", value_name = "COUNT", default_value = "64", value_parser = whole::<usize>(1, LANE_MAX))]
    deliveries: usize,
    /// Deliveries at a time that take longer; at most half of them to subscribers whose last one did or failed
    #[arg(long, env = "REVIEWD_SLOW_DELIVERIES", value_name = "COUNT", default_value = "512", value_parser = whole::<usize>(1, LANE_MAX))]
    slow_deliveries: usize,
    /// Verifications at a time; one that takes longer than half a second no longer counts here, up to eight times as many
    #[arg(long, env = "REVIEWD_VERIFICATIONS", value_name = "COUNT", default_value = "16", value_parser = whole::<usize>(1, LANE_MAX))]
    verifications: usize,
    /// Deliveries at a time to one callback host, and as many verifications; those that take long hold at most half of them
    #[arg(long, env = "REVIEWD_EXCHANGES_PER_HOST", value_name = "COUNT", default_value = "4", value_parser = whole::<usize>(1, LANE_MAX))]
    exchanges_per_host: usize,
    /// How long the hub remembers why a subscription ended
    #[arg(long, env = "REVIEWD_TOMBSTONES", value_name = "TIME", default_value = "30d", value_parser = parse_time)]
    tombstones: Duration,
}

impl HubFlags {
    /// Returns how often one client may ask in a minute; 0 for any number, as for a hub that is not there.
    pub(super) fn rate(&self) -> u32 {
        if self.no_hub { 0 } else { self.hub_rate }
    }

    /// Returns the hub's settings, `None` where there is to be no hub.
    ///
    /// # Errors
    /// 64 for leases that contradict each other: one that was moved in silence would not be what the operator set; 78 for
    /// an address of a database that is none.
    pub(super) fn settings(&self, state: &Path) -> Result<Option<Settings>, Failure> {
        if self.no_hub {
            return Ok(None);
        }
        Ok(Some(Settings {
            place: place(self.store.as_ref(), state)?,
            leases: self.leases()?,
            policy: Policy {
                failures_max: self.failures_max,
                retry_delays: self.retry_delays.clone(),
                retry_after_max: self.retry_after_max,
            },
            caps: Caps {
                requests: self.pending_max,
                requests_per_host: self.pending_per_host,
                subscriptions: self.subscriptions_max,
                subscriptions_per_host: self.subscriptions_per_host,
            },
            delivery_timeout: self.delivery_timeout,
            verify_timeout: self.verify_timeout,
            guard: Guard {
                allow_private: self.allow_private_callbacks,
                ports: self.callback_ports.clone(),
            },
            ca_file: self.callback_ca.clone(),
            lanes: Lanes {
                fast: self.deliveries,
                slow: self.slow_deliveries,
                verify: self.verifications,
                per_host: self.exchanges_per_host,
            },
            tombstone_age: self.tombstones,
        }))
    }

    fn leases(&self) -> Result<Leases, Failure> {
        let named = [
            ("--lease-min", self.lease_min),
            ("--lease-default", self.lease_default),
            ("--lease-max", self.lease_max),
        ];
        for pair in [[0, 2], [0, 1], [1, 2]] {
            let [(less, less_s), (more, more_s)] = pair.map(|index| named[index]);
            if less_s > more_s {
                let [less_time, more_time] =
                    [less_s, more_s].map(|s| render_time(Duration::from_secs(s.into())));
                let message = format!(
                    "{less} {less_time} is longer than {more} {more_time}: set one of them so that it is not"
                );
                return Err(Failure::new(Status::Usage, message));
            }
        }
        Ok(Leases {
            min_s: self.lease_min,
            default_s: self.lease_default,
            max_s: self.lease_max,
        })
    }
}

/// Parses a lease: a time in whole seconds, one or more.
fn parse_lease(text: &str) -> Result<u32, String> {
    let time = parse_positive_time(text)?;
    if time.subsec_millis() > 0 {
        return Err("must be whole seconds".to_owned());
    }
    u32::try_from(time.as_secs()).map_err(|_| "is too long".to_owned())
}

/// Most exchanges of a kind at a time; each takes a thread.
const LANE_MAX: u64 = 1_024;

/// Most requests that can be let wait for verification; each takes a row.
const PENDING_MAX: u64 = 1_000_000;

/// Most subscriptions that can be let in; each takes a row, and some memory while it is owed something.
const SUBSCRIPTIONS_MAX: u64 = 10_000_000;

/// Shortest deadline over an exchange: below it hardly any subscriber could answer.
const EXCHANGE_MIN: Duration = Duration::from_millis(100);

/// Longest deadline over an exchange.
const EXCHANGE_MAX: Duration = Duration::from_secs(5 * 60);

/// Longest wait between two attempts.
const MONTH: Duration = Duration::from_secs(30 * 24 * 60 * 60);

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        hub: HubFlags,
    }

    fn settings(flags: &[&str]) -> Result<Option<Settings>, String> {
        let line = Line::try_parse_from([&["reviewd"], flags].concat());
        let hub = line.map_err(|error| error.to_string())?.hub;
        hub.settings(Path::new("state"))
            .map_err(|failure| failure.message)
    }

    #[test]
    fn the_defaults_are_those_that_the_documentation_names() {
        let settings = settings(&[]).expect("flags").expect("a hub");
        let leases = settings.leases;
        assert_eq!(
            (leases.min_s, leases.default_s, leases.max_s),
            (300, 864_000, 2_592_000)
        );
        assert_eq!(
            settings.policy.retry_delays,
            [Duration::from_secs(60), Duration::from_secs(900)]
        );
        assert_eq!(settings.policy.failures_max, 3);
        let caps = settings.caps;
        assert_eq!((caps.requests, caps.requests_per_host), (1_000, 10));
        assert_eq!(
            (caps.subscriptions, caps.subscriptions_per_host),
            (100_000, 1_000)
        );
        assert!(!settings.guard.allow_private);
    }

    #[test]
    fn a_whole_life_fits_into_seconds() {
        let leases = [
            "--lease-min",
            "1s",
            "--lease-default",
            "2s",
            "--lease-max",
            "3s",
        ];
        let flags = [&leases[..], &["--retry-delays", "1s,200ms"]].concat();
        let settings = settings(&flags).expect("flags").expect("a hub");
        let leases = settings.leases;
        assert_eq!((leases.min_s, leases.default_s, leases.max_s), (1, 2, 3));
        assert_eq!(
            settings.policy.retry_delays,
            [Duration::from_secs(1), Duration::from_millis(200)]
        );
    }

    #[test]
    fn wrong_values_are_named() {
        for (flags, what) in [
            (["--lease-min", "0"], "must be longer than 0"),
            (["--lease-min", "1500ms"], "must be whole seconds"),
            (["--retry-delays", ""], "--retry-delays"),
            (
                ["--failures-max", "0"],
                "must be a whole number from 1 to 1000",
            ),
            (
                ["--deliveries", "0"],
                "must be a whole number from 1 to 1024",
            ),
            (
                ["--verifications", "1025"],
                "must be a whole number from 1 to 1024",
            ),
            (["--callback-ports", "0"], "is not a port"),
        ] {
            let error = settings(&flags).expect_err(what);
            assert!(error.contains(what), "{error}");
        }
    }

    #[test]
    fn leases_that_contradict_each_other_are_refused() {
        for (flags, what) in [
            (
                &["--lease-min", "31d"][..],
                "--lease-min 31d is longer than --lease-max 30d",
            ),
            (
                &["--lease-min", "11d"],
                "--lease-min 11d is longer than --lease-default 10d",
            ),
            (
                &["--lease-max", "36h"],
                "--lease-default 10d is longer than --lease-max 36h",
            ),
        ] {
            let error = settings(flags).expect_err(what);
            assert!(error.starts_with(what), "{error}");
            let without = settings(&[flags, &["--no-hub"]].concat());
            assert!(without.expect("no hub, no leases").is_none());
        }
        let same = [
            "--lease-min",
            "1d",
            "--lease-default",
            "1d",
            "--lease-max",
            "1d",
        ];
        assert!(settings(&same).is_ok());
    }

    #[test]
    fn without_a_hub_there_are_no_settings() {
        assert!(settings(&["--no-hub"]).expect("flags").is_none());
    }
}
