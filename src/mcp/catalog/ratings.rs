//! Mean and distribution of the ratings of all reviews, of each year, and of any other selection; and how the owner
//! answers.

use serde_json::{Value, json};

use crate::model::Row;
use crate::search::figures::ReviewFigures;
use crate::search::filter::Filter;
use crate::search::run::Scratch;
use crate::snapshot::Snapshot;

/// Largest number of years in a summary.
const YEARS_MAX: usize = 100;

/// The reviews of one year.
struct Year {
    year: u16,
    /// Number of reviews with each rating from 1 to 5.
    stars: [u64; 5],
}

/// Returns the aggregate rating, as in `/reviews.json`, and the figures of each year, newest first.
pub(super) fn summary(snapshot: &Snapshot) -> Value {
    let index = &snapshot.index;
    let figures = ReviewFigures::of(index, &Filter::default(), &mut Scratch::default());
    let mut by_year = Vec::new();
    for Year { year, stars } in years(snapshot).iter().take(YEARS_MAX) {
        by_year.push(json!({
            "year": year,
            "rating_count": stars.iter().sum::<u64>(),
            "rating_value": mean(*stars),
            "distribution": distribution(*stars),
        }));
    }
    json!({
        "aggregate_rating": {
            "rating_value": mean(figures.stars),
            "review_count": snapshot.with_text,
            "rating_count": snapshot.len(),
            "best_rating": 5,
            "worst_rating": 1,
            "distribution": distribution(figures.stars),
        },
        "by_year": by_year,
        "replies": replies(snapshot, &figures),
    })
}

/// Counts the ratings of each year, the newest first.
fn years(snapshot: &Snapshot) -> Vec<Year> {
    let mut years: Vec<Year> = Vec::new();
    for row in (0..snapshot.len()).map(Row) {
        let year = snapshot.index.date(row).year();
        if years.last().is_none_or(|last| last.year != year) {
            let stars = [0; 5];
            years.push(Year { year, stars });
        }
        let at = usize::from(snapshot.index.rating(row).stars()) - 1;
        if let Some(last) = years.last_mut() {
            last.stars[at] += 1;
        }
    }
    years
}

/// Returns how the owner answers, and the newest reviews with one or two stars that have no answer.
pub(crate) fn replies(snapshot: &Snapshot, figures: &ReviewFigures) -> Value {
    let mut unanswered = Vec::new();
    for row in &figures.newest_low_unanswered {
        let id = snapshot.index.id(*row);
        unanswered.push(json!({
            "id": id,
            "rating": snapshot.index.rating(*row).stars(),
            "date": snapshot.index.date(*row).to_string(),
            "url": snapshot.review_url(id),
        }));
    }
    json!({
        "reply_count": figures.with_reply,
        "reply_pct": percent_of(figures.with_reply, figures.count()),
        "median_days": figures.reply_days,
        "low_unanswered_count": figures.low_unanswered,
        "low_unanswered": unanswered,
    })
}

/// Returns the mean rating with two decimals, halves rounded up as in the documents; `None` without reviews. `stars` has
/// the number of reviews with each rating from 1 to 5.
pub(crate) fn mean(stars: [u64; 5]) -> Option<f64> {
    let reviews: u64 = stars.iter().sum();
    let sum: u64 = (1..).zip(stars).map(|(stars, count)| stars * count).sum();
    let hundredths = (200 * sum + reviews).checked_div(2 * reviews)?;
    Some(hundredths as f64 / 100.0)
}

/// Returns the number of reviews with each rating from 1 to 5 as an object by rating.
pub(crate) fn distribution([one, two, three, four, five]: [u64; 5]) -> Value {
    json!({"1": one, "2": two, "3": three, "4": four, "5": five})
}

/// Returns how many per cent of `all` are in `part`, with one decimal place; `None` if `all` is 0.
pub(crate) fn percent_of(part: u64, all: u64) -> Option<f64> {
    if all == 0 {
        return None;
    }
    Some((part as f64 * 1_000.0 / all as f64).round() / 10.0)
}
