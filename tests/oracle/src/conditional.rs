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
    let (tags, dates) = (of_kind(b'N'), of_kind(b'M'));
    assert_eq!(
        is_not_modified(validators, tags.iter().copied(), dates.iter().copied()),
        reference(&opaque, last_modified, &tags, &dates),
        "{etag} {tags:?} {dates:?}"
    );
    let (tags, dates) = (of_kind(b'S'), of_kind(b'U'));
    assert_eq!(
        holds(validators, tags.iter().copied(), dates.iter().copied()),
        reference_holds(&opaque, last_modified, &tags, &dates),
        "{etag} {tags:?} {dates:?}"
    );
}

/// Steps 1 and 2 of §13.2.2.
fn reference_holds(
    opaque: &str,
    last_modified: Timestamp,
    tags: &[&[u8]],
    dates: &[&[u8]],
) -> bool {
    let members: Vec<Member> = tags
        .iter()
        .flat_map(|field| reference_list(field))
        .collect();
    match (tags, dates) {
        ([], [date]) => parse_http_date(date).is_none_or(|date| last_modified <= date),
        ([], _) => true,
        _ => {
            members == [Member::Star]
                || members.contains(&Member::Strong(opaque.as_bytes().to_vec()))
        }
    }
}

/// Steps 3 and 4 of §13.2.2.
fn reference(opaque: &str, last_modified: Timestamp, tags: &[&[u8]], dates: &[&[u8]]) -> bool {
    let members: Vec<Member> = tags
        .iter()
        .flat_map(|field| reference_list(field))
        .collect();
    let ours = opaque.as_bytes();
    match (tags, dates) {
        ([], [date]) => parse_http_date(date).is_some_and(|date| last_modified <= date),
        ([], _) => false,
        _ => {
            members == [Member::Star]
                || members.contains(&Member::Strong(ours.to_vec()))
                || members.contains(&Member::Weak(ours.to_vec()))
        }
    }
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
