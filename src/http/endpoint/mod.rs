//! The endpoints: each turns the result of the router into a reply.

mod changes;
mod feed;
mod page;
mod photo;
mod post;
mod search;
mod since;
pub(crate) mod state;

use std::borrow::Cow;

use bytes::Bytes;
use hyper::header::HeaderValue;

use super::app_state::AppState;
use super::arena;
use super::body::Body;
use super::documents::{ByQuery, DOCUMENTS};
use super::error::HttpError;
use super::head::{HeadField, RequestHead};
use super::reply::{JSON, Reply, Representation, Vary};
use super::router::{Matched, Route};
use super::served_state::ServedState;
use crate::search::filter::Query;
use crate::search::query::{Buffers, parse_query};
use crate::wire::conditional::{self, Validators};
use crate::wire::etag::EntityTag;
use crate::wire::negotiate::{Coding, prefers_html};

pub(crate) use post::{BodyAnswer, BodyRequest, hub, mcp};

/// The error of a request for insights that are not derived yet.
const INSIGHTS_NOT_READY: HttpError =
    HttpError::Unavailable("the insights are being derived from the reviews");

/// Answers a GET or HEAD.
pub(crate) fn read<'s>(
    app: &AppState,
    served: &'s ServedState,
    matched: &Matched<'_>,
    head: &RequestHead,
) -> Reply<'s> {
    match matched.route {
        Route::Document(index) => document(served, index, head),
        Route::Search => search::search(served, head),
        Route::Changes => changes::changes(served, head),
        Route::Since(date) => since::since(served, date, head),
        Route::Review(id) => review(served, id, head),
        Route::ReviewPage(id) => page::review(served, id, head),
        Route::Logo => page::logo(served, head),
        Route::WidgetData => page::widget_data(served, head),
        Route::SitemapPart(number) => page::sitemap_part(served, number, head),
        Route::Photo(digest) => photo::photo(app, served, digest, head),
        Route::Health => state::health(app),
        Route::Ready => state::ready(app, served, head.query(), false),
        // The router never returns `Action::Read` for these two.
        Route::Hub | Route::Mcp => Reply::Refuse(HttpError::Method(matched.row.methods)),
    }
}

/// Answers with the document of this index in [`DOCUMENTS`], or with what its row has the query select.
fn document<'s>(served: &'s ServedState, index: usize, head: &RequestHead) -> Reply<'s> {
    match DOCUMENTS[index].by_query {
        ByQuery::Nothing | ByQuery::Version => serve_stored(served, index, head),
        ByQuery::Feed(format) => feed::feed(served, index, format, head),
        ByQuery::Badge => page::badge(served, index, head),
        ByQuery::Page(page) => page::query_page(served, index, page, head),
    }
}

/// `/api/reviews/{id}`: one review, as it is in the stored array. Its entity-tag changes only when the review changes. A
/// browser is redirected to the page of the review.
fn review<'s>(served: &'s ServedState, id: &str, head: &RequestHead) -> Reply<'s> {
    let snapshot = served.snapshot();
    let Some(row) = snapshot.index.row_of_id(id) else {
        return Reply::Refuse(HttpError::UnknownReview);
    };
    if prefers_html(head.lines_from_last("accept")) {
        return Reply::SeeOther(snapshot.review_url(id));
    }
    let tag = snapshot.review_tag(row);
    let representation = Representation {
        vary: Vary::Accept,
        ..json_representation(served, &tag)
    };
    evaluate(head, representation, |representation| {
        Reply::Serve(representation, Body::full(snapshot.review_json_shared(row)))
    })
}

/// Answers with stored bytes, in the coding that the client prefers; costs reference counts, no allocation.
fn serve_stored<'s>(served: &'s ServedState, index: usize, head: &RequestHead) -> Reply<'s> {
    let Some(variant) = served.document(index, head) else {
        return Reply::Refuse(INSIGHTS_NOT_READY);
    };
    let body = variant.body;
    evaluate(head, variant.representation, |representation| {
        Reply::Serve(representation, Body::full(body.clone()))
    })
}

/// Evaluates the conditions of a request on the entity-tag and the date of `representation`. Calls `serve` only if the
/// content itself must be sent.
fn evaluate<'s>(
    head: &RequestHead,
    representation: Representation<'s>,
    serve: impl FnOnce(Representation<'s>) -> Reply<'s>,
) -> Reply<'s> {
    if !head.is_conditional() {
        return serve(representation);
    }
    let validators = Validators {
        etag: representation.etag.as_bytes(),
        last_modified: representation.last_modified.map(|date| date.time),
    };
    let if_match = head.values(HeadField::IfMatch);
    let if_unmodified_since = head.values(HeadField::IfUnmodifiedSince);
    if !conditional::holds(validators, if_match, if_unmodified_since) {
        return Reply::Refuse(HttpError::Precondition);
    }
    let if_none_match = head.values(HeadField::IfNoneMatch);
    let if_modified_since = head.values(HeadField::IfModifiedSince);
    if conditional::is_not_modified(validators, if_none_match, if_modified_since) {
        Reply::NotModified(representation)
    } else {
        serve(representation)
    }
}

/// Parses the query of a search or of a feed of some reviews.
///
/// # Errors
/// The issues of the query, or [`INSIGHTS_NOT_READY`] if it filters by insights that are not derived yet.
fn parse_search<'b>(
    served: &ServedState,
    query: &str,
    buffers: &'b mut Buffers,
) -> Result<Query<'b>, HttpError> {
    let query = parse_query(query.as_bytes(), buffers)
        .map_err(|issues| HttpError::Issues(Bytes::from(issues.render())))?;
    if query.filter.needs_insights() && served.snapshot().insights().is_none() {
        return Err(INSIGHTS_NOT_READY);
    }
    Ok(query)
}

/// Returns the header fields of a JSON response that is rendered for the request, and has the date of the dataset. Other
/// responses replace some of them.
fn json_representation<'s>(served: &'s ServedState, tag: &EntityTag) -> Representation<'s> {
    // From the arena, so without an allocation.
    let etag = HeaderValue::from_maybe_shared(arena::copy(tag.as_bytes()));
    Representation {
        media_type: &JSON,
        etag: Cow::Owned(etag.expect("a tag is visible ASCII")),
        last_modified: Some(&served.last_modified),
        coding: Coding::Identity,
        link: None,
        prepared: None,
        policy: None,
        is_immutable: false,
        vary: Vary::Coding,
    }
}

/// Tells whether `rest` begins with an escape (RFC 3986 §2.1). Values of unknown parameters are not validated, so not every
/// `%` of a query begins one.
fn is_escape(rest: &[u8]) -> bool {
    match rest {
        [b'%', high, low, ..] => high.is_ascii_hexdigit() && low.is_ascii_hexdigit(),
        _ => false,
    }
}
