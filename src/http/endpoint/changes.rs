//! `/api/reviews/changes`: added, changed and removed reviews in the order of their last change, for mirrors.

use bytes::Bytes;

use super::{evaluate, json_representation};
use crate::http::body::Body;
use crate::http::error::HttpError;
use crate::http::head::RequestHead;
use crate::http::reply::Reply;
use crate::http::served_state::ServedState;
use crate::search::changes::{ChangesQuery, parse_changes};
use crate::snapshot::{ChangesPage, Snapshot};
use crate::wire::etag::EntityTag;
use crate::wire::json::{Object, push_strings, push_u64};

/// Largest number of bytes of a removal with its comma, rounded up; an id has at most 64.
const REMOVAL_BYTES: usize = 120;

/// Bytes of all that is neither a review nor a removal.
const OTHER_BYTES: usize = 4_096;

/// Answers with the changes after the client's position. The entity-tag is that of the body, so a poll gets 304 until there
/// are further changes, also if another part of the dataset changes.
pub(super) fn changes<'s>(served: &'s ServedState, head: &RequestHead) -> Reply<'s> {
    let snapshot = served.snapshot();
    let query = match parse_changes(head.query().as_bytes(), snapshot.log()) {
        Ok(query) => query,
        Err(issues) => return Reply::Refuse(HttpError::Issues(Bytes::from(issues.render()))),
    };
    let page = snapshot.changes(query.after.as_ref(), query.limit);
    let body = render(snapshot, &page, &query);
    let tag = EntityTag::of(&[&body]);
    evaluate(head, json_representation(served, &tag), |representation| {
        Reply::Serve(representation, Body::made(body))
    })
}

/// Renders the changes, and the parameters of `query` that were ignored.
fn render(snapshot: &Snapshot, page: &ChangesPage, query: &ChangesQuery) -> Vec<u8> {
    // Each with its comma.
    let lengths = page
        .rows
        .iter()
        .map(|row| snapshot.review_json(*row).len() + 1);
    let reviews_bytes: usize = lengths.sum();
    let removed_bytes = page.removed.len() * REMOVAL_BYTES;
    let mut body = Vec::with_capacity(reviews_bytes + removed_bytes + OTHER_BYTES);
    let returned = page.rows.len() + page.removed.len();
    let mut object = Object::begin(&mut body);
    push_u64(object.key("returned"), returned as u64);
    object.string("next_cursor", &page.next.to_string());
    let has_more: &[u8] = if page.has_more { b"true" } else { b"false" };
    object.raw("has_more", has_more);
    let changed = object.key("changed");
    changed.push(b'[');
    for (number, row) in page.rows.iter().enumerate() {
        if number > 0 {
            changed.push(b',');
        }
        changed.extend_from_slice(snapshot.review_json(*row));
    }
    changed.push(b']');
    let removed = object.key("removed");
    removed.push(b'[');
    for (number, removal) in page.removed.iter().enumerate() {
        if number > 0 {
            removed.push(b',');
        }
        let mut entry = Object::begin(removed);
        entry.string("id", &removal.id);
        entry.string("at", &removal.at.to_string());
        entry.end();
    }
    removed.push(b']');
    if !query.ignored.is_empty() {
        let names = query.ignored.iter().map(|name| name.as_str());
        push_strings(object.key("ignored_parameters"), names);
    }
    object.end();
    body
}
