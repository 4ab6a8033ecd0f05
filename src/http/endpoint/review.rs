//! `/api/reviews/{id}`: one review, bare.

use hyper::header::HeaderValue;

use super::made;
use crate::http::arena;
use crate::http::body::Body;
use crate::http::head::RequestHead;
use crate::http::reply::{Refusal, Reply};
use crate::http::served_state::ServedState;
use crate::wire::etag::EntityTag;

/// Answers with the review's slice of the stored array; its entity-tag changes only when the review does.
pub(super) fn review<'s>(served: &'s ServedState, id: &str, head: &RequestHead<'_>) -> Reply<'s> {
    let snapshot = served.snapshot();
    let Some(row) = snapshot.index.row_of_id(id) else {
        return Reply::Refuse(Refusal::UnknownReview);
    };
    let body = snapshot.review_shared(row);
    let tag = snapshot.review_tag(row);
    let representation = made(served, tag_value(&tag), None);
    head.judge(served, &tag, representation, |representation| {
        Reply::Serve(representation, Body::full(body))
    })
}

/// Returns `tag` as a header value, without an allocation of its own.
pub(super) fn tag_value(tag: &EntityTag) -> HeaderValue {
    HeaderValue::from_maybe_shared(arena::copy(tag.as_bytes())).expect("a tag is visible ASCII")
}
