//! Where a sentence speaks of what the taxonomy lists.
//!
//! A phrase is found as whole words, without regard to case, any run of blanks standing for one; accents count. Its
//! last word may also stand in the plural or the possessive ("fees", "attorney's"), and the first word of a phrase
//! of several words may take "-s", "-ed" or "-ing" ("calls back", "returned my calls"). A phrase inside a longer one
//! that fits does not count, nor does "kind" in "kind of". A sentence that names an aspect several times mentions it
//! once, where it does so first.

use std::collections::BTreeMap;

use aho_corasick::{AhoCorasick, BuildError};

use crate::dataset::mentions::inflections;
use crate::model::Concept;
use crate::wire::fold::fold_into;

/// Finds aspects, reusing its buffers from one sentence to the next.
#[derive(Clone, Debug)]
pub(super) struct Finder {
    automaton: Option<AhoCorasick>,
    /// The aspects that own each pattern.
    owners: Vec<Vec<u16>>,
    folded: Folded,
    spans: Vec<(usize, usize, usize)>,
}

/// An aspect named in a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// Place in the taxonomy.
    pub(super) aspect: u16,
    /// Byte range in the sentence.
    pub(super) from: usize,
    pub(super) to: usize,
}

impl Finder {
    /// Builds the automaton over the phrases of `aspects`, of which the first 65,535 count.
    ///
    /// # Errors
    /// When there are more phrases than an automaton can hold, about 2^31 bytes of them.
    pub(super) fn new(aspects: &[Concept]) -> Result<Finder, BuildError> {
        let mut patterns: BTreeMap<String, Vec<u16>> = BTreeMap::new();
        let mut folded = Folded::default();
        for (owner, aspect) in (0..u16::MAX).zip(aspects) {
            for phrase in &aspect.phrases {
                folded.set(phrase.trim());
                for pattern in inflections(&folded.text) {
                    let owners = patterns.entry(pattern).or_default();
                    if owners.last() != Some(&owner) {
                        owners.push(owner);
                    }
                }
            }
        }
        patterns.remove("");
        let automaton = match patterns.is_empty() {
            true => None,
            false => Some(AhoCorasick::new(patterns.keys())?),
        };
        Ok(Finder {
            automaton,
            owners: patterns.into_values().collect(),
            folded,
            spans: Vec::new(),
        })
    }

    /// Puts the aspects that `sentence` names into `found`, each once, in the order of the sentence.
    pub(super) fn find(&mut self, sentence: &str, found: &mut Vec<Found>) {
        found.clear();
        let Some(automaton) = &self.automaton else {
            return;
        };
        self.folded.set(sentence);
        let text = self.folded.text.as_str();
        self.spans.clear();
        // Overlapping matches, because the longest may end inside a word where a shorter one does not.
        let matches = automaton.find_overlapping_iter(text);
        self.spans.extend(
            matches
                .filter(|one| stands_alone(text, one.start(), one.end()))
                .map(|one| {
                    (
                        one.start(),
                        usize::MAX - one.end(),
                        one.pattern().as_usize(),
                    )
                }),
        );
        self.spans.sort_unstable();
        let mut covered = 0;
        for &(start, end, pattern) in &self.spans {
            let end = usize::MAX - end;
            // Sorted by start and longest first, so a span lies in an earlier one exactly if it ends no later.
            if end <= covered {
                continue;
            }
            covered = end;
            let (from, to) = (self.folded.origin(start), self.folded.origin(end));
            for &aspect in &self.owners[pattern] {
                if found.iter().all(|one| one.aspect != aspect) {
                    found.push(Found { aspect, from, to });
                }
            }
        }
    }
}

/// Whether the span is whole words, and not the "kind" of "kind of".
fn stands_alone(text: &str, start: usize, end: usize) -> bool {
    let (inside, before, after) = (&text[start..end], &text[..start], &text[end..]);
    let letter = |character: Option<char>| {
        character.is_some_and(|one| one.is_alphanumeric() || is_mark(one))
    };
    let joined = |left: Option<char>, right: Option<char>| letter(left) && letter(right);
    let cut = joined(before.chars().next_back(), inside.chars().next())
        || joined(inside.chars().next_back(), after.chars().next());
    let degree = (inside.ends_with("kind") || inside.ends_with("kinds"))
        && after
            .strip_prefix(" of")
            .is_some_and(|rest| !letter(rest.chars().next()));
    !cut && !degree
}

/// Whether the character combines with the letter before it, which makes another letter of that one.
fn is_mark(character: char) -> bool {
    ('\u{300}'..='\u{36f}').contains(&character)
}

/// A text in the form to compare, and where each of its bytes came from.
#[derive(Clone, Debug, Default)]
struct Folded {
    text: String,
    /// For each byte of `text`, the byte of the source that its character begins at, and the source's length.
    origins: Vec<usize>,
}

impl Folded {
    fn set(&mut self, source: &str) {
        self.text.clear();
        self.origins.clear();
        let mut characters = source.char_indices().peekable();
        while let Some((start, first)) = characters.next() {
            let blank = first.is_whitespace();
            let mut end = start + first.len_utf8();
            // Marks that combine belong to the letter before them; blanks to the first of their run.
            while let Some((_, next)) =
                characters.next_if(|(_, next)| is_mark(*next) || (blank && next.is_whitespace()))
            {
                end += next.len_utf8();
            }
            match first {
                _ if blank => self.text.push(' '),
                '’' => self.text.push('\''),
                _ => fold_into(&source[start..end], &mut self.text),
            }
            self.origins.resize(self.text.len(), start);
        }
        self.origins.push(source.len());
    }

    /// The byte of the source that the byte `at` of the text came from.
    fn origin(&self, at: usize) -> usize {
        self.origins
            .get(at)
            .or(self.origins.last())
            .copied()
            .unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn concept(id: &str, phrases: &[&str]) -> Concept {
        Concept {
            id: id.to_owned(),
            label: id.to_owned(),
            phrases: phrases.iter().map(|phrase| (*phrase).to_owned()).collect(),
        }
    }

    fn found<'s>(finder: &mut Finder, sentence: &'s str) -> Vec<(u16, &'s str)> {
        let mut found = Vec::new();
        finder.find(sentence, &mut found);
        found
            .iter()
            .map(|one| (one.aspect, &sentence[one.from..one.to]))
            .collect()
    }

    #[test]
    fn phrases_are_found_as_whole_words_in_their_inflections() {
        let mut finder = Finder::new(&[
            concept("fees", &["fee", "expensive"]),
            concept("calls", &["return my call", "Call  back"]),
            concept("wait", &["waiting", "kind"]),
            concept("rooms", &["waiting room", "façade"]),
        ])
        .expect("an automaton");
        assert_eq!(
            found(&mut finder, "Coffee! FEES are fair, the fee’s low."),
            [(0, "FEES")]
        );
        assert_eq!(
            found(&mut finder, "Never returned  my calls, so called\nback."),
            [(1, "returned  my calls")]
        );
        assert_eq!(
            found(&mut finder, "The waiting rooms"),
            [(3, "waiting rooms")]
        );
        assert_eq!(found(&mut finder, "waiting roomy"), [(2, "waiting")]);
        assert_eq!(
            found(&mut finder, "Kind of cold, all kinds of it, offer"),
            []
        );
        assert_eq!(found(&mut finder, "so kind, kind offer"), [(2, "kind")]);
        assert_eq!(
            found(&mut finder, "İ fac\u{327}ade ß"),
            [(3, "fac\u{327}ade")]
        );
        // A letter with a mark is another letter, composed or not, and no part of one is quoted.
        assert_eq!(
            found(
                &mut finder,
                "fee's\u{321}: fees\u{321}, fee\u{327} a\u{321}fee"
            ),
            [(0, "fee")]
        );
        assert_eq!(found(&mut finder, ""), []);
    }

    #[test]
    fn without_phrases_nothing_is_found() {
        let mut finder = Finder::new(&[concept("none", &[])]).expect("an automaton");
        assert_eq!(found(&mut finder, "fee"), []);
    }
}
