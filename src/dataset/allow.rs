//! `check.json`: which remarks an operator has looked at and does not want to hear again, each with its reason.

use super::field::{Check, Kind, is_id};
use super::node::{self, Node};
use super::place::Place;
use super::practice::{MONEY, PROMISE};
use super::remarks::{RULES, RULES_OF_REVIEWS};

/// Those whose warnings name places in `editorial.json`, and can be silenced for one of them.
const RULES_OF_PLACES: [&str; 2] = [MONEY.code, PROMISE.code];

/// The remarks that are silenced.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Allowed {
    entries: Vec<Entry>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    rule: String,
    review_ids: Vec<String>,
    /// Places in `editorial.json`.
    places: Vec<String>,
}

impl Entry {
    /// Whether it silences the rule altogether.
    fn is_whole(&self) -> bool {
        self.review_ids.is_empty() && self.places.is_empty()
    }
}

impl Allowed {
    /// Whether the rule is silenced altogether.
    pub(super) fn whole(&self, rule: &str) -> bool {
        self.entries
            .iter()
            .any(|entry| entry.rule == rule && entry.is_whole())
    }

    /// Whether the rule is silenced for the review `id`.
    pub(super) fn covers(&self, rule: &str, id: &str) -> bool {
        self.entries.iter().any(|entry| {
            entry.rule == rule && (entry.is_whole() || entry.review_ids.iter().any(|one| one == id))
        })
    }

    /// Whether the rule is silenced for `place` in `editorial.json`, by itself or by one of the reviews it rests on.
    pub(super) fn covers_place(&self, rule: &str, place: &str, review_ids: &[String]) -> bool {
        let is_meant = |one: &String| {
            one == place
                || review_of(one)
                    .is_some_and(|id| review_ids.iter().any(|review_id| review_id == id))
        };
        self.entries.iter().any(|entry| {
            entry.rule == rule && (entry.is_whole() || entry.places.iter().any(is_meant))
        })
    }
}

/// Decodes `check.json`. An id may belong to no review any more: what is gone needs no remark.
pub(super) fn decode(bytes: &[u8], check: &mut Check<'_>) -> Option<Allowed> {
    let node = node::parse(check.subject, bytes, check.problems)?;
    let at = Place::ROOT;
    let [entries] = check.object(Some(node), &at, ["allow"])?;
    let entries = check.each(entries, &at.key("allow"), |check, node, at| {
        let [rule, review_ids, places, reason] =
            check.object(Some(node), at, ["rule", "review_ids", "places", "reason"])?;
        let rule = decode_rule(rule, &at.key("rule"), check);
        let review_ids_at = at.key("review_ids");
        let review_ids = check.each(review_ids, &review_ids_at, |check, node, at| {
            check.review_id(Some(node), at)
        });
        let places_at = at.key("places");
        let places = match places {
            Some(places) => check.each(Some(places), &places_at, decode_place),
            None => Some(Vec::new()),
        };
        let _noted = check.string(reason, &at.key("reason"), Kind::Prose)?;
        let (rule, review_ids, places) = (rule?, review_ids?, places?);
        let of_reviews = RULES_OF_REVIEWS.contains(&rule.as_str());
        let of_places = RULES_OF_PLACES.contains(&rule.as_str());
        for (at, is_wrong, what) in [
            (
                &review_ids_at,
                !review_ids.is_empty() && !of_reviews,
                "single reviews",
            ),
            (
                &places_at,
                !places.is_empty() && !of_places,
                "editorial.json",
            ),
        ] {
            if is_wrong {
                check.refuse(
                    at,
                    None,
                    format!("has to be [], as {rule} is not about {what}"),
                );
                return None;
            }
        }
        Some(Entry {
            rule,
            review_ids,
            places,
        })
    })?;
    Some(Allowed { entries })
}

/// A place may be of a question that is gone, as an id may be of a review that is gone.
fn decode_place(check: &mut Check<'_>, node: Node<'_>, at: &Place<'_>) -> Option<String> {
    let place = check.string(Some(node), at, Kind::Name)?;
    let is_known = matches!(place.as_str(), "summary" | "pull_quote")
        || answer(&place).is_some_and(is_position)
        || review_of(&place).is_some();
    if is_known {
        return Some(place);
    }
    let wanted = "summary, pull_quote or, by position from 0 or the id of a review, faq[0].answer";
    check.mismatch(at, &Node::Text(place.into()), wanted)
}

/// What stands in the brackets of `faq[0].answer`.
fn answer(place: &str) -> Option<&str> {
    place.strip_prefix("faq[")?.strip_suffix("].answer")
}

/// The position of an answer; digits alone are never an id here.
fn is_position(which: &str) -> bool {
    which
        .parse::<u32>()
        .is_ok_and(|number| number.to_string() == which)
}

/// The review that names an answer by what it rests on, and stays right when questions move.
fn review_of(place: &str) -> Option<&str> {
    let id = answer(place)?;
    let is_number = id.bytes().all(|byte| byte.is_ascii_digit());
    (!is_number && is_id(id)).then_some(id)
}

fn decode_rule(slot: Option<Node<'_>>, at: &Place<'_>, check: &mut Check<'_>) -> Option<String> {
    let rule = check.string(slot, at, Kind::Name)?;
    if RULES.contains(&rule.as_str()) {
        return Some(rule);
    }
    let wanted = format!("one of {}", RULES.join(", "));
    check.mismatch(at, &Node::Text(rule.into()), &wanted)
}
