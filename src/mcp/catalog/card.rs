//! The two documents by which agents find the server before they connect: the server card and the AI catalog.

use crate::mcp::protocol::Revision;
use crate::snapshot::{Resource, Snapshot};
use crate::wire::json::{Array, Object};

/// Renders the server card.
pub(super) fn server_card(snapshot: &Snapshot) -> Resource {
    let mut out = Vec::new();
    let mut card = Object::begin(&mut out);
    card.string(
        "$schema",
        "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json",
    )
    .string(
        "name",
        &format!("{}/reviews", reversed(host(&snapshot.base_url))),
    )
    .string("version", env!("CARGO_PKG_VERSION"))
    .string("title", &title(snapshot))
    .string("description", DESCRIPTION);
    let mut remotes = Array::begin(card.key("remotes"));
    let mut remote = Object::begin(remotes.item());
    remote
        .string("type", "streamable-http")
        .string("url", &format!("{}/mcp", snapshot.base_url))
        .strings(
            "supportedProtocolVersions",
            Revision::ALL.map(Revision::as_str),
        );
    remote.end();
    remotes.end();
    card.end();
    Resource::new(out.into(), CARD, snapshot.updated_at)
}

/// Renders the catalog, which points at the card.
pub(super) fn ai_catalog(snapshot: &Snapshot) -> Resource {
    let mut out = Vec::new();
    let mut catalog = Object::begin(&mut out);
    catalog.string("specVersion", "1.0");
    let mut host_entry = Object::begin(catalog.key("host"));
    host_entry.string("displayName", &snapshot.business.name);
    host_entry.end();
    let mut entries = Array::begin(catalog.key("entries"));
    let mut entry = Object::begin(entries.item());
    entry
        .string(
            "identifier",
            &format!("urn:air:{}:mcp:reviews", host(&snapshot.base_url)),
        )
        .string("displayName", &title(snapshot))
        .string("description", DESCRIPTION)
        .string("type", CARD)
        .string("url", &format!("{}/mcp/server-card", snapshot.base_url));
    entry.end();
    entries.end();
    catalog.end();
    Resource::new(out.into(), CATALOG, snapshot.updated_at)
}

fn title(snapshot: &Snapshot) -> String {
    let title = format!("Reviews of {}", snapshot.business.name);
    title.chars().take(TITLE_CHARS_MAX).collect()
}

/// The host of an origin, without brackets and port.
fn host(base_url: &str) -> &str {
    let authority = base_url
        .split_once("://")
        .map_or(base_url, |(_, rest)| rest);
    match authority.strip_prefix('[') {
        Some(literal) => literal.split(']').next().unwrap_or(literal),
        None => authority.split([':', '/']).next().unwrap_or(authority),
    }
}

/// Names in the registry begin with the domain, its parts in reverse: `example.reviews`.
fn reversed(host: &str) -> String {
    if host.parse::<std::net::IpAddr>().is_ok() {
        return "local".to_owned();
    }
    host.rsplit('.')
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(".")
}

const CARD: &str = "application/mcp-server-card+json";
const CATALOG: &str = "application/ai-catalog+json";
const DESCRIPTION: &str =
    "Verified customer reviews: search, ratings and insights, read-only, without a key.";
/// Longest title of a card.
const TITLE_CHARS_MAX: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_reversed_domains() {
        assert_eq!(
            reversed(host("https://reviews.example.com:8443")),
            "com.example.reviews"
        );
        assert_eq!(reversed(host("http://localhost:8080")), "localhost");
        assert_eq!(reversed(host("http://127.0.0.1:8080")), "local");
        assert_eq!(reversed(host("http://[::1]:8080")), "local");
    }
}
