//! Figures of all reviews: sentiment, months, trend, and a summary text with these numbers for datasets whose operator
//! wrote none.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::evidence::sign;
use super::totals::{CHANGE_MIN, mean_rating, rounded};
use crate::model::Review;
use crate::model::insights::{Aspect, Month, Overall, Polarity};

/// Returns the mean of the reviews' scores, and the percentage of reviews of each sign; `None` without reviews.
pub(super) fn overall(scores: &[i32]) -> Option<Overall> {
    let count = scores.len() as f64;
    let share = |polarity| {
        let of_sign = scores.iter().filter(|score| sign(**score) == polarity);
        rounded(of_sign.count() as f64 * 100.0 / count, 1)
    };
    let sum: i64 = scores.iter().map(|score| i64::from(*score)).sum();
    (!scores.is_empty()).then(|| Overall {
        score: rounded(sum as f64 / count / 10_000.0, 4),
        positive_pct: share(Polarity::Positive),
        neutral_pct: share(Polarity::Neutral),
        negative_pct: share(Polarity::Negative),
    })
}

/// Returns the months that have a review, oldest first.
pub(super) fn months(reviews: &[Review], scores: &[i32]) -> Vec<Month> {
    let mut months: BTreeMap<(u16, u8), (u64, u64, i64)> = BTreeMap::new();
    for (review, score) in reviews.iter().zip(scores) {
        let month = (review.date.year(), review.date.month());
        let (count, stars, sum) = months.entry(month).or_default();
        *count += 1;
        *stars += u64::from(review.rating.stars());
        *sum += i64::from(*score);
    }
    let month = |((year, month), (count, stars, sum)): ((u16, u8), (u64, u64, i64))| Month {
        month: format!("{year:04}-{month:02}"),
        scored_count: count,
        sentiment: Some(rounded(sum as f64 / count as f64 / 10_000.0, 4)),
        review_count: count,
        mean_rating: mean_rating(stars, count),
    };
    months.into_iter().map(month).collect()
}

/// `rising`, `falling` or `steady`: compares the mean rating of the twelve months up to the newest review with that of
/// the twelve months before, by `method.trend_rule`.
pub(super) fn trend(reviews: &[Review]) -> Option<&'static str> {
    let number =
        |review: &Review| i32::from(review.date.year()) * 12 + i32::from(review.date.month());
    let newest = number(reviews.first()?);
    let ago = |months: i32| reviews.partition_point(|review| newest - number(review) < months);
    let (recent, before) = reviews[..ago(24)].split_at(ago(12));
    let (recent, before) = (spread(recent)?, spread(before)?);
    let change = recent.0 - before.0;
    let error = (recent.1 + before.1).sqrt();
    // Slightly below the bound, as the mean of whole stars is inexact in floating point.
    Some(match change {
        change if change.abs() < CHANGE_MIN - 1e-9 || change.abs() < 2.0 * error => "steady",
        change if change > 0.0 => "rising",
        _ => "falling",
    })
}

/// Mean rating, and the square of its standard error; `None` with too few reviews.
fn spread(reviews: &[Review]) -> Option<(f64, f64)> {
    let stars = reviews.iter().map(|one| f64::from(one.rating.stars()));
    let count = reviews.len() as f64;
    let mean = stars.clone().sum::<f64>() / count;
    let squares: f64 = stars.map(|stars| (stars - mean) * (stars - mean)).sum();
    (reviews.len() >= REVIEWS_MIN).then(|| (mean, squares / (count - 1.0) / count))
}

/// Writes the summary text, which has only counts and means.
pub(super) fn summary(reviews: &[Review], overall: &Overall, aspects: &[Aspect]) -> Option<String> {
    let (latest, earliest) = (reviews.first()?, reviews.last()?);
    let stars = reviews.iter().map(|one| u64::from(one.rating.stars()));
    let mean = mean_rating(stars.sum(), reviews.len() as u64)?;
    let mut text = match reviews.len() {
        1 => format!("1 review of {} gives {mean:.2} of 5 stars.", latest.date),
        count => format!(
            "{count} reviews from {} to {} give {mean:.2} of 5 stars on average.",
            earliest.date, latest.date
        ),
    };
    let (positive, negative) = (overall.positive_pct, overall.negative_pct);
    text.push_str(&format!(
        " By their words and stars, {positive:.1} % are positive and {negative:.1} % negative."
    ));
    for (polarity, opening) in [
        (Polarity::Positive, "Praised most often"),
        (Polarity::Negative, "Criticized most often"),
    ] {
        let count = |aspect: &Aspect| aspect.count(Some(polarity));
        let scored = aspects.iter().filter(|one| one.score.is_some());
        // An aspect that is mostly criticized is not listed as praised.
        let is_criticism = polarity == Polarity::Negative;
        let is_named = |one: &&Aspect| {
            count(one) > 0 && (is_criticism || one.positive_count > one.negative_count)
        };
        let mut named: Vec<&Aspect> = scored.filter(is_named).collect();
        named.sort_by_key(|aspect| Reverse(count(aspect)));
        named.truncate(NAMED_MAX);
        let name = |aspect: &&Aspect| {
            let (count, all) = (count(aspect), aspect.mention_count);
            format!("{} ({count} of {all} mentions)", aspect.label)
        };
        let names: Vec<String> = named.iter().map(name).collect();
        if !names.is_empty() {
            text.push_str(&format!(" {opening}: {}.", names.join(", ")));
        }
    }
    for aspect in aspects {
        if let Some(change) = &aspect.change {
            text.push_str(&format!(" {}: {change}", aspect.label));
        }
    }
    Some(text)
}

/// Most aspects named for each sign.
const NAMED_MAX: usize = 3;
/// Fewest reviews in each of the two years of the trend.
const REVIEWS_MIN: usize = 10;
