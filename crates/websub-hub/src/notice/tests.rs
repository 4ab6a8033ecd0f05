use super::*;

fn attempts(failures: u32) -> NoticeAttempts {
    NoticeAttempts {
        failures,
        created_at: UnixMillis::new(1_000),
    }
}

fn ended(result: Option<AttemptResult>) -> DeliveryResult {
    DeliveryResult {
        attempt: 1,
        result,
        retry_after: None,
        elapsed: Duration::ZERO,
        jitter: 0,
    }
}

fn policy() -> FailurePolicy {
    FailurePolicy {
        failures_max: 3,
        retry_delays: [60, 900].map(Duration::from_secs).to_vec(),
        retry_after_max: Duration::from_secs(3_600),
    }
}

/// What becomes of a notice with these failures after a status, `ms` after it was stored.
fn after(failures: u32, status: u16, ms: i64) -> NoticeOutcome {
    let result = ended(Some(AttemptResult::Status(status)));
    attempts(failures).end(&result, &policy(), UnixMillis::new(1_000 + ms))
}

#[test]
fn any_2xx_acknowledges() {
    assert_eq!(after(0, 200, 5), NoticeOutcome::Told);
    assert_eq!(after(9, 204, 5), NoticeOutcome::Told);
}

#[test]
fn a_failure_waits_for_the_delays_of_the_policy_and_the_last_one_repeats() {
    for (failures, delay_ms) in [(0, 60_000), (1, 900_000), (50, 900_000)] {
        let expected = NoticeOutcome::Waits {
            failures: failures + 1,
            next_at: UnixMillis::new(1_000 + delay_ms),
        };
        assert_eq!(after(failures, 500, 0), expected, "{failures}");
    }
}

#[test]
fn a_notice_is_given_up_three_days_after_it_was_stored() {
    let age_ms = 3 * 24 * 3_600 * 1_000;
    assert!(matches!(
        after(9, 404, age_ms - 1),
        NoticeOutcome::Waits { .. }
    ));
    assert_eq!(after(9, 404, age_ms), NoticeOutcome::GivenUp);
}

#[test]
fn a_notice_that_is_refused_is_given_up_at_the_third_attempt() {
    for status in [400, 413, 422] {
        assert!(matches!(after(1, status, 0), NoticeOutcome::Waits { .. }));
        assert_eq!(after(2, status, 0), NoticeOutcome::GivenUp, "{status}");
    }
    for status in [401, 403, 404, 408, 429, 500] {
        assert!(matches!(after(2, status, 0), NoticeOutcome::Waits { .. }));
    }
}

#[test]
fn an_attempt_that_was_not_sent_is_no_failure() {
    let waits = attempts(2).end(&ended(None), &policy(), UnixMillis::new(1_000));
    let expected = NoticeOutcome::Waits {
        failures: 2,
        next_at: UnixMillis::new(2_000),
    };
    assert_eq!(waits, expected);
}

/// The example of the specification: https://github.com/standard-webhooks/standard-webhooks, `msg_p5jXN8AQM9LWM0D4loKWxJek`.
#[test]
fn a_signature_is_that_of_standard_webhooks() {
    let secret = WebhookSecret::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
    let secret = secret.expect("a secret");
    let body = r#"{"test": 2432232314}"#;
    let signature = secret.sign("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, body);
    assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    assert_eq!(format!("{secret:?}"), "WebhookSecret(…)");
}

#[test]
fn a_secret_has_24_to_64_bytes() {
    for (bytes, is_secret) in [(23, false), (24, true), (64, true), (65, false)] {
        let text = format!("whsec_{}", BASE64_STANDARD.encode(vec![7; bytes]));
        assert_eq!(WebhookSecret::parse(&text).is_some(), is_secret, "{bytes}");
    }
    assert_eq!(
        WebhookSecret::parse("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"),
        None
    );
    assert_eq!(WebhookSecret::parse("whsec_****"), None);
}
