//! A mirror as `docs/api.md` describes it.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use serde_json::Value;

use crate::support::get;

/// A copy of the reviews that polls for changes.
#[derive(Default)]
pub(crate) struct Mirror {
    pub(crate) reviews: BTreeMap<String, Value>,
    cursor: String,
}

impl Mirror {
    /// Reads all changes since the last poll; returns the ids that were told, in their order.
    pub(crate) fn poll(&mut self, address: SocketAddr) -> Vec<String> {
        let mut told = Vec::new();
        loop {
            let target = format!("/api/reviews/changes?limit=3&after={}", self.cursor);
            let response = get(address, &target, &[]);
            if response.status == 400 {
                assert!(!self.cursor.is_empty(), "{}", response.text());
                *self = Mirror::default();
                continue;
            }
            let mut page = response.json();
            for review in page["changed"].as_array_mut().unwrap() {
                let id = review["id"].as_str().unwrap().to_owned();
                told.push(id.clone());
                self.reviews.insert(id, review.take());
            }
            for removed in page["removed"].as_array().unwrap() {
                let id = removed["id"].as_str().unwrap().to_owned();
                self.reviews.remove(&id);
                told.push(id);
            }
            self.cursor = page["next_cursor"].as_str().unwrap().to_owned();
            if page["has_more"] == false {
                return told;
            }
        }
    }
}

/// The reviews of `/reviews.json`, by id.
pub(crate) fn published(address: SocketAddr) -> BTreeMap<String, Value> {
    let mut document = get(address, "/reviews.json", &[]).json();
    let reviews = document["reviews"]
        .as_array_mut()
        .unwrap()
        .iter_mut()
        .map(Value::take);
    let by_id = reviews.map(|review| (review["id"].as_str().unwrap().to_owned(), review));
    by_id.collect()
}
