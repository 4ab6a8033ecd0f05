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

/// Answers with a contiguous slice of the stored array between a head and a tail; the slice is not copied. The route
/// has no query parameters, so all given ones are listed as ignored at the end.
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
        let matched = since.matched;
        let tail = tail(&since.removed, &ignored);
        // Constant text and two numbers of at most ten digits.
        let head = arena::cut(64, |head| {
            // Cannot fail: the buffer grows if necessary.
            let _ = write!(
                head,
                r#"{{"matched":{matched},"returned":{matched},"reviews":["#
            );
        });
        Reply::Serve(representation, Body::joined(head, since.array, tail))
    })
}

/// Returns the entity-tag of a response that lists ignored parameters; `tag` is that of the response without them.
fn tag_with(tag: EntityTag, ignored: &[IgnoredName]) -> EntityTag {
    let mut hasher = Sha256::new();
    hasher.update(tag.as_bytes());
    for name in ignored {
        hasher.update(name.as_bytes());
        hasher.update(b"\0");
    }
    EntityTag::of_hasher(&hasher)
}

/// Returns the bytes after the last review; `removed` and `ignored` are included only if they are not empty.
fn tail(removed: &[u8], ignored: &[IgnoredName]) -> Bytes {
    if removed.is_empty() && ignored.is_empty() {
        return Bytes::from_static(b"]}");
    }
    let mut tail = Vec::with_capacity(removed.len() + 16);
    if !removed.is_empty() {
        tail.put_slice(b"],\"removed\":[");
        tail.put_slice(removed);
    }
    push_tail(&mut tail, ignored);
    tail.into()
}
