//! The hub's state in PostgreSQL: what holds of the store, what a start refuses, and what a database that goes costs.

use std::process::Output;
use std::time::{Duration, Instant};

use oracle::hub::{check_shared_hub_sequence, check_shared_store};
use reviewd::hub::store::{Database, Store, StoreError};
use serde_json::json;

use super::authority;
use super::chaos::post;
use super::postgres_shared::Shared;
use super::rig::now;
use super::subscriber::Subscriber;
use crate::support::dataset::{DataDir, reviews_json};
use crate::support::postgres::Postgres;
use crate::support::program::run;
use crate::support::{get, wait_until};

/// The schema's version that this program needs.
const VERSION: &str = "7";

pub(super) fn open(url: &str) -> Result<Store, StoreError> {
    Store::in_database(&Database::parse(url).unwrap())
}

/// Runs `reviewd serve` on a store to its end, which it comes to by itself.
fn serve(url: &str, arguments: &[&str]) -> Output {
    let state = tempfile::tempdir().unwrap();
    let state = state.path().to_str().unwrap();
    let common = ["serve", "--listen", "127.0.0.1:0", "--state", state];
    run(&[&common[..], &["--store", url], arguments].concat())
}

/// Asserts that a start ends with `status` and one line that says `what`, and no password.
#[track_caller]
fn assert_refused(url: &str, status: i32, what: &str) {
    assert_refused_with(url, &[], status, what);
}

#[track_caller]
pub(super) fn assert_refused_with(url: &str, arguments: &[&str], status: i32, what: &str) {
    let output = serve(url, arguments);
    let error = String::from_utf8(output.stderr).unwrap();
    let said: Vec<&str> = error
        .lines()
        .filter(|line| !line.contains("waiting for the hub's store"))
        .collect();
    assert_eq!(
        (output.status.code(), said.len()),
        (Some(status), 1),
        "{error}"
    );
    assert!(said[0].contains(what), "{error}");
    assert!(!error.contains("secret"), "{error}");
}

#[test]
fn the_store_conforms_and_so_do_two_at_once() {
    let Some(postgres) = Postgres::start() else {
        return;
    };
    postgres.database("hub");
    let url = postgres.url("reviewd", "hub");
    let open = || open(&url).unwrap();
    let empty = || postgres.query("hub", "DROP SCHEMA IF EXISTS reviewd CASCADE");
    check_shared_store(|| {
        empty();
        [open(), open()]
    });
    // Random sequences, as for the embedded store.
    let mut bytes: u32 = 1;
    for _ in 0..20 {
        empty();
        let sequence: Vec<u8> = (0..300)
            .map(|_| {
                bytes = bytes.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (bytes >> 24) as u8
            })
            .collect();
        check_shared_hub_sequence(open(), &sequence);
    }
}

#[test]
fn the_delivery_role_goes_to_the_next_when_its_owner_is_gone() {
    let Some(postgres) = Postgres::start() else {
        return;
    };
    postgres.database("hub");
    let url = postgres.url("reviewd", "hub");
    let (mut one, mut other) = (open(&url).unwrap(), open(&url).unwrap());
    assert_eq!(one.try_take_role(), Ok(true));
    assert_eq!(one.try_take_role(), Ok(true), "it has it");
    assert_eq!(other.try_take_role(), Ok(false));
    drop(one);
    wait_until("the role is free", || other.try_take_role().unwrap());
    let mut third = open(&url).unwrap();
    assert_eq!(third.try_take_role(), Ok(false));
    assert_eq!(other.try_take_role(), Ok(true));
    other.give_up_role().unwrap();
    assert_eq!(third.try_take_role(), Ok(true));
}

#[test]
fn the_schema_is_made_once_brought_up_from_an_older_one_and_a_newer_one_is_left_alone() {
    let Some(postgres) = Postgres::start() else {
        return;
    };
    postgres.database("hub");
    let url = postgres.url("reviewd", "hub");
    let all_at_once = || {
        let results: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| open(&url).err())).collect();
            threads.into_iter().map(|one| one.join().unwrap()).collect()
        });
        assert!(results.iter().all(Option::is_none), "{results:?}");
    };
    let version = || postgres.query("hub", "SELECT version FROM reviewd.meta");
    all_at_once();
    assert_eq!(version(), VERSION);
    // As the first published version was.
    postgres.query("hub", "DROP SCHEMA reviewd CASCADE");
    let first = include_str!("../../fixtures/hub/postgres-3.sql");
    postgres.query("hub", &format!("SET ROLE reviewd; {first}"));
    all_at_once();
    assert_eq!(version(), VERSION);
    let mut store = open(&url).unwrap();
    let listed = store.list(0, 10).unwrap();
    assert_eq!(
        (listed.len(), listed[0].owed, listed[0].state.claimed),
        (1, true, true)
    );
    let requests = store.requests(10).unwrap().len();
    let stones = store.tombstones(10).unwrap().len();
    let told = store.take_notices(10, now()).unwrap().len();
    assert_eq!((requests, stones, told), (1, 1, 1));
    postgres.query("hub", "UPDATE reviewd.meta SET version = 99");
    assert_refused(
        &url,
        78,
        &format!("schema 99 is newer than this program's {VERSION}"),
    );
    assert_eq!(version(), "99");
}

#[test]
fn unrecoverable_database_errors_exit_78() {
    let Some(mut postgres) = Postgres::start() else {
        return;
    };
    postgres.database("hub");
    let url = postgres.url("reviewd", "hub");
    let wrong = url.replace(":secret@", ":secret2@");
    for (url, what) in [
        (
            "mysql://u:secret@127.0.0.1/hub",
            "--store: must begin with postgres://",
        ),
        (&wrong, "password authentication failed"),
        (&url.replace(":secret@", "@"), "password missing"),
        (
            &postgres.url("reviewd", "nowhere"),
            "\"nowhere\" does not exist",
        ),
    ] {
        assert_refused(url, 78, what);
    }
    // Neither the right to make the schema, nor the one to use it when it is there.
    let guest = postgres.url("guest", "hub");
    assert_refused(&guest, 78, "permission denied");
    drop(open(&url).unwrap());
    assert_refused(&guest, 78, "permission denied");
    postgres.query(
        "hub",
        "GRANT USAGE ON SCHEMA reviewd TO guest; GRANT SELECT ON ALL TABLES IN SCHEMA reviewd TO guest",
    );
    assert_refused(&guest, 78, "permission denied");
    // A schema of that name that is another program's.
    for (name, table, what) in [
        ("other", "topic", "\"topic\" already exists"),
        ("broken", "meta", "\"version\" does not exist"),
    ] {
        postgres.database(name);
        let sql = format!(
            "CREATE SCHEMA reviewd AUTHORIZATION reviewd; CREATE TABLE reviewd.{table} (x INT);
             GRANT ALL ON ALL TABLES IN SCHEMA reviewd TO reviewd"
        );
        postgres.query(name, &sql);
        assert_refused(&postgres.url("reviewd", name), 78, what);
    }
    // TLS: one that is not spoken, one whose authority is another, and one that is right.
    let temp = tempfile::tempdir().unwrap();
    let ca = temp.path().join("ca.pem");
    authority::write_ca(&ca);
    let secured = format!("{url}?sslmode=require&sslrootcert={}", ca.display());
    assert_refused(&secured, 78, "server does not support TLS");
    let (certificate, key) = authority::server_pem(&["127.0.0.1"]);
    let certificate = postgres.write("server.pem", &certificate);
    let key = postgres.write("server.key", &key);
    for (name, path) in [("ssl_cert_file", certificate), ("ssl_key_file", key)] {
        postgres.set(format!("{name}={}", path.display()));
    }
    postgres.set("ssl=on".to_owned());
    postgres.stop();
    postgres.start_again();
    assert_refused(&format!("{url}?sslmode=require"), 78, "certificate");
    let store = open(&secured).unwrap();
    let encrypted = "SELECT bool_and(s.ssl) FROM pg_stat_ssl s JOIN pg_stat_activity a USING (pid)
         WHERE a.usename = 'reviewd'";
    assert_eq!(postgres.query("hub", encrypted), "t");
    drop(store);
}

#[test]
fn a_database_that_is_not_there_at_the_start_is_waited_for_and_then_69() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap();
    let url = format!("postgres://u:secret@{address}/hub?connect_timeout=1");
    // A server that never says a word, and then none at all.
    let began = Instant::now();
    assert_refused(&url, 69, "does not answer");
    drop(free);
    assert_refused(&url, 69, "cannot be reached");
    let took = began.elapsed();
    assert!(
        (Duration::from_secs(8)..Duration::from_secs(60)).contains(&took),
        "{took:?}"
    );
}

#[test]
fn without_its_database_reads_are_served_the_hub_says_503_and_all_goes_on_when_it_is_back() {
    let Some(mut shared) = Shared::begin() else {
        return;
    };
    let data = DataDir::with_reviews(1, "2026-01-01T00:00:00Z");
    let (subscriber, later) = (Subscriber::good(), Subscriber::good());
    let program = shared.replica(&data);
    let address = program.address();
    let ask =
        |subscriber: &Subscriber| post(address, "subscribe", &subscriber.callback("/cb"), 1000);
    assert_eq!(ask(&subscriber).status, 202);
    program.wait_for_log("a subscription is active");
    shared.postgres.crash();
    let mut refused = None;
    wait_until("503", || {
        let response = ask(&later);
        refused = (response.status == 503).then_some(response);
        refused.is_some()
    });
    let refused = refused.unwrap();
    assert_eq!(refused.field("retry-after"), Some("10"), "{refused:?}");
    wait_until("the reason", || {
        let ready = get(address, "/readyz", &[]);
        assert_eq!(
            ready.status, 200,
            "reads go on, so traffic need not go elsewhere"
        );
        ready.text().contains("\"hub_store\"")
    });
    let hub = || get(address, "/readyz", &[]).json()["hub"].clone();
    assert_eq!(
        hub(),
        json!({"store": "postgres", "usable": false, "delivering": false, "paused": false})
    );
    // The content changes meanwhile: it is served, and delivered when the database is back.
    data.write("reviews.json", &reviews_json(2, "2026-01-02T00:00:00Z"));
    wait_until("the change is served", || {
        get(address, "/reviews.json", &[])
            .text()
            .contains("2026-01-02")
    });
    assert_eq!(subscriber.deliveries().len(), 0);
    shared.postgres.start_again();
    let delivery = subscriber.wait_delivery(1);
    assert_eq!(delivery.body, get(address, "/reviews.json", &[]).body);
    assert_eq!(ask(&later).status, 202);
    program.wait_for_log("a subscription is active");
    wait_until("no reason", || {
        !get(address, "/readyz", &[])
            .text()
            .contains("\"hub_store\"")
    });
    assert_eq!(
        hub(),
        json!({"store": "postgres", "usable": true, "delivering": true, "paused": false})
    );
    // The operator's command knows the database, too.
    let listed = run(&["hub", "list", "--store", &shared.url, "--format", "json"]);
    let listed: serde_json::Value = serde_json::from_slice(&listed.stdout).unwrap();
    assert_eq!(listed["subscriptions"].as_array().unwrap().len(), 2);
}
