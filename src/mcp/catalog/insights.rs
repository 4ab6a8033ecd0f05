//! A summary of the insights, and their sections by name.

use serde_json::{Map, Value, json};

use crate::model::insights::{Aspect, Insights, Topic};

/// The sections of the insights that clients can request by name.
pub(crate) const SECTIONS: [&str; 8] = [
    "aspects", "entities", "topics", "temporal", "faq", "method", "coverage", "limits",
];

/// Returns the overall figures of the insights, with one entry for each aspect.
pub(super) fn summary(insights: &Insights) -> Value {
    let aspect = |aspect: &Aspect| {
        json!({
            "id": aspect.id,
            "label": aspect.label,
            "mention_count": aspect.mention_count,
            "positive_count": aspect.positive_count,
            "negative_count": aspect.negative_count,
            "score": aspect.score,
        })
    };
    let topic = |topic: &Topic| json!({"phrase": topic.phrase, "polarity": topic.polarity});
    json!({
        "review_count": insights.review_count,
        "date_range": insights.date_range,
        "overall_sentiment": insights.overall_sentiment,
        "summary": insights.summary,
        "pull_quote": insights.pull_quote,
        "trend": insights.temporal.trend,
        "aspects": insights.aspects.iter().map(aspect).collect::<Vec<_>>(),
        "topics": insights.topics.iter().map(topic).collect::<Vec<_>>(),
        "sections": SECTIONS,
    })
}

/// Returns every section of the insights by its name, without evidence and the figures of single reviews.
pub(super) fn sections(insights: &Insights) -> Map<String, Value> {
    let mut insights = insights.clone();
    insights.per_review = None;
    for aspect in &mut insights.aspects {
        aspect.evidence = None;
    }
    match serde_json::to_value(insights) {
        Ok(Value::Object(sections)) => sections,
        _ => Map::new(),
    }
}
