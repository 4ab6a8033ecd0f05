//! What the tools say about the dataset as a whole, worked out once.

use super::Named;
use super::fit::fit;
use crate::mcp::json::{Bounds, Value, parse};
use crate::mcp::tools::{ANSWER_BYTES_MAX, push_ratings};
use crate::model::Row;
use crate::model::insights::Insights;
use crate::search::filter::{Filter, Query, Sort};
use crate::search::run::{Scratch, run};
use crate::snapshot::Snapshot;
use crate::wire::json::{Array, Object};

/// Ready JSON, each an object within the bound of an answer.
pub(super) struct Facts {
    pub(super) business: Vec<u8>,
    pub(super) rating_summary: Vec<u8>,
    pub(super) insights: Vec<u8>,
    pub(super) names: Vec<u8>,
    pub(super) faq: Vec<u8>,
    pub(super) aspects: Vec<Named>,
    pub(super) technicians: Vec<Named>,
    pub(super) services: Vec<Named>,
}

impl Facts {
    pub(super) fn of(snapshot: &Snapshot) -> Facts {
        let head = document_head(snapshot);
        let head = parse_own(&head);
        let nothing = Insights::default();
        let insights = snapshot.insights_value().unwrap_or(&nothing);
        let technicians = technicians(snapshot);
        let services = services(snapshot);
        let aspects = aspects(snapshot, insights);
        Facts {
            business: fit(&head, ANSWER_BYTES_MAX),
            rating_summary: rating_summary(snapshot, &head),
            faq: faq(insights),
            names: names(snapshot, &aspects, &technicians, &services),
            // Figures of single reviews are many and of no use here, and the evidence is as long as the reviews.
            insights: shortest(|items| serde_json::to_vec(&insights.brief(items))),
            aspects,
            technicians,
            services,
        }
    }
}

/// Everything of `/reviews.json` before its reviews, as an object of its own.
fn document_head(snapshot: &Snapshot) -> Vec<u8> {
    let body = &snapshot.reviews.body;
    // No string holds this: a quotation mark inside one has a backslash before it.
    let end = memchr::memmem::find(body, b",\"reviews\":[").unwrap_or(0);
    let mut head = body[..end].to_vec();
    head.push(b'}');
    head
}

/// Reads a document that we rendered or checked; one that cannot be read is as good as an empty one.
fn parse_own(text: &[u8]) -> Value<'_> {
    parse(text, &OWN).unwrap_or_else(|_| Value::Object(Vec::new()))
}

fn rating_summary(snapshot: &Snapshot, head: &Value<'_>) -> Vec<u8> {
    let mut years: Vec<(u16, [u64; 5])> = Vec::new();
    for row in (0..snapshot.len()).map(Row) {
        let year = snapshot.index.date(row).year();
        let stars = usize::from(snapshot.index.rating(row).stars());
        if years.last().is_none_or(|(last, _)| *last != year) {
            years.push((year, [0; 5]));
        }
        if let Some((_, counts)) = years.last_mut() {
            counts[stars - 1] += 1;
        }
    }
    let mut out = Vec::new();
    let mut object = Object::begin(&mut out);
    if let Some(aggregate) = head.get("aggregate_rating") {
        crate::mcp::json::push_value(object.key("aggregate_rating"), aggregate);
    }
    let mut list = Array::begin(object.key("by_year"));
    for (year, counts) in years.iter().take(YEARS_MAX) {
        let mut each = Object::begin(list.item());
        each.u64("year", u64::from(*year))
            .u64("rating_count", counts.iter().sum());
        push_ratings(&mut each, *counts);
        each.end();
    }
    list.end();
    object.end();
    out
}

fn faq(insights: &Insights) -> Vec<u8> {
    shortest(|items| {
        let faq = &insights.faq[..insights.faq.len().min(items)];
        serde_json::to_vec(&serde_json::json!({ "faq": faq }))
    })
}

/// Returns the JSON object that `render` makes with as many items in each list as fit an answer, and
/// `"shortened": true` where that is not all. The order of a list says what matters, so the front is what stays.
fn shortest(render: impl Fn(usize) -> serde_json::Result<Vec<u8>>) -> Vec<u8> {
    for items_max in [usize::MAX, 120, 60, 25, 10, 5, 2, 0] {
        let mut json = render(items_max).unwrap_or_default();
        if items_max < usize::MAX && json.pop().is_some() {
            json.extend_from_slice(br#","shortened":true}"#);
        }
        if json.len() <= ANSWER_BYTES_MAX && !json.is_empty() {
            return json;
        }
    }
    br#"{"shortened":true}"#.to_vec()
}

fn technicians(snapshot: &Snapshot) -> Vec<Named> {
    let known = &snapshot.taxonomy.technicians;
    let listed = &snapshot.business.technicians;
    let title = |name: &str| {
        let found = listed.iter().find(|person| person.name == name);
        found.map(|person| person.title.as_str())
    };
    let mut people: Vec<Named> = known
        .iter()
        .map(|person| {
            let aliases = || person.aliases.iter().map(String::as_str);
            let json = technician(&person.name, title(&person.name), aliases());
            let found_by = [person.name.as_str()].into_iter().chain(aliases());
            Named::new(&person.name, found_by, json)
        })
        .collect();
    for person in listed {
        if known.iter().all(|other| other.name != person.name) {
            let json = technician(&person.name, Some(&person.title), []);
            people.push(Named::new(&person.name, [person.name.as_str()], json));
        }
    }
    people
}

fn technician<'n>(
    name: &str,
    title: Option<&str>,
    aliases: impl IntoIterator<Item = &'n str>,
) -> Vec<u8> {
    let mut out = Vec::new();
    let mut object = Object::begin(&mut out);
    object
        .string("name", name)
        .opt_string("title", title)
        .strings("aliases", aliases);
    object.end();
    out
}

fn services(snapshot: &Snapshot) -> Vec<Named> {
    let known = snapshot.taxonomy.services.iter();
    let known = known.map(|service| (&service.id, &service.label));
    let listed = snapshot.business.services.iter();
    let listed = listed.map(|service| (&service.id, &service.label));
    let mut services: Vec<Named> = Vec::new();
    for (id, label) in known.chain(listed) {
        let mut json = Vec::new();
        let mut object = Object::begin(&mut json);
        object.string("id", id).string("label", label);
        object.end();
        let named = Named::new(id, [id.as_str(), label.as_str()], json);
        if services.iter().all(|other| other.name != named.name) {
            services.push(named);
        }
    }
    services
}

/// The aspects of the taxonomy, and those that only the insights know; each with what the insights say about it.
fn aspects(snapshot: &Snapshot, insights: &Insights) -> Vec<Named> {
    let measured = &insights.aspects;
    let known = snapshot
        .taxonomy
        .aspects
        .iter()
        .map(|one| (&one.id, &one.label));
    let mut names: Vec<(&String, &String)> = known.collect();
    for aspect in measured {
        if names.iter().all(|(other, _)| **other != aspect.id) {
            names.push((&aspect.id, &aspect.label));
        }
    }
    let named = |(id, label): (&String, &String)| {
        let json = shortest(|items| {
            let brief = insights
                .aspects
                .iter()
                .find(|one| one.id == *id)
                .map(|one| one.brief(items));
            serde_json::to_vec(&serde_json::json!({ "id": id, "label": label, "sentiment": brief }))
        });
        Named::new(id, [id.as_str(), label.as_str()], json)
    };
    names.into_iter().map(named).collect()
}

/// Every name that a filter accepts, with the number of reviews that mention it.
fn names(
    snapshot: &Snapshot,
    aspects: &[Named],
    technicians: &[Named],
    services: &[Named],
) -> Vec<u8> {
    let mut scratch = Scratch::default();
    let mut count = |filter: Filter<'_>| {
        let query = Query {
            filter,
            sort: Sort::Newest,
            limit: 1,
            cursor: None,
            ignored: &[],
        };
        u64::from(run(&snapshot.index, &query, &mut scratch).matched)
    };
    let mut out = Vec::new();
    let mut object = Object::begin(&mut out);
    let mut list = Array::begin(object.key("services"));
    for service in services.iter().take(NAMES_MAX) {
        let service_filter = Filter {
            service: Some(&service.folded[0]),
            ..Filter::ALL
        };
        push_counted(list.item(), &service.json, count(service_filter));
    }
    list.end();
    let mut list = Array::begin(object.key("technicians"));
    for technician in technicians.iter().take(NAMES_MAX) {
        let technician_filter = Filter {
            technician: Some(&technician.folded[0]),
            ..Filter::ALL
        };
        push_counted(list.item(), &technician.json, count(technician_filter));
    }
    list.end();
    object
        .strings(
            "aspects",
            aspects
                .iter()
                .take(NAMES_MAX)
                .map(|aspect| aspect.name.as_str()),
        )
        .strings(
            "service_areas",
            snapshot
                .taxonomy
                .service_areas
                .iter()
                .take(NAMES_MAX)
                .map(|area| area.label.as_str()),
        );
    object.end();
    fit(&parse_own(&out), ANSWER_BYTES_MAX)
}

/// Appends the object `json` with one member more.
fn push_counted(out: &mut Vec<u8>, json: &[u8], mention_count: u64) {
    out.extend_from_slice(json.strip_suffix(b"}").unwrap_or(json));
    out.extend_from_slice(b",\"mention_count\":");
    crate::wire::json::push_u64(out, mention_count);
    out.push(b'}');
}

/// Bounds of our own documents: they were checked when the dataset was read.
const OWN: Bounds = Bounds {
    values_max: 4_000_000,
    members_max: 4_096,
    skipped: &[],
};
/// Years of a summary, newest first.
const YEARS_MAX: usize = 100;
/// Names of one kind in the list of names.
const NAMES_MAX: usize = 500;
