//! Reference implementation of `wire::conditional`: RFC 9110 §13.2.2 step by step, with a regular expression for tags.

use std::sync::LazyLock;

use regex::bytes::Regex;

use super::lines;
use reviewd::wire::conditional::{Validators, holds, is_not_modified};
use reviewd::wire::date::{Timestamp, parse_http_date};

/// Checks a request whose fields are the lines of `data`: `N` begins an If-None-Match, `M` an If-Modified-Since,
/// `S` an If-Match, `U` an If-Unmodified-Since, and `E` the opaque-tag of the document (`a` without one; the last
/// counts). The document was last modified in 1994.
///
/// # Panics
/// If code and reference differ.
pub fn check_conditional(data: &[u8]) {
    let of_kind = |kind: u8| -> Vec<&[u8]> {
        let lines = lines(data).filter_map(|line| line.strip_prefix(&[kind]));
        lines.collect()
    };
    // The server creates its own tags, so bytes that do not fit the grammar are dropped.
    let opaque: String = of_kind(b'E')
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
    let is_late = |dates: &[&[u8]]| match dates {
        [date] => parse_http_date(date).map(|date| last_modified <= date),
        _ => None,
    };
    // Steps 3 and 4 of §13.2.2.
    let (tags, dates) = (of_kind(b'N'), of_kind(b'M'));
    let expected = matches(opaque.as_bytes(), &tags, true);
    let expected = expected.unwrap_or_else(|| is_late(&dates).unwrap_or(false));
    let found = is_not_modified(validators, tags.iter().copied(), dates.iter().copied());
    assert_eq!(found, expected, "{etag} {tags:?} {dates:?}");
    // Steps 1 and 2.
    let (tags, dates) = (of_kind(b'S'), of_kind(b'U'));
    let expected = matches(opaque.as_bytes(), &tags, false);
    let expected = expected.unwrap_or_else(|| is_late(&dates).unwrap_or(true));
    let found = holds(validators, tags.iter().copied(), dates.iter().copied());
    assert_eq!(found, expected, "{etag} {tags:?} {dates:?}");
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
    (!fields.is_empty()).then_some(is_ours || (is_star && members == 1))
}

/// An entity-tag or `*`, with preceding white space and commas, and the comma or the end after it.
static MEMBER: LazyLock<Regex> = LazyLock::new(|| {
    let tag = r#"(?<weak>W/)?"(?<tag>[\x21\x23-\x7e\x80-\xff]*)""#;
    let member = format!(r"(?-u)^[ \t,]*(?:(?<star>\*)|{tag})[ \t\r\f]*(?:,|$)");
    Regex::new(&member).expect("a regular expression")
});
