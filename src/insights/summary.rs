//! Plain sentences made of the derived numbers, where the operator wrote no summary.

use super::aspects::Aspect;
use super::number::{push_decimal, ratio};
use super::polarity::Polarity;
use crate::model::Review;

/// The summary: what is counted and nothing else.
pub(super) fn summary(
    reviews: &[Review],
    signs: [u64; 3],
    aspects: &[Aspect<'_>],
    mentions_min: u32,
) -> Option<String> {
    let (latest, earliest) = (reviews.first()?, reviews.last()?);
    let stars: i64 = reviews
        .iter()
        .map(|review| i64::from(review.rating.stars()))
        .sum();
    let mean = decimal(ratio(stars, reviews.len() as u64, 100), 2);
    let mut text = match reviews.len() as u64 {
        1 => format!("1 review of {} gives {mean} of 5 stars.", latest.date),
        count => format!(
            "{count} reviews from {} to {} give {mean} of 5 stars on average.",
            earliest.date, latest.date
        ),
    };
    let scored: u64 = signs.iter().sum();
    if scored > 0 {
        let [negative, _, positive] =
            signs.map(|count| decimal(ratio(count.cast_signed(), scored, 1_000), 1));
        text.push_str(&format!(
            " Of {scored} whose words could be scored, {positive} % are positive and {negative} % negative."
        ));
    }
    for (polarity, opening) in [
        (Polarity::Positive, "Praised most often"),
        (Polarity::Negative, "Criticized most often"),
    ] {
        let named = most(aspects, polarity, mentions_min);
        if !named.is_empty() {
            text.push_str(&format!(" {opening}: {}.", named.join(", ")));
        }
    }
    Some(text)
}

/// The aspects with most mentions of the polarity among those that are scored, with their counts.
fn most(aspects: &[Aspect<'_>], polarity: Polarity, mentions_min: u32) -> Vec<String> {
    let count = |aspect: &Aspect<'_>| aspect.count(polarity);
    let enough = |aspect: &&Aspect<'_>| {
        aspect.mentions() >= u64::from(mentions_min) && aspect.count(polarity) > 0
    };
    let mut named: Vec<&Aspect<'_>> = aspects.iter().filter(enough).collect();
    named.sort_by_key(|aspect| std::cmp::Reverse(count(aspect)));
    named
        .iter()
        .take(NAMED_MAX)
        .map(|aspect| {
            format!(
                "{} ({} of {})",
                aspect.concept.label,
                count(aspect),
                counted(aspect.mentions(), "mention")
            )
        })
        .collect()
}

fn counted(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

fn decimal(value: i64, decimals: u32) -> String {
    let mut out = Vec::new();
    push_decimal(&mut out, value, decimals);
    String::from_utf8_lossy(&out).into_owned()
}

/// Aspects named for each sign.
const NAMED_MAX: usize = 3;
