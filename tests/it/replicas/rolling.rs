//! Another program over all replicas, one after the other, while clients ask without a pause.

use super::balancer::Load;
use crate::support::dataset::DataDir;
use crate::support::{Program, get, wait_until};

const BASE_URL: &str = "https://reviews.example";
const FIRST: &str = "2026-01-01T00:00:00Z";

const TARGETS: &[&str] = &[
    "/reviews.json",
    "/api/feed.json",
    "/api/reviews/search?min_rating=4&limit=5",
    "/api/reviews/since/2019-01-01",
];

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
