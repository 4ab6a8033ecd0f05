//! `reviewd notify`: the file that it writes, what it prints, and what it sends.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use serde_json::Value;

use super::targets::Site;
use crate::hub::authority;
use crate::hub::subscriber::{Reply, Subscriber};
use crate::support::program::{Ended, command, run};

/// Runs `reviewd notify` on a site's folder.
fn notify(site: &Site, arguments: &[&str]) -> Ended {
    let folder = site.data.path().to_str().expect("a path");
    run(&[&["notify"], arguments, &["--data", folder]].concat())
}

fn file(site: &Site) -> Value {
    let text = std::fs::read_to_string(site.data.path().join("notices.json"));
    serde_json::from_str(&text.expect("the file")).expect("JSON")
}

#[test]
fn add_writes_a_private_file_and_prints_the_new_key_of_a_webhook() {
    let site = Site::new(1);
    let url = "https://shop.example/secret";
    let filter = [
        "--max-rating",
        "3",
        "--unanswered-days",
        "2",
        "--events",
        "new,changed",
    ];
    let printed = notify(&site, &[&["add", "webhook", url], &filter[..]].concat()).with(0);
    let path = site.data.path().join("notices.json");
    let mode = std::fs::metadata(path)
        .expect("the file")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    let target = &file(&site)["notices"][0];
    assert_eq!(target["id"], "webhook");
    assert_eq!(target["url"], url);
    let expected =
        serde_json::json!({"max_rating": 3, "unanswered_days": 2, "events": ["new", "changed"]});
    assert_eq!(target["filter"], expected);
    let key = target["secret"].as_str().expect("a key");
    assert!(printed.contains(key), "{printed}");
    assert!(!printed.contains("secret"), "{printed}");
    assert_eq!(notify(&site, &["add", "webhook", url]).status, Some(0));
    assert_eq!(file(&site)["notices"][1]["id"], "webhook-2");
}

#[test]
fn add_refuses_what_the_service_would_refuse_and_changes_nothing() {
    let site = Site::new(1);
    for (arguments, status, expected) in [
        (
            &["add", "slack", "http://x.example/secret"][..],
            65,
            "url: is not an https URL",
        ),
        (
            &[
                "add",
                "telegram",
                "https://api.telegram.org/bot1:secret/sendMessage",
            ],
            65,
            "has no chat_id",
        ),
        (
            &["add", "webhook", "https://x.example/", "--secret", "short"],
            65,
            "secret: is not",
        ),
        (&["add", "pigeon", "https://x.example/secret"], 64, "pigeon"),
        (
            &[
                "add",
                "slack",
                "https://x.example/secret",
                "--max-rating",
                "6",
            ],
            64,
            "--max-rating",
        ),
        (&["remove", "shop"], 66, "there is no such target"),
        (&["test"], 66, "there are no targets"),
    ] {
        let printed = notify(&site, arguments).with(status);
        assert!(printed.contains(expected), "{arguments:?}: {printed}");
        assert!(!printed.contains("/secret"), "{printed}");
    }
    assert!(!site.data.path().join("notices.json").exists());
}

#[test]
fn an_address_is_read_from_standard_input() {
    let site = Site::new(1);
    let folder = site.data.path().to_str().expect("a path");
    let input = site.data.path().join("address");
    std::fs::write(&input, "https://hooks.example/secret\n").expect("written");
    let mut command = command();
    command.args(["notify", "add", "slack", "-", "--data", folder]);
    command.stdin(Stdio::from(std::fs::File::open(input).expect("opened")));
    Ended::of(&mut command).with(0);
    assert_eq!(
        file(&site)["notices"][0]["url"],
        "https://hooks.example/secret"
    );
}

#[test]
fn list_shows_no_address_and_remove_takes_one_target() {
    let site = Site::new(1);
    for id in ["one", "two"] {
        let url = "https://x.example/secret";
        notify(
            &site,
            &["add", "discord", url, "--id", id, "--language", "de"],
        )
        .with(0);
    }
    let text = notify(&site, &["list"]).with(0);
    assert_eq!(
        text.lines().next(),
        Some("one\tdiscord\t{\"language\":\"de\"}")
    );
    notify(&site, &["remove", "one"]).with(0);
    let left = notify(&site, &["list", "--format", "json"]).json(0);
    let expected = serde_json::json!({"notices": [
        {"id": "two", "kind": "discord", "signed": false, "filter": {"language": "de"}},
    ]});
    assert_eq!(left, expected);
}

#[test]
fn test_sends_a_message_and_shows_the_answer() {
    let site = Site::new(1);
    let receiver = Subscriber::good();
    let ca = site.data.path().join("ca.pem");
    authority::write_ca(&ca);
    let ca = ca.to_str().expect("a path");
    notify(
        &site,
        &[
            "add",
            "webhook",
            &receiver.callback("/secret"),
            "--id",
            "shop",
        ],
    )
    .with(0);
    let flags = ["--callback-ca", ca, "--allow-private-callbacks"];
    let printed = notify(&site, &[&["test", "shop"], &flags[..]].concat()).with(0);
    assert_eq!(printed, "shop: 204\n");
    let sent = receiver.wait_delivery(1);
    assert!(sent.field("webhook-signature").is_some());
    let body: Value = serde_json::from_slice(&sent.body).expect("JSON");
    assert_eq!(body["type"], "notice.test");
    receiver.behave(|_: &_| Reply::status(404));
    let printed = notify(&site, &[&["test"], &flags[..]].concat()).with(69);
    assert!(printed.starts_with("shop: 404\n"), "{printed}");
}

#[test]
fn empty_variables_of_test_count_as_unset() {
    let site = Site::new(1);
    let folder = site.data.path().to_str().expect("a path");
    let mut command = command();
    command.args(["notify", "test", "--data", folder]);
    for name in [
        "REVIEWD_BASE_URL",
        "REVIEWD_DELIVERY_TIMEOUT",
        "REVIEWD_CALLBACK_PORTS",
    ] {
        command.env(name, "");
    }
    let printed = Ended::of(&mut command).with(66);
    assert!(printed.contains("there are no targets"), "{printed}");
}

#[test]
fn targets_that_are_added_at_the_same_time_are_all_there() {
    let site = Site::new(1);
    let add = ["add", "slack", "https://x.example/secret"];
    std::thread::scope(|scope| {
        for name in ["a", "b", "c", "d"] {
            let site = &site;
            scope.spawn(move || notify(site, &[&add[..], &["--id", name]].concat()).with(0));
            scope.spawn(move || notify(site, &add).with(0));
        }
    });
    let left = notify(&site, &["list", "--format", "json"]).json(0);
    let targets = left["notices"].as_array().expect("a list").iter();
    let mut ids: Vec<&str> = targets.filter_map(|one| one["id"].as_str()).collect();
    ids.sort_unstable();
    let expected = ["a", "b", "c", "d", "slack", "slack-2", "slack-3", "slack-4"];
    assert_eq!(ids, expected);
}

#[test]
fn a_folder_that_is_missing_ends_add_and_remove_with_66() {
    let add = ["notify", "add", "slack", "https://x.example/secret"];
    for arguments in [&add[..], &["notify", "remove", "slack"]] {
        let printed = run(&[arguments, &["--data", "/nowhere"]].concat()).with(66);
        assert!(printed.contains("/nowhere: No such file"), "{printed}");
    }
}

#[test]
fn add_takes_the_folder_only_after_it_has_the_address() {
    let site = Site::new(1);
    let folder = site.data.path().to_str().expect("a path");
    let mut waiting = command();
    waiting.args(["notify", "add", "slack", "-", "--data", folder]);
    waiting.stdin(Stdio::piped()).stdout(Stdio::null());
    let mut waiting = waiting.spawn().expect("started");
    // The first has no address yet.
    notify(&site, &["add", "slack", "https://x.example/secret"]).with(0);
    let mut input = waiting.stdin.take().expect("standard input");
    input
        .write_all(b"https://x.example/secret\n")
        .expect("written");
    drop(input);
    assert!(waiting.wait().expect("ended").success());
    assert_eq!(file(&site)["notices"][1]["id"], "slack-2");
}

#[test]
fn test_obeys_the_address_guard() {
    let site = Site::new(1);
    let receiver = Subscriber::good();
    notify(&site, &["add", "slack", &receiver.callback("/secret")]).with(0);
    let printed = notify(&site, &["test"]).with(69);
    assert!(printed.starts_with("slack: blocked\n"), "{printed}");
    assert_eq!(receiver.connections(), 0);
}
