//! Bundles that nobody should trust, and looks at addresses of this disk.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use tar::{Builder, EntryType, Header};

use super::digest::{Hex, parse_many, parse_one};
use super::polls::Polled;
use super::unpack::{ENTRIES_MAX, RATIO_FREE_BYTES, RATIO_MAX, unpack};
use super::*;

const FILE_BYTES: u64 = 1 << 20;

/// An entry: its kind, its path as the header holds it, and its content.
type Entry<'a> = (EntryType, &'a str, &'a [u8]);

fn tar(entries: &[Entry<'_>]) -> Vec<u8> {
    let mut builder = Builder::new(Vec::new());
    for (kind, path, content) in entries {
        let mut header = Header::new_ustar();
        // Written as it is: the builder itself would refuse what the tests need.
        header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
        header.set_entry_type(*kind);
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        header.set_cksum();
        builder.append(&header, *content).unwrap();
    }
    builder.into_inner().unwrap()
}

fn try_unpack(plain: &[u8], file_bytes: u64) -> Result<Vec<String>, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bundle");
    fs::write(&path, zstd::encode_all(plain, 3).unwrap()).unwrap();
    unpack_file(&path, folder.path(), file_bytes)
}

fn unpack_file(path: &Path, folder: &Path, file_bytes: u64) -> Result<Vec<String>, String> {
    let into = folder.join("into");
    fs::create_dir(&into).unwrap();
    let unpacked = unpack(File::open(path).unwrap(), &into, file_bytes);
    assert_eq!(
        fs::read_dir(folder).unwrap().count(),
        2,
        "nothing lands beside"
    );
    unpacked.map_err(|error| error.to_string())?;
    let names = fs::read_dir(&into).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    Ok(names.collect())
}

#[test]
fn the_files_of_a_data_directory_are_unpacked_as_every_tar_writes_them() {
    let entries = [
        (
            EntryType::XGlobalHeader,
            "pax_global_header",
            &b"30 mtime=1700000000.123456789\n"[..],
        ),
        (EntryType::Directory, "./", b""),
        (
            EntryType::XHeader,
            "PaxHeaders/reviews.json",
            b"20 mtime=1.5\n",
        ),
        (EntryType::Regular, "./reviews.json", b"{}"),
        (EntryType::Regular, "taxonomy.json", b"[]"),
    ];
    let mut names = try_unpack(&tar(&entries), FILE_BYTES).unwrap();
    names.sort();
    assert_eq!(names, ["reviews.json", "taxonomy.json"]);
}

#[test]
fn what_is_no_file_of_ours_is_refused_by_name() {
    let good = (EntryType::Regular, "reviews.json", &b"{}"[..]);
    for (kind, path, told) in [
        (
            EntryType::Regular,
            "../reviews.json",
            "holds \"../reviews.json\": only reviews.json, ",
        ),
        (
            EntryType::Regular,
            "/etc/passwd",
            "holds \"/etc/passwd\": only ",
        ),
        (
            EntryType::Regular,
            "data/reviews.json",
            "holds \"data/reviews.json\": only ",
        ),
        (
            EntryType::Regular,
            "._reviews.json",
            "holds \"._reviews.json\": only ",
        ),
        (
            EntryType::Regular,
            "././taxonomy.json",
            "without directories",
        ),
        (EntryType::Regular, "", "holds \"\": only "),
        (
            EntryType::Symlink,
            "taxonomy.json",
            "\"taxonomy.json\", which is not a regular file",
        ),
        (
            EntryType::Link,
            "taxonomy.json",
            "which is not a regular file",
        ),
        (
            EntryType::Fifo,
            "taxonomy.json",
            "which is not a regular file",
        ),
        (
            EntryType::Char,
            "taxonomy.json",
            "which is not a regular file",
        ),
        (
            EntryType::GNUSparse,
            "taxonomy.json",
            "which is not a regular file",
        ),
        (
            EntryType::GNULongName,
            "././@LongLink",
            "which is not a regular file",
        ),
        (EntryType::Directory, "../", "holds the directory \"../\""),
        (
            EntryType::Regular,
            "reviews.json",
            "holds reviews.json twice",
        ),
    ] {
        let refused = try_unpack(&tar(&[good, (kind, path, b"")]), FILE_BYTES).unwrap_err();
        assert!(refused.contains(told), "{path}: {refused}");
    }
    let refused = try_unpack(
        &tar(&[(EntryType::Regular, "check.json", b"{}")]),
        FILE_BYTES,
    );
    assert_eq!(refused, Err("the bundle holds no reviews.json".to_owned()));
}

#[test]
fn a_file_is_bounded_on_both_sides() {
    let content = vec![b'x'; 1_000];
    let archive = tar(&[(EntryType::Regular, "reviews.json", &content)]);
    assert!(try_unpack(&archive, 1_000).is_ok());
    assert_eq!(
        try_unpack(&archive, 999),
        Err(
            "the bundle holds reviews.json of 1000 bytes, more than 999 (--data-file-bytes)"
                .to_owned()
        )
    );
}

#[test]
fn entries_are_counted_those_passed_over_included() {
    for (count, is_taken) in [(ENTRIES_MAX, true), (ENTRIES_MAX + 1, false)] {
        let mut entries = vec![(EntryType::XHeader, "PaxHeaders", &b"9 a=b\n"[..]); count - 1];
        entries.push((EntryType::Regular, "reviews.json", b"{}"));
        let unpacked = try_unpack(&tar(&entries), FILE_BYTES);
        assert_eq!(unpacked.is_ok(), is_taken, "{unpacked:?}");
    }
}

#[test]
fn a_bundle_that_swells_is_given_up_at_the_bound() {
    // What it may hold follows its own size, so one of zeros is tried with lengths on both sides of the bound.
    let folder = tempfile::tempdir().unwrap();
    let attempt = |content_bytes: u64| {
        let content = vec![0; usize::try_from(content_bytes).unwrap()];
        let plain = tar(&[(EntryType::Regular, "reviews.json", &content)]);
        let compressed = zstd::encode_all(plain.as_slice(), 3).unwrap();
        let bound = RATIO_FREE_BYTES + RATIO_MAX * compressed.len() as u64;
        let inner = tempfile::tempdir_in(folder.path()).unwrap();
        let path = inner.path().join("bundle");
        fs::write(&path, compressed).unwrap();
        (
            plain.len() as u64 <= bound,
            unpack_file(&path, inner.path(), 64 << 20),
        )
    };
    let (fits, unpacked) = attempt(RATIO_FREE_BYTES);
    assert!(fits && unpacked.is_ok(), "{unpacked:?}");
    let (fits, unpacked) = attempt(8 << 20);
    assert!(!fits);
    assert!(
        unpacked
            .unwrap_err()
            .contains("it holds more than 250 times its size")
    );
}

#[test]
fn a_window_that_takes_too_much_memory_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for (log, is_taken) in [(23, true), (24, false)] {
        let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 3).unwrap();
        encoder
            .set_parameter(zstd::stream::raw::CParameter::WindowLog(log))
            .unwrap();
        encoder.include_contentsize(false).unwrap();
        // Larger than either window, or the encoder would take a smaller one.
        let content: Vec<u8> = (0_u32..5_000_000).flat_map(u32::to_le_bytes).collect();
        let plain = tar(&[(EntryType::Regular, "reviews.json", &content)]);
        encoder.write_all(&plain).unwrap();
        let inner = tempfile::tempdir_in(folder.path()).unwrap();
        let path = inner.path().join("bundle");
        fs::write(&path, encoder.finish().unwrap()).unwrap();
        let unpacked = unpack_file(&path, inner.path(), 64 << 20);
        assert_eq!(unpacked.is_ok(), is_taken, "{unpacked:?}");
    }
}

#[test]
fn damage_is_an_error_wherever_it_is() {
    let plain = tar(&[(EntryType::Regular, "reviews.json", &[b'x'; 5_000])]);
    let compressed = zstd::encode_all(plain.as_slice(), 3).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bundle");
    for end in 0..compressed.len() {
        fs::write(&path, &compressed[..end]).unwrap();
        let unpacked = unpack_file(&path, folder.path(), FILE_BYTES);
        assert!(unpacked.is_err(), "cut at {end}");
        fs::remove_dir_all(folder.path().join("into")).unwrap();
    }
    let unpacked = try_unpack(&plain[..700], FILE_BYTES);
    assert!(unpacked.is_err(), "an archive that ends within a file");
}

#[test]
fn digests_are_read_as_sha256sum_writes_them() {
    let digest = "A".repeat(64);
    let low = "a".repeat(64);
    assert_eq!(
        parse_one(format!("{digest}  b.tar.zst\n").as_bytes()),
        Hex::parse(&low)
    );
    assert_eq!(parse_one(digest.as_bytes()), Hex::parse(&low));
    assert_eq!(parse_one(b"<!DOCTYPE html>"), None);
    assert_eq!(parse_one(b""), None);
    let many = format!("{low}  reviews.json\n{low} *./check.json\r\n\n");
    let many = parse_many(many.as_bytes()).unwrap();
    let names: Vec<&str> = many.iter().map(|(_, name)| name.as_str()).collect();
    assert_eq!(names, ["reviews.json", "check.json"]);
    let wrong = parse_many(format!("{low}  a\nx  b").as_bytes()).unwrap_err();
    assert_eq!(wrong, "line 2: must be a digest, two spaces and a name");
}

/// A place of publication on this disk, and who follows it.
struct Desk {
    folder: tempfile::TempDir,
}

impl Desk {
    fn new() -> Desk {
        Desk {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    fn bundle(&self) -> PathBuf {
        self.folder.path().join("b.tar.zst")
    }

    /// Publishes the sample with another time and text in it.
    fn publish(&self, updated_at: &str) {
        let files = sample(updated_at);
        let time = crate::wire::date::Timestamp::from_unix(0);
        let bundle = pack::pack(&files, time).unwrap();
        fs::write(self.bundle(), &bundle).unwrap();
        fs::write(self.sidecar(), pack::digest_line(&bundle, "b.tar.zst")).unwrap();
    }

    fn sidecar(&self) -> PathBuf {
        self.folder.path().join("b.tar.zst.sha256")
    }

    fn follower(&self) -> Follower {
        let url = url::Url::from_file_path(self.bundle()).unwrap();
        let remote = Remote {
            location: Location::parse(url.as_str()).unwrap(),
            poll: Duration::from_secs(1),
            ca: None,
        };
        Follower::new(&remote, &self.folder.path().join("state"), 64 << 20).unwrap()
    }
}

fn sample(updated_at: &str) -> crate::dataset::Files {
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
    let time = crate::wire::date::Timestamp::from_unix(1_700_000_000);
    let files = sample("2026-01-01T00:00:00Z");
    let bundle = pack::pack(&files, time).unwrap();
    assert_eq!(bundle, pack::pack(&files, time).unwrap());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bundle");
    fs::write(&path, bundle).unwrap();
    unpack_file(&path, folder.path(), 64 << 20).unwrap();
    let read = super::super::files::read(&folder.path().join("into"), 64 << 20).unwrap();
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
    let files = super::super::files::read(&again.current(), 64 << 20).unwrap();
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
        super::super::load::judge(&current, 64 << 20, clock::now()).unwrap()
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
    let at = |text: &str| crate::wire::date::parse_timestamp(text.as_bytes()).unwrap();
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
    let time = crate::wire::date::Timestamp::from_unix(0);
    let mut files = sample("2026-01-01T00:00:00Z");
    files.reviews = b"{}".to_vec();
    let bundle = pack::pack(&files, time).unwrap();
    fs::write(desk.bundle(), &bundle).unwrap();
    fs::write(desk.sidecar(), pack::digest_line(&bundle, "b.tar.zst")).unwrap();
    let mut follower = desk.follower();
    let error = follower.poll(None, time).unwrap_err();
    assert!(matches!(error, FollowError::Data(_)), "{error}");
    fs::remove_file(desk.bundle()).unwrap();
    let later = crate::wire::date::Timestamp::MAX;
    let again = follower.poll(None, later).unwrap_err();
    assert_eq!(again.to_string(), error.to_string());
}

#[test]
fn what_the_disk_did_is_judged_again_and_what_is_too_large_is_not() {
    use super::super::files::{ReadCause, ReadError};
    use super::super::load::LoadError;
    let worth = |cause| {
        let path = PathBuf::from("reviews.json");
        let error = FollowError::from(LoadError::Read(ReadError { path, cause }));
        error.worth().is_given(clock::now())
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
    let files = super::super::files::read(&desk.follower().current(), 64 << 20).unwrap();
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
