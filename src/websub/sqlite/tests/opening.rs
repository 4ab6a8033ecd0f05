//! Several that open one store at the same time.

use std::sync::Barrier;
use std::thread;

use crate::websub::Moment;
use crate::websub::sqlite::{FILE_NAME, SqliteStore};
use crate::websub::store::{Store, StoreError};

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

/// A state file of version 1, as 0.1.0 wrote it, holds neither of the columns that came later.
#[test]
fn a_file_of_an_earlier_version_is_taken_to_this_one() {
    let temp = tempfile::tempdir().unwrap();
    drop(SqliteStore::open(temp.path()).unwrap());
    let file = rusqlite::Connection::open(temp.path().join(FILE_NAME)).unwrap();
    file.execute_batch(
        "ALTER TABLE meta DROP COLUMN paused_until; ALTER TABLE request DROP COLUMN digest;
         ALTER TABLE request DROP COLUMN next_at; ALTER TABLE request DROP COLUMN last_answer;
         ALTER TABLE notice DROP COLUMN since; ALTER TABLE notice DROP COLUMN next_at; ALTER TABLE notice DROP COLUMN attempts;
         INSERT INTO notice (topic, callback, removal) VALUES ('https://r.example/a', 'https://s.example/', 'failures');
         INSERT INTO request (mode, topic, topic_given, callback, host, lease_s, accepted_at)
         VALUES ('subscribe', 'https://r.example/a', 'https://r.example/a', 'https://s.example/', 's.example', 1, 1);
         PRAGMA user_version = 1",
    )
    .unwrap();
    drop(file);
    let mut store = SqliteStore::open(temp.path()).unwrap();
    let waiting = store.requests(10).unwrap();
    assert_eq!((waiting.len(), waiting[0].last), (1, None));
    assert_eq!(store.is_paused(Moment::ZERO), Ok(false));
    let told = store.take_notices(10, Moment::ZERO).unwrap();
    assert_eq!((told.len(), told[0].since), (1, Moment::ZERO));
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
