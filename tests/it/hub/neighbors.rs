//! Callbacks and verifications that hang do not delay the others.

use std::net::IpAddr;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use reviewd::hub::HubSettings;
use reviewd::hub::store::{Quotas, StoredSubscription};

use super::rig::{FEED, Rig};
use super::subscriber::{Received, Reply, Subscriber};
use crate::support::{wait_until, wait_within};

/// A timeout so long that a test that waits for it fails, even on a busy machine.
const LONG: Duration = Duration::from_secs(120);

/// Asserts that something took at most `max_s` seconds longer than `alone`. Only if `REVIEWD_HUB_GOALS` is set, as by
/// `.ci/long.d/53-hub-neighbors.sh`: beside other tests it depends on their load.
fn assert_goal(what: &str, elapsed: Duration, alone: Duration, max_s: u64) {
    if std::env::var_os("REVIEWD_HUB_GOALS").is_some() {
        let later = elapsed.saturating_sub(alone);
        assert!(
            later <= Duration::from_secs(max_s),
            "{what}: {later:?} later"
        );
    }
}

/// A hub with the default limits of concurrent exchanges.
fn start(timeout: Duration) -> Rig {
    Rig::start_with(|settings| {
        let defaults = HubSettings::new(settings.location.clone(), settings.guard.clone());
        settings.deliveries = defaults.deliveries;
        settings.verifications = defaults.verifications;
        settings.timeout = timeout;
    })
}

fn assert_soon(began: Instant) {
    let elapsed = began.elapsed();
    assert!(elapsed < LONG / 4, "{elapsed:?}");
}

fn hangs(request: &Received) -> bool {
    request.target.starts_with("/hang")
}

#[test]
fn callbacks_that_hang_do_not_hold_up_others_of_their_host() {
    let rig = start(LONG);
    let subscriber = Subscriber::delivering(|request| {
        if hangs(request) {
            Reply::Silence(LONG)
        } else {
            Reply::status(204)
        }
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
    let failed = |listed: &StoredSubscription| listed.state.failures > 0;
    assert!(!rig.list().iter().any(failed));
}

/// Requests 1,000 subscriptions of callbacks that hang from four addresses, of which 800 are stored, and waits until
/// many are being verified.
fn request_a_thousand_that_hang(rig: &Rig, hanging: &Subscriber) {
    for number in 0..1_000 {
        let client = IpAddr::from([198, 51, 100, (number % 4) as u8]);
        let callback = hanging.callback_at(&format!("h{number}.sub.test"), "/cb");
        // An address may have as many requests waiting as are free.
        let _refused = rig.post_from(client, "subscribe", FEED, &callback, &[]);
    }
    wait_until("many hang", || {
        rig.hub().stats().in_flight.load(Relaxed) >= 60
    });
}

#[test]
fn beside_a_thousand_verifications_that_hang_a_renewal_a_newcomer_and_an_unsubscription_are_verified()
 {
    let rig = start(LONG);
    let good = Subscriber::good();
    let hanging = Subscriber::start(|_| Reply::Silence(LONG));
    let callback = good.callback("/cb");
    rig.subscribe(&callback);
    request_a_thousand_that_hang(&rig, &hanging);
    let began = Instant::now();
    rig.subscribe_with(&callback, &[("hub.lease_seconds", "5000")])
        .unwrap();
    good.wait_verification(2);
    assert_soon(began);
    let renewal = began.elapsed();
    let other = IpAddr::from([192, 0, 2, 1]);
    let began = Instant::now();
    let newcomer = good.callback("/newcomer");
    rig.post_from(other, "subscribe", FEED, &newcomer, &[])
        .unwrap();
    rig.wait_active(&newcomer);
    assert_soon(began);
    let first = began.elapsed();
    println!("beside 800 verifications that hang: a renewal {renewal:?}, a newcomer {first:?}");
    assert_goal("a renewal", renewal, Duration::ZERO, 1);
    assert_goal("a newcomer", first, Duration::ZERO, 3);
    let began = Instant::now();
    rig.ask("unsubscribe", FEED, &callback).unwrap();
    rig.wait_gone(&callback);
    assert_soon(began);
}

/// Honest subscribers that take a second and more to answer, beside newcomers that hang and whose retries are due. The
/// figures are in the output; `REVIEWD_HUB_NEWCOMERS` sets the number of newcomers (40).
#[test]
fn new_content_reaches_slow_subscribers_beside_newcomers_that_hang() {
    let newcomers: usize = std::env::var("REVIEWD_HUB_NEWCOMERS")
        .ok()
        .map_or(40, |text| text.parse().unwrap());
    let rig = Rig::start_with(|settings| {
        let defaults = HubSettings::new(settings.location.clone(), settings.guard.clone());
        settings.deliveries = defaults.deliveries;
        settings.verifications = defaults.verifications;
        settings.quotas = Quotas::new(1_000_000, 1_000_000);
        settings.timeout = Duration::from_secs(10);
        settings.policy.failures_max = 100;
        settings.policy.retry_delays = vec![Duration::from_secs(1)];
    });
    let honest = Subscriber::delivering(|_| {
        // A subscriber that takes its time; those that hang must not add to it.
        std::thread::sleep(Duration::from_millis(1_200));
        Reply::status(204)
    });
    for number in 0..20 {
        let callback = honest.callback_at(&format!("good{number}.sub.test"), "/cb");
        rig.subscribe_with(&callback, &[]).unwrap();
    }
    wait_until("active", || rig.list().len() == 20);
    let mut contents = 1;
    let mut deliver = || {
        contents += 1;
        let before = honest.deliveries().len();
        let began = Instant::now();
        rig.change(&contents.to_string());
        wait_until("the honest ones", || {
            honest.deliveries().len() >= before + 20
        });
        began.elapsed()
    };
    deliver();
    rig.wait_settled();
    let alone = deliver();
    rig.wait_settled();
    let hanging = Subscriber::delivering(|_| Reply::Silence(LONG));
    for number in 0..newcomers {
        let callback = hanging.callback_at(&format!("h{number}.sub.test"), "/cb");
        rig.subscribe_with(&callback, &[]).unwrap();
    }
    wait_within(LONG * 5, "active", || rig.list().len() == 20 + newcomers);
    let first = deliver();
    wait_until("retries", || {
        rig.list()
            .iter()
            .any(|one| one.state.attempt > 1 && one.state.failures > 0)
    });
    let second = deliver();
    println!(
        "{newcomers} newcomers that hang: alone {alone:?}, first change {first:?}, second {second:?}"
    );
    assert!(second < LONG / 4, "{second:?}");
    assert_goal("the first change", first, alone, 3);
    assert_goal("the second change", second, alone, 3);
}

#[test]
fn a_verification_that_fails_for_the_network_is_tried_again_twice() {
    let rig = Rig::start();
    let subscriber = Subscriber::good();
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
