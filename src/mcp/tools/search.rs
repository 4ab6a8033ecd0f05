//! `search_reviews` and `list_reviews_since`: the rules, the index and the envelope of REST, as tools.

use std::borrow::Cow;
use std::cell::RefCell;

use super::arguments::{search_value, unknown_message};
use super::{ANSWER_BYTES_MAX, push_result};
use crate::mcp::brief::push_brief;
use crate::mcp::catalog::Catalog;
use crate::mcp::json::Value;
use crate::model::Row;
use crate::search::builder::Builder;
use crate::search::cursor::{Cursor, ReviewId};
use crate::search::envelope::{ENVELOPE_BYTES_MAX, push_search_head, push_tail};
use crate::search::filter::{Query, Sort};
use crate::search::issue::{Code, Issues, cut};
use crate::search::query::{Buffers, Parameter};
use crate::search::run::{Page, Scratch, run};
use crate::snapshot::Snapshot;
use crate::wire::date::{Date, parse_date};

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
    let is_brief = query.limit > WHOLE_REVIEWS_MAX;
    let reviews = &mut buffers.reviews;
    reviews.clear();
    let mut returned = 0;
    for row in page.rows.iter() {
        let start = reviews.len();
        if start > 0 {
            reviews.push(b',');
        }
        let review = snapshot.review(*row);
        if is_brief || review.len() > REVIEWS_BYTES_MAX {
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
    let cut_off = page.rows.len() > returned;
    let next = match returned.checked_sub(1) {
        Some(last) if cut_off => mark(snapshot, query.sort, page.rows[last]),
        _ => page.next,
    };
    let json = &mut buffers.json;
    json.clear();
    push_search_head(json, page.matched, returned, next.as_ref());
    json.extend_from_slice(reviews);
    push_tail(json, query.ignored);
    push_result(out, json);
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
    json: Vec<u8>,
}

/// Largest limit at which reviews come whole; above it they come in their short form.
pub(crate) const WHOLE_REVIEWS_MAX: u8 = 50;
/// Room for reviews in an answer.
const REVIEWS_BYTES_MAX: usize = ANSWER_BYTES_MAX - ENVELOPE_BYTES_MAX;
const MUST_BE_DATE: &str = "must be a string of the form YYYY-MM-DD";
