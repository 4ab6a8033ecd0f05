//! Finds the people, services and places that a text mentions, by their names and phrases.
//!
//! - Names and phrases match whole words; case, accents and the amount of white space are ignored.
//! - A service or aspect also matches by the plural, the possessive and the simple verb forms of its phrases.
//! - A person matches by full name with or without titles, by alias, and by the surname after titles ("Ms. Okafor", "Frau
//!   Dr. Weber"), but never by the surname alone.
//! - A name that fits two people is ignored, unless only one of them is listed with a title that stands there: in the
//!   reviews of a law practice, a wrong name is worse than none.
//! - A match inside a longer match does not count: "Daniel Kim" does not mention another person whose alias is "Daniel".

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use aho_corasick::{AhoCorasick, BuildError};

use super::names::{TitledName, comparable, is_title, share_word, sole, surname, titles_before};
use crate::model::{Concept, Taxonomy, Technician};
use reviewd_wire::text::quote;
use substring_index::words::is_of_word;

#[cfg(test)]
mod tests;

/// Finds the people, services and places of a taxonomy in texts.
#[derive(Debug)]
pub struct Matcher {
    /// Finds people.
    pub technicians: Finder,
    /// Finds services.
    pub services: Finder,
    /// Finds places that the business serves.
    pub service_areas: Finder,
    /// Names that match several people, each with the first two of these people, in alphabetical order.
    pub(super) ambiguous: Vec<String>,
}

impl Matcher {
    /// Builds the finders of `taxonomy`; cost is linear in the bytes of its names and phrases. Fails if these exceed the
    /// capacity of an automaton, about 2^31 bytes.
    pub fn new(taxonomy: &Taxonomy) -> Result<Matcher, BuildError> {
        let people = PeoplePatterns::new(&taxonomy.technicians);
        Ok(Matcher {
            ambiguous: people.ambiguous(&taxonomy.technicians),
            technicians: Finder::people(people, &taxonomy.technicians)?,
            services: Finder::concepts(&taxonomy.services, true)?,
            service_areas: Finder::concepts(&taxonomy.service_areas, false)?,
        })
    }
}

/// An automaton over patterns. Each pattern belongs to one entry or to some people.
#[derive(Debug)]
pub struct Finder {
    automaton: AhoCorasick,
    owners: Vec<PatternOwners>,
    /// The owners' full names or ids in the taxonomy.
    names: Vec<String>,
    /// The titles of each owner, folded; empty for entries that are no people.
    titles: Vec<String>,
    /// Whether hyphens and apostrophes join words, as they do in people's names.
    joins_words: bool,
}

/// Those who are called by a pattern, by their numbers.
#[derive(Debug, Default)]
struct PatternOwners {
    /// Those whose name, alias or phrase it is.
    named: BTreeSet<usize>,
    /// Those whose surname it is, which needs a title before it.
    by_surname: BTreeSet<usize>,
}

/// A pattern that was found.
struct Occurrence {
    start: usize,
    end: usize,
    /// Whether it is a title with a surname, and not a whole name; of two with the same bytes, the whole name counts.
    is_by_surname: bool,
    /// `None` if it fits several people.
    owner: Option<usize>,
}

impl Finder {
    /// Builds a finder of services or places; `inflected` also finds simple inflections of phrases.
    pub fn concepts(concepts: &[Concept], inflected: bool) -> Result<Finder, BuildError> {
        let mut owners = Vec::new();
        let patterns = phrases(concepts, inflected);
        for owner in patterns.values() {
            owners.push(PatternOwners {
                named: BTreeSet::from([*owner]),
                by_surname: BTreeSet::new(),
            });
        }
        Ok(Finder {
            automaton: AhoCorasick::new(patterns.keys())?,
            owners,
            names: concepts.iter().map(|concept| concept.id.clone()).collect(),
            titles: vec![String::new(); concepts.len()],
            joins_words: false,
        })
    }

    fn people(patterns: PeoplePatterns, people: &[Technician]) -> Result<Finder, BuildError> {
        Ok(Finder {
            automaton: AhoCorasick::new(patterns.owners.keys())?,
            owners: patterns.owners.into_values().collect(),
            names: people.iter().map(|person| person.name.clone()).collect(),
            titles: patterns.titles,
            joins_words: true,
        })
    }

    /// Returns the names or ids of the owners that `text` mentions, in the taxonomy's order; `text` is in [`comparable`]
    /// form.
    pub fn find_names(&self, text: &str) -> Vec<String> {
        let owners = self.find(text).into_iter();
        owners.map(|owner| self.names[owner].clone()).collect()
    }

    /// Returns the numbers of the owners that `text` mentions, ascending; `text` is in [`comparable`] form.
    pub fn find(&self, text: &str) -> Vec<usize> {
        if self.owners.is_empty() {
            return Vec::new();
        }
        let mut occurrences: Vec<Occurrence> = Vec::new();
        // Overlapping matches, because the longest match of the automaton may end inside a word where a shorter
        // one does not.
        for found in self.automaton.find_overlapping_iter(text) {
            if self.is_whole(text, found.start(), found.end()) {
                let owners = &self.owners[found.pattern().as_usize()];
                occurrences.extend(self.occurrence(text, found.start(), found.end(), owners));
            }
        }
        occurrences.sort_unstable_by_key(|one| (one.start, Reverse(one.end), one.is_by_surname));
        let mut mentioned = BTreeSet::new();
        let mut covered = 0;
        for occurrence in occurrences {
            // Sorted by start, then longest first: one is inside an earlier one exactly if it ends no later.
            if occurrence.end > covered {
                covered = occurrence.end;
                mentioned.extend(occurrence.owner);
            }
        }
        mentioned.into_iter().collect()
    }

    /// Returns whom the pattern from `start` to `end` of `text` names; `None` if it is a surname without a title.
    fn occurrence(
        &self,
        text: &str,
        start: usize,
        end: usize,
        owners: &PatternOwners,
    ) -> Option<Occurrence> {
        if !owners.by_surname.is_empty() {
            let titles = titles_before(text, start);
            if !titles.is_empty() {
                let candidates: Vec<usize> = owners.by_surname.iter().copied().collect();
                let owner = sole(&candidates, |owner| share_word(&self.titles[owner], titles));
                return Some(Occurrence {
                    start: start - titles.len(),
                    end,
                    is_by_surname: true,
                    owner,
                });
            }
        }
        let mut named = owners.named.iter().copied();
        let first = named.next()?;
        let owner = if named.next().is_none() {
            Some(first)
        } else {
            None
        };
        Some(Occurrence {
            start,
            end,
            is_by_surname: false,
            owner,
        })
    }

    /// Whether the span does not begin or end within a word.
    fn is_whole(&self, text: &str, start: usize, end: usize) -> bool {
        let found = &text[start..end];
        let before = text[..start].chars().rev();
        let after = text[end..].chars();
        let first = found.chars().next();
        let last = found.chars().next_back();
        // "Okafor's" is Okafor, "Okafor-Hale" and "O'Okafor" are other people.
        !self.goes_on(first, before, "-'") && !self.goes_on(last, after, "-")
    }

    /// Whether the word of the character `edge` continues with the characters of `beyond`.
    fn goes_on(
        &self,
        edge: Option<char>,
        mut beyond: impl Iterator<Item = char>,
        joiners: &str,
    ) -> bool {
        if !edge.is_some_and(is_of_word) {
            return false;
        }
        let Some(next) = beyond.next() else {
            return false;
        };
        if is_of_word(next) {
            return true;
        }
        let may_join = self.joins_words && joiners.contains(next);
        if !may_join {
            return false;
        }
        beyond.next().is_some_and(is_of_word)
    }
}

/// The patterns of services or places in [`comparable`] form, each with its owner: each label and phrase and, if
/// `inflected`, their inflections. The first owner of a pattern keeps it, and a label or phrase has precedence over an
/// inflection.
fn phrases(concepts: &[Concept], inflected: bool) -> BTreeMap<String, usize> {
    let mut patterns = BTreeMap::new();
    for (owner, phrase) in phrases_by_owner(concepts) {
        patterns.entry(phrase).or_insert(owner);
    }
    if inflected {
        for (owner, phrase) in phrases_by_owner(concepts) {
            for form in inflections(&phrase) {
                patterns.entry(form).or_insert(owner);
            }
        }
    }
    patterns.remove("");
    patterns
}

/// Returns each label and phrase in [`comparable`] form with the number of its concept.
fn phrases_by_owner(concepts: &[Concept]) -> impl Iterator<Item = (usize, String)> {
    concepts.iter().enumerate().flat_map(|(owner, concept)| {
        let phrases = std::iter::once(&concept.label).chain(&concept.phrases);
        phrases.map(move |phrase| (owner, comparable(phrase)))
    })
}

/// Returns `phrase`, which must be folded, and its simple inflections.
fn inflections(phrase: &str) -> Vec<String> {
    let mut forms = vec![phrase.to_owned()];
    if !phrase.ends_with(|last: char| last.is_ascii_alphabetic()) {
        return forms;
    }
    forms.extend([format!("{phrase}s"), format!("{phrase}'s")]);
    if phrase.ends_with(['s', 'x', 'z']) || phrase.ends_with("ch") || phrase.ends_with("sh") {
        forms.push(format!("{phrase}es"));
    }
    if let Some(stem) = phrase.strip_suffix('y') {
        forms.push(format!("{stem}ies"));
    }
    for at in 0..forms.len() {
        if let Some((first, rest)) = forms[at].split_once(' ') {
            let stem = first.strip_suffix('e').unwrap_or(first);
            let verbs = [
                format!("{first}s {rest}"),
                format!("{stem}ed {rest}"),
                format!("{stem}ing {rest}"),
            ];
            forms.extend(verbs);
        }
    }
    forms
}

/// The patterns of people in [`comparable`] form.
#[derive(Default)]
struct PeoplePatterns {
    owners: BTreeMap<String, PatternOwners>,
    /// The titles of each person, separated by blanks.
    titles: Vec<String>,
}

impl PeoplePatterns {
    fn new(people: &[Technician]) -> PeoplePatterns {
        let mut patterns = PeoplePatterns::default();
        for (owner, person) in people.iter().enumerate() {
            let mut titles = String::new();
            for name in std::iter::once(&person.name).chain(&person.aliases) {
                let name = comparable(name);
                titles += TitledName::parse(&name).titles;
                titles.push(' ');
                patterns.add_name(owner, &name);
            }
            patterns.titles.push(titles);
            if let Some(surname) = surname(&comparable(&person.name)) {
                let owners = patterns.owners.entry(surname.to_owned()).or_default();
                owners.by_surname.insert(owner);
            }
        }
        patterns
    }

    /// Adds a name or alias: as it is written, without titles and degrees if several words are left, and after a title
    /// with and without the full stop.
    fn add_name(&mut self, owner: usize, name: &str) {
        let untitled = TitledName::parse(name).rest;
        let mut forms = vec![name.to_owned()];
        if untitled.contains(' ') {
            forms.push(untitled.to_owned());
        }
        if let Some((title, rest)) = name.split_once(' ') {
            let title = title.trim_end_matches('.');
            if is_title(title) {
                forms.push(format!("{title} {rest}"));
                forms.push(format!("{title}. {rest}"));
            }
        }
        for form in forms.into_iter().filter(|form| !form.is_empty()) {
            self.owners.entry(form).or_default().named.insert(owner);
        }
    }

    /// Returns the names and aliases that match more than one of `people`, each with the first two.
    fn ambiguous(&self, people: &[Technician]) -> Vec<String> {
        let mut ambiguous = Vec::new();
        for (name, owners) in &self.owners {
            let mut owners = owners.named.iter().map(|owner| &people[*owner].name);
            if let (Some(first), Some(second)) = (owners.next(), owners.next()) {
                ambiguous.push(format!("{} matches {first} and {second}", quote(name)));
            }
        }
        ambiguous
    }
}
