//! Searches as tools: the rules, the index and the envelope of REST.

use std::borrow::Cow;
use std::cell::RefCell;

use serde_json::{Value, json};

use super::arguments::{Arguments, unknown};
use super::lookup::name_problem;
use super::{ANSWER_BYTES_MAX, Members, push_result};
use crate::mcp::catalog::Catalog;
use crate::mcp::lean::push_lean;
use crate::model::Row;
use crate::search::envelope::{ENVELOPE_BYTES_MAX, Frame};
use crate::search::filter::Query;
use crate::search::fold::fold_into;
use crate::search::hints::{Hint, closest_words, hints, with_words};
use crate::search::issue::{Code, Issue, Issues};
use crate::search::query::{Buffers, Builder, Parameter};
use crate::search::run::{Page, Scratch, cursor_at, run};
use crate::wire::date::{Date, parse_date};
use crate::wire::json::{Object, push_string, quote};

/// Answers a search with the arguments of REST.
///
/// # Errors
/// Everything that is wrong with the arguments.
pub(crate) fn search_reviews(
    catalog: &Catalog,
    members: &Members,
    out: &mut Vec<u8>,
) -> Result<(), Issues> {
    MEMORY.with_borrow_mut(|memory| {
        let mut builder = Builder::new(&mut memory.buffers);
        for (name, value) in members {
            match Parameter::named(name) {
                Some(parameter) => {
                    builder.json(parameter, value);
                }
                None => {
                    builder.refuse(unknown(name, value, &Parameter::all().map(Parameter::name)))
                }
            }
        }
        let query = builder.finish()?;
        check_names(catalog, &query)?;
        let index = &catalog.snapshot.index;
        let mut page = run(index, &query, &mut memory.scratch);
        let instead = (page.matched == 0).then(|| {
            let closest = closest_words(index, &query, &mut memory.scratch);
            if let Some((words, _)) = &closest
                && let Some(query) = with_words(&query, words, query.limit)
            {
                page.rows = run(index, &query, &mut memory.scratch).rows;
            }
            let hints = hints(index, &query, &mut memory.scratch);
            let hint = advise(catalog, members, &hints, closest.as_ref());
            Instead { closest, hint }
        });
        push_page(catalog, &page, &query, instead, &mut memory.page, out);
        Ok(())
    })
}

/// What an answer holds where no review fits.
struct Instead {
    /// The words that the listed reviews have, and how many reviews have them.
    closest: Option<(String, u32)>,
    hint: String,
}

/// Returns what to try where nothing was found: the words that were found instead, the hints of the search, and the aspects
/// that its words name.
fn advise(
    catalog: &Catalog,
    members: &Members,
    hints: &[Hint],
    closest: Option<&(String, u32)>,
) -> String {
    let instead = closest.map(|(words, matched)| {
        format!(
            "no review fits all of it; listed are those found by the words {words:?}, {matched} in all"
        )
    });
    let hints = hints.iter().map(ToString::to_string);
    let mut sentences: Vec<String> = instead.into_iter().chain(hints).collect();
    let asked = ["words", "query"].map(|name| members.get(name).and_then(Value::as_str));
    let mut folded = String::new();
    fold_into(
        asked.into_iter().flatten().next().unwrap_or_default(),
        &mut folded,
    );
    for aspect in &catalog.aspects {
        let mut words = folded.split_whitespace();
        if let Some(word) = words.find(|word| aspect.folded.iter().any(|name| name == word)) {
            sentences.push(format!(
                "get_aspect_sentiment quotes what is said of {word:?}, the aspect {}",
                aspect.name
            ));
        }
    }
    if sentences.is_empty() {
        sentences
            .push("no review fits: leave a filter out, or try fewer or other words".to_owned());
    }
    format!("{}.", sentences.join("; "))
}

/// Refuses names of people, services and aspects that stand for none or for several, with those that may be meant.
fn check_names(catalog: &Catalog, query: &Query<'_>) -> Result<(), Issues> {
    let mut issues = Issues::default();
    let filter = &query.filter;
    for (parameter, name) in [
        (Parameter::MentionsTechnician, filter.technician),
        (Parameter::MentionsService, filter.service),
        (Parameter::Aspect, filter.aspect),
    ] {
        if let Some(name) = name
            && let Some(message) = name_problem(catalog, parameter, name)
        {
            let path = Some(parameter.name().into());
            issues.push(Issue::new(path, Code::UnknownValue, message, name));
        }
    }
    issues.into_result()
}

/// Answers with the reviews of a day and later, newest first.
///
/// # Errors
/// Everything that is wrong with the arguments.
pub(crate) fn list_reviews_since(
    catalog: &Catalog,
    members: &Members,
    out: &mut Vec<u8>,
) -> Result<(), Issues> {
    const KNOWN: [&str; 3] = ["date", "limit", "cursor"];
    MEMORY.with_borrow_mut(|memory| {
        let mut builder = Builder::new(&mut memory.buffers);
        let mut since = None;
        for (name, value) in members {
            match name.as_str() {
                "date" => since = Some(value),
                "limit" => builder.json(Parameter::Limit, value),
                "cursor" => builder.json(Parameter::Cursor, value),
                _ => builder.refuse(unknown(name, value, &KNOWN)),
            }
        }
        let since = read_date(since, &mut builder);
        let mut query = builder.finish()?;
        query.filter.since = since;
        let page = run(&catalog.snapshot.index, &query, &mut memory.scratch);
        push_page(catalog, &page, &query, None, &mut memory.page, out);
        Ok(())
    })
}

/// Answers with the ten newest reviews that have the words, or as many of the words as occur together: ids, titles and
/// addresses, the form of the tool `search` that connectors of ChatGPT call.
///
/// # Errors
/// A missing query.
pub(crate) fn search(catalog: &Catalog, members: &Members) -> Result<Vec<u8>, Issues> {
    let mut arguments = Arguments::new(members, &["query"]);
    let words = arguments.text("query", "must be the words to look for");
    arguments.finish()?;
    let rows = MEMORY.with_borrow_mut(|memory| {
        let mut builder = Builder::new(&mut memory.buffers);
        builder.text(Parameter::Words, words);
        builder.text(Parameter::Limit, "10");
        let query = builder.finish()?;
        let index = &catalog.snapshot.index;
        let page = run(index, &query, &mut memory.scratch);
        if page.matched == 0
            && let Some((words, _)) = closest_words(index, &query, &mut memory.scratch)
            && let Some(query) = with_words(&query, &words, query.limit)
        {
            return Ok(run(index, &query, &mut memory.scratch).rows);
        }
        Ok::<_, Issues>(page.rows)
    })?;
    let found = |row: &Row| {
        let index = &catalog.snapshot.index;
        let (id, rating) = (index.id(*row), index.rating(*row).stars());
        json!({
            "id": id,
            "title": format!("Review of {}, {rating} of 5 stars", index.date(*row)),
            "url": catalog.review_url(id),
        })
    };
    let results: Vec<Value> = rows.iter().map(found).collect();
    Ok(json!({ "results": results }).to_string().into_bytes())
}

/// Reads the argument `date`, which must be given; what is wrong with it goes to the builder.
fn read_date(value: Option<&Value>, builder: &mut Builder<'_>) -> Option<Date> {
    let (code, message, received) = match value {
        Some(Value::String(text)) => match parse_date(text.as_bytes()) {
            Ok(date) => return Some(date),
            Err(error) => (
                Code::InvalidDate,
                Cow::from(error.to_string()),
                Cow::Borrowed(&**text),
            ),
        },
        None | Some(Value::Null) => (Code::Missing, MUST_BE_DATE.into(), "".into()),
        Some(other) => (Code::InvalidType, MUST_BE_DATE.into(), quote(other)),
    };
    builder.refuse(Issue::new(Some("date".into()), code, message, &received));
    None
}

/// Appends a page of reviews in their short form.
///
/// The JSON stays within its bound: where not all rows fit, the page ends early and `next_cursor` goes on from the
/// last review that is on it, so nothing is lost.
fn push_page(
    catalog: &Catalog,
    page: &Page,
    query: &Query<'_>,
    instead: Option<Instead>,
    buffers: &mut PageBuffers,
    out: &mut Vec<u8>,
) {
    let snapshot = &catalog.snapshot;
    let PageBuffers {
        reviews,
        frame,
        json,
    } = buffers;
    reviews.clear();
    let mut returned = 0_usize;
    for row in page.rows.iter() {
        let end = reviews.len();
        if returned > 0 {
            reviews.push(b',');
        }
        push_lean(reviews, snapshot.review(*row));
        if reviews.len() > REVIEWS_BYTES_MAX && returned > 0 {
            reviews.truncate(end);
            break;
        }
        returned += 1;
    }
    let next = match returned.checked_sub(1) {
        Some(last) if page.rows.len() > returned && instead.is_none() => {
            cursor_at(&snapshot.index, page.rows[last], query.sort)
        }
        _ => page.next,
    };
    frame.render(page.matched, returned, next.as_ref(), query.ignored);
    json.clear();
    json.extend_from_slice(&frame.head);
    json.extend_from_slice(reviews);
    json.extend_from_slice(&frame.tail);
    if let Some(Instead { closest, hint }) = instead {
        json.pop();
        if let Some((words, matched)) = closest {
            json.extend_from_slice(b",\"closest\":");
            let mut object = Object::begin(json);
            object
                .string("words", &words)
                .u64("matched", matched.into());
            object.end();
        }
        json.extend_from_slice(b",\"hint\":");
        push_string(json, &hint);
        json.push(b'}');
    }
    push_result(out, json);
}

thread_local! {
    /// One search at a time runs on a thread, so its memory lasts as long as the thread does.
    static MEMORY: RefCell<Memory> = RefCell::default();
}

/// What a search reuses.
#[derive(Default)]
struct Memory {
    buffers: Buffers,
    scratch: Scratch,
    page: PageBuffers,
}

/// Where an answer is put together.
#[derive(Default)]
struct PageBuffers {
    reviews: Vec<u8>,
    frame: Frame,
    json: Vec<u8>,
}

/// Room for reviews in an answer.
const REVIEWS_BYTES_MAX: usize = ANSWER_BYTES_MAX - ENVELOPE_BYTES_MAX;
const MUST_BE_DATE: &str = "must be a string of the form YYYY-MM-DD";
