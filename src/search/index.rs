//! The arrays that a search reads, one entry for each review, newest first.

use std::ops::Range;
use std::sync::Arc;

use crate::dataset::names::{NamesBuilder, SpellingKind};
use crate::model::insights::Insights;
use crate::model::{BusinessLocation, Rating, Review, Row, Taxonomy, id_order};
use crate::search::arena::Arena;
use crate::search::filter::{RatingSet, VerificationSet};
use crate::search::names::{AspectRows, NameRows, ResolvedName, WrongName};
use crate::search::query::Parameter;
use crate::search::rows::{RowSet, insert, words_for};
pub use crate::search::tree::IndexOptions;
use crate::search::tree::{Tree, build_within};
use crate::search::word_index::WordIndex;
use crate::search::work::Work;
use crate::wire::date::Date;

/// In the place of the days to a reply, if there is none.
const NO_REPLY: u16 = u16::MAX;

/// The search index; immutable. A clone shares the arrays.
#[derive(Clone, Debug)]
pub struct Index {
    pub(super) ids: Arc<Ids>,
    pub(super) dates: Arc<[Date]>,
    pub(super) ratings: Arc<Ratings>,
    pub(super) technicians: Arc<NameRows>,
    pub(super) services: Arc<NameRows>,
    pub(super) languages: Arc<NameRows>,
    pub(super) sources: Arc<NameRows>,
    pub(super) locations: Arc<NameRows>,
    pub(super) verifications: Arc<VerificationRows>,
    /// The reviews without a reply, and those with one.
    pub(super) replies: Arc<[RowSet; 2]>,
    /// Days from each review to its reply; [`NO_REPLY`] without one.
    reply_days: Arc<[u16]>,
    /// Reviews without photos, and with photos.
    pub(super) photos: Arc<[RowSet; 2]>,
    pub(super) arena: Arc<Arena>,
    /// The words by their stems, for ranked searches.
    pub(super) words: Arc<WordIndex>,
    /// `None` if the memory limit is too small for any tree; then texts are scanned.
    pub(super) tree: Option<Arc<Tree>>,
    /// The reviews that mention each aspect; `None` until the insights are derived.
    pub(super) aspects: Option<Arc<AspectRows>>,
}

impl Index {
    /// Builds the index over `reviews`, which are published and newest first: date descending, then id descending.
    pub fn build(reviews: &[Review], taxonomy: &Taxonomy, options: &IndexOptions) -> Index {
        Index::build_unless(reviews, taxonomy, &[], options, &|| false).expect("nothing cancels it")
    }

    /// Builds the index like [`Index::build`]; reviews are also found by the labels of `locations`. `None` if `cancelled`
    /// returns true, which must then stay true.
    pub fn build_unless(
        reviews: &[Review],
        taxonomy: &Taxonomy,
        locations: &[BusinessLocation],
        options: &IndexOptions,
        cancelled: &(dyn Fn() -> bool + Sync),
    ) -> Option<Index> {
        let arena = Arena::build(reviews.iter().map(|review| review.text.as_str()));
        let tree = build_within(&arena, options, cancelled);
        if cancelled() {
            return None;
        }
        let words = WordIndex::build(&arena, reviews);
        let people = NamesBuilder::people(&taxonomy.technicians);
        let services = NamesBuilder::concepts(&taxonomy.services);
        let mut places = NamesBuilder::new(false);
        for location in locations {
            let entry = places.add_entry(&location.id);
            places.add_spelling(entry, SpellingKind::Alias, &location.label);
        }
        let language_names = NamesBuilder::new(false);
        let source_names = NamesBuilder::new(false);
        Some(Index {
            ids: Arc::new(Ids::new(reviews)),
            dates: reviews.iter().map(|review| review.date).collect(),
            ratings: Arc::new(Ratings::new(reviews)),
            technicians: Arc::new(NameRows::of(reviews, people, |review| {
                review.mentioned_technicians.iter().map(String::as_str)
            })),
            services: Arc::new(NameRows::of(reviews, services, |review| {
                review.mentioned_services.iter().map(String::as_str)
            })),
            // By the whole tag, and by its primary language.
            languages: Arc::new(NameRows::of(reviews, language_names, |review| {
                let tag = review.language.as_deref();
                let language = tag.and_then(|tag| tag.split_once('-'));
                tag.into_iter()
                    .chain(language.map(|(language, _)| language))
            })),
            sources: Arc::new(NameRows::of(reviews, source_names, |review| {
                [&*review.source]
            })),
            locations: Arc::new(NameRows::of(reviews, places, |review| {
                review.location.as_deref()
            })),
            verifications: Arc::new(VerificationRows::new(reviews)),
            replies: Arc::new(divided(reviews, |review| review.owner_reply.is_some())),
            photos: Arc::new(divided(reviews, Review::has_photos)),
            reply_days: reviews.iter().map(days_to_reply).collect(),
            arena: Arc::new(arena),
            words: Arc::new(words),
            tree: tree.map(Arc::new),
            aspects: None,
        })
    }

    /// Returns this index with the mentions of aspects; `taxonomy` has phrases that also match aspects.
    pub fn with_aspects(&self, insights: &Insights, taxonomy: &Taxonomy) -> Index {
        let aspects = AspectRows::of(&insights.aspects, taxonomy, self.len());
        Index {
            aspects: Some(Arc::new(aspects)),
            ..self.clone()
        }
    }

    /// Returns what the folded name of a technician, service, aspect, language, source or location means; `None` for other
    /// parameters, and for aspects until the insights are derived.
    ///
    /// # Errors
    /// An unknown or ambiguous name. Unknown ones are compared with at most 2,000 others, as long as `work` is left.
    pub fn resolve(
        &self,
        parameter: Parameter,
        folded: &str,
        work: &mut Work,
    ) -> Option<Result<ResolvedName<'_>, WrongName<'_>>> {
        match parameter {
            Parameter::MentionsTechnician => Some(self.technicians.resolve(folded, "people", work)),
            Parameter::MentionsService => Some(self.services.resolve(folded, "services", work)),
            Parameter::Aspect => Some(self.aspects.as_ref()?.resolve(folded, work)),
            Parameter::Language => Some(self.languages.resolve(folded, "languages", work)),
            Parameter::Source => Some(self.sources.resolve(folded, "sources", work)),
            Parameter::Location => Some(self.locations.resolve(folded, "locations", work)),
            _ => None,
        }
    }

    /// Returns the number of reviews.
    pub fn len(&self) -> u32 {
        self.dates.len() as u32
    }

    /// Tells whether there is no review.
    pub fn is_empty(&self) -> bool {
        self.dates.is_empty()
    }

    /// Returns the id of the review at `row`, which is below [`Index::len`].
    pub fn id(&self, row: Row) -> &str {
        self.ids.id(row.0)
    }

    /// Returns the date of the review at `row`, which is below [`Index::len`].
    pub fn date(&self, row: Row) -> Date {
        self.dates[row.0 as usize]
    }

    /// Returns the rating of the review at `row`, which is below [`Index::len`].
    pub fn rating(&self, row: Row) -> Rating {
        self.ratings.of_row[row.0 as usize]
    }

    /// Returns the days from the review at `row`, which is below [`Index::len`], to the owner's reply, at most 65,534;
    /// `None` without a reply.
    pub fn reply_days(&self, row: Row) -> Option<u16> {
        let days = self.reply_days[row.0 as usize];
        if days == NO_REPLY { None } else { Some(days) }
    }

    /// Returns the row of the review whose id is `id`, by binary search.
    pub fn row_of_id(&self, id: &str) -> Option<Row> {
        let at = self
            .ids
            .sorted
            .binary_search_by(|row| self.ids.id(*row).cmp(id))
            .ok()?;
        Some(Row(self.ids.sorted[at]))
    }

    /// Returns the number of reviews of `date` or later, which are the rows below that number.
    pub fn rows_since(&self, date: Date) -> u32 {
        self.dates.partition_point(|known| *known >= date) as u32
    }

    /// Returns the rows of the reviews from `since` to `until`; all of them without either.
    pub(super) fn rows_between(&self, since: Option<Date>, until: Option<Date>) -> Range<u32> {
        let start = until.map_or(0, |until| self.rows_after(until));
        let end = since.map_or(self.len(), |since| self.rows_since(since));
        start..end
    }

    /// Returns how many reviews are later than `date`.
    fn rows_after(&self, date: Date) -> u32 {
        self.dates.partition_point(|known| *known > date) as u32
    }

    /// Returns how many reviews are newer than the position (`date`, `id`), at which there may be no review; with
    /// `through`, a review at the position counts too.
    pub(super) fn rows_before(&self, date: Date, id: &str, through: bool) -> u32 {
        let mut low = self.rows_after(date);
        let mut high = self.rows_since(date);
        while low < high {
            let middle = low + (high - low) / 2;
            let other = self.ids.id(middle);
            if other > id || (through && other == id) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// Returns the size of the folded texts in bytes.
    pub fn text_bytes(&self) -> u64 {
        (self.arena.bytes.len() + self.arena.starts.len() * 8) as u64
    }

    /// Returns the size of the words by stems in bytes.
    pub fn words_bytes(&self) -> u64 {
        self.words.memory()
    }

    /// Returns the size of the tree over the texts in bytes; 0 if texts are scanned.
    pub fn tree_bytes(&self) -> u64 {
        self.tree.as_ref().map_or(0, |tree| tree.memory())
    }
}

/// Returns the days from a review to its reply, 0 if the reply is older; [`NO_REPLY`] without one.
fn days_to_reply(review: &Review) -> u16 {
    let Some(reply) = &review.owner_reply else {
        return NO_REPLY;
    };
    let days = reply.date.days().saturating_sub(review.date.days());
    u16::try_from(days).unwrap_or(u16::MAX).min(NO_REPLY - 1)
}

/// Returns the rows of the reviews that do not have a property, and of those that have it.
fn divided(reviews: &[Review], has_it: impl Fn(&Review) -> bool) -> [RowSet; 2] {
    let mut rows = [Vec::new(), Vec::new()];
    for (row, review) in (0..).zip(reviews) {
        rows[usize::from(has_it(review))].push(row);
    }
    rows.map(|rows| RowSet::new(rows, reviews.len() as u32))
}

/// The ids of all rows.
#[derive(Clone, Debug)]
pub(super) struct Ids {
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
        let mut sorted: Vec<u32> = (0..reviews.len() as u32).collect();
        sorted.sort_by_cached_key(|row| {
            let id = &reviews[*row as usize].id;
            (id_order(id), id)
        });
        Ids { text, ends, sorted }
    }

    fn id(&self, row: u32) -> &str {
        let row = row as usize;
        let start = row.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start as usize..self.ends[row] as usize]
    }
}

/// The rows of each set of ways to verify reviews.
#[derive(Clone, Debug)]
pub(super) struct VerificationRows(Vec<(VerificationSet, RowSet)>);

impl VerificationRows {
    fn new(reviews: &[Review]) -> VerificationRows {
        let mut rows_of_sets = Vec::new();
        for set in VerificationSet::proper() {
            let mut rows = Vec::new();
            for (row, review) in (0..).zip(reviews) {
                if review.state().is_some_and(|state| set.contains(state)) {
                    rows.push(row);
                }
            }
            rows_of_sets.push((set, RowSet::new(rows, reviews.len() as u32)));
        }
        VerificationRows(rows_of_sets)
    }

    /// Returns the rows of `set`; `None` for all.
    pub(super) fn rows(&self, set: VerificationSet) -> Option<&RowSet> {
        let (_, rows) = self.0.iter().find(|(other, _)| *other == set)?;
        Some(rows)
    }
}

/// The ratings of all rows, and their bitmaps.
#[derive(Clone, Debug)]
pub(super) struct Ratings {
    pub(super) of_row: Vec<Rating>,
    /// The rows of each range of ratings, and their number.
    bitmaps: Vec<(RatingSet, Vec<u64>, u32)>,
}

impl Ratings {
    fn new(reviews: &[Review]) -> Ratings {
        // Copied once, because the reviews are hundreds of bytes apart; each bitmap then reads the copy.
        let of_row: Vec<Rating> = reviews.iter().map(|review| review.rating).collect();
        let mut bitmaps = Vec::new();
        for least in (1..=5).filter_map(Rating::new) {
            for most in (1..=5).filter_map(Rating::new) {
                let set = RatingSet::at_least(least).and(RatingSet::at_most(most));
                if set == RatingSet::EMPTY || set == RatingSet::ALL {
                    continue;
                }
                let mut words = vec![0; words_for(of_row.len() as u32)];
                let mut count = 0;
                for (row, rating) in (0..).zip(&of_row) {
                    if set.contains(*rating) {
                        insert(&mut words, row);
                        count += 1;
                    }
                }
                bitmaps.push((set, words, count));
            }
        }
        Ratings { of_row, bitmaps }
    }

    /// Returns the rows with a rating of `set`, a range that is neither empty nor all, and their number.
    pub(super) fn bitmap(&self, set: RatingSet) -> (&[u64], u32) {
        match self.bitmaps.iter().find(|(other, ..)| *other == set) {
            Some((_, words, count)) => (words, *count),
            None => (&[], 0),
        }
    }
}
