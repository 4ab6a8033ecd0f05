//! Sets of rows: bitmaps, sorted lists, and lists packed into bytes.

use std::ops::Range;

const LANES: usize = 4;

/// How many bitmap words hold one bit for each of `rows` rows.
pub fn words_for(rows: u32) -> usize {
    (rows as usize).div_ceil(64)
}

/// Tells whether `row` is in the bitmap `words`; rows past its end are not.
pub fn has(words: &[u64], row: u32) -> bool {
    words
        .get((row / 64) as usize)
        .is_some_and(|word| word >> (row % 64) & 1 == 1)
}

/// Adds `row` to the bitmap `words`; rows past its end are left out.
pub fn insert(words: &mut [u64], row: u32) {
    if let Some(word) = words.get_mut((row / 64) as usize) {
        *word |= 1 << (row % 64);
    }
}

/// Removes `row` from the bitmap `words`, which contains it.
pub fn remove(words: &mut [u64], row: u32) {
    if let Some(word) = words.get_mut((row / 64) as usize) {
        *word &= !(1 << (row % 64));
    }
}

/// An immutable set of rows with its size: a bitmap if it is large, else a sorted list.
#[derive(Clone, Debug)]
pub enum RowSet {
    /// One bit for each row, and how many are set.
    Bitmap(Box<[u64]>, u32),
    /// Ascending rows.
    List(Box<[u32]>),
}

impl RowSet {
    /// A set is a bitmap if it has at least one row in 512, and else a list. Below one row in 32 a list is smaller, but
    /// a bitmap finds a row in one step. A bitmap takes at most 64 bytes for each of its rows.
    const BITMAP_FROM_ONE_IN: u32 = 512;

    /// Creates the set of the ascending `list`, out of `rows` rows.
    pub fn new(list: Vec<u32>, rows: u32) -> RowSet {
        let count = list.len() as u32;
        if count < (rows / RowSet::BITMAP_FROM_ONE_IN).max(1) {
            return RowSet::List(list.into());
        }
        let mut words = vec![0; words_for(rows)];
        for row in list {
            insert(&mut words, row);
        }
        RowSet::Bitmap(words.into(), count)
    }

    /// Calls `each` with the rows, ascending.
    pub fn each_row(&self, each: impl FnMut(u32)) {
        match self {
            RowSet::Bitmap(words, _) => {
                rows_of(&[words], 0..words.len() as u32 * 64).for_each(each);
            }
            RowSet::List(rows) => rows.iter().copied().for_each(each),
        }
    }

    /// Counts the rows of `range`, which are not greater than those of the set's bitmap.
    pub fn count_in(&self, range: &Range<u32>) -> u32 {
        match self {
            RowSet::Bitmap(words, _) => count_common(&[words], range),
            RowSet::List(rows) => {
                let before = rows.partition_point(|row| *row < range.start);
                let through = rows.partition_point(|row| *row < range.end);
                through.saturating_sub(before) as u32
            }
        }
    }
}

/// Appends ascending, distinct `rows` to `out`: the first row, then the differences, each as a varint of 7-bit groups.
pub fn pack(rows: impl Iterator<Item = u32>, out: &mut Vec<u8>) {
    let mut last = 0;
    for row in rows {
        let mut delta = row - last;
        last = row;
        while delta >= 0x80 {
            out.push(delta as u8 | 0x80);
            delta >>= 7;
        }
        out.push(delta as u8);
    }
}

/// Returns the number of rows in `packed` without decoding them: only the last byte of each row lacks the top bit.
pub fn packed_count(packed: &[u8]) -> u32 {
    packed.iter().map(|byte| u32::from(*byte < 0x80)).sum()
}

/// Calls `each` for the rows in `packed`, ascending, until it returns `false`.
pub fn unpack(packed: &[u8], mut each: impl FnMut(u32) -> bool) {
    let mut row = 0_u32;
    let mut rest = packed.iter();
    while let Some(first) = rest.next() {
        let mut delta = u32::from(first & 0x7f);
        let mut shift = 7;
        let mut last = first;
        while *last >= 0x80 {
            let Some(byte) = rest.next() else { return };
            delta |= u32::from(byte & 0x7f).wrapping_shl(shift);
            shift += 7;
            last = byte;
        }
        row = row.wrapping_add(delta);
        if !each(row) {
            return;
        }
    }
}

/// Returns the rows of `range` that are in all of `bitmaps`, ascending.
pub fn rows_of(bitmaps: &[&[u64]], range: Range<u32>) -> impl Iterator<Item = u32> {
    let first = (range.start / 64) as usize;
    let last = words_for(range.end);
    (first..last).flat_map(move |index| {
        bits_of(word_of(bitmaps, &range, index)).map(move |bit| index as u32 * 64 + bit)
    })
}

/// Returns the rows of `range` that are in all of `bitmaps`, descending.
pub fn rows_of_backwards(bitmaps: &[&[u64]], range: Range<u32>) -> impl Iterator<Item = u32> {
    let first = (range.start / 64) as usize;
    let last = words_for(range.end);
    (first..last).rev().flat_map(move |index| {
        let turned = word_of(bitmaps, &range, index).reverse_bits();
        bits_of(turned).map(move |bit| index as u32 * 64 + 63 - bit)
    })
}

/// Returns the bits of word `index` of all `bitmaps` that stand for rows of `range`.
pub fn word_of(bitmaps: &[&[u64]], range: &Range<u32>, index: usize) -> u64 {
    bitmaps.iter().fold(mask(range, index), |word, words| {
        word & words.get(index).copied().unwrap_or(0)
    })
}

/// Returns the positions of the bits set in `word`, the lowest first.
fn bits_of(mut word: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        if word == 0 {
            return None;
        }
        let bit = word.trailing_zeros();
        word &= word - 1;
        Some(bit)
    })
}

/// Returns the bits of word `index` of a bitmap that stand for rows of `range`.
pub fn mask(range: &Range<u32>, index: usize) -> u64 {
    let first = index as u64 * 64;
    bits_below(range.end, first) & !bits_below(range.start, first)
}

/// Returns the bits of the rows below `row` in the word whose lowest bit stands for `first`.
fn bits_below(row: u32, first: u64) -> u64 {
    match u64::from(row).saturating_sub(first) {
        bits @ 0..64 => (1_u64 << bits) - 1,
        _ => u64::MAX,
    }
}

/// Finds rows in an ascending list; the queries must be ascending too.
pub struct Walk<'r> {
    rows: &'r [u32],
    at: usize,
}

impl<'r> Walk<'r> {
    /// Starts at the first of `rows`.
    pub fn new(rows: &'r [u32]) -> Walk<'r> {
        Walk { rows, at: 0 }
    }

    /// Returns the position of `row`, which is not less than that of the previous call.
    pub fn find(&mut self, row: u32) -> Option<usize> {
        if self.rows.get(self.at).is_some_and(|first| *first < row) {
            let rest = &self.rows[self.at..];
            let mut bound = 1;
            while bound < rest.len() && rest[bound] < row {
                bound *= 2;
            }
            let passed = bound / 2 + 1;
            let near = &rest[passed..rest.len().min(bound)];
            self.at += passed + near.partition_point(|other| *other < row);
        }
        if self.rows.get(self.at) != Some(&row) {
            return None;
        }
        Some(self.at)
    }
}

/// Counts the rows of `range` that are in all of `bitmaps`, which have a bit for each of them.
pub fn count_common(bitmaps: &[&[u64]], range: &Range<u32>) -> u32 {
    if range.is_empty() {
        return 0;
    }
    let first = (range.start / 64) as usize;
    let last = ((range.end - 1) / 64) as usize;
    // The first and the last word may have rows out of the range.
    let in_first = word_of(bitmaps, range, first).count_ones();
    if first == last {
        return in_first;
    }
    let in_last = word_of(bitmaps, range, last).count_ones();
    in_first + count_words(bitmaps, first + 1..last) + in_last
}

/// Counts the bits of the `words` that are set in all of `bitmaps`. Carry-save adders combine eight words before bits
/// are counted, since a build for all x86-64 machines lacks the popcount instruction; lanes use vector registers.
fn count_words(bitmaps: &[&[u64]], words: Range<usize>) -> u32 {
    let [mut ones, mut twos, mut fours, mut block @ ..] = [[0; LANES]; 3 + 8];
    let mut eights = 0;
    let mut at = words.start;
    while at + 8 * LANES <= words.end {
        block.fill([u64::MAX; LANES]);
        for words in bitmaps {
            let words = words[at..at + 8 * LANES].as_chunks::<LANES>().0;
            for (block, words) in block.iter_mut().zip(words) {
                for lane in 0..LANES {
                    block[lane] &= words[lane];
                }
            }
        }
        let mut carries = [[0; LANES]; 2];
        for (half, carry) in block.chunks_exact(4).zip(&mut carries) {
            let first = add(&mut ones, half[0], half[1]);
            let second = add(&mut ones, half[2], half[3]);
            *carry = add(&mut twos, first, second);
        }
        eights += count(add(&mut fours, carries[0], carries[1]));
        at += 8 * LANES;
    }
    let mut rest = 0;
    for at in at..words.end {
        let common = bitmaps.iter().fold(u64::MAX, |all, words| all & words[at]);
        rest += common.count_ones();
    }
    eights * 8 + count(fours) * 4 + count(twos) * 2 + count(ones) + rest
}

fn count(lanes: [u64; LANES]) -> u32 {
    lanes.iter().map(|lane| lane.count_ones()).sum()
}

/// Adds three bits at each position: the lower bit goes to `sum`, the upper one is returned.
fn add(sum: &mut [u64; LANES], left: [u64; LANES], right: [u64; LANES]) -> [u64; LANES] {
    let mut carry = [0; LANES];
    for lane in 0..LANES {
        let half = sum[lane] ^ left[lane];
        carry[lane] = (sum[lane] & left[lane]) | (half & right[lane]);
        sum[lane] = half ^ right[lane];
    }
    carry
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn counting_by_adders_equals_counting_one_by_one(words in proptest::collection::vec(any::<u64>(), 0..300)) {
            let turned: Vec<u64> = words.iter().map(|word| word.rotate_left(7)).collect();
            let one: u32 = words.iter().map(|word| word.count_ones()).sum();
            let both: u32 = words.iter().zip(&turned).map(|(a, b)| (a & b).count_ones()).sum();
            let all = 0..words.len() as u32 * 64;
            prop_assert_eq!(count_common(&[&words], &all), one);
            prop_assert_eq!(count_common(&[&words, &turned, &words], &all), both);
        }

        #[test]
        fn a_list_and_a_bitmap_count_the_same_rows_of_a_range(
            // With fewer than three of 2,000 rows, a set is a list.
            rows in proptest::collection::btree_set(0..2_000_u32, 3..300),
            start in 0..2_000_u32,
            end in 0..2_000_u32,
        ) {
            let range = start..end;
            let expected = rows.iter().filter(|row| range.contains(row)).count() as u32;
            let list: Vec<u32> = rows.into_iter().collect();
            let bitmap = RowSet::new(list.clone(), 2_000);
            prop_assert!(matches!(bitmap, RowSet::Bitmap(..)));
            prop_assert_eq!(bitmap.count_in(&range), expected);
            prop_assert_eq!(RowSet::List(list.into()).count_in(&range), expected);
        }

        #[test]
        fn unpacking_returns_what_was_packed(rows in proptest::collection::btree_set(0..u32::MAX, 0..300)) {
            let mut packed = Vec::new();
            pack(rows.iter().copied(), &mut packed);
            let mut back = Vec::new();
            unpack(&packed, |row| { back.push(row); true });
            prop_assert_eq!(packed_count(&packed) as usize, rows.len());
            prop_assert!(back.iter().eq(&rows));
        }
    }

    #[test]
    fn a_set_becomes_a_bitmap_at_one_row_in_512() {
        assert!(matches!(
            RowSet::new((0..9).collect(), 5120),
            RowSet::List(_)
        ));
        assert!(matches!(
            RowSet::new((0..10).collect(), 5120),
            RowSet::Bitmap(_, 10)
        ));
    }
}
