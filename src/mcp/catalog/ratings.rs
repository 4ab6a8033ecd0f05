//! Mean and distribution of the ratings of all reviews, of each year, and of any other selection; and how the owner
//! answers.

use serde_json::{Value, json};

use crate::model::Row;
use crate::snapshot::Snapshot;

/// Returns the aggregate rating, as in `/reviews.json`, and the figures of each year, newest first.
pub(super) fn summary(snapshot: &Snapshot) -> Value {
    let mut all = [0; 5];
    let mut years: Vec<(u16, [u64; 5])> = Vec::new();
    for row in (0..snapshot.len()).map(Row) {
        let year = snapshot.index.date(row).year();
        let at = usize::from(snapshot.index.rating(row).stars()) - 1;
        if years.last().is_none_or(|(last, _)| *last != year) {
            years.push((year, [0; 5]));
        }
        if let Some((_, counts)) = years.last_mut() {
            counts[at] += 1;
        }
        all[at] += 1;
    }
    let of_year = |(year, counts): &(u16, [u64; 5])| {
        let (rating_value, distribution) = figures(*counts);
        json!({
            "year": year,
            "rating_count": counts.iter().sum::<u64>(),
            "rating_value": rating_value,
            "distribution": distribution,
        })
    };
    let (rating_value, distribution) = figures(all);
    json!({
        "aggregate_rating": {
            "rating_value": rating_value,
            "review_count": snapshot.with_text,
            "rating_count": snapshot.len(),
            "best_rating": 5,
            "worst_rating": 1,
            "distribution": distribution,
        },
        "by_year": years.iter().take(YEARS_MAX).map(of_year).collect::<Vec<_>>(),
        "replies": replies(snapshot),
    })
}

/// Returns how the owner answers, and the newest reviews with one or two stars that have no answer.
fn replies(snapshot: &Snapshot) -> Value {
    let tallies = &snapshot.tallies;
    let reviews = f64::from(snapshot.len());
    let share = (tallies.with_reply as f64 * 1_000.0 / reviews).round() / 10.0;
    let mut unanswered = Vec::new();
    for row in &tallies.newest_low_unanswered {
        let id = snapshot.index.id(*row);
        unanswered.push(json!({
            "id": id,
            "rating": snapshot.index.rating(*row).stars(),
            "date": snapshot.index.date(*row).to_string(),
            "url": snapshot.review_url(id),
        }));
    }
    json!({
        "reply_count": tallies.with_reply,
        "reply_pct": share.is_finite().then_some(share),
        "median_days": tallies.reply_days,
        "low_unanswered_count": tallies.low_unanswered,
        "low_unanswered": unanswered,
    })
}

/// Returns the mean and the distribution of `counts`, the number of reviews for each rating from 1 to 5; the mean in
/// hundredths, rounded half up as in the documents, and null without reviews.
pub(crate) fn figures(counts: [u64; 5]) -> (Value, Value) {
    let reviews: u64 = counts.iter().sum();
    let stars: u64 = (1..).zip(counts).map(|(stars, count)| stars * count).sum();
    let hundredths = (200 * stars + reviews).checked_div(2 * reviews);
    let mean = hundredths.map(|hundredths| hundredths as f64 / 100.0);
    let [one, two, three, four, five] = counts;
    let distribution = json!({"1": one, "2": two, "3": three, "4": four, "5": five});
    (json!(mean), distribution)
}

/// Largest number of years in a summary.
const YEARS_MAX: usize = 100;
