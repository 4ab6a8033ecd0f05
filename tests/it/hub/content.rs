//! Content distribution: headers, body, signature, and coalescing of changes.

use std::time::Duration;

use reviewd::hub::Secret;

use super::rig::{FEED, HUB, Rig};
use super::subscriber::{Reply, Subscriber};

#[test]
fn a_change_brings_the_full_content_and_one_link_field() {
    let rig = Rig::start();
    let subscriber = Subscriber::good();
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
    let link = format!("<{FEED}>; rel=\"self\", <{HUB}>; rel=\"hub\"");
    assert_eq!(delivery.field("link"), Some(link.as_str()));
}

#[test]
fn with_a_secret_every_delivery_is_signed_over_its_body() {
    let rig = Rig::start();
    let subscriber = Subscriber::good();
    let secret = "s\u{e9}same ".repeat(24);
    let callback = subscriber.callback("/cb");
    rig.subscribe_as(&callback, &[("hub.secret", &secret)]);
    let secret = Secret::new(secret).unwrap();
    for (number, content) in [(1, "2"), (2, "3")] {
        rig.change(content);
        let delivery = subscriber.wait_delivery(number);
        let signature = secret.sign(content.as_bytes());
        assert_eq!(delivery.field("x-hub-signature"), Some(signature.as_str()));
        rig.wait_settled();
    }
    let asked = subscriber.wait_verification(1);
    assert_eq!(asked.field("x-hub-signature"), None);
}

#[test]
fn changes_during_a_delivery_are_coalesced_into_the_next_one() {
    let rig = Rig::start();
    let slow = Reply::Drip(
        b"HTTP/1.1 204 No Content\r\n\r\n".to_vec(),
        Duration::from_millis(40),
    );
    let subscriber = Subscriber::delivering(move |request| match request.body.as_slice() {
        b"2" => slow.clone(),
        _ => Reply::status(204),
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
    let between = deliveries[1].at - deliveries[0].at;
    assert!(between >= Duration::from_secs(1), "the first had to end");
}
