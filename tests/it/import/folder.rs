//! How an import changes the folder: reviews are merged and checked, and the file is replaced as a whole or not at all.

use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::process::Command;

use serde_json::json;

use super::{Folder, fixture, values};
use crate::support::program::Ended;

/// A table of these rows.
fn table(rows: &[&str]) -> String {
    let head = "id,author,rating,date,text,reply,reply date";
    format!("{head}\n{}\n", rows.join("\n"))
}

#[test]
fn importing_twice_changes_nothing_not_even_the_file() {
    let sources = ["trustpilot.csv", "google.json", "american.csv"].map(fixture);
    let sources = sources.each_ref().map(String::as_str);
    let (folder, _) = Folder::with(&sources);
    let path = folder.path().join("reviews.json");
    let before = fs::read(&path).unwrap();
    let report = folder.import(&sources);
    assert_eq!(values(&report, &["status", "written"]), json!([0, false]));
    let count = |key: &str| -> u64 {
        let sources = report["sources"].as_array().unwrap().iter();
        sources.map(|source| source[key].as_u64().unwrap()).sum()
    };
    assert_eq!(["added", "changed", "unchanged"].map(count), [0, 0, 7]);
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn edits_and_replies_update_and_missing_reviews_stay() {
    let folder = Folder::new();
    let rows = [
        "1,Ann,5,2024-03-04,Good.,,",
        "2,Bob,1,2024-03-05,Bad.,,",
        "3,Cy,3,2024-03-06,Fair.,,",
    ];
    folder.import(&[&folder.file("a.csv", table(&rows))]);
    // The operator marks one review as verified by hand.
    let first = fs::read_to_string(folder.path().join("reviews.json")).unwrap();
    let edited = first.replacen("\"verified\": false", "\"verified\": true", 1);
    folder.file("reviews.json", &edited);
    let rows = [
        "3,Cy,4,2024-03-06,\"Fair, after all.\",,",
        "1,Ann,5,2024-03-04,Good.,Thank you.,2024-03-07",
        "4,Dee,5,2024-03-08,New.,,",
    ];
    let report = folder.import(&[&folder.file("a.csv", table(&rows))]);
    let counts = values(&report["sources"][0], &["added", "changed", "unchanged"]);
    assert_eq!(counts, json!([1, 2, 0]), "{report}");
    let reviews = folder.reviews();
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
    let folder = Folder::new();
    let source = fixture("american.csv");
    let text = folder.says(&[&source, "--dry-run"], 0, "");
    for line in [
        "  3 added, 0 changed, 0 unchanged, 0 repeated, 2 rejected, 0 on the ignore list and not added",
        &format!(
            "{source}:8: rating: \"4.5\" is not a whole number of stars: --scale rounds it, such as --scale 5"
        ),
        "2 of 3 are published",
        "if you know the authors as your customers: --verified for new reviews, --verify-existing also for the others",
        "if a platform published them, and you do not know it: --from-platform, with --source NAME if the table names none",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}: {text}");
    }
    let report = folder.import(&[&source, "--strict"]);
    assert_eq!(values(&report, &["status", "written"]), json!([65, false]));
    assert!(folder.reviews().is_empty());
}

#[test]
fn a_folder_that_is_not_valid_or_in_use_is_left_alone() {
    let folder = Folder::new();
    let source = fixture("trustpilot.csv");
    let held = File::open(folder.path()).unwrap();
    held.lock().unwrap();
    folder.says(&[&source], 69, "another command uses the data directory");
    // Closing would not do: a process that another test starts has the file until it runs its program.
    held.unlock().unwrap();
    let editorial = r#"{"summary":null,"pull_quote":null,"faq":[{"question":"q","answer":"a","review_ids":["gone"]}]}"#;
    folder.file("editorial.json", editorial);
    let why = "is not valid, so nothing was changed\neditorial.json: line 1, column 85: faq[0].review_ids[0]: \"gone\" is not the id of a published review";
    folder.says(&[&source], 65, why);
    assert!(folder.reviews().is_empty());
}

/// Only root can run a command as another user; otherwise the test is skipped.
#[test]
fn a_file_is_not_replaced_if_its_group_would_lose_access() {
    let (folder, _) = Folder::with(&[&fixture("trustpilot.csv")]);
    let path = folder.path().join("reviews.json");
    // The service reads the file through a group that the importing user is not in.
    let user = 65_534;
    let group = 4_322;
    for (path, mode) in [(folder.path(), 0o755), (&path, 0o640)] {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    let given = chown(folder.path(), Some(user), Some(user));
    let given = given.and_then(|()| chown(&path, Some(user), Some(group)));
    if given.is_err() {
        return;
    }
    let before = fs::read(&path).unwrap();
    // Other users may have no access to the build folder and the fixtures.
    let elsewhere = tempfile::tempdir().unwrap();
    fs::set_permissions(elsewhere.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let [program, source] = ["reviewd", "a.csv"].map(|name| elsewhere.path().join(name));
    fs::copy(env!("CARGO_BIN_EXE_reviewd"), &program).unwrap();
    fs::write(&source, table(&["1,Ann,5,2024-03-04,Good.,,"])).unwrap();
    let run = || {
        let mut command = Command::new(&program);
        command.arg("import").arg(&source);
        command.args(["--into", folder.text()]);
        Ended::of(command.env_clear().uid(user).gid(user))
    };
    let message = run().with(74);
    let why = "would not belong to group 4322, and mode 640 lets no other user read it";
    assert!(message.contains(why), "{message}");
    assert_eq!(fs::read(&path).unwrap(), before);
    // Only reviews.json, changes.json and the backup of the first import: no temporary file is left.
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
    // If all users can read the file, its group may change.
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    run().with(0);
    assert_eq!(fs::metadata(&path).unwrap().gid(), user);
}

#[test]
fn a_missing_source_or_folder_ends_with_66_and_wrong_flags_with_64() {
    let folder = Folder::new();
    let source = fixture("american.csv");
    folder.says(&["/nowhere/none.csv"], 66, "none.csv: No such file");
    folder.says(&[folder.text()], 66, "is a directory: list the files in it");
    let remedy = "not fetched: curl -fsS URL | reviewd import - --into DIR";
    folder.says(&["https://weiss.example/reviews.csv"], 64, remedy);
    for (flag, value, why) in [
        (
            "--map",
            "stars=x",
            "unknown field `stars`, expected one of `id`, ",
        ),
        ("--map", "rating", "is not of the form field=column"),
        ("--map", "rating=A,rating=B", "--map: rating is given twice"),
        ("--date-format", "my", "my"),
        ("--encoding", "latin-99", "latin-99"),
        ("--from", "yelp", "yelp"),
    ] {
        folder.says(&[&source, flag, value], 64, why);
    }
    fs::remove_file(folder.path().join("reviews.json")).unwrap();
    folder.says(&[&source], 66, "there is no reviews.json; `reviewd init ");
}
