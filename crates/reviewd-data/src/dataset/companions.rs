//! The files besides `reviews.json`: `taxonomy.json`, the names and phrases to find in reviews; `editorial.json`, the
//! business's own texts; `insights.json`, a complete insights document of another program; `ignored.json`, permanently
//! removed reviews, which no import adds again.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::json;

use super::INSIGHTS;
use super::json::{self, FileProblems, JsonItem, JsonObject, LIST_MAX, TIME, TextRule};
use super::problem::{Problem, Problems};
use super::trades::TRADES;
use crate::model::insights::{Evidence, Insights, Polarity};
use crate::model::{Concept, Editorial, Question, RemovedReview, Review, Taxonomy, Technician};
use reviewd_wire::date::parse_timestamp;
use reviewd_wire::text::quote;

/// Largest count in an insights document: 2^53 - 1, up to which every JSON parser is exact.
const COUNT_MAX: u64 = 9_007_199_254_740_991;

/// Reviews that can be pinned. Our choice: more would push the newest ones off the first screens.
const FEATURED_MAX: usize = 10;

/// Keys of an insights document that depend on its method.
const METHOD_KEYS: [&str; 6] = [
    "method", "coverage", "limits", "entities", "topics", "temporal",
];

/// The message about an id of no published review.
const NOT_PUBLISHED: &str = "is not the id of a published review";

/// The contents of `taxonomy.json`.
#[derive(Default)]
pub(super) struct TaxonomyFile {
    pub(super) taxonomy: Taxonomy,
    /// The trade whose starter taxonomy it extends.
    pub(super) extends: Option<&'static str>,
}

/// Reads `taxonomy.json`; ids and labels are unique within each list, names of people too.
pub(super) fn taxonomy(item: JsonItem<'_>) -> TaxonomyFile {
    item.object(|keys| TaxonomyFile {
        taxonomy: Taxonomy {
            // `trades` fills it in with the phrases of a starter taxonomy.
            phrase_languages: BTreeMap::new(),
            aspects: concepts(keys.key("aspects")),
            technicians: technicians(keys.key("technicians")),
            services: concepts(keys.key("services")),
            service_areas: concepts(keys.key("service_areas")),
        },
        extends: keys.non_null_key("extends").and_then(trade),
    })
}

fn trade(item: JsonItem<'_>) -> Option<&'static str> {
    let names = TRADES.map(|(trade, _)| trade);
    let wanted = format!("one of the starter taxonomies: {}", names.join(", "));
    item.parsed_string(wanted, |name| {
        names.into_iter().find(|trade| *trade == name)
    })
}

fn concepts(item: JsonItem<'_>) -> Vec<Concept> {
    let concepts = item.items(LIST_MAX, |item| {
        item.object(|keys| Concept {
            id: keys.key("id").string(TextRule::Name),
            label: keys.key("label").string(TextRule::Name),
            phrases: keys.key("phrases").strings(TextRule::Name),
            not_phrases: not_phrases(keys),
        })
    });
    item.push_duplicates("id", concepts.iter().map(|concept| &concept.id));
    item.push_duplicates("label", concepts.iter().map(|concept| &concept.label));
    concepts
}

fn not_phrases(keys: &mut JsonObject<'_>) -> Vec<String> {
    let listed = keys.non_null_key("not_phrases");
    listed.map_or_else(Vec::new, |item| item.strings(TextRule::Name))
}

fn technicians(item: JsonItem<'_>) -> Vec<Technician> {
    let people = item.items(LIST_MAX, |item| {
        item.object(|keys| Technician {
            name: keys.key("name").string(TextRule::Name),
            aliases: keys.key("aliases").strings(TextRule::Name),
        })
    });
    item.push_duplicates("name", people.iter().map(|person| &person.name));
    people
}

/// Finds a published review by its id.
pub(super) type FindPublished<'p, 'r> = &'p dyn Fn(&str) -> Option<&'r Review>;

/// Reads `editorial.json`; every review that an answer cites must be published, if the published reviews are known.
pub(super) fn editorial(
    item: JsonItem<'_>,
    find_published: Option<FindPublished<'_, '_>>,
) -> Editorial {
    item.object(|keys| Editorial {
        summary: keys.key("summary").nullable_string(TextRule::Prose),
        pull_quote: keys.key("pull_quote").nullable_string(TextRule::Prose),
        featured: match keys.non_null_key("featured") {
            Some(item) => featured(item, find_published),
            None => Vec::new(),
        },
        faq: keys.key("faq").items(LIST_MAX, |item| {
            item.object(|keys| Question {
                question: keys.key("question").string(TextRule::Prose),
                answer: keys.key("answer").string(TextRule::Prose),
                review_ids: keys
                    .key("review_ids")
                    .items(LIST_MAX, |item| cited_id(item, find_published)),
            })
        }),
    })
}

fn featured(item: JsonItem<'_>, find_published: Option<FindPublished<'_, '_>>) -> Vec<String> {
    let ids = item.items(FEATURED_MAX, |item| cited_id(item, find_published));
    item.push_duplicates("id", ids.iter());
    ids
}

/// Reads the id of a review, which must be published, if the published reviews are known.
fn cited_id(item: JsonItem<'_>, find_published: Option<FindPublished<'_, '_>>) -> String {
    let id = item.string(TextRule::Name);
    // A rejected id was replaced by an empty one.
    if let Some(find_published) = find_published
        && !id.is_empty()
        && find_published(&id).is_none()
    {
        item.push_problem(NOT_PUBLISHED);
    }
    id
}

/// Checks `insights.json`, which is published unchanged:
///
/// - pages must be able to parse it and to add up its counts;
/// - if the published reviews are known, every review that it refers to must be one of them, and every evidence must lie
///   within the text of its review.
///
/// Further keys may have any value.
pub(super) fn check_insights(
    file: &Option<Vec<u8>>,
    find_published: Option<FindPublished<'_, '_>>,
    problems: &mut Problems,
) {
    if json::read_file(INSIGHTS, file, problems, insights).is_none() {
        return;
    }
    let Some(bytes) = file else {
        return;
    };
    let file_problems = FileProblems::new(INSIGHTS);
    match serde_json::from_slice(bytes) {
        Ok(insights) => {
            check_quarters(&insights, &file_problems);
            if let Some(find_published) = find_published {
                check_references(&insights, find_published, &file_problems);
            }
        }
        // For example, simd-json and serde_json read a number differently.
        Err(error) => file_problems.problems.borrow_mut().push(|| Problem {
            line: Some(error.line()),
            column: Some(error.column()),
            ..Problem::of_file(INSIGHTS.name, "has a value that cannot be published")
        }),
    }
    file_problems.finish(bytes, problems);
}

/// Reads `insights.json`: records each key that is missing and each value of another type.
fn insights(item: JsonItem<'_>) {
    item.open_object(|keys| {
        keys.key("version").check_count(COUNT_MAX);
        keys.key("generated_at")
            .parsed_string(TIME, |text| parse_timestamp(text.as_bytes()));
        keys.key("model").check_string();
        keys.key("review_count").check_count(COUNT_MAX);
        keys.key("date_range").open_object(|keys| {
            optional(keys.key("earliest"), check_string);
            optional(keys.key("latest"), check_string);
        });
        optional(keys.key("overall_sentiment"), |item| {
            item.open_object(|keys| {
                for key in ["score", "positive_pct", "neutral_pct", "negative_pct"] {
                    keys.key(key).check_number();
                }
            });
        });
        keys.key("aspects").each_item(insights_aspect);
        optional(keys.key("per_review"), |item| {
            item.each_member(|item| {
                item.open_object(|keys| {
                    optional(keys.key("score"), check_number);
                    for key in ["sentiment", "aspects", "technicians", "services"] {
                        keys.require(key);
                    }
                });
            });
        });
        keys.key("faq").each_item(|item| {
            item.open_object(|keys| {
                keys.key("question").check_string();
                keys.key("answer").check_string();
                keys.key("review_ids").each_item(check_string);
            });
        });
        optional(keys.key("summary"), check_string);
        optional(keys.key("pull_quote"), check_string);
        // Another method may write any values here.
        for key in METHOD_KEYS {
            keys.require(key);
        }
    });
}

fn insights_aspect(item: JsonItem<'_>) {
    item.open_object(|keys| {
        keys.key("id").check_string();
        keys.key("label").check_string();
        keys.key("mention_count").check_count(COUNT_MAX);
        keys.key("positive_count").check_count(COUNT_MAX);
        keys.key("neutral_count").check_count(COUNT_MAX);
        keys.key("negative_count").check_count(COUNT_MAX);
        optional(keys.key("positive_pct"), check_number);
        optional(keys.key("score"), check_number);
        keys.key("top_phrases").each_item(check_string);
        keys.key("example_review_ids").each_item(check_string);
        optional(keys.key("interval"), |item| {
            let mut bounds = 0;
            item.each_item(|item| {
                item.check_number();
                bounds += 1;
            });
            if item.is_list() && bounds != 2 {
                item.push_problem("does not have two numbers");
            }
        });
        optional(keys.key("evidence"), |item| {
            item.each_item(|item| {
                item.open_object(|keys| {
                    keys.key("review_id").check_string();
                    keys.key("start").check_count(u64::from(u32::MAX));
                    keys.key("end").check_count(u64::from(u32::MAX));
                    let words = "\"positive\", \"neutral\" or \"negative\"";
                    keys.key("polarity").parsed_string(words, Polarity::parse);
                });
            });
        });
        if let Some(change) = keys.non_null_key("change") {
            change.check_string();
        }
    });
}

fn check_string(item: JsonItem<'_>) {
    item.check_string();
}

fn check_number(item: JsonItem<'_>) {
    item.check_number();
}

/// Reads the value of a required key unless it is null; keys that may be absent are read by `non_null_key`.
fn optional(item: JsonItem<'_>, read: impl FnOnce(JsonItem<'_>)) {
    if let Some(item) = item.non_null() {
        read(item);
    }
}

/// Checks the counts of the quarters that parsing kept. [`insights`] does not check quarters, as those of another shape
/// are dropped by parsing and not an error.
fn check_quarters(insights: &Insights, file_problems: &FileProblems) {
    for (at, aspect) in insights.aspects.iter().enumerate() {
        for (index, quarter) in aspect.quarterly.iter().enumerate() {
            for (key, count) in [
                ("mention_count", quarter.mention_count),
                ("positive_count", quarter.positive_count),
                ("neutral_count", quarter.neutral_count),
                ("negative_count", quarter.negative_count),
            ] {
                if count > COUNT_MAX {
                    let path = format_args!("aspects[{at}].quarterly[{index}].{key}");
                    let message = format_args!("is not a whole number from 0 to {COUNT_MAX}");
                    file_problems.push_problem(path, Some(count.to_string()), message);
                }
            }
        }
    }
}

fn check_references(
    insights: &Insights,
    find_published: FindPublished<'_, '_>,
    file_problems: &FileProblems,
) {
    let references = References {
        find_published,
        file_problems,
    };
    for (at, aspect) in insights.aspects.iter().enumerate() {
        for id in &aspect.example_review_ids {
            references.find(format_args!("aspects[{at}].example_review_ids"), id);
        }
        for (index, evidence) in aspect.evidence.iter().flatten().enumerate() {
            let path = format!("aspects[{at}].evidence[{index}]");
            references.check_evidence(&path, evidence);
        }
    }
    for id in insights.per_review.iter().flat_map(|all| all.keys()) {
        references.find(format_args!("per_review"), id);
    }
    for (at, question) in insights.faq.iter().enumerate() {
        for id in &question.review_ids {
            references.find(format_args!("faq[{at}].review_ids"), id);
        }
    }
}

/// The published reviews, to which `insights.json` refers.
struct References<'c, 'p, 'r> {
    find_published: FindPublished<'p, 'r>,
    file_problems: &'c FileProblems,
}

impl<'r> References<'_, '_, 'r> {
    /// Returns the review; records a problem if it is not published.
    fn find(&self, path: fmt::Arguments<'_>, id: &str) -> Option<&'r Review> {
        let review = (self.find_published)(id);
        if review.is_none() {
            self.file_problems
                .push_problem(path, Some(quote(id)), NOT_PUBLISHED);
        }
        review
    }

    /// Checks that a range lies within the text of its review.
    fn check_evidence(&self, path: &str, evidence: &Evidence) {
        let Some(review) = self.find(format_args!("{path}"), &evidence.review_id) else {
            return;
        };
        let start = evidence.start;
        let end = evidence.end;
        let length = review.text.chars().count();
        if start >= end || end as usize > length {
            let message =
                format_args!("is the range {start} to {end} in a text of {length} characters");
            self.file_problems
                .push_problem(format_args!("{path}"), None, message);
        }
    }
}

/// Renders `ignored.json`.
#[must_use]
pub fn render_ignored(list: &[RemovedReview]) -> String {
    format!("{:#}\n", json!({"ignored": list}))
}

pub(super) fn ignored_reviews(item: JsonItem<'_>) -> Vec<RemovedReview> {
    item.object(|keys| {
        keys.key("ignored").items(LIST_MAX, |item| {
            item.object(|keys| RemovedReview {
                id: keys.key("id").review_id(),
                date: keys.key("date").date(),
                reason: keys.key("reason").string(TextRule::Prose),
            })
        })
    })
}

#[cfg(test)]
mod tests;
