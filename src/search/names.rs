//! Which reviews mention a technician or a service, by every name that either goes by.

use crate::model::{Review, Taxonomy};
use crate::search::fold::fold_into;
use crate::search::rows::RowSet;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The rows that each folded name stands for.
#[derive(Clone, Debug)]
pub(in crate::search) struct Names {
    /// Folded names, sorted, each with the number of its set.
    keys: Vec<(Box<str>, u32)>,
    sets: Vec<RowSet>,
}

impl Names {
    /// Collects who is mentioned: by name or alias, whole and folded.
    pub(in crate::search) fn of_technicians(reviews: &[Review], taxonomy: &Taxonomy) -> Names {
        let known = taxonomy.technicians.iter().map(|technician| {
            (
                technician.name.as_str(),
                technician.aliases.iter().map(String::as_str).collect(),
            )
        });
        Names::build(known, reviews, |review| &review.mentioned_technicians)
    }

    /// Collects what is mentioned: by id or label, whole and folded.
    pub(in crate::search) fn of_services(reviews: &[Review], taxonomy: &Taxonomy) -> Names {
        let known = taxonomy
            .services
            .iter()
            .map(|service| (service.id.as_str(), vec![service.label.as_str()]));
        Names::build(known, reviews, |review| &review.mentioned_services)
    }

    fn build<'a>(
        known: impl Iterator<Item = (&'a str, Vec<&'a str>)>,
        reviews: &'a [Review],
        mentions: impl Fn(&'a Review) -> &'a [String],
    ) -> Names {
        let mut numbers: HashMap<&str, u32> = HashMap::new();
        let mut keys: BTreeMap<String, BTreeSet<u32>> = BTreeMap::new();
        let mut name = |key: &str, number: u32| {
            let mut folded = String::new();
            fold_into(key, &mut folded);
            keys.entry(folded).or_default().insert(number);
        };
        for (main, others) in known {
            let next = numbers.len() as u32;
            let number = *numbers.entry(main).or_insert(next);
            name(main, number);
            others.into_iter().for_each(|other| name(other, number));
        }
        let mut rows: Vec<Vec<u32>> = vec![Vec::new(); numbers.len()];
        for (row, review) in reviews.iter().enumerate() {
            for mention in mentions(review) {
                let next = numbers.len() as u32;
                let number = *numbers.entry(mention).or_insert(next);
                if number == next {
                    name(mention, number);
                    rows.push(Vec::new());
                }
                let rows = &mut rows[number as usize];
                if rows.last() != Some(&(row as u32)) {
                    rows.push(row as u32);
                }
            }
        }
        Names::share(keys, &rows, reviews.len() as u32)
    }

    /// Gives names of the same people one set.
    fn share(keys: BTreeMap<String, BTreeSet<u32>>, rows: &[Vec<u32>], total: u32) -> Names {
        let mut names = Names {
            keys: Vec::with_capacity(keys.len()),
            sets: Vec::new(),
        };
        let mut known: HashMap<BTreeSet<u32>, u32> = HashMap::new();
        for (key, numbers) in keys {
            let set = *known.entry(numbers).or_insert_with_key(|numbers| {
                let mut all: Vec<u32> = numbers
                    .iter()
                    .flat_map(|number| &rows[*number as usize])
                    .copied()
                    .collect();
                all.sort_unstable();
                all.dedup();
                names.sets.push(RowSet::new(all, total));
                names.sets.len() as u32 - 1
            });
            names.keys.push((key.into(), set));
        }
        names
    }

    /// Returns the rows that mention the folded `name`; `None` where nothing goes by it.
    pub(in crate::search) fn rows(&self, name: &str) -> Option<&RowSet> {
        let at = self
            .keys
            .binary_search_by(|(key, _)| (**key).cmp(name))
            .ok()?;
        self.sets.get(self.keys[at].1 as usize)
    }

    /// Returns the bytes that the sets take.
    pub(in crate::search) fn memory(&self) -> u64 {
        self.sets.iter().map(RowSet::bytes).sum()
    }
}
