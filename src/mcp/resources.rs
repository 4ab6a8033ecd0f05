//! Resources: the stored documents and single reviews, under the URI scheme `reviews`, as text.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::clean::clean;
use super::jsonrpc::{Call, INVALID_PARAMS, RESOURCE_NOT_FOUND, RpcError};
use super::protocol::Era;
use super::result::NOT_READY;
use crate::search::envelope::{push_head, push_tail};
use crate::snapshot::Snapshot;
use crate::wire::date::parse_date;
use crate::wire::json::{push_escaped, push_string};
use crate::wire::text::{cut, truncate};

/// The URI of the page that shows reviews; the search tool names it in its `_meta`.
const REVIEW_CARD_URI: &str = "ui://reviewd/review-card";

/// A page that clients show in a frame (MCP Apps, 2026-01-26); it loads no external resources.
const REVIEW_CARD: &str = include_str!("review_card.html");

/// Largest document that is sent as a resource, 4 MiB; larger ones are neither listed nor read.
const READ_BYTES_MAX: usize = 4 << 20;

/// Bytes of the URI that the data of an error quotes.
const URI_BYTES_MAX: usize = 256;

/// Returns the items of `resources/list`; a document that is too large, or not derived yet, is left out.
pub(super) fn list(snapshot: &Snapshot, business: &[u8]) -> Vec<Value> {
    let all = include_str!("catalog/resources.json");
    let all: Vec<Value> = serde_json::from_str(all).expect("the list is JSON");
    let modified = snapshot.updated_at.to_string();
    let mut listed = Vec::new();
    for mut resource in all {
        let uri = resource["uri"].as_str().unwrap_or_default();
        let Some(document) = find_document(snapshot, business, uri) else {
            continue;
        };
        if document.len() > READ_BYTES_MAX {
            continue;
        }
        resource["size"] = document.len().into();
        if let Some(annotations) = resource.get_mut("annotations") {
            annotations["lastModified"] = (*modified).into();
        }
        listed.push(resource);
    }
    listed
}

/// Returns the document with this `uri`, large or small; `None` if there is none, or if it is not derived yet.
fn find_document<'d>(snapshot: &'d Snapshot, business: &'d [u8], uri: &str) -> Option<&'d [u8]> {
    Some(match uri {
        "reviews://business" => business,
        "reviews://dataset" => &snapshot.reviews.body,
        "reviews://insights" => &snapshot.insights()?.body,
        "reviews://feed" => &snapshot.feed_json.body,
        REVIEW_CARD_URI => REVIEW_CARD.as_bytes(),
        _ => return None,
    })
}

/// Appends the result of `resources/read`, up to its closing brace; `business` is the document `reviews://business`.
pub(super) fn read(
    snapshot: &Snapshot,
    business: &[u8],
    era: Era,
    call: &Call<'_>,
    out: &mut Vec<u8>,
) -> Result<(), RpcError> {
    let Some(uri) = call.text("uri") else {
        return Err(RpcError::params("params.uri must be the URI of a resource"));
    };
    if let Some(date) = uri.strip_prefix("reviews://since/") {
        let date = parse_date(date.as_bytes()).map_err(|_| not_found(era, uri))?;
        let since = snapshot.since(date);
        check_size(uri, since.array.len())?;
        let mut head = Vec::new();
        push_head(&mut head, since.matched, None, since.matched as usize, None);
        let mut tail = Vec::new();
        push_tail(&mut tail, &[]);
        return push_content(out, uri, [&head, &since.array, &tail]);
    }
    let document = match uri.strip_prefix("reviews://review/") {
        Some(id) => snapshot
            .index
            .row_of_id(id)
            .map(|row| snapshot.review_json(row)),
        None => find_document(snapshot, business, uri),
    };
    match document {
        Some(document) => push_content(out, uri, [document]),
        None => Err(not_found(era, uri)),
    }
}

/// Appends a result with one text, up to its closing brace. `parts` are joined to the text; each begins and ends between
/// tokens of its JSON.
fn push_content<const N: usize>(
    out: &mut Vec<u8>,
    uri: &str,
    parts: [&[u8]; N],
) -> Result<(), RpcError> {
    let is_card = uri == REVIEW_CARD_URI;
    let parts = parts.map(|part| {
        if is_card {
            Cow::Borrowed(part)
        } else {
            clean(part)
        }
    });
    let bytes: usize = parts.iter().map(|part| part.len()).sum();
    check_size(uri, bytes)?;
    out.reserve(bytes + bytes / 8 + 128);
    out.extend_from_slice(b"{\"contents\":[{\"uri\":");
    push_string(out, uri);
    let media_type = if is_card {
        "text/html;profile=mcp-app"
    } else {
        "application/json"
    };
    out.extend_from_slice(format!(",\"mimeType\":\"{media_type}\",\"text\":\"").as_bytes());
    for part in &parts {
        push_escaped(out, part);
    }
    out.extend_from_slice(b"\"}]");
    Ok(())
}

/// Checks that a text of this many bytes may be sent.
fn check_size(uri: &str, bytes: usize) -> Result<(), RpcError> {
    if bytes <= READ_BYTES_MAX {
        return Ok(());
    }
    let message = format!(
        "{} has {bytes} bytes, more than the {READ_BYTES_MAX} of one response: \
         use search_reviews or list_reviews_since page by page",
        cut(uri)
    );
    Err(RpcError::params(message))
}

/// Returns the error for a resource that does not exist, or not yet; its code depends on the era.
fn not_found(era: Era, uri: &str) -> RpcError {
    let code = match era {
        Era::Handshake => RESOURCE_NOT_FOUND,
        Era::Stateless => INVALID_PARAMS,
    };
    let message = match uri {
        "reviews://insights" => NOT_READY.to_owned(),
        _ => format!("unknown resource {:?}", cut(uri)),
    };
    RpcError {
        data: Some(json!({"uri": truncate(uri, URI_BYTES_MAX)})),
        ..RpcError::new(code, message)
    }
}
