//! Texts into an index, and a needle into the rows of the texts that contain it.

use memchr::memmem::Finder;

use crate::arena::{Arena, START};
use crate::fold::fold;
use crate::rows::{insert, rows_of, words_for};
use crate::tree::{IndexOptions, Tree, build_within};

/// An immutable index over texts; the row of a text is its position, from 0.
#[derive(Clone, Debug)]
pub struct SubstringIndex {
    /// The folded texts.
    pub arena: Arena,
    /// `None` if the memory limit is too small for any tree; then texts are scanned.
    pub tree: Option<Tree>,
}

impl SubstringIndex {
    /// Builds the index: O(bytes of text), some seconds for a hundred megabytes of text.
    #[must_use]
    pub fn build<'t>(
        texts: impl ExactSizeIterator<Item = &'t str> + Clone,
        options: &IndexOptions,
    ) -> SubstringIndex {
        SubstringIndex::build_unless(texts, options, &|| false).expect("nothing cancels it")
    }

    /// Builds the index like [`SubstringIndex::build`]; `None` if `cancelled` returns true, which must then stay true.
    #[must_use]
    pub fn build_unless<'t>(
        texts: impl ExactSizeIterator<Item = &'t str> + Clone,
        options: &IndexOptions,
        cancelled: &(dyn Fn() -> bool + Sync),
    ) -> Option<SubstringIndex> {
        let arena = Arena::build(texts);
        let tree = build_within(&arena, options, cancelled);
        if cancelled() {
            return None;
        }
        Some(SubstringIndex { arena, tree })
    }

    /// Counts the texts that contain `needle`, folded like them. An empty needle is in every text that is not empty.
    #[must_use]
    pub fn count(&self, needle: &str) -> usize {
        self.rows(needle).len()
    }

    /// Returns the rows of the texts that contain `needle`, ascending. An empty needle is in every text that is not empty.
    #[must_use]
    pub fn rows(&self, needle: &str) -> Vec<u32> {
        let needle = fold(needle);
        let mut bits = vec![0; words_for(self.arena.rows())];
        self.mark(needle.as_bytes(), &mut bits);
        rows_of(&[&bits], 0..self.arena.rows()).collect()
    }

    /// Returns the rows of the texts in which a word begins with `word`, ascending; `word` has at most
    /// [`WORD_BYTES_MAX`](crate::words::WORD_BYTES_MAX) bytes when it is folded, and begins with a letter or digit.
    #[must_use]
    pub fn rows_of_word(&self, word: &str) -> Vec<u32> {
        let word = fold(word);
        let mut bits = vec![0; words_for(self.arena.rows())];
        for before in [b' ', START] {
            let needle = [&[before], word.as_bytes()].concat();
            self.mark(&needle, &mut bits);
        }
        rows_of(&[&bits], 0..self.arena.rows()).collect()
    }

    /// Adds the rows of the texts that contain the folded `needle` to the bitmap `bits`.
    fn mark(&self, needle: &[u8], bits: &mut [u64]) {
        let finder = Finder::new(needle);
        match &self.tree {
            Some(tree) if !needle.is_empty() => match tree.find(needle) {
                None => {}
                Some((postings, true)) => tree.mark(postings, bits),
                // These texts have the beginning of the needle, so each is read.
                Some((postings, false)) => tree.each_stored(postings, &mut |rows| {
                    rows.each_row(|row| self.mark_if_found(&finder, row, bits));
                }),
            },
            _ => {
                for row in 0..self.arena.rows() {
                    if !self.arena.row(row).is_empty() {
                        self.mark_if_found(&finder, row, bits);
                    }
                }
            }
        }
    }

    /// Adds `row` to `bits` if its text contains the needle of `finder`.
    fn mark_if_found(&self, finder: &Finder<'_>, row: u32, bits: &mut [u64]) {
        if finder.find(self.arena.row(row)).is_some() {
            insert(bits, row);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;

    use proptest::prelude::*;

    use super::*;
    use crate::tree::Tuning;

    /// The answers by reading every text.
    fn scan(texts: &[String], needle: &str) -> Vec<u32> {
        let needle = fold(needle);
        let mut rows = Vec::new();
        for (row, text) in (0..).zip(texts) {
            let text = fold(text);
            if !text.is_empty() && text.contains(&needle) {
                rows.push(row);
            }
        }
        rows
    }

    #[test]
    fn a_word_is_found_after_a_sign_and_not_within_another() {
        let texts = [
            "wheelchair-accessible",
            "inaccessible",
            "an accessible office",
        ];
        let index = SubstringIndex::build(texts.into_iter(), &IndexOptions::default());
        assert_eq!(index.rows_of_word("Access"), [0, 2]);
        assert_eq!(index.rows("access"), [0, 1, 2]);
    }

    #[test]
    fn a_cancelled_build_gives_nothing() {
        let texts = ["one", "two"].into_iter();
        let built = SubstringIndex::build_unless(texts, &IndexOptions::default(), &|| true);
        assert!(built.is_none());
    }

    proptest! {
        #[test]
        fn every_needle_gives_the_rows_of_a_scan(
            texts in prop::collection::vec("[a-cA é\u{df}.\u{2019}]{0,12}", 0..40),
            needle in "[a-cA é\u{df}.\u{2019}]{0,4}",
            leaf_rows_max in 1_u32..6,
            memory_bytes in prop_oneof![Just(0), Just(u64::MAX)],
        ) {
            let options = IndexOptions {
                memory_bytes,
                threads: NonZeroUsize::MIN,
                tuning: Some(Tuning { leaf_rows_max, bitmap_rows_min: 4, union_steps_max: 3 }),
            };
            let index = SubstringIndex::build(texts.iter().map(String::as_str), &options);
            prop_assert_eq!(index.rows(&needle), scan(&texts, &needle));
        }
    }
}
