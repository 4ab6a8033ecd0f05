//! Where fetched datasets are kept: a directory for each in the state directory, and a link to the one that counts.
//!
//! `dataset/origin` names the address, `dataset/<digest>` holds the files, and `dataset/current` leads to one of these.
//! A directory is whole before it has its name, and the link is replaced in one step, so no crash leaves half of
//! anything; the one before stays, since somebody may be reading it.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::path::{Path, PathBuf};

use super::digest::Hex;
use super::error::FollowError;

/// The datasets of one address.
#[derive(Debug)]
pub(super) struct Shelf {
    directory: PathBuf,
}

impl Shelf {
    /// Opens the shelf in the state directory, which is made where it is missing. What was fetched from another address
    /// no longer counts.
    pub(super) fn open(state: &Path, origin: &str) -> Result<Shelf, FollowError> {
        let shelf = Shelf {
            directory: state.join("dataset"),
        };
        let failed = |error| shelf.failed(error);
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(0o700);
        builder.create(&shelf.directory).map_err(failed)?;
        let path = shelf.directory.join("origin");
        if fs::read(&path).ok().as_deref() != Some(origin.as_bytes()) {
            remove(&shelf.current(), |path| fs::remove_file(path)).map_err(failed)?;
            fs::write(&path, origin).map_err(failed)?;
        }
        for name in shelf.names().map_err(failed)? {
            // Left by a process that did not come to its end; one that is at it right now tries again.
            let path = shelf.directory.join(&name);
            let _gone = match name.split('.').next() {
                Some("draft") => fs::remove_dir_all(path),
                Some("link") => fs::remove_file(path),
                _ => Ok(()),
            };
        }
        Ok(shelf)
    }

    /// Returns the path of the dataset that counts, through the link.
    pub(super) fn current(&self) -> PathBuf {
        self.directory.join("current")
    }

    /// Returns the digest of the dataset that counts, if there is one.
    pub(super) fn digest(&self) -> Option<Hex> {
        let target = fs::read_link(self.current()).ok()?;
        let digest = Hex::parse(target.to_str()?)?;
        self.current().is_dir().then_some(digest)
    }

    /// Makes an empty directory to fill; dropping it removes it.
    pub(super) fn draft(&self) -> Result<Draft, FollowError> {
        let failed = |error| self.failed(error);
        let path = self.fresh("draft").map_err(failed)?;
        let mut builder = DirBuilder::new();
        builder.mode(0o700).create(&path).map_err(failed)?;
        Ok(Draft { path })
    }

    /// Makes the filled directory the one that counts; what is there with the same digest is replaced where it
    /// `is_doubted`.
    pub(super) fn publish(
        &self,
        draft: Draft,
        digest: &Hex,
        is_doubted: bool,
    ) -> Result<(), FollowError> {
        self.place(&draft, digest, is_doubted)
            .map_err(|error| self.failed(error))
    }

    fn place(&self, draft: &Draft, digest: &Hex, is_doubted: bool) -> io::Result<()> {
        let before = self.digest();
        let path = self.directory.join(digest.as_str());
        let mut aside = None;
        if is_doubted && path.is_dir() {
            // Removed when the other has its name.
            let aside = aside.insert(Draft {
                path: self.fresh("draft")?,
            });
            fs::rename(&path, &aside.path)?;
        }
        // Another process with this state directory may have been faster; what it has made is the same.
        if !path.is_dir() {
            File::open(&draft.path)?.sync_all()?;
            fs::rename(&draft.path, &path)?;
        }
        let beside = self.fresh("link")?;
        symlink(digest.as_str(), &beside)?;
        fs::rename(&beside, self.current())?;
        File::open(&self.directory)?.sync_all()?;
        for name in self.names()? {
            let is_kept = name == digest.as_str()
                || before
                    .as_ref()
                    .is_some_and(|before| name == before.as_str());
            if !is_kept && Hex::parse(&name).is_some() {
                // One more directory on the disk is no reason to fail.
                let _left = fs::remove_dir_all(self.directory.join(name));
            }
        }
        Ok(())
    }

    /// Returns a path that nobody else has: replicas in containers all are process 1, and may share a volume.
    fn fresh(&self, kind: &str) -> io::Result<PathBuf> {
        let mut suffix = [0; 8];
        getrandom::fill(&mut suffix).map_err(io::Error::other)?;
        let suffix = u64::from_le_bytes(suffix);
        Ok(self.directory.join(format!("{kind}.{suffix:016x}")))
    }

    fn names(&self) -> io::Result<Vec<String>> {
        let entries = fs::read_dir(&self.directory)?;
        let names = entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
        names.collect()
    }

    fn failed(&self, error: io::Error) -> FollowError {
        FollowError::Disk(self.directory.display().to_string(), error)
    }
}

/// A directory that is being filled.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) path: PathBuf,
}

impl Drop for Draft {
    fn drop(&mut self) {
        // It is not there any more once it has its name.
        let _gone = fs::remove_dir_all(&self.path);
    }
}

/// Removes what may not be there.
fn remove(path: &Path, by: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<()> {
    match by(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
