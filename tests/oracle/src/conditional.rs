//! Reference implementation of `wire::conditional`: RFC 9110 §13.2.2 step by step, with a regular expression for tags.

use std::sync::LazyLock;

use regex::bytes::Regex;

use super::lines;
use reviewd::wire::conditional::{Validators, holds, is_not_modified};
use reviewd::wire::date::{Timestamp, parse_http_date};

/// An entity-tag or `*`, with preceding white space and commas, and the comma or the end after it.
static MEMBER: LazyLock<Regex> = LazyLock::new(|| {
    let tag = r#"(?<weak>W/)?"(?<tag>[\x21\x23-\x7e\x80-\xff]*)""#;
    let member = format!(r"(?-u)^[ \t,]*(?:(?<star>\*)|{tag})[ \t\r\f]*(?:,|$)");
    Regex::new(&member).expect("a regular expression")
});

/// Checks a request whose fields are the lines of `data`: `N` begins an If-None-Match, `M` an If-Modified-Since,
/// `S` an If-Match, `U` an If-Unmodified-Since, and `E` the opaque-tag of the document (`a` without one; the last
/// counts). The document was last modified in 1994.
///
/// # Panics
/// If code and reference differ.
pub fn check_conditional(data: &[u8]) {
    // The server creates its own tags, so bytes that do not fit the grammar are dropped.
    let opaque: String = lines_of(data, b'E')
        .pop()
        .unwrap_or(b"a")
        .iter()
        .filter(|byte| byte.is_ascii_graphic() && **byte != b'"')
        .map(|&byte| char::from(byte))
        .collect();
    let etag = format!("\"{opaque}\"");
    let last_modified = Timestamp::from_unix(784_111_777);
    let validators = Validators {
        etag: etag.as_bytes(),
        last_modified: Some(last_modified),
    };
    // Steps 3 and 4 of §13.2.2.
    let none_match = lines_of(data, b'N');
    let modified_since = lines_of(data, b'M');
    let is_unmodified = matches(opaque.as_bytes(), &none_match, true)
        .or_else(|| is_at_or_after(&modified_since, last_modified));
    assert_eq!(
        is_not_modified(
            validators,
            none_match.iter().copied(),
            modified_since.iter().copied()
        ),
        is_unmodified.unwrap_or(false),
        "{etag} {none_match:?} {modified_since:?}"
    );
    // Steps 1 and 2.
    let match_tags = lines_of(data, b'S');
    let unmodified_since = lines_of(data, b'U');
    let is_permitted = matches(opaque.as_bytes(), &match_tags, false)
        .or_else(|| is_at_or_after(&unmodified_since, last_modified));
    assert_eq!(
        holds(
            validators,
            match_tags.iter().copied(),
            unmodified_since.iter().copied()
        ),
        is_permitted.unwrap_or(true),
        "{etag} {match_tags:?} {unmodified_since:?}"
    );
}

/// Returns the lines that begin with `kind`, without it.
fn lines_of(data: &[u8], kind: u8) -> Vec<&[u8]> {
    lines(data)
        .filter_map(|line| line.strip_prefix(&[kind]))
        .collect()
}

/// Tells whether the only date of a field is `time` or later; `None` without a valid date, and with several fields.
fn is_at_or_after(fields: &[&[u8]], time: Timestamp) -> Option<bool> {
    let [date] = fields else {
        return None;
    };
    Some(parse_http_date(date)? >= time)
}

/// Tells whether one of the tags in `fields` is the document's, or `*` is the only member; `None` without fields.
fn matches(opaque: &[u8], fields: &[&[u8]], takes_weak: bool) -> Option<bool> {
    let mut members = 0;
    let mut is_star = false;
    let mut is_ours = false;
    for field in fields {
        let mut rest = *field;
        // Text that is not an entity-tag counts as one member, and ends the parsing of its field.
        while rest.iter().any(|byte| !b" \t,".contains(byte)) {
            members += 1;
            let Some(member) = MEMBER.captures(rest) else {
                break;
            };
            is_star |= member.name("star").is_some();
            is_ours |= member
                .name("tag")
                .is_some_and(|tag| tag.as_bytes() == opaque)
                && (takes_weak || member.name("weak").is_none());
            rest = &rest[member[0].len()..];
        }
    }
    if fields.is_empty() {
        return None;
    }
    Some(is_ours || (is_star && members == 1))
}
