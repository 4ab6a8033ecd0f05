//! The endpoint `/media/{digest}` serves pictures of reviews: those that `import --media` has put into the data directory.
//!
//! Only pictures of published reviews are served, so that of a removed review is gone with it. A file is read for each
//! request, and its bytes count for the budgets of bytes in flight: a directory of gigabytes needs no memory.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use hyper::header::HeaderValue;

use super::made;
use crate::http::app_state::AppState;
use crate::http::body::Body;
use crate::http::error::HttpError;
use crate::http::head::RequestHead;
use crate::http::reply::{Reply, Representation};
use crate::http::served_state::ServedState;
use crate::model::PHOTO_EXTENSION;
use crate::wire::etag::EntityTag;

/// Largest file that is served: more than any that an import writes, which have at most 1,600 x 1,600 points. A larger one
/// is not found.
const FILE_BYTES_MAX: u64 = 4 << 20;

/// Answers with the file. The digest names its content, so the response may be cached without revalidation.
pub(super) fn photo<'s>(
    app: &AppState,
    served: &'s ServedState,
    digest: &str,
    head: &RequestHead,
) -> Reply<'s> {
    static JPEG: HeaderValue = HeaderValue::from_static("image/jpeg");
    let directory = match &app.media {
        Some(directory) if served.snapshot().has_photo(digest) => directory,
        _ => return Reply::Refuse(HttpError::UnknownPath),
    };
    let tag = EntityTag::of(&[digest.as_bytes()]);
    let representation = Representation {
        media_type: &JPEG,
        last_modified: None,
        is_immutable: true,
        ..made(served, &tag)
    };
    head.evaluate(served, representation, |representation| {
        match read(directory, digest) {
            Some(bytes) => Reply::Serve(representation, Body::made(bytes)),
            None => Reply::Refuse(HttpError::UnknownPath),
        }
    })
}

/// Reads the file of a picture; `None` if it is missing or too large.
fn read(directory: &Path, digest: &str) -> Option<Vec<u8>> {
    let path = directory.join(format!("{digest}{PHOTO_EXTENSION}"));
    let file = File::open(path).ok()?;
    let length = file.metadata().ok()?.len();
    let mut bytes = Vec::with_capacity(usize::try_from(length.min(FILE_BYTES_MAX)).ok()?);
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).ok()?;
    Some(bytes).filter(|bytes| bytes.len() as u64 <= FILE_BYTES_MAX)
}
