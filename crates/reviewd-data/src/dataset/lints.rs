//! Warnings about a dataset that is valid and is served; and `check.json`, in which the operator suppresses warnings
//! after a review.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap, HashSet};

use super::advertising;
use super::json::{FileSpec, JsonItem, JsonObject, LIST_MAX, TextRule};
use super::names::Names;
use super::problem::Warning;
use super::{EDITORIAL, REVIEWS, TAXONOMY, trades};
use crate::model::{Dataset, Review};
use reviewd_wire::date::Date;
use reviewd_wire::text::{is_hidden, quote};

/// Examples that a warning lists; further ones are only counted.
const EXAMPLES_MAX: usize = 3;

/// Characters of a field that a warning lists; further ones are only counted.
const CHARACTERS_MAX: usize = 8;

/// With fewer reviews than this, the absence of low ratings is no reason for a warning.
const LOW_RATING_REVIEWS_MIN: usize = 10;

/// The trade with rules of its own.
const LEGAL: &str = "legal";

/// Types of businesses that may be law practices.
const OPEN_TYPES: [&str; 3] = ["LocalBusiness", "ProfessionalService", "Organization"];

/// A rule about the dataset.
struct Rule {
    code: &'static str,
    file: FileSpec,
    path: &'static str,
    /// Returns the message of the warning, if there is reason for one.
    find: fn(&Lints, &Dataset) -> Option<String>,
}

const fn rule(
    code: &'static str,
    file: FileSpec,
    path: &'static str,
    find: fn(&Lints, &Dataset) -> Option<String>,
) -> Rule {
    Rule {
        code,
        file,
        path,
        find,
    }
}

/// All rules except the advertising rules, in the order of their warnings.
static RULES: [Rule; 14] = [
    rule("no_taxonomy", TAXONOMY, "", no_taxonomy),
    rule("business_type", REVIEWS, "business.type", business_type),
    rule("no_disclaimer", REVIEWS, "disclaimer", no_disclaimer),
    rule("no_reviews", REVIEWS, "reviews", no_reviews),
    rule("unverified", REVIEWS, "reviews", unverified),
    rule("ignored", REVIEWS, "reviews", ignored),
    rule("future_date", REVIEWS, "reviews", future_date),
    rule("early_reply", REVIEWS, "reviews", early_reply),
    rule("hidden_characters", REVIEWS, "reviews", hidden_characters),
    rule("unknown_technician", REVIEWS, "reviews", unknown_technician),
    rule("unknown_service", REVIEWS, "reviews", unknown_service),
    rule("unknown_location", REVIEWS, "reviews", unknown_location),
    rule("no_low_rating", REVIEWS, "reviews", no_low_rating),
    rule("ambiguous_name", TAXONOMY, "technicians", ambiguous_name),
];

/// Returns the warning code of each rule.
pub fn rules() -> impl Iterator<Item = &'static str> {
    let of_dataset = RULES.iter().map(|rule| rule.code);
    of_dataset.chain(advertising::rules().iter().map(|rule| &*rule.code))
}

/// Inputs of the rules that are not part of the dataset; finds the warnings.
#[derive(Debug)]
pub(super) struct Lints {
    pub(super) has_taxonomy: bool,
    /// Names that match several people, each with two of these people.
    pub(super) ambiguous_names: Vec<String>,
    pub(super) today: Date,
    pub(super) suppressed: Vec<Suppression>,
    /// Number of reviews in the file that are left out because the ignore list names them.
    pub(super) ignored_count: usize,
}

/// A rule whose warnings the operator suppresses.
#[derive(Debug)]
pub(super) struct Suppression {
    code: String,
    /// Review ids, and paths in `editorial.json`, that this applies to; without any the rule is suppressed everywhere.
    names: HashSet<String>,
}

/// Reads `check.json`. Rules, reviews and paths that no longer exist are ignored.
pub(super) fn suppressions(item: JsonItem<'_>) -> Vec<Suppression> {
    item.object(|keys| {
        let allow = keys.key("allow");
        allow.items(LIST_MAX, |item| item.object(suppression))
    })
}

fn suppression(keys: &mut JsonObject<'_>) -> Suppression {
    keys.key("reason").string(TextRule::Prose);
    let places = keys
        .optional_key("places")
        .map(|item| item.strings(TextRule::Name));
    let code = keys.key("rule").string(TextRule::Name);
    let review_ids = keys.key("review_ids").strings(TextRule::Name);
    let names = review_ids.into_iter().chain(places.into_iter().flatten());
    Suppression {
        code,
        names: names.collect(),
    }
}

impl Lints {
    /// Returns the warnings about `dataset` that are not suppressed, at most one per code and path, in a fixed order.
    ///
    /// Cost: about seven seconds for a million reviews of a law practice, negligible for other types of business.
    pub(super) fn warnings(&self, dataset: &Dataset) -> Vec<Warning> {
        let mut warnings = Vec::new();
        for rule in &RULES {
            let message = (rule.find)(self, dataset);
            self.push(&mut warnings, rule.code, rule.file, rule.path, message);
        }
        self.push_advertising(&mut warnings, dataset);
        warnings
    }

    /// Adds the warnings of the advertising rules: one for the reviews, and one for each text of the owner.
    fn push_advertising(&self, warnings: &mut Vec<Warning>, dataset: &Dataset) {
        let findings = advertising::findings(dataset);
        for rule in advertising::rules() {
            let code = &*rule.code;
            let mut in_reviews = Vec::new();
            let mut in_editorial = Vec::new();
            for finding in findings.iter().filter(|one| one.rule.code == code) {
                match finding.review {
                    Some(review) => in_reviews.push(ReviewFinding {
                        id: &review.id,
                        words: format!(": {}", finding.words),
                    }),
                    None => in_editorial.push(finding),
                }
            }
            let says = format!("with {}", rule.says);
            let about_reviews = self.counted(code, &says, in_reviews.into_iter());
            self.push(warnings, code, REVIEWS, "reviews", about_reviews);
            for finding in in_editorial {
                if !self.is_suppressed(code, Some(&finding.path)) {
                    let about_text = format!("holds {}: {}", rule.says, finding.words);
                    self.push(warnings, code, EDITORIAL, &finding.path, Some(about_text));
                }
            }
        }
    }

    /// Adds a warning, unless there is no message or the rule is suppressed everywhere.
    fn push(
        &self,
        warnings: &mut Vec<Warning>,
        code: &'static str,
        file: FileSpec,
        path: &str,
        message: Option<String>,
    ) {
        let Some(message) = message else {
            return;
        };
        if self.is_suppressed(code, None) {
            return;
        }
        warnings.push(Warning {
            code,
            file: file.name,
            path: path.to_owned(),
            message,
        });
    }

    /// Whether a rule is suppressed everywhere, or for this review id or path.
    fn is_suppressed(&self, code: &str, name: Option<&str>) -> bool {
        self.suppressed.iter().any(|one| {
            let is_about =
                one.names.is_empty() || name.is_some_and(|name| one.names.contains(name));
            one.code == code && is_about
        })
    }

    /// Counts the reviews with findings for which a rule is not suppressed, and shows examples, newest first: ids with
    /// the words found.
    fn counted<'f>(
        &self,
        code: &str,
        says: &str,
        findings: impl Iterator<Item = ReviewFinding<'f>>,
    ) -> Option<String> {
        let mut found: Vec<ReviewFinding<'_>> = findings
            .filter(|one| !self.is_suppressed(code, Some(one.id)))
            .collect();
        // Findings in a review and in its reply are adjacent, and count once.
        found.dedup_by(|one, before| one.id == before.id);
        let mut shown = Vec::new();
        for one in found {
            shown.push(format!("{}{}", one.id, one.words));
        }
        Some(format!("{} {says} ({})", shown.len(), first_few(&shown)?))
    }
}

fn no_taxonomy(lints: &Lints, dataset: &Dataset) -> Option<String> {
    if lints.has_taxonomy {
        return None;
    }
    let trade = trades::of_type(&dataset.business.kind);
    Some(format!(
        "is missing: the aspects are those of the starter list \"{trade}\", and of people and services only those of the business are recognized"
    ))
}

fn business_type(_: &Lints, dataset: &Dataset) -> Option<String> {
    let kind = &dataset.business.kind;
    let name = kind.rsplit('/').next().unwrap_or(kind);
    if !OPEN_TYPES
        .iter()
        .any(|open| open.eq_ignore_ascii_case(name))
    {
        return None;
    }
    Some(format!(
        "is {kind}: the rules for law practices were not checked; set LegalService if it is one"
    ))
}

fn no_disclaimer(_: &Lints, dataset: &Dataset) -> Option<String> {
    if dataset.disclaimer.is_some() || trades::of_type(&dataset.business.kind) != LEGAL {
        return None;
    }
    let message = "is null: many bars require a statement that past results guarantee nothing";
    Some(message.to_owned())
}

fn no_reviews(_: &Lints, dataset: &Dataset) -> Option<String> {
    if !dataset.reviews.is_empty() {
        return None;
    }
    Some("has no verified review: nothing is published".to_owned())
}

fn unverified(_: &Lints, dataset: &Dataset) -> Option<String> {
    match dataset.unverified_count {
        0 => None,
        count => Some(format!("{count} not verified and so not published")),
    }
}

fn ignored(lints: &Lints, _: &Dataset) -> Option<String> {
    match lints.ignored_count {
        0 => None,
        count => Some(format!(
            "{count} on the list of ignored.json and so not published: remove them with `reviewd forget`, or from the list"
        )),
    }
}

fn future_date(lints: &Lints, dataset: &Dataset) -> Option<String> {
    let future = dataset.reviews.iter().filter(|review| {
        let reply = review.owner_reply.as_ref();
        review.date > lints.today || reply.is_some_and(|reply| reply.date > lints.today)
    });
    let says = "dated after today, or with such a reply";
    lints.counted("future_date", says, future.map(ReviewFinding::of))
}

fn early_reply(lints: &Lints, dataset: &Dataset) -> Option<String> {
    let early = dataset.reviews.iter().filter(|review| {
        let reply = review.owner_reply.as_ref();
        reply.is_some_and(|reply| reply.date < review.date)
    });
    let says = "with a reply dated before the review";
    lints.counted("early_reply", says, early.map(ReviewFinding::of))
}

fn unknown_technician(_: &Lints, dataset: &Dataset) -> Option<String> {
    let says = "mentioned_technicians names people whom neither taxonomy nor business lists";
    let listed = Names::people(&dataset.taxonomy.technicians);
    unknown(
        dataset,
        |review| &review.mentioned_technicians,
        &listed,
        says,
    )
}

fn unknown_service(_: &Lints, dataset: &Dataset) -> Option<String> {
    let says = "mentioned_services names ids that neither taxonomy nor business lists";
    let listed = Names::concepts(&dataset.taxonomy.services);
    unknown(dataset, |review| &review.mentioned_services, &listed, says)
}

fn unknown_location(_: &Lints, dataset: &Dataset) -> Option<String> {
    let locations = &dataset.business.locations;
    let listed: HashSet<&String> = locations.iter().map(|one| &one.id).collect();
    let mut unknown = BTreeSet::new();
    for review in &dataset.reviews {
        unknown.extend(review.location.iter().filter(|id| !listed.contains(id)));
    }
    let ids: Vec<String> = unknown.into_iter().map(|id| quote(id)).collect();
    let message = "location names ids that business.locations does not list";
    Some(format!("{message}: {}", first_few(&ids)?))
}

fn no_low_rating(_: &Lints, dataset: &Dataset) -> Option<String> {
    let count = dataset.reviews.len();
    let mut stars = dataset.reviews.iter().map(|review| review.rating.stars());
    if count < LOW_RATING_REVIEWS_MIN || stars.any(|stars| stars <= 2) {
        return None;
    }
    let reason = "omitting low ratings is unlawful in some places and not credible";
    Some(format!("none of {count} has 1 or 2 stars: {reason}"))
}

fn ambiguous_name(lints: &Lints, _: &Dataset) -> Option<String> {
    let names = first_few(&lints.ambiguous_names)?;
    let message = "a name that matches two people is not recognized";
    Some(format!("{message}: {names}"))
}

/// A finding about a review.
struct ReviewFinding<'f> {
    id: &'f str,
    /// The words that were found, as they follow the id; "" without any.
    words: String,
}

impl ReviewFinding<'_> {
    /// A finding without words to quote.
    fn of(review: &Review) -> ReviewFinding<'_> {
        ReviewFinding {
            id: &review.id,
            words: String::new(),
        }
    }
}

fn hidden_characters(lints: &Lints, dataset: &Dataset) -> Option<String> {
    let says = "with characters that are not seen, which MCP leaves out";
    let found = dataset.reviews.iter().filter_map(hidden_in);
    lints.counted("hidden_characters", says, found)
}

/// Finds characters in a review that people do not see: the fields that have them, each with its characters.
fn hidden_in(review: &Review) -> Option<ReviewFinding<'_>> {
    let mut fields = vec![
        ("author", &review.author),
        ("text", &review.text),
        ("source", &review.source),
    ];
    if let Some(reply) = &review.owner_reply {
        fields.push(("owner_reply.text", &reply.text));
    }
    for name in &review.mentioned_technicians {
        fields.push(("mentioned_technicians", name));
    }
    for name in &review.mentioned_services {
        fields.push(("mentioned_services", name));
    }
    let mut words = String::new();
    for (field, text) in fields {
        let hidden: BTreeSet<char> = text.chars().filter(|one| is_hidden(*one)).collect();
        if hidden.is_empty() {
            continue;
        }
        if !words.is_empty() {
            words.push(';');
        }
        words += &format!(" {field}:");
        for character in hidden.iter().take(CHARACTERS_MAX) {
            words += &format!(" U+{:04X}", u32::from(*character));
        }
        if hidden.len() > CHARACTERS_MAX {
            words += &format!(" and {} more", hidden.len() - CHARACTERS_MAX);
        }
    }
    if words.is_empty() {
        return None;
    }
    let id = &review.id;
    Some(ReviewFinding { id, words })
}

/// The first three of `items` and the number of further ones; `None` if `items` is empty.
fn first_few(items: &[String]) -> Option<String> {
    if items.is_empty() {
        return None;
    }
    if items.len() <= EXAMPLES_MAX {
        return Some(items.join(", "));
    }
    let shown = items[..EXAMPLES_MAX].join(", ");
    Some(format!("{shown} and {} more", items.len() - EXAMPLES_MAX))
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
