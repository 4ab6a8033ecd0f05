//! What each kind of export becomes.

use serde_json::json;

use super::{file, fixture, import, raw, reasons, reviews};

#[test]
fn a_trustpilot_export_brings_titles_replies_and_days() {
    let folder = tempfile::tempdir().unwrap();
    let (status, report) = import(folder.path(), &[&fixture("trustpilot.csv")]);
    assert_eq!(status, Some(0), "{report}");
    assert_eq!(report["sources"][0]["kind"], "Trustpilot CSV");
    let reviews = reviews(folder.path());
    assert_eq!(reviews[0]["text"], "Slow");
    assert_eq!(reviews[0]["rating"], 2);
    let first = &reviews[1];
    // The headline is the beginning of the words, so it is not said twice.
    assert_eq!(
        first["text"],
        "Kept me informed at every step.\n\nThe bill was what they said, \"to the cent\"."
    );
    assert_eq!(first["author"], "Renée Achterberg");
    assert_eq!(first["date"], "2024-03-04");
    assert_eq!(first["source"], "trustpilot");
    assert_eq!(
        first["owner_reply"],
        json!({"text": "Thank you, Renée.", "date": "2024-03-05"})
    );
    assert_eq!(first["verified"], false);
    assert_eq!(first["language"], "en");
}

#[test]
fn googles_api_and_takeout_are_one_source_and_the_later_version_counts() {
    let (both, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (api, takeout) = (fixture("google.json"), fixture("takeout.json"));
    let (status, report) = import(both.path(), &[&api, &takeout, "--verified"]);
    assert_eq!(status, Some(0), "{report}");
    assert_eq!(
        reasons(&report),
        ["16: rating: \"STAR_RATING_UNSPECIFIED\" is not from 1 to 5 stars"]
    );
    assert_eq!(report["published_count"], 2);
    let found = reviews(both.path());
    assert_eq!(found[0]["author"], "A Google user");
    assert_eq!(found[0]["text"], "");
    assert_eq!(found[0]["owner_reply"], json!(null));
    assert_eq!(
        found[1]["text"],
        "Me explicaron cada formulario. Edit: one call came late."
    );
    assert_eq!(found[1]["rating"], 4);
    assert_eq!(found[1]["date"], "2025-01-01");
    assert_eq!(found[1]["owner_reply"]["date"], "2025-03-10");
    // The order of sources does not matter.
    import(other.path(), &[&takeout, &api, "--verified"]);
    assert_eq!(reviews(other.path()), found);
}

#[test]
fn a_takeout_without_pictures_takes_none_away() {
    let folder = tempfile::tempdir().unwrap();
    import(folder.path(), &[&fixture("google.json")]);
    let avatar = reviews(folder.path())[1]["author_avatar_url"].clone();
    assert_eq!(avatar, json!("https://lh3.googleusercontent.example/a/one"));
    let (_, report) = import(folder.path(), &[&fixture("takeout.json")]);
    assert_eq!(report["sources"][0]["changed"], 1, "{report}");
    assert_eq!(reviews(folder.path())[1]["author_avatar_url"], avatar);
}

#[test]
fn an_english_translation_is_kept_beside_the_original() {
    let folder = tempfile::tempdir().unwrap();
    import(folder.path(), &[&fixture("google.json")]);
    let review = &reviews(folder.path())[1];
    assert_eq!(review["text"], "Me explicaron cada formulario.");
    assert_eq!(review["translation"], "They explained every form.");
    import(folder.path(), &[&fixture("google.json")]);
    assert_eq!(&reviews(folder.path())[1], review);
}

#[test]
fn a_european_spreadsheet_is_read_as_it_is_meant() {
    let folder = tempfile::tempdir().unwrap();
    let (status, report) = import(
        folder.path(),
        &[&fixture("european.csv"), "--source", "ProvenExpert"],
    );
    assert_eq!(status, Some(0), "{report}");
    let source = &report["sources"][0];
    assert_eq!(
        (
            &source["encoding"],
            &source["delimiter"],
            &source["date_order"]
        ),
        (
            &json!("windows-1252"),
            &json!(";"),
            &json!("day/month/year")
        )
    );
    assert_eq!(reasons(&report), ["4: rating: is missing"]);
    let reviews = reviews(folder.path());
    assert_eq!(reviews[0]["text"], "Gut & schnell.\n\nGerne wieder.");
    assert_eq!(reviews[0]["date"], "2024-04-13");
    assert_eq!(reviews[0]["rating"], 4);
    assert_eq!(reviews[1]["author"], "Jürgen Weiß");
    assert_eq!(reviews[1]["text"], "Sehr gut;\nwirklich „sehr“ gut.");
    assert_eq!(reviews[1]["date"], "2024-04-03");
    assert_eq!(reviews[1]["source"], "ProvenExpert");
    assert_eq!(
        reviews[1]["owner_reply"],
        json!({"text": "Danke!", "date": "2024-04-03"})
    );
}

#[test]
fn an_american_spreadsheet_is_the_same_in_utf_16() {
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (status, report) = import(folder.path(), &[&fixture("american.csv")]);
    assert_eq!(status, Some(0), "{report}");
    assert_eq!(report["sources"][0]["date_order"], "month/day/year");
    assert_eq!(
        reasons(&report),
        [
            "8: rating: \"4.5\" is not a whole number of stars",
            "9: date: \"02/30/2024\" is not a day that exists, read as month/day/year"
        ]
    );
    let found = reviews(folder.path());
    assert_eq!(
        (&found[0]["text"], &found[0]["date"]),
        (&json!("Gut"), &json!("2024-03-05"))
    );
    assert_eq!(
        (&found[1]["text"], &found[1]["rating"]),
        (&json!("Good, \"very\" good"), &json!(4))
    );
    assert_eq!(found[1]["verified"], true);
    assert_eq!(
        (&found[2]["text"], &found[2]["verified"]),
        (&json!("I <3 this firm"), &json!(false))
    );
    let (_, report) = import(other.path(), &[&fixture("american-utf16.csv")]);
    assert_eq!(report["sources"][0]["encoding"], "UTF-16LE");
    assert_eq!(reviews(other.path()), found);
}

#[test]
fn ambiguous_dates_are_refused_until_a_format_says_which() {
    let folder = tempfile::tempdir().unwrap();
    let source = fixture("ambiguous.csv");
    let (status, report) = import(folder.path(), &[&source, "--dry-run"]);
    assert_eq!(status, Some(0));
    assert_eq!(
        reasons(&report),
        [
            "2: date: \"03/04/2024\" could be day/month or month/day: say which with --date-format dmy or mdy"
        ]
    );
    import(folder.path(), &[&source, "--date-format", "dmy"]);
    assert_eq!(reviews(folder.path())[1]["date"], "2024-04-03");
    let other = tempfile::tempdir().unwrap();
    import(other.path(), &[&source, "--date-format", "%m/%d/%Y"]);
    assert_eq!(reviews(other.path())[1]["date"], "2024-03-04");
}

#[test]
fn json_lines_are_refused_one_by_one() {
    let folder = tempfile::tempdir().unwrap();
    let (status, report) = import(
        folder.path(),
        &[&fixture("lines.jsonl"), "--map", "author=user.name"],
    );
    assert_eq!(status, Some(0), "{report}");
    let reasons = reasons(&report);
    assert_eq!(reasons.len(), 2, "{reasons:?}");
    assert_eq!(reasons[0], "3: rating: \"0\" is not from 1 to 5 stars");
    assert!(reasons[1].starts_with("4: is not JSON: "), "{reasons:?}");
    let reviews = reviews(folder.path());
    assert_eq!(reviews.len(), 2);
    let by = |name: &str| {
        reviews
            .iter()
            .find(|review| review["author"] == name)
            .unwrap()
    };
    assert_eq!(
        (&by("Dee")["rating"], &by("Dee")["date"]),
        (&json!(2), &json!("2024-03-04"))
    );
    assert_eq!(by("Ann")["owner_reply"]["date"], "2024-03-05");
    assert_eq!(by("Ann")["verified"], true);
}

#[test]
fn a_saved_page_gives_its_review_nodes() {
    let folder = tempfile::tempdir().unwrap();
    let (status, report) = import(folder.path(), &[&fixture("page.html")]);
    assert_eq!(status, Some(0), "{report}");
    let reasons = reasons(&report);
    assert!(
        reasons.len() == 1 && reasons[0].starts_with("38: this script is not JSON: "),
        "{reasons:?}"
    );
    let reviews = reviews(folder.path());
    assert_eq!(
        (
            &reviews[0]["author"],
            &reviews[0]["source"],
            &reviews[0]["rating"]
        ),
        (&json!("Bob"), &json!("Yelp"), &json!(1))
    );
    assert_eq!(
        (
            &reviews[1]["author"],
            &reviews[1]["source"],
            &reviews[1]["rating"]
        ),
        (&json!("Ann & Tom"), &json!("import"), &json!(5))
    );
    assert_eq!(reviews[1]["text"], "Good\n\nThey called back.");
}

#[test]
fn another_reviewds_reviews_keep_their_ids() {
    let folder = tempfile::tempdir().unwrap();
    let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/data/reviews.json");
    let (status, report) = import(folder.path(), &[sample]);
    assert_eq!(status, Some(0), "{report}");
    assert_eq!(report["sources"][0]["kind"], "reviewd");
    assert_eq!(
        (&report["review_count"], &report["published_count"]),
        (&json!(213), &json!(207))
    );
    let (status, report) = import(&folder.path().join("."), &[sample]);
    assert_eq!(
        (status, &report["sources"][0]["unchanged"]),
        (Some(0), &json!(213))
    );
}

#[test]
fn columns_that_are_not_known_are_named_with_the_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let source = file(
        folder.path(),
        "a.csv",
        "Who,Points,date\nAnn,5,2024-03-04\n",
    );
    let output = super::raw(folder.path(), &[&source]);
    assert_eq!(output.status.code(), Some(65));
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(message.contains("line 1: no column is known to hold the author: name it with --map author=COLUMN; the columns are \"Who\", "), "{message}");
    let (status, report) = import(
        folder.path(),
        &[&source, "--map", "author=Who,rating=Points"],
    );
    assert_eq!(
        (status, &report["sources"][0]["columns"]["author"]),
        (Some(0), &json!("Who"))
    );
}

#[test]
fn what_is_no_text_is_refused_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    for (bytes, what) in [
        (
            &b"PK\x03\x04\x14\0\x06"[..],
            "is an archive, and no workbook (.xlsx) that can be read: ",
        ),
        (b"\x1F\x8B\x08\0\0\0", "is compressed: unpack it"),
    ] {
        let output = raw(folder.path(), &[&file(folder.path(), "a.csv", bytes)]);
        assert_eq!(output.status.code(), Some(65));
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(message.contains(what), "{message}");
    }
}

#[test]
fn half_a_document_ends_the_import_and_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let whole = std::fs::read_to_string(fixture("google.json")).unwrap();
    let source = file(folder.path(), "half.json", &whole[..whole.len() - 100]);
    let output = super::raw(folder.path(), &[&source]);
    assert_eq!(output.status.code(), Some(65));
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(message.contains("ends too early"), "{message}");
    assert!(!folder.path().join("reviews.json").exists());
}

#[test]
fn a_quotation_mark_that_is_never_closed_ends_the_import() {
    let folder = tempfile::tempdir().unwrap();
    let table = "id,author,rating,date,text\n1,Ann,5,2024-03-04,Good.\n2,Bob,1,2024-03-05,\"Bad.\n3,Cy,3,2024-03-06,Fair.\n";
    let source = file(folder.path(), "a.csv", table);
    let output = raw(folder.path(), &[&source]);
    assert_eq!(output.status.code(), Some(65));
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        message.contains("a.csv: line 3: a quotation mark opens here and is never closed"),
        "{message}"
    );
    assert!(!folder.path().join("reviews.json").exists());
}

#[test]
fn a_row_whose_quotation_mark_closes_too_early_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let table = "id,author,rating,date,text\n1,Ann,5,2024-03-04,\"So \"good\" it is.\"\n2,\"Bob\",1,2024-03-05,\"Bad.\n3,Cy,3,2024-03-06,\"Fair.\"\n4,Dee,5,2024-03-07,\"A \"\"fine\"\" firm\"\n";
    let source = file(folder.path(), "a.csv", table);
    let (status, report) = import(folder.path(), &[&source]);
    assert_eq!(status, Some(0), "{report}");
    let why = "a quotation mark opens here that closes in the middle of a column; is one missing, or not doubled?";
    assert_eq!(reasons(&report), [format!("2: {why}"), format!("3: {why}")]);
    assert_eq!(reviews(folder.path())[0]["text"], "A \"fine\" firm");
    assert_eq!(reviews(folder.path()).len(), 1);
}

#[test]
fn one_wrong_byte_in_utf_8_ends_the_import_and_names_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let mut table = "id,author,rating,date,text\n1,Renée,5,2024-03-04,Good.\n2,Bj"
        .as_bytes()
        .to_vec();
    table.extend_from_slice(b"\xF6rn,5,2024-03-05,Good.\n");
    let marked = [b"\xEF\xBB\xBF", &table[..]].concat();
    for bytes in [table, marked] {
        let source = file(folder.path(), "a.csv", bytes);
        let output = raw(folder.path(), &[&source]);
        assert_eq!(output.status.code(), Some(65));
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            message.contains(
                "a.csv: line 3: is not UTF-8 throughout: name the encoding with --encoding"
            ),
            "{message}"
        );
        let (status, _) = import(
            folder.path(),
            &[&source, "--encoding", "windows-1252", "--dry-run"],
        );
        assert_eq!(status, Some(0));
    }
}

#[test]
fn the_id_of_a_linked_review_is_one_that_means_it_everywhere() {
    let ids = |own: &str| {
        let folder = tempfile::tempdir().unwrap();
        let node = |text: &str| {
            format!(
                r#"{{"@type":"Review",{own},"author":"Ann","datePublished":"2024-03-04","reviewRating":5,"reviewBody":"{text}"}}"#
            )
        };
        let (a, b) = (
            file(folder.path(), "a.json", node("One.")),
            file(folder.path(), "b.json", node("Two.")),
        );
        import(folder.path(), &[&a, "--from", "jsonld"]);
        import(folder.path(), &[&b, "--from", "jsonld"]);
        reviews(folder.path()).len()
    };
    // Two pages of one number each are two reviews; an edit of one review is one.
    assert_eq!(ids(r##""@id":"#review1""##), 2);
    assert_eq!(ids(r#""@id":"/reviews/1""#), 2);
    assert_eq!(ids(r#""@id":"_:b0""#), 2);
    assert_eq!(
        ids(r#""identifier":{"@type":"PropertyValue","name":"review id"}"#),
        2
    );
    assert_eq!(ids(r#""@id":"https://a.example/#1""#), 1);
    assert_eq!(ids(r##""@id":"#1","identifier":"r-1""##), 1);
    assert_eq!(
        ids(r#""identifier":{"@type":"PropertyValue","name":"review id","value":7}"#),
        1
    );
}
