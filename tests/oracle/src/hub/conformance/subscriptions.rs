//! Subscriptions: what is due, what ends, and what is left of it.

use super::*;

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

pub(super) fn removals_leave_a_tombstone_and_at_most_one_denial(store: &mut Store) {
    for name in ["x", "y"] {
        activate(store, name, "a");
    }
    change(store, "a", 2, 3);
    let sent = deliveries(store, 4);
    assert_eq!(
        record(store, ended(&sent[0], 410), 5),
        Recorded::Removed(RemovalReason::Gone)
    );
    assert_eq!(
        store.apply_admin(sent[1].id, AdminCommand::Remove, at(6)),
        Ok(true)
    );
    assert_eq!(
        store.apply_admin(sent[1].id, AdminCommand::Remove, at(6)),
        Ok(false)
    );
    assert_eq!(record(store, ended(&sent[1], 200), 7), Recorded::Stale);
    let stones = store.tombstones(10).expect("tombstones");
    assert_eq!(
        stones.iter().map(|stone| stone.removal).collect::<Vec<_>>(),
        [RemovalReason::Operator, RemovalReason::Gone]
    );
    assert_eq!(
        stones[1].last.as_ref().map(|last| last.answer),
        Some(Answer::Status(410))
    );
    let told = store.take_notices(1, at(7)).expect("notices");
    assert_eq!(told[0].removal, RemovalReason::Gone);
    assert_eq!(store.take_notices(10, at(7)).map(|told| told.len()), Ok(1));
    assert_eq!(store.take_notices(10, at(7)), Ok(vec![]));
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

pub(super) fn withdrawn_topics_take_their_subscriptions_along(store: &mut Store) {
    activate(store, "x", "a");
    activate(store, "x", "b");
    accept(store, Mode::Subscribe, "y", "a");
    let published = store
        .publish(&[version("b", 1, 5)], at(5))
        .expect("published");
    assert_eq!((published.changed.len(), published.withdrawn), (0, 1));
    let counts = store.counts(at(5)).expect("counts");
    assert_eq!((counts.subscriptions, counts.requests), (1, 0));
    assert_eq!(store.take_notices(10, at(5)).map(|told| told.len()), Ok(1));
}

pub(super) fn leases_end_unless_a_renewal_waits(store: &mut Store) {
    activate(store, "x", "a");
    activate(store, "y", "a");
    accept(store, Mode::Subscribe, "y", "a");
    change(store, "a", 2, 3);
    let end = LEASE_MS + 1;
    assert_eq!(deliveries(store, end), []);
    assert_eq!(
        store.sweep(AGE, at(end - 1)).map(|swept| swept.expired),
        Ok(0)
    );
    assert_eq!(store.sweep(AGE, at(end)).map(|swept| swept.expired), Ok(1));
    let renewal = verifications(store, 10);
    assert_eq!(
        record(
            store,
            Report::Verified {
                id: renewal[0].id,
                asked_at: at(end),
                confirmed: true
            },
            end
        ),
        Recorded::Renewed
    );
    assert_eq!(
        deliveries(store, end).len(),
        1,
        "what changed between is owed"
    );
}

pub(super) fn a_clock_that_went_back_takes_no_lease_away(store: &mut Store) {
    activate(store, "x", "a");
    let before = store.list(0, 1).expect("listed")[0].state.lease_end;
    store.recover(at(-1_000_000)).expect("recovered");
    let after = store.list(0, 1).expect("listed")[0].state.lease_end;
    assert_eq!(before.since(after), Duration::from_millis(1_000_001));
    store.shift(5).expect("shifted");
    assert_eq!(
        store.list(0, 1).expect("listed")[0].state.lease_end,
        after.moved(5)
    );
}

pub(super) fn tombstones_are_dropped_when_they_are_old(store: &mut Store) {
    activate(store, "x", "a");
    let id = store.list(0, 1).expect("listed")[0].id;
    store
        .apply_admin(id, AdminCommand::Remove, at(10))
        .expect("removed");
    let age_ms = i64::try_from(AGE.as_millis()).expect("short");
    assert_eq!(
        store
            .sweep(AGE, at(10 + age_ms))
            .map(|swept| swept.tombstones),
        Ok(0)
    );
    assert_eq!(
        store
            .sweep(AGE, at(11 + age_ms))
            .map(|swept| swept.tombstones),
        Ok(1)
    );
}
