//! The rows whose texts hold all words that are asked for, and none that is excluded, as one bitmap.
//!
//! A word is two needles: itself after a space, and after [`START`]. The tree tells the rows of a needle, or a superset
//! of at most a leaf's. The terms are taken from the rarest on: the supersets of all are intersected first, and texts
//! are looked at only for the candidates that are left then. A term of many rows is tried on the texts instead where
//! few candidates are left.

use crate::search::arena::START;
use crate::search::index::Index;
use crate::search::rows::{has, insert, mask, remove, rows_of, unpack, words_for};
use crate::search::tree::{Found, Own, Tree, Within};
use crate::search::words::{TERMS_MAX, Term, Words};
use memchr::memmem::Finder;

/// Memory that searches use again.
#[derive(Debug, Default)]
pub(in crate::search) struct Memory {
    /// The answer.
    pub(in crate::search) rows: Vec<u64>,
    term: Vec<u64>,
    needle: Vec<u8>,
}

/// Looking at a text takes about as long as decoding this many rows of a list.
pub(in crate::search) const STEPS_PER_TEXT: u32 = 48;

/// What is known of a term before any text is looked at.
struct Sought<'t, 'q> {
    term: Term<'q>,
    finder: Finder<'q>,
    /// The needles; a term that may begin anywhere has one.
    found: [Option<Found<'t>>; 2],
}

/// Puts the rows into `memory.rows` and returns how many there are.
pub(in crate::search) fn mark_rows(index: &Index, words: Words<'_>, memory: &mut Memory) -> u32 {
    let Memory { rows, term, needle } = memory;
    let len = words_for(index.len());
    rows.clear();
    rows.extend((0..len).map(|place| mask(&(0..index.len()), place)));
    let mut count = index.len();
    let mut all: [Option<Sought<'_, '_>>; TERMS_MAX] = [const { None }; TERMS_MAX];
    for (slot, term) in all.iter_mut().zip(words.terms()) {
        let sought = Sought::new(index.tree.as_ref(), term, needle);
        if index.tree.is_some() && !term.is_excluded && sought.found().next().is_none() {
            rows.fill(0);
            return 0;
        }
        *slot = Some(sought);
    }
    all.sort_unstable_by_key(|sought| match sought {
        Some(sought) => (sought.term.is_excluded, sought.rows_max()),
        None => (true, u32::MAX),
    });
    for sought in all.iter_mut().flatten() {
        let is_long = sought.steps() / STEPS_PER_TEXT > count;
        if index.tree.is_none() || is_long {
            sought.try_texts(index, rows);
            sought.found = [None, None];
        } else {
            sought.narrow(index, rows, term);
        }
        count = rows.iter().map(|word| word.count_ones()).sum();
    }
    for sought in all.iter().flatten() {
        sought.verify(index, rows);
    }
    rows.iter().map(|word| word.count_ones()).sum()
}

impl<'t, 'q> Sought<'t, 'q> {
    /// Looks both needles up in the tree.
    fn new(tree: Option<&'t Tree>, term: Term<'q>, needle: &mut Vec<u8>) -> Sought<'t, 'q> {
        let mut find = |before: &[u8]| {
            needle.clear();
            needle.extend_from_slice(before);
            needle.extend_from_slice(term.text.as_bytes());
            tree?.find(&*needle)
        };
        Sought {
            term,
            finder: Finder::new(term.text),
            found: match term.is_anywhere {
                true => [find(b""), None],
                false => [find(b" "), find(&[START])],
            },
        }
    }

    fn found(&self) -> impl Iterator<Item = &Found<'t>> {
        self.found.iter().flatten()
    }

    /// Returns at most how many rows the term has, a leaf's by its bytes.
    fn rows_max(&self) -> u32 {
        let rows = self.found().map(|found| match found.within {
            Within::Leaf(packed) => packed.len() as u32,
            Within::Own(own) => own.count,
            Within::Below(node) => node.count,
            Within::Bitmap(_, count) => count,
        });
        rows.sum()
    }

    /// Returns roughly how many rows must be decoded for the term.
    fn steps(&self) -> u32 {
        let steps = self.found().map(|found| match found.within {
            Within::Leaf(packed) => packed.len() as u32,
            Within::Own(own) => own.count,
            Within::Below(node) => node.steps,
            Within::Bitmap(..) => 0,
        });
        steps.sum()
    }

    /// Leaves those of `rows` that may hold the term, or that may be without it where it is excluded.
    fn narrow(&self, index: &Index, rows: &mut [u64], memory: &mut Vec<u64>) {
        let is_excluded = self.term.is_excluded;
        let kept = |found: &&Found<'t>| found.exact || !is_excluded;
        if let (false, [Some(only), None] | [None, Some(only)]) = (is_excluded, &self.found)
            && let Within::Bitmap(words, _) = only.within
        {
            rows.iter_mut()
                .zip(words)
                .for_each(|(row, word)| *row &= word);
            return;
        }
        memory.clear();
        memory.resize(rows.len(), 0);
        for found in self.found().filter(kept) {
            match found.within {
                Within::Leaf(packed) | Within::Own(Own { packed, .. }) => {
                    unpack(packed, index.len(), |row| {
                        insert(memory, row);
                        true
                    });
                }
                Within::Bitmap(words, _) => {
                    memory
                        .iter_mut()
                        .zip(words)
                        .for_each(|(row, word)| *row |= word);
                }
                Within::Below(node) => {
                    if let Some(tree) = &index.tree {
                        tree.mark(node, memory);
                    }
                }
            }
        }
        for (row, word) in rows.iter_mut().zip(memory.iter()) {
            *row &= if is_excluded { !word } else { *word };
        }
    }

    /// Looks at the texts of those of `rows` of which the tree does not know whether they hold the term.
    fn verify(&self, index: &Index, rows: &mut [u64]) {
        for (place, found) in self.found.iter().enumerate() {
            let Some(found) = found.as_ref().filter(|found| !found.exact) else {
                continue;
            };
            // What the other needle is known to be in needs no look.
            let other = self.found[1 - place].filter(|other| other.exact);
            let known = match other.map(|other| other.within) {
                Some(Within::Bitmap(words, _)) => words,
                _ => &[],
            };
            let mut check = |row: u32| {
                let is_open = has(rows, row) && !has(known, row);
                if is_open && self.is_in(index, row) == self.term.is_excluded {
                    remove(rows, row);
                }
                true
            };
            match found.within {
                Within::Leaf(packed) | Within::Own(Own { packed, .. }) => {
                    unpack(packed, index.len(), check);
                }
                Within::Bitmap(words, _) => {
                    for row in rows_of(&[words], 0..index.len()) {
                        check(row);
                    }
                }
                Within::Below(_) => {
                    for row in 0..index.len() {
                        check(row);
                    }
                }
            }
        }
    }

    /// Looks at the texts of all `rows`.
    fn try_texts(&self, index: &Index, rows: &mut [u64]) {
        for place in 0..rows.len() {
            let word = [rows[place]];
            for bit in rows_of(&[&word], 0..64) {
                let row = place as u32 * 64 + bit;
                if self.is_in(index, row) == self.term.is_excluded {
                    remove(rows, row);
                }
            }
        }
    }

    fn is_in(&self, index: &Index, row: u32) -> bool {
        let text = index.arena.text(row);
        let begins = |at: usize| at > 0 && matches!(text[at - 1], b' ' | START);
        let mut places = self.finder.find_iter(text);
        places.any(|at| self.term.is_anywhere || begins(at))
    }
}
