//! The key that signs session ids: given, kept in a file of the state directory, or made for this process alone.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use tracing::warn;

use crate::mcp::Key;
use crate::mcp::session::KEY_BYTES;

use super::config::SessionKey;

/// Returns the key. A file that cannot be used costs no more than sessions that end with the process, so it is a
/// warning and not a reason to stay down.
///
/// # Errors
/// When the system has no randomness to give.
pub(super) fn load(source: &SessionKey) -> io::Result<Key> {
    match source {
        SessionKey::Given(key) => Ok(key.clone()),
        SessionKey::Fresh => random().map(Key::new),
        SessionKey::File(path) => match read_or_make(path) {
            Ok(key) => Ok(Key::new(key)),
            Err(error) => {
                warn!(file = %path.display(), %error, "sessions will end with this process: its key cannot be kept");
                random().map(Key::new)
            }
        },
    }
}

fn read_or_make(path: &Path) -> io::Result<[u8; KEY_BYTES]> {
    match read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => make(path),
        read => read,
    }
}

fn read(path: &Path) -> io::Result<[u8; KEY_BYTES]> {
    fs::read(path)?.try_into().map_err(|bytes: Vec<u8>| {
        let message = format!(
            "holds {} bytes, not {KEY_BYTES}: delete it for a new one",
            bytes.len()
        );
        io::Error::new(io::ErrorKind::InvalidData, message)
    })
}

/// Writes a new key under another name first, so that half a key is never read; where another process was
/// faster, its key is the one.
fn make(path: &Path) -> io::Result<[u8; KEY_BYTES]> {
    if let Some(directory) = path
        .parent()
        .filter(|directory| !directory.as_os_str().is_empty())
    {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(directory)?;
    }
    let key = random()?;
    let draft = path.with_extension(format!("{}.new", std::process::id()));
    // Never through a link that another user has put there.
    let _old = fs::remove_file(&draft);
    let mut options = OpenOptions::new();
    let mut file = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&draft)?;
    let written = file.write_all(&key).and_then(|()| file.sync_all());
    let linked = written.and_then(|()| fs::hard_link(&draft, path));
    fs::remove_file(&draft)?;
    match linked {
        Ok(()) => Ok(key),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => read(path),
        Err(error) => Err(error),
    }
}

fn random() -> io::Result<[u8; KEY_BYTES]> {
    let mut key = [0u8; KEY_BYTES];
    getrandom::fill(&mut key).map_err(io::Error::other)?;
    Ok(key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_key_is_made_once_with_narrow_permissions_and_then_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("state").join("session-key");
        let made = read_or_make(&path).unwrap();
        assert_eq!(read_or_make(&path).unwrap(), made);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn a_file_of_another_length_is_refused_and_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("session-key");
        fs::write(&path, b"short").unwrap();
        let error = read_or_make(&path).unwrap_err();
        assert_eq!(
            error.to_string(),
            "holds 5 bytes, not 32: delete it for a new one"
        );
        assert_eq!(fs::read(&path).unwrap(), b"short");
        assert!(load(&SessionKey::File(path)).is_ok());
    }
}
