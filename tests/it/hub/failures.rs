//! Subscribers that fail, and what becomes of them and of the others.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use reviewd::hub::subscription::RemovalReason;

use super::authority;
use super::rig::{FEED, Rig};
use super::subscriber::{Reply, Subscriber};
use crate::support::wait_until;

/// The time of an attempt that a test must not wait for, also on a busy machine.
const LONG: Duration = Duration::from_secs(60);

/// Starts a subscriber that answers the deliveries by turns.
fn answering(replies: Vec<Reply>) -> Subscriber {
    let attempts = AtomicUsize::new(0);
    Subscriber::delivering(move |_| {
        let attempt = attempts.fetch_add(1, Ordering::SeqCst);
        replies[attempt % replies.len()].clone()
    })
}

#[test]
fn three_failed_deliveries_remove_and_the_callback_is_told_once() {
    let (rig, subscriber) = (Rig::start(), answering(vec![Reply::status(500)]));
    let callback = subscriber.callback("/cb?x=1");
    rig.subscribe(&callback);
    rig.change("2");
    // H36, H37, H57: what is removed is told.
    let denial = subscriber.wait_denial(1);
    assert_eq!(denial.method, "GET");
    let begin =
        "/cb?x=1&hub.mode=denied&hub.topic=https%3A%2F%2Freviews.example%2Ffeed.xml&hub.reason=";
    assert!(denial.target.starts_with(begin), "{}", denial.target);
    let reason = "too many consecutive deliveries failed";
    assert_eq!(denial.query()["hub.reason"], reason);
    rig.assert_removed("failures", "500");
    rig.change("3");
    rig.wait_settled();
    subscriber.assert_received(3, 1);
}

#[test]
fn h55_two_failures_and_a_success_keep_the_subscription() {
    let replies = [503, 503, 204].map(Reply::status).to_vec();
    let (rig, subscriber) = (Rig::start(), answering(replies));
    let callback = subscriber.callback("/cb");
    rig.subscribe(&callback);
    for (change, attempts) in [("2", 3), ("3", 6)] {
        rig.change(change);
        assert_eq!(subscriber.wait_delivery(attempts).body, change.as_bytes());
        rig.wait_settled();
        assert_eq!(rig.listed(&callback).unwrap().state.failures, 0);
    }
    subscriber.assert_received(6, 0);
}

#[test]
fn h52_a_410_removes_at_once() {
    let (rig, subscriber) = (Rig::start(), answering(vec![Reply::status(410)]));
    rig.subscribe(&subscriber.callback("/cb"));
    rig.change("2");
    subscriber.wait_denial(1);
    rig.assert_removed("gone", "410");
    subscriber.assert_received(1, 1);
}

#[test]
fn h53_redirects_are_failures_and_never_followed() {
    let (rig, other) = (Rig::start(), Subscriber::good());
    let location = format!(
        "HTTP/1.1 307 Temporary Redirect\r\nLocation: {}\r\nContent-Length: 0\r\n\r\n",
        other.callback("/cb")
    );
    let subscriber = answering(vec![Reply::Raw(location.into_bytes())]);
    rig.subscribe(&subscriber.callback("/cb"));
    rig.change("2");
    subscriber.wait_denial(1);
    rig.assert_removed("failures", "307");
    assert_eq!(other.received().len(), 0);
}

#[test]
fn h54_the_answers_body_is_not_read() {
    let rig = Rig::start_with(|settings| settings.timeout = LONG);
    let head = b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000000\r\n\r\n".to_vec();
    let flood = [head, vec![b'x'; 1 << 16]].concat();
    let subscriber = answering(vec![Reply::Flood(flood)]);
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
    let limited = "HTTP/1.1 429 \r\nRetry-After: 86400\r\nContent-Length: 0\r\n\r\n";
    let subscriber = answering(vec![Reply::Raw(limited.into()), Reply::status(204)]);
    rig.subscribe(&subscriber.callback("/cb"));
    rig.change("2");
    subscriber.wait_delivery(2);
    let deliveries = subscriber.deliveries();
    let wait = deliveries[1].at - deliveries[0].at;
    let bounds = Duration::from_millis(1_900)..LONG / 2;
    assert!(bounds.contains(&wait), "{wait:?}");
}

#[test]
fn one_deadline_ends_silence_and_drips() {
    let drip = format!(
        "HTTP/1.1 204 No Content\r\nX-Slow: {}\r\n\r\n",
        "x".repeat(64)
    );
    for reply in [
        Reply::Silence(LONG),
        Reply::Drip(drip.into_bytes(), Duration::from_millis(50)),
    ] {
        let rig = Rig::start_with(|settings| settings.timeout = Duration::from_secs(1));
        let subscriber = answering(vec![reply]);
        let callback = subscriber.callback("/cb");
        rig.subscribe(&callback);
        rig.change("2");
        rig.wait_failures(&callback, 1);
        let state = rig.listed(&callback).unwrap().state;
        assert_eq!(state.last.unwrap().answer.to_string(), "timeout");
        let elapsed_ms = state.elapsed_ms;
        assert!((900..3_000).contains(&elapsed_ms), "{elapsed_ms}");
    }
}

#[test]
fn a_handshake_that_hangs_or_a_certificate_that_is_wrong_fails_the_verification() {
    let wrong = authority::server_config(&["other.sub.test"]);
    let untrusted = authority::untrusted_config("untrusted.sub.test");
    // Without an answer it is tried again twice; a wrong certificate stays wrong.
    for (tls, name, attempts) in [
        (None, "hanging.sub.test", 3),
        (Some(wrong), "wrong.sub.test", 1),
        (Some(untrusted), "untrusted.sub.test", 1),
    ] {
        let rig = Rig::start_with(|settings| settings.timeout = Duration::from_secs(1));
        let subscriber = Subscriber::start_with(tls, Reply::good);
        let began = Instant::now();
        rig.subscribe_with(&subscriber.callback_at(name, "/cb"), &[])
            .unwrap();
        rig.wait_verified();
        assert!(began.elapsed() < LONG / 2);
        assert_eq!(rig.store_counts(), (0, 0));
        let received = (subscriber.received().len(), subscriber.connections());
        assert_eq!(received, (0, attempts), "{name}");
    }
}

#[test]
fn subscribers_that_hang_do_not_delay_those_that_answer() {
    let rig = Rig::start_with(|settings| settings.timeout = LONG);
    // More than the fast lane has places.
    let (hanging, good) = (Subscriber::good(), Subscriber::good());
    for number in 0..10 {
        for subscriber in [&hanging, &good] {
            let host = format!("h{number}-{}.sub.test", subscriber.port());
            rig.subscribe(&subscriber.callback_at(&host, "/cb"));
        }
    }
    rig.change("2");
    rig.wait_settled();
    hanging.behave(|_| Reply::Silence(LONG));
    let began = Instant::now();
    rig.change("3");
    good.wait_delivery(20);
    assert!(began.elapsed() < LONG / 2, "{:?}", began.elapsed());
    let is_clean = rig.hub().shutdown(Duration::ZERO);
    assert!(!is_clean, "some were under way");
}

#[test]
fn one_host_never_gets_more_than_its_share_at_once() {
    let rig = Rig::start_with(|settings| settings.lanes.per_host = 2);
    let drip = b"HTTP/1.1 204 No Content\r\n\r\n".to_vec();
    let subscriber = answering(vec![Reply::Drip(drip, Duration::from_millis(10))]);
    for number in 0..8 {
        rig.subscribe_with(&subscriber.callback(&format!("/{number}")), &[])
            .unwrap();
    }
    wait_until("active", || rig.list().len() == 8);
    rig.change("2");
    subscriber.wait_delivery(8);
    let deliveries = subscriber.deliveries();
    let mut times: Vec<Instant> = deliveries.iter().map(|delivery| delivery.at).collect();
    times.sort();
    // Each takes a quarter of a second, so the third waits for one of the first two, and so on.
    for window in times.windows(3) {
        let wait = window[2] - window[0];
        assert!(wait >= Duration::from_millis(150), "{wait:?}");
    }
}

#[test]
fn subscribers_of_a_topic_that_is_no_longer_served_are_notified_and_counted() {
    let (mut rig, subscriber) = (Rig::start(), Subscriber::good());
    rig.subscribe(&subscriber.callback("/cb"));
    rig.stop();
    rig.base_url = "https://other.example".to_owned();
    rig.boot("1");
    let denial = subscriber.wait_denial(1).query();
    assert_eq!(denial["hub.reason"], "the topic is no longer served here");
    assert_eq!(denial["hub.topic"], FEED);
    rig.wait_removals(RemovalReason::TopicWithdrawn, 1);
}
