//! Tools that return insights: the summary with its sections, a time compared with the one before it, and one aspect with
//! the sentences that mention it.

use serde_json::{Map, Value, json};

use super::Members;
use super::arguments::{Arguments, NameArgument};
use super::beyond::{MENTIONS_FEW, beyond};
use crate::mcp::catalog::{Catalog, SECTIONS, distribution, mean, percent};
use crate::mcp::request_work::RequestWork;
use crate::mcp::result::{ResultJson, fit_with, fit_within};
use crate::model::insights::{Aspect, Evidence, Polarity};
use crate::search::figures::PeriodFigures;
use crate::search::issue::Issues;
use crate::search::names::words_of_name;
use crate::search::resolved::{ResolvedParameter, push_resolved_names};
use crate::wire::date::Date;
use crate::wire::sentence::sentences;
use crate::wire::text::truncate;

/// Days of a time that is compared, unless the call names its first day.
const PERIOD_DAYS: u32 = 90;

/// Largest number of aspects that are listed for a time.
const ASPECTS_MAX: usize = 50;

/// Largest size in bytes of the insights: a model needs them beside much else.
const INSIGHTS_BYTES_MAX: usize = 16_000;

/// Longest part of a sentence that is quoted, in bytes, unless the mention itself is longer.
const QUOTE_BYTES_MAX: usize = 600;

/// Largest number of sentences of each polarity, unless the call names polarities.
const QUOTES_MAX: usize = 5;

/// Largest number of sentences of each polarity that the call names.
const QUOTES_OF_ONE_MAX: usize = 20;

/// What stands beside the figures of all time if a call asks for them together with a time.
const ALL_TIME_HINT: &str = "only period is of the days asked for; the sections are of all time";

/// What the argument `aspect` must be.
const ASPECT_RULE: &str = "must be the id, the label or a phrase of an aspect";

/// A time from its first to its last day; one that ends before it begins has no reviews.
#[derive(Clone, Copy)]
struct Period {
    since: Date,
    until: Date,
}

/// Returns a summary of the insights; or the requested sections and, for a time, its comparison with the one before it.
pub(super) fn get_insights(
    catalog: &Catalog,
    members: &Members,
    _work: &mut RequestWork,
) -> Result<ResultJson, Issues> {
    let mut arguments = Arguments::new(members, &["sections", "since", "until"]);
    let sections = arguments.words("sections", &SECTIONS);
    let period = read_period(catalog, &mut arguments);
    arguments.finish()?;
    if sections.is_empty() && period.is_none() {
        let summary = catalog.insights_summary.clone();
        return Ok(ResultJson::of(&fit_within(summary, INSIGHTS_BYTES_MAX)));
    }
    let mut answer = Map::new();
    if let Some(period) = period {
        if !sections.is_empty() {
            answer.insert("hint".to_owned(), ALL_TIME_HINT.into());
        }
        answer.insert("period".to_owned(), compare_with_before(catalog, period));
    }
    for name in sections {
        if let Some(section) = catalog.insights.get(name) {
            answer.insert(name.to_owned(), section.clone());
        }
    }
    let answer = fit_within(answer.into(), INSIGHTS_BYTES_MAX);
    Ok(ResultJson::of(&answer))
}

/// Reads the days from `since` to `until`: without `since` 90 days, and without `until` to the day of the data. `None`
/// without both, or after an issue.
fn read_period(catalog: &Catalog, arguments: &mut Arguments<'_>) -> Option<Period> {
    let since = arguments.optional_text("since");
    let since = arguments.date("since", since);
    let until = arguments.optional_text("until");
    let until = arguments.date("until", until);
    if since.is_none() && until.is_none() {
        return None;
    }
    let until = until.unwrap_or(catalog.snapshot.updated_at.date());
    let since = match since {
        Some(since) => since,
        None => days_before(until, PERIOD_DAYS - 1).unwrap_or(Date::MIN),
    };
    Some(Period { since, until })
}

/// Compares the reviews of `period` with those of the same number of days before.
fn compare_with_before(catalog: &Catalog, period: Period) -> Value {
    let days = (period.until.days() + 1).saturating_sub(period.since.days());
    let before = match (
        days_before(period.since, days),
        days_before(period.since, 1),
    ) {
        (Some(since), Some(until)) => figures_of_period(catalog, Period { since, until }),
        _ => Value::Null,
    };
    json!({
        "days": days,
        "now": figures_of_period(catalog, period),
        "before": before,
    })
}

/// Returns the day that is this number of days before `date`; `None` before the first day of the calendar.
fn days_before(date: Date, days: u32) -> Option<Date> {
    Date::from_days(date.days().checked_sub(days)?)
}

/// Returns the figures of the reviews of a time: number, ratings, and how many of them mention each aspect.
fn figures_of_period(catalog: &Catalog, period: Period) -> Value {
    let figures = PeriodFigures::of(&catalog.snapshot.index, period.since, period.until);
    let mut aspects = Vec::new();
    for aspect in figures.aspects.iter().take(ASPECTS_MAX) {
        aspects.push(json!({
            "id": aspect.id,
            "review_count": aspect.all,
            "positive_count": aspect.positive,
            "negative_count": aspect.negative,
        }));
    }
    json!({
        "since": period.since.to_string(),
        "until": period.until.to_string(),
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
    let name = arguments.text("aspect", ASPECT_RULE);
    let found = arguments.named(catalog, NameArgument::aspect("aspect"), name, work);
    let found = arguments.finish_with(found)?;
    let named = found.entry;
    let insights = catalog.snapshot.insights_value();
    let measured = insights.and_then(|insights| {
        let mut aspects = insights.aspects.iter();
        aspects.find(|aspect| named.value["id"] == *aspect.id)
    });
    let wanted = WantedQuotes::of(&polarities);
    let mut answer = named.value.clone();
    answer["sentiment"] = measured.map_or(Value::Null, figures);
    answer["quotes"] = quotes(catalog, measured, &wanted);
    if wanted.are_few(measured) {
        answer["counted_phrases"] = json!(named.phrases());
        let counted = measured.map_or(&[][..], |aspect| &*aspect.rows);
        let words = words_of_name(&named.name);
        answer["beyond"] = beyond(catalog, &words, counted, work).into();
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

/// The sentences about an aspect that a call asks for.
struct WantedQuotes {
    polarities: Vec<Polarity>,
    /// Largest number of each polarity.
    each_max: usize,
}

impl WantedQuotes {
    /// Wants the polarities with these words, or all if there are no words.
    fn of(words: &[&str]) -> WantedQuotes {
        if words.is_empty() {
            return WantedQuotes {
                polarities: Polarity::ALL.to_vec(),
                each_max: QUOTES_MAX,
            };
        }
        let named = Polarity::ALL.into_iter();
        WantedQuotes {
            polarities: named.filter(|one| words.contains(&one.word())).collect(),
            each_max: QUOTES_OF_ONE_MAX,
        }
    }

    /// Tells whether the aspect has few mentions, or none of praise or of complaint although it is wanted.
    fn are_few(&self, aspect: Option<&Aspect>) -> bool {
        let Some(aspect) = aspect else {
            return true;
        };
        if aspect.mention_count < MENTIONS_FEW {
            return true;
        }
        let mut wanted = self.polarities.iter();
        wanted.any(|one| *one != Polarity::Neutral && aspect.count(Some(*one)) == 0)
    }
}

/// Returns the newest sentences that mention the aspect, by polarity, each once.
fn quotes(catalog: &Catalog, aspect: Option<&Aspect>, wanted: &WantedQuotes) -> Value {
    let evidence = aspect.and_then(|aspect| aspect.evidence.as_deref());
    let evidence = evidence.unwrap_or_default();
    let mut by_polarity = Map::new();
    for polarity in &wanted.polarities {
        let mut quotes: Vec<Value> = Vec::new();
        for mention in evidence.iter().filter(|one| one.polarity == *polarity) {
            if quotes.len() == wanted.each_max {
                break;
            }
            if let Some(quote) = quote(catalog, mention)
                && !quotes.contains(&quote)
            {
                quotes.push(quote);
            }
        }
        by_polarity.insert(polarity.word().to_owned(), quotes.into());
    }
    by_polarity.into()
}

/// Returns the counts and the score of an aspect.
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

/// Returns the sentence around a mention, with what is needed to cite it. `None` if there is no such review or position: an
/// operator's own insights may name any.
fn quote(catalog: &Catalog, evidence: &Evidence) -> Option<Value> {
    let row = catalog.snapshot.index.row_of_id(&evidence.review_id)?;
    let review = catalog.snapshot.stored_review(row);
    Some(json!({
        "quote": sentence_around(&review.text.decode(), evidence.start as usize, evidence.end as usize)?,
        "review_id": evidence.review_id,
        "author": review.author.decode(),
        "rating": review.rating,
        "date": review.date,
        "url": catalog.review_url(&evidence.review_id),
    }))
}

/// Returns the sentence that contains the code points from `start` to `end`, or its part from `start` on if it is too
/// long. For code points between two sentences it is the second. `None` if the text has no such code points.
fn sentence_around(text: &str, start: usize, end: usize) -> Option<&str> {
    let mut offsets = text.char_indices().map(|(offset, _)| offset);
    let start_byte = offsets.nth(start)?;
    let end_byte = match end.checked_sub(start + 1)? {
        0 => offsets.next(),
        length => offsets.nth(length),
    };
    let end_byte = end_byte.unwrap_or(text.len());
    let sentence = sentences(text).find(|sentence| sentence.end > start_byte)?;
    let mut from = sentence.start.min(start_byte);
    if end_byte - from > QUOTE_BYTES_MAX {
        from = start_byte;
    }
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
    fn a_position_between_two_sentences_gives_the_second() {
        assert_eq!(sentence_around("Good.   Fine.", 5, 6), Some("Fine."));
        assert_eq!(sentence_around("  Good.", 0, 1), Some("Good."));
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
