//! Reads and checks a data directory for a command.

use std::path::Path;

use super::exit::{Failure, Status};
use crate::clock;
use crate::dataset::{self, Decoded, Files};
use crate::server::files;

/// Reads and checks the files of a directory, as the service does.
///
/// # Errors
/// If a file cannot be read, and every problem of the files.
pub(super) fn read_dataset(path: &Path) -> Result<Decoded, Failure> {
    decode(path, files::read(path)?, "is not valid")
}

/// Checks the files of the directory at `path`. If they have problems, the failure says of the directory what `what`
/// says, and lists them.
pub(super) fn decode(path: &Path, files: Files, what: &str) -> Result<Decoded, Failure> {
    let decoded = dataset::decode(files, clock::now());
    decoded.map_err(|problems| {
        let message = format!("{}: {what}\n{problems}", path.display());
        Failure::new(Status::Data, message)
    })
}
