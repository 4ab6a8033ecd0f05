//! The reference implementation of `wire::conditional`: RFC 9110 §13.2.2 read step by step, the list by a machine of states.

use super::lines;
use reviewd::wire::conditional::{Validators, holds, is_not_modified};
use reviewd::wire::date::{Timestamp, parse_http_date};

/// Checks a request whose fields are the lines of `data`: `N` begins an If-None-Match, `M` an If-Modified-Since,
/// `S` an If-Match, `U` an If-Unmodified-Since, and `E` the opaque-tag of the document (`a` without one; the last
/// counts). The document is of 1994.
///
/// # Panics
/// If code and reference differ.
pub fn check_conditional(data: &[u8]) {
    let of_kind = |kind: u8| -> Vec<&[u8]> {
        lines(data)
            .filter_map(|line| line.strip_prefix(&[kind]))
            .collect()
    };
    let opaque = of_kind(b'E').last().map_or("a".to_owned(), |bytes| {
        // The server makes its own tags, so only bytes that fit the grammar matter.
        bytes
            .iter()
            .filter(|byte| byte.is_ascii_graphic() && **byte != b'"')
            .map(|&byte| char::from(byte))
            .collect()
    });
    let etag = format!("\"{opaque}\"");
    let last_modified = Timestamp::from_unix(784_111_777);
    let validators = Validators {
        etag: &etag,
        last_modified: Some(last_modified),
    };
    let is_late = |dates: &[&[u8]]| match dates {
        [date] => parse_http_date(date).map(|date| last_modified <= date),
        _ => None,
    };
    // Steps 3 and 4 of §13.2.2.
    let (tags, dates) = (of_kind(b'N'), of_kind(b'M'));
    let expected = match &tags[..] {
        [] => is_late(&dates).unwrap_or(false),
        _ => reference_matches(&opaque, &tags, true),
    };
    let found = is_not_modified(validators, tags.iter().copied(), dates.iter().copied());
    assert_eq!(found, expected, "{etag} {tags:?} {dates:?}");
    // Steps 1 and 2.
    let (tags, dates) = (of_kind(b'S'), of_kind(b'U'));
    let expected = match &tags[..] {
        [] => is_late(&dates).unwrap_or(true),
        _ => reference_matches(&opaque, &tags, false),
    };
    let found = holds(validators, tags.iter().copied(), dates.iter().copied());
    assert_eq!(found, expected, "{etag} {tags:?} {dates:?}");
}

fn reference_matches(opaque: &str, fields: &[&[u8]], is_weak: bool) -> bool {
    let members = fields.iter().flat_map(|field| reference_list(field));
    let members: Vec<Member> = members.collect();
    let ours = opaque.as_bytes().to_vec();
    members == [Member::Star]
        || members.contains(&Member::Strong(ours.clone()))
        || (is_weak && members.contains(&Member::Weak(ours)))
}

#[derive(Debug, PartialEq)]
enum Member {
    Star,
    Strong(Vec<u8>),
    Weak(Vec<u8>),
    /// Ends the reading of its field.
    Malformed,
}

/// Reads one field member by member, by splitting at quotation marks.
fn reference_list(field: &[u8]) -> Vec<Member> {
    let mut members = Vec::new();
    let mut rest = field;
    loop {
        let blank = rest.iter().take_while(|byte| b" \t,".contains(byte));
        rest = &rest[blank.count()..];
        if rest.is_empty() {
            return members;
        }
        let end = match rest.splitn(3, |&byte| byte == b'"').collect::<Vec<_>>()[..] {
            [b"" | b"W/", tag, _] if tag.iter().all(|byte| *byte > b' ' && *byte != 0x7f) => {
                let weak = rest[0] == b'W';
                members.push(match weak {
                    true => Member::Weak(tag.to_vec()),
                    false => Member::Strong(tag.to_vec()),
                });
                2 * usize::from(weak) + 1 + tag.len()
            }
            _ if rest[0] == b'*' => {
                members.push(Member::Star);
                0
            }
            _ => {
                members.push(Member::Malformed);
                return members;
            }
        };
        rest = &rest[end + 1..];
        let blank = rest.iter().take_while(|byte| b" \t".contains(byte));
        rest = &rest[blank.count()..];
        if !matches!(rest, [] | [b',', ..]) {
            // What ends like that is no member either.
            members.pop();
            members.push(Member::Malformed);
            return members;
        }
    }
}
