//! `taxonomy.json` and `editorial.json`: what reviews may speak of, and what the business says in its own words.

use super::field::{Check, Kind};
use super::node::{self, Node};
use super::place::Place;
use super::review::Reviews;
use super::trades::TRADES;
use crate::model::{Concept, Editorial, Question, Taxonomy, Technician};

/// Decodes `taxonomy.json`, and the trade that it extends; ids and labels are unique within each list, names of people
/// too.
pub(super) fn decode_taxonomy(
    bytes: &[u8],
    check: &mut Check<'_>,
) -> Option<(Taxonomy, Option<&'static str>)> {
    let node = node::parse(check.subject, bytes, check.problems)?;
    let keys = [
        "aspects",
        "technicians",
        "services",
        "service_areas",
        "extends",
    ];
    let at = Place::ROOT;
    let [aspects, technicians, services, areas, extends] = check.object(Some(node), &at, keys)?;
    let aspects = decode_concepts(aspects, &at.key("aspects"), check);
    let technicians = decode_technicians(technicians, &at.key("technicians"), check);
    let services = decode_concepts(services, &at.key("services"), check);
    let service_areas = decode_concepts(areas, &at.key("service_areas"), check);
    let extends = extends.and_then(|node| decode_extends(node, &at.key("extends"), check));
    let taxonomy = Taxonomy {
        aspects: aspects?,
        technicians: technicians?,
        services: services?,
        service_areas: service_areas?,
    };
    Some((taxonomy, extends))
}

fn decode_extends(node: Node<'_>, at: &Place<'_>, check: &mut Check<'_>) -> Option<&'static str> {
    if node == Node::Null {
        return None;
    }
    let name = check.string(Some(node), at, Kind::Name)?;
    let known = TRADES.iter().find(|(trade, _)| *trade == name);
    if known.is_none() {
        let names = TRADES.map(|(trade, _)| trade).join(", ");
        let message = format!("is none of the starter taxonomies: {names}");
        check.refuse(at, Some(&Node::Text(name.into())), message);
    }
    known.map(|(trade, _)| *trade)
}

fn decode_concepts(
    slot: Option<Node<'_>>,
    at: &Place<'_>,
    check: &mut Check<'_>,
) -> Option<Vec<Concept>> {
    let concepts = check.each(slot, at, |check, node, at| {
        let [id, label, phrases] = check.object(Some(node), at, ["id", "label", "phrases"])?;
        let id = check.string(id, &at.key("id"), Kind::Name);
        let label = check.string(label, &at.key("label"), Kind::Name);
        let phrases = check.strings(phrases, &at.key("phrases"), Kind::Name);
        Some(Concept {
            id: id?,
            label: label?,
            phrases: phrases?,
        })
    })?;
    check.unique(concepts.iter().map(|concept| concept.id.as_str()), at, "id");
    check.unique(
        concepts.iter().map(|concept| concept.label.as_str()),
        at,
        "label",
    );
    Some(concepts)
}

fn decode_technicians(
    slot: Option<Node<'_>>,
    at: &Place<'_>,
    check: &mut Check<'_>,
) -> Option<Vec<Technician>> {
    let people = check.each(slot, at, |check, node, at| {
        let [name, aliases] = check.object(Some(node), at, ["name", "aliases"])?;
        let name = check.string(name, &at.key("name"), Kind::Name);
        let aliases = check.strings(aliases, &at.key("aliases"), Kind::Name);
        Some(Technician {
            name: name?,
            aliases: aliases?,
        })
    })?;
    check.unique(people.iter().map(|person| person.name.as_str()), at, "name");
    Some(people)
}

/// Decodes `editorial.json`; every review that an answer leans on has to be a published one.
pub(super) fn decode_editorial(
    bytes: &[u8],
    reviews: &Reviews,
    check: &mut Check<'_>,
) -> Option<Editorial> {
    let node = node::parse(check.subject, bytes, check.problems)?;
    let at = Place::ROOT;
    let [summary, pull_quote, faq] =
        check.object(Some(node), &at, ["summary", "pull_quote", "faq"])?;
    let summary = check.optional(summary, &at.key("summary"), Kind::Prose);
    let pull_quote = check.optional(pull_quote, &at.key("pull_quote"), Kind::Prose);
    let faq = decode_faq(faq, &at.key("faq"), reviews, check);
    Some(Editorial {
        summary: summary?,
        pull_quote: pull_quote?,
        faq: faq?,
    })
}

/// Reads questions, their answers, and the published reviews that these lean on.
pub(super) fn decode_faq(
    slot: Option<Node<'_>>,
    at: &Place<'_>,
    reviews: &Reviews,
    check: &mut Check<'_>,
) -> Option<Vec<Question>> {
    check.each(slot, at, |check, node, at| {
        let [question, answer, ids] =
            check.object(Some(node), at, ["question", "answer", "review_ids"])?;
        let question = check.string(question, &at.key("question"), Kind::Prose);
        let answer = check.string(answer, &at.key("answer"), Kind::Prose);
        let review_ids = decode_review_ids(ids, &at.key("review_ids"), reviews, check);
        Some(Question {
            question: question?,
            answer: answer?,
            review_ids: review_ids?,
        })
    })
}

/// Reads ids that each have to be the id of a published review.
pub(super) fn decode_review_ids(
    slot: Option<Node<'_>>,
    at: &Place<'_>,
    reviews: &Reviews,
    check: &mut Check<'_>,
) -> Option<Vec<String>> {
    check.each(slot, at, |check, node, at| {
        let id = check.string(Some(node), at, Kind::Name)?;
        let Some(message) = reviews.why_not(&id) else {
            return Some(id);
        };
        check.refuse(at, Some(&Node::Text(id.into())), message);
        None
    })
}
