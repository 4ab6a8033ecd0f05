//! Callbacks and verifications that hang do not delay the others.

use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use reviewd::hub::Lanes;
use reviewd::hub::store::Listed;

use super::rig::Rig;
use super::subscriber::{Received, Reply, Subscriber};
use crate::support::wait_until;

/// A timeout so long that a test that waits for it fails, even on a busy machine.
const LONG: Duration = Duration::from_secs(120);

/// A hub with the default limits of concurrent exchanges.
fn start(timeout: Duration) -> Rig {
    Rig::start_with(|settings| {
        settings.lanes = Lanes::default();
        settings.timeout = timeout;
    })
}

fn assert_soon(began: Instant) {
    let elapsed = began.elapsed();
    assert!(elapsed < Duration::from_secs(5), "{elapsed:?}");
}

fn hangs(request: &Received) -> bool {
    request.target.starts_with("/hang")
}

#[test]
fn callbacks_that_hang_do_not_hold_up_others_of_their_host() {
    let rig = start(LONG);
    let subscriber = Subscriber::delivering(|request| match hangs(request) {
        true => Reply::Silence(LONG),
        false => Reply::status(204),
    });
    for number in 0..40 {
        for path in [format!("/hang{number}"), format!("/good{number}")] {
            let callback = subscriber.callback(&path);
            rig.subscribe_with(&callback, &[]).unwrap();
        }
    }
    wait_until("active", || rig.list().len() == 80);
    let began = Instant::now();
    rig.change("2");
    wait_until("the good ones", || {
        let deliveries = subscriber.deliveries();
        deliveries.iter().filter(|request| !hangs(request)).count() == 40
    });
    assert_soon(began);
}

/// All share a link of 50 Mbit/s, so the last transfer ends after half a minute: longer than every deadline of an
/// exchange, but with steady progress.
#[test]
fn subscribers_behind_a_slow_link_are_all_served_and_none_fails() {
    const SUBSCRIBERS: usize = 64;
    let rig = start(Duration::from_secs(10));
    let subscriber = Subscriber::good();
    for number in 0..SUBSCRIBERS {
        let callback = subscriber.callback_at(&format!("n{number}.sub.test"), "/cb");
        rig.subscribe_with(&callback, &[]).unwrap();
    }
    wait_until("active", || rig.list().len() == SUBSCRIBERS);
    subscriber.narrow(50_000_000 / 8);
    let began = Instant::now();
    rig.change(&"x".repeat(3_400_000));
    let is_over = || subscriber.deliveries().len() == SUBSCRIBERS || !rig.tombstones().is_empty();
    let most = Duration::from_secs(25);
    wait_until("most of it", || began.elapsed() >= most || is_over());
    wait_until("all of them", is_over);
    rig.wait_settled();
    let elapsed = began.elapsed();
    assert!(elapsed > most, "the line is narrow: {elapsed:?}");
    assert_eq!(subscriber.deliveries().len(), SUBSCRIBERS, "each once");
    let failed = |listed: &Listed| listed.state.failures > 0;
    assert!(!rig.list().iter().any(failed));
}

#[test]
fn verifications_that_hang_do_not_hold_up_another() {
    let rig = start(LONG);
    let hanging = Subscriber::start(|_| Reply::Silence(LONG));
    for number in 0..120 {
        let callback = hanging.callback_at(&format!("h{number}.sub.test"), "/cb");
        rig.subscribe_with(&callback, &[]).unwrap();
    }
    let good = Subscriber::good();
    let began = Instant::now();
    rig.subscribe(&good.callback("/cb"));
    assert_soon(began);
}

#[test]
fn a_verification_that_fails_for_the_network_is_tried_again_twice() {
    let (rig, subscriber) = (Rig::start(), Subscriber::good());
    let here = &["127.0.0.1"][..];
    rig.names.set("back.sub.test", &[&[], &[], here]);
    rig.subscribe(&subscriber.callback_at("back.sub.test", "/cb"));
    rig.names.set("late.sub.test", &[&[], &[], &[], here]);
    let late = subscriber.callback_at("late.sub.test", "/cb");
    rig.subscribe_with(&late, &[]).unwrap();
    rig.wait_verified();
    assert_eq!(rig.list().len(), 1);
    let rejected = &rig.hub().stats().rejected;
    wait_until("it is counted", || rejected.load(Relaxed) == 1);
}
