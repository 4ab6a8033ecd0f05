//! Stores that earlier versions have written: this program brings each to its schema, and keeps what is in it.

use std::fs;
use std::path::Path;

use reviewd::hub::Secret;
use reviewd::hub::store::SCHEMA_VERSION;

#[cfg(feature = "postgres")]
use super::postgres_shared::Shared;
use super::rig::serve;
use super::subscriber::Subscriber;
use crate::support::dataset::DataDir;
use crate::support::program::run;

/// Returns the SQL statements that create the store of `version`. Its callbacks are at `port`.
fn store_sql(database: &str, version: i64, port: u16) -> String {
    let name = format!("tests/fixtures/stores/{version}-{database}.sql");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    let sql = fs::read_to_string(path).expect("each version of the schema has a store");
    sql.replace("{port}", &port.to_string())
}

/// Starts a service on the `store`, which the flags name, and checks that it delivers to the active subscription, verifies the
/// requested one, and still knows the removed one.
fn assert_nothing_is_lost(subscriber: &Subscriber, store: [&str; 2]) {
    let data = DataDir::with_reviews(1, "2026-01-01T00:00:00Z");
    let program = serve(&data, store, &[]);
    // The subscriber has got older content. The new content is signed with the secret of the subscription.
    let delivery = subscriber.wait_delivery(1);
    assert_eq!(delivery.target, "/subscribed");
    let secret = Secret::new("opensesame".to_owned()).unwrap();
    let signature = secret.sign(&delivery.body);
    assert_eq!(delivery.field("x-hub-signature"), Some(&*signature));
    // The request to subscribe was accepted before, but the subscriber was not asked yet.
    let asked = subscriber.wait_verification(1);
    assert_eq!(asked.path(), "/requested");
    program.wait_for_log("a subscription is active");
    program.stop();
    let removed = run(&[&["hub", "list", "--removed"], &store[..]].concat()).with(0);
    assert!(removed.contains("gone.example"), "{removed}");
}

#[test]
fn a_file_of_each_version_is_read_and_nothing_is_lost() {
    for version in 1..=SCHEMA_VERSION {
        let subscriber = Subscriber::good();
        let state = tempfile::tempdir().unwrap();
        let open = || rusqlite::Connection::open(state.path().join("hub.sqlite3")).unwrap();
        let sql = store_sql("sqlite", version, subscriber.port());
        open().execute_batch(&sql).unwrap();
        assert_nothing_is_lost(&subscriber, ["--state", state.path().to_str().unwrap()]);
        let found = open().query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0));
        assert_eq!(found, Ok(SCHEMA_VERSION), "{version}");
    }
}

#[cfg(feature = "postgres")]
#[test]
fn a_database_of_each_version_is_read_and_nothing_is_lost() {
    let Some(shared) = Shared::new() else { return };
    for version in 1..=SCHEMA_VERSION {
        let subscriber = Subscriber::good();
        shared.query("DROP SCHEMA IF EXISTS reviewd CASCADE");
        shared.query(&store_sql("postgres", version, subscriber.port()));
        assert_nothing_is_lost(&subscriber, ["--store", &shared.url]);
        let found = shared.query("SELECT version FROM reviewd.meta");
        assert_eq!(found, SCHEMA_VERSION.to_string(), "{version}");
    }
}
