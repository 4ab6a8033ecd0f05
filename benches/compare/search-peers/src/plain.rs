//! The plain scan: folded texts end to end, memmem over all of them, and columns tested row by row.

use std::collections::BTreeMap;

use memchr::memmem::Finder;
use reviewd::model::{Rating, Review, Taxonomy};
use reviewd::search::filter::{Filter, Query, RatingSet};
use reviewd::wire::date::Date;

use crate::support::{Data, fold};
use crate::{Answer, PAGE};

/// No text holds it, so that nothing is found across two of them.
const END: u8 = 0xff;

/// Columns of all reviews, newest first.
pub(crate) struct Plain {
    texts: Vec<u8>,
    starts: Vec<usize>,
    ratings: Vec<Rating>,
    dates: Vec<Date>,
    /// The numbers of the names that select the review.
    names: Vec<Box<[u32]>>,
    numbers: BTreeMap<String, u32>,
}

impl Plain {
    pub(crate) fn new(data: &Data) -> Plain {
        let mut plain = Plain {
            texts: Vec::new(),
            starts: vec![0],
            ratings: Vec::new(),
            dates: Vec::new(),
            names: Vec::new(),
            numbers: BTreeMap::new(),
        };
        for review in &data.reviews {
            plain.texts.extend_from_slice(fold(&review.text).as_bytes());
            plain.texts.push(END);
            plain.starts.push(plain.texts.len());
            plain.ratings.push(review.rating);
            plain.dates.push(review.date);
            let names = names_of(review, &data.taxonomy).into_iter().map(|name| {
                let next = plain.numbers.len() as u32;
                *plain.numbers.entry(name).or_insert(next)
            });
            plain.names.push(names.collect());
        }
        plain
    }

    pub(crate) fn bytes(&self) -> u64 {
        (self.texts.len() + self.starts.len() * 8 + self.dates.len() * 21) as u64
    }

    pub(crate) fn answer(&self, query: &Query<'_>) -> Answer {
        let filter = &query.filter;
        let mut answer = Answer {
            matched: 0,
            newest: Vec::with_capacity(PAGE),
        };
        let range = range(&self.dates, filter);
        let mut wanted = Vec::new();
        for name in tokens(filter) {
            match self.numbers.get(&name) {
                Some(number) => wanted.push(*number),
                None => return answer,
            }
        }
        let mut add = |row: usize| {
            let is_right = wanted.iter().all(|name| self.names[row].contains(name))
                && filter.ratings.contains(self.ratings[row]);
            if is_right {
                answer.matched += 1;
                if answer.newest.len() < PAGE {
                    answer.newest.push(row as u32);
                }
            }
        };
        let Some(needle) = filter.text else {
            range.for_each(add);
            return answer;
        };
        let finder = Finder::new(needle.as_bytes());
        let (mut row, stop) = (range.start, self.starts[range.end]);
        let mut at = self.starts[row];
        while let Some(found) = finder.find(&self.texts[at.min(stop)..stop]) {
            while self.starts[row + 1] <= at + found {
                row += 1;
            }
            add(row);
            row += 1;
            at = self.starts[row];
        }
        answer
    }
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

/// Returns everything that stands for whom and what `review` mentions: `t` or `s`, and a folded name.
pub(crate) fn names_of(review: &Review, taxonomy: &Taxonomy) -> Vec<String> {
    let mut names = Vec::new();
    for technician in &review.mentioned_technicians {
        names.push(format!("t{}", fold(technician)));
        let known = taxonomy
            .technicians
            .iter()
            .filter(|known| known.name == *technician);
        names.extend(
            known
                .flat_map(|known| &known.aliases)
                .map(|alias| format!("t{}", fold(alias))),
        );
    }
    for service in &review.mentioned_services {
        names.push(format!("s{}", fold(service)));
        let known = taxonomy
            .services
            .iter()
            .filter(|known| known.id == *service);
        names.extend(known.map(|known| format!("s{}", fold(&known.label))));
    }
    names.sort_unstable();
    names.dedup();
    names
}

/// Returns what a review must have among its names.
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
    Some((first, stars.last().unwrap_or(first)))
}
