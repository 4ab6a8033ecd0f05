//! All folded texts in one buffer, with marks at the start of words.

use memchr::memchr;

use crate::fold::fold_into;
use crate::words::words_after_signs;

/// Precedes each text that is not empty, and each word after a character other than a space; follows the last one.
pub const START: u8 = 0xfe;

/// Precedes the [`START`] of a word after a rare sign.
pub const RARE: u8 = 0xfd;

/// The signs before most of the words that do not follow a space. A phrase is looked up after each of them; few of the
/// listed words follow another sign.
pub const COMMON_SIGNS: [u8; 9] = *b"'\"-.,!/(\n";

/// Ends each text.
pub const END: u8 = 0xff;

/// Bytes of `END` after the last text, so that eight bytes can be read from any position of a text.
const PADDING: usize = 8;

/// All folded texts, row after row. The row of an empty text is [`END`] alone; any other row is, in this order:
///
/// 1. [`START`] and the text;
/// 2. [`START`] and the word, for each word of the text that follows one of the [`COMMON_SIGNS`];
/// 3. [`START`];
/// 4. [`RARE`], [`START`], the word and [`START`], for each word that follows any other character than a space;
/// 5. [`END`].
///
/// So every word is preceded by a space or by [`START`], and two needles find all its occurrences. UTF-8 text contains
/// none of the marks, so no match spans two texts, and the words listed after a text add no matches to it.
#[derive(Clone, Debug)]
pub struct Arena {
    /// The texts, then `PADDING` bytes.
    pub bytes: Vec<u8>,
    /// Where each row's text starts, and one entry past the last.
    pub starts: Vec<u64>,
}

impl Arena {
    /// Folds `texts`; the first is row 0.
    pub fn build<'t>(texts: impl ExactSizeIterator<Item = &'t str> + Clone) -> Arena {
        let mut bytes_max = PADDING;
        for text in texts.clone() {
            // In most languages the listed words are a twentieth of the text.
            bytes_max += text.len() + text.len() / 8 + 3;
        }
        let mut arena = Arena {
            bytes: Vec::with_capacity(bytes_max),
            starts: Vec::with_capacity(texts.len() + 1),
        };
        let mut folded = String::new();
        for text in texts {
            arena.starts.push(arena.bytes.len() as u64);
            folded.clear();
            fold_into(text, &mut folded);
            if !folded.is_empty() {
                arena.push_text(&folded);
            }
            arena.bytes.push(END);
        }
        arena.starts.push(arena.bytes.len() as u64);
        arena.bytes.extend_from_slice(&[END; PADDING]);
        arena.bytes.shrink_to_fit();
        arena
    }

    /// Appends a text, and the words of it that follow a character other than a space.
    fn push_text(&mut self, folded: &str) {
        self.push_marked(&[START], folded);
        for listed in words_after_signs(folded) {
            if is_common(listed.sign) {
                self.push_marked(&[START], listed.word);
            }
        }
        self.bytes.push(START);
        for listed in words_after_signs(folded) {
            if !is_common(listed.sign) {
                self.push_marked(&[RARE, START], listed.word);
                self.bytes.push(START);
            }
        }
    }

    fn push_marked(&mut self, mark: &[u8], text: &str) {
        self.bytes.extend_from_slice(mark);
        self.bytes.extend_from_slice(text.as_bytes());
    }

    /// Returns the number of texts.
    pub fn rows(&self) -> u32 {
        (self.starts.len() - 1) as u32
    }

    /// Returns the folded text of `row`, which is below [`Arena::rows`], with its marks and the words listed after it.
    pub fn row(&self, row: u32) -> &[u8] {
        let row = row as usize;
        &self.bytes[self.starts[row] as usize..self.starts[row + 1] as usize - 1]
    }

    /// Returns the folded text of `row`, which is below [`Arena::rows`].
    pub fn text(&self, row: u32) -> &[u8] {
        let text = self.row(row).get(1..).unwrap_or_default();
        &text[..memchr(START, text).unwrap_or(text.len())]
    }
}

/// Tells whether `sign` is one of the [`COMMON_SIGNS`].
fn is_common(sign: char) -> bool {
    u8::try_from(sign).is_ok_and(|sign| COMMON_SIGNS.contains(&sign))
}
