//! A sentence as words and marks, and what the lexicon knows about each.
//!
//! The lexicon is VADER's as data. `words.txt` and `emoji.txt` come from the reference implementation (vaderSentiment
//! 3.3.2, C. J. Hutto, MIT: `LICENSES/MIT-vaderSentiment.txt`) by `tests/fixtures/vader/make.py`. A line is a valence in
//! tenths and the words that have it, an emoji having that of the words that stand for it. Entries that no token can equal
//! (with blanks or capitals) are left out. A line of `rules.txt` is a role and the words that play it.

use std::collections::HashMap;
use std::sync::LazyLock;

/// The words and marks of one sentence; buffers are reused from one sentence to the next.
#[derive(Debug, Default)]
pub(super) struct Words {
    lower: String,
    items: Vec<Item>,
}

/// A word, or a single mark.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    /// Byte range in the sentence.
    pub(super) start: usize,
    pub(super) end: usize,
    lower_start: usize,
    lower_end: usize,
    /// What the lexicon knows.
    pub(super) entry: Entry,
    pub(super) is_word: bool,
    pub(super) is_capital: bool,
    /// Whether a negation stands among the few words before it in its clause.
    pub(super) negated: bool,
    /// Counts the commas and "and"s up to here: items with equal counts stand close together.
    pub(super) phrase: u16,
    /// Counts the turns of thought up to here: "but", a full stop.
    pub(super) clause: u16,
}

impl Words {
    /// Reads `sentence`, at most the first [`ITEMS_MAX`] words and marks of it.
    pub(super) fn read(&mut self, sentence: &str) {
        self.lower.clear();
        self.items.clear();
        let mut end = 0;
        while let Some(first) = sentence[end..].chars().next() {
            let start = end;
            end += first.len_utf8();
            if first.is_whitespace() || self.items.len() == ITEMS_MAX {
                continue;
            }
            if first.is_alphanumeric() {
                end += rest_of_word(&sentence[end..]);
            }
            self.push(start, &sentence[start..end], first.is_alphanumeric());
        }
        self.divide();
    }

    /// The items in the order of the sentence.
    pub(super) fn items(&self) -> &[Item] {
        &self.items
    }

    /// The word or mark in lower case, `0` for a number.
    pub(super) fn lower(&self, item: &Item) -> &str {
        &self.lower[item.lower_start..item.lower_end]
    }

    /// How the items that `belongs` accepts sound by the lexicon, from -10,000 to 10,000: valences with degree and
    /// negation, drawn into the range as VADER does (Hutto and Gilbert, 2014).
    pub(super) fn score(&self, belongs: impl Fn(&Item) -> bool) -> i32 {
        let (mut sum, mut marks) = (0.0, 0u8);
        let items = self.items.iter().enumerate();
        for (at, item) in items.filter(|(_, item)| belongs(item)) {
            marks += u8::from(marks < EMPHASIS_MAX && self.lower(item) == "!");
            let Some(valence) = item.entry.valence else {
                continue;
            };
            let before = self.items[at.saturating_sub(2)..at].iter();
            let degree: f64 = before.map(|one| f64::from(one.entry.step) * DEGREE).sum();
            let factor = if item.negated { NEGATED } else { 1.0 };
            sum += (valence + degree * valence.signum()) * factor;
        }
        if sum != 0.0 {
            sum += f64::from(marks) * DEGREE * f64::signum(sum);
        }
        (sum / (sum * sum + 15.0).sqrt() * 10_000.0).round() as i32
    }

    fn push(&mut self, start: usize, text: &str, is_word: bool) {
        let lower_start = self.lower.len();
        if text.bytes().all(|byte| byte.is_ascii_digit()) {
            self.lower.push('0');
        } else {
            let lower = text.chars().flat_map(char::to_lowercase);
            self.lower
                .extend(lower.map(|letter| if letter == '’' { '\'' } else { letter }));
        }
        self.items.push(Item {
            start,
            end: start + text.len(),
            lower_start,
            lower_end: self.lower.len(),
            entry: entry(&self.lower[lower_start..]),
            is_word,
            is_capital: text.starts_with(char::is_uppercase),
            negated: false,
            phrase: 0,
            clause: 0,
        });
    }

    /// Sets where phrases and clauses begin and how far negations reach.
    fn divide(&mut self) {
        let (mut phrase, mut clause, mut reach) = (0, 0, 0u8);
        for item in &mut self.items {
            let entry = item.entry;
            clause += u16::from(entry.is_clause);
            if entry.is_clause || entry.is_phrase {
                phrase += 1;
                reach = 0;
            }
            (item.phrase, item.clause) = (phrase, clause);
            item.negated = reach > 0 && item.is_word;
            reach = match entry.negates {
                true => NEGATION_REACH,
                false => reach.saturating_sub(u8::from(item.is_word)),
            };
        }
    }
}

/// Bytes by which the word before `text` goes on: letters and digits, and joiners between them.
fn rest_of_word(text: &str) -> usize {
    let ends = |(at, letter): &(usize, char)| {
        let next = &text[at + letter.len_utf8()..];
        let joins = JOINERS.contains(letter) && next.starts_with(char::is_alphanumeric);
        !(letter.is_alphanumeric() || joins)
    };
    text.char_indices()
        .find(ends)
        .map_or(text.len(), |(at, _)| at)
}

/// Words and marks that are looked at in one sentence; what follows is as if it were not there.
const ITEMS_MAX: usize = 512;
/// What a word of degree or a mark of exclamation adds to a valence, and what a negation makes of it.
const DEGREE: f64 = 0.293;
const NEGATED: f64 = -0.74;
const EMPHASIS_MAX: u8 = 4;
/// Words after a negation that it turns around.
const NEGATION_REACH: u8 = 4;
/// Characters that join the parts of a word.
const JOINERS: [char; 3] = ['\'', '’', '-'];

/// What the rules know about a word in lower case, or about a mark.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Entry {
    /// Mean sentiment from -4 to 4, if the lexicon lists the word.
    pub(super) valence: Option<f64>,
    /// Whether it strengthens (1) or weakens (-1) what follows, else 0.
    pub(super) step: i8,
    /// Whether the word negates what follows.
    negates: bool,
    /// Whether a new clause begins here, as at "but" or a full stop.
    is_clause: bool,
    /// Whether a new phrase within the clause begins here, as at "and".
    is_phrase: bool,
}

/// What is known about `word`, which has to be in lower case.
pub(super) fn entry(word: &str) -> Entry {
    let mut entry = LEXICON.get(word).copied().unwrap_or_default();
    entry.negates |= word.contains("n't");
    entry
}

/// Words and emoji, read once when first needed: some milliseconds and 500 KB.
static LEXICON: LazyLock<HashMap<&str, Entry>> = LazyLock::new(|| {
    let mut lexicon: HashMap<&str, Entry> = HashMap::with_capacity(8192);
    let files = [
        include_str!("lexicon/words.txt"),
        include_str!("lexicon/emoji.txt"),
        include_str!("lexicon/rules.txt"),
    ];
    for line in files.into_iter().flat_map(str::lines) {
        let mut fields = line.split(' ');
        let role = fields.next().unwrap_or_default();
        for word in fields {
            let entry = lexicon.entry(word).or_default();
            match role {
                "stronger" => entry.step = 1,
                "weaker" => entry.step = -1,
                "negates" => entry.negates = true,
                "clause" => entry.is_clause = true,
                "phrase" => entry.is_phrase = true,
                tenths => entry.valence = tenths.parse().ok().map(|tenths: f64| tenths / 10.0),
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
        let mut words = Words::default();
        words.read("The fee wasn’t low, 24 letters—but Zoë's well-made will…");
        let lower: Vec<&str> = words.items().iter().map(|item| words.lower(item)).collect();
        let expected = "the fee wasn't low , 0 letters — but zoë's well-made will …";
        assert_eq!(lower.join(" "), expected);
        assert!(words.items()[3].negated && !words.items()[5].negated);
        assert_eq!(words.items()[6].clause, 0);
        assert_eq!(words.items()[9].clause, 2);
        assert_eq!(words.items()[5].phrase, 1);
        words.read(&"a ".repeat(ITEMS_MAX + 1));
        assert_eq!(words.items().len(), ITEMS_MAX);
    }
}
