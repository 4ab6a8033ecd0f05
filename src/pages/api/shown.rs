//! The entries that people see: pages, and what other sites show of the reviews.

use super::operation::{Document, Entry, Operation, Tag};
use super::parameters;
use super::reads::{ENCODED, page_entry, stored};
use crate::pages::{HTML, Page};

pub(super) const HOME: Entry = page_entry(
    "",
    Page::Home,
    Tag::Pages,
    &[Operation {
        id: "showPage",
        summary: "The page for people",
        description: "Rating, what clients talk about, search and reviews. It takes the parameters of the search, and two of its own.",
        parameters: parameters::HOME,
        others: &[
            ("304", "NotModified"),
            ("400", "RefusedPage"),
            ("412", "PreconditionFailed"),
            ("503", "EarlyPage"),
            ("default", "Refused"),
        ],
        ..stored(HTML, "Text", Document::None, LINKED)
    }],
);

pub(super) const DEVELOPERS: Entry = page_entry(
    "developers",
    Page::Developers,
    Tag::Discovery,
    &[Operation {
        id: "showDocumentation",
        summary: "The documentation for developers",
        description: "Every address with examples to copy and to try.",
        ..stored(HTML, "Text", Document::None, LINKED)
    }],
);

pub(super) const BADGE: Entry = page_entry(
    "badge.svg",
    Page::Badge,
    Tag::Pages,
    &[Operation {
        id: "showBadge",
        summary: "Rating and count as a small picture",
        description: "For an img element on your own site.",
        parameters: parameters::THEME,
        ..stored("image/svg+xml", "Text", Document::None, ENCODED)
    }],
);

pub(super) const WIDGET: Entry = page_entry(
    "widget.html",
    Page::Widget,
    Tag::Pages,
    &[Operation {
        id: "showWidget",
        summary: "Reviews for a frame",
        description: "For an iframe element on your own site. It takes the parameters of the search.",
        parameters: parameters::WIDGET,
        others: &[
            ("304", "NotModified"),
            ("400", "RefusedPage"),
            ("412", "PreconditionFailed"),
            ("default", "Refused"),
        ],
        ..stored(HTML, "Text", Document::None, ENCODED)
    }],
);

pub(super) const WIDGET_SCRIPT: Entry = page_entry(
    "widget.js",
    Page::WidgetScript,
    Tag::Pages,
    &[Operation {
        id: "getWidgetScript",
        summary: "Reviews as an element",
        description: "Defines reviewd-reviews, an element with attributes count, min-rating, service and theme.",
        ..stored(SCRIPT_TYPE, "Text", Document::None, ENCODED)
    }],
);

pub(super) const STYLESHEET: Entry = page_entry(
    "page.css",
    Page::Stylesheet,
    Tag::Files,
    &[file("getStylesheet", "The styles of the pages", STYLE_TYPE)],
);

pub(super) const SCRIPT: Entry = page_entry(
    "page.js",
    Page::Script,
    Tag::Files,
    &[file(
        "getScript",
        "What makes searching on the page quicker",
        SCRIPT_TYPE,
    )],
);

pub(super) const DEVELOPERS_SCRIPT: Entry = page_entry(
    "developers.js",
    Page::DevelopersScript,
    Tag::Files,
    &[file(
        "getDevelopersScript",
        "What copies and tries the examples of the documentation",
        SCRIPT_TYPE,
    )],
);

pub(super) const WIDGET_STYLESHEET: Entry = page_entry(
    "widget.css",
    Page::WidgetStylesheet,
    Tag::Files,
    &[file(
        "getWidgetStylesheet",
        "The styles of the framed reviews",
        STYLE_TYPE,
    )],
);

pub(super) const FAVICON: Entry = page_entry(
    "favicon.svg",
    Page::Favicon,
    Tag::Files,
    &[file("getFavicon", "A star", "image/svg+xml")],
);

const fn file(id: &'static str, summary: &'static str, media_type: &'static str) -> Operation {
    Operation {
        id,
        summary,
        description: "The version that pages ask for may be kept for good.",
        parameters: parameters::VERSION,
        ..stored(media_type, "Text", Document::None, ENCODED)
    }
}

const SCRIPT_TYPE: &str = "text/javascript; charset=utf-8";
const STYLE_TYPE: &str = "text/css; charset=utf-8";

/// The fields of a page that leads to the descriptions.
const LINKED: &[(&str, &str)] = &[
    ("ETag", "ETag"),
    ("Last-Modified", "LastModified"),
    ("Cache-Control", "CacheControl"),
    ("Vary", "Vary"),
    ("Content-Encoding", "ContentEncoding"),
    ("Access-Control-Allow-Origin", "AllowOrigin"),
    ("Link", "ServiceLink"),
];
