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

fn grant(secret: Option<Secret>, lease_s: u32, asked_ms: i64) -> Grant {
    let asked_at = at(asked_ms);
    Grant {
        secret,
        lease_s,
        asked_at,
    }
}

fn active() -> Subscription {
    Subscription::activate(grant(None, 10, 1000), A, at(1500))
}

fn begun(mut state: Subscription, digest: [u8; 32]) -> Subscription {
    state.begin(digest);
    state
}

fn end(state: &mut Subscription, answer: Answer, now_ms: i64) -> Option<RemovalReason> {
    let outcome = Outcome::Attempted {
        answer,
        retry_after: None,
    };
    state.end(&outcome, Duration::from_millis(5), 0, &policy(), at(now_ms))
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
    assert_eq!(active().check_lease(at(10_999)), None);
    let ended = Some(RemovalReason::LeaseEnded);
    assert_eq!(active().check_lease(at(11_000)), ended);
    let mut late = begun(active(), B);
    assert_eq!(
        late.check_lease(at(12_000)),
        None,
        "an attempt is under way"
    );
    assert_eq!(end(&mut late, Answer::Status(500), 12_000), None);
    assert_eq!(late.check_lease(at(12_000)), ended);
}

#[test]
fn h18_h20_a_renewal_replaces_secret_and_lease_and_leaves_what_is_owed() {
    let secret = Secret::new("key".to_owned());
    let mut state = begun(active(), B);
    end(&mut state, Answer::Status(500), 3000);
    assert!(!state.is_due(&B, at(3000)));
    state.renew(grant(secret.clone(), 100, 4000), at(4100));
    assert_eq!((&state.secret, state.lease_end), (&secret, at(104_000)));
    assert_eq!(
        (state.digest, state.acknowledged, state.failures),
        (B, false, 0)
    );
    assert!(state.is_due(&B, at(4100)));
    state.renew(grant(None, 100, 5000), at(5100));
    assert_eq!(state.secret, None);
    let mut under_way = begun(active(), B);
    under_way.renew(grant(None, 100, 4000), at(4100));
    assert!(under_way.claimed && !under_way.is_due(&A, at(4100)));
}

#[test]
fn h53_any_2xx_acknowledges_and_every_other_status_fails() {
    for status in 100..=599 {
        let mut state = begun(active(), B);
        let removal = end(&mut state, Answer::Status(status), 3000);
        let kept = (removal, state.acknowledged, state.failures);
        match status {
            410 => assert_eq!(removal, Some(RemovalReason::Gone)),
            200..=299 => assert_eq!(kept, (None, true, 0)),
            _ => assert_eq!(kept, (None, false, 1)),
        }
    }
}

#[test]
fn the_third_failure_in_a_row_removes_and_a_2xx_between_resets() {
    let mut state = active();
    let mut attempt = |answer| {
        state.begin(B);
        end(&mut state, answer, 3000)
    };
    let failed = Answer::Failed(Failure::Timeout);
    for answer in [failed, failed, Answer::Status(204), failed, failed] {
        assert_eq!(attempt(answer), None);
    }
    assert_eq!(attempt(failed), Some(RemovalReason::Failures));
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
        let delay = |jitter| policy.delay(failures, None, jitter);
        assert_eq!(delay(0), Duration::from_secs(least_s));
        assert_eq!(delay(u16::MAX), Duration::from_millis(most_ms));
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
        let delay = policy.delay(1, Some(Duration::from_secs(wish_s)), 0);
        assert_eq!(delay, Duration::from_secs(wait_s));
    }
}

#[test]
fn a_b_lost_a_ends_with_a_delivered() {
    let mut crashed = begun(active(), B);
    crashed.release();
    assert!(crashed.is_due(&A, at(3000)));
}

#[test]
fn what_was_deferred_is_no_failure() {
    let mut state = begun(active(), B);
    let removal = state.end(&Outcome::Deferred, Duration::ZERO, 0, &policy(), at(3000));
    assert_eq!((removal, state.failures), (None, 0));
    assert_eq!(state.next_at, at(4000));
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
        for (asked_s, granted_s) in [
            (1, 300),
            (300, 300),
            (301, 301),
            (2_592_000, 2_592_000),
            (2_592_001, 2_592_000),
            (u64::MAX, 2_592_000),
        ] {
            assert_eq!(leases.grant(Some(asked_s), jitter), granted_s);
        }
    }
    assert_eq!(leases.grant(None, 0), 864_000);
    assert_eq!(leases.grant(None, u16::MAX), 820_800);
}

#[test]
fn the_operator_brings_the_next_attempt_forward_unless_one_is_under_way() {
    let mut state = begun(active(), B);
    state.retry();
    assert!(!state.is_due(&B, at(3500)));
    end(&mut state, Answer::Status(500), 3000);
    state.retry();
    assert!(state.is_due(&B, at(3500)));
}

#[test]
fn an_unsubscription_waits_for_the_attempt_under_way() {
    let gone = Some(RemovalReason::Unsubscribed);
    assert_eq!(active().unsubscribe(at(2)), gone);
    let mut leaving = begun(active(), B);
    assert_eq!(leaving.unsubscribe(at(8_999)), None);
    assert!(leaving.phase == Phase::Unsubscribing && !leaving.is_due(&A, at(9_000)));
    for status in [200, 410, 500] {
        assert_eq!(
            end(&mut leaving.clone(), Answer::Status(status), 9_000),
            gone
        );
    }
    assert_eq!(Some(leaving.removed(RemovalReason::Operator)), gone);
    leaving.renew(grant(None, 10, 1000), at(8_999));
    assert!(!leaving.is_due(&A, at(8_999)));
    assert_eq!(end(&mut leaving, Answer::Status(200), 9_000), None);
    assert!(leaving.is_due(&A, at(9_000)), "the newer content follows");
}
