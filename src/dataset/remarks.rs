//! Warnings: what keeps nothing from being served and still deserves a look.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use aho_corasick::AhoCorasick;

use super::mentions::{Comparable, Matcher};
use super::problem::{Warning, quote};
use super::{EDITORIAL, INSIGHTS, REVIEWS, TAXONOMY};
use crate::model::{Dataset, Review};
use crate::wire::date::{Date, Timestamp};

#[cfg(test)]
mod tests;

/// How many examples a warning names; the rest is counted.
const EXAMPLES_MAX: usize = 3;

/// Fewer reviews than this say nothing by having no low rating.
const LOW_RATING_REVIEWS_MIN: usize = 10;

/// schema.org types of practices whose advertising is bound by rules about results.
const LAW_TYPES: [&str; 3] = ["LegalService", "Attorney", "Notary"];

/// Words that make an amount of a number before them.
const CURRENCIES: [&str; 9] = [
    "dollar", "dollars", "euro", "euros", "pounds", "bucks", "grand", "usd", "eur",
];

/// Without one of these a text names no money.
const MONEY_HINTS: [&str; 9] = [
    "$", "€", "£", "dollar", "eur", "pounds", "bucks", "grand", "usd",
];

/// What the warnings depend on beside the dataset.
pub(super) struct Remarks<'d> {
    pub(super) taxonomy_given: bool,
    pub(super) editorial_given: bool,
    pub(super) matcher: &'d Matcher,
    pub(super) today: Date,
    /// `generated_at` of the operator's own `insights.json`.
    pub(super) insights_at: Option<Timestamp>,
}

impl Remarks<'_> {
    /// Appends the warnings, at most one of each code and in a fixed order.
    pub(super) fn collect(&self, dataset: &Dataset, out: &mut Vec<Warning>) {
        let mut warn = |code, file: super::Subject, place: &str, message: String| {
            out.push(Warning {
                code,
                file: file.file,
                place: place.to_owned(),
                message,
            });
        };
        if !self.taxonomy_given {
            let message =
                "is not there: no person, service or subject is recognised in the reviews";
            warn("no_taxonomy", TAXONOMY, "", message.to_owned());
        }
        if !self.editorial_given {
            let message = "is not there: summary, pull quote and questions stay empty";
            warn("no_editorial", EDITORIAL, "", message.to_owned());
        }
        if dataset.disclaimer.is_none() {
            let message =
                "is null: many bars ask for a line saying that past results promise nothing";
            warn("no_disclaimer", REVIEWS, "disclaimer", message.to_owned());
        }
        if dataset.reviews.is_empty() {
            warn(
                "no_reviews",
                REVIEWS,
                "reviews",
                "holds no verified review: nothing is published".to_owned(),
            );
        }
        if let Some(message) = unverified(dataset) {
            warn("unverified", REVIEWS, "reviews", message);
        }
        for (code, message) in [
            ("future_date", self.future_dates(dataset)),
            ("early_reply", early_replies(dataset)),
            ("unknown_technician", unknown_technicians(dataset)),
            ("unknown_service", unknown_services(dataset)),
            ("no_low_rating", no_low_rating(dataset)),
            ("money", money(dataset)),
        ] {
            if let Some(message) = message {
                warn(code, REVIEWS, "reviews", message);
            }
        }
        if self
            .insights_at
            .is_some_and(|time| time != dataset.updated_at)
        {
            let message = "is not the updated_at of reviews.json: readers cannot tell which reviews it speaks of";
            warn(
                "insights_date",
                INSIGHTS,
                "generated_at",
                message.to_owned(),
            );
        }
        if let Some(message) = self.ambiguous(dataset) {
            warn("ambiguous_name", TAXONOMY, "technicians", message);
        }
    }

    fn future_dates(&self, dataset: &Dataset) -> Option<String> {
        let late = |review: &&Review| {
            review.date > self.today
                || review
                    .owner_reply
                    .as_ref()
                    .is_some_and(|reply| reply.date > self.today)
        };
        let (count, examples) = examples(dataset.reviews.iter().filter(late))?;
        Some(format!(
            "{count} dated after today, or with such a reply ({examples})"
        ))
    }

    fn ambiguous(&self, dataset: &Dataset) -> Option<String> {
        let ambiguous = self.matcher.ambiguous();
        let name = |at: usize| &dataset.taxonomy.technicians[at].name;
        let listed: Vec<String> = ambiguous
            .iter()
            .take(EXAMPLES_MAX)
            .map(|each| {
                format!(
                    "{} fits {} and {}",
                    quote(&each.name),
                    name(each.people[0]),
                    name(each.people[1])
                )
            })
            .collect();
        match ambiguous.len().saturating_sub(EXAMPLES_MAX) {
            _ if listed.is_empty() => None,
            0 => Some(format!(
                "a name that fits two people names nobody: {}",
                listed.join(", ")
            )),
            more => Some(format!(
                "a name that fits two people names nobody: {} and {more} more",
                listed.join(", ")
            )),
        }
    }
}

fn unverified(dataset: &Dataset) -> Option<String> {
    let count = dataset.unverified_count;
    (count > 0).then(|| format!("{count} not verified and so not published"))
}

fn early_replies(dataset: &Dataset) -> Option<String> {
    let early = |review: &&Review| {
        review
            .owner_reply
            .as_ref()
            .is_some_and(|reply| reply.date < review.date)
    };
    let (count, examples) = examples(dataset.reviews.iter().filter(early))?;
    Some(format!(
        "{count} with a reply dated before the review ({examples})"
    ))
}

fn unknown_technicians(dataset: &Dataset) -> Option<String> {
    let people = &dataset.taxonomy.technicians;
    let taxonomy = people
        .iter()
        .flat_map(|person| std::iter::once(&person.name).chain(&person.aliases));
    let business = dataset
        .business
        .technicians
        .iter()
        .map(|person| &person.name);
    let known = folded(taxonomy.chain(business));
    let unknown = unknown(dataset, |review| &review.mentioned_technicians, &known)?;
    Some(format!(
        "mentioned_technicians names people whom neither taxonomy nor business lists: {unknown}"
    ))
}

fn unknown_services(dataset: &Dataset) -> Option<String> {
    let taxonomy = dataset.taxonomy.services.iter().map(|service| &service.id);
    let business = dataset.business.services.iter().map(|service| &service.id);
    let known = folded(taxonomy.chain(business));
    let unknown = unknown(dataset, |review| &review.mentioned_services, &known)?;
    Some(format!(
        "mentioned_services names ids that neither taxonomy nor business lists: {unknown}"
    ))
}

fn folded<'s>(names: impl Iterator<Item = &'s String>) -> HashSet<Comparable> {
    names.map(|name| Comparable::new(name)).collect()
}

/// Lists the mentions that `known` lacks, most frequent first, then by name.
fn unknown(
    dataset: &Dataset,
    mentions: impl Fn(&Review) -> &Vec<String>,
    known: &HashSet<Comparable>,
) -> Option<String> {
    let mut counts: HashMap<&str, u64> = HashMap::new();
    for name in dataset.reviews.iter().flat_map(mentions) {
        *counts.entry(name).or_default() += 1;
    }
    let mut unknown: Vec<(&str, u64)> = counts.into_iter().collect();
    unknown.retain(|(name, _)| !known.contains(&Comparable::new(name)));
    unknown.sort_unstable_by_key(|&(name, count)| (Reverse(count), name));
    let listed: Vec<String> = unknown
        .iter()
        .take(EXAMPLES_MAX)
        .map(|(name, count)| format!("{} ({count})", quote(name)))
        .collect();
    match unknown.len().saturating_sub(EXAMPLES_MAX) {
        _ if listed.is_empty() => None,
        0 => Some(listed.join(", ")),
        more => Some(format!("{} and {more} more", listed.join(", "))),
    }
}

fn no_low_rating(dataset: &Dataset) -> Option<String> {
    let count = dataset.reviews.len();
    let low = dataset
        .reviews
        .iter()
        .any(|review| review.rating.stars() <= 2);
    (count >= LOW_RATING_REVIEWS_MIN && !low).then(|| {
        format!("none of {count} has 1 or 2 stars: leaving low ratings out is unlawful in places and never believed")
    })
}

fn money(dataset: &Dataset) -> Option<String> {
    if !LAW_TYPES.contains(&dataset.business.kind.as_str()) {
        return None;
    }
    // Most texts hold none of these, and one pass of an automaton says so at the speed of memory.
    let hints = AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .build(MONEY_HINTS)
        .ok();
    let hinted = |text: &str| hints.as_ref().is_none_or(|hints| hints.is_match(text));
    let names = |text: &str| hinted(text) && names_money(text);
    let named = |review: &&Review| {
        names(&review.text)
            || review
                .owner_reply
                .as_ref()
                .is_some_and(|reply| names(&reply.text))
    };
    let (count, examples) = examples(dataset.reviews.iter().filter(named))?;
    Some(format!(
        "{count} naming an amount of money, which bar rules may take for a promise of results ({examples})"
    ))
}

/// Whether `text` holds a currency sign beside a digit, or a number before the name of a currency.
fn names_money(text: &str) -> bool {
    let digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
    let signed = text
        .char_indices()
        .filter(|(_, c)| matches!(c, '$' | '€' | '£'))
        .any(|(at, sign)| {
            let after = text[at + sign.len_utf8()..].trim_start().chars().next();
            let before = text[..at].trim_end().chars().next_back();
            digit(after) || digit(before)
        });
    signed || names_currency(text)
}

fn names_currency(text: &str) -> bool {
    let mut number = false;
    for word in text.split(|c: char| !c.is_alphanumeric() && c != ',' && c != '.') {
        let word = word.trim_matches([',', '.']);
        if number
            && CURRENCIES
                .iter()
                .any(|name| word.eq_ignore_ascii_case(name))
        {
            return true;
        }
        // "5 thousand dollars" and "5k dollars" are amounts as well.
        let scale = ["thousand", "million", "hundred"]
            .iter()
            .any(|name| word.eq_ignore_ascii_case(name));
        number = word.starts_with(|c: char| c.is_ascii_digit()) || (scale && number);
    }
    false
}

/// Counts reviews and names the ids of the first three, newest first.
fn examples<'r>(found: impl Iterator<Item = &'r Review>) -> Option<(usize, String)> {
    let mut ids = Vec::new();
    let mut count = 0;
    for review in found {
        count += 1;
        if ids.len() < EXAMPLES_MAX {
            ids.push(review.id.as_str());
        }
    }
    let more = if count > ids.len() { ", …" } else { "" };
    (count > 0).then(|| (count, format!("{}{more}", ids.join(", "))))
}
