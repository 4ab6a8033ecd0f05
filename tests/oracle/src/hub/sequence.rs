//! A hub's history from bytes: requests, answers, content changes, clock jumps and crashes, on the real store and on the
//! reference model at once. After every step both must have answered and kept the same; at the end every subscriber that is
//! still active must have the newest content.

use std::collections::HashMap;
use std::time::Duration;

use super::model::{Model, moved};
use super::{ask, claim};
use reviewd::hub::store::{
    AdminCommand, Lane, Listed, Quotas, Recorded, Report, Store, TopicVersion, WaitingRequest,
};
use reviewd::hub::subscription::{Answer, Failure, Policy};
use reviewd::hub::{Mode, Moment};
use reviewd::wire::date::Timestamp;

/// Does the same to both stores and returns what they agree on.
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
/// When the stores differ, when an attempt carries anything but the topic's current content, or when a subscriber
/// that answers 200 is left without the newest content.
pub fn check_hub_sequence(bytes: &[u8]) {
    Simulation::begin(Store::in_memory().expect("memory"), true).run(bytes);
}

/// As [`check_hub_sequence`], on an empty store that replicas may share: there no topic is withdrawn.
///
/// # Panics
/// As that does.
pub fn check_shared_hub_sequence(store: Store, bytes: &[u8]) {
    Simulation::begin(store, false).run(bytes);
}

struct Simulation {
    /// Whether topics are withdrawn.
    withdraws: bool,
    /// The date of the next content.
    dated_s: i64,
    real: Store,
    model: Model,
    now: Moment,
    topics: Vec<(String, [u8; 32])>,
    verifications: Vec<WaitingRequest>,
    deliveries: Vec<Listed>,
    /// The content that each subscriber has, by pair, as far as it acknowledged one.
    received: HashMap<(String, String), [u8; 32]>,
}

impl Simulation {
    fn begin(real: Store, withdraws: bool) -> Simulation {
        let mut simulation = Simulation {
            withdraws,
            dated_s: 0,
            real,
            model: Model::default(),
            now: Moment::from_unix_ms(1_800_000_000_000),
            topics: (0..2).map(|number| (topic(number), [0; 32])).collect(),
            verifications: Vec::new(),
            deliveries: Vec::new(),
            received: HashMap::new(),
        };
        simulation.publish();
        simulation
    }

    fn run(mut self, bytes: &[u8]) {
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
                let claim = claim(1 + argument % 3);
                let claimed = both!(self, claim_requests(&claim, self.now));
                self.verifications.extend(claimed);
            }
            4 | 5 => self.answer_verification(argument),
            6 => self.change(argument),
            7 | 8 => self.claim_deliveries(),
            9 | 10 => self.answer_delivery(argument),
            11 => {
                let ms = [1, 500, 1_000, 40_000, 400_000, 4_000_000][argument % 6];
                self.now = moved(self.now, ms);
            }
            12 => {
                // The clock jumps while the hub runs: it notices, and moves what is stored.
                let by_ms = [-86_400_000, -1_000, 1_000, 86_400_000][argument % 4];
                self.now = moved(self.now, by_ms);
                both!(self, shift(by_ms));
            }
            13 => self.crash(argument),
            14 => {
                both!(self, sweep(Duration::from_secs(3_600), self.now));
                for notice in both!(self, take_notices(argument % 3, self.now)) {
                    both!(self, defer_notice(&notice, self.now));
                }
            }
            _ => {
                let command = match argument.is_multiple_of(4) {
                    true => AdminCommand::Remove,
                    false => AdminCommand::Retry,
                };
                both!(
                    self,
                    apply_admin((argument / 4 % 8) as i64, command, self.now)
                );
            }
        }
    }

    fn ask(&mut self, mode: Mode, argument: usize) {
        let (host, path) = (argument % 3, argument / 3 % 2);
        let callback = format!("https://s{host}.example/{path}");
        let topic = topic(argument / 6 % 3);
        let secret = Some("key").filter(|_| argument / 18 % 2 == 1 && mode == Mode::Subscribe);
        let lease_s = [30, 100_000][argument / 36 % 2];
        let accept = ask(mode, &callback, &topic, secret, lease_s);
        // Topics that are not ours are refused before the store sees them.
        if self.current(&topic).is_none() {
            return;
        }
        let quotas = Quotas {
            requests: 6,
            requests_per_host: 3,
            subscriptions: 8,
            subscriptions_per_host: 4,
        };
        let _refused = both!(
            self,
            accept(std::slice::from_ref(&accept), &quotas, self.now)
        );
    }

    fn publish(&mut self) {
        self.dated_s += 1;
        let dated = Timestamp::from_unix(self.dated_s);
        let version = |(url, digest): &(String, [u8; 32])| TopicVersion {
            url: url.clone(),
            digest: *digest,
            dated,
        };
        let versions: Vec<TopicVersion> = self.topics.iter().map(version).collect();
        both!(self, publish(&versions, self.now));
    }

    fn answer_verification(&mut self, argument: usize) {
        if self.verifications.is_empty() {
            return;
        }
        let id = self
            .verifications
            .remove(argument % self.verifications.len())
            .id;
        let report = match argument / 8 % 8 {
            kind @ 1..=2 => Report::Unreached {
                id,
                answer: (kind == 2).then_some(Answer::Failed(Failure::Connect)),
                delay: Duration::from_secs(argument as u64 % 4),
            },
            kind => Report::Verified {
                id,
                asked_at: self.now,
                confirmed: kind != 0,
            },
        };
        let recorded = both!(
            self,
            record(std::slice::from_ref(&report), &policy(), self.now)
        );
        if recorded == [Recorded::Activated] {
            // A new subscriber counts as having what the topic held when it asked.
            let newest = self.model.list(0, usize::MAX).pop().expect("it is there");
            let pair = (newest.topic, newest.callback.uri().to_owned());
            self.received.insert(pair, newest.state.digest);
        }
    }

    fn change(&mut self, argument: usize) {
        let number = argument % 2;
        if self.withdraws && (argument / 8).is_multiple_of(16) {
            // One topic is withdrawn; it comes back with the next change.
            self.topics = vec![(topic(number), [0; 32])];
        } else {
            let held = |number| self.current(&topic(number)).unwrap_or_default();
            self.topics = (0..2).map(|number| (topic(number), held(number))).collect();
            self.topics[number].1 = [(argument / 2 % 4) as u8; 32];
        }
        self.publish();
    }

    fn current(&self, url: &str) -> Option<[u8; 32]> {
        let known = self.topics.iter().find(|(known, _)| known == url);
        known.map(|(_, digest)| *digest)
    }

    fn claim_deliveries(&mut self) {
        for lane in [Lane::Fast, Lane::Slow] {
            let claimed = both!(self, claim_deliveries(lane, &claim(100), self.now));
            for delivery in &claimed {
                // An attempt carries the current content, so an older one can never follow a newer one.
                assert_eq!(Some(delivery.state.digest), self.current(&delivery.topic));
            }
            self.deliveries.extend(claimed);
        }
    }

    fn answer_delivery(&mut self, argument: usize) {
        if self.deliveries.is_empty() {
            return;
        }
        let delivery = self.deliveries.remove(argument % self.deliveries.len());
        let answers = [200, 204, 500, 410, 302, 0, 299, 503];
        let answer = match answers[argument / 4 % 8] {
            0 => Answer::Failed(Failure::Timeout),
            status => Answer::Status(status),
        };
        let kind = argument / 32;
        let answer = (kind != 7).then_some(answer);
        if let Some(Answer::Status(200..=299)) = answer {
            let pair = (delivery.topic, delivery.callback.uri().to_owned());
            self.received.insert(pair, delivery.state.digest);
        }
        let report = Report::Delivered {
            id: delivery.id,
            attempt: delivery.state.attempt,
            answer,
            retry_after: (kind == 6).then_some(Duration::from_secs(90)),
            elapsed: Duration::from_millis([3, 999, 1_000, 5_000][argument % 4]),
            jitter: u16::try_from(argument * 257).unwrap_or(u16::MAX),
        };
        both!(
            self,
            record(std::slice::from_ref(&report), &policy(), self.now)
        );
    }

    /// The process dies; whatever was under way is lost, and a clock may have gone back meanwhile.
    fn crash(&mut self, argument: usize) {
        self.verifications.clear();
        self.deliveries.clear();
        self.now = moved(self.now, [0, 0, 250, -3_600_000][argument % 4]);
        both!(self, recover(self.now));
    }

    fn compare(&mut self) {
        both!(self, list(0, 1_000));
        both!(self, requests(1_000));
        both!(self, tombstones(1_000));
        both!(self, counts(self.now));
    }

    /// Every subscriber answers 200 from now on: each that is still active ends with the newest content.
    fn settle(&mut self) {
        self.crash(0);
        for listed in self.model.list(0, 1_000) {
            both!(self, apply_admin(listed.id, AdminCommand::Retry, self.now));
        }
        self.claim_deliveries();
        while !self.deliveries.is_empty() {
            self.answer_delivery(0);
        }
        self.compare();
        for listed in self.model.list(0, 1_000) {
            if self.now < listed.state.lease_end {
                let pair = (listed.topic.clone(), listed.callback.uri().to_owned());
                let has = self.received.get(&pair).copied();
                assert!(!listed.owed, "owed and not sent: {listed:?}");
                assert_eq!(has, self.current(&listed.topic), "{listed:?}");
            }
        }
    }
}

fn topic(number: usize) -> String {
    format!("https://r.example/{number}")
}

fn policy() -> Policy {
    Policy {
        failures_max: 3,
        retry_delays: vec![Duration::from_secs(1), Duration::from_secs(100)],
        retry_after_max: Duration::from_secs(120),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn the_store_and_its_reference_model_agree_on_any_sequence(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
            check_hub_sequence(&bytes);
        }
    }
}
