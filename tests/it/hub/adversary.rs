//! Malicious subscribers beside honest ones, in simulated time: the real store and the real scheduler, with simulated
//! callbacks instead of a network. `turn` does the work of one iteration of the hub's thread.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use oracle::hub::ask;
use reviewd::hub::guard::{Guard, Ports};
use reviewd::hub::scheduler::{AttemptId, Scheduler};
use reviewd::hub::store::{
    AttemptReport, Quotas, Store, StoredSubscription, TopicVersion, WaitingRequest,
};
use reviewd::hub::subscription::{AttemptFailure, AttemptResult, DeliveryResult};
use reviewd::hub::{Callback, HubSettings, Mode, StoreLocation, UnixMillis};
use reviewd::wire::date::Timestamp;

/// Honest subscribers.
const HONEST: usize = 40;

/// Time between two iterations, as in a hub that has work.
const TURN: Duration = Duration::from_millis(20);

const TOPIC: &str = "https://r.example/feed.xml";

const EVERYTHING: usize = 1_000_000;

struct Simulation {
    store: Store,
    deliveries: Scheduler,
    verifications: Scheduler,
    settings: HubSettings,
    start: Instant,
    elapsed: Duration,
    content: u8,
    /// Attempts under way.
    running: Vec<SimulatedAttempt>,
    /// How long each honest subscriber takes to answer.
    honest_takes: Duration,
    is_hanging: bool,
}

struct SimulatedAttempt {
    ends_at: Duration,
    number: u64,
    job: SimulatedJob,
}

enum SimulatedJob {
    Deliver(Box<StoredSubscription>),
    Verify(Box<WaitingRequest>),
}

impl SimulatedJob {
    fn callback(&self) -> &Callback {
        match self {
            SimulatedJob::Deliver(listed) => &listed.callback,
            SimulatedJob::Verify(request) => &request.callback,
        }
    }
}

impl Simulation {
    fn new() -> Simulation {
        let guard = Guard {
            allow_private: false,
            ports: Ports::parse("443").expect("ports"),
        };
        let mut settings = HubSettings::new(StoreLocation::Directory("unused".into()), guard);
        settings.quotas = Quotas::new(100_000_000, 1_000_000);
        let start = Instant::now();
        let mut simulation = Simulation {
            store: Store::in_memory().expect("memory"),
            deliveries: Scheduler::new(settings.deliveries, start),
            verifications: Scheduler::new(settings.verifications, start),
            settings,
            start,
            elapsed: Duration::ZERO,
            content: 0,
            running: Vec::new(),
            honest_takes: Duration::from_millis(30),
            is_hanging: false,
        };
        simulation.change();
        simulation
    }

    fn now(&self) -> UnixMillis {
        UnixMillis::new(1_800_000_000_000).plus(self.elapsed)
    }

    fn instant(&self) -> Instant {
        self.start + self.elapsed
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

    /// Requests subscriptions for the callbacks `0..count`, from the address `asker`.
    fn ask(&mut self, count: usize, asker: i64, callback: impl Fn(usize) -> String) {
        let mut all = Vec::new();
        for number in 0..count {
            let mut accept = ask(Mode::Subscribe, &callback(number), TOPIC, None, 864_000);
            accept.asker = asker;
            all.push(accept);
        }
        let results = self.store.accept(&all, &self.settings.quotas, self.now());
        assert!(results.expect("stored").iter().all(Result::is_ok));
    }

    /// Requests the same subscriptions, and confirms all of them at once.
    fn subscribe(&mut self, count: usize, callback: impl Fn(usize) -> String) {
        self.ask(count, 0, callback);
        let asked_at = self.now();
        let due = self.store.due_requests(EVERYTHING, asked_at);
        let mut ids = Vec::new();
        for due in due.expect("due") {
            if let AttemptId::Verification(id) = due.id {
                ids.push(id);
            }
        }
        for ids in ids.chunks(1_000) {
            let begun = self.store.begin_verifications(ids).expect("begun");
            let confirmed = begun.iter().map(|asked| AttemptReport::Verified {
                id: asked.id,
                asked_at,
                confirmed: true,
                result: AttemptResult::Status(200),
            });
            self.record(&confirmed.collect::<Vec<_>>());
        }
    }

    fn record(&mut self, reports: &[AttemptReport]) {
        let settings = &self.settings;
        let now = self.now();
        let recorded = self
            .store
            .record(reports, &settings.policy, &settings.quotas, now);
        recorded.expect("recorded");
    }

    /// Ends finished attempts, and starts new ones as the scheduler permits. Returns the callbacks of the honest
    /// attempts that ended.
    fn turn(&mut self) -> Vec<String> {
        let elapsed = self.elapsed;
        let instant = self.instant();
        let over = self.running.extract_if(.., |one| one.ends_at <= elapsed);
        let mut served = Vec::new();
        let mut reports = Vec::new();
        for ended in over.collect::<Vec<_>>() {
            let callback = ended.job.callback();
            if is_honest(callback) {
                served.push(callback.uri().to_owned());
            }
            let (result, took) = self.attempt(callback);
            let scheduler = match ended.job {
                SimulatedJob::Deliver(_) => &mut self.deliveries,
                SimulatedJob::Verify(_) => &mut self.verifications,
            };
            scheduler.finish(ended.number, took, Duration::ZERO, instant);
            reports.push(report(&ended.job, result, took, self.now()));
        }
        self.record(&reports);
        let now = self.now();
        let due = self.store.due_requests(EVERYTHING, now).expect("due");
        self.verifications.set_queue(due);
        self.start_verifications();
        let due = self.store.due_deliveries(EVERYTHING, now).expect("due");
        self.deliveries.set_queue(due);
        self.start_deliveries();
        self.elapsed += TURN;
        served
    }

    fn start_verifications(&mut self) {
        let mut numbers = HashMap::new();
        for started in self.verifications.start(self.instant()) {
            if let AttemptId::Verification(id) = started.id {
                numbers.insert(id, started.number);
            }
        }
        let ids: Vec<i64> = numbers.keys().copied().collect();
        for request in self.store.begin_verifications(&ids).expect("begun") {
            let number = numbers[&request.id];
            self.run(number, SimulatedJob::Verify(Box::new(request)));
        }
    }

    fn start_deliveries(&mut self) {
        let mut numbers = HashMap::new();
        for started in self.deliveries.start(self.instant()) {
            if let AttemptId::Delivery(id) = started.id {
                numbers.insert(id, started.number);
            }
        }
        let ids: Vec<i64> = numbers.keys().copied().collect();
        let begun = self.store.begin_deliveries(&ids, self.now());
        for listed in begun.expect("begun") {
            let number = numbers[&listed.id];
            self.run(number, SimulatedJob::Deliver(Box::new(listed)));
        }
    }

    fn run(&mut self, number: u64, job: SimulatedJob) {
        let ends_at = self.elapsed + self.attempt(job.callback()).1;
        self.running.push(SimulatedAttempt {
            ends_at,
            number,
            job,
        });
    }

    /// Returns the result of an attempt to reach a callback, and its duration.
    fn attempt(&self, callback: &Callback) -> (AttemptResult, Duration) {
        if is_honest(callback) {
            return (AttemptResult::Status(200), self.honest_takes);
        }
        if self.is_hanging {
            let late = AttemptResult::Failed(AttemptFailure::Timeout);
            return (late, self.settings.timeout);
        }
        (AttemptResult::Status(200), Duration::from_millis(30))
    }

    /// Works until nothing is due and no attempt is under way.
    fn settle(&mut self) {
        self.turn();
        while !self.running.is_empty() {
            self.turn();
        }
    }

    /// Works for this long.
    fn work(&mut self, time: Duration) {
        let until = self.elapsed + time;
        while self.elapsed < until {
            self.turn();
        }
    }

    /// Changes the content, and returns the time until all honest subscribers have it.
    fn deliver(&mut self) -> Duration {
        self.change();
        self.until_served(HONEST)
    }

    /// Returns the time until so many honest attempts have ended.
    fn until_served(&mut self, count: usize) -> Duration {
        let began = self.elapsed;
        let mut served = 0;
        while served < count {
            served += self.turn().len();
            let elapsed = self.elapsed - began;
            assert!(elapsed < Duration::from_secs(60), "{served} are served");
        }
        self.elapsed - began
    }
}

fn report(
    job: &SimulatedJob,
    result: AttemptResult,
    took: Duration,
    now: UnixMillis,
) -> AttemptReport {
    match job {
        SimulatedJob::Deliver(listed) => AttemptReport::Delivered {
            id: listed.id,
            result: DeliveryResult {
                attempt: listed.state.attempt,
                result: Some(result),
                retry_after: None,
                elapsed: took,
                jitter: 0,
            },
        },
        SimulatedJob::Verify(request) => match result {
            AttemptResult::Status(_) => AttemptReport::Verified {
                id: request.id,
                asked_at: now.minus(took),
                confirmed: true,
                result,
            },
            AttemptResult::Failed(_) => AttemptReport::Unreached {
                id: request.id,
                result: Some(result),
                delay: Duration::from_secs(60),
            },
        },
    }
}

fn is_honest(callback: &Callback) -> bool {
    callback.uri().contains("honest")
}

fn subscribe_honest(simulation: &mut Simulation) {
    simulation.subscribe(HONEST, |number| match number {
        0..10 => format!("https://shared.example/honest{number}"),
        _ => format!("https://h{number}.example/honest"),
    });
}

/// Returns how long 40 honest subscribers, ten of them on one host, wait for a content while 1,000 verifications hang.
/// Other callbacks hang, too: `known` ones that acknowledged an earlier delivery, `new` ones on hosts of their own, and
/// `of_shared_host` new ones on the host of the ten.
fn lateness([known, new, of_shared_host]: [usize; 3]) -> Duration {
    let mut simulation = Simulation::new();
    simulation.subscribe(known, |number| format!("https://known{number}.example/"));
    subscribe_honest(&mut simulation);
    // All of them acknowledge their first delivery.
    simulation.deliver();
    simulation.settle();
    simulation.is_hanging = true;
    simulation.subscribe(new, |number| format!("https://new{number}.example/"));
    simulation.subscribe(of_shared_host, |number| {
        format!("https://shared.example/{number}")
    });
    simulation.ask(1_000, 1, |number| format!("https://asked{number}.example/"));
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

/// Returns how long honest subscribers that answer after 1.2 s wait for a content, while newcomers that have failed it
/// before are due again.
fn lateness_beside_retries(newcomers: usize, wait: Duration) -> Duration {
    let mut simulation = Simulation::new();
    simulation.honest_takes = Duration::from_millis(1_200);
    subscribe_honest(&mut simulation);
    simulation.deliver();
    simulation.settle();
    simulation.subscribe(newcomers, |number| format!("https://new{number}.example/"));
    simulation.is_hanging = true;
    simulation.deliver();
    simulation.work(wait);
    simulation.deliver()
}

#[test]
fn retries_of_callbacks_that_hang_do_not_go_before_new_content() {
    let alone = lateness_beside_retries(0, Duration::ZERO);
    // Moments at which first tries, second tries, or both, hang.
    for wait_s in [0, 5, 30, 70, 100, 180] {
        let late = lateness_beside_retries(1_500, Duration::from_secs(wait_s));
        let is_soon = late <= alone + Duration::from_secs(1);
        assert!(is_soon, "after {wait_s} s: {late:?}, alone {alone:?}");
    }
}

/// Returns how long the verification of `honest` takes beside 1,000 that hang, asked for by so many addresses.
fn verification_beside(honest: &str, askers: i64, is_renewal: bool) -> Duration {
    let mut simulation = Simulation::new();
    if is_renewal {
        simulation.subscribe(1, |_| honest.to_owned());
    }
    simulation.is_hanging = true;
    for asker in 1..=askers {
        let count = 1_000 / askers as usize;
        simulation.ask(count, asker, |number| {
            format!("https://h{asker}-{number}.example/")
        });
    }
    simulation.work(Duration::from_secs(3));
    simulation.ask(1, 0, |_| honest.to_owned());
    simulation.until_served(1)
}

#[test]
fn a_renewal_and_a_newcomer_are_verified_beside_a_thousand_that_hang() {
    let honest = "https://h.example/honest";
    for askers in [1, 5, 20] {
        let renewal = verification_beside(honest, askers, true);
        assert!(
            renewal <= Duration::from_millis(500),
            "{askers}: {renewal:?}"
        );
        let newcomer = verification_beside(honest, askers, false);
        assert!(newcomer <= Duration::from_secs(3), "{askers}: {newcomer:?}");
    }
}

/// Callbacks that hang hold threads until their deadline: new ones at most a quarter of them.
#[test]
fn at_most_1_024_deliveries_run_at_a_time_and_256_of_new_subscribers() {
    for (is_new, most) in [(false, 1_024), (true, 256)] {
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
            largest = largest.max(simulation.running.len());
        }
        assert_eq!(largest, most, "new: {is_new}");
    }
}
