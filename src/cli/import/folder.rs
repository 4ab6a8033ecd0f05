//! The folder that is brought up to date: locked, checked before and after, replaced as a whole.

use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, fchown};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::cli::exit::{Failure, Status};
use crate::dataset::{self, Files, Ignored, Problems};
use crate::import::Merge;
use crate::server::files::{self, IGNORED, REVIEWS};
use crate::wire::date::Timestamp;

/// The previous file's name.
pub(super) const BACKUP: &str = "reviews.json.bak";

/// A folder, and what is in it.
pub(in crate::cli) struct Folder {
    path: PathBuf,
    /// All files but the reviews.
    companions: Files,
    reviews: String,
    updated_at: Timestamp,
    /// Held until the import ends; none in a dry run.
    _lock: Option<File>,
}

impl Folder {
    /// Reads and checks the folder: reviews laid over a broken file would make it no better. A dry run does not lock it.
    pub(in crate::cli) fn open(
        path: &Path,
        bytes_max: u64,
        is_dry: bool,
    ) -> Result<Folder, Failure> {
        if !path.join(REVIEWS).exists() {
            let shown = path.display();
            let message =
                format!("{shown}: there is no {REVIEWS}; `reviewd init {shown}` makes it");
            return Err(Failure::new(Status::NoInput, message));
        }
        let lock = if is_dry { None } else { Some(lock(path)?) };
        let files = files::read(path, bytes_max)?;
        let reviews = String::from_utf8_lossy(&files.reviews).into_owned();
        let companions = Files {
            reviews: Vec::new(),
            ..files.clone()
        };
        let decoded = dataset::decode(files, crate::clock::now()).map_err(|problems| {
            refused(path, "is not valid, so nothing was imported", &problems)
        })?;
        Ok(Folder {
            path: path.to_owned(),
            companions,
            reviews,
            updated_at: decoded.dataset.updated_at,
            _lock: lock,
        })
    }

    /// The text of `reviews.json`.
    pub(in crate::cli) fn reviews(&self) -> &str {
        &self.reviews
    }

    /// The reviews that were removed for good.
    pub(in crate::cli) fn ignored(&self) -> Result<Vec<Ignored>, Failure> {
        let Some(bytes) = &self.companions.ignored else {
            return Ok(Vec::new());
        };
        dataset::parse_ignored(bytes)
            .map_err(|problems| refused(&self.path, "is not valid", &problems))
    }

    /// Writes the ignore list and the reviews without those on it, and removes the backup, which holds them, too.
    ///
    /// The list comes first: what is on it is not published, so that an end in between publishes nothing removed.
    pub(in crate::cli) fn forget(
        &self,
        merge: &Merge<'_>,
        list: &[Ignored],
    ) -> Result<Timestamp, Failure> {
        let list = dataset::render_ignored(list).into_bytes();
        let updated_at = self.later();
        let text = merge.render(updated_at);
        self.decode(&text, Some(list.clone()))?;
        let path = self.reviews_path()?;
        put(&self.path.join(IGNORED), None, &list)?;
        put(&path, None, text.as_bytes())?;
        let backup = path.with_file_name(BACKUP);
        remove(&backup).map_err(|error| unwritten(&backup, &error))?;
        Ok(updated_at)
    }

    /// Checks that the service would accept the result.
    pub(super) fn check(&self, text: &str) -> Result<(), Failure> {
        self.decode(text, self.companions.ignored.clone())
    }

    /// Checks `text` with the files beside it and this ignore list.
    fn decode(&self, text: &str, ignored: Option<Vec<u8>>) -> Result<(), Failure> {
        let files = Files {
            reviews: text.as_bytes().to_vec(),
            ignored,
            ..self.companions.clone()
        };
        let decoded = dataset::decode(files, crate::clock::now());
        decoded
            .map(drop)
            .map_err(|problems| refused(&self.path, "would not be valid", &problems))
    }

    /// Writes the result, keeps the previous file as [`BACKUP`], and returns the new `updated_at`.
    pub(super) fn write(&self, merge: &Merge<'_>) -> Result<Timestamp, Failure> {
        let updated_at = self.later();
        let text = merge.render(updated_at);
        self.check(&text)?;
        let path = self.reviews_path()?;
        let backup = path.with_file_name(BACKUP);
        put(&backup, Some(&path), self.reviews.as_bytes())?;
        put(&path, None, text.as_bytes())?;
        Ok(updated_at)
    }

    /// Returns the time of the change. Where the file is of this very second, it waits for the next one.
    fn later(&self) -> Timestamp {
        // The file's time was not in the future when it was checked. A clock that was set back since ends the wait.
        for _ in 0..LATER_TRIES {
            if crate::clock::now() > self.updated_at {
                break;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        crate::clock::now()
    }

    /// The file of reviews, where a link leads to; an error where an editor has saved it since it was read.
    fn reviews_path(&self) -> Result<PathBuf, Failure> {
        let path = self.path.join(REVIEWS);
        let is_untouched = fs::read(&path).is_ok_and(|bytes| bytes == self.reviews.as_bytes());
        if !is_untouched {
            let message = format!(
                "{}: was changed while the import ran; import again",
                path.display()
            );
            return Err(Failure::new(Status::Data, message));
        }
        Ok(fs::canonicalize(&path).unwrap_or(path))
    }
}

fn refused(path: &Path, what: &str, problems: &Problems) -> Failure {
    let message = format!("{}: {what}\n{problems}", path.display());
    Failure::new(Status::Data, message)
}

/// Locks the folder itself, so that no file is left behind.
fn lock(path: &Path) -> Result<File, Failure> {
    let failed = |status, what: &str| Failure::new(status, format!("{}: {what}", path.display()));
    let folder = File::open(path).map_err(|error| failed(Status::Io, &error.to_string()))?;
    match folder.try_lock() {
        Ok(()) => Ok(folder),
        Err(TryLockError::WouldBlock) => {
            Err(failed(Status::Unavailable, "another import is under way"))
        }
        Err(TryLockError::Error(error)) => {
            Err(failed(Status::Io, &format!("cannot be locked: {error}")))
        }
    }
}

/// Replaces a file as a whole: the new one is complete on disk before it takes the name. It gets the owner and the mode
/// of the previous one, or of `like`.
fn put(path: &Path, like: Option<&Path>, bytes: &[u8]) -> Result<(), Failure> {
    let replace = || {
        // A link stays one, and the file that it leads to is replaced.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let fresh = path.with_file_name(format!(".{name}.new-{}", std::process::id()));
        // The folder is locked, so a file of this name was left by an import that was killed.
        remove(&fresh)?;
        let replaced = write(&fresh, like.unwrap_or(&path), bytes).and_then(|()| {
            fs::rename(&fresh, &path)?;
            File::open(path.parent().unwrap_or(Path::new(".")))?.sync_all()
        });
        if replaced.is_err() {
            let _gone = remove(&fresh);
        }
        replaced
    };
    replace().map_err(|error| unwritten(like.unwrap_or(path), &error))
}

fn unwritten(path: &Path, error: &io::Error) -> Failure {
    Failure::new(
        Status::Io,
        format!("{}: cannot be written: {error}", path.display()),
    )
}

/// Removes a file that may not be there.
fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Writes a new file with the owner and the mode of the one at `like`.
fn write(fresh: &Path, like: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(fresh)?;
    if let Ok(old) = fs::metadata(like) {
        own(&file, &old)?;
        file.set_permissions(old.permissions())?;
    }
    file.write_all(bytes)?;
    file.sync_all()
}

/// Gives the file the owner and the group of the old one, as far as that is allowed.
fn own(file: &File, old: &Metadata) -> io::Result<()> {
    let (user, group, mode) = (old.uid(), old.gid(), old.mode());
    let owned = fchown(file, Some(user), Some(group));
    // The group alone may be given where the owner may not.
    let _kept = owned.or_else(|_| fchown(file, None, Some(group)));
    let new = file.metadata()?;
    let (is_lost, readers) = match mode {
        mode if mode & 0o004 != 0 => return Ok(()),
        mode if mode & 0o040 != 0 => (new.gid() != group, format!("group {group}")),
        _ => (new.uid() != user, format!("user {user}")),
    };
    let mode = mode & 0o777;
    let message =
        format!("it would not be {readers}'s any more, and mode {mode:o} lets no one else read it");
    match is_lost {
        true => Err(io::Error::new(io::ErrorKind::PermissionDenied, message)),
        false => Ok(()),
    }
}

/// Waits of 20 ms for the next second, two seconds in all.
const LATER_TRIES: u32 = 100;

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, chown};

    use super::*;

    #[test]
    fn a_replaced_file_keeps_owner_and_mode_and_leftovers_are_not_written_through() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(REVIEWS);
        fs::write(&path, "first").unwrap();
        // A killed import left another name of the file.
        let left = folder
            .path()
            .join(format!(".{REVIEWS}.new-{}", std::process::id()));
        fs::hard_link(&path, &left).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        // Only root can give files away; for others the owner is their own.
        let given = chown(&path, Some(4_321), Some(4_322)).is_ok();
        let before = fs::metadata(&path).unwrap();
        let backup = folder.path().join(BACKUP);
        put(&backup, Some(&path), b"first").unwrap();
        put(&path, None, b"second").unwrap();
        for (path, text) in [(&path, "second"), (&backup, "first")] {
            assert_eq!(fs::read_to_string(path).unwrap(), text);
            let after = fs::metadata(path).unwrap();
            assert_eq!((after.uid(), after.gid()), (before.uid(), before.gid()));
            assert_eq!(after.mode(), before.mode());
            assert_eq!(given, after.uid() == 4_321);
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }
}
