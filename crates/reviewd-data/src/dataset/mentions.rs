//! Finds the people, services and places that a text mentions, by the names and phrases of the taxonomy.
//!
//! Names and phrases match whole words; case, accents and the amount of white space are ignored. A service or aspect
//! also matches by the plural, the possessive and the simple verb forms of its phrases. A person matches by full name,
//! by alias, and by a title with the surname ("Ms. Okafor"). A name that fits two people is ignored: in the reviews of
//! a law practice, a wrong name is worse than none. A match inside a longer match does not count: "Daniel Kim" does not
//! mention another person whose alias is "Daniel".

use std::collections::{BTreeMap, BTreeSet};

use aho_corasick::{AhoCorasick, BuildError};

use crate::model::{Concept, Taxonomy, Technician};
use reviewd_wire::text::quote;
use substring_index::fold::fold_into;

#[cfg(test)]
mod tests;

/// Titles that form a name with a surname, folded; each also matches with a full stop after it.
const TITLES: &str = "mr mrs ms miss mx mister dr doctor prof professor attorney atty lawyer counsel counselor \
counsellor sr sra srta senor senora senorita lic licenciado abogado abogada";

/// Name suffixes that are not part of the surname, folded.
const SUFFIXES: &str = "jr jr. sr sr. ii iii iv esq esq.";

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
        let (patterns, ambiguous) = names(&taxonomy.technicians);
        let names = taxonomy.technicians.iter().map(|one| one.name.clone());
        let of_concepts = |concepts: &[Concept], inflected| {
            let ids = concepts.iter().map(|one| one.id.clone());
            Finder::new(phrases(concepts, inflected), ids.collect(), false)
        };
        Ok(Matcher {
            technicians: Finder::new(patterns, names.collect(), true)?,
            services: of_concepts(&taxonomy.services, true)?,
            service_areas: of_concepts(&taxonomy.service_areas, false)?,
            ambiguous,
        })
    }
}

/// Returns `text` in the form in which names and phrases are compared: folded, with single blanks.
pub fn comparable(text: &str) -> String {
    let mut comparable = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !comparable.is_empty() {
            comparable.push(' ');
        }
        fold_into(word, &mut comparable);
    }
    comparable
}

/// An automaton over patterns. Each pattern belongs to one owner (a person or an entry), or to none if it is ambiguous.
#[derive(Debug)]
pub struct Finder {
    automaton: AhoCorasick,
    owners: Vec<Option<usize>>,
    /// The owners' full names or ids in the taxonomy.
    names: Vec<String>,
    /// Whether hyphens and apostrophes join words, as they do in people's names.
    joins_words: bool,
}

impl Finder {
    fn new(
        patterns: Patterns,
        names: Vec<String>,
        joins_words: bool,
    ) -> Result<Finder, BuildError> {
        Ok(Finder {
            automaton: AhoCorasick::new(patterns.keys())?,
            owners: patterns.into_values().collect(),
            names,
            joins_words,
        })
    }

    /// Returns the names or ids of the owners that `text` mentions, in the taxonomy's order; `text` is in [`comparable`] form.
    pub fn find_names(&self, text: &str) -> Vec<String> {
        let found = self.find(text).into_iter();
        found.map(|at| self.names[at].clone()).collect()
    }

    /// Returns the indices of the owners that `text` mentions, ascending.
    fn find(&self, text: &str) -> Vec<usize> {
        if self.owners.is_empty() {
            return Vec::new();
        }
        // Overlapping matches, because the longest match of the automaton may end inside a word where a shorter
        // one does not.
        let mut spans: Vec<(usize, usize, usize)> = self
            .automaton
            .find_overlapping_iter(text)
            .filter(|found| self.is_whole(text, found.start(), found.end()))
            .map(|found| (found.start(), found.end(), found.pattern().as_usize()))
            .collect();
        spans.sort_unstable_by_key(|&(start, end, _)| (start, usize::MAX - end));
        let mut found = Vec::new();
        let mut covered = 0;
        for (_, end, pattern) in spans {
            // Spans are sorted by start, then longest first: a span is inside an earlier one exactly if it ends no later.
            if end > covered {
                covered = end;
                found.extend(self.owners[pattern]);
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Whether no letter or digit adjoins the span.
    fn is_whole(&self, text: &str, start: usize, end: usize) -> bool {
        let is_letter = |edge: Option<char>| edge.is_some_and(char::is_alphanumeric);
        // Whether the word continues beyond the span: "Okafor's" is Okafor, "Okafor-Hale" is another person.
        let goes_on = |edge, beyond: &mut dyn Iterator<Item = char>, joiners: &str| {
            let next = beyond.next();
            let is_joined = self.joins_words && next.is_some_and(|next| joiners.contains(next));
            is_letter(edge) && (is_letter(next) || (is_joined && is_letter(beyond.next())))
        };
        let mut inside = text[start..end].chars();
        let (first, last) = (inside.clone().next(), inside.next_back());
        let begins_within = goes_on(first, &mut text[..start].chars().rev(), "-'");
        !begins_within && !goes_on(last, &mut text[end..].chars(), "-")
    }
}

/// Patterns in [`comparable`] form, each with its owner; `None` if there are several owners.
type Patterns = BTreeMap<String, Option<usize>>;

/// The patterns of services or places: each label and phrase and, if `inflected`, their inflections. The first owner of
/// a pattern keeps it, and a label or phrase has precedence over an inflection.
fn phrases(concepts: &[Concept], inflected: bool) -> Patterns {
    let mut patterns = Patterns::new();
    let mut add = |forms: fn(&str) -> Vec<String>| {
        for (owner, concept) in concepts.iter().enumerate() {
            for phrase in std::iter::once(&concept.label).chain(&concept.phrases) {
                for form in forms(&comparable(phrase)) {
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

/// The patterns of people, and the full names and aliases that match more than one person.
fn names(people: &[Technician]) -> (Patterns, Vec<String>) {
    let mut given: BTreeMap<String, BTreeSet<usize>> = BTreeMap::new();
    let mut titled: BTreeMap<String, BTreeSet<usize>> = BTreeMap::new();
    for (owner, person) in people.iter().enumerate() {
        for name in std::iter::once(&person.name).chain(&person.aliases) {
            for variant in title_variants(comparable(name)) {
                given.entry(variant).or_default().insert(owner);
            }
        }
        if let Some(surname) = surname(&comparable(&person.name)) {
            for title in TITLES.split(' ') {
                for name in [format!("{title} {surname}"), format!("{title}. {surname}")] {
                    titled.entry(name).or_default().insert(owner);
                }
            }
        }
    }
    let of_two = |(name, owners): (&String, &BTreeSet<usize>)| {
        let mut owners = owners.iter().map(|at| &people[*at].name);
        let (first, second) = (owners.next()?, owners.next()?);
        Some(format!("{} matches {first} and {second}", quote(name)))
    };
    let ambiguous = given.iter().filter_map(of_two).collect();
    // Names of the taxonomy have precedence over names formed with titles: with two people called Reyes, an alias
    // "Mr. Reyes" decides which of them is mentioned.
    titled.extend(given);
    titled.remove("");
    let sole = |owners: BTreeSet<usize>| owners.first().copied().filter(|_| owners.len() == 1);
    let patterns = titled.into_iter();
    let patterns = patterns.map(|(name, owners)| (name, sole(owners)));
    (patterns.collect(), ambiguous)
}

/// Returns a name that begins with a title with and without the full stop; any other name unchanged.
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

/// The last word of a name of several words, without suffixes such as "Jr.".
fn surname(name: &str) -> Option<&str> {
    let words = name.split(' ').skip(1);
    let words = words.map(|word| word.trim_end_matches(','));
    let is_name = |word: &&str| SUFFIXES.split(' ').all(|suffix| suffix != *word);
    words.filter(is_name).last()
}
