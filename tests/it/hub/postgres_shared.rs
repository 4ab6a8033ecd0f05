//! What replicas that share a PostgreSQL may do to each other: nothing, whatever address, topics or locks they have.

use reviewd::hub::store::StoreError;
use sha2::Digest;

use super::authority;
use super::chaos::post;
use super::postgres::{assert_refused_with, open};
use super::rig::now;
use super::subscriber::Subscriber;
use crate::support::dataset::{DataDir, reviews_json};
use crate::support::postgres::Postgres;
use crate::support::{Program, get, wait_until};

/// A database that replicas share, and the authority of the subscribers' certificates.
pub(super) struct Shared {
    pub(super) postgres: Postgres,
    pub(super) url: String,
    folder: tempfile::TempDir,
}

impl Shared {
    /// Starts one; `None` where PostgreSQL is not installed.
    pub(super) fn begin() -> Option<Shared> {
        let postgres = Postgres::start()?;
        postgres.database("hub");
        let folder = tempfile::tempdir().unwrap();
        authority::write_ca(&folder.path().join("ca.pem"));
        Some(Shared {
            url: postgres.url("reviewd", "hub"),
            postgres,
            folder,
        })
    }

    /// Starts a replica at the public address `https://reviews.example`.
    pub(super) fn replica(&self, data: &DataDir) -> Program {
        Program::serve(&[
            "--data",
            data.path().to_str().unwrap(),
            "--base-url",
            "https://reviews.example",
            "--store",
            &self.url,
            "--callback-ca",
            self.folder.path().join("ca.pem").to_str().unwrap(),
            "--allow-private-callbacks",
            "--hub-rate",
            "0",
        ])
    }
}

#[test]
fn a_replica_with_another_public_address_is_refused_and_changes_nothing() {
    let Some(shared) = Shared::begin() else {
        return;
    };
    let postgres = &shared.postgres;
    let data = DataDir::with_reviews(1, "2026-01-01T00:00:00Z");
    let subscriber = Subscriber::good();
    let program = shared.replica(&data);
    let asked = post(
        program.address(),
        "subscribe",
        &subscriber.callback("/cb"),
        1000,
    );
    assert_eq!(asked.status, 202);
    program.wait_for_log("a subscription is active");
    let everything = || {
        postgres.query(
            "hub",
            "SELECT (SELECT count(*) FROM reviewd.subscription), (SELECT count(*) FROM reviewd.notice),
              string_agg(url, ' ' ORDER BY url) FROM reviewd.topic",
        )
    };
    let before = everything();
    assert!(
        before.starts_with("1|0|https://reviews.example/"),
        "{before}"
    );
    let both = "holds topics of https://reviews.example, and the public address here is https://other.example (--base-url)";
    assert_refused_with(
        &shared.url,
        &["--base-url", "https://other.example"],
        78,
        both,
    );
    // Of another scheme or port it is another one too.
    for other in ["http://reviews.example", "https://reviews.example:8443"] {
        assert_refused_with(&shared.url, &["--base-url", other], 78, "--base-url");
    }
    // Where the port is the system's choice, it is publishing that refuses, and again each time that it is tried.
    let newer = DataDir::with_reviews(2, "2026-01-02T00:00:00Z");
    let newer = newer.path().to_str().unwrap();
    let late = Program::serve(&["--data", newer, "--store", &shared.url]);
    wait_until("the reason", || {
        get(late.address(), "/readyz", &[])
            .text()
            .contains("\"hub_store\"")
    });
    late.wait_for_log("holds topics of https://reviews.example");
    drop(late);
    assert_eq!(everything(), before);
    // The first one goes on.
    data.write("reviews.json", &reviews_json(2, "2026-01-03T00:00:00Z"));
    subscriber.wait_delivery(1);
}

#[test]
fn what_others_keep_locked_is_given_up_by_the_server_itself_and_asked_again() {
    let Some(postgres) = Postgres::start() else {
        return;
    };
    postgres.database("hub");
    let mut store = open(&postgres.url("reviewd", "hub")).unwrap();
    let active =
        "SELECT count(*) FROM pg_stat_activity WHERE usename = 'reviewd' AND state <> 'idle'";
    std::thread::scope(|scope| {
        let locked = "BEGIN; LOCK TABLE reviewd.subscription; SELECT pg_sleep(8); COMMIT";
        let other = scope.spawn(|| postgres.query("hub", locked));
        wait_until("the lock", || {
            let held =
                "SELECT count(*) FROM pg_locks WHERE relation = 'reviewd.subscription'::regclass
                 AND mode = 'AccessExclusiveLock' AND granted";
            postgres.query("hub", held) == "1"
        });
        let error = store.counts(now()).unwrap_err();
        assert!(matches!(error, StoreError::Busy(_)), "{error:?}");
        assert_eq!(postgres.query("hub", active), "0", "nothing goes on");
        other.join().unwrap();
    });
    assert_eq!(store.counts(now()).unwrap().subscriptions, 0);
}

#[test]
fn of_two_contents_with_one_date_the_first_holds_for_all_until_a_later_one_comes() {
    let Some(shared) = Shared::begin() else {
        return;
    };
    let postgres = &shared.postgres;
    let (first, second) = (
        DataDir::with_reviews(1, "2026-01-01T00:00:00Z"),
        DataDir::with_reviews(2, "2026-01-01T00:00:00Z"),
    );
    let subscriber = Subscriber::good();
    let one = shared.replica(&first);
    one.wait_for_log("the topic has new content");
    let other = shared.replica(&second);
    let told = "what is served here is not newer";
    if !other.has_seen(told) {
        other.wait_for_log(told);
    }
    let callback = subscriber.callback("/cb");
    assert_eq!(
        post(other.address(), "subscribe", &callback, 1000).status,
        202
    );
    let dated = "SELECT count(DISTINCT digest), count(*) FROM reviewd.topic WHERE url LIKE '%/reviews.json'";
    assert_eq!(postgres.query("hub", dated), "1|1");
    let whole = |program: &Program| get(program.address(), "/reviews.json", &[]).body;
    let published = postgres.query(
        "hub",
        "SELECT encode(digest, 'hex') FROM reviewd.topic WHERE url LIKE '%/reviews.json'",
    );
    let digest = |body: &[u8]| -> String {
        let digest = sha2::Sha256::digest(body);
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    };
    assert_eq!(published, digest(&whole(&one)));
    assert_ne!(published, digest(&whole(&other)));
    wait_until("the subscription is active", || {
        postgres.query("hub", "SELECT count(*) FROM reviewd.subscription") == "1"
    });
    // A later one, on whichever replica, holds for all again.
    second.write("reviews.json", &reviews_json(3, "2026-01-02T00:00:00Z"));
    let delivery = subscriber.wait_delivery(1);
    assert_eq!(delivery.body, whole(&other));
}
