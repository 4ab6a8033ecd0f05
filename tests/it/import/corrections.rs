//! What an owner does after a first import: correct it, verify reviews, undo it; and archives as platforms send them.

use std::io::{Cursor, Write};

use serde_json::json;
use zip::write::{SimpleFileOptions, ZipWriter};

use super::{Folder, values};
use crate::support::Server;
use crate::support::program::run;

/// A table whose text column has an unknown name.
const TABLE: &str = "Name,Stars,Date,Words\nAnn,5,2024-03-04,Good.\nBo,2,2024-03-05,Late.\n";

/// Reviews of Google without ids, collected at some time.
fn relative(date: &str, collected: &str) -> String {
    json!({"syncedAt": collected, "reviews": [
        {"name": "Ann", "stars": 5, "text": "Good work.", "date": date}
    ]})
    .to_string()
}

/// An archive of these files.
fn archive(files: &[(&str, &str)]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, text) in files {
        let options = SimpleFileOptions::default();
        writer.start_file(*name, options).expect("a file");
        writer.write_all(text.as_bytes()).expect("memory");
    }
    writer.finish().expect("an archive").into_inner()
}

#[test]
fn a_table_without_a_known_text_stops_and_a_corrected_import_replaces_the_first() {
    let folder = Folder::new();
    let source = folder.file("a.csv", TABLE);
    let why = "set it with --map text=COLUMN, or import stars only with --no-text";
    folder.says(&[&source], 65, why);
    folder.import(&[&source, "--no-text"]);
    assert_eq!(folder.each("text"), ["", ""]);
    let report = folder.import(&[&source, "--map", "text=Words"]);
    let counts = values(&report, &["review_count", "replaced_count"]);
    assert_eq!(counts, json!([2, 2]));
    assert_eq!(folder.each("text"), ["Late.", "Good."]);
    let report = folder.import(&[&source, "--map", "text=Words"]);
    assert_eq!(report["written"], false, "{report}");
}

#[test]
fn an_approximate_date_neither_moves_nor_doubles_a_review() {
    let folder = Folder::new();
    let first = folder.file("a.json", relative("2 months ago", "2025-05-01T00:00:00Z"));
    folder.import(&[&first]);
    let keys = ["date", "date_precision"];
    let stored = json!(["2025-03-01", "month"]);
    assert_eq!(values(&folder.reviews()[0], &keys), stored);
    let later = folder.file("b.json", relative("a year ago", "2026-05-01T00:00:00Z"));
    folder.import(&[&later]);
    assert_eq!(folder.reviews().len(), 1);
    assert_eq!(values(&folder.reviews()[0], &keys), stored);
    // The exact date takes the place of the approximate one, which does not come back.
    let exact = folder.file("c.json", relative("2025-03-04", "2026-05-01T00:00:00Z"));
    for source in [&exact, &first, &later] {
        folder.import(&[source]);
        let found = folder.reviews();
        assert_eq!(found.len(), 1, "{source}");
        assert_eq!(values(&found[0], &keys), json!(["2025-03-04", null]));
    }
}

#[test]
fn reviews_without_dates_are_taken_on_request_in_the_order_of_the_file() {
    let folder = Folder::new();
    let table =
        |first: &str| format!("name,stars,text\n{first}Ann,5,One.\nBo,4,Two.\nCy,3,Three.\n");
    let source = folder.file("a.csv", table(""));
    folder.says(
        &[&source],
        65,
        "take the reviews with the date of the file with --undated",
    );
    let flags = ["--undated", "--as-of", "2026-02-01"];
    folder.import(&[&[source.as_str()], &flags[..]].concat());
    assert_eq!(folder.each("author"), ["Ann", "Bo", "Cy"]);
    let keys = ["date", "date_precision"];
    assert_eq!(
        values(&folder.reviews()[0], &keys),
        json!(["2026-02-01", "unknown"])
    );
    // A later export has a review more, and another day.
    let source = folder.file("b.csv", table("Zoe,5,Zero.\n"));
    let report = folder.import(&[&source, "--undated", "--as-of", "2026-03-01"]);
    assert_eq!(
        values(&report["sources"][0], &["added", "changed"]),
        json!([1, 0])
    );
    assert_eq!(folder.each("author"), ["Zoe", "Ann", "Bo", "Cy"]);
}

#[test]
fn an_import_is_undone_and_redone() {
    let folder = Folder::new();
    let source = folder.file("a.csv", TABLE);
    folder.import(&[&source, "--map", "text=Words"]);
    folder.says(&["--undo"], 0, "reviews.json: restored, updated_at ");
    assert!(folder.reviews().is_empty());
    folder.says(&["--undo"], 0, "restored");
    assert_eq!(folder.reviews().len(), 2);
    let fresh = Folder::new();
    fresh.says(&["--undo"], 66, "there is no previous file to restore");
}

#[test]
fn reviews_are_verified_afterwards() {
    let folder = Folder::new();
    let source = folder.file("a.csv", TABLE);
    folder.import(&[&source, "--map", "text=Words", "--source", "google"]);
    let ids = folder.each("id");
    let verify = |arguments: &[&str], status: i32| {
        run(&[&["verify", "--data", folder.text()], arguments].concat()).with(status)
    };
    let verification = || {
        let found = folder.reviews().into_iter();
        found
            .map(|review| values(&review, &["verified", "verification"]))
            .collect::<Vec<_>>()
    };
    verify(&[ids[0].as_str().expect("an id")], 0);
    assert_eq!(verification(), [json!([true, null]), json!([false, null])]);
    verify(&["--all-from", "Google", "--account"], 0);
    let account = json!({"by": "Google", "method": "account"});
    assert_eq!(
        verification(),
        [json!([false, account]), json!([false, account])]
    );
    let said = verify(&["--all-from", "Google", "--account"], 0);
    assert!(said.contains("nothing to change in 2"), "{said}");
    verify(
        &[
            "--all-from",
            "google",
            "--by",
            "Trustpilot",
            "--method",
            "purchase",
        ],
        0,
    );
    let purchase = json!({"by": "Trustpilot", "method": "purchase"});
    assert_eq!(verification()[0], json!([true, purchase]));
    verify(&["--all-from", "google", "--withdraw"], 0);
    assert_eq!(verification()[0], json!([false, null]));
    let said = verify(&["gone"], 66);
    assert!(said.contains("no review has the id gone"), "{said}");
    let said = verify(&["--all-from", "yelp"], 65);
    assert!(said.contains("the sources are: google"), "{said}");
}

#[test]
fn reviews_of_a_platform_are_published_as_such_until_they_are_hidden_or_verified() {
    let folder = Folder::new();
    let table = |status: &str| {
        format!("id,name,stars,date,text,status\n1,Ann,5,2024-03-04,Good.,{status}\n")
    };
    let shown = folder.file("a.csv", table("published"));
    let flags = ["--source", "google", "--from-platform"];
    let report = folder.import(&[&[shown.as_str()], &flags[..]].concat());
    assert_eq!(report["published_count"], 1);
    let account = json!({"by": "Google", "method": "account"});
    assert_eq!(folder.each("verification"), [account]);
    let hidden = folder.file("b.csv", table("spam"));
    let report = folder.import(&[&[hidden.as_str()], &flags[..]].concat());
    assert_eq!(
        values(&report, &["published_count", "hidden_count"]),
        json!([0, 1])
    );
    folder.import(&[&[shown.as_str()], &flags[..]].concat());
    folder.import(&[&shown, "--source", "google", "--verify-existing"]);
    let found = &folder.reviews()[0];
    assert_eq!(
        values(found, &["verified", "verification"]),
        json!([true, null])
    );
    folder.says(
        &[&shown, "--from-platform"],
        65,
        "\"import\" is not a platform that publishes reviews with an account",
    );
    for own in ["Weiß", "weiss.example", "www.weiss.example"] {
        let said = format!("--source: {own:?} is the business itself, and not a platform");
        folder.says(&[&shown, "--source", own, "--from-platform"], 65, &said);
    }
}

#[test]
fn an_unknown_status_stops_the_import_until_the_owner_says_what_it_means() {
    let folder = Folder::new();
    let table =
        "name,stars,date,text,status\nAnn,5,2024-03-04,Good.,Q1\nBo,4,2024-03-05,Fine.,Q2\n";
    let source = folder.file("a.csv", table);
    folder.says(&[&source], 65, "but \"Q1\" is not understood");
    let report = folder.import(&[&source, "--published-if", "status=q1", "--dry-run"]);
    assert_eq!(report["hidden_count"], 1);
    let report = folder.import(&[&source, "--ignore", "status", "--dry-run"]);
    assert_eq!(report["hidden_count"], 0);
    folder.says(
        &[&source, "--ignore", "Status?x"],
        65,
        "--ignore \"Status?x\": there is no such column",
    );
}

#[test]
fn an_archive_of_google_becomes_a_page_in_three_commands() {
    let review = json!({"reviews": [{"name": "a/b/1", "reviewer": {"displayName": "Ann"}, "starRating": "FIVE",
        "comment": "Good.", "createTime": "2024-03-04T10:00:00Z"}]})
    .to_string();
    let data = r#"{"title": "Crumb North"}"#;
    let north = "Takeout/Google Business Profile/account-1/location-1";
    let south = "Takeout/Google Business Profile/account-1/location-2";
    let files = [
        (format!("{north}/data.json"), data),
        (format!("{north}/reviews.json"), review.as_str()),
        (format!("{south}/reviews.json"), "{\"reviews\": []}"),
    ];
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(name, text)| (name.as_str(), *text))
        .collect();
    let outside = tempfile::tempdir().expect("a folder");
    let archive_path = outside.path().join("takeout.zip");
    std::fs::write(&archive_path, archive(&files)).expect("the file can be written");
    let archive_path = archive_path.to_str().expect("a path of text");
    let data = outside.path().join("reviews");
    let data = data.to_str().expect("a path of text");
    let site = [
        "--name",
        "Crumb",
        "--trade",
        "bakery",
        "--site",
        "https://crumb.example/",
    ];
    run(&[&["init", data], &site[..]].concat()).with(0);
    let import = ["import", archive_path, "--into", data, "--from-platform"];
    let said = run(&import).with(65);
    assert!(
        said.contains("several places: choose one with --place: \"Crumb North\", \"location-2\""),
        "{said}"
    );
    run(&[
        &import[..],
        &["--place", "Crumb North", "--location", "north"],
    ]
    .concat())
    .with(0);
    let server = Server::start_on(data.as_ref());
    let response = server.get("/");
    let page = response.text();
    assert!(
        page.contains("As published on Google, not verified"),
        "{page}"
    );
    let review = server.get("/reviews.json").json()["reviews"][0].clone();
    assert_eq!(
        values(&review, &["author", "location"]),
        json!(["Ann", "north"])
    );
}

#[test]
fn a_source_about_another_business_gets_a_remark() {
    let folder = Folder::new();
    let source = json!({"businessName": "Crumb", "reviews": [
        {"name": "Ann", "stars": 5, "text": "Good.", "date": "2024-03-04"}
    ]});
    let report = folder.import(&[&folder.file("a.json", source.to_string())]);
    let remark = report["remarks"][0]["remark"].as_str().unwrap_or_default();
    assert!(
        remark.starts_with("the source is about \"Crumb\", but the data directory about \"Weiß\""),
        "{remark}"
    );
}
