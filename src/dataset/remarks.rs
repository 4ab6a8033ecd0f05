//! Warnings: what keeps nothing from being served and still deserves a look.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::num::NonZeroUsize;

use super::allow::Allowed;
use super::mentions::{Comparable, Matcher};
use super::practice::{self, Finding, Rule};
use super::problem::{Warning, quote};
use super::{EDITORIAL, INSIGHTS, REVIEWS, TAXONOMY};
use crate::model::{Business, Dataset, Review};
use crate::wire::date::{Date, Timestamp};

#[cfg(test)]
mod tests;

/// How many examples a warning names; the rest is counted.
const EXAMPLES_MAX: usize = 3;

/// Fewer reviews than this say nothing by having no low rating.
const LOW_RATING_REVIEWS_MIN: usize = 10;

/// The rules, by the code of their warnings.
pub const RULES: [&str; 19] = [
    "no_taxonomy",
    "no_editorial",
    "business_type",
    "no_disclaimer",
    "no_reviews",
    "unverified",
    "ignored",
    "future_date",
    "early_reply",
    "unknown_technician",
    "unknown_service",
    "no_low_rating",
    "money",
    "promise",
    "reply_name",
    "reply_case_number",
    "reply_matter",
    "insights_date",
    "ambiguous_name",
];

/// Those whose warnings name reviews, and can be silenced for one review.
pub(super) const RULES_OF_REVIEWS: [&str; 7] = [
    "future_date",
    "early_reply",
    "money",
    "promise",
    "reply_name",
    "reply_case_number",
    "reply_matter",
];

/// Finds what deserves a warning in the dataset that it was decoded with.
#[derive(Debug)]
pub struct Remarks {
    pub(super) taxonomy_given: bool,
    pub(super) editorial_given: bool,
    pub(super) matcher: Matcher,
    pub(super) today: Date,
    /// `generated_at` of the operator's own `insights.json`.
    pub(super) insights_at: Option<Timestamp>,
    /// What the operator does not want to hear again.
    pub(super) allowed: Allowed,
    /// Reviews of the file that are on the ignore list, and so left out.
    pub(super) ignored_count: u64,
}

impl Remarks {
    /// Returns the warnings about `dataset` that are not silenced, at most one of each code and file, in a fixed order.
    ///
    /// The texts are looked through by as many threads as given: some seven seconds of processor time for a million of
    /// a law practice, next to nothing for other kinds of business.
    #[must_use]
    pub fn of(&self, dataset: &Dataset, threads: NonZeroUsize) -> Vec<Warning> {
        let mut out = Vec::new();
        let mut warn = |code, file: super::Subject, place: &str, message: String| {
            if self.allowed.whole(code) {
                return;
            }
            out.push(Warning {
                code,
                file: file.file,
                place: place.to_owned(),
                message,
            });
        };
        let trade = super::trades::of_type(&dataset.business.kind);
        if !self.taxonomy_given {
            let message = format!(
                "is not there: subjects are those of the starter list \"{trade}\", and no person or service is recognised"
            );
            warn("no_taxonomy", TAXONOMY, "", message);
        }
        if !self.editorial_given {
            let message = "is not there: summary, pull quote and questions stay empty";
            warn("no_editorial", EDITORIAL, "", message.to_owned());
        }
        for (code, place, message) in of_business(&dataset.business) {
            warn(code, REVIEWS, place, message);
        }
        if dataset.disclaimer.is_none() && trade == "legal" {
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
        for (code, message) in [
            ("unverified", unverified(dataset)),
            ("ignored", self.ignored()),
            ("future_date", self.future_dates(dataset)),
            ("early_reply", self.early_replies(dataset)),
            ("unknown_technician", unknown_technicians(dataset)),
            ("unknown_service", unknown_services(dataset)),
            ("no_low_rating", no_low_rating(dataset)),
        ] {
            if let Some(message) = message {
                warn(code, REVIEWS, "reviews", message);
            }
        }
        for (code, file, place, message) in self.of_practice(dataset, threads) {
            warn(code, file, &place, message);
        }
        if self.insights_at.is_some() {
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
        out
    }

    /// What a law practice has to mind: code, file, place and message, by rule.
    fn of_practice(
        &self,
        dataset: &Dataset,
        threads: NonZeroUsize,
    ) -> Vec<(&'static str, super::Subject, String, String)> {
        let findings = practice::findings(dataset, threads);
        let mut warnings = Vec::new();
        for rule in practice::RULES {
            if let Some(message) = self.in_reviews(&findings, rule) {
                warnings.push((rule.code, REVIEWS, "reviews".to_owned(), message));
            }
            let is_said = |finding: &&Finding<'_>| {
                let (place, review_ids) = (&finding.place, finding.review_ids);
                finding.review.is_none() && !self.allowed.covers_place(rule.code, place, review_ids)
            };
            for finding in of_rule(&findings, rule).filter(is_said) {
                let message = format!("holds {}: {}", rule.says, finding.words);
                warnings.push((rule.code, EDITORIAL, finding.place.clone(), message));
            }
        }
        warnings
    }

    fn ignored(&self) -> Option<String> {
        (self.ignored_count > 0).then(|| {
            format!(
                "{} on the list of ignored.json and so not published: remove them with `reviewd forget`, or from the list",
                self.ignored_count
            )
        })
    }

    fn future_dates(&self, dataset: &Dataset) -> Option<String> {
        let late = |review: &&Review| {
            review.date > self.today
                || review
                    .owner_reply
                    .as_ref()
                    .is_some_and(|reply| reply.date > self.today)
        };
        let (count, examples) =
            self.examples("future_date", dataset.reviews.iter().filter(late))?;
        Some(format!(
            "{count} dated after today, or with such a reply ({examples})"
        ))
    }

    fn early_replies(&self, dataset: &Dataset) -> Option<String> {
        let early = |review: &&Review| {
            review
                .owner_reply
                .as_ref()
                .is_some_and(|reply| reply.date < review.date)
        };
        let (count, examples) =
            self.examples("early_reply", dataset.reviews.iter().filter(early))?;
        Some(format!(
            "{count} with a reply dated before the review ({examples})"
        ))
    }

    /// Counts the reviews that `rule` found something in, and shows the words of the first three.
    fn in_reviews(&self, findings: &[Finding<'_>], rule: Rule) -> Option<String> {
        let mut listed: Vec<(&str, &str)> = of_rule(findings, rule)
            .filter_map(|finding| Some((finding.review?.id.as_str(), finding.words.as_str())))
            .filter(|(id, _)| !self.allowed.covers(rule.code, id))
            .collect();
        // A review and its reply stand next to each other, and count as one.
        listed.dedup_by_key(|(id, _)| *id);
        let shown: Vec<String> = listed
            .iter()
            .take(EXAMPLES_MAX)
            .map(|(id, words)| format!("{id}: {words}"))
            .collect();
        let more = if listed.len() > shown.len() {
            ", …"
        } else {
            ""
        };
        let (count, shown) = (listed.len(), shown.join(", "));
        (count > 0).then(|| format!("{count} with {} ({shown}{more})", rule.says))
    }

    /// Counts reviews that are not silenced for `rule` and names the ids of the first three, newest first.
    fn examples<'r>(
        &self,
        rule: &str,
        found: impl Iterator<Item = &'r Review>,
    ) -> Option<(usize, String)> {
        let ids: Vec<&str> = found
            .map(|review| review.id.as_str())
            .filter(|id| !self.allowed.covers(rule, id))
            .collect();
        let more = if ids.len() > EXAMPLES_MAX {
            ", …"
        } else {
            ""
        };
        let shown = ids[..ids.len().min(EXAMPLES_MAX)].join(", ");
        (!ids.is_empty()).then(|| (ids.len(), format!("{shown}{more}")))
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

fn of_rule<'f, 'd>(
    findings: &'f [Finding<'d>],
    rule: Rule,
) -> impl Iterator<Item = &'f Finding<'d>> {
    findings.iter().filter(move |finding| finding.rule == rule)
}

/// What is to be filled in: code, place and message.
fn of_business(business: &Business) -> Vec<(&'static str, &'static str, String)> {
    let mut warnings = Vec::new();
    let kind = &business.kind;
    if practice::is_open(kind) {
        let message = format!(
            "is {kind}: the rules of a law practice were not looked at; set LegalService if it is one"
        );
        warnings.push(("business_type", "business.type", message));
    }
    warnings
}

fn unverified(dataset: &Dataset) -> Option<String> {
    let count = dataset.unverified_count;
    (count > 0).then(|| format!("{count} not verified and so not published"))
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
