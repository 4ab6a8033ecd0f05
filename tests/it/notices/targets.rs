//! A service whose reviews change, and its targets of notices.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use super::serve;
use crate::hub::subscriber::Subscriber;
use crate::support::Program;
use crate::support::dataset::{DataDir, reviews_json};
use reviewd::hub::StoreLocation;
use reviewd::wire::date::Timestamp;

/// The key of signatures: that of the specification's example.
pub(super) const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// The time of the first content: 2020-01-01T00:00:00Z.
const FIRST_S: i64 = 1_577_836_800;

/// A data directory with reviews that change, and a state directory.
pub(super) struct Site {
    pub(super) data: DataDir,
    state: tempfile::TempDir,
    document: Value,
    version: i64,
}

impl Site {
    /// Prepares a service with `count` reviews, whose ids are `r00000`, `r00001` and so on.
    pub(super) fn new(count: usize) -> Site {
        let first = Timestamp::from_unix(FIRST_S).to_string();
        let document = serde_json::from_str(&reviews_json(count, &first)).expect("JSON");
        let site = Site {
            data: DataDir::empty(),
            state: tempfile::tempdir().expect("a directory can be made"),
            document,
            version: 0,
        };
        site.write();
        site
    }

    pub(super) fn state_dir(&self) -> &str {
        self.state.path().to_str().expect("a path")
    }

    /// Starts the program with a hub that trusts the receivers' certificates.
    pub(super) fn serve(&self, more: &[&str]) -> Program {
        serve(&self.data, ["--state", self.state_dir()], more)
    }

    /// Writes `notices.json`, which only its owner can read.
    pub(super) fn write_targets(&self, targets: &[String]) {
        let text = format!(r#"{{"notices": [{}]}}"#, targets.join(","));
        let file = self.data.path().join("notices.json.new");
        fs::write(&file, text).expect("the file can be written");
        fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).expect("a mode");
        fs::rename(&file, self.data.path().join("notices.json")).expect("it can be renamed");
    }

    /// Sets a member of a review.
    pub(super) fn edit(&mut self, id: &str, key: &str, value: Value) {
        let reviews = self.reviews();
        let review = reviews.iter_mut().find(|review| review["id"] == id);
        review.expect(id)[key] = value;
        self.publish();
    }

    /// Sets a member of the first `count` reviews at once.
    pub(super) fn edit_first(&mut self, count: usize, key: &str, value: &Value) {
        for review in self.reviews().iter_mut().take(count) {
            review[key] = value.clone();
        }
        self.publish();
    }

    /// Adds a review.
    pub(super) fn add(&mut self, id: &str) {
        let mut review = self.reviews()[0].clone();
        review["id"] = json!(id);
        self.reviews().push(review);
        self.publish();
    }

    pub(super) fn remove(&mut self, id: &str) {
        self.reviews().retain(|review| review["id"] != id);
        self.publish();
    }

    /// Returns the reviews, to be published by [`Site::publish`].
    pub(super) fn reviews(&mut self) -> &mut Vec<Value> {
        self.document["reviews"].as_array_mut().expect("an array")
    }

    /// Writes the reviews with a new date.
    pub(super) fn publish(&mut self) {
        self.version += 1;
        let updated_at = Timestamp::from_unix(FIRST_S + self.version).to_string();
        self.document["updated_at"] = Value::from(updated_at);
        self.write();
    }

    fn write(&self) {
        self.data.write("reviews.json", &self.document.to_string());
    }

    /// Tells whether the hub's store has recorded the changes of the last content.
    pub(super) fn is_told(&self) -> bool {
        let file = self.state.path().join("hub.sqlite3");
        let dated = rusqlite::Connection::open(file).and_then(|store| {
            let sql = "SELECT told_dated FROM meta";
            store.query_row(sql, [], |row| row.get::<_, Option<i64>>(0))
        });
        dated.is_ok_and(|dated| dated == Some(FIRST_S + self.version))
    }

    /// Returns how many notices wait.
    pub(super) fn waiting(&self) -> u64 {
        let location = StoreLocation::Directory(self.state.path().to_owned());
        let mut store = location.open().expect("a store");
        store.notice_counts().expect("counted").waiting
    }
}

/// A signed webhook at a receiver.
pub(super) fn target(id: &str, receiver: &Subscriber) -> String {
    let url = receiver.callback("/secret-path?key=secret-key");
    json!({"id": id, "kind": "webhook", "url": url, "secret": SECRET}).to_string()
}
