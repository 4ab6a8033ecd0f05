//! The people, services and places that reviews name, and the aspects that they complain of.

use std::collections::HashMap;

use super::derive::Derived;
use super::totals::mean_rating;
use crate::dataset::mentions::{Comparable, Matcher};
use crate::model::insights::{Entities, Entity, Person, Polarity};
use crate::model::{Dataset, Review};

/// Something that reviews name, the reviews that do, and the sum of their stars.
struct Tally<'d> {
    id: &'d str,
    label: &'d str,
    reviews: u64,
    stars: u64,
}

impl<'d> Tally<'d> {
    fn new(id: &'d str, label: &'d str) -> Tally<'d> {
        Tally {
            id,
            label,
            reviews: 0,
            stars: 0,
        }
    }

    fn add(&mut self, review: &Review) {
        self.reviews += 1;
        self.stars += u64::from(review.rating.stars());
    }

    fn entity(&self) -> Entity {
        Entity {
            id: self.id.to_owned(),
            label: self.label.to_owned(),
            mention_count: self.reviews,
            mean_rating: mean_rating(self.stars, self.reviews),
        }
    }

    fn person(&self) -> Person {
        Person {
            name: self.label.to_owned(),
            mention_count: self.reviews,
            mean_rating: mean_rating(self.stars, self.reviews),
        }
    }
}

/// What reviews name by spellings that a list knows.
#[derive(Default)]
struct Listed<'d> {
    tallies: Vec<Tally<'d>>,
    /// `None` for a spelling that fits two entries, so that it names neither.
    entry_of: HashMap<Comparable, Option<usize>>,
}

impl<'d> Listed<'d> {
    fn new(entries: impl Iterator<Item = (&'d String, &'d String)>) -> Listed<'d> {
        let mut listed = Listed::default();
        for (id, label) in entries {
            listed
                .entry_of
                .entry(Comparable::new(id))
                .or_insert_with(|| {
                    listed.tallies.push(Tally::new(id, label));
                    Some(listed.tallies.len() - 1)
                });
        }
        listed
    }

    /// Counts the review for each entry that `names` names; returns whether there is one.
    fn count(&mut self, review: &Review, names: &[String]) -> bool {
        let entry = |name: &String| *self.entry_of.get(&Comparable::new(name))?;
        let mut found: Vec<usize> = names.iter().filter_map(entry).collect();
        found.sort_unstable();
        found.dedup();
        found.iter().for_each(|at| self.tallies[*at].add(review));
        !found.is_empty()
    }
}

/// Counts the reviews that name people, services and places, and those that complain of an aspect; the numbers are of
/// reviews with any of the first three.
pub(super) fn entities(dataset: &Dataset, derived: &Derived) -> (Entities, [u64; 3]) {
    let (taxonomy, business) = (&dataset.taxonomy, &dataset.business);
    let mut people = people(dataset);
    let known = taxonomy.services.iter().map(|one| (&one.id, &one.label));
    let offered = business.services.iter().map(|one| (&one.id, &one.label));
    let mut services = Listed::new(known.chain(offered));
    let areas = taxonomy.service_areas.iter();
    let mut areas: Vec<Tally> = areas.map(|one| Tally::new(&one.id, &one.label)).collect();
    // The decoder built the same automata of the same taxonomy, so this succeeds; without them no place counts.
    let matcher = Matcher::new(taxonomy).ok();
    let mut text = Comparable::default();
    let mut with = [0; 3];
    for review in &dataset.reviews {
        with[0] += u64::from(people.count(review, &review.mentioned_technicians));
        with[1] += u64::from(services.count(review, &review.mentioned_services));
        text.set(&review.text);
        let found = matcher.as_ref().map(|matcher| matcher.service_areas(&text));
        let found = found.unwrap_or_default();
        with[2] += u64::from(!found.is_empty());
        found.iter().for_each(|at| areas[*at].add(review));
    }
    let entities = Entities {
        technicians: people.tallies.iter().map(Tally::person).collect(),
        services: services.tallies.iter().map(Tally::entity).collect(),
        problems: problems(dataset, derived),
        service_areas: areas.iter().map(Tally::entity).collect(),
    };
    (entities, with)
}

/// The people by name, and by the aliases that are of one of them only.
fn people(dataset: &Dataset) -> Listed<'_> {
    let known = dataset.taxonomy.technicians.iter();
    let listed = dataset.business.technicians.iter().map(|one| &one.name);
    let names = known.clone().map(|one| &one.name).chain(listed);
    let mut people = Listed::new(names.map(|name| (name, name)));
    let mut aliases: HashMap<Comparable, Option<usize>> = HashMap::new();
    for person in known {
        let owner = people.entry_of[&Comparable::new(&person.name)];
        for alias in &person.aliases {
            let known = aliases.entry(Comparable::new(alias)).or_insert(owner);
            *known = known.filter(|one| Some(*one) == owner);
        }
    }
    for (alias, owner) in aliases {
        people.entry_of.entry(alias).or_insert(owner);
    }
    people
}

/// The aspects of which at least two reviews complain, most first.
fn problems(dataset: &Dataset, derived: &Derived) -> Vec<Entity> {
    let aspects = dataset.taxonomy.aspects.iter();
    let mut tallies: Vec<(Tally, Option<u32>)> = aspects
        .map(|one| (Tally::new(&one.id, &one.label), None))
        .collect();
    let complaints = derived.mentions.iter();
    for mention in complaints.filter(|one| one.polarity == Polarity::Negative) {
        let (tally, last) = &mut tallies[usize::from(mention.aspect)];
        if last.replace(mention.row) != Some(mention.row) {
            tally.add(&dataset.reviews[mention.row as usize]);
        }
    }
    tallies.retain(|(tally, _)| tally.reviews >= 2);
    tallies.sort_by_key(|(tally, _)| std::cmp::Reverse(tally.reviews));
    tallies.iter().map(|(tally, _)| tally.entity()).collect()
}
