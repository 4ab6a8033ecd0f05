//! Aggregates mentions by aspect: counts, evidence, quarters, and statistics derived from counts.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};

use super::change::{Change, Opinions, find_change, is_tested};
use super::read::{Derived, Mention};
use super::sentences::Sentences;
use super::star_weights::PART_OF_DOUBT;
use crate::model::insights::{Aspect, ByPolarity, Evidence, Polarity, Quarter};
use crate::model::{Concept, Dataset, Row};
use crate::wire::date::Date;

/// The normal deviate of a two-sided confidence of 95 %.
const NORMAL_95: f64 = 1.959_963_985;
/// Fewest mentions of a scored aspect. Our choice: the interval of four can span three quarters of the range.
pub(super) const SCORED_MIN: u64 = 5;
/// Newest mentions listed for each aspect, so that a large document stays readable; counts include all mentions.
pub(super) const EVIDENCE_MAX: usize = 200;
/// Most examples of each sign.
pub(super) const EXAMPLES_MAX: usize = 3;
/// Most phrases listed for an aspect.
const PHRASES_MAX: usize = 5;
/// The least change of a mean rating that is reported.
pub(super) const CHANGE_MIN: f64 = 0.1;

/// Aggregates the mentions of each aspect, in the order of the taxonomy.
pub(super) fn aspects(dataset: &Dataset, derived: &Derived, words: &Sentences) -> Vec<Aspect> {
    let concepts = &dataset.taxonomy.aspects;
    let mut by_aspect: Vec<Vec<&Mention>> = vec![Vec::new(); concepts.len()];
    for mention in &derived.mentions {
        by_aspect[usize::from(mention.aspect)].push(mention);
    }
    let mut opinions_by_aspect = Vec::new();
    for mentions in &by_aspect {
        opinions_by_aspect.push(opinions(dataset, mentions));
    }
    let tested = opinions_by_aspect.iter().filter(|one| is_tested(one));
    let tested = tested.count();
    let newest = dataset.reviews.first().map(|review| month_of(review.date));
    let mut aspects = Vec::new();
    for (at, concept) in concepts.iter().enumerate() {
        let newest = newest.unwrap_or_default();
        let change = find_change(&opinions_by_aspect[at], newest, tested);
        let change = change.map(|change| change_sentence(&change, words));
        aspects.push(aspect(dataset, concept, &by_aspect[at], change));
    }
    aspects
}

fn aspect(
    dataset: &Dataset,
    concept: &Concept,
    mentions: &[&Mention],
    change: Option<String>,
) -> Aspect {
    let of = |sign| mentions.iter().filter(move |one| one.polarity == sign);
    let ByPolarity {
        negative,
        neutral,
        positive,
    } = ByPolarity::from_fn(|sign| of(sign).count() as u64);
    let all = mentions.len() as u64;
    let doubts = mentions.iter().map(|one| u64::from(one.doubt)).sum();
    let is_scored = all >= SCORED_MIN;
    let mut positive_pct = None;
    let mut score = None;
    let mut bounds = None;
    if is_scored {
        let count = all as f64;
        positive_pct = Some(rounded(positive as f64 * 100.0 / count, 1));
        score = Some(rounded((positive as f64 - negative as f64) / count, 4));
        bounds = Some(interval(positive, all, mean_doubt(doubts, all)));
    }
    let examples = [Polarity::Positive, Polarity::Negative].map(|sign| clearest(of(sign)));
    let examples = examples.concat();
    let mut shown: Vec<&Mention> = mentions.iter().take(EVIDENCE_MAX).copied().collect();
    shown.extend(&examples);
    shown.sort_by_key(|one| (one.row, one.range.start));
    shown.dedup_by_key(|one| (one.row, one.range.start));
    let mut seen = HashSet::new();
    let ids = examples.iter().filter(|one| seen.insert(one.row));
    let ids = ids.map(|one| dataset.reviews[one.row as usize].id.clone());
    let quarterly = quarters(dataset, if is_scored { mentions } else { &[] });
    Aspect {
        id: concept.id.clone(),
        label: concept.label.clone(),
        mention_count: all,
        positive_count: positive,
        neutral_count: neutral,
        negative_count: negative,
        positive_pct,
        score,
        top_phrases: top_phrases(dataset, mentions),
        example_review_ids: ids.collect(),
        interval: bounds,
        positive_pct_interval: bounds.map(|bounds| bounds.map(|bound| rounded(bound * 100.0, 1))),
        evidence: Some(shown.iter().map(|one| evidence(dataset, one)).collect()),
        change,
        quarterly,
        rows: rows(mentions.iter()),
        rows_by_polarity: ByPolarity::from_fn(|sign| rows(of(sign))),
    }
}

/// The reviews of these mentions, ascending.
fn rows<'m>(mentions: impl Iterator<Item = &'m &'m Mention>) -> Vec<Row> {
    let mut rows: Vec<Row> = mentions.map(|one| Row(one.row)).collect();
    rows.dedup();
    rows
}

fn evidence(dataset: &Dataset, mention: &Mention) -> Evidence {
    let review = &dataset.reviews[mention.row as usize];
    Evidence {
        review_id: review.id.clone(),
        start: code_points(&review.text[..mention.range.start]),
        end: code_points(&review.text[..mention.range.end]),
        polarity: mention.polarity,
    }
}

fn code_points(text: &str) -> u32 {
    text.chars().count() as u32
}

/// The clearest of these mentions, at most one per review; newer ones win a tie.
fn clearest<'m>(mentions: impl Iterator<Item = &'m &'m Mention>) -> Vec<&'m Mention> {
    let mut best: Vec<&Mention> = mentions.copied().collect();
    best.sort_by_key(|one| (Reverse(one.margin), one.row, one.range.start));
    let mut seen = HashSet::new();
    best.retain(|one| seen.insert(one.row));
    best.truncate(EXAMPLES_MAX);
    best
}

/// The words by which reviews mention an aspect most often, in lower case.
fn top_phrases(dataset: &Dataset, mentions: &[&Mention]) -> Vec<String> {
    let mut uses: BTreeMap<String, u32> = BTreeMap::new();
    for mention in mentions {
        let text = &dataset.reviews[mention.row as usize].text;
        let phrase = text[mention.range.clone()].to_lowercase();
        *uses.entry(phrase).or_default() += 1;
    }
    let mut phrases: Vec<(String, u32)> = uses.into_iter().collect();
    phrases.sort_by_key(|(_, uses)| Reverse(*uses));
    phrases.truncate(PHRASES_MAX);
    phrases.into_iter().map(|(phrase, _)| phrase).collect()
}

/// The quarters with a mention, oldest first.
fn quarters(dataset: &Dataset, mentions: &[&Mention]) -> Vec<Quarter> {
    let mut quarters: BTreeMap<String, (ByPolarity<u64>, u64)> = BTreeMap::new();
    for mention in mentions {
        let date = dataset.reviews[mention.row as usize].date;
        let quarter = format!("{}-Q{}", date.year(), (date.month() - 1) / 3 + 1);
        let (counts, doubts) = quarters.entry(quarter).or_default();
        counts[mention.polarity] += 1;
        *doubts += u64::from(mention.doubt);
    }
    let mut all = Vec::new();
    for (quarter, (counts, doubts)) in quarters {
        let mention_count = counts.negative + counts.neutral + counts.positive;
        let doubt = mean_doubt(doubts, mention_count);
        all.push(Quarter {
            quarter,
            mention_count,
            positive_count: counts.positive,
            neutral_count: counts.neutral,
            negative_count: counts.negative,
            interval: interval(counts.positive, mention_count, doubt),
        });
    }
    all
}

/// What each review says about an aspect, the newest first.
fn opinions(dataset: &Dataset, mentions: &[&Mention]) -> Vec<Opinions> {
    let mut reviews = Vec::new();
    for of_review in mentions.chunk_by(|one, other| one.row == other.row) {
        let mut opinions = Opinions {
            month: month_of(dataset.reviews[of_review[0].row as usize].date),
            favorable: 0,
            critical: 0,
            all: of_review.len() as u32,
        };
        for mention in of_review {
            match mention.polarity {
                Polarity::Positive => opinions.favorable += 1,
                Polarity::Negative => opinions.critical += 1,
                Polarity::Neutral => {}
            }
        }
        reviews.push(opinions);
    }
    reviews
}

/// The sentence about a change.
fn change_sentence(change: &Change, words: &Sentences) -> String {
    let key = if change.is_rise() { "rose" } else { "fell" };
    let month = words.month((change.since / 12) as u16, (change.since % 12 + 1) as u8);
    let values = [
        ("before", &*words.number(change.before.share() * 100.0, 0)),
        ("all", &words.count(change.before.all.into())),
        ("after", &words.number(change.after.share() * 100.0, 0)),
        ("new", &words.count(change.after.all.into())),
        ("month", &month),
    ];
    words.fill(key, &values)
}

/// The number of the month: see [`Date::month_number`].
fn month_of(date: Date) -> i32 {
    date.month_number() as i32
}

/// Rounds to `decimals` places; for ratios of integers every machine gives the same result.
pub(super) fn rounded(value: f64, decimals: i32) -> f64 {
    let unit = 10f64.powi(decimals);
    // Adding zero turns -0 into 0.
    (value * unit).round() / unit + 0.0
}

/// The mean of `count` ratings with two decimals; `None` if `count` is 0.
pub(super) fn mean_rating(stars: u64, count: u64) -> Option<f64> {
    if count == 0 {
        return None;
    }
    Some(rounded(stars as f64 / count as f64, 2))
}

/// Returns the interval that holds the true share of praise in nine of ten aspects.
///
/// It is the Wilson score interval (1927) of `part / whole` at 95 %, widened by the error of the method; the two errors are
/// independent. The method's standard error is `PART_OF_DOUBT` times `doubt`, the mean probability of an error about one of
/// the mentions. `whole` is not 0.
pub fn interval(part: u64, whole: u64, doubt: f64) -> [f64; 2] {
    let share = part as f64 / whole as f64;
    let count = whole as f64;
    let square = NORMAL_95 * NORMAL_95;
    let centre = share + square / (2.0 * count);
    let variance = share * (1.0 - share) / count + square / (4.0 * count * count);
    let spread = NORMAL_95 * variance.sqrt();
    let method = NORMAL_95 * PART_OF_DOUBT * doubt;
    let [low, high] = [centre - spread, centre + spread].map(|bound| {
        let sampling = bound / (1.0 + square / count) - share;
        (sampling * sampling + method * method).sqrt()
    });
    [share - low, share + high].map(|bound| rounded(bound.clamp(0.0, 1.0), 4))
}

/// The interval without the error of the method.
pub(super) fn sampling_interval(part: u64, whole: u64) -> [f64; 2] {
    interval(part, whole, 0.0)
}

/// The mean probability of an error, of this sum of ten-thousandths.
fn mean_doubt(sum: u64, count: u64) -> f64 {
    sum as f64 / (count.max(1) as f64 * 10_000.0)
}
