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

/// Every address, in the order in which the descriptions list them; what readers want most comes first.
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
pub(crate) fn find(parent: &[u8], last: &[u8]) -> Option<Address> {
    let mut slot = slot_of(parent, last);
    // At least half of the slots are empty.
    while let Some(entry) = TABLE.get(usize::from(SLOTS[slot])) {
        if entry.last.as_bytes() == last && entry.parent.as_bytes() == parent {
            return Some(entry.address);
        }
        slot = (slot + 1) % SLOTS.len();
    }
    None
}

/// The places in [`TABLE`] of all addresses without parameters, each in its slot or in the next free one behind it; a
/// place that it does not have is none. Every request is looked up.
const SLOTS: [u8; 64] = {
    let mut slots = [u8::MAX; 64];
    assert!(TABLE.len() <= slots.len() / 2);
    let mut place = 0;
    while place < TABLE.len() {
        let entry = &TABLE[place];
        if !entry.has_parameter() {
            let mut slot = slot_of(entry.parent.as_bytes(), entry.last.as_bytes());
            while slots[slot] != u8::MAX {
                slot = (slot + 1) % slots.len();
            }
            slots[slot] = place as u8;
        }
        place += 1;
    }
    slots
};

/// Returns the slot to begin at.
const fn slot_of(parent: &[u8], last: &[u8]) -> usize {
    let first = match last {
        [first, ..] => *first as usize,
        [] => 0,
    };
    // Our choice: of the first letters and the lengths few are alike.
    (first + 5 * last.len() + 11 * parent.len()) % 64
}
