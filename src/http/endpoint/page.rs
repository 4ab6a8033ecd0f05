//! Pages and their files: stored documents, except searches and widgets with a query, which are rendered per request.

use std::cell::RefCell;

use bytes::Bytes;
use hyper::header::HeaderValue;

use super::{INSIGHTS_NOT_READY, made};
use crate::http::body::Body;
use crate::http::error::HttpError;
use crate::http::head::RequestHead;
use crate::http::reply::{Reply, Representation, Vary};
use crate::http::served_state::ServedState;
use crate::pages::{HTML, Page, Policy, theme};
use crate::search::query::Buffers;
use crate::search::run::Scratch;

static MEDIA_TYPE: HeaderValue = HeaderValue::from_static(HTML);

thread_local! {
    /// Buffers that a thread reuses for its searches.
    static SCRATCH: RefCell<(Buffers, Scratch)> = RefCell::default();
}

/// Answers with the stored document, or renders it for the query.
pub(super) fn page<'s>(served: &'s ServedState, page: Page, head: &RequestHead<'_>) -> Reply<'s> {
    match page {
        Page::Home | Page::Widget if !head.query.is_empty() => rendered(served, page, head),
        Page::Badge => stored(served, badge(head.query), head),
        _ => stored(served, page, head),
    }
}

fn stored<'s>(served: &'s ServedState, page: Page, head: &RequestHead<'_>) -> Reply<'s> {
    head.serve_stored(served, served.page(page, head))
}

/// The badge in the theme of the query; all else in the query is ignored, as on every document.
fn badge(query: &str) -> Page {
    match theme(query.as_bytes()) {
        Some("light") => Page::BadgeLight,
        Some("dark") => Page::BadgeDark,
        _ => Page::Badge,
    }
}

/// `/reviews/{id}`: rendered in the visitor's language, unless the client's copy is current.
pub(super) fn review<'s>(served: &'s ServedState, id: &str, head: &RequestHead<'_>) -> Reply<'s> {
    let Some(row) = served.snapshot().index.row_of_id(id) else {
        return Reply::Refuse(HttpError::UnknownReview);
    };
    let pages = &served.pages;
    let accepted = head.lines_from_last("accept-language");
    let language = pages.language(head.query.as_bytes(), accepted);
    let tag = pages.review_page_tag(id, language.chosen);
    let representation = Representation {
        media_type: &MEDIA_TYPE,
        policy: Some(Policy::Page),
        vary: if language.is_negotiated {
            Vary::Language
        } else {
            Vary::Coding
        },
        ..made(served, &tag)
    };
    head.evaluate(served, representation, |representation| {
        SCRATCH.with_borrow_mut(|(buffers, scratch)| {
            let html = pages.review(row, language, buffers, scratch);
            Reply::Serve(representation, Body::full(html.into()))
        })
    })
}

/// `/sitemaps/{number}`: rendered per request, as the parts of a large sitemap have many megabytes.
pub(super) fn sitemap_part<'s>(
    served: &'s ServedState,
    number: &str,
    head: &RequestHead<'_>,
) -> Reply<'s> {
    static XML: HeaderValue = HeaderValue::from_static("application/xml");
    let parts = served.pages.sitemap_parts();
    // A number has one spelling.
    let found = (1..=parts).find(|part| part.to_string() == number);
    let Some(part) = found else {
        return Reply::Refuse(HttpError::UnknownPath);
    };
    let tag = served.pages.sitemap_tag(part);
    let representation = Representation {
        media_type: &XML,
        ..made(served, &tag)
    };
    head.evaluate(served, representation, |representation| {
        let body = Body::full(served.pages.sitemap_part(part).into());
        Reply::Serve(representation, body)
    })
}

/// Answers with a search page or a widget; searches only if the client's copy is not current.
fn rendered<'s>(served: &'s ServedState, page: Page, head: &RequestHead<'_>) -> Reply<'s> {
    SCRATCH.with_borrow_mut(|(buffers, scratch)| {
        let (pages, raw) = (&served.pages, head.query.as_bytes());
        let refuse = |error, html: String| Reply::RefuseByPage(error, html.into(), page.policy());
        let query = match pages.parse(page, raw, buffers) {
            Ok(query) if page == Page::Home && query.is_empty() => {
                return stored(served, page, head);
            }
            Ok(query) => query,
            Err(html) => return refuse(HttpError::Issues(Bytes::new()), html),
        };
        if query.needs_insights() && served.snapshot().insights().is_none() {
            let message = format!("{INSIGHTS_NOT_READY}; try again in a minute");
            let html = match page {
                Page::Widget => pages.widget_error(raw, vec![message]),
                _ => pages.error(503, "Not available yet", &message),
            };
            return refuse(INSIGHTS_NOT_READY, html);
        }
        let tag = pages.search_tag(page, raw);
        let shows_insights = page.shows_insights() || query.needs_insights();
        let representation = Representation {
            media_type: &MEDIA_TYPE,
            policy: Some(page.policy()),
            last_modified: served.last_modified_if_made_of(shows_insights),
            ..made(served, &tag)
        };
        head.evaluate(served, representation, |representation| {
            let html = match page {
                Page::Widget => pages.widget(raw, &query, scratch),
                _ => pages.search(&query, scratch),
            };
            Reply::Serve(representation, Body::made(html.into_bytes()))
        })
    })
}
