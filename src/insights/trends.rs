//! How reviews and aspects change with time, and whether that is more than chance.

use std::collections::BTreeMap;

use super::derive::{Derived, Mention};
use super::totals::{interval, mean_rating, rounded};
use crate::model::insights::{Month, Quarter};
use crate::model::{Dataset, Review};

/// Returns the months in which a review was written, oldest first.
pub(super) fn months(dataset: &Dataset, derived: &Derived) -> Vec<Month> {
    let mut months: BTreeMap<(u16, u8), (u64, u64, i64)> = BTreeMap::new();
    for (review, score) in dataset.reviews.iter().zip(&derived.scores) {
        let month = (review.date.year(), review.date.month());
        let (count, stars, scores) = months.entry(month).or_default();
        *count += 1;
        *stars += u64::from(review.rating.stars());
        *scores += i64::from(*score);
    }
    let month = |((year, month), (count, stars, scores)): ((u16, u8), (u64, u64, i64))| Month {
        month: format!("{year:04}-{month:02}"),
        scored_count: count,
        sentiment: Some(rounded(scores as f64 / count as f64 / 10_000.0, 4)),
        review_count: count,
        mean_rating: mean_rating(stars, count),
    };
    months.into_iter().map(month).collect()
}

/// Returns the quarters with a mention among `mentions`, which are of one aspect, and the sentence about a change.
pub(super) fn quarters(dataset: &Dataset, mentions: &[&Mention]) -> (Vec<Quarter>, Option<String>) {
    let mut counts: BTreeMap<(u16, u8), [u64; 3]> = BTreeMap::new();
    for mention in mentions {
        let date = dataset.reviews[mention.row as usize].date;
        let quarter = (date.year(), (date.month() - 1) / 3 + 1);
        counts.entry(quarter).or_default()[mention.polarity as usize] += 1;
    }
    let change = change(&counts);
    let quarter = |((year, quarter), counts): ((u16, u8), [u64; 3])| {
        let [negative, neutral, positive] = counts;
        let all = negative + neutral + positive;
        Quarter {
            quarter: format!("{year}-Q{quarter}"),
            mention_count: all,
            positive_count: positive,
            neutral_count: neutral,
            negative_count: negative,
            interval: interval(positive, all),
        }
    };
    (counts.into_iter().map(quarter).collect(), change)
}

/// Favorable mentions, and all.
type Share = [u64; 2];

/// The sentence about the quarter from which on the share of praise differs most, by two proportions and pooled
/// variance; `None` unless it differs by [`ERRORS_MIN`] standard errors and [`CHANGE_MIN`].
fn change(counts: &BTreeMap<(u16, u8), [u64; 3]>) -> Option<String> {
    let add =
        |[positive, all]: Share, one: &[u64; 3]| [positive + one[2], all + one.iter().sum::<u64>()];
    let whole = counts.values().fold([0, 0], add);
    let mut before = [0, 0];
    let mut best: Option<(f64, String)> = None;
    for ((year, quarter), one) in counts {
        let after = [whole[0] - before[0], whole[1] - before[1]];
        let (errors, difference) = difference(before, after);
        let is_clear = before[1].min(after[1]) >= MENTIONS_MIN
            && errors >= ERRORS_MIN
            && difference.abs() >= CHANGE_MIN;
        if is_clear && best.as_ref().is_none_or(|(most, _)| errors > *most + 1e-9) {
            let verb = if difference > 0.0 { "rose" } else { "fell" };
            let told = |[positive, all]: Share| {
                format!("{:.0} % of {all}", positive as f64 * 100.0 / all as f64)
            };
            let ordinal = ["first", "second", "third", "fourth"][usize::from(*quarter - 1)];
            best = Some((
                errors,
                format!(
                    "Favorable mentions {verb} from {} to {} since the {ordinal} quarter of {year}.",
                    told(before),
                    told(after),
                ),
            ));
        }
        before = add(before, one);
    }
    best.map(|(_, sentence)| sentence)
}

/// How many standard errors two shares are apart, and by how much the second is larger.
fn difference(before: Share, after: Share) -> (f64, f64) {
    let [old, new] = [before, after].map(|[positive, all]| positive as f64 / all.max(1) as f64);
    let [old_count, new_count] = [before[1], after[1]].map(|all| all.max(1) as f64);
    let pooled = (before[0] + after[0]) as f64 / (old_count + new_count);
    let variance = pooled * (1.0 - pooled) * (1.0 / old_count + 1.0 / new_count);
    ((new - old).abs() / variance.sqrt().max(1e-9), new - old)
}

/// How `trend` is found, as the document says it.
pub(super) const TREND_RULE: &str = "rising or falling if the mean rating of the twelve months up to the newest \
review differs from that of the twelve before by at least 0.1 and by at least two standard errors, else steady; null \
with fewer than ten reviews in either; the sentence about an aspect names the quarter from which on its share of favorable \
mentions differs most, where that is at least 0.1 and three standard errors, with twenty mentions before and after";

/// `rising`, `falling` or `steady` by [`TREND_RULE`].
pub(super) fn trend(reviews: &[Review]) -> Option<&'static str> {
    let number =
        |review: &Review| i32::from(review.date.year()) * 12 + i32::from(review.date.month());
    let newest = number(reviews.first()?);
    let ago = |months: i32| reviews.partition_point(|review| newest - number(review) < months);
    let (recent, before) = reviews[..ago(24)].split_at(ago(12));
    let (recent, before) = (spread(recent)?, spread(before)?);
    let change = recent.0 - before.0;
    let error = (recent.1 + before.1).sqrt();
    // A hair below the bound, as a mean of whole stars is not exact.
    Some(match change {
        change if change.abs() < CHANGE_MIN - 1e-9 || change.abs() < 2.0 * error => "steady",
        change if change > 0.0 => "rising",
        _ => "falling",
    })
}

/// Mean rating, and the square of its standard error.
fn spread(reviews: &[Review]) -> Option<(f64, f64)> {
    let stars = reviews
        .iter()
        .map(|review| f64::from(review.rating.stars()));
    let count = reviews.len() as f64;
    let mean = stars.clone().sum::<f64>() / count;
    let squares: f64 = stars.map(|stars| (stars - mean) * (stars - mean)).sum();
    (reviews.len() >= REVIEWS_MIN).then(|| (mean, squares / (count - 1.0) / count))
}

/// Reviews that each of the two years needs.
const REVIEWS_MIN: usize = 10;
/// The least change of a mean rating, or of a share, that counts.
const CHANGE_MIN: f64 = 0.1;
/// Mentions before and after a change, and by how many standard errors it differs: quarters are many.
const MENTIONS_MIN: u64 = 20;
const ERRORS_MIN: f64 = 3.0;
