//! How positive or negative an English text sounds: the rules of VADER (Hutto and Gilbert, 2014).
//!
//! Each word of the lexicon begins with its own valence; capitals, words of degree, negations and a few idioms
//! among the three words before it change that; "but" shifts the weight to what follows; marks of exclamation and
//! question add to the sum, which is then drawn into -1 to 1. The results equal those of the reference
//! implementation 3.3.2, its quirks included, so that its published figures stay comparable: the test over
//! `tests/fixtures/vader/parity.tsv` holds that.

use super::lexicon::{Entry, LEXICON};

/// Scores texts, reusing its buffers from one to the next.
#[derive(Debug, Default)]
pub struct Scorer {
    plain: String,
    lower: String,
    words: Vec<Word>,
    valences: Vec<f64>,
}

/// A word as the rules see it; its lower-case form is a range of the scorer's buffer.
#[derive(Clone, Copy, Debug)]
struct Word {
    entry: Entry,
    /// Whether its letters are all capitals.
    loud: bool,
    start: usize,
    end: usize,
}

impl Scorer {
    /// The compound score of `text` in ten-thousandths, -10,000 to 10,000.
    ///
    /// Cost is linear in the text; where a "but" stands, also in the product of its words and its scored words, so
    /// callers pass sentences and not books.
    pub fn compound(&mut self, text: &str) -> i32 {
        self.read(text);
        self.valences.clear();
        for at in 0..self.words.len() {
            let valence = self.valence(at);
            self.valences.push(valence);
        }
        self.weigh_contrast();
        let sum: f64 = self.valences.iter().sum();
        let emphasis = emphasis(&self.plain);
        let sum = match sum {
            sum if sum > 0.0 => sum + emphasis,
            sum if sum < 0.0 => sum - emphasis,
            sum => sum,
        };
        let compound = (sum / (sum * sum + ALPHA).sqrt()).clamp(-1.0, 1.0);
        (compound * 10_000.0).round() as i32
    }

    /// Splits `text` into words, its emoji written out first.
    fn read(&mut self, text: &str) {
        self.plain.clear();
        let mut after_blank = true;
        for character in text.chars() {
            if let Some(words) = LEXICON.emoji(character) {
                if !after_blank {
                    self.plain.push(' ');
                }
                self.plain.push_str(words);
                after_blank = false;
            } else {
                self.plain.push(character);
                after_blank = character == ' ';
            }
        }
        self.lower.clear();
        self.words.clear();
        for token in self.plain.split(is_blank).filter(|token| !token.is_empty()) {
            let token = without_marks(token);
            let start = self.lower.len();
            if token.is_ascii() {
                self.lower.push_str(token);
                self.lower[start..].make_ascii_lowercase();
            } else {
                self.lower.push_str(&token.to_lowercase());
            }
            self.words.push(Word {
                entry: LEXICON.entry(&self.lower[start..]),
                loud: is_loud(token),
                start,
                end: self.lower.len(),
            });
        }
        // Capitals stress a word only where others are without.
        let loud = self.words.iter().filter(|word| word.loud).count();
        if loud == self.words.len() {
            self.words.iter_mut().for_each(|word| word.loud = false);
        }
    }

    /// What the word at `at` adds to the sum before contrast is weighed.
    fn valence(&self, at: usize) -> f64 {
        let word = self.words[at];
        let Some(own) = word.entry.valence else {
            return 0.0;
        };
        let kind_of = self.is(at, "kind") && self.is(at + 1, "of");
        if word.entry.step != 0 || kind_of {
            return 0.0;
        }
        let mut valence = self.after_no(at, own);
        if word.loud {
            valence += if valence > 0.0 { LOUD } else { -LOUD };
        }
        for distance in 1..=at.min(3) {
            let before = self.words[at - distance];
            if before.entry.valence.is_some() {
                continue;
            }
            valence += degree(before, valence) * FADE[distance - 1];
            valence *= self.turn(at, distance);
            if distance == 3 {
                valence = self.idiom(at, valence);
            }
        }
        if at > 0
            && self.is(at - 1, "least")
            && !(at > 1 && (self.is(at - 2, "at") || self.is(at - 2, "very")))
        {
            valence *= TURN;
        }
        valence
    }

    /// "no" is a word of its own, or turns around a scored word that follows it.
    fn after_no(&self, at: usize, own: f64) -> f64 {
        let back = |distance: usize, word| at >= distance && self.is(at - distance, word);
        let listed = back(3, "no") && (back(1, "or") || back(1, "nor"));
        if back(1, "no") || back(2, "no") || listed {
            own * TURN
        } else if self.is(at, "no")
            && self
                .words
                .get(at + 1)
                .is_some_and(|next| next.entry.valence.is_some())
        {
            0.0
        } else {
            own
        }
    }

    /// The factor that the word `distance` places before `at` applies by negation.
    fn turn(&self, at: usize, distance: usize) -> f64 {
        let stress = |place: usize| self.is(place, "so") || self.is(place, "this");
        let doubt = |place: usize| self.is(place, "doubt");
        let word = at - distance;
        // "never so good" praises, and so does "without a doubt". Three words back, the reference lets any "so" or
        // "this" right before the word count as praise, and so do we.
        let (praised, beyond_doubt) = match distance {
            2 => (
                self.is(word, "never") && stress(at - 1),
                self.is(word, "without") && doubt(at - 1),
            ),
            3 => (
                (self.is(word, "never") && stress(at - 2)) || stress(at - 1),
                self.is(word, "without") && (doubt(at - 2) || doubt(at - 1)),
            ),
            _ => (false, false),
        };
        match () {
            () if praised => PRAISE,
            () if beyond_doubt || !self.words[word].entry.negates => 1.0,
            () => TURN,
        }
    }

    /// The valence of an idiom around `at` in place of `valence`, weakened by "kind of" and its like before it.
    fn idiom(&self, at: usize, valence: f64) -> f64 {
        let find = |start: usize, len: usize| {
            let idiom = IDIOMS
                .iter()
                .find(|(words, _)| words.len() == len && self.phrase(start, words));
            idiom.map(|(_, valence)| *valence)
        };
        let around = [
            (at - 1, 2),
            (at - 2, 3),
            (at - 2, 2),
            (at - 3, 3),
            (at - 3, 2),
        ];
        let before = around.iter().find_map(|&(start, len)| find(start, len));
        let mut valence = find(at, 3).or(find(at, 2)).or(before).unwrap_or(valence);
        for start in [at - 3, at - 2] {
            if WEAKER_PAIRS.iter().any(|pair| self.phrase(start, pair)) {
                valence -= DEGREE;
            }
        }
        valence
    }

    /// Halves what stands before the first "but" and strengthens what follows it.
    ///
    /// The reference looks a value up by its first place in the list while it changes the list, so one of two equal
    /// values may change twice; we do as it does.
    fn weigh_contrast(&mut self) {
        let Some(turn) = (0..self.words.len()).find(|&at| self.is(at, "but")) else {
            return;
        };
        for at in 0..self.valences.len() {
            let value = self.valences[at];
            if value == 0.0 {
                continue;
            }
            let first = self.valences[..at]
                .iter()
                .position(|other| *other == value)
                .unwrap_or(at);
            match first.cmp(&turn) {
                std::cmp::Ordering::Less => self.valences[first] *= 0.5,
                std::cmp::Ordering::Greater => self.valences[first] *= 1.5,
                std::cmp::Ordering::Equal => {}
            }
        }
    }

    fn is(&self, at: usize, lower: &str) -> bool {
        self.words
            .get(at)
            .is_some_and(|word| &self.lower[word.start..word.end] == lower)
    }

    fn phrase(&self, start: usize, words: &[&str]) -> bool {
        words
            .iter()
            .enumerate()
            .all(|(offset, word)| self.is(start + offset, word))
    }
}

/// What a word of degree adds to the `valence` of a word after it.
fn degree(word: Word, valence: f64) -> f64 {
    if word.entry.step == 0 {
        return 0.0;
    }
    let step = f64::from(word.entry.step) * if valence < 0.0 { -DEGREE } else { DEGREE };
    match word.loud {
        true if valence > 0.0 => step + LOUD,
        true => step - LOUD,
        false => step,
    }
}

/// What the marks of the whole text add to the sum's size.
fn emphasis(text: &str) -> f64 {
    let count = |mark: u8| text.bytes().filter(|&byte| byte == mark).count();
    let questions = match count(b'?') {
        0 | 1 => 0.0,
        few @ 2..=3 => few as f64 * 0.18,
        _ => 0.96,
    };
    count(b'!').min(4) as f64 * 0.292 + questions
}

/// The token without ASCII punctuation around it, unless too little is left: then it may be an emoticon.
fn without_marks(token: &str) -> &str {
    let bare = token.trim_matches(|character: char| character.is_ascii_punctuation());
    if bare.chars().nth(2).is_some() {
        bare
    } else {
        token
    }
}

/// Whether `token` has letters with case and all of them are capitals.
fn is_loud(token: &str) -> bool {
    let mut cased = token
        .chars()
        .filter(|letter| letter.is_uppercase() || letter.is_lowercase())
        .peekable();
    cased.peek().is_some() && cased.all(char::is_uppercase)
}

/// White space as the reference splits at it, the four separators of ASCII among it.
fn is_blank(character: char) -> bool {
    character.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&character)
}

/// Approximates the largest sum to expect; draws it into -1 to 1.
const ALPHA: f64 = 15.0;
/// What a word of degree adds.
const DEGREE: f64 = 0.293;
/// What capitals add.
const LOUD: f64 = 0.733;
/// The factor of a negation.
const TURN: f64 = -0.74;
/// The factor of "never so".
const PRAISE: f64 = 1.25;
/// How much of a word of degree arrives one, two and three words on.
const FADE: [f64; 3] = [1.0, 0.95, 0.9];
/// Pairs that weaken.
const WEAKER_PAIRS: [[&str; 2]; 3] = [["just", "enough"], ["kind", "of"], ["sort", "of"]];
/// Phrases with a valence of their own.
const IDIOMS: [(&[&str], f64); 8] = [
    (&["the", "shit"], 3.0),
    (&["the", "bomb"], 3.0),
    (&["bad", "ass"], 1.5),
    (&["bus", "stop"], 0.0),
    (&["yeah", "right"], -2.0),
    (&["kiss", "of", "death"], -1.5),
    (&["to", "die", "for"], 3.0),
    (&["beating", "heart"], 3.5),
];

#[cfg(test)]
mod tests {
    use super::*;

    const PARITY: &str = include_str!("../../tests/fixtures/vader/parity.tsv");

    fn label(compound: i32) -> i32 {
        if compound.abs() < 500 {
            0
        } else {
            compound.signum()
        }
    }

    #[test]
    fn scores_equal_those_of_the_reference() {
        let mut scorer = Scorer::default();
        let (mut texts, mut differing) = (0, Vec::new());
        for line in PARITY.lines() {
            let (expected, text) = line.split_once('\t').expect("a score and a text");
            let expected: i32 = expected.parse().expect("a score");
            let text: String = serde_json::from_str(text).expect("a text");
            let compound = scorer.compound(&text);
            assert_eq!(
                label(compound),
                label(expected),
                "{expected} {compound} {text:?}"
            );
            texts += 1;
            if compound != expected {
                differing.push((text, expected, compound));
            }
        }
        assert!(texts > 5_600, "{texts}");
        assert!(
            differing.len() * 1000 <= texts,
            "{} of {texts}: {:?}",
            differing.len(),
            differing.first()
        );
    }

    #[test]
    fn no_words_no_score() {
        let mut scorer = Scorer::default();
        for text in ["", " ", "\u{1c}", "Le tribunal", "!!!"] {
            assert_eq!(scorer.compound(text), 0, "{text:?}");
        }
    }
}
