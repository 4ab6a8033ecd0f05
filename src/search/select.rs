//! All rows that a filter selects, and their exact number.

use crate::model::Rating;
use crate::search::every_word::{self, STEPS_PER_TEXT};
use crate::search::filter::{Filter, RatingSet};
use crate::search::index::Index;
use crate::search::names::reply_key;
use crate::search::reach::{Reach, reach_of};
use crate::search::rows::{RowSet, count_common, has, mask, rows_of, unpack, words_for};
use crate::search::text::{self, Known, scan};
use crate::search::tree::{Own, Within};
use memchr::memmem::Finder;
use std::hint::black_box;
use std::ops::Range;

/// Memory that searches use again.
#[derive(Debug, Default)]
pub(in crate::search) struct Memory {
    rows: Vec<u32>,
    candidates: Vec<u32>,
    bits: Vec<u64>,
    every_word: every_word::Memory,
}

/// The rows that a filter selects.
#[derive(Debug)]
pub(in crate::search) struct Selection<'s> {
    /// How many there are.
    pub(in crate::search) matched: u32,
    /// The rows themselves.
    pub(in crate::search) rows: Rows<'s>,
}

/// Rows in one of two forms.
#[derive(Debug)]
pub(in crate::search) enum Rows<'s> {
    /// Ascending.
    List(&'s [u32]),
    /// Those of the range that are in all of the bitmaps.
    Words(Range<u32>, Bitmaps<'s>),
}

/// Most bitmaps of a filter: one for each of the [`COLUMNS`], and those of the words, the text and the ratings.
pub(in crate::search) const BITMAPS_MAX: usize = COLUMNS + 3;

/// Parts of a filter that name rows: technician, service, aspect with polarity, reply, language, source.
const COLUMNS: usize = 6;

/// The bitmaps whose rows have to be in all of them.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::search) struct Bitmaps<'s> {
    bitmaps: [&'s [u64]; BITMAPS_MAX],
    len: usize,
    /// How many rows the one last added has.
    count: u32,
}

impl<'s> Bitmaps<'s> {
    /// Adds a bitmap of `count` rows; there are fewer than [`BITMAPS_MAX`] so far.
    fn push(&mut self, words: &'s [u64], count: u32) {
        self.bitmaps[self.len] = words;
        self.len += 1;
        self.count = count;
    }

    /// Returns the bitmaps.
    pub(in crate::search) fn all(&self) -> &[&'s [u64]] {
        &self.bitmaps[..self.len]
    }

    fn have(&self, row: u32) -> bool {
        self.all().iter().all(|words| has(words, row))
    }

    /// Counts the rows of `range`, out of `total`, that are in all bitmaps.
    fn count(&self, range: &Range<u32>, total: u32) -> u32 {
        if self.len == 0 {
            return range.end - range.start;
        }
        if self.len == 1 && *range == (0..total) {
            return self.count;
        }
        let (first, last) = ((range.start / 64) as usize, (range.end - 1) as usize / 64);
        let cut = self.cut(range, first)
            + if last > first {
                self.cut(range, last)
            } else {
                0
            };
        let mut within: [&[u64]; BITMAPS_MAX] = [&[]; BITMAPS_MAX];
        for (within, words) in within.iter_mut().zip(self.all()) {
            *within = &words[first..=last];
        }
        let all = count_common(&within[..self.len]);
        all - cut
    }

    /// Counts the rows of word `word` that are in all bitmaps and out of `range`.
    fn cut(&self, range: &Range<u32>, word: usize) -> u32 {
        let both = self
            .all()
            .iter()
            .fold(u64::MAX, |both, words| both & words[word]);
        (both & !mask(range, word)).count_ones()
    }
}

/// What a filter comes down to.
struct Plan<'s> {
    range: Range<u32>,
    bitmaps: Bitmaps<'s>,
    /// Names that few reviews mention, the rarest first.
    lists: [Option<&'s [u32]>; COLUMNS],
    /// What is known of the text; `All` where a bitmap says it already.
    text: Known<'s>,
    /// To be looked for in each text, where the rest is not exact.
    finder: Option<Finder<'s>>,
    /// Tested row by row, where no bitmap of these ratings is kept.
    ratings: RatingSet,
}

/// From one row in this many a list becomes a bitmap before it is intersected with others.
const BITMAP_FROM_ONE_IN: u32 = 128;

/// Selects the rows of `filter`: bitmaps are intersected word by word; where a condition leaves few rows, those are
/// tried one by one, and texts looked at last.
///
/// Rows out of `reach` may be missing.
pub(in crate::search) fn select<'s>(
    index: &'s Index,
    filter: &Filter<'s>,
    reach: Reach<'_>,
    memory: &'s mut Memory,
) -> Selection<'s> {
    let Memory {
        rows,
        candidates,
        bits,
        every_word,
    } = memory;
    let Some(mut plan) = plan(index, filter, candidates, every_word) else {
        return Selection {
            matched: 0,
            rows: Rows::List(&[]),
        };
    };
    rows.clear();
    if let Known::Within(within) = plan.text {
        if plan.is_text_alone(index)
            && let Some(matched) = reach_of(index, within, reach, rows)
        {
            return Selection {
                matched,
                rows: Rows::List(rows),
            };
        }
        let is_bitmap = match within {
            Within::Own(own) => own.count >= index.len() / BITMAP_FROM_ONE_IN,
            Within::Below(_) => true,
            Within::Leaf(_) | Within::Bitmap(..) => false,
        };
        if is_bitmap && let Some(tree) = &index.tree {
            bits.clear();
            bits.resize(words_for(index.len()), 0);
            tree.mark(within, bits);
            plan.bitmaps.push(bits, within.rows_max());
            plan.text = Known::All;
        }
    }
    let by_words = matches!(plan.text, Known::All) && plan.lists[0].is_none();
    if by_words && plan.finder.is_none() && plan.ratings == RatingSet::ALL {
        let matched = plan.bitmaps.count(&plan.range, index.len());
        return Selection {
            matched,
            rows: Rows::Words(plan.range, plan.bitmaps),
        };
    }
    plan.collect(index, candidates, rows);
    Selection {
        matched: rows.len() as u32,
        rows: Rows::List(rows),
    }
}

/// Looks up every part of `filter`; `None` where one of them selects nothing.
fn plan<'s>(
    index: &'s Index,
    filter: &Filter<'s>,
    candidates: &mut Vec<u32>,
    every_word: &'s mut every_word::Memory,
) -> Option<Plan<'s>> {
    let start = filter.until.map_or(0, |until| index.rows_after(until));
    let end = filter
        .since
        .map_or(index.len(), |since| index.rows_since(since));
    if start >= end || filter.ratings == RatingSet::EMPTY {
        return None;
    }
    let mut plan = Plan {
        range: start..end,
        bitmaps: Bitmaps::default(),
        lists: [None; COLUMNS],
        text: Known::All,
        finder: None,
        ratings: filter.ratings,
    };
    let Filter {
        aspect, polarity, ..
    } = *filter;
    let aspects = || index.aspects.get()?.rows(aspect, polarity);
    let columns: [Option<Option<&RowSet>>; COLUMNS] = [
        filter.technician.map(|name| index.technicians.rows(name)),
        filter.service.map(|name| index.services.rows(name)),
        filter.needs_insights().then(aspects),
        filter
            .has_reply
            .map(|has| index.replies.rows_of_whole(reply_key(has))),
        filter
            .language
            .map(|tag| index.languages.rows_of_whole(tag)),
        filter
            .source
            .map(|source| index.sources.rows_of_whole(source)),
    ];
    for (set, list) in columns.into_iter().flatten().zip(0..) {
        match set? {
            RowSet::Bitmap(words, count) => plan.bitmaps.push(words, *count),
            RowSet::List(rows) => plan.lists[list] = Some(rows),
        }
    }
    plan.lists
        .sort_unstable_by_key(|list| list.map_or(usize::MAX, <[u32]>::len));
    let mut text = filter.text;
    if let Some(words) = filter.words {
        let mut terms = words.terms();
        match (terms.next(), terms.next(), text) {
            (None, ..) => {}
            // The same as `query`, which answers from less than all rows.
            (Some(term), None, None)
                if !(term.begins_word || term.ends_word || term.is_excluded) =>
            {
                text = Some(term.text);
            }
            _ => {
                let count = every_word::mark_rows(index, words, every_word);
                if count == 0 {
                    return None;
                }
                plan.bitmaps.push(&every_word.rows, count);
            }
        }
    }
    if let Some(needle) = text {
        let few = plan.lists[0]
            .map_or(u32::MAX, |list| list.len() as u32)
            .min(end - start);
        let (mut known, mut exact) = text::look_up(index, needle.as_bytes(), candidates)?;
        match known {
            Known::Within(within) if within.steps() > few.saturating_mul(STEPS_PER_TEXT) => {
                (known, exact) = (Known::All, false);
            }
            Known::Within(Within::Bitmap(words, count)) => {
                plan.bitmaps.push(words, count);
                known = Known::All;
            }
            _ => {}
        }
        plan.text = known;
        plan.finder = (!exact).then(|| Finder::new(needle.as_bytes()));
    }
    if let Some((words, count)) = index.ratings.bitmap(filter.ratings) {
        plan.bitmaps.push(words, count);
        plan.ratings = RatingSet::ALL;
    }
    Some(plan)
}

impl Plan<'_> {
    /// Tells whether the plan comes down to the text, and what is known of that is exact.
    fn is_text_alone(&self, index: &Index) -> bool {
        self.bitmaps.len == 0
            && self.lists[0].is_none()
            && self.finder.is_none()
            && self.ratings == RatingSet::ALL
            && self.range == (0..index.len())
    }

    /// Fills `rows` with all rows of the plan, ascending, starting from the shortest list there is.
    fn collect(&self, index: &Index, candidates: &[u32], rows: &mut Vec<u32>) {
        let rating = |row: u32| -> Rating { index.ratings.of_row[row as usize] };
        let mut probes = self.lists.map(|list| Probe { list });
        let mut keep = |row: u32| {
            self.range.contains(&row)
                && self.bitmaps.have(row)
                && probes.iter_mut().all(|probe| probe.has(row))
                && (self.ratings == RatingSet::ALL || self.ratings.contains(rating(row)))
        };
        match (self.text, self.lists[0], &self.finder) {
            (Known::Within(Within::Leaf(packed) | Within::Own(Own { packed, .. })), ..) => {
                unpack(packed, |row| {
                    rows.extend(keep(row).then_some(row));
                    row < self.range.end
                });
            }
            (Known::Candidates, ..) => {
                rows.extend(candidates.iter().copied().filter(|row| keep(*row)))
            }
            (_, Some(list), _) => rows.extend(list.iter().copied().filter(|row| keep(*row))),
            (_, None, Some(finder)) if self.bitmaps.len == 0 => {
                let range = (self.range.start, self.range.end);
                scan(&index.arena, finder, range, |row| {
                    rows.extend(keep(row).then_some(row))
                });
                return;
            }
            (_, None, _) => {
                rows.extend(
                    rows_of(self.bitmaps.all(), self.range.clone()).filter(|row| keep(*row)),
                );
            }
        }
        if let Some(finder) = &self.finder {
            hold(index, finder, rows);
        }
    }
}

/// Leaves only those of `rows` whose texts hold the needle.
fn hold(index: &Index, finder: &Finder<'_>, rows: &mut Vec<u32>) {
    let mut kept = 0;
    for start in (0..rows.len()).step_by(TEXTS_AHEAD) {
        let end = rows.len().min(start + TEXTS_AHEAD);
        // Nothing waits for these bytes, so the lines of all texts come from memory together, not one after the other.
        let lines = rows[start..end].iter().flat_map(|row| {
            let text = index.arena.row(*row).iter();
            text.take(TEXT_AHEAD_BYTES).step_by(64)
        });
        black_box(lines.fold(0, |all, byte| all ^ byte));
        for at in start..end {
            let row = rows[at];
            if finder.find(index.arena.row(row)).is_some() {
                rows[kept] = row;
                kept += 1;
            }
        }
    }
    rows.truncate(kept);
}

/// Texts that are asked for before the first of them is looked at.
const TEXTS_AHEAD: usize = 16;

/// Bytes of each that are asked for, by lines of the cache; most texts are shorter.
const TEXT_AHEAD_BYTES: usize = 1024;

/// A sorted list that is asked for ascending rows.
struct Probe<'s> {
    list: Option<&'s [u32]>,
}

impl Probe<'_> {
    /// Tells whether `row`, not less than the one asked before, is in the list; without a list every row is.
    fn has(&mut self, row: u32) -> bool {
        let Some(list) = &mut self.list else {
            return true;
        };
        let mut bound = 1;
        while bound < list.len() && list[bound] < row {
            bound *= 2;
        }
        let from = bound / 2;
        let near = &list[from..(bound + 1).min(list.len())];
        *list = &list[from + near.partition_point(|known| *known < row)..];
        list.first() == Some(&row)
    }
}
