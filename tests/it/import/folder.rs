//! What happens to the folder: merged, checked, replaced as a whole, or left alone.

use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::process::Command;

use serde_json::json;

use super::{file, fixture, import, imported, raw, reviews, says, values};
use crate::support::program::run;

/// A table of these rows.
fn table(rows: &[&str]) -> String {
    format!(
        "id,author,rating,date,text,reply,reply date\n{}\n",
        rows.join("\n")
    )
}

#[test]
fn importing_twice_changes_nothing_not_even_the_file() {
    let sources = ["trustpilot.csv", "google.json", "american.csv"].map(fixture);
    let sources = sources.each_ref().map(String::as_str);
    let (folder, ..) = imported(&sources);
    let path = folder.path().join("reviews.json");
    let before = fs::read(&path).unwrap();
    let (status, report) = import(folder.path(), &sources);
    assert_eq!((status, &report["written"]), (Some(0), &json!(false)));
    let count = |key: &str| -> u64 {
        let sources = report["sources"].as_array().unwrap().iter();
        sources.map(|source| source[key].as_u64().unwrap()).sum()
    };
    assert_eq!(["added", "changed", "unchanged"].map(count), [0, 0, 7]);
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn edits_and_replies_update_and_missing_reviews_stay() {
    let folder = tempfile::tempdir().unwrap();
    let rows = [
        "1,Ann,5,2024-03-04,Good.,,",
        "2,Bob,1,2024-03-05,Bad.,,",
        "3,Cy,3,2024-03-06,Fair.,,",
    ];
    let source = file(folder.path(), "a.csv", table(&rows));
    import(folder.path(), &[&source]);
    let path = folder.path().join("reviews.json");
    // The operator vouches for one by hand.
    let first = fs::read_to_string(&path).unwrap();
    let edited = first.replacen("\"verified\": false", "\"verified\": true", 1);
    fs::write(&path, &edited).unwrap();
    let rows = [
        "3,Cy,4,2024-03-06,\"Fair, after all.\",,",
        "1,Ann,5,2024-03-04,Good.,Thank you.,2024-03-07",
        "4,Dee,5,2024-03-08,New.,,",
    ];
    file(folder.path(), "a.csv", table(&rows));
    let (_, report) = import(folder.path(), &[&source]);
    let counts = values(&report["sources"][0], &["added", "changed", "unchanged"]);
    assert_eq!(counts, json!([1, 2, 0]), "{report}");
    let reviews = reviews(folder.path());
    let keys = ["text", "verified", "owner_reply"];
    let found: Vec<_> = reviews.iter().map(|review| values(review, &keys)).collect();
    let reply = json!({"text": "Thank you.", "date": "2024-03-07"});
    let expected = json!([
        ["New.", false, null],
        ["Fair, after all.", true, null],
        ["Bad.", false, null],
        ["Good.", false, reply]
    ]);
    assert_eq!(json!(found), expected);
    assert_eq!(report["missing_ids"], json!([reviews[2]["id"]]));
    let backup = fs::read_to_string(folder.path().join("reviews.json.bak")).unwrap();
    assert_eq!(backup, edited);
}

#[test]
fn neither_a_dry_run_nor_a_refusal_under_strict_writes() {
    let folder = tempfile::tempdir().unwrap();
    let into = folder.path().join("new");
    let source = fixture("american.csv");
    let output = raw(&into, &[&source, "--dry-run"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0));
    assert!(reviews(&into).is_empty());
    for line in [
        "  3 added, 0 changed, 0 unchanged, 0 repeated, 2 refused, 0 on the ignore list and not added",
        &format!("{source}:8: rating: \"4.5\" is not a whole number of stars"),
        "2 of 3 are verified and so published; 0 newly verified, 0 hidden at their source",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}: {text}");
    }
    let (status, report) = import(&into, &[&source, "--strict"]);
    assert_eq!((status, &report["written"]), (Some(65), &json!(false)));
    assert!(reviews(&into).is_empty());
}

#[test]
fn a_folder_that_is_not_valid_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let source = fixture("trustpilot.csv");
    let editorial = r#"{"summary":null,"pull_quote":null,"faq":[{"question":"q","answer":"a","review_ids":["gone"]}]}"#;
    file(folder.path(), "editorial.json", editorial);
    let why = "is not valid, so nothing was changed\neditorial.json: line 1, column 85: faq[0].review_ids[0]: \"gone\" is not the id of a published review";
    says(folder.path(), &[&source], 65, why);
    assert!(reviews(folder.path()).is_empty());
}

#[test]
fn two_imports_do_not_run_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let held = File::open(folder.path()).unwrap();
    held.lock().unwrap();
    let source = fixture("trustpilot.csv");
    says(folder.path(), &[&source], 69, "another import is under way");
}

/// Only root can act as another user; elsewhere nothing is shown.
#[test]
fn a_file_whose_readers_would_lose_it_is_not_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let into = folder.path().join("into");
    fs::create_dir(&into).unwrap();
    import(&into, &[&fixture("trustpilot.csv")]);
    let path = into.join("reviews.json");
    // The service reads it by a group that the importing user is not in.
    let (user, group) = (65_534, 4_322);
    for (path, mode) in [(folder.path(), 0o755), (&into, 0o755), (&path, 0o640)] {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    let given = chown(&into, Some(user), Some(user));
    if given
        .and_then(|()| chown(&path, Some(user), Some(group)))
        .is_err()
    {
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
        let mut command = Command::new(&program);
        command.args(["import", &source, "--into", into.to_str().unwrap()]);
        command.env_clear().uid(user).gid(user).output().unwrap()
    };
    let output = run();
    assert_eq!(output.status.code(), Some(74), "{output:?}");
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    let why = "it would not be group 4322's any more, and mode 640 lets no one else read it";
    assert!(message.contains(why), "{message}");
    assert_eq!(fs::read(&path).unwrap(), before);
    // The backup of the first import, and nothing is left behind.
    assert_eq!(fs::read_dir(&into).unwrap().count(), 2);
    // Readable for all, it may change its group.
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(run().status.code(), Some(0));
    assert_eq!(fs::metadata(&path).unwrap().gid(), user);
}

#[test]
fn a_missing_source_ends_with_66_and_wrong_flags_with_64() {
    let folder = tempfile::tempdir().unwrap();
    let into = folder.path().to_str().unwrap();
    let output = run(&["import", &fixture("american.csv"), "--into", into]);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(66), "{error}");
    assert!(
        error.contains("there is no reviews.json; `reviewd init "),
        "{error}"
    );
    says(
        folder.path(),
        &["/nowhere/none.csv"],
        66,
        "none.csv: No such file",
    );
    for (flag, value) in [
        ("--map", "stars=x"),
        ("--date-format", "my"),
        ("--encoding", "latin-99"),
        ("--from", "yelp"),
    ] {
        says(
            folder.path(),
            &[&fixture("american.csv"), flag, value],
            64,
            value,
        );
    }
}
