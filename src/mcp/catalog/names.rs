//! The people, services and aspects that tools find by name, and the list of their names.

use serde_json::{Value, json};

use super::ratings::{mean, percent_of};
use crate::model::Concept;
use crate::model::insights::Insights;
use crate::search::figures::ReviewFigures;
use crate::search::filter::Filter;
use crate::search::fold::fold;
use crate::search::query::Parameter;
use crate::search::run::Scratch;
use crate::snapshot::Snapshot;

/// Largest number of names of each kind in the list.
const NAMES_MAX: usize = 500;

/// Largest number of names of each kind that have all figures. Our choice: the room serves more for further names than for
/// figures of the rare ones.
const NAMES_WITH_FIGURES_MAX: usize = 60;

/// A person, service or aspect that tools find by name.
#[derive(Debug)]
pub(crate) struct Named {
    /// The name in lists, messages and completions.
    pub(crate) name: String,
    /// The names that match, folded; never empty. The first is the name in the search index; the second is the label of a
    /// service or aspect, and its phrases follow.
    pub(crate) folded: Vec<String>,
    /// The description, a JSON object.
    pub(crate) value: Value,
}

impl Named {
    fn new<'n>(name: &str, found_by: impl IntoIterator<Item = &'n String>, value: Value) -> Named {
        Named {
            name: name.to_owned(),
            folded: found_by.into_iter().map(|name| fold(name)).collect(),
            value,
        }
    }

    /// Returns the folded phrases of a service or an aspect.
    pub(crate) fn phrases(&self) -> &[String] {
        self.folded.get(2..).unwrap_or_default()
    }

    /// Returns the filter for reviews that mention this entry, a person or a service according to `parameter`.
    pub(crate) fn filter(&self, parameter: Parameter) -> Filter<'_> {
        let name = self.folded.first().map(|name| &**name);
        let mut filter = Filter::default();
        if parameter == Parameter::MentionsTechnician {
            filter.technician = name;
        } else {
            filter.service = name;
        }
        filter
    }
}

/// Returns the people with their titles.
pub(super) fn technicians(snapshot: &Snapshot) -> Vec<Named> {
    let mut people = Vec::new();
    for person in &snapshot.taxonomy.technicians {
        // The business may list a person of the taxonomy by another name, such as one with a title.
        let mut listed = snapshot.business.technicians.iter();
        let same = listed.find(|one| one.name == person.name || person.aliases.contains(&one.name));
        let title = same.map(|one| &one.title);
        let value = json!({"name": person.name, "title": title, "aliases": person.aliases});
        let found_by = [&person.name].into_iter().chain(&person.aliases);
        people.push(Named::new(&person.name, found_by, value));
    }
    people
}

/// Returns the services; their phrases match, too.
pub(super) fn services(snapshot: &Snapshot) -> Vec<Named> {
    snapshot.taxonomy.services.iter().map(of_concept).collect()
}

/// Returns the aspects of the taxonomy, whose phrases match, too; and those that only the insights list.
pub(super) fn aspects(snapshot: &Snapshot, insights: &Insights) -> Vec<Named> {
    let listed = &snapshot.taxonomy.aspects;
    let mut aspects: Vec<Named> = listed.iter().map(of_concept).collect();
    for aspect in &insights.aspects {
        if listed.iter().any(|concept| concept.id == aspect.id) {
            continue;
        }
        aspects.push(of_concept(&Concept {
            id: aspect.id.clone(),
            label: aspect.label.clone(),
            phrases: Vec::new(),
            not_phrases: Vec::new(),
        }));
    }
    aspects
}

/// Returns a service or an aspect, which its id, its label and its phrases find.
fn of_concept(concept: &Concept) -> Named {
    let value = json!({"id": concept.id, "label": concept.label});
    let found_by = [&concept.id, &concept.label].into_iter();
    Named::new(&concept.id, found_by.chain(&concept.phrases), value)
}

/// Returns every name that a filter accepts, with figures of the reviews that mention it.
pub(super) fn list(
    snapshot: &Snapshot,
    aspects: &[Named],
    technicians: &[Named],
    services: &[Named],
) -> Value {
    let aspects = aspects.iter().take(NAMES_MAX).map(|aspect| &aspect.value);
    let areas = snapshot.taxonomy.service_areas.iter().take(NAMES_MAX);
    json!({
        "services": with_figures(snapshot, services, Parameter::MentionsService),
        "technicians": with_figures(snapshot, technicians, Parameter::MentionsTechnician),
        "aspects": aspects.collect::<Vec<_>>(),
        "service_areas": areas.map(|area| &area.label).collect::<Vec<_>>(),
    })
}

/// Returns the entries with the number of reviews that mention each. The first ones also have the mean of these reviews, the
/// share with four or five stars, and how the owner answers them.
fn with_figures(snapshot: &Snapshot, entries: &[Named], parameter: Parameter) -> Vec<Value> {
    let mut scratch = Scratch::default();
    let mut values = Vec::new();
    for (at, named) in entries.iter().take(NAMES_MAX).enumerate() {
        let filter = named.filter(parameter);
        let figures = ReviewFigures::of(&snapshot.index, &filter, &mut scratch);
        let mut value = named.value.clone();
        value["mention_count"] = figures.count().into();
        if at < NAMES_WITH_FIGURES_MAX {
            let count = figures.count();
            value["rating_value"] = json!(mean(figures.stars));
            value["high_rating_pct"] = json!(percent_of(figures.high_ratings(), count));
            value["reply_pct"] = json!(percent_of(figures.with_reply, count));
            value["median_days"] = json!(figures.reply_days);
            value["low_unanswered_count"] = json!(figures.low_unanswered);
        }
        values.push(value);
    }
    values
}
