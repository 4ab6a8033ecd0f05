//! `insights.json`: a complete insights document made elsewhere, checked before it is published as it stands.
//!
//! Checked are the keys that every reader relies on, their types and ranges, keys given twice at any depth, that
//! every review referred to is published, and that every piece of evidence lies within its review's text. What the
//! interface leaves to the method (`method`, `coverage`, `limits`, the entries of topics, entities and months) may
//! hold anything.

use std::collections::{HashMap, HashSet};

use super::field::{Check, Kind};
use super::node::{self, Node};
use super::place::Place;
use super::review::Reviews;
use super::taxonomy::{decode_faq, decode_review_ids};
use crate::model::Review;
use crate::wire::date::Timestamp;

#[cfg(test)]
mod tests;

/// The keys of the document.
const KEYS: [&str; 17] = [
    "version",
    "generated_at",
    "model",
    "method",
    "coverage",
    "limits",
    "review_count",
    "date_range",
    "overall_sentiment",
    "aspects",
    "entities",
    "topics",
    "temporal",
    "per_review",
    "faq",
    "summary",
    "pull_quote",
];

/// Whole numbers up to this are exact in every JSON reader: 2^53 - 1.
const COUNT_MAX: u64 = 9_007_199_254_740_991;

/// Checks the whole document, and returns its `generated_at`.
pub(super) fn check(bytes: &[u8], reviews: &Reviews, check: &mut Check<'_>) -> Option<Timestamp> {
    let node = node::parse(check.subject, bytes, check.problems)?;
    let texts = reviews
        .published
        .iter()
        .map(|review| (review.id.as_str(), review))
        .collect();
    Document {
        reviews,
        texts,
        check,
    }
    .check(node)
}

/// Records keys given twice, at any depth below `at`; the parser's own limit bounds the recursion to 128 levels.
fn doubles(node: &Node<'_>, at: &Place<'_>, check: &mut Check<'_>) {
    match node {
        Node::Object(pairs) => {
            let mut seen = HashSet::with_capacity(pairs.len());
            for (key, value) in pairs {
                if !seen.insert(key) {
                    check.refuse(&at.key(key), None, "is given twice");
                }
                doubles(value, &at.key(key), check);
            }
        }
        Node::List(nodes) => {
            for (index, node) in nodes.iter().enumerate() {
                doubles(node, &at.index(index), check);
            }
        }
        _ => {}
    }
}

struct Document<'d, 'p> {
    reviews: &'d Reviews,
    texts: HashMap<&'d str, &'d Review>,
    check: &'d mut Check<'p>,
}

impl Document<'_, '_> {
    fn check(mut self, node: Node<'_>) -> Option<Timestamp> {
        let at = Place::ROOT;
        let slots = self.check.object(Some(node), &at, KEYS)?;
        let [
            version,
            generated_at,
            model,
            method,
            coverage,
            limits,
            count,
            range,
            overall,
            rest @ ..,
        ] = slots;
        let [
            aspects,
            entities,
            topics,
            temporal,
            per_review,
            faq,
            summary,
            pull_quote,
        ] = rest;
        self.check.whole(version, &at.key("version"), 1, COUNT_MAX);
        let generated_at = self.check.timestamp(generated_at, &at.key("generated_at"));
        self.check.string(model, &at.key("model"), Kind::Name);
        for (slot, key) in [
            (method, "method"),
            (coverage, "coverage"),
            (limits, "limits"),
        ] {
            self.anything(slot, &at.key(key));
        }
        self.check
            .whole(count, &at.key("review_count"), 0, COUNT_MAX);
        self.date_range(range, &at.key("date_range"));
        self.overall(overall, &at.key("overall_sentiment"));
        self.aspects(aspects, &at.key("aspects"));
        self.lists(
            entities,
            &at.key("entities"),
            ["technicians", "services", "problems", "service_areas"],
        );
        self.list(topics, &at.key("topics"));
        self.temporal(temporal, &at.key("temporal"));
        self.per_review(per_review, &at.key("per_review"));
        decode_faq(faq, &at.key("faq"), self.reviews, self.check);
        self.check
            .optional(summary, &at.key("summary"), Kind::Prose);
        self.check
            .optional(pull_quote, &at.key("pull_quote"), Kind::Prose);
        generated_at
    }

    /// Reads what the interface leaves to the method.
    fn anything(&mut self, slot: Option<Node<'_>>, at: &Place<'_>) {
        if let Some(node) = self.check.present(slot, at) {
            doubles(&node, at, self.check);
        }
    }

    /// Reads an array of what the interface leaves to the method.
    fn list(&mut self, slot: Option<Node<'_>>, at: &Place<'_>) {
        for (index, node) in self.entries(slot, at).into_iter().enumerate() {
            doubles(&node, &at.index(index), self.check);
        }
    }

    /// Opens an array of any length: the size of the file bounds it.
    fn entries<'de>(&mut self, slot: Option<Node<'de>>, at: &Place<'_>) -> Vec<Node<'de>> {
        self.check.list(slot, at, usize::MAX).unwrap_or_default()
    }

    fn date_range(&mut self, slot: Option<Node<'_>>, at: &Place<'_>) {
        let Some([earliest, latest]) = self.check.object(slot, at, ["earliest", "latest"]) else {
            return;
        };
        for (slot, key) in [(earliest, "earliest"), (latest, "latest")] {
            if slot != Some(Node::Null) {
                self.check.date(slot, &at.key(key));
            }
        }
    }

    fn overall(&mut self, slot: Option<Node<'_>>, at: &Place<'_>) {
        if slot == Some(Node::Null) {
            return;
        }
        let keys = ["score", "positive_pct", "neutral_pct", "negative_pct"];
        if let Some([score, shares @ ..]) = self.check.object(slot, at, keys) {
            self.check.number(score, &at.key("score"), -1.0, 1.0);
            for (slot, key) in shares.into_iter().zip(&keys[1..]) {
                self.check.number(slot, &at.key(key), 0.0, 100.0);
            }
        }
    }

    fn aspects(&mut self, slot: Option<Node<'_>>, at: &Place<'_>) {
        let aspects = self.entries(slot, at);
        for (index, aspect) in aspects.into_iter().enumerate() {
            self.aspect(aspect, &at.index(index));
        }
    }

    fn aspect(&mut self, node: Node<'_>, at: &Place<'_>) {
        let keys = [
            "id",
            "label",
            "mention_count",
            "positive_count",
            "neutral_count",
            "negative_count",
            "positive_pct",
            "score",
            "top_phrases",
            "example_review_ids",
            "interval",
            "evidence",
            "quarterly",
            "change",
        ];
        let Some(slots) = self.check.object(Some(node), at, keys) else {
            return;
        };
        let [
            id,
            label,
            mentions,
            positive,
            neutral,
            negative,
            share,
            score,
            phrases,
            examples,
            interval,
            evidence,
            quarterly,
            change,
        ] = slots;
        self.additions(quarterly, change, at);
        self.check.string(id, &at.key("id"), Kind::Name);
        self.check.string(label, &at.key("label"), Kind::Name);
        for (slot, key) in [mentions, positive, neutral, negative]
            .into_iter()
            .zip(&keys[2..6])
        {
            self.check.whole(slot, &at.key(key), 0, COUNT_MAX);
        }
        self.figures([share, score, interval], at);
        self.check
            .strings(phrases, &at.key("top_phrases"), Kind::Prose);
        decode_review_ids(
            examples,
            &at.key("example_review_ids"),
            self.reviews,
            self.check,
        );
        let at = at.key("evidence");
        let evidence = self.entries(evidence, &at);
        for (index, piece) in evidence.into_iter().enumerate() {
            self.evidence(piece, &at.index(index));
        }
    }

    /// Checks the figures of an aspect.
    fn figures(&mut self, [share, score, interval]: [Option<Node<'_>>; 3], at: &Place<'_>) {
        // An aspect with too few mentions to be scored has null in these three.
        if share != Some(Node::Null) {
            self.check
                .number(share, &at.key("positive_pct"), 0.0, 100.0);
        }
        if score != Some(Node::Null) {
            self.check.number(score, &at.key("score"), -1.0, 1.0);
        }
        if interval != Some(Node::Null) {
            let at = at.key("interval");
            let bounds = self.check.list(interval, &at, 2).unwrap_or_default();
            for (index, bound) in bounds.into_iter().enumerate() {
                self.check
                    .number(Some(bound), &at.index(index), -100.0, 100.0);
            }
        }
    }

    /// Checks the keys of an aspect that came later, so that a document may lack them.
    fn additions(&mut self, quarterly: Option<Node<'_>>, change: Option<Node<'_>>, at: &Place<'_>) {
        if quarterly.is_some() {
            self.list(quarterly, &at.key("quarterly"));
        }
        if change.is_some() {
            self.check.optional(change, &at.key("change"), Kind::Prose);
        }
    }

    /// Checks that a piece of evidence lies within the text of a published review.
    fn evidence(&mut self, node: Node<'_>, at: &Place<'_>) {
        let keys = ["review_id", "start", "end", "polarity"];
        let Some([id, start, end, polarity]) = self.check.object(Some(node), at, keys) else {
            return;
        };
        let id = self.check.string(id, &at.key("review_id"), Kind::Name);
        let start = self.check.whole(start, &at.key("start"), 0, COUNT_MAX);
        let end = self.check.whole(end, &at.key("end"), 0, COUNT_MAX);
        self.check.string(polarity, &at.key("polarity"), Kind::Name);
        let (Some(id), Some(start), Some(end)) = (id, start, end) else {
            return;
        };
        if let Some(message) = self.reviews.why_not(&id) {
            return self
                .check
                .refuse(&at.key("review_id"), Some(&Node::Text(id.into())), message);
        }
        let Some(review) = self.texts.get(id.as_str()) else {
            return;
        };
        let length = review.text.chars().count() as u64;
        if start >= end || end > length {
            let message = format!("ranges from {start} to {end} in a text of {length} characters");
            self.check.refuse(at, None, message);
        }
    }

    fn temporal(&mut self, slot: Option<Node<'_>>, at: &Place<'_>) {
        if let Some([monthly, trend]) = self.check.object(slot, at, ["monthly", "trend"]) {
            self.list(monthly, &at.key("monthly"));
            self.check.optional(trend, &at.key("trend"), Kind::Name);
        }
    }

    fn lists<const N: usize>(
        &mut self,
        slot: Option<Node<'_>>,
        at: &Place<'_>,
        keys: [&'static str; N],
    ) {
        let slots = self.check.object(slot, at, keys);
        for (slot, key) in slots.into_iter().flatten().zip(keys) {
            self.list(slot, &at.key(key));
        }
    }

    fn per_review(&mut self, slot: Option<Node<'_>>, at: &Place<'_>) {
        let pairs = match self.check.present(slot, at) {
            Some(Node::Object(pairs)) => pairs,
            Some(other) => return self.check.refuse(at, Some(&other), "is not an object"),
            None => return,
        };
        let mut seen = HashSet::with_capacity(pairs.len());
        for (id, node) in pairs {
            let at = at.key(&id);
            if !seen.insert(id.clone()) {
                self.check.refuse(&at, None, "is given twice");
            } else if let Some(message) = self.reviews.why_not(&id) {
                self.check.refuse(&at, None, message);
            }
            let keys = ["sentiment", "score", "aspects", "technicians", "services"];
            let Some([sentiment, score, lists @ ..]) = self.check.object(Some(node), &at, keys)
            else {
                continue;
            };
            self.check
                .optional(sentiment, &at.key("sentiment"), Kind::Name);
            if score != Some(Node::Null) {
                self.check.number(score, &at.key("score"), -1.0, 1.0);
            }
            for (slot, key) in lists.into_iter().zip(&keys[2..]) {
                self.list(slot, &at.key(key));
            }
        }
    }
}
