use crate::dataset::{Decoded, Files, decode, embedded};
use reviewd_wire::date::Timestamp;

fn decoded(files: Files) -> Result<Decoded, String> {
    let decoded = decode(files, Timestamp::from_unix(4_000_000_000));
    decoded.map_err(|problems| problems.to_string())
}

/// The codes and paths of the warnings of `files`.
fn found(files: Files) -> Vec<(&'static str, String)> {
    let warnings = decoded(files).expect("the sample is valid").warnings();
    let found = warnings.into_iter();
    found.map(|warning| (warning.code, warning.path)).collect()
}

fn sample(check: Option<String>) -> Files {
    Files {
        check: check.map(Into::into),
        ..embedded()
    }
}

fn allow(rule: &str, review_ids: &str) -> String {
    format!(
        r#"{{"allow": [{{"rule": "{rule}", "review_ids": {review_ids}, "reason": "Looked at."}}]}}"#
    )
}

#[test]
fn a_rule_is_suppressed_for_one_review_or_altogether() {
    assert_eq!(found(sample(None)).len(), 2);
    let one = r#"["01GYCY6EBCA5Z05XPTKH9E4MG4"]"#;
    let another = r#"["01DBB8W3Q1CRZ7VRHDSBT9DY4G"]"#;
    for (rule, reviews, is_left) in [
        ("money", one, false),
        ("money", "[]", false),
        ("money", another, true),
        ("promise", one, true),
        ("a_rule_that_is_gone", "[]", true),
        ("money", r#"[], "places": ["summary"]"#, true),
    ] {
        let left = found(sample(Some(allow(rule, reviews))));
        let is_found = left.iter().any(|(code, _)| *code == "money");
        assert_eq!(is_found, is_left, "{rule} {reviews}");
    }
}

#[test]
fn a_rule_is_suppressed_for_one_place_of_the_editorial() {
    let editorial = br#"{"summary": "Results guaranteed.", "pull_quote": null, "faq": [
        {"question": "Q", "answer": "Success guaranteed.", "review_ids": []}]}"#;
    let both = ["summary", "faq[0].answer"];
    for (rule, places, expected) in [
        ("promise", r#"["faq[0].answer"]"#, &["summary"][..]),
        ("promise", r#"["summary"]"#, &["faq[0].answer"]),
        ("promise", r#"["pull_quote", "faq[1].answer"]"#, &both),
        ("promise", "[]", &[]),
        ("money", r#"["summary"]"#, &both),
    ] {
        let mut files = sample(Some(allow(rule, &format!(r#"[], "places": {places}"#))));
        files.editorial = Some(editorial.to_vec());
        let mut left = found(files);
        left.retain(|(code, _)| *code == "promise");
        let left: Vec<String> = left.into_iter().map(|(_, path)| path).collect();
        assert_eq!(left, expected, "{rule} {places}");
    }
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
        let is_found = found(files)
            .iter()
            .any(|(code, _)| *code == "business_type");
        assert_eq!(is_found, is_open, "{kind}");
    }
}

#[test]
fn check_json_is_checked_and_decides_nothing_about_what_is_published() {
    let digest = |check| decoded(sample(check)).expect("valid").dataset.digest;
    assert_eq!(digest(None), digest(Some(allow("money", "[]"))));
    for (check, problem) in [
        ("{}".to_owned(), "allow: is missing"),
        (allow("money", "null"), "review_ids: null is not an array"),
        (allow("", "[]"), "rule: \"\" is empty"),
    ] {
        let problems = decoded(sample(Some(check))).expect_err("refused");
        assert!(problems.ends_with(problem), "{problems}");
    }
}
