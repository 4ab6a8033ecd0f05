use std::fs;
use std::num::NonZeroUsize;

use super::*;
use crate::dataset::{decode, embedded};
use crate::insights::MENTIONS_MIN;
use crate::wire::date::Timestamp;

fn sample() -> Dataset {
    let decoded = decode(embedded(), Timestamp::from_unix(4_000_000_000));
    decoded.unwrap().dataset
}

const OPTIONS: Options = Options {
    threads: NonZeroUsize::MIN,
    mentions_min: MENTIONS_MIN,
};

#[test]
fn a_document_is_kept_for_its_dataset_and_helps_the_next() {
    let state = tempfile::tempdir().unwrap();
    let store = InsightsStore::new(Some(state.path()));
    let mut dataset = sample();
    assert!(store.read(&dataset).is_none());
    let fresh = store.document(&dataset, &OPTIONS, None);
    let kept = store.read(&dataset).unwrap();
    assert!(kept.is_of(&dataset, &OPTIONS));
    assert_eq!(store.document(&dataset, &OPTIONS, Some(kept)), fresh);

    dataset.digest[0] ^= 1;
    dataset.reviews[5].text.push_str(" They called back.");
    let earlier = store.read(&dataset);
    let next = store.document(&dataset, &OPTIONS, earlier);
    assert_eq!(next, insights::document(&dataset, &OPTIONS));
    assert!(store.read(&dataset).unwrap().is_of(&dataset, &OPTIONS));
}

#[test]
fn a_file_of_no_use_is_derived_anew_and_replaced() {
    let state = tempfile::tempdir().unwrap();
    let store = InsightsStore::new(Some(state.path()));
    let (dataset, path) = (sample(), state.path().join(NAME));
    let expected = insights::document(&dataset, &OPTIONS);
    for content in [&b""[..], b"something else altogether", &[0; 4_096]] {
        fs::write(&path, content).unwrap();
        let earlier = store.read(&dataset);
        assert!(earlier.is_none());
        assert_eq!(store.document(&dataset, &OPTIONS, earlier), expected);
        assert!(store.read(&dataset).is_some());
    }
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    assert!(store.read(&dataset).is_none());
}

#[test]
fn where_nothing_can_be_kept_everything_is_derived() {
    let directory = tempfile::tempdir().unwrap();
    let blocked = directory.path().join("state");
    fs::write(&blocked, b"a file where a directory should be").unwrap();
    let dataset = sample();
    let expected = insights::document(&dataset, &OPTIONS);
    for state in [None, Some(blocked.as_path())] {
        let store = InsightsStore::new(state);
        let earlier = store.read(&dataset);
        assert_eq!(store.document(&dataset, &OPTIONS, earlier), expected);
    }
}

#[test]
fn a_document_of_the_operator_is_not_kept() {
    let state = tempfile::tempdir().unwrap();
    let store = InsightsStore::new(Some(state.path()));
    let mut dataset = sample();
    dataset.insights = Some(b"{}".to_vec());
    assert_eq!(store.document(&dataset, &OPTIONS, None), b"{}");
    assert!(!state.path().join(NAME).exists());
}

#[test]
fn insights_of_the_first_dataset_never_replace_those_of_a_later_one() {
    let state = tempfile::tempdir().unwrap();
    let store = InsightsStore::new(Some(state.path()));
    let first = sample();
    let mut later = sample();
    later.digest[0] ^= 1;
    later.reviews[5].text.push_str(" They called back.");
    let derived = insights::derive(&first, &OPTIONS, None);
    store.keep_first(&derived);
    let earlier = store.read(&later);
    assert!(
        earlier
            .as_ref()
            .is_some_and(|kept| kept.is_of(&first, &OPTIONS))
    );
    let _document = store.clone().document(&later, &OPTIONS, earlier);
    store.keep_first(&derived);
    assert!(store.read(&later).unwrap().is_of(&later, &OPTIONS));
}
