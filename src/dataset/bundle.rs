//! A bundle: the files of a data directory in a tar archive, compressed by zstd. It comes from elsewhere, so
//! everything about it is bounded, and it holds nothing but regular files with the names that we know.

use std::io::{self, Read};

use tar::{Archive, EntryType};

/// What a bundle may hold.
#[derive(Clone, Copy, Debug)]
pub struct Bounds<'n> {
    /// The files that are ours; the first of them has to be there.
    pub names: &'n [&'static str],
    /// The largest of them, in bytes.
    pub file_bytes: u64,
}

/// What a bundle holds, piece by piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'b> {
    /// A file with this name begins; none does twice.
    Begin(&'static str),
    /// More of that file.
    Bytes(&'b [u8]),
    /// That file is whole.
    End,
}

/// Why a bundle was not read to its end.
#[derive(Debug)]
pub enum BundleError<E> {
    /// It holds what no bundle may hold, or is no archive; the culprit is whoever made it.
    Wrong(String),
    /// The system could not read it.
    Read(io::Error),
    /// The pieces could not be kept.
    Keep(E),
}

/// Reads the bundle in `compressed`, which has `compressed_bytes`, and hands its files to `keep`. Memory is the decoder's
/// window, 8 MiB at most, and a piece of 64 KiB. What was kept before an error is of no use.
///
/// # Errors
/// For anything that a bundle may not hold, what the source met, and what `keep` says.
pub fn read<E>(
    compressed: impl Read,
    compressed_bytes: u64,
    bounds: Bounds<'_>,
    mut keep: impl FnMut(Piece<'_>) -> Result<(), E>,
) -> Result<(), BundleError<E>> {
    let mut plain = zstd::stream::read::Decoder::new(compressed).map_err(unreadable)?;
    plain.window_log_max(WINDOW_LOG_MAX).map_err(unreadable)?;
    let mut archive = Archive::new(Bounded {
        plain,
        left: RATIO_FREE_BYTES.saturating_add(compressed_bytes.saturating_mul(RATIO_MAX)),
    });
    let (mut count, mut seen) = (0, Vec::new());
    let mut buffer = vec![0; PIECE_BYTES];
    // Raw: headers that extend others are looked at as what they are, and never read into memory.
    for entry in archive.entries().map_err(unreadable)?.raw(true) {
        let mut entry = entry.map_err(unreadable)?;
        count += 1;
        if count > ENTRIES_MAX {
            return Err(wrong(format!("has more than {ENTRIES_MAX} entries")));
        }
        let path = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let kind = entry.header().entry_type();
        let Some(name) = accept(kind, &path, bounds.names).map_err(BundleError::Wrong)? else {
            continue;
        };
        if seen.contains(&name) {
            return Err(wrong(format!("holds {name} twice")));
        }
        seen.push(name);
        let (size, most) = (
            entry.header().entry_size().map_err(unreadable)?,
            bounds.file_bytes,
        );
        if size > most {
            return Err(wrong(format!(
                "holds {name} of {size} bytes, more than {most} (--data-file-bytes)"
            )));
        }
        keep(Piece::Begin(name)).map_err(BundleError::Keep)?;
        loop {
            let length = entry.read(&mut buffer).map_err(unreadable)?;
            if length == 0 {
                break;
            }
            let bytes = buffer.get(..length).unwrap_or_default();
            keep(Piece::Bytes(bytes)).map_err(BundleError::Keep)?;
        }
        keep(Piece::End).map_err(BundleError::Keep)?;
    }
    match bounds.names.first() {
        Some(first) if !seen.contains(first) => Err(wrong(format!("holds no {first}"))),
        _ => Ok(()),
    }
}

/// Returns the name of a file to keep, or `None` for what is passed over.
///
/// # Errors
/// What is wrong with it.
fn accept(
    kind: EntryType,
    path: &str,
    names: &[&'static str],
) -> Result<Option<&'static str>, String> {
    let shown: String = path.chars().take(SHOWN_CHARS).collect();
    let shown = shown.escape_debug();
    match kind {
        EntryType::Regular | EntryType::Continuous => {}
        // Times with fractions, attributes: nothing that changes our files.
        EntryType::XHeader | EntryType::XGlobalHeader => return Ok(None),
        EntryType::Directory if path == "./" || path == "." => return Ok(None),
        EntryType::Directory => return Err(format!("holds the directory \"{shown}\"")),
        _ => return Err(format!("holds \"{shown}\", which is not a regular file")),
    }
    let name = path.strip_prefix("./").unwrap_or(path);
    let known = names.iter().copied().find(|known| *known == name);
    known.map(Some).ok_or_else(|| {
        format!(
            "holds \"{shown}\": only {} are taken, without directories",
            names.join(", ")
        )
    })
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

fn wrong<E>(what: String) -> BundleError<E> {
    BundleError::Wrong(what)
}

fn unreadable<E>(error: io::Error) -> BundleError<E> {
    // A number of the system's is the disk's; what is wrong with the archive has none.
    if error.raw_os_error().is_some() {
        return BundleError::Read(error);
    }
    wrong(format!("cannot be read: {error}"))
}

/// Entries of an archive, those that are passed over included; a data directory has five files.
pub const ENTRIES_MAX: usize = 64;

/// How many times its own size a bundle may hold: reviews made of a few sentences reach 30.
pub const RATIO_MAX: u64 = 250;

/// What even the smallest bundle may hold, in bytes.
pub const RATIO_FREE_BYTES: u64 = 1 << 20;

/// The window that the decoder keeps, as a power of two: 8 MiB, as zstd -19 needs it. `--long` asks for more.
pub const WINDOW_LOG_MAX: u32 = 23;

/// The most bytes of a file that are handed over at once.
const PIECE_BYTES: usize = 64 << 10;

/// Characters of a foreign name that a message repeats.
const SHOWN_CHARS: usize = 64;
