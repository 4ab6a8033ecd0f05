//! Requests, verification, renewal and the end that the subscriber wants.

use std::time::Duration;

use reviewd::hub::subscription::{Phase, RemovalReason};

use super::rig::{BASE, FEED, Rig};
use super::subscriber::{Reply, Subscriber};
use crate::support::wait_until;

/// A subscription that was asked for with `challenge` as the answer; returns whether it became active.
fn becomes_active(answer: impl Fn(&str) -> Reply + Send + Sync + 'static) -> bool {
    let rig = Rig::start_with(|settings| settings.verify_timeout = Duration::from_millis(900));
    let subscriber = Subscriber::start(move |request| answer(&request.query()["hub.challenge"]));
    rig.subscribe_with(&subscriber.callback("/cb"), &[])
        .unwrap();
    rig.wait_verified();
    let asked = subscriber.verifications().len();
    assert!(
        matches!(asked, 1 | 3),
        "{asked}: three where no answer came"
    );
    assert_eq!(rig.tombstones(), []);
    rig.listed(&subscriber.callback("/cb")).is_some()
}

#[test]
fn h35_h38_h40_the_verification_carries_mode_topic_challenge_and_lease() {
    let (rig, subscriber) = (Rig::start(), Subscriber::good());
    let callback = subscriber.callback("/cb?token=a%20b&x[]=1");
    rig.subscribe_with(&callback, &[("hub.lease_seconds", "3600")])
        .unwrap();
    rig.wait_active(&callback);
    let asked = subscriber.wait_verification(1);
    assert_eq!(asked.method, "GET");
    assert!(asked.target.starts_with("/cb?token=a%20b&x[]=1&hub.mode=subscribe&hub.topic=https%3A%2F%2Freviews.example%2Ffeed.xml&hub.challenge="), "{}", asked.target);
    assert!(asked.target.ends_with("&hub.lease_seconds=3600"));
    let query = asked.query();
    assert_eq!(query["hub.topic"], FEED);
    assert!((32..=64).contains(&query["hub.challenge"].len()));
    assert!(asked.body.is_empty());
    assert_eq!(
        asked.field("host"),
        Some(format!("127.0.0.1:{}", subscriber.port()).as_str())
    );
    assert!(asked.field("user-agent").unwrap().starts_with("reviewd/"));
    let lease_end = rig.listed(&callback).unwrap().state.lease_end;
    let left = lease_end.since(super::rig::now());
    assert!(
        left <= Duration::from_secs(3600) && left > Duration::from_secs(3590),
        "{left:?}"
    );
}

#[test]
fn h38_the_verification_repeats_the_topic_as_it_was_given() {
    let (rig, subscriber) = (Rig::start(), Subscriber::good());
    let given = format!("{BASE}/%66eed.xml");
    let callback = subscriber.callback("/cb");
    rig.post(&[
        ("hub.mode", "subscribe"),
        ("hub.topic", &given),
        ("hub.callback", &callback),
    ])
    .unwrap();
    assert_eq!(subscriber.wait_verification(1).query()["hub.topic"], given);
    rig.wait_active(&callback);
    assert_eq!(rig.listed(&callback).unwrap().topic, FEED);
}

#[test]
fn h38_h40_an_unsubscription_is_verified_with_all_four_parameters() {
    let (rig, subscriber) = (Rig::start(), Subscriber::good());
    let callback = subscriber.callback("/cb");
    rig.subscribe(&callback);
    rig.unsubscribe(&callback);
    let query = subscriber.wait_verification(2).query();
    assert_eq!(query["hub.mode"], "unsubscribe");
    assert_eq!(query["hub.topic"], FEED);
    assert!(query.contains_key("hub.challenge"));
    assert!(query["hub.lease_seconds"].parse::<u32>().is_ok());
    rig.wait_gone(&callback);
    rig.change("2");
    rig.wait_settled();
    assert_eq!(subscriber.deliveries().len(), 0);
    assert_eq!(subscriber.denials().len(), 0);
}

#[test]
fn h41_h42_only_a_2xx_with_exactly_the_challenge_confirms() {
    let answer =
        |status: u16| move |challenge: &str| Reply::Answer(status, challenge.as_bytes().to_vec());
    for status in [200, 201, 202, 203, 206, 226, 299] {
        assert!(becomes_active(answer(status)), "{status}");
    }
    for status in [
        300, 301, 302, 303, 307, 308, 400, 401, 403, 404, 410, 417, 500, 502, 503, 505,
    ] {
        assert!(!becomes_active(answer(status)), "{status}");
    }
}

#[test]
fn h42_an_answer_that_differs_by_a_byte_does_not_confirm() {
    let with = |change: fn(&mut Vec<u8>)| {
        becomes_active(move |challenge| {
            let mut body = challenge.as_bytes().to_vec();
            change(&mut body);
            Reply::Answer(200, body)
        })
    };
    assert!(with(|_| {}));
    assert!(!with(|body| body[5] ^= 1));
    assert!(!with(|body| body.push(b'\n')));
    assert!(!with(|body| body.extend(b"\r\n")));
    assert!(!with(|body| body.insert(0, b' ')));
    assert!(!with(|body| body.truncate(body.len() - 1)));
    assert!(!with(Vec::clear));
    assert!(!with(|body| body.make_ascii_uppercase()));
    assert!(!with(|body| body.extend(vec![b'x'; 1 << 20])));
}

#[test]
fn an_answer_counts_however_it_is_framed() {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n";
    assert!(becomes_active(move |challenge| {
        Reply::Raw(
            format!(
                "{head}Transfer-Encoding: chunked\r\n\r\n5\r\n{}\r\n{:x}\r\n{}\r\n0\r\n\r\n",
                &challenge[..5],
                challenge.len() - 5,
                &challenge[5..]
            )
            .into_bytes(),
        )
    }));
    assert!(becomes_active(move |challenge| Reply::Raw(
        format!("{head}Connection: close\r\n\r\n{challenge}").into_bytes()
    )));
    assert!(becomes_active(move |challenge| Reply::Raw(
        format!(
            "HTTP/1.1 100 Continue\r\n\r\n{head}Content-Length: {}\r\n\r\n{challenge}",
            challenge.len()
        )
        .into_bytes()
    )));
}

#[test]
fn slow_dripping_flooding_and_broken_answers_do_not_confirm() {
    let pause = Duration::from_millis(100);
    assert!(!becomes_active(move |challenge| Reply::Drip(
        format!(
            "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{challenge}",
            challenge.len()
        )
        .into_bytes(),
        pause
    )));
    assert!(!becomes_active(|_| Reply::Silence(Duration::from_secs(30))));
    assert!(!becomes_active(|_| Reply::HangUp));
    assert!(!becomes_active(|_| Reply::Raw(
        b"HTTP/1.1 200 OK\r\nX: ".to_vec()
    )));
    assert!(!becomes_active(|_| Reply::Raw(
        b"SSH-2.0-OpenSSH_9.9\r\n".to_vec()
    )));
    assert!(!becomes_active(|challenge| Reply::Raw(
        format!("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{challenge}").into_bytes()
    )));
    assert!(!becomes_active(|_| Reply::Flood(
        b"HTTP/1.1 100 Continue\r\n\r\n".to_vec()
    )));
    assert!(!becomes_active(|_| Reply::Flood(
        b"HTTP/1.1 200 OK\r\nX: y\r\n".repeat(1000)
    )));
}

#[test]
fn h32_the_answer_is_the_same_whatever_comes_of_the_verification() {
    let rig = Rig::start_with(|settings| settings.verify_timeout = Duration::from_secs(60));
    let refusing = Subscriber::start(|_| Reply::Answer(404, Vec::new()));
    let silent = Subscriber::start(|_| Reply::Silence(Duration::from_secs(60)));
    let began = std::time::Instant::now();
    assert_eq!(rig.subscribe_with(&refusing.callback("/cb"), &[]), Ok(()));
    assert_eq!(rig.subscribe_with(&silent.callback("/cb"), &[]), Ok(()));
    assert_eq!(
        rig.subscribe_with("https://127.0.0.1:1024/nobody", &[]),
        Ok(())
    );
    assert!(began.elapsed() < Duration::from_secs(30));
}

#[test]
fn h4_h18_h20_a_renewal_switches_secret_and_lease_and_keeps_one_subscription() {
    let (rig, subscriber) = (Rig::start(), Subscriber::good());
    let callback = subscriber.callback("/cb");
    rig.subscribe_with(
        &callback,
        &[("hub.secret", "one"), ("hub.lease_seconds", "1000")],
    )
    .unwrap();
    rig.wait_active(&callback);
    rig.subscribe_with(
        &callback,
        &[("hub.secret", "two"), ("hub.lease_seconds", "5000")],
    )
    .unwrap();
    wait_until("renewed", || {
        rig.listed(&callback).unwrap().state.phase == Phase::Active { lease_s: 5000 }
    });
    assert_eq!(rig.list().len(), 1);
    rig.change("2");
    let secret = reviewd::hub::Secret::new("two".to_owned()).unwrap();
    let signature = reviewd::hub::signature::sign(&secret, b"2");
    assert_eq!(
        subscriber.wait_delivery(1).field("x-hub-signature"),
        Some(signature.as_str())
    );
    // Without a secret the hub stops signing.
    rig.subscribe_with(&callback, &[("hub.lease_seconds", "6000")])
        .unwrap();
    wait_until("renewed", || {
        rig.listed(&callback).unwrap().state.phase == Phase::Active { lease_s: 6000 }
    });
    rig.wait_settled();
    rig.change("3");
    assert_eq!(subscriber.wait_delivery(2).field("x-hub-signature"), None);
    rig.wait_settled();
    assert_eq!(subscriber.deliveries().len(), 2, "one for each change");
}

#[test]
fn h19_a_failed_verification_of_a_renewal_or_unsubscription_changes_nothing() {
    let (rig, subscriber) = (Rig::start(), Subscriber::good());
    let callback = subscriber.callback("/cb");
    rig.subscribe_with(
        &callback,
        &[("hub.secret", "one"), ("hub.lease_seconds", "1000")],
    )
    .unwrap();
    rig.wait_active(&callback);
    let before = rig.listed(&callback);
    subscriber.behave(|request| match request.method.as_str() {
        "GET" => Reply::Answer(404, Vec::new()),
        _ => Reply::Answer(204, Vec::new()),
    });
    rig.subscribe_with(&callback, &[("hub.lease_seconds", "5000")])
        .unwrap();
    rig.unsubscribe(&callback);
    subscriber.wait_verification(3);
    rig.wait_verified();
    assert_eq!(rig.listed(&callback), before);
    rig.change("2");
    assert!(
        subscriber
            .wait_delivery(1)
            .field("x-hub-signature")
            .is_some()
    );
}

#[test]
fn h43_h45_h62_leases_are_clamped_and_the_default_is_ten_days() {
    let rig = Rig::start_with(|settings| settings.leases.min_s = 300);
    let subscriber = Subscriber::good();
    for (number, asked, granted) in [
        (1, Some("1"), 300..=300),
        (2, Some("1000000000"), 2_592_000..=2_592_000),
        (3, None, 820_800..=864_000),
    ] {
        let lease: Vec<_> = asked
            .map(|asked| ("hub.lease_seconds", asked))
            .into_iter()
            .collect();
        rig.subscribe_with(&subscriber.callback(&format!("/{number}")), &lease)
            .unwrap();
        let query = subscriber.wait_verification(number).query();
        let lease_s: u32 = query["hub.lease_seconds"].parse().unwrap();
        assert!(granted.contains(&lease_s), "{asked:?}: {lease_s}");
    }
}

#[test]
fn h44_a_lease_that_ends_ends_the_subscription_without_a_word() {
    let (rig, subscriber) = (Rig::start(), Subscriber::good());
    let callback = subscriber.callback("/cb");
    rig.subscribe_with(&callback, &[("hub.lease_seconds", "1")])
        .unwrap();
    rig.wait_active(&callback);
    rig.wait_gone(&callback);
    rig.change("2");
    assert_eq!(rig.tombstones()[0].removal.as_str(), "lease_ended");
    rig.wait_removals(RemovalReason::LeaseEnded, 1);
    rig.wait_settled();
    assert_eq!(
        (subscriber.deliveries().len(), subscriber.denials().len()),
        (0, 0)
    );
}

#[test]
fn unknown_topics_are_refused_and_nothing_is_created() {
    let (rig, subscriber) = (Rig::start(), Subscriber::good());
    for topic in [
        "https://reviews.example/insights.json",
        "https://other.example/feed.xml",
        "https://reviews.example/feed.xml?x",
        "http://reviews.example/feed.xml",
    ] {
        let refusal = rig
            .post(&[
                ("hub.mode", "subscribe"),
                ("hub.topic", topic),
                ("hub.callback", &subscriber.callback("/cb")),
            ])
            .unwrap_err();
        assert!(
            refusal
                .reason
                .starts_with("hub.topic: is not one of https://reviews.example/feed.xml "),
            "{refusal}"
        );
    }
    assert_eq!(subscriber.received().len(), 0);
}

#[test]
fn callbacks_on_the_hubs_own_address_are_refused() {
    let mut rig = Rig::start();
    rig.stop();
    rig.base_url = "https://reviews.sub.test:8443".to_owned();
    rig.boot("1");
    let topic = "https://reviews.sub.test:8443/feed.xml";
    for (callback, refused) in [
        ("https://Reviews.sub.test:8443/cb", true),
        ("https://reviews.sub.test:8444/cb", false),
    ] {
        let result = rig.post(&[
            ("hub.mode", "subscribe"),
            ("hub.topic", topic),
            ("hub.callback", callback),
        ]);
        assert_eq!(result.is_err(), refused, "{callback}: {result:?}");
    }
}
