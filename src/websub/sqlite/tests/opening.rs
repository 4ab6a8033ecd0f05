//! Several that open one store at the same time.

use std::sync::Barrier;
use std::thread;

use crate::websub::sqlite::SqliteStore;

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
