//! Resources: the stored documents and single reviews, under a scheme of their own, as text.

use serde_json::{Value, json};

use super::catalog::Catalog;
use super::jsonrpc::{Call, INVALID_PARAMS, RESOURCE_NOT_FOUND, RpcError};
use super::protocol::Era;
use crate::search::envelope::{push_head, push_tail};
use crate::snapshot::Snapshot;
use crate::wire::date::parse_date;
use crate::wire::json::{push_escaped, push_string};
use crate::wire::text::{cut, truncate};

/// Appends the result of `resources/read`, up to its closing brace.
pub(crate) fn read(
    catalog: &Catalog,
    era: Era,
    call: &Call<'_>,
    out: &mut Vec<u8>,
) -> Result<(), RpcError> {
    let Some(uri) = call.text("uri") else {
        return Err(RpcError::params("params.uri must be the URI of a resource"));
    };
    let snapshot = &catalog.snapshot;
    if let Some(id) = uri.strip_prefix("reviews://review/") {
        let row = snapshot.index.row_of_id(id);
        let row = row.ok_or_else(|| not_found(era, uri))?;
        return push_content(out, uri, snapshot.review(row));
    }
    if let Some(date) = uri.strip_prefix("reviews://since/") {
        let date = parse_date(date.as_bytes()).map_err(|_| not_found(era, uri))?;
        let since = snapshot.since(date);
        if since.array.len() > READ_BYTES_MAX {
            return Err(too_large(uri, since.array.len()));
        }
        let mut json = Vec::with_capacity(since.array.len() + 64);
        push_head(&mut json, since.matched, since.matched as usize, None);
        json.extend_from_slice(&since.array);
        push_tail(&mut json, &[]);
        return push_content(out, uri, &json);
    }
    match uri {
        "reviews://business" => push_content(out, uri, &catalog.business),
        "reviews://dataset" => push_content(out, uri, &snapshot.reviews.body),
        "reviews://insights" => {
            let insights = snapshot.insights().ok_or_else(|| not_found(era, uri))?;
            push_content(out, uri, &insights.body)
        }
        "reviews://feed" => push_content(out, uri, &snapshot.feed_json.body),
        REVIEW_CARD_URI => push_content(out, uri, REVIEW_CARD.as_bytes()),
        _ => Err(not_found(era, uri)),
    }
}

/// Returns the items of `resources/list`; a document that is too large to be read here is not offered.
pub(super) fn list(snapshot: &Snapshot, business_bytes: usize) -> Vec<Value> {
    let modified = snapshot.updated_at.to_string();
    let insights = snapshot.insights();
    let documents = [
        (
            "business",
            "Business and rating",
            "Name, address, hours, services and people of the business, and its aggregate rating.",
            business_bytes,
        ),
        (
            "dataset",
            "All reviews",
            "The whole dataset: business, aggregate rating and every published review, newest first.",
            snapshot.reviews.body.len(),
        ),
        (
            "insights",
            "Insights",
            "What the reviews say in figures: entities, months, aspects, questions and answers.",
            // Not offered while they are being derived.
            insights.map_or(usize::MAX, |insights| insights.body.len()),
        ),
        (
            "feed",
            "Newest reviews",
            "The 50 newest reviews as a JSON Feed 1.1 document.",
            snapshot.feed_json.body.len(),
        ),
    ];
    let offered = documents
        .iter()
        .filter(|(.., bytes)| *bytes <= READ_BYTES_MAX);
    let item = |(name, title, description, bytes): &(&str, &str, &str, usize)| {
        json!({
            "uri": format!("reviews://{name}"),
            "name": name,
            "title": title,
            "description": description,
            "mimeType": "application/json",
            "size": bytes,
            "annotations": {
                "audience": ["assistant", "user"],
                "priority": if *name == "business" { 0.8 } else { 0.5 },
                "lastModified": modified,
            },
        })
    };
    let card = json!({
        "uri": REVIEW_CARD_URI,
        "name": "review-card",
        "title": "Review card",
        "description": "Shows the reviews of an answer as cards, in clients that have MCP Apps.",
        "mimeType": APP,
        "size": REVIEW_CARD.len(),
    });
    offered.map(item).chain([card]).collect()
}

/// Appends one text in the shape of a result, up to its closing brace.
fn push_content(out: &mut Vec<u8>, uri: &str, text: &[u8]) -> Result<(), RpcError> {
    if text.len() > READ_BYTES_MAX {
        return Err(too_large(uri, text.len()));
    }
    out.reserve(text.len() + text.len() / 8 + 128);
    out.extend_from_slice(b"{\"contents\":[{\"uri\":");
    push_string(out, uri);
    let media_type = match uri {
        REVIEW_CARD_URI => APP,
        _ => "application/json",
    };
    out.extend_from_slice(format!(",\"mimeType\":\"{media_type}\",\"text\":\"").as_bytes());
    push_escaped(out, text);
    out.extend_from_slice(b"\"}]");
    Ok(())
}

fn not_found(era: Era, uri: &str) -> RpcError {
    let code = match era {
        Era::Handshake => RESOURCE_NOT_FOUND,
        Era::Stateless => INVALID_PARAMS,
    };
    let message = format!("there is no resource {:?} here", cut(uri));
    RpcError {
        data: Some(json!({"uri": truncate(uri, URI_BYTES_MAX)})),
        ..RpcError::new(code, message)
    }
}

fn too_large(uri: &str, bytes: usize) -> RpcError {
    RpcError::params(format!(
        "{} has {bytes} bytes, more than the {READ_BYTES_MAX} of one answer: \
         use search_reviews or list_reviews_since page by page",
        cut(uri)
    ))
}

/// The address of the card that shows reviews, which the search names in its `_meta`.
pub(super) const REVIEW_CARD_URI: &str = "ui://reviewd/review-card";
/// A page for the frame of a client (MCP Apps, 2026-01-26); it loads nothing from elsewhere.
const REVIEW_CARD: &str = include_str!("review_card.html");
const APP: &str = "text/html;profile=mcp-app";
/// Largest document that is sent as a resource, 4 MiB; larger ones are neither listed nor read.
const READ_BYTES_MAX: usize = 4 << 20;
/// Longest part of a URI that the data of an error repeats, in bytes.
const URI_BYTES_MAX: usize = 256;
