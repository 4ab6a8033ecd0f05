//! The arrays that a search reads, one entry for each review, newest first.

use crate::model::insights::Insights;
use crate::model::{Rating, Review, Row, Taxonomy, id_order};
use crate::search::arena::Arena;
use crate::search::budget::grow_within;
use crate::search::filter::RatingSet;
use crate::search::names::{Aspects, NameMatch, Names};
use crate::search::query::Parameter;
use crate::search::rows::{insert, words_for};
use crate::search::tree::{Tree, Tuning, grow_tree};
use crate::wire::date::Date;
use std::num::NonZeroUsize;
use std::sync::OnceLock;

/// What building an index may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexOptions {
    /// The most bytes that the text index may keep, the folded texts not counted; the index falls back by steps, down to a scan, rather than pass it. Answers never depend on it.
    pub memory_bytes: u64,
    /// How many threads build.
    pub threads: NonZeroUsize,
}

/// Everything that a search reads; immutable.
#[derive(Clone, Debug)]
pub struct Index {
    pub(in crate::search) ids: Ids,
    pub(in crate::search) dates: Vec<Date>,
    pub(in crate::search) ratings: Ratings,
    pub(in crate::search) technicians: Names,
    pub(in crate::search) services: Names,
    pub(in crate::search) languages: Names,
    pub(in crate::search) sources: Names,
    pub(in crate::search) replies: Names,
    /// Written once, when the insights are derived.
    pub(in crate::search) aspects: OnceLock<Aspects>,
    pub(in crate::search) arena: Arena,
    /// `None` where the budget is too small for any tree, and texts are scanned.
    pub(in crate::search) tree: Option<Tree>,
}

/// What an index takes, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Footprint {
    /// The folded texts.
    pub texts: u64,
    /// The gram tree over them; 0 where texts are scanned.
    pub tree: u64,
    /// Ids, dates, ratings, names and the other filters.
    pub rows: u64,
}

impl Index {
    /// Builds the index over `reviews`, which are published and newest first: date descending, then id descending.
    #[must_use]
    pub fn build(reviews: &[Review], taxonomy: &Taxonomy, options: &IndexOptions) -> Index {
        Index::build_unless(reviews, taxonomy, options, &|| false).expect("nothing cancels it")
    }

    /// Builds the index like [`Index::build`]; `None` once `cancelled`, which then has to stay true.
    #[must_use]
    pub fn build_unless(
        reviews: &[Review],
        taxonomy: &Taxonomy,
        options: &IndexOptions,
        cancelled: &(dyn Fn() -> bool + Sync),
    ) -> Option<Index> {
        let arena = Arena::build(reviews, options.threads);
        let tree = grow_within(&arena, options.memory_bytes, options.threads, cancelled);
        (!cancelled()).then(|| Index::of(reviews, taxonomy, arena, tree))
    }

    /// Builds the index with a tree tuned just so, for tests and measurements.
    #[doc(hidden)]
    #[must_use]
    pub fn build_tuned(
        reviews: &[Review],
        taxonomy: &Taxonomy,
        tuning: Tuning,
        options: &IndexOptions,
    ) -> Index {
        let arena = Arena::build(reviews, options.threads);
        let tree = grow_tree(
            &arena,
            tuning,
            options.threads,
            options.memory_bytes,
            &|| false,
        );
        Index::of(reviews, taxonomy, arena, tree)
    }

    fn of(reviews: &[Review], taxonomy: &Taxonomy, arena: Arena, tree: Option<Tree>) -> Index {
        Index {
            ids: Ids::new(reviews),
            dates: reviews.iter().map(|review| review.date).collect(),
            ratings: Ratings::new(reviews),
            technicians: Names::of_technicians(reviews, taxonomy),
            services: Names::of_services(reviews, taxonomy),
            languages: Names::of_languages(reviews),
            sources: Names::of_sources(reviews),
            replies: Names::of_replies(reviews),
            aspects: OnceLock::new(),
            arena,
            tree,
        }
    }

    /// Adds who mentions which aspect, once; `taxonomy` has the phrases by which aspects are found too.
    pub fn set_aspects(&self, insights: &Insights, taxonomy: &Taxonomy) {
        let make = || Aspects::of(&insights.aspects, taxonomy, self.len());
        self.aspects.get_or_init(make);
    }

    /// Tells what a name stands for: `parameter` says whether of a technician, a service or an aspect, and `folded` is
    /// the name as [`fold_into`](crate::search::fold::fold_into) writes it. `None` for other parameters, and for
    /// aspects before the insights are there. Unknown names are compared with at most 2,000 others.
    #[must_use]
    pub fn resolve(&self, parameter: Parameter, folded: &str) -> Option<NameMatch<'_>> {
        let names = match parameter {
            Parameter::MentionsTechnician => &self.technicians,
            Parameter::MentionsService => &self.services,
            Parameter::Aspect => &self.aspects.get()?.all,
            _ => return None,
        };
        Some(names.resolve(folded))
    }

    /// Returns the number of reviews.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.dates.len() as u32
    }

    /// Tells whether there is no review.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.dates.is_empty()
    }

    /// Returns the id of the review at `row`, which is below [`Index::len`].
    #[must_use]
    pub fn id(&self, row: Row) -> &str {
        self.ids.id(row.0)
    }

    /// Returns the date of the review at `row`, which is below [`Index::len`].
    #[must_use]
    pub fn date(&self, row: Row) -> Date {
        self.dates[row.0 as usize]
    }

    /// Returns the rating of the review at `row`, which is below [`Index::len`].
    #[must_use]
    pub fn rating(&self, row: Row) -> Rating {
        self.ratings.of_row[row.0 as usize]
    }

    /// Returns the row of the review whose id is `id`, by binary search.
    #[must_use]
    pub fn row_of_id(&self, id: &str) -> Option<Row> {
        let at = self
            .ids
            .sorted
            .binary_search_by(|row| self.ids.id(*row).cmp(id))
            .ok()?;
        Some(Row(self.ids.sorted[at]))
    }

    /// Returns how many reviews are of `date` or later: they are the rows below that number.
    #[must_use]
    pub fn rows_since(&self, date: Date) -> u32 {
        self.dates.partition_point(|known| *known >= date) as u32
    }

    /// Returns how many reviews are later than `date`.
    pub(in crate::search) fn rows_after(&self, date: Date) -> u32 {
        self.dates.partition_point(|known| *known > date) as u32
    }

    /// Returns how many reviews are newer than the place (`date`, `id`), which need not be a review's.
    pub(in crate::search) fn rows_before(&self, date: Date, id: &str) -> u32 {
        let through = self.rows_through(date, id);
        let is_last = through > 0
            && self.dates[through as usize - 1] == date
            && self.ids.id(through - 1) == id;
        through - u32::from(is_last)
    }

    /// Returns how many reviews are not older than the place (`date`, `id`), which need not be a review's.
    pub(in crate::search) fn rows_through(&self, date: Date, id: &str) -> u32 {
        let (start, end) = (self.rows_after(date), self.rows_since(date));
        let (mut low, mut high) = (start, end);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.ids.id(middle) >= id {
                low = middle + 1
            } else {
                high = middle
            }
        }
        low
    }

    /// Returns what the index takes.
    #[must_use]
    pub fn footprint(&self) -> Footprint {
        let ids =
            self.ids.text.capacity() + (self.ids.ends.capacity() + self.ids.sorted.capacity()) * 4;
        let ratings: usize = self
            .ratings
            .bitmaps
            .iter()
            .map(|bitmap| bitmap.words.len() * 8)
            .sum();
        let columns = self.dates.len() * size_of::<Date>() + self.ratings.of_row.len();
        Footprint {
            texts: self.arena.memory(),
            tree: self.tree.as_ref().map_or(0, Tree::memory),
            rows: (ids + ratings + columns) as u64
                + [
                    &self.technicians,
                    &self.services,
                    &self.languages,
                    &self.sources,
                    &self.replies,
                ]
                .map(Names::memory)
                .iter()
                .sum::<u64>()
                + self.aspects.get().map_or(0, Aspects::memory),
        }
    }
}

/// The ids of all rows.
#[derive(Clone, Debug)]
pub(in crate::search) struct Ids {
    text: String,
    /// Where each row's id ends in `text`; at most 64 bytes of each of fewer than 2^26 reviews fit 32 bits.
    ends: Vec<u32>,
    /// Rows in the order of their ids.
    sorted: Vec<u32>,
}

impl Ids {
    fn new(reviews: &[Review]) -> Ids {
        let mut text = String::with_capacity(reviews.iter().map(|review| review.id.len()).sum());
        let mut ends = Vec::with_capacity(reviews.len());
        for review in reviews {
            text.push_str(&review.id);
            ends.push(text.len() as u32);
        }
        let order = |review: &Review| id_order(&review.id);
        let mut places: Vec<(u128, u32)> = reviews.iter().map(order).zip(0..).collect();
        places.sort_unstable();
        for alike in places.chunk_by_mut(|left, right| left.0 == right.0) {
            alike.sort_unstable_by_key(|(_, row)| &reviews[*row as usize].id);
        }
        let sorted = places.into_iter().map(|(_, row)| row).collect();
        Ids { text, ends, sorted }
    }

    fn id(&self, row: u32) -> &str {
        let start = if row == 0 {
            0
        } else {
            self.ends[row as usize - 1]
        };
        &self.text[start as usize..self.ends[row as usize] as usize]
    }
}

/// The ratings of all rows, and bitmaps of the sets that filters ask for.
#[derive(Clone, Debug)]
pub(in crate::search) struct Ratings {
    pub(in crate::search) of_row: Vec<Rating>,
    bitmaps: Vec<RatingBitmap>,
}

/// The rows of one set of ratings.
#[derive(Clone, Debug)]
struct RatingBitmap {
    set: RatingSet,
    words: Box<[u64]>,
    count: u32,
}

impl Ratings {
    fn new(reviews: &[Review]) -> Ratings {
        // Once out of the reviews, which are hundreds of bytes apart, and then bitmap by bitmap.
        let of_row: Vec<Rating> = reviews.iter().map(|review| review.rating).collect();
        let stars = (1..=5).filter_map(Rating::new);
        let sets = stars
            .clone()
            .map(RatingSet::only)
            .chain(stars.clone().map(RatingSet::at_least))
            .chain(stars.map(RatingSet::at_most));
        let mut bitmaps: Vec<RatingBitmap> = Vec::new();
        for set in sets.filter(|set| *set != RatingSet::ALL) {
            if bitmaps.iter().any(|known| known.set == set) {
                continue;
            }
            let mut words = vec![0; words_for(reviews.len() as u32)];
            let rows = (0..)
                .zip(&of_row)
                .filter(|(_, rating)| set.contains(**rating));
            let count = rows.map(|(row, _)| insert(&mut words, row)).count() as u32;
            bitmaps.push(RatingBitmap {
                set,
                words: words.into(),
                count,
            });
        }
        Ratings { of_row, bitmaps }
    }

    /// Returns the rows with a rating of `set` and their number, where a bitmap is kept: for one rating, a least and a greatest one.
    pub(in crate::search) fn bitmap(&self, set: RatingSet) -> Option<(&[u64], u32)> {
        let known = self.bitmaps.iter().find(|known| known.set == set)?;
        Some((&known.words, known.count))
    }
}
