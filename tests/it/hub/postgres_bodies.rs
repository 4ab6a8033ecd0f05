//! Bodies on their way to a database that replicas share: nobody waits for them with what everybody needs.

use std::time::{Duration, Instant};

use bytes::Bytes;
use reviewd::websub::policy::Policy;
use reviewd::websub::postgres::PostgresStore;
use reviewd::websub::store::{Published, Store, StoreError, TopicVersion};
use reviewd::wire::date::Timestamp;

use super::chaos::post;
use super::postgres::open;
use super::postgres_shared::Shared;
use super::rig::now;
use super::subscriber::Subscriber;
use crate::support::dataset::{DataDir, reviews_json};
use crate::support::postgres::Postgres;
use crate::support::{Program, get, wait_until};

/// Makes the database note for each body that is brought whether whoever brings it keeps the others from something;
/// `NEW` or `NULL` is what becomes of the body.
fn watch(postgres: &Postgres, becomes: &str) {
    let sql = format!(
        "CREATE TABLE public.brought (number SERIAL, blocks TEXT);
         CREATE FUNCTION public.note() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN
          INSERT INTO public.brought (blocks) SELECT EXISTS (SELECT 1 FROM pg_locks
           WHERE pid = pg_backend_pid() AND locktype = 'advisory')::text;
          RETURN {becomes}; END $$;
         CREATE TRIGGER note BEFORE INSERT ON reviewd.content FOR EACH ROW EXECUTE FUNCTION public.note()"
    );
    postgres.query("hub", &sql);
}

fn brought(postgres: &Postgres) -> String {
    postgres.query(
        "hub",
        "SELECT string_agg(blocks, ' ' ORDER BY number) FROM public.brought",
    )
}

/// The digest of what [`publish`] publishes.
const DIGEST: [u8; 32] = [7; 32];

fn publish(store: &mut PostgresStore) -> Result<Published, StoreError> {
    let version = TopicVersion {
        url: "https://reviews.example/feed.xml".to_owned(),
        digest: DIGEST,
        dated: Timestamp::from_unix(1),
        body: Bytes::from_static(b"<feed/>"),
    };
    let policy = Policy {
        failures_max: 3,
        retry_delays: Vec::new(),
        retry_after_max: Duration::ZERO,
    };
    store.publish(&[version], &policy, now())
}

#[test]
fn a_body_that_a_rival_has_tidied_away_is_brought_again_while_all_may_claim() {
    let Some(postgres) = Postgres::start() else {
        return;
    };
    postgres.database("hub");
    let url = postgres.url("reviewd", "hub");
    let (mut one, mut other) = (open(&url).unwrap(), open(&url).unwrap());
    watch(&postgres, "NEW");
    std::thread::scope(|scope| {
        // A rival that has the lock over the topics ("rvwd", 2), and tidies up when the body is there.
        let rival = "BEGIN; SELECT pg_advisory_xact_lock(x'72767764'::int, 2);
             DO $$ BEGIN
              FOR turn IN 1..1000 LOOP
               EXIT WHEN EXISTS (SELECT 1 FROM reviewd.content);
               PERFORM pg_sleep(0.02);
              END LOOP;
              DELETE FROM reviewd.content;
             END $$; COMMIT";
        let rival = scope.spawn(|| postgres.query("hub", rival));
        wait_until("the rival's lock", || {
            let held = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted";
            postgres.query("hub", held) == "1"
        });
        assert_eq!(publish(&mut one).unwrap().changed.len(), 1);
        rival.join().unwrap();
    });
    assert_eq!(brought(&postgres), "false false");
    assert_eq!(
        other.body(&DIGEST).unwrap().as_deref(),
        Some(&b"<feed/>"[..])
    );
}

#[test]
fn a_body_that_is_gone_each_time_is_brought_three_times_and_then_the_store_is_busy() {
    let Some(postgres) = Postgres::start() else {
        return;
    };
    postgres.database("hub");
    let mut store = open(&postgres.url("reviewd", "hub")).unwrap();
    watch(&postgres, "NULL");
    let error = publish(&mut store).unwrap_err();
    assert!(matches!(error, StoreError::Busy(_)), "{error:?}");
    assert_eq!(brought(&postgres), "false false false");
    let topics = || postgres.query("hub", "SELECT count(*) FROM reviewd.topic");
    assert_eq!(topics(), "0", "nothing of it has happened");
    postgres.query("hub", "DROP TRIGGER note ON reviewd.content");
    publish(&mut store).unwrap();
    assert_eq!(topics(), "1");
}

#[test]
fn a_body_without_room_is_not_sent_again_and_again_while_there_is_room_for_requests() {
    let Some((shared, data, subscriber, program)) = begin() else {
        return;
    };
    let postgres = &shared.postgres;
    let again = subscriber.callback("/again");
    let ask = || post(program.address(), "subscribe", &again, 1000);
    // Numbers of a sequence are kept where all else is taken back.
    postgres.query(
        "hub",
        "CREATE SEQUENCE public.tries;
         CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN
          PERFORM nextval('public.tries'); RAISE EXCEPTION 'no room' USING ERRCODE = '53100'; END $$;
         CREATE TRIGGER refuse BEFORE INSERT ON reviewd.content FOR EACH ROW EXECUTE FUNCTION public.refuse()",
    );
    let began = Instant::now();
    data.write("reviews.json", &reviews_json(2, "2026-01-03T00:00:00Z"));
    let tries = || {
        let last = "SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM public.tries";
        postgres.query("hub", last).parse::<u32>().unwrap()
    };
    wait_until("it is tried three times", || {
        // What is kept shows that the store can be used.
        ask();
        tries() >= 3
    });
    while began.elapsed() < Duration::from_secs(6) {
        ask();
        std::thread::sleep(Duration::from_millis(50));
    }
    let tried = tries();
    // The waits are 250 ms, 500 ms, 1 s, and so on, and none is shorter because others are served.
    let quarters = began.elapsed().as_millis() / 250 + 1;
    assert!(
        tried <= 2 + quarters.ilog2(),
        "{tried} in {quarters} quarters of a second"
    );
    postgres.query("hub", "DROP TRIGGER refuse ON reviewd.content");
    subscriber.wait_delivery(1);
}

/// Keeps everybody from the bodies until the table `public.done` has a row, having written `first`.
fn keep_locked(first: &str) -> String {
    format!(
        "BEGIN; LOCK TABLE reviewd.content IN ACCESS EXCLUSIVE MODE; {first};
         DO $$ BEGIN
          FOR turn IN 1..3000 LOOP
           EXIT WHEN EXISTS (SELECT 1 FROM public.done);
           PERFORM pg_sleep(0.02);
          END LOOP;
         END $$; COMMIT"
    )
}

/// Runs `change` while nobody gets at the bodies, and waits until the hub keeps a request while a body of its own waits.
fn assert_answered_meanwhile(shared: &Shared, program: &Program, first: &str, change: impl Fn()) {
    let postgres = &shared.postgres;
    postgres.query(
        "hub",
        "CREATE TABLE public.done (at TIMESTAMPTZ);
         CREATE TABLE public.asked (waits BOOL);
         CREATE FUNCTION public.note() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN
          INSERT INTO public.asked SELECT EXISTS (SELECT 1 FROM pg_locks JOIN pg_stat_activity USING (pid)
           WHERE relation = 'reviewd.content'::regclass AND NOT granted AND usename = 'reviewd');
          RETURN NEW; END $$;
         CREATE TRIGGER note BEFORE INSERT ON reviewd.request FOR EACH ROW EXECUTE FUNCTION public.note()",
    );
    let others = Subscriber::good();
    std::thread::scope(|scope| {
        let locked = keep_locked(first);
        let locker = scope.spawn(move || postgres.query("hub", &locked));
        wait_until("the lock", || {
            let held = "SELECT count(*) FROM pg_locks WHERE relation = 'reviewd.content'::regclass
                 AND mode = 'AccessExclusiveLock' AND granted";
            postgres.query("hub", held) == "1"
        });
        change();
        let mut number = 0;
        wait_until("a request that is kept while a body waits", || {
            number += 1;
            let callback = others.callback(&format!("/{number}"));
            post(program.address(), "subscribe", &callback, 1000);
            postgres.query("hub", "SELECT count(*) > 0 FROM public.asked WHERE waits") == "t"
        });
        postgres.query("hub", "INSERT INTO public.done VALUES (now())");
        locker.join().unwrap();
    });
}

/// Starts a replica with a subscriber.
fn begin() -> Option<(Shared, DataDir, Subscriber, Program)> {
    let shared = Shared::begin()?;
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
    Some((shared, data, subscriber, program))
}

#[test]
fn requests_are_answered_while_a_body_is_on_its_way_to_the_database() {
    let Some((shared, data, subscriber, program)) = begin() else {
        return;
    };
    assert_answered_meanwhile(&shared, &program, "SELECT", || {
        data.write("reviews.json", &reviews_json(2, "2026-01-02T00:00:00Z"));
    });
    let delivery = subscriber.wait_delivery(1);
    assert_eq!(
        delivery.body,
        get(program.address(), "/reviews.json", &[]).body
    );
}

#[test]
fn requests_are_answered_while_what_another_replica_has_published_is_on_its_way_from_there() {
    let Some((shared, _data, subscriber, program)) = begin() else {
        return;
    };
    let content = "INSERT INTO reviewd.content (digest, body) VALUES (sha256('newer'), 'newer')";
    assert_answered_meanwhile(&shared, &program, content, || {
        shared.postgres.query(
            "hub",
            "UPDATE reviewd.topic SET digest = sha256('newer'), dated = dated + 1 WHERE url LIKE '%/reviews.json'",
        );
    });
    assert_eq!(subscriber.wait_delivery(1).body, b"newer");
}

#[test]
fn whoever_gets_no_second_connection_brings_and_fetches_bodies_by_the_first() {
    let Some((shared, data, subscriber, program)) = begin() else {
        return;
    };
    let query = |sql: &str| shared.postgres.query("hub", sql);
    let connections = || {
        query("SELECT string_agg(pid::text, ' ') FROM pg_stat_activity WHERE usename = 'reviewd'")
    };
    query("ALTER ROLE reviewd CONNECTION LIMIT 1");
    // The start looked at the database by a connection of its own.
    wait_until("one connection", || !connections().contains(' '));
    let before = connections();
    data.write("reviews.json", &reviews_json(2, "2026-01-02T00:00:00Z"));
    program.wait_for_log("bodies take the first");
    let delivery = subscriber.wait_delivery(1);
    assert_eq!(
        delivery.body,
        get(program.address(), "/reviews.json", &[]).body
    );
    query("INSERT INTO reviewd.content (digest, body) VALUES (sha256('newer'), 'newer')");
    query(
        "UPDATE reviewd.topic SET digest = sha256('newer'), dated = dated + 1 WHERE url LIKE '%/reviews.json'",
    );
    assert_eq!(subscriber.wait_delivery(2).body, b"newer");
    wait_until("the connection of before alone", || connections() == before);
}
