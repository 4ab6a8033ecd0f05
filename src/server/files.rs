//! Reads the operator's files: completely, up to a limit of size, and not while they are being written.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use thiserror::Error;
use tokio::time::Instant;

use crate::dataset::{
    CHANGES, CHECK, EDITORIAL, FILES, FileSpec, Files, IGNORED, INSIGHTS, LOGO_PNG, LOGO_SVG,
    NOTICES, REVIEWS, SITE, TAXONOMY, THEME,
};
use crate::wire::date::Timestamp;

/// How long the files must stay unchanged to count as completely written.
pub(super) const QUIET: Duration = Duration::from_secs(1);

/// How long to wait for files that keep changing before they are read anyway, and to read files again that change while they
/// are read. Our choice: longer than it takes to copy a directory.
pub(super) const WRITTEN_WAIT_MAX: Duration = Duration::from_secs(60);

/// How often files are read that change while they are read, before this is an error.
const ATTEMPTS: u32 = 3;

/// The permissions of a file that are not its owner's: those of its group and of all other users.
const OTHERS_MODE: u32 = 0o077;

/// Why a file could not be read.
#[derive(Debug, Error)]
#[error("{}: {cause}", path.display())]
pub struct FileError {
    /// The file, or the directory of several.
    pub path: PathBuf,
    /// The error.
    pub cause: ReadCause,
}

impl FileError {
    /// Returns the error for `/readyz`, which is public: without the folder, and without who can read secrets.
    pub(super) fn for_the_public(&self) -> String {
        let name = self.path.file_name().unwrap_or_default().display();
        match self.cause {
            ReadCause::Changing => "the data files change while they are read".to_owned(),
            ReadCause::Exposed(_) => format!("{name}: has permissions that are not accepted"),
            _ => format!("{name}: {}", self.cause),
        }
    }
}

/// An error of a file.
#[derive(Debug, Error)]
pub enum ReadCause {
    /// A required file does not exist.
    #[error("there is no such file")]
    Missing,
    /// The file is larger than this number of bytes.
    #[error("is larger than {0} bytes")]
    TooLarge(u64),
    /// The files of the directory were changed each time that they were read.
    #[error("its files change while they are read")]
    Changing,
    /// Other users of the machine can read the file, which has secrets; its permissions.
    #[error("can be read by others (mode {0:03o}), and its addresses are secrets: chmod 600")]
    Exposed(u32),
    /// The system could not open or read the file.
    #[error("cannot be read: {0}")]
    System(io::Error),
}

impl ReadCause {
    /// Tells whether the reason may pass without a new version of the file.
    pub(super) fn may_pass(&self) -> bool {
        matches!(self, ReadCause::System(_) | ReadCause::Changing)
    }
}

/// Reads a consistent set of the files of `directory`. Links in the path are resolved once, so all files are from the
/// same directory.
///
/// # Errors
/// If `reviews.json` is missing, or any file is too large, unreadable, or still being written.
pub fn read(directory: &Path) -> Result<Files, FileError> {
    for _ in 0..ATTEMPTS {
        // A missing directory is reported when its files are read.
        let resolved = fs::canonicalize(directory).unwrap_or_else(|_| directory.to_owned());
        let before = Stamps::of(&resolved);
        let files = read_once(directory, &resolved)?;
        if Stamps::of(&resolved) == before {
            let modified = before.modified();
            return Ok(Files { modified, ..files });
        }
    }
    Err(FileError {
        path: directory.to_owned(),
        cause: ReadCause::Changing,
    })
}

/// Reads `notices.json`, which only its owner may read; `None` if there is none.
///
/// # Errors
/// If it is too large, or cannot be read, or if others can read it.
pub fn read_notices(directory: &Path) -> Result<Option<Vec<u8>>, FileError> {
    let path = directory.join(NOTICES.name);
    // If there is no metadata, `read_file` tells why.
    let mode = fs::metadata(&path).map_or(0, |metadata| metadata.mode() & 0o777);
    if mode & OTHERS_MODE != 0 {
        let cause = ReadCause::Exposed(mode);
        return Err(FileError { path, cause });
    }
    read_file(&path, NOTICES.bytes_max as u64).map_err(|cause| FileError { path, cause })
}

/// Reads the files once. The directory `resolved` is the one that the operator calls `named`, its links resolved.
fn read_once(named: &Path, resolved: &Path) -> Result<Files, FileError> {
    let folder = DataFolder { named, resolved };
    let Some(reviews) = folder.read(REVIEWS)? else {
        return Err(folder.error(REVIEWS, ReadCause::Missing));
    };
    Ok(Files {
        reviews,
        taxonomy: folder.read(TAXONOMY)?,
        editorial: folder.read(EDITORIAL)?,
        insights: folder.read(INSIGHTS)?,
        check: folder.read(CHECK)?,
        ignored: folder.read(IGNORED)?,
        site: folder.read(SITE)?,
        theme: folder.read(THEME)?,
        logo_svg: folder.read(LOGO_SVG)?,
        logo_png: folder.read(LOGO_PNG)?,
        changes: folder.read(CHANGES)?,
        // Set by the caller, once it is known that the files did not change.
        modified: None,
    })
}

/// A data directory.
struct DataFolder<'p> {
    /// The path that the operator uses, for errors.
    named: &'p Path,
    /// The path without links, for reading.
    resolved: &'p Path,
}

impl DataFolder<'_> {
    fn read(&self, file: FileSpec) -> Result<Option<Vec<u8>>, FileError> {
        let bytes = read_file(&self.resolved.join(file.name), file.bytes_max as u64);
        bytes.map_err(|cause| self.error(file, cause))
    }

    fn error(&self, file: FileSpec, cause: ReadCause) -> FileError {
        FileError {
            path: self.named.join(file.name),
            cause,
        }
    }
}

/// Waits until nothing has been written for [`QUIET`], at most until [`WRITTEN_WAIT_MAX`] after `began`. Returns the state of
/// the files then; `last` is their previous state. `pause` waits for a time, and returns false to end the waiting.
pub(super) fn wait_until_written(
    directory: &Path,
    mut last: Stamps,
    began: Instant,
    pause: impl Fn(Duration) -> bool,
) -> Stamps {
    loop {
        let stamps = Stamps::of(directory);
        let Some(left) = stamps.time_until_quiet(&last, crate::clock::unix_ms()) else {
            return stamps;
        };
        if began.elapsed() >= WRITTEN_WAIT_MAX || !pause(left) {
            return stamps;
        }
        last = stamps;
    }
}

/// Reads a file of at most `bytes_max` bytes; `None` if there is none.
pub(crate) fn read_file(path: &Path, bytes_max: u64) -> Result<Option<Vec<u8>>, ReadCause> {
    let file = match open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file.map_err(ReadCause::System)?,
    };
    let length = file.metadata().map_err(ReadCause::System)?.len();
    if length > bytes_max {
        return Err(ReadCause::TooLarge(bytes_max));
    }
    // One more byte, so that the read at the end of the file does not grow the buffer.
    let capacity = usize::try_from(length).unwrap_or(0);
    let mut bytes = Vec::with_capacity(capacity.saturating_add(1));
    // A file may grow while it is read.
    let mut bounded = file.take(bytes_max.saturating_add(1));
    bounded.read_to_end(&mut bytes).map_err(ReadCause::System)?;
    if bytes.len() as u64 > bytes_max {
        Err(ReadCause::TooLarge(bytes_max))
    } else {
        Ok(Some(bytes))
    }
}

/// Opens a regular file. The type is checked before, because opening a pipe waits for a writer.
fn open(path: &Path) -> io::Result<File> {
    if fs::metadata(path)?.is_file() {
        File::open(path)
    } else {
        Err(io::Error::other("it is not a regular file"))
    }
}

/// The metadata of all data files, which show a change without reading the files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stamps {
    /// In the order of [`FILES`]; `None` for a missing file.
    files: [Option<Stamp>; FILES.len()],
}

impl Stamps {
    /// Returns the state of the files of `directory`; a file without metadata counts as missing.
    pub(crate) fn of(directory: &Path) -> Stamps {
        Stamps {
            files: FILES.map(|file| Stamp::at(&directory.join(file.name))),
        }
    }

    /// Returns the newest modification time of all files except `check.json` and `notices.json`, which are not published,
    /// and `changes.json`, which has times of its own.
    fn modified(&self) -> Option<Timestamp> {
        let others = [CHECK.name, NOTICES.name, CHANGES.name];
        let mut newest = None;
        for (file, stamp) in FILES.iter().zip(&self.files) {
            if let Some(stamp) = stamp
                && !others.contains(&file.name)
            {
                newest = newest.max(Some(Timestamp::from_unix(stamp.modified.seconds)));
            }
        }
        newest
    }

    /// Returns how long to wait until nothing has been written for [`QUIET`], or `None` if that is so already. `now_ms` is the
    /// time in milliseconds since 1970.
    ///
    /// Times in the future are ignored, because a shared volume may have another clock. As such times do not show when a file
    /// was written, files that differ from their `last` state are always waited for.
    fn time_until_quiet(&self, last: &Stamps, now_ms: i64) -> Option<Duration> {
        if self != last {
            return Some(QUIET);
        }
        let stamps = self.files.iter().flatten();
        let times = stamps.flat_map(|stamp| [stamp.modified, stamp.changed]);
        let youngest = times.filter_map(|time| time.age(now_ms)).min()?;
        let left = QUIET.saturating_sub(youngest);
        if left.is_zero() { None } else { Some(left) }
    }

    /// Returns the size of all files together.
    pub(super) fn bytes(&self) -> u64 {
        self.files.iter().flatten().map(|stamp| stamp.length).sum()
    }

    /// Tells whether the directory has `reviews.json`, the only required file.
    pub(super) fn has_reviews(&self) -> bool {
        FILES
            .iter()
            .zip(&self.files)
            .any(|(file, stamp)| file.name == REVIEWS.name && stamp.is_some())
    }
}

/// A file's identity and its last change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    device: u64,
    inode: u64,
    length: u64,
    /// When the contents last changed; a writer can set it to any time.
    modified: FileTime,
    /// When the contents or the attributes last changed; shows a writer that sets `modified` back.
    changed: FileTime,
}

/// A time of a file, since 1970. File systems differ in the range of the seconds: some store any number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileTime {
    seconds: i64,
    /// Of the second, from 0 to 999,999,999.
    nanoseconds: i64,
}

impl FileTime {
    /// Returns the time from this until `now_ms`, in milliseconds since 1970; `None` if this is later.
    fn age(self, now_ms: i64) -> Option<Duration> {
        let time_ms = self.seconds.saturating_mul(1_000);
        let time_ms = time_ms.saturating_add(self.nanoseconds / 1_000_000);
        let age_ms = now_ms.saturating_sub(time_ms);
        u64::try_from(age_ms).ok().map(Duration::from_millis)
    }
}

impl Stamp {
    /// Returns the state of the file at `path`; `None` if it is missing or its metadata cannot be read.
    pub(super) fn at(path: &Path) -> Option<Stamp> {
        let metadata = fs::metadata(path).ok()?;
        Some(Stamp {
            device: metadata.dev(),
            inode: metadata.ino(),
            length: metadata.len(),
            modified: FileTime {
                seconds: metadata.mtime(),
                nanoseconds: metadata.mtime_nsec(),
            },
            changed: FileTime {
                seconds: metadata.ctime(),
                nanoseconds: metadata.ctime_nsec(),
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::os::unix::fs::symlink;
    use std::process::Command;

    #[test]
    fn the_size_bound_holds_on_both_sides_and_companions_are_optional() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join(REVIEWS.name), [b'x'; 100]).unwrap();
        fs::write(directory.path().join(EDITORIAL.name), "e").unwrap();
        let files = read(directory.path()).unwrap();
        assert_eq!(files.reviews.len(), 100);
        assert_eq!(files.editorial.as_deref(), Some(&b"e"[..]));
        assert_eq!(files.taxonomy, None);
        let small = [TAXONOMY, EDITORIAL, CHECK, IGNORED, SITE].map(|file| (file, 16));
        let large = [(INSIGHTS, 256), (REVIEWS, 1_024)];
        for (FileSpec { name, .. }, mib) in small.into_iter().chain(large) {
            // Sparse files; the largest ones are not read at their limit.
            let file = File::create(directory.path().join(name)).unwrap();
            file.set_len((mib << 20) + 1).unwrap();
            let error = read(directory.path()).unwrap_err().to_string();
            let expected = format!("{name}: is larger than {} bytes", mib << 20);
            assert!(error.ends_with(&expected), "{error}");
            file.set_len(if mib == 16 { mib << 20 } else { 2 }).unwrap();
            read(directory.path()).unwrap();
        }
    }

    #[test]
    fn a_directory_or_pipe_in_place_of_a_file_is_an_error_and_not_a_wait() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(REVIEWS.name);
        for command in ["mkdir", "mkfifo"] {
            let made = Command::new(command).arg(&path).status();
            assert!(made.unwrap().success());
            let error = read(directory.path()).unwrap_err().to_string();
            assert!(error.ends_with("it is not a regular file"), "{error}");
            let _either = fs::remove_dir(&path).or_else(|_| fs::remove_file(&path));
        }
    }

    #[test]
    fn a_link_is_followed_once_and_errors_name_the_directory_as_it_was_given() {
        let directory = tempfile::tempdir().unwrap();
        let link = directory.path().join("current");
        for name in ["one", "two"] {
            let path = directory.path().join(name);
            fs::create_dir(&path).unwrap();
            fs::write(path.join(TAXONOMY.name), name).unwrap();
        }
        let found = directory.path().join("one");
        fs::write(found.join(REVIEWS.name), "{}").unwrap();
        symlink(directory.path().join("two"), &link).unwrap();
        let files = read_once(&link, &found).unwrap();
        assert_eq!(files.taxonomy.as_deref(), Some(&b"one"[..]));
        let error = read(&link).unwrap_err();
        assert_eq!(error.path, link.join(REVIEWS.name));
    }

    #[test]
    fn files_that_are_written_without_end_are_waited_for_60_seconds() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join(REVIEWS.name), "{}").unwrap();
        for (elapsed_s, is_waited_for) in [(59, true), (60, false)] {
            let began = Instant::now() - Duration::from_secs(elapsed_s);
            let waits = Cell::new(0);
            wait_until_written(directory.path(), Stamps::default(), began, |_| {
                waits.set(waits.get() + 1);
                false
            });
            assert_eq!(waits.get() > 0, is_waited_for, "{elapsed_s}");
        }
    }

    /// The state of one file.
    fn stamps(modified: FileTime, changed: FileTime) -> Stamps {
        let stamp = Stamp::at(Path::new("/")).unwrap();
        let mut stamps = Stamps::default();
        stamps.files[0] = Some(Stamp {
            modified,
            changed,
            ..stamp
        });
        stamps
    }

    /// 1970.
    const OLD: FileTime = FileTime {
        seconds: 0,
        nanoseconds: 0,
    };

    const WRITTEN: FileTime = FileTime {
        seconds: 1_700_000_000,
        nanoseconds: 500_000_000,
    };

    #[test]
    fn files_are_waited_for_until_a_second_after_the_last_was_written() {
        for (now_ms, left_ms) in [
            (1_700_000_000_500, Some(1_000)),
            (1_700_000_001_499, Some(1)),
            (1_700_000_001_500, None),
            // A time ahead of the clock.
            (1_700_000_000_499, None),
        ] {
            let left = left_ms.map(Duration::from_millis);
            // A copy may keep the time of its original, and a writer may set a future time.
            let future = FileTime {
                seconds: i64::from(i32::MAX),
                ..OLD
            };
            for (modified, changed) in [(WRITTEN, OLD), (OLD, WRITTEN), (future, WRITTEN)] {
                let stamps = stamps(modified, changed);
                assert_eq!(stamps.time_until_quiet(&stamps, now_ms), left, "{now_ms}");
            }
            // A change is waited for with any clock of the volume.
            let before = stamps(WRITTEN, OLD);
            let after = stamps(WRITTEN, WRITTEN);
            assert_eq!(after.time_until_quiet(&before, now_ms), Some(QUIET));
        }
    }

    #[test]
    fn the_first_and_the_last_time_that_a_file_system_can_store_are_no_reason_to_wait() {
        for seconds in [i64::MIN, i64::MAX] {
            let extreme = FileTime {
                seconds,
                nanoseconds: 999_999_999,
            };
            let stamps = stamps(extreme, OLD);
            assert_eq!(stamps.time_until_quiet(&stamps, 1_700_000_000_000), None);
        }
    }
}
