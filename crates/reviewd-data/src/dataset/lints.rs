//! Warnings about a dataset that is valid and is served; and `check.json`, in which the operator suppresses warnings
//! after a review.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap, HashSet};

use super::advertising;
use super::json::{FileSpec, JsonItem, JsonObject, LIST_MAX, Text};
use super::names::Names;
use super::problem::Warning;
use super::{EDITORIAL, REVIEWS, TAXONOMY, trades};
use crate::model::{Dataset, Review};
use reviewd_wire::date::Date;
use reviewd_wire::text::quote;

/// Examples that a warning lists; further ones are only counted.
const EXAMPLES_MAX: usize = 3;

/// With fewer reviews than this, the absence of low ratings is no reason for a warning.
const LOW_RATING_REVIEWS_MIN: usize = 10;

/// A rule about the dataset: code, file and path of its warning, and the function that returns its message.
type Rule = (
    &'static str,
    FileSpec,
    &'static str,
    fn(&Lints, &Dataset) -> Option<String>,
);

/// All rules except the advertising rules, in the order of their warnings.
const RULES: [Rule; 13] = [
    ("no_taxonomy", TAXONOMY, "", |lints, dataset| {
        let trade = trades::of_type(&dataset.business.kind);
        let message = format!(
            "is missing: the aspects are those of the starter list \"{trade}\", and no person or service is recognised"
        );
        (!lints.taxonomy_given).then_some(message)
    }),
    ("business_type", REVIEWS, "business.type", |_, dataset| {
        let kind = &dataset.business.kind;
        let message = format!(
            "is {kind}: the rules for law practices were not checked; set LegalService if it is one"
        );
        let name = kind.rsplit('/').next().unwrap_or(kind);
        let mut open = ["LocalBusiness", "ProfessionalService", "Organization"].into_iter();
        let is_open = open.any(|one| one.eq_ignore_ascii_case(name));
        is_open.then_some(message)
    }),
    ("no_disclaimer", REVIEWS, "disclaimer", |_, dataset| {
        let message = "is null: many bars require a statement that past results guarantee nothing";
        let is_legal = trades::of_type(&dataset.business.kind) == "legal";
        (is_legal && dataset.disclaimer.is_none()).then(|| message.to_owned())
    }),
    ("no_reviews", REVIEWS, "reviews", |_, dataset| {
        let message = "has no verified review: nothing is published";
        dataset.reviews.is_empty().then(|| message.to_owned())
    }),
    ("unverified", REVIEWS, "reviews", |_, dataset| {
        let count = dataset.unverified_count;
        (count > 0).then(|| format!("{count} not verified and so not published"))
    }),
    ("ignored", REVIEWS, "reviews", |lints, _| {
        let count = lints.ignored_count;
        let message = format!(
            "{count} on the list of ignored.json and so not published: remove them with `reviewd forget`, or from the list"
        );
        (count > 0).then_some(message)
    }),
    ("future_date", REVIEWS, "reviews", |lints, dataset| {
        let says = "dated after today, or with such a reply";
        let is_meant = |review: &&Review| {
            let reply = review.owner_reply.as_ref().map(|reply| reply.date);
            Some(review.date).max(reply) > Some(lints.today)
        };
        let meant = dataset.reviews.iter().filter(is_meant);
        lints.counted("future_date", says, meant.map(without_words))
    }),
    ("early_reply", REVIEWS, "reviews", |lints, dataset| {
        let says = "with a reply dated before the review";
        let is_meant = |review: &&Review| {
            let mut reply = review.owner_reply.iter();
            reply.any(|reply| reply.date < review.date)
        };
        let meant = dataset.reviews.iter().filter(is_meant);
        lints.counted("early_reply", says, meant.map(without_words))
    }),
    ("unknown_technician", REVIEWS, "reviews", |_, dataset| {
        let says = "mentioned_technicians names people whom neither taxonomy nor business lists";
        let listed = Names::people(&dataset.taxonomy.technicians);
        unknown(
            dataset,
            |review| &review.mentioned_technicians,
            &listed,
            says,
        )
    }),
    ("unknown_service", REVIEWS, "reviews", |_, dataset| {
        let says = "mentioned_services names ids that neither taxonomy nor business lists";
        let listed = Names::concepts(&dataset.taxonomy.services);
        unknown(dataset, |review| &review.mentioned_services, &listed, says)
    }),
    ("unknown_location", REVIEWS, "reviews", |_, dataset| {
        let locations = &dataset.business.locations;
        let known: HashSet<&String> = locations.iter().map(|one| &one.id).collect();
        let is_unknown = |id: &&String| !known.contains(id);
        let ids = dataset
            .reviews
            .iter()
            .filter_map(|review| review.location.as_ref());
        let ids: BTreeSet<&String> = ids.filter(is_unknown).collect();
        let ids: Vec<String> = ids.into_iter().map(|id| quote(id)).collect();
        let message = "location names ids that business.locations does not list";
        Some(format!("{message}: {}", first_few(&ids)?))
    }),
    ("no_low_rating", REVIEWS, "reviews", |_, dataset| {
        let count = dataset.reviews.len();
        let is_low = |review: &Review| review.rating.stars() <= 2;
        let reason = "omitting low ratings is unlawful in some places and not credible";
        let is_odd = count >= LOW_RATING_REVIEWS_MIN && !dataset.reviews.iter().any(is_low);
        is_odd.then(|| format!("none of {count} has 1 or 2 stars: {reason}"))
    }),
    ("ambiguous_name", TAXONOMY, "technicians", |lints, _| {
        let names = first_few(&lints.ambiguous_names)?;
        let message = "a name that matches two people is not recognised";
        Some(format!("{message}: {names}"))
    }),
];

/// Returns the warning code of each rule.
pub fn rules() -> impl Iterator<Item = &'static str> {
    let of_dataset = RULES.into_iter().map(|(code, ..)| code);
    of_dataset.chain(advertising::rules().iter().map(|rule| &*rule.code))
}

/// Inputs of the rules that are not part of the dataset; finds the warnings.
#[derive(Debug)]
pub(super) struct Lints {
    pub(super) taxonomy_given: bool,
    /// Names that match several people, each with two of these people.
    pub(super) ambiguous_names: Vec<String>,
    pub(super) today: Date,
    pub(super) suppressed: Vec<Suppression>,
    /// Number of reviews in the file that are left out because the ignore list names them.
    pub(super) ignored_count: usize,
}

/// A rule whose warnings the operator suppresses, and the review ids and paths in `editorial.json` that this applies
/// to; an empty set suppresses the rule everywhere.
pub(super) type Suppression = (String, HashSet<String>);

/// Reads `check.json`. Rules, reviews and paths that no longer exist are ignored.
pub(super) fn suppressions(item: JsonItem<'_>) -> Vec<Suppression> {
    let suppression = |keys: &mut JsonObject<'_>| {
        keys.key("reason").string(Text::Prose);
        let places = keys.optional_key("places");
        let places = places.map(|item| item.strings(Text::Name));
        let rule = keys.key("rule").string(Text::Name);
        let review_ids = keys.key("review_ids").strings(Text::Name);
        let names = review_ids.into_iter().chain(places.into_iter().flatten());
        (rule, names.collect())
    };
    item.object(|keys| {
        let allow = keys.key("allow");
        allow.each(LIST_MAX, |item| item.object(suppression))
    })
}

impl Lints {
    /// Returns the warnings about `dataset` that are not suppressed, at most one per code and path, in a fixed order.
    ///
    /// Cost: about seven seconds for a million reviews of a law practice, negligible for other types of business.
    pub(super) fn warnings(&self, dataset: &Dataset) -> Vec<Warning> {
        let mut warnings = Vec::new();
        let mut add = |code, file: FileSpec, path: &str, message: Option<String>| {
            if let Some(message) = message.filter(|_| !self.is_suppressed(code, None)) {
                warnings.push(Warning {
                    code,
                    file: file.name,
                    path: path.to_owned(),
                    message,
                });
            }
        };
        for (code, file, path, find) in RULES {
            add(code, file, path, find(self, dataset));
        }
        let findings = advertising::findings(dataset);
        for rule in advertising::rules() {
            let (code, says) = (&*rule.code, &rule.says);
            let found = || findings.iter().filter(|one| one.rule.code == code);
            let in_reviews = found()
                .filter_map(|one| Some((one.review?.id.as_str(), format!(": {}", one.words))));
            let message = self.counted(code, &format!("with {says}"), in_reviews);
            add(code, REVIEWS, "reviews", message);
            for one in found().filter(|one| one.review.is_none()) {
                let is_covered = self.is_suppressed(code, Some(&one.path));
                let message = (!is_covered).then(|| format!("holds {says}: {}", one.words));
                add(code, EDITORIAL, &one.path, message);
            }
        }
        warnings
    }

    /// Whether `rule` is suppressed everywhere, or for this review id or path.
    fn is_suppressed(&self, rule: &str, name: Option<&str>) -> bool {
        let is_about = |names: &HashSet<String>| {
            names.is_empty() || name.is_some_and(|name| names.contains(name))
        };
        let mut all = self.suppressed.iter();
        all.any(|(known, names)| known == rule && is_about(names))
    }

    /// Counts the reviews with findings for which `rule` is not suppressed, and shows examples, newest first: ids with
    /// the words found.
    fn counted<'f>(
        &self,
        rule: &str,
        says: &str,
        findings: impl Iterator<Item = (&'f str, String)>,
    ) -> Option<String> {
        let is_left = |(id, _): &(&str, String)| !self.is_suppressed(rule, Some(id));
        let mut found: Vec<_> = findings.filter(is_left).collect();
        // Findings in a review and in its reply are adjacent, and count once.
        found.dedup_by(|one, before| one.0 == before.0);
        let shown = found.iter().map(|(id, words)| format!("{id}{words}"));
        let shown: Vec<String> = shown.collect();
        Some(format!("{} {says} ({})", shown.len(), first_few(&shown)?))
    }
}

/// A finding about a review without words to quote.
fn without_words(review: &Review) -> (&str, String) {
    (&review.id, String::new())
}

/// The first three of `items` and the number of further ones; `None` if `items` is empty.
fn first_few(items: &[String]) -> Option<String> {
    let shown = items[..items.len().min(EXAMPLES_MAX)].join(", ");
    match items.len().saturating_sub(EXAMPLES_MAX) {
        _ if items.is_empty() => None,
        0 => Some(shown),
        more => Some(format!("{shown} and {more} more")),
    }
}

/// Returns `says` and the mentions that are not `listed`, most frequent first, then by name.
fn unknown<'d>(
    dataset: &'d Dataset,
    mentions: impl Fn(&'d Review) -> &'d Vec<String>,
    listed: &Names,
    says: &str,
) -> Option<String> {
    let mut counts: HashMap<&str, u64> = HashMap::new();
    for name in dataset.reviews.iter().flat_map(mentions) {
        *counts.entry(name).or_default() += 1;
    }
    counts.retain(|name, _| listed.entry_of_mention(name).is_none());
    let mut unknown: Vec<(&str, u64)> = counts.into_iter().collect();
    unknown.sort_unstable_by_key(|&(name, count)| (Reverse(count), name));
    let mut shown: Vec<String> = Vec::new();
    for (name, count) in unknown {
        shown.push(format!("{} ({count})", quote(name)));
    }
    Some(format!("{says}: {}", first_few(&shown)?))
}

#[cfg(test)]
mod tests;
