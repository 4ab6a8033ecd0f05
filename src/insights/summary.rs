//! Plain sentences made of the derived numbers, where the operator wrote no summary.

use super::totals::rounded;
use crate::model::Review;
use crate::model::insights::{Aspect, Overall, Polarity};

/// The summary: what is counted and nothing else.
pub(super) fn summary(
    reviews: &[Review],
    overall: Option<&Overall>,
    aspects: &[Aspect],
) -> Option<String> {
    let (latest, earliest) = (reviews.first()?, reviews.last()?);
    let stars = reviews.iter().map(|one| u64::from(one.rating.stars()));
    let mean = rounded(stars.sum::<u64>() as f64 / reviews.len() as f64, 2);
    let mut text = match reviews.len() {
        1 => format!("1 review of {} gives {mean:.2} of 5 stars.", latest.date),
        count => format!(
            "{count} reviews from {} to {} give {mean:.2} of 5 stars on average.",
            earliest.date, latest.date
        ),
    };
    if let Some(overall) = overall {
        let (positive, negative) = (overall.positive_pct, overall.negative_pct);
        text.push_str(&format!(
            " By their words and stars, {positive:.1} % are positive and {negative:.1} % negative."
        ));
    }
    for (polarity, opening) in [
        (Polarity::Positive, "Praised most often"),
        (Polarity::Negative, "Criticized most often"),
    ] {
        let named = most(aspects, polarity);
        if !named.is_empty() {
            text.push_str(&format!(" {opening}: {}.", named.join(", ")));
        }
    }
    for aspect in aspects {
        if let Some(change) = &aspect.change {
            text.push_str(&format!(" {}: {change}", aspect.label));
        }
    }
    Some(text)
}

/// The scored aspects with most mentions of the polarity, with their counts.
fn most(aspects: &[Aspect], polarity: Polarity) -> Vec<String> {
    let count = |aspect: &Aspect| aspect.count(Some(polarity));
    let scored = aspects.iter().filter(|one| one.score.is_some());
    let mut named: Vec<&Aspect> = scored.filter(|one| count(one) > 0).collect();
    named.sort_by_key(|aspect| std::cmp::Reverse(count(aspect)));
    named.truncate(NAMED_MAX);
    let name = |aspect: &&Aspect| {
        let (count, all) = (count(aspect), aspect.mention_count);
        let noun = if all == 1 { "mention" } else { "mentions" };
        format!("{} ({count} of {all} {noun})", aspect.label)
    };
    named.iter().map(name).collect()
}

/// Aspects named for each sign.
const NAMED_MAX: usize = 3;
