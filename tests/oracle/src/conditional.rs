//! The twin of `wire::conditional`: RFC 9110 §13.2.2 read step by step, the list by a machine of states.

use super::lines;
use reviewd::wire::conditional::{Validators, Verdict, evaluate, holds};
use reviewd::wire::date::{Timestamp, parse_http_date};

/// Checks a request whose fields are the lines of `data`: `N` begins an If-None-Match, `M` an If-Modified-Since,
/// `S` an If-Match, `U` an If-Unmodified-Since, and `E` the opaque-tag of the document (`a` without one; the last
/// counts). The document is of 1994.
///
/// # Panics
/// If code and twin differ.
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
        evaluate(validators, tags.iter().copied(), dates.iter().copied()),
        twin(&opaque, last_modified, &tags, &dates),
        "{etag} {tags:?} {dates:?}"
    );
    let (tags, dates) = (of_kind(b'S'), of_kind(b'U'));
    assert_eq!(
        holds(validators, tags.iter().copied(), dates.iter().copied()),
        twin_holds(&opaque, last_modified, &tags, &dates),
        "{etag} {tags:?} {dates:?}"
    );
}

/// Steps 1 and 2 of §13.2.2.
fn twin_holds(opaque: &str, last_modified: Timestamp, tags: &[&[u8]], dates: &[&[u8]]) -> bool {
    let members: Vec<Member> = tags.iter().flat_map(|field| twin_list(field)).collect();
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
fn twin(opaque: &str, last_modified: Timestamp, tags: &[&[u8]], dates: &[&[u8]]) -> Verdict {
    if !tags.is_empty() {
        let members: Vec<Member> = tags.iter().flat_map(|field| twin_list(field)).collect();
        let ours = opaque.as_bytes();
        let matches = members == [Member::Star]
            || members.contains(&Member::Strong(ours.to_vec()))
            || members.contains(&Member::Weak(ours.to_vec()));
        return if matches {
            Verdict::NotModified
        } else {
            Verdict::Serve
        };
    }
    match dates {
        [date] if parse_http_date(date).is_some_and(|date| last_modified <= date) => {
            Verdict::NotModified
        }
        _ => Verdict::Serve,
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

/// Where in the list the next byte stands.
enum State {
    Between,
    AfterW,
    AfterSlash,
    InStrong(Vec<u8>),
    InWeak(Vec<u8>),
    AfterMember,
}

/// Reads one field byte by byte.
fn twin_list(field: &[u8]) -> Vec<Member> {
    let mut members = Vec::new();
    let mut waiting = None;
    let mut state = State::Between;
    // A comma at the end lets the last member end like the others.
    for &byte in field.iter().chain(b",") {
        state = match (state, byte) {
            (State::InStrong(tag), b'"') => {
                waiting = Some(Member::Strong(tag));
                State::AfterMember
            }
            (State::InWeak(tag), b'"') => {
                waiting = Some(Member::Weak(tag));
                State::AfterMember
            }
            (State::InStrong(mut tag), byte) if byte > b' ' && byte != 0x7f => {
                tag.push(byte);
                State::InStrong(tag)
            }
            (State::InWeak(mut tag), byte) if byte > b' ' && byte != 0x7f => {
                tag.push(byte);
                State::InWeak(tag)
            }
            (State::Between, b' ' | b'\t' | b',') => State::Between,
            (State::Between, b'*') => {
                waiting = Some(Member::Star);
                State::AfterMember
            }
            (State::Between, b'W') => State::AfterW,
            (State::AfterW, b'/') => State::AfterSlash,
            (State::Between, b'"') => State::InStrong(Vec::new()),
            (State::AfterSlash, b'"') => State::InWeak(Vec::new()),
            (State::AfterMember, b' ' | b'\t') => State::AfterMember,
            (State::AfterMember, b',') => {
                members.extend(waiting.take());
                State::Between
            }
            _ => {
                members.push(Member::Malformed);
                return members;
            }
        };
    }
    // The comma of ours may have ended within quotation marks.
    if !matches!(state, State::Between) {
        members.push(Member::Malformed);
    }
    members
}
