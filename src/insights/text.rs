//! Splits a sentence into words and punctuation marks, each with its lexicon entry.
//!
//! The lexicon is VADER's: `tests/fixtures/polarity/make.py` writes `words.txt` and `emoji.txt` from the reference
//! implementation (vaderSentiment 3.3.2, C. J. Hutto, MIT: `LICENSES/MIT-vaderSentiment.txt`). A line is a valence in
//! tenths and the words that have it; an emoji has the sum of the words in its name. Entries that no token can equal
//! (with blanks or capitals) are left out. `trades.txt`, in the same form, adds opinions that are frequent in reviews
//! and unknown to VADER ("polite", "late"). A line of `rules.txt` is a role and the words that have it.

use std::sync::LazyLock;

use super::inflection::FormCache;
use super::keys::{KeyMap, key};

/// Most words and marks of one sentence; the rest is ignored.
const ITEMS_MAX: usize = 512;
/// Number of words after a negation that it negates.
const NEGATION_REACH: u8 = 4;
/// Characters that join the parts of a word.
const JOINERS: [char; 3] = ['\'', '’', '-'];

/// The words and marks of one sentence; buffers are reused from one sentence to the next.
#[derive(Debug, Default)]
pub(super) struct TextWords {
    lower: String,
    /// In the order of the sentence.
    pub(super) items: Vec<Item>,
    /// The forms of words of earlier sentences.
    pub(super) forms: FormCache,
}

/// A word, or a single mark.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    /// Byte range in the sentence.
    pub(super) start: usize,
    pub(super) end: usize,
    lower_start: usize,
    lower_end: usize,
    /// Hash of the word in lower case.
    pub(super) key: u64,
    /// Its entry in the lexicon.
    pub(super) entry: Entry,
    pub(super) is_word: bool,
    pub(super) is_capital: bool,
    /// Whether it has several letters, and none in lower case ("MHH").
    pub(super) is_all_capital: bool,
    /// Hash of its form (`inflection`), and whether it belongs to an idiom; both set by `Phrases::find`.
    pub(super) form: u64,
    pub(super) is_idiom: bool,
    /// Whether one of the [`NEGATION_REACH`] words before it in its phrase is a negation.
    pub(super) negated: bool,
    /// Index of its clause in the sentence: "but" or a full stop begins a new one.
    pub(super) clause: u16,
}

impl Item {
    /// Whether it negates the words after it.
    pub(super) fn negates(&self) -> bool {
        self.entry.negates
    }

    /// Returns the valence in tenths, if the lexicon lists one; a negation inverts it.
    pub(super) fn valence(&self) -> Option<i32> {
        Some(self.entry.valence? * if self.negated { -1 } else { 1 })
    }
}

impl TextWords {
    /// Parses `sentence`, at most its first [`ITEMS_MAX`] words and marks.
    pub(super) fn read(&mut self, sentence: &str) {
        self.lower.clear();
        self.items.clear();
        // The index of the current clause, and the number of following words that are negated.
        let mut clause = 0;
        let mut reach = 0_u8;
        for token in tokens(sentence) {
            let Token {
                start,
                end,
                is_word,
            } = token;
            let text = &sentence[start..end];
            let lower_start = self.lower.len();
            push_lower(&mut self.lower, text);
            let lower = &self.lower[lower_start..];
            let key = key(lower);
            let entry = entry(key, lower);
            let is_capital = text.starts_with(char::is_uppercase);
            clause += u16::from(entry.is_clause);
            if entry.is_clause || entry.is_phrase {
                reach = 0;
            }
            self.items.push(Item {
                start,
                end,
                lower_start,
                lower_end: self.lower.len(),
                key,
                form: key,
                is_idiom: false,
                entry,
                is_word,
                is_capital,
                is_all_capital: is_capital && is_all_capital(text),
                negated: reach > 0 && is_word,
                clause,
            });
            if entry.negates {
                reach = NEGATION_REACH;
            } else if is_word {
                reach = reach.saturating_sub(1);
            }
        }
    }

    /// Whether a word of the sentence is a negation.
    pub(super) fn has_negation(&self) -> bool {
        self.items.iter().any(|item| item.entry.negates)
    }

    /// Whether `clause` has a request or an agreement of the reviewer ("wir baten um einen Termin"), and no opinion, negation or
    /// repetition.
    pub(super) fn is_request(&self, clause: u16) -> bool {
        let has = |is: fn(&Entry) -> bool| {
            let mut items = self.items.iter();
            items.any(|item| item.clause == clause && is(&item.entry))
        };
        has(|entry| entry.is_speaker)
            && has(|entry| entry.asks)
            && !has(|entry| entry.repeats || entry.negates || entry.valence.is_some())
    }

    /// Returns the word or punctuation mark in lower case; `0` if it is a number.
    pub(super) fn lower(&self, item: &Item) -> &str {
        &self.lower[item.lower_start..item.lower_end]
    }
}

/// A word, or a single mark, in a sentence.
pub(super) struct Token {
    /// Byte range in the sentence.
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) is_word: bool,
}

/// Splits `sentence` into words and marks, at most [`ITEMS_MAX`].
pub(super) fn tokens(sentence: &str) -> impl Iterator<Item = Token> {
    let mut end = 0;
    let tokens = std::iter::from_fn(move || {
        let rest = &sentence[end..];
        let start = end + (rest.len() - rest.trim_start().len());
        let first = sentence[start..].chars().next()?;
        end = start + first.len_utf8();
        let is_word = first.is_alphanumeric();
        if is_word {
            end += rest_of_word(&sentence[end..]);
            // "l'accueil" is two words, "M's" is one.
            if let Some((elided, rest)) = split_at_apostrophe(&sentence[start..end])
                && rest.len() > 1
                && entry_of(&elided.to_lowercase()).elides
            {
                end -= rest.len();
            }
        }
        Some(Token {
            start,
            end,
            is_word,
        })
    });
    tokens.take(ITEMS_MAX)
}

/// Appends `text`, a word or a punctuation mark, in lower case; a number is appended as `0`.
pub(super) fn push_lower(lower: &mut String, text: &str) {
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        lower.push('0');
    } else if text.is_ascii() {
        let start = lower.len();
        lower.push_str(text);
        lower[start..].make_ascii_lowercase();
    } else {
        for character in text.chars().flat_map(char::to_lowercase) {
            lower.push(if character == '’' { '\'' } else { character });
        }
    }
}

/// Whether `text` has several letters and all of them are capital ones.
fn is_all_capital(text: &str) -> bool {
    let mut capitals = 0;
    for letter in text.chars() {
        if letter.is_lowercase() {
            return false;
        }
        capitals += u32::from(letter.is_uppercase());
    }
    capitals >= 2
}

/// Returns how many bytes at the start of `text` belong to the word before it: letters and digits, and joiners between them.
fn rest_of_word(text: &str) -> usize {
    // Most words are ASCII only, whose bytes are quick to count.
    let ascii = text.bytes().take_while(u8::is_ascii_alphanumeric).count();
    let rest = &text[ascii..];
    for (at, character) in rest.char_indices() {
        let next = &rest[at + character.len_utf8()..];
        let joins = JOINERS.contains(&character) && next.starts_with(char::is_alphanumeric);
        if !character.is_alphanumeric() && !joins {
            return ascii + at;
        }
    }
    text.len()
}

/// Returns what is before and after the first apostrophe of `word`.
fn split_at_apostrophe(word: &str) -> Option<(&str, &str)> {
    if word.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return None;
    }
    word.split_once(['\'', '’'])
}

/// Lexicon entry of a word in lower case, or of a mark.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Entry {
    /// Tenths of the mean sentiment from -4 to 4, if the lexicon lists the word.
    pub(super) valence: Option<i32>,
    /// Whether the word negates the words after it.
    negates: bool,
    /// Whether a new clause begins here, as at "but" or a full stop.
    is_clause: bool,
    /// Whether a new phrase within the clause begins here, as at "and".
    is_phrase: bool,
    /// Whether the word is shortened and joined to the next by an apostrophe, such as "l" in "l'accueil".
    elides: bool,
    /// Whether the word says that the reviewer did something: "I", or a verb of the first person.
    is_speaker: bool,
    /// Whether the word tells of a request or an agreement, such as "asked".
    asks: bool,
    /// Whether the word tells of a repetition or a wait, such as "again".
    repeats: bool,
}

/// Returns the entry of `word`, which must be in lower case.
pub(super) fn entry_of(word: &str) -> Entry {
    entry(key(word), word)
}

/// The same, if the key of the word is known.
fn entry(key: u64, word: &str) -> Entry {
    let mut entry = LEXICON.get(&key).copied().unwrap_or_default();
    entry.negates |= word.contains('\'') && word.contains("n't");
    entry
}

/// Words and emoji, parsed on first use: a few milliseconds and 500 KB.
static LEXICON: LazyLock<KeyMap<u64, Entry>> = LazyLock::new(|| {
    let mut lexicon: KeyMap<u64, Entry> =
        KeyMap::with_capacity_and_hasher(8192, Default::default());
    let files = [
        include_str!("lexicon/words.txt"),
        include_str!("lexicon/emoji.txt"),
        include_str!("lexicon/trades.txt"),
        include_str!("lexicon/rules.txt"),
    ];
    for line in files.into_iter().flat_map(str::lines) {
        let mut fields = line.split(' ');
        let role = fields.next().unwrap_or_default();
        for word in fields {
            let entry = lexicon.entry(key(word)).or_default();
            match role {
                "negates" => entry.negates = true,
                "clause" => entry.is_clause = true,
                "phrase" => entry.is_phrase = true,
                "elides" => entry.elides = true,
                "speaker" => entry.is_speaker = true,
                "asks" => entry.asks = true,
                "repeats" => entry.repeats = true,
                "subject" => entry.valence = None,
                tenths => entry.valence = tenths.parse().ok(),
            }
        }
    }
    lexicon
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_marks_and_clauses() {
        let mut words = TextWords::default();
        words.read("The fee wasn’t low, 24 letters—but Zoë's well-made will…");
        let lower: Vec<&str> = words.items.iter().map(|item| words.lower(item)).collect();
        let expected = "the fee wasn't low , 0 letters — but zoë's well-made will …";
        assert_eq!(lower.join(" "), expected);
        assert!(words.items[3].negated);
        assert!(!words.items[5].negated);
        assert_eq!(words.items[6].clause, 0);
        assert_eq!(words.items[9].clause, 2);
        words.read("Qu’est-ce que l'équipe, aujourd'hui? L’attente");
        let lower: Vec<&str> = words.items.iter().map(|item| words.lower(item)).collect();
        assert_eq!(
            lower.join(" "),
            "qu' est-ce que l' équipe , aujourd'hui ? l' attente"
        );
        words.read(&"a ".repeat(ITEMS_MAX + 1));
        assert_eq!(words.items.len(), ITEMS_MAX);
    }
}
