//! What a search adds to its response on request: counts by star, and where the words are in the texts.

use serde_json::{Map, Value, json};

use super::filter::{Filter, Query, RatingSet, Sort, Term, Words};
use super::fold::find_folded;
use super::index::Index;
use super::run::{Scratch, run};
use crate::model::Rating;

/// Matches of one word in one text that are told; later ones are left out.
const MATCHES_MAX: usize = 32;

/// Returns how many reviews that `filter` selects have each number of stars. Costs five searches.
pub fn distribution(index: &Index, filter: &Filter<'_>, scratch: &mut Scratch) -> Value {
    let mut counts = Map::new();
    for rating in (1..=5).filter_map(Rating::new) {
        let ratings = filter.ratings.and(RatingSet::only(rating));
        let rated = Filter { ratings, ..*filter };
        let page = run(index, &Query::new(rated, Sort::Newest, 1), scratch);
        counts.insert(rating.stars().to_string(), page.matched.into());
    }
    Value::Object(counts)
}

/// Returns where the words and the text of `filter` are in the first `bytes_max` bytes of `text`: ranges of code points,
/// ascending, without overlaps; at most 32 of each word.
pub fn matches(text: &str, filter: &Filter<'_>, bytes_max: usize) -> Value {
    let words = filter.words.iter().flat_map(Words::terms);
    let wanted = words.chain(filter.text.map(Term::anywhere));
    let terms: Vec<Term<'_>> = wanted.filter(|term| !term.is_excluded).collect();
    let mut ranges = Vec::new();
    // Code points before `counted` bytes.
    let mut before = 0;
    let mut counted = 0;
    for range in find_folded(text, &terms, bytes_max, MATCHES_MAX) {
        before += text[counted..range.start].chars().count();
        let start = before;
        before += text[range.clone()].chars().count();
        counted = range.end;
        ranges.push(json!([start, before]));
    }
    Value::Array(ranges)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_are_ranges_of_code_points() {
        let filter = Filter {
            words: Words::parse("cafe -rude grosse"),
            ..Filter::default()
        };
        let found = matches("Ça: cafés, große cafe\u{301}! rude", &filter, usize::MAX);
        assert_eq!(found, json!([[4, 8], [11, 16], [17, 22]]));
        assert_eq!(matches("nothing", &filter, usize::MAX), json!([]));
    }
}
