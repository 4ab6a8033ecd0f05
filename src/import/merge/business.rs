//! The business of the new file: as it is stored, or a skeleton with placeholders that the operator's answers replace.

use super::Merge;
use crate::dataset::{PLACEHOLDER_NAME, PLACEHOLDER_URL};
use crate::wire::date::Timestamp;

/// What the operator says of the business.
#[derive(Clone, Debug, Default)]
pub(crate) struct BusinessFacts {
    pub(crate) name: Option<String>,
    /// Its web site.
    pub(crate) url: Option<String>,
    /// A type of schema.org, for a new file.
    pub(crate) kind: Option<String>,
}

impl Merge<'_> {
    /// Replaces placeholders of the business by the values that the operator gave; other values stay.
    pub(crate) fn fill_in(&mut self, business: BusinessFacts) {
        self.business = business;
    }

    /// Whether the name is still to be filled in, and the address.
    pub(crate) fn placeholders(&self) -> [bool; 2] {
        let business = self.business();
        [PLACEHOLDER_NAME, PLACEHOLDER_URL].map(|value| business.contains(&quoted(value)))
    }

    /// Whether the file is new, so that `business` is still to be filled in.
    pub(super) fn is_skeleton(&self) -> bool {
        self.parts.is_empty()
    }

    /// Whether the operator's answers change the stored business.
    pub(super) fn is_filled_in(&self) -> bool {
        !self.is_skeleton() && self.business() != self.stored_business()
    }

    /// The new file up to the first review.
    pub(super) fn beginning(&self, updated_at: Timestamp) -> String {
        let disclaimer = self.parts.get("disclaimer");
        let disclaimer = disclaimer.map_or("null", |part| part.get());
        let business = self.business();
        format!(
            "{{\n  \"business\": {business},\n  \"disclaimer\": {disclaimer},\n  \"updated_at\": \"{updated_at}\",\n  \"reviews\": ["
        )
    }

    fn stored_business(&self) -> String {
        let stored = self.parts.get("business");
        stored.map_or_else(skeleton, |part| part.get().to_owned())
    }

    fn business(&self) -> String {
        let BusinessFacts { name, url, kind } = &self.business;
        let mut business = self.stored_business();
        if let Some(kind) = kind.as_ref().filter(|_| self.is_skeleton()) {
            business = business.replacen(&quoted(PLACEHOLDER_TYPE), &quoted(kind), 1);
        }
        for (placeholder, value) in [(PLACEHOLDER_NAME, name), (PLACEHOLDER_URL, url)] {
            if let Some(value) = value {
                business = business.replace(&quoted(placeholder), &quoted(value));
            }
        }
        business
    }
}

/// A text as a JSON string.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The type of a business of which nothing is known.
const PLACEHOLDER_TYPE: &str = "LocalBusiness";

/// The business of a new folder: every key, to be filled in; the check warns of it.
fn skeleton() -> String {
    format!(
        r#"{{
    "name": "{PLACEHOLDER_NAME}",
    "type": "{PLACEHOLDER_TYPE}",
    "description": "",
    "url": "{PLACEHOLDER_URL}",
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
  }}"#
    )
}
