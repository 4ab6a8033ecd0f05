//! `/reviews.json`, `/insights.json`, `/api/feed.json` and `/feed.xml`: stored documents.

use std::borrow::Cow;

use crate::http::body::Body;
use crate::http::head::RequestHead;
use crate::http::reply::{Refusal, Reply, Representation};
use crate::http::router::Document;
use crate::http::served_state::ServedState;

/// What depends on the insights is answered later.
pub(super) const INSIGHTS_NOT_READY: Refusal =
    Refusal::Unavailable("the insights are being derived from the reviews");

/// Answers with the stored bytes in the coding that the client likes best; costs reference counts, no allocation.
pub(super) fn document<'s>(
    served: &'s ServedState,
    document: Document,
    head: &RequestHead<'_>,
) -> Reply<'s> {
    let chosen = served.document(document, |available| head.coding(available));
    let Some(chosen) = chosen else {
        return Reply::Refuse(INSIGHTS_NOT_READY);
    };
    let representation = Representation {
        media_type: chosen.media_type,
        etag: Cow::Borrowed(chosen.etag),
        last_modified: Some(served.last_modified()),
        coding: chosen.coding,
        link: chosen.link.cloned(),
        policy: None,
        is_immutable: false,
        ready: Some(chosen.ready),
    };
    head.judge(served, chosen.tag, representation, |representation| {
        Reply::Serve(representation, Body::full(chosen.body.clone()))
    })
}
