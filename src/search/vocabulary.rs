//! Words that reviews use for one subject, such as "ill", "poisoning" and "hospital", in four languages.
//!
//! A question rarely has the words of the review that answers it. In the order by relevance, a review with another word
//! of the subject of a word counts as well, but less than one with the word itself. `vocabulary.txt` has the subjects.
//!
//! Function words, such as "would", tell nothing; those of some languages are known too.

use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

use rust_stemmers::Algorithm;

use crate::search::fold::fold;
use crate::search::stem::stem;
use crate::wire::text;

/// The languages of a line, in its order.
const LANGUAGES: [Algorithm; 4] = [
    Algorithm::English,
    Algorithm::German,
    Algorithm::Spanish,
    Algorithm::French,
];

/// The number of a subject: that of its line.
pub(super) type SubjectNumber = u16;

/// The subjects of each stem, by language.
struct Vocabulary {
    subjects: usize,
    by_stem: [HashMap<String, Vec<SubjectNumber>>; LANGUAGES.len()],
    /// Two words that are of a subject together: folded, with a space between them.
    phrases: BTreeMap<String, SubjectNumber>,
    /// By their folded forms.
    function_words: HashMap<String, FunctionWord>,
}

/// What is known of a function word.
#[derive(Clone, Copy, Debug, Default)]
struct FunctionWord {
    /// Its languages: bit n stands for line n of [`text::LANGUAGES`].
    languages: u32,
    /// Whether it is also a word of a subject, in any language.
    has_subject: bool,
}

static VOCABULARY: LazyLock<Vocabulary> = LazyLock::new(|| {
    let mut vocabulary = Vocabulary {
        subjects: 0,
        by_stem: Default::default(),
        phrases: BTreeMap::new(),
        function_words: HashMap::new(),
    };
    let lines = include_str!("vocabulary.txt").lines();
    for line in lines.filter(|line| !line.starts_with('#')) {
        let words = line.split_once(':').map_or("", |(_, words)| words);
        vocabulary.add_subject(words);
    }
    vocabulary.add_function_words();
    vocabulary
});

impl Vocabulary {
    /// Adds a subject with the words of each language.
    fn add_subject(&mut self, words: &str) {
        let subject = self.subjects as SubjectNumber;
        self.subjects += 1;
        let languages = LANGUAGES.into_iter().zip(&mut self.by_stem);
        for ((language, by_stem), words) in languages.zip(words.split('|')) {
            for word in words.split_whitespace() {
                if word.contains('_') {
                    let text = fold(word).replace('_', " ");
                    self.phrases.insert(text, subject);
                    continue;
                }
                let stem = stem(Some(language), &fold(word)).into_owned();
                let subjects = by_stem.entry(stem).or_default();
                if !subjects.contains(&subject) {
                    subjects.push(subject);
                }
            }
        }
    }

    /// Adds the function words of all languages, once the subjects are known.
    fn add_function_words(&mut self) {
        for (line, list) in text::LANGUAGES.lines().enumerate() {
            let mut words = list.split(' ').skip(1);
            // Lists of other words have no code, and words of any language.
            if words.next() == Some("-") {
                continue;
            }
            for word in words.map(fold) {
                let has_subject = !self.subjects_of(&word).is_empty();
                let known = self.function_words.entry(word).or_default();
                known.languages |= 1 << line;
                known.has_subject = has_subject;
            }
        }
    }

    fn subjects_of(&self, word: &str) -> Vec<SubjectNumber> {
        let mut all = Vec::new();
        for (language, by_stem) in LANGUAGES.into_iter().zip(&self.by_stem) {
            let stem = stem(Some(language), word);
            for subject in by_stem.get(&*stem).into_iter().flatten() {
                if !all.contains(subject) {
                    all.push(*subject);
                }
            }
        }
        all
    }
}

/// Returns the languages that have the folded `word` among their function words, a bit for each.
pub(super) fn languages_of_function_word(word: &str) -> u32 {
    let known = VOCABULARY.function_words.get(word);
    known.map_or(0, |word| word.languages)
}

/// Tells whether the folded `word` tells nothing: it is a function word of the language with this bit, and has no subject.
pub(super) fn is_function_word(word: &str, language: u32) -> bool {
    let known = VOCABULARY.function_words.get(word);
    known.is_some_and(|word| word.languages & language != 0 && !word.has_subject)
}

/// Returns how many subjects there are.
pub(super) fn subjects_len() -> usize {
    VOCABULARY.subjects
}

/// Returns the subjects of a stem of `language`.
pub(super) fn subjects_of_stem(language: Algorithm, stem: &str) -> &'static [SubjectNumber] {
    let number = LANGUAGES.iter().position(|known| *known == language);
    let subjects = number.and_then(|number| VOCABULARY.by_stem[number].get(stem));
    subjects.map_or(&[], Vec::as_slice)
}

/// Returns the subject of two folded words side by side, if they have one together.
pub(super) fn subject_of_phrase(first: &str, second: &str) -> Option<SubjectNumber> {
    let phrase = format!("{first} {second}");
    VOCABULARY.phrases.get(&phrase).copied()
}

/// Returns the phrases of a subject: folded, with a space between the words.
pub(super) fn phrases_of(subject: SubjectNumber) -> impl Iterator<Item = &'static str> {
    let phrases = VOCABULARY.phrases.iter();
    let phrases = phrases.filter(move |(_, known)| **known == subject);
    phrases.map(|(phrase, _)| phrase.as_str())
}

/// Returns the subjects of a folded word of any language, each once.
pub(super) fn subjects_of(word: &str) -> Vec<SubjectNumber> {
    VOCABULARY.subjects_of(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_subject_has_words_of_each_language() {
        let lines = include_str!("vocabulary.txt").lines();
        for line in lines.filter(|line| !line.starts_with('#')) {
            let (_, words) = line.split_once(": ").expect("a subject");
            let counts = words
                .split('|')
                .map(|words| words.split_whitespace().count());
            let counts: Vec<usize> = counts.collect();
            assert_eq!(counts.len(), LANGUAGES.len(), "{line}");
            assert!(counts.iter().all(|count| *count > 0), "{line}");
        }
    }

    #[test]
    fn forms_and_languages_share_a_subject() {
        let sick = subjects_of("sick");
        assert_eq!(sick.len(), 1);
        for word in ["poisoning", "krankenhaus", "enfermos", "malades"] {
            assert_eq!(subjects_of(word), sick, "{word}");
        }
        assert!(subjects_of("quux").is_empty());
    }

    #[test]
    fn two_words_may_have_a_subject_that_neither_has() {
        let subject = subject_of_phrase("show", "up").expect("a subject");
        assert_eq!(subject_of_phrase("showed", "up"), Some(subject));
        assert!(phrases_of(subject).any(|phrase| phrase == "turned up"));
        assert_eq!(subject_of_phrase("up", "show"), None);
        assert!(subjects_of("show").is_empty());
    }
}
