//! What the tests in which processes die at random moments share: what is asked and changed meanwhile, and the promises
//! that are checked afterwards.

use std::collections::{HashMap, HashSet};
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use super::subscriber::{Received, Reply, Subscriber};
use crate::support::{Connection, Response};
use reviewd::hub::store::Store;
use reviewd::wire::date::{Timestamp, parse_timestamp};

pub(super) const TOPIC: &str = "https://reviews.example/reviews.json";

/// The time of version 0: 2020-01-01T00:00:00Z.
pub(super) const FIRST_S: i64 = 1_577_836_800;

/// The flags of every process: a hub that removes no subscription, and that takes any number of requests from here.
pub(super) const FLAGS: [&str; 9] = [
    "--base-url",
    "https://reviews.example",
    "--allow-private-callbacks",
    "--retry-delays",
    RETRY_DELAYS,
    "--hub-rate",
    "0",
    "--subscriptions-per-host",
    "100000",
];

/// As many waits as failures in a row that a subscription survives.
const RETRY_DELAYS: &str = concat!(
    "100ms,200ms,200ms,200ms,200ms,200ms,200ms,200ms,200ms,200ms,200ms,200ms,200ms,200ms,200ms,200ms,",
    "200ms,200ms,200ms,200ms,200ms,200ms,200ms,200ms,200ms,200ms,200ms,200ms,200ms,200ms,200ms,200ms"
);

/// Returns how long a test goes on: so many seconds as the environment variable of this name says, or as are given.
pub(super) fn seconds((variable, usual): (&str, u64)) -> Duration {
    let asked = std::env::var(variable);
    let asked = asked.ok().and_then(|text| text.parse().ok());
    Duration::from_secs(asked.unwrap_or(usual))
}

/// Numbers that look random, the same in every run.
pub(super) struct Random(u64);

/// What is done next.
pub(super) enum Step {
    /// A request of this mode.
    Ask(&'static str),
    Change,
    /// Nothing for a moment.
    Rest,
}

impl Random {
    pub(super) fn new() -> Random {
        Random(42)
    }

    pub(super) fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % bound as u64).unwrap()
    }

    pub(super) fn step(&mut self) -> Step {
        match self.below(10) {
            0..=4 => Step::Ask("subscribe"),
            5 => Step::Ask("unsubscribe"),
            6 | 7 => Step::Change,
            _ => Step::Rest,
        }
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
    try_post(address, mode, callback, lease_s).expect("an answer")
}

/// As [`post`], of a hub that may be gone.
pub(super) fn try_post(
    address: SocketAddr,
    mode: &str,
    callback: &str,
    lease_s: u32,
) -> io::Result<Response> {
    let body = url::form_urlencoded::Serializer::new(String::new())
        .extend_pairs([
            ("hub.mode", mode),
            ("hub.topic", TOPIC),
            ("hub.callback", callback),
            ("hub.lease_seconds", &lease_s.to_string()),
        ])
        .finish();
    let mut connection = Connection::over(TcpStream::connect(address)?);
    let request = format!(
        "POST /api/websub/hub HTTP/1.1\r\nHost: reviews.example\r\nConnection: close\r\n\
         Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    connection.try_write(request.as_bytes())?;
    connection.try_response("POST")
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

/// Returns the callbacks of all active subscriptions.
pub(super) fn callbacks(store: &mut Store) -> HashSet<String> {
    let listed = store.list(0, 1_000).unwrap();
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
                "an older content after a newer one: {versions:?}: {:?}",
                requests.iter().map(told).collect::<Vec<_>>()
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

/// What a request was, on which connection, and when.
fn told(request: &Received) -> String {
    let what = match request.method.as_str() {
        "GET" => request.mode(),
        _ => version_of(&request.body).to_string(),
    };
    format!("{what} on {} at {:?}", request.connection, request.at)
}
