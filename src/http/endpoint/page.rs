//! Pages that are rendered per request: searches and widgets with a query, reviews, parts of the sitemap; and the logo.

use std::cell::RefCell;

use bytes::Bytes;
use hyper::header::HeaderValue;

use super::{INSIGHTS_NOT_READY, evaluate, json_representation, serve_stored};
use crate::http::body::Body;
use crate::http::documents::{self, DOCUMENTS};
use crate::http::error::HttpError;
use crate::http::head::RequestHead;
use crate::http::reply::{Reply, Representation, Vary};
use crate::http::served_state::ServedState;
use crate::pages::{
    BrowserPolicy, HTML, Language, PageLanguage, Pages, QueryPage, Rendered, theme,
};
use crate::search::query::Buffers;
use crate::search::run::Scratch;

static MEDIA_TYPE: HeaderValue = HeaderValue::from_static(HTML);
static SVG: HeaderValue = HeaderValue::from_static("image/svg+xml");

/// Buffers that the pages of a thread reuse.
#[derive(Default)]
struct PageMemory {
    buffers: Buffers,
    scratch: Scratch,
}

thread_local! {
    static MEMORY: RefCell<PageMemory> = RefCell::default();
}

/// `/badge.svg`, of which `index` is the row: stored in each theme in the default language, and drawn in another one that
/// `lang` names. Other parameters are ignored, as for every document.
pub(super) fn badge<'s>(served: &'s ServedState, index: usize, head: &RequestHead) -> Reply<'s> {
    let pages = &served.pages;
    let query = head.query().as_bytes();
    let theme = theme(query);
    let language = pages.language(query, std::iter::empty()).chosen;
    if language == pages.default_language() {
        return serve_stored(served, themed_badge(theme).unwrap_or(index), head);
    }
    let tag = pages.tag(
        Rendered::Badge,
        language,
        theme.unwrap_or_default().as_bytes(),
    );
    let representation = Representation {
        media_type: &SVG,
        policy: Some(BrowserPolicy::Drawing),
        ..json_representation(served, &tag)
    };
    evaluate(head, representation, |representation| {
        let drawing = pages.badge(language, theme);
        Reply::Serve(representation, Body::made(drawing.into_bytes()))
    })
}

/// The row of the badge in a theme that the query names.
fn themed_badge(theme: Option<&str>) -> Option<usize> {
    match theme? {
        "light" => documents::index_of("/badge.svg?theme=light"),
        _ => documents::index_of("/badge.svg?theme=dark"),
    }
}

/// `/reviews/{id}`: the page of a review in the visitor's language; rendered only if the client's copy is not current.
pub(super) fn review<'s>(served: &'s ServedState, id: &str, head: &RequestHead) -> Reply<'s> {
    let Some(row) = served.snapshot().index.row_of_id(id) else {
        return Reply::Refuse(HttpError::UnknownReview);
    };
    let pages = &served.pages;
    let accepted = head.lines_from_last("accept-language");
    let language = pages.language(head.query().as_bytes(), accepted);
    let tag = pages.tag(Rendered::Review, language.chosen, id.as_bytes());
    let representation = Representation {
        media_type: &MEDIA_TYPE,
        policy: Some(BrowserPolicy::Page),
        vary: vary(language),
        ..json_representation(served, &tag)
    };
    evaluate(head, representation, |representation| {
        MEMORY.with_borrow_mut(|memory| {
            let html = pages.review(row, language, &mut memory.scratch);
            Reply::Serve(representation, Body::made(html.into_bytes()))
        })
    })
}

/// `/sitemaps/{number}`: rendered per request, as the parts of a large sitemap have many megabytes.
pub(super) fn sitemap_part<'s>(
    served: &'s ServedState,
    number: &str,
    head: &RequestHead,
) -> Reply<'s> {
    static XML: HeaderValue = HeaderValue::from_static("application/xml");
    let parts = served.pages.sitemap_parts();
    // Compared as texts: `01` is no part.
    let found = (1..=parts).find(|part| part.to_string() == number);
    let Some(part) = found else {
        return Reply::Refuse(HttpError::UnknownPath);
    };
    let name = part.to_be_bytes();
    let tag = served
        .pages
        .tag(Rendered::SitemapPart, Language::DEFAULT, &name);
    let representation = Representation {
        media_type: &XML,
        ..json_representation(served, &tag)
    };
    evaluate(head, representation, |representation| {
        let body = Body::made(served.pages.sitemap_part(part).into_bytes());
        Reply::Serve(representation, body)
    })
}

/// `/logo`: the owner's, if there is one.
pub(super) fn logo<'s>(served: &'s ServedState, head: &RequestHead) -> Reply<'s> {
    static PNG: HeaderValue = HeaderValue::from_static("image/png");
    let Some(logo) = served.pages.logo() else {
        return Reply::Refuse(HttpError::UnknownPath);
    };
    let tag = served.pages.tag(Rendered::Logo, Language::DEFAULT, b"");
    let representation = Representation {
        media_type: if logo.is_picture { &PNG } else { &SVG },
        policy: Some(BrowserPolicy::Drawing),
        is_immutable: served.pages.is_logo_version(head.query()),
        ..json_representation(served, &tag)
    };
    evaluate(head, representation, |representation| {
        Reply::Serve(representation, Body::full(logo.bytes.clone()))
    })
}

/// `/widget.json`: what the custom element shows; searches only if the client's copy is not current.
pub(super) fn widget_data<'s>(served: &'s ServedState, head: &RequestHead) -> Reply<'s> {
    let pages = &served.pages;
    let raw = head.query().as_bytes();
    let language = pages.language(raw, head.lines_from_last("accept-language"));
    MEMORY.with_borrow_mut(|memory| {
        let PageMemory { buffers, scratch } = memory;
        let query = match pages.parse_query(raw, language, buffers) {
            Ok(query) => query,
            Err(issues) => return Reply::Refuse(HttpError::Issues(issues.render().into())),
        };
        if query.needs_insights() && served.snapshot().insights().is_none() {
            return Reply::Refuse(INSIGHTS_NOT_READY);
        }
        let tag = pages.tag(Rendered::WidgetData, language.chosen, raw);
        let representation = Representation {
            last_modified: served.date_of_content(query.needs_insights()),
            vary: vary(language),
            ..json_representation(served, &tag)
        };
        evaluate(head, representation, |representation| {
            let data = pages.widget_data(&query, language, scratch);
            Reply::Serve(representation, Body::made(data.into_bytes()))
        })
    })
}

/// Answers with the front page, a search page or a widget; searches only if the client's copy is not current. `index` is
/// that of the document without parameters.
pub(super) fn query_page<'s>(
    served: &'s ServedState,
    index: usize,
    page: QueryPage,
    head: &RequestHead,
) -> Reply<'s> {
    let row = &DOCUMENTS[index];
    let policy = row.policy.unwrap_or(BrowserPolicy::Page);
    let pages = &served.pages;
    let raw = head.query().as_bytes();
    let language = pages.language(raw, head.lines_from_last("accept-language"));
    let is_default = !language.is_explicit && language.chosen == pages.default_language();
    if raw.is_empty() && is_default {
        return serve_stored(served, index, head);
    }
    MEMORY.with_borrow_mut(|memory| {
        let PageMemory { buffers, scratch } = memory;
        let query = match pages.parse(page, raw, language, buffers) {
            Ok(query) => query,
            Err(error_page) => {
                let error = HttpError::Issues(Bytes::new());
                return Reply::RefuseByPage(error, error_page.0.into(), policy);
            }
        };
        // All parameters may be unknown or empty.
        if page == QueryPage::Home && query.is_empty() && is_default {
            return serve_stored(served, index, head);
        }
        if query.needs_insights() && served.snapshot().insights().is_none() {
            let html = not_ready_page(pages, page, raw, language);
            return Reply::RefuseByPage(INSIGHTS_NOT_READY, html.into(), policy);
        }
        let kind = match page {
            QueryPage::Widget => Rendered::Widget,
            QueryPage::Home => Rendered::List,
        };
        let tag = pages.tag(kind, language.chosen, raw);
        let shows_insights = row.shows_insights || query.needs_insights();
        let representation = Representation {
            media_type: &MEDIA_TYPE,
            policy: Some(policy),
            last_modified: served.date_of_content(shows_insights),
            vary: vary(language),
            ..json_representation(served, &tag)
        };
        evaluate(head, representation, |representation| {
            let html = match page {
                QueryPage::Widget => pages.widget(raw, &query, language, scratch),
                QueryPage::Home if query.is_empty() => pages.home(language),
                QueryPage::Home => pages.search(&query, language, scratch),
            };
            Reply::Serve(representation, Body::made(html.into_bytes()))
        })
    })
}

/// Renders the page that says that insights are not derived yet.
fn not_ready_page(
    pages: &Pages,
    page: QueryPage,
    raw_query: &[u8],
    language: PageLanguage,
) -> String {
    let message = format!("{INSIGHTS_NOT_READY}; try again in a minute");
    match page {
        QueryPage::Widget => pages.widget_error(raw_query, language, vec![message]),
        QueryPage::Home => pages.error(language, 503, "Not available yet", &message),
    }
}

/// Returns the fields of a request that select the language of a page.
fn vary(language: PageLanguage) -> Vary {
    if language.is_negotiated {
        Vary::Language
    } else {
        Vary::Coding
    }
}
