//! Counts the people, services and places that reviews mention, and the aspects that reviews complain about.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::read::PlaceMention;
use super::totals::mean_rating;
use crate::dataset::names::Names;
use crate::model::insights::{Aspect, Entities, Entity, Person};
use crate::model::{Concept, Dataset, Row};

/// The entries of a list, with the reviews that mention them.
struct EntityRows {
    names: Names,
    /// The rows of each entry.
    rows: Vec<Vec<Row>>,
}

impl EntityRows {
    fn new(names: Names) -> EntityRows {
        EntityRows {
            rows: vec![Vec::new(); names.len()],
            names,
        }
    }

    /// Counts the review of `row` for each entry in `mentions`; returns 1 if there is any, else 0.
    fn count(&mut self, row: Row, mentions: &[String]) -> u64 {
        let mut entries = BTreeSet::new();
        for mention in mentions {
            entries.extend(self.names.entry_of_mention(mention));
        }
        for entry in &entries {
            self.rows[*entry as usize].push(row);
        }
        u64::from(!entries.is_empty())
    }
}

/// Counts the reviews that mention people, services and `places`, and those that complain about one of `aspects`; the
/// array has the number of reviews with any person, any service and any place.
pub(super) fn entities(
    dataset: &Dataset,
    places: &[PlaceMention],
    aspects: &[Aspect],
) -> (Entities, [u64; 3]) {
    let taxonomy = &dataset.taxonomy;
    let mut people = EntityRows::new(Names::people(&taxonomy.technicians));
    let mut services = EntityRows::new(Names::concepts(&taxonomy.services));
    let mut areas = EntityRows::new(Names::concepts(&taxonomy.service_areas));
    let mut with = [0; 3];
    for of_review in places.chunk_by(|one, other| one.row == other.row) {
        let row = Row(of_review[0].row);
        let ids = of_review.iter();
        let ids = ids.map(|one| taxonomy.service_areas[usize::from(one.place)].id.clone());
        with[2] += areas.count(row, &ids.collect::<Vec<_>>());
    }
    for (row, review) in (0..).map(Row).zip(&dataset.reviews) {
        with[0] += people.count(row, &review.mentioned_technicians);
        with[1] += services.count(row, &review.mentioned_services);
    }
    let mut problems: Vec<Entity> = Vec::new();
    for aspect in aspects {
        let rows = &aspect.rows_by_polarity.negative;
        if rows.len() >= 2 {
            problems.push(entity(dataset, &aspect.id, &aspect.label, rows));
        }
    }
    problems.sort_by_key(|problem| Reverse(problem.mention_count));
    let mut technicians = Vec::new();
    for (person, rows) in taxonomy.technicians.iter().zip(&people.rows) {
        technicians.push(Person {
            name: person.name.clone(),
            mention_count: rows.len() as u64,
            mean_rating: mean_rating_of(dataset, rows),
        });
    }
    let entities = Entities {
        technicians,
        services: of_concepts(dataset, &taxonomy.services, &services),
        problems,
        service_areas: of_concepts(dataset, &taxonomy.service_areas, &areas),
    };
    (entities, with)
}

fn of_concepts(dataset: &Dataset, concepts: &[Concept], counted: &EntityRows) -> Vec<Entity> {
    let mut entities = Vec::new();
    for (concept, rows) in concepts.iter().zip(&counted.rows) {
        entities.push(entity(dataset, &concept.id, &concept.label, rows));
    }
    entities
}

fn entity(dataset: &Dataset, id: &str, label: &str, rows: &[Row]) -> Entity {
    Entity {
        id: id.to_owned(),
        label: label.to_owned(),
        mention_count: rows.len() as u64,
        mean_rating: mean_rating_of(dataset, rows),
    }
}

fn mean_rating_of(dataset: &Dataset, rows: &[Row]) -> Option<f64> {
    let mut stars = 0;
    for row in rows {
        stars += u64::from(dataset.reviews[row.0 as usize].rating.stars());
    }
    mean_rating(stars, rows.len() as u64)
}
