//! The folder that is brought up to date: locked, checked before and after, replaced as a whole.

use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, fchown};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::cli::exit::{Failure, Status};
use crate::dataset::{self, Files, Ignored, Problems};
use crate::import::merge::Merge;
use crate::server::files::{self, IGNORED, REVIEWS};
use crate::wire::date::Timestamp;

/// The previous file's name.
pub(super) const BACKUP: &str = "reviews.json.bak";

/// A folder, and what is in it.
pub(in crate::cli) struct Folder {
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
    pub(in crate::cli) fn open(
        path: &Path,
        bytes_max: u64,
        is_dry: bool,
    ) -> Result<Folder, Failure> {
        let lock = match path.is_dir() && !is_dry {
            true => Some(lock(path)?),
            false => None,
        };
        let reviews = match files::read(path, bytes_max) {
            Ok(files) => Some(checked(path, files)?),
            Err(error) if error.is_missing() => None,
            Err(error) => return Err(error.into()),
        };
        let companions = files::read_companions(path, bytes_max)?;
        Ok(Folder {
            path: path.to_owned(),
            companions,
            reviews,
            lock,
        })
    }

    /// The text of `reviews.json`, where there is one.
    pub(in crate::cli) fn reviews(&self) -> Option<&str> {
        self.reviews.as_ref().map(|reviews| reviews.text.as_str())
    }

    /// The reviews that were removed for good.
    ///
    /// # Errors
    /// 65 with all that is wrong with the list.
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
    ///
    /// # Errors
    /// As [`Folder::write`].
    pub(in crate::cli) fn forget(
        &self,
        merge: &Merge<'_>,
        list: &[Ignored],
    ) -> Result<Timestamp, Failure> {
        let list = dataset::render_ignored(list);
        let updated_at = self.later();
        let text = merge.render(updated_at);
        self.decode(text.clone(), Some(list.clone().into_bytes()))?;
        let path = self.path.join(REVIEWS);
        self.is_untouched(&path)?;
        let failed = |path: &Path, error: &io::Error| {
            let message = format!("{}: cannot be written: {error}", path.display());
            Failure::new(Status::Io, message)
        };
        let list_path = self.path.join(IGNORED);
        put(&list_path, list.as_bytes(), |_| Ok(())).map_err(|error| failed(&list_path, &error))?;
        put(&path, text.as_bytes(), |_| Ok(())).map_err(|error| failed(&path, &error))?;
        // Where reviews.json is a link, the backup lies beside the file itself.
        let whole = fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
        let backup = whole.with_file_name(BACKUP);
        remove(&backup).map_err(|error| failed(&backup, &error))?;
        Ok(updated_at)
    }

    /// Checks that the service would take the result.
    ///
    /// # Errors
    /// 65 with all that is wrong.
    pub(super) fn check(&self, merge: &Merge<'_>) -> Result<(), Failure> {
        self.decode(
            merge.render(crate::clock::now()),
            self.companions.ignored.clone(),
        )
    }

    /// Checks `text` with the files beside it and this ignore list.
    fn decode(&self, text: String, ignored: Option<Vec<u8>>) -> Result<(), Failure> {
        let files = Files {
            reviews: text.into_bytes(),
            ignored,
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
        self.decode(text.clone(), self.companions.ignored.clone())?;
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

/// Puts `bytes` in the place of `reviews.json` at once, and keeps the previous file.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    put(path, bytes, |path| {
        let previous = beside(path, "bak");
        // The folder is locked, so what bears this name was left by an import that was killed. It may be another name
        // of the file that is served: nothing may be written into it.
        remove(&previous)?;
        if !path.exists() {
            return Ok(());
        }
        let kept =
            keep(path, &previous).and_then(|()| fs::rename(&previous, path.with_file_name(BACKUP)));
        if kept.is_err() {
            let _gone = remove(&previous);
        }
        kept
    })
}

/// Puts `bytes` in the place of a file at once: the new one is complete on disk before it takes the name. Calls `before`
/// with the file's path in between.
fn put(path: &Path, bytes: &[u8], before: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<()> {
    // A link stays one, and what it means is replaced.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let fresh = beside(&path, "new");
    remove(&fresh)?;
    let outcome = write(&fresh, &path, bytes).and_then(|()| {
        before(&path)?;
        fs::rename(&fresh, &path)?;
        File::open(path.parent().unwrap_or(Path::new(".")))?.sync_all()
    });
    if outcome.is_err() {
        // What could not be put in place is of no use, and may not be there at all.
        let _gone = remove(&fresh);
    }
    outcome
}

/// The name of a file beside `path` that only this process uses.
fn beside(path: &Path, what: &str) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{what}-{}", std::process::id()))
}

/// Removes a file that may not be there.
fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Gives the file a second name; where the file system knows no links, a copy does as well.
fn keep(path: &Path, previous: &Path) -> io::Result<()> {
    match fs::hard_link(path, previous) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            write(previous, path, &fs::read(path)?)
        }
        outcome => outcome,
    }
}

/// Writes a new file with the owner and the mode of the one at `path`.
fn write(fresh: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(fresh)?;
    if let Ok(old) = fs::metadata(path) {
        own(&file, &old)?;
        file.set_permissions(old.permissions())?;
    }
    file.write_all(bytes)?;
    file.sync_all()
}

/// Gives the file the owner and the group of the old one.
fn own(file: &File, old: &Metadata) -> io::Result<()> {
    let new = file.metadata()?;
    if (new.uid(), new.gid()) == (old.uid(), old.gid()) {
        return Ok(());
    }
    let Err(refused) = fchown(file, Some(old.uid()), Some(old.gid())) else {
        return Ok(());
    };
    let keeps_group = new.gid() == old.gid() || fchown(file, None, Some(old.gid())).is_ok();
    if is_read(old.mode(), new.uid() == old.uid(), keeps_group) {
        return Ok(());
    }
    let lost = match new.uid() == old.uid() {
        true => format!("group {}", old.gid()),
        false => format!("user {}", old.uid()),
    };
    let message = format!(
        "it would not be {lost}'s any more, and mode {:o} lets no one else read it: {refused}",
        old.mode() & 0o777
    );
    Err(io::Error::new(refused.kind(), message))
}

/// Whether those who read a file of this mode still can, if it keeps its owner, or its group, or neither.
fn is_read(mode: u32, keeps_owner: bool, keeps_group: bool) -> bool {
    let (others, group) = (mode & 0o004 != 0, mode & 0o040 != 0);
    others || if group { keeps_group } else { keeps_owner }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_import_left_is_not_written_through() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(REVIEWS);
        fs::write(&path, "first").unwrap();
        let beside = |what| {
            let name = format!(".{REVIEWS}.{what}-{}", std::process::id());
            folder.path().join(name)
        };
        fs::hard_link(&path, beside("bak")).unwrap();
        fs::write(beside("new"), "half").unwrap();
        replace(&path, b"second").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"second");
        assert_eq!(fs::read(folder.path().join(BACKUP)).unwrap(), b"first");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_second_name_is_never_written_into() {
        let folder = tempfile::tempdir().unwrap();
        let (path, previous) = (folder.path().join("a"), folder.path().join("b"));
        fs::write(&path, "live").unwrap();
        fs::hard_link(&path, &previous).unwrap();
        let error = keep(&path, &previous).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&path).unwrap(), b"live");
    }

    #[test]
    fn the_owner_and_the_mode_stay() {
        use std::os::unix::fs::{PermissionsExt, chown};
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(REVIEWS);
        fs::write(&path, "first").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        // Only root can give files away; for others the owner is their own.
        let given = chown(&path, Some(4_321), Some(4_322)).is_ok();
        let before = fs::metadata(&path).unwrap();
        replace(&path, b"second").unwrap();
        let after = fs::metadata(&path).unwrap();
        assert_eq!(
            (after.uid(), after.gid(), after.mode()),
            (before.uid(), before.gid(), before.mode())
        );
        assert_eq!(given, after.uid() == 4_321);
    }

    #[test]
    fn a_mode_that_locks_readers_out_is_told_apart() {
        assert!(is_read(0o644, false, false));
        assert!(is_read(0o640, false, true));
        assert!(is_read(0o600, true, false));
        assert!(!is_read(0o600, false, true));
        assert!(!is_read(0o600, false, false));
        assert!(!is_read(0o640, false, false));
        assert!(!is_read(0o640, true, false));
    }
}
