//! What holds between two replicas that have the same store open.

use super::*;

type Check = fn(&mut dyn Store, &mut dyn Store);

/// Every check.
pub(super) const CHECKS: [Check; 9] = [
    the_agenda_names_what_there_is_and_nothing_else,
    two_that_claim_at_once_never_claim_the_same,
    a_claim_that_ran_out_returns_and_its_late_end_is_stale,
    a_verification_that_ran_out_returns_and_its_late_end_is_stale,
    a_replica_that_recovers_leaves_the_claims_of_the_others,
    a_change_is_published_once_however_many_notice_it,
    an_older_edition_is_passed_over_and_withdraws_nothing,
    whoever_serves_something_else_has_the_same_bytes,
    whoever_does_not_know_a_topic_leaves_it_to_the_others,
];

fn two_that_claim_at_once_never_claim_the_same(one: &mut dyn Store, other: &mut dyn Store) {
    let names: Vec<String> = (0..60).map(|number| format!("x/{number}")).collect();
    for name in &names {
        activate(one, name, "a");
    }
    change(one, "a", 2, 3);
    let idle = HashMap::new();
    let mut ids = Vec::new();
    while ids.len() < names.len() {
        let before = ids.len();
        let few = |store: &mut dyn Store| {
            let claim = claim(7, &idle);
            store.claim_deliveries(Lane::Fast, &claim, at(4))
        };
        let (left, right) = std::thread::scope(|scope| {
            let left = scope.spawn(|| few(&mut *one));
            let right = scope.spawn(|| few(&mut *other));
            (left.join().expect("joined"), right.join().expect("joined"))
        });
        let claimed = [left.expect("claimed"), right.expect("claimed")].concat();
        assert!(claimed.iter().all(|delivery| delivery.attempt == 1));
        ids.extend(claimed.iter().map(|delivery| delivery.id));
        assert!(ids.len() > before, "nothing is claimed though much is due");
    }
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), names.len(), "each once");
    assert_eq!(deliveries(other, 4), []);
}

fn a_claim_that_ran_out_returns_and_its_late_end_is_stale(
    one: &mut dyn Store,
    other: &mut dyn Store,
) {
    activate(one, "x", "a");
    change(one, "a", 2, 3);
    let idle = HashMap::new();
    let brief = Claim {
        until: at(100),
        ..claim(10, &idle)
    };
    let first = one
        .claim_deliveries(Lane::Fast, &brief, at(4))
        .expect("claimed");
    assert_eq!(deliveries(other, 99), []);
    let second = deliveries(other, 100);
    assert_eq!((first[0].attempt, second[0].attempt), (1, 2));
    assert_eq!(record(one, ended(&first[0], 500), 101), Recorded::Stale);
    assert_eq!(
        record(one, ended(&second[0], 410), 101),
        Recorded::Stale,
        "only who has begun an attempt ends it"
    );
    assert_eq!(
        record(other, ended(&second[0], 200), 102),
        Recorded::Kept { failures: 0 }
    );
}

fn a_verification_that_ran_out_returns_and_its_late_end_is_stale(
    one: &mut dyn Store,
    other: &mut dyn Store,
) {
    accept(one, Mode::Subscribe, "x", "a");
    let idle = HashMap::new();
    let brief = Claim {
        until: at(100),
        ..claim(10, &idle)
    };
    let first = one.claim_requests(&brief, at(4)).expect("claimed");
    assert_eq!(other.claim_requests(&brief, at(99)), Ok(vec![]));
    let second = other
        .claim_requests(&claim(10, &idle), at(100))
        .expect("claimed");
    assert_eq!(first, second);
    assert_eq!(
        record(one, confirmed(&first[0], true), 101),
        Recorded::Stale
    );
    assert_eq!(
        record(other, confirmed(&second[0], true), 102),
        Recorded::Activated
    );
}

fn a_replica_that_recovers_leaves_the_claims_of_the_others(
    one: &mut dyn Store,
    other: &mut dyn Store,
) {
    activate(one, "x", "a");
    change(one, "a", 2, 3);
    accept(one, Mode::Subscribe, "y", "a");
    assert_eq!(
        (deliveries(one, 4).len(), verifications(one, 10).len()),
        (1, 1)
    );
    other.recover(&policy(), at(5)).expect("recovered");
    assert_eq!(
        (deliveries(other, 6), verifications(other, 10)),
        (vec![], vec![])
    );
    one.recover(&policy(), at(7)).expect("recovered");
    assert_eq!(
        (deliveries(other, 8).len(), verifications(other, 10).len()),
        (1, 1)
    );
}

fn a_change_is_published_once_however_many_notice_it(one: &mut dyn Store, other: &mut dyn Store) {
    let versions = [version("a", 2, 10), version("b", 1, 10)];
    let (left, right) = std::thread::scope(|scope| {
        let left = scope.spawn(|| one.publish(&versions, &policy(), at(1)));
        let right = scope.spawn(|| other.publish(&versions, &policy(), at(1)));
        (left.join().expect("joined"), right.join().expect("joined"))
    });
    let (left, right) = (left.expect("published"), right.expect("published"));
    assert_eq!([left.changed, right.changed].concat(), [topic("a")]);
    assert!(left.older.is_empty() && right.older.is_empty());
}

fn an_older_edition_is_passed_over_and_withdraws_nothing(
    one: &mut dyn Store,
    other: &mut dyn Store,
) {
    activate(one, "x", "a");
    change(one, "a", 2, 10);
    let again = other
        .publish(&[version("a", 1, 9), version("c", 1, 9)], &policy(), at(11))
        .expect("published");
    assert_eq!((again.changed, again.withdrawn), (vec![topic("c")], 0));
    assert_eq!(again.older, [topic("a")]);
    // Of the same date but with other bytes: the first one stays.
    let twin = other
        .publish(
            &[version("a", 3, 10), version("b", 1, 10)],
            &policy(),
            at(12),
        )
        .expect("published");
    assert_eq!((twin.rivals, twin.older), (vec![topic("a")], vec![]));
    let sent = deliveries(other, 13);
    assert_eq!(sent[0].digest, [2; 32]);
}

fn whoever_serves_something_else_has_the_same_bytes(one: &mut dyn Store, other: &mut dyn Store) {
    change(one, "a", 2, 10);
    let body = other.body(&[2; 32]).expect("read");
    assert_eq!(body.as_deref(), Some(&[2; 32][..]));
    change(one, "a", 3, 11);
    assert_eq!(other.body(&[2; 32]), Ok(None), "nobody needs it any more");
}

fn whoever_does_not_know_a_topic_leaves_it_to_the_others(
    one: &mut dyn Store,
    other: &mut dyn Store,
) {
    activate(one, "x", "a");
    change(one, "a", 2, 3);
    // With older files, in which there is no such topic.
    let published = other.publish(&[version("b", 1, -1)], &policy(), at(4));
    assert_eq!(published.map(|published| published.withdrawn), Ok(0));
    assert_eq!(deliveries(other, 5), []);
    assert_eq!(deliveries(one, 5).len(), 1);
}

fn the_agenda_names_what_there_is_and_nothing_else(one: &mut dyn Store, other: &mut dyn Store) {
    let nothing = PendingWork::default();
    let requests = PendingWork {
        requests: true,
        ..nothing
    };
    let fast = PendingWork {
        fast: true,
        ..nothing
    };
    let slow = PendingWork {
        slow: true,
        ..nothing
    };
    let pending_work = |store: &mut dyn Store, ms: i64| store.pending_work(at(ms)).expect("looked");
    assert_eq!(pending_work(one, 0), nothing);
    accept(one, Mode::Subscribe, "x", "a");
    accept(one, Mode::Subscribe, "y", "a");
    assert_eq!(pending_work(other, 0), requests);
    let idle = HashMap::new();
    let brief = Claim {
        until: at(100),
        ..claim(10, &idle)
    };
    let asked = one.claim_requests(&brief, at(1)).expect("claimed");
    // While somebody is at it, and when that claim has run out.
    assert_eq!(
        (pending_work(other, 99), pending_work(other, 100)),
        (nothing, requests)
    );
    for verification in &asked {
        record(one, confirmed(verification, true), 2);
    }
    assert_eq!(pending_work(one, 2), nothing);
    change(one, "a", 2, 3);
    assert_eq!(pending_work(one, 3), fast);
    let brief = Claim { limit: 1, ..brief };
    let sent = one
        .claim_deliveries(Lane::Fast, &brief, at(4))
        .expect("claimed");
    assert_eq!(pending_work(other, 4), fast, "the second");
    let later = deliveries(other, 5);
    assert_eq!((sent.len(), later.len()), (1, 1));
    assert_eq!(
        (pending_work(other, 5), pending_work(other, 100)),
        (nothing, fast)
    );
    // A failure goes to the slow lane, when its wait is over; a denial is to be sent.
    assert_eq!(
        record(one, ended(&sent[0], 500), 6),
        Recorded::Kept { failures: 1 }
    );
    assert_eq!(
        pending_work(one, 1_000_000_000),
        nothing,
        "its lease is over"
    );
    let due = (6..).map(|second| second * 1_000);
    let due_ms = due.take(600).find(|ms| pending_work(one, *ms) == slow);
    assert!(due_ms.is_some());
    assert!(
        one.apply_admin(sent[0].id, AdminCommand::Remove, &policy(), at(7))
            .expect("removed")
    );
    let notices = PendingWork {
        notices: true,
        ..nothing
    };
    assert_eq!(pending_work(other, 7), notices);
}
