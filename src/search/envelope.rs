//! What stands around the reviews of an answer: head and tail, shared by REST and MCP.
//!
//! The reviews between them are bytes that were rendered when the snapshot was built, joined by commas.

use super::cursor::Cursor;
use super::hints::{Hint, push_hints};
use crate::wire::json::{push_strings, push_u64};

/// What stands around the reviews of a search's answer; a thread uses one again and again.
#[derive(Debug, Default)]
pub struct Frame {
    /// Up to the first review.
    pub head: Vec<u8>,
    /// After the last one.
    pub tail: Vec<u8>,
    /// The text of the cursor of the next page; empty if nothing follows.
    pub cursor: Vec<u8>,
}

impl Frame {
    /// Writes what stands around `returned` reviews.
    pub fn render(
        &mut self,
        matched: u32,
        returned: usize,
        next: Option<&Cursor>,
        ignored: &[String],
    ) {
        self.cursor.clear();
        if let Some(next) = next {
            next.render_into(&mut self.cursor);
        }
        self.head.clear();
        push_search_head(&mut self.head, matched, returned, &self.cursor);
        self.tail.clear();
        push_tail(&mut self.tail, ignored);
    }

    /// Adds the optional key `hints` behind the reviews, where there are some.
    pub fn add_hints(&mut self, hints: &[Hint]) {
        if !hints.is_empty() {
            self.tail.pop();
            self.tail.extend_from_slice(b",\"hints\":");
            push_hints(&mut self.tail, hints);
            self.tail.push(b'}');
        }
    }
}

/// Appends everything of a search's answer that stands before the first review; `cursor` is the text of the next page's,
/// empty where nothing follows.
pub fn push_search_head(out: &mut Vec<u8>, matched: u32, returned: usize, cursor: &[u8]) {
    push_counts(out, matched, returned);
    out.extend_from_slice(b",\"next_cursor\":");
    if cursor.is_empty() {
        out.extend_from_slice(b"null");
    } else {
        out.push(b'"');
        out.extend_from_slice(cursor);
        out.push(b'"');
    }
    out.extend_from_slice(b",\"reviews\":[");
}

/// Appends everything of a since-answer that stands before the first review: the same without `next_cursor`.
pub fn push_since_head(out: &mut Vec<u8>, matched: u32) {
    push_counts(out, matched, matched as usize);
    out.extend_from_slice(b",\"reviews\":[");
}

/// Appends everything that stands after the last review; `ignored_parameters` only where there are some.
pub fn push_tail(out: &mut Vec<u8>, ignored: &[String]) {
    out.push(b']');
    if !ignored.is_empty() {
        out.extend_from_slice(b",\"ignored_parameters\":");
        push_strings(out, ignored.iter().map(String::as_str));
    }
    out.push(b'}');
}

/// Room in bytes that head and tail need at most, so that an answer's buffer can be made once.
pub const ENVELOPE_BYTES_MAX: usize = 256 + IGNORED_JSON_BYTES_MAX;

/// Eight names of 64 bytes, each byte at worst six in JSON, with quotes, commas and the key.
const IGNORED_JSON_BYTES_MAX: usize = 8 * (64 * 6 + 3) + 32;

fn push_counts(out: &mut Vec<u8>, matched: u32, returned: usize) {
    out.extend_from_slice(b"{\"matched\":");
    push_u64(out, u64::from(matched));
    out.extend_from_slice(b",\"returned\":");
    push_u64(out, returned as u64);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Rating;
    use crate::search::cursor::ReviewId;
    use crate::search::filter::Sort;
    use crate::wire::date::Date;

    /// A whole answer.
    fn push_search(
        out: &mut Vec<u8>,
        matched: u32,
        next: Option<&Cursor>,
        reviews: &[&[u8]],
        ignored: &[String],
    ) {
        let cursor = next.map(Cursor::render).unwrap_or_default();
        push_search_head(out, matched, reviews.len(), cursor.as_bytes());
        out.extend_from_slice(&reviews.join(&b','));
        push_tail(out, ignored);
    }

    #[test]
    fn keys_are_always_there_and_ignored_parameters_only_if_some() {
        let mut out = Vec::new();
        push_search(&mut out, 0, None, &[], &[]);
        assert_eq!(
            out,
            br#"{"matched":0,"returned":0,"next_cursor":null,"reviews":[]}"#
        );
        out.clear();
        push_since_head(&mut out, 3);
        push_tail(&mut out, &[]);
        assert_eq!(out, br#"{"matched":3,"returned":3,"reviews":[]}"#);
    }

    #[test]
    fn the_largest_envelope_fits_the_room_that_is_announced() {
        let cursor = Cursor {
            sort: Sort::Lowest,
            rating: Rating::MAX,
            date: Date::MAX,
            id: ReviewId::new(&"x".repeat(64)).expect("an id"),
        };
        let ignored = vec!["\u{1}".repeat(64); 8];
        let mut out = Vec::new();
        push_search(
            &mut out,
            u32::MAX,
            Some(&cursor),
            &[b"{}".as_slice(); 100],
            &ignored,
        );
        assert!(out.len() - 299 <= ENVELOPE_BYTES_MAX, "{}", out.len());
        let value: serde_json::Value = serde_json::from_slice(&out).expect("JSON");
        assert_eq!(value["next_cursor"], cursor.render());
        assert_eq!(value["reviews"].as_array().map(Vec::len), Some(100));
        assert_eq!(value["ignored_parameters"][7], "\u{1}".repeat(64));
    }
}
