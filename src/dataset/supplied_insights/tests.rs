use crate::dataset::{Files, decode, embedded};
use crate::insights;
use crate::wire::date::Timestamp;

const ASPECT: &str = r#"[{"id":"a","label":"A","mention_count":1,"positive_count":1,"neutral_count":0,"negative_count":0,
"positive_pct":100.0,"score":0.5,"top_phrases":["good"],"example_review_ids":["ID"],"interval":[0.2,1],
"evidence":[{"review_id":"ID","start":0,"end":2,"polarity":"positive"}]}]"#;

/// The document of one review without words, with one aspect put in, and the id of a review that it leans on.
fn document() -> (String, String) {
    let mut dataset = decode(embedded(), now())
        .expect("the sample is valid")
        .dataset;
    let id = dataset
        .reviews
        .iter()
        .find(|review| review.text.chars().count() > 2)
        .expect("a text")
        .id
        .clone();
    dataset.reviews.truncate(1);
    dataset.reviews[0].text.clear();
    dataset.taxonomy.aspects.clear();
    let options = insights::Options {
        threads: std::num::NonZeroUsize::MIN,
        mentions_min: 5,
    };
    let document = String::from_utf8(insights::document(&dataset, &options).bytes).expect("UTF-8");
    (
        document.replacen(
            "\"aspects\":[]",
            &format!("\"aspects\":{}", ASPECT.replace("ID", &id)),
            1,
        ),
        id,
    )
}

fn now() -> Timestamp {
    Timestamp::from_unix(4_000_000_000)
}

fn outcome(insights: &str) -> Result<Option<Vec<u8>>, String> {
    let files = Files {
        insights: Some(insights.into()),
        ..embedded()
    };
    decode(files, now())
        .map(|decoded| decoded.dataset.insights)
        .map_err(|problems| crate::dataset::tests::without_positions(&problems))
}

#[test]
fn a_complete_document_is_accepted_and_kept_byte_for_byte() {
    let (document, _) = document();
    assert_eq!(outcome(&document), Ok(Some(document.into_bytes())));
}

#[test]
fn the_derived_document_of_the_sample_is_accepted() {
    let dataset = decode(embedded(), now())
        .expect("the sample is valid")
        .dataset;
    let options = insights::Options {
        threads: std::num::NonZeroUsize::MIN,
        mentions_min: 1,
    };
    let document = String::from_utf8(insights::document(&dataset, &options).bytes).expect("UTF-8");
    assert_eq!(outcome(&document), Ok(Some(document.into_bytes())));
}

/// What is replaced in the document, by what, and what is said of it.
const FAULTS: &str = r##"
"version":1, =>  => version: is missing
"version":1 => "version":0 => version: 0 is not from 1 to 9007199254740991
"topics":[] => "topics":{} => topics: an object is not an array
"topics":[] => "topics":[{"a":1,"a":2}] => topics[0].a: is given twice
"trend":null => "trend":1 => temporal.trend: 1 is not a string
"overall_sentiment":{"score": => "overall_sentiment":{"score":2 => overall_sentiment.score: 2
"positive_pct":100.0,"score" => "positive_pct":101,"score" => aspects[0].positive_pct: 101 is not a number from 0 to 100
"start":0,"end":2 => "start":2,"end":2 => aspects[0].evidence[0]: ranges from 2 to 2 in a text of
"start":0,"end":2 => "start":0,"end":99999 => aspects[0].evidence[0]: ranges from 0 to 99999 in a text of
"review_id":" => "review_id":"zz => aspects[0].evidence[0].review_id: "zz
"per_review":{ => "per_review":{"zz":{"sentiment":null,"score":null,"aspects":[],"technicians":[],"services":[]}, => per_review.zz: is not the id of a review
"method":{ => "method":{"accuracy":1, => method.accuracy: is given twice
"pull_quote": => "extra":1,"pull_quote": => extra: is not a known key
"##;

#[test]
fn each_fault_is_refused_in_its_own_words() {
    let (document, _) = document();
    for line in FAULTS.lines().filter(|line| !line.is_empty()) {
        let fields: Vec<&str> = line.split(" => ").collect();
        let changed = document.replacen(fields[0], fields[1], 1);
        assert_ne!(changed, document, "{line}");
        let error = outcome(&changed).expect_err("refused");
        let expected = format!("insights.json: {}", fields[2]);
        assert!(error.starts_with(&expected), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}
