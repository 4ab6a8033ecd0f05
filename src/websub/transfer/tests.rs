use super::*;

fn at(ms: i64) -> Moment {
    Moment::from_unix_ms(ms)
}

fn state() -> Subscription {
    Subscription {
        secret: Secret::new("k\u{1}\"ey".to_owned()),
        lease_s: 600,
        lease_end: at(700_000),
        digest: [0xa5; 32],
        acknowledged: true,
        failures: 2,
        next_at: at(5_000),
        claimed: false,
        attempt: 7,
        elapsed_ms: 12,
        created_at: at(1_000),
        verified_at: at(100_000),
        last: Some(Ended {
            at: at(4_000),
            answer: Answer::Status(204),
        }),
    }
}

fn moved(state: Subscription) -> ExportedSubscription {
    ExportedSubscription {
        topic: "https://r.example/feed.xml".to_owned(),
        callback: Callback::parse("https://a.example/cb?token=t").unwrap(),
        signed: state.secret.is_some(),
        state,
    }
}

fn line(state: Subscription, with_secret: bool) -> String {
    let ExportedSubscription {
        topic,
        callback,
        state,
        ..
    } = moved(state);
    let listed = Listed {
        id: 1,
        topic,
        callback,
        owed: false,
        state,
    };
    let mut out = Vec::new();
    render_line(&mut out, &listed, with_secret);
    String::from_utf8(out).unwrap()
}

#[test]
fn a_line_is_read_back_as_it_was_written() {
    let text = line(state(), true);
    assert_eq!(text.matches('\n').count(), 1);
    assert_eq!(parse_line(text.trim_end().as_bytes()), Ok(moved(state())));
    let unsigned = Subscription {
        secret: None,
        last: None,
        ..state()
    };
    let text = line(unsigned.clone(), true);
    assert_eq!(parse_line(text.as_bytes()), Ok(moved(unsigned)));
}

#[test]
fn without_the_flag_the_secret_is_left_out_and_that_there_was_one_is_said() {
    let text = line(state(), false);
    assert!(!text.contains("secret"), "{text}");
    let read = parse_line(text.as_bytes()).unwrap();
    assert_eq!((read.signed, read.state.secret), (true, None));
}

#[test]
fn an_attempt_under_way_is_owed_at_once_where_it_arrives() {
    let claimed = Subscription {
        claimed: true,
        acknowledged: false,
        next_at: at(i64::MAX),
        ..state()
    };
    let read = parse_line(line(claimed, true).as_bytes()).unwrap().state;
    assert!(!read.claimed && !read.acknowledged);
    assert_eq!(read.next_at, Moment::ZERO);
}

#[test]
fn refusals_name_field_bound_and_value() {
    let good = line(state(), true);
    for (from, to, told) in [
        (
            "\"lease_seconds\":600",
            "\"lease_seconds\":0",
            "lease_seconds must be a whole number from 1 to 4294967295, is \"0\"",
        ),
        (
            "\"lease_seconds\":600",
            "\"lease_seconds\":4294967296",
            "lease_seconds must be a whole number from 1 to 4294967295, is \"4294967296\"",
        ),
        (
            "\"failures\":2",
            "\"failures\":\"2\"",
            "failures must be a whole number from 0 to 1000000, is \"2\"",
        ),
        (
            "\"lease_end_ms\":700000",
            "\"lease_end_ms\":-1",
            "lease_end_ms must be milliseconds since 1970, from 0 to 253402300799999, is \"-1\"",
        ),
        (
            "\"acknowledged\":true",
            "\"acknowledged\":1",
            "acknowledged must be true or false, is \"1\"",
        ),
        (
            "\"digest\":\"a5",
            "\"digest\":\"A5",
            "digest must be 64 hexadecimal digits in lower case, is \"A5a5",
        ),
        (
            "\"last_status\":\"204\"",
            "\"last_status\":\"lost\"",
            "last_status must be a status or the name of a failure, is \"lost\"",
        ),
        (
            "\"last_status\":\"204\"",
            "\"last_status\":null",
            "last_status is missing",
        ),
        (
            "\"signed\":true",
            "\"signed\":false",
            "secret is given, but signed is false",
        ),
        (
            "https://a",
            "http://a",
            "callback must be https, plain http is refused, is \"http://a.example/cb\"",
        ),
        (
            "\"topic\":",
            "\"topics\":",
            "has an unknown field \"topics\"",
        ),
        ("\"attempt\":7,", "", "attempt is missing"),
        (
            "\"attempt\":7,",
            "\"attempt\":7,\"attempt\":7,",
            "attempt comes twice",
        ),
        ("{", "[", "is not a JSON object"),
    ] {
        assert!(good.contains(from), "{from}");
        let bad = good.replacen(from, to, 1);
        let error = parse_line(bad.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(told), "{error}");
        assert!(!error.contains("token"), "{error}");
    }
    for accepted in ["\"lease_seconds\":1,", "\"lease_seconds\":4294967295,"] {
        let line = good.replacen("\"lease_seconds\":600,", accepted, 1);
        assert!(parse_line(line.as_bytes()).is_ok());
    }
}

#[test]
fn a_secret_that_is_too_long_is_refused_and_not_repeated() {
    for (length, is_taken) in [(199, true), (200, false)] {
        let text = line(state(), true).replace("k\\u0001\\\"ey", &"s".repeat(length));
        let read = parse_line(text.as_bytes());
        assert_eq!(read.is_ok(), is_taken, "{read:?}");
        if let Err(error) = read {
            assert_eq!(error.to_string(), "secret must be 1 to 199 bytes, has 200");
        }
    }
}

#[test]
fn the_longest_line_of_ours_is_within_the_bound() {
    let long = Subscription {
        secret: Secret::new("\u{1}".repeat(199)),
        ..state()
    };
    let filler = "a".repeat(super::super::callback::URI_BYTES);
    let length = line(long, true).len() + 2 * filler.len();
    assert!(length <= LINE_BYTES, "{length}");
}

#[test]
fn of_two_states_the_later_verification_counts_and_then_the_later_attempt() {
    let now = at(200_000);
    let here = state();
    let cases = [
        (state(), ImportDecision::Known),
        (
            Subscription {
                verified_at: at(99_999),
                attempt: 9,
                ..state()
            },
            ImportDecision::Known,
        ),
        (
            Subscription {
                attempt: 6,
                ..state()
            },
            ImportDecision::Known,
        ),
        (
            Subscription {
                attempt: 8,
                ..state()
            },
            ImportDecision::Updated,
        ),
        (
            Subscription {
                verified_at: at(100_001),
                attempt: 0,
                ..state()
            },
            ImportDecision::Updated,
        ),
    ];
    for (theirs, expected) in cases {
        let (next, adopted) = adopt(Some(here.clone()), &moved(theirs.clone()), now);
        assert_eq!(adopted, expected);
        if let Some(next) = next {
            assert_eq!(next.verified_at, theirs.verified_at);
            assert_eq!(
                next.attempt,
                theirs.attempt.max(7),
                "numbers are not used twice"
            );
            // Taken twice is as taken once.
            assert_eq!(
                adopt(Some(next), &moved(theirs), now).1,
                ImportDecision::Known
            );
        }
    }
}

#[test]
fn an_attempt_under_way_here_keeps_its_number_and_the_renewal_is_taken() {
    let here = Subscription {
        claimed: true,
        acknowledged: false,
        digest: [1; 32],
        ..state()
    };
    let theirs = Subscription {
        verified_at: at(150_000),
        lease_end: at(900_000),
        attempt: 1,
        ..state()
    };
    let (next, _) = adopt(Some(here.clone()), &moved(theirs), at(0));
    let next = next.unwrap();
    assert_eq!(
        (next.claimed, next.attempt, next.digest),
        (true, 7, [1; 32])
    );
    assert_eq!(next.lease_end, at(900_000));
}

#[test]
fn a_lease_that_is_over_is_left_out_from_its_last_millisecond_on() {
    assert_eq!(
        adopt(None, &moved(state()), at(699_999)).1,
        ImportDecision::Added
    );
    assert_eq!(
        adopt(None, &moved(state()), at(700_000)).1,
        ImportDecision::Expired
    );
}

#[test]
fn a_secret_that_was_left_out_is_kept_where_it_is_known_to_be_the_same() {
    let known = |verified_at| {
        let mut line = moved(Subscription {
            secret: None,
            attempt: 8,
            verified_at,
            ..state()
        });
        line.signed = true;
        adopt(Some(state()), &line, at(0)).0.unwrap().secret
    };
    assert_eq!(known(at(100_000)), state().secret);
    assert_eq!(known(at(100_001)), None);
}
