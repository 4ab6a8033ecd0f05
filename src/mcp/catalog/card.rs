//! The two documents by which agents discover the server before they connect: the server card and the AI catalog.

use serde_json::json;

use crate::mcp::protocol::Revision;
use crate::snapshot::Snapshot;
use crate::wire::authority::Authority;

/// Description of the server, at most 100 characters, the limit of the registry.
pub(super) const DESCRIPTION: &str =
    "Verified customer reviews: search, ratings and insights, read-only, without a key.";

/// Longest title of a card, in characters, the limit of the registry.
const TITLE_CHARS_MAX: usize = 100;

/// The Content-Type of the server card.
pub(crate) const SERVER_CARD: &str = "application/mcp-server-card+json";

/// The Content-Type of the catalog.
pub(crate) const AI_CATALOG: &str = "application/ai-catalog+json";

/// Renders the server card; `server.json` of the public registry has the same name, texts and address.
pub(crate) fn server_card(snapshot: &Snapshot) -> String {
    let card = json!({
        "$schema": "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json",
        "name": format!("{}/reviews", reversed(&host(&snapshot.base_url))),
        "version": env!("CARGO_PKG_VERSION"),
        "title": title(snapshot),
        "description": DESCRIPTION,
        "remotes": [{
            "type": "streamable-http",
            "url": format!("{}/mcp", snapshot.base_url),
            "supportedProtocolVersions": Revision::dates(),
        }],
    });
    card.to_string()
}

/// Renders the catalog, which links to the card.
pub(crate) fn ai_catalog(snapshot: &Snapshot) -> String {
    let catalog = json!({
        "specVersion": "1.0",
        "host": {"displayName": snapshot.business.name},
        "entries": [{
            "identifier": format!("urn:air:{}:mcp:reviews", host(&snapshot.base_url)),
            "displayName": title(snapshot),
            "description": DESCRIPTION,
            "type": SERVER_CARD,
            "url": format!("{}/mcp/server-card", snapshot.base_url),
        }],
    });
    catalog.to_string()
}

/// Returns the title of the server, at most 100 characters.
pub(super) fn title(snapshot: &Snapshot) -> String {
    let title = format!("Reviews of {}", snapshot.business.name);
    title.chars().take(TITLE_CHARS_MAX).collect()
}

/// Returns the host of the public address, without brackets and port.
fn host(base_url: &str) -> String {
    let authority = Authority::of_url(base_url);
    let host = authority.map_or("", |authority| authority.host);
    host.trim_matches(['[', ']', '.']).to_ascii_lowercase()
}

/// Returns the host with its labels in reverse order, as in registry names: `com.example.reviews`. An IP address has no
/// labels and is called `local`.
fn reversed(host: &str) -> String {
    match host.parse::<std::net::IpAddr>() {
        Ok(_) => "local".to_owned(),
        Err(_) => host.rsplit('.').collect::<Vec<_>>().join("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_reversed_domains() {
        assert_eq!(
            reversed(&host("https://reviews.example.com:8443")),
            "com.example.reviews"
        );
        assert_eq!(reversed(&host("http://localhost:8080")), "localhost");
        assert_eq!(reversed(&host("http://127.0.0.1:8080")), "local");
        assert_eq!(reversed(&host("http://[::1]:8080")), "local");
    }
}
