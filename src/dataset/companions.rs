//! The files beside `reviews.json`: `taxonomy.json`, what reviews may speak of; `editorial.json`, what the business says in
//! its own words; `ignored.json`, reviews that were removed for good, so that no import adds them again.

use std::collections::HashSet;

use super::json::{self, Item, LIST_MAX, NameOf, Text};
use super::problem::Problems;
use super::reviews::Reviews;
use super::trades::TRADES;
use crate::model::{Concept, Editorial, Question, RemovedReview, Taxonomy, Technician};
use crate::wire::date::Date;

/// Reads `taxonomy.json`, and the trade that it extends; ids and labels are unique within each list, names of people too.
pub(super) fn taxonomy(item: Item<'_>) -> (Taxonomy, Option<&'static str>) {
    item.object(|keys| {
        let taxonomy = Taxonomy {
            aspects: concepts(keys.key("aspects")),
            technicians: technicians(keys.key("technicians")),
            services: concepts(keys.key("services")),
            service_areas: concepts(keys.key("service_areas")),
        };
        let extends = keys.optional_key("extends").and_then(Item::non_null);
        (taxonomy, extends.and_then(trade))
    })
}

fn trade(item: Item<'_>) -> Option<&'static str> {
    let names = TRADES.map(|(trade, _)| trade);
    let wanted = format!("one of the starter taxonomies: {}", names.join(", "));
    let name = item.string_of(&wanted, |name| names.contains(&name));
    names.into_iter().find(|known| *known == name)
}

fn concepts(item: Item<'_>) -> Vec<Concept> {
    let unique: [(_, NameOf<Concept>); 2] = [("id", |one| &one.id), ("label", |one| &one.label)];
    item.each_unique(&unique, |item| {
        item.object(|keys| Concept {
            id: keys.key("id").string(Text::Name),
            label: keys.key("label").string(Text::Name),
            phrases: keys.key("phrases").strings(Text::Name),
        })
    })
}

fn technicians(item: Item<'_>) -> Vec<Technician> {
    item.each_unique(&[("name", |person: &Technician| &person.name)], |item| {
        item.object(|keys| Technician {
            name: keys.key("name").string(Text::Name),
            aliases: keys.key("aliases").strings(Text::Name),
        })
    })
}

/// Reads `editorial.json`; every review that an answer leans on has to be a published one.
pub(super) fn editorial(item: Item<'_>, reviews: &Reviews) -> Editorial {
    item.object(|keys| Editorial {
        summary: keys.key("summary").optional(Text::Prose),
        pull_quote: keys.key("pull_quote").optional(Text::Prose),
        faq: questions(keys.key("faq"), reviews),
    })
}

pub(super) fn questions(item: Item<'_>, reviews: &Reviews) -> Vec<Question> {
    item.each(LIST_MAX, |item| {
        item.object(|keys| Question {
            question: keys.key("question").string(Text::Prose),
            answer: keys.key("answer").string(Text::Prose),
            review_ids: published_ids(keys.key("review_ids"), reviews),
        })
    })
}

pub(super) fn published_ids(item: Item<'_>, reviews: &Reviews) -> Vec<String> {
    item.each(LIST_MAX, |item| published_id(item, reviews))
}

pub(super) fn published_id(item: Item<'_>, reviews: &Reviews) -> String {
    let before = item.check().count();
    let id = item.string(Text::Name);
    if let (true, Err(Some(message))) = (item.check().count() == before, reviews.find(&id)) {
        item.refuse(message);
    }
    id
}

/// One review on the list of `ignored.json`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ignored {
    /// The id that it had.
    pub id: String,
    /// The day of its removal.
    pub date: Date,
    /// Why it was removed, for the operator alone: ids and days are published, so that mirrors can remove their copies.
    pub reason: String,
}

/// Reads the list, from the operator's own file and outside of a dataset.
///
/// # Errors
/// Every problem of the file.
pub fn parse_ignored(bytes: &[u8]) -> Result<Vec<Ignored>, Problems> {
    let mut problems = Problems::default();
    json::read(super::IGNORED, bytes, &mut problems, ignored).ok_or(problems)
}

/// Renders the list as [`parse_ignored`] reads it, one review a line.
#[must_use]
pub fn render_ignored(list: &[Ignored]) -> String {
    let json = |text: &str| serde_json::Value::from(text).to_string();
    let lines = list.iter().map(|Ignored { id, date, reason }| {
        let (id, reason) = (json(id), json(reason));
        format!("\n    {{ \"id\": {id}, \"date\": \"{date}\", \"reason\": {reason} }}")
    });
    let lines: Vec<String> = lines.collect();
    format!("{{\n  \"ignored\": [{}\n  ]\n}}\n", lines.join(","))
}

pub(super) fn ignored(item: Item<'_>) -> Vec<Ignored> {
    item.object(|keys| {
        let list = keys.key("ignored");
        let entries = list.each(LIST_MAX, |item| {
            item.object(|keys| Ignored {
                id: keys.key("id").review_id(),
                date: keys.key("date").date(),
                reason: keys.key("reason").string(Text::Prose),
            })
        });
        let mut ids = HashSet::new();
        let ids_of = entries.iter().map(|entry| &entry.id);
        if let Some(id) = ids_of
            .filter(|id| !id.is_empty())
            .find(|id| !ids.insert(*id))
        {
            list.refuse_unquoted(format_args!("holds {id} twice"));
        }
        entries
    })
}

/// What is published of the list: ids and days, the newest first.
pub(super) fn removed(list: &[Ignored]) -> Vec<RemovedReview> {
    let removed = list.iter().map(|entry| RemovedReview {
        id: entry.id.clone(),
        date: entry.date,
    });
    let mut removed: Vec<RemovedReview> = removed.collect();
    removed.sort_unstable_by(|left, right| (right.date, &right.id).cmp(&(left.date, &left.id)));
    removed
}
