//! The interface as data: every address, its methods, what goes in and what comes out.
//!
//! [`TABLE`] is the only list of addresses. The router finds its routes in it; `/openapi.json`, the endpoints of
//! `/developers`, `/llms.txt` and the API catalog are rendered from it. So none of them can name an address that is
//! not served, or miss one that is; tests hold the methods of both sides against each other.

mod abridge;
mod examples;
mod openapi;
mod operation;
mod parameters;
mod pushes;
mod reads;
mod shown;

use super::Page;

pub(super) use examples::Examples;
#[cfg(test)]
pub(super) use openapi::TOPICS;
pub(super) use openapi::{VERSION, render};
pub(super) use operation::{Body, Entry, Kind, Operation, Parameter, Place, Tag, Verb};

/// What stands at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Address {
    /// `/reviews.json`.
    Reviews,
    /// `/insights.json`.
    Insights,
    /// `/api/feed.json`.
    FeedJson,
    /// `/feed.xml`.
    FeedXml,
    /// `/api/reviews/search`.
    Search,
    /// `/api/reviews/since/{date}`.
    Since,
    /// `/api/reviews/{id}`.
    Review,
    /// `/mcp`.
    Mcp,
    /// `/mcp/server-card`.
    ServerCard,
    /// `/.well-known/ai-catalog.json`.
    AiCatalog,
    /// `/api/websub/hub`.
    Hub,
    /// `/healthz`.
    Health,
    /// `/readyz`.
    Ready,
    /// A document of this folder.
    Page(Page),
}

/// Every address, in the order in which the descriptions list them; what is asked for most comes first.
pub(crate) const TABLE: &[Entry] = &[
    reads::REVIEWS,
    reads::SEARCH,
    reads::SINCE,
    reads::REVIEW,
    reads::INSIGHTS,
    reads::FEED_JSON,
    reads::FEED_XML,
    reads::LINKED_DATA,
    pushes::MCP,
    pushes::HUB,
    shown::HOME,
    shown::BADGE,
    shown::WIDGET,
    shown::WIDGET_SCRIPT,
    shown::DEVELOPERS,
    reads::OPENAPI,
    reads::LLMS,
    reads::API_CATALOG,
    reads::SERVER_CARD,
    reads::AI_CATALOG,
    reads::SITEMAP,
    reads::ROBOTS,
    reads::HEALTH,
    reads::READY,
    shown::STYLESHEET,
    shown::SCRIPT,
    shown::WIDGET_STYLESHEET,
    shown::DEVELOPERS_SCRIPT,
    shown::FAVICON,
];

/// Returns what stands at a path without parameters, which is cut before its last segment.
pub(crate) fn find(parent: &str, last: &str) -> Option<Address> {
    TABLE
        .iter()
        .find(|entry| entry.last == last && entry.parent == parent && !entry.has_parameter())
        .map(|entry| entry.address)
}
