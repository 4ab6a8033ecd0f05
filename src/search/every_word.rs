//! The rows whose texts hold all words that are asked for, and none that is excluded, as one bitmap.
//!
//! A word is two needles: itself after a space, and after [`START`]. The tree tells the rows of a needle, or a superset
//! of at most a leaf's. A phrase ends where a word does, so each of its needles is looked up with every byte that may
//! follow a word. The terms are taken from the rarest on: the supersets of all are intersected first, and texts are
//! looked at only for the candidates that are left then. A term of many rows is tried on the texts instead where few
//! candidates are left.

use crate::search::arena::START;
use crate::search::index::Index;
use crate::search::rows::{has, insert, mask, remove, rows_of, unpack, words_for};
use crate::search::tree::{Found, Own, Tree, Within};
use crate::search::words::{TERMS_MAX, Term, WORD_BYTES_MAX, Words, head};
use arrayvec::ArrayVec;
use memchr::memmem::Finder;

/// Memory that searches use again.
#[derive(Debug, Default)]
pub(in crate::search) struct Memory {
    /// The answer.
    pub(in crate::search) rows: Vec<u64>,
    term: TermRows,
    needle: Vec<u8>,
    /// Rows that one list of a term and all terms before have in common.
    hits: Vec<u32>,
}

/// The rows of one term.
#[derive(Debug, Default)]
struct TermRows {
    /// Rows that hold it.
    certain: Vec<u64>,
    /// Rows that may hold it; with `certain` all that do.
    possible: Vec<u64>,
}

/// Looking at a text takes about as long as decoding this many rows of a list.
pub(in crate::search) const STEPS_PER_TEXT: u32 = 48;

/// What is known of a term before any text is looked at.
struct Sought<'t, 'q> {
    term: Term<'q>,
    finder: Finder<'q>,
    /// Rows after a space, after [`START`], and those of the beginning of a phrase behind a sign; together all that
    /// the term has, but for texts whose words are not listed. A term that may begin anywhere has the first alone.
    found: [Option<Found<'t>>; 3],
    /// Whether all texts that have to be looked at were.
    is_settled: bool,
}

/// Puts the rows into `memory.rows` and returns how many there are.
pub(in crate::search) fn mark_rows(index: &Index, words: Words<'_>, memory: &mut Memory) -> u32 {
    let Memory {
        rows,
        term,
        needle,
        hits,
    } = memory;
    let len = words_for(index.len());
    rows.clear();
    rows.resize(len, u64::MAX);
    if let Some(last) = rows.last_mut() {
        *last = mask(&(0..index.len()), len - 1);
    }
    let mut all: [Option<Sought<'_, '_>>; TERMS_MAX] = [const { None }; TERMS_MAX];
    for (slot, term) in all.iter_mut().zip(words.terms()) {
        let sought = Sought::new(index, term, needle);
        if sought.is_nowhere(index) && !term.is_excluded {
            rows.fill(0);
            return 0;
        }
        *slot = Some(sought);
    }
    all.sort_unstable_by_key(|sought| match sought {
        Some(sought) => (sought.term.is_excluded, sought.sum(Within::rows_max)),
        None => (true, u32::MAX),
    });
    for sought in all.iter_mut().flatten() {
        let steps = sought.sum(Within::steps);
        if index.tree.is_none() || has_fewer(rows, steps / STEPS_PER_TEXT) {
            sought.try_texts(index, rows, None);
            sought.is_settled = true;
        } else {
            sought.narrow(index, rows, &mut term.certain, hits);
        }
    }
    for sought in all.iter().flatten().filter(|sought| !sought.is_settled) {
        sought.verify(index, rows, term, needle);
    }
    rows.iter().map(|word| word.count_ones()).sum()
}

/// Tells whether fewer than `count` bits are set; of many, only the first are counted.
fn has_fewer(rows: &[u64], count: u32) -> bool {
    let mut left = count;
    !rows.iter().any(|word| {
        left = left.saturating_sub(word.count_ones());
        left == 0
    })
}

impl<'t, 'q> Sought<'t, 'q> {
    /// Looks the needles up in the tree.
    fn new(index: &'t Index, term: Term<'q>, needle: &mut Vec<u8>) -> Sought<'t, 'q> {
        let tree = index.tree.as_ref();
        let mut find = |parts: &[&[u8]]| tree?.find(join(needle, parts));
        let text = term.text.as_bytes();
        let found = match term.begins_word {
            false => [find(&[text]), None, None],
            true => [
                find(&[b" ", text]),
                find(&[&[START], text]),
                behind_sign(term).and_then(|(word, end)| {
                    let found = find(&[&[START], word.as_bytes(), end])?;
                    Some(Found {
                        exact: false,
                        ..found
                    })
                }),
            ],
        };
        let is_exact = found.iter().flatten().all(|found| found.exact);
        Sought {
            term,
            finder: Finder::new(term.text),
            found,
            is_settled: is_exact && !term.ends_word && index.arena.unlisted().is_empty(),
        }
    }

    /// Tells whether no text holds the term.
    fn is_nowhere(&self, index: &Index) -> bool {
        let is_found = self.found.iter().any(Option::is_some);
        index.tree.is_some() && !is_found && index.arena.unlisted().is_empty()
    }

    /// Adds up what `cost` tells of the rows of all needles.
    fn sum(&self, cost: fn(Within<'t>) -> u32) -> u32 {
        let found = self.found.iter().flatten();
        found.map(|found| cost(found.within)).sum()
    }

    /// Leaves those of `rows` that may hold the term, or that may be without it where it is excluded.
    fn narrow(&self, index: &Index, rows: &mut [u64], bits: &mut Vec<u64>, hits: &mut Vec<u32>) {
        let is_excluded = self.term.is_excluded;
        let unlisted = index.arena.unlisted();
        if !is_excluded && unlisted.is_empty() && self.narrow_at_once(rows, hits) {
            return;
        }
        reset(bits, index);
        let is_kept = |found: &&Found<'t>| !is_excluded || (found.exact && !self.term.ends_word);
        if let Some(tree) = &index.tree {
            let kept = self.found.iter().flatten().filter(is_kept);
            kept.for_each(|found| tree.mark(found.within, bits));
        }
        if !is_excluded {
            unlisted.iter().for_each(|row| insert(bits, *row));
        }
        for (row, word) in rows.iter_mut().zip(&*bits) {
            *row &= if is_excluded { !word } else { *word };
        }
    }

    /// Leaves those of `rows` that may hold the term in one walk over them, where its needles have bitmaps and lists; `false`,
    /// and nothing changed, otherwise. At a million rows each walk over a bitmap takes 10 µs.
    fn narrow_at_once(&self, rows: &mut [u64], hits: &mut Vec<u32>) -> bool {
        let mut bitmaps = ArrayVec::<&[u64], 3>::new();
        hits.clear();
        for found in self.found.iter().flatten() {
            match found.within {
                Within::Bitmap(words, _) => bitmaps.push(words),
                Within::Leaf(packed) | Within::Own(Own { packed, .. }) => unpack(packed, |row| {
                    if has(rows, row) {
                        hits.push(row);
                    }
                    true
                }),
                Within::Below(_) => return false,
            }
        }
        match *bitmaps {
            [] => rows.fill(0),
            [one] => rows.iter_mut().zip(one).for_each(|(row, one)| *row &= one),
            [one, other] => {
                let both = one.iter().zip(other);
                let all = rows.iter_mut().zip(both);
                all.for_each(|(row, (one, other))| *row &= one | other);
            }
            _ => return false,
        }
        hits.iter().for_each(|row| insert(rows, *row));
        true
    }

    /// Looks at the texts of those of `rows` of which the tree does not know whether they hold the term.
    fn verify(&self, index: &Index, rows: &mut [u64], term: &mut TermRows, needle: &mut Vec<u8>) {
        if self.term.ends_word {
            self.mark_phrase(index, term, needle);
            let known = term.certain.iter().zip(&term.possible);
            for (row, (certain, possible)) in rows.iter_mut().zip(known) {
                *row &= match self.term.is_excluded {
                    true => !certain,
                    false => certain | possible,
                };
            }
            return self.try_texts(index, rows, Some(term));
        }
        for (number, found) in self.found.iter().enumerate() {
            let Some(found) = found.as_ref().filter(|found| !found.exact) else {
                continue;
            };
            // What the other needle is known to be in needs no look; a word has two.
            let other = self.found[usize::from(number == 0)].filter(|other| other.exact);
            let known = match other.map(|other| other.within) {
                Some(Within::Bitmap(words, _)) => words,
                _ => &[],
            };
            let mut check = |row: u32| {
                if has(rows, row) && !has(known, row) {
                    self.try_text(index, rows, row);
                }
                true
            };
            match found.within {
                Within::Leaf(packed) | Within::Own(Own { packed, .. }) => unpack(packed, check),
                Within::Bitmap(..) | Within::Below(_) => {
                    (0..index.len()).for_each(|row| _ = check(row));
                }
            }
        }
        for row in index.arena.unlisted() {
            if has(rows, *row) {
                self.try_text(index, rows, *row);
            }
        }
    }

    /// Fills `term` with the rows of a phrase that the tree knows.
    fn mark_phrase(&self, index: &Index, term: &mut TermRows, needle: &mut Vec<u8>) {
        reset(&mut term.certain, index);
        reset(&mut term.possible, index);
        for row in index.arena.unlisted() {
            insert(&mut term.possible, *row);
        }
        let Some(tree) = &index.tree else { return };
        let space = if self.term.begins_word { " " } else { "" };
        let before = [space.as_bytes(), &[START]];
        for (number, found) in self.found.iter().enumerate() {
            let Some(found) = found else { continue };
            match (before.get(number), found.within) {
                (Some(before), Within::Own(_) | Within::Bitmap(..) | Within::Below(_))
                    if found.exact =>
                {
                    let needle = join(needle, &[before, self.term.text.as_bytes()]);
                    self.mark_ends(tree, needle, term);
                }
                _ => tree.mark(found.within, &mut term.possible),
            }
        }
    }

    /// Adds the rows in which a word ends after `needle`; from a byte that is not ASCII alone one cannot tell.
    fn mark_ends(&self, tree: &Tree, needle: &mut Vec<u8>, term: &mut TermRows) {
        let signs = (0..0x80_u8).filter(|byte| !byte.is_ascii_alphanumeric());
        for next in signs.chain([START]).chain(0xc2..=0xf4) {
            needle.push(next);
            if let Some(found) = tree.find(needle) {
                // A word behind a text may be cut off after 29 to 32 bytes, and no word ends there.
                let is_end = next < 0x80 || next == START && self.term.text.len() < 29;
                let is_certain = found.exact && is_end;
                tree.mark(
                    found.within,
                    if is_certain {
                        &mut term.certain
                    } else {
                        &mut term.possible
                    },
                );
            }
            needle.pop();
        }
    }

    /// Looks at the texts of all `rows`, or of those of which it is not certain whether they hold the phrase.
    fn try_texts(&self, index: &Index, rows: &mut [u64], known: Option<&TermRows>) {
        for place in 0..rows.len() {
            let is_open = known.map_or(u64::MAX, |known| {
                known.possible[place] & !known.certain[place]
            });
            let open = [rows[place] & is_open];
            for bit in rows_of(&[&open], 0..64) {
                self.try_text(index, rows, place as u32 * 64 + bit);
            }
        }
    }

    /// Takes `row` out of `rows` where its text does not hold the term, or holds it and must not.
    fn try_text(&self, index: &Index, rows: &mut [u64], row: u32) {
        let text = index.arena.text(row);
        let mut places = self.finder.find_iter(text);
        if places.any(|at| self.term.may_stand(text, at)) == self.term.is_excluded {
            remove(rows, row);
        }
    }
}

/// Makes `bits` an empty bitmap.
fn reset(bits: &mut Vec<u64>, index: &Index) {
    bits.clear();
    bits.resize(words_for(index.len()), 0);
}

/// Returns what is listed behind a text of the first word of a phrase that stands behind a sign, as far as it is, and
/// the mark that follows; `None` where the whole term is listed.
fn behind_sign(term: Term<'_>) -> Option<(&str, &'static [u8])> {
    let word = term.text.split(char::is_whitespace).next()?;
    match word.len() {
        ..=WORD_BYTES_MAX if word.len() == term.text.len() => None,
        ..=WORD_BYTES_MAX => Some((word, &[START])),
        _ => Some((head(word), &[])),
    }
}

/// Replaces `needle` by `parts`.
fn join<'n>(needle: &'n mut Vec<u8>, parts: &[&[u8]]) -> &'n mut Vec<u8> {
    needle.clear();
    parts.iter().for_each(|part| needle.extend_from_slice(part));
    needle
}
