//! The plain scan: searches every folded text with memmem, and tests columns row by row.

use std::collections::BTreeSet;

use memchr::memmem::Finder;
use reviewd::model::{Rating, Review, Taxonomy};
use reviewd::search::filter::{Filter, Query, RatingSet, is_of_word};
use reviewd::wire::date::Date;

use crate::support::{Data, fold};
use crate::{Answer, Engine, PAGE};

/// Columns of all reviews, newest first.
pub(crate) struct Scan {
    texts: Vec<String>,
    ratings: Vec<Rating>,
    dates: Vec<Date>,
    /// All names by which a filter can select the review.
    names: Vec<Vec<String>>,
}

impl Engine for Scan {
    fn new(data: &Data, _is_for_words: bool) -> Scan {
        let reviews = || data.reviews.iter();
        Scan {
            texts: reviews().map(|review| fold(&review.text)).collect(),
            ratings: reviews().map(|review| review.rating).collect(),
            dates: reviews().map(|review| review.date).collect(),
            names: reviews()
                .map(|review| names_of(review, &data.taxonomy))
                .collect(),
        }
    }

    /// Bytes of the texts, and of a row without its names.
    fn bytes(&self) -> u64 {
        let texts: usize = self.texts.iter().map(String::len).sum();
        (texts + self.texts.len() * 29) as u64
    }

    fn answer(&mut self, query: &Query<'_>) -> Answer {
        let filter = &query.filter;
        let names = tokens(filter);
        let finder = filter.text.map(|needle| Finder::new(needle.as_bytes()));
        let words = filter.words.iter().flat_map(|words| words.terms());
        let words: Vec<Finder<'_>> = words
            .map(|term| Finder::new(term.text.as_bytes()))
            .collect();
        let begins = |text: &str, at: usize| !text[..at].ends_with(is_of_word);
        let mut answer = Answer {
            matched: 0,
            newest: Vec::with_capacity(PAGE),
        };
        for row in range(&self.dates, filter) {
            let text = &self.texts[row];
            let has_word = |word: &Finder<'_>| {
                let mut places = word.find_iter(text.as_bytes());
                places.any(|at| begins(text, at))
            };
            let is_right = filter.ratings.contains(self.ratings[row])
                && names.iter().all(|name| self.names[row].contains(name))
                && finder
                    .as_ref()
                    .is_none_or(|finder| finder.find(text.as_bytes()).is_some())
                && words.iter().all(has_word);
            if is_right {
                answer.matched += 1;
                if answer.newest.len() < PAGE {
                    answer.newest.push(row as u32);
                }
            }
        }
        answer
    }
}

/// Returns the words of a text as reviewd sees them: runs of letters and digits.
pub(crate) fn runs(folded: &str) -> impl Iterator<Item = &str> {
    let runs = folded.split(|character| !is_of_word(character));
    runs.filter(|run| !run.is_empty())
}

/// Returns the rows of the filter's days.
pub(crate) fn range(dates: &[Date], filter: &Filter<'_>) -> std::ops::Range<usize> {
    let start = filter
        .until
        .map_or(0, |until| dates.partition_point(|date| *date > until));
    let end = filter.since.map_or(dates.len(), |since| {
        dates.partition_point(|date| *date >= since)
    });
    start..end.max(start)
}

/// Returns all folded names of the technicians and services that `review` mentions. The peers keep both kinds in one column,
/// so `t` before a technician and `s` before a service distinguish two that have the same name.
pub(crate) fn names_of(review: &Review, taxonomy: &Taxonomy) -> Vec<String> {
    let technicians = review.mentioned_technicians.iter().flat_map(|name| {
        let known = taxonomy.technicians.iter();
        let known = known.filter(move |known| known.name == *name);
        known.flat_map(|known| &known.aliases).chain([name])
    });
    let services = review.mentioned_services.iter().flat_map(|id| {
        let known = taxonomy
            .services
            .iter()
            .filter(move |known| known.id == *id);
        known.map(|known| &known.label).chain([id])
    });
    let technicians = technicians.map(|name| format!("t{}", fold(name)));
    let services = services.map(|name| format!("s{}", fold(name)));
    let names: BTreeSet<String> = technicians.chain(services).collect();
    names.into_iter().collect()
}

/// Returns the names that a filter requires of a review.
pub(crate) fn tokens(filter: &Filter<'_>) -> Vec<String> {
    let technician = filter.technician.map(|name| format!("t{name}"));
    let service = filter.service.map(|name| format!("s{name}"));
    technician.into_iter().chain(service).collect()
}

/// Returns the lowest and the highest rating of a set, which has no gaps in these searches.
pub(crate) fn stars(set: RatingSet) -> Option<(u8, u8)> {
    let mut stars = (1..=5)
        .filter_map(Rating::new)
        .filter(|rating| set.contains(*rating))
        .map(Rating::stars);
    let first = stars.next()?;
    Some((first, stars.next_back().unwrap_or(first)))
}
