//! `insights.json`: a complete insights document made elsewhere, checked before it is published as it stands.
//!
//! Checked are the keys that every reader relies on, their types and ranges, keys given twice at any depth, that
//! every review referred to is published, and that every piece of evidence is within its review's text. What the
//! interface leaves to the method (`method`, `coverage`, `limits`, the entries of topics, entities and months) may
//! hold anything.

use super::companions::{published_id, published_ids, questions};
use super::json::{Item, Object, Text};
use super::reviews::Reviews;
use crate::wire::date::Timestamp;

/// Whole numbers up to this are exact in every JSON reader: 2^53 - 1.
const COUNT_MAX: u64 = 9_007_199_254_740_991;

/// Checks the whole document, and returns its `generated_at`.
pub(super) fn check(item: Item<'_>, reviews: &Reviews) -> Option<Timestamp> {
    item.object(|keys| {
        keys.key("version").whole(1..=COUNT_MAX);
        let generated_at = keys.key("generated_at").timestamp();
        keys.key("model").string(Text::Name);
        for key in ["method", "coverage", "limits"] {
            keys.key(key).anything();
        }
        keys.key("review_count").whole(0..=COUNT_MAX);
        keys.key("date_range").object(|keys| {
            for key in ["earliest", "latest"] {
                keys.key(key).non_null().map(Item::date);
            }
        });
        if let Some(overall) = keys.key("overall_sentiment").non_null() {
            overall.object(|keys| {
                keys.key("score").number(-1.0..=1.0);
                for key in ["positive_pct", "neutral_pct", "negative_pct"] {
                    keys.key(key).number(0.0..=100.0);
                }
            });
        }
        keys.key("aspects")
            .list(|item| item.object(|keys| aspect(keys, reviews)));
        let lists = ["technicians", "services", "problems", "service_areas"];
        keys.key("entities")
            .object(|keys| anything_listed(keys, &lists));
        anything_listed(keys, &["topics"]);
        keys.key("temporal").object(|keys| {
            anything_listed(keys, &["monthly"]);
            keys.key("trend").optional(Text::Name);
        });
        keys.key("per_review").entries(|id, item| {
            if let Err(Some(message)) = reviews.find(id) {
                item.refuse_unquoted(message);
            }
            item.object(|keys| {
                keys.key("sentiment").optional(Text::Name);
                fraction(keys.key("score"));
                anything_listed(keys, &["aspects", "technicians", "services"]);
            });
        });
        questions(keys.key("faq"), reviews);
        keys.key("summary").optional(Text::Prose);
        keys.key("pull_quote").optional(Text::Prose);
        generated_at
    })
}

/// Reads arrays of what the interface leaves to the method.
fn anything_listed(keys: &mut Object<'_>, names: &[&'static str]) {
    for name in names {
        keys.key(name).list(|item| item.anything());
    }
}

fn fraction(item: Item<'_>) {
    item.non_null().map(|item| item.number(-1.0..=1.0));
}

fn aspect(keys: &mut Object<'_>, reviews: &Reviews) {
    keys.key("id").string(Text::Name);
    keys.key("label").string(Text::Name);
    for key in [
        "mention_count",
        "positive_count",
        "neutral_count",
        "negative_count",
    ] {
        keys.key(key).whole(0..=COUNT_MAX);
    }
    // An aspect with too few mentions to be scored has null in these three.
    let share = keys.key("positive_pct").non_null();
    share.map(|item| item.number(0.0..=100.0));
    fraction(keys.key("score"));
    let interval = keys.key("interval").non_null();
    interval.map(|item| item.each(2, |bound| bound.number(-100.0..=100.0)));
    keys.key("top_phrases").strings(Text::Prose);
    published_ids(keys.key("example_review_ids"), reviews);
    keys.key("evidence").list(|item| evidence(item, reviews));
    // These came later, so that a document may lack them.
    if let Some(quarterly) = keys.optional_key("quarterly") {
        quarterly.list(|item| item.anything());
    }
    let change = keys.optional_key("change");
    change.map(|item| item.optional(Text::Prose));
}

/// Checks that a piece of evidence is within the text of a published review.
fn evidence(item: Item<'_>, reviews: &Reviews) {
    let before = item.check().count();
    let (id, start, end) = item.object(|keys| {
        let id = published_id(keys.key("review_id"), reviews);
        let (start, end) = (keys.key("start"), keys.key("end"));
        keys.key("polarity").string(Text::Name);
        (id, start.whole(0..=COUNT_MAX), end.whole(0..=COUNT_MAX))
    });
    let (true, Ok(review)) = (item.check().count() == before, reviews.find(&id)) else {
        return;
    };
    let length = review.text.chars().count() as u64;
    if start >= end || end > length {
        let message = format_args!("ranges from {start} to {end} in a text of {length} characters");
        item.refuse_unquoted(message);
    }
}

#[cfg(test)]
mod tests;
