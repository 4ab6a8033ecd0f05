//! Kills the real program with SIGKILL while reviews change, and a receiver loses and delays. Then it checks the
//! guarantees: each change was acknowledged, notices about one review arrived in order, and a notice was repeated only
//! after a failure or a kill.

use std::collections::HashMap;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use super::targets::{Site, target};
use crate::hub::chaos::Random;
use crate::hub::subscriber::{Received, Reply, Subscriber};
use crate::support::wait_within;

/// The environment variable that sets the number of changes, and its default.
const CHANGES: (&str, usize) = ("REVIEWD_NOTICE_CHANGES", 40);

/// Reviews of the service, which change again and again.
const REVIEWS: usize = 25;

/// Changes at once: as many as are told one by one.
const BATCH: usize = 10;

/// How long a step may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(180);

/// A notice as it was received.
#[derive(Clone, Debug)]
struct Arrival {
    /// The value of `webhook-id`.
    name: String,
    review: String,
    version: u64,
    is_acknowledged: bool,
    /// How many times the program had been killed.
    kills: usize,
}

fn arrival(request: &Received, is_acknowledged: bool, kills: usize) -> Arrival {
    let body: Value = serde_json::from_slice(&request.body).expect("JSON");
    let review = &body["data"]["review"];
    let text = review["text"].as_str().expect("one change");
    Arrival {
        name: request.field("webhook-id").expect("an id").to_owned(),
        review: review["id"].as_str().expect("an id").to_owned(),
        version: text.parse().expect("a version"),
        is_acknowledged,
        kills,
    }
}

#[test]
fn kills_and_failures_lose_no_notice_and_repeat_none_without_a_reason() {
    let asked = std::env::var(CHANGES.0).ok();
    let count = asked.map_or(CHANGES.1, |text| text.parse().expect("a number"));
    let kills = Arc::new(AtomicUsize::new(0));
    let arrivals: Arc<Mutex<Vec<Arrival>>> = Arc::default();
    let receiver = Subscriber::good();
    let random = Mutex::new(Random(7));
    let noting = Arc::clone(&arrivals);
    let killed = Arc::clone(&kills);
    receiver.behave(move |request: &Received| {
        let chance = random.lock().unwrap().below(6);
        let is_acknowledged = chance > 1;
        let kills = killed.load(SeqCst);
        noting
            .lock()
            .unwrap()
            .push(arrival(request, is_acknowledged, kills));
        match chance {
            0 => Reply::status(500),
            1 => Reply::HangUp,
            2 => {
                // A slow receiver, so that a kill finds requests in flight.
                thread::sleep(Duration::from_millis(100));
                Reply::status(200)
            }
            _ => Reply::status(204),
        }
    });
    let mut random = Random(42);
    let mut site = Site::new(REVIEWS);
    site.write_targets(&[target("shop", &receiver)]);
    let flags = ["--retry-delays", "50ms"];
    let mut program = site.serve(&flags);
    program.wait_for_log("notices are sent of what changes from now on");
    let mut versions: HashMap<String, u64> = HashMap::new();
    let mut changes = 0;
    while changes < count {
        let first = random.below(REVIEWS);
        for offset in 0..BATCH.min(count - changes) {
            let review = &mut site.reviews()[(first + offset) % REVIEWS];
            let id = review["id"].as_str().expect("an id").to_owned();
            let version = versions.entry(id).or_default();
            *version += 1;
            review["text"] = Value::from(version.to_string());
            changes += 1;
        }
        site.publish();
        if random.below(3) == 0 {
            // The program is killed at a random time after the change.
            thread::sleep(Duration::from_millis(random.below(2_500) as u64));
            kills.fetch_add(1, SeqCst);
            drop(program);
            program = site.serve(&flags);
        }
        // Only what is recorded is a change of its own: a review that changes twice before is told once.
        wait_within(PATIENCE, "recorded", || site.is_told());
    }
    wait_within(PATIENCE, "acknowledged", || site.waiting() == 0);
    let arrivals = arrivals.lock().unwrap().clone();
    check(&arrivals, &versions);
    println!(
        "{count} changes, {} kills, {} arrivals",
        kills.load(SeqCst),
        arrivals.len()
    );
}

fn check(arrivals: &[Arrival], versions: &HashMap<String, u64>) {
    for (review, last) in versions {
        let of_review: Vec<&Arrival> = arrivals
            .iter()
            .filter(|arrival| arrival.review == *review)
            .collect();
        let seen = of_review.iter().map(|arrival| arrival.version);
        assert!(seen.is_sorted(), "{review}: {of_review:?}");
        for version in 1..=*last {
            let of_version = of_review
                .iter()
                .filter(|arrival| arrival.version == version);
            let of_version: Vec<&&Arrival> = of_version.collect();
            let is_acknowledged = of_version.iter().any(|arrival| arrival.is_acknowledged);
            assert!(is_acknowledged, "{review} {version}: {of_version:?}");
            for pair in of_version.windows(2) {
                assert_eq!(pair[0].name, pair[1].name, "{review} {version}");
                let has_reason = !pair[0].is_acknowledged || pair[0].kills < pair[1].kills;
                assert!(has_reason, "{review} {version}: {of_version:?}");
            }
        }
    }
    let mut names: HashMap<&str, (&str, u64)> = HashMap::new();
    for arrival in arrivals {
        let change = (arrival.review.as_str(), arrival.version);
        let known = names.entry(&arrival.name).or_insert(change);
        assert_eq!(*known, change, "{}", arrival.name);
    }
}
