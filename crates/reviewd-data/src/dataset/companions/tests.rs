//! `insights.json` as an operator may write it: the document that is accepted, and each fault of it.

use crate::dataset::tests::without_positions;
use crate::dataset::{Files, decode, embedded};
use reviewd_wire::date::Timestamp;

/// A complete document with one aspect, which refers to a review of the sample.
const DOCUMENT: &str = include_str!("insights.json");

fn outcome(insights: &str) -> Result<Option<Vec<u8>>, String> {
    let files = Files {
        insights: Some(insights.into()),
        ..embedded()
    };
    decode(files, Timestamp::MAX)
        .map(|decoded| decoded.dataset.insights)
        .map_err(|problems| without_positions(&problems))
}

#[test]
fn a_complete_document_is_accepted_and_kept_byte_for_byte() {
    assert_eq!(outcome(DOCUMENT), Ok(Some(DOCUMENT.into())));
}

/// One case per line: a part of the document => its replacement => the expected problem.
const FAULTS: &str = r##"
"version":1, =>  => version: is missing
"version":1 => "version":-1 => version: -1 is not a whole number from 0 to 9007199254740991
"overall_sentiment":{"score": => "overall_sentiment":{"score":"a","b": => overall_sentiment.score: "a" is not a number
"start":0,"end":2 => "start":2,"end":2 => aspects[0].evidence[0]: is the range 2 to 2 in a text of
"start":0,"end":2 => "start":0,"end":99999 => aspects[0].evidence[0]: is the range 0 to 99999 in a text of
"polarity":"positive" => "polarity":"good\u001b" => aspects[0].evidence[0].polarity: "good
"review_id":" => "review_id":"zz => aspects[0].evidence[0]: "zz
"example_review_ids":[" => "example_review_ids":["zz => aspects[0].example_review_ids: "zz
"per_review":{ => "per_review":{"zz":{"sentiment":null,"score":null,"aspects":[],"technicians":[],"services":[]}, => per_review: "zz" is not the id of a published review
"per_review":{ => "per_review":{"zz":{"sentiment":null,"aspects":[],"technicians":[],"services":[]}, => per_review.zz.score: is missing
"overall_sentiment": => "other": => overall_sentiment: is missing
"earliest": => "other": => date_range.earliest: is missing
"latest": => "other": => date_range.latest: is missing
"per_review": => "other": => per_review: is missing
],"summary": => ],"other": => summary: is missing
"pull_quote": => "other": => pull_quote: is missing
"positive_pct":100.0,"score" => "score" => aspects[0].positive_pct: is missing
"score":0.5, =>  => overall_sentiment.score: is missing
"interval":[0.2,1], =>  => aspects[0].interval: is missing
"evidence":[{"review_id" => "other":[{"review_id" => aspects[0].evidence: is missing
"generated_at":"2026-11-20T09:00:00Z" => "generated_at":"2026-11-20" => generated_at: "2026-11-20" is not a time in whole seconds
"version":1 => "version":9007199254740992 => version: 9007199254740992 is not a whole number from 0 to 9007199254740991
"review_count": => "review_count":9007199254740992,"other": => review_count: 9007199254740992 is not a whole number from 0 to 9007199254740991
"mention_count":1 => "mention_count":18446744073709551615 => aspects[0].mention_count: 18446744073709551615 is not a whole number from 0 to 9007199254740991
"positive_count":1 => "positive_count":9007199254740992 => aspects[0].positive_count: 9007199254740992 is not
"neutral_count":0 => "neutral_count":9007199254740992 => aspects[0].neutral_count: 9007199254740992 is not
"negative_count":0 => "negative_count":9007199254740992 => aspects[0].negative_count: 9007199254740992 is not
"interval":[0.2,1] => "interval":[0.2,1],"quarterly":[{"quarter":"2026-Q1","mention_count":1,"positive_count":9007199254740992,"neutral_count":0,"negative_count":0,"interval":[0,1]}] => aspects[0].quarterly[0].positive_count: 9007199254740992 is not
"version":1 => "version":1,"version":1 => version: is given twice
"interval":[0.2,1] => "interval":[0.2] => aspects[0].interval: an array does not have two numbers
"model":"hand-1" => "model":7 => model: 7 is not a string
"faq":[] => "faq":[{"question":"Q","answer":"A","review_ids":[1]}] => faq[0].review_ids[0]: 1 is not a string
"##;

#[test]
fn each_fault_is_refused_in_its_own_words() {
    for line in FAULTS.lines().filter(|line| !line.is_empty()) {
        let [part, replacement, problem] = line.split(" => ").collect::<Vec<_>>()[..] else {
            panic!("three fields: {line}");
        };
        let changed = DOCUMENT.replacen(part, replacement, 1);
        assert_ne!(changed, DOCUMENT, "{line}");
        let error = outcome(&changed).expect_err("refused");
        let expected = format!("insights.json: {problem}");
        assert!(error.starts_with(&expected), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}

#[test]
fn all_faults_of_a_document_are_refused_at_once() {
    let changed = DOCUMENT
        .replacen("\"version\":1", "\"version\":true", 1)
        .replacen("\"summary\":null", "\"summary\":[]", 1)
        .replacen("\"label\":\"A\",", "", 1);
    let error = outcome(&changed).expect_err("refused");
    let expected = [
        "insights.json: version: true is not a whole number from 0 to 9007199254740991",
        "insights.json: aspects[0].label: is missing",
        "insights.json: summary: an array is not a string",
    ];
    assert_eq!(error.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn a_key_to_which_serde_json_gives_a_meaning_is_like_any_other() {
    // As a `serde_json::Value`, each text would be parsed again within the one around it.
    let mut method = "{}".to_owned();
    for _ in 0..16 {
        let text = serde_json::Value::from(method);
        let open = "[".repeat(100);
        let close = "]".repeat(100);
        method = format!("{open}{{\"$serde_json::private::RawValue\":{text}}}{close}");
    }
    let method = format!("\"method\":{method},\"other\":");
    let changed = DOCUMENT.replacen("\"method\":", &method, 1);
    assert_eq!(outcome(&changed), Ok(Some(changed.into_bytes())));
}
