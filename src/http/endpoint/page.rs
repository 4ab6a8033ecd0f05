//! Pages and their files: stored documents, except searches and widgets with a query, which are rendered per request.

use std::cell::RefCell;

use bytes::Bytes;
use hyper::header::HeaderValue;

use super::{INSIGHTS_NOT_READY, made};
use crate::http::body::Body;
use crate::http::error::HttpError;
use crate::http::head::RequestHead;
use crate::http::reply::{Reply, Representation};
use crate::http::served_state::ServedState;
use crate::pages::{HTML, Page, theme};
use crate::search::query::Buffers;
use crate::search::run::Scratch;

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

/// Answers with a search page or a widget; searches only if the client's copy is not current.
fn rendered<'s>(served: &'s ServedState, page: Page, head: &RequestHead<'_>) -> Reply<'s> {
    static MEDIA_TYPE: HeaderValue = HeaderValue::from_static(HTML);
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
            Reply::Serve(representation, Body::full(html.into()))
        })
    })
}
