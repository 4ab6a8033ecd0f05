//! `/api/reviews/search`: answers with a page of the reviews that a query selects.

use std::cell::RefCell;

use bytes::BufMut;
use hyper::header::HeaderValue;
use serde_json::{Map, Value};

use super::{evaluate, is_escape, json_representation, parse_search};
use crate::http::arena;
use crate::http::body::Body;
use crate::http::head::RequestHead;
use crate::http::reply::{Reply, Representation};
use crate::http::served_state::ServedState;
use crate::search::envelope::Envelope;
use crate::search::filter::Query;
use crate::search::hints::hints;
use crate::search::include;
use crate::search::query::Buffers;
use crate::search::rank;
use crate::search::resolved::resolved_names;
use crate::search::run::{Page, Scratch};
use crate::search::work::Work;
use crate::snapshot::Snapshot;
use crate::wire::form;
use crate::wire::text::percent_encode;

/// Bytes at the beginning of each text in which matches are looked for.
const MATCHED_BYTES_MAX: usize = 16_384;

/// Buffers that the searches of a thread reuse, so that each search allocates only its response.
#[derive(Default)]
struct SearchMemory {
    buffers: Buffers,
    scratch: Scratch,
    envelope: Envelope,
}

thread_local! {
    static MEMORY: RefCell<SearchMemory> = RefCell::default();
}

/// Answers with the reviews that the query selects; searches only if the client's copy is not current.
pub(super) fn search<'s>(served: &'s ServedState, head: &RequestHead) -> Reply<'s> {
    MEMORY.with_borrow_mut(|memory| {
        let SearchMemory {
            buffers,
            scratch,
            envelope,
        } = memory;
        let query = match parse_search(served, head.query(), buffers) {
            Ok(query) => query,
            Err(error) => return Reply::Refuse(error),
        };
        let raw = head.query().as_bytes();
        let (tag, last_modified) = served.search_validators(raw, query.filter.needs_insights());
        let representation = Representation {
            last_modified,
            ..json_representation(served, &tag)
        };
        evaluate(head, representation, |mut representation| {
            let snapshot = served.snapshot();
            let index = &snapshot.index;
            let page = rank::search(index, &query, scratch);
            envelope.render(&page, query.ignored);
            envelope.add_resolved_names(&resolved_names(index, &query.filter));
            if query.include.distribution {
                let counts = include::distribution(index, &query.filter, scratch);
                envelope.add("distribution", &counts);
            }
            if query.include.matches {
                envelope.add("matches", &matches_of(snapshot, &page, &query));
            }
            if page.matched == 0 {
                let hints = hints(index, &query, scratch, &mut Work::for_hints());
                envelope.add_hints(&hints);
            }
            if !envelope.cursor.is_empty() {
                let link = next_link(&snapshot.base_url, head.query(), &envelope.cursor);
                representation.link = Some(link);
            }
            Reply::Serve(
                representation,
                Body::made(render_page(snapshot, &page, envelope)),
            )
        })
    })
}

/// Returns where the words of `query` are in each review of the page, by its id.
fn matches_of(snapshot: &Snapshot, page: &Page, query: &Query<'_>) -> Value {
    let mut matches = Map::new();
    for row in &page.rows {
        let text = snapshot.stored_review(*row).text.decode();
        let ranges = include::matches(&text, &query.filter, MATCHED_BYTES_MAX);
        matches.insert(snapshot.index.id(*row).to_owned(), ranges);
    }
    Value::Object(matches)
}

/// Returns the body: the envelope around the stored bytes of the page's reviews, in one allocation of the exact size.
fn render_page(snapshot: &Snapshot, page: &Page, envelope: &Envelope) -> Vec<u8> {
    // Reviews that follow each other in the stored array are one run; a comma follows each run but the last.
    let runs = snapshot.runs(&page.rows);
    let runs_bytes: usize = runs.map(|run| run.len() + 1).sum();
    let length = envelope.head.len() + runs_bytes.saturating_sub(1) + envelope.tail.len();
    let mut body = Vec::with_capacity(length);
    body.extend_from_slice(&envelope.head);
    for (number, run) in snapshot.runs(&page.rows).enumerate() {
        if number > 0 {
            body.push(b',');
        }
        body.extend_from_slice(run);
    }
    body.extend_from_slice(&envelope.tail);
    body
}

/// Returns the Link header of the next page: the public address with the same query and the next cursor.
fn next_link(base_url: &str, query: &str, cursor: &[u8]) -> HeaderValue {
    // Escaping may turn each byte of the query into three.
    let bytes_max = base_url.len() + 3 * query.len() + cursor.len() + 64;
    let link = arena::write_bytes(bytes_max, |link| {
        link.put_u8(b'<');
        link.put_slice(base_url.as_bytes());
        link.put_slice(b"/api/reviews/search?");
        for pair in form::pairs(query.as_bytes()).filter(|pair| !is_cursor(pair.name)) {
            put_escaped(link, pair.name);
            link.put_u8(b'=');
            put_escaped(link, pair.value);
            link.put_u8(b'&');
        }
        link.put_slice(b"cursor=");
        link.put_slice(cursor);
        link.put_slice(b">; rel=\"next\"");
    });
    HeaderValue::from_maybe_shared(link)
        .expect("the base URL is checked at the start, the rest is escaped")
}

/// Tells whether a parameter's name, still encoded, is `cursor`.
fn is_cursor(name: &[u8]) -> bool {
    if name == b"cursor" {
        return true;
    }
    if !name.contains(&b'%') {
        return false;
    }
    let mut decoded = String::new();
    form::decode_into(name, &mut decoded).is_ok() && decoded == "cursor"
}

/// Appends a name or a value of the query, and escapes the bytes that a URI must not contain.
fn put_escaped(link: &mut impl BufMut, name_or_value: &[u8]) {
    // Most have nothing to escape, and are copied at once.
    if name_or_value.iter().all(|byte| is_plain(*byte)) {
        return link.put_slice(name_or_value);
    }
    percent_encode(name_or_value, begins_plain_value, |piece| {
        link.put_slice(piece)
    });
}

/// Tells whether the first byte of `rest` may stand in a value of a query as it is.
fn begins_plain_value(rest: &[u8]) -> bool {
    match rest {
        [b'%', ..] => is_escape(rest),
        [byte, ..] => is_plain(*byte),
        [] => true,
    }
}

/// Tells whether a byte may stand in a value of a query as it is, and begins no escape.
fn is_plain(byte: u8) -> bool {
    match byte {
        b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => true,
        // These punctuation marks have no special meaning within a value.
        b'-' | b'.' | b'_' | b'~' | b'+' | b'*' | b'!' | b'(' | b')' | b':' | b'@' | b'/'
        | b'?' | b'$' | b',' | b';' | b'=' => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_a_uri_must_not_contain_are_escaped() {
        for (piece, expected) in [
            (
                "a%20b+c\"<>\\^`{|}é'",
                "a%20b+c%22%3C%3E%5C%5E%60%7B%7C%7D%C3%A9%27",
            ),
            ("100%", "100%25"),
            ("%2", "%252"),
            ("%zz", "%25zz"),
            ("%2%41", "%252%41"),
            ("%41%e9", "%41%e9"),
        ] {
            let mut out = Vec::new();
            put_escaped(&mut out, piece.as_bytes());
            assert_eq!(out, expected.as_bytes(), "{piece}");
        }
    }

    #[test]
    fn a_cursor_is_recognized_with_and_without_escapes() {
        assert!(is_cursor(b"cursor"));
        assert!(is_cursor(b"%63ursor"));
        for other in [&b"cursors"[..], b"", b"%zz", b"Cursor"] {
            assert!(!is_cursor(other));
        }
    }
}
