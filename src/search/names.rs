//! Which reviews mention a person, a service or an aspect, and which have a language or a source. Each is found by all of
//! its names.
//!
//! What a name means is decided by [`Names`], for REST, MCP and pages alike.

use std::collections::HashMap;
use std::ops::Range;

use crate::dataset::names::{
    Meaning, NameMatch, Names, NamesBuilder, SpellingKind, is_title, words,
};
use crate::model::insights::{Aspect, ByPolarity, Polarity};
use crate::model::{Review, Row, Taxonomy};
use crate::search::filter::TERMS_MAX;
use crate::search::fold::fold;
use crate::search::rows::RowSet;
use crate::search::work::{NAME, Work};

/// Largest number of names in a [`WrongName`].
pub const NAMES_MAX: usize = 5;

/// Most names that an unknown one is compared with; like the next two limits, it bounds the time of a hint.
const NAMES_COMPARED: usize = 2_000;
/// Characters of the unknown name that are compared.
const NAME_CHARS_COMPARED: usize = 64;
/// Most parts of the unknown name that are compared.
const PARTS_COMPARED: usize = 5;

/// Jaro-Winkler similarity from which a name is similar to an unknown one.
const LIKENESS_MIN: f64 = 0.75;

/// What a name in a request means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResolvedName<'i> {
    /// The published name or id of the entry.
    pub name: &'i str,
    /// What the matching text is to the entry.
    pub kind: SpellingKind,
    /// The name, alias, label or phrase that matches, as the operator wrote it.
    pub spelling: &'i str,
}

/// Why a name does not identify an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrongName<'i> {
    /// The problem in words for people: lower case, without the name, no full stop.
    pub problem: String,
    /// The entries with a name that contains it, or else those with a similar name, most similar first, or else the first
    /// ones: at most [`NAMES_MAX`]; `problem` says which. Empty only if there are no entries.
    pub names: Vec<&'i str>,
    /// Whether no entry has the name or contains it; otherwise several do.
    pub is_unknown: bool,
}

/// Entries of one kind with the rows that mention them.
#[derive(Clone, Debug, Default)]
pub(super) struct NameRows {
    names: Names,
    /// The rows of each entry, by its number.
    rows: Vec<RowSet>,
}

impl NameRows {
    /// Finds the entry of each mention that `mentions` returns of a review; one that is not listed is an entry of its own.
    pub(super) fn of<'r, N: IntoIterator<Item = &'r str>>(
        reviews: &'r [Review],
        listed: NamesBuilder,
        mentions: impl Fn(&'r Review) -> N,
    ) -> NameRows {
        let mut names = listed;
        let mut numbers: HashMap<&str, u32> = HashMap::new();
        let mut rows_of: Vec<Vec<u32>> = Vec::new();
        for (row, review) in (0..).zip(reviews) {
            for mention in mentions(review) {
                let number = numbers.entry(mention);
                let entry =
                    *number.or_insert_with(|| names.entry_of_mention_or_new(mention)) as usize;
                if rows_of.len() <= entry {
                    rows_of.resize(entry + 1, Vec::new());
                }
                rows_of[entry].push(row);
            }
        }
        let names = names.finish();
        rows_of.resize(names.len(), Vec::new());
        let mut rows = Vec::new();
        for mut of_entry in rows_of {
            of_entry.dedup();
            rows.push(RowSet::new(of_entry, reviews.len() as u32));
        }
        NameRows { names, rows }
    }

    /// Returns the rows of the entry whose name, alias or phrase is the folded `name`.
    pub(super) fn rows_of_whole(&self, name: &str) -> Option<&RowSet> {
        match self.names.find_whole(name) {
            Meaning::One(found) => Some(&self.rows[found.entry as usize]),
            Meaning::Several(_) | Meaning::Unknown => None,
        }
    }

    /// Returns the rows of the only entry that the folded `name` means.
    pub(super) fn rows(&self, name: &str, work: &mut Work) -> Option<&RowSet> {
        match self.find(name, work) {
            Meaning::One(found) => Some(&self.rows[found.entry as usize]),
            Meaning::Several(_) | Meaning::Unknown => None,
        }
    }

    /// Returns the entry that the folded `name` means. Spelling is compared with the first 2,000 names, as long as `work`
    /// is left. `kind` is what the entries are called in a message, such as "people".
    ///
    /// # Errors
    /// No entry, or several.
    pub(super) fn resolve(
        &self,
        name: &str,
        kind: &str,
        work: &mut Work,
    ) -> Result<ResolvedName<'_>, WrongName<'_>> {
        match self.find(name, work) {
            Meaning::One(found) => Ok(ResolvedName {
                name: self.names.name(found.entry),
                kind: found.kind,
                spelling: found.spelling,
            }),
            Meaning::Several(entries) => {
                let names = self.published(&entries);
                Err(WrongName {
                    problem: format!("may mean {}", names.join(" or ")),
                    names,
                    is_unknown: false,
                })
            }
            Meaning::Unknown => Err(self.unknown(name, kind, work)),
        }
    }

    /// Returns what is said of the folded `name` that no entry has: similar names, or else what names there are.
    fn unknown(&self, name: &str, kind: &str, work: &mut Work) -> WrongName<'_> {
        let similar = self.published(&self.similar(name, work));
        if !similar.is_empty() {
            return WrongName {
                problem: format!("is unknown; similar names: {}", similar.join(", ")),
                names: similar,
                is_unknown: true,
            };
        }
        let first: Vec<u32> = (0..self.names.len() as u32).take(NAMES_MAX).collect();
        let known = self.published(&first);
        let more = self.names.len() - known.len();
        let problem = if known.is_empty() {
            "is unknown: no review has a value".to_owned()
        } else if more == 0 {
            format!("is unknown; known {kind}: {}", known.join(", "))
        } else {
            format!(
                "is unknown; known {kind}: {}, and {more} more",
                known.join(", ")
            )
        };
        WrongName {
            problem,
            names: known,
            is_unknown: true,
        }
    }

    /// Calls `each` with the rows that mention an entry with a name that contains the folded `word`; a row may come
    /// several times.
    pub(super) fn each_row_with_word(&self, word: &str, mut each: impl FnMut(u32)) {
        for entry in self.names.entries_with_word(word) {
            self.rows[entry as usize].each_row(&mut each);
        }
    }

    fn find(&self, name: &str, work: &mut Work) -> Meaning<'_> {
        let whole = self.names.find_whole(name);
        if whole != Meaning::Unknown {
            return whole;
        }
        work.spend(self.names.comparisons_max(name) as u64 * NAME);
        self.names.find(name)
    }

    fn published(&self, entries: &[u32]) -> Vec<&str> {
        let entries = entries.iter().take(NAMES_MAX);
        entries.map(|entry| self.names.name(*entry)).collect()
    }

    /// Returns the entries with a spelling, or a word of one, that is similar to `name` or a word of that, most similar
    /// first: at most [`NAMES_MAX`], and only of those that are compared before `work` is spent.
    fn similar(&self, name: &str, work: &mut Work) -> Vec<u32> {
        let asked: String = name.chars().take(NAME_CHARS_COMPARED).collect();
        let asked: Vec<AskedPart<'_>> = parts(&asked)
            .take(PARTS_COMPARED)
            .map(AskedPart::of)
            .collect();
        let mut near: Vec<Likeness> = Vec::new();
        for (spelling, entry) in self.names.spellings().take(NAMES_COMPARED) {
            if work.is_spent() {
                break;
            }
            work.spend(likeness_work(&asked, spelling));
            let likeness = likeness(&asked, spelling);
            if likeness >= LIKENESS_MIN {
                near.push(Likeness { entry, likeness });
            }
        }
        near.sort_by(|left, right| {
            let by_likeness = right.likeness.total_cmp(&left.likeness);
            by_likeness.then(left.entry.cmp(&right.entry))
        });
        let mut entries: Vec<u32> = Vec::new();
        for Likeness { entry, .. } in near {
            if entries.len() < NAMES_MAX && !entries.contains(&entry) {
                entries.push(entry);
            }
        }
        entries
    }
}

/// How similar an entry is to an unknown name, from 0 to 1.
struct Likeness {
    entry: u32,
    likeness: f64,
}

/// A part of an unknown name, with the counts that show quickly which names are not similar to it.
struct AskedPart<'n> {
    text: &'n str,
    counts: CharacterCounts,
}

impl<'n> AskedPart<'n> {
    fn of(text: &'n str) -> AskedPart<'n> {
        let counts = CharacterCounts::of(text);
        AskedPart { text, counts }
    }

    /// The Jaro-Winkler similarity to `part`, or 0 if it is less than [`LIKENESS_MIN`].
    fn likeness(&self, part: &str, counts: &CharacterCounts) -> f64 {
        let both = self.text.chars().zip(part.chars()).take(4);
        let prefix = both.take_while(|(left, right)| left == right).count();
        if self.counts.likeness_max(counts, prefix) < LIKENESS_MIN {
            return 0.0;
        }
        strsim::jaro_winkler(self.text, part)
    }
}

/// How many characters a text has in each of 32 groups: a group has the characters whose code points leave the same
/// remainder when divided by 32.
struct CharacterCounts {
    by_group: [u8; 32],
    all: u32,
}

impl CharacterCounts {
    fn of(text: &str) -> CharacterCounts {
        let mut counts = CharacterCounts {
            by_group: [0; 32],
            all: 0,
        };
        for character in text.chars() {
            let count = &mut counts.by_group[character as usize % 32];
            *count = count.saturating_add(1);
            counts.all += 1;
        }
        counts
    }

    /// Returns a number that the Jaro-Winkler similarity of two texts never exceeds. Their order is ignored: the Jaro
    /// similarity is highest if all characters that both have match. Winkler raises it for each of the first `prefix`
    /// characters, at most four, that are equal.
    fn likeness_max(&self, other: &CharacterCounts, prefix: usize) -> f64 {
        let mut shared = 0;
        for (left, right) in self.by_group.iter().zip(&other.by_group) {
            shared += u32::from(*left.min(right));
        }
        let shared = f64::from(shared);
        let jaro = (shared / f64::from(self.all) + shared / f64::from(other.all) + 1.0) / 3.0;
        jaro + 0.1 * prefix as f64 * (1.0 - jaro)
    }
}

/// Returns the largest similarity of a part of `name` and one of `asked`; 0 if it is less than [`LIKENESS_MIN`].
fn likeness(asked: &[AskedPart<'_>], name: &str) -> f64 {
    let mut most = 0.0;
    for part in parts(name) {
        let counts = CharacterCounts::of(part);
        for asked in asked {
            most = f64::max(most, asked.likeness(part, &counts));
        }
    }
    most
}

/// Returns the work to compare the parts of two names: each character of one with each of the other, for the whole name
/// and again for its words.
fn likeness_work(asked: &[AskedPart<'_>], name: &str) -> u64 {
    let asked: usize = asked.iter().map(|part| part.text.len()).sum();
    NAME + (asked * name.len()) as u64
}

/// Returns the parts of a name that are compared: the whole name, and its words of three bytes or more without titles.
/// The O of "O'Neill" would be similar to every name that begins with it.
fn parts(name: &str) -> impl Iterator<Item = &str> {
    let long = words(name).filter(|word| word.len() > 2 && !is_title(word));
    [name].into_iter().chain(long)
}

/// How many reviews of a time mention an aspect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AspectMentions<'i> {
    /// The id of the aspect.
    pub id: &'i str,
    /// Reviews that mention it, whatever they say.
    pub all: u32,
    /// Those that praise it.
    pub positive: u32,
    /// Those that complain about it.
    pub negative: u32,
}

/// The reviews that mention each aspect of the insights: all, and those of each polarity.
#[derive(Clone, Debug)]
pub(super) struct AspectRows {
    /// The aspects with the reviews that mention them, whatever they say.
    all: NameRows,
    /// The rows of each aspect, by polarity.
    by_polarity: ByPolarity<Vec<RowSet>>,
    /// The rows that mention any aspect, and those of each polarity.
    any: RowSet,
    any_by_polarity: ByPolarity<RowSet>,
}

impl AspectRows {
    /// Collects the rows that mention each of `aspects`; the taxonomy has their phrases, and aspects that no review
    /// mentions. `total` is the number of reviews.
    pub(super) fn of(aspects: &[Aspect], taxonomy: &Taxonomy, total: u32) -> AspectRows {
        let mut names = NamesBuilder::new(false);
        let mut all = Vec::new();
        for aspect in aspects {
            let entry = names.add_entry(&aspect.id);
            names.add_spelling(entry, SpellingKind::Alias, &aspect.label);
            if let Some(concept) = taxonomy.aspects.iter().find(|one| one.id == aspect.id) {
                names.add_spelling(entry, SpellingKind::Alias, &concept.label);
                for phrase in &concept.phrases {
                    names.add_spelling(entry, SpellingKind::Phrase, phrase);
                }
            }
            all.push(row_set([&*aspect.rows], total));
        }
        for concept in &taxonomy.aspects {
            let is_measured = aspects.iter().any(|aspect| aspect.id == concept.id);
            if !is_measured {
                names.add_concept(concept);
                all.push(row_set([], total));
            }
        }
        let count = all.len();
        let by_polarity = ByPolarity::from_fn(|polarity| {
            let mut sets = Vec::with_capacity(count);
            for aspect in aspects {
                sets.push(row_set([&*aspect.rows_by_polarity[polarity]], total));
            }
            sets.resize(count, row_set([], total));
            sets
        });
        let any_by_polarity = ByPolarity::from_fn(|polarity| {
            let lists = aspects.iter();
            let lists = lists.map(|aspect| &*aspect.rows_by_polarity[polarity]);
            row_set(lists, total)
        });
        AspectRows {
            all: NameRows {
                names: names.finish(),
                rows: all,
            },
            by_polarity,
            any: row_set(aspects.iter().map(|aspect| &*aspect.rows), total),
            any_by_polarity,
        }
    }

    /// Returns the aspect that `name` means, by the rules of [`NameRows::resolve`]. The name must be folded.
    pub(super) fn resolve(
        &self,
        name: &str,
        work: &mut Work,
    ) -> Result<ResolvedName<'_>, WrongName<'_>> {
        self.all.resolve(name, "aspects", work)
    }

    /// Returns the aspects with the reviews that mention them, whatever they say.
    pub(super) fn of_any_polarity(&self) -> &NameRows {
        &self.all
    }

    /// Returns how many reviews of a range of rows mention each aspect.
    pub(super) fn mentions_in(
        &self,
        range: &Range<u32>,
    ) -> impl Iterator<Item = AspectMentions<'_>> {
        (0..)
            .zip(&self.all.rows)
            .map(|(entry, all)| AspectMentions {
                id: self.all.names.name(entry),
                all: all.count_in(range),
                positive: self.by_polarity.positive[entry as usize].count_in(range),
                negative: self.by_polarity.negative[entry as usize].count_in(range),
            })
    }

    /// Returns the rows that mention the folded `aspect`, or any, with `polarity`, or any.
    pub(super) fn rows(
        &self,
        aspect: Option<&str>,
        polarity: Option<Polarity>,
        work: &mut Work,
    ) -> Option<&RowSet> {
        let Some(name) = aspect else {
            return Some(match polarity {
                Some(polarity) => &self.any_by_polarity[polarity],
                None => &self.any,
            });
        };
        let Meaning::One(NameMatch { entry, .. }) = self.all.find(name, work) else {
            return None;
        };
        Some(match polarity {
            Some(polarity) => &self.by_polarity[polarity][entry as usize],
            None => &self.all.rows[entry as usize],
        })
    }
}

/// Returns the rows of all `lists`.
fn row_set<'r>(lists: impl IntoIterator<Item = &'r [Row]>, total: u32) -> RowSet {
    let mut rows: Vec<u32> = lists.into_iter().flatten().map(|row| row.0).collect();
    rows.sort_unstable();
    rows.dedup();
    RowSet::new(rows, total)
}

/// Returns the words of an id or a name, without titles, as far as a search takes them.
///
/// An aspect or a service has the words of its id: with label and phrases, only reviews that have several of their words
/// would be listed.
pub fn words_of_name(name: &str) -> String {
    let folded = fold(name);
    let words = folded.split(|letter: char| letter == '-' || letter.is_whitespace());
    let words = words.filter(|word| !word.is_empty() && !is_title(word.trim_end_matches('.')));
    let words: Vec<&str> = words.take(TERMS_MAX).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::{AskedPart, CharacterCounts, LIKENESS_MIN};

    #[test]
    fn only_what_is_not_similar_is_left_out_without_a_comparison() {
        let names = [
            "fees",
            "fee",
            "feels",
            "communication",
            "comunicacion",
            "commotion",
            "responsive",
            "response time",
            "Okafor",
            "okafr",
            "Straße",
            "strasse",
            "弁護士",
            "弁護",
            "aaaaaaa",
            "ab",
        ];
        for asked in names {
            for name in names {
                let whole = strsim::jaro_winkler(asked, name);
                let found = AskedPart::of(asked).likeness(name, &CharacterCounts::of(name));
                if whole >= LIKENESS_MIN {
                    assert_eq!(found, whole, "{asked} beside {name}");
                } else {
                    assert!(found < LIKENESS_MIN, "{asked} beside {name}");
                }
            }
        }
    }
}
