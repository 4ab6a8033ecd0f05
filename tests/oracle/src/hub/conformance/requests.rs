//! Requests: order, attempts, bounds.

use super::*;

pub(super) fn requests_wait_in_order_and_one_at_a_time_for_each_pair(store: &mut Store) {
    for (mode, name) in [
        (Mode::Subscribe, "x"),
        (Mode::Unsubscribe, "x"),
        (Mode::Subscribe, "y"),
    ] {
        accept(store, mode, name, "a");
    }
    let first = verifications(store, 10);
    assert_eq!(
        first
            .iter()
            .map(|found| (found.mode, found.callback.uri()))
            .collect::<Vec<_>>(),
        [
            (Mode::Subscribe, "https://x.example/"),
            (Mode::Subscribe, "https://y.example/"),
        ]
    );
    assert_eq!(verifications(store, 10), []);
    assert_eq!(
        record(store, confirmed(&first[0], true), 1),
        Recorded::Activated
    );
    let second = verifications(store, 10);
    assert_eq!(second[0].mode, Mode::Unsubscribe);
    assert_eq!(
        record(store, confirmed(&second[0], true), 2),
        Recorded::Removed(RemovalReason::Unsubscribed)
    );
    assert_eq!(
        record(store, confirmed(&second[0], true), 3),
        Recorded::Stale
    );
    assert_eq!(
        record(store, confirmed(&first[1], false), 3),
        Recorded::Rejected
    );
    assert_eq!(
        store
            .counts(at(3))
            .map(|counts| (counts.requests, counts.subscriptions)),
        Ok((0, 0))
    );
}

pub(super) fn a_request_has_five_attempts_in_its_life(store: &mut Store) {
    accept(store, Mode::Subscribe, "x", "a");
    let first = verifications(store, 10);
    assert_eq!(
        record(store, Report::Unsent { id: first[0].id }, 1),
        Recorded::Waiting
    );
    for crash in 1..=5 {
        assert_eq!(verifications(store, 10).len(), 1, "before crash {crash}");
        assert_eq!(verifications(store, 10), [], "one at a time");
        store.recover(at(1 + crash)).expect("recovered");
    }
    assert_eq!(verifications(store, 10), []);
    assert_eq!(store.counts(at(7)).map(|counts| counts.requests), Ok(0));
}

pub(super) fn repeated_requests_join_the_waiting_one(store: &mut Store) {
    accept(store, Mode::Subscribe, "x", "a");
    accept(store, Mode::Subscribe, "x", "a");
    accept(store, Mode::Subscribe, "x", "b");
    assert_eq!(store.counts(at(0)).map(|counts| counts.requests), Ok(2));
    assert_eq!(verifications(store, 1).len(), 1);
    accept(store, Mode::Subscribe, "x", "a");
    assert_eq!(store.counts(at(0)).map(|counts| counts.requests), Ok(3));
}

pub(super) fn bounds_refuse_the_one_beyond_them(store: &mut Store) {
    let quotas = Quotas {
        requests: 3,
        requests_per_host: 2,
        subscriptions: 100,
        subscriptions_per_host: 100,
    };
    let mut ask = |name: &str, topic: &str, quotas: &Quotas| {
        store
            .accept(
                &[request(Mode::Subscribe, name, topic, None)],
                quotas,
                at(0),
            )
            .expect("answered")[0]
    };
    assert_eq!(ask("x", "a", &quotas), Ok(()));
    assert_eq!(ask("x/1", "a", &quotas), Ok(()));
    assert_eq!(ask("x/2", "a", &quotas), Err(QuotaExceeded::RequestsOfHost));
    assert_eq!(ask("y", "a", &quotas), Ok(()));
    assert_eq!(ask("z", "a", &quotas), Err(QuotaExceeded::Requests));
    let quotas = Quotas {
        requests: 100,
        requests_per_host: 100,
        subscriptions: 4,
        subscriptions_per_host: 3,
    };
    assert_eq!(ask("x/2", "a", &quotas), Ok(()));
    assert_eq!(
        ask(
            "x/3",
            "a",
            &Quotas {
                subscriptions: 100,
                ..quotas
            }
        ),
        Err(QuotaExceeded::SubscriptionsOfHost)
    );
    assert_eq!(ask("z", "a", &quotas), Err(QuotaExceeded::Subscriptions));
    activate(store, "x", "a");
    let renewal = store
        .accept(&[request(Mode::Subscribe, "x", "a", None)], &quotas, at(0))
        .expect("answered");
    assert_eq!(renewal, [Ok(())], "renewals need no room");
}

pub(super) fn busy_hosts_are_passed_over(store: &mut Store) {
    for name in ["x", "x/1", "x/2", "y"] {
        accept(store, Mode::Subscribe, name, "a");
    }
    let claim = Claim {
        limit: 10,
        per_host: 2,
        busy: HashMap::from([("x.example".to_owned(), 1)]),
    };
    let claimed = store.claim_requests(&claim, at(0)).expect("claimed");
    assert_eq!(
        uris(claimed.iter().map(|found| &found.callback)),
        ["https://x.example/", "https://y.example/"]
    );
    for found in claimed {
        record(store, confirmed(&found, true), 1);
    }
    for found in verifications(store, 10) {
        record(store, confirmed(&found, true), 1);
    }
    change(store, "a", 2, 5);
    let claimed = store
        .claim_deliveries(Lane::Slow, &claim, at(6))
        .expect("claimed");
    assert_eq!(claimed.len(), 2);
    let one = Claim {
        limit: 1,
        per_host: 9,
        ..claim
    };
    assert_eq!(
        store
            .claim_deliveries(Lane::Slow, &one, at(6))
            .map(|claimed| claimed.len()),
        Ok(1)
    );
}

/// A content on its way to who unsubscribed and subscribed again comes before whatever is newer.
pub(super) fn whoever_comes_back_waits_for_the_attempt_of_the_former_life(store: &mut Store) {
    activate(store, "x", "a");
    change(store, "a", 2, 3);
    let under_way = deliveries(store, 4);
    accept(store, Mode::Unsubscribe, "x", "a");
    let ending = verifications(store, 10);
    assert_eq!(
        record(store, confirmed(&ending[0], true), 5),
        Recorded::Leaving
    );
    change(store, "a", 3, 6);
    assert_eq!(deliveries(store, 7), [], "nothing for whoever is leaving");
    assert_eq!(store.sweep(AGE, at(7)).map(|swept| swept.expired), Ok(0));
    accept(store, Mode::Subscribe, "x", "a");
    let again = verifications(store, 10);
    assert_eq!(
        record(store, confirmed(&again[0], true), 8),
        Recorded::Renewed
    );
    assert_eq!(deliveries(store, 9), [], "the older content is on its way");
    assert_eq!(
        record(store, ended(&under_way[0], 200), 10),
        Recorded::Kept { failures: 0 }
    );
    assert_eq!(
        record(store, ended(&under_way[0], 200), 11),
        Recorded::Stale
    );
    let newer = deliveries(store, 12);
    assert_eq!(newer.len(), 1);
    assert_ne!(newer[0].digest, under_way[0].digest);
}

pub(super) fn whoever_leaves_is_gone_with_the_attempt_under_way(store: &mut Store) {
    for name in ["x", "y"] {
        activate(store, name, "a");
    }
    change(store, "a", 2, 3);
    let under_way = deliveries(store, 4);
    for name in ["x", "y"] {
        accept(store, Mode::Unsubscribe, name, "a");
    }
    for ending in verifications(store, 10) {
        assert_eq!(
            record(store, confirmed(&ending, true), 5),
            Recorded::Leaving
        );
    }
    // One attempt ends, and one is lost with the process.
    assert_eq!(
        record(store, ended(&under_way[0], 500), 6),
        Recorded::Removed(RemovalReason::Unsubscribed)
    );
    assert_eq!(record(store, ended(&under_way[0], 200), 7), Recorded::Stale);
    for (time, left) in [(8, 0), (9, 1)] {
        if left == 1 {
            store.recover(at(time)).expect("recovered");
        }
        assert_eq!(deliveries(store, time), []);
        assert_eq!(
            store
                .sweep(AGE, at(time))
                .map(|swept| (swept.expired, swept.left)),
            Ok((0, left)),
            "at {time}"
        );
    }
    let stones = store.tombstones(10).expect("tombstones");
    assert!(
        stones
            .iter()
            .all(|stone| stone.removal == RemovalReason::Unsubscribed)
    );
    assert_eq!(stones.len(), 2);
    assert_eq!(store.take_notices(10, at(i64::MAX)), Ok(vec![]));
}
