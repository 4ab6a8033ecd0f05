//! What replicas that share a PostgreSQL may do to each other: nothing, whatever address, topics or locks they have.

use std::time::Duration;

use bytes::Bytes;
use reviewd::websub::StoreLocation;
use reviewd::websub::policy::Policy;
use reviewd::websub::postgres::Database;
use reviewd::websub::store::{Store, StoreError, TopicVersion};
use reviewd::wire::date::Timestamp;
use sha2::Digest;

use super::authority;
use super::chaos::post;
use super::postgres::{assert_refused_with, open};
use super::rig::{Rig, now};
use super::subscriber::{Reply, Subscriber};
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
fn whoever_has_another_public_address_is_refused_and_takes_nothing_away() {
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
fn a_request_that_was_confirmed_survives_that_its_topic_is_gone() {
    let Some(shared) = Shared::begin() else {
        return;
    };
    let postgres = &shared.postgres;
    let data = DataDir::with_reviews(1, "2026-01-01T00:00:00Z");
    let subscriber = Subscriber::good();
    let program = shared.replica(&data);
    let ask = |path: &str| {
        let callback = subscriber.callback(path);
        post(program.address(), "subscribe", &callback, 1000).status
    };
    assert_eq!(ask("/a"), 202);
    program.wait_for_log("a subscription is active");
    postgres.query("hub", "DELETE FROM reviewd.topic");
    assert_eq!(ask("/b"), 202);
    program.wait_for_log("is gone from it, and is published again");
    program.wait_for_log("a subscription is active");
    assert_eq!(
        postgres.query("hub", "SELECT count(*) > 0 FROM reviewd.topic"),
        "t"
    );
    data.write("reviews.json", &reviews_json(2, "2026-01-03T00:00:00Z"));
    subscriber.wait_delivery(1);
}

#[test]
fn topics_that_the_hub_is_told_of_again_are_not_published_again() {
    let Some(shared) = Shared::begin() else {
        return;
    };
    let place = StoreLocation::Database(Box::new(Database::parse(&shared.url).unwrap()));
    let rig = Rig::start_with(|settings| settings.place = place);
    // Who is never verified begins nothing that would miss a topic.
    let silent = Subscriber::start_with(None, Reply::good);
    let ask = |path: &str| rig.subscribe_with(&silent.callback(path), &[]).unwrap();
    let topics = || {
        shared
            .postgres
            .query("hub", "SELECT count(*) FROM reviewd.topic")
    };
    ask("/a");
    assert_eq!(topics(), "3");
    shared.postgres.query("hub", "DELETE FROM reviewd.topic");
    rig.change("1");
    // The turn that answers this one has taken the topics before, and would publish them when their bodies are there.
    ask("/b");
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(topics(), "0");
    rig.change("2");
    wait_until("others are published", || topics() == "3");
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
fn a_body_of_128_mib_reaches_the_others_in_its_longer_time_and_a_longer_one_is_left_to_who_serves_it()
 {
    let Some(postgres) = Postgres::start() else {
        return;
    };
    postgres.database("hub");
    let url = postgres.url("reviewd", "hub");
    let (mut one, mut other) = (open(&url).unwrap(), open(&url).unwrap());
    let policy = Policy {
        failures_max: 3,
        retry_delays: Vec::new(),
        retry_after_max: Duration::ZERO,
    };
    postgres.query(
        "hub",
        "CREATE TABLE public.allowed (time TEXT);
         CREATE FUNCTION public.note() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN
          INSERT INTO public.allowed SELECT current_setting('statement_timeout'); RETURN NEW; END $$;
         CREATE TRIGGER note BEFORE INSERT ON reviewd.content FOR EACH ROW EXECUTE FUNCTION public.note()",
    );
    for (version, bytes, allowed) in [
        (1, 1, "9s"),
        (2, 128 << 20, "9s 40s"),
        (3, (128 << 20) + 1, "9s 40s"),
    ] {
        let is_kept = version < 3;
        let body = Bytes::from(vec![b'x'; bytes]);
        let digest = [version; 32];
        let version = TopicVersion {
            url: "https://reviews.example/feed.xml".to_owned(),
            digest,
            dated: Timestamp::from_unix(i64::from(version)),
            body: body.clone(),
        };
        let published = one.publish(&[version], &policy, now()).unwrap();
        assert_eq!(published.changed.len(), 1);
        let found = other.body(&digest).unwrap();
        assert!(found.as_ref() == Some(&body).filter(|_| is_kept));
        let stored = postgres.query("hub", "SELECT stored FROM reviewd.topic");
        assert_eq!(stored == "t", is_kept);
        let times = "SELECT string_agg(time, ' ' ORDER BY length(time)) FROM public.allowed";
        assert_eq!(
            postgres.query("hub", times),
            allowed,
            "the time to bring it"
        );
    }
}

#[test]
fn of_two_contents_with_one_date_the_first_is_everybodys_until_a_later_one_comes() {
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
    let told = "another content with the same updated_at";
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
    // A later one, on whichever replica, is everybody's again.
    second.write("reviews.json", &reviews_json(3, "2026-01-02T00:00:00Z"));
    let delivery = subscriber.wait_delivery(1);
    assert_eq!(delivery.body, whole(&other));
}
