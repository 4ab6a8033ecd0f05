//! What each kind of export becomes.

use serde_json::json;

use super::{file, fixture, import, imported, reasons, reviews, says, values};

#[test]
fn a_trustpilot_export_brings_titles_replies_and_days() {
    let (_folder, report, reviews) = imported(&[&fixture("trustpilot.csv")]);
    assert_eq!(report["sources"][0]["kind"], "Trustpilot CSV");
    assert_eq!(values(&reviews[0], &["text", "rating"]), json!(["Slow", 2]));
    let keys = [
        "text",
        "author",
        "date",
        "source",
        "owner_reply",
        "verified",
        "language",
    ];
    // The headline is the beginning of the words, so it is not said twice.
    let expected = json!([
        "Kept me informed at every step.\n\nThe bill was what they said, \"to the cent\".",
        "Renée Achterberg",
        "2024-03-04",
        "trustpilot",
        {"text": "Thank you, Renée.", "date": "2024-03-05"},
        false,
        "en"
    ]);
    assert_eq!(values(&reviews[1], &keys), expected);
}

#[test]
fn googles_api_and_takeout_are_one_source_and_the_later_version_counts() {
    let (api, takeout) = (fixture("google.json"), fixture("takeout.json"));
    let (_folder, report, found) = imported(&[&api, &takeout, "--verified"]);
    let why = "16: rating: \"STAR_RATING_UNSPECIFIED\" is not from 1 to 5 stars";
    assert_eq!(reasons(&report), [why]);
    assert_eq!(report["published_count"], 2);
    let keys = ["author", "text", "owner_reply"];
    assert_eq!(values(&found[0], &keys), json!(["A Google user", "", null]));
    let edited = "Me explicaron cada formulario. Edit: one call came late.";
    let expected = json!([edited, 4, "2025-01-01"]);
    assert_eq!(values(&found[1], &["text", "rating", "date"]), expected);
    assert_eq!(found[1]["owner_reply"]["date"], "2025-03-10");
    // The order of sources does not matter.
    assert_eq!(imported(&[&takeout, &api, "--verified"]).2, found);
}

#[test]
fn a_takeout_without_pictures_removes_none_and_a_translation_is_kept() {
    let (folder, _, first) = imported(&[&fixture("google.json")]);
    let keys = ["text", "translation", "author_avatar_url"];
    let expected = json!([
        "Me explicaron cada formulario.",
        "They explained every form.",
        "https://lh3.googleusercontent.example/a/one"
    ]);
    assert_eq!(values(&first[1], &keys), expected);
    import(folder.path(), &[&fixture("google.json")]);
    assert_eq!(reviews(folder.path()), first);
    let (_, report) = import(folder.path(), &[&fixture("takeout.json")]);
    assert_eq!(report["sources"][0]["changed"], 1, "{report}");
    assert_eq!(reviews(folder.path())[1]["author_avatar_url"], expected[2]);
}

#[test]
fn a_european_spreadsheet_is_read_as_it_is_meant() {
    let (_folder, report, reviews) =
        imported(&[&fixture("european.csv"), "--source", "ProvenExpert"]);
    let keys = ["encoding", "delimiter", "date_order"];
    let expected = json!(["windows-1252", ";", "day/month/year"]);
    assert_eq!(values(&report["sources"][0], &keys), expected);
    assert_eq!(reasons(&report), ["4: rating: is missing"]);
    let keys = ["author", "text", "date", "rating", "source", "owner_reply"];
    let first = json!(["Gut & schnell.\n\nGerne wieder.", "2024-04-13", 4]);
    assert_eq!(values(&reviews[0], &keys[1..4]), first);
    let expected = json!([
        "Jürgen Weiß",
        "Sehr gut;\nwirklich „sehr“ gut.",
        "2024-04-03",
        5,
        "ProvenExpert",
        {"text": "Danke!", "date": "2024-04-03"}
    ]);
    assert_eq!(values(&reviews[1], &keys), expected);
}

#[test]
fn an_american_spreadsheet_is_read_as_it_is_meant() {
    let (_folder, report, found) = imported(&[&fixture("american.csv")]);
    assert_eq!(report["sources"][0]["date_order"], "month/day/year");
    let refused = [
        "8: rating: \"4.5\" is not a whole number of stars",
        "9: date: \"02/30/2024\" is not a day that exists, read as month/day/year",
    ];
    assert_eq!(reasons(&report), refused);
    let keys = ["text", "verified"];
    assert_eq!(
        values(&found[0], &["text", "date"]),
        json!(["Gut", "2024-03-05"])
    );
    assert_eq!(
        values(&found[1], &keys),
        json!(["Good, \"very\" good", true])
    );
    assert_eq!(values(&found[2], &keys), json!(["I <3 this firm", false]));
}

#[test]
fn a_mapping_reaches_into_objects() {
    let folder = tempfile::tempdir().unwrap();
    let line = r#"{"user":{"name":"Ann"},"stars":5,"posted":"2024-03-04","text":"Good."}"#;
    let source = file(folder.path(), "a.jsonl", line);
    let (_folder, _, reviews) = imported(&[&source, "--map", "author=user.name"]);
    assert_eq!(reviews[0]["author"], "Ann");
}

#[test]
fn another_reviewds_reviews_keep_their_ids() {
    let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/data/reviews.json");
    let (folder, report, _) = imported(&[sample]);
    assert_eq!(report["sources"][0]["kind"], "reviewd");
    let keys = ["review_count", "published_count"];
    assert_eq!(values(&report, &keys), json!([213, 207]));
    let (_, report) = import(&folder.path().join("."), &[sample]);
    assert_eq!(report["sources"][0]["unchanged"], 213);
}

#[test]
fn sources_that_cannot_be_read_end_the_import_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let whole = std::fs::read_to_string(fixture("google.json")).unwrap();
    let mut wrong = "id,author,rating,date,text\n1,Renée,5,2024-03-04,Good.\n2,Bj"
        .as_bytes()
        .to_vec();
    wrong.extend_from_slice(b"\xF6rn,5,2024-03-05,Good.\n");
    let marked = [b"\xEF\xBB\xBF", &wrong[..]].concat();
    let not_utf8 = "a.csv: line 3: is not UTF-8 throughout: name the encoding with --encoding";
    for (bytes, why) in [
        (&b"Who,Points,date\nAnn,5,2024-03-04\n"[..], "line 1: no column is known to hold the author: name it with --map author=COLUMN; the columns are \"Who\", "),
        (b"PK\x03\x04\x14\0\x06", "is an archive, and no workbook (.xlsx) that can be read: "),
        (b"\x1F\x8B\x08\0\0\0", "is compressed: unpack it"),
        (&whole.as_bytes()[..whole.len() - 100], "ends too early"),
        (b"[\n{\"stars\":5}]\n]", "line 3: is not JSON that can be read"),
        (b"<!doctype html>", "is a web page or XML: export the reviews as a table"),
        (b"abc\0d", "holds zero bytes"),
        (
            br#"{"type":"FeatureCollection","features":[{"geometry":{"type":"Point"}}]}"#,
            "is Google Maps' list of the reviews that you wrote about others",
        ),
        (b"", "is empty: a table begins with a row that names its columns"),
        (
            b"id,author,rating,date,text\n1,Ann,5,2024-03-04,Good.\n2,Bob,1,2024-03-05,\"Bad.\n3,Cy,3,2024-03-06,Fair.\n",
            "a.csv: line 3: a quotation mark opens here and is never closed",
        ),
        (&wrong, not_utf8),
        (&marked, not_utf8),
    ] {
        let source = file(folder.path(), "a.csv", bytes);
        says(folder.path(), &[&source], 65, why);
        assert!(reviews(folder.path()).is_empty());
    }
    let source = file(folder.path(), "a.csv", &wrong);
    imported(&[&source, "--encoding", "windows-1252", "--dry-run"]);
    let source = file(
        folder.path(),
        "b.csv",
        "Who,Points,date\nAnn,5,2024-03-04\n",
    );
    let (_folder, report, _) = imported(&[&source, "--map", "author=Who,rating=Points"]);
    assert_eq!(report["sources"][0]["columns"]["author"], "Who");
}

#[test]
fn a_row_whose_quotation_mark_closes_too_early_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let table = "id,author,rating,date,text\n1,Ann,5,2024-03-04,\"So \"good\" it is.\"\n2,\"Bob\",1,2024-03-05,\"Bad.\n3,Cy,3,2024-03-06,\"Fair.\"\n4,Dee,5,2024-03-07,\"A \"\"fine\"\" firm\"\n";
    let (_folder, report, reviews) = imported(&[&file(folder.path(), "a.csv", table)]);
    let why = "a quotation mark opens here that closes in the middle of a column; is one missing, or not doubled?";
    assert_eq!(reasons(&report), [format!("2: {why}"), format!("3: {why}")]);
    assert_eq!(reviews[0]["text"], "A \"fine\" firm");
    assert_eq!(reviews.len(), 1);
}

#[test]
fn ambiguous_dates_are_refused_until_a_format_says_which() {
    let source = fixture("ambiguous.csv");
    let (_folder, report, _) = imported(&[&source, "--dry-run"]);
    let why = "2: date: \"03/04/2024\" could be day/month or month/day: say which with --date-format dmy or mdy";
    assert_eq!(reasons(&report), [why]);
    for (order, date) in [("dmy", "2024-04-03"), ("%m/%d/%Y", "2024-03-04")] {
        let (_folder, _, reviews) = imported(&[&source, "--date-format", order]);
        assert_eq!(reviews[1]["date"], date);
    }
}
