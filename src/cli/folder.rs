//! A data directory as commands read, change and replace its files: locked, checked before and after, each file as a whole.

use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::mem::take;
use std::os::unix::fs::{MetadataExt, fchown};
use std::path::{Path, PathBuf};

use super::exit::{Failure, Status};
use crate::clock;
use crate::dataset::{self, Decoded, Files, IGNORED, Problems, REVIEWS};
use crate::import::Merge;
use crate::model::RemovedReview;
use crate::server::files;
use crate::wire::date::Timestamp;

/// The previous file's name.
pub(super) const BACKUP: &str = "reviews.json.bak";

/// Reads and checks the files of a directory, as the service does.
pub(super) fn read_dataset(path: &Path) -> Result<Decoded, Failure> {
    decode(path, files::read(path)?, "is not valid")
}

fn decode(path: &Path, files: Files, what: &str) -> Result<Decoded, Failure> {
    let decoded = dataset::decode(files, clock::now());
    decoded.map_err(|problems| invalid(path, what, &problems))
}

fn invalid(path: &Path, what: &str, problems: &Problems) -> Failure {
    let message = format!("{}: {what}\n{problems}", path.display());
    Failure::new(Status::Data, message)
}

/// A data directory that an import or a removal changes.
pub(super) struct Folder {
    path: PathBuf,
    /// All files but the reviews.
    companions: Files,
    reviews: Vec<u8>,
    /// The reviews that were removed for good.
    pub(super) ignored: Vec<RemovedReview>,
    /// Held until the command ends; none in a dry run.
    _lock: Option<File>,
}

impl Folder {
    /// Reads and checks the directory: reviews laid over a broken file would make it no better. A dry run does not lock it.
    pub(super) fn open(path: &Path, is_dry: bool) -> Result<Folder, Failure> {
        if !path.join(REVIEWS.name).exists() {
            let shown = path.display();
            let message =
                format!("{shown}: there is no reviews.json; `reviewd init {shown}` makes it");
            return Err(Failure::new(Status::NoInput, message));
        }
        let lock = if is_dry { None } else { Some(lock(path)?) };
        let mut files = files::read(path)?;
        let decoded = decode(path, files.clone(), "is not valid, so nothing was changed")?;
        Ok(Folder {
            path: path.to_owned(),
            ignored: decoded.dataset.removed,
            reviews: take(&mut files.reviews),
            companions: files,
            _lock: lock,
        })
    }

    /// The reviews of the file, to be changed.
    pub(super) fn merge(&self) -> Result<Merge<'_>, Failure> {
        let text = std::str::from_utf8(&self.reviews).unwrap_or_default();
        Merge::new(text).map_err(|error| Failure::new(Status::Data, error))
    }

    /// Checks that the service would accept these reviews with the other files; `ignored` is a new list of removed ones.
    pub(super) fn check(&self, reviews: &str, ignored: Option<&str>) -> Result<(), Failure> {
        let mut files = self.companions.clone();
        files.reviews = reviews.into();
        files.ignored = ignored.map(Into::into).or(files.ignored);
        decode(&self.path, files, "would not be valid").map(drop)
    }

    /// Writes the reviews, and returns the new `updated_at`. The previous file is kept as [`BACKUP`]; where reviews were
    /// removed, `ignored` is the new list of all that were, and the backup, which holds them, is deleted.
    ///
    /// The list is written first: what is on it is not published, so that an end in between publishes nothing removed.
    pub(super) fn write(
        &self,
        merge: &Merge<'_>,
        ignored: Option<&[RemovedReview]>,
    ) -> Result<Timestamp, Failure> {
        let updated_at = clock::now();
        let text = merge.render(updated_at);
        let list = ignored.map(dataset::render_ignored);
        self.check(&text, list.as_deref())?;
        let path = self.reviews_path()?;
        let backup = path.with_file_name(BACKUP);
        match &list {
            Some(list) => put(&self.path.join(IGNORED.name), None, list.as_bytes())?,
            None => put(&backup, Some(&path), &self.reviews)?,
        }
        put(&path, None, text.as_bytes())?;
        if list.is_some() {
            remove(&backup).map_err(|error| unwritten(&backup, &error))?;
        }
        Ok(updated_at)
    }

    /// The file of reviews, where a link leads to; an error where an editor has saved it since it was read.
    fn reviews_path(&self) -> Result<PathBuf, Failure> {
        let path = self.path.join(REVIEWS.name);
        if fs::read(&path).is_ok_and(|bytes| bytes == self.reviews) {
            return Ok(fs::canonicalize(&path).unwrap_or(path));
        }
        let message = format!("{}: was changed meanwhile; try again", path.display());
        Err(Failure::new(Status::Data, message))
    }
}

/// Locks the directory itself, so that no file is left behind.
fn lock(path: &Path) -> Result<File, Failure> {
    let locked = File::open(path).map_err(TryLockError::Error);
    let locked = locked.and_then(|folder| folder.try_lock().map(|()| folder));
    let shown = path.display();
    locked.map_err(|error| match error {
        TryLockError::WouldBlock => {
            let message = format!("{shown}: another import is under way");
            Failure::new(Status::Unavailable, message)
        }
        TryLockError::Error(error) => {
            Failure::new(Status::Io, format!("{shown}: cannot be locked: {error}"))
        }
    })
}

/// Replaces a file as a whole: the new one is complete on disk before it takes the name. It gets the owner and the mode
/// of the previous one, or of `like`.
fn put(path: &Path, like: Option<&Path>, bytes: &[u8]) -> Result<(), Failure> {
    // A link stays one, and the file that it leads to is replaced.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let fresh = target.with_file_name(format!(".{name}.new"));
    let replace = || {
        // The directory is locked, so a file of this name was left by a command that was killed.
        remove(&fresh)?;
        create(&fresh, Some(like.unwrap_or(&target)), bytes)?;
        fs::rename(&fresh, &target)?;
        File::open(target.parent().unwrap_or(Path::new(".")))?.sync_all()
    };
    replace().map_err(|error| {
        let _gone = remove(&fresh);
        unwritten(like.unwrap_or(path), &error)
    })
}

fn unwritten(path: &Path, error: &io::Error) -> Failure {
    let message = format!("{}: cannot be written: {error}", path.display());
    Failure::new(Status::Io, message)
}

/// Removes a file that may not be there.
fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Writes a file that is not there yet, with the owner and the mode of the one at `like`.
pub(super) fn create(path: &Path, like: Option<&Path>, bytes: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create_new(true).open(path)?;
    if let Some(old) = like.and_then(|like| fs::metadata(like).ok()) {
        own(&file, &old)?;
        file.set_permissions(old.permissions())?;
    }
    file.write_all(bytes)?;
    file.sync_all()
}

/// Gives the file the owner and the group of the old one, as far as that is allowed; an error where those who may read
/// the old one could not read this one.
fn own(file: &File, old: &Metadata) -> io::Result<()> {
    let (user, group, mode) = (old.uid(), old.gid(), old.mode() & 0o777);
    let owned = fchown(file, Some(user), Some(group));
    // The group alone may be given where the owner may not.
    let _kept = owned.or_else(|_| fchown(file, None, Some(group)));
    let new = file.metadata()?;
    let (is_kept, readers) = match mode {
        _ if mode & 0o004 != 0 => return Ok(()),
        _ if mode & 0o040 != 0 => (new.gid() == group, format!("group {group}")),
        _ => (new.uid() == user, format!("user {user}")),
    };
    match is_kept {
        true => Ok(()),
        false => Err(io::Error::other(format!(
            "it would not be {readers}'s any more, and mode {mode:o} lets no one else read it"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, chown};

    use super::*;

    #[test]
    fn a_replaced_file_keeps_owner_and_mode_and_leftovers_are_not_written_through() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(REVIEWS.name);
        fs::write(&path, "first").unwrap();
        // A killed import left another name of the file.
        let left = folder.path().join(".reviews.json.new");
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
