//! Two processes on one state directory, as during an update: both serve and accept requests, one delivers, and the
//! other takes over when the first one is stopped or killed.

use std::collections::HashSet;

use super::rig::{post, serve, subscribe};
use super::subscriber::Subscriber;
use crate::support::dataset::{DataDir, reviews_json};
use crate::support::{Program, get};

/// Starts an old process and a new one with newer content, ends the old one with `end`, and checks which one delivers.
fn hand_over(end: impl FnOnce(Program)) {
    let temp = tempfile::tempdir().unwrap();
    let store = ["--state", temp.path().to_str().unwrap()];
    let old_data = DataDir::with_reviews(1, "2026-01-01T00:00:00Z");
    let new_data = DataDir::with_reviews(2, "2026-01-02T00:00:00Z");
    let subscriber = Subscriber::good();
    let old = serve(&old_data, store, &[]);
    subscribe(&old, &subscriber.callback("/old"));

    // The new process serves and accepts at once; the old one verifies the accepted request.
    let new = serve(&new_data, store, &[]);
    let served = get(new.address(), "/reviews.json", &[]).body;
    let asked = post(
        new.address(),
        "subscribe",
        &subscriber.callback("/new"),
        1_000,
    );
    assert_eq!(asked.status, 202);
    old.wait_for_log("a subscription is active");
    assert_eq!(subscriber.verifications().len(), 2);

    // The old process still delivers its own content.
    old_data.write("reviews.json", &reviews_json(3, "2026-01-03T00:00:00Z"));
    for number in [1, 2] {
        assert_ne!(subscriber.wait_delivery(number).body, served);
    }

    end(old);
    new.wait_for_log("the hub delivers");
    for number in [3, 4] {
        assert_eq!(subscriber.wait_delivery(number).body, served);
    }
    let later = subscriber.deliveries().into_iter().skip(2);
    let callbacks: HashSet<String> = later.map(|got| got.target).collect();
    assert_eq!(callbacks.len(), 2, "one each");
}

#[test]
fn a_new_process_serves_at_once_and_delivers_when_the_old_one_has_ended_in_good_order() {
    hand_over(|old| {
        old.signal("TERM");
        assert_eq!(old.wait().0, Some(0));
    });
}

#[test]
fn a_new_process_delivers_when_the_old_one_is_killed() {
    hand_over(drop);
}
