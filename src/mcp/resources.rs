//! Resources: the stored documents and single reviews, under a scheme of their own, as text.

use super::catalog::Catalog;
use super::fixtures;
use super::json::Value;
use super::jsonrpc::{Call, INVALID_PARAMS, RESOURCE_NOT_FOUND, RpcError};
use super::protocol::Era;
use crate::search::envelope::{push_since_head, push_tail};
use crate::search::issue::cut;
use crate::snapshot::Snapshot;
use crate::wire::date::parse_date;
use crate::wire::json::{Object, push_escaped, push_string};

/// Appends the result of `resources/read`, up to its closing brace.
///
/// # Errors
/// An unknown resource, by the code of the era; one that is too large for an answer, with the way to its parts.
pub(crate) fn read(
    catalog: &Catalog,
    era: Era,
    call: &Call<'_, '_>,
    out: &mut Vec<u8>,
) -> Result<(), RpcError> {
    let Some(uri) = call.param("uri").and_then(Value::as_str) else {
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
        let mut json = Vec::with_capacity(since.array.len().min(READ_BYTES_MAX) + 64);
        push_since_head(&mut json, since.matched);
        if since.array.len() <= READ_BYTES_MAX {
            json.extend_from_slice(&since.array);
        } else {
            return Err(too_large(uri, since.array.len()));
        }
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
        _ if catalog.has_fixtures && fixtures::read(uri, out) => Ok(()),
        _ => Err(not_found(era, uri)),
    }
}

/// Renders the items of `resources/list`; a document that is too large to be read here is not offered.
pub(super) fn render_list(snapshot: &Snapshot, business_bytes: usize) -> Vec<u8> {
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
            // Not offered while it is being derived.
            snapshot
                .insights()
                .map_or(usize::MAX, |insights| insights.body.len()),
        ),
        (
            "feed",
            "Newest reviews",
            "The 50 newest reviews as a JSON Feed 1.1 document.",
            snapshot.feed_json.body.len(),
        ),
    ];
    let mut out = Vec::new();
    for (name, title, description, bytes) in documents {
        if bytes > READ_BYTES_MAX {
            continue;
        }
        if !out.is_empty() {
            out.push(b',');
        }
        let mut object = Object::begin(&mut out);
        object
            .string("uri", &format!("reviews://{name}"))
            .string("name", name)
            .string("title", title)
            .string("description", description)
            .string("mimeType", "application/json")
            .u64("size", bytes as u64);
        let mut annotations = Object::begin(object.key("annotations"));
        annotations
            .strings("audience", ["assistant", "user"])
            .raw("priority", if name == "business" { b"0.8" } else { b"0.5" })
            .string("lastModified", &snapshot.updated_at.to_string());
        annotations.end();
        object.end();
    }
    out
}

/// Appends one text in the shape of a result, up to its closing brace.
fn push_content(out: &mut Vec<u8>, uri: &str, json: &[u8]) -> Result<(), RpcError> {
    if json.len() > READ_BYTES_MAX {
        return Err(too_large(uri, json.len()));
    }
    out.reserve(json.len() + json.len() / 8 + 128);
    out.extend_from_slice(b"{\"contents\":[{\"uri\":");
    push_string(out, uri);
    out.extend_from_slice(b",\"mimeType\":\"application/json\",\"text\":\"");
    push_escaped(out, json);
    out.extend_from_slice(b"\"}]");
    Ok(())
}

fn not_found(era: Era, uri: &str) -> RpcError {
    let code = match era {
        Era::Handshake => RESOURCE_NOT_FOUND,
        Era::Stateless => INVALID_PARAMS,
    };
    let mut data = Vec::new();
    let mut object = Object::begin(&mut data);
    object.string(
        "uri",
        if uri.len() <= URI_BYTES_MAX {
            uri
        } else {
            cut(uri)
        },
    );
    object.end();
    RpcError {
        code,
        message: format!("there is no resource {:?} here", cut(uri)).into(),
        data: Some(data),
    }
}

fn too_large(uri: &str, bytes: usize) -> RpcError {
    RpcError::params(format!(
        "{} has {bytes} bytes, more than the {READ_BYTES_MAX} of one answer: \
         use search_reviews or list_reviews_since page by page",
        cut(uri)
    ))
}

/// Templates of `resources/templates/list`.
pub(super) const TEMPLATES: &str = r#"
{
  "uriTemplate": "reviews://review/{id}",
  "name": "review",
  "title": "One review",
  "description": "A single review by its id, with all its fields.",
  "mimeType": "application/json"
},
{
  "uriTemplate": "reviews://since/{date}",
  "name": "since",
  "title": "Reviews since a day",
  "description": "All reviews on or after a day (YYYY-MM-DD), newest first.",
  "mimeType": "application/json"
}"#;

/// Largest document that is sent as a resource, 4 MiB; larger ones are neither listed nor read.
const READ_BYTES_MAX: usize = 4 << 20;
/// Longest URI that an error repeats whole, in bytes.
const URI_BYTES_MAX: usize = 256;
