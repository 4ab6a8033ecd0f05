//! What happens to the folder: merged, checked, replaced as a whole, or left alone.

use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::process::Command;

use serde_json::{Value, json};

use super::{file, fixture, import, raw, reviews};
use crate::support::program::run;
use crate::support::{Program, get};

/// One row of a table with these columns.
fn table(rows: &[&str]) -> String {
    let mut table = "id,author,rating,date,text,reply,reply date\n".to_owned();
    for row in rows {
        table.push_str(row);
        table.push('\n');
    }
    table
}

#[test]
fn import_check_serve_and_search_in_one_go() {
    let folder = tempfile::tempdir().unwrap();
    let into = folder.path().join("practice");
    let output = raw(
        &into,
        &[
            &fixture("trustpilot.csv"),
            &fixture("google.json"),
            "--verified",
            "--business-name",
            "Weiß",
            "--business-url",
            "https://weiss.example/",
        ],
    );
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(
        text.ends_with(
            "fill in `business`, its type too (LegalService for a law practice), before you publish it\n4 reviews: 4 published, 0 not published\n"
        ),
        "{text}"
    );
    let directory = into.to_str().unwrap();
    let check = run(&["check", directory]);
    assert_eq!(check.status.code(), Some(0), "{check:?}");
    assert!(
        String::from_utf8_lossy(&check.stdout)
            .contains("the rules of a law practice were not looked at"),
        "{check:?}"
    );
    let program = Program::serve(&["--data", directory]);
    let found = get(
        program.address(),
        "/api/reviews/search?query=FORMULARIO&rating=5",
        &[],
    );
    let found: Value = serde_json::from_slice(&found.body).unwrap();
    assert_eq!(found["matched"], 1);
    assert_eq!(found["reviews"][0]["author"], "Avery Lin");
    let all = get(program.address(), "/reviews.json", &[]);
    let all: Value = serde_json::from_slice(&all.body).unwrap();
    assert_eq!(all["aggregate_rating"]["rating_count"], 4);
}

#[test]
fn importing_twice_changes_nothing_not_even_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let sources = [
        fixture("trustpilot.csv"),
        fixture("google.json"),
        fixture("american.csv"),
        fixture("page.html"),
    ];
    let sources: Vec<&str> = sources.iter().map(String::as_str).collect();
    import(folder.path(), &sources);
    let before = fs::read(folder.path().join("reviews.json")).unwrap();
    let (status, report) = import(folder.path(), &sources);
    assert_eq!(status, Some(0));
    assert_eq!(report["written"], false);
    let counts = |key: &str| {
        report["sources"]
            .as_array()
            .unwrap()
            .iter()
            .map(|source| source[key].as_u64().unwrap())
            .sum::<u64>()
    };
    assert_eq!(
        (counts("added"), counts("changed"), counts("unchanged")),
        (0, 0, 9)
    );
    assert_eq!(
        fs::read(folder.path().join("reviews.json")).unwrap(),
        before
    );
    assert!(!folder.path().join("reviews.json.bak").exists());
}

#[test]
fn edits_and_replies_update_and_what_is_gone_stays() {
    let folder = tempfile::tempdir().unwrap();
    let source = file(
        folder.path(),
        "a.csv",
        table(&[
            "1,Ann,5,2024-03-04,Good.,,",
            "2,Bob,1,2024-03-05,Bad.,,",
            "3,Cy,3,2024-03-06,Fair.,,",
        ]),
    );
    let business = [
        "--business-name",
        "Weiß",
        "--business-url",
        "https://weiss.example/",
    ];
    import(folder.path(), &[&[source.as_str()], &business[..]].concat());
    let first = fs::read(folder.path().join("reviews.json")).unwrap();
    // The operator vouches for one by hand.
    let edited =
        String::from_utf8(first)
            .unwrap()
            .replacen("\"verified\": false", "\"verified\": true", 1);
    fs::write(folder.path().join("reviews.json"), &edited).unwrap();
    file(
        folder.path(),
        "a.csv",
        table(&[
            "3,Cy,4,2024-03-06,\"Fair, after all.\",,",
            "1,Ann,5,2024-03-04,Good.,Thank you.,2024-03-07",
            "4,Dee,5,2024-03-08,New.,,",
        ]),
    );
    let (status, report) = import(folder.path(), &[&source]);
    assert_eq!(status, Some(0), "{report}");
    let counts = &report["sources"][0];
    assert_eq!(
        (&counts["added"], &counts["changed"], &counts["unchanged"]),
        (&json!(1), &json!(2), &json!(0))
    );
    assert_eq!(report["missing_count"], 1);
    let reviews = reviews(folder.path());
    let texts: Vec<&str> = reviews
        .iter()
        .map(|review| review["text"].as_str().unwrap())
        .collect();
    assert_eq!(texts, ["New.", "Fair, after all.", "Bad.", "Good."]);
    assert_eq!(report["missing_ids"], json!([reviews[2]["id"]]));
    assert_eq!(reviews[1]["verified"], true);
    assert_eq!(
        reviews[3]["owner_reply"],
        json!({"text": "Thank you.", "date": "2024-03-07"})
    );
    let backup = fs::read_to_string(folder.path().join("reviews.json.bak")).unwrap();
    assert_eq!(backup, edited);
    let check = run(&["check", folder.path().to_str().unwrap()]);
    assert_eq!(check.status.code(), Some(0), "{check:?}");
}

#[test]
fn a_dry_run_shows_the_table_and_writes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let into = folder.path().join("new");
    let source = fixture("american.csv");
    let output = raw(&into, &[&source, "--dry-run"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0));
    assert!(!into.exists());
    let words = |line: &str| {
        line.split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let rows: Vec<Vec<String>> = text.lines().map(words).collect();
    assert!(
        rows.contains(&words("source added changed unchanged repeated refused")),
        "{text}"
    );
    assert!(
        rows.contains(&words(&format!("{source} 3 0 0 0 2"))),
        "{text}"
    );
    assert!(
        text.contains(&format!(
            "{source}:8: rating: \"4.5\" is not a whole number of stars\n"
        )),
        "{text}"
    );
    assert!(text.ends_with("3 reviews: 2 published, 1 not published, since not verified: --verified vouches for what is new, --verify-existing for what is there, too\n"), "{text}");
}

#[test]
fn strict_makes_any_refusal_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let (status, report) = import(folder.path(), &[&fixture("american.csv"), "--strict"]);
    assert_eq!((status, &report["written"]), (Some(65), &json!(false)));
    assert!(!folder.path().join("reviews.json").exists());
    let (status, _) = import(folder.path(), &[&fixture("trustpilot.csv"), "--strict"]);
    assert_eq!(status, Some(0));
}

#[test]
fn a_folder_that_is_not_valid_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    file(folder.path(), "reviews.json", "{\"reviews\": []}");
    let output = raw(folder.path(), &[&fixture("trustpilot.csv")]);
    assert_eq!(output.status.code(), Some(65));
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("is not valid, so nothing was imported")
    );
    assert_eq!(
        fs::read(folder.path().join("reviews.json")).unwrap(),
        b"{\"reviews\": []}"
    );
}

#[test]
fn a_result_that_the_service_would_refuse_is_not_written() {
    let folder = tempfile::tempdir().unwrap();
    file(
        folder.path(),
        "editorial.json",
        r#"{"summary":null,"pull_quote":null,"faq":[{"question":"q","answer":"a","review_ids":["gone"]}]}"#,
    );
    let output = raw(folder.path(), &[&fixture("trustpilot.csv")]);
    assert_eq!(output.status.code(), Some(65));
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(message.contains("would not be valid\neditorial.json: line 1, column 85: faq[0].review_ids[0]: \"gone\" is not the id of a review"), "{message}");
    assert!(!folder.path().join("reviews.json").exists());
}

#[test]
fn two_imports_do_not_run_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let held = File::open(folder.path()).unwrap();
    held.lock().unwrap();
    let output = raw(folder.path(), &[&fixture("trustpilot.csv")]);
    assert_eq!(output.status.code(), Some(69));
    assert!(String::from_utf8_lossy(&output.stderr).contains("another import is under way"));
}

/// Only root can become somebody else; elsewhere nothing is shown, and the rule is held by the unit tests of the folder.
#[test]
fn a_file_whose_readers_would_lose_it_is_not_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let into = folder.path().join("into");
    fs::create_dir(&into).unwrap();
    import(&into, &[&fixture("trustpilot.csv")]);
    let path = into.join("reviews.json");
    // The service reads it by a group that the importing user is not in.
    let (user, nobodys) = (65_534, 4_322);
    for (path, mode) in [(folder.path(), 0o755), (&into, 0o755), (&path, 0o640)] {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    let given =
        chown(&into, Some(user), Some(user)).and_then(|()| chown(&path, Some(user), Some(nobodys)));
    if given.is_err() {
        return;
    }
    let before = fs::read(&path).unwrap();
    // The build's folder may be closed to others, and so may that of the fixtures.
    let program = folder.path().join("reviewd");
    fs::copy(env!("CARGO_BIN_EXE_reviewd"), &program).unwrap();
    let source = file(
        folder.path(),
        "a.csv",
        table(&["1,Ann,5,2024-03-04,Good.,,"]),
    );
    let run = || {
        Command::new(&program)
            .env_clear()
            .args(["import", &source, "--into", into.to_str().unwrap()])
            .uid(user)
            .gid(user)
            .output()
            .unwrap()
    };
    let output = run();
    assert_eq!(output.status.code(), Some(74), "{output:?}");
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        message.contains("reviews.json: cannot be written: it would not be group 4322's any more, and mode 640 lets no one else read it"),
        "{message}"
    );
    assert_eq!(fs::read(&path).unwrap(), before);
    assert_eq!(
        fs::read_dir(&into).unwrap().count(),
        1,
        "nothing is left behind"
    );
    // Readable for all, it may change its group.
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    let output = run();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(fs::metadata(&path).unwrap().gid(), user);
}

#[test]
fn a_source_that_is_not_there_ends_with_66_and_wrong_flags_with_64() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("none.csv");
    assert_eq!(
        raw(folder.path(), &[missing.to_str().unwrap()])
            .status
            .code(),
        Some(66)
    );
    for flags in [
        ["--map", "stars=x"],
        ["--date-format", "my"],
        ["--delimiter", "ab"],
        ["--encoding", "latin-99"],
        ["--from", "yelp"],
    ] {
        let source = fixture("american.csv");
        let output = raw(folder.path(), &[&[source.as_str()], &flags[..]].concat());
        assert_eq!(output.status.code(), Some(64), "{flags:?}");
    }
}

#[test]
fn a_result_over_the_size_limit_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let output = raw(
        folder.path(),
        &[&fixture("trustpilot.csv"), "--data-file-bytes", "300"],
    );
    assert_eq!(output.status.code(), Some(65));
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        message.contains("reviews.json would be larger than 300 bytes (--data-file-bytes)"),
        "{message}"
    );
}
