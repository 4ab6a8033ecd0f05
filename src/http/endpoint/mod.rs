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

/// The error of requests that depend on insights which are not derived yet.
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

/// Answers with the stored document of this index, or with what its row says about the query.
fn document<'s>(served: &'s ServedState, index: usize, head: &RequestHead) -> Reply<'s> {
    match DOCUMENTS[index].by_query {
        ByQuery::Nothing | ByQuery::Version => head.serve_stored(served, index),
        ByQuery::Feed(format) => feed::feed(served, index, format, head),
        ByQuery::Theme => head.serve_stored(served, page::badge(index, head.query())),
        ByQuery::Page(page) => page::rendered(served, index, page, head),
    }
}

/// `/api/reviews/{id}`: the review's slice of the stored array; its entity-tag changes only when the review does. A
/// browser is sent to the page of the review.
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
        ..made(served, &tag)
    };
    head.evaluate(served, representation, |representation| {
        Reply::Serve(representation, Body::full(snapshot.review_shared(row)))
    })
}

impl RequestHead {
    /// Answers with stored bytes, in the selected coding; costs reference counts, no allocation.
    fn serve_stored<'s>(&self, served: &'s ServedState, index: usize) -> Reply<'s> {
        let Some(variant) = served.document(index, self) else {
            return Reply::Refuse(INSIGHTS_NOT_READY);
        };
        let body = variant.body;
        self.evaluate(served, variant.representation, |representation| {
            Reply::Serve(representation, Body::full(body.clone()))
        })
    }

    /// Evaluates the request's conditions on the entity-tag and the dataset's date; calls `serve` only if the content itself
    /// must be sent.
    fn evaluate<'s>(
        &self,
        served: &'s ServedState,
        representation: Representation<'s>,
        serve: impl FnOnce(Representation<'s>) -> Reply<'s>,
    ) -> Reply<'s> {
        if !self.is_conditional() {
            return serve(representation);
        }
        let dated = representation.last_modified;
        let validators = Validators {
            etag: representation.etag.as_bytes(),
            last_modified: dated.map(|_| served.snapshot().updated_at),
        };
        let matches = HeadField::IfMatch;
        let unmodified = HeadField::IfUnmodifiedSince;
        if !conditional::holds(validators, self.values(matches), self.values(unmodified)) {
            return Reply::Refuse(HttpError::Precondition);
        }
        let none_match = self.values(HeadField::IfNoneMatch);
        let modified = self.values(HeadField::IfModifiedSince);
        if conditional::is_not_modified(validators, none_match, modified) {
            Reply::NotModified(representation)
        } else {
            serve(representation)
        }
    }
}

/// Parses the query of a search or of a feed of some reviews.
///
/// # Errors
/// The issues of the query, or that it filters by insights that are not ready.
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

/// Returns the header fields of a JSON response that is rendered per request.
fn made<'s>(served: &'s ServedState, tag: &EntityTag) -> Representation<'s> {
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
