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
use crate::pages::{HTML, InvalidQuery, Page, Scratch};

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

/// Answers with the stored document, or renders it for the query.
pub(super) fn page<'s>(served: &'s ServedState, page: Page, head: &RequestHead<'_>) -> Reply<'s> {
    match page {
        Page::Home if !head.query.is_empty() => search(served, head),
        Page::Widget if !head.query.is_empty() => widget(served, head),
        Page::Badge => stored(served, badge(head.query), head),
        _ => stored(served, page, head),
    }
}

fn stored<'s>(served: &'s ServedState, page: Page, head: &RequestHead<'_>) -> Reply<'s> {
    head.serve_stored(served, served.page(page, head))
}

/// The badge in the theme of the query; any other query is ignored, as on every document.
fn badge(query: &str) -> Page {
    match query {
        "theme=light" => Page::BadgeLight,
        "theme=dark" => Page::BadgeDark,
        _ => Page::Badge,
    }
}

fn search<'s>(served: &'s ServedState, head: &RequestHead<'_>) -> Reply<'s> {
    SCRATCH.with_borrow_mut(|Scratch { buffers, run }| {
        let pages = &served.pages;
        let asked = match pages.ask(head.query.as_bytes(), buffers) {
            Ok(asked) if asked.is_empty() => return stored(served, Page::Home, head),
            Ok(asked) => asked,
            Err(InvalidQuery { page, is_early }) => {
                let error = match is_early {
                    true => INSIGHTS_NOT_READY,
                    false => HttpError::Issues(Bytes::new()),
                };
                return Reply::RefuseByPage(error, page.into(), Page::Home.policy());
            }
        };
        rendered(served, Page::Home, head, || pages.find(&asked, run))
    })
}

fn widget<'s>(served: &'s ServedState, head: &RequestHead<'_>) -> Reply<'s> {
    SCRATCH.with_borrow_mut(|Scratch { buffers, run }| {
        let pages = &served.pages;
        match pages.ask_widget(head.query.as_bytes(), buffers) {
            Ok(query) => rendered(served, Page::Widget, head, || {
                pages.find_widget(head.query.as_bytes(), &query, run)
            }),
            Err(page) => {
                let error = HttpError::Issues(Bytes::new());
                Reply::RefuseByPage(error, page.into(), Page::Widget.policy())
            }
        }
    })
}

/// Answers with the result of `render`, unless the client's copy is current.
fn rendered<'s>(
    served: &'s ServedState,
    page: Page,
    head: &RequestHead<'_>,
    render: impl FnOnce() -> Vec<u8>,
) -> Reply<'s> {
    static MEDIA_TYPE: HeaderValue = HeaderValue::from_static(HTML);
    let tag = served.pages.search_tag(page, head.query.as_bytes());
    let representation = Representation {
        media_type: &MEDIA_TYPE,
        policy: Some(page.policy()),
        last_modified: served.last_modified_of(page),
        ..made(served, &tag)
    };
    head.evaluate(served, &tag, representation, |representation| {
        Reply::Serve(representation, Body::full(Bytes::from(render())))
    })
}
