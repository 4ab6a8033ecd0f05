//! The endpoints: each takes what the router found and decides on a reply.

mod document;
mod hub;
mod mcp;
mod page;
mod review;
mod search;
mod since;
pub(crate) mod state;

use std::borrow::Cow;

use hyper::header::HeaderValue;

use super::app_state::AppState;
use super::head::{Field, RequestHead};
use super::reply::{Refusal, Reply, Representation};
use super::router::Route;
use super::served_state::ServedState;
use crate::wire::conditional::{self, Validators, Verdict};
use crate::wire::etag::EntityTag;
use crate::wire::negotiate::{Coding, CodingSet, Preferences};

pub(crate) use hub::hub;
pub(crate) use mcp::{judge, mcp};

/// Answers a GET or HEAD.
pub(crate) fn read<'s>(
    app: &AppState,
    served: &'s ServedState,
    route: Route<'_>,
    head: &RequestHead<'_>,
) -> Reply<'s> {
    match route {
        Route::Document(document) => document::document(served, document, head),
        Route::Page(page) => page::page(app, served, page, head),
        Route::Search => search::search(app, served, head),
        Route::Since(date) => since::since(served, date, head),
        Route::Review(id) => review::review(served, id, head),
        Route::Health => state::health(),
        Route::Ready => state::ready(app, served, state::Asker::Public),
        // The router gives these two no reads.
        Route::Hub | Route::Mcp => Reply::Refuse(Refusal::Method(route.allow())),
    }
}

impl RequestHead<'_> {
    /// Returns the coding that the client likes best of those that are there.
    fn coding(&self, available: CodingSet) -> Coding {
        if self.has(Field::AcceptEncoding) {
            Preferences::parse(self.values(Field::AcceptEncoding)).choose(available)
        } else {
            Coding::Identity
        }
    }

    /// Judges the request's conditions on what `tag` and the site's date stand for, and answers with `serve` only
    /// where the content itself has to be sent.
    fn judge<'s>(
        &self,
        served: &'s ServedState,
        tag: &EntityTag,
        representation: Representation<'s>,
        serve: impl FnOnce(Representation<'s>) -> Reply<'s>,
    ) -> Reply<'s> {
        if !self.is_conditional() {
            return serve(representation);
        }
        let values = |field| self.values(field);
        let validators = Validators {
            etag: tag.as_str(),
            last_modified: representation
                .last_modified
                .map(|_| served.snapshot().updated_at),
        };
        if !conditional::holds(
            validators,
            values(Field::IfMatch),
            values(Field::IfUnmodifiedSince),
        ) {
            return Reply::Refuse(Refusal::Precondition);
        }
        match conditional::evaluate(
            validators,
            values(Field::IfNoneMatch),
            values(Field::IfModifiedSince),
        ) {
            Verdict::Serve => serve(representation),
            Verdict::NotModified => Reply::NotModified(representation),
        }
    }
}

/// The headers of an answer in JSON that is made per request.
fn made<'s>(
    served: &'s ServedState,
    etag: HeaderValue,
    link: Option<HeaderValue>,
) -> Representation<'s> {
    Representation {
        media_type: &super::reply::JSON,
        etag: Cow::Owned(etag),
        last_modified: Some(served.last_modified()),
        coding: Coding::Identity,
        link,
        policy: None,
        is_immutable: false,
        ready: None,
    }
}
