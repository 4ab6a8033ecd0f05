//! What must hold of any store of the hub beyond what a random sequence meets, and between two replicas that share one.

use std::collections::HashMap;
use std::thread;
use std::time::Duration;

use super::{UNBOUNDED, ask, claim};
use reviewd::hub::store::{
    Accept, Claim, Lane, Listed, Recorded, Report, Store, TopicVersion, WaitingRequest,
};
use reviewd::hub::subscription::Policy;
use reviewd::hub::{Mode, Moment};
use reviewd::wire::date::Timestamp;

/// Runs the checks on empty stores that `open` makes.
///
/// # Panics
/// At the first thing that does not hold, naming it.
pub fn check_store(mut open: impl FnMut() -> Store) {
    a_request_has_five_attempts_in_its_life(open());
    busy_hosts_are_passed_over(open());
}

/// Runs the checks on stores that replicas share: `open` opens an empty one twice.
///
/// # Panics
/// At the first thing that does not hold, naming it.
pub fn check_shared_store(mut open: impl FnMut() -> [Store; 2]) {
    check_store(|| {
        let [store, _other] = open();
        store
    });
    two_that_claim_at_once_never_claim_the_same(open());
    a_change_is_published_once_however_many_notice_it(open());
    an_older_version_changes_nothing_and_is_not_delivered(open());
}

fn a_request_has_five_attempts_in_its_life(mut store: Store) {
    accept(&mut store, &["x"]);
    let first = verifications(&mut store, 10);
    let unsent = Report::Unreached {
        id: first[0].id,
        answer: None,
        delay: Duration::ZERO,
    };
    let unsent = record(&mut store, unsent);
    assert_eq!(unsent, Recorded::Waiting);
    for crash in 1..=5 {
        let claimed = verifications(&mut store, 10).len();
        assert_eq!(claimed, 1, "before crash {crash}");
        store.recover(at(1 + crash)).expect("recovered");
    }
    assert_eq!(verifications(&mut store, 10), []);
    assert_eq!(store.counts(at(7)).expect("counted").requests, 0);
}

fn busy_hosts_are_passed_over(mut store: Store) {
    let all = ["x", "x/1", "x/2", "y"];
    accept(&mut store, &all);
    let busy = HashMap::from([("x.example".to_owned(), 1)]);
    let few = Claim {
        limit: 10,
        per_host: 2,
        busy,
    };
    let claimed = store.claim_requests(&few, at(0)).expect("claimed");
    let uris: Vec<&str> = claimed.iter().map(|found| found.callback.uri()).collect();
    assert_eq!(uris, ["https://x.example/", "https://y.example/"]);
    confirm(&mut store, &claimed);
    let rest = verifications(&mut store, 10);
    confirm(&mut store, &rest);
    change(&mut store, 2, 5);
    let mut claimed = |claim: &Claim| {
        let claimed = store.claim_deliveries(Lane::Slow, claim, at(6));
        claimed.expect("claimed").len()
    };
    assert_eq!(claimed(&few), 2);
    assert_eq!(claimed(&claim(1)), 1);
    assert_eq!(claimed(&claim(9)), 1);
}

fn two_that_claim_at_once_never_claim_the_same([mut one, mut other]: [Store; 2]) {
    let names: Vec<String> = (0..60).map(|number| format!("x/{number}")).collect();
    accept(&mut one, &names);
    let asked = verifications(&mut one, 100);
    confirm(&mut one, &asked);
    change(&mut one, 2, 3);
    change(&mut other, 2, 3);
    let mut ids = Vec::new();
    while ids.len() < names.len() {
        let before = ids.len();
        let few = |store: &mut Store| store.claim_deliveries(Lane::Slow, &claim(7), at(4));
        let (left, right) = at_once(&mut one, &mut other, few);
        let claimed = [left.expect("claimed"), right.expect("claimed")].concat();
        assert!(claimed.iter().all(|delivery| delivery.state.attempt == 1));
        ids.extend(claimed.iter().map(|delivery| delivery.id));
        assert!(ids.len() > before, "nothing is claimed though much is due");
    }
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), names.len(), "each once");
    assert_eq!(deliveries(&mut other, 4), []);
}

fn a_change_is_published_once_however_many_notice_it([mut one, mut other]: [Store; 2]) {
    let versions = [version("a", 2, 10), version("b", 1, 10)];
    let publish = |store: &mut Store| store.publish(&versions, at(1)).expect("published");
    let (left, right) = at_once(&mut one, &mut other, publish);
    let mut changed = [left.changed, right.changed].concat();
    changed.sort_unstable();
    assert_eq!(changed, [topic("a"), topic("b")]);
    assert!(left.older.is_empty() && right.older.is_empty());
}

fn an_older_version_changes_nothing_and_is_not_delivered([mut one, mut other]: [Store; 2]) {
    accept(&mut one, &["x"]);
    let asked = verifications(&mut one, 10);
    confirm(&mut one, &asked);
    change(&mut one, 2, 10);
    let versions = [version("a", 1, 9), version("c", 1, 9)];
    let again = other.publish(&versions, at(11)).expect("published");
    assert_eq!((again.changed, again.withdrawn), (vec![topic("c")], 0));
    assert_eq!(again.older, [topic("a")]);
    assert_eq!(deliveries(&mut other, 12), [], "its content is behind");
    // With older files, in which there is no such topic.
    let fewer = other.publish(&[version("b", 1, -1)], at(12));
    assert_eq!(fewer.expect("published").withdrawn, 0);
    assert_eq!(deliveries(&mut other, 12), []);
    let sent = deliveries(&mut one, 13);
    assert_eq!(sent[0].state.digest, [2; 32]);
}

/// Does the same with both stores at the same time.
fn at_once<T: Send>(
    one: &mut Store,
    other: &mut Store,
    act: impl Fn(&mut Store) -> T + Sync,
) -> (T, T) {
    thread::scope(|scope| {
        let left = scope.spawn(|| act(one));
        let right = scope.spawn(|| act(other));
        (left.join().expect("joined"), right.join().expect("joined"))
    })
}

/// Publishes the first version of the topic and asks for subscriptions to it, of hosts and paths with these names.
fn accept(store: &mut Store, names: &[impl AsRef<str>]) {
    change(store, 1, 0);
    let one = |name: &str| {
        let (host, path) = name.split_once('/').unwrap_or((name, ""));
        let callback = format!("https://{host}.example/{path}");
        ask(Mode::Subscribe, &callback, &topic("a"), None, 600)
    };
    let all: Vec<Accept> = names.iter().map(|name| one(name.as_ref())).collect();
    let answers = store.accept(&all, &UNBOUNDED, at(0)).expect("answered");
    assert!(answers.iter().all(Result::is_ok));
}

fn verifications(store: &mut Store, limit: usize) -> Vec<WaitingRequest> {
    let claimed = store.claim_requests(&claim(limit), at(2_000));
    claimed.expect("claimed")
}

fn confirm(store: &mut Store, asked: &[WaitingRequest]) {
    for found in asked {
        let report = Report::Verified {
            id: found.id,
            asked_at: at(1),
            confirmed: true,
        };
        assert_eq!(record(store, report), Recorded::Activated);
    }
}

fn record(store: &mut Store, report: Report) -> Recorded {
    let policy = Policy {
        failures_max: 3,
        retry_delays: vec![Duration::from_secs(30)],
        retry_after_max: Duration::from_secs(60),
    };
    let recorded = store.record(&[report], &policy, at(1));
    recorded.expect("recorded")[0]
}

fn change(store: &mut Store, content: u8, now_ms: i64) {
    let versions = [version("a", content, now_ms)];
    store.publish(&versions, at(now_ms)).expect("published");
}

/// A content of a topic, with a date.
fn version(name: &str, content: u8, dated_s: i64) -> TopicVersion {
    TopicVersion {
        url: topic(name),
        digest: [content; 32],
        dated: Timestamp::from_unix(dated_s),
    }
}

fn deliveries(store: &mut Store, now_ms: i64) -> Vec<Listed> {
    let claimed = store.claim_deliveries(Lane::Slow, &claim(100), at(now_ms));
    claimed.expect("claimed")
}

fn topic(name: &str) -> String {
    format!("https://r.example/{name}")
}

fn at(ms: i64) -> Moment {
    Moment::from_unix_ms(1_800_000_000_000 + ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sqlite_store_conforms() {
        check_store(|| Store::in_memory().expect("memory"));
    }
}
