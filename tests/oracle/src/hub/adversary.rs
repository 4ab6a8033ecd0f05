//! Adversaries among honest subscribers, in simulated time: the real store and the real table of exchanges, with callbacks
//! that hang instead of a network. The loop does what the hub's thread does in a turn.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{UNBOUNDED, ask, claim};
use reviewd::hub::guard::{Guard, Ports};
use reviewd::hub::in_flight::InFlight;
use reviewd::hub::store::{Accept, Lane, Listed, Report, Store, TopicVersion, WaitingRequest};
use reviewd::hub::subscription::{Answer, Failure};
use reviewd::hub::{Callback, Mode, Moment, Settings, StoreLocation};
use reviewd::wire::date::Timestamp;

/// Callbacks that hang, on hosts of their own unless `host` names one.
struct Adversaries {
    count: usize,
    host: Option<&'static str>,
    /// Whether they acknowledged a delivery before they began to hang.
    is_known: bool,
}

struct World {
    store: Store,
    table: InFlight,
    settings: Settings,
    start: Instant,
    elapsed: Duration,
    content: u8,
    /// When each exchange ends, with its number and its delivery; verifications that hang have none.
    under_way: Vec<(Duration, u64, Option<Listed>)>,
    hanging: bool,
}

impl World {
    fn new() -> World {
        let guard = Guard {
            allow_private: false,
            ports: Ports::parse("443").expect("ports"),
        };
        let settings = Settings::new(StoreLocation::Directory("unused".into()), guard);
        let start = Instant::now();
        let mut world = World {
            store: Store::in_memory().expect("memory"),
            table: InFlight::new(settings.lanes, start),
            settings,
            start,
            elapsed: Duration::ZERO,
            content: 0,
            under_way: Vec::new(),
            hanging: false,
        };
        world.change();
        world
    }

    fn now(&self) -> Moment {
        Moment::from_unix_ms(1_800_000_000_000).plus(self.elapsed)
    }

    fn change(&mut self) {
        self.content += 1;
        let version = TopicVersion {
            url: TOPIC.to_owned(),
            digest: [self.content; 32],
            dated: Timestamp::from_unix(self.content.into()),
        };
        self.store
            .publish(&[version], self.now())
            .expect("published");
    }

    fn ask(&mut self, callbacks: impl Iterator<Item = String>) {
        let one = |callback: String| ask(Mode::Subscribe, &callback, TOPIC, None, 864_000);
        let all: Vec<Accept> = callbacks.map(one).collect();
        let answers = self.store.accept(&all, &UNBOUNDED, self.now());
        answers.expect("answered");
    }

    /// Subscribes them, all confirmed at once.
    fn subscribe(&mut self, callbacks: impl Iterator<Item = String>) {
        self.ask(callbacks);
        let now = self.now();
        let claimed = self.store.claim_requests(&claim(usize::MAX), now);
        let confirmed = |asked: WaitingRequest| Report::Verified {
            id: asked.id,
            asked_at: now,
            confirmed: true,
        };
        let claimed = claimed.expect("claimed").into_iter();
        let reports: Vec<Report> = claimed.map(confirmed).collect();
        self.store
            .record(&reports, &self.settings.policy, now)
            .expect("recorded");
    }

    /// One turn: ends what is over, and begins what there is room for. Returns the honest callbacks that were served.
    fn turn(&mut self) -> Vec<String> {
        let (elapsed, instant, now) = (self.elapsed, self.start + self.elapsed, self.now());
        let (over, left) = self.under_way.drain(..).partition(|one| one.0 <= elapsed);
        self.under_way = left;
        let (mut served, mut reports) = (Vec::new(), Vec::new());
        let over: Vec<(Duration, u64, Option<Listed>)> = over;
        for (_, number, delivery) in over {
            self.table.end(number);
            let Some(delivery) = delivery else { continue };
            let hangs = self.hangs(&delivery.callback);
            let answer = match hangs {
                true => Answer::Failed(Failure::Timeout),
                false => Answer::Status(204),
            };
            if delivery.callback.uri().contains("honest") {
                served.push(delivery.callback.uri().to_owned());
            }
            reports.push(Report::Delivered {
                id: delivery.id,
                attempt: delivery.state.attempt,
                answer: Some(answer),
                retry_after: None,
                elapsed: if hangs { self.settings.timeout } else { QUICK },
                jitter: 0,
            });
        }
        self.store
            .record(&reports, &self.settings.policy, now)
            .expect("recorded");
        self.table.observe(instant);
        let asked = self.table.room(Lane::Ask, instant);
        for asked in self.store.claim_requests(&asked, now).expect("claimed") {
            self.begin(Lane::Ask, &asked.callback, None);
        }
        for lane in [Lane::Fast, Lane::Slow] {
            let room = self.table.room(lane, instant);
            for delivery in self
                .store
                .claim_deliveries(lane, &room, now)
                .expect("claimed")
            {
                self.begin(lane, &delivery.callback.clone(), Some(delivery));
            }
        }
        self.elapsed += TURN;
        served
    }

    fn begin(&mut self, lane: Lane, callback: &Callback, delivery: Option<Listed>) {
        let lasts = match self.hangs(callback) {
            true => self.settings.timeout,
            false => QUICK,
        };
        let host = callback.host().to_string();
        let number = self
            .table
            .begin(lane, host, Arc::default(), self.start + self.elapsed);
        self.under_way
            .push((self.elapsed + lasts, number, delivery));
    }

    fn hangs(&self, callback: &Callback) -> bool {
        self.hanging && !callback.uri().contains("honest")
    }

    /// Changes the content, and returns how long it takes until all of `count` honest subscribers have it.
    fn deliver(&mut self, count: usize) -> Duration {
        self.change();
        let (began, mut served) = (self.elapsed, 0);
        while served < count {
            served += self.turn().len();
            assert!(
                self.elapsed - began < Duration::from_secs(60),
                "{served} are served"
            );
        }
        self.elapsed - began
    }
}

/// Returns how long 40 honest subscribers, ten of them on one host, wait for a content among adversaries that subscribed
/// before them, while 1,000 verifications hang.
fn lateness(adversaries: &[Adversaries]) -> Duration {
    let mut world = World::new();
    let uris = |adversaries: &Adversaries, group: usize| {
        let host = adversaries.host;
        let uri = move |number| match host {
            Some(host) => format!("https://{host}/{group}-{number}"),
            None => format!("https://a{number}.g{group}.example/"),
        };
        (0..adversaries.count).map(uri)
    };
    let of = |is_known: bool| move |one: &&Adversaries| one.is_known == is_known;
    for (group, known) in adversaries.iter().filter(of(true)).enumerate() {
        world.subscribe(uris(known, group));
    }
    let honest = |number: usize| match number {
        0..10 => format!("https://shared.example/honest{number}"),
        _ => format!("https://h{number}.example/honest"),
    };
    world.subscribe((0..HONEST).map(honest));
    // All of them acknowledge their first delivery.
    world.deliver(HONEST);
    while !world.under_way.is_empty() || world.store.counts(world.now()).expect("counts").owed > 0 {
        world.turn();
    }
    world.hanging = true;
    for (group, unknown) in adversaries.iter().filter(of(false)).enumerate() {
        world.subscribe(uris(unknown, group + 100));
    }
    if !adversaries.is_empty() {
        world.ask((0..1_000).map(|number| format!("https://v{number}.example/")));
    }
    world.deliver(HONEST)
}

/// Honest subscribers.
const HONEST: usize = 40;

/// How long an exchange with an honest subscriber takes.
const QUICK: Duration = Duration::from_millis(30);

/// Time between two turns, as while there is work.
const TURN: Duration = Duration::from_millis(20);

const TOPIC: &str = "https://r.example/feed.xml";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_other_clients_ask_an_honest_delivery_is_late_by_a_second_at_most() {
        let alone = lateness(&[]);
        assert!(alone < Duration::from_millis(200), "{alone:?}");
        let unknown = |count, host| Adversaries {
            count,
            host,
            is_known: false,
        };
        let known = |count| Adversaries {
            count,
            host: None,
            is_known: true,
        };
        for (name, adversaries) in [
            ("new hosts", vec![unknown(1_500, None)]),
            ("the same host", vec![unknown(900, Some("shared.example"))]),
            ("known for a delivery", vec![known(200)]),
            (
                "all",
                vec![
                    known(200),
                    unknown(600, None),
                    unknown(900, Some("shared.example")),
                ],
            ),
        ] {
            let late = lateness(&adversaries);
            assert!(
                late <= alone + Duration::from_secs(1),
                "{name}: {late:?}, alone {alone:?}"
            );
        }
    }
}
