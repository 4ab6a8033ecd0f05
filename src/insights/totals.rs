//! Mentions added up by aspect, and the numbers that follow from counts.

use std::collections::HashMap;

use super::Options;
use super::derive::{Derived, Mention};
use super::trends::quarters;
use crate::model::insights::{Aspect, Evidence, Polarity};
use crate::model::{Concept, Dataset, Row};

/// Adds up the mentions of each aspect of the taxonomy, in its order.
pub(super) fn aspects(dataset: &Dataset, derived: &Derived, options: &Options) -> Vec<Aspect> {
    let concepts = &dataset.taxonomy.aspects;
    let mut by_aspect: Vec<Vec<&Mention>> = vec![Vec::new(); concepts.len()];
    for mention in &derived.mentions {
        by_aspect[usize::from(mention.aspect)].push(mention);
    }
    let pairs = concepts.iter().zip(&by_aspect);
    pairs
        .map(|(concept, mentions)| aspect(dataset, options, concept, mentions))
        .collect()
}

fn aspect(
    dataset: &Dataset,
    options: &Options,
    concept: &Concept,
    mentions: &[&Mention],
) -> Aspect {
    let mut counts = [0u64; 3];
    for mention in mentions {
        counts[mention.polarity as usize] += 1;
    }
    let [negative, neutral, positive] = counts;
    let all = mentions.len() as u64;
    let share =
        |part: f64| (all > 0 && all >= options.mentions_min.into()).then(|| part / all as f64);
    let examples = [Polarity::Positive, Polarity::Negative].map(|sign| clearest(mentions, sign));
    let examples = examples.concat();
    let (newest, older) = mentions.split_at(mentions.len().min(EVIDENCE_MAX));
    let mut shown = newest.to_vec();
    shown.extend(examples.iter().filter(|one| older.contains(one)));
    shown.sort_by_key(|one| (one.row, one.start));
    let mut example_review_ids: Vec<String> = Vec::new();
    for example in &examples {
        let id = &dataset.reviews[example.row as usize].id;
        if !example_review_ids.contains(id) {
            example_review_ids.push(id.clone());
        }
    }
    let rows_of = |polarity: Option<Polarity>| {
        let of_polarity =
            |one: &&&Mention| polarity.is_none_or(|polarity| one.polarity == polarity);
        let mentions = mentions.iter().filter(of_polarity);
        let mut rows: Vec<Row> = mentions.map(|one| Row(one.row)).collect();
        rows.dedup();
        rows
    };
    let (quarterly, change) = match share(1.0) {
        Some(_) => quarters(dataset, mentions),
        None => (Vec::new(), None),
    };
    Aspect {
        id: concept.id.clone(),
        label: concept.label.clone(),
        mention_count: all,
        positive_count: positive,
        neutral_count: neutral,
        negative_count: negative,
        positive_pct: share(positive as f64 * 100.0).map(|share| rounded(share, 1)),
        score: share(positive as f64 - negative as f64).map(|share| rounded(share, 4)),
        top_phrases: top_phrases(dataset, mentions),
        example_review_ids,
        interval: share(1.0).map(|_| interval(positive, all)),
        evidence: Some(
            shown
                .into_iter()
                .map(|one| evidence(dataset, one))
                .collect(),
        ),
        quarterly,
        change,
        rows: rows_of(None),
        rows_by_polarity: Polarity::ALL.map(|polarity| rows_of(Some(polarity))),
    }
}

fn evidence(dataset: &Dataset, mention: &Mention) -> Evidence {
    let review = &dataset.reviews[mention.row as usize];
    let points = |byte: u32| review.text[..byte as usize].chars().count() as u32;
    Evidence {
        review_id: review.id.clone(),
        start: points(mention.start),
        end: points(mention.end),
        polarity: mention.polarity,
    }
}

/// The clearest mentions of a polarity, each of another review; newer ones win a tie.
fn clearest<'m>(mentions: &[&'m Mention], polarity: Polarity) -> Vec<&'m Mention> {
    let of_polarity = mentions.iter().filter(|one| one.polarity == polarity);
    let mut best: Vec<&Mention> = of_polarity.copied().collect();
    best.sort_by_key(|one| (std::cmp::Reverse(one.margin), one.row, one.start));
    let mut kept: Vec<&Mention> = Vec::new();
    for one in best {
        if kept.iter().all(|other| other.row != one.row) {
            kept.push(one);
        }
        if kept.len() == EXAMPLES_MAX {
            break;
        }
    }
    kept
}

/// The words by which reviews mention an aspect most often, in lower case.
fn top_phrases(dataset: &Dataset, mentions: &[&Mention]) -> Vec<String> {
    let mut uses: HashMap<String, u32> = HashMap::new();
    for mention in mentions.iter().take(PHRASE_MENTIONS_MAX) {
        let text = &dataset.reviews[mention.row as usize].text;
        let phrase = text[mention.start as usize..mention.end as usize].to_lowercase();
        *uses.entry(phrase).or_default() += 1;
    }
    let mut uses: Vec<(String, u32)> = uses.into_iter().collect();
    uses.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
    uses.truncate(PHRASES_MAX);
    uses.into_iter().map(|(phrase, _)| phrase).collect()
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

/// Returns the interval that holds the true share of praise in nine of ten aspects: the Wilson score interval (1927) of
/// `part / whole` at 95 %, widened by a standard error of 0.08 that the method
/// makes, as both errors are independent; 0 to 1 of nothing.
pub fn interval(part: u64, whole: u64) -> [f64; 2] {
    if whole == 0 {
        return [0.0, 1.0];
    }
    let (share, count) = (part as f64 / whole as f64, whole as f64);
    let square = NORMAL_95 * NORMAL_95;
    let centre = share + square / (2.0 * count);
    let spread =
        NORMAL_95 * (share * (1.0 - share) / count + square / (4.0 * count * count)).sqrt();
    let method = NORMAL_95 * METHOD_ERROR;
    let [low, high] = [centre - spread, centre + spread].map(|bound| {
        let sampling = bound / (1.0 + square / count) - share;
        (sampling * sampling + method * method).sqrt()
    });
    [share - low, share + high].map(|bound| rounded(bound.clamp(0.0, 1.0), 4))
}

/// The normal deviate of a two-sided confidence of 95 %.
const NORMAL_95: f64 = 1.959_963_985;
/// Standard error of an aspect's share of praise that the method makes. Chosen on development data: the test
/// `intervals_hold_the_true_share_of_nine_in_ten_aspects` measures it.
const METHOD_ERROR: f64 = 0.08;
/// Mentions shown of each aspect, newest first, so that a large document stays readable; the counts are of all.
pub(super) const EVIDENCE_MAX: usize = 200;
/// Examples of each sign.
pub(super) const EXAMPLES_MAX: usize = 3;
/// Phrases shown of an aspect, and mentions that they are counted in.
const PHRASES_MAX: usize = 5;
const PHRASE_MENTIONS_MAX: usize = 5_000;
