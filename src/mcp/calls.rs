//! How often each tool is called; plain atomics, for metrics.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::jsonrpc::Call;

/// The tools by name, and at last all names that no tool has.
pub const TOOLS: [&str; 14] = [
    "get_business",
    "search_reviews",
    "get_review",
    "list_reviews_since",
    "get_rating_summary",
    "get_insights",
    "get_aspect_sentiment",
    "get_technician",
    "get_service",
    "list_services_and_technicians",
    "get_faq",
    "search",
    "fetch",
    "unknown",
];

/// Totals since the start, refused calls included.
#[derive(Debug, Default)]
pub struct Calls {
    counts: [AtomicU64; TOOLS.len()],
}

impl Calls {
    /// Counts `call`, if it calls a tool.
    pub(super) fn count(&self, call: &Call<'_>) {
        if call.method == "tools/call" {
            let name = call.text("name");
            let known = TOOLS.iter().position(|tool| Some(*tool) == name);
            self.counts[known.unwrap_or(TOOLS.len() - 1)].fetch_add(1, Relaxed);
        }
    }

    /// Returns how often each tool was called, in the order of [`TOOLS`].
    #[must_use]
    pub fn totals(&self) -> [u64; TOOLS.len()] {
        self.counts.each_ref().map(|count| count.load(Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::TOOLS;

    #[test]
    fn every_tool_of_the_catalog_is_counted_by_its_name() {
        let listed: serde_json::Value =
            serde_json::from_str(include_str!("catalog/tools.json")).expect("JSON");
        let listed = listed.as_array().into_iter().flatten();
        let mut names: Vec<&str> = listed.filter_map(|tool| tool["name"].as_str()).collect();
        names.push("unknown");
        assert_eq!(names, TOOLS);
    }
}
