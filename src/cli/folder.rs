//! Data directories that a command changes: the command reads, checks and locks them, and replaces their files
//! atomically.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::mem::take;
use std::os::unix::fs::{MetadataExt, fchown};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use super::exit::{Failure, Status};
use super::lock::lock;
use super::read::decode;
use crate::clock;
use crate::dataset::changes::{RecordedCounts, next_time};
use crate::dataset::{self, CHANGES, Decoded, Files, IGNORED, REVIEWS};
use crate::import::Merge;
use crate::model::changes::ChangeRecord;
use crate::model::{Dataset, RemovedReview};
use crate::server::files;
use crate::wire::date::Timestamp;
use crate::wire::text::hex;

/// Name of the backup, which is the previous `reviews.json`.
pub(super) const BACKUP: &str = "reviews.json.bak";

/// Most seconds by which the time of a change may be ahead of the clock.
const AHEAD_MAX_S: i64 = 2;

/// Most seconds that the changes of this machine's commands can be ahead; a time further ahead is of another clock.
const OWN_AHEAD_MAX_S: i64 = 10;

/// A data directory that an import or a removal changes.
pub(super) struct Folder {
    path: PathBuf,
    /// All files except `reviews.json`.
    companions: Files,
    reviews: Vec<u8>,
    /// The permanently removed reviews, as listed in `ignored.json`.
    pub(super) ignored: Vec<RemovedReview>,
    /// What was published before this command.
    dataset: Dataset,
    /// What `changes.json` has recorded; without the file, a new record of what was published.
    record: ChangeRecord,
    /// Held until the command ends; `None` in a dry run.
    _lock: Option<File>,
}

impl Folder {
    /// Reads and checks the directory, and locks it unless `is_dry`.
    ///
    /// # Errors
    /// If a file is missing or not valid, or another command has the lock.
    pub(super) fn open(path: &Path, is_dry: bool) -> Result<Folder, Failure> {
        let has_reviews = path.join(REVIEWS.name).try_exists();
        // An error is reported when the directory is locked and read.
        if has_reviews.is_ok_and(|exists| !exists) {
            let shown = path.display();
            let message =
                format!("{shown}: there is no reviews.json; `reviewd init {shown}` creates it");
            return Err(Failure::new(Status::NoInput, message));
        }
        let lock = if is_dry { None } else { Some(lock(path)?) };
        let mut files = files::read(path)?;
        let decoded = decode(path, files.clone(), "is not valid, so nothing was changed")?;
        let dataset = decoded.dataset;
        let record = match decoded.record {
            Some(record) => record,
            None => ChangeRecord::begin(new_log()?, &dataset),
        };
        Ok(Folder {
            path: path.to_owned(),
            ignored: dataset.removed.clone(),
            dataset,
            record,
            reviews: take(&mut files.reviews),
            companions: files,
            _lock: lock,
        })
    }

    /// Returns `reviews.json` in the form in which it can be changed.
    pub(super) fn merge(&self) -> Result<Merge<'_>, Failure> {
        let text = std::str::from_utf8(&self.reviews).unwrap_or_default();
        Merge::new(text).map_err(|error| Failure::new(Status::Data, error.to_string()))
    }

    /// Checks that the service would accept these reviews with the other files; `ignored`, if it is there, replaces
    /// `ignored.json`.
    pub(super) fn check(&self, reviews: &str, ignored: Option<&str>) -> Result<Decoded, Failure> {
        let mut files = self.companions.clone();
        files.reviews = reviews.into();
        files.ignored = ignored.map(Into::into).or(files.ignored);
        decode(&self.path, files, "would not be valid")
    }

    /// Writes `reviews.json` and returns its new `updated_at`. The previous file becomes [`BACKUP`].
    ///
    /// `ignored` is the complete new list of removed reviews. With it there is no backup afterwards, because a backup
    /// would contain the removed reviews.
    ///
    /// The list is written first. Reviews on it are not published, so an interrupted write publishes no removed review.
    /// The record of changes is written last: what an interrupted write has not recorded counts as edited by hand.
    pub(super) fn write(
        &self,
        merge: &Merge<'_>,
        ignored: Option<&[RemovedReview]>,
    ) -> Result<Timestamp, Failure> {
        let updated_at = clock::now();
        let text = merge.render(updated_at);
        let list = ignored.map(dataset::render_ignored);
        let decoded = self.check(&text, list.as_deref())?;
        let path = self.reviews_path()?;
        let backup = path.with_file_name(BACKUP);
        match &list {
            Some(list) => put(&self.path.join(IGNORED.name), None, list.as_bytes())?,
            None => put(&backup, Some(&path), &self.reviews)?,
        }
        put(&path, None, text.as_bytes())?;
        if list.is_some() {
            remove(&backup).map_err(|error| write_failure(&backup, &error))?;
        }
        self.write_record(self.record.clone(), &decoded.dataset)?;
        Ok(updated_at)
    }

    /// Records the changes that were made by hand; with `is_restart` in a log with a new name, so that mirrors read all
    /// reviews again.
    pub(super) fn record(&self, is_restart: bool) -> Result<RecordedCounts, Failure> {
        let mut record = self.record.clone();
        if is_restart {
            record.log = new_log()?;
        }
        self.write_record(record, &self.dataset)
    }

    /// Whether the folder has a record of changes.
    pub(super) fn has_record(&self) -> bool {
        self.companions.changes.is_some()
    }

    /// Updates the record to what `dataset` publishes, and writes it if it differs from the file.
    fn write_record(
        &self,
        mut record: ChangeRecord,
        dataset: &Dataset,
    ) -> Result<RecordedCounts, Failure> {
        let at = next_time(self.dataset.updated_at, clock::now());
        wait_until_near(at);
        let counts = record.update(dataset, at);
        let is_same = counts.is_empty() && record.log == self.record.log;
        if is_same && self.companions.changes.is_some() {
            return Ok(counts);
        }
        let path = self.path.join(CHANGES.name);
        let reviews = self.path.join(REVIEWS.name);
        let like = match self.companions.changes {
            Some(_) => None,
            None => Some(&*reviews),
        };
        put(&path, like, record.render().as_bytes())?;
        Ok(counts)
    }

    /// Restores the previous `reviews.json` with a new `updated_at`, which is returned. The present file becomes the
    /// backup, so a second call undoes the first one.
    pub(super) fn restore(&self) -> Result<Timestamp, Failure> {
        let backup = self.reviews_path()?.with_file_name(BACKUP);
        let previous = fs::read_to_string(&backup).map_err(|error| {
            let shown = backup.display();
            let message = format!("{shown}: there is no previous file to restore: {error}");
            Failure::new(Status::NoInput, message)
        })?;
        let merge =
            Merge::new(&previous).map_err(|error| Failure::new(Status::Data, error.to_string()))?;
        self.write(&merge, None)
    }

    /// Returns the path of `reviews.json` with symbolic links resolved; fails if the file has changed since it was
    /// read.
    fn reviews_path(&self) -> Result<PathBuf, Failure> {
        let path = self.path.join(REVIEWS.name);
        if fs::read(&path).is_ok_and(|bytes| bytes == self.reviews) {
            return Ok(fs::canonicalize(&path).unwrap_or(path));
        }
        let message = format!("{}: has been changed; try again", path.display());
        Err(Failure::new(Status::Data, message))
    }
}

/// Waits until `at` is at most [`AHEAD_MAX_S`] ahead of the clock. Each change has a later second than the one before,
/// so many commands within a second would otherwise date their changes after an edit that is made by hand later. There
/// is no wait for a time that another machine's clock has set far ahead.
fn wait_until_near(at: Timestamp) {
    let ahead_s = at.unix() - clock::now().unix();
    if ahead_s <= OWN_AHEAD_MAX_S {
        let wait_s = u64::try_from(ahead_s - AHEAD_MAX_S).unwrap_or(0);
        thread::sleep(Duration::from_secs(wait_s));
    }
}

/// Returns a random name for a log of changes: 16 hexadecimal digits.
pub(super) fn new_log() -> Result<String, Failure> {
    let mut random = [0; 8];
    let filled = getrandom::fill(&mut random);
    filled.map_err(|error| Failure::new(Status::Unavailable, error.to_string()))?;
    Ok(hex(&random))
}

/// Replaces a file atomically: the new file is complete on disk before it is renamed. Its owner and mode are those of
/// the file at `like`, or without `like` those of the previous file.
pub(super) fn put(path: &Path, like: Option<&Path>, bytes: &[u8]) -> Result<(), Failure> {
    // A symbolic link is kept, and its target is replaced.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let fresh = target.with_file_name(format!(".{name}.new"));
    replace(&target, &fresh, like, bytes).map_err(|error| {
        let _gone = remove(&fresh);
        write_failure(path, &error)
    })
}

/// Writes the file `fresh`, which is beside `target`, and renames it to `target`.
fn replace(target: &Path, fresh: &Path, like: Option<&Path>, bytes: &[u8]) -> io::Result<()> {
    // The directory is locked, so a file of this name was left by a command that was killed.
    remove(fresh)?;
    create(fresh, Some(like.unwrap_or(target)), bytes)?;
    fs::rename(fresh, target)?;
    File::open(target.parent().unwrap_or(Path::new(".")))?.sync_all()
}

fn write_failure(path: &Path, error: &io::Error) -> Failure {
    let message = format!("{}: cannot be written: {error}", path.display());
    Failure::new(Status::Io, message)
}

/// Removes a file if it exists.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Creates a file, which must not exist yet, with the owner and the mode of the file at `like`. After an error the file
/// is removed.
pub(super) fn create(path: &Path, like: Option<&Path>, bytes: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let file = options.write(true).create_new(true).open(path)?;
    fill(file, like, bytes).inspect_err(|_| drop(remove(path)))
}

fn fill(mut file: File, like: Option<&Path>, bytes: &[u8]) -> io::Result<()> {
    if let Some(old) = like.and_then(|like| fs::metadata(like).ok()) {
        copy_owner(&file, &old)?;
        file.set_permissions(old.permissions())?;
    }
    file.write_all(bytes)?;
    file.sync_all()
}

/// Copies the owner and the group of the old file, as far as the system permits it.
///
/// # Errors
/// If the group or the user that can read the old file could not read the new one.
fn copy_owner(file: &File, old: &Metadata) -> io::Result<()> {
    let user = old.uid();
    let group = old.gid();
    let mode = old.mode() & 0o777;
    if fchown(file, Some(user), Some(group)).is_err() {
        // A process may be permitted to change the group but not the owner.
        let _not_permitted = fchown(file, None, Some(group));
    }
    let is_for_all = mode & 0o004 != 0;
    let is_for_group = mode & 0o040 != 0;
    let new = file.metadata()?;
    let readers = if is_for_group {
        format!("group {group}")
    } else {
        format!("user {user}")
    };
    let can_be_read = if is_for_group {
        new.gid() == group
    } else {
        new.uid() == user
    };
    if is_for_all || can_be_read {
        return Ok(());
    }
    Err(io::Error::other(format!(
        "the new file would not belong to {readers}, and mode {mode:o} lets no other user read it"
    )))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, chown};

    use super::*;

    #[test]
    fn a_replaced_file_keeps_owner_and_mode() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(REVIEWS.name);
        fs::write(&path, "first").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        // Only root can change the owner of a file.
        let is_changed = chown(&path, Some(4_321), Some(4_322)).is_ok();
        let before = fs::metadata(&path).unwrap();
        let backup = folder.path().join(BACKUP);
        put(&backup, Some(&path), b"first").unwrap();
        put(&path, None, b"second").unwrap();
        for (path, text) in [(&path, "second"), (&backup, "first")] {
            assert_eq!(fs::read_to_string(path).unwrap(), text);
            let after = fs::metadata(path).unwrap();
            assert_eq!((after.uid(), after.gid()), (before.uid(), before.gid()));
            assert_eq!(after.mode(), before.mode());
            assert_eq!(is_changed, after.uid() == 4_321);
        }
    }

    #[test]
    fn a_file_that_a_killed_command_left_is_removed_and_not_written_through() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(REVIEWS.name);
        let other = folder.path().join("other");
        fs::write(&path, "first").unwrap();
        fs::write(&other, "other").unwrap();
        fs::hard_link(&other, folder.path().join(".reviews.json.new")).unwrap();
        put(&path, None, b"second").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "second");
        assert_eq!(fs::read_to_string(&other).unwrap(), "other");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }
}
