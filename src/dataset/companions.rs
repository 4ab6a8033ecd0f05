//! The files beside `reviews.json`: `taxonomy.json`, what reviews may speak of; `editorial.json`, what the business says in
//! its own words; `insights.json`, a complete insights document made elsewhere; `ignored.json`, reviews that were removed
//! for good, so that no import adds them again.

use std::collections::HashSet;

use super::INSIGHTS;
use super::json::{self, Item, LIST_MAX, NameOf, TIME, Text};
use super::problem::{Position, Problem, Problems};
use super::reviews::Published;
use super::trades::TRADES;
use crate::model::insights::Insights;
use crate::model::{Concept, Editorial, Question, RemovedReview, Review, Taxonomy, Technician};
use crate::wire::date::{Date, parse_timestamp};
use crate::wire::text::quote;

/// Characters of an error that are shown, as it may quote the file: at most 200.
const REASON_CHARS_MAX: usize = 200;

/// Counts of a finished document: at most 2^53 - 1, up to which every JSON reader is exact.
const COUNT_MAX: u64 = 9_007_199_254_740_991;

/// What is wrong with an id that stands for no review.
const NOT_PUBLISHED: &str = "is not the id of a published review";

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

/// Reads `editorial.json`; every review that an answer leans on has to be a published one, if these are known.
pub(super) fn editorial(item: Item<'_>, published: Option<&Published<'_>>) -> Editorial {
    let review_id = |item: Item<'_>| {
        let id = item.string(Text::Name);
        let is_missing = published.is_some_and(|published| published.get(&id).is_none());
        if is_missing && !id.is_empty() {
            item.refuse(NOT_PUBLISHED);
        }
        id
    };
    item.object(|keys| Editorial {
        summary: keys.key("summary").optional(Text::Prose),
        pull_quote: keys.key("pull_quote").optional(Text::Prose),
        faq: keys.key("faq").each(LIST_MAX, |item| {
            item.object(|keys| Question {
                question: keys.key("question").string(Text::Prose),
                answer: keys.key("answer").string(Text::Prose),
                review_ids: keys.key("review_ids").each(LIST_MAX, review_id),
            })
        }),
    })
}

/// Checks `insights.json` before it is published as it stands: that pages can read it and add up its counts, that every
/// review it refers to is published, and that every piece of evidence is within its review's text. Further keys may hold
/// anything.
pub(super) fn check_insights(
    bytes: &[u8],
    published: Option<&Published<'_>>,
    problems: &mut Problems,
) {
    if json::read(INSIGHTS, bytes, problems, |_| ()).is_none() {
        return;
    }
    let problem = |message| Problem::of_file(INSIGHTS.name, message);
    let insights: Insights = match serde_json::from_slice(bytes) {
        Ok(insights) => insights,
        Err(error) => {
            let text = error.to_string();
            let reason = text.split(" at line ").next().unwrap_or_default();
            // It may quote the file, unescaped and at any length.
            let plain = reason.chars().filter(|character| !character.is_control());
            let reason: String = plain.take(REASON_CHARS_MAX).collect();
            return problems.push(|| Problem {
                position: Some(Position::of_error(&error)),
                ..problem(format!("cannot be published: {reason}"))
            });
        }
    };
    let mut found = Problems::default();
    if parse_timestamp(insights.generated_at.as_bytes()).is_none() {
        found.push(|| Problem {
            path: "generated_at".to_owned(),
            value: Some(quote(&insights.generated_at)),
            ..problem(format!("is not {TIME}"))
        });
    }
    for (path, count) in counts(&insights).filter(|(_, count)| *count > COUNT_MAX) {
        found.push(|| Problem {
            path,
            value: Some(count.to_string()),
            ..problem(format!("is not a whole number from 0 to {COUNT_MAX}"))
        });
    }
    if let Some(published) = published {
        check_references(&insights, published, &mut found);
    }
    found.locate(bytes);
    problems.append(found);
}

/// The counts of the document, but for those in what is left to the method, and their paths.
fn counts(insights: &Insights) -> impl Iterator<Item = (String, u64)> {
    let whole = [
        ("version", insights.version),
        ("review_count", insights.review_count),
    ];
    let whole = whole.map(|(key, count)| (key.to_owned(), count));
    let aspects = insights.aspects.iter().enumerate();
    whole.into_iter().chain(aspects.flat_map(|(at, aspect)| {
        let quarters = aspect.quarterly.iter();
        let of_quarters = quarters.flat_map(move |quarter| {
            let counts = [
                quarter.mention_count,
                quarter.positive_count,
                quarter.neutral_count,
                quarter.negative_count,
            ];
            counts.map(|count| (format!("aspects[{at}].quarterly"), count))
        });
        let of_aspect = [
            ("mention_count", aspect.mention_count),
            ("positive_count", aspect.positive_count),
            ("neutral_count", aspect.neutral_count),
            ("negative_count", aspect.negative_count),
        ];
        let of_aspect = of_aspect.map(|(key, count)| (format!("aspects[{at}].{key}"), count));
        of_aspect.into_iter().chain(of_quarters)
    }))
}

fn check_references(insights: &Insights, published: &Published<'_>, found: &mut Problems) {
    let problem = |message| Problem::of_file(INSIGHTS.name, message);
    let refer = |found: &mut Problems, path: String, id: &str| {
        let review = published.get(id);
        if review.is_none() {
            found.push(|| Problem {
                path,
                value: Some(quote(id)),
                ..problem(NOT_PUBLISHED.to_owned())
            });
        }
        review
    };
    for (at, aspect) in insights.aspects.iter().enumerate() {
        for id in &aspect.example_review_ids {
            refer(found, format!("aspects[{at}].example_review_ids"), id);
        }
        for (place, evidence) in aspect.evidence.iter().flatten().enumerate() {
            let path = format!("aspects[{at}].evidence[{place}]");
            let (start, end) = (evidence.start, evidence.end);
            let review = refer(found, path.clone(), &evidence.review_id);
            let length = review.map(|review| review.text.chars().count());
            if let Some(length) = length.filter(|length| start >= end || end as usize > *length) {
                let message =
                    format!("ranges from {start} to {end} in a text of {length} characters");
                found.push(|| Problem {
                    path,
                    ..problem(message)
                });
            }
        }
    }
    for id in insights.per_review.iter().flat_map(|all| all.keys()) {
        refer(found, "per_review".to_owned(), id);
    }
    for (at, question) in insights.faq.iter().enumerate() {
        for id in &question.review_ids {
            refer(found, format!("faq[{at}].review_ids"), id);
        }
    }
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
        keys.key("ignored").each(LIST_MAX, |item| {
            item.object(|keys| Ignored {
                id: keys.key("id").review_id(),
                date: keys.key("date").date(),
                reason: keys.key("reason").string(Text::Prose),
            })
        })
    })
}

/// The ids on the list.
pub(super) fn ids(list: &[Ignored]) -> HashSet<&str> {
    list.iter().map(|entry| entry.id.as_str()).collect()
}

/// Leaves out the reviews that are not verified, and those on the list; returns how many of each.
pub(super) fn leave_out(reviews: &mut Vec<Review>, list: &[Ignored]) -> (u32, u64) {
    let ids = ids(list);
    let all = reviews.len();
    reviews.retain(|review| review.verified);
    let verified = reviews.len();
    reviews.retain(|review| !ids.contains(review.id.as_str()));
    let unverified = u32::try_from(all - verified).unwrap_or(u32::MAX);
    (unverified, (verified - reviews.len()) as u64)
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

#[cfg(test)]
mod tests;
