//! Looks at addresses of this disk: what is taken, refused, kept and fetched again.

use std::fs;
use std::path::PathBuf;

use super::super::polls::Polled;
use super::super::*;
use super::unpack_file;
use crate::server::files::{ReadCause, ReadError, read as read_files};
use crate::server::load::{LoadError, judge as judge_files};
use crate::wire::date::{Timestamp, parse_timestamp};

/// A place of publication on this disk, and who follows it.
pub(super) struct Desk {
    folder: tempfile::TempDir,
}

impl Desk {
    pub(super) fn new() -> Desk {
        Desk {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    pub(super) fn bundle(&self) -> PathBuf {
        self.folder.path().join("b.tar.zst")
    }

    /// Publishes the sample with another time and text in it.
    pub(super) fn publish(&self, updated_at: &str) {
        let files = sample(updated_at);
        let time = Timestamp::from_unix(0);
        let bundle = pack::pack(&files, time).unwrap();
        fs::write(self.bundle(), &bundle).unwrap();
        fs::write(self.sidecar(), pack::digest_line(&bundle, "b.tar.zst")).unwrap();
    }

    pub(super) fn sidecar(&self) -> PathBuf {
        self.folder.path().join("b.tar.zst.sha256")
    }

    pub(super) fn follower(&self) -> Follower {
        self.follower_within(64 << 20)
    }

    pub(super) fn follower_within(&self, file_bytes: u64) -> Follower {
        let url = url::Url::from_file_path(self.bundle()).unwrap();
        let remote = Remote {
            location: Location::parse(url.as_str()).unwrap(),
            poll: Duration::from_secs(1),
            ca: None,
        };
        Follower::new(&remote, &self.folder.path().join("state"), file_bytes).unwrap()
    }
}

pub(super) fn sample(updated_at: &str) -> crate::dataset::Files {
    let mut files = crate::dataset::embedded();
    let text = String::from_utf8(files.reviews).unwrap();
    let at = text.find("\"updated_at\"").unwrap();
    let start = at + text[at..].find(": \"").unwrap() + 3;
    let end = start + text[start..].find('"').unwrap();
    files.reviews = format!("{}{updated_at}{}", &text[..start], &text[end..]).into_bytes();
    files
}

#[test]
fn the_same_files_make_the_same_bundle_and_it_holds_them() {
    let time = Timestamp::from_unix(1_700_000_000);
    let files = sample("2026-01-01T00:00:00Z");
    let bundle = pack::pack(&files, time).unwrap();
    assert_eq!(bundle, pack::pack(&files, time).unwrap());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bundle");
    fs::write(&path, bundle).unwrap();
    unpack_file(&path, folder.path(), 64 << 20).unwrap();
    let read = read_files(&folder.path().join("into"), 64 << 20).unwrap();
    assert_eq!(read.reviews, files.reviews);
    assert_eq!(read.taxonomy, files.taxonomy);
}

#[test]
fn what_is_published_is_kept_and_survives_its_source() {
    let desk = Desk::new();
    let mut follower = desk.follower();
    assert!(
        follower.poll(None, clock::now()).is_err(),
        "there is nothing yet"
    );
    assert!(!follower.has_current());
    desk.publish("2026-01-01T00:00:00Z");
    assert_eq!(follower.poll(None, clock::now()).unwrap(), Polled::Replaced);
    assert_eq!(follower.poll(None, clock::now()).unwrap(), Polled::Same);
    fs::remove_file(desk.sidecar()).unwrap();
    let mut again = desk.follower();
    assert!(again.has_current() && again.poll(None, clock::now()).is_err());
    let files = read_files(&again.current(), 64 << 20).unwrap();
    assert_eq!(files.reviews, sample("2026-01-01T00:00:00Z").reviews);
}

#[test]
fn half_of_a_publication_changes_nothing_until_the_other_half_is_there() {
    let desk = Desk::new();
    desk.publish("2026-01-01T00:00:00Z");
    let mut follower = desk.follower();
    follower.poll(None, clock::now()).unwrap();
    let before = fs::read_link(follower.current()).unwrap();
    fs::write(desk.sidecar(), "0".repeat(64)).unwrap();
    for _ in 0..2 {
        let error = follower.poll(None, clock::now()).unwrap_err();
        assert!(matches!(error, FollowError::Mismatch { .. }), "{error}");
        assert_eq!(fs::read_link(follower.current()).unwrap(), before);
    }
    fs::write(desk.sidecar(), "<html>").unwrap();
    let error = follower.poll(None, clock::now()).unwrap_err().to_string();
    assert!(
        error.ends_with("must begin with a digest of 64 hexadecimal digits"),
        "{error}"
    );
    desk.publish("2026-01-02T00:00:00Z");
    assert_eq!(follower.poll(None, clock::now()).unwrap(), Polled::Replaced);
}

#[test]
fn a_refused_dataset_is_fetched_once_and_an_older_one_is_not_taken() {
    let desk = Desk::new();
    desk.publish("2026-01-02T00:00:00Z");
    let mut follower = desk.follower();
    follower.poll(None, clock::now()).unwrap();
    let judge = || {
        let current = desk.follower().current();
        judge_files(&current, 64 << 20, clock::now()).unwrap()
    };
    let served = judge();
    desk.publish("2026-01-01T00:00:00Z");
    let error = follower.poll(Some(served), clock::now()).unwrap_err();
    assert!(matches!(error, FollowError::Older { .. }), "{error}");
    // Without the bundle itself the second look could not have fetched it.
    fs::remove_file(desk.bundle()).unwrap();
    let again = follower.poll(Some(served), clock::now()).unwrap_err();
    assert_eq!(again.to_string(), error.to_string());
    assert_eq!(judge(), served);
    let counts: Vec<u64> = follower.polls().counts().map(|(_, count)| count).collect();
    assert_eq!(counts, [1, 0, 2]);
}

#[test]
fn a_dataset_from_the_future_is_fetched_once_and_taken_when_its_time_has_come() {
    let at = |text: &str| parse_timestamp(text.as_bytes()).unwrap();
    let desk = Desk::new();
    desk.publish("2026-01-01T00:00:00Z");
    let mut follower = desk.follower();
    follower.poll(None, at("2026-01-01T00:00:00Z")).unwrap();
    desk.publish("2026-01-02T00:00:05Z");
    let bundle = fs::read(desk.bundle()).unwrap();
    let error = follower.poll(None, at("2026-01-02T00:00:00Z")).unwrap_err();
    assert!(matches!(error, FollowError::Early { .. }), "{error}");
    assert!(error.to_string().contains("lies in the future"), "{error}");
    // Without the bundle itself the second look could not have fetched it.
    fs::remove_file(desk.bundle()).unwrap();
    let again = follower.poll(None, at("2026-01-02T00:00:04Z")).unwrap_err();
    assert_eq!(again.to_string(), error.to_string());
    fs::write(desk.bundle(), bundle).unwrap();
    let polled = follower.poll(None, at("2026-01-02T00:00:05Z")).unwrap();
    assert_eq!(polled, Polled::Replaced);
}

#[test]
fn what_is_wrong_in_itself_is_not_fetched_again_when_time_has_passed() {
    let desk = Desk::new();
    let time = Timestamp::from_unix(0);
    let mut files = sample("2026-01-01T00:00:00Z");
    files.reviews = b"{}".to_vec();
    let bundle = pack::pack(&files, time).unwrap();
    fs::write(desk.bundle(), &bundle).unwrap();
    fs::write(desk.sidecar(), pack::digest_line(&bundle, "b.tar.zst")).unwrap();
    let mut follower = desk.follower();
    let error = follower.poll(None, time).unwrap_err();
    assert!(matches!(error, FollowError::Data(_)), "{error}");
    fs::remove_file(desk.bundle()).unwrap();
    let later = Timestamp::MAX;
    let again = follower.poll(None, later).unwrap_err();
    assert_eq!(again.to_string(), error.to_string());
}

#[test]
fn what_the_disk_did_is_judged_again_and_what_is_too_large_is_not() {
    let worth = |cause| {
        let path = PathBuf::from("reviews.json");
        let error = FollowError::from(LoadError::Read(ReadError { path, cause }));
        error.worth(clock::now()).is_given(Timestamp::MAX)
    };
    assert!(worth(ReadCause::System(std::io::Error::from_raw_os_error(
        5
    ))));
    assert!(worth(ReadCause::Changing));
    assert!(!worth(ReadCause::TooLarge(1)));
}

#[test]
fn what_is_kept_and_broken_is_fetched_again_whatever_its_digest() {
    let desk = Desk::new();
    desk.publish("2026-01-01T00:00:00Z");
    desk.follower().poll(None, clock::now()).unwrap();
    let kept = desk.follower().current().join("reviews.json");
    fs::write(&kept, "{}").unwrap();
    let bundle = fs::read(desk.bundle()).unwrap();
    fs::remove_file(desk.bundle()).unwrap();
    desk.follower().replace(clock::now()).unwrap_err();
    assert_eq!(fs::read(&kept).unwrap(), b"{}", "there is no better one");
    fs::write(desk.bundle(), bundle).unwrap();
    desk.follower().replace(clock::now()).unwrap();
    let files = read_files(&desk.follower().current(), 64 << 20).unwrap();
    assert_eq!(files.reviews, sample("2026-01-01T00:00:00Z").reviews);
    let names = fs::read_dir(desk.folder.path().join("state/dataset")).unwrap();
    assert_eq!(names.count(), 3, "origin, current and the files");
}

#[test]
fn what_was_fetched_from_another_address_does_not_count() {
    let desk = Desk::new();
    desk.publish("2026-01-01T00:00:00Z");
    desk.follower().poll(None, clock::now()).unwrap();
    assert!(desk.follower().has_current());
    let other = Remote {
        location: Location::parse("https://elsewhere.example/").unwrap(),
        poll: Duration::from_secs(1),
        ca: None,
    };
    let other = Follower::new(&other, &desk.folder.path().join("state"), 1).unwrap();
    assert!(!other.has_current());
}

#[test]
fn a_directory_is_followed_by_its_digests_and_only_what_changed_is_fetched() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("source");
    fs::create_dir(&source).unwrap();
    let publish = |updated_at: &str| {
        let files = sample(updated_at);
        let taxonomy = files.taxonomy.unwrap();
        fs::write(source.join("reviews.json"), &files.reviews).unwrap();
        fs::write(source.join("taxonomy.json"), &taxonomy).unwrap();
        let sums = pack::digest_line(&files.reviews, "reviews.json")
            + &pack::digest_line(&taxonomy, "taxonomy.json")
            + &pack::digest_line(b"", "notes.txt");
        fs::write(source.join("SHA256SUMS"), sums).unwrap();
    };
    let url = url::Url::from_directory_path(&source).unwrap();
    let remote = Remote {
        location: Location::parse(url.as_str()).unwrap(),
        poll: Duration::from_secs(1),
        ca: None,
    };
    let mut follower = Follower::new(&remote, &folder.path().join("state"), 64 << 20).unwrap();
    publish("2026-01-01T00:00:00Z");
    assert_eq!(follower.poll(None, clock::now()).unwrap(), Polled::Replaced);
    publish("2026-01-02T00:00:00Z");
    fs::remove_file(source.join("taxonomy.json")).unwrap();
    assert_eq!(follower.poll(None, clock::now()).unwrap(), Polled::Replaced);
    assert!(follower.current().join("taxonomy.json").exists());
    publish("2026-01-03T00:00:00Z");
    fs::write(source.join("reviews.json"), "{}").unwrap();
    let error = follower.poll(None, clock::now()).unwrap_err();
    assert!(matches!(error, FollowError::Mismatch { .. }), "{error}");
    for (sums, told) in [
        (String::new(), "does not name reviews.json"),
        (
            pack::digest_line(b"", "reviews.json").repeat(2),
            "names reviews.json twice",
        ),
    ] {
        fs::write(source.join("SHA256SUMS"), sums).unwrap();
        let error = follower.poll(None, clock::now()).unwrap_err().to_string();
        assert!(error.contains(told), "{error}");
    }
}
