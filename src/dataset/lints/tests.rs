use super::*;
use crate::dataset::{Decoded, Files, decode, embedded};
use crate::wire::date::Timestamp;

fn decoded(check: Option<&str>) -> Result<Decoded, String> {
    let files = Files {
        check: check.map(Into::into),
        ..embedded()
    };
    let decoded = decode(files, Timestamp::from_unix(4_000_000_000));
    decoded.map_err(|problems| problems.to_string())
}

fn codes(check: Option<&str>) -> Vec<&'static str> {
    let decoded = decoded(check).expect("the sample is valid");
    decoded
        .warnings
        .iter()
        .map(|warning| warning.code)
        .collect()
}

fn allow(rule: &str, review_ids: &str) -> String {
    format!(
        r#"{{"allow": [{{"rule": "{rule}", "review_ids": {review_ids}, "reason": "Looked at."}}]}}"#
    )
}

#[test]
fn a_rule_is_silenced_for_one_review_or_altogether() {
    assert_eq!(codes(None), ["unverified", "money"]);
    let one = r#"["01GYCY6EBCA5Z05XPTKH9E4MG4"]"#;
    let another = r#"["01DBB8W3Q1CRZ7VRHDSBT9DY4G"]"#;
    for (rule, reviews, is_silent) in [
        ("money", one, true),
        ("money", "[]", true),
        ("money", another, false),
        ("promise", one, false),
    ] {
        let left = codes(Some(&allow(rule, reviews)));
        assert_eq!(left == ["unverified"], is_silent, "{rule} {reviews}");
    }
}

#[test]
fn a_rule_is_silenced_for_one_place_of_the_editorial() {
    let mut files = embedded();
    let editorial = br#"{"summary": "Results guaranteed.", "pull_quote": null, "faq": [
        {"question": "Q", "answer": "Success guaranteed.", "review_ids": ["01GYCY6EBCA5Z05XPTKH9E4MG4"]}]}"#;
    files.editorial = Some(editorial.to_vec());
    let mut places = |rule: &str, places: &str| {
        files.check = Some(allow(rule, &format!(r#"[], "places": {places}"#)).into());
        let decoded = decode(files.clone(), Timestamp::from_unix(4_000_000_000)).expect("valid");
        let found = decoded.warnings.into_iter();
        let found = found.filter(|warning| warning.code == "promise");
        found.map(|warning| warning.path).collect::<Vec<_>>()
    };
    let both = ["summary", "faq[0].answer"];
    for (place, left) in [
        (r#"["faq[0].answer"]"#, &["summary"][..]),
        (r#"["summary"]"#, &["faq[0].answer"]),
        (
            r#"["faq[01GYCY6EBCA5Z05XPTKH9E4MG4].answer"]"#,
            &["summary"],
        ),
        (r#"["faq[01DBB8W3Q1CRZ7VRHDSBT9DY4G].answer"]"#, &both),
        (r#"["pull_quote", "faq[1].answer"]"#, &both),
        ("[]", &[]),
    ] {
        assert_eq!(places("promise", place), left, "{place}");
    }
    assert_eq!(places("money", r#"["summary"]"#), both, "another rule");
    // A place silences nothing in reviews.
    let place = r#"[], "places": ["summary"]"#;
    assert_eq!(codes(Some(&allow("money", place))), ["unverified", "money"]);
}

#[test]
fn a_type_that_leaves_open_whether_it_is_a_law_practice_gets_a_warning() {
    for (kind, is_open) in [
        ("LocalBusiness", true),
        ("https://schema.org/organization", true),
        ("attorney", false),
        ("Dentist", false),
    ] {
        let mut files = embedded();
        let reviews = String::from_utf8(files.reviews).expect("text");
        files.reviews = reviews.replacen("LegalService", kind, 1).into();
        let decoded = decode(files, Timestamp::from_unix(4_000_000_000)).expect("valid");
        let mut codes = decoded.warnings.iter().map(|warning| warning.code);
        assert_eq!(codes.any(|code| code == "business_type"), is_open, "{kind}");
    }
}

#[test]
fn what_check_json_holds_decides_nothing_about_what_is_published() {
    let digest = |check| decoded(check).expect("valid").dataset.digest;
    assert_eq!(digest(None), digest(Some(&allow("money", "[]"))));
}

#[test]
fn mistakes_in_check_json_are_named_with_their_place() {
    for (rule, subjects, problem) in [
        ("mony", "[]", ".rule: \"mony\" is not one of no_taxonomy, "),
        ("money", "null", ".review_ids: null is not an array"),
        (
            "money",
            r#"["a b"]"#,
            ".review_ids[0]: \"a b\" is not an id",
        ),
        (
            "unverified",
            r#"["a"]"#,
            ".review_ids: has to be [], as unverified is not about single reviews",
        ),
        (
            "reply_name",
            r#"[], "places": ["summary"]"#,
            ".places: has to be [], as reply_name is not about editorial.json",
        ),
        (
            "money",
            r#"[], "places": ["faq[01].answer"]"#,
            ".places[0]: \"faq[01].answer\" is not summary, pull_quote or, by position from 0 or the id of a review, faq[0].answer",
        ),
        (
            "money",
            r#"[], "places": ["faq[a b].answer"]"#,
            ".places[0]: \"faq[a b].answer\" is not summary, ",
        ),
        ("money", r#"[], "reason": " ", "places": []"#, ".reason: "),
    ] {
        let problems = decoded(Some(&allow(rule, subjects))).expect_err("refused");
        assert!(
            problems.contains(&format!("allow[0]{problem}")),
            "{problems}"
        );
    }
    let problems = decoded(Some("{}")).expect_err("refused");
    assert_eq!(problems, "check.json: allow: is missing");
}

#[test]
fn every_rule_of_advertising_is_a_rule_of_reviews() {
    for rule in &advertising::RULES {
        let known = RULES.iter().find(|(code, _)| *code == rule.code);
        assert!(known.is_some_and(|(_, scope)| *scope != Scope::Dataset));
    }
}
