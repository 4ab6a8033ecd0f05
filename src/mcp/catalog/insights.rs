//! A summary of the insights, and their sections by name.

use serde_json::{Map, Value, json};

use crate::model::insights::{Aspect, Insights};

/// The sections of the insights that clients can request by name.
pub(crate) const SECTIONS: [&str; 8] = [
    "aspects", "entities", "topics", "temporal", "faq", "method", "coverage", "limits",
];

/// Largest number of example reviews of an aspect in the sections: `get_aspect_sentiment` quotes more.
const EXAMPLES_MAX: usize = 3;

/// Largest number of phrases of an aspect in the sections.
const PHRASES_MAX: usize = 6;

/// Returns the overall figures of the insights, with one entry for each aspect. `summary_by` says who wrote the summary, if
/// there is one.
pub(super) fn summary(insights: &Insights, summary_by: &str) -> Value {
    let aspects: Vec<Value> = insights.aspects.iter().map(aspect_summary).collect();
    let mut topics = Vec::new();
    for topic in &insights.topics {
        // An operator's own insights may have none.
        let label = match topic.label.as_str() {
            "" => &topic.phrase,
            label => label,
        };
        topics.push(json!({
            "phrase": topic.phrase,
            "label": label,
            "polarity": topic.polarity,
        }));
    }
    let summary_by = if insights.summary.is_some() {
        Some(summary_by)
    } else {
        None
    };
    json!({
        "review_count": insights.review_count,
        "date_range": insights.date_range,
        "overall_sentiment": insights.overall_sentiment,
        "summary": insights.summary,
        "summary_by": summary_by,
        "pull_quote": insights.pull_quote,
        "trend": insights.temporal.trend,
        "aspects": aspects,
        "topics": topics,
        "sections": SECTIONS,
    })
}

/// Returns the figures of one aspect that the summary has.
fn aspect_summary(aspect: &Aspect) -> Value {
    json!({
        "id": aspect.id,
        "label": aspect.label,
        "mention_count": aspect.mention_count,
        "positive_count": aspect.positive_count,
        "negative_count": aspect.negative_count,
        "score": aspect.score,
    })
}

/// Returns every section of the insights by its name. It leaves out the evidence, the quarters and the figures of single
/// reviews.
pub(super) fn sections(insights: &Insights) -> Map<String, Value> {
    let mut insights = insights.clone();
    insights.per_review = None;
    for aspect in &mut insights.aspects {
        aspect.evidence = None;
        aspect.example_review_ids.truncate(EXAMPLES_MAX);
        aspect.top_phrases.truncate(PHRASES_MAX);
        aspect.quarterly.clear();
    }
    let intervals: Vec<Option<[f64; 2]>> = insights
        .aspects
        .iter()
        .map(|aspect| aspect.interval)
        .collect();
    let Ok(Value::Object(mut sections)) = serde_json::to_value(insights) else {
        return Map::new();
    };
    // The document calls it `interval`, which a model takes for that of the score beside it.
    let aspects = sections.get_mut("aspects").and_then(Value::as_array_mut);
    for (aspect, interval) in aspects.into_iter().flatten().zip(intervals) {
        if let Some(members) = aspect.as_object_mut() {
            members.remove("interval");
            let interval = json!(interval.map(percent));
            members.insert("positive_pct_interval".to_owned(), interval);
        }
    }
    sections
}

/// Converts an interval of shares, from 0 to 1, to per cent with one decimal place.
pub(crate) fn percent(interval: [f64; 2]) -> [f64; 2] {
    interval.map(|share| (share * 1_000.0).round() / 10.0)
}
