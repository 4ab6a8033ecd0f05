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
fn the_sample_is_clean_with_its_remarks_silenced_for_a_reason() {
    let decoded = decode(embedded(), Timestamp::from_unix(4_000_000_000)).expect("valid");
    assert_eq!(decoded.warnings, []);
    assert_eq!(codes(None), ["unverified", "money"]);
}

#[test]
fn a_rule_is_silenced_for_one_review_or_altogether() {
    let found = "01GYCY6EBCA5Z05XPTKH9E4MG4";
    let one = format!(r#"["{found}"]"#);
    assert_eq!(codes(Some(&allow("money", &one))), ["unverified"]);
    assert_eq!(codes(Some(&allow("money", "[]"))), ["unverified"]);
    let another = r#"["01DBB8W3Q1CRZ7VRHDSBT9DY4G"]"#;
    assert_eq!(
        codes(Some(&allow("money", another))),
        ["unverified", "money"]
    );
    assert_eq!(
        codes(Some(&allow("promise", &one))),
        ["unverified", "money"]
    );
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
    assert_eq!(places("promise", r#"["faq[0].answer"]"#), ["summary"]);
    assert_eq!(places("promise", r#"["summary"]"#), ["faq[0].answer"]);
    let by_review = r#"["faq[01GYCY6EBCA5Z05XPTKH9E4MG4].answer"]"#;
    assert_eq!(places("promise", by_review), ["summary"]);
    let by_another = r#"["faq[01DBB8W3Q1CRZ7VRHDSBT9DY4G].answer"]"#;
    assert_eq!(places("promise", by_another), both);
    assert_eq!(
        places("promise", r#"["pull_quote", "faq[1].answer"]"#),
        both
    );
    assert_eq!(places("money", r#"["summary"]"#), both, "another rule");
    assert_eq!(places("promise", "[]"), [""; 0], "the whole rule");
    // A place silences nothing in reviews.
    let place = r#"[], "places": ["summary"]"#;
    assert_eq!(codes(Some(&allow("money", place))), ["unverified", "money"]);
}

#[test]
fn a_type_that_leaves_open_whether_it_is_a_law_practice_gets_a_remark() {
    let said = |kind: &str, check: Option<String>| {
        let mut files = embedded();
        let reviews = String::from_utf8(files.reviews).expect("text");
        files.reviews = reviews
            .replacen("\"LegalService\"", &format!("\"{kind}\""), 1)
            .into();
        files.check = check.map(Into::into);
        let decoded = decode(files, Timestamp::from_unix(4_000_000_000)).expect("valid");
        let mut found = decoded.warnings.into_iter();
        let found = found.find(|warning| warning.code == "business_type");
        found.map(|warning| format!("{}: {}", warning.path, warning.message))
    };
    for kind in [
        "LocalBusiness",
        "ProfessionalService",
        "https://schema.org/organization",
    ] {
        let message = format!(
            "business.type: is {kind}: the rules of a law practice were not looked at; set LegalService if it is one"
        );
        assert_eq!(said(kind, None), Some(message));
        assert_eq!(said(kind, Some(allow("business_type", "[]"))), None);
    }
    for kind in ["LegalService", "attorney", "Dentist"] {
        assert_eq!(said(kind, None), None, "{kind}");
    }
}

#[test]
fn what_check_json_holds_decides_nothing_about_what_is_published() {
    let digest = |check| decoded(check).expect("valid").dataset.digest;
    assert_eq!(digest(None), digest(Some(&allow("money", "[]"))));
}

#[test]
fn mistakes_in_check_json_are_named_with_their_place() {
    for (text, problem) in [
        ("[]", "check.json: an array is not an object"),
        ("{}", "check.json: allow: is missing"),
        (
            &allow("mony", "[]"),
            "allow[0].rule: \"mony\" is not one of no_taxonomy, ",
        ),
        (
            &allow("money", "null"),
            "allow[0].review_ids: null is not an array",
        ),
        (
            &allow("money", r#"["a b"]"#),
            "allow[0].review_ids[0]: \"a b\" is not an id",
        ),
        (
            &allow("unverified", r#"["a"]"#),
            "allow[0].review_ids: has to be [], as unverified is not about single reviews",
        ),
        (
            &allow("reply_name", r#"[], "places": ["summary"]"#),
            "allow[0].places: has to be [], as reply_name is not about editorial.json",
        ),
        (
            &allow("money", r#"[], "places": ["faq[01].answer"]"#),
            "allow[0].places[0]: \"faq[01].answer\" is not summary, pull_quote or, by position from 0 or the id of a review, faq[0].answer",
        ),
        (
            &allow("money", r#"[], "places": ["faq[a b].answer"]"#),
            "allow[0].places[0]: \"faq[a b].answer\" is not summary, ",
        ),
        (
            &allow("money", r#"[], "places": null"#),
            "allow[0].places: null is not an array",
        ),
        (
            &allow("money", "[]").replace("Looked at.", " "),
            "allow[0].reason: ",
        ),
    ] {
        let problems = decoded(Some(text)).expect_err("refused");
        assert!(problems.contains(problem), "{problems}");
    }
}

#[test]
fn every_rule_of_reviews_and_of_a_practice_is_a_rule() {
    let of_practice = advertising::RULES.each_ref().map(|rule| rule.code);
    for code in RULES_OF_REVIEWS.split(' ').chain(of_practice) {
        assert!(rules().any(|known| known == code), "{code}");
    }
    for code in of_practice {
        assert!(
            RULES_OF_REVIEWS.split(' ').any(|rule| rule == code),
            "{code}"
        );
    }
}

#[test]
fn ten_reviews_without_a_low_one_get_a_remark_and_nine_or_a_low_one_get_none() {
    let mut dataset = decoded(None).expect("valid").dataset;
    let low = dataset
        .reviews
        .clone()
        .into_iter()
        .find(|review| review.rating.stars() == 2);
    dataset.reviews.retain(|review| review.rating.stars() > 2);
    dataset.reviews.truncate(10);
    assert!(no_low_rating(&dataset).is_some_and(|text| text.starts_with("none of 10 has")));
    let last = dataset.reviews.pop();
    assert_eq!(no_low_rating(&dataset), None);
    dataset.reviews.extend(last);
    dataset.reviews.extend(low);
    assert_eq!(no_low_rating(&dataset), None);
}
