//! Looks up a term of `query` or `words` in the tree, and narrows the rows selected so far.
//!
//! A word is two needles: the word after a space, and after [`START`]. The tree returns the rows of a needle, or a
//! superset no larger than a leaf; uncertain rows are verified in the texts. A phrase (any term with a sign in it) that
//! few reviews contain is one needle, whose rows are verified. A common phrase is looked up after a space, after
//! [`START`] and after each of the [`COMMON_SIGNS`]; after other signs, its first word is. It must end at the end of a
//! word, so each of its needles is looked up with every character that may follow a word.

use crate::search::arena::{COMMON_SIGNS, RARE, START};
use crate::search::filter::{Term, is_of_word, listed_part};
use crate::search::index::Index;
use crate::search::rows::{Walk, has, insert, remove, rows_of, unpack, words_for};
use crate::search::tree::{Postings, Tree};
use crate::search::work::{LOOKUP, ROW, TEXT, TEXT_BYTES, Work};
use crate::wire::text::truncate;
use arrayvec::ArrayVec;
use memchr::memmem::Finder;
use std::hint::black_box;

/// Lists with more than one row in this many become a bitmap; each row of a shorter list is looked up in the selection.
const MARKED_ONE_IN: u32 = 64;

/// Reading a text takes as long as decoding about this many rows of a list.
const STEPS_PER_TEXT: u32 = 48;
/// The same for a text that is not prefetched.
const STEPS_PER_OPEN_TEXT: u32 = 96;

/// Most characters that follow a common phrase, about.
const ENDS_LOOKED_UP: u64 = 32;

/// The mark of a candidate that possibly contains the term.
const POSSIBLE: u8 = 1;
/// The mark of a candidate that certainly contains it.
const CERTAIN: u8 = 2;

/// Up to this many rows of several lists, sorting is faster than a bitmap.
const SORTED_MAX: u32 = 512;

/// Starts of the other parts of a needle that are looked up, in eighths of its length.
const PARTS: [usize; 4] = [4, 6, 2, 5];

/// Up to this many candidates, reading their texts is faster than another lookup in the tree.
const CANDIDATES_FEW: usize = 12;

/// A list with more rows per candidate than this is not decoded to narrow the candidates.
const STEPS_PER_CANDIDATE: usize = 16;

/// Bits of the filter of candidates: 4 KiB.
const FILTER_BITS: u32 = 1 << 15;
/// With fewer rows to look up, filling the filter costs more than it saves.
const FILTER_STEPS_MIN: u32 = 1024;

/// Texts that are prefetched before the first of them is read.
const TEXTS_AHEAD: usize = 16;

/// Bytes of each text that are prefetched, by cache lines; most texts are shorter.
const TEXT_AHEAD_BYTES: usize = 1024;

/// A term, and its lookup results before any text is read.
pub(super) struct TermLookup<'t, 'q> {
    pub(super) term: Term<'q>,
    finder: Finder<'q>,
    /// The tree's results; together they contain all rows of the term.
    needles: ArrayVec<Needle<'t>, 3>,
    after_signs: AfterSigns,
}

/// Lookups of a common phrase after the [`COMMON_SIGNS`]; those of a needle are small enough to be repeated.
#[derive(Clone, Copy, Default)]
struct AfterSigns {
    /// A bit for each sign after which the phrase may occur.
    signs: u16,
    /// The sum of [`Postings::rows_max`].
    rows_max: u32,
    /// The sum of [`Postings::steps`].
    steps: u32,
    /// Whether a lookup leads to an inner node.
    has_inner: bool,
}

/// A spelling of a term in the arena.
#[derive(Clone, Copy)]
struct Needle<'t> {
    /// The bytes before the term.
    before: &'static [u8],
    /// Rows that may contain the needle, and whether all of them certainly do.
    postings: Postings<'t>,
    exact: bool,
}

/// A small set of candidate rows.
#[derive(Debug, Default)]
pub(super) struct Candidates {
    /// Ascending.
    pub(super) rows: Vec<u32>,
    /// For each row the terms, as bits, for which its text must still be read.
    pub(super) open: Vec<u32>,
    /// For each row the result of the postings of one term: [`POSSIBLE`], [`CERTAIN`] or 0.
    marks: Vec<u8>,
    /// A bit for the lower bits of each candidate. Most rows of a long list have no bit set, and need no binary search.
    filter: Vec<u64>,
}

/// Buffers that searches reuse.
#[derive(Debug, Default)]
pub(super) struct Memory {
    needle: Vec<u8>,
    /// Rows of a term's certain lists that are also among the rows selected so far.
    hits: Vec<u32>,
    /// The same for lists that are not certain.
    possible: Vec<u32>,
    /// Rows of certain lists as a bitmap, if there are many.
    marks: Vec<u64>,
    /// Rows of a bitmap whose texts still have to be searched, each with the bit of the term to search for.
    open: Vec<(u32, u32)>,
    /// The work of the search.
    pub(super) work: Work,
}

impl<'t, 'q> TermLookup<'t, 'q> {
    /// Looks up the needles of `term`; without a tree there are no results.
    pub(super) fn new(index: &'t Index, term: Term<'q>, memory: &mut Memory) -> Self {
        let mut lookup = TermLookup {
            term,
            finder: Finder::new(term.text),
            needles: ArrayVec::new(),
            after_signs: AfterSigns::default(),
        };
        let Some(tree) = &index.tree else {
            return lookup;
        };
        let text = term.text.as_bytes();
        if !term.begins_word {
            lookup.find(tree, b"", text, b"", memory);
        } else if listed_part(term.text).len() == text.len() {
            lookup.find(tree, b" ", text, b"", memory);
            lookup.find(tree, &[START], text, b"", memory);
        } else {
            lookup.find_phrase(tree, memory);
        }
        lookup
    }

    /// Looks up a term that begins as a word and has a sign in it.
    fn find_phrase(&mut self, tree: &'t Tree, memory: &mut Memory) {
        let text = self.term.text;
        memory.work.spend(LOOKUP * (1 + COMMON_SIGNS.len() as u64));
        let Some((postings, is_exact)) = tree.find(text.as_bytes()) else {
            return;
        };
        if !is_exact || is_leaf(postings) {
            self.needles.push(Needle {
                before: b"",
                postings,
                exact: false,
            });
            return;
        }
        self.find(tree, b" ", text.as_bytes(), b"", memory);
        self.find(tree, &[START], text.as_bytes(), b"", memory);
        // After a rare sign, only the first word is listed.
        let part = listed_part(text);
        let is_cut = text[part.len()..].starts_with(is_of_word);
        let after: &[u8] = if is_cut { b"" } else { &[START] };
        self.find(tree, &[RARE, START], part.as_bytes(), after, memory);
        for (number, sign) in COMMON_SIGNS.iter().enumerate() {
            let needle = fill_needle(&mut memory.needle, &[&[*sign], text.as_bytes()]);
            if let Some((postings, _)) = tree.find(needle) {
                let counted = &mut self.after_signs;
                counted.signs |= 1 << number;
                counted.rows_max = counted.rows_max.saturating_add(postings.rows_max());
                counted.steps = counted.steps.saturating_add(postings.steps());
                counted.has_inner |= !is_leaf(postings);
            }
        }
    }

    /// Looks up `part`, which is the term or a part of it, between `before` and `after`.
    fn find(
        &mut self,
        tree: &'t Tree,
        before: &'static [u8],
        part: &[u8],
        after: &[u8],
        memory: &mut Memory,
    ) {
        memory.work.spend(LOOKUP);
        let needle = fill_needle(&mut memory.needle, &[before, part, after]);
        if let Some((postings, is_exact)) = tree.find(needle) {
            self.needles.push(Needle {
                before,
                postings,
                exact: is_exact && part.len() == self.term.text.len(),
            });
        }
    }

    /// Returns an upper bound of the number of rows that contain the term.
    pub(super) fn rows_max(&self) -> u32 {
        let needles = self.needles.iter();
        needles.fold(self.after_signs.rows_max, |sum, needle| {
            sum.saturating_add(needle.postings.rows_max())
        })
    }

    /// Returns roughly how many rows must be decoded to get all rows of the term.
    fn steps(&self) -> u32 {
        let needles = self.needles.iter();
        needles.fold(self.after_signs.steps, |sum, needle| {
            sum.saturating_add(needle.postings.steps())
        })
    }

    /// Returns the work to decode all rows of the term. A phrase is looked up again with each character that may follow it.
    fn work(&self) -> u64 {
        let rows = u64::from(self.steps()) * ROW;
        if !self.term.ends_word {
            return rows;
        }
        let mut looked_up = u64::from(self.after_signs.signs.count_ones());
        for needle in &self.needles {
            if needle.exact && !is_leaf(needle.postings) {
                looked_up += 1;
            }
        }
        looked_up * ENDS_LOOKED_UP * LOOKUP + rows
    }

    /// Tells whether no text contains the term.
    pub(super) fn is_nowhere(&self, index: &Index) -> bool {
        index.tree.is_some() && self.needles.is_empty() && self.after_signs.signs == 0
    }

    /// Tells whether all needles lead to leaves.
    pub(super) fn is_leaf(&self) -> bool {
        !self.after_signs.has_inner && self.needles.iter().all(|needle| is_leaf(needle.postings))
    }

    /// Tells whether the tree alone determines the rows of the term.
    pub(super) fn is_certain(&self) -> bool {
        !self.term.ends_word
            && self.after_signs.signs == 0
            && self.needles.iter().all(|needle| needle.exact)
    }

    /// Returns the rows of the term if one needle has all of them.
    pub(super) fn only(&self) -> Option<Postings<'t>> {
        match self.needles[..] {
            [needle] if self.is_certain() => Some(needle.postings),
            _ => None,
        }
    }

    /// Calls `each` with the postings of the term, and whether their rows certainly contain it.
    fn each_postings(
        &self,
        tree: &'t Tree,
        buffer: &mut Vec<u8>,
        mut each: impl FnMut(Postings<'t>, bool),
    ) {
        for needle in &self.needles {
            self.each_of_needle(tree, *needle, needle.before, buffer, &mut each);
        }
        for (number, sign) in COMMON_SIGNS.iter().enumerate() {
            if self.after_signs.signs >> number & 1 == 0 {
                continue;
            }
            let before = std::slice::from_ref(sign);
            let found = tree.find(fill_needle(buffer, &[before, self.term.text.as_bytes()]));
            if let Some((postings, exact)) = found {
                let needle = Needle {
                    before: b"",
                    postings,
                    exact,
                };
                self.each_of_needle(tree, needle, before, buffer, &mut each);
            }
        }
    }

    /// Does the same for one needle, the term after `before`.
    fn each_of_needle(
        &self,
        tree: &'t Tree,
        found: Needle<'t>,
        before: &[u8],
        buffer: &mut Vec<u8>,
        each: &mut impl FnMut(Postings<'t>, bool),
    ) {
        if !self.term.ends_word || !found.exact || is_leaf(found.postings) {
            return each(found.postings, found.exact && !self.term.ends_word);
        }
        let needle = fill_needle(buffer, &[before, self.term.text.as_bytes()]);
        let after = tree.bytes_after(needle);
        if after.is_empty() {
            // The tree ends here, at its greatest depth.
            return each(found.postings, false);
        }
        for next in after {
            if next.is_ascii_alphanumeric() {
                continue;
            }
            needle.push(*next);
            if next.is_ascii() || *next == START {
                if let Some((postings, exact)) = tree.find(needle) {
                    // A word listed after a text may be cut off after 29 to 32 bytes, where no word ends.
                    let is_end = *next != START || self.term.text.len() < 29;
                    each(postings, exact && is_end);
                }
            } else {
                each_end(tree, needle, needle.len() - 1, each);
            }
            needle.pop();
        }
    }

    /// Adds all rows that may contain the term to the empty `bits`; uncertain ones go to `memory.open` with `bit`.
    pub(super) fn mark(&self, tree: &'t Tree, bits: &mut [u64], bit: u32, memory: &mut Memory) {
        memory.work.spend(self.work() + bits.len() as u64);
        let possible = &mut memory.possible;
        possible.clear();
        self.each_postings(tree, &mut memory.needle, |postings, is_certain| {
            if is_certain {
                tree.mark(postings, bits);
            } else {
                tree.each_stored(postings, &mut |rows| {
                    rows.each_row(|row| possible.push(row))
                });
            }
        });
        possible.retain(|row| !has(bits, *row));
        for row in possible {
            insert(bits, *row);
            memory.open.push((*row, bit));
        }
    }

    /// Removes from `bits` the rows that the term cannot select. Rows whose texts must be searched for it are added to
    /// `memory.open` with `bit`; if few rows are left, all of them are.
    pub(super) fn narrow_bits(
        &self,
        tree: &'t Tree,
        bits: &mut [u64],
        bit: u32,
        memory: &mut Memory,
    ) {
        let steps = self.steps();
        let all = 0..bits.len() as u32 * 64;
        let texts_max = (steps / STEPS_PER_OPEN_TEXT) as usize;
        if rows_of(&[bits], all.clone()).nth(texts_max).is_none() {
            return rows_of(&[bits], all).for_each(|row| memory.open.push((row, bit)));
        }
        memory.work.spend(self.work() + 3 * bits.len() as u64);
        let hits = &mut memory.hits;
        let possible = &mut memory.possible;
        let marks = &mut memory.marks;
        hits.clear();
        possible.clear();
        marks.clear();
        if steps > bits.len() as u32 * 64 / MARKED_ONE_IN {
            marks.resize(bits.len(), 0);
        }
        let mut bitmaps = ArrayVec::<&[u64], 3>::new();
        self.each_postings(tree, &mut memory.needle, |postings, is_certain| {
            tree.each_stored(postings, &mut |part| match part {
                Postings::Bitmap(words, _) if is_certain && bitmaps.len() < 2 => {
                    bitmaps.push(words);
                }
                part if is_certain && !marks.is_empty() => {
                    part.each_row(|row| insert(marks, row));
                }
                part => part.each_row(|row| {
                    if !has(bits, row) {
                        return;
                    }
                    if is_certain {
                        hits.push(row);
                    } else {
                        possible.push(row);
                    }
                }),
            });
        });
        if !marks.is_empty() {
            bitmaps.push(marks);
        }
        possible.retain(|row| !bitmaps.iter().any(|words| has(words, *row)));
        let is_excluded = self.term.is_excluded;
        let flip = if is_excluded { u64::MAX } else { 0 };
        match bitmaps.first() {
            Some(first) => {
                // With fewer than three bitmaps, the first one stands in for the missing ones.
                let second = bitmaps.get(1).unwrap_or(first);
                let third = bitmaps.get(2).unwrap_or(first);
                let all = bits.iter_mut().zip(*first).zip(*second).zip(*third);
                for (((bits, one), two), three) in all {
                    *bits &= (one | two | three) ^ flip;
                }
            }
            None if is_excluded => {}
            None => bits.fill(0),
        }
        if is_excluded {
            for row in &*hits {
                remove(bits, *row);
            }
        } else {
            for row in hits.iter().chain(&*possible) {
                insert(bits, *row);
            }
        }
        memory.open.extend(possible.iter().map(|row| (*row, bit)));
    }

    /// Keeps the `candidates` that the term may select; sets `bit` in the `open` of those to verify in the texts.
    pub(super) fn narrow_candidates(
        &self,
        index: &'t Index,
        candidates: &mut Candidates,
        bit: u32,
        memory: &mut Memory,
    ) {
        let texts = candidates.rows.len() as u32;
        let steps = self.steps();
        let is_costly = steps > texts.saturating_mul(STEPS_PER_TEXT);
        let tree = if is_costly { None } else { index.tree.as_ref() };
        let Some(tree) = tree else {
            for open in &mut candidates.open {
                *open |= bit;
            }
            return;
        };
        memory.work.spend(self.work());
        candidates.begin_marks(steps);
        self.each_postings(tree, &mut memory.needle, |postings, is_certain| {
            candidates.mark(tree, postings, if is_certain { CERTAIN } else { POSSIBLE });
        });
        let is_excluded = self.term.is_excluded;
        candidates.retain(|open, mark| {
            *open |= if mark == POSSIBLE { bit } else { 0 };
            match mark {
                0 => is_excluded,
                POSSIBLE => true,
                _ => !is_excluded,
            }
        });
    }

    /// Fills the empty `rows` with all rows that may contain the term, ascending; `bits` is overwritten.
    pub(super) fn collect(
        &self,
        index: &'t Index,
        rows: &mut Vec<u32>,
        bits: &mut Vec<u64>,
        memory: &mut Memory,
    ) {
        let Some(tree) = &index.tree else { return };
        memory.work.spend(self.work());
        if self.steps() > SORTED_MAX && !self.is_one_list() {
            bits.clear();
            bits.resize(words_for(index.len()), 0);
            self.each_postings(tree, &mut memory.needle, |postings, _| {
                tree.mark(postings, bits)
            });
            return rows.extend(rows_of(&[bits], 0..index.len()));
        }
        self.each_postings(tree, &mut memory.needle, |postings, _| {
            tree.each_stored(postings, &mut |part| part.each_row(|row| rows.push(row)));
        });
        if !rows.is_sorted() {
            rows.sort_unstable();
        }
        rows.dedup();
    }

    /// Tells whether the rows of the term are those of one list or bitmap, and so ascending.
    fn is_one_list(&self) -> bool {
        let mut needles = self.needles.iter();
        self.has_one_needle()
            && !needles.any(|needle| matches!(needle.postings, Postings::FromLeaves(_)))
    }

    /// Tells whether the rows of the term are those of one needle, so that all are certain, or none.
    pub(super) fn has_one_needle(&self) -> bool {
        self.needles.len() == 1
            && self.after_signs.signs == 0
            && (!self.term.ends_word || self.is_leaf())
    }

    /// Keeps the `candidates` that the postings of other parts of the needle also contain, if the first lookup covered
    /// only the needle's beginning. They still must be verified.
    pub(super) fn narrow_by_parts(
        &self,
        index: &'t Index,
        candidates: &mut Candidates,
        work: &mut Work,
    ) {
        let Some(tree) = &index.tree else {
            return;
        };
        let [needle] = &self.needles[..] else {
            return;
        };
        if needle.exact || self.term.is_excluded {
            return;
        }
        let text = self.term.text;
        for part in PARTS {
            let start = truncate(text, text.len() * part / 8).len();
            let before = candidates.rows.len();
            if start == 0 || before <= CANDIDATES_FEW {
                continue;
            }
            work.spend(LOOKUP);
            let Some((postings, _)) = tree.find(&text.as_bytes()[start..]) else {
                return candidates.clear();
            };
            if postings.steps() as usize > before * STEPS_PER_CANDIDATE {
                continue;
            }
            work.spend(u64::from(postings.steps()) * ROW);
            candidates.begin_marks(postings.steps());
            candidates.mark(tree, postings, CERTAIN);
            candidates.retain(|_, mark| mark > 0);
            // Narrowing has removed few rows, so most of the rest contain the needle: searching their texts costs less.
            if candidates.rows.len() > before - before / 8 {
                break;
            }
        }
    }

    /// Tells whether the text of `row` contains the term.
    fn occurs_in(&self, index: &Index, row: u32) -> bool {
        let term = &self.term;
        if !term.begins_word && !term.ends_word {
            // The words listed after the text occur in it.
            return self.finder.find(index.arena.row(row)).is_some();
        }
        let text = index.arena.text(row);
        let mut offsets = self.finder.find_iter(text);
        offsets.any(|at| term.fits_at(text, at))
    }
}

impl Candidates {
    /// Keeps the candidates whose texts contain the `terms` that are still open; stops if all `work` is spent.
    pub(super) fn verify_texts(
        &mut self,
        index: &Index,
        terms: &[TermLookup<'_, '_>],
        work: &mut Work,
    ) {
        let Candidates { rows, open, .. } = self;
        let mut len = 0;
        for start in (0..rows.len()).step_by(TEXTS_AHEAD) {
            let block = start..rows.len().min(start + TEXTS_AHEAD);
            // Nothing depends on these bytes, so the cache lines of all texts are loaded in parallel.
            let lines = block.clone().filter(|at| open[*at] != 0).flat_map(|at| {
                let text = index.arena.row(rows[at]).iter();
                text.take(TEXT_AHEAD_BYTES).step_by(64)
            });
            black_box(lines.fold(0, |all, byte| all ^ byte));
            if work.is_spent() {
                break;
            }
            for at in block {
                let row = rows[at];
                let open = open[at];
                if open != 0 {
                    let bytes = index.arena.row(row).len() as u64;
                    work.spend(TEXT + u64::from(open.count_ones()) * bytes / TEXT_BYTES);
                }
                let mut asked = (0..).zip(terms).filter(|(bit, _)| open >> bit & 1 == 1);
                if asked.all(|(_, term)| term.occurs_in(index, row) != term.term.is_excluded) {
                    rows[len] = row;
                    len += 1;
                }
            }
        }
        rows.truncate(len);
    }

    /// Removes from `bits` the rows of `memory.open` whose texts do not contain the open terms.
    pub(super) fn verify_bits(
        &mut self,
        index: &Index,
        terms: &[TermLookup<'_, '_>],
        bits: &mut [u64],
        memory: &mut Memory,
    ) {
        memory.open.retain(|(row, _)| has(bits, *row));
        memory.open.sort_unstable();
        self.clear();
        for of_row in memory.open.chunk_by(|left, right| left.0 == right.0) {
            let (row, _) = of_row[0];
            remove(bits, row);
            self.rows.push(row);
            self.open
                .push(of_row.iter().fold(0, |all, (_, bit)| all | bit));
        }
        memory.open.clear();
        self.verify_texts(index, terms, &mut memory.work);
        for row in &self.rows {
            insert(bits, *row);
        }
    }

    fn clear(&mut self) {
        self.rows.clear();
        self.open.clear();
    }

    /// Clears all marks; about `steps` rows will be marked next.
    fn begin_marks(&mut self, steps: u32) {
        self.marks.clear();
        self.marks.resize(self.rows.len(), 0);
        self.filter.clear();
        if steps > FILTER_STEPS_MIN {
            self.filter.resize(FILTER_BITS as usize / 64, 0);
            for row in &self.rows {
                insert(&mut self.filter, row % FILTER_BITS);
            }
        }
    }

    /// Marks the candidates that are in `postings`.
    fn mark(&mut self, tree: &Tree, postings: Postings<'_>, mark: u8) {
        let rows = &self.rows;
        let marks = &mut self.marks;
        let filter = &self.filter;
        let last = rows.last().copied().unwrap_or(0);
        tree.each_stored(postings, &mut |part| match part {
            Postings::Bitmap(words, _) => {
                for (row, row_marks) in rows.iter().zip(&mut *marks) {
                    *row_marks |= if has(words, *row) { mark } else { 0 };
                }
            }
            Postings::List(packed, _) => {
                let mut walk = Walk::new(rows);
                unpack(packed, |row| {
                    if (filter.is_empty() || has(filter, row % FILTER_BITS))
                        && let Some(at) = walk.find(row)
                    {
                        marks[at] |= mark;
                    }
                    row < last
                });
            }
            Postings::FromLeaves(_) => {}
        });
    }

    /// Keeps the candidates for which `is_kept` returns true; it gets the open bits and the mark.
    fn retain(&mut self, mut is_kept: impl FnMut(&mut u32, u8) -> bool) {
        let rows = &mut self.rows;
        let open = &mut self.open;
        let marks = &self.marks;
        let mut len = 0;
        for at in 0..rows.len() {
            if is_kept(&mut open[at], marks[at]) {
                (rows[len], open[len]) = (rows[at], open[at]);
                len += 1;
            }
        }
        rows.truncate(len);
        open.truncate(len);
    }
}

/// Calls `each` with the postings of `needle`, whose bytes from `start` are a character after a word, or the first
/// bytes of one; and whether their rows certainly contain the word's end.
fn each_end<'t>(
    tree: &'t Tree,
    needle: &mut Vec<u8>,
    start: usize,
    each: &mut impl FnMut(Postings<'t>, bool),
) {
    let Some((postings, is_exact)) = tree.find(needle) else {
        return;
    };
    if let Ok(character) = str::from_utf8(&needle[start..]) {
        if !character.starts_with(is_of_word) {
            each(postings, is_exact);
        }
        return;
    }
    let after = tree.bytes_after(needle);
    if !is_exact || is_leaf(postings) || after.is_empty() {
        return each(postings, false);
    }
    for next in after {
        needle.push(*next);
        each_end(tree, needle, start, each);
        needle.pop();
    }
}

fn is_leaf(postings: Postings<'_>) -> bool {
    matches!(postings, Postings::List(_, None))
}

/// Replaces `needle` by `parts`.
fn fill_needle<'n>(needle: &'n mut Vec<u8>, parts: &[&[u8]]) -> &'n mut Vec<u8> {
    needle.clear();
    for part in parts {
        needle.extend_from_slice(part);
    }
    needle
}
