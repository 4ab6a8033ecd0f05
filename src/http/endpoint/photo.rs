//! The endpoint `/media/{digest}` serves pictures of reviews: those that `import --media` has put into the data directory.
//!
//! Only pictures of published reviews are served, so the picture of a removed review is gone with it. A file is read for each
//! request, on the thread that serves it, and its bytes count for the budgets of bytes in flight: a directory of gigabytes
//! needs no memory.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::Path;

use hyper::header::HeaderValue;
use tracing::warn;

use super::{evaluate, json_representation};
use crate::http::app_state::AppState;
use crate::http::body::Body;
use crate::http::error::HttpError;
use crate::http::head::RequestHead;
use crate::http::reply::{Reply, Representation};
use crate::http::served_state::ServedState;
use crate::model::PHOTO_EXTENSION;
use crate::wire::etag::EntityTag;

/// Largest file that is served, 4 MiB: more than any that an import writes, which have at most 1,600 x 1,600 points. A
/// larger one is not found.
const FILE_BYTES_MAX: u64 = 4 << 20;

/// The error of a picture whose file cannot be read, for example for lack of a file descriptor.
const UNREADABLE: HttpError = HttpError::Unavailable("the picture cannot be read now");

/// Answers with the file. The digest names its content, so the response may be cached without revalidation.
pub(super) fn photo<'s>(
    app: &AppState,
    served: &'s ServedState,
    digest: &str,
    head: &RequestHead,
) -> Reply<'s> {
    static JPEG: HeaderValue = HeaderValue::from_static("image/jpeg");
    let directory = match &app.media {
        Some(directory) if served.snapshot().has_picture(digest) => directory,
        _ => return Reply::Refuse(HttpError::UnknownPath),
    };
    let tag = EntityTag::of(&[digest.as_bytes()]);
    let representation = Representation {
        media_type: &JPEG,
        last_modified: None,
        is_immutable: true,
        ..json_representation(served, &tag)
    };
    evaluate(head, representation, |representation| {
        match read(directory, digest) {
            Ok(Some(bytes)) => Reply::Serve(representation, Body::made(bytes)),
            Ok(None) => Reply::Refuse(HttpError::UnknownPath),
            Err(error) => {
                if app.media_log.take() {
                    warn!(%error, digest, "a picture cannot be read");
                }
                Reply::Refuse(UNREADABLE)
            }
        }
    })
}

/// Reads the file of a picture; `None` if there is no regular file, or one of more than [`FILE_BYTES_MAX`].
fn read(directory: &Path, digest: &str) -> io::Result<Option<Vec<u8>>> {
    let path = directory.join(format!("{digest}{PHOTO_EXTENSION}"));
    let metadata = match fs::metadata(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        metadata => metadata?,
    };
    // Checked before the file is opened, because opening a pipe waits for a writer.
    if !metadata.is_file() || metadata.len() > FILE_BYTES_MAX {
        return Ok(None);
    }
    let file = match File::open(path) {
        // Removed since.
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or(0));
    // The file may grow while it is read.
    let mut bounded = file.take(FILE_BYTES_MAX + 1);
    bounded.read_to_end(&mut bytes)?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Ok(None);
    }
    Ok(Some(bytes))
}
