//! `/api/feed.json` and `/feed.xml`: the stored feeds, or those of the reviews that a query selects.
//!
//! The parameters are those of a search. Only the filters have an effect, as a feed always has the newest reviews. A filtered
//! feed is rendered for each request, and is no topic of the hub.

use std::cell::RefCell;

use hyper::header::HeaderValue;

use super::{evaluate, is_escape, json_representation, parse_search, serve_stored};
use crate::dataset::publish::{FEED_REVIEWS_MAX, FeedHead, atom_feed, json_feed};
use crate::http::body::Body;
use crate::http::documents::FeedFormat;
use crate::http::head::RequestHead;
use crate::http::reply::{JSON, Reply, Representation};
use crate::http::served_state::ServedState;
use crate::model::Review;
use crate::search::filter::{Filter, Query, Sort};
use crate::search::query::Buffers;
use crate::search::rank;
use crate::search::run::Scratch;
use crate::snapshot::Snapshot;
use crate::wire::text::percent_encode;

static ATOM: HeaderValue = HeaderValue::from_static("application/atom+xml");

/// Buffers that the feeds of a thread reuse.
#[derive(Default)]
struct FeedMemory {
    buffers: Buffers,
    scratch: Scratch,
}

thread_local! {
    static MEMORY: RefCell<FeedMemory> = RefCell::default();
}

/// Answers with the feed of the reviews that the query selects, or without a filter with the stored document `index`.
/// Searches only if the client's copy is not current.
pub(super) fn feed<'s>(
    served: &'s ServedState,
    index: usize,
    format: FeedFormat,
    head: &RequestHead,
) -> Reply<'s> {
    if head.query().is_empty() {
        return serve_stored(served, index, head);
    }
    MEMORY.with_borrow_mut(|memory| {
        let FeedMemory { buffers, scratch } = memory;
        let query = match parse_search(served, head.query(), buffers) {
            Ok(query) => query,
            Err(error) => return Reply::Refuse(error),
        };
        if query.filter == Filter::default() {
            return serve_stored(served, index, head);
        }
        let raw = head.query().as_bytes();
        let (tag, last_modified) = served.search_validators(raw, query.filter.needs_insights());
        let representation = Representation {
            media_type: match format {
                FeedFormat::Atom => &ATOM,
                FeedFormat::Json => &JSON,
            },
            last_modified,
            ..json_representation(served, &tag)
        };
        evaluate(head, representation, |representation| {
            let snapshot = served.snapshot();
            let newest = Query::new(query.filter, Sort::Newest, FEED_REVIEWS_MAX as u8);
            let page = rank::search(&snapshot.index, &newest, scratch);
            let rows = page.rows.iter();
            let reviews: Vec<Review> = rows.map(|row| snapshot.owned_review(*row)).collect();
            let body = render(snapshot, format, head.query(), &reviews);
            Reply::Serve(representation, Body::made(body))
        })
    })
}

/// Renders the feed of `reviews`; it names itself with `query`.
fn render(snapshot: &Snapshot, format: FeedFormat, query: &str, reviews: &[Review]) -> Vec<u8> {
    let escaped = escape_query(query);
    let head = FeedHead {
        business: &snapshot.business,
        disclaimer: snapshot.disclaimer.as_deref(),
        updated_at: snapshot.updated_at,
        base_url: &snapshot.base_url,
        query: Some(&escaped),
    };
    match format {
        FeedFormat::Atom => atom_feed(&head, reviews.iter()),
        FeedFormat::Json => json_feed(&head, reviews.iter()),
    }
}

/// Returns `query` with escapes for the bytes that the query of a URI must not contain (RFC 3986 §3.4).
fn escape_query(query: &str) -> String {
    let mut escaped = String::with_capacity(query.len() + 16);
    percent_encode(query.as_bytes(), begins_plain_query, |piece| {
        escaped.extend(piece.iter().copied().map(char::from));
    });
    escaped
}

/// Tells whether the first byte of `rest` may stand in the query of a URI.
fn begins_plain_query(rest: &[u8]) -> bool {
    match rest {
        [b'%', ..] => is_escape(rest),
        [byte, ..] => byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@/?".contains(byte),
        [] => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percent_sign_that_begins_no_escape_is_escaped() {
        for (query, expected) in [
            ("rating=5&x=%41", "rating=5&x=%41"),
            ("rating=5&x=%zz", "rating=5&x=%25zz"),
            ("x=%", "x=%25"),
            ("x=\"<", "x=%22%3C"),
        ] {
            assert_eq!(escape_query(query), expected);
        }
    }
}
