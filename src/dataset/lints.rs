//! Warnings: what keeps nothing from being served and still deserves a look.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::num::NonZeroUsize;

use super::advertising::{self, Finding, Rule};
use super::json::FileSpec;
use super::mentions::{Comparable, Matcher};
use super::problem::Warning;
use super::suppressions::Suppressions;
use super::{EDITORIAL, INSIGHTS, REVIEWS, TAXONOMY, trades};
use crate::model::{Dataset, Review};
use crate::wire::date::Date;
use crate::wire::text::quote;

/// How many examples a warning names; the rest is counted.
const EXAMPLES_MAX: usize = 3;

/// Fewer reviews than this say nothing by having no low rating.
const LOW_RATING_REVIEWS_MIN: usize = 10;

/// The rules, by the code of their warnings, with blanks between them.
const RULES: &str = "no_taxonomy no_editorial business_type no_disclaimer no_reviews unverified ignored future_date \
early_reply unknown_technician unknown_service no_low_rating money promise reply_name reply_case_number reply_matter \
insights_date ambiguous_name";

/// Those whose warnings name reviews, and can be suppressed for one review.
pub(super) const RULES_OF_REVIEWS: &str =
    "future_date early_reply money promise reply_name reply_case_number reply_matter";

/// Those whose warnings name paths in `editorial.json`, and can be suppressed for one of them.
pub(super) const RULES_OF_EDITORIAL: &str = "money promise";

/// Returns the rules, by the code of their warnings.
pub fn rules() -> impl Iterator<Item = &'static str> {
    RULES.split(' ')
}

/// Finds what deserves a warning in the dataset that it was decoded with.
#[derive(Debug)]
pub struct Lints {
    pub(super) taxonomy_given: bool,
    pub(super) editorial_given: bool,
    pub(super) matcher: Matcher,
    pub(super) today: Date,
    /// Whether the operator's own `insights.json` has another date than `reviews.json`.
    pub(super) insights_differ: bool,
    pub(super) suppressions: Suppressions,
    /// Reviews of the file that are on the ignore list, and so left out.
    pub(super) ignored_count: u64,
}

impl Lints {
    /// Returns the warnings about `dataset` that are not suppressed, at most one of each code and path, in a fixed order.
    ///
    /// The texts are looked through by as many threads as given: some seven seconds of processor time for a million of
    /// a law practice, next to nothing for other kinds of business.
    #[must_use]
    pub fn warnings(&self, dataset: &Dataset, threads: NonZeroUsize) -> Vec<Warning> {
        let mut warnings = Vec::new();
        let mut add = |code, file: FileSpec, path: &str, message: String| {
            if !self.suppressions.covers_all(code) {
                warnings.push(Warning {
                    code,
                    file: file.name,
                    path: path.to_owned(),
                    message,
                });
            }
        };
        let kind = &dataset.business.kind;
        let trade = trades::of_type(kind);
        if !self.taxonomy_given {
            let subjects = format!("subjects are those of the starter list \"{trade}\"");
            let message =
                format!("is not there: {subjects}, and no person or service is recognised");
            add("no_taxonomy", TAXONOMY, "", message);
        }
        if !self.editorial_given {
            let message = "is not there: summary, pull quote and questions stay empty";
            add("no_editorial", EDITORIAL, "", message.to_owned());
        }
        if advertising::may_be_law(kind) {
            let message =
                "the rules of a law practice were not looked at; set LegalService if it is one";
            add(
                "business_type",
                REVIEWS,
                "business.type",
                format!("is {kind}: {message}"),
            );
        }
        if dataset.disclaimer.is_none() && trade == "legal" {
            let message =
                "is null: many bars ask for a line saying that past results promise nothing";
            add("no_disclaimer", REVIEWS, "disclaimer", message.to_owned());
        }
        if dataset.reviews.is_empty() {
            let message = "holds no verified review: nothing is published";
            add("no_reviews", REVIEWS, "reviews", message.to_owned());
        }
        let count = dataset.unverified_count;
        if count > 0 {
            let message = format!("{count} not verified and so not published");
            add("unverified", REVIEWS, "reviews", message);
        }
        let count = self.ignored_count;
        if count > 0 {
            let remedy = "remove them with `reviewd forget`, or from the list";
            let message =
                format!("{count} on the list of ignored.json and so not published: {remedy}");
            add("ignored", REVIEWS, "reviews", message);
        }
        let of_reviews = [
            ("future_date", self.future_dates(dataset)),
            ("early_reply", self.early_replies(dataset)),
            ("unknown_technician", unknown_technicians(dataset)),
            ("unknown_service", unknown_services(dataset)),
            ("no_low_rating", no_low_rating(dataset)),
        ];
        for (code, message) in of_reviews {
            if let Some(message) = message {
                add(code, REVIEWS, "reviews", message);
            }
        }
        let findings = advertising::findings(dataset, threads);
        for Rule { code, says, .. } in &advertising::RULES {
            let of_rule = |finding: &&Finding<'_>| finding.rule.code == *code;
            let found: Vec<_> = findings.iter().filter(of_rule).collect();
            if let Some((count, shown)) = self.in_reviews(code, &found) {
                add(
                    code,
                    REVIEWS,
                    "reviews",
                    format!("{count} with {says} ({shown})"),
                );
            }
            for one in found.iter().filter(|finding| finding.review.is_none()) {
                if !self
                    .suppressions
                    .covers_path(code, &one.path, one.review_ids)
                {
                    add(
                        code,
                        EDITORIAL,
                        &one.path,
                        format!("holds {says}: {}", one.words),
                    );
                }
            }
        }
        if self.insights_differ {
            let message = "is not the updated_at of reviews.json: readers cannot tell which reviews it speaks of";
            add(
                "insights_date",
                INSIGHTS,
                "generated_at",
                message.to_owned(),
            );
        }
        if let Some(message) = self.ambiguous(dataset) {
            add("ambiguous_name", TAXONOMY, "technicians", message);
        }
        warnings
    }

    fn future_dates(&self, dataset: &Dataset) -> Option<String> {
        let (count, ids) = self.examples("future_date", dataset, |review| {
            let reply = review.owner_reply.as_ref().map(|reply| reply.date);
            Some(review.date).max(reply) > Some(self.today)
        })?;
        Some(format!(
            "{count} dated after today, or with such a reply ({ids})"
        ))
    }

    fn early_replies(&self, dataset: &Dataset) -> Option<String> {
        let (count, ids) = self.examples("early_reply", dataset, |review| {
            let reply = review.owner_reply.as_ref();
            reply.is_some_and(|reply| reply.date < review.date)
        })?;
        Some(format!(
            "{count} with a reply dated before the review ({ids})"
        ))
    }

    /// Counts the reviews that `is_meant` selects and `rule` is not suppressed for, and names the first, newest first.
    fn examples(
        &self,
        rule: &str,
        dataset: &Dataset,
        is_meant: impl Fn(&Review) -> bool,
    ) -> Option<(usize, String)> {
        let meant = dataset.reviews.iter().filter(|review| is_meant(review));
        let mut ids: Vec<&str> = meant.map(|review| review.id.as_str()).collect();
        ids.retain(|id| !self.suppressions.covers_review(rule, id));
        (!ids.is_empty()).then(|| (ids.len(), first_few(&ids)))
    }

    /// Counts the reviews with findings of `rule`, and shows the words of the first.
    fn in_reviews(&self, rule: &str, findings: &[&Finding<'_>]) -> Option<(usize, String)> {
        let with_id = |one: &&Finding<'_>| Some((one.review?.id.clone(), one.words.clone()));
        let mut found: Vec<(String, String)> = findings.iter().filter_map(with_id).collect();
        found.retain(|(id, _)| !self.suppressions.covers_review(rule, id));
        // A review and its reply stand next to each other, and count as one.
        found.dedup_by(|one, before| one.0 == before.0);
        let shown = found.iter().map(|(id, words)| format!("{id}: {words}"));
        let shown: Vec<String> = shown.collect();
        (!shown.is_empty()).then(|| (shown.len(), first_few(&shown)))
    }

    fn ambiguous(&self, dataset: &Dataset) -> Option<String> {
        let person = |at: usize| &dataset.taxonomy.technicians[at].name;
        let names = self.matcher.ambiguous().iter().map(|each| {
            let [first, second] = each.people.map(person);
            format!("{} fits {first} and {second}", quote(&each.name))
        });
        let names = first_and_count(&names.collect::<Vec<_>>())?;
        Some(format!(
            "a name that fits two people is not recognised: {names}"
        ))
    }
}

/// The first three of `items`, and a mark where there are more.
fn first_few<T: AsRef<str>>(items: &[T]) -> String {
    let mut shown: Vec<&str> = items.iter().take(EXAMPLES_MAX).map(AsRef::as_ref).collect();
    if items.len() > EXAMPLES_MAX {
        shown.push("…");
    }
    shown.join(", ")
}

/// The first three of `items` and how many more there are; `None` where there are none.
fn first_and_count(items: &[String]) -> Option<String> {
    let shown = items[..items.len().min(EXAMPLES_MAX)].join(", ");
    match items.len().saturating_sub(EXAMPLES_MAX) {
        _ if items.is_empty() => None,
        0 => Some(shown),
        more => Some(format!("{shown} and {more} more")),
    }
}

fn unknown_technicians(dataset: &Dataset) -> Option<String> {
    let people = dataset.taxonomy.technicians.iter();
    let known = people.flat_map(|person| std::iter::once(&person.name).chain(&person.aliases));
    let staff = &dataset.business.technicians;
    let known = known.chain(staff.iter().map(|person| &person.name));
    let unknown = unknown(dataset, |review| &review.mentioned_technicians, known)?;
    Some(format!(
        "mentioned_technicians names people whom neither taxonomy nor business lists: {unknown}"
    ))
}

fn unknown_services(dataset: &Dataset) -> Option<String> {
    let known = dataset.taxonomy.services.iter().map(|service| &service.id);
    let known = known.chain(dataset.business.services.iter().map(|service| &service.id));
    let unknown = unknown(dataset, |review| &review.mentioned_services, known)?;
    Some(format!(
        "mentioned_services names ids that neither taxonomy nor business lists: {unknown}"
    ))
}

/// Lists the mentions that `known` lacks, most frequent first, then by name.
fn unknown<'d>(
    dataset: &'d Dataset,
    mentions: impl Fn(&'d Review) -> &'d Vec<String>,
    known: impl Iterator<Item = &'d String>,
) -> Option<String> {
    let known: HashSet<Comparable> = known.map(|name| Comparable::new(name)).collect();
    let mut counts: HashMap<&str, u64> = HashMap::new();
    for name in dataset.reviews.iter().flat_map(mentions) {
        *counts.entry(name).or_default() += 1;
    }
    let mut unknown: Vec<(&str, u64)> = counts.into_iter().collect();
    unknown.retain(|(name, _)| !known.contains(&Comparable::new(name)));
    unknown.sort_unstable_by_key(|&(name, count)| (Reverse(count), name));
    let listed = unknown
        .iter()
        .map(|(name, count)| format!("{} ({count})", quote(name)));
    first_and_count(&listed.collect::<Vec<_>>())
}

fn no_low_rating(dataset: &Dataset) -> Option<String> {
    let count = dataset.reviews.len();
    let is_low = |review: &Review| review.rating.stars() <= 2;
    if count < LOW_RATING_REVIEWS_MIN || dataset.reviews.iter().any(is_low) {
        return None;
    }
    let reason = "leaving low ratings out is unlawful in places and never believed";
    Some(format!("none of {count} has 1 or 2 stars: {reason}"))
}

#[cfg(test)]
mod tests;
