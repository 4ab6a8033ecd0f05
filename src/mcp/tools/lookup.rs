//! Tools that look up a review by its id, or a person or service by name.

use serde_json::{Value, json};

use super::Members;
use super::arguments::{Arguments, NameArgument};
use super::beyond::{MENTIONS_FEW, beyond};
use crate::mcp::catalog::{Catalog, Named, distribution, mean, percent_of, replies};
use crate::mcp::request_work::RequestWork;
use crate::mcp::result::{ResultJson, add_text, fit_with};
use crate::model::Row;
use crate::search::figures::ReviewFigures;
use crate::search::issue::Issues;
use crate::search::names::words_of_name;
use crate::search::resolved::{ResolvedParameter, push_resolved_names};
use crate::search::run::Scratch;
use crate::snapshot::Snapshot;
use crate::wire::date::Date;

/// Bytes of the newest reviews after which no further one is listed, so that the figures have room.
const NEWEST_BYTES_MAX: usize = 12_000;

/// Largest number of newest reviews in the result for a person or a service.
const NEWEST_MAX: usize = 3;

/// `get_technician`.
const PERSON: NameLookup = NameLookup {
    argument: NameArgument::person("name"),
    rule: "must be the name of a person, or a part of it",
    key: "technician",
};

/// `get_service`.
const SERVICE: NameLookup = NameLookup {
    argument: NameArgument::service("service"),
    rule: "must be the id or label of a service, or a part of it",
    key: "service",
};

/// A tool that looks up a person or a service.
struct NameLookup {
    /// Its only argument.
    argument: NameArgument,
    /// What the argument must be, for messages.
    rule: &'static str,
    /// The member of the result that describes the person or the service.
    key: &'static str,
}

/// Returns one complete review, with the address of its page.
pub(super) fn get_review(
    catalog: &Catalog,
    members: &Members,
    _work: &mut RequestWork,
) -> Result<ResultJson, Issues> {
    let row = find_review(catalog, members)?;
    let mut json = catalog.snapshot.review_json(row).to_vec();
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

/// Returns the review whose id is the only argument.
fn find_review(catalog: &Catalog, members: &Members) -> Result<Row, Issues> {
    let mut arguments = Arguments::new(members, &["id"]);
    let row = arguments.review(catalog, "id");
    arguments.finish_with(row)
}

/// Returns a person with title and other names, and the figures of the reviews that mention this person.
pub(super) fn get_technician(
    catalog: &Catalog,
    members: &Members,
    work: &mut RequestWork,
) -> Result<ResultJson, Issues> {
    look_up(&PERSON, catalog, members, work)
}

/// Returns a service, and the figures of the reviews that mention it.
pub(super) fn get_service(
    catalog: &Catalog,
    members: &Members,
    work: &mut RequestWork,
) -> Result<ResultJson, Issues> {
    look_up(&SERVICE, catalog, members, work)
}

fn look_up(
    tool: &NameLookup,
    catalog: &Catalog,
    members: &Members,
    work: &mut RequestWork,
) -> Result<ResultJson, Issues> {
    let argument = tool.argument;
    let mut arguments = Arguments::new(members, &[argument.name()]);
    let name = arguments.text(argument.name(), tool.rule);
    let found = arguments.named(catalog, argument, name, work);
    let found = arguments.finish_with(found)?;
    let filter = found.entry.filter(argument.parameter());
    let mut scratch = Scratch::default();
    let figures = ReviewFigures::of(&catalog.snapshot.index, &filter, &mut scratch);
    work.total.spend(scratch.spent());
    let mut value = describe(&catalog.snapshot, tool.key, found.entry, &figures);
    if figures.count() < MENTIONS_FEW {
        let words = words_of_name(&found.entry.name);
        value["beyond"] = beyond(catalog, &words, &figures.newest, work).into();
    }
    let mut members = newest_reviews(catalog, &figures);
    let mut names = Vec::new();
    let told = ResolvedParameter::told(argument.name(), found.resolved);
    push_resolved_names(&mut names, told.as_slice());
    members.push(&names);
    Ok(fit_with(value, &members))
}

/// Returns the entry as the member `key`, with the figures of the reviews that mention it.
fn describe(snapshot: &Snapshot, key: &str, entry: &Named, figures: &ReviewFigures) -> Value {
    let date_of = |row: &Row| snapshot.index.date(*row).to_string();
    json!({
        key: entry.value,
        "mention_count": figures.count(),
        "rating_value": mean(figures.stars),
        "high_rating_pct": percent_of(figures.high_ratings(), figures.count()),
        "distribution": distribution(figures.stars),
        "earliest": figures.oldest.as_ref().map(date_of),
        "latest": figures.newest.first().map(date_of),
        "replies": replies(snapshot, figures),
    })
}

/// Returns a comma and the member with the newest reviews: at most three, and no further one after 12,000 bytes.
fn newest_reviews(catalog: &Catalog, figures: &ReviewFigures) -> ResultJson {
    let mut member = ResultJson::of(b",\"newest_reviews\":[");
    for (at, row) in figures.newest.iter().take(NEWEST_MAX).enumerate() {
        if member.len() > NEWEST_BYTES_MAX {
            break;
        }
        if at > 0 {
            member.push(b",");
        }
        member.push_part(&catalog.short_form(*row));
    }
    member.push(b"]");
    member
}
