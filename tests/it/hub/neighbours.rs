//! Callbacks and requests that hang, and those beside them that do not.

use std::sync::Mutex;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use reviewd::hub::Lanes;
use reviewd::hub::store::Listed;

use super::rig::Rig;
use super::subscriber::{Received, Reply, Subscriber};
use crate::support::wait_until;

/// The time of an exchange that a test must not wait for, also on a busy machine.
const LONG: Duration = Duration::from_secs(120);

/// Those of the program's defaults.
const DEFAULT_LANES: Lanes = Lanes {
    fast: 64,
    slow: 512,
    verify: 16,
    per_host: 4,
};

fn hangs(request: &Received) -> bool {
    request.target.starts_with("/hang")
}

#[test]
fn callbacks_that_hang_do_not_hold_up_others_of_their_host() {
    let rig = Rig::start_with(|settings| {
        settings.lanes = DEFAULT_LANES;
        settings.delivery_timeout = LONG;
    });
    let subscriber = Subscriber::delivering(|request| match hangs(request) {
        true => Reply::Silence(LONG),
        false => Reply::Answer(204, Vec::new()),
    });
    for number in 0..40 {
        for path in [format!("/hang{number}"), format!("/good{number}")] {
            rig.subscribe_with(&subscriber.callback(&path), &[])
                .unwrap();
        }
    }
    wait_until("active", || rig.list().len() == 80);
    let began = Instant::now();
    rig.change("2");
    wait_until("the good ones", || {
        let deliveries = subscriber.deliveries();
        deliveries.iter().filter(|request| !hangs(request)).count() == 40
    });
    let elapsed = began.elapsed();
    println!("40 good callbacks among 40 that hang: {elapsed:?}");
    assert!(elapsed < Duration::from_secs(5), "{elapsed:?}");
}

/// All of them are on a line of 50 Mbit/s, so that the last has its body after half a minute: longer than anything that has
/// a deadline in an exchange, and yet some of it comes all the time.
#[test]
fn subscribers_behind_a_narrow_line_are_all_served_and_none_fails() {
    const SUBSCRIBERS: usize = 64;
    let rig = Rig::start_with(|settings| {
        settings.lanes = DEFAULT_LANES;
        settings.delivery_timeout = Duration::from_secs(10);
    });
    let subscriber = Subscriber::good();
    for number in 0..SUBSCRIBERS {
        let callback = format!("https://n{number}.sub.test:{}/cb", subscriber.port());
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
    let rig = Rig::start_with(|settings| {
        settings.lanes = DEFAULT_LANES;
        settings.verify_timeout = LONG;
    });
    let hanging = Subscriber::start(|_| Reply::Silence(LONG));
    for number in 0..120 {
        let callback = format!("https://h{number}.sub.test:{}/cb", hanging.port());
        rig.subscribe_with(&callback, &[]).unwrap();
    }
    let good = Subscriber::good();
    let began = Instant::now();
    rig.subscribe(&good.callback("/cb"));
    let elapsed = began.elapsed();
    println!("a verification behind 120 that hang: {elapsed:?}");
    assert!(elapsed < Duration::from_secs(5), "{elapsed:?}");
}

#[test]
fn a_change_between_the_acceptance_and_the_activation_is_delivered() {
    let rig = Rig::start();
    let (go_on, wait) = channel();
    let wait = Mutex::new(wait);
    let subscriber = Subscriber::start(move |request| {
        if request.mode() == "subscribe" {
            wait.lock().unwrap().recv().unwrap();
        }
        Reply::good(request)
    });
    let callback = subscriber.callback("/cb");
    rig.subscribe_with(&callback, &[]).unwrap();
    wait_until("it is asked", || !subscriber.received().is_empty());
    rig.change("2");
    wait_until("the change is stored", || rig.is_noted());
    go_on.send(()).unwrap();
    rig.wait_active(&callback);
    assert_eq!(subscriber.wait_delivery(1).body, b"2");
    rig.wait_settled();
    assert_eq!(subscriber.deliveries().len(), 1);
}

#[test]
fn a_verification_that_fails_for_the_network_is_tried_again_twice() {
    let rig = Rig::start();
    let subscriber = Subscriber::good();
    let port = subscriber.port();
    rig.names.set("back.sub.test", &[&[], &[], &["127.0.0.1"]]);
    rig.subscribe(&format!("https://back.sub.test:{port}/cb"));
    rig.names
        .set("late.sub.test", &[&[], &[], &[], &["127.0.0.1"]]);
    rig.subscribe_with(&format!("https://late.sub.test:{port}/cb"), &[])
        .unwrap();
    rig.wait_verified();
    assert_eq!(rig.list().len(), 1);
    let rejected = &rig.hub().stats().rejected;
    wait_until("it is counted", || rejected.value() == 1);
}
