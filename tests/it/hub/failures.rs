//! Subscribers whose deliveries or verifications fail: retries, timeouts and removal.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use reviewd::hub::subscription::RemovalReason;

use super::authority;
use super::rig::{FEED, Rig};
use super::subscriber::{Reply, Subscriber};

/// A timeout so long that a test that waits for it fails, even on a busy machine.
const LONG: Duration = Duration::from_secs(60);

/// Starts a subscriber that answers deliveries with `replies` in rotation.
fn answering(replies: Vec<Reply>) -> Subscriber {
    let attempts = AtomicUsize::new(0);
    Subscriber::delivering(move |_| {
        let attempt = attempts.fetch_add(1, Ordering::SeqCst);
        replies[attempt % replies.len()].clone()
    })
}

#[test]
fn failed_deliveries_or_a_410_remove_and_the_callback_is_told_once() {
    let other = Subscriber::good();
    // H53: redirects are never followed.
    let location = other.callback("/cb");
    let redirect = format!("HTTP/1.1 307 \r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n");
    for (reply, status, attempts, name) in [
        (Reply::status(500), "500", 3, "failures"),
        (Reply::Raw(redirect.into()), "307", 3, "failures"),
        (Reply::status(410), "410", 1, "gone"),
    ] {
        let rig = Rig::start();
        let subscriber = answering(vec![reply]);
        rig.subscribe(&subscriber.callback("/cb?x=1"));
        rig.change("2");
        // H36, H37, H57: the subscriber is sent a denial.
        let denial = subscriber.wait_denial(1);
        assert_eq!(denial.method, "GET");
        let begin = "/cb?x=1&hub.mode=denied&hub.topic=https%3A%2F%2Freviews.example%2Ffeed.xml&hub.reason=";
        assert!(denial.target.starts_with(begin), "{}", denial.target);
        let reason = match name {
            "gone" => "the callback responded with 410 Gone",
            _ => "too many consecutive deliveries failed",
        };
        assert_eq!(denial.query()["hub.reason"], reason);
        rig.assert_removed(name, status);
        rig.change("3");
        rig.wait_settled();
        subscriber.assert_received(attempts, 1);
    }
    assert_eq!(other.received().len(), 0);
}

#[test]
fn two_failures_and_a_success_keep_the_subscription() {
    let replies = [503, 503, 204].map(Reply::status).to_vec();
    let rig = Rig::start();
    let subscriber = answering(replies);
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
fn the_answers_body_is_not_read() {
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
fn retry_after_is_honored_within_its_bound() {
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
fn one_deadline_covers_silent_and_slow_responses() {
    let drip = format!("HTTP/1.1 204 No Content\r\nX-Slow: {:x<64}\r\n\r\n", "");
    let drip = Reply::Drip(drip.into_bytes(), Duration::from_millis(50));
    for reply in [Reply::Silence(LONG), drip] {
        let rig = Rig::start_with(|settings| settings.timeout = Duration::from_secs(1));
        let subscriber = answering(vec![reply]);
        let callback = subscriber.callback("/cb");
        rig.subscribe(&callback);
        rig.change("2");
        rig.wait_failures(&callback, 1);
        let state = rig.listed(&callback).unwrap().state;
        assert_eq!(state.last.unwrap().result.to_string(), "timeout");
        let elapsed_ms = state.elapsed_ms;
        assert!((900..3_000).contains(&elapsed_ms), "{elapsed_ms}");
    }
}

#[test]
fn a_handshake_that_hangs_or_a_certificate_that_is_wrong_fails_the_verification() {
    let wrong = authority::server_config(&["other.sub.test"]);
    let untrusted = authority::untrusted_config("untrusted.sub.test");
    // A timeout is retried twice; a wrong certificate is not retried.
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
fn subscribers_of_a_topic_that_is_no_longer_served_are_notified_and_counted() {
    let mut rig = Rig::start();
    let subscriber = Subscriber::good();
    rig.subscribe(&subscriber.callback("/cb"));
    rig.stop();
    rig.base_url = "https://other.example".to_owned();
    rig.boot("1");
    let denial = subscriber.wait_denial(1).query();
    assert_eq!(denial["hub.reason"], "the topic is no longer served here");
    assert_eq!(denial["hub.topic"], FEED);
    rig.wait_removals(RemovalReason::TopicWithdrawn, 1);
}
