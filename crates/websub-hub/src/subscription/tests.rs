use super::*;

const A: [u8; 32] = [1; 32];
const B: [u8; 32] = [2; 32];

fn at(ms: i64) -> UnixMillis {
    UnixMillis::new(ms)
}

fn policy() -> FailurePolicy {
    FailurePolicy {
        failures_max: 3,
        retry_delays: vec![Duration::from_secs(30), Duration::from_secs(300)],
        retry_after_max: Duration::from_secs(3600),
    }
}

fn request(secret: Option<Secret>, lease_s: u32) -> Subscription {
    Subscription::request(lease_s, secret, A, at(900))
}

fn active() -> Subscription {
    request(None, 10).activate(at(1000), at(1500))
}

fn begun(mut state: Subscription, digest: [u8; 32]) -> Subscription {
    state.begin(digest, at(2000));
    state
}

fn end(state: &mut Subscription, result: AttemptResult, now_ms: i64) -> Option<RemovalReason> {
    let delivery = DeliveryResult {
        attempt: state.attempt,
        result: Some(result),
        retry_after: None,
        elapsed: Duration::from_millis(5),
        jitter: 0,
    };
    state.end(&delivery, &policy(), at(now_ms))
}

#[test]
fn nothing_is_due_from_the_end_of_the_lease_on() {
    assert!(active().is_due(&B, at(10_999)));
    assert!(!active().is_due(&B, at(11_000)));
    assert_eq!(active().check_end(at(10_999)), None);
    let ended = Some(RemovalReason::LeaseEnded);
    assert_eq!(active().check_end(at(11_000)), ended);
    let mut late = begun(active(), B);
    assert_eq!(late.check_end(at(12_000)), None, "an attempt is under way");
    assert_eq!(end(&mut late, AttemptResult::Status(500), 12_000), None);
    assert_eq!(late.check_end(at(12_000)), ended);
}

#[test]
fn any_2xx_acknowledges_and_every_other_status_fails() {
    for status in 100..=599 {
        let mut state = begun(active(), B);
        let removal = end(&mut state, AttemptResult::Status(status), 3000);
        let outcome = (removal, state.acknowledged, state.failures);
        match status {
            410 => assert_eq!(removal, Some(RemovalReason::Gone)),
            200..=299 => assert_eq!(outcome, (None, true, 0)),
            _ => assert_eq!(outcome, (None, false, 1)),
        }
    }
}

#[test]
fn leases_are_clamped_and_only_the_default_is_jittered() {
    let leases = Leases {
        min_s: 300,
        default_s: 864_000,
        max_s: 2_592_000,
    };
    for (asked_s, granted_s) in [
        (Some(299), [300; 2]),
        (Some(301), [301; 2]),
        (Some(2_592_000), [2_592_000; 2]),
        (Some(u64::MAX), [2_592_000; 2]),
        (None, [864_000, 820_800]),
    ] {
        let granted = [0, u16::MAX].map(|jitter| leases.grant(asked_s, jitter));
        assert_eq!(granted, granted_s);
    }
}

#[test]
fn an_unsubscription_waits_for_the_attempt_under_way() {
    let gone = Some(RemovalReason::Unsubscribed);
    assert_eq!(active().unsubscribe(at(2)), gone);
    let mut leaving = begun(active(), B);
    assert_eq!(leaving.unsubscribe(at(8_999)), None);
    assert!(leaving.phase == Phase::Unsubscribing);
    assert!(!leaving.is_due(&A, at(9_000)));
    for status in [200, 410, 500] {
        assert_eq!(
            end(&mut leaving.clone(), AttemptResult::Status(status), 9_000),
            gone
        );
    }
    assert_eq!(Some(leaving.removal_by_us(RemovalReason::Operator)), gone);
    leaving.renew(request(None, 10), at(1000), at(8_999));
    assert!(!leaving.is_due(&A, at(8_999)));
    assert_eq!(end(&mut leaving, AttemptResult::Status(200), 9_000), None);
    assert!(leaving.is_due(&A, at(9_000)), "the newer content follows");
}

#[test]
fn names_are_read_back_and_stand_in_the_order_of_their_variants() {
    for (index, (removal, name, _)) in RemovalReason::ALL.into_iter().enumerate() {
        assert_eq!((removal as usize, removal.as_str()), (index, name));
        assert_eq!(RemovalReason::from_name(name), Some(removal));
    }
    for (index, (failure, name)) in AttemptFailure::ALL.into_iter().enumerate() {
        assert_eq!((failure as usize, &*failure.to_string()), (index, name));
        assert_eq!(
            AttemptResult::from_name(name),
            Some(AttemptResult::Failed(failure))
        );
    }
    assert_eq!(
        AttemptResult::from_name("599"),
        Some(AttemptResult::Status(599))
    );
    assert_eq!(RemovalReason::from_name("no"), None);
    assert_eq!(AttemptResult::from_name("no"), None);
}

#[test]
fn only_a_subscription_that_never_acknowledged_and_owes_a_delivery_ends_after_three_days() {
    let lease_s = 3_000_000;
    let day = 24 * 60 * 60 * 1000;
    let three_days = at(2000 + 3 * day);
    let fresh = request(None, lease_s).activate(at(1000), at(1500));
    assert_eq!(fresh.check_end(three_days), None, "it is owed nothing");
    let mut failing = begun(fresh.clone(), B);
    assert_eq!(
        failing.check_end(three_days),
        None,
        "an attempt is under way"
    );
    assert_eq!(end(&mut failing, AttemptResult::Status(500), 3000), None);
    failing.begin(B, at(2000 + day));
    assert_eq!(
        end(&mut failing, AttemptResult::Status(500), 2000 + day),
        None
    );
    assert_eq!(failing.check_end(at(2000 + 3 * day - 1)), None);
    let ended = Some(RemovalReason::NeverAcknowledged);
    assert_eq!(failing.check_end(three_days), ended);
    let mut subscriber = begun(fresh, B);
    assert_eq!(end(&mut subscriber, AttemptResult::Status(204), 3000), None);
    let mut subscriber = begun(subscriber, A);
    assert_eq!(end(&mut subscriber, AttemptResult::Status(500), 4000), None);
    assert_eq!(subscriber.check_end(at(2000 + 9 * day)), None);
}

#[test]
fn the_precedence_follows_the_last_attempt_and_any_acknowledgement() {
    let mut state = active();
    assert_eq!(state.rank(), Rank::NewFirst);
    state.begin(B, at(2000));
    assert_eq!(end(&mut state, AttemptResult::Status(500), 2000), None);
    assert_eq!(state.rank(), Rank::NewRetry);
    state.begin(B, at(2000));
    assert_eq!(end(&mut state, AttemptResult::Status(200), 2000), None);
    assert_eq!(state.rank(), Rank::KnownFirst);
    state.begin(A, at(2000));
    assert_eq!(state.rank(), Rank::KnownRetry);
}
