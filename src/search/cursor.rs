//! A place in an ordered result, from which the next page goes on.

use arrayvec::ArrayString;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::model::Rating;
use crate::search::filter::Sort;
use crate::wire::date::Date;

/// The last review of a page: the next page holds what comes after it in the same order.
///
/// It names values and not a row, so that it stays true when reviews are added or removed between two pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// The order in which the page was made.
    pub sort: Sort,
    /// Rating of the last review.
    pub rating: Rating,
    /// Date of the last review.
    pub date: Date,
    /// Id of the last review.
    pub id: ReviewId,
}

impl Cursor {
    /// Appends the cursor's text, 11 to 95 characters of `[A-Za-z0-9_-]`; allocates only where `out` lacks room.
    pub fn render_into(&self, out: &mut Vec<u8>) {
        let mut key = [0u8; KEY_BYTES_MAX];
        let id = self.id.as_str().as_bytes();
        key[0] = VERSION;
        key[1] = self.sort as u8;
        key[2] = self.rating.stars();
        key[3..HEAD_BYTES].copy_from_slice(&self.date.days().to_be_bytes());
        key[HEAD_BYTES..HEAD_BYTES + id.len()].copy_from_slice(id);
        let mut text = [0u8; TEXT_BYTES_MAX];
        let len = URL_SAFE_NO_PAD
            .encode_slice(&key[..HEAD_BYTES + id.len()], &mut text)
            .expect("the buffer holds the longest key in base64");
        out.extend_from_slice(&text[..len]);
    }

    /// Returns the cursor's text.
    pub fn render(&self) -> String {
        let mut out = Vec::with_capacity(TEXT_BYTES_MAX);
        self.render_into(&mut out);
        String::from_utf8(out).expect("base64 is ASCII")
    }

    /// Parses what `render` wrote, or returns `None`: each cursor has exactly one text.
    pub fn parse(text: &str) -> Option<Cursor> {
        if text.len() > TEXT_BYTES_MAX {
            return None;
        }
        // The decoder asks for room by the estimate of four characters to three bytes, rounded up.
        let mut key = [0u8; KEY_BYTES_MAX + 3];
        let len = URL_SAFE_NO_PAD.decode_slice(text, &mut key).ok()?;
        let (head, id) = key[..len].split_at_checked(HEAD_BYTES)?;
        if head[0] != VERSION {
            return None;
        }
        let days = u32::from_be_bytes([head[3], head[4], head[5], head[6]]);
        Some(Cursor {
            sort: *Sort::ALL.get(usize::from(head[1]))?,
            rating: Rating::new(head[2])?,
            date: Date::from_days(days)?,
            id: ReviewId::new(str::from_utf8(id).ok()?)?,
        })
    }
}

/// A review's id in place, 1 to 64 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReviewId(ArrayString<{ ReviewId::BYTES_MAX }>);

impl ReviewId {
    /// The longest id, 64 bytes; the decoder of the dataset refuses longer ones.
    pub const BYTES_MAX: usize = 64;

    /// Copies `id`, or returns `None` where it is empty, longer than 64 bytes, or holds another byte than `[A-Za-z0-9_-]`.
    pub fn new(id: &str) -> Option<ReviewId> {
        let known = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        let is_id = !id.is_empty() && id.bytes().all(known);
        ArrayString::from(id).ok().filter(|_| is_id).map(ReviewId)
    }

    /// Returns the id.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// First byte of every cursor; a later layout gets another, and old cursors are then refused as invalid.
const VERSION: u8 = 1;
/// Version, sort, rating and four bytes of the date.
const HEAD_BYTES: usize = 7;
/// Longest key before base64.
const KEY_BYTES_MAX: usize = HEAD_BYTES + ReviewId::BYTES_MAX;
/// Longest text, 95 characters.
const TEXT_BYTES_MAX: usize = (KEY_BYTES_MAX * 4).div_ceil(3);

#[cfg(test)]
mod tests {
    use super::*;

    fn cursor(sort: Sort, stars: u8, days: u32, id: &str) -> Cursor {
        Cursor {
            sort,
            rating: Rating::new(stars).expect("1 to 5"),
            date: Date::from_days(days).expect("a day"),
            id: ReviewId::new(id).expect("an id"),
        }
    }

    #[test]
    fn a_rendered_cursor_parses_back() {
        let long = "x".repeat(64);
        for sort in Sort::ALL {
            for id in ["a", "01JD-_Zz09", &long] {
                for days in [0, 739_000, Date::MAX.days()] {
                    let cursor = cursor(sort, 3, days, id);
                    let text = cursor.render();
                    assert!(
                        text.len() <= TEXT_BYTES_MAX && TEXT_BYTES_MAX <= 256,
                        "{text}"
                    );
                    assert_eq!(Cursor::parse(&text), Some(cursor), "{text}");
                }
            }
        }
    }

    #[test]
    fn what_was_not_rendered_is_refused() {
        let good = cursor(Sort::Newest, 5, 739_000, "abc").render();
        let key = URL_SAFE_NO_PAD.decode(&good).expect("base64");
        let changed = |at: usize, byte: u8| {
            let mut key = key.clone();
            key[at] = byte;
            URL_SAFE_NO_PAD.encode(key)
        };
        for text in [
            String::new(),
            "!!!".into(),
            format!("{good}="),
            format!(" {good}"),
            URL_SAFE_NO_PAD.encode(&key[..7]),
            URL_SAFE_NO_PAD.encode(&key[..3]),
            changed(0, 0),
            changed(0, 2),
            changed(1, 4),
            changed(2, 0),
            changed(2, 6),
            changed(3, 255),
            changed(7, b'/'),
            changed(7, 0xff),
            URL_SAFE_NO_PAD.encode([&key[..7], &[b'x'; 65]].concat()),
            "A".repeat(300),
            // Eleven bytes leave two unused bits in the last character, which must not be set.
            URL_SAFE_NO_PAD
                .encode([&key[..], b"d"].concat())
                .replace("Y2Q", "Y2R"),
        ] {
            assert_eq!(Cursor::parse(&text), None, "{text}");
        }
    }
}
