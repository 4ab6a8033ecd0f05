//! What holds of any store, beyond what a random sequence is likely to meet.

use super::*;

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

/// A content on its way to a subscriber that unsubscribed and subscribed again comes before newer ones.
pub(super) fn a_returning_subscriber_waits_for_the_attempt_under_way(store: &mut Store) {
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
    assert_eq!(
        deliveries(store, 7),
        [],
        "nothing for a subscriber that leaves"
    );
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

pub(super) fn a_change_is_due_once_and_begun_before_it_is_sent(store: &mut Store) {
    activate(store, "x", "a");
    assert_eq!(deliveries(store, 2), []);
    change(store, "a", 2, 3);
    let sent = deliveries(store, 4);
    assert_eq!((sent[0].digest, sent[0].attempt), ([2; 32], 1));
    assert_eq!(deliveries(store, 4), []);
    // The process dies: what had begun is due again, and the answer that comes too late is stale.
    store.recover(at(5)).expect("recovered");
    let again = deliveries(store, 6);
    assert_eq!((again[0].digest, again[0].attempt), ([2; 32], 2));
    assert_eq!(record(store, ended(&sent[0], 200), 7), Recorded::Stale);
    // The content goes back while the attempt is under way and its answer is lost: the old content is sent again.
    change(store, "a", 1, 8);
    assert_eq!(
        record(store, ended(&again[0], 500), 9),
        Recorded::Kept { failures: 1 }
    );
    let back = deliveries(store, 40_000);
    assert_eq!(back[0].digest, [1; 32]);
    assert_eq!(
        record(store, ended(&back[0], 200), 40_001),
        Recorded::Kept { failures: 0 }
    );
    assert_eq!(deliveries(store, 40_002), []);
}

pub(super) fn lanes_part_quick_from_slow(store: &mut Store) {
    activate(store, "x", "a");
    // The first delivery of all, and those after one that took long, belong in the slow lane.
    for (content, lane, elapsed_ms) in [
        (2, Lane::Slow, 999),
        (3, Lane::Fast, 1_000),
        (4, Lane::Slow, 5),
        (5, Lane::Fast, 5),
    ] {
        let now_ms = i64::from(content) * 10;
        change(store, "a", content, now_ms);
        let mut claimed = |lane| {
            let claimed = store.claim_deliveries(lane, &claim(10), at(now_ms));
            claimed.expect("claimed")
        };
        let other = if lane == Lane::Slow {
            Lane::Fast
        } else {
            Lane::Slow
        };
        assert_eq!(claimed(other), [], "{content}");
        let sent = claimed(lane).remove(0);
        let Report::Delivered {
            id,
            attempt,
            digest,
            outcome,
            jitter,
            ..
        } = ended(&sent, 200)
        else {
            unreachable!();
        };
        let elapsed = Duration::from_millis(elapsed_ms);
        let report = Report::Delivered {
            id,
            attempt,
            digest,
            outcome,
            elapsed,
            jitter,
        };
        record(store, report, now_ms);
    }
}

pub(super) fn a_denial_that_cannot_be_sent_is_sent_again_for_a_day(store: &mut Store) {
    const MINUTE_MS: i64 = 60_000;
    let end = |store: &mut Store, now_ms: i64| {
        let id = store.list(0, 1).expect("listed")[0].id;
        let removed = store.apply_admin(id, AdminCommand::Remove, at(now_ms));
        assert_eq!(removed, Ok(true));
    };
    activate(store, "x", "a");
    end(store, 2);
    let mut now_ms = 2;
    for wait in [1, 4, 16, 60, 60] {
        let told = store.take_notices(10, at(now_ms)).expect("taken");
        assert_eq!((told.len(), told[0].since), (1, at(2)));
        assert_eq!(store.defer_notice(&told[0], at(now_ms)), Ok(true));
        let next_ms = now_ms + wait * MINUTE_MS;
        assert_eq!(store.take_notices(10, at(next_ms - 1)), Ok(vec![]));
        now_ms = next_ms;
    }
    let told = store.take_notices(10, at(now_ms)).expect("taken").remove(0);
    let day_ms = 24 * 60 * MINUTE_MS;
    assert_eq!(store.defer_notice(&told, at(2 + day_ms)), Ok(false));
    assert_eq!(store.defer_notice(&told, at(1 + day_ms)), Ok(true));
    // Whether it is kept or on its way: a pair that has subscribed again is not told.
    activate(store, "x", "a");
    assert_eq!(store.take_notices(10, at(i64::MAX)), Ok(vec![]));
    assert_eq!(store.defer_notice(&told, at(now_ms)), Ok(false));
}

pub(super) fn tombstones_are_dropped_when_they_are_old(store: &mut Store) {
    activate(store, "x", "a");
    let id = store.list(0, 1).expect("listed")[0].id;
    store
        .apply_admin(id, AdminCommand::Remove, at(10))
        .expect("removed");
    let age_ms = i64::try_from(AGE.as_millis()).expect("short");
    for (now_ms, left) in [(10 + age_ms, 1), (11 + age_ms, 0)] {
        store.sweep(AGE, at(now_ms)).expect("swept");
        assert_eq!(store.tombstones(10).expect("listed").len(), left);
    }
}
