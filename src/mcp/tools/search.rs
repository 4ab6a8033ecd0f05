//! `search_reviews` and `list_reviews_since`: the rules, the index and the envelope of REST, as tools.

use std::borrow::Cow;
use std::cell::RefCell;

use super::arguments::{search_value, unknown_message};
use super::{ANSWER_BYTES_MAX, RESULT_HEAD, RESULT_MIDDLE, push_result, result_bytes};
use crate::mcp::brief::push_brief;
use crate::mcp::catalog::Catalog;
use crate::mcp::json::Value;
use crate::model::Row;
use crate::search::builder::Builder;
use crate::search::cursor::{Cursor, ReviewId};
use crate::search::envelope::{ENVELOPE_BYTES_MAX, Frame};
use crate::search::filter::{Query, Sort};
use crate::search::issue::{Code, Issues, cut};
use crate::search::query::{Buffers, Parameter};
use crate::search::run::{Page, Scratch, run};
use crate::snapshot::Snapshot;
use crate::wire::date::{Date, parse_date};
use crate::wire::json::push_escaped;

/// The members of an object as they were parsed.
pub(crate) type Members<'v, 'a> = &'v [(Cow<'a, str>, Value<'a>)];

/// Answers a search with the ten arguments of REST.
///
/// # Errors
/// Everything that is wrong with the arguments.
pub(crate) fn search_reviews(
    catalog: &Catalog,
    members: Members<'_, '_>,
    out: &mut Vec<u8>,
) -> Result<(), Issues> {
    MEMORY.with_borrow_mut(|memory| {
        let mut builder = Builder::new(&mut memory.buffers);
        for (name, value) in members {
            match Parameter::named(name) {
                Some(parameter) => {
                    builder.json(parameter, search_value(value, &mut memory.number));
                }
                None => unknown(
                    &mut builder,
                    name,
                    value,
                    &Parameter::ALL.map(Parameter::name),
                ),
            }
        }
        let query = builder.finish()?;
        let page = run(&catalog.snapshot.index, &query, &mut memory.scratch);
        push_page(&catalog.snapshot, &page, &query, &mut memory.page, out);
        Ok(())
    })
}

/// Answers with the reviews of a day and later, newest first.
///
/// # Errors
/// Everything that is wrong with the arguments.
pub(crate) fn list_reviews_since(
    catalog: &Catalog,
    members: Members<'_, '_>,
    out: &mut Vec<u8>,
) -> Result<(), Issues> {
    const KNOWN: [&str; 3] = ["date", "limit", "cursor"];
    MEMORY.with_borrow_mut(|memory| {
        let mut builder = Builder::new(&mut memory.buffers);
        let mut since = None;
        for (name, value) in members {
            let number = &mut memory.number;
            match name.as_ref() {
                "date" => since = Some(value),
                "limit" => builder.json(Parameter::Limit, search_value(value, number)),
                "cursor" => builder.json(Parameter::Cursor, search_value(value, number)),
                _ => unknown(&mut builder, name, value, &KNOWN),
            }
        }
        let since = read_date(since, &mut builder);
        let mut query = builder.finish()?;
        query.filter.since = since;
        let page = run(&catalog.snapshot.index, &query, &mut memory.scratch);
        push_page(&catalog.snapshot, &page, &query, &mut memory.page, out);
        Ok(())
    })
}

/// Reads the argument `date`, which must be given; what is wrong with it goes to the builder.
fn read_date(value: Option<&Value<'_>>, builder: &mut Builder<'_>) -> Option<Date> {
    let (code, message, received) = match value {
        Some(Value::String(text)) => match parse_date(text.as_bytes()) {
            Ok(date) => return Some(date),
            Err(error) => (
                Code::InvalidDate,
                error.to_string().into(),
                Cow::Borrowed(&**text),
            ),
        },
        None | Some(Value::Null) => (Code::Missing, MUST_BE_DATE.into(), "".into()),
        Some(other) => (Code::InvalidType, MUST_BE_DATE.into(), other.quote()),
    };
    builder.refuse(Some("date".into()), code, message, &received);
    None
}

fn unknown(builder: &mut Builder<'_>, name: &str, value: &Value<'_>, known: &[&str]) {
    let path = Some(cut(name).to_owned().into());
    let message = unknown_message(known).into();
    builder.refuse(path, Code::UnknownArgument, message, &value.quote());
}

/// Appends a page: whole reviews up to a limit of 50, their short form above it.
///
/// The JSON stays within its bound: where not all rows fit, the page ends early and `next_cursor` goes on from the
/// last review that is on it, so nothing is lost. A review that is too large by itself comes in its short form.
fn push_page(
    snapshot: &Snapshot,
    page: &Page,
    query: &Query<'_>,
    buffers: &mut PageBuffers,
    out: &mut Vec<u8>,
) {
    let length = |row: &Row| snapshot.review(*row).len();
    let is_whole = query.limit <= WHOLE_REVIEWS_MAX
        && page.rows.iter().all(|row| length(row) <= REVIEWS_BYTES_MAX);
    let PageBuffers {
        reviews,
        frame,
        json,
    } = buffers;
    reviews.clear();
    let returned = match is_whole {
        true => fitting(page.rows.iter().map(length)),
        false => push_briefs(snapshot, &page.rows, query, reviews),
    };
    let next = match returned.checked_sub(1) {
        Some(last) if page.rows.len() > returned => mark(snapshot, query.sort, page.rows[last]),
        _ => page.next,
    };
    frame.render(page.matched, returned, next.as_ref(), query.ignored);
    if is_whole {
        push_whole(snapshot, &page.rows[..returned], frame, out);
    } else {
        json.clear();
        json.extend_from_slice(&frame.head);
        json.extend_from_slice(reviews);
        json.extend_from_slice(&frame.tail);
        push_result(out, json);
    }
}

/// Returns how many reviews of these lengths a page has room for, one of them at least.
fn fitting(lengths: impl Iterator<Item = usize>) -> usize {
    let (mut returned, mut bytes) = (0, 0);
    for length in lengths {
        bytes += length + usize::from(returned > 0);
        if bytes > REVIEWS_BYTES_MAX && returned > 0 {
            break;
        }
        returned += 1;
    }
    returned
}

/// Appends the reviews that there is room for, all of them or the long ones in their short form; returns how many.
fn push_briefs(
    snapshot: &Snapshot,
    rows: &[Row],
    query: &Query<'_>,
    reviews: &mut Vec<u8>,
) -> usize {
    let mut returned = 0;
    for row in rows {
        let start = reviews.len();
        if start > 0 {
            reviews.push(b',');
        }
        let review = snapshot.review(*row);
        if query.limit > WHOLE_REVIEWS_MAX || review.len() > REVIEWS_BYTES_MAX {
            push_brief(reviews, review);
        } else {
            reviews.extend_from_slice(review);
        }
        if reviews.len() > REVIEWS_BYTES_MAX && returned > 0 {
            reviews.truncate(start);
            break;
        }
        returned += 1;
    }
    returned
}

/// Appends the result that holds `rows` whole: what [`push_result`] would, from bytes that are ready in both forms.
fn push_whole(snapshot: &Snapshot, rows: &[Row], frame: &Frame, out: &mut Vec<u8>) {
    let reviews: usize = snapshot.runs(rows).map(|run| run.len() + 1).sum();
    let json = frame.head.len() + reviews + frame.tail.len();
    out.reserve(result_bytes(json));
    out.extend_from_slice(RESULT_HEAD);
    push_escaped(out, &frame.head);
    snapshot.push_escaped(rows, out);
    push_escaped(out, &frame.tail);
    out.extend_from_slice(RESULT_MIDDLE);
    out.extend_from_slice(&frame.head);
    for (place, run) in snapshot.runs(rows).enumerate() {
        if place > 0 {
            out.push(b',');
        }
        out.extend_from_slice(run);
    }
    out.extend_from_slice(&frame.tail);
}

/// The place of a row in an order.
fn mark(snapshot: &Snapshot, sort: Sort, row: Row) -> Option<Cursor> {
    Some(Cursor {
        sort,
        rating: snapshot.index.rating(row),
        date: snapshot.index.date(row),
        id: ReviewId::new(snapshot.index.id(row))?,
    })
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
    number: String,
    page: PageBuffers,
}

/// Where an answer is put together.
#[derive(Default)]
struct PageBuffers {
    reviews: Vec<u8>,
    frame: Frame,
    json: Vec<u8>,
}

/// Largest limit at which reviews come whole; above it they come in their short form.
pub(crate) const WHOLE_REVIEWS_MAX: u8 = 50;
/// Room for reviews in an answer.
const REVIEWS_BYTES_MAX: usize = ANSWER_BYTES_MAX - ENVELOPE_BYTES_MAX;
const MUST_BE_DATE: &str = "must be a string of the form YYYY-MM-DD";
