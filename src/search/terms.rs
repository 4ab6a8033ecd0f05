//! Looks up a term of `query` or `words` in the tree, and narrows the rows selected so far.
//!
//! A word is two needles: the word after a space, and after [`START`]. The tree returns the rows of a needle, or a
//! superset no larger than a leaf; uncertain rows are verified in the texts. A phrase must end at the end of a word, so
//! each of its needles is looked up with every byte that may follow a word.

use crate::search::arena::START;
use crate::search::filter::{Term, is_of_word, listed_part};
use crate::search::index::Index;
use crate::search::rows::{Walk, has, insert, remove, rows_of, unpack, words_for};
use crate::search::tree::{Postings, Tree};
use crate::wire::text::truncate;
use arrayvec::ArrayVec;
use memchr::memmem::Finder;
use std::hint::black_box;

/// A term, and its lookup results before any text is read.
pub(super) struct TermLookup<'t, 'q> {
    pub(super) term: Term<'q>,
    finder: Finder<'q>,
    /// The tree's results; together they contain all rows of the term.
    needles: ArrayVec<Needle<'t>, 3>,
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
}

/// Lists with more than one row in this many become a bitmap; each row of a shorter list is looked up in the selection.
const MARKED_ONE_IN: u32 = 64;

/// Reading a text takes as long as decoding about this many rows of a list, or twice as many without prefetching.
const STEPS_PER_TEXT: u32 = 48;
const STEPS_PER_OPEN_TEXT: u32 = 96;

impl<'t, 'q> TermLookup<'t, 'q> {
    /// Looks up the needles of `term`; without a tree there are no results.
    pub(super) fn new(index: &'t Index, term: Term<'q>, memory: &mut Memory) -> Self {
        let mut needles = ArrayVec::new();
        let text = term.text.as_bytes();
        let mut find = |before: &'static [u8], text: &[u8], after: &[u8], is_whole: bool| {
            let needle = join(&mut memory.needle, &[before, text, after]);
            let found = index.tree.as_ref().and_then(|tree| tree.find(needle));
            needles.extend(found.map(|(postings, exact)| Needle {
                before,
                postings,
                exact: exact && is_whole,
            }));
        };
        if term.begins_word {
            find(b" ", text, b"", true);
            find(&[START], text, b"", true);
            // After a sign, only a part of the term may be listed.
            let part = listed_part(term.text);
            let rest = &term.text[part.len()..];
            if let Some(next) = rest.chars().next() {
                let after: &[u8] = if is_of_word(next) { b"" } else { &[START] };
                find(&[START], part.as_bytes(), after, false);
            }
        } else {
            find(b"", text, b"", true);
        }
        TermLookup {
            term,
            finder: Finder::new(term.text),
            needles,
        }
    }

    /// Returns an upper bound of the number of rows that contain the term.
    pub(super) fn rows_max(&self) -> u32 {
        self.sum(Postings::rows_max)
    }

    /// Tells whether no text contains the term.
    pub(super) fn is_nowhere(&self, index: &Index) -> bool {
        index.tree.is_some() && self.needles.is_empty()
    }

    /// Tells whether all needles lead to leaves.
    pub(super) fn is_leaf(&self) -> bool {
        self.needles.iter().all(|needle| is_leaf(needle.postings))
    }

    /// Tells whether the tree alone determines the rows of the term.
    pub(super) fn is_certain(&self) -> bool {
        !self.term.ends_word && self.needles.iter().all(|needle| needle.exact)
    }

    /// Returns the rows of the term if one needle has all of them.
    pub(super) fn only(&self) -> Option<Postings<'t>> {
        match self.needles[..] {
            [needle] if self.is_certain() => Some(needle.postings),
            _ => None,
        }
    }

    fn sum(&self, cost: fn(Postings<'t>) -> u32) -> u32 {
        let needles = self.needles.iter();
        needles.fold(0, |sum, needle| sum.saturating_add(cost(needle.postings)))
    }

    /// Calls `each` with the postings of the term, and whether their rows certainly contain it.
    fn each_postings(
        &self,
        tree: &'t Tree,
        buffer: &mut Vec<u8>,
        mut each: impl FnMut(Postings<'t>, bool),
    ) {
        for known in &self.needles {
            if !self.term.ends_word || !known.exact || is_leaf(known.postings) {
                each(known.postings, known.exact && !self.term.ends_word);
                continue;
            }
            let needle = join(buffer, &[known.before, self.term.text.as_bytes()]);
            let signs = (0..0x80_u8).filter(|byte| !byte.is_ascii_alphanumeric());
            // A non-ASCII byte alone does not tell whether a word ends.
            for next in signs.chain([START]).chain(0xc2..=0xf4) {
                needle.push(next);
                if let Some((postings, exact)) = tree.find(needle) {
                    // A word listed after a text may be cut off after 29 to 32 bytes, where no word ends.
                    let is_end = next < 0x80 || next == START && self.term.text.len() < 29;
                    each(postings, exact && is_end);
                }
                needle.pop();
            }
        }
    }

    /// Adds all rows that may contain the term to the empty `bits`; uncertain ones go to `memory.open` with `bit`.
    pub(super) fn mark(&self, tree: &'t Tree, bits: &mut [u64], bit: u32, memory: &mut Memory) {
        let possible = &mut memory.possible;
        possible.clear();
        let mut push = |kept: Postings<'_>| kept.each_row(|row| possible.push(row));
        self.each_postings(
            tree,
            &mut memory.needle,
            |postings, is_certain| match is_certain {
                true => tree.mark(postings, bits),
                false => tree.each_kept(postings, &mut push),
            },
        );
        possible.retain(|row| !has(bits, *row));
        possible.iter().for_each(|row| insert(bits, *row));
        memory.open.extend(possible.iter().map(|row| (*row, bit)));
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
        let steps = self.sum(Postings::steps);
        let all = 0..bits.len() as u32 * 64;
        let texts_max = (steps / STEPS_PER_OPEN_TEXT) as usize;
        if rows_of(&[bits], all.clone()).nth(texts_max).is_none() {
            return rows_of(&[bits], all).for_each(|row| memory.open.push((row, bit)));
        }
        let (hits, possible, marks) = (&mut memory.hits, &mut memory.possible, &mut memory.marks);
        hits.clear();
        possible.clear();
        marks.clear();
        if steps > bits.len() as u32 * 64 / MARKED_ONE_IN {
            marks.resize(bits.len(), 0);
        }
        let mut bitmaps = ArrayVec::<&[u64], 3>::new();
        self.each_postings(tree, &mut memory.needle, |postings, is_certain| {
            tree.each_kept(postings, &mut |kept| match kept {
                Postings::Bitmap(words, _) if is_certain && bitmaps.len() < 2 => {
                    bitmaps.push(words);
                }
                kept if is_certain && !marks.is_empty() => {
                    kept.each_row(|row| insert(marks, row));
                }
                kept => kept.each_row(|row| match has(bits, row) {
                    true if is_certain => hits.push(row),
                    true => possible.push(row),
                    false => {}
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
                let words = |number| bitmaps.get(number).unwrap_or(first).iter();
                let all = bits.iter_mut().zip(*first).zip(words(1)).zip(words(2));
                all.for_each(|(((bits, one), two), three)| *bits &= (one | two | three) ^ flip);
            }
            None if is_excluded => {}
            None => bits.fill(0),
        }
        if is_excluded {
            hits.iter().for_each(|row| remove(bits, *row));
        } else {
            let kept = hits.iter().chain(&*possible);
            kept.for_each(|row| insert(bits, *row));
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
        let steps = self.sum(Postings::steps);
        let is_costly = steps > texts.saturating_mul(STEPS_PER_TEXT);
        let Some(tree) = index.tree.as_ref().filter(|_| !is_costly) else {
            return candidates.open.iter_mut().for_each(|open| *open |= bit);
        };
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
        let steps = self.sum(Postings::steps);
        let is_list = |needle: &Needle<'_>| !matches!(needle.postings, Postings::FromLeaves(_));
        if steps > SORTED_MAX && !(self.has_one_needle() && self.needles.iter().all(is_list)) {
            bits.clear();
            bits.resize(words_for(index.len()), 0);
            self.each_postings(tree, &mut memory.needle, |postings, _| {
                tree.mark(postings, bits)
            });
            return rows.extend(rows_of(&[bits], 0..index.len()));
        }
        self.each_postings(tree, &mut memory.needle, |postings, _| {
            tree.each_kept(postings, &mut |kept| kept.each_row(|row| rows.push(row)));
        });
        if !rows.is_sorted() {
            rows.sort_unstable();
        }
        rows.dedup();
    }

    /// Tells whether the rows of the term are those of one needle, so that all are certain, or none.
    pub(super) fn has_one_needle(&self) -> bool {
        self.needles.len() == 1 && (!self.term.ends_word || self.is_leaf())
    }

    /// Keeps the `candidates` that the postings of other parts of the needle also contain, if the first lookup covered
    /// only the needle's beginning. They still must be verified.
    pub(super) fn narrow_by_parts(&self, index: &'t Index, candidates: &mut Candidates) {
        let (Some(tree), [needle]) = (&index.tree, &self.needles[..]) else {
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
            let Some((postings, _)) = tree.find(&text.as_bytes()[start..]) else {
                return candidates.clear();
            };
            if postings.steps() as usize > before * STEPS_PER_CANDIDATE {
                continue;
            }
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

/// Marks of a candidate: whether it possibly or certainly contains the term.
const POSSIBLE: u8 = 1;
const CERTAIN: u8 = 2;

/// Up to this many rows of several lists, sorting is faster than a bitmap.
const SORTED_MAX: u32 = 512;

/// Starts of the other parts of a needle that are looked up, in eighths of its length.
const PARTS: [usize; 4] = [4, 6, 2, 5];

/// Up to this many candidates, reading their texts is faster than another lookup in the tree.
const CANDIDATES_FEW: usize = 12;

/// A list with more rows per candidate than this is not decoded to narrow the candidates.
const STEPS_PER_CANDIDATE: usize = 16;

impl Candidates {
    /// Keeps the candidates whose texts contain the `terms` that are still open.
    pub(super) fn verify_texts(&mut self, index: &Index, terms: &[TermLookup<'_, '_>]) {
        let Candidates { rows, open, .. } = self;
        let mut kept = 0;
        for start in (0..rows.len()).step_by(TEXTS_AHEAD) {
            let block = start..rows.len().min(start + TEXTS_AHEAD);
            // Nothing depends on these bytes, so the cache lines of all texts are loaded in parallel.
            let lines = block.clone().filter(|at| open[*at] != 0).flat_map(|at| {
                let text = index.arena.row(rows[at]).iter();
                text.take(TEXT_AHEAD_BYTES).step_by(64)
            });
            black_box(lines.fold(0, |all, byte| all ^ byte));
            for at in block {
                let (row, open) = (rows[at], open[at]);
                let mut asked = (0..).zip(terms).filter(|(bit, _)| open >> bit & 1 == 1);
                if asked.all(|(_, term)| term.occurs_in(index, row) != term.term.is_excluded) {
                    rows[kept] = row;
                    kept += 1;
                }
            }
        }
        rows.truncate(kept);
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
        self.verify_texts(index, terms);
        self.rows.iter().for_each(|row| insert(bits, *row));
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
            let rows = self.rows.iter();
            rows.for_each(|row| insert(&mut self.filter, row % FILTER_BITS));
        }
    }

    /// Marks the candidates that are in `postings`.
    fn mark(&mut self, tree: &Tree, postings: Postings<'_>, mark: u8) {
        let (rows, marks, filter) = (&self.rows, &mut self.marks, &self.filter);
        let last = rows.last().copied().unwrap_or(0);
        tree.each_kept(postings, &mut |kept| match kept {
            Postings::Bitmap(words, _) => {
                for (row, known) in rows.iter().zip(&mut *marks) {
                    *known |= if has(words, *row) { mark } else { 0 };
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
        let (rows, open, marks) = (&mut self.rows, &mut self.open, &self.marks);
        let mut kept = 0;
        for at in 0..rows.len() {
            if is_kept(&mut open[at], marks[at]) {
                (rows[kept], open[kept]) = (rows[at], open[at]);
                kept += 1;
            }
        }
        rows.truncate(kept);
        open.truncate(kept);
    }
}

/// Bits of the filter of candidates (4 KiB), and the number of rows from which filling it is worthwhile.
const FILTER_BITS: u32 = 1 << 15;
const FILTER_STEPS_MIN: u32 = 1024;

/// Texts that are prefetched before the first of them is read.
const TEXTS_AHEAD: usize = 16;

/// Bytes of each text that are prefetched, by cache lines; most texts are shorter.
const TEXT_AHEAD_BYTES: usize = 1024;

fn is_leaf(postings: Postings<'_>) -> bool {
    matches!(postings, Postings::List(_, None))
}

/// Replaces `needle` by `parts`.
fn join<'n>(needle: &'n mut Vec<u8>, parts: &[&[u8]]) -> &'n mut Vec<u8> {
    needle.clear();
    parts.iter().for_each(|part| needle.extend_from_slice(part));
    needle
}
