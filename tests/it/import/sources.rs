//! How each kind of export is imported, and which sources and rows are refused.

use std::fs;

use serde_json::json;

use super::{Folder, fixture, reasons, values};
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
    ("woocommerce.jsonl", &["--verified"]),
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
fn exports_are_imported_as_in_the_golden_file() {
    let mut golden = String::new();
    for (name, flags) in EXPORTS {
        let source = fixture(name);
        let (folder, report) = Folder::with(&[&[source.as_str()], *flags].concat());
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
        let keys: Vec<&str> = "author rating date text source source_url verified"
            .split(' ')
            .collect();
        for review in &folder.reviews() {
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
    let api = fixture("google.json");
    let takeout = fixture("takeout.json");
    let (folder, report) = Folder::with(&[&api, &takeout, "--verified"]);
    let found = folder.reviews();
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
    let (other, _) = Folder::with(&[&takeout, &api, "--verified"]);
    assert_eq!(other.reviews(), found);
}

#[test]
fn a_takeout_without_pictures_removes_none_and_a_translation_is_kept() {
    let (folder, _) = Folder::with(&[&fixture("google.json")]);
    let first = folder.reviews();
    let keys = ["text", "translation", "author_avatar_url"];
    let expected = json!([
        "Me explicaron cada formulario.",
        "They explained every form.",
        "https://lh3.googleusercontent.example/a/one"
    ]);
    assert_eq!(values(&first[1], &keys), expected);
    folder.import(&[&fixture("google.json")]);
    assert_eq!(folder.reviews(), first);
    let report = folder.import(&[&fixture("takeout.json")]);
    assert_eq!(report["sources"][0]["changed"], 1, "{report}");
    assert_eq!(folder.each("author_avatar_url")[1], expected[2]);
}

#[test]
fn a_review_that_its_platform_hides_later_is_no_longer_published() {
    let folder = Folder::new();
    let table = |status: &str| {
        format!("id,name,stars,date,text,status\n1,Ann,5,2024-03-04,Good.,{status}\n")
    };
    let source = folder.file("a.csv", table("published"));
    let report = folder.import(&[&source, "--verified"]);
    assert_eq!(report["published_count"], 1);
    let hidden = folder.file("b.csv", table("spam"));
    let said = "\n0 of 1 are published; hidden at their source: 1\n";
    folder.says(&[&hidden, "--verify-existing"], 0, said);
    let said = "\n1 of 1 are published; already in the data directory, and new on the pages: 1\n";
    folder.says(&[&source, "--verify-existing"], 0, said);
}

#[test]
fn a_channel_is_not_a_source_and_the_flag_takes_precedence() {
    let table = "name,stars,date,text,source\n\
        Ann,5,2024-03-04,Good.,email\nBob,4,2024-03-05,Fair.,Yelp\n";
    for (flags, expected) in [
        (&[][..], ["Yelp", "import"]),
        (&["--source", "provenexpert"], ["provenexpert"; 2]),
    ] {
        let folder = Folder::new();
        let source = folder.file("a.csv", table);
        folder.import(&[&[source.as_str()], flags].concat());
        assert_eq!(folder.each("source"), expected);
    }
}

#[test]
fn a_mapping_names_columns_and_reaches_into_objects() {
    let object = r#"{"user":{"name":"Ann"},"stars":5,"posted":"2024-03-04","text":"Good."}"#;
    let table = "Who,Points,date\nAnn,5,2024-03-04\n";
    for (text, mapping) in [
        (object, "author=user.name"),
        (table, "author=Who,rating=Points"),
    ] {
        let folder = Folder::new();
        folder.import(&[&folder.file("a", text), "--map", mapping, "--no-text"]);
        assert_eq!(folder.each("author"), ["Ann"], "{mapping}");
    }
    let folder = Folder::new();
    let table = folder.file("a.csv", "Who,Points\nAnn,5\n");
    let why = "--map author=Name: there is no such column; the columns are \"Who\", \"Points\"";
    folder.says(&[&table, "--map", "author=Name"], 65, why);
}

#[test]
fn another_reviewds_reviews_keep_their_ids() {
    let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/data/reviews.json");
    let (folder, report) = Folder::with(&[sample]);
    assert_eq!(report["sources"][0]["kind"], "reviewd");
    let keys = ["review_count", "published_count"];
    assert_eq!(values(&report, &keys), json!([213, 207]));
    let report = folder.import(&[sample]);
    assert_eq!(report["sources"][0]["unchanged"], 213);
}

#[test]
fn unreadable_sources_end_the_import_with_a_remedy() {
    let folder = Folder::new();
    let whole = fs::read_to_string(fixture("google.json")).unwrap();
    let head = "id,author,rating,date,text\n1,Renée,5,2024-03-04,Good.\n2,";
    let wrong = [head.as_bytes(), b"Bj\xF6rn,5,2024-03-05,Good.\n"].concat();
    let marked = [b"\xEF\xBB\xBF", &wrong[..]].concat();
    let open = format!("{head}Bob,1,2024-03-05,\"Bad.\n3,Cy,3,2024-03-06,Fair.\n");
    let not_utf8 = "a.csv: line 3: is not entirely UTF-8: set the encoding with --encoding";
    let ours = br#"{"type":"FeatureCollection","features":[{"geometry":{"type":"Point"}}]}"#;
    let no_author = "line 1: no known column contains the author: set it with --map author=COLUMN; the columns are \"Who\", ";
    let table: [(&[u8], &str); 13] = [
        (b"Who,Points,date\nAnn,5,2024-03-04\n", no_author),
        (
            b"PK\x03\x04\x14\0\x06",
            "is an archive, but not a readable workbook",
        ),
        (b"\x1F\x8B\x08\0\0\0", "is compressed: unpack it"),
        (&whole.as_bytes()[..whole.len() - 100], "is truncated"),
        (b"[\n{\"stars\":5}]\n]", "line 3: is not readable JSON"),
        (
            b"<!doctype html>",
            "is a web page without reviews in its linked data",
        ),
        (b"<a><b></a>", "line 1: is not valid XML"),
        (b"a\nbc\0d", "line 2: has a zero byte"),
        (ours, "is Google Maps' list of the reviews that you wrote"),
        (b"", "is empty: a table begins with a row"),
        (open.as_bytes(), "line 3: a quotation mark opens here"),
        (&wrong, not_utf8),
        (&marked, not_utf8),
    ];
    for (bytes, why) in table {
        folder.says(&[&folder.file("a.csv", bytes)], 65, why);
        assert!(folder.reviews().is_empty());
    }
    let source = folder.file("a.csv", &wrong);
    folder.says(&[&source, "--encoding", "windows-1252", "--dry-run"], 0, "");
}

#[test]
fn a_row_whose_quotation_mark_closes_too_early_is_refused() {
    let folder = Folder::new();
    let table = "id,author,rating,date,text\n\
        1,Ann,5,2024-03-04,\"So \"good\" it is.\"\n\
        2,\"Bob\",1,2024-03-05,\"Bad.\n\
        3,Cy,3,2024-03-06,\"Fair.\"\n\
        4,Dee,5,2024-03-07,\"A \"\"fine\"\" firm\"\n";
    let report = folder.import(&[&folder.file("a.csv", table)]);
    let why = "a quotation mark that opens here closes in the middle of a column; is one missing, or not doubled?";
    assert_eq!(reasons(&report), [format!("2: {why}"), format!("3: {why}")]);
    assert_eq!(folder.each("text"), ["A \"fine\" firm"]);
}
