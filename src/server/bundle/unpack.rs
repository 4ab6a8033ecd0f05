//! A bundle: the files of a data directory in a tar archive, compressed by zstd. It comes from elsewhere, so
//! everything about it is bounded, and it holds nothing but regular files with the names that we know.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use tar::{Archive, EntryType};

use super::super::files::{NAMES, REVIEWS};
use super::error::FollowError;

/// Unpacks the bundle in `file` into `directory`, no file larger than `file_bytes`.
///
/// # Errors
/// For anything that a bundle may not hold, and where the directory cannot be written.
pub(super) fn unpack(file: File, directory: &Path, file_bytes: u64) -> Result<(), FollowError> {
    let compressed = file.metadata().map_err(unreadable)?.len();
    let mut plain = zstd::stream::read::Decoder::new(file).map_err(unreadable)?;
    plain.window_log_max(WINDOW_LOG_MAX).map_err(unreadable)?;
    let mut archive = Archive::new(Bounded {
        plain,
        left: RATIO_FREE_BYTES.saturating_add(compressed.saturating_mul(RATIO_MAX)),
    });
    let mut count = 0;
    // Raw: headers that extend others are looked at as what they are, and never read into memory.
    for entry in archive.entries().map_err(unreadable)?.raw(true) {
        let mut entry = entry.map_err(unreadable)?;
        count += 1;
        if count > ENTRIES_MAX {
            return Err(wrong(format!("has more than {ENTRIES_MAX} entries")));
        }
        let path = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let kind = entry.header().entry_type();
        let Some(name) = accept(kind, &path)? else {
            continue;
        };
        let size = entry.header().entry_size().map_err(unreadable)?;
        if size > file_bytes {
            return Err(wrong(format!(
                "holds {name} of {size} bytes, more than {file_bytes} (--data-file-bytes)"
            )));
        }
        write(&mut entry, directory, name)?;
    }
    if directory.join(REVIEWS).exists() {
        Ok(())
    } else {
        Err(wrong(format!("holds no {REVIEWS}")))
    }
}

/// Returns the name of a file to keep, or `None` for what is passed over.
fn accept(kind: EntryType, path: &str) -> Result<Option<&'static str>, FollowError> {
    let shown: String = path.chars().take(SHOWN_CHARS).collect();
    let shown = shown.escape_debug();
    match kind {
        EntryType::Regular | EntryType::Continuous => {}
        // Times with fractions, attributes: nothing that changes our files.
        EntryType::XHeader | EntryType::XGlobalHeader => return Ok(None),
        EntryType::Directory if path == "./" || path == "." => return Ok(None),
        EntryType::Directory => return Err(wrong(format!("holds the directory \"{shown}\""))),
        _ => {
            return Err(wrong(format!(
                "holds \"{shown}\", which is not a regular file"
            )));
        }
    }
    let name = path.strip_prefix("./").unwrap_or(path);
    let known = NAMES.into_iter().find(|known| *known == name);
    known.map(Some).ok_or_else(|| {
        wrong(format!(
            "holds \"{shown}\": only {} are taken, without directories",
            NAMES.join(", ")
        ))
    })
}

fn write(entry: &mut impl Read, directory: &Path, name: &str) -> Result<(), FollowError> {
    let path = directory.join(name);
    let failed = |error| FollowError::Disk(path.display().to_string(), error);
    let opened = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&path);
    let mut file = match opened {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            return Err(wrong(format!("holds {name} twice")));
        }
        opened => opened.map_err(failed)?,
    };
    let mut buffer = vec![0; 64 << 10];
    loop {
        let length = entry.read(&mut buffer).map_err(unreadable)?;
        if length == 0 {
            break;
        }
        let bytes = buffer.get(..length).unwrap_or_default();
        io::Write::write_all(&mut file, bytes).map_err(failed)?;
    }
    file.sync_all().map_err(failed)
}

/// Ends with an error where more comes out than may be in what went in.
struct Bounded<R> {
    plain: R,
    left: u64,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.plain.read(buffer)?;
        self.left = self.left.checked_sub(length as u64).ok_or_else(|| {
            io::Error::other(format!("it holds more than {RATIO_MAX} times its size"))
        })?;
        Ok(length)
    }
}

fn wrong(what: String) -> FollowError {
    FollowError::Bundle(what)
}

fn unreadable(error: io::Error) -> FollowError {
    // A number of the system's is the disk's; what is wrong with the archive has none.
    if error.raw_os_error().is_some() {
        return FollowError::Disk("the bundle".to_owned(), error);
    }
    wrong(format!("cannot be read: {error}"))
}

/// Entries of an archive, those that are passed over included; a data directory has five files.
pub(super) const ENTRIES_MAX: usize = 64;

/// How many times its own size a bundle may hold: reviews made of a few sentences reach 30.
pub(super) const RATIO_MAX: u64 = 250;

/// What even the smallest bundle may hold.
pub(super) const RATIO_FREE_BYTES: u64 = 1 << 20;

/// The window that the decoder keeps, as a power of two: 8 MiB, as zstd -19 needs it. `--long` asks for more.
pub(super) const WINDOW_LOG_MAX: u32 = 23;

/// Characters of a foreign name that a message repeats.
const SHOWN_CHARS: usize = 64;
