//! `reviewd hub`, beside a hub that runs.

use super::rig::Rig;
use super::subscriber::{Reply, Subscriber};
use crate::support::program::command;
use crate::support::{Program, wait_until};

/// Runs `reviewd hub` on the rig's state; returns exit status, standard output and standard error.
fn hub(rig: &Rig, arguments: &[&str]) -> (i32, String, String) {
    let output = command()
        .arg("hub")
        .args(arguments)
        .arg("--state")
        .arg(rig.state_dir())
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (
        output.status.code().unwrap(),
        text(output.stdout),
        text(output.stderr),
    )
}

fn json(rig: &Rig, arguments: &[&str]) -> serde_json::Value {
    let (status, out, error) = hub(rig, &[arguments, &["--format", "json"]].concat());
    assert_eq!((status, error.as_str()), (0, ""));
    serde_json::from_str(&out).unwrap()
}

#[test]
fn list_and_show_tell_everything_but_secrets_and_queries() {
    let (rig, subscriber) = (Rig::start(), Subscriber::good());
    let callback = subscriber.callback("/cb?token=hidden");
    rig.subscribe_with(
        &callback,
        &[("hub.secret", "opensesame"), ("hub.lease_seconds", "1000")],
    )
    .unwrap();
    rig.wait_active(&callback);
    rig.change("2");
    rig.wait_settled();
    let listed = json(&rig, &["list"]);
    let entry = &listed["subscriptions"][0];
    assert_eq!(
        entry["callback"],
        format!("https://127.0.0.1:{}/cb?…", subscriber.port())
    );
    assert_eq!(
        (entry["signed"].as_bool(), entry["lease_seconds"].as_u64()),
        (Some(true), Some(1000))
    );
    assert_eq!(
        (entry["owed"].as_bool(), entry["last_status"].as_str()),
        (Some(false), Some("204"))
    );
    let id = entry["id"].as_i64().unwrap().to_string();
    assert_eq!(&json(&rig, &["show", &id]), entry);
    for arguments in [
        &["list"][..],
        &["show", &id],
        &["list", "--format", "json"],
        &["list", "--removed"],
    ] {
        let (status, out, error) = hub(&rig, arguments);
        assert_eq!((status, error.as_str()), (0, ""));
        assert!(
            !out.contains("opensesame") && !out.contains("hidden"),
            "{out}"
        );
    }
}

#[test]
fn remove_tells_the_subscriber_and_leaves_a_tombstone() {
    let (rig, subscriber) = (Rig::start(), Subscriber::good());
    let callback = subscriber.callback("/cb");
    rig.subscribe(&callback);
    let id = rig.listed(&callback).unwrap().id.to_string();
    let (status, out, _) = hub(&rig, &["remove", &id]);
    assert_eq!(
        (status, out),
        (0, format!("subscription {id} is removed\n"))
    );
    assert_eq!(
        subscriber.wait_denial(1).query()["hub.reason"],
        "the operator removed the subscription"
    );
    let removed = json(&rig, &["list", "--removed"]);
    assert_eq!(removed["removed"][0]["reason"], "operator");
    rig.change("2");
    rig.wait_settled();
    assert_eq!(subscriber.deliveries().len(), 0);
}

#[test]
fn retry_sends_what_is_owed_at_once() {
    let rig = Rig::start_with(|settings| {
        settings.policy.retry_delays = vec![std::time::Duration::from_secs(3600)]
    });
    let subscriber = Subscriber::delivering(|_| Reply::Answer(503, Vec::new()));
    let callback = subscriber.callback("/cb");
    rig.subscribe(&callback);
    rig.change("2");
    wait_until("one failure", || {
        rig.listed(&callback)
            .is_some_and(|listed| listed.state.failures == 1)
    });
    subscriber.behave(Reply::good);
    let id = rig.listed(&callback).unwrap().id.to_string();
    assert_eq!(hub(&rig, &["retry", &id]).0, 0);
    assert_eq!(subscriber.wait_delivery(2).body, b"2");
}

#[test]
fn what_is_not_there_is_66_and_a_damaged_state_65() {
    let mut rig = Rig::start();
    wait_until("delivering", || rig.hub().health().delivering);
    for action in ["show", "remove", "retry"] {
        let (status, out, error) = hub(&rig, &[action, "7"]);
        assert_eq!((status, out.as_str()), (66, ""));
        assert_eq!(
            error,
            "reviewd: there is no subscription 7; `reviewd hub list` names them\n"
        );
    }
    let ended = Subscriber::good();
    let callback = ended.callback("/cb");
    rig.subscribe(&callback);
    let id = rig.listed(&callback).unwrap().id.to_string();
    assert_eq!(hub(&rig, &["remove", &id]).0, 0);
    for action in ["show", "remove", "retry"] {
        let (status, _, error) = hub(&rig, &[action, &id]);
        assert_eq!(status, 66);
        let begin = format!("reviewd: subscription {id} of 127.0.0.1 ended at 2");
        assert!(error.starts_with(&begin), "{error}");
        assert!(
            error.ends_with("Z: operator (last attempt: never)\n"),
            "{error}"
        );
    }
    rig.stop();
    let file = rig.state_dir().join("hub.sqlite3");
    std::fs::write(&file, "x".repeat(512)).unwrap();
    let (status, _, error) = hub(&rig, &["list"]);
    assert_eq!(status, 65);
    assert!(error.contains("the file is damaged"), "{error}");
    std::fs::remove_dir_all(rig.state_dir()).unwrap();
    assert_eq!(hub(&rig, &["list"]).0, 66);
    assert!(!rig.state_dir().exists(), "looking creates nothing");
}

#[test]
fn what_is_owed_now_is_said_to_be_and_no_date_of_1970() {
    let mut rig = Rig::start();
    let subscriber = Subscriber::good();
    let callback = subscriber.callback("/cb");
    rig.subscribe(&callback);
    let id = rig.listed(&callback).unwrap().id.to_string();
    assert!(
        hub(&rig, &["show", &id])
            .1
            .contains("next attempt\tat the next change\n")
    );
    rig.stop();
    let state = rusqlite::Connection::open(rig.state_dir().join("hub.sqlite3")).unwrap();
    state
        .execute("UPDATE topic SET digest = zeroblob(32)", [])
        .unwrap();
    let shown = hub(&rig, &["show", &id]).1;
    assert!(shown.contains("next attempt\tnow\n"), "{shown}");
    assert!(!shown.contains("1970"), "{shown}");
}

#[test]
fn requests_that_wait_are_listed_with_what_happened_last() {
    let hour = std::time::Duration::from_secs(3600);
    let rig = Rig::start_with(|settings| settings.policy.retry_delays = vec![hour]);
    rig.names.set("dead.sub.test", &[&[]]);
    rig.subscribe_with("https://dead.sub.test:8443/cb?token=hidden", &[])
        .unwrap();
    let waiting = || json(&rig, &["list", "--requests"])["requests"][0].clone();
    wait_until("one attempt", || waiting()["last_status"] == "resolve");
    let request = waiting();
    assert_eq!(
        (&request["mode"], &request["host"], &request["attempts"]),
        (&"subscribe".into(), &"dead.sub.test".into(), &1.into())
    );
    let (status, out, _) = hub(&rig, &["list", "--requests"]);
    assert_eq!(status, 0);
    assert!(
        out.ends_with("\t1\tresolve\n") && !out.contains("hidden"),
        "{out}"
    );
}

#[test]
fn the_process_has_no_huge_pages_whatever_the_environment_says() {
    let temp = tempfile::tempdir().unwrap();
    let mut command = command();
    command
        .args(["serve", "--listen", "127.0.0.1:0", "--state"])
        .arg(temp.path().join("state"))
        .env_remove("MIMALLOC_ALLOW_THP");
    let program = Program::spawn(command);
    program.address();
    let status = std::fs::read_to_string(format!("/proc/{}/status", program.id())).unwrap();
    // Kernels before 5.0 do not tell.
    let enabled = status
        .lines()
        .find_map(|line| line.strip_prefix("THP_enabled:"));
    assert_ne!(enabled.map(str::trim), Some("1"));
}
