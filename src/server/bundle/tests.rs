//! Bundles that nobody should trust, and what follows addresses of this disk.

mod follow;
mod limits;

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use tar::{Builder, EntryType, Header};

use super::digest::{Hex, parse_many, parse_one};
use super::unpack::unpack;
use crate::dataset::bundle::{ENTRIES_MAX, RATIO_FREE_BYTES, RATIO_MAX};

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
