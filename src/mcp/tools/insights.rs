//! Tools that answer from the insights: the summary with its sections, and one aspect with the sentences behind it.

use serde_json::{Map, Value, json};

use super::arguments::Arguments;
use super::lookup::{StoredReview, find};
use super::{Members, fit};
use crate::mcp::catalog::Catalog;
use crate::model::insights::{Aspect, Evidence, Insights, Polarity};
use crate::search::issue::Issues;
use crate::search::query::Parameter;
use crate::wire::text::truncate;

/// The parts of the insights that can be asked for by name.
const SECTIONS: [&str; 8] = [
    "aspects", "entities", "topics", "temporal", "faq", "method", "coverage", "limits",
];

/// Answers with a summary of the insights, or with the sections that are asked for.
pub(crate) fn get_insights(catalog: &Catalog, members: &Members) -> Result<Vec<u8>, Issues> {
    let mut arguments = Arguments::new(members, &["sections"]);
    let sections = arguments.words("sections", &SECTIONS);
    arguments.finish()?;
    let answer = match sections.is_empty() {
        true => catalog.insights_summary.clone(),
        false => sections
            .into_iter()
            .filter_map(|name| Some((name.to_owned(), catalog.insights.get(name)?.clone())))
            .collect(),
    };
    Ok(fit(answer))
}

/// Returns what the insights say as a whole, with one line for each aspect.
pub(crate) fn summary(insights: &Insights) -> Value {
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
    let topic = |topic: &crate::model::insights::Topic| json!({"phrase": topic.phrase, "polarity": topic.polarity});
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

/// Returns every section of the insights by its name, without the figures of single reviews.
pub(crate) fn sections(insights: &Insights) -> Map<String, Value> {
    match serde_json::to_value(insights.brief(usize::MAX)) {
        Ok(Value::Object(sections)) => sections,
        _ => Map::new(),
    }
}

/// Answers with what the insights say about one aspect, and with the newest sentences that say it.
pub(crate) fn get_aspect_sentiment(
    catalog: &Catalog,
    members: &Members,
) -> Result<Vec<u8>, Issues> {
    let mut arguments = Arguments::new(members, &["aspect", "polarity"]);
    let name = arguments.text(
        "aspect",
        "must be the id, the label or a phrase of an aspect",
    );
    let polarities = arguments.words("polarity", &Polarity::ALL.map(Polarity::word));
    let found = find(&mut arguments, "aspect", Parameter::Aspect, name, catalog);
    arguments.finish()?;
    let named = found.ok_or_else(Issues::default)?;
    let insights = catalog.snapshot.insights_value();
    let measured = insights.and_then(|insights| {
        let mut aspects = insights.aspects.iter();
        aspects.find(|aspect| named.value["id"] == *aspect.id)
    });
    let mut answer = named.value.clone();
    answer["sentiment"] = measured.map_or(Value::Null, figures);
    answer["quotes"] = json!({});
    let quotes_max = match polarities.is_empty() {
        true => QUOTES_MAX,
        false => QUOTES_OF_ONE_MAX,
    };
    for polarity in Polarity::ALL {
        let word = polarity.word();
        if polarities.is_empty() || polarities.contains(&word) {
            let evidence = measured.and_then(|aspect| aspect.evidence.as_deref());
            let said = evidence.unwrap_or_default().iter();
            let mut quotes: Vec<Value> = Vec::new();
            for quote in said
                .filter(|evidence| evidence.polarity == polarity)
                .filter_map(|evidence| quote(catalog, evidence))
            {
                if quotes.len() == quotes_max {
                    break;
                }
                if !quotes.contains(&quote) {
                    quotes.push(quote);
                }
            }
            answer["quotes"][word] = quotes.into();
        }
    }
    Ok(fit(answer))
}

fn figures(aspect: &Aspect) -> Value {
    json!({
        "mention_count": aspect.mention_count,
        "positive_count": aspect.positive_count,
        "neutral_count": aspect.neutral_count,
        "negative_count": aspect.negative_count,
        "positive_pct": aspect.positive_pct,
        "score": aspect.score,
        "interval": aspect.interval,
        "top_phrases": aspect.top_phrases,
        "change": aspect.change,
    })
}

/// Returns the sentence around a mention, with what is needed to cite it; `None` where the insights were made elsewhere
/// and name no place in a published review.
fn quote(catalog: &Catalog, evidence: &Evidence) -> Option<Value> {
    let row = catalog.snapshot.index.row_of_id(&evidence.review_id)?;
    let review = StoredReview::read(&catalog.snapshot, row);
    Some(json!({
        "quote": sentence_around(&review.text, evidence.start as usize, evidence.end as usize)?,
        "review_id": evidence.review_id,
        "rating": review.rating,
        "date": review.date,
        "url": catalog.review_url(&evidence.review_id),
    }))
}

/// Returns the sentence that holds the code points from `start` to `end`, some 600 bytes of it at most; `None` where
/// there are none.
fn sentence_around(text: &str, start: usize, end: usize) -> Option<&str> {
    let mut offsets = text.char_indices().map(|(offset, _)| offset);
    let start_byte = offsets.nth(start)?;
    let end_byte = match end.checked_sub(start + 1)? {
        0 => offsets.next(),
        length => offsets.nth(length),
    };
    let end_byte = end_byte.unwrap_or(text.len());
    let ends_sentence = |(at, mark): &(usize, &str)| {
        let (before, after) = (&text[..*at], &text[at + mark.len()..]);
        *mark == "\n" || (after.starts_with(char::is_whitespace) && !is_abbreviation(before))
    };
    let mut before = text[..start_byte].rmatch_indices(SENTENCE_MARKS);
    let from = before
        .find(ends_sentence)
        .map_or(0, |(at, mark)| at + mark.len());
    let after = text[end_byte..].match_indices(SENTENCE_MARKS);
    let mut after = after.map(|(at, mark)| (end_byte + at, mark));
    let to = after
        .find(ends_sentence)
        .map_or(text.len(), |(at, mark)| at + mark.len());
    let from = match end_byte - from > QUOTE_BYTES_MAX {
        true => start_byte,
        false => from,
    };
    let to = to.min(from + QUOTE_BYTES_MAX).max(end_byte);
    Some(truncate(&text[from..], to - from).trim())
}

/// Tells whether a text ends with a title such as `Ms` or an initial, behind which a full stop ends no sentence.
fn is_abbreviation(text: &str) -> bool {
    let word = text.rsplit(|c: char| !c.is_alphanumeric()).next();
    word.is_some_and(|word| word.starts_with(char::is_uppercase) && word.len() <= 3)
}

const SENTENCE_MARKS: [char; 5] = ['.', '!', '?', '…', '\n'];
/// Longest part of a sentence that is quoted, unless the mention itself is longer.
const QUOTE_BYTES_MAX: usize = 600;
/// Sentences of each polarity where all are asked for.
const QUOTES_MAX: usize = 5;
/// Sentences of each polarity where some are asked for by name.
const QUOTES_OF_ONE_MAX: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;

    fn around<'t>(text: &'t str, phrase: &str) -> Option<&'t str> {
        let start = text[..text.find(phrase)?].chars().count();
        sentence_around(text, start, start + phrase.chars().count())
    }

    #[test]
    fn a_sentence_ends_where_a_mark_is_followed_by_space() {
        let text = "Ça va. Ms. Okafor billed $1.50 an hour! Fine?\nYes";
        assert_eq!(
            around(text, "billed"),
            Some("Ms. Okafor billed $1.50 an hour!")
        );
        assert_eq!(around(text, "va"), Some("Ça va."));
        assert_eq!(around(text, "Fine"), Some("Fine?"));
        assert_eq!(around(text, "Yes"), Some("Yes"));
        assert_eq!(
            around(text, "!"),
            Some("Ms. Okafor billed $1.50 an hour! Fine?")
        );
    }

    #[test]
    fn places_that_do_not_exist_are_no_sentence() {
        for (start, end) in [(5, 6), (0, 0), (2, 1), (usize::MAX - 1, usize::MAX)] {
            assert_eq!(sentence_around("short", start, end), None, "{start} {end}");
        }
        assert_eq!(sentence_around("short", 4, 99), Some("short"));
        assert_eq!(sentence_around("", 0, 1), None);
    }

    #[test]
    fn a_sentence_without_end_is_cut_around_the_mention() {
        let text = format!("{} fees {}", "é".repeat(400), "é".repeat(400));
        let quote = around(&text, "fees").expect("a sentence");
        assert!(quote.starts_with("fees é") && quote.len() <= QUOTE_BYTES_MAX);
        let text = format!("x fees {}", "é".repeat(400));
        assert!(around(&text, "fees").is_some_and(|quote| quote.starts_with("x fees")));
    }
}
