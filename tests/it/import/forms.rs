//! The forms in which JSON comes: a document, several, an array, one object a line, one page a line.

use serde_json::{Value, json};

use super::{file, import, raw, reasons, reviews};

const GOOGLE: [&str; 2] = [
    r#"{"reviewId":"a","reviewer":{"displayName":"Ann"},"starRating":"FIVE","comment":"Good.","createTime":"2024-03-04T00:00:00Z"}"#,
    r#"{"reviewId":"b","reviewer":{"displayName":"Bob"},"starRating":"ONE","comment":"Bad.","createTime":"2024-03-05T00:00:00Z"}"#,
];
const OURS: [&str; 2] = [
    r#"{"id":"a","author":"Ann","author_avatar_url":null,"rating":5,"date":"2024-03-04","text":"Good.","source":"google","source_url":null,"owner_reply":null,"verified":true}"#,
    r#"{"id":"b","author":"Bob","author_avatar_url":null,"rating":1,"date":"2024-03-05","text":"Bad.","source":"google","source_url":null,"owner_reply":{"text":"Sorry.","date":"2024-03-06"},"verified":true}"#,
];
const LINKED: [&str; 2] = [
    r#"{"@type":"Review","author":"Ann","reviewRating":{"ratingValue":5},"datePublished":"2024-03-04","reviewBody":"Good."}"#,
    r#"{"@type":"Review","author":"Bob","reviewRating":{"ratingValue":1},"datePublished":"2024-03-05","reviewBody":"Bad."}"#,
];
/// Nobody's in particular, though it has a reply of the owner and lists of its own.
const ANY: [&str; 2] = [
    r#"{"user":"Ann","stars":5,"posted":"2024-03-04","text":"Good.","owner_reply":null,"items":[{"sku":1}],"data":{"results":[]}}"#,
    r#"{"user":"Bob","stars":1,"posted":"2024-03-05","text":"Bad.","owner_reply":"Sorry.","items":[],"data":null}"#,
];

#[test]
fn each_kind_is_the_same_in_every_form() {
    for (kind, [one, two]) in [
        ("Google Business Profile", GOOGLE),
        ("reviewd", OURS),
        ("schema.org JSON-LD", LINKED),
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
            let folder = tempfile::tempdir().unwrap();
            let (status, report) = import(folder.path(), &[&file(folder.path(), "a", &text)]);
            assert_eq!(status, Some(0), "{report} {text}");
            assert_eq!(report["sources"][0]["kind"], kind, "{text}");
            assert_eq!(report["refused_count"], 0, "{report} {text}");
            let found = reviews(folder.path());
            assert_eq!(found.len(), 2, "{text}");
            assert_eq!(*first.get_or_insert_with(|| found.clone()), found, "{text}");
        }
    }
}

#[test]
fn a_reply_of_the_owner_does_not_make_another_reviewds_lines_of_any_lines() {
    let folder = tempfile::tempdir().unwrap();
    let source = file(folder.path(), "a.jsonl", ANY.join("\n"));
    let (_, report) = import(folder.path(), &[&source]);
    assert_eq!(report["review_count"], 2, "{report}");
    assert_eq!(
        reviews(folder.path())[0]["owner_reply"],
        json!({"text": "Sorry.", "date": "2024-03-05"})
    );
}

#[test]
fn lines_of_every_kind_are_refused_one_by_one() {
    for (kind, [one, two], refused) in [
        (
            "google",
            GOOGLE,
            "2: is no review of Google: it has no starRating",
        ),
        (
            "reviewd",
            OURS,
            "2: is no review of reviewd: it has no id or no rating",
        ),
        (
            "jsonl",
            ANY,
            "2: author: is missing; rating: is missing; date: is missing",
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let text = format!("{one}\n{{\"other\":1}}\n{{\"half\n{two}\n");
        let source = file(folder.path(), "a.jsonl", text);
        let (status, report) = import(folder.path(), &[&source, "--from", kind]);
        assert_eq!((status, &report["review_count"]), (Some(0), &json!(2)));
        let reasons = reasons(&report);
        assert_eq!(reasons[0], refused);
        assert!(reasons[1].starts_with("3: is not JSON: "), "{reasons:?}");
    }
}

#[test]
fn objects_of_several_lines_each_are_refused_with_the_forms_that_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let source = file(
        folder.path(),
        "a.json",
        "{\n\"stars\":5\n}\n{\n\"stars\":4\n}\n",
    );
    let output = raw(folder.path(), &[&source]);
    assert_eq!(output.status.code(), Some(65));
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        message.contains("holds no list of reviews: neither an array, nor one under reviews, locationReviews, data, items, results, response, nor one object a line"),
        "{message}"
    );
}

#[test]
fn what_follows_a_document_is_read_or_ends_the_import() {
    let folder = tempfile::tempdir().unwrap();
    let text = format!("[\n{}]\n]", GOOGLE[0]);
    let output = raw(folder.path(), &[&file(folder.path(), "a.json", text)]);
    assert_eq!(output.status.code(), Some(65));
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        message.contains("line 3: is not JSON that can be read"),
        "{message}"
    );
    assert!(!folder.path().join("reviews.json").exists());
}

#[test]
fn what_is_no_single_value_is_refused_and_erases_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let review = |text: &str, reply: &str| {
        format!(
            r#"{{"id":"1","author":"Ann","rating":5,"date":"2024-03-04","text":{text},"owner_reply":{reply}}}"#
        )
    };
    let source = file(folder.path(), "a.jsonl", review("\"Good.\"", "\"Thanks.\""));
    import(folder.path(), &[&source]);
    for (text, reply, why) in [
        (r#"["a","b"]"#, "null", "text: is an array, not a text"),
        (
            r#"{"en":"Good."}"#,
            "null",
            "text: is an object, not a text",
        ),
        (r#"{"text":["a"]}"#, "null", "text: is an array, not a text"),
        (
            "\"Good.\"",
            r#"["Thanks"]"#,
            "owner_reply: is an array, not a text",
        ),
        (
            "\"Good.\"",
            r#"{"en":"Thanks"}"#,
            "owner_reply: is an object, not a text",
        ),
    ] {
        let source = file(folder.path(), "b.jsonl", review(text, reply));
        let (status, report) = import(folder.path(), &[&source]);
        assert_eq!(status, Some(65), "{report}");
        assert_eq!(reasons(&report), [format!("1: {why}")]);
        let kept = &reviews(folder.path())[0];
        assert_eq!(kept["text"], "Good.");
        assert_eq!(kept["owner_reply"]["text"], "Thanks.");
    }
    let said = review(
        r#"{"text":null,"value":"Fine."}"#,
        r#"{"value":"Thank you."}"#,
    );
    let source = file(folder.path(), "c.jsonl", said);
    let (status, report) = import(folder.path(), &[&source]);
    assert_eq!(status, Some(0), "{report}");
    let kept = &reviews(folder.path())[0];
    assert_eq!(kept["text"], "Fine.");
    assert_eq!(kept["owner_reply"]["text"], "Thank you.");
    let source = file(folder.path(), "d.jsonl", review("\"Fine.\"", "[]"));
    import(folder.path(), &[&source]);
    let kept = &reviews(folder.path())[0];
    assert_eq!(
        kept["owner_reply"],
        serde_json::Value::Null,
        "an empty list is none"
    );
}

#[test]
fn every_kind_of_json_refuses_what_is_no_single_value() {
    let folder = tempfile::tempdir().unwrap();
    for (kind, review, why) in [
        (
            "google",
            r#"{"reviewId":"1","starRating":"FIVE","reviewer":{"displayName":"Ann"},"createTime":"2024-03-04T00:00:00Z","comment":["a","b"]}"#,
            "text: is an array, not a text",
        ),
        (
            "google",
            r#"{"reviewId":"1","starRating":"FIVE","reviewer":{"displayName":"Ann"},"createTime":"2024-03-04T00:00:00Z","comment":"a","reviewReply":["b"]}"#,
            "owner_reply: is an array, not a text",
        ),
        (
            "reviewd",
            r#"{"id":"a","author":"Ann","rating":5,"date":"2024-03-04","text":"Good.","source":"google","owner_reply":{"text":{"en":"b"},"date":"2024-03-04"}}"#,
            "owner_reply: is an object, not a text",
        ),
        (
            "jsonld",
            r#"{"@type":"Review","@id":"https://a.example/1","author":"Ann","datePublished":"2024-03-04","reviewRating":5,"reviewBody":["a","b"]}"#,
            "text: is an array, not a text",
        ),
        (
            "jsonld",
            r#"{"@type":"Review","@id":"https://a.example/1","author":"Ann","datePublished":"2024-03-04","reviewRating":5,"reviewBody":{"en":"a"}}"#,
            "text: is an object, not a text",
        ),
    ] {
        let source = file(folder.path(), "a.json", format!("[{review}]"));
        let (status, report) = import(folder.path(), &[&source, "--from", kind]);
        assert_eq!(status, Some(65), "{kind}: {report}");
        assert_eq!(reasons(&report), [format!("1: {why}")], "{kind}");
    }
}

#[test]
fn a_later_word_for_earlier_reviews_publishes_them() {
    let folder = tempfile::tempdir().unwrap();
    let source = file(
        folder.path(),
        "a.csv",
        "id,author,rating,date,text\n1,Ann,5,2024-03-04,Good.\n2,Bob,1,2024-03-05,Bad.\n",
    );
    let output = raw(folder.path(), &[&source]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        text.ends_with("or import again with --verify-existing\n"),
        "{text}"
    );
    let (_, report) = import(folder.path(), &[&source, "--verified"]);
    assert_eq!(report["published_count"], 0, "set by hand, perhaps");
    let output = raw(folder.path(), &[&source, "--verify-existing"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        text.ends_with(
            "2 of those that were there newly verified\n2 reviews: 2 published, 0 not published\n"
        ),
        "{text}"
    );
    let (_, report) = import(folder.path(), &[&source, "--verify-existing"]);
    assert_eq!(
        (&report["written"], &report["newly_verified_count"]),
        (&false.into(), &0.into())
    );
}
