//! Mentions added up by aspect, people and services counted, and the numbers that follow from counts.

use std::collections::HashMap;

use super::Options;
use super::derive::{Derived, Mention};
use super::trends::quarters;
use crate::dataset::mentions::{Comparable, Matcher};
use crate::model::insights::{Aspect, Entities, Entity, Evidence, Person, Polarity};
use crate::model::{Dataset, Review, Row};

/// Adds up the mentions of each aspect of the taxonomy, in its order.
pub(super) fn aspects(dataset: &Dataset, derived: &Derived, options: &Options) -> Vec<Aspect> {
    let mut by_aspect: Vec<Vec<&Mention>> = vec![Vec::new(); dataset.taxonomy.aspects.len()];
    for mention in &derived.mentions {
        by_aspect[usize::from(mention.aspect)].push(mention);
    }
    let id = |row: u32| dataset.reviews[row as usize].id.clone();
    let total = |(concept, mentions): (&crate::model::Concept, Vec<&Mention>)| {
        let count = |polarity| {
            mentions
                .iter()
                .filter(|one| one.polarity == polarity)
                .count() as u64
        };
        let [negative, neutral, positive] = Polarity::ALL.map(count);
        let all = mentions.len() as u64;
        let examples = [Polarity::Positive, Polarity::Negative]
            .map(|sign| clearest(&mentions, sign))
            .concat();
        let mut shown: Vec<&Mention> = mentions.iter().take(EVIDENCE_MAX).copied().collect();
        let newest = shown.len();
        shown.extend(
            examples
                .iter()
                .filter(|one| !mentions[..newest].contains(one)),
        );
        shown.sort_by_key(|one| (one.row, one.start));
        let mut example_review_ids: Vec<String> = Vec::new();
        for example in &examples {
            if !example_review_ids.contains(&id(example.row)) {
                example_review_ids.push(id(example.row));
            }
        }
        let mut rows: Vec<Row> = mentions.iter().map(|one| Row(one.row)).collect();
        rows.dedup();
        let is_scored = all >= u64::from(options.mentions_min) && all > 0;
        let (quarterly, change) = quarters(dataset, mentions.iter().copied());
        Aspect {
            id: concept.id.clone(),
            label: concept.label.clone(),
            mention_count: all,
            positive_count: positive,
            neutral_count: neutral,
            negative_count: negative,
            positive_pct: is_scored.then(|| rounded(positive as f64 * 100.0 / all as f64, 1)),
            score: is_scored.then(|| rounded((positive as f64 - negative as f64) / all as f64, 4)),
            top_phrases: top_phrases(dataset, &mentions),
            example_review_ids,
            interval: is_scored.then(|| interval(positive, all)),
            evidence: Some(
                shown
                    .into_iter()
                    .map(|one| Evidence {
                        review_id: id(one.row),
                        start: one.start,
                        end: one.end,
                        polarity: one.polarity,
                    })
                    .collect(),
            ),
            quarterly: if is_scored { quarterly } else { Vec::new() },
            change: change.filter(|_| is_scored),
            rows,
        }
    };
    dataset
        .taxonomy
        .aspects
        .iter()
        .zip(by_aspect)
        .map(total)
        .collect()
}

/// The clearest mentions of a polarity, each of another review; newer ones win a tie.
fn clearest<'m>(mentions: &[&'m Mention], polarity: Polarity) -> Vec<&'m Mention> {
    let mut best: Vec<&Mention> = mentions
        .iter()
        .filter(|one| one.polarity == polarity)
        .copied()
        .collect();
    best.sort_by_key(|one| (std::cmp::Reverse(one.margin), one.row, one.start));
    let mut kept: Vec<&Mention> = Vec::new();
    for one in best {
        if kept.len() < EXAMPLES_MAX && kept.iter().all(|other| other.row != one.row) {
            kept.push(one);
        }
    }
    kept
}

/// The words by which reviews mention an aspect most often, in lower case.
fn top_phrases(dataset: &Dataset, mentions: &[&Mention]) -> Vec<String> {
    let mut uses: HashMap<String, u32> = HashMap::new();
    for mention in mentions.iter().take(PHRASE_MENTIONS_MAX) {
        let (start, end) = mention.bytes;
        let text = dataset.reviews[mention.row as usize].text.as_str();
        let phrase = text.get(start as usize..end as usize).unwrap_or_default();
        *uses.entry(phrase.to_lowercase()).or_default() += 1;
    }
    let mut uses: Vec<(String, u32)> = uses.into_iter().collect();
    uses.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
    uses.into_iter()
        .take(PHRASES_MAX)
        .map(|(phrase, _)| phrase)
        .collect()
}

/// Reviews counted, and the sum of their stars.
#[derive(Clone, Copy, Default)]
struct Tally {
    reviews: u64,
    stars: u64,
}

impl Tally {
    fn add(&mut self, review: &Review) {
        self.reviews += 1;
        self.stars += u64::from(review.rating.stars());
    }
}

/// Counts the reviews that name people, services and places, and those that complain of an aspect; the numbers are of
/// reviews with any of the first three.
pub(super) fn entities(dataset: &Dataset, derived: &Derived) -> (Entities, [u64; 3]) {
    let (people, person_of) = people(dataset);
    let known = dataset
        .taxonomy
        .services
        .iter()
        .map(|one| (&one.id, &one.label));
    let listed = dataset
        .business
        .services
        .iter()
        .map(|one| (&one.id, &one.label));
    let mut services: Vec<(&str, &str)> = Vec::new();
    let mut service_of = HashMap::new();
    for (id, label) in known.chain(listed) {
        service_of.entry(Comparable::new(id)).or_insert_with(|| {
            services.push((id, label));
            services.len() - 1
        });
    }
    let areas = &dataset.taxonomy.service_areas;
    // The decoder built the same automata of the same taxonomy, so this succeeds; without them no place counts.
    let matcher = Matcher::new(&dataset.taxonomy).ok();
    let mut tallies =
        [people.len(), services.len(), areas.len()].map(|count| vec![Tally::default(); count]);
    let mut with = [0; 3];
    let mut text = Comparable::default();
    for review in &dataset.reviews {
        text.set(&review.text);
        let named = [
            indices(&person_of, &review.mentioned_technicians),
            indices(&service_of, &review.mentioned_services),
            matcher
                .as_ref()
                .map(|matcher| matcher.service_areas(&text))
                .unwrap_or_default(),
        ];
        for (kind, indices) in named.into_iter().enumerate() {
            with[kind] += u64::from(!indices.is_empty());
            indices
                .into_iter()
                .for_each(|at| tallies[kind][at].add(review));
        }
    }
    let entity = |(id, label): (&str, &str), tally: &Tally| Entity {
        id: id.to_owned(),
        label: label.to_owned(),
        mention_count: tally.reviews,
        mean_rating: mean_rating(tally.stars, tally.reviews),
    };
    let person = |(name, tally): (&&str, &Tally)| Person {
        name: (*name).to_owned(),
        mention_count: tally.reviews,
        mean_rating: mean_rating(tally.stars, tally.reviews),
    };
    let entities = Entities {
        technicians: people.iter().zip(&tallies[0]).map(person).collect(),
        services: services
            .iter()
            .zip(&tallies[1])
            .map(|(one, tally)| entity(*one, tally))
            .collect(),
        problems: problems(dataset, derived)
            .iter()
            .map(|(one, tally)| entity(*one, tally))
            .collect(),
        service_areas: areas
            .iter()
            .zip(&tallies[2])
            .map(|(one, tally)| entity((&one.id, &one.label), tally))
            .collect(),
    };
    (entities, with)
}

/// The aspects of which at least two reviews complain, most first.
fn problems<'d>(dataset: &'d Dataset, derived: &Derived) -> Vec<((&'d str, &'d str), Tally)> {
    let concepts = dataset.taxonomy.aspects.iter();
    let mut tallies: Vec<((&str, &str), Tally)> = concepts
        .map(|one| ((one.id.as_str(), one.label.as_str()), Tally::default()))
        .collect();
    let mut last = vec![None; tallies.len()];
    for mention in derived
        .mentions
        .iter()
        .filter(|one| one.polarity == Polarity::Negative)
    {
        let aspect = usize::from(mention.aspect);
        if last[aspect].replace(mention.row) != Some(mention.row) {
            tallies[aspect]
                .1
                .add(&dataset.reviews[mention.row as usize]);
        }
    }
    tallies.retain(|(_, tally)| tally.reviews >= 2);
    tallies.sort_by_key(|(_, tally)| std::cmp::Reverse(tally.reviews));
    tallies
}

/// The people by name, and whom each name and each alias of one person only leads to.
fn people(dataset: &Dataset) -> (Vec<&str>, HashMap<Comparable, usize>) {
    let (mut names, mut person_of): (Vec<&str>, HashMap<Comparable, usize>) = Default::default();
    let known = dataset
        .taxonomy
        .technicians
        .iter()
        .map(|person| &person.name);
    for name in known.chain(
        dataset
            .business
            .technicians
            .iter()
            .map(|person| &person.name),
    ) {
        person_of.entry(Comparable::new(name)).or_insert_with(|| {
            names.push(name);
            names.len() - 1
        });
    }
    let mut owners: HashMap<Comparable, Option<usize>> = HashMap::new();
    for (at, person) in dataset.taxonomy.technicians.iter().enumerate() {
        for alias in person.aliases.iter().map(|alias| Comparable::new(alias)) {
            let owner = owners.entry(alias).or_insert(Some(at));
            *owner = owner.filter(|one| *one == at);
        }
    }
    for (alias, owner) in owners {
        if let Some(at) = owner {
            person_of.entry(alias).or_insert(at);
        }
    }
    (names, person_of)
}

/// The indices that `mentions` lead to, each once, ascending.
fn indices(known: &HashMap<Comparable, usize>, mentions: &[String]) -> Vec<usize> {
    let found = mentions
        .iter()
        .filter_map(|name| known.get(&Comparable::new(name)).copied());
    let mut found: Vec<usize> = found.collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// Rounds to so many decimals; of ratios of whole numbers the same on every machine.
pub(super) fn rounded(value: f64, decimals: i32) -> f64 {
    let unit = 10f64.powi(decimals);
    // Adding zero turns -0 into 0.
    (value * unit).round() / unit + 0.0
}

/// The mean of so many ratings with two decimals, `None` of none.
pub(super) fn mean_rating(stars: u64, count: u64) -> Option<f64> {
    (count > 0).then(|| rounded(stars as f64 / count as f64, 2))
}

/// The interval that holds the true share of praise in nine of ten aspects: the Wilson score interval (1927) of
/// `part / whole` at 95 %, widened by the error of the method ([`METHOD_ERROR`]), as both errors are independent.
pub(super) fn interval(part: u64, whole: u64) -> [f64; 2] {
    if whole == 0 {
        return [0.0, 1.0];
    }
    let (share, count) = (part as f64 / whole as f64, whole as f64);
    let square = NORMAL_95 * NORMAL_95;
    let centre = share + square / (2.0 * count);
    let spread =
        NORMAL_95 * (share * (1.0 - share) / count + square / (4.0 * count * count)).sqrt();
    let method = NORMAL_95 * METHOD_ERROR;
    [centre - spread, centre + spread].map(|bound| {
        let sampling = bound / (1.0 + square / count) - share;
        let both = (sampling * sampling + method * method).sqrt();
        rounded((share + both.copysign(sampling)).clamp(0.0, 1.0), 4)
    })
}

/// The normal deviate of a two-sided confidence of 95 %.
const NORMAL_95: f64 = 1.959_963_985;
/// Standard error of an aspect's share of praise that the method makes. Chosen on the OATS hotels and Coursera sets, where
/// the intervals then hold 56 of 61 true shares; on the eight categories of MAMS they hold 3.
const METHOD_ERROR: f64 = 0.08;
/// Mentions shown of each aspect, newest first, so that a large document stays readable; the counts are of all.
pub(super) const EVIDENCE_MAX: usize = 200;
/// Examples of each sign.
pub(super) const EXAMPLES_MAX: usize = 3;
/// Phrases shown of an aspect, and mentions that they are counted in.
const PHRASES_MAX: usize = 5;
const PHRASE_MENTIONS_MAX: usize = 5_000;
