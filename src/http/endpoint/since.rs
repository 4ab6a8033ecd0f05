//! `/api/reviews/since/{date}`: every review of a day and later.

use bytes::{BufMut, Bytes, BytesMut};

use super::review::tag_value;
use super::{Read, made};
use crate::http::arena;
use crate::http::body::Body;
use crate::http::reply::{Refusal, Reply};
use crate::http::site::Site;
use crate::search::query;

/// Answers with a contiguous slice of the stored array between a head and a tail; nothing of it is copied.
pub(super) fn since<'s>(site: &'s Site, date: &str, read: &Read<'_>) -> Reply<'s> {
    let date = match query::parse_since(date.as_bytes()) {
        Ok(date) => date,
        Err(issues) => return Reply::Refuse(Refusal::Issues(Bytes::from(issues.render()))),
    };
    let since = site.snapshot().since(date);
    read.judge(
        site,
        &since.tag,
        made(site, tag_value(&since.tag), None),
        |representation| {
            let head = arena::cut(HEAD_BYTES_MAX, |head| put_head(head, since.matched));
            Reply::Serve(
                representation,
                Body::joined(head, since.array, tail(&since.removed)),
            )
        },
    )
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

/// Everything after the last review; `removed` only where there are some.
fn tail(removed: &[u8]) -> Bytes {
    if removed.is_empty() {
        return Bytes::from_static(b"]}");
    }
    arena::cut(REMOVED.len() + removed.len() + 2, |tail| {
        tail.put_slice(REMOVED);
        tail.put_slice(removed);
        tail.put_slice(b"]}");
    })
}

const REMOVED: &[u8] = b"],\"removed\":[";

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
