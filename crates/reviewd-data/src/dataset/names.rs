//! Names of people, services, aspects and other entries, and which entry a client or a review means by a name.
//!
//! An entry is found by its name or id, by its aliases or label, and by its phrases. A person is also found without
//! titles and degrees ("Anna Weber" for "Dr. Anna Weber, MD"), and by the surname alone. A name can also be a part: words
//! that only one entry has, in any order. What several entries share means none of them, unless a title decides: if one
//! Weber of two is listed as "Dr. Weber", then "Frau Dr. Weber" is that one.
//!
//! Case, accents and white space are ignored. A name in a script without spaces has no parts.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};

use substring_index::fold::fold_into;

use crate::model::{Business, Concept, Taxonomy, Technician};

mod titles;

use titles::TITLES;

#[cfg(test)]
mod tests;

/// Degrees after a name, folded, without full stops.
const DEGREES: &[&str] = &[
    "cpa", "dds", "dmd", "dvm", "esq", "jd", "llm", "mba", "md", "phd", "rn",
];

/// Suffixes that tell two people of one family apart, folded, without full stops; not part of the surname.
const GENERATIONS: &[&str] = &["jr", "sr", "ii", "iii", "iv"];

/// What follows a Japanese name instead of a title before it.
const HONORIFICS: &[&str] = &["先生", "さん", "様", "医師", "弁護士", "氏"];

/// Longest title in bytes.
const TITLE_BYTES_MAX: usize = 20;

/// Adds the people and services that only the `business` lists to `taxonomy`, so that one list has all.
///
/// If the name of a person, with or without titles, is a name or an alias of only one person of the taxonomy, the two are
/// the same: the business's spelling becomes one more alias. A service is not added if its id or label is an id or a label
/// of the taxonomy.
pub fn add_listed(taxonomy: &mut Taxonomy, business: &Business) {
    add_people(&mut taxonomy.technicians, business);
    add_services(&mut taxonomy.services, business);
}

fn add_people(people: &mut Vec<Technician>, business: &Business) {
    let names = Names::people(people);
    let mut added = HashSet::new();
    for person in &business.technicians {
        let folded = comparable(&person.name);
        let untitled = TitledName::parse(&folded).rest;
        let found = names
            .entry_of_mention(&folded)
            .or_else(|| names.entry_of_mention(untitled));
        if let Some(entry) = found {
            let same = &mut people[entry as usize];
            let mut spellings = std::iter::once(&same.name).chain(&same.aliases);
            if !spellings.any(|spelling| comparable(spelling) == folded) {
                same.aliases.push(person.name.clone());
            }
        } else if !names.is_whole_name(&folded) {
            let is_new = added.insert(folded);
            if is_new {
                people.push(Technician {
                    name: person.name.clone(),
                    aliases: Vec::new(),
                });
            }
        }
    }
}

fn add_services(services: &mut Vec<Concept>, business: &Business) {
    let mut spelled: HashSet<String> = HashSet::new();
    for service in services.iter() {
        spelled.extend([comparable(&service.id), comparable(&service.label)]);
    }
    for service in &business.services {
        let names = [comparable(&service.id), comparable(&service.label)];
        if !names.iter().any(|name| spelled.contains(name)) {
            spelled.extend(names);
            services.push(Concept {
                id: service.id.clone(),
                label: service.label.clone(),
                phrases: Vec::new(),
                not_phrases: Vec::new(),
            });
        }
    }
}

/// Entries of one kind, such as all people, with everything that finds them.
#[derive(Clone, Debug, Default)]
pub struct Names {
    entries: Vec<NameEntry>,
    /// Sorted by the folded text, then by kind, then by entry.
    spellings: Vec<Spelling>,
    /// The numbers of the spellings that contain a word, by entry; only names, aliases and phrases.
    by_word: BTreeMap<Box<str>, Vec<u32>>,
    /// Whether titles before a name are ignored.
    are_people: bool,
}

/// A person, service, aspect or other entry.
#[derive(Clone, Debug)]
struct NameEntry {
    /// The name or id as it is published.
    name: Box<str>,
    /// The titles of a person, in all names that have some: folded, each followed by a blank.
    titles: String,
}

/// A text that finds an entry.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Spelling {
    folded: Box<str>,
    kind: SpellingKind,
    entry: u32,
    /// As the operator wrote it; for what is derived from a name or alias, the person's name.
    text: Box<str>,
}

/// What a spelling is to its entry. If a text is several spellings, the first kind wins: an id of one service that is a
/// phrase of another means the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SpellingKind {
    /// The name of a person, the id of a service or aspect, a language or a source.
    Name,
    /// An alias of a person, the label of a service or aspect.
    Alias,
    /// A name or alias of several words, without titles and degrees.
    Untitled,
    /// The last word of a person's name.
    Surname,
    /// A phrase that mentions a service or aspect.
    Phrase,
    /// Words of a name, alias or label, in any order.
    Part,
}

impl SpellingKind {
    /// Returns the word for the kind in answers: `name`, `alias`, `phrase` or `part`.
    pub fn as_str(self) -> &'static str {
        match self {
            SpellingKind::Name => "name",
            SpellingKind::Alias => "alias",
            SpellingKind::Phrase => "phrase",
            SpellingKind::Untitled | SpellingKind::Surname | SpellingKind::Part => "part",
        }
    }

    /// Tells whether it is a name or alias as the operator wrote it.
    fn is_written_name(self) -> bool {
        matches!(self, SpellingKind::Name | SpellingKind::Alias)
    }

    /// Tells whether a mention in a review may be spelled so: as a written name, or that without titles.
    fn is_mention(self) -> bool {
        self.is_written_name() || self == SpellingKind::Untitled
    }
}

/// What a name means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Meaning<'n> {
    /// One entry.
    One(NameMatch<'n>),
    /// Several entries, ascending.
    Several(Vec<u32>),
    /// No entry.
    Unknown,
}

/// An entry that a name means, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NameMatch<'n> {
    /// The number of the entry.
    pub entry: u32,
    /// What the matching text is to the entry.
    pub kind: SpellingKind,
    /// The name, alias, label or phrase that matches, as the operator wrote it.
    pub spelling: &'n str,
}

impl Names {
    /// Collects the people of a taxonomy. Linear in the bytes of the names, like all constructors.
    pub fn people(people: &[Technician]) -> Names {
        NamesBuilder::people(people).finish()
    }

    /// Collects services, aspects or places, each with its id, label and phrases.
    pub fn concepts(concepts: &[Concept]) -> Names {
        NamesBuilder::concepts(concepts).finish()
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Tells whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the published name or id of `entry`, which is below [`Names::len`].
    pub fn name(&self, entry: u32) -> &str {
        &self.entries[entry as usize].name
    }

    /// Returns the entry that a mention in a review stands for: by its whole name, alias or label, or its name without
    /// titles.
    pub fn entry_of_mention(&self, mention: &str) -> Option<u32> {
        let found = self.spellings_of(&comparable(mention));
        let kind = found.first()?.kind;
        match found {
            [one] if kind.is_mention() => Some(one.entry),
            _ => None,
        }
    }

    /// Returns what the folded `name` means.
    ///
    /// A part of a name costs up to the number of spellings that have each of its words, see [`Names::comparisons_max`].
    pub fn find(&self, name: &str) -> Meaning<'_> {
        let whole = self.find_whole(name);
        if whole != Meaning::Unknown {
            return whole;
        }
        let with_title = self.meaning_of_parts(name);
        if with_title != Meaning::Unknown || !self.are_people {
            return with_title;
        }
        let TitledName { titles, rest } = TitledName::parse(name);
        if titles.is_empty() && rest == name {
            return Meaning::Unknown;
        }
        match self.meaning(self.spellings_of(rest), titles) {
            Meaning::Unknown => self.meaning_of_parts(rest),
            meaning => meaning,
        }
    }

    /// Returns what the folded `name` means as a whole: as a name, an alias, a phrase, or a person's name without titles or
    /// surname. Logarithmic in the number of spellings.
    pub fn find_whole(&self, name: &str) -> Meaning<'_> {
        self.meaning(self.spellings_of(name), "")
    }

    /// Returns how many spellings [`Names::find`] compares at most for the folded `name`.
    pub fn comparisons_max(&self, name: &str) -> usize {
        words(name)
            .map(|word| self.by_word.get(word).map_or(0, Vec::len))
            .sum()
    }

    /// Returns the folded names, aliases and phrases in alphabetical order, each with its entry.
    pub fn spellings(&self) -> impl Iterator<Item = (&str, u32)> {
        let spellings = self
            .spellings
            .iter()
            .filter(|spelling| !spelling.is_derived());
        spellings.map(|spelling| (&*spelling.folded, spelling.entry))
    }

    /// Returns the entries with a name, alias, label or phrase that contains the folded `word`, each once, ascending.
    pub fn entries_with_word(&self, word: &str) -> impl Iterator<Item = u32> {
        let numbers = self.by_word.get(word).map_or(&[][..], Vec::as_slice);
        let mut last = None;
        numbers.iter().filter_map(move |number| {
            let entry = self.spellings[*number as usize].entry;
            if last == Some(entry) {
                return None;
            }
            last = Some(entry);
            last
        })
    }

    /// Tells whether the folded `name` is a name or alias of an entry, or of several.
    fn is_whole_name(&self, name: &str) -> bool {
        let found = self.spellings_of(name);
        found
            .first()
            .is_some_and(|first| first.kind.is_written_name())
    }

    /// Returns the spellings of the folded `name` that have the first kind.
    fn spellings_of(&self, name: &str) -> &[Spelling] {
        if name.is_empty() {
            return &[];
        }
        let first = self
            .spellings
            .partition_point(|spelling| *spelling.folded < *name);
        let rest = &self.spellings[first..];
        let Some(kind) = rest.first().map(|spelling| spelling.kind) else {
            return &[];
        };
        let count =
            rest.partition_point(|spelling| *spelling.folded == *name && spelling.kind == kind);
        &rest[..count]
    }

    /// Returns what `spellings` of one kind mean, in a name with `titles`.
    fn meaning<'n>(&self, spellings: &'n [Spelling], titles: &str) -> Meaning<'n> {
        let Some(first) = spellings.first() else {
            return Meaning::Unknown;
        };
        // Allocates only for a name of several entries.
        let mut meant = first;
        if spellings.iter().any(|other| other.entry != first.entry) {
            let mut entries: Vec<u32> = spellings.iter().map(|spelling| spelling.entry).collect();
            entries.dedup();
            let bearer = sole(&entries, |entry| self.bears_one_of(entry, titles));
            let of_bearer = spellings
                .iter()
                .find(|spelling| Some(spelling.entry) == bearer);
            let Some(spelling) = of_bearer else {
                return Meaning::Several(entries);
            };
            meant = spelling;
        }
        Meaning::One(NameMatch {
            entry: meant.entry,
            kind: meant.kind,
            spelling: &meant.text,
        })
    }

    /// Returns what the words of the folded `name` mean, as parts of names, aliases and labels.
    fn meaning_of_parts(&self, name: &str) -> Meaning<'_> {
        let lists: Option<Vec<&Vec<u32>>> =
            words(name).map(|word| self.by_word.get(word)).collect();
        let Some(rarest) = lists.and_then(|lists| lists.into_iter().min_by_key(|list| list.len()))
        else {
            return Meaning::Unknown;
        };
        let mut found: Vec<NameMatch<'_>> = Vec::new();
        for number in rarest {
            let spelling = &self.spellings[*number as usize];
            let is_new = found.last().is_none_or(|last| last.entry != spelling.entry);
            if is_new && spelling.kind.is_written_name() && has_words(&spelling.folded, name) {
                found.push(NameMatch {
                    entry: spelling.entry,
                    kind: SpellingKind::Part,
                    spelling: &spelling.text,
                });
            }
        }
        match found[..] {
            [] => Meaning::Unknown,
            [one] => Meaning::One(one),
            _ => Meaning::Several(found.iter().map(|one| one.entry).collect()),
        }
    }

    /// Tells whether a person is listed with one of the folded `titles`.
    fn bears_one_of(&self, entry: u32, titles: &str) -> bool {
        share_word(&self.entries[entry as usize].titles, titles)
    }
}

/// Collects the entries of a [`Names`].
#[derive(Debug)]
pub struct NamesBuilder {
    names: Names,
    /// By names, aliases and names without titles, as a mention writes them.
    by_mention: HashMap<String, MentionOwner>,
}

/// The entry that a mention stands for.
#[derive(Debug)]
struct MentionOwner {
    /// The first kind of spelling that the mention is.
    kind: SpellingKind,
    /// `None` if several entries have the mention as a spelling of that kind.
    entry: Option<u32>,
}

impl NamesBuilder {
    /// Starts without entries; `are_people` if titles before names are ignored.
    pub fn new(are_people: bool) -> NamesBuilder {
        let names = Names {
            are_people,
            ..Names::default()
        };
        NamesBuilder {
            names,
            by_mention: HashMap::new(),
        }
    }

    /// Starts with the people of a taxonomy.
    pub fn people(people: &[Technician]) -> NamesBuilder {
        let mut names = NamesBuilder::new(true);
        for person in people {
            let entry = names.add_entry(&person.name);
            for alias in &person.aliases {
                names.add_spelling(entry, SpellingKind::Alias, alias);
            }
        }
        names
    }

    /// Starts with services, aspects or places, each with its id, label and phrases.
    pub fn concepts(concepts: &[Concept]) -> NamesBuilder {
        let mut names = NamesBuilder::new(false);
        for concept in concepts {
            names.add_concept(concept);
        }
        names
    }

    /// Adds an entry with its published name or id, and returns its number.
    pub fn add_entry(&mut self, name: &str) -> u32 {
        let entry = self.names.entries.len() as u32;
        self.names.entries.push(NameEntry {
            name: name.into(),
            titles: String::new(),
        });
        self.add_spelling(entry, SpellingKind::Name, name);
        entry
    }

    /// Adds the entry of a service, aspect or place.
    pub fn add_concept(&mut self, concept: &Concept) {
        let entry = self.add_entry(&concept.id);
        self.add_spelling(entry, SpellingKind::Alias, &concept.label);
        for phrase in &concept.phrases {
            self.add_spelling(entry, SpellingKind::Phrase, phrase);
        }
    }

    /// Adds a further text that finds `entry`.
    pub fn add_spelling(&mut self, entry: u32, kind: SpellingKind, text: &str) {
        let folded = comparable(text);
        if self.names.are_people {
            self.add_derived(entry, &folded);
        }
        self.push(entry, kind, folded, text);
    }

    /// Adds what finds a person besides the `folded` name or alias, and the titles in it.
    fn add_derived(&mut self, entry: u32, folded: &str) {
        let TitledName { titles, rest } = TitledName::parse(folded);
        let person = &mut self.names.entries[entry as usize];
        person.titles.push_str(titles);
        person.titles.push(' ');
        let name = person.name.clone();
        if rest != folded && rest.contains(' ') {
            self.push(entry, SpellingKind::Untitled, rest.to_owned(), &name);
        }
        if let Some(surname) = surname(folded) {
            self.push(entry, SpellingKind::Surname, surname.to_owned(), &name);
        }
    }

    fn push(&mut self, entry: u32, kind: SpellingKind, folded: String, text: &str) {
        if folded.is_empty() {
            return;
        }
        self.names.spellings.push(Spelling {
            folded: folded.as_str().into(),
            kind,
            entry,
            text: text.into(),
        });
        if !kind.is_mention() {
            return;
        }
        let new_owner = MentionOwner {
            kind,
            entry: Some(entry),
        };
        match self.by_mention.entry(folded) {
            Entry::Vacant(vacant) => {
                vacant.insert(new_owner);
            }
            Entry::Occupied(mut occupied) => {
                let owner = occupied.get_mut();
                if kind < owner.kind {
                    *owner = new_owner;
                    return;
                }
                let is_shared = kind == owner.kind && owner.entry != Some(entry);
                // The first entry keeps its name: otherwise each mention of the name would add one more entry of that name.
                if is_shared && kind != SpellingKind::Name {
                    owner.entry = None;
                }
            }
        }
    }

    /// Returns the entry that a mention in a review stands for, as [`Names::entry_of_mention`] will; adds one if there is
    /// none.
    pub fn entry_of_mention_or_new(&mut self, mention: &str) -> u32 {
        let owner = self.by_mention.get(&comparable(mention));
        match owner.and_then(|owner| owner.entry) {
            Some(entry) => entry,
            None => self.add_entry(mention),
        }
    }

    /// Sorts the spellings.
    pub fn finish(self) -> Names {
        let mut names = self.names;
        names.spellings.sort_unstable();
        names.spellings.dedup();
        for (number, spelling) in (0..).zip(&names.spellings) {
            if !spelling.is_derived() {
                for word in words(&spelling.folded) {
                    names.by_word.entry(word.into()).or_default().push(number);
                }
            }
        }
        for numbers in names.by_word.values_mut() {
            numbers.sort_by_key(|number| names.spellings[*number as usize].entry);
            numbers.dedup();
        }
        names
    }
}

impl Spelling {
    /// Tells whether the spelling was made from a name, and is not one that the operator wrote.
    fn is_derived(&self) -> bool {
        matches!(self.kind, SpellingKind::Untitled | SpellingKind::Surname)
    }
}

/// A folded name, divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TitledName<'n> {
    /// The titles before the name, as they are written; empty if there are none.
    pub(super) titles: &'n str,
    /// The name without titles before it and degrees or honorifics after it; never empty, unless the name is.
    pub(super) rest: &'n str,
}

impl<'n> TitledName<'n> {
    /// Divides a folded name. A title is never the whole name.
    pub(super) fn parse(name: &'n str) -> TitledName<'n> {
        let mut rest = name;
        while let Some(after) = after_title(rest) {
            rest = after;
        }
        let titles = name[..name.len() - rest.len()].trim_end();
        while let Some(before) = before_degree(rest) {
            rest = before;
        }
        TitledName { titles, rest }
    }
}

/// Returns what follows the title at the beginning of `name`, if it begins with one.
fn after_title(name: &str) -> Option<&str> {
    let (word, after) = name.split_once(' ').unwrap_or((name, ""));
    if is_title(word.trim_end_matches('.')) && !after.is_empty() {
        return Some(after);
    }
    // "Dr.Weber", "Dr.med. Weber".
    let (title, after) = name.split_once('.')?;
    if !is_title(title) || after.trim().is_empty() {
        return None;
    }
    Some(after)
}

/// Returns what precedes the degree or honorific at the end of `name`, if it ends with one.
fn before_degree(name: &str) -> Option<&str> {
    for honorific in HONORIFICS {
        let before = name.strip_suffix(honorific).map(str::trim_end);
        if let Some(before) = before.filter(|before| !before.is_empty()) {
            return Some(before);
        }
    }
    let (before, word) = name.rsplit_once([' ', ','])?;
    let before = before.trim_end_matches([' ', ',']);
    if !is_one_of(DEGREES, word) || before.is_empty() {
        return None;
    }
    Some(before)
}

/// Returns the last word of a folded name that has several words or titles before it, without degrees and suffixes such
/// as "Jr.".
pub(super) fn surname(name: &str) -> Option<&str> {
    let TitledName { titles, rest } = TitledName::parse(name);
    let mut words: Vec<&str> = rest
        .split(' ')
        .map(|word| word.trim_end_matches(','))
        .collect();
    while words.len() > 1
        && words
            .last()
            .is_some_and(|last| is_one_of(GENERATIONS, last))
    {
        words.pop();
    }
    if words.len() == 1 && titles.is_empty() {
        return None;
    }
    words.pop().filter(|word| !word.is_empty())
}

/// Tells whether a word, written with or without full stops, is one of `list`.
fn is_one_of(list: &[&str], word: &str) -> bool {
    let without_stops = word.chars().filter(|character| *character != '.');
    list.iter()
        .any(|listed| without_stops.clone().eq(listed.chars()))
}

/// Tells whether a folded word without a full stop at its end is a title before a name, such as "dr".
pub fn is_title(word: &str) -> bool {
    TITLES.binary_search(&word).is_ok()
}

/// Returns the titles that stand directly before the byte `end` of a text in [`comparable`] form; empty if there are none.
pub(super) fn titles_before(text: &str, end: usize) -> &str {
    let mut start = end;
    loop {
        let before = text[..start].trim_end_matches(' ');
        if before.len() == start && !before.ends_with('.') {
            break;
        }
        let word = last_bytes(before, TITLE_BYTES_MAX + 4)
            .rsplit(' ')
            .next()
            .unwrap_or_default()
            .trim_start_matches(|sign: char| !sign.is_alphanumeric());
        let title = word.trim_end_matches('.');
        if is_title(title) {
            start = before.len() - word.len();
            continue;
        }
        // The last of "dr.med."; the stop after it belongs to the titles.
        let last = title.rsplit('.').next().unwrap_or_default();
        if !is_title(last) || last.len() == title.len() {
            break;
        }
        let stops = word.len() - title.len();
        start = before.len() - stops - last.len();
    }
    &text[start..end]
}

/// Returns the end of `text`: at most `bytes_max` bytes of whole characters.
fn last_bytes(text: &str, bytes_max: usize) -> &str {
    let mut start = text.len().saturating_sub(bytes_max);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    &text[start..]
}

/// Returns the only one of `entries`, or the only one for whom `bears_title` is true.
pub(super) fn sole<N: Copy>(entries: &[N], bears_title: impl Fn(N) -> bool) -> Option<N> {
    if let [entry] = entries {
        return Some(*entry);
    }
    let mut bearers = entries.iter().filter(|entry| bears_title(**entry));
    let first = bearers.next()?;
    match bearers.next() {
        None => Some(*first),
        Some(_) => None,
    }
}

/// Tells whether two lists of titles have a title in common, written with or without full stops.
pub(super) fn share_word(titles: &str, others: &str) -> bool {
    words(titles).any(|title| words(others).any(|other| title == other))
}

/// Tells whether a folded name has all words of `asked`.
fn has_words(name: &str, asked: &str) -> bool {
    words(asked).all(|one| words(name).any(|word| word == one))
}

/// Returns the words of a folded name: its letters and digits.
pub fn words(name: &str) -> impl Iterator<Item = &str> {
    let parts = name.split(|character: char| !character.is_alphanumeric());
    parts.filter(|word| !word.is_empty())
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
