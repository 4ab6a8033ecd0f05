//! The JSON before and after the reviews of a response, shared by REST and MCP. The reviews themselves are rendered
//! when the snapshot is built, and joined by commas.

use super::filter::IgnoredName;
use super::hints::{Hint, push_hints};
use super::resolved::{ResolvedParameter, add_resolved_names};
use super::run::Page;
use crate::wire::json::{push_strings, push_u64};

/// Largest size in bytes of head and tail without optional keys.
pub const HEAD_BYTES_MAX: usize = 320;

/// Largest size of head and tail in bytes, so that a response's buffer is allocated once: eight ignored names of 64
/// bytes, at most six bytes of JSON for each, with quotes and commas, and the rest.
pub const ENVELOPE_BYTES_MAX: usize = 8 * (64 * 6 + 3) + HEAD_BYTES_MAX;

/// The JSON before and after the reviews of a search response; each thread reuses one.
#[derive(Debug, Default)]
pub struct Envelope {
    /// The JSON up to the first review.
    pub head: Vec<u8>,
    /// The JSON after the last review.
    pub tail: Vec<u8>,
    /// The text of the cursor of the next page; empty if nothing follows.
    pub cursor: Vec<u8>,
}

impl Envelope {
    /// Renders the JSON around the reviews of `page`.
    pub fn render(&mut self, page: &Page, ignored: &[IgnoredName]) {
        self.cursor.clear();
        if let Some(next) = &page.next {
            self.cursor.extend_from_slice(next.render().as_bytes());
        }
        self.head.clear();
        let returned = page.rows.len();
        push_head(
            &mut self.head,
            page.matched,
            page.ranked,
            returned,
            Some(&self.cursor),
        );
        self.tail.clear();
        push_tail(&mut self.tail, ignored);
    }

    /// Adds the optional key `resolved_names` after the reviews, if there are names that it tells about.
    pub fn add_resolved_names(&mut self, names: &[ResolvedParameter<'_>]) {
        add_resolved_names(&mut self.tail, names);
    }

    /// Adds an optional key after the reviews.
    pub fn add(&mut self, key: &str, value: &serde_json::Value) {
        self.tail.pop();
        self.tail
            .extend_from_slice(format!(",\"{key}\":{value}}}").as_bytes());
    }

    /// Adds the optional key `hints` after the reviews, if there are hints.
    pub fn add_hints(&mut self, hints: &[Hint<'_>]) {
        if !hints.is_empty() {
            self.tail.pop();
            self.tail.extend_from_slice(b",\"hints\":");
            push_hints(&mut self.tail, hints);
            self.tail.push(b'}');
        }
    }
}

/// Appends the JSON before the first review of a response. `ranked` is an optional key. `cursor` is the text of
/// `next_cursor`: empty on the last page, `None` in a response to `/api/reviews/since`, which has no pages.
pub(crate) fn push_head(
    out: &mut Vec<u8>,
    matched: u32,
    ranked: Option<u32>,
    returned: usize,
    cursor: Option<&[u8]>,
) {
    out.extend_from_slice(b"{\"matched\":");
    push_u64(out, u64::from(matched));
    if let Some(ranked) = ranked {
        out.extend_from_slice(b",\"ranked\":");
        push_u64(out, u64::from(ranked));
    }
    out.extend_from_slice(b",\"returned\":");
    push_u64(out, returned as u64);
    match cursor {
        None => {}
        Some([]) => out.extend_from_slice(b",\"next_cursor\":null"),
        Some(cursor) => {
            out.extend_from_slice(b",\"next_cursor\":\"");
            out.extend_from_slice(cursor);
            out.push(b'"');
        }
    }
    out.extend_from_slice(b",\"reviews\":[");
}

/// Appends the JSON after the last review; `ignored_parameters` only if there are any.
pub fn push_tail(out: &mut Vec<u8>, ignored: &[IgnoredName]) {
    out.push(b']');
    if !ignored.is_empty() {
        out.extend_from_slice(b",\"ignored_parameters\":");
        push_strings(out, ignored.iter().map(|name| name.as_str()));
    }
    out.push(b'}');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Rating, Row};
    use crate::search::filter::{Cursor, ReviewId, Sort};
    use crate::wire::date::Date;

    #[test]
    fn the_largest_envelope_fits_envelope_bytes_max() {
        let cursor = Cursor {
            sort: Sort::Lowest,
            rating: Rating::MAX,
            date: Date::MAX,
            id: ReviewId::from(&"x".repeat(64)).expect("an id"),
        };
        let mut frame = Envelope::default();
        let name = IgnoredName::from(&"\u{1}".repeat(64)).expect("it fits");
        let page = Page {
            matched: u32::MAX,
            ranked: Some(u32::MAX),
            rows: std::iter::repeat_n(Row(0), 100).collect(),
            next: Some(cursor),
        };
        frame.render(&page, &[name; 8]);
        let whole = [&*frame.head, &frame.tail].concat();
        assert!(whole.len() <= ENVELOPE_BYTES_MAX, "{}", whole.len());
        let value: serde_json::Value = serde_json::from_slice(&whole).expect("JSON");
        assert_eq!(value["next_cursor"], *cursor.render());
        assert_eq!(value["ignored_parameters"][7], "\u{1}".repeat(64));
    }
}
