//! What stands around the reviews of `reviews.json`.

use serde_json::Value;

use super::Merge;
use crate::wire::date::Timestamp;

/// Returns a file without reviews; `kind` is a type of schema.org. What else there is to say of the business is empty.
pub fn new_file(name: &str, kind: &str, url: &str, updated_at: Timestamp) -> String {
    let [name, kind, url] = [name, kind, url].map(Value::from);
    format!(
        r#"{{
  "business": {{
    "name": {name},
    "type": {kind},
    "description": "",
    "url": {url},
    "telephone": "",
    "email": "",
    "address": {{
      "street_address": "",
      "locality": "",
      "region": "",
      "postal_code": "",
      "country": ""
    }},
    "geo": null,
    "opening_hours": [],
    "service_areas": [],
    "services": [],
    "technicians": [],
    "same_as": []
  }},
  "disclaimer": null,
  "updated_at": "{updated_at}",
  "reviews": []
}}
"#
    )
}

impl Merge<'_> {
    /// The new file up to the first review.
    pub(super) fn beginning(&self, updated_at: Timestamp) -> String {
        let part = |key| self.parts.get(key).map_or("null", |part| part.get());
        let [business, disclaimer] = ["business", "disclaimer"].map(part);
        format!(
            "{{\n  \"business\": {business},\n  \"disclaimer\": {disclaimer},\n  \"updated_at\": \"{updated_at}\",\n  \"reviews\": ["
        )
    }
}
