//! The forms of JSON sources: one document, several, an array, one object per line, one page per line.

use serde_json::{Value, json};

use super::{Folder, reasons};

const GOOGLE: [&str; 2] = [
    r#"{"reviewId":"a","reviewer":{"displayName":"Ann"},"starRating":"FIVE","comment":"Good.","createTime":"2024-03-04T00:00:00Z"}"#,
    r#"{"reviewId":"b","reviewer":{"displayName":"Bob"},"starRating":"ONE","comment":"Bad.","createTime":"2024-03-05T00:00:00Z"}"#,
];
const OURS: [&str; 2] = [
    r#"{"id":"a","author":"Ann","author_avatar_url":null,"rating":5,"date":"2024-03-04","text":"Good.","source":"google","source_url":null,"owner_reply":null,"verified":true}"#,
    r#"{"id":"b","author":"Bob","author_avatar_url":null,"rating":1,"date":"2024-03-05","text":"Bad.","source":"google","source_url":null,"owner_reply":{"text":"Sorry.","date":"2024-03-06"},"verified":true}"#,
];
/// Of no known platform, although it has an owner's reply and nested lists.
const ANY: [&str; 2] = [
    r#"{"user":"Ann","stars":5,"posted":"2024-03-04","text":"Good.","owner_reply":null,"items":[{"sku":1}],"data":{"results":[]}}"#,
    r#"{"user":"Bob","stars":1,"posted":"2024-03-05","text":"Bad.","owner_reply":"Sorry.","items":[],"data":null}"#,
];

#[test]
fn each_kind_of_source_gives_the_same_reviews_in_every_form() {
    for (kind, [one, two]) in [
        ("Google Business Profile", GOOGLE),
        ("reviewd", OURS),
        ("JSON", ANY),
    ] {
        let mut first: Option<Vec<Value>> = None;
        for text in [
            format!("{one}\n{two}\n"),
            format!("\n{one}\r\n\r\n{two}"),
            format!("[{one},{two}]"),
            format!("[\n  {one},\n  {two}\n]\n"),
            format!("[{one}]\n[{two}]\n"),
            format!("{{\"reviews\":[{one},{two}]}}"),
            format!("{{\n\"count\":2,\n\"items\":[\n{one},{two}]}}"),
            format!("{{\"reviews\":[{one}],\"next\":\"x\"}}\n{{\"reviews\":[{two}]}}\n"),
            format!("{{\n\"reviews\":[{one}]\n}}\n{{\n\"reviews\":[{two}]\n}}\n"),
        ] {
            let folder = Folder::new();
            let report = folder.import(&[&folder.file("a", &text)]);
            assert_eq!(report["sources"][0]["kind"], kind, "{text}");
            assert_eq!(report["rejected_count"], 0, "{report} {text}");
            let found = folder.reviews();
            assert_eq!(found.len(), 2, "{text}");
            assert_eq!(*first.get_or_insert_with(|| found.clone()), found, "{text}");
        }
    }
}

#[test]
fn lines_of_every_kind_are_refused_one_by_one() {
    let google = "2: is not a review of Google: it has no starRating";
    let ours = "2: is not a review of reviewd: it has no id or no rating";
    let any = "2: author: is missing; rating: is missing; date: is missing";
    for (kind, [one, two], refused) in [
        ("google", GOOGLE, google),
        ("reviewd", OURS, ours),
        ("jsonl", ANY, any),
    ] {
        let folder = Folder::new();
        let text = format!("{one}\n{{\"other\":1}}\n{{\"half\n{two}\n");
        let report = folder.import(&[&folder.file("a.jsonl", text), "--from", kind]);
        let reasons = reasons(&report);
        assert_eq!((folder.reviews().len(), &*reasons[0]), (2, refused));
        assert!(reasons[1].starts_with("3: is not JSON: "), "{reasons:?}");
    }
}

#[test]
fn values_that_are_lists_or_objects_are_refused_and_erase_nothing() {
    let folder = Folder::new();
    let kept = json!(["Good.", "Thanks."]);
    let fine = json!(["Fine.", "Thank you."]);
    // If the first key has no value, the next key is used. An empty list counts as no value.
    let text = r#"{"text":null,"value":"Fine."}"#;
    let reply = r#"{"value":"Thank you."}"#;
    let english = r#"{"en":"Thanks","de":"Danke"}"#;
    for (text, reply, why, expected) in [
        ("\"Good.\"", "\"Thanks.\"", "", &kept),
        (r#"["a","b"]"#, "null", "text: is an array", &kept),
        (
            r#"{"en":"Good.","de":"Gut."}"#,
            "null",
            "text: is an object",
            &kept,
        ),
        ("\"Good.\"", english, "owner_reply: is an object", &kept),
        (text, reply, "", &fine),
        ("\"Fine.\"", "[]", "", &json!(["Fine.", null])),
    ] {
        let person = r#""id":"1","author":"Ann","rating":5,"date":"2024-03-04""#;
        let review = format!(r#"{{{person},"text":{text},"owner_reply":{reply}}}"#);
        let report = folder.import(&[&folder.file("a.jsonl", review)]);
        let refused = (!why.is_empty()).then(|| format!("1: {why}, not a text"));
        assert_eq!(report["status"], if why.is_empty() { 0 } else { 65 });
        assert_eq!(reasons(&report), Vec::from_iter(refused));
        let found = &folder.reviews()[0];
        let found = json!([found["text"], found["owner_reply"]["text"]]);
        assert_eq!(found, *expected);
    }
}
