//! What must hold of any store of the hub, whatever keeps the bytes.

mod common;
mod shared;

use std::collections::HashMap;
use std::time::Duration;

use reviewd::hub::store::{
    Accept, AdminCommand, Claim, Delivery, Lane, Quotas, Recorded, Report, Store, TopicVersion,
    WaitingRequest,
};
use reviewd::hub::subscription::{Answer, Outcome, Policy};
use reviewd::hub::{Callback, HubRequest, Mode, Moment, Secret};
use reviewd::wire::date::Timestamp;

/// Runs every check on stores of one process that `open` makes, each empty.
///
/// # Panics
/// At the first thing that does not hold, naming it.
pub fn check_store(mut open: impl FnMut() -> Store) {
    for check in COMMON {
        let mut store = open();
        publish_first(&mut store);
        check(&mut store);
    }
}

/// Runs every check on stores that replicas share: `open` opens an empty one twice.
///
/// # Panics
/// At the first thing that does not hold, naming it.
pub fn check_shared_store(mut open: impl FnMut() -> [Store; 2]) {
    for check in COMMON {
        let [mut store, _other] = open();
        publish_first(&mut store);
        check(&mut store);
    }
    for check in shared::CHECKS {
        let [mut one, mut other] = open();
        publish_first(&mut one);
        publish_first(&mut other);
        check(&mut one, &mut other);
    }
}

fn publish_first(store: &mut Store) {
    let versions = [version("a", 1, 0), version("b", 1, 0)];
    store.publish(&versions, at(0)).expect("published");
}

/// What holds of any store.
const COMMON: [fn(&mut Store); 7] = [
    common::a_request_has_five_attempts_in_its_life,
    common::busy_hosts_are_passed_over,
    common::a_returning_subscriber_waits_for_the_attempt_under_way,
    common::a_change_is_due_once_and_begun_before_it_is_sent,
    common::lanes_part_quick_from_slow,
    common::a_denial_that_cannot_be_sent_is_sent_again_for_a_day,
    common::tombstones_are_dropped_when_they_are_old,
];

fn accept(store: &mut Store, mode: Mode, name: &str, topic: &str) {
    let quotas = Quotas {
        requests: 100,
        requests_per_host: 100,
        subscriptions: 100,
        subscriptions_per_host: 100,
    };
    let answers = store
        .accept(&[request(mode, name, topic, Some("key"))], &quotas, at(0))
        .expect("answered");
    assert_eq!(answers, [Ok(())]);
}

fn activate(store: &mut Store, name: &str, topic: &str) {
    accept(store, Mode::Subscribe, name, topic);
    for found in verifications(store, 100) {
        record(store, confirmed(&found, true), 1);
    }
}

fn request(mode: Mode, name: &str, name_of_topic: &str, secret: Option<&str>) -> Accept {
    let (host, path) = name.split_once('/').unwrap_or((name, ""));
    let callback = Callback::parse(&format!("https://{host}.example/{path}")).expect("URL");
    let topic = topic(name_of_topic);
    let secret = secret
        .filter(|_| mode == Mode::Subscribe)
        .and_then(|key| Secret::new(key.to_owned()));
    let request = HubRequest {
        mode,
        topic_given: topic.clone(),
        topic,
        callback,
        lease_asked_s: None,
        secret,
    };
    Accept {
        request,
        lease_s: 600,
    }
}

fn verifications(store: &mut Store, limit: usize) -> Vec<WaitingRequest> {
    store.claim_requests(&claim(limit), at(0)).expect("claimed")
}

fn deliveries(store: &mut Store, now_ms: i64) -> Vec<Delivery> {
    let mut claimed = store
        .claim_deliveries(Lane::Fast, &claim(100), at(now_ms))
        .expect("claimed");
    claimed.extend(
        store
            .claim_deliveries(Lane::Slow, &claim(100), at(now_ms))
            .expect("claimed"),
    );
    claimed.sort_by_key(|delivery| delivery.id);
    claimed
}

fn claim(limit: usize) -> Claim {
    Claim {
        limit,
        per_host: 100,
        busy: HashMap::new(),
    }
}

fn change(store: &mut Store, name: &str, content: u8, now_ms: i64) {
    let other = if name == "a" { "b" } else { "a" };
    let versions = [version(name, content, now_ms), version(other, 1, now_ms)];
    let published = store.publish(&versions, at(now_ms)).expect("published");
    assert_eq!(published.changed, [topic(name)]);
}

/// A content of a topic, with a date.
fn version(name: &str, content: u8, dated_s: i64) -> TopicVersion {
    TopicVersion {
        url: topic(name),
        digest: [content; 32],
        dated: Timestamp::from_unix(dated_s),
    }
}

fn record(store: &mut Store, report: Report, now_ms: i64) -> Recorded {
    store
        .record(&[report], &policy(), at(now_ms))
        .expect("recorded")[0]
}

fn confirmed(found: &WaitingRequest, confirmed: bool) -> Report {
    Report::Verified {
        id: found.id,
        asked_at: at(1),
        confirmed,
    }
}

fn ended(delivery: &Delivery, status: u16) -> Report {
    let outcome = Outcome::Attempted {
        answer: Answer::Status(status),
        retry_after: None,
    };
    Report::Delivered {
        id: delivery.id,
        attempt: delivery.attempt,
        digest: delivery.digest,
        outcome,
        elapsed: Duration::from_millis(5),
        jitter: 0,
    }
}

fn uris<'a>(callbacks: impl Iterator<Item = &'a Callback>) -> Vec<&'a str> {
    callbacks.map(Callback::uri).collect()
}

fn topic(name: &str) -> String {
    format!("https://r.example/{name}")
}

fn policy() -> Policy {
    Policy {
        failures_max: 3,
        retry_delays: vec![Duration::from_secs(30)],
        retry_after_max: Duration::from_secs(60),
    }
}

fn at(ms: i64) -> Moment {
    Moment::from_unix_ms(BASE_MS.saturating_add(ms))
}

/// Where the checks' time begins.
const BASE_MS: i64 = 1_800_000_000_000;

/// How long the checks keep tombstones.
const AGE: Duration = Duration::from_secs(3_600);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sqlite_store_conforms() {
        check_store(|| Store::in_memory().expect("memory"));
    }
}
