//! `reviewd sync` against a server that replays the platforms' documented answers, with faults.

mod replay;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use reviewd::server::DataSource;
use serde_json::{Value, json};

use crate::import::Folder;
use crate::support::dataset::DataDir;
use crate::support::program::{Ended, command, run};
use crate::support::{Program, Server, get, wait_until};
use replay::{Fault, KINDS, Platform};

/// The token of all sources, which no file and no output may have.
const TOKEN: &str = "s3cr3t-t0ken";

/// Adds a source of `kind` to the folder.
fn add(folder: &Folder, platform: &Platform, kind: &str, more: &[&str]) {
    let data = folder.path().to_str().unwrap();
    let url = platform.url(kind);
    let needed = ["source", "add", kind, &url, "--data", data];
    let token = if ["json", "csv"].contains(&kind) {
        &[][..]
    } else {
        &["--token-env", "SYNC_TEST_TOKEN"]
    };
    run(&[&needed[..], token, more].concat()).with(0);
}

/// Runs `reviewd sync` on the folder.
fn sync(folder: &Folder, more: &[&str]) -> Ended {
    let mut sync = command();
    sync.arg("sync").arg(folder.path()).args(more);
    let ended = Ended::of(sync.env("SYNC_TEST_TOKEN", TOKEN));
    let said = format!("{}{}", ended.stdout, ended.stderr);
    assert!(!said.contains(TOKEN), "{said}");
    ended
}

/// A folder with a source of `kind` that was read once.
fn synced(platform: &Platform, kind: &str) -> Folder {
    let folder = Folder::new();
    add(&folder, platform, kind, &[]);
    let said = sync(&folder, &[]).with(0);
    assert!(
        said.ends_with(": 5 added, 0 changed, 0 rejected\n"),
        "{kind}: {said}"
    );
    folder
}

fn reviews_file(folder: &Folder) -> Vec<u8> {
    fs::read(folder.path().join("reviews.json")).unwrap()
}

/// The state of the source.
fn state(folder: &Folder, id: &str) -> Value {
    let text = fs::read(folder.path().join("sync.json")).unwrap();
    let mut state: Value = serde_json::from_slice(&text).unwrap();
    state["sources"][id].take()
}

const IDS: [u32; 5] = [1, 2, 3, 4, 5];

#[test]
fn every_platform_is_read_to_its_last_page_and_again_without_a_change() {
    for kind in KINDS {
        let platform = Platform::with(&IDS);
        let folder = synced(&platform, kind);
        let mut authors: Vec<Value> = folder.reviews();
        authors.sort_by_key(|review| review["author"].to_string());
        for (review, id) in authors.iter().zip(IDS) {
            assert_eq!(review["author"], format!("Ann {id}"), "{kind}");
            assert_eq!(review["rating"], 4, "{kind}");
            let text = review["text"].as_str().unwrap();
            assert!(text.ends_with("Good."), "{kind}: {text}");
        }
        let before = reviews_file(&folder);
        platform.reverse();
        sync(&folder, &[]).with(0);
        assert_eq!(
            reviews_file(&folder),
            before,
            "{kind}: another order is no change"
        );
    }
}

#[test]
fn the_token_goes_where_the_platform_wants_it_and_nowhere_else() {
    for (kind, expected) in [
        ("google", format!("Bearer {TOKEN}")),
        ("trustpilot", format!(" {TOKEN}")),
        ("judgeme", format!("api_token={TOKEN}")),
        ("yotpo", format!("utoken={TOKEN}")),
        ("shopify", format!(" {TOKEN}")),
        ("woocommerce", "Basic czNjcjN0LXQwa2Vu".to_owned()),
    ] {
        let platform = Platform::with(&IDS);
        let folder = synced(&platform, kind);
        for asked in platform.asked() {
            assert!(asked.contains(&expected), "{kind}: {asked}");
        }
        for entry in fs::read_dir(folder.path()).unwrap() {
            let path = entry.unwrap().path();
            let text = fs::read_to_string(&path).unwrap();
            assert!(!text.contains(TOKEN), "{}", path.display());
        }
    }
}

#[test]
fn a_source_that_fails_or_answers_half_changes_nothing_and_is_named() {
    // The first words of every message about a page.
    let half_document = "page ";
    let faults = [
        (Fault::Status(500, 0), "was answered with status 500"),
        (Fault::Status(429, 90), "asks for a wait of 90 seconds"),
        (
            Fault::Status(401, 0),
            "the token was refused with status 401",
        ),
        (Fault::HalfBody, "cannot be reached"),
        (Fault::HalfDocument, half_document),
    ];
    for kind in KINDS {
        let platform = Platform::with(&IDS);
        let folder = synced(&platform, kind);
        let before = reviews_file(&folder);
        platform.publish(6, "New.");
        let is_paged = !["json", "csv"].contains(&kind);
        for (fault, message) in faults {
            // Half a table may be a whole one: its length is the only thing that tells.
            if kind == "csv" && message == half_document {
                continue;
            }
            // The second page fails, three times.
            platform.fail(usize::from(is_paged), &[fault; 3]);
            let said = sync(&folder, &["--full"]).with(69);
            assert!(said.contains(&format!("{kind}: failed: ")), "{said}");
            assert!(said.contains(message), "{kind}: {said}");
            assert!(reviews_file(&folder) == before, "{kind}: {fault:?}");
            let noted = state(&folder, kind);
            let error = noted["error"].as_str().unwrap();
            assert!(error.contains(message), "{kind}: {error}");
        }
        platform.fail(0, &[]);
        let said = sync(&folder, &["--full"]).with(0);
        assert!(said.contains("1 added, 0 changed"), "{kind}: {said}");
        assert_eq!(state(&folder, kind)["error"], Value::Null);
    }
}

#[test]
fn a_fault_that_passes_is_tried_again_at_once() {
    for kind in KINDS {
        let platform = Platform::with(&IDS);
        let folder = Folder::new();
        add(&folder, &platform, kind, &[]);
        platform.fail(0, &[Fault::Status(503, 0), Fault::Status(429, 0)]);
        let said = sync(&folder, &[]).with(0);
        assert!(said.contains("5 added"), "{kind}: {said}");
    }
}

#[test]
fn a_review_that_vanishes_for_a_while_stays_and_is_not_doubled() {
    for kind in KINDS {
        let platform = Platform::with(&IDS);
        let folder = synced(&platform, kind);
        let before = reviews_file(&folder);
        platform.remove(3);
        sync(&folder, &[]).with(0);
        assert!(reviews_file(&folder) == before, "{kind}: it is gone");
        platform.publish(3, "Good.");
        sync(&folder, &[]).with(0);
        assert!(reviews_file(&folder) == before, "{kind}: it is back");
    }
}

#[test]
fn an_edited_review_is_changed() {
    for kind in KINDS {
        let platform = Platform::with(&IDS);
        let folder = synced(&platform, kind);
        platform.publish(2, "Edited.");
        let said = sync(&folder, &[]).with(0);
        assert!(said.contains("0 added, 1 changed"), "{kind}: {said}");
        let edited = folder
            .reviews()
            .into_iter()
            .filter(|review| review["text"].as_str().unwrap().ends_with("Edited."));
        assert_eq!(edited.count(), 1, "{kind}");
    }
}

#[test]
fn a_document_that_has_not_changed_is_not_sent_again() {
    for kind in ["json", "csv"] {
        let platform = Platform::with(&IDS);
        let folder = synced(&platform, kind);
        platform.asked();
        let said = sync(&folder, &[]).with(0);
        assert_eq!(said, format!("{kind}: not changed\n"));
        let asked = platform.asked();
        assert!(asked[0].ends_with("-5\""), "{asked:?}");
        let said = sync(&folder, &["--full"]).with(0);
        assert!(said.contains("0 added, 0 changed"), "{said}");
    }
}

#[test]
fn a_source_that_fails_does_not_keep_the_others_from_being_read() {
    let broken = Platform::with(&IDS);
    let whole = Platform::with(&IDS);
    let folder = Folder::new();
    add(&folder, &broken, "judgeme", &[]);
    add(&folder, &whole, "json", &[]);
    broken.fail(0, &[Fault::Status(401, 0)]);
    let said = sync(&folder, &[]).with(69);
    assert!(said.contains("json: 5 added"), "{said}");
    assert!(said.contains("not read: judgeme"), "{said}");
    assert_eq!(folder.reviews().len(), 5);
}

#[test]
fn a_source_that_asks_for_time_is_left_alone_until_then() {
    let platform = Platform::with(&IDS);
    let folder = Folder::new();
    add(&folder, &platform, "yotpo", &[]);
    platform.fail(0, &[Fault::Status(429, 3_600)]);
    sync(&folder, &[]).with(69);
    platform.asked();
    let said = sync(&folder, &[]).with(69);
    assert!(
        said.contains("yotpo: asked not to be tried before "),
        "{said}"
    );
    assert_eq!(platform.asked(), [] as [String; 0]);
}

#[test]
fn the_state_is_written_after_another_command_has_left_the_folder() {
    let platform = Platform::with(&IDS);
    let folder = Folder::new();
    add(&folder, &platform, "yotpo", &[]);
    platform.fail(0, &[Fault::Status(401, 0)]);
    let held = fs::File::open(folder.path()).unwrap();
    held.lock().unwrap();
    thread::scope(|scope| {
        let synced = scope.spawn(|| sync(&folder, &[]));
        wait_until("the source is asked", || !platform.asked().is_empty());
        // A command that did not wait for the folder would end now.
        let began = Instant::now();
        wait_until("it waits", || {
            synced.is_finished() || began.elapsed() >= Duration::from_secs(1)
        });
        held.unlock().unwrap();
        let said = synced.join().unwrap().with(69);
        assert!(said.contains("not read: yotpo"), "{said}");
    });
    assert_eq!(state(&folder, "yotpo")["failures"], 1);
}

#[test]
fn two_runs_at_once_keep_the_state_of_each_other() {
    let platforms = [Platform::with(&IDS), Platform::with(&IDS)];
    let folder = Folder::new();
    let kinds = ["yotpo", "judgeme"];
    for (platform, kind) in platforms.iter().zip(kinds) {
        add(&folder, platform, kind, &[]);
        platform.fail(0, &[Fault::Status(401, 0)]);
    }
    let held = fs::File::open(folder.path()).unwrap();
    held.lock().unwrap();
    thread::scope(|scope| {
        for kind in kinds {
            let folder = &folder;
            scope.spawn(move || sync(folder, &["--only", kind]).with(69));
        }
        // Both have read the state, and cannot write it yet.
        for platform in &platforms {
            wait_until("the source is asked", || !platform.asked().is_empty());
        }
        held.unlock().unwrap();
    });
    for kind in kinds {
        assert_eq!(state(&folder, kind)["failures"], 1, "{kind}");
    }
}

#[test]
fn two_runs_at_once_both_count_in_the_state_of_their_source() {
    let platform = Platform::with(&IDS);
    let folder = Folder::new();
    add(&folder, &platform, "yotpo", &[]);
    platform.fail(0, &[Fault::Status(401, 0); 2]);
    let held = fs::File::open(folder.path()).unwrap();
    held.lock().unwrap();
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| sync(&folder, &[]).with(69));
        }
        let mut asked = 0;
        wait_until("both ask the source", || {
            asked += platform.asked().len();
            asked == 2
        });
        held.unlock().unwrap();
    });
    assert_eq!(state(&folder, "yotpo")["failures"], 2);
}

#[test]
fn only_a_source_that_is_listed_can_be_chosen() {
    let platform = Platform::with(&IDS);
    let folder = Folder::new();
    add(&folder, &platform, "json", &[]);
    let said = sync(&folder, &["--only", "other"]).with(66);
    assert!(said.contains("no source has the id other"), "{said}");
}

#[test]
fn a_file_with_a_token_that_others_may_read_is_refused() {
    let platform = Platform::with(&IDS);
    let folder = Folder::new();
    let file = folder.file("token", format!("{TOKEN}\n"));
    let url = platform.url("judgeme");
    let data = folder.path().to_str().unwrap().to_owned();
    let add = [
        "source",
        "add",
        "judgeme",
        &url,
        "--data",
        &data,
        "--token-file",
        &file,
    ];
    run(&add).with(0);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    let said = sync(&folder, &[]).with(69);
    assert!(
        said.contains("has mode 644, so that others may read the token: chmod 600"),
        "{said}"
    );
    assert_eq!(platform.asked(), [] as [String; 0]);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let said = sync(&folder, &[]).with(0);
    assert!(said.contains("5 added"), "{said}");
}

#[test]
fn sources_are_added_listed_and_removed() {
    let platform = Platform::with(&IDS);
    let folder = Folder::new();
    add(
        &folder,
        &platform,
        "json",
        &["--id", "own", "--location", "north"],
    );
    let data = folder.path().to_str().unwrap();
    let listed = run(&["source", "list", "--data", data]).with(0);
    assert_eq!(listed, format!("own: json {}\n", platform.url("json")));
    run(&["source", "remove", "other", "--data", data]).with(66);
    run(&["source", "remove", "own", "--data", data]).with(0);
    let said = sync(&folder, &[]).with(66);
    assert!(said.contains("there is no source"), "{said}");
    for (arguments, message) in [
        (["json", "http://x.example/a"], "https address"),
        (["yotpo", "https://x.example/a"], "only with a token"),
    ] {
        let add = [&["source", "add"][..], &arguments, &["--data", data]].concat();
        let said = run(&add).with(65);
        assert!(said.contains(message), "{said}");
    }
}

#[test]
fn verification_and_location_of_a_source_are_those_of_its_reviews() {
    let platform = Platform::with(&[1]);
    for (verification, expected) in [
        ("business", json!([true, null])),
        ("account", json!([false, "account"])),
    ] {
        let folder = Folder::new();
        let kind = if verification == "account" {
            "google"
        } else {
            "json"
        };
        add(
            &folder,
            &platform,
            kind,
            &["--verification", verification, "--location", "north"],
        );
        give_location(folder.path());
        sync(&folder, &[]).with(0);
        let review = &folder.reviews()[0];
        assert_eq!(review["location"], "north");
        assert_eq!(
            json!([review["verified"], review["verification"]["method"]]),
            expected
        );
    }
}

#[test]
fn a_file_that_names_no_platform_is_not_read_as_published_with_an_account() {
    for kind in ["json", "csv"] {
        let platform = Platform::with(&IDS);
        let folder = Folder::new();
        add(&folder, &platform, kind, &["--verification", "account"]);
        let said = sync(&folder, &[]).with(69);
        let why = "\"import\" is not a platform that publishes reviews with an account: a column such as Source must";
        assert!(said.contains(why), "{kind}: {said}");
        assert_eq!(folder.reviews(), [Value::Null; 0], "{kind}");
    }
}

/// Adds the location "north" to the business.
fn give_location(folder: &Path) {
    let path = folder.join("reviews.json");
    let mut file: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    file["business"]["locations"] = json!([{"id": "north", "label": "North", "address": null}]);
    fs::write(&path, file.to_string()).unwrap();
}

#[test]
fn a_failing_source_is_named_by_readyz_check_and_metrics() {
    let platform = Platform::with(&IDS);
    let folder = synced(&platform, "judgeme");
    let server = Server::start_with(|config| {
        config.data = DataSource::Directory(folder.path().to_owned());
        config.admin_listen = Some("127.0.0.1:0".parse().unwrap());
    });
    let changes = "reviewd_source_changes_total";
    wait_until("the state is read", || {
        metric_of_judgeme(&server, changes).as_deref() == Some("5")
    });
    assert_eq!(failing_source(&server), None);
    platform.fail(0, &[Fault::Status(401, 0)]);
    sync(&folder, &[]).with(69);
    wait_until("the source is named", || failing_source(&server).is_some());
    let found = failing_source(&server).unwrap();
    assert_eq!(found["blocking"], false);
    let detail = found["details"][0].as_str().unwrap();
    assert!(detail.starts_with("judgeme: last read 20"), "{detail}");
    let failures = metric_of_judgeme(&server, "reviewd_source_failures");
    assert_eq!(failures.as_deref(), Some("1"));
    let said = run(&["check", folder.path().to_str().unwrap()]).with(0);
    let expected = "source judgeme: read 0 min ago, the last try failed: the token was refused with status 401";
    assert!(said.contains(expected), "{said}");
    sync(&folder, &[]).with(0);
    wait_until("it is read again", || failing_source(&server).is_none());
}

#[test]
fn a_damaged_state_is_logged_in_one_line_with_its_file_and_field() {
    let data = DataDir::with_reviews(1, "2026-01-01T00:00:00Z");
    let folder = data.path().to_str().unwrap();
    let program = Program::serve(&["--data", folder, "--poll", "100ms", "--no-hub"]);
    data.write(
        "sync.json",
        r#"{"sources":{"shop":{"tried_at":"soon","added":-1}}}"#,
    );
    let line = program.wait_for_log("the state of the sources cannot be read");
    let event: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(event["file"], format!("{folder}/sync.json"));
    let error = "sources.shop.tried_at: is not a time such as 2026-11-21T09:00:00Z; and 1 more";
    assert_eq!(event["error"], error);
}

#[test]
fn a_damaged_state_is_logged_in_a_short_line_however_long_its_values_are() {
    let data = DataDir::with_reviews(1, "2026-01-01T00:00:00Z");
    let folder = data.path().to_str().unwrap();
    let program = Program::serve(&["--data", folder, "--poll", "100ms", "--no-hub"]);
    let long = "x".repeat(1_000_000);
    data.write("sync.json", &format!(r#"{{"sources":"{long}"}}"#));
    let line = program.wait_for_log("the state of the sources cannot be read");
    let event: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(event["error"].as_str().unwrap().len(), 256);
}

/// Returns the reason of `/readyz` that names failing sources, if there is one.
fn failing_source(server: &Server) -> Option<Value> {
    let ready = server.get("/readyz").json();
    let mut reasons = ready["reasons"].as_array().unwrap().iter();
    reasons
        .find(|reason| reason["code"] == "source_failing")
        .cloned()
}

/// Returns the value of a metric of the source "judgeme".
fn metric_of_judgeme(server: &Server, name: &str) -> Option<String> {
    let admin = server.running().admin_addr().unwrap();
    let metrics = get(admin, "/metrics", &[]);
    let begin = format!("{name}{{source=\"judgeme\"}} ");
    let mut lines = metrics.text().lines();
    lines
        .find_map(|line| line.strip_prefix(&begin))
        .map(str::to_owned)
}
