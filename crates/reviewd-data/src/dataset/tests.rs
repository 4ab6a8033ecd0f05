//! Accepted files and their datasets; refusals and limits have their own test files.

use super::*;

mod limits;
mod refusals;

pub(super) const NOW: i64 = 1_795_000_000; // 2026-11-18T11:06:40Z

const BUSINESS: &str = r#"{"name":"A","type":"LegalService","description":"","url":"https://a.example/","telephone":"","email":"",
"address":{"street_address":"","locality":"","region":"","postal_code":"","country":""},"geo":{"latitude":1.5,"longitude":-2},
"opening_hours":[],"service_areas":[],"services":[{"id":"wills","label":"Wills"}],"technicians":[{"name":"Ann Lee","title":"Partner"}],"same_as":[]}"#;

pub(super) const REVIEW: &str = r#"{"id":"r1","author":"Bo","author_avatar_url":null,"rating":5,"date":"2026-01-02","text":"Good","source":"google",
"source_url":null,"owner_reply":{"text":"Thanks","date":"2026-01-03"},"verified":true,"mentioned_technicians":["Ann Lee"],"mentioned_services":["wills"]}"#;

const TAXONOMY_TEXT: &str = r#"{"aspects":[],"technicians":[{"name":"Ann Lee","aliases":["Annie"]}],
"services":[{"id":"wills","label":"Wills","phrases":["last will"]}],"service_areas":[]}"#;

const EDITORIAL_TEXT: &str = r#"{"summary":null,"pull_quote":null,"faq":[{"question":"Q","answer":"A","review_ids":["r1"]}]}"#;

pub(super) fn reviews_file(reviews: &str) -> String {
    format!(
        r#"{{"business":{BUSINESS},"disclaimer":"D","updated_at":"2026-11-18T00:00:00Z","reviews":[{reviews}]}}"#
    )
}

fn files(reviews: impl Into<Vec<u8>>) -> Files {
    Files {
        reviews: reviews.into(),
        taxonomy: Some(TAXONOMY_TEXT.into()),
        editorial: Some(EDITORIAL_TEXT.into()),
        ..Files::default()
    }
}

fn outcome(files: Files) -> Result<Decoded, String> {
    decode(files, Timestamp::from_unix(NOW)).map_err(|problems| without_positions(&problems))
}

/// The problems as lines without their positions, which are tested separately.
pub(super) fn without_positions(problems: &Problems) -> String {
    let mut lines = Vec::new();
    for problem in &problems.listed {
        let mut problem = problem.clone();
        (problem.line, problem.column) = (None, None);
        lines.push(problem.to_string());
    }
    let unlisted = problems.total - lines.len() as u64;
    if unlisted > 0 {
        lines.push(format!("and {unlisted} more ({} in all)", problems.total));
    }
    lines.join("\n")
}

/// The problems of a `site.json` beside valid files; "" if it is accepted.
pub(super) fn problems_of_site(text: &str) -> String {
    let files = Files {
        site: Some(text.into()),
        ..files(reviews_file(REVIEW))
    };
    outcome(files).err().unwrap_or_default()
}

/// The problems of a valid file after one replacement.
fn problems_of(text: &str, part: &str, replacement: &str) -> String {
    let changed = text.replacen(part, replacement, 1);
    assert_ne!(changed, text, "{part} is not in the text");
    outcome(files(changed)).map(|_| ()).expect_err("refused")
}

/// The problems of a valid review after one replacement.
fn review_problems(part: &str, replacement: &str) -> String {
    let changed = REVIEW.replacen(part, replacement, 1);
    let problems = problems_of(&reviews_file(REVIEW), REVIEW, &changed);
    problems.replacen("reviews.json: reviews[0]", "", 1)
}

fn accepts(part: &str, replacement: &str) -> crate::model::Review {
    let changed = REVIEW.replacen(part, replacement, 1);
    assert_ne!(changed, REVIEW);
    let mut decoded = outcome(files(reviews_file(&changed))).expect("accepted");
    decoded.dataset.reviews.pop().expect("one review")
}

#[test]
fn a_small_dataset_is_accepted_without_a_warning() {
    let decoded = outcome(files(reviews_file(REVIEW))).expect("accepted");
    assert_eq!(decoded.warnings(), []);
    let first = &decoded.dataset.reviews[0];
    assert_eq!(first.mentioned_technicians, ["Ann Lee"]);
    let geo = decoded.dataset.business.geo.expect("a position");
    assert_eq!(geo.latitude.to_string(), "1.5");
    assert_eq!(geo.longitude.to_string(), "-2");
}

#[test]
fn all_problems_of_all_files_are_reported_at_once() {
    let second = REVIEW.replace("\"rating\":5", "\"rating\":9");
    let reviews = reviews_file(&format!("{REVIEW},{second}"));
    let mut files = files(reviews.replace("https://a.example/", "a.example"));
    files.taxonomy = Some(TAXONOMY_TEXT.replace("\"Ann Lee\"", "\"\"").into());
    files.editorial = Some(EDITORIAL_TEXT.replace("\"A\"", "\"\"").into());
    let expected = "taxonomy.json: technicians[0].name: \"\" is empty\n\
        reviews.json: business.url: \"a.example\" is not an absolute http or https URL\n\
        reviews.json: reviews[1].rating: 9 is not a whole number from 1 to 5\n\
        reviews.json: reviews[1].id: \"r1\" is also the id of reviews[0]\n\
        editorial.json: faq[0].answer: \"\" is empty";
    assert_eq!(outcome(files).map(|_| ()), Err(expected.to_owned()));
}

#[test]
fn mentions_are_derived_only_where_their_key_is_missing() {
    let mentions = r#","mentioned_technicians":["Ann Lee"],"mentioned_services":["wills"]"#;
    for (keys, people, services) in [
        ("", &["Ann Lee"][..], ["wills"]),
        (r#","mentioned_technicians":[]"#, &[], ["wills"]),
        (r#","mentioned_services":["x"]"#, &["Ann Lee"], ["x"]),
    ] {
        let review = REVIEW.replace("Good", "Annie wrote my last will");
        let review = reviews_file(&review.replacen(mentions, keys, 1));
        let decoded = outcome(files(review)).expect("accepted");
        let review = &decoded.dataset.reviews[0];
        assert_eq!(review.mentioned_technicians, people, "{keys}");
        assert_eq!(review.mentioned_services, services, "{keys}");
    }
}

#[test]
fn people_and_services_that_only_the_business_lists_are_found_in_texts() {
    let mentions = r#","mentioned_technicians":["Ann Lee"],"mentioned_services":["wills"]"#;
    let review = REVIEW.replace("Good", "Frau Dr. Lee updated our wills");
    let files = Files {
        taxonomy: None,
        ..files(reviews_file(&review.replacen(mentions, "", 1)))
    };
    let decoded = outcome(files).expect("accepted");
    let review = &decoded.dataset.reviews[0];
    assert_eq!(review.mentioned_technicians, ["Ann Lee"]);
    assert_eq!(review.mentioned_services, ["wills"]);
}

/// One case per line: a part of a review => its replacement => the expected warning.
const WARNINGS: &str = r##"
2026-01-02 => 2026-11-19 => early_reply reviews.json: reviews: 1 with a reply dated before the review (r1)
2026-01-03 => 2026-11-19 => future_date reviews.json: reviews: 1 dated after today, or with such a reply (r1)
["Ann Lee"] => ["Zed","annie"] => unknown_technician reviews.json: reviews: mentioned_technicians names people whom neither taxonomy nor business lists: "Zed" (1)
["wills"] => ["tax"] => unknown_service reviews.json: reviews: mentioned_services names ids that neither taxonomy nor business lists: "tax" (1)
Good => I got $5,000 => money reviews.json: reviews: 1 with an amount of money as a result, which readers may take for what they can expect (r1: "I got $5,000")
"verified":true => "verified":false => unverified reviews.json: reviews: 1 not verified and so not published
"##;

fn warnings(files: Files) -> String {
    let warnings = outcome(files).expect("accepted").warnings();
    let lines = warnings
        .iter()
        .map(|warning| format!("{} {warning}", warning.code));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn each_warning_has_its_own_words() {
    for line in WARNINGS.lines().filter(|line| !line.is_empty()) {
        let fields: Vec<&str> = line.split(" => ").collect();
        let mut files = files(reviews_file(&REVIEW.replacen(fields[0], fields[1], 1)));
        files.editorial = None;
        let found = warnings(files);
        assert!(found.lines().any(|warning| warning == fields[2]), "{found}");
    }
    let mut bare = files(reviews_file("").replace("\"D\"", "null"));
    (bare.taxonomy, bare.editorial) = (None, None);
    assert_eq!(
        warnings(bare),
        "no_taxonomy taxonomy.json: is missing: the aspects are those of the starter list \"legal\", and of people and services only those of the business are recognized
no_disclaimer reviews.json: disclaimer: is null: many bars require a statement that past results guarantee nothing
no_reviews reviews.json: reviews: has no verified review: nothing is published"
    );
    let mut both = files(reviews_file(REVIEW));
    let two = r#"["Annie"]},{"name":"Ann Roe","aliases":["Annie"]}"#;
    both.taxonomy = Some(TAXONOMY_TEXT.replace(r#"["Annie"]}"#, two).into());
    assert_eq!(
        warnings(both),
        "ambiguous_name taxonomy.json: technicians: a name that matches two people is not recognized: \"annie\" matches Ann Lee and Ann Roe"
    );
}

#[test]
fn ten_reviews_without_a_low_rating_get_a_warning() {
    let many = |count: usize| -> Vec<String> {
        (0..count)
            .map(|at| REVIEW.replace("r1", &format!("r{at}")))
            .collect()
    };
    let of = |reviews: Vec<String>| warnings(files(reviews_file(&reviews.join(","))));
    let expected = "no_low_rating reviews.json: reviews: none of 10 has 1 or 2 stars: omitting low ratings is unlawful in some places and not credible";
    assert_eq!(of(many(10)), expected);
    assert_eq!(of(many(9)), "");
    let mut low = many(10);
    low[0] = low[0].replace(":5", ":2");
    assert_eq!(of(low), "");
}

#[test]
fn the_digest_tells_which_file_holds_what() {
    let digest = |reviews: &str, taxonomy: Option<&str>, editorial: Option<&str>| {
        let files = Files {
            reviews: reviews.into(),
            taxonomy: taxonomy.map(Into::into),
            editorial: editorial.map(Into::into),
            ..Files::default()
        };
        files.digest()
    };
    let digests = [
        digest("ab", None, None),
        digest("ab", Some(""), None),
        digest("a", Some("b"), None),
        digest("a", None, Some("b")),
    ];
    for (at, digest) in digests.iter().enumerate() {
        assert!(!digests[..at].contains(digest), "{at}");
    }
}
