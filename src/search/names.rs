//! Maps names of technicians, services, aspects, languages and sources to the reviews that have them.

use crate::model::insights::{Aspect, Polarity};
use crate::model::{Review, Row, Taxonomy};
use crate::search::fold::fold;
use crate::search::rows::RowSet;
use crate::search::work::{NAME, Work};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Why a name does not identify an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrongName<'i> {
    /// The problem in words for people: lower case, without the name, no full stop.
    pub problem: String,
    /// The entries with a name that contains it, or else those with the most similar names, most similar first: at most
    /// [`NAMES_MAX`]. Empty only if there are no entries.
    pub names: Vec<&'i str>,
    /// Whether no entry has the name or contains it; otherwise several do.
    pub is_unknown: bool,
}

/// Largest number of names in a [`WrongName`].
pub const NAMES_MAX: usize = 5;

/// The rows of each folded name.
#[derive(Clone, Debug, Default)]
pub(super) struct NameRows {
    /// Sorted by the folded name.
    keys: Vec<Key>,
    /// NameRows or ids as they are published, each with its rows.
    entries: Vec<(Box<str>, RowSet)>,
    /// The entries with a name that contains each word.
    by_word: BTreeMap<Box<str>, Vec<u32>>,
}

/// A name of one or more entries.
#[derive(Clone, Debug)]
struct Key {
    folded: Box<str>,
    entries: Box<[u32]>,
    /// The rows of all entries, if there are several.
    union: Option<RowSet>,
}

/// Entries by name or id, each with its other names.
type Entries<'a> = Vec<(&'a str, Vec<&'a str>)>;

impl NameRows {
    /// Collects the `names` of each review; `known` has the entries that have further names.
    pub(super) fn of<'a, N: IntoIterator<Item = &'a str>>(
        reviews: &'a [Review],
        known: Entries<'a>,
        names: impl Fn(&'a Review) -> N,
    ) -> NameRows {
        let rows = (0..).zip(reviews);
        let mentions =
            rows.flat_map(|(row, review)| names(review).into_iter().map(move |name| (row, name)));
        NameRows::build(known, mentions, reviews.len() as u32)
    }

    /// Builds the sets of rows from `mentions` (rows and names), out of `total` rows.
    fn build<'a>(
        known: Entries<'a>,
        mentions: impl Iterator<Item = (u32, &'a str)>,
        total: u32,
    ) -> NameRows {
        let mut numbers: HashMap<&str, usize> = HashMap::new();
        let mut entries: Vec<(&str, Vec<u32>)> = Vec::new();
        let mut keys: BTreeMap<String, BTreeSet<u32>> = BTreeMap::new();
        let mut add_key = |name: &str, number: usize| {
            keys.entry(fold(name)).or_default().insert(number as u32);
        };
        let mut number_of = |name: &'a str, others: Vec<&str>, row: Option<u32>| {
            let number = *numbers.entry(name).or_insert(entries.len());
            if number == entries.len() {
                entries.push((name, Vec::new()));
                add_key(name, number);
            }
            others.into_iter().for_each(|other| add_key(other, number));
            entries[number].1.extend(row);
        };
        for (name, others) in known {
            number_of(name, others, None);
        }
        for (row, name) in mentions {
            number_of(name, Vec::new(), Some(row));
        }
        for (_, rows) in &mut entries {
            rows.sort_unstable();
            rows.dedup();
        }
        let union_of = |numbers: &BTreeSet<u32>| {
            let of_each = numbers
                .iter()
                .flat_map(|number| &entries[*number as usize].1);
            let all: BTreeSet<u32> = of_each.copied().collect();
            RowSet::new(all.into_iter().collect(), total)
        };
        let key = |(folded, numbers): (String, BTreeSet<u32>)| Key {
            folded: folded.into(),
            union: (numbers.len() > 1).then(|| union_of(&numbers)),
            entries: numbers.into_iter().collect(),
        };
        let keys: Vec<Key> = keys.into_iter().map(key).collect();
        let mut by_word: BTreeMap<Box<str>, Vec<u32>> = BTreeMap::new();
        for key in &keys {
            for word in words(&key.folded) {
                by_word.entry(word.into()).or_default().extend(&key.entries);
            }
        }
        for entries in by_word.values_mut() {
            entries.sort_unstable();
            entries.dedup();
        }
        let entries = entries.into_iter();
        let entries = entries.map(|(name, rows)| (name.into(), RowSet::new(rows, total)));
        NameRows {
            keys,
            entries: entries.collect(),
            by_word,
        }
    }

    /// Returns the rows of the folded `name`, which is the whole name of an entry; `None` if there is no such entry.
    pub(super) fn rows_of_whole(&self, name: &str) -> Option<&RowSet> {
        let key = self.key(name)?;
        match key.entries[..] {
            [entry] => Some(&self.entries[entry as usize].1),
            _ => key.union.as_ref(),
        }
    }

    /// Returns the rows of the folded `name`, or of the only entry that it is a part of.
    pub(super) fn rows(&self, name: &str, work: &mut Work) -> Option<&RowSet> {
        if let Some(rows) = self.rows_of_whole(name) {
            return Some(rows);
        }
        match self.entries_with(name, work)[..] {
            [entry] => Some(&self.entries[entry as usize].1),
            _ => None,
        }
    }

    /// Returns the entry that the folded `name` identifies: by its whole name (the first entry if several share it), or
    /// by words of its names in any order. Linear in the number of names; spelling is compared with the first 2,000, as
    /// long as `work` is left.
    ///
    /// # Errors
    /// No entry, or several.
    pub(super) fn resolve(&self, name: &str, work: &mut Work) -> Result<&str, WrongName<'_>> {
        let published = |entry: &u32| &*self.entries[*entry as usize].0;
        if let Some(entry) = self.key(name).and_then(|key| key.entries.first()) {
            return Ok(published(entry));
        }
        let found = self.entries_with(name, work);
        if let [entry] = &found[..] {
            return Ok(published(entry));
        }
        let is_unknown = found.is_empty();
        let entries = if is_unknown {
            self.nearest(name, work)
        } else {
            found
        };
        let names: Vec<&str> = entries.iter().take(NAMES_MAX).map(published).collect();
        let problem = match (is_unknown, names.is_empty()) {
            (true, true) if self.entries.is_empty() => {
                "is unknown: no review has a value".to_owned()
            }
            (true, true) => "is unknown".to_owned(),
            (true, false) => format!("is unknown; the nearest: {}", names.join(", ")),
            (false, _) => format!("may mean {}", names.join(" or ")),
        };
        Err(WrongName {
            problem,
            names,
            is_unknown,
        })
    }

    /// Calls `each` with the rows that mention an entry with a name that contains the folded `word`; a row may come
    /// several times.
    pub(super) fn each_row_with_word(&self, word: &str, mut each: impl FnMut(u32)) {
        for entry in self.by_word.get(word).into_iter().flatten() {
            self.entries[*entry as usize].1.each_row(&mut each);
        }
    }

    fn key(&self, name: &str) -> Option<&Key> {
        let at = self.keys.binary_search_by(|key| (*key.folded).cmp(name));
        self.keys.get(at.ok()?)
    }

    /// Returns the entries with a name that contains all words of `name`, or else all except its titles, ascending.
    fn entries_with(&self, name: &str, work: &mut Work) -> Vec<u32> {
        work.spend(self.keys.len() as u64 * NAME);
        let all = words(name).collect();
        let untitled = words(name).filter(is_no_title).collect();
        let mut found = BTreeSet::new();
        for asked in [all, untitled] as [Vec<&str>; 2] {
            let holds =
                |key: &&Key| (asked.iter()).all(|one| words(&key.folded).any(|word| word == *one));
            if found.is_empty() && !asked.is_empty() {
                let keys = self.keys.iter().filter(holds);
                found.extend(keys.flat_map(|key| key.entries.iter().copied()));
            }
        }
        found.into_iter().collect()
    }

    /// Returns the entries whose name or a word of it is most similar to `name` or a word of that; only those from
    /// [`LIKENESS_MIN`] on, if there are any. None if `work` does not suffice to compare all.
    fn nearest(&self, name: &str, work: &mut Work) -> Vec<u32> {
        let asked: String = name.chars().take(NAME_CHARS_COMPARED).collect();
        let asked: Vec<&str> = parts(&asked).take(PARTS_COMPARED).collect();
        let mut near: Vec<(f64, u32)> = Vec::new();
        let keys = self.keys.iter().filter(|key| !key.folded.is_empty());
        for key in keys.take(NAMES_COMPARED) {
            if work.is_spent() {
                return Vec::new();
            }
            work.spend(likeness_work(&asked, &key.folded));
            let pairs =
                parts(&key.folded).flat_map(|part| asked.iter().map(move |asked| (*asked, part)));
            let likeness = pairs.map(|(asked, part)| strsim::jaro_winkler(asked, part));
            let likeness = likeness.fold(0.0, f64::max);
            near.extend(key.entries.iter().map(|entry| (likeness, *entry)));
        }
        near.sort_by(|left, right| right.0.total_cmp(&left.0).then(left.1.cmp(&right.1)));
        if near.first().is_some_and(|best| best.0 >= LIKENESS_MIN) {
            near.retain(|(likeness, _)| *likeness >= LIKENESS_MIN);
        }
        let mut entries: Vec<u32> = Vec::new();
        for (_, entry) in near {
            if entries.len() < NAMES_MAX && !entries.contains(&entry) {
                entries.push(entry);
            }
        }
        entries
    }
}

/// Returns the work to compare the parts of two names: each character of one with each of the other, for the whole name
/// and again for its words.
fn likeness_work(asked: &[&str], name: &str) -> u64 {
    let asked: usize = asked.iter().map(|part| part.len()).sum();
    NAME + (asked * name.len()) as u64
}

/// Limits of the comparison with an unknown name, which bound the time of a hint.
const NAMES_COMPARED: usize = 2_000;
const NAME_CHARS_COMPARED: usize = 64;
const PARTS_COMPARED: usize = 5;

/// Jaro-Winkler similarity from which a name is similar to an unknown one.
const LIKENESS_MIN: f64 = 0.75;

/// Folded titles that a request may add to a name.
const TITLES: &str = " mr mrs ms miss mx dr prof professor attorney counselor herr frau sr sra srta senor senora senorita \
don dona licenciado licenciada abogado abogada ";

fn is_no_title(word: &&str) -> bool {
    !TITLES.split(' ').any(|title| title == *word)
}

fn words(name: &str) -> impl Iterator<Item = &str> {
    let parts = name.split(|character: char| !character.is_alphanumeric());
    parts.filter(|word| !word.is_empty())
}

/// Returns the parts of a name that are compared: the whole name, and its words of three bytes or more without titles.
/// The O of "O'Neill" would be similar to every name that begins with it.
fn parts(name: &str) -> impl Iterator<Item = &str> {
    let long = words(name).filter(|word| word.len() > 2);
    [name].into_iter().chain(long.filter(is_no_title))
}

/// The reviews that mention each aspect of the insights: all, and those of each polarity.
#[derive(Clone, Debug)]
pub(super) struct Aspects([NameRows; 4]);

impl Aspects {
    /// Collects the rows that mention each of `aspects`, by id, label or a phrase of the taxonomy.
    pub(super) fn of(aspects: &[Aspect], taxonomy: &Taxonomy, total: u32) -> Aspects {
        let [first, second, third] = Polarity::ALL.map(Some);
        Aspects([None, first, second, third].map(|polarity| {
            let known = aspects.iter().map(|aspect| {
                let concepts = taxonomy.aspects.iter();
                let concept = concepts.filter(|concept| concept.id == aspect.id);
                let phrases =
                    concept.flat_map(|concept| concept.phrases.iter().map(String::as_str));
                let names = [&*aspect.label].into_iter().chain(phrases);
                (&*aspect.id, names.collect())
            });
            let mentions = aspects.iter().flat_map(|aspect| {
                let rows = match polarity {
                    None => &aspect.rows,
                    Some(polarity) => &aspect.rows_by_polarity[polarity as usize],
                };
                let names = |row: &Row| [(row.0, &*aspect.id), (row.0, ANY)];
                rows.iter().flat_map(names)
            });
            NameRows::build(known.collect(), mentions, total)
        }))
    }

    /// Returns the aspect that the folded `name` identifies, as [`NameRows::resolve`] does.
    pub(super) fn resolve(&self, name: &str, work: &mut Work) -> Result<&str, WrongName<'_>> {
        self.0[0].resolve(name, work)
    }

    /// Returns the aspects with the reviews that mention them, whatever they say.
    pub(super) fn of_any_polarity(&self) -> &NameRows {
        &self.0[0]
    }

    /// Returns the rows that mention the folded `aspect`, or any, with `polarity`, or any.
    pub(super) fn rows(
        &self,
        aspect: Option<&str>,
        polarity: Option<Polarity>,
        work: &mut Work,
    ) -> Option<&RowSet> {
        let names = &self.0[polarity.map_or(0, |polarity| polarity as usize + 1)];
        names.rows(aspect.unwrap_or(ANY), work)
    }
}

/// The entry of the reviews that mention any aspect; no request can name it.
const ANY: &str = "";
