//! A review, or a part of one, as a JSON object of `reviews.json`; it may be unpublished.

use serde_json::{Map, Value};

use reviewd_data::dataset::{KEYS_OPTIONAL, KEYS_REQUIRED};
use reviewd_data::model::METHOD_ACCOUNT;
use reviewd_wire::date::{Date, parse_date};

/// A review of the file, or the keys of a review that a source has.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ReviewObject(pub(super) Map<String, Value>);

impl ReviewObject {
    /// Parses a review of a file that has passed the check; `None` if it is invalid.
    pub(super) fn parse(json: &str) -> Option<ReviewObject> {
        let mut review = ReviewObject(serde_json::from_str(json).ok()?);
        review.date()?;
        // The check accepts 5.0 as 5.
        let stars = review.0.get("rating")?.as_f64()? as u64;
        review.set("rating", stars);
        review.0.retain(|key, value| !says_nothing(key, value));
        Some(review)
    }

    pub(super) fn set(&mut self, key: &str, value: impl Into<Value>) {
        self.0.insert(key.to_owned(), value.into());
    }

    /// Sets a key if the source has it.
    pub(super) fn set_stated(&mut self, key: &str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.set(key, value);
        }
    }

    /// Takes the stored reply if it has the same text: its day is known, and the source has none.
    pub(super) fn keep_reply(&mut self, stored: &ReviewObject) -> bool {
        let (Some(says), Some(kept)) = (self.0.get("owner_reply"), stored.0.get("owner_reply"))
        else {
            return false;
        };
        let is_same = says.get("text") == kept.get("text");
        if is_same {
            self.set("owner_reply", kept.clone());
        }
        is_same
    }

    /// The text of a key, or "".
    pub(super) fn text(&self, key: &str) -> &str {
        self.0.get(key).and_then(Value::as_str).unwrap_or_default()
    }

    /// The platform of the review, in lower case for comparison.
    pub(super) fn platform(&self) -> String {
        self.text("source").to_lowercase()
    }

    pub(super) fn date(&self) -> Option<Date> {
        parse_date(self.text("date").as_bytes()).ok()
    }

    pub(super) fn is_verified(&self) -> bool {
        self.0.get("verified") == Some(&Value::Bool(true))
    }

    /// Whether only its platform published it, with an account.
    fn is_by_account(&self) -> bool {
        let verification = self.0.get("verification");
        verification.is_some_and(|one| one["method"] == METHOD_ACCOUNT)
    }

    /// Whether the service publishes it.
    pub(super) fn is_published(&self) -> bool {
        self.is_verified() || self.is_by_account()
    }

    /// Sets the verification of a review that only its platform published, and removes it from one that is verified or
    /// hidden.
    pub(super) fn set_account(&mut self, account: Option<Value>, is_hidden: bool) {
        if (self.is_verified() || is_hidden) && self.is_by_account() {
            self.0.remove("verification");
        }
        if let Some(account) = account
            && !self.is_verified()
            && !is_hidden
        {
            let mut parts = ReviewObject(std::mem::take(&mut self.0));
            parts.set("verification", account);
            *self = parts.over(None);
        }
    }

    /// Merges this into a stored review: missing keys keep their stored values, or are empty without a stored review.
    pub(super) fn over(mut self, stored: Option<&ReviewObject>) -> ReviewObject {
        let mut whole = Map::new();
        let required = KEYS_REQUIRED.split(' ').map(|key| (key, true));
        let optional = KEYS_OPTIONAL.split(' ').map(|key| (key, false));
        for (key, is_required) in required.chain(optional) {
            let stored = stored.and_then(|stored| stored.0.get(key));
            let value = match self.0.remove(key).or_else(|| stored.cloned()) {
                Some(value) => value,
                None if is_required => empty(key),
                None => continue,
            };
            if !says_nothing(key, &value) {
                whole.insert(key.to_owned(), value);
            }
        }
        ReviewObject(whole)
    }

    /// Renders the review with one key per line, for people to edit; the keys are in the order of the file.
    pub(super) fn render(&self) -> String {
        let text = serde_json::to_string_pretty(&self.0).expect("a value is JSON");
        text.replace('\n', "\n    ")
    }
}

/// The value of a required key that is not stated.
fn empty(key: &str) -> Value {
    match key {
        "text" => Value::from(""),
        "verified" => Value::Bool(false),
        _ => Value::Null,
    }
}

/// Whether an optional key counts as absent. An empty list of names does not: it means that nothing is mentioned.
fn says_nothing(key: &str, value: &Value) -> bool {
    match key {
        "media" => value.as_array().is_none_or(Vec::is_empty),
        key => value.is_null() && KEYS_OPTIONAL.split(' ').any(|optional| optional == key),
    }
}
