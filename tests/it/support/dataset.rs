//! Small datasets in temporary directories.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use tempfile::TempDir;

/// A data directory that is removed at the end.
pub(crate) struct DataDir {
    directory: TempDir,
}

impl DataDir {
    /// Makes a directory with the dataset [`reviews_json`] of `count` reviews.
    pub(crate) fn with_reviews(count: usize, updated_at: &str) -> DataDir {
        let data = DataDir::empty();
        data.write("reviews.json", &reviews_json(count, updated_at));
        data
    }

    /// Makes a directory without files.
    pub(crate) fn empty() -> DataDir {
        DataDir {
            directory: tempfile::tempdir().expect("a directory can be made"),
        }
    }

    /// Makes a directory with the files of the sample.
    pub(crate) fn sample() -> DataDir {
        let data = DataDir::empty();
        for entry in fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/data")).unwrap() {
            let entry = entry.unwrap();
            fs::copy(entry.path(), data.path().join(entry.file_name())).unwrap();
        }
        data
    }

    /// Returns the path of the directory.
    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Replaces a file atomically: it is written under another name and renamed. Its modification time is 1970, so that
    /// `updated_at` dates the content.
    pub(crate) fn write(&self, name: &str, contents: &str) {
        let beside = format!("{name}.new");
        fs::write(self.path().join(&beside), contents).expect("the file can be written");
        self.set_modified(&beside, UNIX_EPOCH);
        fs::rename(self.path().join(&beside), self.path().join(name))
            .expect("the file can be renamed");
    }

    /// Sets the modification time of a file.
    pub(crate) fn set_modified(&self, name: &str, time: SystemTime) {
        let file = fs::File::options().write(true).open(self.path().join(name));
        let set = file.and_then(|file| file.set_modified(time));
        set.expect("the time can be set");
    }
}

/// Returns a `reviews.json` with `count` reviews, `r00000` the oldest, all of them verified.
pub(crate) fn reviews_json(count: usize, updated_at: &str) -> String {
    let mut reviews = String::new();
    for number in 0..count {
        let comma = if number == 0 { "" } else { "," };
        let rating = 1 + number % 5;
        let year = 2019 + number / 336 % 7;
        let month = 1 + number / 28 % 12;
        let day = 1 + number % 28;
        write!(
            reviews,
            r#"{comma}{{"id":"r{number:05}","author":"Author {number}","author_avatar_url":null,"rating":{rating},"date":"{year}-{month:02}-{day:02}","text":"Review number {number} of this practice.","source":"google","source_url":null,"owner_reply":null,"verified":true}}"#
        )
        .expect("a string takes everything");
    }
    format!(
        r#"{{"business":{{"name":"Example & Partners","type":"LegalService","description":"A practice for tests.","url":"https://practice.example","telephone":"+1 555 0100","email":"office@practice.example","address":{{"street_address":"1 Main Street","locality":"Springfield","region":"IL","postal_code":"62701","country":"US"}},"geo":null,"opening_hours":[],"service_areas":[],"services":[],"technicians":[],"same_as":[]}},"disclaimer":null,"updated_at":"{updated_at}","reviews":[{reviews}]}}"#
    )
}

/// Returns a `reviews.json` of more than a megabyte that is fast to parse: few reviews with long replies.
pub(crate) fn large_reviews_json(updated_at: &str) -> String {
    let reply = format!(r#"{{"text":"{}","date":"2026-01-01"}}"#, "x".repeat(5_000));
    reviews_json(300, updated_at).replace(
        r#""owner_reply":null"#,
        &format!(r#""owner_reply":{reply}"#),
    )
}
