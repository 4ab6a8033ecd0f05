//! Another dataset and another program over all replicas, one after the other, while clients ask without a pause.

use super::balancer::Load;
use crate::support::dataset::{DataDir, reviews_json};
use crate::support::{Program, get, wait_until};

const BASE_URL: &str = "https://reviews.example";
const FIRST: &str = "2026-01-01T00:00:00Z";
const SECOND: &str = "2026-01-02T00:00:00Z";

const TARGETS: &[&str] = &[
    "/reviews.json",
    "/api/feed.json",
    "/api/reviews/search?min_rating=4&limit=5",
    "/api/reviews/since/2019-01-01",
];

/// Returns which dataset a replica serves, as `/readyz` tells.
fn version(program: &Program) -> String {
    let ready = get(program.address(), "/readyz", &[]).json();
    ready["version"].as_str().expect("a version").to_owned()
}

#[test]
fn a_changed_directory_reaches_every_replica_and_every_answer_is_whole_old_or_whole_new() {
    let data = DataDir::with_reviews(40, FIRST);
    let folder = data.path().to_str().unwrap();
    let start = || Program::serve(&["--data", folder, "--base-url", BASE_URL, "--no-hub"]);
    let replicas: Vec<Program> = (0..3).map(|_| start()).collect();
    let before = version(&replicas[0]);
    let whole = |target: &str| get(replicas[0].address(), target, &[]).body;
    let old: Vec<Vec<u8>> = TARGETS.iter().map(|target| whole(target)).collect();
    let addresses = replicas.iter().map(Program::address).collect();
    let load = Load::start(addresses, TARGETS, 4);
    load.wait_for(50);
    data.write("reviews.json", &reviews_json(60, SECOND));
    wait_until("every replica serves the new dataset", || {
        let versions: Vec<String> = replicas.iter().map(version).collect();
        versions[0] != before && versions.iter().all(|version| *version == versions[0])
    });
    load.wait_for(50);
    let outcome = load.stop();
    assert_eq!(outcome.passed_on, 0);
    for (target, old) in TARGETS.iter().zip(old) {
        let new = whole(target);
        assert_ne!(old, new, "{target}");
        for body in &outcome.bodies[target] {
            assert!(
                *body == old || *body == new,
                "{target}: neither old nor new"
            );
        }
        assert!(outcome.bodies[target].contains(&new), "{target}");
    }
}

#[test]
fn replicas_restarted_one_after_the_other_behind_a_balancer_lose_no_request() {
    let data = DataDir::with_reviews(40, FIRST);
    let folder = data.path().to_str().unwrap().to_owned();
    let start = || Program::serve(&["--data", &folder, "--base-url", BASE_URL, "--no-hub"]);
    let mut replicas: Vec<Program> = (0..3).map(|_| start()).collect();
    let addresses = replicas.iter().map(Program::address).collect();
    let load = Load::start(addresses, TARGETS, 4);
    for (index, replica) in replicas.iter_mut().enumerate() {
        load.wait_for(50);
        let fresh = start();
        wait_until("the new one is ready", || {
            get(fresh.address(), "/readyz", &[]).status == 200
        });
        let old = std::mem::replace(replica, fresh);
        // The balancer learns of it only by what happens to its requests.
        old.signal("TERM");
        let (status, _) = old.wait();
        assert_eq!(status, Some(0));
        load.replace(index, replica.address());
    }
    load.wait_for(50);
    let outcome = load.stop();
    for (target, bodies) in &outcome.bodies {
        assert_eq!(
            bodies.len(),
            1,
            "{target}: all replicas gave the same bytes"
        );
    }
    assert!(outcome.answered > 200);
}
