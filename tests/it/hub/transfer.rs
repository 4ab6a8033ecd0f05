//! `reviewd hub export` and `import`: subscriptions from one store to another, told neither twice nor never.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use reviewd::websub::StoreLocation;

use super::rig::{FEED, Rig};
use super::subscriber::{Reply, Subscriber};
use crate::support::Program;
use crate::support::postgres::Postgres;
use crate::support::program::{command, run};
use crate::support::wait_until;

fn hub(state: &Path, arguments: &[&str]) -> Output {
    let mut command = command();
    command.arg("hub").args(arguments).arg("--state").arg(state);
    command.output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// Exports, and returns the lines.
fn export(state: &Path, arguments: &[&str]) -> String {
    let output = hub(state, &[&["export"], arguments].concat());
    assert!(output.status.success(), "{output:?}");
    text(&output.stdout).to_owned()
}

/// Imports a file, and returns the report.
fn import(state: &Path, file: &Path) -> serde_json::Value {
    let arguments = ["import", file.to_str().unwrap(), "--format", "json"];
    let output = hub(state, &arguments);
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_moved_subscription_is_owed_what_it_was_owed_and_signed_as_before() {
    let mut rig = Rig::start_with(|settings| {
        settings.policy.retry_delays = vec![Duration::from_secs(3600)];
    });
    let told = Subscriber::good();
    let missed = Subscriber::delivering(|_| Reply::Answer(503, Vec::new()));
    let (first, second) = (told.callback("/a?token=hidden"), missed.callback("/b"));
    rig.subscribe_with(&first, &[("hub.secret", "opensesame")])
        .unwrap();
    rig.wait_active(&first);
    rig.subscribe(&second);
    rig.change("2");
    told.wait_delivery(1);
    wait_until("one failure is noted", || {
        let failed = rig.listed(&second);
        failed.is_some_and(|listed| listed.state.failures == 1)
            && rig.listed(&first).is_some_and(|listed| !listed.owed)
    });
    rig.stop();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("hub.jsonl");
    let out = file.to_str().unwrap().to_owned();
    let before = export(rig.state_dir(), &["--secrets"]);
    assert_eq!(export(rig.state_dir(), &["--secrets", "--out", &out]), "");
    assert_eq!(fs::read_to_string(&file).unwrap(), before);
    let mode = fs::metadata(&file).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o600);
    let other = folder.path().join("other");
    let report = import(&other, &file);
    assert_eq!(
        (&report["added"], &report["without_secret"]),
        (&2.into(), &0.into())
    );
    assert_eq!(import(&other, &file)["known"], 2, "twice is as once");
    assert_eq!(
        export(&other, &["--secrets"]),
        before,
        "nothing is lost on the way"
    );
    missed.behave(Reply::good);
    rig.settings.place = StoreLocation::Directory(other.clone());
    rig.boot("2");
    let id = rig.listed(&second).unwrap().id.to_string();
    wait_until("the hub delivers", || rig.hub().health().delivering);
    assert!(hub(&other, &["retry", &id]).status.success());
    assert_eq!(missed.wait_delivery(2).body, b"2");
    rig.wait_settled();
    assert_eq!(
        told.deliveries().len(),
        1,
        "what was told is not told again"
    );
    rig.change("3");
    assert_eq!(missed.wait_delivery(3).body, b"3");
    let delivery = told.wait_delivery(2);
    assert_eq!(delivery.body, b"3");
    assert!(delivery.field("x-hub-signature").is_some());
}

#[test]
fn without_the_flag_no_secret_leaves_and_the_import_says_who_lost_one() {
    let (rig, subscriber) = (Rig::start(), Subscriber::good());
    let (signed, plain) = (subscriber.callback("/a?token=x"), subscriber.callback("/b"));
    rig.subscribe_with(&signed, &[("hub.secret", "opensesame")])
        .unwrap();
    rig.wait_active(&signed);
    rig.subscribe(&plain);
    let output = hub(rig.state_dir(), &["export"]);
    let lines = text(&output.stdout);
    assert!(!lines.contains("opensesame"), "{lines}");
    let said = text(&output.stderr);
    assert!(
        said.contains(
            "2 subscriptions exported, 1 of them without the secret that they have (--secrets)"
        ),
        "{said}"
    );
    assert!(said.contains("a service runs on"), "{said}");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("hub.jsonl");
    fs::write(&file, lines).unwrap();
    let (other, path) = (folder.path().join("other"), file.to_str().unwrap());
    let output = hub(&other, &["import", path]);
    assert_eq!(output.status.code(), Some(65));
    let said = text(&output.stderr);
    let refusal = "1 subscription without the secret that they have: export with --secrets, or import with --unsigned";
    assert!(said.contains(refusal), "{said}");
    assert!(!other.exists(), "nothing was imported");
    let output = hub(&other, &["import", "--unsigned", path]);
    assert!(output.status.success());
    let said = text(&output.stderr);
    assert!(
        said.contains("line 1: 127.0.0.1 has lost its secret for https://reviews.example/feed.xml"),
        "{said}"
    );
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(text(&output.stdout).contains("2\tadded\n"), "{output:?}");
}

#[test]
fn an_import_beside_a_running_service_is_delivered_to_from_the_next_change_on() {
    let (rig, subscriber) = (Rig::start(), Subscriber::good());
    let callback = subscriber.callback("/cb");
    rig.subscribe(&callback);
    let line = export(rig.state_dir(), &[]);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("hub.jsonl");
    let elsewhere = line.replacen(FEED, "https://elsewhere.example/feed.xml", 1);
    fs::write(&file, line.replacen("/cb", "/moved", 1) + &elsewhere).unwrap();
    let output = hub(rig.state_dir(), &["import", file.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(65));
    let said = text(&output.stderr);
    assert!(
        said.contains(
            "1 subscription of topics that this store does not have, such as that of line 2"
        ),
        "{said}"
    );
    rig.change("2");
    subscriber.wait_delivery(2);
    let mut targets: Vec<String> = subscriber
        .deliveries()
        .into_iter()
        .map(|delivery| delivery.target)
        .collect();
    targets.sort();
    assert_eq!(targets, ["/cb", "/moved"]);
}

#[test]
fn one_wrong_line_refuses_the_file_and_each_is_named_with_field_and_value() {
    let (rig, subscriber) = (Rig::start(), Subscriber::good());
    rig.subscribe(&subscriber.callback("/cb"));
    let good = export(rig.state_dir(), &[]);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("hub.jsonl");
    let path = file.to_str().unwrap();
    let other = folder.path().join("other");
    let wrong = good.replacen("\"failures\":0", "\"failures\":\"none\"", 1);
    fs::write(&file, format!("{good}\n{wrong}{{}}\n")).unwrap();
    let output = hub(&other, &["import", path]);
    assert_eq!(output.status.code(), Some(65));
    assert_eq!(
        text(&output.stderr),
        format!(
            "reviewd: {path}: line 3: failures must be a whole number from 0 to 1000000, is \"none\"\n\
             {path}: line 4: topic is missing\n2 lines refused; nothing was imported\n"
        )
    );
    assert!(
        !other.exists(),
        "nothing is made for a file that is refused"
    );
    for (bytes, is_long) in [(32 << 10, false), ((32 << 10) + 1, true)] {
        fs::write(&file, "x".repeat(bytes)).unwrap();
        let output = hub(&other, &["import", path]);
        assert_eq!(output.status.code(), Some(65));
        let said = text(&output.stderr);
        assert_eq!(
            said.contains("line 1: is longer than 32768 bytes"),
            is_long,
            "{said}"
        );
    }
    fs::remove_file(&file).unwrap();
    assert_eq!(hub(&other, &["import", path]).status.code(), Some(66));
    let output = hub(&other, &["import", folder.path().to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(66));
    let output = hub(rig.state_dir(), &["export", "--out", "/nowhere/x"]);
    assert_eq!(output.status.code(), Some(73));
    assert_eq!(hub(&other, &["export"]).status.code(), Some(66));
}

#[test]
fn subscriptions_move_into_a_database_and_back_and_nothing_is_lost_on_the_way() {
    let Some(postgres) = Postgres::start() else {
        return;
    };
    postgres.database("hub");
    let url = postgres.url("reviewd", "hub");
    let (mut rig, subscriber) = (Rig::start(), Subscriber::good());
    let (signed, plain) = (subscriber.callback("/a"), subscriber.callback("/b"));
    rig.subscribe_with(&signed, &[("hub.secret", "opensesame")])
        .unwrap();
    rig.wait_active(&signed);
    rig.subscribe(&plain);
    rig.change("2");
    rig.wait_settled();
    rig.stop();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("hub.jsonl");
    let lines = export(rig.state_dir(), &["--secrets"]);
    fs::write(&file, &lines).unwrap();
    let path = file.to_str().unwrap();
    for added in ["2\tadded", "0\tadded"] {
        let output = run(&["hub", "import", path, "--store", &url]);
        assert!(output.status.success(), "{output:?}");
        assert!(text(&output.stdout).starts_with(added), "{output:?}");
    }
    let output = run(&["hub", "export", "--secrets", "--store", &url]);
    assert_eq!(text(&output.stdout), lines);
    let said = text(&output.stderr);
    assert!(said.contains("replicas may be running on"), "{said}");
    fs::write(&file, &output.stdout).unwrap();
    // Whoever takes the database and has not moved what the directory holds is told, once.
    let mut command = command();
    command
        .args(["serve", "--listen", "127.0.0.1:0", "--log-format", "json"])
        .args(["--base-url", "https://reviews.example", "--store", &url])
        .args(["--state", rig.state_dir().to_str().unwrap()]);
    let program = Program::spawn(command);
    let line = program.seen("hub.sqlite3");
    for part in ["\"WARN\"", "reviewd hub export", "reviewd hub import"] {
        assert!(line.contains(part), "{line}");
    }
    drop(program);
    let back = folder.path().join("back");
    assert_eq!(import(&back, &file)["added"], 2);
    assert_eq!(export(&back, &["--secrets"]), lines);
}

#[test]
fn a_hundred_thousand_subscriptions_stream_through_in_less_memory_than_their_file_has() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("hub.jsonl");
    let mut lines = String::new();
    for number in 0..100_000 {
        writeln!(
            lines,
            "{{\"topic\":\"{FEED}\",\"callback\":\"https://s{number}.example/{}\",\"signed\":false,\
             \"lease_seconds\":600,\"lease_end_ms\":253402300799999,\"digest\":\"{}\",\"acknowledged\":true,\
             \"failures\":0,\"next_at_ms\":0,\"attempt\":1,\"elapsed_ms\":5,\"created_at_ms\":1,\
             \"verified_at_ms\":2,\"last_at_ms\":3,\"last_status\":\"204\"}}",
            "p".repeat(900),
            "ab".repeat(32)
        )
        .unwrap();
    }
    fs::write(&file, &lines).unwrap();
    let limited = |arguments: &[&str]| {
        let script = format!("ulimit -v {MEMORY_KIB} && exec \"$@\"");
        let output = Command::new("sh")
            .args(["-c", &script, "sh", env!("CARGO_BIN_EXE_reviewd"), "hub"])
            .args(arguments)
            .arg("--state")
            .arg(folder.path().join("state"))
            .output()
            .unwrap();
        assert!(output.status.success(), "{:?}", text(&output.stderr));
        output
    };
    let output = limited(&["import", file.to_str().unwrap()]);
    assert!(text(&output.stdout).starts_with("100000\tadded\n"));
    let out = folder.path().join("again.jsonl");
    limited(&["export", "--out", out.to_str().unwrap()]);
    assert!(fs::read_to_string(&out).unwrap() == lines, "all come back");
}

/// Address space that the program may have; the file alone is larger.
const MEMORY_KIB: usize = 112 << 10;
