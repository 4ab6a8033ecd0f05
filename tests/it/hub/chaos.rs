//! Simulates clients and changes of content for `crash` and `replicas`, which kill processes at random moments. Then it
//! checks the guarantees: no request answered 202 and no confirmed subscription is lost, each active subscriber has
//! the newest content, and none received older content after newer content.

use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};

use super::rig::{now, post, serve};
use super::subscriber::{Received, Reply, Subscriber};
use crate::support::dataset::{DataDir, reviews_json};
use crate::support::{Program, get, wait_within};
use reviewd::hub::StoreLocation;
use reviewd::hub::store::Store;
use reviewd::wire::date::{Timestamp, parse_timestamp};

/// The time of version 0: 2020-01-01T00:00:00Z.
const FIRST_S: i64 = 1_577_836_800;

/// Returns how long a test runs: the seconds that the environment variable `variable` says, or else `usual_s`.
pub(super) fn duration_from(variable: &str, usual_s: u64) -> Duration {
    let asked = std::env::var(variable).ok();
    Duration::from_secs(asked.map_or(usual_s, |text| text.parse().unwrap()))
}

/// Pseudorandom numbers, the same in every run.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % bound as u64).unwrap()
    }
}

/// A process with its own data directory.
pub(super) struct Replica {
    data: DataDir,
    pub(super) program: Option<Program>,
}

/// A request that was answered 202. No two requests have the same lease, and later ones have a longer one.
struct AcceptedRequest {
    callback: String,
    lease_s: u32,
}

/// Processes on one store, and their subscribers.
pub(super) struct World {
    location: StoreLocation,
    /// The arguments of the command line that name the store.
    store_arguments: [String; 2],
    pub(super) replicas: Vec<Replica>,
    subscribers: Vec<Subscriber>,
    /// The version of the newest content, which only some replicas have. It is stored in the date of the data, so that
    /// the data do not grow with the number of changes.
    version: usize,
    /// The subscribe requests that were answered 202.
    accepted: Vec<AcceptedRequest>,
    /// The number of requests so far.
    asked: u32,
    /// The number of processes that were killed so far.
    pub(super) kills: usize,
    pub(super) random: Random,
}

impl World {
    /// Prepares `count` processes without starting them.
    pub(super) fn new(location: StoreLocation, store_arguments: [&str; 2], count: usize) -> World {
        let replica = |_| Replica {
            data: DataDir::with_reviews(1, &updated_at(1)),
            program: None,
        };
        World {
            location,
            store_arguments: store_arguments.map(str::to_owned),
            replicas: (0..count).map(replica).collect(),
            subscribers: subscribers(),
            version: 1,
            accepted: Vec::new(),
            asked: 0,
            kills: 0,
            random: Random(42),
        }
    }

    /// Starts a process whose hub retries so often that no subscription is removed.
    pub(super) fn boot(&mut self, number: usize) {
        let replica = &mut self.replicas[number];
        // A subscription survives as many consecutive failures as there are delays.
        let delays = format!("100ms{}", ",200ms".repeat(31));
        let more = [
            "--delivery-timeout",
            "3s",
            "--subscriptions-per-host",
            "100000",
        ];
        let more = [&more[..], &["--retry-delays", &delays]].concat();
        let store = self.store_arguments.each_ref().map(String::as_str);
        replica.program = Some(serve(&replica.data, store, &more));
    }

    /// Kills a process with SIGKILL.
    pub(super) fn kill(&mut self, number: usize) {
        self.replicas[number].program = None;
        self.kills += 1;
    }

    fn address(&self, number: usize) -> SocketAddr {
        self.replicas[number].program.as_ref().unwrap().address()
    }

    /// Sends random requests and changes the content for this long.
    pub(super) fn act_for(&mut self, time: Duration) {
        let began = Instant::now();
        while began.elapsed() < time {
            match self.random.below(10) {
                0..=4 => self.ask("subscribe"),
                5 => self.ask("unsubscribe"),
                6 | 7 => {
                    self.version += 1;
                    // The other replicas keep older content.
                    for _ in 0..self.replicas.len().min(2) {
                        let number = self.random.below(self.replicas.len());
                        self.give(number);
                    }
                }
                // One of the random acts: nothing happens for a while.
                _ => thread::sleep(Duration::from_millis(20)),
            }
        }
    }

    /// Sends a request for a random callback to a random process. No two requests have the same lease, so that the test
    /// can tell them apart. While the database is gone, the hub answers 503 and promises nothing.
    fn ask(&mut self, mode: &str) {
        let subscriber = self.random.below(4);
        let path = format!("/{}", self.random.below(8));
        let callback = self.subscribers[subscriber].callback(&path);
        self.asked += 1;
        let lease_s = 100_000 + self.asked;
        let number = self.random.below(self.replicas.len());
        let response = post(self.address(number), mode, &callback, lease_s);
        match response.status {
            202 if mode == "subscribe" => self.accepted.push(AcceptedRequest { callback, lease_s }),
            202 => {}
            503 if self.location.is_shared() => {
                assert_eq!(response.field("retry-after"), Some("10"));
            }
            _ => panic!("{response:?}"),
        }
    }

    /// Writes the newest content into a process's data directory.
    fn give(&self, number: usize) {
        let text = reviews_json(1, &updated_at(self.version));
        self.replicas[number].data.write("reviews.json", &text);
    }

    /// Waits until no request and no delivery is pending, including those that a dead process had claimed.
    fn settle(&self, store: &mut Store) {
        wait_within(PATIENCE, "settled", || {
            let counts = store.counts(now()).unwrap();
            counts.requests == 0 && counts.undelivered == 0
        });
    }

    /// Publishes a last content on the first process, and checks all guarantees.
    pub(super) fn finish(&mut self) {
        let mut store = self.location.open().unwrap();
        self.settle(&mut store);
        self.version += 1;
        self.give(0);
        let served = |number| get(self.address(number), "/reviews.json", &[]).body;
        let last = self.version;
        wait_within(PATIENCE, "published", || {
            let body = served(0);
            let digest: [u8; 32] = Sha256::digest(&body).into();
            version_of(&body) == last && store.list(0, 1).unwrap()[0].current == digest
        });
        self.settle(&mut store);
        let others: Vec<usize> = (1..self.replicas.len())
            .map(|number| version_of(&served(number)))
            .collect();
        assert!(others.iter().all(|served| *served < last), "{others:?}");
        let active = store
            .list(0, 1_000)
            .unwrap()
            .into_iter()
            .map(|listed| listed.callback.uri().to_owned())
            .collect();
        assert_verified(&self.subscribers, &self.accepted);
        let deliveries = count_deliveries(&self.subscribers, &active, last);
        println!(
            "{} kills, {} requests ({} to subscribe answered 202), {last} contents, {} active at the end, {deliveries} deliveries",
            self.kills,
            self.asked,
            self.accepted.len(),
            active.len()
        );
        assert!(!active.is_empty());
        assert!(deliveries > active.len());
    }
}

/// How long a guarantee may take to hold; a database may have to restart first.
const PATIENCE: Duration = Duration::from_secs(180);

/// Three subscribers that acknowledge everything, and one that sometimes answers 503 or closes the connection.
fn subscribers() -> Vec<Subscriber> {
    let flapping = |request: &Received| match request.at.elapsed().subsec_nanos() % 5 {
        0 if request.method == "POST" => Reply::status(503),
        1 if request.method == "POST" => Reply::HangUp,
        _ => Reply::good(request),
    };
    let good = (0..3).map(|_| Subscriber::good());
    good.chain([Subscriber::start(flapping)]).collect()
}

/// The time of a version, one second after that of the previous version.
fn updated_at(version: usize) -> String {
    Timestamp::from_unix(FIRST_S + i64::try_from(version).unwrap()).to_string()
}

/// The version of a document.
fn version_of(document: &[u8]) -> usize {
    let document: serde_json::Value = serde_json::from_slice(document).unwrap();
    let updated_at = document["updated_at"].as_str().unwrap();
    let time = parse_timestamp(updated_at.as_bytes()).unwrap();
    usize::try_from(time.unix() - FIRST_S).unwrap()
}

/// Checks that each of the requests that were `accepted` was verified, or a later request for the same callback.
fn assert_verified(subscribers: &[Subscriber], accepted: &[AcceptedRequest]) {
    // A request is verified once, plus once for each crash during its verification.
    let mut verified: HashMap<(String, u32), usize> = HashMap::new();
    for subscriber in subscribers {
        for request in subscriber.verifications() {
            let lease_s = request.query()["hub.lease_seconds"].parse().unwrap();
            let key = (subscriber.callback(request.path()), lease_s);
            *verified.entry(key).or_default() += 1;
        }
    }
    for AcceptedRequest { callback, lease_s } in accepted {
        // While a request for an active subscription waits, a newer one replaces it.
        let is_verified = verified
            .keys()
            .any(|(verified, newer_s)| verified == callback && newer_s >= lease_s);
        assert!(is_verified, "request {lease_s}");
        let times = verified.get(&(callback.clone(), *lease_s)).copied();
        assert!(times.unwrap_or(1) <= 5, "request {lease_s}: {times:?}");
    }
}

/// Checks that each of the `active` callbacks has the content `last`, and that no callback received an older content
/// after a newer one. Returns the number of deliveries.
fn count_deliveries(subscribers: &[Subscriber], active: &HashSet<String>, last: usize) -> usize {
    let mut deliveries = 0;
    for subscriber in subscribers {
        let mut by_path: HashMap<String, Vec<Received>> = HashMap::new();
        for request in subscriber.received() {
            let path = request.path().to_owned();
            by_path.entry(path).or_default().push(request);
        }
        for (path, requests) in by_path {
            let callback = subscriber.callback(&path);
            let (posts, asked): (Vec<_>, Vec<_>) = requests
                .iter()
                .partition(|request| request.method == "POST");
            let versions: Vec<usize> = posts.iter().map(|post| version_of(&post.body)).collect();
            assert!(
                versions.is_sorted(),
                "an older content after a newer one: {requests:?}"
            );
            // The last confirmed request decides.
            let is_subscribed = asked.last().unwrap().mode() == "subscribe";
            assert_eq!(active.contains(&callback), is_subscribed, "{callback}");
            if is_subscribed {
                assert_eq!(
                    versions.last(),
                    Some(&last),
                    "{callback} lacks the newest content"
                );
            }
            deliveries += versions.len();
        }
    }
    deliveries
}
