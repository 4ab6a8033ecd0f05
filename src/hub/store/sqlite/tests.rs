#[path = "tests/bounds.rs"]
mod bounds;
#[path = "tests/opening.rs"]
mod opening;

use std::collections::HashMap;
use std::os::unix::fs::PermissionsExt;

use super::super::deliveries;
use super::*;
use crate::hub::store::{
    Accept, Claim, Quotas, Recorded, Report, Store, TopicVersion, WaitingRequest,
};
use crate::hub::subscription::Policy;
use crate::hub::{Callback, HubRequest, Mode, Moment};
use crate::wire::date::Timestamp;

const TOPIC: &str = "https://r.example/feed.xml";

fn at(ms: i64) -> Moment {
    Moment::from_unix_ms(1_800_000_000_000 + ms)
}

fn policy() -> Policy {
    Policy {
        failures_max: 3,
        retry_delays: vec![Duration::from_secs(30)],
        retry_after_max: Duration::from_secs(60),
    }
}

fn quotas() -> Quotas {
    Quotas {
        requests: 100,
        requests_per_host: 100,
        subscriptions: 100,
        subscriptions_per_host: 100,
    }
}

fn version() -> TopicVersion {
    TopicVersion {
        url: TOPIC.to_owned(),
        digest: [1; 32],
        dated: Timestamp::from_unix(0),
    }
}

fn accept(number: usize) -> Accept {
    let callback = Callback::parse(&format!("https://s{number}.example/token")).expect("URL");
    let (mode, topic) = (Mode::Subscribe, TOPIC.to_owned());
    let request = HubRequest {
        mode,
        topic_given: topic.clone(),
        topic,
        callback,
        lease_asked_s: None,
        secret: None,
    };
    Accept {
        request,
        lease_s: 600,
    }
}

fn mode_of(path: &Path) -> u32 {
    fs::metadata(path).expect("metadata").permissions().mode() & 0o777
}

/// Opens a store in a directory that closes with the test.
fn fresh() -> (tempfile::TempDir, PathBuf, Store) {
    let temp = tempfile::tempdir().expect("directory");
    let dir = temp.path().join("state");
    let mut store = Store::in_directory(&dir).expect("opened");
    store.publish(&[version()], at(0)).expect("published");
    (temp, dir, store)
}

fn set(store: &mut Store, pragma: &str, value: impl std::fmt::Display) {
    let sql = format!("PRAGMA {pragma} = {value}");
    store.connection.query(&sql, &[]).expect("set");
}

/// Makes the subscriptions with these numbers active.
fn activate(store: &mut Store, numbers: std::ops::Range<usize>) {
    let all: Vec<Accept> = numbers.map(accept).collect();
    store.accept(&all, &quotas(), at(0)).expect("accepted");
    let claim = Claim {
        limit: 100,
        per_host: 10,
        busy: HashMap::new(),
    };
    let found = store.claim_requests(&claim, at(0)).expect("claimed");
    let confirm = |found: &WaitingRequest| Report::Verified {
        id: found.id,
        asked_at: at(1),
        confirmed: true,
    };
    let reports: Vec<Report> = found.iter().map(confirm).collect();
    let recorded = store.record(&reports, &policy(), at(1));
    assert_eq!(recorded, Ok(vec![Recorded::Activated; all.len()]));
}

#[test]
fn the_directory_is_0700_and_its_files_0600() {
    let (_temp, dir, mut store) = fresh();
    activate(&mut store, 0..1);
    assert_eq!(store.try_take_role(), Ok(true));
    assert_eq!(mode_of(&dir), 0o700);
    let mut names = Vec::new();
    for entry in fs::read_dir(&dir).expect("listed") {
        let entry = entry.expect("entry");
        assert_eq!(mode_of(&entry.path()), 0o600, "{:?}", entry.path());
        names.push(entry.file_name().into_string().expect("name"));
    }
    names.sort();
    assert_eq!(
        names,
        [
            "hub.lock",
            "hub.sqlite3",
            "hub.sqlite3-shm",
            "hub.sqlite3-wal"
        ]
    );
}

#[test]
fn commits_wait_for_the_disk() {
    let (_temp, _dir, mut store) = fresh();
    let mut read = |name: &str| {
        let row = store.connection.query_one(&format!("PRAGMA {name}"), &[]);
        row.expect("pragma").values
    };
    assert_eq!(read("journal_mode"), [Value::Text("wal".to_owned())]);
    assert_eq!(read("synchronous"), [Value::Integer(2)]);
}

#[test]
fn what_was_committed_is_there_after_a_copy_of_the_files_is_opened() {
    // The files as they lie on the disk while the store is still open are what a killed process leaves behind.
    let (temp, dir, mut store) = fresh();
    activate(&mut store, 0..1);
    store
        .accept(&[accept(1)], &quotas(), at(2))
        .expect("accepted")[0]
        .expect("room");
    let copy = temp.path().join("copy");
    fs::create_dir(&copy).expect("made");
    for name in ["hub.sqlite3", "hub.sqlite3-wal"] {
        fs::copy(dir.join(name), copy.join(name)).expect("copied");
    }
    fs::set_permissions(&copy, fs::Permissions::from_mode(0o700)).expect("closed");
    let mut killed = Store::in_directory(&copy).expect("opened");
    killed.recover(at(3)).expect("recovered");
    assert_eq!(killed.counts(at(3)), store.counts(at(3)));
    assert_eq!(killed.list(0, 10), store.list(0, 10));
}

#[test]
fn a_damaged_file_is_named_and_left_as_it_is() {
    for damage in [0, 40, 100, 4096] {
        let (_temp, dir, mut store) = fresh();
        activate(&mut store, 0..90);
        drop(store);
        let path = dir.join(FILE_NAME);
        let mut bytes = fs::read(&path).expect("read");
        let end = (damage + 2000).min(bytes.len());
        bytes[damage..end].fill(0xa5);
        fs::write(&path, &bytes).expect("written");
        let error = Store::in_directory(&dir).expect_err("damaged");
        assert!(
            matches!(error, StoreError::Corrupt(..) | StoreError::Foreign(..)),
            "{damage}: {error:?}"
        );
        assert!(
            error.to_string().starts_with(&*path.to_string_lossy()),
            "{error}"
        );
        assert_eq!(fs::read(&path).expect("read"), bytes);
    }
}

#[test]
fn a_truncated_file_is_named_at_every_length() {
    let (temp, dir, mut store) = fresh();
    activate(&mut store, 0..90);
    drop(store);
    let bytes = fs::read(dir.join(FILE_NAME)).expect("read");
    for (number, length) in [
        1,
        15,
        99,
        512,
        4096,
        bytes.len() / 2,
        bytes.len() - 4096,
        bytes.len() - 1,
    ]
    .into_iter()
    .enumerate()
    {
        let cut = temp.path().join(format!("cut{number}"));
        fs::create_dir(&cut).expect("made");
        fs::write(cut.join(FILE_NAME), &bytes[..length]).expect("written");
        let error = Store::in_directory(&cut).expect_err(&format!("cut at {length}"));
        assert!(
            matches!(error, StoreError::Corrupt(..)),
            "{length}: {error:?}"
        );
    }
}

#[test]
fn an_emptied_or_missing_file_is_damage_and_a_directory_without_any_is_a_fresh_start() {
    let (_temp, dir, mut store) = fresh();
    activate(&mut store, 0..1);
    drop(store);
    fs::write(dir.join(FILE_NAME), b"").expect("emptied");
    assert!(matches!(
        Store::in_directory(&dir),
        Err(StoreError::Corrupt(..))
    ));
    fs::remove_file(dir.join(FILE_NAME)).expect("removed");
    assert!(matches!(
        Store::in_directory(&dir),
        Err(StoreError::Corrupt(..))
    ));
    assert!(!dir.join(FILE_NAME).exists());
    fs::remove_file(dir.join(LOCK_NAME)).expect("removed");
    assert_eq!(
        Store::in_directory(&dir).expect("fresh").list(0, 10),
        Ok(vec![])
    );
}

#[test]
fn a_log_that_is_missing_is_damage_unless_an_earlier_version_removed_it() {
    let (_temp, dir, mut store) = fresh();
    activate(&mut store, 0..1);
    drop(store);
    let log = dir.join("hub.sqlite3-wal");
    assert_eq!(fs::metadata(&log).expect("kept").len(), 0, "and emptied");
    fs::remove_file(&log).expect("removed");
    let error = Store::in_directory(&dir).expect_err("missing");
    assert!(error.to_string().contains("hub.sqlite3-wal is missing"));
    fs::write(dir.join(LOCK_NAME), "of version 0.1.0").expect("written");
    let listed = |dir| Store::in_directory(dir).and_then(|mut store| store.list(0, 10));
    assert_eq!(listed(&dir).expect("opened").len(), 1);
    assert_eq!(listed(&dir).expect("opened again").len(), 1);
}

#[test]
fn a_file_of_a_later_version_or_of_someone_else_is_refused() {
    let (_temp, dir, mut store) = fresh();
    set(&mut store, "user_version", 99);
    drop(store);
    let error = Store::in_directory(&dir).expect_err("newer");
    assert_eq!(error, StoreError::Newer(dir.join(FILE_NAME), 99));
    assert!(
        error.to_string().ends_with(&format!(
            "schema 99 is newer than this program's {SCHEMA_VERSION}; use the version that wrote it"
        )),
        "{error}"
    );
    let temp = tempfile::tempdir().expect("directory");
    let foreign = rusqlite::Connection::open(temp.path().join(FILE_NAME)).expect("made");
    foreign
        .execute_batch("CREATE TABLE theirs (x)")
        .expect("made");
    drop(foreign);
    assert!(matches!(
        Store::in_directory(temp.path()),
        Err(StoreError::Foreign(_))
    ));
}

#[test]
fn an_older_connection_survives_a_store_that_is_read_only_for_a_while() {
    let (_temp, _dir, mut store) = fresh();
    activate(&mut store, 0..1);
    set(&mut store, "query_only", true);
    let error = store
        .accept(&[accept(1)], &quotas(), at(2))
        .expect_err("read-only");
    assert!(matches!(error, StoreError::ReadOnly(_)), "{error:?}");
    assert_eq!(store.list(0, 10).expect("listed").len(), 1);
    set(&mut store, "query_only", false);
    assert_eq!(
        store.accept(&[accept(1)], &quotas(), at(3)),
        Ok(vec![Ok(())])
    );
}

#[test]
fn a_full_disk_is_named_and_costs_nothing_that_was_promised() {
    let (_temp, _dir, mut store) = fresh();
    activate(&mut store, 0..1);
    let pages = store.connection.query_one("PRAGMA page_count", &[]);
    let pages: i64 = pages.and_then(|row| row.get("page_count")).expect("pages");
    set(&mut store, "max_page_count", pages);
    let many: Vec<Accept> = (1..90).map(accept).collect();
    let error = store.accept(&many, &quotas(), at(2)).expect_err("full");
    assert!(matches!(error, StoreError::QuotaExceeded(_)), "{error:?}");
    assert_eq!(
        store
            .counts(at(2))
            .map(|counts| (counts.subscriptions, counts.requests)),
        Ok((1, 0))
    );
    set(&mut store, "max_page_count", 1_000_000);
    assert_eq!(
        store
            .accept(&many, &quotas(), at(3))
            .map(|answers| answers.len()),
        Ok(89)
    );
}

#[test]
fn what_is_due_is_found_by_index_and_not_by_scan() {
    let (_temp, _dir, mut store) = fresh();
    for sql in deliveries::QUERIES {
        let sql = format!("EXPLAIN QUERY PLAN {sql} LIMIT $5").replace("HOSTS", "1 = 1");
        let values = [1, 0, 2, 4, 5].map(Value::Integer);
        let plan = store.connection.query(&sql, &values).expect("plan");
        let plan = format!("{plan:?}");
        assert!(
            plan.contains("SEARCH subscription USING INDEX subscription_"),
            "{plan}"
        );
        assert!(!plan.contains("SCAN"), "{plan}");
    }
}
