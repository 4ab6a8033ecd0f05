//! A bundle onto the disk.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::super::files::NAMES;
use super::error::FollowError;
use crate::dataset::bundle::{Bounds, BundleError, Piece, read};

/// Unpacks the bundle in `file` into the empty `directory`, no file larger than `file_bytes`.
///
/// # Errors
/// For anything that a bundle may not hold, and where the directory cannot be written.
pub(super) fn unpack(file: File, directory: &Path, file_bytes: u64) -> Result<(), FollowError> {
    let here = |error| FollowError::Disk("the bundle".to_owned(), error);
    let compressed_bytes = file.metadata().map_err(here)?.len();
    let bounds = Bounds {
        names: &NAMES,
        file_bytes,
    };
    let mut open: Option<(PathBuf, File)> = None;
    let unpacked = read(file, compressed_bytes, bounds, |piece| match piece {
        Piece::Begin(name) => {
            let path = directory.join(name);
            let file = create(&path).map_err(|error| disk(&path, error))?;
            open = Some((path, file));
            Ok(())
        }
        Piece::Bytes(bytes) => on(open.as_mut(), |file| file.write_all(bytes)),
        Piece::End => on(open.as_mut(), |file| file.sync_all()),
    });
    unpacked.map_err(|error| match error {
        BundleError::Wrong(what) => FollowError::Bundle(what),
        BundleError::Read(error) => here(error),
        BundleError::Keep(error) => error,
    })
}

fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
}

/// Does something with the file that has begun; the reader begins one before it brings its bytes.
fn on(
    open: Option<&mut (PathBuf, File)>,
    act: impl FnOnce(&mut File) -> io::Result<()>,
) -> Result<(), FollowError> {
    match open {
        Some((path, file)) => act(file).map_err(|error| disk(path, error)),
        None => Ok(()),
    }
}

fn disk(path: &Path, error: io::Error) -> FollowError {
    FollowError::Disk(path.display().to_string(), error)
}
