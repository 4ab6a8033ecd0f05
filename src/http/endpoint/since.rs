//! `/api/reviews/since/{date}`: every review of a day and later.

use bytes::{BufMut, Bytes, BytesMut};

use super::made;
use super::review::tag_value;
use crate::http::arena;
use crate::http::body::Body;
use crate::http::head::RequestHead;
use crate::http::reply::{Refusal, Reply};
use crate::http::served_state::ServedState;
use crate::search::envelope::push_tail;
use crate::search::query;
use crate::wire::etag::{EntityTag, TagHasher};

/// Answers with a contiguous slice of the stored array between a head and a tail; nothing of it is copied. Parameters,
/// of which there are none here, are listed at the end.
pub(super) fn since<'s>(served: &'s ServedState, date: &str, head: &RequestHead<'_>) -> Reply<'s> {
    let date = match query::parse_since(date.as_bytes()) {
        Ok(date) => date,
        Err(issues) => return Reply::Refuse(Refusal::Issues(Bytes::from(issues.render()))),
    };
    let since = served.snapshot().since(date);
    let ignored = query::parameter_names(head.query.as_bytes());
    let tag = match ignored.is_empty() {
        true => since.tag,
        false => tag_with(since.tag, &ignored),
    };
    let representation = made(served, tag_value(&tag), None);
    head.judge(served, &tag, representation, |representation| {
        let head = arena::cut(HEAD_BYTES_MAX, |head| put_head(head, since.matched));
        Reply::Serve(
            representation,
            Body::joined(head, since.array, tail(&since.removed, &ignored)),
        )
    })
}

/// Returns the entity-tag of an answer that lists parameters; `tag` is that of the one without.
fn tag_with(tag: EntityTag, ignored: &[String]) -> EntityTag {
    let mut hasher = TagHasher::new();
    hasher.update(tag.as_bytes());
    for name in ignored {
        hasher.update(name.as_bytes());
        hasher.update(b"\0");
    }
    hasher.tag()
}

/// The head's fixed words and two numbers of at most ten digits.
const HEAD_BYTES_MAX: usize = 64;

fn put_head(head: &mut BytesMut, matched: u32) {
    head.put_slice(b"{\"matched\":");
    put_decimal(head, matched);
    head.put_slice(b",\"returned\":");
    put_decimal(head, matched);
    head.put_slice(b",\"reviews\":[");
}

/// Everything after the last review; `removed` and `ignored` only where there are some.
fn tail(removed: &[u8], ignored: &[String]) -> Bytes {
    if removed.is_empty() && ignored.is_empty() {
        return Bytes::from_static(b"]}");
    }
    let mut tail = Vec::with_capacity(removed.len() + 16);
    if !removed.is_empty() {
        tail.put_slice(b"],\"removed\":[");
        tail.put_slice(removed);
    }
    push_tail(&mut tail, ignored);
    tail.into()
}

fn put_decimal(out: &mut BytesMut, mut number: u32) {
    let mut digits = [0; 10];
    let mut start = digits.len();
    loop {
        start -= 1;
        digits[start] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.put_slice(&digits[start..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_in_full() {
        for number in [0, 9, 10, u32::MAX] {
            let mut out = BytesMut::new();
            put_decimal(&mut out, number);
            assert_eq!(out, number.to_string());
        }
    }
}
