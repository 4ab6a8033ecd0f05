//! Reviews in Shopify: objects of the standard definition `product_review`, into which review apps write their reviews.
//! Shopify itself has no other reviews: its own app, Product Reviews, ended in May 2024.
//!
//! Each field of such an object is a text; a rating is JSON in a text: `{"value":"4.0","scale_min":"1.0","scale_max":"5.0"}`.

use reviewd_wire::text::quote;
use serde_json::{Map, Value, json};
use thiserror::Error;

/// Asks for one page of reviews, each field under its key.
pub(super) const QUERY: &str = "query Reviews($after: String) { \
    metaobjects(type: \"product_review\", first: 100, after: $after) { \
    nodes { id \
    rating: field(key: \"rating\") { value } \
    title: field(key: \"title\") { value } \
    body: field(key: \"body\") { value } \
    submitted_at: field(key: \"submitted_at\") { value } \
    edited_at: field(key: \"edited_at\") { value } \
    author_display_name: field(key: \"author_display_name\") { value } \
    merchant_reply: field(key: \"merchant_reply\") { value } \
    merchant_replied_at: field(key: \"merchant_replied_at\") { value } } \
    pageInfo { hasNextPage endCursor } } }";

/// The fields of [`QUERY`] that are texts.
const FIELDS: [&str; 7] = [
    "title",
    "body",
    "submitted_at",
    "edited_at",
    "author_display_name",
    "merchant_reply",
    "merchant_replied_at",
];

/// Why an answer is no page of reviews.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ShopifyError {
    /// The first of the errors that Shopify answered with.
    #[error("it says {}", quote(.0))]
    Answered(String),
    /// No list of objects.
    #[error("it has no metaobjects")]
    NoMetaobjects,
    /// No `hasNextPage`.
    #[error("it does not say whether it is the last")]
    NoHasNextPage,
    /// A further page whose beginning is not named.
    #[error("it has no endCursor, but is not the last")]
    NoEndCursor,
}

/// What a page says of itself.
pub(super) struct ShopifyPage {
    pub(super) count: usize,
    /// Where the next page begins.
    pub(super) end: Option<String>,
}

/// Reads how many reviews a page has; an answer with errors has status 200, too.
pub(super) fn read_page(document: &Value) -> Result<ShopifyPage, ShopifyError> {
    if let Some(error) = document["errors"]
        .as_array()
        .and_then(|errors| errors.first())
    {
        let message = error["message"]
            .as_str()
            .unwrap_or("an error without a message");
        return Err(ShopifyError::Answered(message.to_owned()));
    }
    let found = &document["data"]["metaobjects"];
    let nodes = found["nodes"]
        .as_array()
        .ok_or(ShopifyError::NoMetaobjects)?;
    let info = &found["pageInfo"];
    let has_next = info["hasNextPage"]
        .as_bool()
        .ok_or(ShopifyError::NoHasNextPage)?;
    let end = match (has_next, info["endCursor"].as_str()) {
        (true, Some(end)) => Some(end.to_owned()),
        (true, None) => return Err(ShopifyError::NoEndCursor),
        (false, _) => None,
    };
    Ok(ShopifyPage {
        count: nodes.len(),
        end,
    })
}

/// Returns a page as a list of plain objects.
pub(super) fn flatten(body: &[u8]) -> Vec<u8> {
    let document: Value = serde_json::from_slice(body).unwrap_or_default();
    let nodes = document["data"]["metaobjects"]["nodes"].as_array();
    let objects: Vec<Value> = nodes.into_iter().flatten().map(object).collect();
    json!(objects).to_string().into_bytes()
}

fn object(node: &Value) -> Value {
    let mut object = Map::new();
    let id = node["id"].as_str().unwrap_or_default();
    // "gid://shopify/Metaobject/123"
    let number = id.rsplit('/').next().unwrap_or_default();
    object.insert("metaobject".to_owned(), json!(number));
    object.insert("rating".to_owned(), stars(&node["rating"]["value"]));
    for key in FIELDS {
        object.insert(key.to_owned(), node[key]["value"].clone());
    }
    Value::Object(object)
}

/// The stars in a value of type `rating`: a whole number without its fraction.
fn stars(value: &Value) -> Value {
    let parsed: Option<Value> = value
        .as_str()
        .and_then(|text| serde_json::from_str(text).ok());
    let stars = parsed.as_ref().and_then(|rating| rating["value"].as_str());
    match stars {
        Some(stars) => json!(stars.strip_suffix(".0").unwrap_or(stars)),
        None => Value::Null,
    }
}
