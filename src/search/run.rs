//! Runs a query: returns a page of matching rows, and their exact number.
//!
//! Every condition is a range of rows, a bitmap, a list, or a term of the text (`terms.rs`). If one of them selects few
//! rows, the others are tested on each of these; otherwise bitmaps are intersected word by word. Texts are read last.

use crate::model::{Rating, Row};
use crate::search::filter::{Cursor, Filter, Query, RatingSet, Sort, TERMS_MAX, Term};
use crate::search::index::Index;
use crate::search::rows::{
    RowSet, Walk, count_common, has, mask, packed_count, rows_of, rows_of_backwards, unpack,
    words_for,
};
use crate::search::scores::Scores;
use crate::search::terms::{Candidates, Memory, TermLookup};
use crate::search::tree::Postings;
use crate::search::work::{ROW, Work};
use arrayvec::{ArrayString, ArrayVec};
use std::cmp::Ordering;
use std::ops::Range;

/// Largest number of bitmaps of a filter: one for each of the [`COLUMNS`], and those of the ratings and the text; or
/// only their intersection.
const BITMAPS_MAX: usize = COLUMNS + 2;

/// Parts of a filter that have a set of rows: technician, service, aspect with polarity, reply, photos, language, source,
/// location, verification.
const COLUMNS: usize = 9;

/// A condition that selects at most one row in this many provides the candidates.
const CANDIDATES_ONE_IN: u32 = 128;
/// The same for a query with several terms.
const CANDIDATES_OF_TERMS_ONE_IN: u32 = 384;

/// With at most this many reviews, all of them are candidates.
const CANDIDATES_MIN: u32 = 16;

/// The result of a query.
#[derive(Clone, Debug)]
pub struct Page {
    /// How many reviews the filter selects, regardless of limit and cursor.
    pub matched: u32,
    /// The rows of this page in the requested order.
    pub rows: ArrayVec<Row, { Query::LIMIT_MAX as usize }>,
    /// How many reviews fit in the order by relevance, in which reviews may lack some of the words.
    pub ranked: Option<u32>,
    /// Where the next page begins; `None` on the last page, and in the order by relevance.
    pub next: Option<Cursor>,
}

/// Runs `query` with an exact count. Treats the order by relevance like that by date: `rank::search` ranks. Allocates
/// nothing once the buffers of `scratch` are large enough.
pub fn run(index: &Index, query: &Query<'_>, scratch: &mut Scratch) -> Page {
    scratch.begin();
    find_page(index, query, scratch)
}

/// Runs `query` like [`run`], and takes what it costs from `work`; `None` if that does not suffice. The search stops
/// soon after it has spent what was left.
pub fn run_within(
    index: &Index,
    query: &Query<'_>,
    scratch: &mut Scratch,
    work: &mut Work,
) -> Option<Page> {
    if work.is_spent() {
        return None;
    }
    scratch.terms.work = Work::new(work.left());
    let page = find_page(index, query, scratch);
    work.spend(scratch.spent());
    if work.is_spent() { None } else { Some(page) }
}

fn find_page(index: &Index, query: &Query<'_>, scratch: &mut Scratch) -> Page {
    let limit = usize::from(query.limit.min(Query::LIMIT_MAX));
    let runs = runs(index, query);
    let head = SelectedHead {
        from: runs[0].range.start,
        // One more row than the limit shows whether another page follows.
        count: limit + 1,
    };
    let (matched, rows) = select(index, query, head, scratch);
    let mut page = Page {
        matched,
        rows: ArrayVec::new(),
        ranked: None,
        next: None,
    };
    for run in runs {
        each_row(index, &rows, &run, |row| {
            if page.rows.len() == limit {
                let last = page.rows.last();
                page.next = last.and_then(|last| cursor_at(index, *last, query.sort));
                return false;
            }
            page.rows.push(Row(row));
            true
        });
        if page.next.is_some() {
            break;
        }
    }
    page
}

/// One run of a result: rows of a range in one direction, of one rating if the order is by rating.
#[derive(Default)]
struct RowRun {
    range: Range<u32>,
    is_backwards: bool,
    rating: Option<Rating>,
}

/// Returns the runs of the result after the cursor of `query`; runs before it are empty ranges.
fn runs(index: &Index, query: &Query<'_>) -> [RowRun; 5] {
    let all = 0..index.len();
    let cursor = query.cursor.as_ref();
    let mut older = all.clone();
    if let Some(last) = cursor {
        older.start = index.rows_before(last.date, &last.id, true);
    }
    let mut runs: [RowRun; 5] = Default::default();
    match query.sort {
        Sort::Newest | Sort::Relevance => runs[0].range = older,
        Sort::Oldest => {
            let mut newer = all.clone();
            if let Some(last) = cursor {
                newer.end = index.rows_before(last.date, &last.id, false);
            }
            runs[0].range = newer;
            runs[0].is_backwards = true;
        }
        Sort::Highest | Sort::Lowest => {
            let is_highest = query.sort == Sort::Highest;
            for (run, number) in runs.iter_mut().zip(1..) {
                run.rating = Rating::new(if is_highest { 6 - number } else { number });
                run.range = match cursor.map(|last| run.rating.cmp(&Some(last.rating))) {
                    Some(Ordering::Equal) => older.clone(),
                    Some(order) if order.is_gt() == is_highest => 0..0,
                    _ => all.clone(),
                };
            }
        }
    }
    runs
}

/// Calls `each` with the `rows` that belong to `run`, in its order, until it returns `false`.
fn each_row(index: &Index, rows: &Rows<'_>, run: &RowRun, mut each: impl FnMut(u32) -> bool) {
    let range = &run.range;
    if range.is_empty() {
        return;
    }
    // Returns whether to go on; `all` below stops where it is false.
    let mut each_in_run = |row: u32| {
        let is_rated = run
            .rating
            .is_none_or(|rating| index.rating(Row(row)) == rating);
        if !range.contains(&row) || !is_rated {
            return true;
        }
        each(row)
    };
    match rows {
        Rows::List(rows) if run.is_backwards => {
            rows.iter().rev().all(|row| each_in_run(*row));
        }
        Rows::List(rows) => {
            let start = rows.partition_point(|row| *row < range.start);
            rows[start..].iter().all(|row| each_in_run(*row));
        }
        Rows::Packed(packed) => unpack(packed, each_in_run),
        Rows::Bitmaps(selected, bitmaps) => {
            let start = range.start.max(selected.start);
            let range = start..range.end.min(selected.end).max(start);
            let mut all: ArrayVec<&[u64], { BITMAPS_MAX + 1 }> = bitmaps.iter().copied().collect();
            if let Some(rating) = run.rating {
                let (rated, _) = index.ratings.bitmap(RatingSet::only(rating));
                all.push(rated);
            }
            if run.is_backwards {
                rows_of_backwards(&all, range).all(each);
            } else {
                rows_of(&all, range).all(each);
            }
        }
    }
}

/// Calls `each` with every row that `filter` selects, the newest first.
pub(super) fn each_match(
    index: &Index,
    filter: &Filter<'_>,
    scratch: &mut Scratch,
    mut each: impl FnMut(u32),
) {
    let query = Query::new(*filter, Sort::Newest, 1);
    let all = RowRun {
        range: 0..index.len(),
        ..RowRun::default()
    };
    let every_row = SelectedHead {
        from: 0,
        count: usize::MAX,
    };
    let (_, rows) = select(index, &query, every_row, scratch);
    each_row(index, &rows, &all, |row| {
        each(row);
        true
    });
}

/// Returns the cursor after `row` (less than the number of reviews) in the order `sort`.
pub fn cursor_at(index: &Index, row: Row, sort: Sort) -> Option<Cursor> {
    Some(Cursor {
        sort,
        rating: index.rating(row),
        date: index.date(row),
        id: ArrayString::from(index.id(row)).ok()?,
    })
}

/// Buffers that searches reuse, so that they allocate nothing in the steady state; one per thread.
#[derive(Debug, Default)]
pub struct Scratch {
    candidates: Candidates,
    bits: Vec<u64>,
    terms: Memory,
    pub(super) scores: Scores,
}

impl Scratch {
    /// Begins a search with nothing spent.
    pub(super) fn begin(&mut self) {
        self.terms.work = Work::default();
    }

    /// Returns the work of the current search.
    pub(super) fn work(&mut self) -> &mut Work {
        &mut self.terms.work
    }

    /// Returns the work of the last search.
    pub fn spent(&self) -> u64 {
        self.terms.work.spent()
    }
}

/// Rows in one of three forms.
#[derive(Debug)]
enum Rows<'s> {
    /// Ascending.
    List(&'s [u32]),
    /// Ascending, and packed.
    Packed(&'s [u8]),
    /// The rows of the range that are in all bitmaps.
    Bitmaps(Range<u32>, Bitmaps<'s>),
}

/// Bitmaps to be intersected.
type Bitmaps<'s> = ArrayVec<&'s [u64], BITMAPS_MAX>;

/// The execution plan of a filter.
#[derive(Default)]
struct Plan<'s> {
    range: Range<u32>,
    bitmaps: Bitmaps<'s>,
    /// Number of rows in the bitmap added last.
    bitmap_rows: u32,
    /// Names that few reviews mention.
    lists: ArrayVec<&'s [u32], COLUMNS>,
    terms: ArrayVec<TermLookup<'s, 's>, { TERMS_MAX + 1 }>,
}

/// The rows that are needed in the order [`Sort::Newest`]: `count` of those selected, from the row `from` on.
struct SelectedHead {
    from: u32,
    count: usize,
}

/// Selects the rows of `query`, and counts them. For [`Sort::Newest`], the result may have only the rows of `head`.
fn select<'s>(
    index: &'s Index,
    query: &Query<'s>,
    head: SelectedHead,
    scratch: &'s mut Scratch,
) -> (u32, Rows<'s>) {
    let Scratch {
        candidates,
        bits,
        terms,
        ..
    } = scratch;
    candidates.rows.clear();
    let mut plan = Plan::default();
    if !plan.fill(index, &query.filter, terms) || terms.work.is_spent() {
        return (0, Rows::List(&[]));
    }
    match (plan.only_postings(index), &index.tree) {
        (Some(Postings::List(packed, count)), _) if query.sort != Sort::Oldest => {
            let count = count.unwrap_or_else(|| packed_count(packed));
            return (count, Rows::Packed(packed));
        }
        (Some(postings @ Postings::FromLeaves(node)), Some(tree)) if query.sort == Sort::Newest => {
            unpack(tree.head(node), |row| {
                if row >= head.from {
                    candidates.rows.push(row);
                }
                candidates.rows.len() < head.count
            });
            if candidates.rows.len() == head.count {
                return (postings.rows_max(), Rows::List(&candidates.rows));
            }
        }
        _ => {}
    }
    if plan.terms.is_empty() && plan.lists.is_empty() {
        terms
            .work
            .spend(words_for(index.len()) as u64 * plan.bitmaps.len() as u64 / 2);
        let matched = plan.count_bitmaps(index.len());
        return (matched, Rows::Bitmaps(plan.range, plan.bitmaps));
    }
    if plan.collect(index, candidates, bits, terms) {
        let matched = candidates.rows.len() as u32;
        terms.work.spend(u64::from(matched) * ROW);
        return (matched, Rows::List(&candidates.rows));
    }
    plan.intersect(index, candidates, bits, terms);
    let all = Bitmaps::from_iter([&**bits]);
    (
        count_common(&all, &plan.range),
        Rows::Bitmaps(plan.range, all),
    )
}

impl<'s> Plan<'s> {
    /// Looks up every part of `filter`; false if one selects nothing. In place, because a plan has 9 kB.
    fn fill(&mut self, index: &'s Index, filter: &Filter<'s>, memory: &mut Memory) -> bool {
        self.range = index.rows_between(filter.since, filter.until);
        if self.range.is_empty() || filter.ratings == RatingSet::EMPTY {
            return false;
        }
        // `None` if the filter does not need the insights; nothing is selected if they are not there yet.
        let mut mentions: Option<Option<&RowSet>> = None;
        if filter.needs_insights() {
            let aspects = index.aspects.as_ref();
            mentions = Some(aspects.and_then(|aspects| {
                aspects.rows(filter.aspect, filter.polarity, &mut memory.work)
            }));
        }
        let columns: [Option<Option<&RowSet>>; COLUMNS] = [
            filter
                .technician
                .map(|name| index.technicians.rows(name, &mut memory.work)),
            filter
                .service
                .map(|name| index.services.rows(name, &mut memory.work)),
            mentions,
            filter
                .has_reply
                .map(|has_reply| Some(&index.replies[usize::from(has_reply)])),
            filter
                .has_photos
                .map(|has_photos| Some(&index.photos[usize::from(has_photos)])),
            filter
                .language
                .map(|tag| index.languages.rows_of_whole(tag)),
            filter.source.map(|name| index.sources.rows_of_whole(name)),
            filter
                .location
                .map(|name| index.locations.rows_of_whole(name)),
            index.verifications.rows(filter.verified_by).map(Some),
        ];
        for set in columns.into_iter().flatten() {
            match set {
                Some(RowSet::Bitmap(words, count)) => self.add_bitmap(words, *count),
                Some(RowSet::List(rows)) => self.lists.push(rows),
                None => return false,
            }
        }
        if filter.ratings != RatingSet::ALL {
            let (words, count) = index.ratings.bitmap(filter.ratings);
            self.add_bitmap(words, count);
        }
        let words = filter.words.iter().flat_map(|words| words.terms());
        for term in words.chain(filter.text.map(Term::anywhere)) {
            let lookup = TermLookup::new(index, term, memory);
            if lookup.is_nowhere(index) {
                if term.is_excluded {
                    continue;
                }
                return false;
            }
            match lookup.only() {
                Some(Postings::Bitmap(words, count))
                    if !term.is_excluded && !self.bitmaps.is_full() =>
                {
                    self.add_bitmap(words, count);
                }
                _ => self.terms.push(lookup),
            }
        }
        true
    }

    fn add_bitmap(&mut self, words: &'s [u64], rows: u32) {
        self.bitmaps.push(words);
        self.bitmap_rows = rows;
    }

    /// Returns the postings of the only condition, if that is a term whose rows are known to the tree.
    fn only_postings(&self, index: &Index) -> Option<Postings<'s>> {
        let is_alone =
            self.bitmaps.is_empty() && self.lists.is_empty() && self.range == (0..index.len());
        match &self.terms[..] {
            [term] if is_alone && !term.term.is_excluded => term.only(),
            _ => None,
        }
    }

    /// Counts the rows of the range, out of `total`, that are in all bitmaps.
    fn count_bitmaps(&self, total: u32) -> u32 {
        match self.bitmaps.len() {
            0 => self.range.end - self.range.start,
            1 if self.range == (0..total) => self.bitmap_rows,
            _ => count_common(&self.bitmaps, &self.range),
        }
    }

    /// Fills `candidates` with all rows of the plan, starting from those of the condition with the fewest; false if
    /// even that has too many.
    fn collect(
        &mut self,
        index: &'s Index,
        candidates: &mut Candidates,
        bits: &mut Vec<u64>,
        memory: &mut Memory,
    ) -> bool {
        let one_in = match self.terms.len() {
            ..=1 => CANDIDATES_ONE_IN,
            _ => CANDIDATES_OF_TERMS_ONE_IN,
        };
        let few = (index.len() / one_in).max(CANDIDATES_MIN);
        self.terms
            .sort_unstable_by_key(|term| (term.term.is_excluded, term.rows_max()));
        self.lists.sort_unstable_by_key(|list| list.len());
        let first = self.terms.first();
        let term = first.filter(|term| !term.term.is_excluded && index.tree.is_some());
        let term_rows = term.map_or(usize::MAX, |term| term.rows_max() as usize);
        let list = self.lists.first().copied();
        let list_rows = list.map_or(usize::MAX, <[u32]>::len);
        let fewest = self.range.len().min(list_rows).min(term_rows);
        let is_leaf = term.is_some_and(TermLookup::is_leaf);
        if fewest > few as usize && list.is_none() && !is_leaf && index.tree.is_some() {
            return false;
        }
        let rows = &mut candidates.rows;
        rows.clear();
        // The number of the term that provided the rows, if they need no narrowing by it.
        let mut narrowed = None;
        // The bit of that term, if its rows must be verified in the texts.
        let mut open = 0;
        match (term, list) {
            (Some(term), _) if term_rows == fewest => {
                term.collect(index, rows, bits, memory);
                let is_certain = term.is_certain();
                if is_certain || term.has_one_needle() {
                    narrowed = Some(0);
                    open = u32::from(!is_certain);
                }
            }
            (_, Some(list)) if list_rows == fewest => rows.extend_from_slice(list),
            _ => rows.extend(rows_of(&self.bitmaps, self.range.clone())),
        }
        let mut lists: ArrayVec<Walk<'_>, COLUMNS> =
            self.lists.iter().map(|list| Walk::new(list)).collect();
        memory.work.spend(rows.len() as u64 * ROW);
        rows.retain(|row| {
            self.range.contains(row)
                && self.bitmaps.iter().all(|words| has(words, *row))
                && lists.iter_mut().all(|list| list.find(*row).is_some())
        });
        candidates.open.clear();
        candidates.open.resize(candidates.rows.len(), open);
        for (number, term) in self.terms.iter().enumerate() {
            if memory.work.is_spent() {
                return true;
            }
            if narrowed != Some(number) {
                term.narrow_candidates(index, candidates, 1 << number, memory);
            }
        }
        for term in &self.terms {
            term.narrow_by_parts(index, candidates, &mut memory.work);
        }
        candidates.verify_texts(index, &self.terms, &mut memory.work);
        true
    }

    /// Fills `bits` with all rows of the plan.
    fn intersect(
        &mut self,
        index: &'s Index,
        candidates: &mut Candidates,
        bits: &mut Vec<u64>,
        memory: &mut Memory,
    ) {
        let Some(tree) = &index.tree else { return };
        bits.clear();
        let mut first = 0;
        match (self.bitmaps.split_first(), self.terms.first()) {
            (None, Some(term)) if !term.term.is_excluded => {
                bits.resize(words_for(index.len()), 0);
                term.mark(tree, bits, 1, memory);
                first = 1;
            }
            (None, _) => bits.resize(words_for(index.len()), u64::MAX),
            (Some((words, others)), _) => {
                bits.extend_from_slice(words);
                for words in others {
                    for (bits, word) in bits.iter_mut().zip(*words) {
                        *bits &= word;
                    }
                }
            }
        }
        let from = (self.range.start / 64) as usize;
        let to = (self.range.end - 1) as usize / 64;
        bits[..from].fill(0);
        bits[to + 1..].fill(0);
        bits[from] &= mask(&self.range, from);
        bits[to] &= mask(&self.range, to);
        memory
            .work
            .spend(bits.len() as u64 * (2 + self.bitmaps.len() as u64));
        for (number, term) in self.terms.iter().enumerate().skip(first) {
            if memory.work.is_spent() {
                return;
            }
            term.narrow_bits(tree, bits, 1 << number, memory);
        }
        candidates.verify_bits(index, &self.terms, bits, memory);
    }
}
