//! A sentence as words and marks, with what the lexicon knows about each and where its clauses end.

use super::lexicon::{Entry, LEXICON};

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
    /// What the lexicon knows; nothing for marks.
    pub(super) entry: Entry,
    pub(super) is_word: bool,
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
        let mut characters = sentence.char_indices().peekable();
        while let Some((start, first)) = characters.next() {
            if first.is_whitespace() || self.items.len() == ITEMS_MAX {
                continue;
            }
            let mut end = start + first.len_utf8();
            let is_word = first.is_alphanumeric();
            let lower_start = self.lower.len();
            self.push(first);
            while let Some(&(at, next)) = characters.peek() {
                let inner = JOINERS.contains(&next)
                    && sentence[at + next.len_utf8()..].starts_with(char::is_alphanumeric);
                if !is_word || !(next.is_alphanumeric() || inner) {
                    break;
                }
                self.push(next);
                end = at + next.len_utf8();
                characters.next();
            }
            self.finish(lower_start, start, end, is_word);
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
        for (at, item) in self
            .items
            .iter()
            .enumerate()
            .filter(|(_, item)| belongs(item))
        {
            marks += u8::from(marks < EMPHASIS_MAX && self.lower(item) == "!");
            let Some(valence) = item.entry.valence else {
                continue;
            };
            let before = self.items[at.saturating_sub(2)..at].iter();
            let degree: f64 = before.map(|one| f64::from(one.entry.step) * DEGREE).sum();
            let valence = valence + degree * valence.signum();
            sum += if item.negated {
                valence * NEGATED
            } else {
                valence
            };
        }
        if sum != 0.0 {
            sum += f64::from(marks) * DEGREE * f64::signum(sum);
        }
        (sum / (sum * sum + 15.0).sqrt() * 10_000.0).round() as i32
    }

    fn push(&mut self, character: char) {
        match character {
            '’' => self.lower.push('\''),
            character => self.lower.extend(character.to_lowercase()),
        }
    }

    fn finish(&mut self, lower_start: usize, start: usize, end: usize, is_word: bool) {
        let number = |byte: u8| byte.is_ascii_digit();
        if self.lower[lower_start..].bytes().all(number) {
            self.lower.truncate(lower_start);
            self.lower.push('0');
        }
        self.items.push(Item {
            start,
            end,
            lower_start,
            lower_end: self.lower.len(),
            entry: LEXICON.entry(&self.lower[lower_start..]),
            is_word,
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
            if entry.is_clause {
                clause += 1;
            }
            if entry.is_clause || entry.is_phrase {
                phrase += 1;
                reach = 0;
            }
            item.phrase = phrase;
            item.clause = clause;
            item.negated = reach > 0 && item.is_word;
            reach = match entry.negates {
                true => NEGATION_REACH,
                false => reach.saturating_sub(u8::from(item.is_word)),
            };
        }
    }
}

/// Words and marks that are looked at in one sentence; what follows is as if it were not there.
pub(super) const ITEMS_MAX: usize = 512;
/// What a word of degree or a mark of exclamation adds to a valence, and what a negation makes of it.
const DEGREE: f64 = 0.293;
const NEGATED: f64 = -0.74;
const EMPHASIS_MAX: u8 = 4;
/// Words after a negation that it turns around.
const NEGATION_REACH: u8 = 4;
/// Characters that join the parts of a word.
const JOINERS: [char; 3] = ['\'', '’', '-'];
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_marks_and_clauses() {
        let mut words = Words::default();
        words.read("The fee wasn’t low, 24 letters—but Zoë's well-made will…");
        let lower: Vec<&str> = words.items().iter().map(|item| words.lower(item)).collect();
        assert_eq!(
            lower,
            [
                "the",
                "fee",
                "wasn't",
                "low",
                ",",
                "0",
                "letters",
                "—",
                "but",
                "zoë's",
                "well-made",
                "will",
                "…"
            ]
        );
        assert!(words.items()[3].negated && !words.items()[5].negated);
        assert_eq!(words.items()[6].clause, 0);
        assert_eq!(words.items()[9].clause, 2);
        assert_eq!(words.items()[5].phrase, 1);
    }

    #[test]
    fn a_long_sentence_is_cut() {
        let mut words = Words::default();
        words.read(&"a ".repeat(ITEMS_MAX + 1));
        assert_eq!(words.items().len(), ITEMS_MAX);
        words.read(&"a ".repeat(ITEMS_MAX));
        assert_eq!(words.items().len(), ITEMS_MAX);
    }
}
