//! The system clock jumps by a day. Leases and retry delays are durations, so a jump neither ends nor restarts them.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use reviewd::hub::AttemptLimits;

use super::rig::Rig;
use super::subscriber::{Reply, Subscriber};
use crate::support::wait_until;

const DAY_MS: i64 = 86_400_000;

/// Waits until the remaining lease is about what it was before the clock jumped.
fn wait_moved(rig: &Rig, callback: &str) {
    wait_until("the lease moved with the clock", || {
        let left_s = rig.lease_left_s(callback);
        left_s.is_some_and(|left_s| (500..=1_000).contains(&left_s))
    });
}

#[test]
fn a_clock_that_jumps_ahead_ends_no_lease_and_brings_no_retry_forward() {
    let minutes = Duration::from_secs(600);
    let rig = Rig::start_with(|settings| settings.policy.retry_delays = vec![minutes]);
    let good = Subscriber::good();
    let failing = Subscriber::delivering(|_| Reply::status(503));
    let [good_callback, failing_callback] = [&good, &failing].map(|it| it.callback("/cb"));
    rig.subscribe_as(&good_callback, &[("hub.lease_seconds", "1000")]);
    rig.subscribe_as(&failing_callback, &[("hub.lease_seconds", "1000")]);
    rig.change("2");
    rig.wait_failures(&failing_callback, 1);
    rig.jump(DAY_MS);
    wait_moved(&rig, &good_callback);
    wait_moved(&rig, &failing_callback);
    rig.change("3");
    wait_until("the next content", || {
        good.deliveries().last().is_some_and(|got| got.body == b"3")
    });
    failing.assert_received(1, 0);
    assert!(rig.tombstones().is_empty());
}

#[test]
fn a_clock_that_is_set_back_hides_nothing_that_is_due() {
    let rig = Rig::start_with(|settings| {
        settings.timeout = Duration::from_secs(60);
        settings.deliveries = AttemptLimits {
            threads: 1,
            moving: 1,
        };
    });
    let subscriber = Subscriber::good();
    for host in ["a", "b"] {
        rig.subscribe(&subscriber.callback_at(&format!("{host}.sub.test"), "/cb"));
    }
    rig.change("2");
    rig.wait_settled();
    subscriber.behave(|_: &_| Reply::Silence(Duration::from_secs(60)));
    rig.change("3");
    // One delivery hangs, and the other has no thread.
    subscriber.wait_delivery(3);
    rig.jump(-DAY_MS);
    wait_until("it is due since a time that is past", || {
        let since_ms = rig.hub().stats().due_since_ms.load(Relaxed) as i64;
        since_ms > 0 && since_ms <= rig.now().as_ms()
    });
}
