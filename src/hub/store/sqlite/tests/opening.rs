//! Several that open one store at the same time.

use std::sync::Barrier;
use std::thread;

use crate::hub::Moment;
use crate::hub::store::{FILE_NAME, Store, StoreError};

#[test]
fn an_opening_that_hangs_is_not_waited_for_for_ever() {
    let temp = tempfile::tempdir().unwrap();
    let other = std::fs::File::open(temp.path()).unwrap();
    other.lock().unwrap();
    let error = Store::in_directory(temp.path()).expect_err("held");
    assert!(matches!(error, StoreError::Busy(_)), "{error:?}");
    other.unlock().unwrap();
    Store::in_directory(temp.path()).unwrap();
}

/// As the first published version wrote it.
#[test]
fn a_file_of_an_earlier_version_is_taken_to_this_one() {
    let temp = tempfile::tempdir().unwrap();
    let file = rusqlite::Connection::open(temp.path().join(FILE_NAME)).unwrap();
    let sql = include_str!("../../../../../tests/fixtures/hub/sqlite-1.sql");
    file.execute_batch(sql).unwrap();
    drop(file);
    let mut store = Store::in_directory(temp.path()).unwrap();
    let waiting = store.requests(10).unwrap();
    assert_eq!((waiting.len(), &waiting[0].state.last), (1, &None));
    let listed = store.list(0, 10).unwrap();
    assert_eq!(
        (listed.len(), listed[0].owed, listed[0].state.attempt),
        (1, true, 7)
    );
    assert_eq!(store.is_paused(Moment::ZERO), Ok(false));
    let told = store.take_notices(10, Moment::ZERO).unwrap();
    assert_eq!((told.len(), told[0].since), (1, Moment::ZERO));
    assert_eq!(store.tombstones(10).unwrap().len(), 1);
}

#[test]
fn a_new_store_may_be_opened_by_several_at_once() {
    for round in 0..20 {
        let temp = tempfile::tempdir().unwrap();
        let gate = Barrier::new(4);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    gate.wait();
                    let opened = Store::in_directory(temp.path()).map(drop);
                    assert!(opened.is_ok(), "round {round}: {opened:?}");
                });
            }
        });
    }
}
