//! Three replicas of the real program on one PostgreSQL, each on files of its own that lag behind the others'. Replicas
//! are killed with SIGKILL and started again, connections are cut in the middle of transactions, and PostgreSQL crashes
//! and comes back, while subscriptions come and go. Afterwards nothing that was answered 202 or confirmed is lost,
//! everybody has the newest content, and nobody got an older one after a newer one.

use std::time::{Duration, Instant};

use reviewd::hub::store::{Database, Store};

use super::authority;
use super::chaos::{
    FIRST_S, FLAGS, Random, Step, TOPIC, callbacks, check, post, seconds, subscribers, updated_at,
    version_of,
};
use super::rig::now;
use super::subscriber::Subscriber;
use crate::support::dataset::{DataDir, reviews_json};
use crate::support::postgres::Postgres;
use crate::support::{Program, get};

/// How long the replicas are disturbed, in seconds; the environment variable of this name asks for more.
const SECONDS: (&str, u64) = ("REVIEWD_REPLICAS_SECONDS", 20);

/// Where this is set, PostgreSQL has a synchronous standby, which takes over after half of that time.
const STANDBY: &str = "REVIEWD_REPLICAS_STANDBY";

struct Replica {
    data: DataDir,
    program: Option<Program>,
}

struct World {
    temp: tempfile::TempDir,
    postgres: Postgres,
    standby: Option<Postgres>,
    /// Where the replicas find the database, the standby included.
    url: String,
    replicas: Vec<Replica>,
    subscribers: Vec<Subscriber>,
    /// The newest content, on some of the replicas.
    version: usize,
    /// Leases of the requests that were answered 202, each used once.
    accepted: Vec<u32>,
    asked: u32,
    kills: usize,
    cuts: usize,
    crashes: usize,
    random: Random,
}

impl World {
    fn begin(postgres: Postgres) -> World {
        let temp = tempfile::tempdir().unwrap();
        authority::write_ca(&temp.path().join("ca.pem"));
        postgres.database("hub");
        let standby = std::env::var_os(STANDBY).map(|_| postgres.standby());
        let mut url = postgres.url("reviewd", "hub");
        if let Some(standby) = &standby {
            url = url.replace("/hub", &format!(",127.0.0.1:{}/hub", standby.port()));
        }
        let replica = |_| Replica {
            data: DataDir::with_reviews(1, &updated_at(1)),
            program: None,
        };
        let mut world = World {
            temp,
            postgres,
            standby,
            url,
            replicas: (0..3).map(replica).collect(),
            subscribers: subscribers(),
            version: 1,
            accepted: Vec::new(),
            asked: 0,
            kills: 0,
            cuts: 0,
            crashes: 0,
            random: Random::new(),
        };
        for number in 0..3 {
            world.boot(number);
        }
        world
    }

    fn boot(&mut self, number: usize) {
        let ca = self.temp.path().join("ca.pem");
        let replica = &mut self.replicas[number];
        let own = [
            "--data",
            replica.data.path().to_str().unwrap(),
            "--store",
            &self.url,
            "--callback-ca",
            ca.to_str().unwrap(),
            "--delivery-timeout",
            "3s",
        ];
        replica.program = Some(Program::serve(&[&own[..], &FLAGS].concat()));
    }

    fn act(&mut self) {
        match self.random.step() {
            Step::Ask(mode) => self.ask(mode),
            Step::Change => self.change(),
            Step::Rest => std::thread::sleep(Duration::from_millis(20)),
        }
    }

    /// Asks any replica for or against one of the callbacks. While there is no database it says so, and promises nothing.
    fn ask(&mut self, mode: &str) {
        let subscriber = self.random.below(4);
        let path = format!("/{}", self.random.below(8));
        let callback = self.subscribers[subscriber].callback(&path);
        self.asked += 1;
        let lease_s = 100_000 + self.asked;
        let replica = self.random.below(3);
        let address = self.replicas[replica].program.as_ref().unwrap().address();
        let response = post(address, mode, &callback, lease_s);
        match response.status {
            202 if mode == "subscribe" => self.accepted.push(lease_s),
            202 => {}
            503 => assert_eq!(response.field("retry-after"), Some("10")),
            _ => panic!("{response:?}"),
        }
    }

    /// Gives one replica, or two, a newer content; the others stay behind.
    fn change(&mut self) {
        self.version += 1;
        for _ in 0..2 {
            let number = self.random.below(3);
            self.give(number);
        }
    }

    fn give(&self, number: usize) {
        let text = reviews_json(1, &updated_at(self.version));
        self.replicas[number].data.write("reviews.json", &text);
    }

    fn disturb(&mut self) {
        match self.random.below(8) {
            0 => {
                self.postgres.crash();
                self.postgres.start_again();
                self.crashes += 1;
            }
            1..=3 => {
                let cut = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE usename = 'reviewd'";
                self.postgres.query("hub", cut);
                self.cuts += 1;
            }
            _ => {
                let number = self.random.below(3);
                // Dropping the program kills it, in the middle of whatever it is at.
                self.replicas[number].program = None;
                self.kills += 1;
                self.boot(number);
            }
        }
    }

    /// PostgreSQL dies and its standby takes over, once.
    fn fail_over(&mut self) {
        if let Some(standby) = self.standby.take() {
            self.postgres.crash();
            standby.promote();
            self.postgres = standby;
            println!("the standby took over");
        }
    }

    fn store(&self) -> Store {
        Store::in_database(&Database::parse(&self.url).unwrap()).unwrap()
    }

    /// Waits until nothing is asked or owed: what a dead replica had claimed returns first.
    fn settle(&self) {
        let mut store = self.store();
        wait_long("settled", || {
            let counts = store.counts(now()).unwrap();
            counts.requests == 0 && counts.owed == 0
        });
    }

    fn published(&self) -> i64 {
        let sql = format!("SELECT dated FROM reviewd.topic WHERE url = '{TOPIC}'");
        self.postgres.query("hub", &sql).parse().unwrap()
    }
}

/// Waits longer than tests do elsewhere: claims have deadlines of more than ten seconds.
fn wait_long(what: &str, mut condition: impl FnMut() -> bool) {
    let began = Instant::now();
    while !condition() {
        assert!(began.elapsed() < Duration::from_secs(180), "never {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn replicas_that_die_and_a_database_that_crashes_lose_nothing_that_was_promised() {
    let Some(postgres) = Postgres::start() else {
        return;
    };
    let time = seconds(SECONDS);
    let mut world = World::begin(postgres);
    let began = Instant::now();
    while began.elapsed() < time {
        let calm = Duration::from_millis(300 + world.random.below(1_200) as u64);
        let since = Instant::now();
        while since.elapsed() < calm {
            world.act();
        }
        world.disturb();
        if began.elapsed() > time / 2 {
            world.fail_over();
        }
    }
    world.settle();
    // The last content is served by one of the three, and delivered by all.
    world.version += 1;
    let last = world.version;
    world.give(0);
    wait_long("published", || {
        world.published() == FIRST_S + i64::try_from(last).unwrap()
    });
    world.settle();
    let served: Vec<usize> = world
        .replicas
        .iter()
        .map(|replica| {
            let address = replica.program.as_ref().unwrap().address();
            version_of(&get(address, "/reviews.json", &[]).body)
        })
        .collect();
    assert_eq!(served[0], last);
    assert!(served[1] < last && served[2] < last, "{served:?}");
    let active = callbacks(&mut world.store());
    let (deliveries, duplicates) = check(&world.subscribers, &world.accepted, &active, last);
    println!(
        "{} kills, {} cuts of all connections, {} crashes of PostgreSQL, {} requests ({} to subscribe answered 202), {last} contents, {} active at the end, {deliveries} deliveries, {duplicates} of them of a content that the subscriber had been sent before (retries included)",
        world.kills,
        world.cuts,
        world.crashes,
        world.asked,
        world.accepted.len(),
        active.len()
    );
    assert!(!active.is_empty() && deliveries > active.len());
}
