//! Sets of rows at the bounds of words, lists and blocks, compared with plain sets.

use std::collections::BTreeSet;

use substring_index::rows::{
    RowSet, Walk, count_common, has, insert, mask, pack, packed_count, remove, rows_of,
    rows_of_backwards, unpack, word_of, words_for,
};

/// Rows at the bounds of words.
const ROWS: [u32; 9] = [0, 1, 62, 63, 64, 65, 127, 128, 191];

fn bitmap(rows: &[u32], words: usize) -> Vec<u64> {
    let mut bits = vec![0; words];
    for row in rows {
        insert(&mut bits, *row);
    }
    bits
}

#[test]
fn a_bitmap_has_the_rows_that_were_inserted_and_not_removed() {
    assert_eq!([0, 1, 64, 65, 128].map(words_for), [0, 1, 1, 2, 2]);
    let mut bits = bitmap(&ROWS, 3);
    assert_eq!(bits, [3 | 3 << 62, 3 | 1 << 63, 1 | 1 << 63]);
    // Rows past the end.
    insert(&mut bits, 192);
    remove(&mut bits, 192);
    assert!(!has(&bits, 192));
    for row in 0..192 {
        assert_eq!(has(&bits, row), ROWS.contains(&row), "{row}");
    }
    // A row that is added twice is there once.
    insert(&mut bits, 62);
    assert!(has(&bits, 62));
    remove(&mut bits, 62);
    remove(&mut bits, 128);
    assert_eq!(bits, [3 | 1 << 63, 3 | 1 << 63, 1 << 63]);
}

#[test]
fn the_rows_of_a_range_are_those_that_all_bitmaps_have() {
    let one = bitmap(&ROWS, 3);
    let other = bitmap(&[1, 2, 63, 64, 127, 190, 191], 3);
    let both = [1, 63, 64, 127, 191];
    let bounds = [0, 1, 2, 62, 63, 64, 65, 127, 128, 190, 191, 192];
    for start in bounds {
        for end in bounds {
            let range = start..end;
            let expected: Vec<u32> = both.into_iter().filter(|row| range.contains(row)).collect();
            let bitmaps: [&[u64]; 2] = [&one, &other];
            let found: Vec<u32> = rows_of(&bitmaps, range.clone()).collect();
            assert_eq!(found, expected, "{range:?}");
            let mut back: Vec<u32> = rows_of_backwards(&bitmaps, range.clone()).collect();
            back.reverse();
            assert_eq!(back, expected, "{range:?}");
            assert_eq!(
                count_common(&bitmaps, &range),
                expected.len() as u32,
                "{range:?}"
            );
            for index in 0..4 {
                let mut bits = bitmap(&[], 4);
                for row in range.clone() {
                    insert(&mut bits, row);
                }
                assert_eq!(mask(&range, index), bits[index], "{range:?} {index}");
                let common = one
                    .get(index)
                    .zip(other.get(index))
                    .map_or(0, |(a, b)| a & b);
                assert_eq!(word_of(&bitmaps, &range, index), common & bits[index]);
            }
        }
    }
}

#[test]
fn words_are_counted_in_blocks_and_alone() {
    // A block has 32 words, between the first and the last one.
    for words in [2, 3, 33, 34, 35, 65, 66, 67, 98, 330] {
        let mut bits = vec![0_u64; words];
        for (index, word) in bits.iter_mut().enumerate() {
            *word = (index as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        }
        let expected: u32 = bits.iter().map(|word| word.count_ones()).sum();
        let all = 0..words as u32 * 64;
        assert_eq!(count_common(&[&bits], &all), expected, "{words}");
        let full = vec![u64::MAX; words];
        assert_eq!(count_common(&[&full], &all), words as u32 * 64);
        assert_eq!(count_common(&[&full, &bits], &all), expected, "{words}");
        assert_eq!(
            count_common(&[&full], &(1..words as u32 * 64 - 1)),
            words as u32 * 64 - 2
        );
    }
}

#[test]
fn a_set_gives_its_rows_and_counts_those_of_a_range() {
    let few: Vec<u32> = vec![3, 64, 700];
    let many: Vec<u32> = (0..1_000).filter(|row| row % 7 == 3).collect();
    for (rows, of) in [(few.clone(), 100_000), (few, 1_000), (many, 1_000)] {
        let set = RowSet::new(rows.clone(), of);
        let mut found = Vec::new();
        set.each_row(|row| found.push(row));
        assert_eq!(found, rows);
        for range in [0..of, 3..3, 3..4, 4..64, 4..65, 64..701, 700..of.min(701)] {
            let expected = rows.iter().filter(|row| range.contains(row)).count() as u32;
            assert_eq!(set.count_in(&range), expected, "{range:?}");
        }
    }
    // Of fewer than 512 rows, only an empty set is a list.
    assert!(matches!(RowSet::new(vec![], 100), RowSet::List(_)));
    assert!(matches!(RowSet::new(vec![1], 100), RowSet::Bitmap(_, 1)));
    assert!(matches!(RowSet::new(vec![1], 1_023), RowSet::Bitmap(_, 1)));
    assert!(matches!(RowSet::new(vec![1], 1_024), RowSet::List(_)));
}

#[test]
fn packed_rows_have_a_byte_for_each_seven_bits() {
    let rows = [0, 127, 255, 16_638, 16_639, 2_113_791, u32::MAX];
    let mut packed = Vec::new();
    pack(rows.into_iter(), &mut packed);
    assert_eq!(
        packed,
        [
            0, 127, 0x80, 1, 0xff, 0x7f, 1, 0x80, 0x80, 0x80, 1, 0x80, 0xfe, 0xfe, 0xfe, 0x0f
        ]
    );
    assert_eq!(packed_count(&packed), 7);
    let mut back = Vec::new();
    unpack(&packed, |row| {
        back.push(row);
        true
    });
    assert_eq!(back, rows);
    // It ends where the caller has enough, and where a row is incomplete.
    let mut calls = 0;
    unpack(&packed, |_| {
        calls += 1;
        calls < 3
    });
    assert_eq!(calls, 3);
    unpack(&[0x80], |row| panic!("{row} is incomplete"));
}

#[test]
fn a_walk_finds_the_positions_of_ascending_rows() {
    let lists: [Vec<u32>; 4] = [
        vec![],
        vec![5],
        (0..40).map(|number| number * 3).collect(),
        (0..200).filter(|row| row % 5 != 2).collect(),
    ];
    for rows in lists {
        let wanted: BTreeSet<u32> = rows.iter().copied().collect();
        for step in [1, 2, 3, 7, 30, 119] {
            let mut walk = Walk::new(&rows);
            for row in (0..240).step_by(step) {
                let expected = rows.binary_search(&row).ok();
                assert_eq!(expected.is_some(), wanted.contains(&row));
                assert_eq!(walk.find(row), expected, "{row} by {step}");
                // The same row again.
                assert_eq!(walk.find(row), expected, "{row} by {step}");
            }
        }
    }
}
