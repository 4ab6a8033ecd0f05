//! Malicious subscribers beside honest ones, in simulated time: the real store and the real in-flight table, with
//! simulated callbacks instead of a network. `turn` does the work of one iteration of the hub's thread.

use std::sync::Arc;
use std::time::{Duration, Instant};

use oracle::hub::{ask, claim_all};
use reviewd::hub::guard::{Guard, Ports};
use reviewd::hub::in_flight::InFlight;
use reviewd::hub::store::{Lane, Listed, Quotas, Report, Store, TopicVersion};
use reviewd::hub::subscription::{AttemptResult, DeliveryResult, Failure};
use reviewd::hub::{Callback, HubSettings, Mode, StoreLocation, UnixMillis};
use reviewd::wire::date::Timestamp;

struct Simulation {
    store: Store,
    table: InFlight,
    settings: HubSettings,
    start: Instant,
    elapsed: Duration,
    content: u8,
    /// The end of each exchange, its number, and its delivery; `None` for a verification.
    under_way: Vec<(Duration, u64, Option<Listed>)>,
    is_hanging: bool,
}

impl Simulation {
    fn new() -> Simulation {
        let guard = Guard {
            allow_private: false,
            ports: Ports::parse("443").expect("ports"),
        };
        let settings = HubSettings::new(StoreLocation::Directory("unused".into()), guard);
        let start = Instant::now();
        let mut simulation = Simulation {
            store: Store::in_memory().expect("memory"),
            table: InFlight::new(settings.lanes, start),
            settings,
            start,
            elapsed: Duration::ZERO,
            content: 0,
            under_way: Vec::new(),
            is_hanging: false,
        };
        simulation.change();
        simulation
    }

    fn now(&self) -> UnixMillis {
        UnixMillis::new(1_800_000_000_000).plus(self.elapsed)
    }

    fn change(&mut self) {
        self.content += 1;
        let version = TopicVersion {
            url: TOPIC.to_owned(),
            digest: [self.content; 32],
            dated: Timestamp::from_unix(self.content.into()),
        };
        let published = self.store.publish(&[version], self.now());
        published.expect("published");
    }

    /// Requests subscriptions for the callbacks `0..count`.
    fn ask(&mut self, count: usize, callback: impl Fn(usize) -> String) {
        let quotas = Quotas::new(1_000_000, 1_000_000);
        let one = |number| ask(Mode::Subscribe, &callback(number), TOPIC, None, 864_000);
        let all: Vec<_> = (0..count).map(one).collect();
        let answers = self.store.accept(&all, &quotas, self.now());
        assert!(answers.expect("stored").iter().all(Result::is_ok));
    }

    /// Requests the same subscriptions, and confirms all of them at once.
    fn subscribe(&mut self, count: usize, callback: impl Fn(usize) -> String) {
        self.ask(count, callback);
        let asked_at = self.now();
        let claimed = self.store.claim_requests(&claim_all(), asked_at);
        let confirmed = claimed.expect("claimed").into_iter();
        let confirmed = confirmed.map(|asked| Report::Verified {
            id: asked.id,
            asked_at,
            confirmed: true,
        });
        self.record(&confirmed.collect::<Vec<_>>());
    }

    fn record(&mut self, reports: &[Report]) {
        let (policy, now) = (&self.settings.policy, self.now());
        let recorded = self.store.record(reports, policy, now);
        recorded.expect("recorded");
    }

    /// Ends finished exchanges, and starts new ones up to the capacity. Returns the number of honest deliveries.
    fn turn(&mut self) -> usize {
        let (elapsed, instant) = (self.elapsed, self.start + self.elapsed);
        let over = self.under_way.extract_if(.., |one| one.0 <= elapsed);
        let (mut served, mut reports) = (0, Vec::new());
        for (_, number, delivery) in over.collect::<Vec<_>>() {
            self.table.end(number);
            let Some(delivery) = delivery else { continue };
            served += usize::from(is_honest(&delivery.callback));
            let (answer, elapsed) = self.exchange(&delivery.callback);
            let result = DeliveryResult {
                attempt: delivery.state.attempt,
                answer: Some(answer),
                retry_after: None,
                elapsed,
                jitter: 0,
            };
            let id = delivery.id;
            reports.push(Report::Delivered { id, result });
        }
        self.record(&reports);
        self.table.observe(instant);
        let (now, room) = (self.now(), self.table.room(Lane::Ask, instant));
        let asked = self.store.claim_requests(&room, now);
        for asked in asked.expect("claimed") {
            self.begin(Lane::Ask, &asked.callback, None);
        }
        for lane in [Lane::Fast, Lane::Slow] {
            let room = self.table.room(lane, instant);
            let due = self.store.claim_deliveries(lane, &room, now);
            for delivery in due.expect("claimed") {
                self.begin(lane, &delivery.callback.clone(), Some(delivery));
            }
        }
        self.elapsed += TURN;
        served
    }

    fn begin(&mut self, lane: Lane, callback: &Callback, delivery: Option<Listed>) {
        let (host, now) = (callback.host().to_string(), self.start + self.elapsed);
        let number = self.table.begin(lane, host, Arc::default(), now);
        let ends_at = self.elapsed + self.exchange(callback).1;
        self.under_way.push((ends_at, number, delivery));
    }

    /// Returns the result of an exchange with a callback, and its duration.
    fn exchange(&self, callback: &Callback) -> (AttemptResult, Duration) {
        match self.is_hanging && !is_honest(callback) {
            true => (
                AttemptResult::Failed(Failure::Timeout),
                self.settings.timeout,
            ),
            false => (AttemptResult::Status(204), Duration::from_millis(30)),
        }
    }

    /// Works until nothing is due and no exchange is under way.
    fn settle(&mut self) {
        self.turn();
        while !self.under_way.is_empty() {
            self.turn();
        }
    }

    /// Changes the content, and returns the time until all honest subscribers have it.
    fn deliver(&mut self) -> Duration {
        self.change();
        let (began, mut served) = (self.elapsed, 0);
        while served < HONEST {
            served += self.turn();
            let elapsed = self.elapsed - began;
            assert!(elapsed < Duration::from_secs(60), "{served} are served");
        }
        self.elapsed - began
    }
}

fn is_honest(callback: &Callback) -> bool {
    callback.uri().contains("honest")
}

/// Returns how long 40 honest subscribers, ten of them on one host, wait for a content while 1,000 verifications hang.
/// Other callbacks hang, too: `known` ones that acknowledged an earlier delivery, `new` ones on hosts of their own, and
/// `of_shared_host` new ones on the host of the ten.
fn lateness([known, new, of_shared_host]: [usize; 3]) -> Duration {
    let mut simulation = Simulation::new();
    simulation.subscribe(known, |number| format!("https://known{number}.example/"));
    simulation.subscribe(HONEST, |number| match number {
        0..10 => format!("https://shared.example/honest{number}"),
        _ => format!("https://h{number}.example/honest"),
    });
    // All of them acknowledge their first delivery.
    simulation.deliver();
    simulation.settle();
    simulation.is_hanging = true;
    simulation.subscribe(new, |number| format!("https://new{number}.example/"));
    simulation.subscribe(of_shared_host, |number| {
        format!("https://shared.example/{number}")
    });
    simulation.ask(1_000, |number| format!("https://asked{number}.example/"));
    simulation.deliver()
}

#[test]
fn hanging_callbacks_delay_honest_deliveries_by_at_most_a_second() {
    let alone = lateness([0; 3]);
    assert!(alone < Duration::from_millis(200), "{alone:?}");
    for adversaries in [[0, 1_500, 0], [0, 0, 900], [200, 0, 0], [200, 600, 900]] {
        let late = lateness(adversaries);
        let is_soon = late <= alone + Duration::from_secs(1);
        assert!(is_soon, "{adversaries:?}: {late:?}, alone {alone:?}");
    }
}

/// A delivery that hangs keeps its thread. At most 1,024 run at a time that are slow, half of them to new subscribers, and
/// besides these 64 that have just begun.
#[test]
fn at_most_1_088_deliveries_run_at_a_time_and_512_of_new_subscribers() {
    for (is_new, most) in [(false, 1_088), (true, 512)] {
        let mut simulation = Simulation::new();
        simulation.subscribe(1_500, |number| format!("https://h{number}.example/"));
        simulation.is_hanging = is_new;
        simulation.change();
        if !is_new {
            simulation.settle();
            simulation.is_hanging = true;
            simulation.change();
        }
        let until = simulation.elapsed + simulation.settings.timeout;
        let mut largest = 0;
        while simulation.elapsed < until {
            simulation.turn();
            largest = largest.max(simulation.under_way.len());
        }
        assert_eq!(largest, most, "new: {is_new}");
    }
}

/// Honest subscribers.
const HONEST: usize = 40;

/// Time between two iterations, as in a hub that has work.
const TURN: Duration = Duration::from_millis(20);

const TOPIC: &str = "https://r.example/feed.xml";
