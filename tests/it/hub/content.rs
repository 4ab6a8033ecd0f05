//! What a subscriber gets, and when.

use std::time::Duration;

use reviewd::hub::Secret;
use reviewd::hub::signature::sign;

use super::rig::{BASE, FEED, HUB, Rig};
use super::subscriber::{Reply, Subscriber};
use crate::support::wait_until;

#[test]
fn h9_h46_h48_a_change_brings_the_full_content_as_the_body() {
    let (rig, subscriber) = (Rig::start(), Subscriber::good());
    rig.subscribe(&subscriber.callback("/cb?own=1&hub.mode=mine"));
    let content = "x".repeat(3 << 20);
    rig.change(&content);
    let delivery = subscriber.wait_delivery(1);
    assert_eq!(delivery.method, "POST");
    assert_eq!(delivery.body, content.as_bytes());
    // The exact callback, its query in the URL and not in the body.
    assert_eq!(delivery.target, "/cb?own=1&hub.mode=mine");
    assert_eq!(delivery.field("content-length"), Some("3145728"));
    assert_eq!(delivery.field("transfer-encoding"), None);
    assert_eq!(delivery.field("expect"), None);
}

#[test]
fn h6_h47_each_topic_comes_with_its_own_media_type() {
    let (rig, subscriber) = (Rig::start(), Subscriber::good());
    for (path, media_type) in [
        ("/feed.xml", "application/atom+xml"),
        ("/api/feed.json", "application/json"),
        ("/reviews.json", "application/json"),
    ] {
        let topic = format!("{BASE}{path}");
        rig.post(&[
            ("hub.mode", "subscribe"),
            ("hub.topic", &topic),
            ("hub.callback", &subscriber.callback(path)),
        ])
        .unwrap();
        rig.wait_active(&subscriber.callback(path));
        rig.change(&format!("after {path}"));
        wait_until("delivered", || {
            subscriber
                .deliveries()
                .iter()
                .any(|delivery| delivery.target == path)
        });
        let delivery = subscriber
            .deliveries()
            .into_iter()
            .find(|delivery| delivery.target == path)
            .unwrap();
        assert_eq!(delivery.field("content-type"), Some(media_type));
        rig.wait_settled();
    }
}

#[test]
fn h49_h50_h51_one_link_field_names_the_topic_first_and_the_hub() {
    let (rig, subscriber) = (Rig::start(), Subscriber::good());
    rig.subscribe(&subscriber.callback("/cb"));
    rig.change("2");
    let link = format!("<{FEED}>; rel=\"self\", <{HUB}>; rel=\"hub\"");
    assert_eq!(
        subscriber.wait_delivery(1).field("link"),
        Some(link.as_str())
    );
}

#[test]
fn h8_h58_h59_h60_h65_h66_with_a_secret_every_delivery_is_signed_over_its_body() {
    let (rig, subscriber) = (Rig::start(), Subscriber::good());
    let secret = "s\u{e9}same ".repeat(24);
    rig.subscribe_with(&subscriber.callback("/cb"), &[("hub.secret", &secret)])
        .unwrap();
    rig.wait_active(&subscriber.callback("/cb"));
    let secret = Secret::new(secret).unwrap();
    for (number, content) in [(1, "2"), (2, "3")] {
        rig.change(content);
        let delivery = subscriber.wait_delivery(number);
        let signature = delivery.field("x-hub-signature").unwrap();
        assert!(
            signature.starts_with("sha256=") && signature.len() == 71,
            "{signature}"
        );
        assert_eq!(signature, sign(&secret, &delivery.body));
        rig.wait_settled();
    }
    assert!(
        subscriber
            .wait_verification(1)
            .field("x-hub-signature")
            .is_none()
    );
}

#[test]
fn the_first_push_is_the_first_change_after_the_subscription() {
    let (rig, subscriber) = (Rig::start(), Subscriber::good());
    rig.subscribe(&subscriber.callback("/cb"));
    rig.change("1");
    rig.change("2");
    assert_eq!(subscriber.wait_delivery(1).body, b"2");
    rig.change("2");
    rig.wait_settled();
    assert_eq!(subscriber.deliveries().len(), 1, "no change, no delivery");
}

#[test]
fn changes_during_a_delivery_come_as_their_last_state_and_never_two_at_once() {
    let rig = Rig::start();
    let subscriber = Subscriber::delivering(|request| match request.body.as_slice() {
        b"2" => Reply::Drip(
            b"HTTP/1.1 204 No Content\r\n\r\n".to_vec(),
            Duration::from_millis(40),
        ),
        _ => Reply::Answer(204, Vec::new()),
    });
    rig.subscribe(&subscriber.callback("/cb"));
    rig.change("2");
    subscriber.wait_delivery(1);
    for content in ["3", "4", "5"] {
        rig.change(content);
    }
    assert_eq!(subscriber.wait_delivery(2).body, b"5");
    rig.wait_settled();
    let deliveries = subscriber.deliveries();
    assert_eq!(deliveries.len(), 2);
    assert!(
        deliveries[1].at - deliveries[0].at >= Duration::from_secs(1),
        "the first had to end"
    );
}

#[test]
fn changes_made_while_the_hub_was_down_are_delivered_at_its_start() {
    let (mut rig, subscriber) = (Rig::start(), Subscriber::good());
    rig.subscribe(&subscriber.callback("/cb"));
    rig.stop();
    rig.boot("2");
    assert_eq!(subscriber.wait_delivery(1).body, b"2");
    rig.wait_settled();
    rig.stop();
    rig.boot("2");
    rig.wait_settled();
    assert_eq!(subscriber.deliveries().len(), 1);
}
