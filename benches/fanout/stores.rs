//! The stores alone: how fast everything that a change makes due is claimed and booked, while nothing is sent.
//!
//! Each worker does what the hub's thread of one replica does, in batches as large as the lane of deliveries.

use std::collections::HashMap;
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use reviewd::websub::policy::Policy;
use reviewd::websub::store::{Claim, Lane, Report, Store, TopicVersion};
use reviewd::websub::subscription::{Answer, Outcome};
use reviewd::wire::date::Timestamp;

use super::server::{Home, Server, Work, assert_changed};
use super::{BASE, TOPIC, now};

/// Measures the embedded store and PostgreSQL with one to three workers.
pub(crate) fn measure(counts: &[usize]) {
    let server = Server::start();
    println!("{HEAD}");
    for &count in counts {
        let temp = tempfile::tempdir().unwrap();
        let home = Home::Embedded(temp.path().join("state"));
        println!("{}", row(&home, count, 1));
        for workers in 1..=3 {
            let Some(server) = &server else { break };
            let home = server.home();
            println!("{}", row(&home, count, workers));
        }
    }
    println!();
}

fn row(home: &Home<'_>, count: usize, workers: usize) -> String {
    let url = format!("{BASE}{TOPIC}");
    let mut store = home.open();
    let (old, new) = (version(&url, 1), version(&url, 2));
    assert_changed(
        &store
            .publish(std::slice::from_ref(&old), &policy(), now())
            .unwrap(),
    );
    let callbacks: Vec<String> = (0..count)
        .map(|number| format!("https://s{number}.example/{number}"))
        .collect();
    home.fill(&url, old.digest, &callbacks);
    let mut stores: Vec<Box<dyn Store>> = (0..workers).map(|_| home.open()).collect();
    for one in &mut stores {
        // Each knows what it could send.
        one.publish(std::slice::from_ref(&old), &policy(), now())
            .unwrap();
    }
    assert_changed(
        &store
            .publish(std::slice::from_ref(&new), &policy(), now())
            .unwrap(),
    );
    home.forget_statements();
    let before = home.work();
    let began = Instant::now();
    let done: usize = thread::scope(|scope| {
        let workers: Vec<_> = stores
            .iter_mut()
            .map(|one| scope.spawn(|| work(one.as_mut())))
            .collect();
        workers.into_iter().map(|one| one.join().unwrap()).sum()
    });
    let took = began.elapsed();
    assert_eq!(done, count, "each once");
    let work = home
        .work()
        .zip(before)
        .map(|(after, before)| after.since(before));
    home.print_statements();
    assert_eq!(home.open_ends(&new.digest), 0, "all are booked");
    format!(
        "| {count} | {} | {workers} | {:.2} s | {:.0} | {} |",
        home.name(),
        took.as_secs_f64(),
        count as f64 / took.as_secs_f64(),
        Work::cells(work, count)
    )
}

/// Claims and books until nothing is due; returns how many there were.
fn work(store: &mut dyn Store) -> usize {
    let busy = HashMap::new();
    let mut done = 0;
    loop {
        let now = now();
        let claim = Claim {
            limit: LIMIT,
            per_host: 4,
            busy: &busy,
            until: now.plus(Duration::from_secs(60)),
        };
        let claimed = store.claim_deliveries(Lane::Fast, &claim, now).unwrap();
        if claimed.is_empty() {
            return done;
        }
        let reports: Vec<Report> = claimed
            .iter()
            .map(|delivery| Report::Delivered {
                id: delivery.id,
                attempt: delivery.attempt,
                outcome: Outcome::Attempted {
                    answer: Answer::Status(204),
                    retry_after: None,
                },
                elapsed: Duration::from_millis(5),
                jitter: 0,
            })
            .collect();
        store.record(&reports, &policy(), now).unwrap();
        done += reports.len();
    }
}

fn version(url: &str, number: u8) -> TopicVersion {
    TopicVersion {
        url: url.to_owned(),
        digest: [number; 32],
        dated: Timestamp::from_unix(number.into()),
        body: Bytes::from_static(b"{}"),
    }
}

fn policy() -> Policy {
    Policy {
        failures_max: 3,
        retry_delays: vec![Duration::from_secs(30)],
        retry_after_max: Duration::from_secs(3_600),
    }
}

/// Deliveries claimed at a time, as many as the hub's fast limit.
const LIMIT: usize = 64;

const HEAD: &str = "| subscriptions | store | workers | claimed and booked in | a second | transactions each | statements each | log each | CPU of PostgreSQL each |
|---:|---|---:|---:|---:|---:|---:|---:|---:|";
