//! The people, services and aspects that tools find by name, and the list of their names.

use serde_json::{Value, json};

use crate::model::insights::Insights;
use crate::search::filter::{Filter, Query, Sort};
use crate::search::fold::fold;
use crate::search::query::Parameter;
use crate::search::run::{Scratch, run};
use crate::snapshot::Snapshot;

/// A person, service or aspect that tools find by name.
#[derive(Debug)]
pub(crate) struct Named {
    /// The name in lists, messages and completions.
    pub(crate) name: String,
    /// The names that match, folded; never empty, and the first one is the name in the search index.
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

    /// Returns the filter for reviews that mention this entry, a person or a service according to `parameter`.
    pub(crate) fn filter(&self, parameter: Parameter) -> Filter<'_> {
        let name = self.folded.first().map(|name| &**name);
        let is_person = parameter == Parameter::MentionsTechnician;
        Filter {
            technician: name.filter(|_| is_person),
            service: name.filter(|_| !is_person),
            ..Filter::default()
        }
    }
}

/// Returns the people of the taxonomy with their titles, and those that only the business lists.
pub(super) fn technicians(snapshot: &Snapshot) -> Vec<Named> {
    let none = Vec::new();
    let known = snapshot.taxonomy.technicians.iter();
    let known = known.map(|person| (&person.name, &person.aliases));
    let listed = &snapshot.business.technicians;
    let unknown = listed.iter().map(|person| (&person.name, &none));
    let unknown = unknown.filter(|(name, _)| known.clone().all(|(other, _)| other != *name));
    let named = |(name, aliases): (&String, &Vec<String>)| {
        let title = listed.iter().find(|person| person.name == *name);
        let title = title.map(|person| &person.title);
        let value = json!({"name": name, "title": title, "aliases": aliases});
        Named::new(name, [name].into_iter().chain(aliases), value)
    };
    known.clone().chain(unknown).map(named).collect()
}

/// Returns the services of the taxonomy, whose phrases match too, and those that only the business lists.
pub(super) fn services(snapshot: &Snapshot) -> Vec<Named> {
    let none = Vec::new();
    let known = snapshot.taxonomy.services.iter();
    let known = known.map(|service| (&service.id, &service.label, &service.phrases));
    let listed = snapshot.business.services.iter();
    let listed = listed.map(|service| (&service.id, &service.label, &none));
    by_id(known.chain(listed))
}

/// Returns the aspects of the taxonomy, whose phrases match too, and those that only the insights list.
pub(super) fn aspects(snapshot: &Snapshot, insights: &Insights) -> Vec<Named> {
    let none = Vec::new();
    let known = snapshot.taxonomy.aspects.iter();
    let known = known.map(|aspect| (&aspect.id, &aspect.label, &aspect.phrases));
    let measured = insights.aspects.iter();
    let measured = measured.map(|aspect| (&aspect.id, &aspect.label, &none));
    by_id(known.chain(measured))
}

/// Returns an entry for each distinct id of `all`, which are ids, labels and phrases.
fn by_id<'n>(all: impl Iterator<Item = (&'n String, &'n String, &'n Vec<String>)>) -> Vec<Named> {
    let mut entries: Vec<Named> = Vec::new();
    for (id, label, phrases) in all {
        if entries.iter().all(|other| other.name != *id) {
            let value = json!({"id": id, "label": label});
            let found_by = [id, label].into_iter().chain(phrases);
            entries.push(Named::new(id, found_by, value));
        }
    }
    entries
}

/// Returns every name that a filter accepts, with the number of reviews that mention it.
pub(super) fn list(
    snapshot: &Snapshot,
    aspects: &[Named],
    technicians: &[Named],
    services: &[Named],
) -> Value {
    let mut scratch = Scratch::default();
    let mut counted = |entries: &[Named], parameter| -> Vec<Value> {
        let counted = entries.iter().take(NAMES_MAX).map(|named| {
            let query = Query::new(named.filter(parameter), Sort::Newest, 1);
            let mut value = named.value.clone();
            value["mention_count"] = run(&snapshot.index, &query, &mut scratch).matched.into();
            value
        });
        counted.collect()
    };
    let aspects = aspects.iter().take(NAMES_MAX).map(|aspect| &aspect.value);
    let areas = snapshot.taxonomy.service_areas.iter().take(NAMES_MAX);
    json!({
        "services": counted(services, Parameter::MentionsService),
        "technicians": counted(technicians, Parameter::MentionsTechnician),
        "aspects": aspects.collect::<Vec<_>>(),
        "service_areas": areas.map(|area| &area.label).collect::<Vec<_>>(),
    })
}

/// Largest number of names of each kind in the list.
const NAMES_MAX: usize = 500;
