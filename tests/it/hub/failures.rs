//! Subscribers that fail, and what becomes of them and of the others.

use std::time::{Duration, Instant};

use reviewd::hub::subscription::RemovalReason;

use super::authority;
use super::rig::{FEED, Rig};
use super::subscriber::{Reply, Subscriber};
use crate::support::wait_until;

/// The time of an attempt that a test must not wait for, also on a busy machine.
const LONG: Duration = Duration::from_secs(60);

#[test]
fn three_failed_deliveries_remove_and_the_callback_is_told_once() {
    let rig = Rig::start();
    let subscriber = Subscriber::delivering(|_| Reply::Answer(500, Vec::new()));
    let callback = subscriber.callback("/cb?x=1");
    rig.subscribe(&callback);
    rig.change("2");
    // H36, H37, H57: what is removed is told.
    let denial = subscriber.wait_denial(1);
    assert_eq!(denial.method, "GET");
    assert!(
        denial.target.starts_with(
            "/cb?x=1&hub.mode=denied&hub.topic=https%3A%2F%2Freviews.example%2Ffeed.xml&hub.reason="
        ),
        "{}",
        denial.target
    );
    assert_eq!(denial.query()["hub.topic"], FEED);
    assert_eq!(
        denial.query()["hub.reason"],
        "too many consecutive deliveries failed"
    );
    assert_eq!(subscriber.deliveries().len(), 3);
    assert!(rig.listed(&callback).is_none());
    let stone = &rig.tombstones()[0];
    assert_eq!(
        (
            stone.removal.as_str(),
            stone.last.as_ref().unwrap().answer.to_string().as_str()
        ),
        ("failures", "500")
    );
    rig.change("3");
    rig.wait_settled();
    assert_eq!(
        (subscriber.deliveries().len(), subscriber.denials().len()),
        (3, 1)
    );
}

#[test]
fn h55_two_failures_and_a_success_keep_the_subscription() {
    let rig = Rig::start();
    let attempts = std::sync::atomic::AtomicUsize::new(0);
    let subscriber = Subscriber::delivering(move |_| {
        match attempts.fetch_add(1, std::sync::atomic::Ordering::SeqCst) % 3 {
            2 => Reply::Answer(204, Vec::new()),
            _ => Reply::Answer(503, Vec::new()),
        }
    });
    let callback = subscriber.callback("/cb");
    rig.subscribe(&callback);
    for (change, attempts) in [("2", 3), ("3", 6)] {
        rig.change(change);
        assert_eq!(subscriber.wait_delivery(attempts).body, change.as_bytes());
        rig.wait_settled();
        assert_eq!(rig.listed(&callback).unwrap().state.failures, 0);
    }
    assert_eq!(subscriber.denials().len(), 0);
}

#[test]
fn h52_a_410_removes_at_once() {
    let rig = Rig::start();
    let subscriber = Subscriber::delivering(|_| Reply::Answer(410, Vec::new()));
    rig.subscribe(&subscriber.callback("/cb"));
    rig.change("2");
    rig.wait_gone(&subscriber.callback("/cb"));
    assert_eq!(subscriber.deliveries().len(), 1);
    assert_eq!(rig.tombstones()[0].removal.as_str(), "gone");
    subscriber.wait_denial(1);
}

#[test]
fn h53_redirects_are_failures_and_never_followed() {
    let rig = Rig::start();
    let other = Subscriber::good();
    let location = format!(
        "HTTP/1.1 307 Temporary Redirect\r\nLocation: {}\r\nContent-Length: 0\r\n\r\n",
        other.callback("/cb")
    );
    let subscriber = Subscriber::delivering(move |_| Reply::Raw(location.clone().into_bytes()));
    rig.subscribe(&subscriber.callback("/cb"));
    rig.change("2");
    rig.wait_gone(&subscriber.callback("/cb"));
    assert_eq!(subscriber.deliveries().len(), 3);
    assert_eq!(other.received().len(), 0);
}

#[test]
fn h54_the_answers_body_is_not_read() {
    let rig = Rig::start_with(|settings| settings.delivery_timeout = LONG);
    let head = b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000000\r\n\r\n".to_vec();
    let subscriber =
        Subscriber::delivering(move |_| Reply::Flood([head.clone(), vec![b'x'; 1 << 16]].concat()));
    rig.subscribe(&subscriber.callback("/cb"));
    let began = Instant::now();
    rig.change("2");
    subscriber.wait_delivery(1);
    rig.wait_settled();
    assert!(began.elapsed() < LONG / 2);
    assert_eq!(rig.list()[0].state.failures, 0);
}

#[test]
fn retry_after_is_honoured_within_its_bound() {
    let rig = Rig::start_with(|settings| settings.policy.retry_after_max = Duration::from_secs(2));
    let limited =
        b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 86400\r\nContent-Length: 0\r\n\r\n"
            .to_vec();
    let attempts = std::sync::atomic::AtomicUsize::new(0);
    let subscriber = Subscriber::delivering(move |_| {
        match attempts.fetch_add(1, std::sync::atomic::Ordering::SeqCst) {
            0 => Reply::Raw(limited.clone()),
            _ => Reply::Answer(204, Vec::new()),
        }
    });
    rig.subscribe(&subscriber.callback("/cb"));
    rig.change("2");
    subscriber.wait_delivery(2);
    let deliveries = subscriber.deliveries();
    let wait = deliveries[1].at - deliveries[0].at;
    assert!(
        wait >= Duration::from_millis(1_900) && wait < LONG / 2,
        "{wait:?}"
    );
}

#[test]
fn one_deadline_ends_silence_drips_and_handshakes_that_hang() {
    let drip = b"HTTP/1.1 204 No Content\r\nX-Slow: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\r\n\r\n".to_vec();
    let silent = Subscriber::delivering(|_| Reply::Silence(Duration::from_secs(60)));
    let dripping =
        Subscriber::delivering(move |_| Reply::Drip(drip.clone(), Duration::from_millis(50)));
    for subscriber in [silent, dripping] {
        let rig = Rig::start_with(|settings| settings.delivery_timeout = Duration::from_secs(1));
        let callback = subscriber.callback("/cb");
        rig.subscribe(&callback);
        rig.change("2");
        wait_until("a failure", || {
            rig.listed(&callback)
                .is_some_and(|listed| listed.state.failures == 1)
        });
        let listed = rig.listed(&callback).unwrap();
        assert_eq!(listed.state.last.unwrap().answer.to_string(), "timeout");
        assert!(
            (900..3_000).contains(&listed.state.elapsed_ms),
            "{}",
            listed.state.elapsed_ms
        );
    }
}

#[test]
fn a_handshake_that_hangs_or_a_certificate_that_is_wrong_fails_the_verification() {
    // Without an answer it is tried again twice; a wrong certificate stays wrong.
    for (tls, name, attempts) in [
        (None, "hanging.sub.test", 3),
        (
            Some(authority::server_config(&["other.sub.test"])),
            "wrong.sub.test",
            1,
        ),
        (
            Some(authority::untrusted_config("untrusted.sub.test")),
            "untrusted.sub.test",
            1,
        ),
    ] {
        let rig = Rig::start_with(|settings| settings.verify_timeout = Duration::from_secs(1));
        let subscriber = Subscriber::start_with(tls, Reply::good);
        let began = Instant::now();
        rig.subscribe_with(&format!("https://{name}:{}/cb", subscriber.port()), &[])
            .unwrap();
        rig.wait_verified();
        assert!(began.elapsed() < LONG / 2);
        assert_eq!(rig.list(), []);
        assert_eq!(
            (subscriber.received().len(), subscriber.connections()),
            (0, attempts)
        );
    }
}

#[test]
fn subscribers_that_hang_do_not_delay_those_that_answer() {
    let rig = Rig::start_with(|settings| settings.delivery_timeout = LONG);
    // More than the fast lane has places.
    let (hanging, good) = (Subscriber::good(), Subscriber::good());
    for (name, subscriber) in [("h", &hanging), ("g", &good)] {
        for number in 0..10 {
            let port = subscriber.port();
            rig.subscribe(&format!("https://{name}{number}.sub.test:{port}/cb"));
        }
    }
    rig.change("2");
    rig.wait_settled();
    hanging.behave(|_| Reply::Silence(Duration::from_secs(60)));
    let began = Instant::now();
    rig.change("3");
    good.wait_delivery(20);
    assert!(began.elapsed() < LONG / 2, "{:?}", began.elapsed());
    assert!(
        !rig.hub.as_ref().unwrap().shutdown(Duration::ZERO),
        "some were under way"
    );
}

#[test]
fn one_host_never_gets_more_than_its_share_at_once() {
    let rig = Rig::start_with(|settings| settings.lanes.per_host = 2);
    let subscriber = Subscriber::delivering(|_| {
        Reply::Drip(
            b"HTTP/1.1 204 No Content\r\n\r\n".to_vec(),
            Duration::from_millis(10),
        )
    });
    for number in 0..8 {
        rig.subscribe_with(&subscriber.callback(&format!("/{number}")), &[])
            .unwrap();
    }
    wait_until("active", || rig.list().len() == 8);
    rig.change("2");
    subscriber.wait_delivery(8);
    let mut times: Vec<Instant> = subscriber
        .deliveries()
        .iter()
        .map(|delivery| delivery.at)
        .collect();
    times.sort();
    // Each takes a quarter of a second, so the third waits for one of the first two, and so on.
    for window in times.windows(3) {
        assert!(
            window[2] - window[0] >= Duration::from_millis(150),
            "{:?}",
            window[2] - window[0]
        );
    }
}

#[test]
fn subscribers_of_a_topic_that_is_no_longer_served_are_notified_and_counted() {
    let (mut rig, subscriber) = (Rig::start(), Subscriber::good());
    rig.subscribe(&subscriber.callback("/cb"));
    rig.stop();
    rig.base_url = "https://other.example".to_owned();
    rig.boot("1");
    let reason = "the topic is no longer served here";
    assert_eq!(subscriber.wait_denial(1).query()["hub.reason"], reason);
    rig.wait_removals(RemovalReason::TopicWithdrawn, 1);
}
