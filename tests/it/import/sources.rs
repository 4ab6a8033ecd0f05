//! What each kind of export becomes, and which sources and rows are refused.

use std::fs;

use serde_json::json;

use super::{file, fixture, import, imported, reasons, reviews, says, values};
use crate::help::assert_golden;

/// Exports in `tests/fixtures/import` with the flags of their import. Those of platforms hold e-mail and IP addresses,
/// and reviews that the platform does not publish.
const EXPORTS: &[(&str, &[&str])] = &[
    ("trustpilot.csv", &[]),
    ("loox.csv", &["--verified"]),
    ("okendo.csv", &["--verified"]),
    ("shopify.csv", &["--verified"]),
    ("stamped.csv", &["--verified"]),
    ("reviews-io.csv", &["--verified"]),
    ("woocommerce.csv", &["--verified"]),
    ("judge-me.csv", &["--verified"]),
    ("yotpo.csv", &["--verified"]),
    ("facebook.json", &[]),
    ("facebook.json", &["--map", "rating=recommendation_type"]),
    ("status.csv", &["--verified"]),
    ("european.csv", &["--source", "ProvenExpert"]),
    ("american.csv", &[]),
    ("ambiguous.csv", &[]),
    ("ambiguous.csv", &["--date-format", "dmy"]),
    ("ambiguous.csv", &["--date-format", "%m/%d/%Y"]),
    ("workbook.xlsx", &[]),
];

#[test]
fn each_export_becomes_what_the_golden_file_says() {
    let mut golden = String::new();
    for (name, flags) in EXPORTS {
        let source = fixture(name);
        let (folder, report, reviews) = imported(&[&[source.as_str()], *flags].concat());
        let written = fs::read_to_string(folder.path().join("reviews.json")).unwrap();
        for address in ["@", "203.0.113.", "2001:db8:"] {
            assert!(!written.contains(address), "{address} is in {written}");
        }
        let keys = ["kind", "encoding", "delimiter", "date_order"];
        let shape = values(&report["sources"][0], &keys);
        let hidden = &report["hidden_count"];
        let run = [&[*name], *flags].concat().join(" ");
        golden += &format!("{run}\n{shape}, {hidden} hidden\n");
        for refused in reasons(&report) {
            golden += &format!("  {refused}\n");
        }
        let keys = [
            "author",
            "rating",
            "date",
            "text",
            "source",
            "source_url",
            "verified",
        ];
        for review in &reviews {
            golden += &format!("  {}\n", values(review, &keys));
            for key in ["owner_reply", "language"] {
                if !review[key].is_null() {
                    golden += &format!("    {}\n", review[key]);
                }
            }
        }
    }
    assert_golden("import.txt", &golden);
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
fn a_review_that_its_platform_hides_later_is_no_longer_published() {
    let folder = tempfile::tempdir().unwrap();
    let table = |status: &str| {
        format!("id,name,stars,date,text,status\n1,Ann,5,2024-03-04,Good.,{status}\n")
    };
    let source = file(folder.path(), "a.csv", table("published"));
    let (_, report) = import(folder.path(), &[&source, "--verified"]);
    assert_eq!(report["published_count"], 1);
    let source = file(folder.path(), "b.csv", table("spam"));
    says(
        folder.path(),
        &[&source, "--verify-existing"],
        0,
        "\n0 of 1 are verified and so published; 0 newly verified, 1 hidden at their source\n",
    );
}

#[test]
fn a_channel_is_no_platform_and_the_flag_wins() {
    let folder = tempfile::tempdir().unwrap();
    let table =
        "name,stars,date,text,source\nAnn,5,2024-03-04,Good.,email\nBob,4,2024-03-05,Fair.,Yelp\n";
    let source = file(folder.path(), "a.csv", table);
    for (into, flags, expected) in [
        ("a", &[][..], ["Yelp", "import"]),
        ("b", &["--source", "provenexpert"], ["provenexpert"; 2]),
    ] {
        let into = folder.path().join(into);
        let (status, report) = import(&into, &[&[source.as_str()], flags].concat());
        assert_eq!(status, Some(0), "{report}");
        let found = reviews(&into);
        assert_eq!([&found[0]["source"], &found[1]["source"]], expected);
    }
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
    let address = "https://weiss.example/reviews.csv";
    let remedy = "not fetched: curl -fsS ADDRESS | reviewd import - --into DIR";
    says(folder.path(), &[address], 64, remedy);
    let within = folder.path().to_str().unwrap();
    says(
        folder.path(),
        &[within],
        66,
        "is a directory: name the files in it",
    );
    let source = file(folder.path(), "a.csv", &wrong);
    let mapped = [&source, "--map", "rating=A,rating=B"];
    says(folder.path(), &mapped, 64, "--map: rating is given twice");
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
