use super::super::RefusalKind;
use super::*;

const BASE: &str = "hub.mode=subscribe&hub.callback=https%3A%2F%2Fa.example%2Fcb&hub.topic=https%3A%2F%2Fr.example%2Ffeed.xml";

fn accepted(body: &str) -> HubRequest {
    let parsed = parse(Some(FORM.as_bytes()), body.as_bytes());
    parsed.unwrap_or_else(|refusal| panic!("{body}: {refusal}"))
}

fn reason(body: &str) -> String {
    let refusal = parse(Some(FORM.as_bytes()), body.as_bytes()).expect_err(body);
    assert_eq!(refusal.kind, RefusalKind::Field);
    assert!(!refusal.reason.contains('\n'));
    refusal.reason
}

#[test]
fn mode_callback_and_topic_are_enough_and_a_secret_is_taken() {
    let request = accepted(BASE);
    assert_eq!(request.mode, Mode::Subscribe);
    assert_eq!(request.topic, "https://r.example/feed.xml");
    assert_eq!(request.callback.uri(), "https://a.example/cb");
    assert_eq!((request.lease_asked_s, request.secret), (None, None));
    let ended = accepted(&BASE.replace("subscribe", "unsubscribe"));
    assert_eq!(ended.mode, Mode::Unsubscribe);
    let signed = accepted(&format!("{BASE}&hub.secret=s%C3%A9same"));
    assert_eq!(signed.secret, Secret::new("sésame".to_owned()));
    let shown = format!("{signed:?}");
    assert!(!shown.contains("same"), "{shown}");
    assert!(!shown.contains("/cb"), "{shown}");
}

#[test]
fn only_forms_in_utf8_are_taken() {
    let form = "application/x-www-form-urlencoded";
    let parsed = |content_type: &str| parse(Some(content_type.as_bytes()), BASE.as_bytes());
    for parameters in ["", "; charset=UTF-8", ";charset=\"utf-8\"; x=y"] {
        let content_type = format!("{form}{parameters}");
        assert!(parsed(&content_type).is_ok(), "{content_type}");
    }
    assert!(parsed("Application/X-WWW-Form-Urlencoded").is_ok());
    for content_type in ["application/json", "", &format!("{form}2")] {
        let refusal = parsed(content_type).expect_err(content_type);
        assert_eq!(refusal.kind, RefusalKind::MediaType);
    }
    assert!(parsed(&format!("{form}; charset=iso-8859-1")).is_err());
    assert!(parse(None, BASE.as_bytes()).is_err());
}

#[test]
fn the_lease_is_ignored_on_unsubscription() {
    let body = BASE.replace("subscribe", "unsubscribe");
    for lease in ["0", "x&hub.lease_seconds=y", "", "%zz"] {
        let request = accepted(&format!("{body}&hub.lease_seconds={lease}"));
        assert_eq!(request.lease_asked_s, None);
    }
}

#[test]
fn leases_are_whole_seconds_from_1() {
    for (value, lease) in [("1", 1), ("007", 7), ("99999999999999999999999", u64::MAX)] {
        let request = accepted(&format!("{BASE}&hub.lease_seconds={value}"));
        assert_eq!(request.lease_asked_s, Some(lease));
    }
    let empty = accepted(&format!("{BASE}&hub.lease_seconds="));
    assert_eq!(empty.lease_asked_s, None);
    for value in "0|000|-1|%2B1|1.5|1e9|1 |ten|%D9%A1".split('|') {
        let reason = reason(&format!("{BASE}&hub.lease_seconds={value}"));
        let begin = "hub.lease_seconds: must be a whole number";
        assert!(reason.starts_with(begin), "{reason}");
    }
}

#[test]
fn a_secret_of_199_bytes_is_taken_of_200_refused_and_an_empty_one_is_none() {
    let request = accepted(&format!("{BASE}&hub.secret={}", "x".repeat(199)));
    assert!(request.secret.is_some());
    for secret in ["x".repeat(200), "%C3%A9".repeat(100)] {
        let reason = reason(&format!("{BASE}&hub.secret={secret}"));
        assert_eq!(reason, "hub.secret: must be less than 200 bytes, not 200");
    }
    assert_eq!(accepted(&format!("{BASE}&hub.secret=")).secret, None);
    let twice = reason(&format!("{BASE}&hub.secret=&hub.secret="));
    assert_eq!(twice, "hub.secret: must be given once, not 2 times");
}

#[test]
fn a_secret_is_shown_to_the_store_and_not_in_a_log() {
    let secret = Secret::new("Jefe".to_owned()).expect("4 bytes");
    assert_eq!(secret.reveal(), "Jefe");
    assert_eq!(format!("{secret:?}"), "Secret(…)");
}

#[test]
fn the_signature_is_hmac_sha256_over_the_body() {
    // RFC 4231, test case 2.
    let secret = Secret::new("Jefe".to_owned()).expect("4 bytes");
    let signature = "sha256=5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
    assert_eq!(secret.sign(b"what do ya want for nothing?"), signature);
}

#[test]
fn unknown_fields_are_ignored_repeated_or_not() {
    let tail =
        "hub.verify=sync&hub.verify=async&foo=bar&foo=bar&hub.verify_token=%zz&%zz=1&&=&novalue";
    let renamed = BASE.replace("hub.mode", "hub%2Emode");
    assert_eq!(accepted(&format!("{renamed}&{tail}")), accepted(BASE));
}

#[test]
fn the_topic_is_normalized_and_kept_as_given() {
    let request = accepted(&BASE.replace("feed.xml", "%2566eed.xml"));
    assert_eq!(request.topic, "https://r.example/feed.xml");
    assert_eq!(request.topic_given, "https://r.example/%66eed.xml");
}

#[test]
fn each_missing_empty_or_repeated_field_is_named() {
    assert_eq!(reason(""), "hub.mode: is missing");
    for pair in BASE.split('&') {
        let (field, _) = pair.split_once('=').expect("a pair");
        let without = BASE.replace(pair, "x=y");
        let undecodable = "has an invalid percent-encoding or is not UTF-8";
        for (more, what) in [
            ("", "is missing"),
            (field, "must not be empty"),
            (&format!("{field}="), "must not be empty"),
            (&format!("{pair}&{pair}"), "must be given once, not 2 times"),
            (&format!("{field}=%zz"), undecodable),
            (&format!("{field}=%FF"), undecodable),
        ] {
            let reason = reason(&format!("{without}&{more}"));
            assert_eq!(reason, format!("{field}: {what}"));
        }
    }
    let twice = reason(&format!("{BASE}&hub.lease_seconds=&hub.lease_seconds=1"));
    assert_eq!(twice, "hub.lease_seconds: must be given once, not 2 times");
    for mode in ["Subscribe", "publish", "denied", "subscribe "] {
        let reason = reason(&BASE.replace("subscribe", mode));
        let begin = "hub.mode: must be subscribe or unsubscribe, not ";
        assert!(reason.starts_with(begin), "{reason}");
    }
}
