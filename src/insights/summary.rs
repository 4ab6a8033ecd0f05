//! Figures of all reviews: sentiment, months, trend, and a summary text with these numbers for datasets whose operator
//! wrote none.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::evidence::sign;
use super::sentences::Sentences;
use super::totals::{CHANGE_MIN, mean_rating, rounded};
use crate::model::Review;
use crate::model::insights::{Aspect, ByPolarity, Month, Overall, Polarity};

/// Most aspects named for each sign.
const NAMED_MAX: usize = 3;
/// Fewest reviews in each of the two years of the trend.
const REVIEWS_MIN: usize = 10;

/// Returns the mean of the reviews' scores, and the percentage of reviews of each sign; `None` without reviews.
pub(super) fn overall(scores: &[i32]) -> Option<Overall> {
    if scores.is_empty() {
        return None;
    }
    let count = scores.len() as f64;
    let sum: i64 = scores.iter().map(|score| i64::from(*score)).sum();
    let percent = ByPolarity::from_fn(|polarity| {
        let of_sign = scores.iter().filter(|score| sign(**score) == polarity);
        rounded(of_sign.count() as f64 * 100.0 / count, 1)
    });
    Some(Overall {
        score: rounded(sum as f64 / count / 10_000.0, 4),
        positive_pct: percent.positive,
        neutral_pct: percent.neutral,
        negative_pct: percent.negative,
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
    let months = months.into_iter();
    let months = months.map(|((year, month), (count, stars, sum))| Month {
        month: format!("{year:04}-{month:02}"),
        scored_count: count,
        sentiment: Some(rounded(sum as f64 / count as f64 / 10_000.0, 4)),
        review_count: count,
        mean_rating: mean_rating(stars, count),
    });
    months.collect()
}

/// `rising`, `falling` or `steady`: compares the mean rating of the twelve months up to the newest review with that of
/// the twelve months before, by `method.trend_rule`.
pub(super) fn trend(reviews: &[Review]) -> Option<&'static str> {
    let newest = reviews.first()?.date.month_number();
    // The number of reviews of the last `months` months.
    let count_of = |months: u32| {
        reviews.partition_point(|review| newest - review.date.month_number() < months)
    };
    let (recent, before) = reviews[..count_of(24)].split_at(count_of(12));
    let recent = spread(recent)?;
    let before = spread(before)?;
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
    if reviews.len() < REVIEWS_MIN {
        return None;
    }
    let stars = reviews.iter().map(|one| f64::from(one.rating.stars()));
    let count = reviews.len() as f64;
    let mean = stars.clone().sum::<f64>() / count;
    let squares: f64 = stars.map(|stars| (stars - mean) * (stars - mean)).sum();
    Some((mean, squares / (count - 1.0) / count))
}

/// Writes the summary text, which has only counts and means.
pub(super) fn summary(
    reviews: &[Review],
    overall: &Overall,
    aspects: &[Aspect],
    words: &Sentences,
) -> Option<String> {
    let latest = words.day(reviews.first()?.date);
    let earliest = words.day(reviews.last()?.date);
    let stars = reviews.iter().map(|one| u64::from(one.rating.stars()));
    let mean = mean_rating(stars.sum(), reviews.len() as u64)?;
    let mut sentences = Vec::new();
    if reviews.len() == 1 {
        let stars = words.number(mean, 0);
        sentences.push(words.fill("one", &[("date", &latest), ("stars", &stars)]));
    } else {
        let count = words.count(reviews.len() as u64);
        let mean = words.number(mean, 2);
        let values = [
            ("count", &*count),
            ("first", &earliest),
            ("last", &latest),
            ("stars", &mean),
        ];
        sentences.push(words.fill("many", &values));
        let positive = words.number(overall.positive_pct, 1);
        let negative = words.number(overall.negative_pct, 1);
        let shares = [("positive", &*positive), ("negative", &*negative)];
        sentences.push(words.fill("shares", &shares));
    }
    for (key, polarity) in [
        ("praised", Polarity::Positive),
        ("criticized", Polarity::Negative),
    ] {
        let mut names = Vec::new();
        for aspect in most_named(aspects, polarity) {
            let count = words.count(aspect.count(Some(polarity)));
            let all = words.count(aspect.mention_count);
            let values = [("label", &*aspect.label), ("count", &count), ("all", &all)];
            names.push(words.fill("aspect", &values));
        }
        if !names.is_empty() {
            sentences.push(words.fill(key, &[("aspects", &words.list(names))]));
        }
    }
    for aspect in aspects {
        if let Some(change) = &aspect.change {
            let values = [("label", &*aspect.label), ("change", change)];
            sentences.push(words.fill("about", &values));
        }
    }
    Some(words.join(&sentences))
}

/// The aspects that are praised or criticized most often. One that is mostly criticized is not listed as praised.
fn most_named(aspects: &[Aspect], polarity: Polarity) -> Vec<&Aspect> {
    let mut named = Vec::new();
    for aspect in aspects.iter().filter(|one| one.score.is_some()) {
        let is_praised = aspect.positive_count > aspect.negative_count;
        let fits = polarity == Polarity::Negative || is_praised;
        if fits && aspect.count(Some(polarity)) > 0 {
            named.push(aspect);
        }
    }
    named.sort_by_key(|aspect| Reverse(aspect.count(Some(polarity))));
    named.truncate(NAMED_MAX);
    named
}
