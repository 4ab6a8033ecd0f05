//! SHA-256 as `sha256sum` writes it, and of what passes by.

use std::io::{self, Read, Write};

use sha2::{Digest, Sha256};

/// A digest in 64 hexadecimal digits, lower case.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Hex(String);

impl Hex {
    /// Takes 64 hexadecimal digits in any case.
    pub(super) fn parse(text: &str) -> Option<Hex> {
        let is_digest = text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_digest.then(|| Hex(text.to_ascii_lowercase()))
    }

    /// Returns the digest of `bytes`.
    pub(super) fn of(bytes: &[u8]) -> Hex {
        Hex::render(&Sha256::digest(bytes))
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    fn render(bytes: &[u8]) -> Hex {
        Hex(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
    }
}

/// Reads the first line of a file with one digest; a name may follow it.
pub(super) fn parse_one(text: &[u8]) -> Option<Hex> {
    let text = std::str::from_utf8(text).ok()?;
    Hex::parse(text.split_ascii_whitespace().next()?)
}

/// Reads digests and names, a line each: two spaces, or a space and a `*`, between them.
pub(super) fn parse_many(text: &[u8]) -> Result<Vec<(Hex, String)>, String> {
    let text = std::str::from_utf8(text).map_err(|_| "is not UTF-8".to_owned())?;
    let lines = text.lines().enumerate();
    let filled = lines.filter(|(_, line)| !line.trim().is_empty());
    let parsed = filled.map(|(index, line)| {
        let wrong = || {
            format!(
                "line {}: must be a digest, two spaces and a name",
                index + 1
            )
        };
        let (digest, name) = line.split_once([' ', '\t']).ok_or_else(wrong)?;
        let name = name.trim_start_matches([' ', '\t', '*']);
        let name = name.strip_prefix("./").unwrap_or(name).trim_end();
        Ok((Hex::parse(digest).ok_or_else(wrong)?, name.to_owned()))
    });
    parsed.collect()
}

/// Copies at most `bytes_max` bytes, and returns their digest and number; one byte more is an error of its own kind.
pub(super) fn copy(
    mut from: impl Read,
    to: &mut impl Write,
    bytes_max: u64,
) -> Result<(Hex, u64), CopyError> {
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 64 << 10];
    let mut copied = 0_u64;
    loop {
        let length = match from.read(&mut buffer) {
            Ok(0) => return Ok((Hex::render(&hash.finalize()), copied)),
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(CopyError::Read(error)),
        };
        let bytes = buffer.get(..length).unwrap_or_default();
        copied += bytes.len() as u64;
        if copied > bytes_max {
            return Err(CopyError::TooLarge);
        }
        hash.update(bytes);
        to.write_all(bytes).map_err(CopyError::Write)?;
    }
}

/// Why a copy did not come to its end.
#[derive(Debug)]
pub(super) enum CopyError {
    /// There is more.
    TooLarge,
    /// The source failed.
    Read(io::Error),
    /// The disk failed.
    Write(io::Error),
}
