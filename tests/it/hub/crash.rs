//! The real program is killed with SIGKILL at random moments while subscriptions come and go and the content changes.
//! Afterwards nothing that was answered 202 or confirmed is lost, and nobody got an older content after a newer one.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use super::authority;
use super::chaos::{
    FLAGS, Random, Step, callbacks, check, post, seconds, subscribers, updated_at, version_of,
};
use super::rig::now;
use super::subscriber::Subscriber;
use crate::support::dataset::{DataDir, reviews_json};
use crate::support::{Connection, Program, wait_until};
use reviewd::hub::store::Store;

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
    random: Random,
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
            random: Random::new(),
        }
    }

    fn boot(&mut self) {
        let path = |name: &str| self.temp.path().join(name).to_str().unwrap().to_owned();
        let (state, ca) = (path("state"), path("ca.pem"));
        let own = [
            "--data",
            self.data.path().to_str().unwrap(),
            "--state",
            &state,
            "--callback-ca",
            &ca,
        ];
        self.program = Some(Program::serve(&[&own[..], &FLAGS].concat()));
    }

    fn address(&self) -> SocketAddr {
        self.program.as_ref().unwrap().address()
    }

    fn act(&mut self) {
        match self.random.step() {
            Step::Ask(mode) => self.ask(mode),
            Step::Change => self.change(),
            Step::Rest => std::thread::sleep(Duration::from_millis(20)),
        }
    }

    /// Asks for or against one of the callbacks; every request has a lease of its own, so each can be told apart.
    fn ask(&mut self, mode: &str) {
        let subscriber = self.random.below(4);
        let path = format!("/{}", self.random.below(8));
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

    fn store(&self) -> Store {
        Store::in_directory(&self.temp.path().join("state")).unwrap()
    }

    fn settle(&self) {
        wait_until("settled", || {
            let counts = self.store().counts(now()).unwrap();
            counts.requests == 0 && counts.owed == 0
        });
    }
}

#[test]
fn kills_at_random_moments_lose_nothing_that_was_promised() {
    let time = seconds(SECONDS);
    let mut world = World::begin();
    let began = Instant::now();
    while began.elapsed() < time {
        world.boot();
        let life = Duration::from_millis(200 + world.random.below(1_200) as u64);
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
