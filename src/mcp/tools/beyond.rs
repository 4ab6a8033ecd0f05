//! Reviews that fit the words of an aspect, a person or a service, but are not counted for it. With few mentions they tell
//! more than the figures.

use serde_json::{Value, json};

use crate::mcp::catalog::Catalog;
use crate::mcp::request_work::RequestWork;
use crate::model::Row;
use crate::search::filter::{Filter, Query, Sort, Words};
use crate::search::rank::{self, can_rank};
use crate::search::run::Scratch;
use crate::wire::text::truncate;

/// Number of mentions from which figures stand alone; with fewer, reviews beyond them are listed.
pub(super) const MENTIONS_FEW: u64 = 5;

/// Largest number of reviews that are listed.
const LISTED_MAX: usize = 5;

/// Largest number of reviews among which they are found, counted ones included.
const SEARCHED_MAX: u8 = 30;

/// Longest part of a text that is shown, in bytes.
const TEXT_BYTES_MAX: usize = 600;

/// Returns the reviews that fit `words` best, without those that are `counted`, whose rows are ascending.
pub(super) fn beyond(
    catalog: &Catalog,
    words: &str,
    counted: &[Row],
    work: &mut RequestWork,
) -> Vec<Value> {
    let filter = Filter {
        words: Words::parse(words).filter(can_rank),
        ..Filter::default()
    };
    if filter.words.is_none() {
        return Vec::new();
    }
    let query = Query::new(filter, Sort::Relevance, SEARCHED_MAX);
    let mut scratch = Scratch::default();
    let page = rank::search(&catalog.snapshot.index, &query, &mut scratch);
    work.total.spend(scratch.spent());
    let mut reviews = Vec::new();
    for row in page.rows {
        if counted.binary_search(&row).is_ok() {
            continue;
        }
        let id = catalog.snapshot.index.id(row);
        let review = catalog.snapshot.stored_review(row);
        reviews.push(json!({
            "id": id,
            "author": review.author.decode(),
            "rating": review.rating,
            "date": review.date,
            "text": truncate(&review.text.decode(), TEXT_BYTES_MAX),
            "url": catalog.review_url(id),
        }));
        if reviews.len() == LISTED_MAX {
            break;
        }
    }
    reviews
}
