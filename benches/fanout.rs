//! Fan-out of one content to many subscribers, each with a host of its own: how soon the last healthy one has it,
//! also while others hang, dawdle or are gone, what a delivery costs, and what a reader notices meanwhile.
//!
//! The service is the real program in a process of its own, so its processor time is its own; subscribers, reader and
//! clock are this process, on the same machine. The hosts are addresses of 127.0.0.0/8, which nothing has to
//! resolve: resolution is the one part of a delivery that is not in the numbers. Every host has its own certificate,
//! and every subscriber must receive, once, the bytes that the service serves.
//!
//! The subscribers' threads stand far behind everything else, as they would not be here at all but for the bench.
//!
//! `cargo bench --bench fanout` measures 1,000 subscribers, `REVIEWD_BENCH_SUBSCRIBERS=1000,10000` other numbers; each
//! takes up to two open files here and one in the service (`ulimit -n`). `-- hang` measures only the row of that name,
//! and `REVIEWD_BENCH_FLAGS` are further flags of the service. With `--test` there are 20 subscribers.
//!
//! `REVIEWD_BENCH_REPLICAS=1,2,3` measures something else with the same numbers of subscribers: so many replicas on one
//! PostgreSQL, and beside them one service with the embedded store (`replicas`).

#![allow(
    clippy::unwrap_used,
    reason = "a failure of a bench is its message, as in the tests that it shares its subscribers with"
)]

#[path = "../tests/it/hub/authority.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod authority;
#[path = "fanout/group.rs"]
mod group;
#[path = "fanout/measured.rs"]
mod measured;
#[cfg(feature = "postgres")]
#[path = "fanout/replicas.rs"]
mod replicas;
#[cfg(feature = "postgres")]
#[path = "fanout/server.rs"]
mod server;
#[path = "../tests/it/hub/subscriber.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod subscriber;
#[path = "../tests/it/support/mod.rs"]
mod support;

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use group::{Certificates, Group, host};
use measured::{HEAD, Measured, cpu_us, memory_kib, read_while};
use reviewd::clock;
use reviewd::hub::Moment;
use reviewd::hub::priority::{Behind, give_way};
use reviewd::hub::store::{Counts, Store};
use subscriber::{Received, Reply, Subscriber};
use support::dataset::{DataDir, reviews_json};
use support::{Connection, Program};

pub(crate) const BASE: &str = "https://reviews.example";

/// The topic, and what the reader asks for meanwhile: the newest 50 reviews.
pub(crate) const TOPIC: &str = "/api/feed.json";

const HUB: &str = "/api/websub/hub";

/// The variable that sets the numbers of subscribers.
const SUBSCRIBERS: &str = "REVIEWD_BENCH_SUBSCRIBERS";

/// The variable that sets the numbers of replicas.
#[cfg(feature = "postgres")]
const REPLICAS: &str = "REVIEWD_BENCH_REPLICAS";

/// One in so many subscribers is not healthy.
const OTHERS: usize = 20;

/// How long the reader reads before the content changes.
const IDLE: Duration = Duration::from_secs(2);

/// How long a slow subscriber thinks.
const SLOW: Duration = Duration::from_secs(1);

/// How long anything may take before the bench fails.
const PATIENCE: Duration = Duration::from_secs(180);

/// Clients that subscribe at a time; the hub writes what they ask for in groups.
const CLIENTS: usize = 8;

/// What one in [`OTHERS`] subscribers does with a delivery.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Others {
    Healthy,
    /// Takes the request, and never answers.
    Hanging,
    /// Answers after [`SLOW`].
    Slow,
    /// Listens no more.
    Dead,
}

impl Others {
    fn name(self) -> &'static str {
        match self {
            Others::Healthy => "healthy",
            Others::Hanging => "hang",
            Others::Slow => "answer after 1 s",
            Others::Dead => "are gone",
        }
    }
}

/// A hub with verified subscriptions.
struct Stage {
    data: DataDir,
    program: Program,
    healthy: Arc<Group>,
    others: Option<Subscriber>,
    /// Of all subscribers, healthy or not.
    count: usize,
    _healthy: Subscriber,
    _temp: tempfile::TempDir,
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let is_given = |flag: &str| arguments.iter().any(|argument| argument == flag);
    // Without `--bench` it is `cargo test` that runs it.
    let is_test = is_given("--test") || !is_given("--bench");
    let counts = if is_test {
        vec![20]
    } else {
        numbers(SUBSCRIBERS, "1000")
    };
    #[cfg(feature = "postgres")]
    if is_test || std::env::var_os(REPLICAS).is_some() {
        replicas::measure(&counts, &numbers(REPLICAS, "2"));
        if !is_test {
            return;
        }
    }
    println!("{HEAD}");
    for count in counts {
        for others in [Others::Healthy, Others::Hanging, Others::Slow, Others::Dead] {
            let mut names = arguments
                .iter()
                .skip(1)
                .filter(|name| !name.starts_with('-'));
            if names.clone().next().is_some()
                && !names.any(|name| others.name().contains(name.as_str()))
            {
                continue;
            }
            let idle = if is_test { IDLE / 20 } else { IDLE };
            let measured = Stage::set(count, others).change(others, idle);
            println!("{}", measured.row(count, others));
        }
    }
}

/// Numbers from the environment, or else those in `default`.
fn numbers(variable: &str, default: &str) -> Vec<usize> {
    let text = std::env::var(variable).unwrap_or_else(|_| default.to_owned());
    let parse = |part: &str| part.parse().expect("a number");
    text.split(',').map(parse).collect()
}

impl Stage {
    /// Starts service and subscribers, and subscribes them all.
    fn set(count: usize, others: Others) -> Stage {
        let temp = tempfile::tempdir().unwrap();
        let (state, ca) = (temp.path().join("state"), temp.path().join("ca.pem"));
        authority::write_ca(&ca);
        let data = DataDir::with_reviews(50, "2026-01-01T00:00:00Z");
        let program = serve(data.path(), &ca, &["--state", state.to_str().unwrap()]);
        let healthy = Arc::new(Group::default());
        let noting = Arc::clone(&healthy);
        let listening = far_behind(move || {
            everywhere(&Certificates::new(), move |request| {
                noting.note(request);
                Reply::good(request)
            })
        });
        let unhealthy = (others != Others::Healthy)
            .then(|| far_behind(|| everywhere(&Certificates::new(), Reply::good)));
        let callbacks: Vec<String> = (0..count)
            .map(|number| {
                let subscriber = unhealthy
                    .as_ref()
                    .filter(|_| is_other(number))
                    .unwrap_or(&listening);
                let (host, port) = (host(number), subscriber.port());
                format!("https://{host}:{port}/{number}")
            })
            .collect();
        subscribe(program.address(), &callbacks);
        let mut store = Store::in_directory(&state).unwrap();
        wait_until("all subscriptions are verified", || {
            let Counts { requests, owed, .. } = store.counts(now()).unwrap();
            requests == 0 && owed == 0
        });
        let active = store.counts(now()).unwrap().subscriptions;
        assert_eq!(active, count as u64, "each request became a subscription");
        Stage {
            data,
            program,
            healthy,
            others: unhealthy,
            count,
            _healthy: listening,
            _temp: temp,
        }
    }

    /// Changes the content, and waits until the last healthy subscriber has it.
    fn change(mut self, others: Others, idle: Duration) -> Measured {
        self.turn(others);
        self.healthy.forget();
        let address = self.program.address();
        let idle = read_while(address, TOPIC, || thread::sleep(idle));
        let is_healthy = |number: usize| others == Others::Healthy || !is_other(number);
        let expected = (0..self.count).filter(|number| is_healthy(*number)).count();
        let cpu_before = cpu_us(self.program.id());
        let began = Instant::now();
        let content = reviews_json(51, "2026-01-02T00:00:00Z");
        let mut cpu_after = None;
        let meanwhile = read_while(address, TOPIC, || {
            self.data.write("reviews.json", &content);
            wait_until("all healthy subscribers have it", || {
                self.healthy.count() >= expected
            });
            cpu_after = cpu_us(self.program.id());
        });
        let memory_kib = memory_kib(self.program.id());
        let served = Connection::open(address).get(TOPIC).body;
        let sorted = self.healthy.check(&served, expected, began);
        Measured {
            sorted,
            memory_kib,
            cpu_us: cpu_before
                .zip(cpu_after)
                .map(|(before, after)| after - before),
            idle,
            meanwhile,
            body_bytes: served.len(),
        }
    }

    /// Lets the others behave as they will; until now they were as good as all.
    fn turn(&mut self, others: Others) {
        let Some(subscriber) = &self.others else {
            return;
        };
        match others {
            Others::Healthy => {}
            Others::Hanging => subscriber.behave(|_| Reply::Silence(PATIENCE)),
            Others::Slow => subscriber.behave(|request| {
                thread::sleep(SLOW);
                Reply::good(request)
            }),
            Others::Dead => {
                // A connection that the hub has kept is as dead as the listener.
                subscriber.behave(|_| Reply::HangUp);
                self.others = None;
            }
        }
    }
}

/// Starts something whose threads stand behind everything else: those that a thread starts inherit its priority.
pub(crate) fn far_behind<T: Send + 'static>(start: impl FnOnce() -> T + Send + 'static) -> T {
    let starter = thread::spawn(|| {
        give_way(Behind::Far);
        start()
    });
    starter.join().unwrap()
}

/// Starts a subscriber at every address of this machine.
pub(crate) fn everywhere(
    certificates: &Arc<Certificates>,
    behaviour: impl Fn(&Received) -> Reply + Send + Sync + 'static,
) -> Subscriber {
    let certificates = Arc::clone(certificates);
    Subscriber::everywhere(move |address| Some(certificates.of(address)), behaviour)
}

/// Starts the service with caps that nobody here reaches; what goes on at a time is as by default. Flags in `more`, such
/// as those of its store, come before those of the environment.
pub(crate) fn serve(data: &Path, ca: &Path, more: &[&str]) -> Program {
    let [data, ca] = [data, ca].map(|path| path.to_str().unwrap());
    let flags = std::env::var("REVIEWD_BENCH_FLAGS").unwrap_or_default();
    let flags: Vec<&str> = flags.split_whitespace().collect();
    Program::serve(
        &[
            &["--data", data, "--base-url", BASE][..],
            &["--callback-ca", ca, "--allow-private-callbacks"],
            &["--hub-rate", "0", "--subscriptions-max", "10000000"],
            more,
            &flags,
        ]
        .concat(),
    )
}

/// Subscribes every callback; each request is on the hub's disk when this returns.
fn subscribe(address: SocketAddr, callbacks: &[String]) {
    thread::scope(|scope| {
        for part in callbacks.chunks(callbacks.len().div_ceil(CLIENTS)) {
            scope.spawn(move || {
                let mut connection = Connection::open(address);
                for callback in part {
                    let form = url::form_urlencoded::Serializer::new(String::new())
                        .append_pair("hub.mode", "subscribe")
                        .append_pair("hub.topic", &format!("{BASE}{TOPIC}"))
                        .append_pair("hub.callback", callback)
                        .finish();
                    let fields = [("Content-Type", "application/x-www-form-urlencoded")];
                    connection.request("POST", HUB, &fields, form.as_bytes());
                    let response = connection.response("POST");
                    assert_eq!(response.status, 202, "{}", response.text());
                }
            });
        }
    });
}

fn is_other(number: usize) -> bool {
    number.is_multiple_of(OTHERS)
}

pub(crate) fn now() -> Moment {
    Moment::from_unix_ms(clock::unix_ms())
}

/// Waits until `condition` holds, looking seldom, since looking takes time from what is measured.
pub(crate) fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let began = Instant::now();
    while !condition() {
        assert!(
            began.elapsed() < PATIENCE,
            "not within {PATIENCE:?}: {what}"
        );
        thread::sleep(Duration::from_millis(10));
    }
}
