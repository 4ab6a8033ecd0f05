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

/// What the warnings of a rule name, and so what it can be suppressed for besides the whole dataset.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    Dataset,
    Reviews,
    /// Single reviews, and paths in `editorial.json`.
    ReviewsAndEditorial,
}

/// The rules by the code of their warnings.
pub(super) const RULES: [(&str, Scope); 19] = [
    ("no_taxonomy", Scope::Dataset),
    ("no_editorial", Scope::Dataset),
    ("business_type", Scope::Dataset),
    ("no_disclaimer", Scope::Dataset),
    ("no_reviews", Scope::Dataset),
    ("unverified", Scope::Dataset),
    ("ignored", Scope::Dataset),
    ("future_date", Scope::Reviews),
    ("early_reply", Scope::Reviews),
    ("unknown_technician", Scope::Dataset),
    ("unknown_service", Scope::Dataset),
    ("no_low_rating", Scope::Dataset),
    ("money", Scope::ReviewsAndEditorial),
    ("promise", Scope::ReviewsAndEditorial),
    ("reply_name", Scope::Reviews),
    ("reply_case_number", Scope::Reviews),
    ("reply_matter", Scope::Reviews),
    ("insights_date", Scope::Dataset),
    ("ambiguous_name", Scope::Dataset),
];

/// Returns the rules, by the code of their warnings.
pub fn rules() -> impl Iterator<Item = &'static str> {
    RULES.into_iter().map(|(code, _)| code)
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
        let mut add = |code, (file, path): (FileSpec, &str), message: Option<String>| {
            if let Some(message) = message.filter(|_| !self.suppressions.covers_all(code)) {
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
        let reviews = (REVIEWS, "reviews");
        let message = format!(
            "is not there: subjects are those of the starter list \"{trade}\", and no person or service is recognised"
        );
        let message = (!self.taxonomy_given).then_some(message);
        add("no_taxonomy", (TAXONOMY, ""), message);
        let message = "is not there: summary, pull quote and questions stay empty";
        let message = (!self.editorial_given).then(|| message.to_owned());
        add("no_editorial", (EDITORIAL, ""), message);
        let message = format!(
            "is {kind}: the rules of a law practice were not looked at; set LegalService if it is one"
        );
        let message = advertising::may_be_law(kind).then_some(message);
        add("business_type", (REVIEWS, "business.type"), message);
        let message = "is null: many bars ask for a line saying that past results promise nothing";
        let is_without = dataset.disclaimer.is_none() && trade == "legal";
        let message = is_without.then(|| message.to_owned());
        add("no_disclaimer", (REVIEWS, "disclaimer"), message);
        let message = "holds no verified review: nothing is published";
        let message = dataset.reviews.is_empty().then(|| message.to_owned());
        add("no_reviews", reviews, message);
        let count = dataset.unverified_count;
        let message = (count > 0).then(|| format!("{count} not verified and so not published"));
        add("unverified", reviews, message);
        let count = self.ignored_count;
        let message = format!(
            "{count} on the list of ignored.json and so not published: remove them with `reviewd forget`, or from the list"
        );
        add("ignored", reviews, (count > 0).then_some(message));
        let future = self.examples("future_date", dataset, |review| {
            let reply = review.owner_reply.as_ref().map(|reply| reply.date);
            Some(review.date).max(reply) > Some(self.today)
        });
        let message = future
            .map(|(count, ids)| format!("{count} dated after today, or with such a reply ({ids})"));
        add("future_date", reviews, message);
        let early = self.examples("early_reply", dataset, |review| {
            let reply = review.owner_reply.as_ref();
            reply.is_some_and(|reply| reply.date < review.date)
        });
        let message = early
            .map(|(count, ids)| format!("{count} with a reply dated before the review ({ids})"));
        add("early_reply", reviews, message);
        add("unknown_technician", reviews, unknown_technicians(dataset));
        add("unknown_service", reviews, unknown_services(dataset));
        add("no_low_rating", reviews, no_low_rating(dataset));
        let findings = advertising::findings(dataset, threads);
        for Rule { code, says, .. } in &advertising::RULES {
            let of_rule = |finding: &&Finding<'_>| finding.rule.code == *code;
            let found: Vec<_> = findings.iter().filter(of_rule).collect();
            let in_reviews = self.in_reviews(code, &found);
            let message = in_reviews.map(|(count, shown)| format!("{count} with {says} ({shown})"));
            add(code, reviews, message);
            for one in found.iter().filter(|finding| finding.review.is_none()) {
                let Finding {
                    path,
                    review_ids,
                    words,
                    ..
                } = one;
                let is_covered = self.suppressions.covers_path(code, path, review_ids);
                let message = (!is_covered).then(|| format!("holds {says}: {words}"));
                add(code, (EDITORIAL, path), message);
            }
        }
        let message =
            "is not the updated_at of reviews.json: readers cannot tell which reviews it speaks of";
        let message = self.insights_differ.then(|| message.to_owned());
        add("insights_date", (INSIGHTS, "generated_at"), message);
        add(
            "ambiguous_name",
            (TAXONOMY, "technicians"),
            self.ambiguous(dataset),
        );
        warnings
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
        let names = self.matcher.ambiguous.iter().map(|each| {
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
    let message = "mentioned_technicians names people whom neither taxonomy nor business lists";
    Some(format!("{message}: {unknown}"))
}

fn unknown_services(dataset: &Dataset) -> Option<String> {
    let known = dataset.taxonomy.services.iter().map(|service| &service.id);
    let known = known.chain(dataset.business.services.iter().map(|service| &service.id));
    let unknown = unknown(dataset, |review| &review.mentioned_services, known)?;
    let message = "mentioned_services names ids that neither taxonomy nor business lists";
    Some(format!("{message}: {unknown}"))
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
