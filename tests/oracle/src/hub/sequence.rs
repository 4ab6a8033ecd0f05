//! Runs events read from bytes on the real store and on the reference model: requests, responses, content changes,
//! clock jumps and crashes. After every step both must have returned and stored the same; at the end every active
//! subscriber must have the newest content.

use std::collections::HashMap;
use std::time::Duration;

use super::ask;
use super::model::{Model, moved};
use reviewd::hub::scheduler::{AttemptId, DueAttempt};
use reviewd::hub::store::{
    AdminCommand, AttemptReport, Quotas, ReportEffect, Store, StoredSubscription, TopicVersion,
    WaitingRequest,
};
use reviewd::hub::subscription::{AttemptFailure, AttemptResult, DeliveryResult, FailurePolicy};
use reviewd::hub::{Mode, UnixMillis};
use reviewd::wire::date::Timestamp;

/// Calls a method of both stores, asserts that the results are equal, and returns the result.
macro_rules! both {
    ($simulation:expr, $method:ident $arguments:tt) => {{
        let real = $simulation.real.$method $arguments.expect("the store works");
        assert_eq!(real, $simulation.model.$method $arguments);
        real
    }};
}

/// Reads `bytes` as a sequence of at most 400 steps, two bytes each, and runs it on both stores.
///
/// # Panics
/// If the stores differ, or if a subscriber that answers 200 does not have the newest content at the end.
pub fn check_hub_sequence(bytes: &[u8]) {
    Simulation::new(Store::in_memory().expect("memory"), false).run(bytes);
}

/// Like [`check_hub_sequence`], on an empty `store` that replicas may share. Such a store keeps topics that are no
/// longer published, and some of the published contents are older than the stored ones.
///
/// # Panics
/// For the same reasons.
pub fn check_shared_hub_sequence(store: Store, bytes: &[u8]) {
    Simulation::new(store, true).run(bytes);
}

struct Simulation {
    real: Store,
    model: Model,
    now: UnixMillis,
    /// The date of the newest content.
    dated_s: i64,
    verifications: Vec<WaitingRequest>,
    deliveries: Vec<StoredSubscription>,
    /// The content of each subscriber, by pair: that at the time of its request, or the last one that it acknowledged.
    received: HashMap<(String, String), [u8; 32]>,
}

impl Simulation {
    fn new(real: Store, is_shared: bool) -> Simulation {
        Simulation {
            real,
            model: Model::new(is_shared),
            now: UnixMillis::new(1_800_000_000_000),
            dated_s: 0,
            verifications: Vec::new(),
            deliveries: Vec::new(),
            received: HashMap::new(),
        }
    }

    fn run(mut self, bytes: &[u8]) {
        self.publish(|_| {});
        for pair in bytes.chunks_exact(2).take(400) {
            self.step(pair[0], usize::from(pair[1]));
            self.compare();
        }
        self.settle();
    }

    fn step(&mut self, what: u8, argument: usize) {
        match what % 16 {
            0 | 1 => self.ask(Mode::Subscribe, argument),
            2 => self.ask(Mode::Unsubscribe, argument),
            3 => {
                let due = both!(self, due_requests(1 + argument % 9, self.now));
                let ids = choose(&due, argument);
                let begun = both!(self, begin_verifications(&ids));
                self.verifications.extend(begun);
            }
            4 | 5 => self.answer_verification(argument),
            6 => self.change(argument),
            7 | 8 => self.begin_deliveries(1 + argument % 9, argument),
            9 | 10 => self.answer_delivery(argument),
            11 => {
                let all_ms = [1, 500, 1_000, 40_000, 400_000, 4_000_000, 100_000_000];
                let ms = all_ms[argument % all_ms.len()];
                self.now = moved(self.now, ms);
            }
            12 => {
                // The clock jumps while the hub runs, which then moves all stored times.
                let by_ms = [-86_400_000, -1_000, 1_000, 86_400_000][argument % 4];
                self.now = moved(self.now, by_ms);
                both!(self, shift(by_ms));
            }
            13 => self.crash(argument),
            14 => {
                both!(self, sweep(Duration::from_secs(3_600), self.now));
                let due = both!(self, due_denials(argument % 3, self.now));
                let ids = choose(&due, argument);
                for denial in both!(self, begin_denials(&ids, self.now)) {
                    if argument < 64 {
                        both!(self, end_denial(denial.id));
                    }
                }
            }
            _ if argument.is_multiple_of(8) => {
                let id = (argument / 8 % 32) as i64;
                both!(self, remove_request(id, self.now));
            }
            _ => {
                let command = if argument.is_multiple_of(4) {
                    AdminCommand::Remove
                } else {
                    AdminCommand::Retry
                };
                let id = (argument / 4 % 8) as i64;
                both!(self, apply_admin(id, command, self.now));
            }
        }
    }

    fn ask(&mut self, mode: Mode, argument: usize) {
        let host = argument % 3;
        let path = argument / 3 % 2;
        let callback = format!("https://s{host}.example/{path}");
        let topic = topic(argument / 6 % 2);
        let has_secret = argument / 12 % 2 == 1 && mode == Mode::Subscribe;
        let secret = if has_secret { Some("key") } else { None };
        let lease_s = [30, 100_000, 1_000_000][argument / 24 % 3];
        // Unknown topics are refused before the request reaches the store.
        if self.model.current(&topic).is_none() {
            return;
        }
        let mut request = ask(mode, &callback, &topic, secret, lease_s);
        request.asker = (argument % 5) as i64;
        let requests = [request];
        let _refused = both!(self, accept(&requests, &quotas(), self.now));
    }

    fn answer_verification(&mut self, argument: usize) {
        if self.verifications.is_empty() {
            return;
        }
        let at = argument % self.verifications.len();
        let id = self.verifications.remove(at).id;
        let failure = AttemptResult::Failed(AttemptFailure::Connect);
        let reports = [match argument / 8 % 8 {
            kind @ 1..=2 => AttemptReport::Unreached {
                id,
                result: if kind == 2 { Some(failure) } else { None },
                delay: Duration::from_secs(argument as u64 % 4),
            },
            kind => AttemptReport::Verified {
                id,
                asked_at: self.now,
                confirmed: kind != 0,
                result: AttemptResult::Status(200),
            },
        }];
        let recorded = both!(self, record(&reports, &policy(), &quotas(), self.now));
        if recorded == [ReportEffect::Activated] {
            // A new subscriber is assumed to have the content at the time of its request.
            let newest = self.model.list().pop().expect("it is there");
            self.received.insert(pair(&newest), newest.state.digest);
        }
    }

    /// Publishes the two topics with their current contents, as changed by `change`.
    fn publish(&mut self, change: impl FnOnce(&mut Vec<TopicVersion>)) {
        self.dated_s += 1;
        let mut versions = Vec::new();
        for url in [topic(0), topic(1)] {
            versions.push(TopicVersion {
                digest: self.model.current(&url).unwrap_or_default(),
                dated: Timestamp::from_unix(self.dated_s),
                url,
            });
        }
        change(&mut versions);
        both!(self, publish(&versions, self.now));
    }

    fn change(&mut self, argument: usize) {
        let number = argument % 2;
        let is_shared = self.model.is_shared;
        self.publish(|versions| {
            versions[number].digest = [(argument / 2 % 4) as u8; 32];
            match argument / 8 % 16 {
                // Content from files that are older than those of another replica.
                0..8 if is_shared => versions[number].dated = Timestamp::from_unix(0),
                // The other topic is withdrawn; the next change publishes it again.
                0 => drop(versions.remove(1 - number)),
                _ => {}
            }
        });
    }

    /// Begins some of at most `most` due deliveries.
    fn begin_deliveries(&mut self, most: usize, argument: usize) {
        let due = self
            .real
            .due_deliveries(most, self.now)
            .expect("the store works");
        self.model.check_due_deliveries(&due, most, self.now);
        let ids = choose(&due, argument);
        let begun = both!(self, begin_deliveries(&ids, self.now));
        self.deliveries.extend(begun);
    }

    fn answer_delivery(&mut self, argument: usize) {
        if self.deliveries.is_empty() {
            return;
        }
        let delivery = self.deliveries.remove(argument % self.deliveries.len());
        let answers = [200, 204, 500, 410, 302, 0, 299, 503];
        let kind = argument / 32;
        let answer = match answers[argument / 4 % 8] {
            // The attempt was given up before it began.
            _ if kind == 7 => None,
            0 => Some(AttemptResult::Failed(AttemptFailure::Timeout)),
            status => Some(AttemptResult::Status(status)),
        };
        if let Some(AttemptResult::Status(200..=299)) = answer {
            self.received.insert(pair(&delivery), delivery.state.digest);
        }
        let result = DeliveryResult {
            attempt: delivery.state.attempt,
            result: answer,
            retry_after: if kind == 6 {
                Some(Duration::from_secs(90))
            } else {
                None
            },
            elapsed: Duration::from_millis([3, 999, 1_000, 5_000][argument % 4]),
            jitter: u16::try_from(argument * 257).unwrap_or(u16::MAX),
        };
        let id = delivery.id;
        let reports = [AttemptReport::Delivered { id, result }];
        both!(self, record(&reports, &policy(), &quotas(), self.now));
    }

    /// The process crashes: exchanges in flight are lost, and the clock may have moved back meanwhile.
    fn crash(&mut self, argument: usize) {
        self.verifications.clear();
        self.deliveries.clear();
        self.now = moved(self.now, [0, 0, 250, -3_600_000][argument % 4]);
        both!(self, recover(self.now));
    }

    fn compare(&mut self) {
        let real = &mut self.real;
        let model = &self.model;
        assert_eq!(real.list(0, 1_000), Ok(model.list()));
        assert_eq!(real.requests(None, 1_000), Ok(model.requests.clone()));
        assert_eq!(real.tombstones(None, 1_000), Ok(model.tombstones()));
        assert_eq!(real.rejections(None, 1_000), Ok(model.rejections()));
        assert_eq!(real.counts(self.now), Ok(model.counts(self.now)));
    }

    /// Answers all deliveries with 200, and checks that each active subscriber has the newest content then.
    fn settle(&mut self) {
        self.crash(0);
        self.publish(|_| {});
        for listed in self.model.list() {
            both!(self, apply_admin(listed.id, AdminCommand::Retry, self.now));
        }
        self.begin_deliveries(1_000, usize::MAX);
        while !self.deliveries.is_empty() {
            self.answer_delivery(0);
        }
        self.compare();
        for listed in self.model.list() {
            if self.now < listed.state.lease_end {
                assert!(!listed.is_undelivered, "not sent: {listed:?}");
                let has = self.received.get(&pair(&listed));
                assert_eq!(has, Some(&listed.current), "{listed:?}");
            }
        }
    }
}

fn topic(number: usize) -> String {
    format!("https://r.example/{number}")
}

/// Returns the pair of topic and callback that a subscription belongs to.
fn pair(listed: &StoredSubscription) -> (String, String) {
    (listed.topic.clone(), listed.callback.uri().to_owned())
}

/// Returns the ids of some of these attempts: all for the largest argument. One more id may not be due.
fn choose(due: &[DueAttempt], argument: usize) -> Vec<i64> {
    let mut ids = Vec::new();
    for (index, attempt) in due.iter().enumerate() {
        let (AttemptId::Delivery(id)
        | AttemptId::Verification(id)
        | AttemptId::Denial(id)
        | AttemptId::Notice(id)) = attempt.id;
        if argument >> (index % 8) & 1 == 1 {
            ids.push(id);
        }
    }
    if argument.is_multiple_of(7) {
        ids.push((argument % 16) as i64);
    }
    ids.sort_unstable();
    ids.dedup();
    ids
}

fn quotas() -> Quotas {
    Quotas {
        requests: 8,
        requests_per_host: 3,
        subscriptions: 8,
        subscriptions_per_host: 4,
    }
}

fn policy() -> FailurePolicy {
    FailurePolicy {
        failures_max: 3,
        retry_delays: vec![Duration::from_secs(1), Duration::from_secs(100)],
        retry_after_max: Duration::from_secs(120),
    }
}
