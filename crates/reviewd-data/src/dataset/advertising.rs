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

/// The stars that a text of the practice itself counts as having, so that no rule ignores it for its stars.
const OWN_STARS: u8 = 5;

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

/// A case of a rule: a sentence or reply that all patterns match, and the excluding one does not.
#[derive(Deserialize)]
struct Case {
    /// Names of patterns; the first one finds the words that are quoted.
    all: Vec<String>,
    /// The name of the excluding pattern.
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
    let mut patterns = BTreeMap::new();
    for (name, lines) in &TABLE.patterns {
        // With Unicode word boundaries, a search in texts with accents would be ten times slower.
        let pattern = lines.pattern.concat().replace(r"\b", r"(?-u:\b)");
        let compiled = RegexBuilder::new(&pattern).case_insensitive(true).build();
        patterns.insert(&**name, compiled.expect("the patterns are valid"));
    }
    patterns
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
    for review in &dataset.reviews {
        let review_text = CheckedText {
            text: &review.text,
            stars: review.rating.stars(),
            is_reply: false,
        };
        review_text.check(Some(review), "", &mut findings);
        if let Some(reply) = &review.owner_reply {
            let reply_text = CheckedText {
                text: &reply.text,
                stars: OWN_STARS,
                is_reply: true,
            };
            reply_text.check(Some(review), "", &mut findings);
        }
    }
    let editorial = &dataset.editorial;
    check_own(&editorial.summary, "summary", &mut findings);
    check_own(&editorial.pull_quote, "pull_quote", &mut findings);
    for (at, question) in editorial.faq.iter().enumerate() {
        let answer = Some(question.answer.clone());
        check_own(&answer, &format!("faq[{at}].answer"), &mut findings);
    }
    findings
}

/// Checks a text of the practice itself.
fn check_own(text: &Option<String>, path: &str, findings: &mut Vec<Finding<'_>>) {
    let own_text = CheckedText {
        text: text.as_deref().unwrap_or_default(),
        stars: OWN_STARS,
        is_reply: false,
    };
    own_text.check(None, path, findings);
}

/// A text to which the rules are applied.
struct CheckedText<'t> {
    text: &'t str,
    /// Those of the review; [`OWN_STARS`] for the practice's own words.
    stars: u8,
    is_reply: bool,
}

impl CheckedText<'_> {
    /// Adds one finding for each rule that matches.
    fn check<'d>(&self, review: Option<&'d Review>, path: &str, findings: &mut Vec<Finding<'d>>) {
        for rule in rules() {
            let applies = (self.is_reply || !rule.of_replies) && self.stars >= rule.stars_min;
            if !applies {
                continue;
            }
            if let Some(words) = self.words_of(rule) {
                findings.push(Finding {
                    rule,
                    review,
                    words: quote(words.trim()),
                    path: path.to_owned(),
                });
            }
        }
    }

    /// The words, or the sentence, that the first matching case of a rule matches.
    fn words_of(&self, rule: &AdvertisingRule) -> Option<&str> {
        for case in &rule.cases {
            // Most texts do not match the first pattern of a case, so they are not split into sentences.
            if !PATTERNS[&*case.all[0]].is_match(self.text) {
                continue;
            }
            if rule.of_replies {
                if let Some(words) = matched(case, self.text) {
                    return Some(words);
                }
                continue;
            }
            let mut sentences = sentences(self.text).map(|range| &self.text[range]);
            if let Some(sentence) = sentences.find(|sentence| matched(case, sentence).is_some()) {
                return Some(sentence);
            }
        }
        None
    }
}

/// The words of `text` that the first pattern of a case matches, if the whole case matches.
fn matched<'t>(case: &Case, text: &'t str) -> Option<&'t str> {
    let found = PATTERNS[&*case.all[0]].find(text)?;
    if !case.all.iter().all(|name| is_match(name, text)) {
        return None;
    }
    if case
        .unless
        .as_ref()
        .is_some_and(|name| is_match(name, text))
    {
        return None;
    }
    Some(found.as_str())
}

fn is_match(pattern: &str, text: &str) -> bool {
    PATTERNS[pattern].is_match(text)
}

#[cfg(test)]
mod tests;
