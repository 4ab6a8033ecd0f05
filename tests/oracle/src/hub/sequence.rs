//! A hub's history from bytes: requests, answers, content changes, clock jumps and crashes, on the real store and on the
//! reference model at once. After every step both must have answered and kept the same; at the end every subscriber that is
//! still active must have the newest content.

use std::collections::HashMap;
use std::time::Duration;

use super::model::Model;
use reviewd::hub::store::{
    Accept, AdminCommand, Claim, Delivery, Lane, Quotas, Recorded, Report, Store, TopicVersion,
    WaitingRequest,
};
use reviewd::hub::subscription::{Answer, Failure, Outcome, Policy};
use reviewd::hub::{Callback, HubRequest, Mode, Moment, Secret};
use reviewd::wire::date::Timestamp;

/// Does the same to both stores and returns what they agree on.
macro_rules! both {
    ($simulation:expr, |$store:ident, $now:ident| $act:expr) => {{
        let $now = $simulation.now;
        let one = {
            let $store = &mut $simulation.real;
            $act
        };
        let other = {
            let $store = &mut $simulation.model;
            $act
        };
        assert_eq!(one, other);
        one
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
    deliveries: Vec<Delivery>,
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
            3 => self.claim_requests(1 + argument % 3),
            4 | 5 => self.answer_verification(argument),
            6 => self.change(argument),
            7 | 8 => self.claim_deliveries(),
            9 | 10 => self.answer_delivery(argument),
            11 => {
                self.now = self.now.plus(Duration::from_millis(
                    [1, 500, 1_000, 5_000, 40_000, 400_000][argument % 6],
                ))
            }
            12 => self.jump(argument),
            13 => self.crash(argument),
            14 => self.keep_house(argument),
            _ => self.apply_admin(argument),
        }
    }

    fn ask(&mut self, mode: Mode, argument: usize) {
        let callback = Callback::parse(&format!(
            "https://s{}.example/{}",
            argument % 3,
            argument / 3 % 2
        ))
        .expect("URL");
        let topic = topic(argument / 6 % 3);
        let secret = (argument / 18 % 2 == 1 && mode == Mode::Subscribe)
            .then(|| Secret::new("key".to_owned()))
            .flatten();
        let request = HubRequest {
            mode,
            topic_given: topic.clone(),
            topic,
            callback,
            lease_asked_s: None,
            secret,
        };
        let accept = Accept {
            request,
            lease_s: [30, 600][argument / 36 % 2],
        };
        let quotas = Quotas {
            requests: 6,
            requests_per_host: 3,
            subscriptions: 8,
            subscriptions_per_host: 4,
        };
        // Topics that are not ours are refused before the store sees them.
        if self
            .topics
            .iter()
            .any(|(url, _)| *url == accept.request.topic)
        {
            let _answers = both!(self, |store, now| store.accept(
                std::slice::from_ref(&accept),
                &quotas,
                now
            ));
        }
    }

    fn claim_requests(&mut self, limit: usize) {
        let claimed =
            both!(self, |store, now| store.claim_requests(&claim(limit), now)).expect("claimed");
        self.verifications.extend(claimed);
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
        let _published = both!(self, |store, now| store.publish(&versions, now));
    }

    fn answer_verification(&mut self, argument: usize) {
        if self.verifications.is_empty() {
            return;
        }
        let verification = self
            .verifications
            .remove(argument % self.verifications.len());
        let id = verification.id;
        let report = match argument / 8 % 8 {
            0 => Report::Verified {
                id,
                asked_at: self.now,
                confirmed: false,
            },
            1 => Report::Unsent { id },
            2 => Report::Unreached {
                id,
                answer: Answer::Failed(Failure::Connect),
                delay: Duration::from_secs(argument as u64 % 4),
            },
            _ => Report::Verified {
                id,
                asked_at: self.now,
                confirmed: true,
            },
        };
        if let Recorded::Activated = self.record(report) {
            self.note_activation();
        }
    }

    /// A new subscriber counts as having what the topic holds at that moment.
    fn note_activation(&mut self) {
        let listed = self.model.list(0, usize::MAX).expect("model");
        if let Some(newest) = listed.last() {
            self.received.insert(
                (newest.topic.clone(), newest.callback.uri().to_owned()),
                newest.state.digest,
            );
        }
    }

    fn change(&mut self, argument: usize) {
        let number = argument % 2;
        if self.withdraws && (argument / 8).is_multiple_of(16) {
            // One topic is withdrawn; it comes back with the next change.
            self.topics = vec![(topic(number), [0; 32])];
        } else {
            let mut topics: Vec<_> = (0..2).map(|number| (topic(number), [0; 32])).collect();
            for entry in &mut topics {
                entry.1 = self.current(&entry.0).unwrap_or_default();
            }
            topics[number].1 = [u8::try_from(argument / 2 % 4).unwrap_or(0); 32];
            self.topics = topics;
        }
        self.publish();
    }

    fn current(&self, url: &str) -> Option<[u8; 32]> {
        self.topics
            .iter()
            .find(|(known, _)| known == url)
            .map(|(_, digest)| *digest)
    }

    fn claim_deliveries(&mut self) {
        for lane in [Lane::Fast, Lane::Slow] {
            let claimed = both!(self, |store, now| {
                let mut claimed = store
                    .claim_deliveries(lane, &claim(100), now)
                    .expect("claimed");
                claimed.sort_by_key(|delivery| delivery.id);
                claimed
            });
            for delivery in &claimed {
                // An attempt carries the current content, so an older one can never follow a newer one.
                assert_eq!(Some(delivery.digest), self.current(&delivery.topic));
            }
            self.deliveries.extend(claimed);
        }
    }

    fn answer_delivery(&mut self, argument: usize) {
        if self.deliveries.is_empty() {
            return;
        }
        let delivery = self.deliveries.remove(argument % self.deliveries.len());
        let answers = [
            Answer::Status(200),
            Answer::Status(204),
            Answer::Status(500),
            Answer::Status(410),
            Answer::Status(302),
            Answer::Failed(Failure::Timeout),
            Answer::Status(299),
            Answer::Status(503),
        ];
        let answer = answers[argument / 4 % 8];
        let outcome = if argument / 32 == 7 {
            Outcome::Deferred
        } else {
            Outcome::Attempted {
                answer,
                retry_after: (argument / 32 == 6).then_some(Duration::from_secs(90)),
            }
        };
        if matches!(
            outcome,
            Outcome::Attempted {
                answer: Answer::Status(200..=299),
                ..
            }
        ) {
            self.received.insert(
                (delivery.topic.clone(), delivery.callback.uri().to_owned()),
                delivery.digest,
            );
        }
        let elapsed = Duration::from_millis([3, 999, 1_000, 5_000][argument % 4]);
        let jitter = u16::try_from(argument * 257).unwrap_or(u16::MAX);
        self.record(Report::Delivered {
            id: delivery.id,
            attempt: delivery.attempt,
            digest: delivery.digest,
            outcome,
            elapsed,
            jitter,
        });
    }

    fn record(&mut self, report: Report) -> Recorded {
        let recorded = both!(self, |store, now| store.record(
            std::slice::from_ref(&report),
            &policy(),
            now
        ));
        recorded.expect("recorded")[0]
    }

    /// The clock jumps while the hub runs: it notices, and moves what is stored.
    fn jump(&mut self, argument: usize) {
        let by_ms = [-86_400_000, -1_000, 1_000, 86_400_000][argument % 4];
        self.now = Moment::from_unix_ms(self.now.unix_ms() + by_ms);
        let _done = both!(self, |store, _now| store.shift(by_ms));
    }

    /// The process dies; whatever was under way is lost, and a clock may have gone back meanwhile.
    fn crash(&mut self, argument: usize) {
        self.verifications.clear();
        self.deliveries.clear();
        let by_ms = [0, 0, 250, -3_600_000][argument % 4];
        self.now = Moment::from_unix_ms(self.now.unix_ms() + by_ms);
        let _done = both!(self, |store, now| store.recover(now));
    }

    fn keep_house(&mut self, argument: usize) {
        let age = Duration::from_secs(3_600);
        let _swept = both!(self, |store, now| store.sweep(age, now));
        let taken = both!(self, |store, now| store.take_notices(argument % 3, now));
        for notice in taken.expect("taken") {
            let _kept = both!(self, |store, now| store.defer_notice(&notice, now));
        }
    }

    fn apply_admin(&mut self, argument: usize) {
        let order = if argument.is_multiple_of(4) {
            AdminCommand::Remove
        } else {
            AdminCommand::Retry
        };
        let id = i64::try_from(argument / 4 % 8).unwrap_or(0);
        let _found = both!(self, |store, now| store.apply_admin(id, order, now));
    }

    fn compare(&mut self) {
        let _same = both!(self, |store, now| {
            (
                store.list(0, 1_000),
                store.tombstones(1_000),
                store.counts(now),
            )
        });
    }

    /// Every subscriber answers 200 from now on: each that is still active ends with the newest content.
    fn settle(&mut self) {
        self.crash(0);
        for listed in self.model.list(0, 1_000).expect("model") {
            let _found = both!(self, |store, now| {
                store.apply_admin(listed.id, AdminCommand::Retry, now)
            });
        }
        self.claim_deliveries();
        while !self.deliveries.is_empty() {
            self.answer_delivery(0);
        }
        self.compare();
        for listed in self.model.list(0, 1_000).expect("model") {
            if self.now < listed.state.lease_end {
                let has = self
                    .received
                    .get(&(listed.topic.clone(), listed.callback.uri().to_owned()))
                    .copied();
                assert!(!listed.owed, "owed and not sent: {listed:?}");
                assert_eq!(has, self.current(&listed.topic), "{listed:?}");
            }
        }
    }
}

fn claim(limit: usize) -> Claim {
    Claim {
        limit,
        per_host: 100,
        busy: HashMap::new(),
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
