//! Counts the people, services and places that reviews mention, and the aspects that reviews complain about.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};

use super::totals::mean_rating;
use crate::dataset::mentions::{Matcher, comparable};
use crate::model::insights::{Aspect, Entities, Entity, Person, Polarity};
use crate::model::{Dataset, Row};

/// Entries of a list, each id once, with the reviews that mention them.
#[derive(Default)]
struct List<'d> {
    /// Id, label and rows.
    entries: Vec<(&'d str, &'d str, Vec<Row>)>,
    /// The entry of each spelling; `None` for a spelling that matches two entries.
    places: HashMap<String, Option<usize>>,
}

impl<'d> List<'d> {
    /// Lists pairs of id and label; `aliases` are further spellings of ids, used if no id has that spelling.
    fn new(
        entries: impl Iterator<Item = (&'d String, &'d String)>,
        aliases: impl Iterator<Item = (&'d String, &'d String)>,
    ) -> List<'d> {
        let mut list = List::default();
        for (id, label) in entries {
            list.places.entry(comparable(id)).or_insert_with(|| {
                list.entries.push((id, label, Vec::new()));
                Some(list.entries.len() - 1)
            });
        }
        let ids = list.places.clone();
        for (alias, id) in aliases {
            let owner = ids[&comparable(id)];
            let known = list.places.entry(comparable(alias)).or_insert(owner);
            *known = known.filter(|one| Some(*one) == owner);
        }
        list.places.extend(ids);
        list
    }

    /// Counts the review of `row` for each entry in `names`; returns 1 if there is any, else 0.
    fn count(&mut self, row: Row, names: &[String]) -> u64 {
        let place = |name: &String| *self.places.get(&comparable(name))?;
        let found: BTreeSet<usize> = names.iter().filter_map(place).collect();
        found.iter().for_each(|at| self.entries[*at].2.push(row));
        u64::from(!found.is_empty())
    }
}

/// Counts the reviews that mention people, services and places, and those that complain about one of `aspects`; the
/// array has the number of reviews with any person, any service and any place.
pub(super) fn entities(dataset: &Dataset, aspects: &[Aspect]) -> (Entities, [u64; 3]) {
    let (taxonomy, business) = (&dataset.taxonomy, &dataset.business);
    let people = taxonomy.technicians.iter().map(|one| &one.name);
    let others = business.technicians.iter().map(|one| &one.name);
    let aliases = taxonomy.technicians.iter();
    let aliases = aliases.flat_map(|one| one.aliases.iter().map(|alias| (alias, &one.name)));
    let mut people = List::new(people.chain(others).map(|name| (name, name)), aliases);
    let known = taxonomy.services.iter().map(|one| (&one.id, &one.label));
    let offered = business.services.iter().map(|one| (&one.id, &one.label));
    let mut services = List::new(known.chain(offered), std::iter::empty());
    let areas = taxonomy.service_areas.iter();
    let areas = areas.map(|one| (&one.id, &one.label));
    let mut areas = List::new(areas, std::iter::empty());
    // Cannot fail, as the decoder built the same automata from this taxonomy; if it did, no place would be counted.
    let matcher = Matcher::new(taxonomy).ok();
    let mut with = [0; 3];
    for (row, review) in (0..).map(Row).zip(&dataset.reviews) {
        with[0] += people.count(row, &review.mentioned_technicians);
        with[1] += services.count(row, &review.mentioned_services);
        let text = comparable(&review.text);
        let found = matcher.as_ref();
        let found = found.map(|one| one.service_areas.find_names(&text));
        with[2] += areas.count(row, &found.unwrap_or_default());
    }
    let entity = |(id, label, rows): &(&str, &str, Vec<Row>)| {
        let stars = |row: &Row| u64::from(dataset.reviews[row.0 as usize].rating.stars());
        let count = rows.len() as u64;
        Entity {
            id: (*id).to_owned(),
            label: (*label).to_owned(),
            mention_count: count,
            mean_rating: mean_rating(rows.iter().map(stars).sum(), count),
        }
    };
    let person = |entry| {
        let entity = entity(entry);
        Person {
            name: entity.label,
            mention_count: entity.mention_count,
            mean_rating: entity.mean_rating,
        }
    };
    let mut problems: Vec<Entity> = Vec::new();
    for aspect in aspects {
        let rows = &aspect.rows_by_polarity[Polarity::Negative as usize];
        if rows.len() >= 2 {
            problems.push(entity(&(&aspect.id, &aspect.label, rows.clone())));
        }
    }
    problems.sort_by_key(|problem| Reverse(problem.mention_count));
    let entities = Entities {
        technicians: people.entries.iter().map(person).collect(),
        services: services.entries.iter().map(entity).collect(),
        problems,
        service_areas: areas.entries.iter().map(entity).collect(),
    };
    (entities, with)
}
