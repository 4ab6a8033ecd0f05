//! Which reviews belong to a name: technicians, services, aspects, languages and sources.

use crate::model::insights::{Aspect, Polarity};
use crate::model::{Review, Taxonomy};
use crate::search::fold::fold_into;
use crate::search::rows::RowSet;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// What a name stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NameMatch<'i> {
    /// One entry, by its published name or id.
    Unique(&'i str),
    /// A part of the names of several entries: at most [`NAMES_MAX`] of them.
    Ambiguous(Vec<&'i str>),
    /// No entry; the nearest ones by spelling, at most [`NAMES_MAX`], the nearest first.
    Unknown(Vec<&'i str>),
}

/// Most names that a [`NameMatch`] lists.
pub const NAMES_MAX: usize = 5;

/// The rows that each folded name stands for.
#[derive(Clone, Debug, Default)]
pub(in crate::search) struct Names {
    /// Sorted by the folded name.
    keys: Vec<Key>,
    /// Names or ids as they are published, each with its rows.
    entries: Vec<(Box<str>, RowSet)>,
}

/// A name by which one or more entries go.
#[derive(Clone, Debug)]
struct Key {
    folded: Box<str>,
    entries: Box<[u32]>,
    /// The rows of all entries, where there are several.
    union: Option<RowSet>,
}

impl Names {
    /// Collects who is mentioned: by name or alias.
    pub(in crate::search) fn of_technicians(reviews: &[Review], taxonomy: &Taxonomy) -> Names {
        let known = taxonomy.technicians.iter();
        let known = known.map(|one| {
            let aliases = one.aliases.iter().map(String::as_str);
            (one.name.as_str(), aliases.collect())
        });
        let mentions = rows_of(reviews, |review| {
            review.mentioned_technicians.iter().map(String::as_str)
        });
        Names::build(known, mentions, reviews.len() as u32)
    }

    /// Collects what is mentioned: by id or label.
    pub(in crate::search) fn of_services(reviews: &[Review], taxonomy: &Taxonomy) -> Names {
        let known = taxonomy.services.iter();
        let known = known.map(|service| (&*service.id, vec![&*service.label]));
        let mentions = rows_of(reviews, |review| {
            review.mentioned_services.iter().map(String::as_str)
        });
        Names::build(known, mentions, reviews.len() as u32)
    }

    /// Collects languages: by tag, and by the language of a tag with more parts.
    pub(in crate::search) fn of_languages(reviews: &[Review]) -> Names {
        let mentions = rows_of(reviews, |review| {
            let tag = review.language.as_deref();
            let language = tag.and_then(|tag| tag.split_once('-'));
            tag.into_iter()
                .chain(language.map(|(language, _)| language))
        });
        Names::build(std::iter::empty(), mentions, reviews.len() as u32)
    }

    /// Collects where reviews were left.
    pub(in crate::search) fn of_sources(reviews: &[Review]) -> Names {
        let mentions = rows_of(reviews, |review| [&*review.source]);
        Names::build(std::iter::empty(), mentions, reviews.len() as u32)
    }

    /// Collects whether the owner has replied, by the words `true` and `false`.
    pub(in crate::search) fn of_replies(reviews: &[Review]) -> Names {
        let mentions = rows_of(reviews, |review| [reply_key(review.owner_reply.is_some())]);
        Names::build(std::iter::empty(), mentions, reviews.len() as u32)
    }

    /// Makes sets of `mentions`, rows and names; `known` are the entries with their other names.
    fn build<'a>(
        known: impl Iterator<Item = (&'a str, Vec<&'a str>)>,
        mentions: impl Iterator<Item = (u32, &'a str)>,
        total: u32,
    ) -> Names {
        let mut numbers: HashMap<&str, u32> = HashMap::new();
        let mut mains: Vec<&str> = Vec::new();
        let mut keys: BTreeMap<String, BTreeSet<u32>> = BTreeMap::new();
        let mut number_of = |main: &'a str, others: Vec<&'a str>| {
            let number = *numbers.entry(main).or_insert(mains.len() as u32);
            let is_new = number as usize == mains.len();
            if is_new {
                mains.push(main);
            }
            let main = is_new.then_some(main);
            for name in main.into_iter().chain(others) {
                let mut folded = String::new();
                fold_into(name, &mut folded);
                keys.entry(folded).or_default().insert(number);
            }
            number
        };
        for (main, others) in known {
            number_of(main, others);
        }
        let mut rows: Vec<Vec<u32>> = Vec::new();
        for (row, name) in mentions {
            let number = number_of(name, Vec::new()) as usize;
            if rows.len() <= number {
                rows.resize(number + 1, Vec::new());
            }
            rows[number].push(row);
        }
        rows.resize(mains.len(), Vec::new());
        for rows in &mut rows {
            rows.sort_unstable();
            rows.dedup();
        }
        let union_of = |entries: &BTreeSet<u32>| {
            let of_each = entries.iter().flat_map(|number| &rows[*number as usize]);
            let all: BTreeSet<u32> = of_each.copied().collect();
            RowSet::new(all.into_iter().collect(), total)
        };
        let key = |(folded, entries): (String, BTreeSet<u32>)| Key {
            folded: folded.into(),
            union: (entries.len() > 1).then(|| union_of(&entries)),
            entries: entries.into_iter().collect(),
        };
        let keys = keys.into_iter().map(key).collect();
        let entries = mains.into_iter().zip(rows);
        let entries = entries.map(|(main, rows)| (main.into(), RowSet::new(rows, total)));
        Names {
            keys,
            entries: entries.collect(),
        }
    }

    /// Returns the rows of the folded `name`, which is the whole name of an entry; `None` where none goes by it.
    pub(in crate::search) fn rows_of_whole(&self, name: &str) -> Option<&RowSet> {
        let key = self.key(name)?;
        match key.entries[..] {
            [entry] => Some(&self.entries[entry as usize].1),
            _ => key.union.as_ref(),
        }
    }

    /// Returns the rows of the folded `name`, or of the only entry that it is a part of.
    pub(in crate::search) fn rows(&self, name: &str) -> Option<&RowSet> {
        self.rows_of_whole(name)
            .or_else(|| match self.entries_with(name)[..] {
                [entry] => Some(&self.entries[entry as usize].1),
                _ => None,
            })
    }

    /// Tells what the folded `name` stands for: an entry's whole name, of several that share one the first, or words of
    /// an entry's names in any order. Linear in the number of names; spelling is compared with the first 2,000.
    pub(in crate::search) fn resolve(&self, name: &str) -> NameMatch<'_> {
        let published = |entry: &u32| &*self.entries[*entry as usize].0;
        if let Some(entry) = self.key(name).and_then(|key| key.entries.first()) {
            return NameMatch::Unique(published(entry));
        }
        let found = self.entries_with(name);
        match &found[..] {
            [entry] => NameMatch::Unique(published(entry)),
            [] => NameMatch::Unknown(self.nearest(name).iter().map(published).collect()),
            several => {
                NameMatch::Ambiguous(several.iter().take(NAMES_MAX).map(published).collect())
            }
        }
    }

    fn key(&self, name: &str) -> Option<&Key> {
        let at = self.keys.binary_search_by(|key| (*key.folded).cmp(name));
        self.keys.get(at.ok()?)
    }

    /// Returns the entries with a name that holds all words of `name`, ascending.
    fn entries_with(&self, name: &str) -> Vec<u32> {
        let mut found = BTreeSet::new();
        if words(name).next().is_some() {
            let holds =
                |key: &&Key| words(name).all(|asked| words(&key.folded).any(|word| word == asked));
            for key in self.keys.iter().filter(holds) {
                found.extend(key.entries.iter().copied());
            }
        }
        found.into_iter().collect()
    }

    /// Returns the entries with the names, or words of names, that are spelt most like `name`.
    fn nearest(&self, name: &str) -> Vec<u32> {
        let asked: String = name.chars().take(NAME_CHARS_COMPARED).collect();
        let likeness = |key: &Key| {
            // A letter alone, as in "O'Neill", is like every name that begins with it.
            let parts = words(&key.folded).filter(|word| word.len() > 2);
            let parts = parts.chain([&*key.folded]);
            let likeness = parts.map(|part| strsim::jaro_winkler(&asked, part));
            likeness.fold(0.0, f64::max)
        };
        let mut near: Vec<(f64, u32)> = Vec::new();
        for key in self.keys.iter().take(NAMES_COMPARED) {
            let likeness = likeness(key);
            if likeness >= LIKENESS_MIN {
                near.extend(key.entries.iter().map(|entry| (likeness, *entry)));
            }
        }
        near.sort_by(|left, right| right.0.total_cmp(&left.0).then(left.1.cmp(&right.1)));
        let mut entries: Vec<u32> = Vec::new();
        for (_, entry) in near {
            if entries.len() < NAMES_MAX && !entries.contains(&entry) {
                entries.push(entry);
            }
        }
        entries
    }

    /// Returns the bytes that the sets take.
    pub(in crate::search) fn memory(&self) -> u64 {
        let unions = self.keys.iter().filter_map(|key| key.union.as_ref());
        let sets = self.entries.iter().map(|(_, rows)| rows).chain(unions);
        sets.map(RowSet::bytes).sum()
    }
}

/// Names whose spelling is compared with an unknown one, and how much of that: bounds the time of a hint.
const NAMES_COMPARED: usize = 2_000;
const NAME_CHARS_COMPARED: usize = 64;

/// Least Jaro-Winkler similarity of a name that is offered instead of an unknown one.
const LIKENESS_MIN: f64 = 0.75;

fn words(name: &str) -> impl Iterator<Item = &str> {
    let parts = name.split(|character: char| !character.is_alphanumeric());
    parts.filter(|word| !word.is_empty())
}

fn rows_of<'a, N: IntoIterator<Item = &'a str>>(
    reviews: &'a [Review],
    names: impl Fn(&'a Review) -> N,
) -> impl Iterator<Item = (u32, &'a str)> {
    let rows = (0..).zip(reviews);
    rows.flat_map(move |(row, review)| names(review).into_iter().map(move |name| (row, name)))
}

/// Returns the name of the reviews with or without a reply.
pub(in crate::search) fn reply_key(has_reply: bool) -> &'static str {
    if has_reply { "true" } else { "false" }
}

/// The reviews that mention each aspect of the insights, all and by polarity.
#[derive(Clone, Debug)]
pub(in crate::search) struct Aspects {
    pub(in crate::search) all: Names,
    by_polarity: [Names; 3],
}

impl Aspects {
    /// Collects who mentions each of `aspects`: by id, label or a phrase of the taxonomy.
    pub(in crate::search) fn of(aspects: &[Aspect], taxonomy: &Taxonomy, total: u32) -> Aspects {
        let names = |aspect| names_of_aspect(aspect, taxonomy);
        let known = || aspects.iter().map(names).chain([(ANY, Vec::new())]);
        let all = aspects.iter().flat_map(|aspect| {
            let rows = aspect.rows.iter();
            rows.map(move |row| (row.0, &*aspect.id))
        });
        Aspects {
            all: Names::build(aspects.iter().map(names), all, total),
            by_polarity: Polarity::ALL.map(|polarity| {
                let mentions = aspects.iter().flat_map(|aspect| {
                    let rows = aspect.rows_by_polarity[polarity as usize].iter();
                    rows.flat_map(move |row| [(row.0, &*aspect.id), (row.0, ANY)])
                });
                Names::build(known(), mentions, total)
            }),
        }
    }

    /// Returns the rows that mention the folded `aspect`, or any, with `polarity`, or any.
    pub(in crate::search) fn rows(
        &self,
        aspect: Option<&str>,
        polarity: Option<Polarity>,
    ) -> Option<&RowSet> {
        match polarity {
            None => self.all.rows(aspect?),
            Some(polarity) => self.by_polarity[polarity as usize].rows(aspect.unwrap_or(ANY)),
        }
    }

    /// Returns the bytes that the sets take.
    pub(in crate::search) fn memory(&self) -> u64 {
        self.all.memory() + self.by_polarity.iter().map(Names::memory).sum::<u64>()
    }
}

/// The entry of the reviews that mention any aspect; no request can name it.
const ANY: &str = "";

fn names_of_aspect<'a>(aspect: &'a Aspect, taxonomy: &'a Taxonomy) -> (&'a str, Vec<&'a str>) {
    let concepts = taxonomy.aspects.iter();
    let concept = concepts.filter(|concept| concept.id == aspect.id);
    let phrases = concept.flat_map(|concept| concept.phrases.iter().map(String::as_str));
    (
        &aspect.id,
        [&*aspect.label].into_iter().chain(phrases).collect(),
    )
}
