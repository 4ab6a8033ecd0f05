//! The conditions of a request (RFC 9110 §13).
//!
//! For GET and HEAD, in the order of §13.2.2:
//! 1. If-Match is present: 412 unless one of its tags is the current one (§13.1.1).
//! 2. It is not, and If-Unmodified-Since is a single valid HTTP-date: 412 if the document is newer (§13.1.4).
//! 3. If-None-Match is present: 304 if one of its tags matches (§13.1.2), else the document; the date is not read.
//! 4. It is not, and If-Modified-Since is a single valid HTTP-date: 304 if the document is not newer (§13.1.3).
//! 5. Otherwise the document. Range and If-Range are ignored, as no ranges are served (§14.2 makes them optional);
//!    a request with them gets the whole document.
//!
//! [`holds`] implements steps 1 and 2, which are rare for reads; [`is_not_modified`] implements steps 3 and 4.

#![warn(clippy::indexing_slicing)]

use super::date::{Timestamp, parse_http_date};

/// Bytes allowed between members: commas and white space, as empty members are allowed (§5.6.1.2).
const SEPARATORS: &[u8] = b" \t,";

/// The validators of a resource's current content.
#[derive(Clone, Copy, Debug)]
pub struct Validators<'a> {
    /// The strong entity-tag of the content in the coding that would be sent, quotation marks included.
    pub etag: &'a [u8],
    /// When the content last changed; without it, conditions on dates are ignored (§13.1.3, §13.1.4).
    pub last_modified: Option<Timestamp>,
}

/// Decides whether the preconditions of steps 1 and 2 hold, without allocating; linear in the length of the fields.
///
/// Tags are compared strongly (§8.8.3.2): a weak one never matches. If a list is malformed before a
/// matching tag, the condition is false: the client expects a certain content, and it is unknown which.
pub fn holds<'a>(
    validators: Validators<'_>,
    if_match: impl IntoIterator<Item = &'a [u8]>,
    if_unmodified_since: impl IntoIterator<Item = &'a [u8]>,
) -> bool {
    match match_tags(validators.etag, if_match, false) {
        Some(is_match) => is_match,
        None => is_unmodified(validators, if_unmodified_since).unwrap_or(true),
    }
}

/// Decides whether the client's copy is current, without allocating; linear in the length of the fields.
///
/// Tags are compared weakly (§8.8.3.2), and only with the tag of the coding that would be sent: a 304 for another
/// coding's tag would tell a cache to keep a body under a tag that it does not have (RFC 9111 §4.3.4). A
/// malformed member ends the parsing of its field, but the tags before it count; `*` counts only if it is the whole
/// value. Ignoring a tag is safe: the client gets a full response.
pub fn is_not_modified<'a>(
    validators: Validators<'_>,
    if_none_match: impl IntoIterator<Item = &'a [u8]>,
    if_modified_since: impl IntoIterator<Item = &'a [u8]>,
) -> bool {
    match match_tags(validators.etag, if_none_match, true) {
        Some(is_match) => is_match,
        None => is_unmodified(validators, if_modified_since).unwrap_or(false),
    }
}

/// Whether the content has not changed since the date of the field; `None` unless both dates are known and the field is
/// given once.
fn is_unmodified<'a>(
    validators: Validators<'_>,
    fields: impl IntoIterator<Item = &'a [u8]>,
) -> Option<bool> {
    let mut dates = fields.into_iter();
    let date = dates.next().and_then(parse_http_date)?;
    if dates.next().is_some() {
        return None;
    }
    Some(validators.last_modified? <= date)
}

/// Whether one tag of the fields matches, or `None` if there is no field; `takes_weak`: compare weakly (§8.8.3.2).
fn match_tags<'a>(
    etag: &[u8],
    fields: impl IntoIterator<Item = &'a [u8]>,
    takes_weak: bool,
) -> Option<bool> {
    // Our own tag is never weak, so the text between its quotation marks is compared.
    let ours = etag.get(1..etag.len().saturating_sub(1));
    let mut is_present = false;
    let mut members = 0u32;
    let mut star = false;
    for field in fields {
        is_present = true;
        // Fast path: nearly every client sends the one strong tag that it received.
        if field == etag {
            return Some(true);
        }
        let mut rest = field;
        while let Some((member, after)) = next_member(rest) {
            members += 1;
            rest = after;
            match member {
                Member::Star => star = true,
                Member::Tag { opaque, weak } => {
                    if Some(opaque) == ours && (!weak || takes_weak) {
                        return Some(true);
                    }
                }
            }
        }
        // The malformed part that ended the parsing is a member too.
        members += u32::from(!rest.iter().all(|byte| SEPARATORS.contains(byte)));
    }
    if !is_present {
        return None;
    }
    // `*` means any current content (§13.1.2), but only as the whole value, not as a member of a list.
    Some(star && members == 1)
}

/// A member of If-Match or If-None-Match.
enum Member<'a> {
    Star,
    Tag {
        /// The bytes between the quotation marks.
        opaque: &'a [u8],
        /// Whether `W/` precedes them.
        weak: bool,
    },
}

/// Takes the next member off the front of a list; `None` at its end or at a malformed member.
fn next_member(list: &[u8]) -> Option<(Member<'_>, &[u8])> {
    let start = list.iter().position(|byte| !SEPARATORS.contains(byte))?;
    let (_, list) = list.split_at(start);
    let (member, rest) = if let Some(rest) = list.strip_prefix(b"*") {
        (Member::Star, rest)
    } else {
        // `W/` is case-sensitive (§8.8.3), and a comma within the quotation marks is part of the tag.
        let unmarked = list.strip_prefix(b"W/");
        let quoted = unmarked.unwrap_or(list).strip_prefix(b"\"")?;
        let end = quoted.iter().position(|&byte| !is_tag_byte(byte))?;
        let (opaque, rest) = quoted.split_at(end);
        let member = Member::Tag {
            opaque,
            weak: unmarked.is_some(),
        };
        (member, rest.strip_prefix(b"\"")?)
    };
    match rest.trim_ascii_start() {
        rest @ ([] | [b',', ..]) => Some((member, rest)),
        _ => None,
    }
}

/// Whether a byte is allowed in an opaque-tag: `%x21 / %x23-7E / obs-text` (§8.8.3).
fn is_tag_byte(byte: u8) -> bool {
    matches!(byte, 0x21 | 0x23..=0x7e | 0x80..=0xff)
}

#[cfg(test)]
mod tests;
