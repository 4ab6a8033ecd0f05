//! Advertising rules of law practices: find results in money, promises of an outcome, and replies that disclose a
//! client's case, in reviews, replies and the practice's own texts.
//!
//! `advertising/rules.json` contains the rules and their patterns: regular expressions, which may be split into lines.
//! The rules match words, so they report some harmless sentences and miss some harmful ones. Each finding is a warning
//! for a person to judge, who can suppress it with a reason. No rule removes a review.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::{Regex, RegexBuilder};
use serde::Deserialize;

use super::trades;
use crate::model::{Dataset, Review};
use reviewd_wire::sentence::sentences;
use reviewd_wire::text::quote;

/// A rule of advertising.
#[derive(Deserialize)]
pub(super) struct AdvertisingRule {
    /// The code of its warnings.
    pub(super) code: String,
    /// Description of the finding in warnings.
    pub(super) says: String,
    /// Whether the rule is only for replies, and quotes the matching words; other rules quote the sentence.
    of_replies: bool,
    /// The rule ignores reviews with fewer stars.
    stars_min: u8,
    cases: Vec<Case>,
}

/// Matches a sentence or reply if all patterns match and the excluding pattern does not.
#[derive(Deserialize)]
struct Case {
    all: Vec<String>,
    unless: Option<String>,
}

#[derive(Deserialize)]
struct AdvertisingTable {
    rules: Vec<AdvertisingRule>,
    patterns: BTreeMap<String, AdvertisingPattern>,
}

#[derive(Deserialize)]
struct AdvertisingPattern {
    pattern: Vec<String>,
}

static TABLE: LazyLock<AdvertisingTable> = LazyLock::new(|| {
    let table = serde_json::from_str(include_str!("advertising/rules.json"));
    table.expect("the table of the rules is valid")
});

/// All rules, in the order of their warnings.
pub(super) fn rules() -> &'static [AdvertisingRule] {
    &TABLE.rules
}

/// The patterns by name.
static PATTERNS: LazyLock<BTreeMap<&str, Regex>> = LazyLock::new(|| {
    let compiled = TABLE.patterns.iter().map(|(name, lines)| {
        // With Unicode word boundaries, a search in texts with accents would be ten times slower.
        let pattern = lines.pattern.concat().replace(r"\b", r"(?-u:\b)");
        let compiled = RegexBuilder::new(&pattern).case_insensitive(true).build();
        (&**name, compiled.expect("the patterns are valid"))
    });
    compiled.collect()
});

/// A match of a rule.
pub(super) struct Finding<'d> {
    pub(super) rule: &'static AdvertisingRule,
    /// The review with the finding in its text or reply; `None` for the practice's own texts.
    pub(super) review: Option<&'d Review>,
    /// The matching words or sentence, quoted.
    pub(super) words: String,
    /// The path in `editorial.json`, "" for a review.
    pub(super) path: String,
}

/// Checks reviews, replies and the editorial of a law practice; returns nothing for other types of business.
pub(super) fn findings<'d>(dataset: &'d Dataset) -> Vec<Finding<'d>> {
    let mut findings = Vec::new();
    if trades::of_type(&dataset.business.kind) != "legal" {
        return findings;
    }
    let mut check = |text: &str, stars, is_reply, review: Option<&'d Review>, path: &str| {
        findings.extend(find(text, stars, is_reply).map(|(rule, words)| Finding {
            rule,
            review,
            words,
            path: path.to_owned(),
        }));
    };
    for review in &dataset.reviews {
        let stars = review.rating.stars();
        check(&review.text, stars, false, Some(review), "");
        if let Some(reply) = &review.owner_reply {
            check(&reply.text, 5, true, Some(review), "");
        }
    }
    let editorial = &dataset.editorial;
    let mut own = vec![
        ("summary".to_owned(), editorial.summary.as_deref()),
        ("pull_quote".to_owned(), editorial.pull_quote.as_deref()),
    ];
    let answers = editorial.faq.iter().enumerate();
    own.extend(answers.map(|(at, one)| (format!("faq[{at}].answer"), Some(&*one.answer))));
    for (path, text) in own {
        check(text.unwrap_or_default(), 5, false, None, &path);
    }
    findings
}

/// Applies the rules to a text with this number of stars (5 for the practice's own words); quotes one match per rule.
fn find(
    text: &str,
    stars: u8,
    is_reply: bool,
) -> impl Iterator<Item = (&'static AdvertisingRule, String)> {
    let applies =
        move |rule: &&AdvertisingRule| (is_reply || !rule.of_replies) && stars >= rule.stars_min;
    let rules = rules().iter().filter(applies);
    rules.filter_map(move |rule| {
        // Most texts do not match the first pattern of a case, so they are not split into sentences.
        let is_likely = |case: &&Case| PATTERNS[&*case.all[0]].is_match(text);
        let mut cases = rule.cases.iter().filter(is_likely);
        let words = cases.find_map(|case| match rule.of_replies {
            true => matched(case, text),
            false => {
                let mut sentences = sentences(text).map(|range| &text[range]);
                sentences.find(|sentence| matched(case, sentence).is_some())
            }
        })?;
        Some((rule, quote(words.trim())))
    })
}

/// The words of `text` that the first pattern of a case matches, if the whole case matches.
fn matched<'t>(case: &Case, text: &'t str) -> Option<&'t str> {
    let found = PATTERNS[&*case.all[0]].find(text)?;
    let is_match = |name: &String| PATTERNS[&**name].is_match(text);
    let is_case = case.all.iter().all(is_match) && !case.unless.as_ref().is_some_and(is_match);
    is_case.then(|| found.as_str())
}

#[cfg(test)]
mod tests;
