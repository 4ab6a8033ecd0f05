//! The date under which each content is served: it never stands for two contents, and goes forward.
//!
//! The date of the files is the one of the content, unless something else was served under it or a later one: then the
//! date is one second after that. What was served last is remembered in the state directory, so that this holds after a
//! restart, too. Where it cannot be remembered, contents are served all the same.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use tracing::warn;

use crate::model::Dataset;
use crate::wire::date::{Timestamp, parse_timestamp};
use crate::wire::text::hex;

/// The file in the state directory: a date (RFC 3339), a space, a SHA-256 in hexadecimal digits, a line feed.
const FILE: &str = "content-date";

/// More bytes than the file ever has.
const FILE_BYTES_MAX: u64 = 128;

/// Gives contents their dates.
#[derive(Debug)]
pub(super) struct ContentDates {
    /// `None` without a state directory: then a restart forgets.
    path: Option<PathBuf>,
    last: Option<ContentDate>,
    /// Whether the file holds it.
    is_written: bool,
}

/// A content that was served, by its digest, and its date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ContentDate {
    digest: [u8; 32],
    date: Timestamp,
}

impl ContentDates {
    /// Reads what was served last by a process with the same state directory.
    pub(super) fn load(state: Option<&Path>) -> ContentDates {
        let path = state.map(|state| state.join(FILE));
        let last = path.as_deref().and_then(|path| match read(path) {
            Ok(last) => last,
            Err(error) => {
                warn!(file = %path.display(), %error, "the date of what was served last cannot be read");
                None
            }
        });
        let is_written = last.is_some();
        ContentDates {
            path,
            last,
            is_written,
        }
    }

    /// Gives `dataset` the date under which it is to be served.
    pub(super) fn date(&self, dataset: &mut Dataset) {
        dataset.updated_at = match &self.last {
            Some(last) if last.digest == dataset.digest => last.date,
            Some(last) => dataset
                .updated_at
                .max(Timestamp::from_unix(last.date.unix() + 1)),
            None => dataset.updated_at,
        };
    }

    /// Remembers what is about to be served, and its date.
    pub(super) fn remember(&mut self, digest: [u8; 32], date: Timestamp) {
        let next = ContentDate { digest, date };
        if self.last.replace(next) == Some(next) && self.is_written {
            return;
        }
        let written = self
            .path
            .as_deref()
            .map_or(Ok(()), |path| write(path, next));
        self.is_written = written.is_ok();
        if let (Some(path), Err(error)) = (&self.path, written) {
            warn!(file = %path.display(), %error, "the date of the content cannot be remembered for the next start");
        }
    }
}

fn read(path: &Path) -> io::Result<Option<ContentDate>> {
    let mut text = String::new();
    match File::open(path) {
        Ok(file) => file.take(FILE_BYTES_MAX).read_to_string(&mut text)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let parsed = parse(&text).ok_or_else(|| io::Error::other("it is damaged"))?;
    Ok(Some(parsed))
}

fn parse(text: &str) -> Option<ContentDate> {
    let (date, digits) = text.strip_suffix('\n')?.split_once(' ')?;
    let mut digest = [0; 32];
    let is_whole = digits.len() == 64 && digits.is_ascii();
    for (place, byte) in digest.iter_mut().enumerate().filter(|_| is_whole) {
        *byte = u8::from_str_radix(&digits[2 * place..2 * place + 2], 16).ok()?;
    }
    let date = parse_timestamp(date.as_bytes()).ok()?;
    is_whole.then_some(ContentDate { digest, date })
}

/// Replaces the file whole, before anything is served under the new date.
fn write(path: &Path, last: ContentDate) -> io::Result<()> {
    if let Some(directory) = path.parent() {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(directory)?;
    }
    let draft = path.with_extension(format!("{}.new", std::process::id()));
    // Never through a link that another user has put there.
    let _old = fs::remove_file(&draft);
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&draft)?;
    writeln!(file, "{} {}", last.date, hex(&last.digest))?;
    file.sync_all()?;
    fs::rename(&draft, path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::{decode, embedded};

    fn dataset(content: u8, date: i64) -> Dataset {
        let decoded = decode(embedded(), Timestamp::MAX).expect("the sample is right");
        Dataset {
            digest: [content; 32],
            updated_at: Timestamp::from_unix(date),
            ..decoded.dataset
        }
    }

    #[test]
    fn a_date_goes_forward_and_stands_for_one_content_also_after_a_restart() {
        let state = tempfile::tempdir().unwrap();
        let state = state.path().join("state");
        let mut dates = ContentDates::load(Some(&state));
        for (content, date, expected) in [
            (1, 100, 100),
            (1, 200, 100),
            (2, 200, 200),
            (3, 200, 201),
            (4, 50, 202),
            (3, 200, 203),
            (3, 300, 203),
            (5, 204, 204),
        ] {
            for _ in 0..2 {
                let mut dataset = dataset(content, date);
                dates.date(&mut dataset);
                dates.remember(dataset.digest, dataset.updated_at);
                assert_eq!(dataset.updated_at.unix(), expected, "{content} {date}");
                dates = ContentDates::load(Some(&state));
            }
        }
    }

    #[test]
    fn a_damaged_file_is_none() {
        let whole = format!("2026-01-01T00:00:00Z {}\n", "0a".repeat(32));
        let parsed = parse(&whole).unwrap();
        assert_eq!(parsed.digest, [10; 32]);
        assert_eq!(parsed.date.to_string(), "2026-01-01T00:00:00Z");
        for damaged in [
            String::new(),
            whole.replace('\n', ""),
            whole.replace('Z', ""),
            whole.replacen("0a", "0g", 1),
            whole.replacen("0a", "0", 1),
            whole.replacen("0a", "é", 1),
        ] {
            assert_eq!(parse(&damaged), None, "{damaged:?}");
        }
    }
}
