//! Notices of changed reviews to the operator's own targets: HTTPS servers on this machine, which lose and delay.

mod chaos;
mod command;
#[cfg(feature = "postgres")]
mod replicas;
mod targets;

use std::os::unix::fs::PermissionsExt;

use reviewd::hub::notice::WebhookSecret;
use serde_json::Value;

use crate::hub::rig::serve;
use crate::hub::subscriber::{Received, Reply, Subscriber};
use crate::support::{Program, program, wait_until};
use targets::{SECRET, Site, target};

#[test]
fn the_first_start_sends_nothing_and_a_change_one_signed_notice() {
    let receiver = Subscriber::good();
    let mut site = Site::new(3);
    site.write_targets(&[target("shop", &receiver)]);
    let program = site.serve(&[]);
    program.wait_for_log("notices are sent of what changes from now on");
    site.edit("r00001", "rating", Value::from(1));
    let notice = receiver.wait_delivery(1);
    assert_eq!(notice.target, "/secret-path?key=secret-key");
    assert_eq!(notice.field("content-type"), Some("application/json"));
    let name = notice.field("webhook-id").expect("an id");
    let unix_s = notice.field("webhook-timestamp").expect("a time");
    let secret = WebhookSecret::parse(SECRET).expect("a secret");
    let body = std::str::from_utf8(&notice.body).expect("text");
    let expected = secret.sign(name, unix_s.parse().expect("a number"), body);
    assert_eq!(notice.field("webhook-signature"), Some(expected.as_str()));
    let body: Value = serde_json::from_str(body).expect("JSON");
    assert_eq!(body["type"], "review.changed");
    assert_eq!(body["data"]["id"], "r00001");
    assert_eq!(
        body["data"]["url"],
        "https://reviews.example/reviews/r00001"
    );
    assert_eq!(body["data"]["review"]["rating"], 1);
    assert_eq!(receiver.received().len(), 1);
}

#[test]
fn new_and_removed_reviews_are_told_and_a_removed_one_without_its_words() {
    let receiver = Subscriber::good();
    let mut site = Site::new(3);
    site.write_targets(&[target("shop", &receiver)]);
    let program = site.serve(&[]);
    program.wait_for_log("notices are sent of what changes from now on");
    site.add("brand-new");
    assert_eq!(body(&receiver.wait_delivery(1))["type"], "review.new");
    site.remove("r00001");
    let removed = body(&receiver.wait_delivery(2));
    assert_eq!(removed["type"], "review.removed");
    let data = removed["data"].as_object().expect("an object");
    let keys: Vec<&str> = data.keys().map(String::as_str).collect();
    assert_eq!(keys, ["id", "url", "rating", "date"]);
}

#[test]
fn what_changed_while_the_service_was_down_is_told_at_the_next_start() {
    let receiver = Subscriber::good();
    let mut site = Site::new(3);
    site.write_targets(&[target("shop", &receiver)]);
    let program = site.serve(&[]);
    program.wait_for_log("notices are sent of what changes from now on");
    program.stop();
    site.edit("r00002", "text", Value::from("Edited."));
    let _program = site.serve(&[]);
    assert_eq!(body(&receiver.wait_delivery(1))["data"]["id"], "r00002");
}

#[test]
fn ten_changes_are_ten_notices_and_eleven_are_one_summary() {
    for (count, notices) in [(10, 10), (11, 1)] {
        let receiver = Subscriber::good();
        let mut site = Site::new(20);
        site.write_targets(&[target("shop", &receiver)]);
        let program = site.serve(&[]);
        program.wait_for_log("notices are sent of what changes from now on");
        site.edit_first(count, "text", &Value::from("Edited."));
        let last = body(&receiver.wait_delivery(notices));
        // A later change comes after all of them.
        site.edit("r00000", "text", Value::from("Edited again."));
        let next = body(&receiver.wait_delivery(notices + 1));
        assert_eq!(next["data"]["id"], "r00000");
        if notices == 1 {
            assert_eq!(last["type"], "reviews.summary");
            assert_eq!(last["data"]["changed"], 11);
            assert_eq!(last["data"]["ids"].as_array().map(Vec::len), Some(11));
        }
    }
}

#[test]
fn a_notice_that_fails_is_repeated_with_its_id_until_it_is_acknowledged() {
    let receiver = Subscriber::good();
    receiver.behave(|_: &Received| Reply::status(500));
    let mut site = Site::new(3);
    site.write_targets(&[target("shop", &receiver)]);
    let program = site.serve(&["--retry-delays", "50ms"]);
    program.wait_for_log("notices are sent of what changes from now on");
    site.edit("r00001", "text", Value::from("Edited."));
    receiver.wait_delivery(3);
    receiver.behave(Reply::good);
    let count = receiver.received().len();
    wait_until("acknowledged", || site.waiting() == 0);
    let received = receiver.received();
    assert!(received.len() > count - 1, "{}", received.len());
    let first = &received[0];
    for repeated in &received {
        assert_eq!(repeated.field("webhook-id"), first.field("webhook-id"));
        assert_eq!(repeated.body, first.body);
    }
}

#[test]
fn only_the_id_of_a_target_is_logged() {
    let receiver = Subscriber::good();
    receiver.behave(|_: &Received| Reply::status(500));
    let mut site = Site::new(3);
    site.write_targets(&[target("shop", &receiver)]);
    let program = site.serve(&["--log-level", "debug", "--retry-delays", "50ms"]);
    program.wait_for_log("notices are sent of what changes from now on");
    site.edit("r00001", "text", Value::from("Edited."));
    let failed = program.wait_for_log("a notice was not accepted");
    assert!(failed.contains(r#""notice":"shop""#), "{failed}");
    receiver.wait_delivery(2);
    program.signal("TERM");
    for line in [failed].iter().chain(&program.rest_of_log()) {
        assert!(!line.contains("secret"), "{line}");
        assert!(!line.contains(&receiver.port().to_string()), "{line}");
    }
}

#[test]
fn the_address_guard_holds_for_notices() {
    let receiver = Subscriber::good();
    let mut site = Site::new(3);
    site.write_targets(&[target("shop", &receiver)]);
    let folder = site.data.path().to_str().expect("a path").to_owned();
    let state = site.state_dir().to_owned();
    let base = ["--data", &folder, "--base-url", "https://reviews.example"];
    let program = Program::serve(&[&base[..], &["--state", &state]].concat());
    program.wait_for_log("notices are sent of what changes from now on");
    site.edit("r00001", "text", Value::from("Edited."));
    let failed = program.wait_for_log("a notice was not accepted");
    assert!(failed.contains("blocked"), "{failed}");
    assert_eq!(receiver.connections(), 0);
}

#[test]
fn a_file_that_others_can_read_is_refused_at_the_start_and_by_check() {
    let receiver = Subscriber::good();
    let site = Site::new(1);
    site.write_targets(&[target("shop", &receiver)]);
    let folder = site.data.path().to_str().expect("a path");
    program::run(&["check", folder]).with(0);
    let file = site.data.path().join("notices.json");
    for mode in [0o640, 0o604] {
        std::fs::set_permissions(&file, PermissionsExt::from_mode(mode)).expect("a mode");
        let expected = format!("notices.json: can be read by others (mode {mode:03o})");
        let served = program::run(&["serve", "--data", folder, "--listen", "127.0.0.1:0"]);
        let printed = served.with(78);
        assert!(printed.contains(&expected), "{printed}");
        let printed = program::run(&["check", folder]).with(78);
        assert!(printed.contains(&expected), "{printed}");
    }
}

#[test]
fn check_names_a_wrong_target_without_its_address() {
    let site = Site::new(1);
    let wrong = r#"{"id": "shop", "kind": "webhook", "url": "http://x.example/secret"}"#;
    site.write_targets(&[wrong.to_owned()]);
    let printed = program::run(&["check", site.data.path().to_str().expect("a path")]).with(65);
    assert!(
        printed.contains("notices[0].url: is not an https URL"),
        "{printed}"
    );
    assert!(!printed.contains("secret"), "{printed}");
}

#[test]
fn a_target_that_is_added_later_is_told_of_later_changes_only() {
    let receiver = Subscriber::good();
    let mut site = Site::new(3);
    let program = site.serve(&[]);
    site.edit("r00001", "text", Value::from("Edited."));
    program.wait_for_log("a changed dataset is served");
    site.write_targets(&[target("shop", &receiver)]);
    program.wait_for_log("notices are sent of what changes from now on");
    site.edit("r00002", "text", Value::from("Edited."));
    assert_eq!(body(&receiver.wait_delivery(1))["data"]["id"], "r00002");
}

#[test]
fn a_chat_gets_its_own_form_in_the_language_of_the_owner() {
    let receiver = Subscriber::good();
    let mut site = Site::new(3);
    site.data.write("site.json", r#"{"language": "de"}"#);
    let mut target: Value = serde_json::from_str(&target("team", &receiver)).expect("JSON");
    target["kind"] = Value::from("slack");
    site.write_targets(&[target.to_string()]);
    let program = site.serve(&[]);
    program.wait_for_log("notices are sent of what changes from now on");
    site.edit(
        "r00001",
        "text",
        Value::from("<!channel> Schlecht & teuer."),
    );
    let body = body(&receiver.wait_delivery(1));
    assert_eq!(body["text"], "Geänderte Bewertung von Author 1\n★★☆☆☆");
    let text = &body["blocks"][1]["text"]["text"];
    assert_eq!(*text, "&lt;!channel&gt; Schlecht &amp; teuer.");
    let link = "<https://reviews.example/reviews/r00001|Bewertung lesen> · Example &amp; Partners";
    assert_eq!(body["blocks"][2]["text"]["text"], link);
}

/// The body of a notice to a webhook.
fn body(notice: &Received) -> Value {
    serde_json::from_slice(&notice.body).expect("JSON")
}
