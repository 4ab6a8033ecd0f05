//! The hub's state in PostgreSQL: the store's behavior, errors at startup, and the loss of the database.

use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use oracle::hub::check_shared_hub_sequence;
use reviewd::hub::StoreLocation;
use reviewd::hub::store::{Database, Store, StoreError};
use reviewd::server::DataSource;
use serde_json::json;

use super::chaos::Random;
use super::postgres_shared::Shared;
use super::rig::{post, subscribe};
use super::subscriber::{Reply, Subscriber};
use super::{authority, http, rig};
use crate::support::dataset::{DataDir, reviews_json};
use crate::support::program::run;
use crate::support::{Server, get, wait_until};

/// The schema version of this program.
const VERSION: &str = "1";

pub(super) fn open(url: &str) -> Result<Store, StoreError> {
    StoreLocation::Database(Box::new(Database::parse(url, "reviewd").unwrap())).open()
}

/// Asserts that startup exits with `status` and one line on stderr that contains `what`, and no password.
#[track_caller]
fn assert_refused(url: &str, status: i32, what: &str) {
    assert_refused_with(url, &[], status, what);
}

#[track_caller]
pub(super) fn assert_refused_with(url: &str, arguments: &[&str], status: i32, what: &str) {
    let state = tempfile::tempdir().unwrap();
    let state = state.path().to_str().unwrap();
    let common = ["serve", "--listen", "127.0.0.1:0", "--state", state];
    let error = run(&[&common[..], &["--store", url], arguments].concat()).with(status);
    let lines = error.lines();
    let mut said = lines.filter(|line| !line.contains("waiting for the hub's store"));
    assert!(said.next().unwrap().contains(what), "{error}");
    assert!(said.next().is_none(), "{error}");
    assert!(!error.contains("secret"), "{error}");
}

#[test]
fn the_shared_store_and_its_reference_model_agree_on_random_sequences() {
    let Some(shared) = Shared::new() else { return };
    let mut random = Random(1);
    for _ in 0..10 {
        shared.query("DROP SCHEMA IF EXISTS reviewd CASCADE");
        let sequence: Vec<u8> = (0..800).map(|_| random.below(256) as u8).collect();
        check_shared_hub_sequence(shared.open(), &sequence);
    }
}

#[test]
fn the_schema_is_created_once_and_refused_if_newer() {
    let Some(shared) = Shared::new() else { return };
    let version = || shared.query("SELECT version FROM reviewd.meta");
    std::thread::scope(|scope| {
        (0..4).for_each(|_| drop(scope.spawn(|| shared.open())));
    });
    assert_eq!(version(), VERSION);
    shared.query("UPDATE reviewd.meta SET version = 99");
    let newer = format!("schema 99 is newer than this program's {VERSION}");
    assert_refused(&shared.url, 78, &newer);
    assert_eq!(version(), "99");
}

#[test]
fn a_database_that_cannot_be_opened_is_refused() {
    let Some(shared) = Shared::new() else { return };
    let foreign = "mysql://u:secret@127.0.0.1/hub".to_owned();
    let wrong_password = shared.url.replace(":secret@", ":secret2@");
    let no_password = shared.url.replace(":secret@", "@");
    let nowhere = shared.postgres.url("reviewd", "nowhere");
    for (url, what) in [
        (foreign, "--store: must begin with postgres://"),
        (wrong_password, "password authentication failed"),
        (no_password, "password missing"),
        (nowhere, "\"nowhere\" does not exist"),
    ] {
        assert_refused(&url, 78, what);
    }
}

#[test]
fn a_user_without_privileges_is_refused() {
    let Some(shared) = Shared::new() else { return };
    let guest = shared.postgres.url("guest", "hub");
    // The schema cannot be created.
    assert_refused(&guest, 78, "permission denied");
    drop(shared.open());
    // It exists, but cannot be used.
    assert_refused(&guest, 78, "permission denied");
    shared.query("GRANT USAGE ON SCHEMA reviewd TO guest; GRANT SELECT ON ALL TABLES IN SCHEMA reviewd TO guest");
    // It can be read, but not written to.
    assert_refused(&guest, 78, "permission denied");
}

#[test]
fn a_schema_of_another_program_is_refused() {
    let Some(shared) = Shared::new() else { return };
    for (name, table, what) in [
        ("other", "topic", "\"topic\" already exists"),
        ("broken", "meta", "\"version\" does not exist"),
    ] {
        shared.postgres.database(name);
        let sql = format!(
            "CREATE SCHEMA reviewd AUTHORIZATION reviewd; CREATE TABLE reviewd.{table} (x INT);
             GRANT ALL ON ALL TABLES IN SCHEMA reviewd TO reviewd"
        );
        shared.postgres.query(name, &sql);
        assert_refused(&shared.postgres.url("reviewd", name), 78, what);
    }
}

#[test]
fn the_certificate_of_the_database_is_checked() {
    let Some(mut shared) = Shared::new() else {
        return;
    };
    let url = shared.url.clone();
    let temp = tempfile::tempdir().unwrap();
    let ca = temp.path().join("ca.pem");
    authority::write_ca(&ca);
    let secured = format!("{url}?sslmode=require&sslrootcert={}", ca.display());
    assert_refused(&secured, 78, "server does not support TLS");
    // The server has a certificate of the tests' own authority, which only `sslrootcert` makes known.
    let (certificate, key) = authority::server_pem(&["127.0.0.1"]);
    for (name, file, pem) in [
        ("ssl_cert_file", "server.pem", certificate),
        ("ssl_key_file", "server.key", key),
    ] {
        let path = shared.postgres.write(file, &pem);
        shared.postgres.set(format!("{name}={}", path.display()));
    }
    shared.postgres.set("ssl=on".to_owned());
    shared.postgres.stop();
    shared.postgres.start_again();
    assert_refused(&format!("{url}?sslmode=require"), 78, "certificate");
    let _store = open(&secured).unwrap();
    let encrypted = "SELECT bool_and(s.ssl) FROM pg_stat_ssl s JOIN pg_stat_activity a USING (pid)
         WHERE a.usename = 'reviewd'";
    assert_eq!(shared.query(encrypted), "t");
}

#[test]
fn an_unreachable_database_at_startup_exits_69_after_a_wait() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap();
    let url = format!("postgres://u:secret@{address}/hub?connect_timeout=1");
    // First a listener that never responds, then no listener.
    let began = Instant::now();
    assert_refused(&url, 69, "does not respond");
    drop(free);
    assert_refused(&url, 69, "cannot be reached");
    let took_s = began.elapsed().as_secs();
    assert!((8..60).contains(&took_s), "{took_s}");
}

#[test]
fn without_its_database_reads_are_served_and_the_hub_answers_503_until_it_is_back() {
    let Some(mut shared) = Shared::new() else {
        return;
    };
    let data = DataDir::with_reviews(1, "2026-01-01T00:00:00Z");
    let subscriber = Subscriber::good();
    let later = Subscriber::good();
    let program = shared.replica(&data);
    let address = program.address();
    let served = || get(address, "/reviews.json", &[]);
    let ready = || get(address, "/readyz", &[]);
    let is_told = || ready().text().contains("\"hub_store\"");
    let hub = |usable, delivering| {
        let said = json!({"store": "postgres", "usable": usable, "delivering": delivering, "paused": false, "lagging": false});
        assert_eq!(ready().json()["hub"], said);
    };
    subscribe(&program, &subscriber.callback("/cb"));
    shared.postgres.crash();
    let ask = || post(address, "subscribe", &later.callback("/cb"), 1_000);
    wait_until("503", || ask().status == 503);
    assert_eq!(ask().field("retry-after"), Some("10"));
    wait_until("the reason", is_told);
    assert_eq!(
        ready().status,
        200,
        "reads go on, so traffic need not go elsewhere"
    );
    hub(false, false);
    // The content changes meanwhile: it is served, and delivered when the database is back.
    data.write("reviews.json", &reviews_json(2, "2026-01-02T00:00:00Z"));
    wait_until("the change", || served().text().contains("2026-01-02"));
    assert_eq!(subscriber.deliveries().len(), 0);
    shared.postgres.start_again();
    assert_eq!(subscriber.wait_delivery(1).body, served().body);
    subscribe(&program, &later.callback("/cb"));
    wait_until("no reason", || !is_told());
    hub(true, true);
    // `reviewd hub` reads the database, too.
    let listed = run(&["hub", "list", "--store", &shared.url, "--format", "json"]).json(0);
    assert_eq!(listed["subscriptions"].as_array().unwrap().len(), 2);
}

#[test]
fn a_delivery_that_is_cancelled_with_the_role_counts_as_no_failure() {
    let Some(shared) = Shared::new() else { return };
    let data = DataDir::with_reviews(1, "2026-01-01T00:00:00Z");
    let temp = tempfile::tempdir().unwrap();
    let mut settings = rig::settings(&temp);
    let database = Database::parse(&shared.url, "reviewd").unwrap();
    settings.location = StoreLocation::Database(Box::new(database));
    settings.timeout = Duration::from_secs(60);
    let server = Server::start_with(|config| {
        config.hub = Some(settings);
        config.data = DataSource::Directory(data.path().to_owned());
    });
    let hanging = Subscriber::delivering(|_| Reply::Silence(Duration::from_secs(60)));
    let asked = http::subscribe(&server, "/reviews.json", &hanging.callback("/cb"));
    assert_eq!(asked.status, 202);
    let stats = server.running().app().hub().unwrap().stats();
    wait_until("active", || stats.confirmed.load(Relaxed) == 1);
    data.write("reviews.json", &reviews_json(2, "2026-01-02T00:00:00Z"));
    hanging.wait_delivery(1);
    // The hub loses the role with its connection, cancels the delivery, and begins it again with the next role.
    shared.query(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE usename = 'reviewd'",
    );
    hanging.wait_delivery(2);
    let failed = stats.failed.iter().map(|counter| counter.load(Relaxed));
    assert_eq!(failed.sum::<u64>(), 0);
}
