//! The reviews as they stand inside of a JSON string, for answers that carry the same JSON as a value and as a text.
//!
//! One byte in eight of our JSON is a quotation mark, so escaping 20 reviews costs more than everything else about the
//! answer that holds them; copied from here they cost what they cost unescaped.

use crate::model::Row;
use crate::wire::json::push_escaped;

/// Reviews whose array is longer than this many bytes are escaped anew for each answer: the second copy is a sixth
/// longer than the first, and for large datasets that memory is better left to others.
const ARRAY_BYTES_MAX: usize = 32 << 20;

/// Every review, escaped, in the order of rows, with a comma after each.
#[derive(Debug)]
pub(super) struct Escaped {
    bytes: Box<[u8]>,
    /// Where each row starts, and where one more would.
    offsets: Box<[u32]>,
}

impl Escaped {
    /// Escapes `reviews`, which take `array_bytes` in all; `None` where that is too much to keep twice.
    pub(super) fn build<'j>(
        reviews: impl Iterator<Item = &'j [u8]>,
        array_bytes: usize,
    ) -> Option<Escaped> {
        if array_bytes > ARRAY_BYTES_MAX {
            return None;
        }
        let mut bytes = Vec::with_capacity(array_bytes + array_bytes / 6);
        let mut offsets = vec![0];
        for review in reviews {
            push_escaped(&mut bytes, review);
            bytes.push(b',');
            // An escape is at most six bytes long, so 32 MiB become 192.
            offsets.push(u32::try_from(bytes.len()).ok()?);
        }
        Some(Escaped {
            bytes: bytes.into(),
            offsets: offsets.into(),
        })
    }

    /// Returns the rows from `first` to `last`, with commas between them.
    pub(super) fn run(&self, first: Row, last: Row) -> &[u8] {
        let start = self.offsets[first.0 as usize] as usize;
        let end = self.offsets[last.0 as usize + 1] as usize - 1;
        &self.bytes[start..end]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_the_escaped_reviews_with_commas_between() {
        let reviews: [&[u8]; 3] = [b"{\"a\":1}", b"{}", b"{\"b\":\"\\n\"}"];
        let escaped = Escaped::build(reviews.into_iter(), 20).expect("they are small");
        assert_eq!(escaped.run(Row(0), Row(0)), br#"{\"a\":1}"#);
        assert_eq!(escaped.run(Row(1), Row(2)), br#"{},{\"b\":\"\\n\"}"#);
    }

    #[test]
    fn what_is_too_long_is_not_kept() {
        let none = std::iter::empty::<&[u8]>;
        assert!(Escaped::build(none(), ARRAY_BYTES_MAX).is_some());
        assert!(Escaped::build(none(), ARRAY_BYTES_MAX + 1).is_none());
    }
}
