//! Bundles from somewhere: whatever the bytes are, nothing comes out but whole files of ours, each once and in bounds.

use std::io::Cursor;

use crate::dataset::bundle::{Bounds, Piece, RATIO_FREE_BYTES, RATIO_MAX, read};

/// Reads the bytes as a bundle, and as the archive within one: what comes out of an archive lies in it, a block after a
/// header with its name, and packed again gives itself.
///
/// # Panics
/// Where a file is not ours, comes twice, is larger than permitted or not what the archive holds.
pub fn check_bundle(data: &[u8]) {
    if let Some(files) = unpack(data, data.len()) {
        let sum: u64 = files.iter().map(|(_, bytes)| bytes.len() as u64).sum();
        assert!(sum <= RATIO_FREE_BYTES + RATIO_MAX * data.len() as u64);
    }
    let Ok(compressed) = zstd::encode_all(data, 1) else {
        return;
    };
    let Some(files) = unpack(&compressed, compressed.len()) else {
        return;
    };
    for (name, bytes) in &files {
        assert!(is_within(data, name, bytes), "{name} is not in the archive");
    }
    let mut archive = tar::Builder::new(Vec::new());
    for (name, bytes) in &files {
        let mut header = tar::Header::new_ustar();
        header.set_size(bytes.len() as u64);
        let appended = archive.append_data(&mut header, name, bytes.as_slice());
        assert!(appended.is_ok(), "memory takes it");
    }
    let packed = archive.into_inner().unwrap_or_default();
    let compressed = zstd::encode_all(packed.as_slice(), 1).unwrap_or_default();
    assert_eq!(unpack(&compressed, compressed.len()), Some(files));
}

/// The files of a bundle by name, in its order; `None` where it is refused.
fn unpack(compressed: &[u8], compressed_bytes: usize) -> Option<Vec<(&'static str, Vec<u8>)>> {
    let bounds = Bounds {
        names: &NAMES,
        file_bytes: FILE_BYTES,
    };
    let mut files: Vec<(&'static str, Vec<u8>)> = Vec::new();
    let mut is_open = false;
    let read = read(
        Cursor::new(compressed),
        compressed_bytes as u64,
        bounds,
        |piece| -> Result<(), ()> {
            match (piece, is_open) {
                (Piece::Begin(name), false) => {
                    assert!(NAMES.contains(&name), "{name} is not ours");
                    assert!(
                        files.iter().all(|(other, _)| *other != name),
                        "{name} twice"
                    );
                    files.push((name, Vec::new()));
                    is_open = true;
                }
                (Piece::Bytes(bytes), true) => {
                    let file = files.last_mut().map(|(_, file)| file);
                    file.into_iter()
                        .for_each(|file| file.extend_from_slice(bytes));
                }
                (Piece::End, true) => is_open = false,
                (piece, _) => panic!("{piece:?} in the wrong place"),
            }
            Ok(())
        },
    );
    read.ok()?;
    assert!(!is_open && files.iter().any(|(name, _)| *name == NAMES[0]));
    assert!(
        files
            .iter()
            .all(|(_, bytes)| bytes.len() as u64 <= FILE_BYTES)
    );
    Some(files)
}

/// Looks at every block whether it is a header with this name and these bytes follow it.
fn is_within(archive: &[u8], name: &str, bytes: &[u8]) -> bool {
    let blocks = (0..archive.len()).step_by(BLOCK);
    blocks.into_iter().any(|at| {
        let block = archive.get(at..).unwrap_or_default();
        let path = block.split(|byte| *byte == 0).next().unwrap_or_default();
        let path = path.strip_prefix(b"./").unwrap_or(path);
        path == name.as_bytes()
            && block
                .get(BLOCK..)
                .is_some_and(|rest| rest.starts_with(bytes))
    })
}

/// Bytes of a tar archive's block.
const BLOCK: usize = 512;

/// The names that are ours here.
const NAMES: [&str; 2] = ["reviews.json", "check.json"];

/// The largest file here, small enough for inputs on both sides of it.
const FILE_BYTES: u64 = 600;
