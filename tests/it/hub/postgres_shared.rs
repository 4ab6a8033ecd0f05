//! Replicas that share a PostgreSQL database do not disturb each other, by another address or content, or by locks.

use reviewd::hub::store::{DbError, Store};
use sha2::Digest;

use super::postgres::{assert_refused_with, open};
use super::rig::{now, post, serve, subscribe};
use super::subscriber::Subscriber;
use crate::support::dataset::{DataDir, reviews_json};
use crate::support::postgres::Postgres;
use crate::support::{Program, get, wait_until};

/// A database that replicas share.
pub(crate) struct Shared {
    pub(super) postgres: Postgres,
    pub(crate) url: String,
}

impl Shared {
    /// Starts PostgreSQL; `None` if it is not installed.
    pub(crate) fn new() -> Option<Shared> {
        let postgres = Postgres::start()?;
        postgres.database("hub");
        let url = postgres.url("reviewd", "hub");
        Some(Shared { postgres, url })
    }

    /// Starts a replica at the public address `https://reviews.example`.
    pub(super) fn replica(&self, data: &DataDir) -> Program {
        serve(data, ["--store", &self.url], &[])
    }

    pub(super) fn open(&self) -> Store {
        open(&self.url).unwrap()
    }

    pub(crate) fn query(&self, sql: &str) -> String {
        self.postgres.query("hub", sql)
    }
}

#[test]
fn a_replica_with_another_public_address_is_refused_and_changes_nothing() {
    let Some(shared) = Shared::new() else { return };
    let data = DataDir::with_reviews(1, "2026-01-01T00:00:00Z");
    let subscriber = Subscriber::good();
    let program = shared.replica(&data);
    subscribe(&program, &subscriber.callback("/cb"));
    let everything = || {
        shared.query(
            "SELECT (SELECT count(*) FROM reviewd.subscription), (SELECT count(*) FROM reviewd.denial),
              string_agg(url, ' ' ORDER BY url) FROM reviewd.topic",
        )
    };
    let before = everything();
    assert!(
        before.starts_with("1|0|https://reviews.example/"),
        "{before}"
    );
    let both = "has topics of https://reviews.example, but the public address is https://other.example (--base-url)";
    let other = ["--base-url", "https://other.example"];
    assert_refused_with(&shared.url, &other, 78, both);
    // A different scheme or port makes a different public address.
    for other in ["http://reviews.example", "https://reviews.example:8443"] {
        assert_refused_with(&shared.url, &["--base-url", other], 78, "--base-url");
    }
    // If the system chooses the port, the address is known later, so publishing is refused, at each attempt.
    let newer = DataDir::with_reviews(2, "2026-01-02T00:00:00Z");
    let newer = newer.path().to_str().unwrap();
    let late = Program::serve(&["--data", newer, "--store", &shared.url]);
    let ready = || get(late.address(), "/readyz", &[]);
    wait_until("the reason", || ready().text().contains("\"hub_store\""));
    late.wait_for_log("has topics of https://reviews.example");
    drop(late);
    assert_eq!(everything(), before);
    // The first replica still works.
    data.write("reviews.json", &reviews_json(2, "2026-01-03T00:00:00Z"));
    subscriber.wait_delivery(1);
}

#[test]
fn a_statement_blocked_by_a_lock_is_cancelled_by_the_server_and_can_be_retried() {
    let Some(shared) = Shared::new() else { return };
    let mut store = shared.open();
    let active =
        "SELECT count(*) FROM pg_stat_activity WHERE usename = 'reviewd' AND state <> 'idle'";
    std::thread::scope(|scope| {
        let locked = "BEGIN; LOCK TABLE reviewd.subscription; SELECT pg_sleep(8); COMMIT";
        let other = scope.spawn(|| shared.query(locked));
        let held = "SELECT count(*) FROM pg_locks WHERE relation = 'reviewd.subscription'::regclass
             AND mode = 'AccessExclusiveLock' AND granted";
        wait_until("the lock", || shared.query(held) == "1");
        let error = store.counts(now()).unwrap_err();
        assert!(matches!(error.cause, DbError::Busy), "{error:?}");
        assert_eq!(shared.query(active), "0", "nothing goes on");
        other.join().unwrap();
    });
    assert_eq!(store.counts(now()).unwrap().subscriptions, 0);
}

#[test]
fn of_two_contents_with_the_same_date_the_first_is_kept_until_a_newer_one() {
    let Some(shared) = Shared::new() else { return };
    let date = "2026-01-01T00:00:00Z";
    let [first, second] = [1, 2].map(|count| DataDir::with_reviews(count, date));
    let subscriber = Subscriber::good();
    let one = shared.replica(&first);
    one.wait_for_log("the topic has new content");
    let other = shared.replica(&second);
    let told = "the content served here is not newer";
    if !other.has_seen(told) {
        other.wait_for_log(told);
    }
    let callback = subscriber.callback("/cb");
    let asked = post(other.address(), "subscribe", &callback, 1_000);
    assert_eq!(asked.status, 202);
    let published =
        "SELECT encode(digest, 'hex') FROM reviewd.topic WHERE url LIKE '%/reviews.json'";
    let published = shared.query(published);
    let whole = |program: &Program| get(program.address(), "/reviews.json", &[]).body;
    let digest = |program: &Program| -> String {
        let digest = sha2::Sha256::digest(whole(program));
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    };
    assert_eq!(published, digest(&one));
    assert_ne!(published, digest(&other));
    let active = "SELECT count(*) FROM reviewd.subscription";
    wait_until("the subscription is active", || shared.query(active) == "1");
    // Content with a later date, from any replica, is published again.
    second.write("reviews.json", &reviews_json(3, "2026-01-02T00:00:00Z"));
    assert_eq!(subscriber.wait_delivery(1).body, whole(&other));
}
