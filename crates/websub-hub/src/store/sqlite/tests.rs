use std::os::unix::fs::PermissionsExt;
use std::sync::Barrier;
use std::thread;

use super::super::deliveries;
use super::*;
use crate::hub::store::{Accept, Quotas, Store, StoreError, TOMBSTONES_MAX};
use crate::hub::{Callback, HubRequest, Mode, StoreLocation, UnixMillis};

fn at(ms: i64) -> UnixMillis {
    UnixMillis::new(1_800_000_000_000 + ms)
}

/// Stores requests with these numbers.
fn accept(store: &mut Store, numbers: std::ops::Range<usize>) -> Result<(), StoreError> {
    let one = |number: usize| Accept {
        request: HubRequest {
            mode: Mode::Subscribe,
            topic_given: "https://r.example/feed.xml".to_owned(),
            topic: "https://r.example/feed.xml".to_owned(),
            callback: Callback::parse(&format!("https://s{number}.example/")).expect("URL"),
            lease_asked_s: None,
            secret: None,
        },
        lease_s: 600,
    };
    let all: Vec<Accept> = numbers.map(one).collect();
    let answers = store.accept(&all, &Quotas::new(100_000, 100_000), at(0))?;
    assert!(answers.iter().all(Result::is_ok));
    Ok(())
}

fn open(dir: &Path) -> Result<Store, StoreError> {
    StoreLocation::Directory(dir.to_owned()).open()
}

/// Creates a store with `count` requests in a temporary directory.
fn stored(count: usize) -> (tempfile::TempDir, PathBuf, Store) {
    let temp = tempfile::tempdir().expect("directory");
    let dir = temp.path().join("state");
    let mut store = open(&dir).expect("opened");
    accept(&mut store, 0..count).expect("accepted");
    (temp, dir, store)
}

fn waiting(store: &mut Store) -> usize {
    store.requests(1_000).expect("listed").len()
}

#[test]
fn the_directory_is_0700_and_its_files_0600() {
    let (_temp, dir, mut store) = stored(1);
    assert_eq!(store.try_take_role(), Ok(true));
    let mode = |path: &Path| fs::metadata(path).expect("metadata").permissions().mode() & 0o777;
    assert_eq!(mode(&dir), 0o700);
    for name in [FILE_NAME, LOG_NAME, "hub.sqlite3-shm", LOCK_NAME] {
        assert_eq!(mode(&dir.join(name)), 0o600, "{name}");
    }
}

#[test]
fn commits_wait_for_the_disk() {
    let (_temp, _dir, mut store) = stored(1);
    let mut read = |name: &str| {
        let row = store.connection.query_one(&format!("PRAGMA {name}"), &[]);
        row.expect("pragma").values
    };
    assert_eq!(read("journal_mode"), [Value::Text("wal".to_owned())]);
    assert_eq!(read("synchronous"), [Value::Integer(2)]);
    assert_eq!(read("secure_delete"), [Value::Integer(1)]);
}

#[test]
fn a_damaged_cut_or_foreign_file_is_named_and_left_as_it_is() {
    let (_temp, dir, store) = stored(90);
    drop(store);
    let path = dir.join(FILE_NAME);
    let whole = fs::read(&path).expect("read");
    let mut bad: Vec<Vec<u8>> = Vec::new();
    for damage in [0, 40, 100, 4096] {
        let mut bytes = whole.clone();
        let end = (damage + 2000).min(bytes.len());
        bytes[damage..end].fill(0xa5);
        bad.push(bytes);
    }
    for length in [0, 1, 99, 512, 4096, whole.len() - 4096, whole.len() - 1] {
        bad.push(whole[..length].to_vec());
    }
    for (number, bytes) in bad.iter().enumerate() {
        fs::write(&path, bytes).expect("written");
        let error = open(&dir).map(drop).expect_err("damaged");
        let is_named = matches!(error.cause, DbError::Corrupt(_) | DbError::Foreign(_));
        assert!(is_named, "{number}: {error:?}");
        let place = path.to_string_lossy();
        assert!(error.to_string().starts_with(&*place), "{error}");
        assert_eq!(fs::read(&path).expect("read"), *bytes);
    }
    for (sql, what) in [
        ("CREATE TABLE theirs (x)", ": not a state file of reviewd"),
        (
            "PRAGMA application_id = 1920366436; PRAGMA user_version = 99",
            ": schema 99 is newer than this program's 5",
        ),
    ] {
        fs::remove_file(&path).expect("removed");
        let other = rusqlite::Connection::open(&path).expect("made");
        other.execute_batch(sql).expect("made");
        drop(other);
        let error = open(&dir).map(drop).expect_err("other");
        assert!(matches!(error.cause, DbError::Foreign(_)), "{error:?}");
        assert!(error.to_string().contains(what), "{error}");
    }
}

#[test]
fn a_file_or_log_that_is_missing_is_damage_where_there_was_one() {
    let (_temp, dir, store) = stored(1);
    drop(store);
    let open = || open(&dir).map(|mut store| waiting(&mut store));
    assert_eq!(fs::metadata(dir.join(LOG_NAME)).expect("kept").len(), 0);
    fs::remove_file(dir.join(LOG_NAME)).expect("removed");
    let error = open().expect_err("missing").to_string();
    assert!(error.contains("hub.sqlite3-wal is missing"), "{error}");
    // Version 0.1.0 removes the log.
    fs::write(dir.join(LOCK_NAME), "of version 0.1.0").expect("written");
    assert_eq!((open(), open()), (Ok(1), Ok(1)));
    fs::remove_file(dir.join(FILE_NAME)).expect("removed");
    assert!(open().is_err_and(|error| matches!(error.cause, DbError::Corrupt(_))));
    assert!(!dir.join(FILE_NAME).exists());
    fs::remove_file(dir.join(LOCK_NAME)).expect("removed");
    assert_eq!(open(), Ok(0), "a fresh start");
}

#[test]
fn an_error_of_another_file_names_that_file() {
    let temp = tempfile::tempdir().expect("directory");
    let lock = temp.path().join(LOCK_NAME);
    fs::create_dir(&lock).expect("made");
    let error = open(temp.path()).map(drop).expect_err("no file");
    assert!(
        error.to_string().contains(&*lock.to_string_lossy()),
        "{error}"
    );
    let below_a_file = temp.path().join(FILE_NAME).join("state");
    let error = open(&below_a_file).map(drop).expect_err("no directory");
    let place = format!("{}: Not a directory", below_a_file.display());
    assert!(error.to_string().contains(&place), "{error}");
}

#[test]
fn a_full_or_read_only_disk_is_named_and_costs_nothing_that_was_promised() {
    let (_temp, _dir, mut store) = stored(1);
    let set = |store: &mut Store, pragma: &str, value: i64| {
        let sql = format!("PRAGMA {pragma} = {value}");
        store.connection.query(&sql, &[]).expect("set");
    };
    set(&mut store, "query_only", 1);
    let error = accept(&mut store, 1..2).expect_err("read-only");
    assert!(error.cause == DbError::ReadOnly, "{error:?}");
    set(&mut store, "query_only", 0);
    let pages = store.connection.query_one("PRAGMA page_count", &[]);
    let pages = pages.and_then(|row| row.get("page_count")).expect("pages");
    set(&mut store, "max_page_count", pages);
    let error = accept(&mut store, 1..90).expect_err("full");
    assert!(error.cause == DbError::DiskFull, "{error:?}");
    assert_eq!(waiting(&mut store), 1);
    set(&mut store, "max_page_count", 1_000_000);
    accept(&mut store, 1..90).expect("room");
    assert_eq!(waiting(&mut store), 90);
}

#[test]
fn what_is_due_is_found_by_index_and_not_by_scan() {
    let (_temp, _dir, mut store) = stored(0);
    for sql in deliveries::QUERIES {
        let sql = format!("EXPLAIN QUERY PLAN {sql} LIMIT $5").replace("HOSTS", "1 = 1");
        let values = [1, 0, 2, 4, 5].map(Value::Integer);
        let plan = store.connection.query(&sql, &values).expect("plan");
        let plan = format!("{plan:?}");
        let is_search = plan.contains("SEARCH subscription USING INDEX subscription_");
        assert!(is_search && !plan.contains("SCAN"), "{plan}");
    }
}

#[test]
fn the_newest_ten_thousand_tombstones_are_kept_and_the_oldest_is_dropped() {
    let (_temp, _dir, mut store) = stored(0);
    let insert = "INSERT INTO tombstone (id, topic, host, removal, at, created_at)
         SELECT $1, 't', 'h', 'unsubscribed', $2, 0";
    let most = TOMBSTONES_MAX as i64;
    for (ids, oldest) in [(1..most + 1, 1), (most + 1..most + 2, 2)] {
        let rows: Vec<_> = ids.map(|id| vec![id.into(), at(id).into()]).collect();
        let inserted = store.write(|db| db.execute_each(insert, &rows));
        inserted.expect("inserted");
        let swept = store.sweep(Duration::from_secs(3_600), at(20_000));
        swept.expect("swept");
        let kept = store.tombstones(usize::MAX).expect("tombstones");
        assert_eq!(kept.len(), TOMBSTONES_MAX);
        assert_eq!(kept.last().map(|stone| stone.at), Some(at(oldest)));
    }
}

/// SQLite does not wait for connections that enable the write-ahead log at the same time; the hub retries.
#[test]
fn a_new_store_may_be_opened_by_several_at_once() {
    for round in 0..20 {
        let temp = tempfile::tempdir().unwrap();
        let gate = Barrier::new(4);
        let location = StoreLocation::Directory(temp.path().to_owned());
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    gate.wait();
                    let opened = location.await_usable(None);
                    assert!(opened.is_ok(), "round {round}: {opened:?}");
                });
            }
        });
    }
}

#[test]
fn a_denial_is_sent_again_for_a_day_unless_it_arrives() {
    let (_temp, _dir, mut store) = stored(0);
    let insert = "INSERT INTO notice (topic, callback, removal, since, next_at, attempts)
         VALUES ('t', 'https://s.example/', 'gone', $1, $1, 0)";
    let add = |store: &mut Store| store.write(|db| db.execute(insert, &[at(0).into()]));
    add(&mut store).expect("inserted");
    let claim = |store: &mut Store, ms| store.claim_notices(2, at(ms)).expect("claimed");
    let mut now = 0;
    for minutes in [1, 4, 16, 60, 60] {
        assert_eq!(claim(&mut store, now).len(), 1);
        now += minutes * 60_000;
        assert!(claim(&mut store, now - 1).is_empty());
    }
    let day = 86_400_000;
    assert_eq!(claim(&mut store, day - 1).len(), 1);
    assert!(claim(&mut store, day * 2).is_empty());
    add(&mut store).expect("inserted");
    let told = claim(&mut store, day * 2);
    store.end_notice(told[0].id).expect("ended");
    assert!(claim(&mut store, day * 3).is_empty());
}

/// The file was written by the first published version.
#[test]
fn a_file_of_an_earlier_version_is_taken_to_this_one() {
    let temp = tempfile::tempdir().unwrap();
    let file = rusqlite::Connection::open(temp.path().join(FILE_NAME)).unwrap();
    let sql = include_str!("../../../../../tests/fixtures/hub/sqlite-1.sql");
    file.execute_batch(sql).unwrap();
    drop(file);
    let mut store = open(temp.path()).unwrap();
    let waiting = store.requests(10).unwrap();
    assert_eq!((waiting.len(), &waiting[0].state.last), (1, &None));
    let listed = store.list(0, 10).unwrap();
    let [listed] = listed.as_slice() else {
        panic!("{listed:?}");
    };
    assert_eq!((listed.is_undelivered, listed.state.attempt), (true, 7));
    // That version deleted a denial when it sent it, so this one was never sent and is due, however old it is.
    let told = store.claim_notices(10, at(0)).unwrap();
    assert_eq!(told.len(), 1);
    assert_eq!(store.tombstones(10).unwrap().len(), 1);
}
