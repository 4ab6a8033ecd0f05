use std::os::unix::fs::PermissionsExt;
use std::sync::Barrier;
use std::thread;

use super::super::deliveries;
use super::*;
use crate::scheduler::AttemptId;
use crate::store::{
    Accept, AttemptReport, QuotaExceeded, Quotas, REJECTIONS_PER_HOST, RejectionReason,
    ReportEffect, Store, StoreError, TOMBSTONES_MAX, TopicVersion,
};
use crate::subscription::{AttemptFailure, AttemptResult, FailurePolicy};
use crate::{Callback, HubRequest, Mode, StoreLocation, UnixMillis};
use reviewd_wire::date::Timestamp;

const TOPIC: &str = "https://r.example/feed.xml";

fn at(ms: i64) -> UnixMillis {
    UnixMillis::new(1_800_000_000_000 + ms)
}

/// Stores requests with these numbers.
fn accept(store: &mut Store, numbers: std::ops::Range<usize>) -> Result<(), StoreError> {
    let all: Vec<Accept> = numbers.map(accept_of_site).collect();
    let answers = store.accept(&all, &Quotas::new(1_000_000, 100_000), at(0))?;
    assert!(answers.iter().all(Result::is_ok));
    Ok(())
}

fn accept_of_site(number: usize) -> Accept {
    let callback = format!("https://s{number}.example/");
    accept_of(Mode::Subscribe, &callback, 600)
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
    store.requests(None, 1_000).expect("listed").len()
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
        ("CREATE TABLE theirs (x)", ": not the state file of a hub"),
        (
            "PRAGMA application_id = 1920366436; PRAGMA user_version = 99",
            ": schema 99 is newer than this program's 1",
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
    let row = store.connection.query_one("PRAGMA page_count", &[]);
    let pages = row.expect("a row").get("page_count").expect("pages");
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
    for (_, sql) in deliveries::DUE {
        let sql = format!("EXPLAIN QUERY PLAN {sql}");
        let values = [1, 0, 2, 4, 5].map(Value::Integer);
        let plan = store.connection.query(&sql, &values).expect("plan");
        let plan = format!("{plan:?}");
        let is_search = plan.contains("SEARCH subscription USING INDEX subscription_");
        assert!(is_search, "{plan}");
        assert!(!plan.contains("SCAN"), "{plan}");
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
        let tombstones = store.tombstones(None, usize::MAX).expect("tombstones");
        assert_eq!(tombstones.len(), TOMBSTONES_MAX);
        assert_eq!(tombstones.last().map(|stone| stone.at), Some(at(oldest)));
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
    let insert = "INSERT INTO denial (topic, callback, removal, since, next_at, attempts)
         VALUES ('t', 'https://s.example/', 'gone', $1, $1, 0)";
    let add = |store: &mut Store| store.write(|db| db.execute(insert, &[at(0).into()]));
    add(&mut store).expect("inserted");
    let claim = |store: &mut Store, ms| {
        let due = store.due_denials(2, at(ms)).expect("due");
        let ids: Vec<i64> = due
            .iter()
            .map(|due| match due.id {
                AttemptId::Denial(id) => id,
                other => panic!("{other:?}"),
            })
            .collect();
        store.begin_denials(&ids, at(ms)).expect("begun")
    };
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
    store.end_denial(told[0].id).expect("ended");
    assert!(claim(&mut store, day * 3).is_empty());
}

/// Requests for `https://victim.example:1/1` and so on, all for one topic.
fn requests_of_one_host(numbers: std::ops::Range<usize>, port: u16) -> Vec<Accept> {
    let mut all = Vec::new();
    for number in numbers {
        let callback = format!("https://victim.example:{port}/{number}");
        all.push(accept_of(Mode::Subscribe, &callback, 600));
    }
    all
}

fn accept_of(mode: Mode, callback: &str, lease_s: u32) -> Accept {
    Accept {
        request: HubRequest {
            mode,
            topic_given: TOPIC.to_owned(),
            topic: TOPIC.to_owned(),
            callback: Callback::parse(callback).expect("URL"),
            lease_asked_s: None,
            secret: None,
        },
        lease_s,
        asker: 1,
    }
}

/// Begins and confirms all pending verifications.
fn confirm_all(store: &mut Store) {
    let ids = waiting_ids(store);
    let begun = store.begin_verifications(&ids).expect("begun");
    let reports: Vec<AttemptReport> = begun
        .iter()
        .map(|request| AttemptReport::Verified {
            id: request.id,
            asked_at: at(0),
            confirmed: true,
            result: AttemptResult::Status(200),
        })
        .collect();
    record(store, &reports);
}

fn record(store: &mut Store, reports: &[AttemptReport]) -> Vec<ReportEffect> {
    let policy = FailurePolicy {
        failures_max: 3,
        retry_delays: vec![Duration::from_secs(60)],
        retry_after_max: Duration::from_secs(60),
    };
    let quotas = Quotas::new(100_000, 1_000);
    let effects = store.record(reports, &policy, &quotas, at(0));
    effects.expect("recorded")
}

fn waiting_ids(store: &mut Store) -> Vec<i64> {
    let waiting = store.requests(None, 1_000).expect("listed");
    waiting.iter().map(|request| request.id).collect()
}

/// A store with one active subscription, of `https://victim.example/cb`.
fn with_subscription() -> Store {
    let mut store = Store::in_memory().expect("memory");
    let version = TopicVersion {
        url: TOPIC.to_owned(),
        digest: [1; 32],
        dated: Timestamp::from_unix(1),
    };
    store.publish(&[version], at(0)).expect("published");
    let accept = accept_of(Mode::Subscribe, "https://victim.example/cb", 600);
    let quotas = Quotas::new(100_000, 1_000);
    let results = store.accept(&[accept], &quotas, at(0));
    assert_eq!(results, Ok(vec![Ok(())]));
    confirm_all(&mut store);
    assert_eq!(store.list(0, 9).expect("listed").len(), 1);
    store
}

#[test]
fn an_active_pair_may_always_renew_and_leave_whatever_waits_for_its_host() {
    let mut store = with_subscription();
    let quotas = Quotas::new(100_000, 1_000);
    let results = store
        .accept(&requests_of_one_host(0..11, 443), &quotas, at(0))
        .expect("accepted");
    let exceeded = Err(QuotaExceeded::RequestsOfHost(10));
    assert_eq!(results[9..], [Ok(()), exceeded]);
    for mode in [Mode::Subscribe, Mode::Unsubscribe] {
        let accept = accept_of(mode, "https://victim.example/cb", 600);
        let results = store.accept(&[accept], &quotas, at(0));
        assert_eq!(results, Ok(vec![Ok(())]), "{mode:?}");
    }
    let results = store.accept(&requests_of_one_host(0..1, 8443), &quotas, at(0));
    assert_eq!(results, Ok(vec![Ok(())]), "another port has its own quota");
}

#[test]
fn of_the_requests_that_wait_for_an_active_pair_the_newest_of_each_mode_stays() {
    let mut store = with_subscription();
    let quotas = Quotas::new(100_000, 1_000);
    let mut requests = Vec::new();
    for lease_s in 1_000..1_100 {
        requests.push(accept_of(
            Mode::Subscribe,
            "https://victim.example/cb",
            lease_s,
        ));
    }
    requests.push(accept_of(Mode::Unsubscribe, "https://victim.example/cb", 1));
    let results = store.accept(&requests, &quotas, at(0)).expect("accepted");
    assert!(results.iter().all(Result::is_ok));
    let waiting = store.requests(None, 10).expect("listed");
    let leases: Vec<u32> = waiting.iter().map(|request| request.lease_s).collect();
    assert_eq!(leases, [1_099, 1]);
}

#[test]
fn a_verification_that_failed_waits_for_another_only_below_half_of_a_quota() {
    for (count, effect) in [(5, ReportEffect::Waiting), (6, ReportEffect::Rejected)] {
        let mut store = with_subscription();
        let quotas = Quotas::new(100_000, 1_000);
        let results = store.accept(&requests_of_one_host(0..count, 443), &quotas, at(0));
        assert!(results.is_ok());
        let ids = waiting_ids(&mut store);
        let begun = store.begin_verifications(&ids[..1]).expect("begun");
        let report = AttemptReport::Unreached {
            id: begun[0].id,
            result: Some(AttemptResult::Failed(AttemptFailure::Connect)),
            delay: Duration::from_secs(60),
        };
        assert_eq!(record(&mut store, &[report]), [effect], "{count}");
    }
}

#[test]
fn twenty_rejections_are_kept_for_a_host() {
    let mut store = with_subscription();
    let quotas = Quotas {
        requests_per_host: 0,
        ..Quotas::new(100_000, 1_000)
    };
    let refused = store.accept(&requests_of_one_host(0..30, 443), &quotas, at(0));
    assert!(refused.is_ok());
    let other = accept_of(Mode::Subscribe, "https://other.example/", 1);
    assert!(store.accept(&[other], &quotas, at(1)).is_ok());
    let of_host = store.rejections(Some("victim.example"), 100);
    assert_eq!(of_host.expect("listed").len(), REJECTIONS_PER_HOST);
    let all = store.rejections(None, 100).expect("listed");
    assert_eq!(all.len(), REJECTIONS_PER_HOST + 1);
    assert_eq!(all[0].reason, RejectionReason::Quota);
}

#[test]
fn an_address_may_have_as_many_requests_waiting_as_are_free() {
    let mut store = with_subscription();
    let quotas = Quotas {
        requests: 8,
        ..Quotas::new(100_000, 1_000)
    };
    let mut accepted = Vec::new();
    for asker in 1..=4 {
        let mut requests = Vec::new();
        for number in 0..8 {
            let callback = format!("https://h{asker}-{number}.example/");
            let mut accept = accept_of(Mode::Subscribe, &callback, 1);
            accept.asker = asker;
            requests.push(accept);
        }
        let results = store.accept(&requests, &quotas, at(0)).expect("accepted");
        accepted.push(results.iter().filter(|result| result.is_ok()).count());
    }
    assert_eq!(accepted, [4, 2, 1, 1]);
}
