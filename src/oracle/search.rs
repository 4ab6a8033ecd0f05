//! The twin of `search::run`: folds the text of every review for every query and looks at them one by one.

use std::cmp::Reverse;
use std::num::NonZeroUsize;

use crate::model::{Concept, Rating, Review, Row, Taxonomy, Technician};
use crate::search::Tuning;
use crate::search::cursor::{Cursor, ReviewId};
use crate::search::filter::{Filter, Query, RatingSet, Sort};
use crate::search::fold::fold_into;
use crate::search::index::{Index, IndexOptions};
use crate::search::run::{Scratch, run};
use crate::wire::date::Date;

/// The number of reviews that `query` selects, and those of its page followed by all later ones.
#[must_use]
pub fn search_naively(
    reviews: &[Review],
    taxonomy: &Taxonomy,
    query: &Query<'_>,
) -> (u32, Vec<Row>) {
    let mut rows: Vec<usize> = (0..reviews.len())
        .filter(|row| selects(&reviews[*row], taxonomy, &query.filter))
        .collect();
    let matched = rows.len() as u32;
    let place = |row: usize| (reviews[row].date, reviews[row].id.as_str());
    let stars = |row: usize| reviews[row].rating.stars();
    match query.sort {
        Sort::Newest => rows.sort_by_key(|row| Reverse(place(*row))),
        Sort::Oldest => rows.sort_by_key(|row| place(*row)),
        Sort::Highest => rows.sort_by_key(|row| (Reverse(stars(*row)), Reverse(place(*row)))),
        Sort::Lowest => rows.sort_by_key(|row| (stars(*row), Reverse(place(*row)))),
    }
    if let Some(cursor) = &query.cursor {
        let last = (cursor.date, cursor.id.as_str());
        let last_stars = cursor.rating.stars();
        rows.retain(|row| match query.sort {
            Sort::Newest => place(*row) < last,
            Sort::Oldest => place(*row) > last,
            Sort::Highest if stars(*row) == last_stars => place(*row) < last,
            Sort::Highest => stars(*row) < last_stars,
            Sort::Lowest if stars(*row) == last_stars => place(*row) < last,
            Sort::Lowest => stars(*row) > last_stars,
        });
    }
    (
        matched,
        rows.into_iter().map(|row| Row(row as u32)).collect(),
    )
}

fn selects(review: &Review, taxonomy: &Taxonomy, filter: &Filter<'_>) -> bool {
    let same = |name: &str, folded: &str| fold(name) == folded;
    let technician = |folded: &str| {
        let mentioned = &review.mentioned_technicians;
        let mut known = taxonomy
            .technicians
            .iter()
            .filter(|known| mentioned.contains(&known.name));
        mentioned.iter().any(|name| same(name, folded))
            || known.any(|known| known.aliases.iter().any(|alias| same(alias, folded)))
    };
    let service = |folded: &str| {
        let mentioned = &review.mentioned_services;
        let mut known = taxonomy
            .services
            .iter()
            .filter(|known| mentioned.contains(&known.id));
        mentioned.iter().any(|id| same(id, folded)) || known.any(|known| same(&known.label, folded))
    };
    filter.ratings.contains(review.rating)
        && filter.since.is_none_or(|since| review.date >= since)
        && filter.until.is_none_or(|until| review.date <= until)
        && filter
            .text
            .is_none_or(|needle| fold(&review.text).contains(needle))
        && filter.technician.is_none_or(technician)
        && filter.service.is_none_or(service)
}

fn fold(text: &str) -> String {
    let mut out = String::new();
    fold_into(text, &mut out);
    out
}

/// Checks that `index` and the twin give the same answer to `query`, and that the next page goes on where this one ends.
///
/// # Panics
/// If they differ.
pub fn check_answer(
    reviews: &[Review],
    taxonomy: &Taxonomy,
    index: &Index,
    query: &Query<'_>,
    scratch: &mut Scratch,
) {
    let (matched, rows) = search_naively(reviews, taxonomy, query);
    let page = run(index, query, scratch);
    let returned = rows.len().min(usize::from(query.limit));
    assert_eq!(page.matched, matched, "matched of {query:?}");
    assert_eq!(*page.rows, rows[..returned], "rows of {query:?}");
    let next = rows[..returned]
        .last()
        .filter(|_| rows.len() > returned)
        .map(|row| {
            let review = &reviews[row.0 as usize];
            let id = ReviewId::new(&review.id).expect("the reviews of a check have ids");
            Cursor {
                sort: query.sort,
                rating: review.rating,
                date: review.date,
                id,
            }
        });
    assert_eq!(page.next, next, "the cursor after {query:?}");
}

/// Checks ten searches over a small dataset, both made of `data`, with trees of several tunings and budgets.
///
/// # Panics
/// If an index and its twin differ.
pub fn check_search(data: &[u8]) {
    let mut source = Source { data };
    let tuning = source.tuning();
    let budget = u64::from(source.next()) * 64;
    let taxonomy = taxonomy();
    let reviews = source.reviews(&taxonomy);
    let options = |memory_bytes| IndexOptions {
        memory_bytes,
        threads: NonZeroUsize::MIN,
    };
    let indexes = [
        Index::build_tuned(&reviews, &taxonomy, tuning, &options(u64::MAX)),
        Index::build(&reviews, &taxonomy, &options(u64::MAX)),
        Index::build(&reviews, &taxonomy, &options(budget)),
    ];
    let mut scratch = Scratch::default();
    for _ in 0..10 {
        let needle = source.needle(&reviews);
        let names = [source.name(), source.name()];
        let mut query = source.query(&needle, &names, &reviews);
        for index in &indexes {
            check_answer(&reviews, &taxonomy, index, &query, &mut scratch);
        }
        query.filter = Filter {
            text: query.filter.text,
            ..Filter::ALL
        };
        check_answer(&reviews, &taxonomy, &indexes[0], &query, &mut scratch);
    }
}

/// A technician with an alias that two share, and services whose label is another's id.
pub(super) fn taxonomy() -> Taxonomy {
    let technician = |name: &str, aliases: &[&str]| Technician {
        name: name.to_owned(),
        aliases: aliases.iter().map(|alias| (*alias).to_owned()).collect(),
    };
    let service = |id: &str, label: &str| Concept {
        id: id.to_owned(),
        label: label.to_owned(),
        phrases: Vec::new(),
    };
    Taxonomy {
        technicians: vec![
            technician("Ana Óses", &["ANA", "Ms Oses"]),
            technician("Bo", &["ana", "B."]),
            technician("Nobody", &[]),
        ],
        services: vec![
            service("wills", "Wills"),
            service("tax", "WILLS"),
            service("none", ""),
        ],
        ..Taxonomy::default()
    }
}

/// Pieces of texts that meet again and again: cases that fold, marks that combine, and what must stay whole.
const PIECES: [&str; 32] = [
    "a",
    "b",
    "ab",
    "aa",
    "e",
    "E\u{301}",
    "é",
    "\u{301}",
    "ß",
    "ẞ",
    "ss",
    "İ",
    "ı",
    "i",
    "I",
    "Σ",
    "ς",
    "σ",
    "K",
    "한",
    "\u{1112}\u{1161}\u{11ab}",
    "👩\u{200d}👩",
    "👩",
    "🏽",
    "日本",
    "本",
    "ǆ",
    "Ǆ",
    "\n",
    " ",
    "",
    "aaaaaaaa",
];

/// Bytes read one after another; past their end there are zeros.
pub(super) struct Source<'d> {
    pub(super) data: &'d [u8],
}

impl Source<'_> {
    pub(super) fn next(&mut self) -> u8 {
        let Some((first, rest)) = self.data.split_first() else {
            return 0;
        };
        self.data = rest;
        *first
    }

    pub(super) fn tuning(&mut self) -> Tuning {
        let first = u32::from(self.next());
        Tuning {
            leaf_rows_max: 1 + first % 8,
            bitmap_rows_min: 1 + u32::from(self.next() % 24),
            union_steps_max: u32::from(self.next() % 32),
            unit_places_max: if self.next() < 64 { 16 } else { 1 << 20 },
        }
    }

    fn text(&mut self, pieces_max: u8) -> String {
        let count = self.next() % pieces_max;
        (0..count)
            .map(|_| PIECES[usize::from(self.next()) % PIECES.len()])
            .collect()
    }

    pub(super) fn reviews(&mut self, taxonomy: &Taxonomy) -> Vec<Review> {
        let count = self.next() % 48;
        let mut reviews: Vec<Review> = (0..count)
            .map(|number| self.review(number, taxonomy))
            .collect();
        reviews.sort_by(|left, right| (right.date, &right.id).cmp(&(left.date, &left.id)));
        reviews
    }

    fn review(&mut self, number: u8, taxonomy: &Taxonomy) -> Review {
        let bits = self.next();
        let technicians = taxonomy.technicians.iter().take(2).enumerate();
        let services = taxonomy.services.iter().take(2).enumerate();
        Review {
            id: format!("{:x}-{number}", self.next()),
            author: String::new(),
            author_avatar_url: None,
            rating: self.rating(),
            date: self.date(),
            text: if bits & 1 == 0 {
                self.text(20)
            } else {
                self.text(5)
            },
            source: String::new(),
            source_url: None,
            owner_reply: None,
            verified: true,
            mentioned_technicians: technicians
                .filter(|(place, _)| bits >> (place + 1) & 1 == 1)
                .map(|(_, technician)| technician.name.clone())
                .chain((bits >> 6 == 0).then(|| "not in the taxonomy".to_owned()))
                .collect(),
            mentioned_services: services
                .filter(|(place, _)| bits >> (place + 3) & 1 == 1)
                .map(|(_, service)| service.id.clone())
                .collect(),
            verification: None,
            language: None,
            media: Vec::new(),
            translation: None,
        }
    }

    fn rating(&mut self) -> Rating {
        Rating::new(1 + self.next() % 5).unwrap_or(Rating::MAX)
    }

    fn date(&mut self) -> Date {
        Date::new(2024, 2, 20 + self.next() % 10).expect("20 to 29 February of a leap year")
    }

    /// A part of a text, or pieces of our own; folded.
    pub(super) fn needle(&mut self, reviews: &[Review]) -> String {
        let choice = usize::from(self.next());
        let Some(review) = reviews.get(choice % (reviews.len() + 1)) else {
            return fold(&self.text(6));
        };
        let folded: Vec<char> = fold(&review.text).chars().collect();
        let start = usize::from(self.next()) % (folded.len() + 1);
        let end = start + usize::from(self.next()) % (folded.len() - start + 1);
        let needle = folded[start..end].iter().collect::<String>();
        if choice < 200 {
            needle
        } else {
            needle + &fold(&self.text(3))
        }
    }

    pub(super) fn name(&mut self) -> String {
        const NAMES: [&str; 8] = [
            "ana óses",
            "ana",
            "bo",
            "b.",
            "wills",
            "tax",
            "nobody",
            "not in the taxonomy",
        ];
        NAMES[usize::from(self.next()) % NAMES.len()].to_owned()
    }

    pub(super) fn query<'a>(
        &mut self,
        needle: &'a str,
        names: &'a [String; 2],
        reviews: &[Review],
    ) -> Query<'a> {
        let bits = self.next();
        let ratings = match self.next() % 8 {
            0 | 1 => RatingSet::only(self.rating()),
            2 | 3 => RatingSet::at_least(self.rating()),
            4 => RatingSet::only(self.rating()).and(RatingSet::at_least(self.rating())),
            _ => RatingSet::ALL,
        };
        let sort = Sort::ALL[usize::from(self.next() % 4)];
        let cursor = (bits & 1 == 1).then(|| {
            let known = reviews.get(usize::from(self.next()));
            let id = known.map_or("5-gone", |review| review.id.as_str());
            let id = ReviewId::new(id).expect("an id of a review");
            Cursor {
                sort,
                rating: self.rating(),
                date: self.date(),
                id,
            }
        });
        Query {
            filter: Filter {
                ratings,
                since: (bits & 6 == 6).then(|| self.date()),
                until: (bits & 24 == 24).then(|| self.date()),
                text: Some(needle).filter(|needle| !needle.is_empty()),
                technician: (bits & 96 == 96).then_some(&*names[0]),
                service: (bits & 160 == 160).then_some(&*names[1]),
            },
            sort,
            limit: 1 + self.next() % 8,
            cursor,
            ignored: &[],
        }
    }
}
