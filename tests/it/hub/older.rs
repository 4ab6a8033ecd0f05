//! Stores that earlier versions have written: this program brings each to its schema, and keeps what is in it.

use std::fs;
use std::path::Path;

use reviewd::hub::Secret;
use reviewd::hub::store::SCHEMA_VERSION;

use super::rig::serve;
use super::subscriber::Subscriber;
use crate::support::dataset::DataDir;
use crate::support::program::run;

/// Writes the store of `version` into the state directory, with callbacks at `port`.
fn write_store(state: &Path, version: i64, port: u16) {
    let name = format!("tests/fixtures/stores/{version}.sql");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    let sql = fs::read_to_string(path).expect("each version of the schema has a store");
    let store = rusqlite::Connection::open(state.join("hub.sqlite3")).unwrap();
    let sql = sql.replace("{port}", &port.to_string());
    store.execute_batch(&sql).unwrap();
}

#[test]
fn a_store_of_each_version_is_read_and_loses_nothing() {
    for version in 1..=SCHEMA_VERSION {
        let subscriber = Subscriber::good();
        let state = tempfile::tempdir().unwrap();
        write_store(state.path(), version, subscriber.port());
        let data = DataDir::with_reviews(1, "2026-01-01T00:00:00Z");
        let folder = state.path().to_str().unwrap();
        let program = serve(&data, ["--state", folder], &[]);
        // The subscription has older content; its secret signs the new one.
        let delivery = subscriber.wait_delivery(1);
        assert_eq!(delivery.target, "/subscribed", "{version}");
        let secret = Secret::new("opensesame".to_owned()).unwrap();
        let signature = secret.sign(&delivery.body);
        assert_eq!(delivery.field("x-hub-signature"), Some(&*signature));
        // The request was accepted, and not verified yet.
        let asked = subscriber.wait_verification(1);
        assert_eq!(asked.path(), "/requested", "{version}");
        program.wait_for_log("a subscription is active");
        program.stop();
        let list = ["hub", "list", "--state", folder];
        let removed = run(&[&list[..], &["--removed"]].concat()).with(0);
        assert!(removed.contains("gone.example"), "{removed}");
        let store = rusqlite::Connection::open(state.path().join("hub.sqlite3")).unwrap();
        let found = store.query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0));
        assert_eq!(found, Ok(SCHEMA_VERSION), "{version}");
    }
}
