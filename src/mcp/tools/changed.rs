//! `list_reviews_since` with `by: "changed"`: what was added, changed or removed here, by the log of changes.

use serde_json::Value;

use super::Members;
use crate::mcp::catalog::Catalog;
use crate::mcp::result::{ANSWER_BYTES_MAX, ResultJson, add_text};
use crate::search::changes::{ChangeCursor, parse_cursor};
use crate::search::envelope::{HEAD_BYTES_MAX, push_head};
use crate::search::issue::{Code, Issue, Issues};
use crate::search::query::{Buffers, Builder, Parameter};
use crate::snapshot::{ChangesPage, Snapshot};
use crate::wire::date::Date;
use crate::wire::json::{Array, Object, value_text};

/// What a model learns where the data have no record of changes.
const NO_RECORD_HINT: &str = "there is no record of earlier changes, so every review is listed as changed on the day of the data";

/// Lists the changes of a day and later, the oldest first. A page that would be too long has fewer than `limit`.
pub(super) fn list_changed(
    catalog: &Catalog,
    members: &Members,
    since: Date,
) -> Result<ResultJson, Issues> {
    let snapshot = &catalog.snapshot;
    let start = ChangeCursor {
        at: since.timestamp(),
        id: String::new(),
        log: snapshot.log().map(str::to_owned),
    };
    let after = read_cursor(members, snapshot)?.unwrap_or_else(|| start.clone());
    let matched = u32::try_from(snapshot.count_changes(&start)).unwrap_or(u32::MAX);
    let mut limit = read_limit(members)?;
    loop {
        let page = snapshot.changes(Some(&after), limit);
        let json = render(catalog, &page, matched);
        if json.len() <= ANSWER_BYTES_MAX || limit == 1 {
            return Ok(json);
        }
        limit /= 2;
    }
}

/// Returns the position after which the page begins; `None` without a cursor.
fn read_cursor(members: &Members, snapshot: &Snapshot) -> Result<Option<ChangeCursor>, Issues> {
    let name = Parameter::Cursor.name();
    let text = match members.get(name) {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::String(text)) if text.is_empty() => return Ok(None),
        Some(Value::String(text)) => text,
        Some(other) => {
            let message = "must be the next_cursor of an earlier response";
            let issue = Issue::new(
                Some(name.into()),
                Code::InvalidType,
                message,
                &value_text(other),
            );
            return Err(issue.into());
        }
    };
    match parse_cursor(text, snapshot.log()) {
        Ok(cursor) => Ok(Some(cursor)),
        Err(message) => {
            let issue = Issue::new(Some(name.into()), Code::InvalidCursor, message, text);
            Err(issue.into())
        }
    }
}

/// Returns the number of changes of a page, by the rules of a search.
fn read_limit(members: &Members) -> Result<usize, Issues> {
    let mut buffers = Buffers::default();
    let mut builder = Builder::new(&mut buffers);
    let limit = members.get(Parameter::Limit.name());
    builder.json(Parameter::Limit, limit.unwrap_or(&Value::Null));
    Ok(usize::from(builder.finish()?.limit))
}

/// Renders a page: the reviews that were added or changed, in their short form, and those that were removed.
fn render(catalog: &Catalog, page: &ChangesPage, matched: u32) -> ResultJson {
    let next = if page.has_more {
        page.next.to_string()
    } else {
        String::new()
    };
    let mut head = Vec::with_capacity(HEAD_BYTES_MAX);
    push_head(
        &mut head,
        matched,
        None,
        page.rows.len(),
        Some(next.as_bytes()),
    );
    let mut json = ResultJson::of(&head);
    for (at, row) in page.rows.iter().enumerate() {
        if at > 0 {
            json.push(b",");
        }
        json.push_part(&catalog.short_form(*row));
    }
    let mut tail = b"],\"removed\":".to_vec();
    let mut removed = Array::begin(&mut tail);
    for removal in &page.removed {
        let mut entry = Object::begin(removed.item());
        entry.string("id", &removal.id);
        entry.string("at", &removal.at.to_string());
        entry.end();
    }
    removed.end();
    tail.push(b'}');
    if catalog.snapshot.log().is_none() {
        add_text(&mut tail, "hint", NO_RECORD_HINT);
    }
    json.push(&tail);
    json
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::changes::digest_review;
    use crate::dataset::sample;
    use crate::model::Dataset;
    use crate::model::changes::{RemovedChange, ReviewChange};
    use crate::snapshot::tests::settings;
    use crate::wire::date::Timestamp;
    use serde_json::json;
    use std::sync::Arc;

    /// The sample with a record: all is old but the change of its last review and a removal, a day apart.
    fn recorded() -> Dataset {
        let mut dataset = sample();
        let day = |number: u8| Date::new(2030, 1, number).expect("a day").timestamp();
        let changes = &mut dataset.changes;
        changes.log = Some("log".to_owned());
        for review in &dataset.reviews {
            changes.reviews.push(ReviewChange {
                digest: digest_review(review),
                at: Some(Timestamp::from_unix(0)),
            });
        }
        if let Some(last) = changes.reviews.last_mut() {
            last.at = Some(day(2));
        }
        changes.removed.push(RemovedChange {
            id: "gone".to_owned(),
            at: Some(day(3)),
        });
        dataset
    }

    fn changed(day: u8, members: Value) -> Value {
        let json = list(day, members).expect("valid arguments");
        serde_json::from_slice(json.json()).expect("JSON")
    }

    fn list(day: u8, members: Value) -> Result<ResultJson, Issues> {
        list_of(recorded(), day, members)
    }

    fn list_of(dataset: Dataset, day: u8, members: Value) -> Result<ResultJson, Issues> {
        let snapshot = Snapshot::build(dataset, &settings());
        let catalog = Catalog::new(Arc::new(snapshot));
        let Value::Object(members) = members else {
            panic!("an object");
        };
        let date = Date::new(2030, 1, day).expect("a day");
        list_changed(&catalog, &members, date)
    }

    #[test]
    fn an_old_review_that_was_changed_is_listed_and_a_removal_named() {
        let dataset = recorded();
        let oldest = &dataset.reviews[dataset.reviews.len() - 1].id;
        let found = changed(2, json!({}));
        assert_eq!(found["matched"], 2);
        assert_eq!(found["returned"], 1);
        assert_eq!(found["reviews"][0]["id"], *oldest);
        let gone = json!([{"id": "gone", "at": "2030-01-03T00:00:00Z"}]);
        assert_eq!(found["removed"], gone);
        assert_eq!(found["next_cursor"], Value::Null);
        let later = changed(3, json!({}));
        assert_eq!(later["reviews"], json!([]));
        assert_eq!(later["removed"], gone);
    }

    #[test]
    fn data_without_a_record_are_not_taken_for_changed_reviews() {
        assert_eq!(changed(2, json!({}))["hint"], Value::Null);
        let json = list_of(sample(), 1, json!({})).expect("valid arguments");
        let found: Value = serde_json::from_slice(json.json()).expect("JSON");
        let hint = found["hint"].as_str().expect("a hint");
        assert!(hint.starts_with("there is no record"), "{hint}");
    }

    #[test]
    fn a_cursor_that_is_not_a_string_is_refused_instead_of_beginning_again() {
        for cursor in [json!(5), json!(true), json!(["1.log.a"])] {
            let issues = list(2, json!({"cursor": cursor})).expect_err("it is no string");
            let message = issues.to_string();
            assert!(
                message.starts_with("cursor: must be the next_cursor"),
                "{message}"
            );
        }
        let first = changed(2, json!({}));
        for cursor in [json!(null), json!("")] {
            assert_eq!(changed(2, json!({"cursor": cursor})), first);
        }
    }

    #[test]
    fn the_cursor_of_a_page_leads_to_the_next() {
        let first = changed(2, json!({"limit": 1}));
        assert_eq!(first["removed"], json!([]));
        let next = changed(2, json!({"limit": 1, "cursor": first["next_cursor"]}));
        assert_eq!(next["reviews"], json!([]));
        assert_eq!(next["removed"][0]["id"], "gone");
        assert_eq!(next["next_cursor"], Value::Null);
    }
}
