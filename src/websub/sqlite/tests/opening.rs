//! Several that open one store at the same time.

use std::sync::Barrier;
use std::thread;

use crate::websub::sqlite::SqliteStore;
use crate::websub::store::StoreError;

#[test]
fn an_opening_that_hangs_is_not_waited_for_for_ever() {
    let temp = tempfile::tempdir().unwrap();
    let other = std::fs::File::open(temp.path()).unwrap();
    other.lock().unwrap();
    let error = SqliteStore::open(temp.path()).expect_err("held");
    assert!(matches!(error, StoreError::Busy(_)), "{error:?}");
    other.unlock().unwrap();
    SqliteStore::open(temp.path()).unwrap();
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
                    let opened = SqliteStore::open(temp.path()).map(drop);
                    assert!(opened.is_ok(), "round {round}: {opened:?}");
                });
            }
        });
    }
}
