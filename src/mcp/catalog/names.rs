//! What tools find by name, and the list of it: people, services and aspects.

use serde_json::{Value, json};

use crate::model::insights::Insights;
use crate::search::filter::{Filter, Query, Sort};
use crate::search::fold::fold_into;
use crate::search::run::{Scratch, run};
use crate::snapshot::Snapshot;

/// Something that a tool finds by name.
#[derive(Debug)]
pub(crate) struct Named {
    /// How lists, messages and completions call it.
    pub(crate) name: String,
    /// What it is found by, folded; never empty, and the first finds it in the search index.
    pub(crate) folded: Vec<String>,
    /// What is known about it, a JSON object.
    pub(crate) value: Value,
}

impl Named {
    fn new<'n>(name: &str, found_by: impl IntoIterator<Item = &'n String>, value: Value) -> Named {
        let folded = |name: &String| {
            let mut folded = String::with_capacity(name.len());
            fold_into(name, &mut folded);
            folded
        };
        Named {
            name: name.to_owned(),
            folded: found_by.into_iter().map(folded).collect(),
            value,
        }
    }
}

/// Returns the people of the taxonomy with their titles, and those that only the business lists.
pub(super) fn technicians(snapshot: &Snapshot) -> Vec<Named> {
    let listed = &snapshot.business.technicians;
    let known = &snapshot.taxonomy.technicians;
    let no_aliases = Vec::new();
    let aliases_of = |name: &str| {
        let found = known.iter().find(|person| person.name == name);
        found.map_or(&no_aliases, |person| &person.aliases)
    };
    let unknown = listed.iter().map(|person| &person.name);
    let unknown = unknown.filter(|name| known.iter().all(|person| person.name != **name));
    let names = known.iter().map(|person| &person.name).chain(unknown);
    let named = |name: &String| {
        let title = listed.iter().find(|person| person.name == *name);
        let title = title.map(|person| &person.title);
        let aliases = aliases_of(name);
        let value = json!({"name": name, "title": title, "aliases": aliases});
        Named::new(name, [name].into_iter().chain(aliases), value)
    };
    names.map(named).collect()
}

/// Returns the services of the taxonomy, which their phrases find too, and those that only the business lists.
pub(super) fn services(snapshot: &Snapshot) -> Vec<Named> {
    let none = Vec::new();
    let known = snapshot.taxonomy.services.iter();
    let known = known.map(|service| (&service.id, &service.label, &service.phrases));
    let listed = snapshot.business.services.iter();
    let listed = listed.map(|service| (&service.id, &service.label, &none));
    by_id(known.chain(listed))
}

/// Returns the aspects of the taxonomy, which their phrases find too, and those that only the insights know.
pub(super) fn aspects(snapshot: &Snapshot, insights: &Insights) -> Vec<Named> {
    let none = Vec::new();
    let known = snapshot.taxonomy.aspects.iter();
    let known = known.map(|aspect| (&aspect.id, &aspect.label, &aspect.phrases));
    let measured = insights.aspects.iter();
    let measured = measured.map(|aspect| (&aspect.id, &aspect.label, &none));
    by_id(known.chain(measured))
}

/// Returns the entries of `all`, ids, labels and phrases, each id once.
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
    let mut counted = |named: &Named, filter: Filter<'_>| {
        let query = Query::new(filter, Sort::Newest, 1);
        let mut value = named.value.clone();
        value["mention_count"] = run(&snapshot.index, &query, &mut scratch).matched.into();
        value
    };
    let services = services.iter().take(NAMES_MAX).map(|service| {
        let filter = Filter {
            service: Some(&service.folded[0]),
            ..Filter::ALL
        };
        counted(service, filter)
    });
    let services: Vec<Value> = services.collect();
    let technicians = technicians.iter().take(NAMES_MAX).map(|technician| {
        let filter = Filter {
            technician: Some(&technician.folded[0]),
            ..Filter::ALL
        };
        counted(technician, filter)
    });
    let technicians: Vec<Value> = technicians.collect();
    let aspects = aspects.iter().take(NAMES_MAX).map(|aspect| &aspect.value);
    let areas = snapshot.taxonomy.service_areas.iter().take(NAMES_MAX);
    json!({
        "services": services,
        "technicians": technicians,
        "aspects": aspects.collect::<Vec<_>>(),
        "service_areas": areas.map(|area| &area.label).collect::<Vec<_>>(),
    })
}

/// Names of one kind in the list.
const NAMES_MAX: usize = 500;
