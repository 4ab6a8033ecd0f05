//! Lists that come back as they were, and lists of any bytes.

use super::*;
use crate::search::Tuning;
use crate::search::arena::Arena;
use crate::search::tests::reviews;
use crate::search::tree::{Node, grow_tree};
use proptest::prelude::*;
use std::num::NonZeroUsize;

fn ranks_of(list: &List<'_>, universe: u32) -> Vec<u32> {
    let mut ranks = Vec::new();
    list.each_rank(universe, |rank| {
        ranks.push(rank);
        true
    });
    ranks
}

fn check_round(ranks: &[u32], universe: u32, base: Option<u32>) {
    let mut bytes = Vec::new();
    pack_ranks(ranks, universe, base, &mut bytes);
    let list = List::parse(&bytes);
    assert_eq!((list.base, list.count as usize), (base, ranks.len()));
    assert!(list.is_sound(base.map(|_| universe)));
    assert_eq!(ranks_of(&list, universe), ranks);
}

proptest! {
    #[test]
    fn ranks_come_back(ranks in proptest::collection::btree_set(0..5000_u32, 0..600), more in 0..40_u32, shift in 0..16_u32) {
        let ranks: Vec<u32> = ranks.into_iter().map(|rank| rank << shift).collect();
        let universe = ranks.last().map_or(0, |last| last + 1) + more;
        check_round(&ranks, universe, None);
        check_round(&ranks, universe, Some(more));
    }

    #[test]
    fn any_bytes_are_ascending_ranks_below_the_universe(bytes in proptest::collection::vec(any::<u8>(), 0..300), universe in 0..3000_u32) {
        let list = List::parse(&bytes);
        let ranks = ranks_of(&list, universe);
        prop_assert!(ranks.is_sorted_by(|a, b| a < b) && ranks.iter().all(|rank| *rank < universe));
        prop_assert!(ranks.len() as u32 <= list.count);
    }
}

#[test]
fn lists_at_their_bounds_come_back() {
    check_round(&[], 0, None);
    check_round(&[], 9, None);
    check_round(&[8], 9, Some(0));
    check_round(&[u32::MAX - 1], u32::MAX, Some(u32::MAX - 1));
    check_round(&(0..100).collect::<Vec<_>>(), 100, Some(7));
    check_round(&(0..100).collect::<Vec<_>>(), 101, None);
    // One gap of all the others' bits: its code is longer than a word.
    let mut ranks: Vec<u32> = (0..4000).collect();
    ranks.push(2_000_000);
    check_round(&ranks, 2_000_001, None);
}

#[test]
fn a_list_has_as_many_codes_as_its_rows_may_take() {
    let list = |count: u32, bytes: usize, base: Option<u32>| List {
        base,
        count,
        low_bits: 0,
        codes: &[0xff; 64][..bytes],
        is_all: base.is_some() && bytes == 0,
    };
    assert!(list(8, 1, None).is_sound(None));
    assert!(!list(9, 1, None).is_sound(None), "fewer than a bit a row");
    assert!(list(8, 38, None).is_sound(None));
    assert!(
        !list(8, 39, None).is_sound(None),
        "more than any code takes"
    );
    assert!(list(9, 2, Some(0)).is_sound(Some(10)));
    assert!(list(10, 0, Some(0)).is_sound(Some(10)), "all of its base");
    assert!(
        !list(10, 2, Some(0)).is_sound(Some(10)),
        "all, and yet codes"
    );
    assert!(!list(9, 0, Some(0)).is_sound(Some(10)));
}

/// A tree whose leaves are these lists, below one node.
fn tree_of(lists: &[(&[u32], Option<u32>, u32)]) -> Tree {
    let mut tree = Tree {
        is_tight: true,
        ..Tree::default()
    };
    for (ranks, base, universe) in lists {
        tree.leaves.push(tree.lists.len() as u32);
        pack_ranks(ranks, *universe, *base, &mut tree.lists);
    }
    tree.leaves.push(tree.lists.len() as u32);
    tree.nodes.push(Node {
        leaf_len: lists.len() as u16,
        ..Node::EMPTY
    });
    tree
}

fn rows_of(tree: &Tree, leaf: u32) -> Vec<u32> {
    rows_before(tree, leaf, 1000)
}

fn rows_before(tree: &Tree, leaf: u32, end: u32) -> Vec<u32> {
    let (mut rows, mut spare) = (Vec::new(), Vec::new());
    tree.each_tight(leaf, end, &mut spare, |row| {
        rows.push(row);
        true
    });
    rows
}

#[test]
fn a_chain_has_three_bases_at_most() {
    let all: Vec<u32> = (0..10).map(|row| row * 9).collect();
    let chain = [
        (&all[..], None, 1000),
        (&[0, 1, 3, 4, 5, 7, 8, 9], Some(0), 10),
        (&[0, 2, 3, 4, 5, 6, 7], Some(1), 8),
        (&[0, 1, 2, 4, 5, 6], Some(2), 7),
        (&[0, 1, 2, 3, 5], Some(3), 6),
    ];
    let tree = tree_of(&chain[..4]);
    assert!(tree.has_sound_lists(1000, 1000));
    assert_eq!(
        rows_of(&tree, 2),
        [0, 3, 4, 5, 7, 8, 9].map(|rank| rank * 9)
    );
    assert_eq!(rows_of(&tree, 3), [0, 3, 4, 7, 8, 9].map(|rank| rank * 9));
    let tree = tree_of(&chain);
    assert!(!tree.has_sound_lists(1000, 1000));
    assert_eq!(rows_of(&tree, 4), [0_u32; 0]);
}

#[test]
fn a_list_that_leads_to_itself_or_nowhere_is_not_sound_and_has_no_row() {
    for base in [0, 1, 2, u32::MAX - 1] {
        let tree = tree_of(&[(&[0], Some(base), 9)]);
        assert!(!tree.has_sound_lists(1000, 1000));
        assert_eq!(rows_of(&tree, 0), [0_u32; 0]);
    }
}

#[test]
fn bases_have_at_most_eight_rows_for_each_of_a_lists_own() {
    let sound = |rows: u32| {
        let all: Vec<u32> = (0..rows).collect();
        let own: Vec<u32> = (0..10).collect();
        tree_of(&[(&all, None, 1000), (&own, Some(0), rows)]).has_sound_lists(1000, 1000)
    };
    assert!(sound(80));
    assert!(!sound(81));
    assert!(!sound(9), "fewer than its own");
}

#[test]
fn no_list_and_no_base_has_more_rows_than_there_are() {
    let tree = tree_of(&[(&[1, 2, 3], None, 9), (&[0, 2], Some(0), 3)]);
    assert!(tree.has_sound_lists(1000, 3));
    assert!(!tree.has_sound_lists(1000, 2));
    let own = tree_of(&[(&[1, 2, 3], None, 9)]);
    assert!(own.has_sound_lists(1000, 3) && !own.has_sound_lists(1000, 2));
}

#[test]
fn rows_before_an_end_are_those_of_the_whole_list() {
    let all: Vec<u32> = (0..10).map(|row| row * 9).collect();
    let chain = [
        (&all[..], None, 1000),
        (&[0, 1, 2, 7, 8, 9], Some(0), 10),
        (&[0, 1, 2, 3, 4, 5], Some(1), 6),
    ];
    let tree = tree_of(&chain);
    for leaf in 0..3 {
        let whole = rows_before(&tree, leaf, 1000);
        for end in 0..90 {
            let expected: Vec<u32> = whole.iter().copied().filter(|row| *row < end).collect();
            assert_eq!(rows_before(&tree, leaf, end), expected, "{leaf} {end}");
        }
    }
}

#[test]
fn lists_have_no_more_rows_together_than_texts_have_bytes() {
    let tree = tree_of(&[(&[1, 2, 3], None, 9), (&[4, 5], None, 9)]);
    assert!(tree.has_sound_lists(5, 9));
    assert!(!tree.has_sound_lists(4, 9));
}

/// Grows the tree of `texts` with both kinds of lists.
fn grow_both(texts: Vec<String>, leaf_rows_max: u32) -> [Tree; 2] {
    let arena = Arena::build(&reviews(texts), NonZeroUsize::MIN);
    [false, true].map(|tight_lists| {
        let tuning = Tuning {
            leaf_rows_max,
            bitmap_rows_min: u32::MAX,
            union_steps_max: u32::MAX,
            unit_places_max: 1 << 26,
            tight_lists,
        };
        grow_tree(&arena, tuning, NonZeroUsize::MIN, u64::MAX).expect("no bound")
    })
}

/// Returns how many lists of `tree` have a base.
fn based(tree: &Tree) -> usize {
    let leaves = |node: &Node| node.leaves..node.leaves + u32::from(node.leaf_len);
    let lists = tree.nodes.iter().flat_map(leaves);
    lists
        .filter(|leaf| List::parse(tree.leaf(*leaf)).base.is_some())
        .count()
}

#[test]
fn a_tight_tree_has_the_rows_of_the_other_and_is_a_good_deal_smaller() {
    let words = ["attorney", "lawyer", "probate", "estate", "kind", "ñandú"];
    let text = |number: usize| {
        let word = |place: usize| words[number * (place * 7 + 3) / 5 % words.len()];
        format!("{} {} {number}", word(1), word(2))
    };
    let [plain, tight] = grow_both((0..2_000).map(text).collect(), 400);
    assert!(!plain.is_tight && tight.is_tight);
    assert!(tight.has_sound_lists(1 << 20, 1 << 20));
    assert_eq!(plain.nodes, tight.nodes);
    assert!(based(&tight) > 20, "{}", based(&tight));
    assert!(tight.lists.len() * 2 < plain.lists.len());
    let mut spare = Vec::new();
    let mut rows = |tree: &Tree, leaf: u32| {
        let mut rows = Vec::new();
        tree.each_row(leaf, u32::MAX, &mut spare, |row| {
            rows.push(row);
            true
        });
        rows
    };
    for node in &plain.nodes {
        assert_eq!(plain.head(node), tight.head(node));
        for leaf in node.leaves..node.leaves + u32::from(node.leaf_len) {
            assert_eq!(rows(&plain, leaf), rows(&tight, leaf), "leaf {leaf}");
        }
    }
}

#[test]
fn a_list_of_eight_rows_has_a_base_and_one_of_seven_has_none() {
    for (count, expected) in [(7, 0), (8, 1)] {
        let texts = (0..40 + count).map(|number| match number {
            0..20 => "x",
            20..40 => "y",
            _ => "xyz",
        });
        let [_, tight] = grow_both(texts.map(str::to_owned).collect(), 12);
        // "yz" and "z" are leaves, "y" is none.
        assert_eq!(based(&tight), expected, "{count}");
    }
}
