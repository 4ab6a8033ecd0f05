//! Subscription requests: verification, renewal, expiry and unsubscription.

use std::time::Duration;

use reviewd::hub::Secret;
use reviewd::hub::subscription::{Phase, RemovalReason};

use super::rig::{BASE, FEED, Rig};
use super::subscriber::{Reply, Subscriber};
use crate::support::wait_until;

/// Requests a subscription, answers its verification with `answer`, and returns whether it becomes active.
fn becomes_active(answer: impl Fn(&str) -> Reply + Send + Sync + 'static) -> bool {
    let rig = Rig::start_with(|settings| settings.timeout = Duration::from_millis(900));
    let subscriber = Subscriber::start(move |request| answer(&request.query()["hub.challenge"]));
    let callback = subscriber.callback("/cb");
    rig.subscribe_with(&callback, &[]).unwrap();
    rig.wait_verified();
    // Attempts without a response are retried.
    assert!(!subscriber.verifications().is_empty());
    assert_eq!(rig.tombstones(), []);
    rig.listed(&callback).is_some()
}

#[test]
fn the_verification_carries_mode_topic_as_given_challenge_and_lease() {
    let rig = Rig::start();
    let subscriber = Subscriber::good();
    let callback = subscriber.callback("/cb?token=a%20b&x[]=1");
    for (number, mode) in [(1, "subscribe"), (2, "unsubscribe")] {
        let topic = format!("{BASE}/%66eed.xml");
        rig.ask(mode, &topic, &callback).unwrap();
        let asked = subscriber.wait_verification(number);
        assert_eq!((asked.method.as_str(), asked.body.len()), ("GET", 0));
        let begin = format!(
            "/cb?token=a%20b&x[]=1&hub.mode={mode}&hub.topic=https%3A%2F%2Freviews.example%2F%2566eed.xml&hub.challenge="
        );
        assert!(asked.target.starts_with(&begin), "{}", asked.target);
        let lease_s: i64 = asked.query()["hub.lease_seconds"].parse().unwrap();
        assert!((820_800..=864_000).contains(&lease_s), "{lease_s}");
        let host = format!("127.0.0.1:{}", subscriber.port());
        assert_eq!(asked.field("host"), Some(host.as_str()));
        assert!(
            asked
                .field("user-agent")
                .unwrap()
                .starts_with("news/1.2 (+http")
        );
        if number == 1 {
            rig.wait_active(&callback);
            let listed = rig.listed(&callback).unwrap();
            assert_eq!(listed.topic, FEED);
            let left_s = rig.lease_left_s(&callback).unwrap();
            assert!((lease_s - 10..=lease_s).contains(&left_s), "{left_s}");
        }
    }
    rig.wait_gone(&callback);
    rig.change("2");
    rig.wait_settled();
    subscriber.assert_received(0, 0);
}

#[test]
fn only_a_2xx_with_exactly_the_challenge_confirms() {
    for status in [200, 204, 299, 300, 302, 404, 410, 503] {
        let active = becomes_active(move |challenge| {
            // A 204 has no body.
            let body = if status == 204 { "" } else { challenge };
            Reply::Answer(status, body.as_bytes().to_vec())
        });
        assert_eq!(active, [200, 299].contains(&status), "{status}");
    }
    let changes: [fn(&mut Vec<u8>); 6] = [
        |body| body[5] ^= 1,
        |body| body.push(b'\n'),
        |body| body.insert(0, b' '),
        |body| body.truncate(body.len() - 1),
        |body| body.make_ascii_uppercase(),
        |body| body.extend(vec![b'x'; 1 << 20]),
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let active = becomes_active(move |challenge| {
            let mut body = challenge.as_bytes().to_vec();
            change(&mut body);
            Reply::Answer(200, body)
        });
        assert!(!active, "{number}");
    }
}

#[test]
fn responses_in_any_framing_confirm_but_incomplete_ones_do_not() {
    let ok = "HTTP/1.1 200 OK\r\n";
    let chunked = "Transfer-Encoding: chunked\r\n\r\n2b\r\nCHALLENGE\r\n0\r\n\r\n";
    for (raw, confirms) in [
        (format!("{ok}{chunked}"), true),
        (format!("{ok}Connection: close\r\n\r\nCHALLENGE"), true),
        (format!("{ok}Content-Length: 99\r\n\r\nCHALLENGE"), false),
        ("SSH-2.0-OpenSSH_9.9\r\n".to_owned(), false),
    ] {
        let shown = raw.clone();
        let active = becomes_active(move |challenge| {
            Reply::Raw(raw.replace("CHALLENGE", challenge).into_bytes())
        });
        assert_eq!(active, confirms, "{shown}");
    }
    for endless in [
        "HTTP/1.1 100 Continue\r\n\r\n",
        "HTTP/1.1 200 OK\r\nX: y\r\n",
    ] {
        let bytes = endless.repeat(1_000).into_bytes();
        assert!(!becomes_active(move |_| Reply::Flood(bytes.clone())));
    }
    assert!(!becomes_active(|challenge| {
        let whole = format!("HTTP/1.1 200 OK\r\nContent-Length: 43\r\n\r\n{challenge}");
        Reply::Drip(whole.into_bytes(), Duration::from_millis(100))
    }));
}

#[test]
fn a_renewal_switches_secret_and_lease_and_keeps_one_subscription() {
    let rig = Rig::start();
    let subscriber = Subscriber::good();
    let callback = subscriber.callback("/cb");
    for (number, lease_s, secret) in [(1, 1_000, "one"), (2, 5_000, "two"), (3, 6_000, "")] {
        let lease = lease_s.to_string();
        let fields = [("hub.secret", secret), ("hub.lease_seconds", &lease)];
        rig.subscribe_with(&callback, &fields).unwrap();
        wait_until("active", || {
            let listed = rig.listed(&callback);
            listed.is_some_and(|listed| listed.state.phase == Phase::Active { lease_s })
        });
        rig.wait_settled();
        rig.change(secret);
        let delivery = subscriber.wait_delivery(number);
        let signature = Secret::new(secret.to_owned()).map(|key| key.sign(secret.as_bytes()));
        assert_eq!(delivery.field("x-hub-signature"), signature.as_deref());
        rig.wait_settled();
    }
    assert_eq!(rig.list().len(), 1);
    subscriber.assert_received(3, 0);
}

#[test]
fn a_failed_verification_of_a_renewal_or_unsubscription_changes_nothing() {
    let rig = Rig::start();
    let subscriber = Subscriber::good();
    let callback = subscriber.callback("/cb");
    let fields = [("hub.secret", "one"), ("hub.lease_seconds", "1000")];
    rig.subscribe_as(&callback, &fields);
    let before = rig.listed(&callback);
    subscriber.behave(|request| match request.method.as_str() {
        "GET" => Reply::Answer(404, Vec::new()),
        _ => Reply::Answer(204, Vec::new()),
    });
    rig.subscribe_with(&callback, &[("hub.lease_seconds", "5000")])
        .unwrap();
    rig.ask("unsubscribe", FEED, &callback).unwrap();
    subscriber.wait_verification(3);
    rig.wait_verified();
    assert_eq!(rig.listed(&callback), before);
    rig.change("2");
    let delivery = subscriber.wait_delivery(1);
    assert!(delivery.field("x-hub-signature").is_some());
}

#[test]
fn a_lease_that_ends_ends_the_subscription_without_a_word() {
    let rig = Rig::start();
    let subscriber = Subscriber::good();
    let callback = subscriber.callback("/cb");
    rig.subscribe_as(&callback, &[("hub.lease_seconds", "1")]);
    rig.wait_gone(&callback);
    rig.change("2");
    rig.wait_removals(RemovalReason::LeaseEnded, 1);
    rig.wait_settled();
    subscriber.assert_received(0, 0);
}

#[test]
fn unknown_topics_and_the_hubs_own_address_are_refused_and_nothing_is_created() {
    let mut rig = Rig::start();
    rig.stop();
    rig.base_url = "https://reviews.sub.test:8443".to_owned();
    rig.boot("1");
    let topic = "https://reviews.sub.test:8443/feed.xml";
    let unknown = "\" is not one of https://reviews.sub.test:8443/feed.xml ";
    let other = "https://a.sub.test:8443/";
    let own = "https://Reviews.sub.test:8443/cb";
    for (topic, callback, reason) in [
        (
            "https://reviews.sub.test:8443/insights.json",
            other,
            unknown,
        ),
        ("https://reviews.sub.test/feed.xml", other, unknown),
        (topic, own, "hub.callback: must not be this service itself"),
    ] {
        let refusal = rig.ask("subscribe", topic, callback).unwrap_err();
        assert!(refusal.reason.contains(reason), "{refusal}");
    }
    assert_eq!(rig.store_counts(), (0, 0));
    let beside = "https://reviews.sub.test:8444/cb";
    assert_eq!(rig.ask("subscribe", topic, beside), Ok(()));
}
