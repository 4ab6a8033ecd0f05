//! `/api/reviews/since/{date}`: all reviews of a day and later.

use std::fmt::Write;

use bytes::{BufMut, Bytes};
use sha2::{Digest, Sha256};

use super::{evaluate, json_representation};
use crate::http::arena;
use crate::http::body::Body;
use crate::http::error::HttpError;
use crate::http::head::RequestHead;
use crate::http::reply::Reply;
use crate::http::served_state::ServedState;
use crate::search::envelope::push_tail;
use crate::search::filter::IgnoredName;
use crate::search::query;
use crate::wire::etag::EntityTag;

/// Bytes before the first review: constant text, and two numbers of at most ten digits.
const OPENING_BYTES: usize = 64;

/// Answers with a contiguous slice of the stored array, which is not copied. The route has no query parameters, so all
/// that the request has are listed as ignored at the end of the body.
pub(super) fn since<'s>(served: &'s ServedState, date: &str, head: &RequestHead) -> Reply<'s> {
    let date = match query::parse_since(date.as_bytes()) {
        Ok(date) => date,
        Err(issues) => return Reply::Refuse(HttpError::Issues(Bytes::from(issues.render()))),
    };
    let since = served.snapshot().since(date);
    let ignored = query::parameter_names(head.query().as_bytes());
    let tag = if ignored.is_empty() {
        since.tag
    } else {
        tag_with(since.tag, &ignored)
    };
    evaluate(head, json_representation(served, &tag), |representation| {
        let opening = opening(since.matched);
        let closing = closing(&since.removed, &ignored);
        Reply::Serve(representation, Body::joined(opening, since.array, closing))
    })
}

/// Returns the entity-tag of a response that lists `ignored` parameters; `tag` is that of the response without the list.
fn tag_with(tag: EntityTag, ignored: &[IgnoredName]) -> EntityTag {
    let mut hasher = Sha256::new();
    hasher.update(tag.as_bytes());
    for name in ignored {
        hasher.update(name.as_bytes());
        hasher.update(b"\0");
    }
    EntityTag::of_hasher(&hasher)
}

/// Returns the bytes before the first of `matched` reviews.
fn opening(matched: u32) -> Bytes {
    arena::write_bytes(OPENING_BYTES, |opening| {
        // Cannot fail: the buffer grows if necessary.
        let _ = write!(
            opening,
            r#"{{"matched":{matched},"returned":{matched},"reviews":["#
        );
    })
}

/// Returns the bytes after the last review; `removed` and `ignored` are included only if they are not empty.
fn closing(removed: &[u8], ignored: &[IgnoredName]) -> Bytes {
    if removed.is_empty() && ignored.is_empty() {
        return Bytes::from_static(b"]}");
    }
    let mut closing = Vec::with_capacity(removed.len() + 16);
    if !removed.is_empty() {
        closing.put_slice(b"],\"removed\":[");
        closing.put_slice(removed);
    }
    push_tail(&mut closing, ignored);
    closing.into()
}
