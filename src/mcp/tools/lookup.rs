//! Tools that look up a review by its id, or a person or service by name.

use serde_json::json;

use super::Members;
use super::arguments::{Arguments, FoundByName};
use super::beyond::{MENTIONS_FEW, beyond};
use crate::mcp::catalog::{Catalog, distribution, mean, percent_of, replies};
use crate::mcp::request_work::RequestWork;
use crate::mcp::result::{ResultJson, add_text, fit_with};
use crate::model::Row;
use crate::search::figures::ReviewFigures;
use crate::search::issue::Issues;
use crate::search::names::words_of_name;
use crate::search::query::Parameter;
use crate::search::resolved::{ResolvedParameter, push_resolved_names};
use crate::search::run::Scratch;
use crate::wire::date::Date;

/// Bytes of the newest reviews after which no further one is listed, so that the figures have room.
const NEWEST_BYTES_MAX: usize = 12_000;

/// Newest reviews in the result for a person or a service.
const NEWEST_MAX: usize = 3;

/// Returns one complete review, with the address of its page.
pub(super) fn get_review(
    catalog: &Catalog,
    members: &Members,
    _work: &mut RequestWork,
) -> Result<ResultJson, Issues> {
    let row = find_review(catalog, members)?;
    let mut json = catalog.snapshot.review(row).to_vec();
    let url = catalog.review_url(catalog.snapshot.index.id(row));
    add_text(&mut json, "url", &url);
    Ok(ResultJson::of(&json))
}

/// Returns one review in the format of the `fetch` tool of ChatGPT connectors.
pub(super) fn fetch(
    catalog: &Catalog,
    members: &Members,
    _work: &mut RequestWork,
) -> Result<ResultJson, Issues> {
    let row = find_review(catalog, members)?;
    let snapshot = &catalog.snapshot;
    let review = snapshot.stored_review(row);
    let document = json!({
        "id": review.id,
        "title": title(&review.author.decode(), snapshot.index.date(row), review.rating),
        "text": review.text.decode(),
        "url": catalog.review_url(review.id),
        "metadata": {
            "author": review.author.decode(),
            "rating": review.rating,
            "date": review.date,
            "source": review.source.decode(),
        },
    });
    Ok(ResultJson::of(document.to_string().as_bytes()))
}

/// Returns the title of a review in `search` and `fetch`.
pub(super) fn title(author: &str, date: Date, stars: u8) -> String {
    format!("Review by {author}, {date}, {stars} of 5 stars")
}

fn find_review(catalog: &Catalog, members: &Members) -> Result<Row, Issues> {
    let mut arguments = Arguments::new(members, &["id"]);
    let row = arguments.review(catalog, "id");
    arguments.finish()?;
    row.ok_or_else(Issues::default)
}

/// Returns the role of a person and the figures of the reviews that mention this person.
pub(super) fn get_technician(
    catalog: &Catalog,
    members: &Members,
    work: &mut RequestWork,
) -> Result<ResultJson, Issues> {
    let arguments = Arguments::new(members, &["name"]);
    let parameter = Parameter::MentionsTechnician;
    let what = "must be the name of a person, or a part of it";
    let person = find(catalog, arguments, "name", parameter, what, work)?;
    Ok(mentioned(
        catalog,
        "name",
        "technician",
        person,
        parameter,
        work,
    ))
}

/// Returns the description of a service and the figures of the reviews that mention it.
pub(super) fn get_service(
    catalog: &Catalog,
    members: &Members,
    work: &mut RequestWork,
) -> Result<ResultJson, Issues> {
    let arguments = Arguments::new(members, &["service"]);
    let parameter = Parameter::MentionsService;
    let what = "must be the id or label of a service, or a part of it";
    let service = find(catalog, arguments, "service", parameter, what, work)?;
    Ok(mentioned(
        catalog, "service", "service", service, parameter, work,
    ))
}

/// Reads the last argument of a tool, which names a person, service or aspect.
pub(super) fn find<'c>(
    catalog: &'c Catalog,
    mut arguments: Arguments<'_>,
    argument: &'static str,
    parameter: Parameter,
    what: &'static str,
    work: &mut RequestWork,
) -> Result<FoundByName<'c>, Issues> {
    let name = arguments.text(argument, what);
    let found = arguments.named(catalog, argument, parameter, name, work);
    arguments.finish()?;
    found.ok_or_else(Issues::default)
}

/// Returns the entry with figures of the reviews that mention it, and the newest three of these.
fn mentioned(
    catalog: &Catalog,
    argument: &'static str,
    key: &str,
    found: FoundByName<'_>,
    parameter: Parameter,
    work: &mut RequestWork,
) -> ResultJson {
    let snapshot = &catalog.snapshot;
    let entry = found.entry;
    let mut scratch = Scratch::default();
    let figures = ReviewFigures::of(&snapshot.index, &entry.filter(parameter), &mut scratch);
    work.total.spend(scratch.spent());
    let mut value = json!({
        key: entry.value,
        "mention_count": figures.count(),
        "rating_value": mean(figures.stars),
        "high_rating_pct": percent_of(figures.high_ratings(), figures.count()),
        "distribution": distribution(figures.stars),
        "earliest": figures.oldest.map(|row| snapshot.index.date(row).to_string()),
        "latest": figures.newest.first().map(|row| snapshot.index.date(*row).to_string()),
        "replies": replies(snapshot, &figures),
    });
    if figures.count() < MENTIONS_FEW {
        let is_counted = |id: &str| {
            let mut counted = figures.newest.iter();
            counted.any(|row| snapshot.index.id(*row) == id)
        };
        let words = words_of_name(&entry.name);
        value["beyond"] = beyond(catalog, &words, is_counted, work).into();
    }
    let mut members = ResultJson::of(b",\"newest_reviews\":[");
    for (at, row) in figures.newest.iter().take(NEWEST_MAX).enumerate() {
        if members.len() > NEWEST_BYTES_MAX {
            break;
        }
        if at > 0 {
            members.push(b",");
        }
        members.push_part(&catalog.listed_review(*row));
    }
    let mut end = b"]".to_vec();
    let told = ResolvedParameter::told(argument, found.resolved);
    push_resolved_names(&mut end, told.as_slice());
    members.push(&end);
    fit_with(value, &members)
}
