//! Reviews that figures do not count: those that fit the words of an aspect, a person or a service best, without being
//! counted for it. With few mentions they tell more than the figures.

use serde_json::{Value, json};

use crate::mcp::catalog::Catalog;
use crate::mcp::request_work::RequestWork;
use crate::search::filter::{Filter, Query, Sort, Words};
use crate::search::rank::{self, can_rank};
use crate::search::run::Scratch;
use crate::wire::text::truncate;

/// With fewer mentions, figures come with reviews beyond them.
pub(super) const MENTIONS_FEW: u64 = 5;

/// Most reviews that are listed.
const BEYOND_MAX: usize = 5;
/// Most reviews that are looked at.
const BEYOND_SEARCHED_MAX: u8 = 30;

/// Longest part of a text that is shown.
const TEXT_BYTES_MAX: usize = 600;

/// Returns the reviews that fit `words` best, without those for whose id `is_counted` returns true.
pub(super) fn beyond(
    catalog: &Catalog,
    words: &str,
    is_counted: impl Fn(&str) -> bool,
    work: &mut RequestWork,
) -> Vec<Value> {
    let filter = Filter {
        words: Words::parse(words).filter(can_rank),
        ..Filter::default()
    };
    if filter.words.is_none() {
        return Vec::new();
    }
    let query = Query::new(filter, Sort::Relevance, BEYOND_SEARCHED_MAX);
    let mut scratch = Scratch::default();
    let page = rank::search(&catalog.snapshot.index, &query, &mut scratch);
    work.total.spend(scratch.spent());
    let mut reviews = Vec::new();
    for row in page.rows {
        let id = catalog.snapshot.index.id(row);
        if is_counted(id) {
            continue;
        }
        let review = catalog.snapshot.stored_review(row);
        reviews.push(json!({
            "id": id,
            "author": review.author.decode(),
            "rating": review.rating,
            "date": review.date,
            "text": truncate(&review.text.decode(), TEXT_BYTES_MAX),
            "url": catalog.review_url(id),
        }));
        if reviews.len() == BEYOND_MAX {
            break;
        }
    }
    reviews
}
