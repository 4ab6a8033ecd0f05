//! Bytes that were made to be taken for an index.

use super::*;
use crate::model::Rating;
use crate::search::Tuning;
use crate::search::filter::{Filter, Query, RatingSet, Sort};
use crate::search::run::{Scratch, run};
use crate::search::tree::{Node, Set};

/// A tree of few reviews that has nodes of every kind.
const TUNING: Tuning = Tuning {
    leaf_rows_max: 2,
    bitmap_rows_min: 40,
    union_steps_max: 20,
    unit_places_max: 1 << 20,
    tight_lists: false,
};

/// The same with tight lists, of which many have a base.
const TIGHT: Tuning = Tuning {
    leaf_rows_max: 20,
    tight_lists: true,
    ..TUNING
};

/// Changes a byte of the index that `tuning` makes of `dataset` in 400 ways, and searches whatever is taken.
fn forge_each_part(dataset: &Dataset, tuning: Tuning) {
    let index = Index::build_tuned(&dataset.reviews, &dataset.taxonomy, tuning, &OPTIONS);
    let bytes = encode(&index);
    let back = decode(&bytes, dataset, &OPTIONS).expect("its own bytes");
    assert_eq!(back.tree, index.tree);
    let mut accepted = 0;
    for number in 0..400_usize {
        let mut forged = bytes.clone();
        let place = HEADER_BYTES + number * 7919 % (bytes.len() - HEADER_BYTES - SUM_BYTES);
        forged[place] = forged[place].wrapping_add(1 + (number % 255) as u8);
        seal(&mut forged);
        let Ok(index) = decode(&forged, dataset, &OPTIONS) else {
            continue;
        };
        accepted += 1;
        search_all(&index);
    }
    assert!(accepted > 0);
}

#[test]
fn forged_bytes_never_make_a_search_panic() {
    let dataset = newest(60);
    forge_each_part(&dataset, TUNING);
    forge_each_part(&dataset, TIGHT);
    let index = Index::build_tuned(&dataset.reviews, &dataset.taxonomy, TUNING, &OPTIONS);

    // Rows of 5, 4,000,000,005, and from there on by wrapping around to 10, 11, …; rows that fall; rows past the end.
    let wraps = [
        5, 0x80, 0xd0, 0xac, 0xf3, 14, 0x85, 0xb0, 0xd3, 0x8c, 1, 1, 1, 1,
    ];
    for list in [&wraps[..], &[0], &[59, 1], &[60], &[0xff]] {
        for forge in [forge_leaves, forge_own] {
            let mut forged = index.clone();
            let tree = forged.tree.as_mut().expect("a tree");
            forge(tree, list);
            let mut forged = encode(&forged);
            seal(&mut forged);
            let index = decode(&forged, &dataset, &OPTIONS).expect("lists are taken as they are");
            search_all(&index);
        }
    }
}

/// Fills all lists of leaves with `list`, over and over.
fn forge_leaves(tree: &mut Tree, list: &[u8]) {
    // Few leaves of very many rows: the first leaf of each node takes all of the node's.
    for node in tree.nodes.iter().filter(|node| node.leaf_len > 0) {
        let starts = &mut tree.leaves[node.leaves as usize..][..=usize::from(node.leaf_len)];
        let end = *starts.last().expect("an end");
        starts[1..].fill(end);
        let bytes = &mut tree.lists[starts[0] as usize..end as usize];
        bytes
            .iter_mut()
            .zip(list.iter().cycle())
            .for_each(|(byte, forged)| *byte = *forged);
    }
}

/// Fills all own lists with `list`, over and over, and says that each ends in the last of all numbers.
fn forge_own(tree: &mut Tree, list: &[u8]) {
    for bounds in tree.own_starts.windows(2) {
        let own = &mut tree.own[bounds[0] as usize..bounds[1] as usize];
        let (last, packed) = own.split_at_mut(4);
        last.fill(list[0] | 0x80);
        packed
            .iter_mut()
            .zip(list.iter().cycle())
            .for_each(|(byte, forged)| *byte = *forged);
    }
}

/// Searches for texts of every kind in every order, and looks at each row that is found.
fn search_all(index: &Index) {
    let mut scratch = Scratch::default();
    let grams = ('a'..='z').map(String::from);
    let texts = ["th", "the", "attorney", "ñ", ".", "they were", "with my"].map(String::from);
    for text in grams.chain(texts) {
        for sort in Sort::ALL {
            for ratings in [RatingSet::ALL, RatingSet::only(Rating::MAX)] {
                let filter = Filter {
                    text: Some(&text),
                    ratings,
                    ..Filter::ALL
                };
                let query = Query {
                    filter,
                    sort,
                    limit: 100,
                    cursor: None,
                    ignored: &[],
                };
                let page = run(index, &query, &mut scratch);
                assert!(page.rows.iter().all(|row| row.0 < index.len()), "{text}");
            }
        }
    }
}

#[test]
fn a_tree_in_which_ranges_overlap_is_refused() {
    let dataset = newest(60);
    let index = Index::build_tuned(&dataset.reviews, &dataset.taxonomy, TUNING, &OPTIONS);
    let refusal_of = |forge: &dyn Fn(&mut Tree)| {
        let mut forged = index.clone();
        forge(forged.tree.as_mut().expect("a tree"));
        refusal(&encode(&forged), &dataset, &OPTIONS)
    };
    assert_eq!(refusal_of(&|_| {}), None);
    let damaged = Some(StoredError::Damaged);
    let last_with = |tree: &Tree, has: fn(&Node) -> bool| {
        tree.nodes.iter().rposition(has).expect("such a node")
    };
    let leaves_twice = refusal_of(&|tree| {
        let node = last_with(tree, |node| node.leaf_len > 0);
        tree.nodes[node].leaves = 1;
    });
    assert_eq!(leaves_twice, damaged);
    let labels_twice = refusal_of(&|tree| {
        let node = last_with(tree, |node| node.edge_len > 0);
        tree.nodes[node].labels = 1;
    });
    assert_eq!(labels_twice, damaged);
    let own_twice = refusal_of(&|tree| {
        let node = last_with(tree, |node| matches!(node.set, Set::Own(own) if own > 0));
        tree.nodes[node].set = Set::Own(0);
    });
    assert_eq!(own_twice, damaged);
    let leaves_fall = refusal_of(&|tree| tree.leaves[1] = u32::MAX);
    assert_eq!(leaves_fall, damaged);
    let own_falls = refusal_of(&|tree| tree.own_starts[0] = u32::MAX);
    assert_eq!(own_falls, damaged);
    let bitmap_for_each_child = refusal_of(&|tree| {
        let node = last_with(tree, |node| {
            matches!(node.set, Set::Own(_)) && node.inner_len > 0
        });
        let child = tree.nodes[node].inner as usize;
        tree.nodes[node].set = Set::Below;
        tree.nodes[child].set = Set::Bitmap(0);
    });
    assert_eq!(bitmap_for_each_child, damaged);
}

#[test]
fn tight_lists_that_could_be_read_without_end_are_refused() {
    let dataset = newest(60);
    let index = Index::build_tuned(&dataset.reviews, &dataset.taxonomy, TIGHT, &OPTIONS);
    let mut forged = index.clone();
    let tree = forged.tree.as_mut().expect("a tree");
    let node = tree.nodes.iter().find(|node| node.leaf_len > 0);
    let leaf = node.expect("leaves").leaves as usize;
    // Its own base.
    tree.lists[tree.leaves[leaf] as usize] = leaf as u8 + 1;
    let found = refusal(&encode(&forged), &dataset, &OPTIONS);
    assert_eq!(found, Some(StoredError::Damaged));
}

#[test]
fn lists_are_of_one_kind_or_the_other() {
    let dataset = newest(60);
    let index = Index::build_tuned(&dataset.reviews, &dataset.taxonomy, TIGHT, &OPTIONS);
    let bytes = encode(&index);
    assert_eq!(bytes[HEADER_BYTES - 8], 1);
    let mut other = bytes.clone();
    other[HEADER_BYTES - 8] = 2;
    seal(&mut other);
    let found = refusal(&other, &dataset, &OPTIONS);
    assert_eq!(found, Some(StoredError::Version));
}

#[test]
fn more_bitmaps_than_nodes_are_refused() {
    let dataset = newest(60);
    let index = Index::build_tuned(&dataset.reviews, &dataset.taxonomy, TUNING, &OPTIONS);
    let refusal_of = |more: usize| {
        let mut forged = index.clone();
        let tree = forged.tree.as_mut().expect("a tree");
        tree.bitmaps.resize(tree.nodes.len() + more, [0].into());
        refusal(&encode(&forged), &dataset, &OPTIONS)
    };
    assert_eq!(refusal_of(0), None);
    assert_eq!(refusal_of(1), Some(StoredError::Damaged));
}
