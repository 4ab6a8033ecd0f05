//! Tools that return insights: the summary with its sections, a time compared with the one before it, and one aspect with
//! the sentences that mention it.

use serde_json::{Value, json};

use super::Members;
use super::arguments::Arguments;
use super::beyond::{MENTIONS_FEW, beyond};
use super::lookup::find;
use crate::mcp::catalog::{Catalog, SECTIONS, distribution, mean, percent};
use crate::mcp::request_work::RequestWork;
use crate::mcp::result::{ResultJson, fit_with, fit_within};
use crate::model::insights::{Aspect, Evidence, Polarity};
use crate::search::figures::PeriodFigures;
use crate::search::issue::Issues;
use crate::search::names::words_of_name;
use crate::search::query::Parameter;
use crate::search::resolved::{ResolvedParameter, push_resolved_names};
use crate::wire::date::Date;
use crate::wire::sentence::sentences;
use crate::wire::text::truncate;

/// Days of a time that is compared, if no first day is given.
const PERIOD_DAYS: u32 = 90;

/// Aspects whose mentions are counted in a time.
const ASPECTS_MAX: usize = 50;

/// Largest size in bytes of the insights: a model needs them beside much else.
const INSIGHTS_BYTES_MAX: usize = 16_000;

/// Longest part of a sentence that is quoted, unless the mention itself is longer.
const QUOTE_BYTES_MAX: usize = 600;

/// Sentences of each polarity if all polarities are requested.
const QUOTES_MAX: usize = 5;

/// Sentences of each polarity if polarities are named.
const QUOTES_OF_ONE_MAX: usize = 20;

/// Returns a summary of the insights, or the requested sections.
pub(super) fn get_insights(
    catalog: &Catalog,
    members: &Members,
    _work: &mut RequestWork,
) -> Result<ResultJson, Issues> {
    let mut arguments = Arguments::new(members, &["sections", "since", "until"]);
    let sections = arguments.words("sections", &SECTIONS);
    let since = arguments.optional_text("since");
    let since = arguments.date("since", since);
    let until = arguments.optional_text("until");
    let until = arguments.date("until", until);
    arguments.finish()?;
    let mut answer = if sections.is_empty() {
        catalog.insights_summary.clone()
    } else {
        let named = |name: &str| Some((name.to_owned(), catalog.insights.get(name)?.clone()));
        sections.into_iter().filter_map(named).collect()
    };
    if since.is_some() || until.is_some() {
        answer["period"] = compare_periods(catalog, since, until);
    }
    Ok(ResultJson::of(&fit_within(answer, INSIGHTS_BYTES_MAX)))
}

/// Compares the reviews from `since` to `until` with those of the same number of days before: without `since` it is 90
/// days, and without `until` the last day is that of the data.
fn compare_periods(catalog: &Catalog, since: Option<Date>, until: Option<Date>) -> Value {
    let until = until.unwrap_or(catalog.snapshot.updated_at.date());
    let usual = until.days().saturating_sub(PERIOD_DAYS - 1);
    let since = since.or(Date::from_days(usual)).unwrap_or(Date::MIN);
    let days = (until.days() + 1).saturating_sub(since.days());
    let before_since = since.days().checked_sub(days);
    let before_since = before_since.and_then(Date::from_days);
    let before_until = since.days().checked_sub(1);
    let before_until = before_until.and_then(Date::from_days);
    let before = before_since.zip(before_until);
    json!({
        "days": days,
        "now": period(catalog, since, until),
        "before": before.map(|(since, until)| period(catalog, since, until)),
    })
}

/// Returns the figures of the reviews from `since` to `until`: number, ratings, and mentions of each aspect.
fn period(catalog: &Catalog, since: Date, until: Date) -> Value {
    let figures = PeriodFigures::of(&catalog.snapshot.index, since, until);
    let mut aspects = Vec::new();
    for aspect in figures.aspects.iter().take(ASPECTS_MAX) {
        aspects.push(json!({
            "id": aspect.id,
            "mention_count": aspect.all,
            "positive_count": aspect.positive,
            "negative_count": aspect.negative,
        }));
    }
    json!({
        "since": since.to_string(),
        "until": until.to_string(),
        "rating_count": figures.stars.iter().sum::<u64>(),
        "rating_value": mean(figures.stars),
        "distribution": distribution(figures.stars),
        "aspects": aspects,
    })
}

/// Returns the figures of one aspect, and the newest sentences that mention it.
pub(super) fn get_aspect_sentiment(
    catalog: &Catalog,
    members: &Members,
    work: &mut RequestWork,
) -> Result<ResultJson, Issues> {
    let mut arguments = Arguments::new(members, &["aspect", "polarity"]);
    let polarities = arguments.words("polarity", &Polarity::ALL.map(Polarity::word));
    let what = "must be the id, the label or a phrase of an aspect";
    let found = find(catalog, arguments, "aspect", Parameter::Aspect, what, work)?;
    let named = found.entry;
    let insights = catalog.snapshot.insights_value();
    let measured = insights.and_then(|insights| {
        let mut aspects = insights.aspects.iter();
        aspects.find(|aspect| named.value["id"] == *aspect.id)
    });
    let mut answer = named.value.clone();
    answer["sentiment"] = measured.map_or(Value::Null, figures);
    answer["quotes"] = json!({});
    let quotes_max = if polarities.is_empty() {
        QUOTES_MAX
    } else {
        QUOTES_OF_ONE_MAX
    };
    let evidence = measured.and_then(|aspect| aspect.evidence.as_deref());
    let is_asked =
        |polarity: &Polarity| polarities.is_empty() || polarities.contains(&polarity.word());
    for polarity in Polarity::ALL.into_iter().filter(is_asked) {
        let said = evidence.unwrap_or_default().iter();
        let said = said.filter(|evidence| evidence.polarity == polarity);
        let mut said = said.filter_map(|evidence| quote(catalog, evidence));
        let mut quotes: Vec<Value> = Vec::new();
        while quotes.len() < quotes_max
            && let Some(quote) = said.next()
        {
            if !quotes.contains(&quote) {
                quotes.push(quote);
            }
        }
        answer["quotes"][polarity.word()] = quotes.into();
    }
    let is_missing = |polarity: Polarity| {
        let count = measured.map_or(0, |aspect| aspect.count(Some(polarity)));
        is_asked(&polarity) && polarity != Polarity::Neutral && count == 0
    };
    let mentions = measured.map_or(0, |aspect| aspect.mention_count);
    if mentions < MENTIONS_FEW || Polarity::ALL.into_iter().any(is_missing) {
        let phrases: Vec<&str> = named.folded.iter().skip(2).map(String::as_str).collect();
        answer["counted_phrases"] = json!(phrases);
        let evidence = evidence.unwrap_or_default();
        let is_counted = |id: &str| evidence.iter().any(|one| one.review_id == id);
        let words = words_of_name(&named.name);
        answer["beyond"] = beyond(catalog, &words, is_counted, work).into();
    }
    answer["coverage"] = json!(insights.map(|insights| json!({
        "with_text": insights.coverage.with_text,
        "with_aspect": insights.coverage.with_aspect,
    })));
    let mut names = Vec::new();
    let told = ResolvedParameter::told("aspect", found.resolved);
    push_resolved_names(&mut names, told.as_slice());
    Ok(fit_with(answer, &ResultJson::of(&names)))
}

fn figures(aspect: &Aspect) -> Value {
    json!({
        "mention_count": aspect.mention_count,
        "positive_count": aspect.positive_count,
        "neutral_count": aspect.neutral_count,
        "negative_count": aspect.negative_count,
        "positive_pct": aspect.positive_pct,
        "score": aspect.score,
        "positive_pct_interval": aspect.interval.map(percent),
        "top_phrases": aspect.top_phrases,
        "change": aspect.change,
    })
}

/// Returns the sentence around a mention, with the data to cite it; `None` if an operator's own insights refer to no
/// position in a published review.
fn quote(catalog: &Catalog, evidence: &Evidence) -> Option<Value> {
    let row = catalog.snapshot.index.row_of_id(&evidence.review_id)?;
    let review = catalog.snapshot.stored_review(row);
    Some(json!({
        "quote": sentence_around(&review.text.decode(), evidence.start as usize, evidence.end as usize)?,
        "review_id": evidence.review_id,
        "rating": review.rating,
        "date": review.date,
        "url": catalog.review_url(&evidence.review_id),
    }))
}

/// Returns the sentence that contains the code points from `start` to `end`, or its part from `start` on if it is too
/// long; `None` if there are no such code points.
fn sentence_around(text: &str, start: usize, end: usize) -> Option<&str> {
    let mut offsets = text.char_indices().map(|(offset, _)| offset);
    let start_byte = offsets.nth(start)?;
    let end_byte = match end.checked_sub(start + 1)? {
        0 => offsets.next(),
        length => offsets.nth(length),
    };
    let end_byte = end_byte.unwrap_or(text.len());
    let sentence = sentences(text).find(|sentence| sentence.end > start_byte)?;
    let from = if end_byte - sentence.start > QUOTE_BYTES_MAX {
        start_byte
    } else {
        sentence.start
    };
    let to = sentence.end.min(from + QUOTE_BYTES_MAX).max(end_byte);
    Some(truncate(&text[from..], to - from).trim())
}

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
        assert_eq!(around(text, "!"), Some("Ms. Okafor billed $1.50 an hour!"));
    }

    #[test]
    fn positions_outside_the_text_give_no_sentence() {
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
        assert!(quote.starts_with("fees"));
        assert!(quote.len() <= QUOTE_BYTES_MAX);
        let text = format!("x fees {}", "é".repeat(400));
        assert!(around(&text, "fees").is_some_and(|quote| quote.starts_with("x fees")));
    }
}
