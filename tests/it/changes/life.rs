//! A random life: reviews change at random, and a mirror polls one of two replicas, which are killed and restarted.
//! After each poll, the mirror has what is published.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::mirror::{Mirror, published};
use crate::support::dataset::DataDir;
use crate::support::program::run;
use crate::support::{Program, wait_until};

/// The environment variable that sets the number of changes.
const CHANGES_VARIABLE: &str = "REVIEWD_TEST_LIFE";

/// The number of changes without it.
const CHANGES_DEFAULT: usize = 120;

/// Changes between two comparisons.
const CHANGES_PER_ROUND: usize = 10;

/// Numbers that look random and are the same in each run (SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % bound as u64) as usize
    }
}

/// The folder, and what the life needs to change it.
struct Life {
    data: DataDir,
    random: Random,
    /// The number of changes so far, which makes each edited text a new one.
    count: usize,
    /// An earlier state of `reviews.json`, which one of the changes restores.
    earlier: String,
}

impl Life {
    fn folder(&self) -> &Path {
        self.data.path()
    }

    fn text(&self) -> String {
        fs::read_to_string(self.folder().join("reviews.json")).unwrap()
    }

    /// Edits `reviews.json` by hand.
    fn edit(&self, change: impl FnOnce(&mut Vec<Value>)) {
        let mut file: Value = serde_json::from_str(&self.text()).unwrap();
        change(file["reviews"].as_array_mut().unwrap());
        fs::write(self.folder().join("reviews.json"), file.to_string()).unwrap();
    }

    /// The id of some review in the file.
    fn some_id(&mut self) -> Option<String> {
        let file: Value = serde_json::from_str(&self.text()).unwrap();
        let reviews = file["reviews"].as_array().unwrap();
        if reviews.is_empty() {
            return None;
        }
        let at = self.random.below(reviews.len());
        Some(reviews[at]["id"].as_str().unwrap().to_owned())
    }

    /// Makes one change, which may fail: some are not possible in each state.
    fn change(&mut self) {
        self.count += 1;
        let folder = self.folder().to_str().unwrap().to_owned();
        match self.random.below(12) {
            0..=2 => self.import(&[]),
            3 => self.import(&["--prune"]),
            4 => {
                let _refused = run(&["import", "--undo", "--into", &folder]);
            }
            5 => {
                if let Some(id) = self.some_id() {
                    let way = ["--withdraw", "--by=Google"][self.random.below(2)];
                    run(&["verify", &id, way, "--data", &folder]).with(0);
                }
            }
            6 => {
                if let Some(id) = self.some_id() {
                    let forget = ["forget", &id, "--reason", "asked", "--data", &folder];
                    run(&forget).with(0);
                }
            }
            7 => {
                run(&["record", &folder]).with(0);
            }
            8 => {
                let text = format!("Edited by hand {}.", self.count);
                if let Some(id) = self.some_id() {
                    self.edit(|reviews| {
                        let review = reviews.iter_mut().find(|review| review["id"] == *id);
                        review.unwrap()["text"] = json!(text);
                    });
                }
            }
            9 => {
                let id = format!("hand{}", self.random.below(8));
                self.edit(|reviews| {
                    if reviews.iter().all(|review| review["id"] != *id) {
                        reviews.push(review(&id, "Added by hand."));
                    }
                });
            }
            10 => {
                if let Some(id) = self.some_id() {
                    self.edit(|reviews| reviews.retain(|review| review["id"] != *id));
                }
            }
            _ => {
                // The file goes back to the earlier state, as by hand.
                let now = self.text();
                fs::write(self.folder().join("reviews.json"), &self.earlier).unwrap();
                self.earlier = now;
            }
        }
    }

    /// Imports a few reviews of a table: new ones, edited ones, some with a reply.
    fn import(&mut self, more: &[&str]) {
        let mut table = "id,author,rating,date,text,source,reply,reply_date,verified\n".to_owned();
        for _ in 0..=self.random.below(3) {
            let id = self.random.below(12);
            let text = ["One.", "Two.", "Three."][self.random.below(3)];
            let reply_and_date = [",", "Thanks.,2020-01-02"][self.random.below(2)];
            let verified = self.random.below(4) > 0;
            table.push_str(&format!(
                "{id},Ann {id},4,2019-02-03,{text},google,{reply_and_date},{verified}\n"
            ));
        }
        let path = self.folder().join("table.csv");
        fs::write(&path, table).unwrap();
        let path = path.to_str().unwrap().to_owned();
        let folder = self.folder().to_str().unwrap().to_owned();
        // A table may name a review twice, and pruning may leave none.
        let _refused = run(&[&["import", &path, "--into", &folder], more].concat());
    }

    /// What is published, by id.
    fn published(&self) -> BTreeMap<String, Value> {
        let lines = run(&[
            "export",
            self.folder().to_str().unwrap(),
            "--format",
            "ndjson",
        ]);
        let lines = lines.with(0);
        let reviews = lines
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        let by_id = reviews.map(|review| (review["id"].as_str().unwrap().to_owned(), review));
        by_id.collect()
    }
}

fn review(id: &str, text: &str) -> Value {
    json!({
        "id": id, "author": "Bo", "author_avatar_url": null, "rating": 5, "date": "2021-05-06", "text": text,
        "source": "google", "source_url": null, "owner_reply": null, "verified": true,
    })
}

/// Starts a replica whose state survives it.
fn replica(life: &Life, state: &TempDir) -> Program {
    let data = life.folder().to_str().unwrap();
    let state = state.path().to_str().unwrap();
    Program::serve(&[
        "--data", data, "--no-hub", "--poll", "100ms", "--state", state,
    ])
}

#[test]
fn a_mirror_has_what_is_published_through_a_random_life() {
    let changes =
        std::env::var(CHANGES_VARIABLE).map_or(CHANGES_DEFAULT, |text| text.parse().unwrap());
    let data = DataDir::with_reviews(4, "2026-01-01T00:00:00Z");
    run(&["record", data.path().to_str().unwrap()]).with(0);
    let mut life = Life {
        earlier: fs::read_to_string(data.path().join("reviews.json")).unwrap(),
        data,
        random: Random(45),
        count: 0,
    };
    let states = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let mut replicas = [replica(&life, &states[0]), replica(&life, &states[1])];
    let mut mirror = Mirror::default();
    for round in 0..changes / CHANGES_PER_ROUND {
        for _ in 0..CHANGES_PER_ROUND {
            life.change();
            if life.random.below(4) == 0 {
                // A poll at any moment; the replica need not have the newest changes.
                let polled = life.random.below(2);
                mirror.poll(replicas[polled].address());
            }
        }
        if life.random.below(3) == 0 {
            let killed = life.random.below(2);
            replicas[killed].signal("KILL");
            replicas[killed] = replica(&life, &states[killed]);
        }
        let expected = life.published();
        for replica in &replicas {
            wait_until("the newest is served", || {
                published(replica.address()) == expected
            });
        }
        let polled = life.random.below(2);
        mirror.poll(replicas[polled].address());
        assert_eq!(mirror.reviews, expected, "round {round}");
    }
}
