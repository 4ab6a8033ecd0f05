//! Bounds of what is fetched, each on both sides.

use std::fs;

use tar::EntryType;

use super::super::polls::Polled;
use super::super::{FollowError, pack};
use super::follow::{Desk, sample};
use super::tar;
use crate::clock;
use crate::server::fetch::FetchError;
use crate::wire::date::Timestamp;

/// Publishes a bundle that is larger than any file in it, and returns how large: what is passed over in it cannot be
/// compressed.
fn publish_a_large_one(desk: &Desk) -> u64 {
    let mut state = 1_u64;
    let noise = std::iter::repeat_with(|| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 56) as u8
    });
    let files = sample("2026-01-01T00:00:00Z");
    let noise: Vec<u8> = noise.take(2 * files.reviews.len()).collect();
    let plain = tar(&[
        (EntryType::XHeader, "PaxHeaders", &noise),
        (EntryType::Regular, "reviews.json", &files.reviews),
    ]);
    let bundle = zstd::encode_all(plain.as_slice(), 3).unwrap();
    assert!(bundle.len() > files.reviews.len());
    fs::write(desk.bundle(), &bundle).unwrap();
    fs::write(desk.sidecar(), pack::digest_line(&bundle, "b.tar.zst")).unwrap();
    bundle.len() as u64
}

fn after(now: Timestamp, seconds: i64) -> Timestamp {
    Timestamp::from_unix(now.unix() + seconds)
}

#[test]
fn a_bundle_is_bounded_on_both_sides_and_one_that_is_too_large_is_left_alone_for_an_hour() {
    let desk = Desk::new();
    let bytes = publish_a_large_one(&desk);
    let mut less = desk.follower_within(bytes - 1);
    let now = clock::now();
    let error = less.poll(None, now).unwrap_err();
    assert!(
        matches!(error, FollowError::Fetch(_, FetchError::TooLarge(most)) if most == bytes - 1),
        "{error}"
    );
    // Without the bundle itself the second look could not have fetched it.
    let bundle = fs::read(desk.bundle()).unwrap();
    fs::remove_file(desk.bundle()).unwrap();
    let again = less.poll(None, after(now, 3_599)).unwrap_err();
    assert_eq!(again.to_string(), error.to_string());
    let gone = less.poll(None, after(now, 3_600)).unwrap_err();
    assert_ne!(gone.to_string(), error.to_string(), "it was asked for");
    fs::write(desk.bundle(), bundle).unwrap();
    let mut enough = desk.follower_within(bytes);
    assert_eq!(enough.poll(None, clock::now()).unwrap(), Polled::Replaced);
    // Another one is looked at.
    desk.publish("2026-01-02T00:00:00Z");
    assert_eq!(less.poll(None, clock::now()).unwrap(), Polled::Replaced);
}

#[test]
fn a_wrong_body_that_is_too_large_does_not_pin_the_digest_that_is_not_its_own() {
    let desk = Desk::new();
    desk.publish("2026-01-01T00:00:00Z");
    let right = fs::read(desk.bundle()).unwrap();
    fs::write(desk.bundle(), vec![b'x'; (8 << 20) + 1]).unwrap();
    let mut follower = desk.follower_within(8 << 20);
    let now = clock::now();
    let error = follower.poll(None, now).unwrap_err();
    assert!(
        matches!(error, FollowError::Fetch(_, FetchError::TooLarge(_))),
        "{error}"
    );
    fs::write(desk.bundle(), right).unwrap();
    follower.poll(None, after(now, 3_599)).unwrap_err();
    let polled = follower.poll(None, after(now, 3_600)).unwrap();
    assert_eq!(polled, Polled::Replaced);
}

#[test]
fn the_file_with_the_digest_is_bounded_on_both_sides() {
    let desk = Desk::new();
    desk.publish("2026-01-01T00:00:00Z");
    let line = fs::read_to_string(desk.sidecar()).unwrap();
    let padded = |bytes: usize| format!("{line}{}", "\n".repeat(bytes - line.len()));
    let mut follower = desk.follower();
    fs::write(desk.sidecar(), padded((64 << 10) + 1)).unwrap();
    let error = follower.poll(None, clock::now()).unwrap_err();
    assert!(
        error.to_string().ends_with("is larger than 65536 bytes"),
        "{error}"
    );
    fs::write(desk.sidecar(), padded(64 << 10)).unwrap();
    assert_eq!(follower.poll(None, clock::now()).unwrap(), Polled::Replaced);
}
