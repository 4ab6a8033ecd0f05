//! The real program is killed with SIGKILL at random moments while subscriptions come and go and the content changes.
//! Afterwards nothing that was answered 202 or confirmed is lost, and nobody got an older content after a newer one.

use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use super::authority;
use super::rig::now;
use super::subscriber::{Received, Reply, Subscriber};
use crate::support::dataset::{DataDir, reviews_json};
use crate::support::{Connection, Program, Response, wait_until};
use reviewd::websub::sqlite::SqliteStore;
use reviewd::websub::store::Store;
use reviewd::wire::date::{Timestamp, parse_timestamp};

pub(super) const TOPIC: &str = "https://reviews.example/reviews.json";

/// The time of version 0: 2020-01-01T00:00:00Z.
pub(super) const FIRST_S: i64 = 1_577_836_800;

/// How long lives are led, in seconds; the environment variable of this name asks for more.
const SECONDS: (&str, u64) = ("REVIEWD_CRASH_SECONDS", 20);

struct World {
    temp: tempfile::TempDir,
    data: DataDir,
    subscribers: Vec<Subscriber>,
    program: Option<Program>,
    /// Which content it is. It stands in the time of the data, so that minutes of changes do not make them any longer.
    version: usize,
    /// Leases of the requests that were answered 202, each used once.
    accepted: Vec<u32>,
    asked: u32,
    kills: usize,
    random: u64,
}

impl World {
    fn begin() -> World {
        let temp = tempfile::tempdir().unwrap();
        authority::write_ca(&temp.path().join("ca.pem"));
        let subscribers = subscribers();
        let data = DataDir::with_reviews(1, &updated_at(1));
        World {
            temp,
            data,
            subscribers,
            program: None,
            version: 1,
            accepted: Vec::new(),
            asked: 0,
            kills: 0,
            random: 42,
        }
    }

    fn boot(&mut self) {
        let path = |name: &str| self.temp.path().join(name).to_str().unwrap().to_owned();
        let (state, ca) = (path("state"), path("ca.pem"));
        let program = Program::serve(&[
            "--data",
            self.data.path().to_str().unwrap(),
            "--base-url",
            "https://reviews.example",
            "--state",
            &state,
            "--callback-ca",
            &ca,
            "--allow-private-callbacks",
            "--lease-min",
            "1s",
            "--retry-delays",
            "100ms,200ms",
            "--failures-max",
            "1000",
            "--hub-rate",
            "0",
            "--pending-per-host",
            "1000",
        ]);
        self.program = Some(program);
    }

    fn random(&mut self, below: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % below
    }

    fn address(&self) -> SocketAddr {
        self.program.as_ref().unwrap().address()
    }

    /// One request, one change, or nothing for a moment.
    fn act(&mut self) {
        match self.random(10) {
            0..=4 => self.ask("subscribe"),
            5 => self.ask("unsubscribe"),
            6 | 7 => self.change(),
            _ => std::thread::sleep(Duration::from_millis(20)),
        }
    }

    /// Asks for or against one of the callbacks; every request has a lease of its own, so each can be told apart.
    fn ask(&mut self, mode: &str) {
        let subscriber = self.random(4) as usize;
        let path = format!("/{}", self.random(8));
        let callback = self.subscribers[subscriber].callback(&path);
        self.asked += 1;
        let lease_s = 100_000 + self.asked;
        let response = post(self.address(), mode, &callback, lease_s);
        assert_eq!(response.status, 202, "{}", response.text());
        if mode == "subscribe" {
            self.accepted.push(lease_s);
        }
    }

    fn change(&mut self) {
        self.version += 1;
        self.data
            .write("reviews.json", &reviews_json(1, &updated_at(self.version)));
    }

    fn store(&self) -> SqliteStore {
        SqliteStore::open(&self.temp.path().join("state")).unwrap()
    }

    fn settle(&self) {
        wait_until("settled", || {
            let counts = self.store().counts(now()).unwrap();
            counts.requests == 0 && counts.owed == 0
        });
    }
}

/// Three subscribers that take everything, and one that refuses or hangs up now and then.
pub(super) fn subscribers() -> Vec<Subscriber> {
    let flapping = |request: &Received| match (
        request.method.as_str(),
        request.at.elapsed().subsec_nanos() % 5,
    ) {
        ("POST", 0) => Reply::Answer(503, Vec::new()),
        ("POST", 1) => Reply::HangUp,
        _ => Reply::good(request),
    };
    vec![
        Subscriber::good(),
        Subscriber::good(),
        Subscriber::good(),
        Subscriber::start(flapping),
    ]
}

/// Asks a hub for or against a callback.
pub(super) fn post(address: SocketAddr, mode: &str, callback: &str, lease_s: u32) -> Response {
    let body = url::form_urlencoded::Serializer::new(String::new())
        .extend_pairs([
            ("hub.mode", mode),
            ("hub.topic", TOPIC),
            ("hub.callback", callback),
            ("hub.lease_seconds", &lease_s.to_string()),
        ])
        .finish();
    let mut connection = Connection::open(address);
    let fields = [("Content-Type", "application/x-www-form-urlencoded")];
    connection.request("POST", "/api/websub/hub", &fields, body.as_bytes());
    connection.response("POST")
}

/// A time for each version, a second after the one before.
pub(super) fn updated_at(version: usize) -> String {
    Timestamp::from_unix(FIRST_S + i64::try_from(version).unwrap()).to_string()
}

/// The version of a document.
pub(super) fn version_of(document: &[u8]) -> usize {
    let document: serde_json::Value = serde_json::from_slice(document).unwrap();
    let updated_at = document["updated_at"].as_str().unwrap();
    let time = parse_timestamp(updated_at.as_bytes()).unwrap();
    usize::try_from(time.unix() - FIRST_S).unwrap()
}

#[test]
fn kills_at_random_moments_lose_nothing_that_was_promised() {
    let seconds = std::env::var(SECONDS.0)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(SECONDS.1);
    let mut world = World::begin();
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(seconds) {
        world.boot();
        let life = Duration::from_millis(200 + world.random(1_200));
        let born = Instant::now();
        while born.elapsed() < life {
            world.act();
        }
        // Dropping the program kills it, in the middle of whatever it is at.
        world.program = None;
        world.kills += 1;
    }
    world.boot();
    world.settle();
    world.change();
    let last = world.version;
    wait_until("the last content is published", || {
        let mut connection = Connection::open(world.address());
        version_of(&connection.get("/reviews.json").body) == last
    });
    // The service serves a new content a moment before its hub has stored the digest.
    std::thread::sleep(Duration::from_secs(1));
    world.settle();
    let active = callbacks(&mut world.store());
    let (deliveries, duplicates) = check(&world.subscribers, &world.accepted, &active, last);
    println!(
        "{} kills, {} requests answered 202, {last} contents, {} active at the end, {deliveries} deliveries, {duplicates} of them of a content that the subscriber had been sent before (retries included)",
        world.kills,
        world.asked,
        active.len()
    );
    assert!(!active.is_empty() && deliveries > active.len());
}

/// Returns the callbacks of all active subscriptions.
pub(super) fn callbacks(store: &mut dyn Store) -> HashSet<String> {
    let listed = store.list(0, 1_000, now()).unwrap();
    listed
        .into_iter()
        .map(|listed| listed.callback.uri().to_owned())
        .collect()
}

/// Checks that what was promised is kept: requests `accepted` with these leases, and `active` callbacks that must have
/// the content `last`. Returns how many deliveries there were, and how many of them repeated the one before.
pub(super) fn check(
    subscribers: &[Subscriber],
    accepted: &[u32],
    active: &HashSet<String>,
    last: usize,
) -> (usize, usize) {
    // Every request that was answered 202 was verified, once, and once more for each crash that came between.
    let mut asked: HashMap<u32, usize> = HashMap::new();
    for request in subscribers.iter().flat_map(Subscriber::verifications) {
        *asked
            .entry(request.query()["hub.lease_seconds"].parse().unwrap())
            .or_default() += 1;
    }
    for lease_s in accepted {
        assert!(
            matches!(asked.get(lease_s), Some(1..=5)),
            "request {lease_s}: {:?}",
            asked.get(lease_s)
        );
    }
    let (mut deliveries, mut duplicates) = (0, 0);
    for subscriber in subscribers {
        let mut paths: HashMap<String, Vec<Received>> = HashMap::new();
        for request in subscriber.received() {
            let path = request
                .target
                .split('?')
                .next()
                .unwrap_or_default()
                .to_owned();
            paths.entry(path).or_default().push(request);
        }
        for (path, requests) in paths {
            // What was confirmed last is what holds.
            let confirmed = requests
                .iter()
                .rev()
                .find(|request| request.method == "GET")
                .unwrap();
            let subscribed = confirmed.query()["hub.mode"] == "subscribe";
            let callback = subscriber.callback(&path);
            assert_eq!(active.contains(&callback), subscribed, "{callback}");
            let versions: Vec<usize> = requests
                .iter()
                .filter(|request| request.method == "POST")
                .map(|request| version_of(&request.body))
                .collect();
            assert!(
                versions.is_sorted(),
                "an older content after a newer one: {versions:?}"
            );
            if subscribed {
                assert_eq!(
                    versions.last(),
                    Some(&last),
                    "{callback} lacks the newest content"
                );
            }
            deliveries += versions.len();
            duplicates += versions
                .windows(2)
                .filter(|pair| pair[0] == pair[1])
                .count();
        }
    }
    (deliveries, duplicates)
}
