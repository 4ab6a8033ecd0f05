//! Files of the state directory that only save work: written whole or not at all, read within a size, and never
//! missed. What they hold is checked by whoever made it.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Removes what a process that was killed while it wrote the file at `path` has left. For the start, as later another
/// thread may be writing.
pub(super) fn remove_draft(path: &Path) {
    let _missing = fs::remove_file(draft_of(path));
}

/// Where what is written waits until it is whole; one thread at a time writes each file.
fn draft_of(path: &Path) -> PathBuf {
    path.with_extension("new")
}

/// Opens the file at `path` and tells its length; `None` if there is none.
///
/// # Errors
/// What the system says, and when it is not a regular file.
pub(super) fn open(path: &Path) -> io::Result<Option<(File, u64)>> {
    // Asked before it is opened, since opening a pipe waits for a writer that may never come.
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
        Ok(metadata) if !metadata.is_file() => {
            return Err(io::Error::other("it is not a regular file"));
        }
        Ok(_) => {}
    }
    let file = File::open(path)?;
    let bytes = file.metadata()?.len();
    Ok(Some((file, bytes)))
}

/// Reads the file at `path`; `None` if there is none.
///
/// # Errors
/// What the system says, and when the file is larger than `bytes_max`.
pub(super) fn read(path: &Path, bytes_max: u64) -> io::Result<Option<Vec<u8>>> {
    let Some((file, length)) = open(path)? else {
        return Ok(None);
    };
    let mut bytes = Vec::new();
    if length <= bytes_max {
        bytes.reserve_exact(usize::try_from(length).unwrap_or(0).saturating_add(1));
        file.take(bytes_max.saturating_add(1))
            .read_to_end(&mut bytes)?;
    }
    match length.max(bytes.len() as u64) > bytes_max {
        true => Err(io::Error::other(format!(
            "it is larger than {bytes_max} bytes"
        ))),
        false => Ok(Some(bytes)),
    }
}

/// Replaces the file at `path` by what `fill` writes, readable by its owner alone; the directory is made where it is
/// missing. On an error what was there stays.
///
/// # Errors
/// What the system says, or `fill`.
pub(super) fn write(path: &Path, fill: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let draft = draft_of(path);
    let written = write_draft(path, &draft, fill);
    if written.is_err() {
        // It may not even be there; what stays is replaced by the next one.
        let _missing = fs::remove_file(&draft);
    }
    written
}

fn write_draft(
    path: &Path,
    draft: &Path,
    fill: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<()> {
    let parent = path.parent();
    let directory = parent.filter(|directory| !directory.as_os_str().is_empty());
    let directory = directory.unwrap_or(Path::new("."));
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)?;
    // A new file always: whatever stands there under this name is not written through.
    let _missing = fs::remove_file(draft);
    let mut options = OpenOptions::new();
    let mut file = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(draft)?;
    fill(&mut file)?;
    file.sync_all()?;
    // Where another process writes here, too, the draft may have become its own.
    if fs::symlink_metadata(draft)?.ino() != file.metadata()?.ino() {
        return Err(io::Error::other("another process writes it"));
    }
    fs::rename(draft, path)?;
    File::open(directory)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_file_is_replaced_whole_and_readable_by_its_owner_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("state").join("cache");
        assert_eq!(read(&path, 10).unwrap(), None);
        for bytes in [&b"0123456789"[..], b"short"] {
            write(&path, |out| out.write_all(bytes)).unwrap();
            assert_eq!(read(&path, 10).unwrap().as_deref(), Some(bytes));
        }
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn a_failed_write_leaves_what_was_there_and_no_draft() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("cache");
        write(&path, |out| out.write_all(b"old")).unwrap();
        let failed = write(&path, |out| {
            out.write_all(b"new")?;
            Err(io::Error::other("no more"))
        });
        assert_eq!(failed.unwrap_err().to_string(), "no more");
        assert_eq!(read(&path, 3).unwrap().as_deref(), Some(&b"old"[..]));
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn reading_leaves_alone_what_is_being_written_and_a_start_removes_what_was_left() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("cache");
        write(&path, |out| {
            assert_eq!(read(&path, 10)?, None);
            out.write_all(b"whole")
        })
        .unwrap();
        fs::write(draft_of(&path), b"half").unwrap();
        assert_eq!(read(&path, 10).unwrap().as_deref(), Some(&b"whole"[..]));
        assert!(draft_of(&path).exists());
        remove_draft(&path);
        assert!(!draft_of(&path).exists());
        assert_eq!(read(&path, 10).unwrap().as_deref(), Some(&b"whole"[..]));
    }

    #[test]
    fn a_file_of_one_byte_too_many_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("cache");
        write(&path, |out| out.write_all(b"four")).unwrap();
        assert!(read(&path, 4).is_ok());
        let error = read(&path, 3).unwrap_err();
        assert_eq!(error.to_string(), "it is larger than 3 bytes");
    }
}
