//! What the tree knows of a term of `query` or `words`, and how it narrows the rows selected so far.
//!
//! A word is two needles: itself after a space, and after [`START`]. The tree tells the rows of a needle, or a superset
//! of at most a leaf's; what is not certain is looked up in the texts. A phrase ends where a word does, so each of its
//! needles is looked up with every byte that may follow a word.

use crate::search::arena::START;
use crate::search::index::Index;
use crate::search::rows::{Walk, has, insert, remove, rows_of, unpack, words_for};
use crate::search::tree::{Postings, Tree};
use crate::search::words::{Term, is_of_word, listed_part};
use crate::wire::text::truncate;
use arrayvec::ArrayVec;
use memchr::memmem::Finder;
use std::hint::black_box;

/// A term, and what is known of it before any text is looked at.
pub(super) struct TermLookup<'t, 'q> {
    pub(super) term: Term<'q>,
    finder: Finder<'q>,
    /// What the tree has found; together all rows that the term has.
    needles: ArrayVec<Needle<'t>, 3>,
}

/// A spelling of a term in the arena.
#[derive(Clone, Copy)]
struct Needle<'t> {
    /// What stands before the term.
    before: &'static [u8],
    /// Rows among which are all of the needle, and whether they are exactly those.
    postings: Postings<'t>,
    exact: bool,
}

/// Rows that are candidates, few of them.
#[derive(Debug, Default)]
pub(super) struct Candidates {
    /// Ascending.
    pub(super) rows: Vec<u32>,
    /// For each row the terms, by their bits, for which its text is still to be looked at.
    pub(super) open: Vec<u32>,
    /// What the postings of one term say of each row.
    marks: Vec<u8>,
}

/// Memory that searches use again.
#[derive(Debug, Default)]
pub(super) struct Memory {
    needle: Vec<u8>,
    /// Rows that certain lists of a term have in common with those selected so far.
    hits: Vec<u32>,
    /// The same of lists that are not certain.
    open: Vec<u32>,
    /// Rows of certain lists, as a bitmap, where these are many.
    marks: Vec<u64>,
}

/// Lists with more than one row in so many are put into a bitmap; of shorter ones each row is looked up in the selection.
const MARKED_ONE_IN: u32 = 64;

/// Looking at a text takes about as long as decoding this many rows of a list.
const STEPS_PER_TEXT: u32 = 48;

impl<'t, 'q> TermLookup<'t, 'q> {
    /// Looks the needles of `term` up; without a tree nothing is known.
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
            // Behind a sign, only a part of the term may be listed.
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

    /// Returns at most how many rows hold the term.
    pub(super) fn rows_max(&self) -> u32 {
        self.sum(Postings::rows_max)
    }

    /// Tells whether no text holds the term.
    pub(super) fn is_nowhere(&self, index: &Index) -> bool {
        index.tree.is_some() && self.needles.is_empty()
    }

    /// Tells whether all needles lead to leaves.
    pub(super) fn is_leaf(&self) -> bool {
        self.needles.iter().all(|needle| is_leaf(needle.postings))
    }

    /// Tells whether the tree alone answers for the term.
    pub(super) fn is_certain(&self) -> bool {
        !self.term.ends_word && self.needles.iter().all(|needle| needle.exact)
    }

    /// Returns the rows of the term, where one needle tells them all.
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

    /// Calls `each` with the postings of the term, and whether their rows certainly hold it.
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
            // From a byte that is not ASCII alone one cannot tell whether a word ends.
            for next in signs.chain([START]).chain(0xc2..=0xf4) {
                needle.push(next);
                if let Some((postings, exact)) = tree.find(needle) {
                    // A word behind a text may be cut off after 29 to 32 bytes, and no word ends there.
                    let is_end = next < 0x80 || next == START && self.term.text.len() < 29;
                    each(postings, exact && is_end);
                }
                needle.pop();
            }
        }
    }

    /// Leaves those of `bits` that the term selects.
    pub(super) fn narrow_bits(&self, index: &'t Index, bits: &mut [u64], memory: &mut Memory) {
        let Memory {
            needle,
            hits,
            open,
            marks,
        } = memory;
        hits.clear();
        open.clear();
        marks.clear();
        if self.sum(Postings::steps) > index.len() / MARKED_ONE_IN {
            marks.resize(bits.len(), 0);
        }
        let mut bitmaps = ArrayVec::<&[u64], 3>::new();
        if let Some(tree) = &index.tree {
            self.each_postings(tree, needle, |postings, is_certain| {
                tree.each_kept(postings, &mut |kept| match kept {
                    Postings::Bitmap(words, _) if is_certain && bitmaps.len() < 2 => {
                        bitmaps.push(words);
                    }
                    kept if is_certain && !marks.is_empty() => {
                        kept.each_row(|row| insert(marks, row));
                    }
                    kept => {
                        let rows = if is_certain { &mut *hits } else { &mut *open };
                        kept.each_row(|row| {
                            if has(bits, row) {
                                rows.push(row);
                            }
                        });
                    }
                });
            });
        } else {
            open.extend(rows_of(&[bits], 0..index.len()));
        }
        if !marks.is_empty() {
            bitmaps.push(marks);
        }
        open.retain(|row| !bitmaps.iter().any(|words| has(words, *row)));
        retain_by_text(index, open, |_| true, |_, row| self.holds(index, row));
        hits.append(open);
        let is_excluded = self.term.is_excluded;
        let flip = if is_excluded { u64::MAX } else { 0 };
        match bitmaps[..] {
            [one] => {
                let both = bits.iter_mut().zip(one);
                both.for_each(|(bits, one)| *bits &= one ^ flip);
            }
            // Of two, the last one twice.
            [one, other, ..] => {
                let last = bitmaps[bitmaps.len() - 1].iter();
                let all = bits.iter_mut().zip(one).zip(other).zip(last);
                all.for_each(|(((bits, one), other), last)| *bits &= (one | other | last) ^ flip);
            }
            [] if is_excluded => {}
            [] => bits.fill(0),
        }
        let change = if is_excluded { remove } else { insert };
        hits.iter().for_each(|row| change(bits, *row));
    }

    /// Leaves those of `candidates` that the term may select; `bit` says in their `open` that their texts tell.
    pub(super) fn narrow_candidates(
        &self,
        index: &'t Index,
        candidates: &mut Candidates,
        bit: u32,
        memory: &mut Memory,
    ) {
        let texts = candidates.rows.len() as u32;
        let is_costly = self.sum(Postings::steps) > texts.saturating_mul(STEPS_PER_TEXT);
        let Some(tree) = index.tree.as_ref().filter(|_| !is_costly) else {
            return candidates.open.iter_mut().for_each(|open| *open |= bit);
        };
        candidates.begin_marks();
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

    /// Fills `rows` with all rows that may hold the term, ascending; `bits` is overwritten.
    pub(super) fn collect(
        &self,
        index: &'t Index,
        rows: &mut Vec<u32>,
        bits: &mut Vec<u64>,
        memory: &mut Memory,
    ) {
        let Some(tree) = &index.tree else { return };
        let mut is_sorted = true;
        self.each_postings(tree, &mut memory.needle, |postings, _| {
            tree.each_kept(postings, &mut |kept| {
                let start = rows.len();
                kept.each_row(|row| rows.push(row));
                is_sorted &= start == 0 || rows.len() == start || rows[start - 1] < rows[start];
            });
        });
        if !is_sorted && rows.len() < SORTED_MAX {
            rows.sort_unstable();
            rows.dedup();
        } else if !is_sorted {
            bits.clear();
            bits.resize(words_for(index.len()), 0);
            rows.iter().for_each(|row| insert(bits, *row));
            rows.clear();
            rows.extend(rows_of(&[bits], 0..index.len()));
        }
    }

    /// Leaves those of `candidates` that other parts of the needle lead to as well, where the first walk saw only its
    /// beginning. They remain open.
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
            if start == 0 || candidates.rows.len() <= CANDIDATES_FEW {
                continue;
            }
            candidates.begin_marks();
            match tree.find(&text.as_bytes()[start..]).map(|found| found.0) {
                None => {}
                Some(postings) if postings.steps() > NARROWING_STEPS_MAX => continue,
                Some(postings) => candidates.mark(tree, postings, CERTAIN),
            }
            candidates.retain(|_, mark| mark > 0);
        }
    }

    /// Tells whether the text of `row` holds the term.
    fn holds(&self, index: &Index, row: u32) -> bool {
        let term = &self.term;
        if !term.begins_word && !term.ends_word {
            // What is listed behind the text is in it.
            return self.finder.find(index.arena.row(row)).is_some();
        }
        let text = index.arena.text(row);
        let mut places = self.finder.find_iter(text);
        places.any(|at| term.may_stand(text, at))
    }
}

/// What postings say of a candidate.
const POSSIBLE: u8 = 1;
const CERTAIN: u8 = 2;

/// So many rows of several lists are sorted sooner than put into a bitmap.
const SORTED_MAX: usize = 512;

/// Where other parts of a needle begin that are looked up too, in eighths of it.
const PARTS: [usize; 4] = [4, 6, 2, 5];

/// So few texts are looked at sooner than the tree is walked once more.
const CANDIDATES_FEW: usize = 12;

/// A list of more rows is not decoded to narrow a leaf's.
const NARROWING_STEPS_MAX: u32 = 2048;

impl Candidates {
    /// Leaves those whose texts say what is open of `terms`.
    pub(super) fn look_at_texts(&mut self, index: &Index, terms: &[TermLookup<'_, '_>]) {
        let Candidates { rows, open, .. } = self;
        let holds = |at: usize, row: u32| {
            let terms = (0..).zip(terms);
            let mut asked = terms.filter(|(bit, _)| open[at] >> bit & 1 == 1);
            asked.all(|(_, term)| term.holds(index, row) != term.term.is_excluded)
        };
        retain_by_text(index, rows, |at| open[at] != 0, holds);
    }

    fn begin_marks(&mut self) {
        self.marks.clear();
        self.marks.resize(self.rows.len(), 0);
    }

    /// Marks the candidates that are in `postings`.
    fn mark(&mut self, tree: &Tree, postings: Postings<'_>, mark: u8) {
        let Candidates { rows, marks, .. } = self;
        tree.each_kept(postings, &mut |kept| match kept {
            Postings::Bitmap(words, _) => {
                for (row, known) in rows.iter().zip(&mut *marks) {
                    *known |= if has(words, *row) { mark } else { 0 };
                }
            }
            Postings::List(packed, _) => {
                let mut walk = Walk::new(rows);
                unpack(packed, |row| {
                    if let Some(at) = walk.find(row) {
                        marks[at] |= mark;
                    }
                    !walk.is_done()
                });
            }
            Postings::FromLeaves(_) => {}
        });
    }

    /// Leaves those of which `is_kept` says so, who gets what is open and the mark.
    fn retain(&mut self, mut is_kept: impl FnMut(&mut u32, u8) -> bool) {
        let Candidates { rows, open, marks } = self;
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

/// Leaves those of `rows` that are not open, or that `holds` by their texts.
fn retain_by_text(
    index: &Index,
    rows: &mut Vec<u32>,
    is_open: impl Fn(usize) -> bool,
    holds: impl Fn(usize, u32) -> bool,
) {
    let mut kept = 0;
    for start in (0..rows.len()).step_by(TEXTS_AHEAD) {
        let block = start..rows.len().min(start + TEXTS_AHEAD);
        // Nothing waits for these bytes, so the lines of all texts come from memory together, not one after the other.
        let lines = block.clone().filter(|at| is_open(*at)).flat_map(|at| {
            let text = index.arena.row(rows[at]).iter();
            text.take(TEXT_AHEAD_BYTES).step_by(64)
        });
        black_box(lines.fold(0, |all, byte| all ^ byte));
        for at in block {
            if !is_open(at) || holds(at, rows[at]) {
                rows[kept] = rows[at];
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

fn is_leaf(postings: Postings<'_>) -> bool {
    matches!(postings, Postings::List(_, None))
}

/// Replaces `needle` by `parts`.
fn join<'n>(needle: &'n mut Vec<u8>, parts: &[&[u8]]) -> &'n mut Vec<u8> {
    needle.clear();
    parts.iter().for_each(|part| needle.extend_from_slice(part));
    needle
}
