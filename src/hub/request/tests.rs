use super::super::RefusalKind;
use super::*;

const FORM_TYPE: Option<&[u8]> = Some(b"application/x-www-form-urlencoded");
const BASE: &str = "hub.mode=subscribe&hub.callback=https%3A%2F%2Fa.example%2Fcb&hub.topic=https%3A%2F%2Fr.example%2Ffeed.xml";

fn accepted(body: &str) -> HubRequest {
    parse(FORM_TYPE, body.as_bytes()).unwrap_or_else(|refusal| panic!("{body}: {refusal}"))
}

fn reason(body: &str) -> String {
    let refusal = parse(FORM_TYPE, body.as_bytes()).expect_err(body);
    assert_eq!(refusal.kind, RefusalKind::Field);
    assert!(!refusal.reason.contains('\n'));
    refusal.reason
}

#[test]
fn h1_mode_callback_and_topic_are_enough() {
    let request = accepted(BASE);
    assert_eq!(request.mode, Mode::Subscribe);
    assert_eq!(request.topic, "https://r.example/feed.xml");
    assert_eq!(request.callback.uri(), "https://a.example/cb");
    assert_eq!((request.lease_asked_s, request.secret), (None, None));
}

#[test]
fn h2_a_secret_is_taken() {
    let request = accepted(&format!("{BASE}&hub.secret=s%C3%A9same"));
    assert_eq!(
        request.secret.map(|secret| secret.reveal().to_owned()),
        Some("sésame".to_owned())
    );
}

#[test]
fn h5_unsubscribe_is_taken() {
    assert_eq!(
        accepted(&BASE.replace("subscribe", "unsubscribe")).mode,
        Mode::Unsubscribe
    );
}

#[test]
fn h14_only_forms_in_utf8_are_taken() {
    for content_type in [
        "application/x-www-form-urlencoded",
        "Application/X-WWW-Form-Urlencoded; charset=UTF-8",
        "application/x-www-form-urlencoded;charset=\"utf-8\"; x=y",
    ] {
        assert!(
            parse(Some(content_type.as_bytes()), BASE.as_bytes()).is_ok(),
            "{content_type}"
        );
    }
    for content_type in [
        "application/json",
        "multipart/form-data; boundary=x",
        "",
        "application/x-www-form-urlencoded; charset=iso-8859-1",
        "application/x-www-form-urlencoded2",
    ] {
        let refusal =
            parse(Some(content_type.as_bytes()), BASE.as_bytes()).expect_err(content_type);
        assert_eq!(refusal.kind, RefusalKind::MediaType, "{content_type}");
    }
    assert_eq!(
        parse(None, BASE.as_bytes()).expect_err("none").kind,
        RefusalKind::MediaType
    );
}

#[test]
fn h15_the_lease_is_ignored_on_unsubscription() {
    let body = BASE.replace("subscribe", "unsubscribe");
    for tail in [
        "&hub.lease_seconds=0",
        "&hub.lease_seconds=x&hub.lease_seconds=y",
        "&hub.lease_seconds=",
        "&hub.lease_seconds=%zz",
    ] {
        assert_eq!(accepted(&format!("{body}{tail}")).lease_asked_s, None);
    }
}

#[test]
fn leases_are_whole_seconds_from_1() {
    for (value, lease) in [
        ("1", 1),
        ("007", 7),
        ("1000000000", 1_000_000_000),
        ("99999999999999999999999", u64::MAX),
    ] {
        assert_eq!(
            accepted(&format!("{BASE}&hub.lease_seconds={value}")).lease_asked_s,
            Some(lease)
        );
    }
    for value in [
        "0", "000", "-1", "%2B1", "1.5", "1e9", "1 ", "ten", "NaN", "%D9%A1",
    ] {
        assert!(
            reason(&format!("{BASE}&hub.lease_seconds={value}"))
                .starts_with("hub.lease_seconds: must be a whole number")
        );
    }
}

#[test]
fn an_empty_secret_counts_as_none() {
    let request = accepted(&format!("{BASE}&hub.secret="));
    assert_eq!(request.secret, None);
    assert_eq!(
        reason(&format!("{BASE}&hub.secret=&hub.secret=")),
        "hub.secret: must be given once, not 2 times"
    );
}

#[test]
fn h16_a_secret_of_199_bytes_is_taken_and_of_200_refused() {
    let secret = "x".repeat(199);
    assert!(
        accepted(&format!("{BASE}&hub.secret={secret}"))
            .secret
            .is_some()
    );
    assert_eq!(
        reason(&format!("{BASE}&hub.secret={secret}x")),
        "hub.secret: must be less than 200 bytes, not 200"
    );
    assert_eq!(
        reason(&format!("{BASE}&hub.secret={}", "%C3%A9".repeat(100))),
        "hub.secret: must be less than 200 bytes, not 200"
    );
}

#[test]
fn h17_unknown_fields_are_ignored_repeated_or_not() {
    let request = accepted(&format!(
        "{BASE}&hub.verify=sync&hub.verify=async&foo=bar&foo=bar&hub.foo=hub.bar&hub.verify_token=%zz&%zz=1&&=&novalue"
    ));
    assert_eq!(request, accepted(BASE));
}

#[test]
fn names_are_decoded_before_they_are_compared() {
    assert_eq!(
        accepted(&BASE.replace("hub.mode", "hub%2Emode")),
        accepted(BASE)
    );
}

#[test]
fn h23_the_topic_is_normalized_and_kept_as_given() {
    let request = accepted(&BASE.replace("feed.xml", "%2566eed.xml"));
    assert_eq!(request.topic, "https://r.example/feed.xml");
    assert_eq!(request.topic_given, "https://r.example/%66eed.xml");
}

#[test]
fn h29_h30_each_missing_empty_or_repeated_field_is_named() {
    for (field, value) in [
        ("hub.mode", "subscribe"),
        ("hub.callback", "https%3A%2F%2Fa.example%2Fcb"),
        ("hub.topic", "https%3A%2F%2Fr.example%2Ffeed.xml"),
    ] {
        let pair = format!("{field}={value}");
        assert_eq!(
            reason(&BASE.replace(&pair, "x=y")),
            format!("{field}: is missing")
        );
        assert_eq!(
            reason(&BASE.replace(&pair, &format!("{field}="))),
            format!("{field}: must not be empty")
        );
        assert_eq!(
            reason(&BASE.replace(&pair, field)),
            format!("{field}: must not be empty")
        );
        assert_eq!(
            reason(&format!("{BASE}&{pair}")),
            format!("{field}: must be given once, not 2 times")
        );
        for bad in ["%zz", "%f", "%FF"] {
            let what = reason(&BASE.replace(&pair, &format!("{field}={bad}")));
            assert_eq!(
                what,
                format!("{field}: has a broken percent-escape or is not UTF-8")
            );
        }
    }
    assert_eq!(
        reason(&format!("{BASE}&hub.lease_seconds=")),
        "hub.lease_seconds: must not be empty"
    );
    for field in ["hub.secret", "hub.lease_seconds"] {
        assert_eq!(
            reason(&format!("{BASE}&{field}=1&{field}=1")),
            format!("{field}: must be given once, not 2 times")
        );
    }
    assert_eq!(reason(""), "hub.mode: is missing");
}

#[test]
fn other_modes_are_refused() {
    for mode in ["Subscribe", "publish", "denied", "subscribe "] {
        let body = BASE.replace("hub.mode=subscribe", &format!("hub.mode={mode}"));
        assert!(
            reason(&body).starts_with("hub.mode: must be subscribe or unsubscribe, not "),
            "{mode}"
        );
    }
}

#[test]
fn neither_secret_nor_callback_is_shown_by_debug() {
    let text = format!("{:?}", accepted(&format!("{BASE}&hub.secret=opensesame")));
    assert!(
        !text.contains("opensesame") && !text.contains("/cb"),
        "{text}"
    );
}
