//! One content to many subscribers by replicas that share a PostgreSQL, and by one service with the embedded store.
//!
//! Replicas are processes that follow the same directory. Subscriptions are put into the store without verification, and
//! share few hosts (`REVIEWD_BENCH_HOSTS`, 32), so that connections are kept: with hosts of their own handshakes cost
//! more than all else, and what the store takes would not show. What is measured ends when every subscriber has received
//! the new content and every end is booked.

use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};

use super::group::{Certificates, Group, host};
use super::measured::{at, cpu_us};
use super::server::{Home, Server, Work};
use super::subscriber::{Reply, Subscriber};
use super::support::dataset::{DataDir, reviews_json};
use super::support::{Connection, Program};
use super::{BASE, TOPIC, authority, everywhere, far_behind, numbers, serve, wait_until};

/// Measures each number of subscribers with the embedded store and with each number of replicas.
pub(crate) fn measure(counts: &[usize], replicas: &[usize]) {
    let server = Server::start();
    let hosts = numbers("REVIEWD_BENCH_HOSTS", "32")[0];
    println!("{HEAD}");
    for &count in counts {
        let temp = tempfile::tempdir().unwrap();
        let home = Home::Embedded(temp.path().join("state"));
        println!("{}", row(&home, count, hosts, 1));
        for &replicas in replicas {
            let Some(server) = &server else { break };
            let home = server.home();
            println!("{}", row(&home, count, hosts, replicas));
        }
    }
    println!();
}

fn row(home: &Home<'_>, count: usize, hosts: usize, replicas: usize) -> String {
    let temp = tempfile::tempdir().unwrap();
    let ca = temp.path().join("ca.pem");
    authority::write_ca(&ca);
    let data = DataDir::with_reviews(50, "2026-01-01T00:00:00Z");
    let programs = start(home, replicas, data.path(), &ca);
    let group = Arc::new(Group::default());
    let certificates = Certificates::new();
    let (noting, theirs) = (Arc::clone(&group), Arc::clone(&certificates));
    let subscriber: Subscriber = far_behind(move || {
        everywhere(&theirs, move |request| {
            noting.note(request);
            Reply::good(request)
        })
    });
    let hosts = hosts.min(count);
    for number in 0..hosts {
        certificates.of(host(number).into());
    }
    let callbacks: Vec<String> = (0..count)
        .map(|number| {
            format!(
                "https://{}:{}/{number}",
                host(number % hosts),
                subscriber.port()
            )
        })
        .collect();
    let served = |program: &Program| Connection::open(program.address()).get(TOPIC).body;
    let before = served(&programs[0]);
    let old: [u8; 32] = Sha256::digest(&before).into();
    home.fill(&format!("{BASE}{TOPIC}"), &callbacks);

    let cpu = || {
        programs
            .iter()
            .filter_map(|one| cpu_us(one.id()))
            .sum::<u64>()
    };
    let (work_before, cpu_before) = (home.work(), cpu());
    let began = Instant::now();
    data.write("reviews.json", &reviews_json(51, "2026-01-02T00:00:00Z"));
    wait_until("all subscribers have it", || group.count() >= count);
    let took_us = cpu() - cpu_before;
    // One replica may have sent everything before another has seen the new files.
    let changed = |program: &Program| served(program) != before;
    wait_until("all replicas serve it", || programs.iter().all(changed));
    let content = served(&programs[0]);
    let new: [u8; 32] = Sha256::digest(&content).into();
    wait_until("all ends are booked", || {
        thread::sleep(BOOKED_PAUSE);
        home.open_ends(&new) == 0
    });
    let work = home
        .work()
        .zip(work_before)
        .map(|(after, before)| after.since(before));
    for program in &programs {
        assert!(served(program) == content, "all replicas serve the same");
    }
    let sorted = group.check(&content, count, began);
    let (first, last) = (at(&sorted, 0), at(&sorted, 100));
    let seconds = |time: Duration| format!("{:.2} s", time.as_secs_f64());
    format!(
        "| {count} | {hosts} | {} | {replicas} | {} | {} | {} | {} | {:.0} | {} µs | {} |",
        home.name(),
        seconds(first),
        seconds(at(&sorted, 50)),
        seconds(at(&sorted, 99)),
        seconds(last),
        count as f64 / (last - first).as_secs_f64(),
        took_us / count as u64,
        Work::cells(work, count)
    )
}

/// Starts replicas, and waits until one of them delivers.
fn start(home: &Home<'_>, replicas: usize, data: &Path, ca: &Path) -> Vec<Program> {
    let flags = home.flags();
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let programs: Vec<Program> = (0..replicas).map(|_| serve(data, ca, &flags)).collect();
    wait_until("one delivers", || {
        programs.iter().any(|program| {
            let ready = Connection::open(program.address()).get("/readyz").body;
            String::from_utf8_lossy(&ready).contains("\"delivering\":true")
        })
    });
    programs
}

/// The pause between two looks at what is booked.
const BOOKED_PAUSE: Duration = Duration::from_millis(100);

const HEAD: &str = "| subscribers | hosts | store | replicas | first | median | p99 | last | a second | CPU of the replicas each | transactions each | statements each | log each | CPU of PostgreSQL each |
|---:|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|";
