//! The folder that is brought up to date: locked, checked before and after, replaced as a whole.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::cli::exit::{Failure, Status};
use crate::dataset::{self, Files, Problems};
use crate::import::merge::Merge;
use crate::server::files::{self, REVIEWS};
use crate::wire::date::Timestamp;

/// The previous file's name.
pub(super) const BACKUP: &str = "reviews.json.bak";

/// A folder, and what is in it.
pub(super) struct Folder {
    path: PathBuf,
    /// All files but the reviews.
    companions: Files,
    reviews: Option<Reviews>,
    /// Held until the import ends; none where the folder is yet to be made.
    lock: Option<File>,
}

struct Reviews {
    text: String,
    updated_at: Timestamp,
}

impl Folder {
    /// Reads and checks the folder; a dry run does not lock it.
    pub(super) fn open(path: &Path, bytes_max: u64, is_dry: bool) -> Result<Folder, Failure> {
        let lock = match path.is_dir() && !is_dry {
            true => Some(lock(path)?),
            false => None,
        };
        let failed = |error: files::ReadError| {
            let status = if error.is_wrong() {
                Status::Data
            } else {
                Status::Io
            };
            Failure::new(status, error.to_string())
        };
        let reviews = match files::read(path, bytes_max) {
            Ok(files) => Some(checked(path, files)?),
            Err(error) if error.is_missing() => None,
            Err(error) => return Err(failed(error)),
        };
        let companions = files::read_companions(path, bytes_max).map_err(failed)?;
        Ok(Folder {
            path: path.to_owned(),
            companions,
            reviews,
            lock,
        })
    }

    /// The text of `reviews.json`, where there is one.
    pub(super) fn reviews(&self) -> Option<&str> {
        self.reviews.as_ref().map(|reviews| reviews.text.as_str())
    }

    /// Checks that the service would take the result.
    ///
    /// # Errors
    /// 65 with all that is wrong.
    pub(super) fn check(&self, merge: &Merge<'_>) -> Result<(), Failure> {
        self.decode(merge.render(crate::clock::now()))
    }

    fn decode(&self, text: String) -> Result<(), Failure> {
        let files = Files {
            reviews: text.into_bytes(),
            ..self.companions.clone()
        };
        dataset::decode(files, crate::clock::now())
            .map_err(|problems| refused(&self.path, "would not be valid", &problems))?;
        Ok(())
    }

    /// Writes the result and returns its `updated_at`.
    ///
    /// # Errors
    /// 65 where the service would refuse it or the file was changed by someone else, 69, 73 and 74 as for the command.
    pub(super) fn write(&self, merge: &Merge<'_>) -> Result<Timestamp, Failure> {
        let updated_at = self.later();
        let text = merge.render(updated_at);
        self.decode(text.clone())?;
        let made = |error: io::Error| {
            let message = format!("{}: cannot be made: {error}", self.path.display());
            Failure::new(Status::CannotCreate, message)
        };
        fs::create_dir_all(&self.path).map_err(made)?;
        let _lock = match &self.lock {
            Some(_) => None,
            None => Some(lock(&self.path)?),
        };
        let path = self.path.join(REVIEWS);
        self.is_untouched(&path)?;
        replace(&path, text.as_bytes()).map_err(|error| {
            let message = format!("{}: cannot be written: {error}", path.display());
            Failure::new(Status::Io, message)
        })?;
        Ok(updated_at)
    }

    /// A time that is later than that of the file, and not in the future: the next second, if need be.
    fn later(&self) -> Timestamp {
        loop {
            let now = crate::clock::now();
            match &self.reviews {
                // The file has passed the check, so its time is not in the future.
                Some(reviews) if now <= reviews.updated_at => {
                    std::thread::sleep(Duration::from_millis(20));
                }
                _ => return now,
            }
        }
    }

    /// Refuses to write over what an editor has saved since the file was read.
    fn is_untouched(&self, path: &Path) -> Result<(), Failure> {
        let same = match fs::read(path) {
            Ok(bytes) => self.reviews().is_some_and(|text| text.as_bytes() == bytes),
            Err(error) => error.kind() == io::ErrorKind::NotFound && self.reviews.is_none(),
        };
        if same {
            return Ok(());
        }
        let message = format!(
            "{}: was changed while the import ran; import again",
            path.display()
        );
        Err(Failure::new(Status::Data, message))
    }
}

/// Checks what is there: reviews laid over a broken file would make it no better.
fn checked(path: &Path, files: Files) -> Result<Reviews, Failure> {
    let text = String::from_utf8_lossy(&files.reviews).into_owned();
    let decoded = dataset::decode(files, crate::clock::now())
        .map_err(|problems| refused(path, "is not valid, so nothing was imported", &problems))?;
    Ok(Reviews {
        text,
        updated_at: decoded.dataset.updated_at,
    })
}

fn refused(path: &Path, what: &str, problems: &Problems) -> Failure {
    let message = format!("{}: {what}\n{problems}", path.display());
    Failure::new(Status::Data, message)
}

/// Locks the folder itself, so that no file is left behind.
fn lock(path: &Path) -> Result<File, Failure> {
    let failed =
        |status, message: String| Failure::new(status, format!("{}: {message}", path.display()));
    let folder = File::open(path).map_err(|error| failed(Status::Io, error.to_string()))?;
    match folder.try_lock() {
        Ok(()) => Ok(folder),
        Err(TryLockError::WouldBlock) => Err(failed(
            Status::Unavailable,
            "another import is under way".to_owned(),
        )),
        Err(TryLockError::Error(error)) => {
            Err(failed(Status::Io, format!("cannot be locked: {error}")))
        }
    }
}

/// Puts `bytes` in the place of the file at once, and keeps the previous file.
///
/// Each step leaves a whole `reviews.json`: the new one is complete on disk before it takes the name.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // A link stays one, and what it means is replaced.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let folder = path.parent().unwrap_or(Path::new("."));
    let beside = |what: &str| folder.join(format!(".{REVIEWS}.{what}-{}", std::process::id()));
    let fresh = beside("new");
    let outcome = write(&fresh, &path, bytes).and_then(|()| {
        if path.exists() {
            let previous = beside("bak");
            // Where the file system knows no links, a copy does as well.
            fs::hard_link(&path, &previous).or_else(|_| fs::copy(&path, &previous).map(drop))?;
            fs::rename(&previous, folder.join(BACKUP))?;
        }
        fs::rename(&fresh, &path)?;
        File::open(folder)?.sync_all()
    });
    if outcome.is_err() {
        // What could not be put in place is of no use, and may not be there at all.
        let _gone = fs::remove_file(&fresh);
    }
    outcome
}

fn write(fresh: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(fresh)?;
    if let Ok(metadata) = fs::metadata(path) {
        file.set_permissions(metadata.permissions())?;
    }
    file.write_all(bytes)?;
    file.sync_all()
}
