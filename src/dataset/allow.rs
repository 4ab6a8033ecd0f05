//! `check.json`: which remarks an operator has looked at and does not want to hear again, each with its reason.

use super::field::{Check, Kind};
use super::node::{self, Node};
use super::place::Place;
use super::remarks::{RULES, RULES_OF_REVIEWS};

/// The remarks that are silenced.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Allowed {
    entries: Vec<Entry>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    rule: String,
    /// Empty for the whole rule.
    review_ids: Vec<String>,
}

impl Allowed {
    /// Whether the rule is silenced altogether.
    pub(super) fn whole(&self, rule: &str) -> bool {
        self.entries
            .iter()
            .any(|entry| entry.rule == rule && entry.review_ids.is_empty())
    }

    /// Whether the rule is silenced for the review `id`.
    pub(super) fn covers(&self, rule: &str, id: &str) -> bool {
        self.entries.iter().any(|entry| {
            entry.rule == rule
                && (entry.review_ids.is_empty() || entry.review_ids.iter().any(|one| one == id))
        })
    }
}

/// Decodes `check.json`. An id may belong to no review any more: what is gone needs no remark.
pub(super) fn decode(bytes: &[u8], check: &mut Check<'_>) -> Option<Allowed> {
    let node = node::parse(check.subject, bytes, check.problems)?;
    let at = Place::ROOT;
    let [entries] = check.object(Some(node), &at, ["allow"])?;
    let entries = check.each(entries, &at.key("allow"), |check, node, at| {
        let [rule, review_ids, reason] =
            check.object(Some(node), at, ["rule", "review_ids", "reason"])?;
        let rule = decode_rule(rule, &at.key("rule"), check);
        let place = at.key("review_ids");
        let review_ids = check.each(review_ids, &place, |check, node, at| {
            check.review_id(Some(node), at)
        });
        let _noted = check.string(reason, &at.key("reason"), Kind::Prose)?;
        let (rule, review_ids) = (rule?, review_ids?);
        if !review_ids.is_empty() && !RULES_OF_REVIEWS.contains(&rule.as_str()) {
            check.refuse(
                &place,
                None,
                format!("has to be [], as {rule} is not about single reviews"),
            );
            return None;
        }
        Some(Entry { rule, review_ids })
    })?;
    Some(Allowed { entries })
}

fn decode_rule(slot: Option<Node<'_>>, at: &Place<'_>, check: &mut Check<'_>) -> Option<String> {
    let rule = check.string(slot, at, Kind::Name)?;
    if RULES.contains(&rule.as_str()) {
        return Some(rule);
    }
    let wanted = format!("one of {}", RULES.join(", "));
    check.mismatch(at, &Node::Text(rule.into()), &wanted)
}
