use super::*;

const A: [u8; 32] = [1; 32];
const B: [u8; 32] = [2; 32];

fn at(ms: i64) -> Moment {
    Moment::from_unix_ms(ms)
}

fn policy() -> Policy {
    Policy {
        failures_max: 3,
        retry_delays: vec![Duration::from_secs(30), Duration::from_secs(300)],
        retry_after_max: Duration::from_secs(3600),
    }
}

fn verified(mode: Mode, secret: Option<&Secret>, lease_s: u32, asked_ms: i64) -> Event<'_> {
    Event::Verified {
        mode,
        secret,
        lease_s,
        asked_at: at(asked_ms),
        accepted: A,
    }
}

fn active() -> Subscription {
    step(
        None,
        &verified(Mode::Subscribe, None, 10, 1000),
        at(1500),
        &policy(),
    )
    .state
    .expect("active")
}

fn next(state: Subscription, event: &Event<'_>, now_ms: i64) -> Step {
    step(Some(state), event, at(now_ms), &policy())
}

fn begun(state: Subscription, digest: [u8; 32]) -> Subscription {
    next(state, &Event::Begun { digest }, 2000)
        .state
        .expect("active")
}

fn ended(state: Subscription, answer: Answer, now_ms: i64) -> Step {
    let outcome = Outcome::Attempted {
        answer,
        retry_after: None,
    };
    let attempt = state.attempt;
    next(
        state,
        &Event::Ended {
            attempt,
            outcome: &outcome,
            elapsed: Duration::from_millis(5),
            jitter: 0,
        },
        now_ms,
    )
}

#[test]
fn activation_counts_the_content_at_acceptance_as_delivered() {
    let state = active();
    assert!(!state.is_due(&A, at(2000)));
    assert!(state.is_due(&B, at(2000)));
}

#[test]
fn h40_the_lease_counts_from_the_verification_request() {
    assert_eq!(active().lease_end, at(11_000));
}

#[test]
fn h44_nothing_is_due_from_the_end_of_the_lease_on() {
    assert!(active().is_due(&B, at(10_999)));
    assert!(!active().is_due(&B, at(11_000)));
    assert_eq!(next(active(), &Event::LeaseChecked, 10_999).removal, None);
    assert_eq!(
        next(active(), &Event::LeaseChecked, 11_000).removal,
        Some(RemovalReason::LeaseEnded)
    );
}

#[test]
fn h18_h20_a_renewal_replaces_secret_and_lease_and_leaves_what_is_owed() {
    let secret = Secret::new("key".to_owned()).expect("3 bytes");
    let failed = ended(begun(active(), B), Answer::Status(500), 3000)
        .state
        .expect("active");
    assert!(!failed.is_due(&B, at(3000)));
    let renewed = next(
        failed,
        &verified(Mode::Subscribe, Some(&secret), 100, 4000),
        4100,
    )
    .state
    .expect("active");
    assert_eq!(
        (renewed.secret.as_ref(), renewed.lease_end),
        (Some(&secret), at(104_000))
    );
    assert_eq!(
        (renewed.digest, renewed.acknowledged, renewed.failures),
        (B, false, 0)
    );
    assert!(renewed.is_due(&B, at(4100)));
    let unsigned = next(renewed, &verified(Mode::Subscribe, None, 100, 5000), 5100)
        .state
        .expect("active");
    assert_eq!(unsigned.secret, None);
}

#[test]
fn a_renewal_during_an_attempt_does_not_start_a_second_one() {
    let renewed = next(
        begun(active(), B),
        &verified(Mode::Subscribe, None, 100, 4000),
        4100,
    )
    .state
    .expect("active");
    assert!(!renewed.is_due(&B, at(4100)));
    assert!(renewed.claimed);
}

#[test]
fn h5_a_verified_unsubscription_ends_it_and_without_one_nothing_happens() {
    let step_ended = next(active(), &verified(Mode::Unsubscribe, None, 10, 1), 2);
    assert_eq!(
        step_ended,
        Step {
            state: None,
            removal: Some(RemovalReason::Unsubscribed)
        }
    );
    let nothing = step(
        None,
        &verified(Mode::Unsubscribe, None, 10, 1),
        at(2),
        &policy(),
    );
    assert_eq!(
        nothing,
        Step {
            state: None,
            removal: None
        }
    );
}

#[test]
fn h53_any_2xx_acknowledges_and_every_other_status_fails() {
    for status in 100..=599 {
        let step_ended = ended(begun(active(), B), Answer::Status(status), 3000);
        match status {
            410 => assert_eq!(step_ended.removal, Some(RemovalReason::Gone)),
            200..=299 => assert!(
                step_ended
                    .state
                    .is_some_and(|state| state.acknowledged && state.failures == 0)
            ),
            _ => assert!(
                step_ended
                    .state
                    .is_some_and(|state| !state.acknowledged && state.failures == 1)
            ),
        }
    }
}

#[test]
fn the_third_failure_in_a_row_removes_and_a_2xx_between_resets() {
    let fail = |state| ended(begun(state, B), Answer::Failed(Failure::Timeout), 3000);
    let one = fail(active()).state.expect("one failure");
    let two = fail(one).state.expect("two failures");
    assert_eq!(
        fail(two.clone()),
        Step {
            state: None,
            removal: Some(RemovalReason::Failures)
        }
    );
    let reset = ended(begun(two, B), Answer::Status(204), 3000)
        .state
        .expect("active");
    assert_eq!(reset.failures, 0);
    assert!(fail(reset).state.is_some());
}

#[test]
fn delays_grow_jitter_lengthens_them_by_a_quarter_at_most_and_the_last_repeats() {
    let policy = policy();
    for (failures, least_s, most_ms) in [
        (1, 30, 37_500),
        (2, 300, 375_000),
        (3, 300, 375_000),
        (u32::MAX, 300, 375_000),
    ] {
        assert_eq!(
            policy.delay(failures, None, 0),
            Duration::from_secs(least_s)
        );
        assert_eq!(
            policy.delay(failures, None, u16::MAX),
            Duration::from_millis(most_ms)
        );
    }
}

#[test]
fn retry_after_lengthens_the_wait_within_its_bound_and_never_shortens_it() {
    let policy = policy();
    for (wish_s, wait_s) in [
        (1, 30),
        (60, 60),
        (3600, 3600),
        (3601, 3600),
        (u64::MAX, 3600),
    ] {
        assert_eq!(
            policy.delay(1, Some(Duration::from_secs(wish_s)), 0),
            Duration::from_secs(wait_s)
        );
    }
}

#[test]
fn a_b_lost_a_ends_with_a_delivered() {
    let lost = ended(begun(active(), B), Answer::Failed(Failure::Protocol), 3000)
        .state
        .expect("active");
    assert!(lost.is_due(&A, at(100_000)) || lost.lease_end <= at(100_000));
    assert!(lost.is_due(&A, at(10_999).min(lost.next_at)) || lost.next_at > at(10_999));
    let crashed = next(begun(active(), B), &Event::Released, 3000)
        .state
        .expect("active");
    assert!(crashed.is_due(&A, at(3000)));
}

#[test]
fn answers_to_other_attempts_are_stale() {
    let state = begun(active(), B);
    let outcome = Outcome::Attempted {
        answer: Answer::Status(410),
        retry_after: None,
    };
    let stale = Event::Ended {
        attempt: 7,
        outcome: &outcome,
        elapsed: Duration::ZERO,
        jitter: 0,
    };
    assert_eq!(next(state.clone(), &stale, 3000).state, Some(state));
    let idle = active();
    let late = Event::Ended {
        attempt: 0,
        outcome: &outcome,
        elapsed: Duration::ZERO,
        jitter: 0,
    };
    assert_eq!(next(idle.clone(), &late, 3000).state, Some(idle));
}

#[test]
fn what_was_withheld_is_no_failure() {
    let state = begun(active(), B);
    let event = Event::Ended {
        attempt: 1,
        outcome: &Outcome::Deferred,
        elapsed: Duration::ZERO,
        jitter: 0,
    };
    let state = next(state, &event, 3000).state.expect("active");
    assert_eq!((state.failures, state.next_at), (0, at(4000)));
    assert!(state.is_due(&B, at(4000)) && state.is_due(&A, at(4000)));
}

#[test]
fn h45_leases_are_clamped_and_only_the_default_is_jittered() {
    let leases = Leases {
        min_s: 300,
        default_s: 864_000,
        max_s: 2_592_000,
    };
    for jitter in [0, u16::MAX] {
        assert_eq!(leases.grant(Some(1), jitter), 300);
        assert_eq!(leases.grant(Some(300), jitter), 300);
        assert_eq!(leases.grant(Some(301), jitter), 301);
        assert_eq!(leases.grant(Some(2_592_000), jitter), 2_592_000);
        assert_eq!(leases.grant(Some(2_592_001), jitter), 2_592_000);
        assert_eq!(leases.grant(Some(u64::MAX), jitter), 2_592_000);
    }
    assert_eq!(leases.grant(None, 0), 864_000);
    assert_eq!(leases.grant(None, u16::MAX), 820_800);
}

#[test]
fn removals_that_the_subscriber_knows_of_are_not_told() {
    let told: Vec<RemovalReason> = RemovalReason::ALL
        .into_iter()
        .filter(|removal| removal.reason().is_some())
        .collect();
    assert_eq!(
        told,
        [
            RemovalReason::Failures,
            RemovalReason::Gone,
            RemovalReason::TopicWithdrawn,
            RemovalReason::Operator
        ]
    );
}

#[test]
fn the_operator_brings_the_next_attempt_forward_unless_one_is_under_way() {
    let failed = ended(begun(active(), B), Answer::Status(500), 3000)
        .state
        .expect("active");
    assert!(
        next(failed, &Event::Retried, 3500)
            .state
            .is_some_and(|state| state.is_due(&B, at(3500)))
    );
    assert!(
        next(begun(active(), B), &Event::Retried, 3500)
            .state
            .is_some_and(|state| !state.is_due(&B, at(3500)))
    );
}

#[test]
fn an_unsubscription_waits_for_the_attempt_under_way() {
    let unsubscribe = verified(Mode::Unsubscribe, None, 10, 1);
    let leaving = next(begun(active(), B), &unsubscribe, 8_999)
        .state
        .expect("waits");
    assert!(leaving.is_leaving() && !leaving.is_due(&A, at(9_000)));
    for status in [200, 410, 500] {
        assert_eq!(
            ended(leaving.clone(), Answer::Status(status), 9_000).removal,
            Some(RemovalReason::Unsubscribed)
        );
    }
    for event in [Event::Removed, Event::TopicWithdrawn] {
        assert_eq!(
            next(leaving.clone(), &event, 9_000).removal,
            Some(RemovalReason::Unsubscribed)
        );
    }
    let back = next(leaving, &verified(Mode::Subscribe, None, 10, 1000), 8_999)
        .state
        .expect("active");
    assert!(!back.is_leaving() && !back.is_due(&A, at(8_999)));
    let after = ended(back, Answer::Status(200), 9_000)
        .state
        .expect("active");
    assert!(after.is_due(&A, at(9_000)), "the newer content follows");
}

#[test]
fn a_lease_that_ends_during_an_attempt_is_over_when_that_is() {
    let late = begun(active(), B);
    let checked = next(late.clone(), &Event::LeaseChecked, 12_000);
    assert_eq!(checked.removal, None);
    let ended = ended(late, Answer::Status(500), 12_000)
        .state
        .expect("active");
    assert_eq!(
        next(ended, &Event::LeaseChecked, 12_000).removal,
        Some(RemovalReason::LeaseEnded)
    );
}
