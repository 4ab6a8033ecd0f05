//! Tools that look one thing up by its name: a review, an aspect, a person, a service.

use super::arguments::Arguments;
use super::push_result;
use super::search::Members;
use crate::mcp::brief::push_brief;
use crate::mcp::catalog::{Catalog, Named};
use crate::model::Rating;
use crate::search::filter::{Filter, Query, RatingSet, Sort};
use crate::search::fold::fold_into;
use crate::search::issue::{Code, Issues};
use crate::search::run::{Page, Scratch, run};
use crate::snapshot::Snapshot;
use crate::wire::json::{Array, Object};

/// Answers with one review, whole.
///
/// # Errors
/// A missing or unknown id.
pub(crate) fn get_review(
    catalog: &Catalog,
    members: Members<'_, '_>,
    out: &mut Vec<u8>,
) -> Result<(), Issues> {
    let mut arguments = Arguments::new(members, &["id"]);
    let id = arguments.text("id", "must be the id of a review");
    let row = catalog.snapshot.index.row_of_id(id);
    if row.is_none() && !id.is_empty() {
        let message = "no published review has this id".into();
        arguments.refuse("id", Code::UnknownValue, message, id);
    }
    arguments.finish()?;
    if let Some(row) = row {
        push_result(out, catalog.snapshot.review(row));
    }
    Ok(())
}

/// Answers with what the insights say about one aspect.
///
/// # Errors
/// A missing or unknown aspect.
pub(crate) fn get_aspect_sentiment(
    catalog: &Catalog,
    members: Members<'_, '_>,
    out: &mut Vec<u8>,
) -> Result<(), Issues> {
    let mut arguments = Arguments::new(members, &["aspect"]);
    let aspect = arguments.text("aspect", "must be the id or label of an aspect");
    let found = find(&mut arguments, "aspect", aspect, &catalog.aspects);
    arguments.finish()?;
    if let Some(aspect) = found {
        push_result(out, &aspect.json);
    }
    Ok(())
}

/// Answers with who a person is and what the reviews that mention them say in numbers.
///
/// # Errors
/// A missing or unknown name.
pub(crate) fn get_technician(
    catalog: &Catalog,
    members: Members<'_, '_>,
    out: &mut Vec<u8>,
) -> Result<(), Issues> {
    let mut arguments = Arguments::new(members, &["name"]);
    let name = arguments.text(
        "name",
        "must be the name of a person, or one of their aliases",
    );
    let found = find(&mut arguments, "name", name, &catalog.technicians);
    arguments.finish()?;
    if let Some(technician) = found {
        let filter = Filter {
            technician: Some(&technician.folded[0]),
            ..Filter::ALL
        };
        push_mentioned(&catalog.snapshot, ("technician", technician), filter, out);
    }
    Ok(())
}

/// Answers with what a service is and what the reviews that mention it say in numbers.
///
/// # Errors
/// A missing or unknown service.
pub(crate) fn get_service(
    catalog: &Catalog,
    members: Members<'_, '_>,
    out: &mut Vec<u8>,
) -> Result<(), Issues> {
    let mut arguments = Arguments::new(members, &["service"]);
    let name = arguments.text("service", "must be the id or label of a service");
    let found = find(&mut arguments, "service", name, &catalog.services);
    arguments.finish()?;
    if let Some(service) = found {
        let filter = Filter {
            service: Some(&service.folded[0]),
            ..Filter::ALL
        };
        push_mentioned(&catalog.snapshot, ("service", service), filter, out);
    }
    Ok(())
}

/// Finds the entry that goes by `name`, without regard to case; an unknown name is refused with those there are.
fn find<'c>(
    arguments: &mut Arguments<'_, '_>,
    argument: &'static str,
    name: &str,
    entries: &'c [Named],
) -> Option<&'c Named> {
    if name.is_empty() {
        return None;
    }
    let mut folded = String::with_capacity(name.len());
    fold_into(name, &mut folded);
    let found = entries.iter().find(|entry| entry.folded.contains(&folded));
    if found.is_none() {
        let known: Vec<&str> = entries
            .iter()
            .take(KNOWN_MAX)
            .map(|entry| entry.name.as_str())
            .collect();
        let message = match entries.len() {
            0 => "is unknown, and so is every other: the taxonomy lists none".to_owned(),
            count if count > KNOWN_MAX => {
                format!("must be one of {count}, such as {}", known.join(", "))
            }
            _ => format!("must be one of {}", known.join(", ")),
        };
        arguments.refuse(argument, Code::UnknownValue, message.into(), name);
    }
    found
}

/// Appends the entry with the number, ratings and dates of the reviews that `filter` selects, and the newest three.
fn push_mentioned(
    snapshot: &Snapshot,
    (key, entry): (&str, &Named),
    filter: Filter<'_>,
    out: &mut Vec<u8>,
) {
    let mut scratch = Scratch::default();
    let mut search = |ratings, sort, limit| -> Page {
        let query = Query {
            filter: Filter { ratings, ..filter },
            sort,
            limit,
            cursor: None,
            ignored: &[],
        };
        run(&snapshot.index, &query, &mut scratch)
    };
    let newest = search(RatingSet::ALL, Sort::Newest, NEWEST_MAX);
    let oldest = search(RatingSet::ALL, Sort::Oldest, 1);
    let mut counts = [0u64; 5];
    for (stars, count) in (1..).zip(&mut counts) {
        if let Some(rating) = Rating::new(stars) {
            *count = u64::from(search(RatingSet::only(rating), Sort::Newest, 1).matched);
        }
    }
    let day = |page: &Page| {
        let row = page.rows.first()?;
        Some(snapshot.index.date(*row).to_string())
    };
    let mut json = Vec::with_capacity(4_096);
    let mut object = Object::begin(&mut json);
    object
        .raw(key, &entry.json)
        .u64("mention_count", u64::from(newest.matched));
    push_ratings(&mut object, counts);
    object
        .opt_string("earliest", day(&oldest).as_deref())
        .opt_string("latest", day(&newest).as_deref());
    let mut reviews = Array::begin(object.key("newest_reviews"));
    for row in newest.rows.iter() {
        push_brief(reviews.item(), snapshot.review(*row));
    }
    reviews.end();
    object.end();
    push_result(out, &json);
}

/// Adds the mean and the distribution of `counts`, the number of reviews for each rating from 1 to 5.
pub(crate) fn push_ratings(object: &mut Object<'_>, counts: [u64; 5]) {
    let reviews: u64 = counts.iter().sum();
    let stars: u64 = (1..).zip(counts).map(|(stars, count)| stars * count).sum();
    // Hundredths, rounded half up, as the aggregate rating of the documents is.
    match (200 * stars + reviews).checked_div(2 * reviews) {
        None => object.null("rating_value"),
        Some(hundredths) => {
            let text = format!("{}.{:02}", hundredths / 100, hundredths % 100);
            object.raw("rating_value", text.as_bytes())
        }
    };
    let mut distribution = Object::begin(object.key("distribution"));
    for (stars, count) in ["1", "2", "3", "4", "5"].into_iter().zip(counts) {
        distribution.u64(stars, count);
    }
    distribution.end();
}

/// Names that a refusal lists.
const KNOWN_MAX: usize = 25;
/// Reviews that come with a person or a service, in their short form.
const NEWEST_MAX: u8 = 3;
