//! Fan-out of one content to many subscribers, each with a host of its own: how soon the last healthy one has it, also
//! while one in ten never answers, and what a delivery costs.
//!
//! The service is the real program in a process of its own, so its processor time is its own; the subscribers are this
//! process, on the same machine, and their threads give way to everything else. The hosts are addresses of 127.0.0.0/8,
//! which nothing has to resolve: resolution is the one part of a delivery that is not in the numbers. Every host has its
//! own certificate, and every subscriber must receive, once, the bytes that the service serves.
//!
//! With `REVIEWD_BENCH_BUSY=yes` another process of ordinary priority keeps each core busy meanwhile: threads of this one.
//!
//! `cargo bench --bench fanout` measures 1,000 subscribers, `REVIEWD_BENCH_SUBSCRIBERS=1000,10000` other numbers; each
//! takes up to two open files here and one in the service (`ulimit -n`). `REVIEWD_BENCH_REPLICAS=2` measures that many services on one
//! PostgreSQL of the bench's own, which writes to the disk. With `--test` there are 20 subscribers.

#![allow(
    clippy::unwrap_used,
    reason = "a failure of a bench is its message, as in the tests that it shares its subscribers with"
)]

#[path = "../tests/it/hub/authority.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod authority;
#[path = "../tests/it/hub/subscriber.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod subscriber;
#[path = "../tests/it/support/mod.rs"]
#[allow(dead_code, unused_imports, reason = "the tests use the rest")]
mod support;

use std::collections::{HashMap, HashSet};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::setpriority_process;
use rustls::ServerConfig;
use rustls::server::{ServerSessionMemoryCache, StoresServerSessions};
use sha2::{Digest, Sha256};
use subscriber::{Received, Reply, Subscriber};
use support::dataset::{DataDir, reviews_json};
use support::postgres::Postgres;
use support::{Connection, FORM, Program, hub_form};

const BASE: &str = "https://reviews.example";

/// The topic: the newest 50 reviews.
const TOPIC: &str = "/api/feed.json";

/// One in so many subscribers hangs, where some do.
const HANGING: usize = 10;

/// How long anything may take before the bench fails, and how much longer for each subscriber.
const PATIENCE: Duration = Duration::from_secs(180);
const PATIENCE_EACH: Duration = Duration::from_millis(10);

/// How long searches are timed before anything is delivered.
const REST: Duration = Duration::from_secs(3);

/// Clients that subscribe at a time; the hub writes what they ask for in groups.
const CLIENTS: usize = 8;

/// Most memory of a service in KiB, for any number of subscribers. Our choice: 1.5 times what was measured with 9,000
/// subscribers, 10 % of them hanging.
const PEAK_KIB_MAX: u64 = 360 * 1024;

/// Requests on one connection: fewer than the service permits.
const CONNECTION_REQUESTS: usize = 1_000;

/// Microseconds in a unit of `/proc/PID/stat`: Linux counts in hundredths of a second, whatever its timer does.
const TICK_US: u64 = 10_000;

/// What healthy subscribers received: the path, when, and the SHA-256 of the body.
type Deliveries = Arc<Mutex<Vec<(String, Instant, [u8; 32])>>>;

fn main() {
    let is_given = |flag: &str| std::env::args().any(|argument| argument == flag);
    // Without `--bench` it is `cargo test` that runs it.
    let counts = if is_given("--test") || !is_given("--bench") {
        "20".to_owned()
    } else {
        std::env::var("REVIEWD_BENCH_SUBSCRIBERS").unwrap_or("1000".to_owned())
    };
    println!(
        "| subscribers | 10 % of them | bytes | first | median | p99 | last healthy | CPU each | memory \
         | search at rest | search while delivering |\n\
         |---:|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|"
    );
    for count in counts.split(',') {
        let count = count.parse().expect("a number of subscribers");
        for others in ["are healthy", "hang"] {
            let row = measure(count, others == "hang");
            println!("| {count} | {others} | {row}");
        }
    }
}

/// Subscribes so many, changes the content, and returns the cells of the table once the last healthy one has it.
fn measure(count: usize, is_hanging: bool) -> String {
    let temp = tempfile::tempdir().unwrap();
    let ca = temp.path().join("ca.pem");
    authority::write_ca(&ca);
    let data = DataDir::with_reviews(50, "2026-01-01T00:00:00Z");
    let [folder, ca] = [data.path(), &ca].map(|path| path.to_str().unwrap());
    // Quotas that nothing here reaches; the number of deliveries at a time is the default.
    let own = ["--data", folder, "--base-url", BASE, "--callback-ca", ca];
    let quotas = ["--hub-rate", "0", "--subscriptions-max", "10000000"];
    let own = [&own[..], &quotas, &["--allow-private-callbacks"]].concat();
    let replicas = std::env::var("REVIEWD_BENCH_REPLICAS").ok();
    let replicas = replicas.map(|number| number.parse::<usize>().expect("a number of replicas"));
    let postgres = replicas.map(|_| {
        let postgres = Postgres::start_with(&["fsync=on"]).expect("PostgreSQL is installed");
        postgres.database("hub");
        postgres
    });
    let store = postgres
        .as_ref()
        .map(|postgres| postgres.url("reviewd", "hub"));
    let store = store.iter().flat_map(|url| ["--store", url]);
    let own: Vec<&str> = own.into_iter().chain(store).collect();
    let program = Program::serve(&own);

    let deliveries = Deliveries::default();
    let noting = Arc::clone(&deliveries);
    let subscriber = subscribers(move |request| {
        let number = request.target.split(['/', '?']).nth(1).unwrap();
        let number: usize = number.parse().unwrap();
        match request.method.as_str() {
            "POST" if is_hanging && number.is_multiple_of(HANGING) => Reply::Silence(PATIENCE),
            "POST" => {
                let digest = Sha256::digest(&request.body).into();
                let delivery = (request.target.clone(), request.at, digest);
                noting.lock().unwrap().push(delivery);
                Reply::status(204)
            }
            _ => Reply::good(request),
        }
    });
    let first = Ipv4Addr::new(127, 1, 1, 0).to_bits();
    let callback = |number: usize| {
        let host = Ipv4Addr::from_bits(first + u32::try_from(number).unwrap());
        format!("https://{host}:{}/{number}", subscriber.port())
    };
    let callbacks: Vec<String> = (0..count).map(callback).collect();
    subscribe(program.address(), &callbacks);
    for _ in 0..count {
        program.wait_for_log("a subscription is active");
    }
    // Only now, so that one log tells of all activations.
    let others = (1..replicas.unwrap_or(1)).map(|_| Program::serve(&own));
    let programs: Vec<Program> = [program].into_iter().chain(others).collect();
    let address = programs[0].address();

    let healthy = if is_hanging {
        count - count.div_ceil(HANGING)
    } else {
        count
    };
    let patience = PATIENCE + PATIENCE_EACH * u32::try_from(count).unwrap();
    let at_rest = search_while(address, || thread::sleep(REST));
    let is_over = Arc::new(AtomicBool::new(false));
    if std::env::var_os("REVIEWD_BENCH_BUSY").is_some() {
        keep_cores_busy(&is_over);
    }
    let cpu_before_us = cpu_us(&programs);
    let began = Instant::now();
    data.write("reviews.json", &reviews_json(51, "2026-01-02T00:00:00Z"));
    let delivering = search_while(address, || {
        while deliveries.lock().unwrap().len() < healthy {
            assert!(began.elapsed() < patience, "not all within {patience:?}");
            // Looking takes time from what is measured.
            thread::sleep(Duration::from_millis(10));
        }
    });
    is_over.store(true, Relaxed);
    let cpu_us = cpu_us(&programs) - cpu_before_us;
    let served = Connection::open(address).get(TOPIC).body;
    let digest: [u8; 32] = Sha256::digest(&served).into();
    let deliveries = deliveries.lock().unwrap();
    let targets: HashSet<&String> = deliveries.iter().map(|(target, ..)| target).collect();
    assert_eq!((deliveries.len(), targets.len()), (healthy, healthy));
    assert!(deliveries.iter().all(|(.., body)| *body == digest));
    let times = deliveries.iter().map(|(_, at, _)| at.duration_since(began));
    let mut times: Vec<f64> = times.map(|time| time.as_secs_f64()).collect();
    times.sort_by(f64::total_cmp);
    let at = |percent: usize| times[(times.len() - 1) * percent / 100];
    let peaks = programs.iter().map(|program| program.status("VmHWM"));
    let peak = peaks.map(|kib| kib.parse::<u64>().unwrap()).max().unwrap();
    assert!(peak <= PEAK_KIB_MAX, "{peak} KiB of memory");
    format!(
        "{} | {:.2} s | {:.2} s | {:.2} s | {:.2} s | {} µs | {} MiB | {at_rest} | {delivering} |",
        served.len(),
        at(0),
        at(50),
        at(99),
        at(100),
        cpu_us / healthy as u64,
        peak / 1024
    )
}

/// Keeps each core busy until `is_over`.
fn keep_cores_busy(is_over: &Arc<AtomicBool>) {
    for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
        let is_over = Arc::clone(is_over);
        thread::spawn(move || {
            while !is_over.load(Relaxed) {
                std::hint::spin_loop();
            }
        });
    }
}

/// Searches every 10 ms on one connection while `wait` lasts; returns the percentiles of the times, which a client that
/// visits the site meanwhile would see. What the searches cost is part of the CPU of the deliveries.
fn search_while(address: SocketAddr, wait: impl FnOnce()) -> String {
    let is_over = AtomicBool::new(false);
    let search = || {
        let mut connection = Connection::open(address);
        let mut times = Vec::new();
        while times.is_empty() || !is_over.load(Relaxed) {
            if (times.len() + 1).is_multiple_of(CONNECTION_REQUESTS) {
                connection = Connection::open(address);
            }
            thread::sleep(Duration::from_millis(10));
            let began = Instant::now();
            let response = connection.get("/api/reviews/search?query=practice&limit=10");
            assert_eq!(response.status, 200, "{}", response.text());
            times.push(began.elapsed());
        }
        times
    };
    let mut times = thread::scope(|scope| {
        let searching = scope.spawn(search);
        wait();
        is_over.store(true, Relaxed);
        searching.join().unwrap()
    });
    times.sort_unstable();
    let at = |percent: usize| times[(times.len() - 1) * percent / 100].as_secs_f64() * 1_000.0;
    format!("p50 {:.2} ms, p99 {:.2} ms", at(50), at(99))
}

/// Starts a subscriber at every address of this machine, with a certificate for each that is asked for. Its threads are
/// nicer than everything else: those that a thread starts inherit its priority.
fn subscribers(behavior: impl Fn(&Received) -> Reply + Send + Sync + 'static) -> Subscriber {
    let made: Mutex<HashMap<IpAddr, Arc<ServerConfig>>> = Mutex::default();
    // Shared, because each would reserve room for sessions of its own.
    let sessions: Arc<dyn StoresServerSessions> = ServerSessionMemoryCache::new(32_768);
    let certificates = move |address: IpAddr| {
        let mut made = made.lock().unwrap();
        let config = made.entry(address).or_insert_with(|| {
            let mut config = (*authority::server_config(&[&address.to_string()])).clone();
            config.session_storage = Arc::clone(&sessions);
            Arc::new(config)
        });
        Some(Arc::clone(config))
    };
    let starter = thread::spawn(|| {
        setpriority_process(None, 19).unwrap();
        Subscriber::everywhere(certificates, behavior)
    });
    starter.join().unwrap()
}

/// Subscribes every callback; each request is on the hub's disk when this returns.
fn subscribe(address: SocketAddr, callbacks: &[String]) {
    thread::scope(|scope| {
        for part in callbacks.chunks(callbacks.len().div_ceil(CLIENTS)) {
            scope.spawn(move || {
                for part in part.chunks(CONNECTION_REQUESTS) {
                    let mut connection = Connection::open(address);
                    for callback in part {
                        let topic = format!("{BASE}{TOPIC}");
                        let form = hub_form("subscribe", &topic, callback, &[]);
                        connection.request("POST", "/api/websub/hub", &[FORM], form.as_bytes());
                        let response = connection.response("POST");
                        assert_eq!(response.status, 202, "{}", response.text());
                    }
                }
            });
        }
    });
}

/// Returns the CPU time of all programs so far, in user and kernel mode.
fn cpu_us(programs: &[Program]) -> u64 {
    let ticks = programs.iter().flat_map(|program| {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", program.id())).unwrap();
        // The name in parentheses before the fields may hold anything; user and system time are the 14th and 15th.
        let (_, fields) = stat.rsplit_once(')').unwrap();
        let ticks = fields.split_whitespace().skip(11).take(2);
        ticks
            .map(|ticks| ticks.parse::<u64>().unwrap())
            .collect::<Vec<_>>()
    });
    ticks.sum::<u64>() * TICK_US
}
