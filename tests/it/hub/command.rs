//! `reviewd hub`, mostly while a hub uses the same state directory.

use std::time::Duration;

use serde_json::{Value, json};

use super::rig::Rig;
use super::subscriber::{Reply, Subscriber};
use crate::support::program::{Ended, run};
use crate::support::wait_until;

/// Runs `reviewd hub` on the rig's state.
fn hub(rig: &Rig, arguments: &[&str]) -> Ended {
    let state = ["--state", rig.state_dir().to_str().unwrap()];
    run(&[&["hub"], arguments, &state].concat())
}

fn json(rig: &Rig, arguments: &[&str]) -> Value {
    hub(rig, &[arguments, &["--format", "json"]].concat()).json(0)
}

/// Returns the oldest pending request, or the oldest that `filters` name.
fn first_request(rig: &Rig, filters: &[&str]) -> Value {
    json(rig, &[&["list", "--requests"], filters].concat())["requests"][0].clone()
}

fn id_of(rig: &Rig, callback: &str) -> String {
    rig.listed(callback).unwrap().id.to_string()
}

#[test]
fn list_and_show_hide_secrets_and_callback_queries() {
    let rig = Rig::start();
    let subscriber = Subscriber::good();
    let callback = subscriber.callback("/cb?token=hidden");
    let fields = [("hub.secret", "opensesame"), ("hub.lease_seconds", "1000")];
    rig.subscribe_as(&callback, &fields);
    rig.change("2");
    rig.wait_settled();
    let id = id_of(&rig, &callback);
    let entry = json(&rig, &["show", &id]);
    assert_eq!(json(&rig, &["list"])["subscriptions"][0], entry);
    let shown = format!("https://127.0.0.1:{}/cb?…", subscriber.port());
    for (name, value) in [
        ("callback", json!(shown)),
        ("signed", json!(true)),
        ("lease_seconds", json!(1_000)),
        ("undelivered", json!(false)),
        ("last_status", json!("204")),
        ("next_attempt", json!("at the next change")),
    ] {
        assert_eq!(entry[name], value, "{name}");
    }
    for (arguments, line) in [
        (&["list"][..], "\tno\t0\t204\t2"),
        (&["show", &id], "\nsigned\tyes\n"),
        (&["list", "--format", "json"], "\"signed\":true"),
        (&["list", "--removed"], "nothing has ended\n"),
    ] {
        let out = hub(&rig, arguments).with(0);
        assert!(out.contains(line), "{out}");
        assert!(!out.contains("opensesame"));
        assert!(!out.contains("hidden"));
    }
}

#[test]
fn remove_tells_the_subscriber_and_leaves_a_tombstone() {
    let rig = Rig::start();
    let subscriber = Subscriber::good();
    let callback = subscriber.callback("/cb");
    rig.subscribe(&callback);
    let id = id_of(&rig, &callback);
    let said = hub(&rig, &["remove", &id]).with(0);
    assert_eq!(said, format!("subscription {id} is removed\n"));
    let reason = "the operator removed the subscription";
    assert_eq!(subscriber.wait_denial(1).query()["hub.reason"], reason);
    let removed = json(&rig, &["list", "--removed"]);
    assert_eq!(removed["removed"][0]["reason"], "operator");
    rig.change("2");
    rig.wait_settled();
    subscriber.assert_received(0, 1);
    for action in ["show", "remove", "retry"] {
        let error = hub(&rig, &[action, &id]).with(66);
        let begin = format!("reviewd: subscription {id} of 127.0.0.1 ended at 2");
        let end = "Z: operator (last attempt: never)\n";
        assert!(error.starts_with(&begin), "{error}");
        assert!(error.ends_with(end), "{error}");
    }
}

#[test]
fn retry_sends_a_pending_delivery_at_once() {
    let hour = Duration::from_secs(3600);
    let rig = Rig::start_with(|settings| settings.policy.retry_delays = vec![hour]);
    let subscriber = Subscriber::delivering(|_| Reply::status(503));
    let callback = subscriber.callback("/cb");
    rig.subscribe(&callback);
    rig.change("2");
    rig.wait_failures(&callback, 1);
    subscriber.behave(Reply::good);
    let id = id_of(&rig, &callback);
    let first = hub(&rig, &["retry", &id]).with(0);
    assert_eq!(first, format!("subscription {id} is due now\n"));
    assert_eq!(subscriber.wait_delivery(2).body, b"2");
    rig.wait_settled();
    let second = hub(&rig, &["retry", &id]).with(0);
    assert_eq!(second, format!("subscription {id} is up to date\n"));
}

#[test]
fn an_unknown_subscription_exits_66() {
    let rig = Rig::start();
    wait_until("delivering", || rig.hub().health().delivering);
    for action in ["show", "remove", "retry"] {
        let error = hub(&rig, &[action, "7"]).with(66);
        let what = "reviewd: there is no subscription 7; `reviewd hub list` lists them\n";
        assert_eq!(error, what);
    }
}

#[test]
fn a_damaged_store_exits_65() {
    let mut rig = Rig::start();
    rig.stop();
    let file = rig.state_dir().join("hub.sqlite3");
    std::fs::write(&file, "x".repeat(512)).unwrap();
    let error = hub(&rig, &["list"]).with(65);
    assert!(error.contains("the file is damaged"), "{error}");
}

#[test]
fn a_missing_store_exits_66_and_is_not_created() {
    let mut rig = Rig::start();
    rig.stop();
    std::fs::remove_dir_all(rig.state_dir()).unwrap();
    hub(&rig, &["list"]).with(66);
    assert!(!rig.state_dir().exists());
}

#[test]
fn a_delivery_that_is_due_is_shown_as_now_and_not_as_a_date_of_1970() {
    let mut rig = Rig::start();
    let subscriber = Subscriber::good();
    let callback = subscriber.callback("/cb");
    rig.subscribe(&callback);
    let id = id_of(&rig, &callback);
    rig.stop();
    let state = rusqlite::Connection::open(rig.state_dir().join("hub.sqlite3")).unwrap();
    state
        .execute("UPDATE topic SET digest = zeroblob(32)", [])
        .unwrap();
    let shown = hub(&rig, &["show", &id]).with(0);
    assert!(shown.contains("next_attempt\tnow\n"), "{shown}");
    assert!(!shown.contains("1970"), "{shown}");
}

#[test]
fn pending_requests_are_listed_with_their_last_status() {
    let hour = Duration::from_secs(3600);
    let rig = Rig::start_with(|settings| settings.policy.retry_delays = vec![hour]);
    rig.names.set("dead.sub.test", &[&[]]);
    let callback = "https://dead.sub.test:8443/cb?token=hidden";
    rig.subscribe_with(callback, &[]).unwrap();
    wait_until("one attempt", || {
        first_request(&rig, &[])["last_status"] == "resolve"
    });
    let request = first_request(&rig, &[]);
    assert_eq!(request["mode"], "subscribe");
    assert_eq!(request["host"], "dead.sub.test");
    assert_eq!(request["attempts"], 1);
    let out = hub(&rig, &["list", "--requests"]).with(0);
    assert!(out.contains("\t1\tresolve\t2"), "{out}");
    assert!(!out.contains("hidden"), "{out}");
}

#[test]
fn a_request_is_listed_with_its_attempts_and_can_be_removed() {
    let rig = Rig::start_with(|settings| {
        settings.policy.retry_delays = vec![Duration::from_secs(3_600)];
    });
    rig.names.set("gone.sub.test", &[&[]]);
    let callback = "https://gone.sub.test:4430/cb";
    rig.subscribe_with(callback, &[]).unwrap();
    let of_host = ["--host", "gone.sub.test"];
    wait_until("it was tried", || {
        first_request(&rig, &of_host)["last_status"] == "resolve"
    });
    let tried = first_request(&rig, &of_host);
    assert_eq!(tried["attempts"], 1);
    assert!(tried["last_at"].is_string(), "{tried}");
    assert!(
        tried["next_attempt"].as_str().unwrap().starts_with('2'),
        "{tried}"
    );
    let other = json(&rig, &["list", "--requests", "--host", "other.sub.test"]);
    assert_eq!(other["requests"], json!([]));
    let id = tried["id"].to_string();
    let said = hub(&rig, &["remove", &id, "--request"]).with(0);
    assert_eq!(said, format!("request {id} is removed\n"));
    let removed = json(&rig, &["list", "--removed", "--host", "GONE.sub.test"]);
    assert_eq!(removed["removed"][0]["reason"], "operator");
    assert_eq!(removed["removed"][0]["what"], "subscribe");
    hub(&rig, &["remove", &id, "--request"]).with(66);
}

#[test]
fn requests_that_were_refused_or_not_confirmed_can_be_looked_up_by_host() {
    let rig = Rig::start_with(|settings| settings.quotas.requests_per_host = 1);
    let silent = Subscriber::start(|_| Reply::status(404));
    rig.subscribe_with(&silent.callback("/cb"), &[]).unwrap();
    rig.wait_verified();
    let removed = json(&rig, &["list", "--removed", "--host", "127.0.0.1"]);
    let refused = &removed["removed"][0];
    assert_eq!(refused["reason"], "not_confirmed");
    assert_eq!(refused["last_status"], "404");
    let hanging = Subscriber::start(|_| Reply::Silence(Duration::from_secs(60)));
    rig.subscribe_with(&hanging.callback_at("slow.sub.test", "/1"), &[])
        .unwrap();
    rig.subscribe_with(&hanging.callback_at("slow.sub.test", "/2"), &[])
        .unwrap_err();
    let removed = json(&rig, &["list", "--removed", "--host", "slow.sub.test"]);
    assert_eq!(removed["removed"][0]["reason"], "quota");
    let subscriptions = json(&rig, &["list", "--host", "slow.sub.test"]);
    assert_eq!(subscriptions["subscriptions"], json!([]));
}
