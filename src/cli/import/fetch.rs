//! A source at an address, in the words of the command.

use std::path::Path;
use std::time::Duration;

use crate::cli::exit::{Failure, Status};
use crate::server::fetch::{FetchError, Fetcher};

/// How long an answer may take, from the name to the last byte.
const TIME_MAX: Duration = Duration::from_secs(60);

/// Fetches what is at `url`, at most `bytes_max` bytes. The public authorities are trusted, and those in the file `ca`.
///
/// # Errors
/// 78 where the file of authorities cannot be used, 74 for anything that is not a whole answer with status 200.
pub(super) fn fetch(url: &str, ca: Option<&Path>, bytes_max: u64) -> Result<Vec<u8>, Failure> {
    let fetcher = Fetcher::new(ca, TIME_MAX)
        .map_err(|error| Failure::new(Status::Config, format!("--ca {error}")))?;
    fetcher.whole(url, bytes_max).map_err(|error| {
        let more = match &error {
            FetchError::Status(_, Some(to)) => format!(": import from {to} if that is meant"),
            FetchError::TooLarge(_) => " (--data-file-bytes)".to_owned(),
            FetchError::Status(_, None) | FetchError::Exchange(_) => String::new(),
        };
        Failure::new(Status::Io, format!("{url}: {error}{more}"))
    })
}
