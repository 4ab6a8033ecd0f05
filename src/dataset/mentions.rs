//! Who and what a text speaks of, by the names and phrases of the taxonomy.
//!
//! Names and phrases are found as whole words, without regard to case, accents counting; any blank stands for any
//! run of blanks. A service is also found by the plural, the possessive and the simple verb forms of its phrases, as
//! an aspect is. A person is found by full name, by alias, and by a title with the surname ("Ms. Okafor"). A name
//! that fits two people is not recognised, as a wrong name in a law practice's reviews is worse than none. Inside a
//! longer name or phrase that fits, a shorter one does not count: "Daniel Kim" is not the Daniel who is an alias.

use std::collections::{BTreeMap, BTreeSet};

use aho_corasick::{AhoCorasick, BuildError};

use crate::model::{Concept, Taxonomy, Technician};
use crate::wire::fold::fold_into;

#[cfg(test)]
mod tests;

/// Titles that make a name of a surname, folded; each is also found with a full stop after it.
const TITLES: &str = "mr mrs ms miss mx mister dr doctor prof professor attorney atty lawyer counsel counselor \
counsellor sr sra srta senor senora senorita lic licenciado abogado abogada";

/// What may follow a surname and is not part of it, folded.
const SUFFIXES: &str = "jr jr. sr sr. ii iii iv esq esq.";

/// Finds the people, services and places of a taxonomy in texts, each by its number in the taxonomy.
#[derive(Debug)]
pub(crate) struct Matcher {
    pub(crate) technicians: Finder,
    pub(crate) services: Finder,
    pub(crate) service_areas: Finder,
    /// Names that fit several people, in alphabetical order.
    pub(super) ambiguous: Vec<Ambiguity>,
}

/// A name that the taxonomy gives to more than one person, so that it is not recognised.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Ambiguity {
    /// The name as compared, folded.
    pub(super) name: String,
    /// The first two of the people, in the taxonomy's order.
    pub(super) people: [usize; 2],
}

impl Matcher {
    /// Builds the finders of `taxonomy`; cost is linear in the bytes of its names and phrases. Fails where these are more
    /// than an automaton can hold, about 2^31 bytes.
    pub(crate) fn new(taxonomy: &Taxonomy) -> Result<Matcher, BuildError> {
        let (names, ambiguous) = names(&taxonomy.technicians);
        Ok(Matcher {
            technicians: Finder::new(names, true)?,
            services: Finder::new(phrases(&taxonomy.services, true), false)?,
            service_areas: Finder::new(phrases(&taxonomy.service_areas, false), false)?,
            ambiguous,
        })
    }
}

/// A taxonomy with its finders: mentions as reviews carry them, in the taxonomy's order.
#[derive(Debug)]
pub(super) struct Derive<'t> {
    pub(super) taxonomy: &'t Taxonomy,
    pub(super) matcher: &'t Matcher,
}

impl Derive<'_> {
    /// The full names of the people whom `text` names.
    pub(super) fn technicians(&self, text: &Comparable) -> Vec<String> {
        let found = self.matcher.technicians.find(text).into_iter();
        let people = found.map(|at| &self.taxonomy.technicians[at]);
        people.map(|person| person.name.clone()).collect()
    }

    /// The ids of the services that `text` speaks of.
    pub(super) fn services(&self, text: &Comparable) -> Vec<String> {
        let found = self.matcher.services.find(text).into_iter();
        let services = found.map(|at| &self.taxonomy.services[at]);
        services.map(|service| service.id.clone()).collect()
    }
}

/// A text in the form in which names and phrases are compared: folded, with single blanks and straight apostrophes,
/// as telephones type the curly one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Comparable {
    text: String,
}

impl Comparable {
    pub(crate) fn new(text: &str) -> Comparable {
        let mut comparable = Comparable::default();
        comparable.set(text);
        comparable
    }

    /// Replaces the content by `text`, reusing the buffer.
    pub(crate) fn set(&mut self, text: &str) {
        self.text.clear();
        for word in text.split_whitespace() {
            if !self.text.is_empty() {
                self.text.push(' ');
            }
            for (place, part) in word.split('’').enumerate() {
                if place > 0 {
                    self.text.push('\'');
                }
                fold_into(part, &mut self.text);
            }
        }
    }
}

/// An automaton over patterns, each of which belongs to one owner or, where it is ambiguous, to none.
#[derive(Debug)]
pub(crate) struct Finder {
    automaton: Option<AhoCorasick>,
    owners: Vec<Option<usize>>,
    /// Whether hyphens and apostrophes join words, as they do in names.
    names: bool,
}

impl Finder {
    fn new(patterns: BTreeMap<String, Option<usize>>, names: bool) -> Result<Finder, BuildError> {
        let is_empty = patterns.is_empty();
        let automaton = (!is_empty).then(|| AhoCorasick::new(patterns.keys()));
        Ok(Finder {
            automaton: automaton.transpose()?,
            owners: patterns.into_values().collect(),
            names,
        })
    }

    /// The owners of what `text` holds, ascending.
    pub(crate) fn find(&self, text: &Comparable) -> Vec<usize> {
        let Some(automaton) = &self.automaton else {
            return Vec::new();
        };
        let text = text.text.as_str();
        // Overlapping matches, because the longest match of the automaton may end inside a word where a shorter
        // one does not.
        let mut spans: Vec<(usize, usize, usize)> = automaton
            .find_overlapping_iter(text)
            .filter(|found| self.is_whole(text, found.start(), found.end()))
            .map(|found| (found.start(), found.end(), found.pattern().as_usize()))
            .collect();
        spans.sort_unstable_by_key(|&(start, end, _)| (start, usize::MAX - end));
        let mut found = Vec::new();
        let mut covered = 0;
        for (_, end, pattern) in spans {
            // Sorted by start and then longest first, a span is inside an earlier one exactly if it ends no later.
            if end > covered {
                covered = end;
                found.extend(self.owners[pattern]);
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Whether the span is bounded by something other than letters and digits.
    fn is_whole(&self, text: &str, start: usize, end: usize) -> bool {
        let is_letter = |edge: Option<char>| edge.is_some_and(char::is_alphanumeric);
        // Whether a word goes on beyond an edge: "Okafor's" is Okafor, "Okafor-Hale" is another person.
        let goes_on = |next: Option<char>, beyond: Option<char>, joiners: &str| {
            let is_joined = self.names && next.is_some_and(|next| joiners.contains(next));
            is_letter(next) || (is_joined && is_letter(beyond))
        };
        let inside = &text[start..end];
        let (mut left, mut right) = (text[..start].chars().rev(), text[end..].chars());
        let begins_within =
            is_letter(inside.chars().next()) && goes_on(left.next(), left.next(), "-'");
        let ends_within =
            is_letter(inside.chars().next_back()) && goes_on(right.next(), right.next(), "-");
        !begins_within && !ends_within
    }
}

/// The patterns of services or places: each label and phrase, and, where asked for, the inflections of all; of two that
/// share a pattern the first owns it, and one that is given outright comes before one that is inflected.
fn phrases(concepts: &[Concept], inflected: bool) -> BTreeMap<String, Option<usize>> {
    let mut patterns = BTreeMap::new();
    let mut add = |forms: fn(&str) -> Vec<String>| {
        for (owner, concept) in concepts.iter().enumerate() {
            for phrase in std::iter::once(&concept.label).chain(&concept.phrases) {
                for form in forms(&Comparable::new(phrase).text) {
                    patterns.entry(form).or_insert(Some(owner));
                }
            }
        }
    };
    add(|phrase| vec![phrase.to_owned()]);
    if inflected {
        add(inflections);
    }
    patterns.remove("");
    patterns
}

/// The phrase, which has to be folded, and its simple inflections.
pub(crate) fn inflections(phrase: &str) -> Vec<String> {
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
    let verbs = |form: &String| {
        let (first, rest) = form.split_once(' ')?;
        let stem = first.strip_suffix('e').unwrap_or(first);
        Some([
            format!("{first}s {rest}"),
            format!("{stem}ed {rest}"),
            format!("{stem}ing {rest}"),
        ])
    };
    let inflected: Vec<String> = forms.iter().filter_map(verbs).flatten().collect();
    forms.extend(inflected);
    forms
}

/// The patterns of people, and the names among those given that fit more than one person.
fn names(people: &[Technician]) -> (BTreeMap<String, Option<usize>>, Vec<Ambiguity>) {
    let mut given: BTreeMap<String, BTreeSet<usize>> = BTreeMap::new();
    let mut titled: BTreeMap<String, BTreeSet<usize>> = BTreeMap::new();
    for (owner, person) in people.iter().enumerate() {
        for name in std::iter::once(&person.name).chain(&person.aliases) {
            for variant in title_variants(Comparable::new(name).text) {
                given.entry(variant).or_default().insert(owner);
            }
        }
        let name = Comparable::new(&person.name).text;
        if let Some(surname) = surname(&name) {
            for title in TITLES.split(' ') {
                for name in [format!("{title} {surname}"), format!("{title}. {surname}")] {
                    titled.entry(name).or_default().insert(owner);
                }
            }
        }
    }
    let of_two = |(name, owners): (&String, &BTreeSet<usize>)| {
        let mut owners = owners.iter().copied();
        let people = [owners.next()?, owners.next()?];
        let name = name.clone();
        Some(Ambiguity { name, people })
    };
    let ambiguous = given.iter().filter_map(of_two).collect();
    // What the taxonomy gives outright wins over what follows from titles: with two people called Reyes, an alias
    // "Mr. Reyes" settles who is meant.
    let mut patterns = titled;
    patterns.extend(given);
    patterns.remove("");
    let sole = |owners: BTreeSet<usize>| owners.first().copied().filter(|_| owners.len() == 1);
    let patterns = patterns.into_iter();
    let patterns = patterns.map(|(name, owners)| (name, sole(owners)));
    (patterns.collect(), ambiguous)
}

/// A name that begins with a title, with and without the full stop; any other name alone.
fn title_variants(name: String) -> Vec<String> {
    let Some((first, rest)) = name.split_once(' ') else {
        return vec![name];
    };
    let title = first.strip_suffix('.').unwrap_or(first);
    match TITLES.split(' ').any(|known| known == title) {
        true => vec![format!("{title} {rest}"), format!("{title}. {rest}")],
        false => vec![name],
    }
}

/// The last word of a name of several words, suffixes such as "Jr." left aside.
fn surname(name: &str) -> Option<&str> {
    let words = name.split(' ').skip(1);
    let words = words.map(|word| word.trim_end_matches(','));
    words
        .filter(|word| SUFFIXES.split(' ').all(|suffix| suffix != *word))
        .last()
}
