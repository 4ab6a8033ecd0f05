//! Reload: a changed dataset is served completely or not at all; until then the previous one is served. The insights of
//! large datasets are tested in `insights_later`.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant, UNIX_EPOCH};

use serde_json::Value;

use crate::support::dataset::{DataDir, large_reviews_json, reviews_json};
use crate::support::{Program, Server, get, wait_until};

const FIRST: &str = "2026-01-01T00:00:00Z";
const SECOND: &str = "2026-01-02T00:00:00Z";
const THIRD: &str = "2026-01-03T00:00:00Z";

/// Returns how many reviews the server publishes.
fn count(server: &Server) -> usize {
    let count = server.get("/readyz").json()["review_count"].as_u64();
    count.expect("a number") as usize
}

/// Returns the reason with `code` on `/readyz`, if there is one.
fn reason(server: &Server, code: &str) -> Option<Value> {
    let document = server.get("/readyz").json();
    let mut reasons = document["reasons"].as_array().expect("a list").iter();
    reasons.find(|reason| reason["code"] == code).cloned()
}

/// Waits until the server publishes `expected` reviews.
fn wait_for_count(server: &Server, expected: usize) {
    wait_until("the other dataset is served", || count(server) == expected);
}

/// Waits until there is a reason with `code`, and returns it.
fn wait_for_reason(server: &Server, code: &str) -> Value {
    wait_until(code, || reason(server, code).is_some());
    reason(server, code).expect("it is there")
}

/// Waits until there is no reason with `code`.
fn wait_for_no_reason(server: &Server, code: &str) {
    wait_until(&format!("no {code}"), || reason(server, code).is_none());
}

#[test]
fn a_replaced_file_is_served_also_on_open_connections() {
    let data = DataDir::with_reviews(3, FIRST);
    let server = Server::start_on(data.path());
    let mut connection = server.connect();
    let first = connection.get("/reviews.json");
    data.write("reviews.json", &reviews_json(5, SECOND));
    wait_until("the new reviews are served", || {
        connection.get("/reviews.json").body != first.body
    });
    let second = connection.get("/reviews.json");
    let dated = second.field("last-modified");
    assert_eq!(dated, Some("Fri, 02 Jan 2026 00:00:00 GMT"));
    let old_tag = [("If-None-Match", first.etag())];
    let again = connection.send("GET", "/reviews.json", &old_tag);
    assert_eq!((again.status, again.body == second.body), (200, true));
    assert_eq!(reason(&server, "reload_failed"), None);
}

#[test]
fn a_link_to_a_directory_is_followed_when_it_changes_disappears_and_returns() {
    let [old, new] =
        [(3, FIRST), (7, SECOND)].map(|(count, date)| DataDir::with_reviews(count, date));
    let links = DataDir::empty();
    let [current, next] = ["current", "next"].map(|name| links.path().join(name));
    symlink(old.path(), &current).unwrap();
    let server = Server::start_on(&current);
    assert_eq!(count(&server), 3);
    symlink(new.path(), &next).unwrap();
    fs::rename(&next, &current).unwrap();
    wait_for_count(&server, 7);
    // The new directory is watched now.
    new.write("reviews.json", &reviews_json(8, THIRD));
    wait_for_count(&server, 8);
    fs::rename(&current, &next).unwrap();
    wait_for_reason(&server, "data_missing");
    assert_eq!(count(&server), 8);
    assert_eq!(server.get("/readyz").status, 200);
    new.write("reviews.json", &reviews_json(9, "2026-01-04T00:00:00Z"));
    fs::rename(&next, &current).unwrap();
    wait_for_count(&server, 9);
    wait_for_no_reason(&server, "data_missing");
}

#[test]
fn a_broken_file_changes_only_readyz_until_it_is_fixed() {
    let data = DataDir::with_reviews(3, FIRST);
    let server = Server::start_on(data.path());
    let before = server.get("/reviews.json").body;
    let whole = reviews_json(5, SECOND);
    data.write("reviews.json", &whole[..whole.len() / 2]);
    let refusal = wait_for_reason(&server, "reload_failed");
    assert_eq!(refusal["details"].as_array().map(Vec::len), Some(1));
    assert_eq!(server.get("/readyz").status, 200, "it still serves");
    assert_eq!(server.get("/reviews.json").body, before);
    // Restoring the original contents clears the error.
    data.write("reviews.json", &reviews_json(3, FIRST));
    wait_for_no_reason(&server, "reload_failed");
    let broken = reviews_json(3, SECOND)
        .replace("\"rating\":1", "\"rating\":9")
        .replace("\"rating\":2", "\"rating\":0");
    data.write("reviews.json", &broken);
    let refusal = wait_for_reason(&server, "reload_failed");
    let details = refusal["details"].as_array().expect("every problem");
    assert_eq!(details.len(), 2, "{details:?}");
    for line in details {
        let line = line.as_str().expect("a text");
        let is_without_value = line.ends_with("].rating: is not a whole number from 1 to 5");
        assert!(is_without_value, "{line}");
    }
    data.write("reviews.json", &whole);
    wait_for_count(&server, 5);
    wait_for_no_reason(&server, "reload_failed");
}

/// Returns the message of `/readyz` after `damage` has made a file of the served folder unusable.
fn message_after(damage: impl FnOnce(&DataDir)) -> Value {
    let data = DataDir::with_reviews(3, FIRST);
    let server = Server::start_on(data.path());
    damage(&data);
    wait_for_reason(&server, "reload_failed")["message"].clone()
}

#[test]
fn readyz_names_an_unreadable_file_without_its_folder() {
    let message = message_after(|data| {
        let file = data.path().join("reviews.json");
        fs::remove_file(&file).unwrap();
        fs::create_dir(&file).unwrap();
    });
    let expected = "reviews.json: cannot be read: it is not a regular file; it is tried again";
    assert_eq!(message, expected);
}

#[test]
fn readyz_does_not_tell_who_can_read_secrets() {
    let message = message_after(|data| {
        data.write("notices.json", "{}");
        let file = data.path().join("notices.json");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    });
    let expected = "notices.json: has permissions that are not accepted";
    assert_eq!(message, expected);
}

#[test]
fn a_date_in_the_future_is_refused_until_it_is_reached() {
    let data = DataDir::with_reviews(3, FIRST);
    let server = Server::start_on(data.path());
    let soon = reviewd::clock::now().unix() + 3;
    let soon = reviewd::wire::date::Timestamp::from_unix(soon);
    data.write("reviews.json", &reviews_json(5, &soon.to_string()));
    let refusal = wait_for_reason(&server, "reload_failed");
    let told = refusal["details"][0].as_str().unwrap();
    assert!(told.contains("is in the future"), "{told}");
    wait_for_count(&server, 5);
    assert!(reviewd::clock::now() >= soon);
}

#[test]
fn files_that_disappear_before_their_date_is_reached_are_reported_once() {
    let data = DataDir::with_reviews(3, FIRST);
    let directory = data.path().to_str().unwrap();
    let program = Program::serve(&["--data", directory, "--poll", "100ms"]);
    let soon = reviewd::clock::now().unix() + 4;
    let soon = reviewd::wire::date::Timestamp::from_unix(soon);
    data.write("reviews.json", &reviews_json(5, &soon.to_string()));
    program.wait_for_log("a data file is rejected");
    fs::remove_file(data.path().join("reviews.json")).unwrap();
    program.wait_for_log("has no reviews.json");
    wait_until("the date has passed", || reviewd::clock::now() > soon);
    program.signal("TERM");
    let log = program.rest_of_log();
    assert!(!log.concat().contains("has no reviews.json"), "{log:?}");
}

#[test]
fn without_polling_files_are_read_only_at_sighup() {
    let data = DataDir::with_reviews(3, FIRST);
    let directory = data.path().to_str().unwrap();
    let program = Program::serve(&["--data", directory, "--poll", "0"]);
    data.write("reviews.json", &reviews_json(5, SECOND));
    // The threads report every 5 seconds, and look then at what they wait for.
    let later = reviewd::clock::now().unix() + 6;
    let later = reviewd::wire::date::Timestamp::from_unix(later);
    wait_until("each thread has reported", || reviewd::clock::now() > later);
    program.signal("HUP");
    // A line before this one is left out, so the change was not served earlier.
    program.wait_for_log("SIGHUP");
    program.wait_for_log("a changed dataset is served");
}

#[test]
fn without_polling_files_that_change_while_they_are_read_at_sighup_are_read_again() {
    let data = DataDir::with_reviews(3, FIRST);
    let directory = data.path().to_str().unwrap();
    let program = Program::serve(&["--data", directory, "--poll", "0"]);
    data.write("reviews.json", &reviews_json(5, SECOND));
    // Not JSON, and so large that the test sees when the program reads it.
    let large = data.path().join("insights.json");
    let file = fs::File::create(&large).unwrap();
    file.set_len(200 << 20).unwrap();
    program.signal("HUP");
    wait_until("it is read", || has_open(&program, &large));
    // The program tries three times, and then waits until nothing was written for a second.
    let mut read_at = Instant::now();
    while read_at.elapsed() < Duration::from_millis(300) {
        if has_open(&program, &large) {
            read_at = Instant::now();
            data.write("check.json", "{\"allow\":[]}");
        }
    }
    fs::remove_file(large).unwrap();
    program.wait_for_log("a changed dataset is served");
}

#[test]
fn without_polling_the_state_of_the_sources_is_read_at_sighup() {
    let data = DataDir::with_reviews(3, FIRST);
    let directory = data.path().to_str().unwrap();
    let program = Program::serve(&["--data", directory, "--poll", "0"]);
    data.write("sync.json", r#"{"sources":{"shop":{"error":"refused"}}}"#);
    program.signal("HUP");
    wait_until("the source is named", || {
        let readiness = get(program.address(), "/readyz", &[]);
        readiness.text().contains("source_failing")
    });
}

/// Whether the program has opened the file.
fn has_open(program: &Program, path: &Path) -> bool {
    let descriptors = fs::read_dir(format!("/proc/{}/fd", program.id())).expect("a process");
    // A descriptor may be closed meanwhile.
    let links = descriptors
        .flatten()
        .map(|entry| fs::read_link(entry.path()));
    links.flatten().any(|link| link == path)
}

/// Returns `updated_at` of the served dataset.
fn updated_at(address: SocketAddr) -> String {
    let document = get(address, "/reviews.json", &[]).json();
    document["updated_at"].as_str().expect("a date").to_owned()
}

fn taxonomy_json(services: &str) -> String {
    format!(r#"{{"aspects":[],"technicians":[],"services":[{services}],"service_areas":[]}}"#)
}

#[test]
fn without_updated_at_the_newest_modification_time_dates_the_content() {
    let data = DataDir::empty();
    let text = reviews_json(3, FIRST).replace(&format!("\"updated_at\":\"{FIRST}\","), "");
    data.write("reviews.json", &text);
    data.write("taxonomy.json", &taxonomy_json(""));
    let at = |seconds: u64| UNIX_EPOCH + Duration::from_secs(seconds);
    data.set_modified("reviews.json", at(1_767_225_600));
    data.set_modified("taxonomy.json", at(1_767_225_605));
    let [one, other] = [(); 2].map(|()| Server::start_on(data.path()));
    assert_eq!(updated_at(one.address()), "2026-01-01T00:00:05Z");
    for path in ["/reviews.json", "/insights.json"] {
        assert_eq!(one.get(path).etag(), other.get(path).etag(), "{path}");
    }
}

#[test]
fn changed_content_gets_a_later_date_also_after_a_restart() {
    let data = DataDir::with_reviews(3, FIRST);
    let state = DataDir::empty();
    let paths = [data.path(), state.path()].map(|path| path.to_str().unwrap());
    let start = || Program::serve(&["--data", paths[0], "--state", paths[1], "--no-hub"]);
    for (count, expected) in [(3, FIRST), (4, "2026-01-01T00:00:01Z")] {
        data.write("reviews.json", &reviews_json(count, FIRST));
        let program = start();
        assert_eq!(updated_at(program.address()), expected, "{count}");
    }
    // The same holds for changes while the program runs.
    let program = start();
    for (count, date, expected) in [
        (5, FIRST, "2026-01-01T00:00:02Z"),
        (6, FIRST, "2026-01-01T00:00:03Z"),
        (7, SECOND, SECOND),
        (8, FIRST, "2026-01-02T00:00:01Z"),
    ] {
        data.write("reviews.json", &reviews_json(count, date));
        program.wait_for_log("a changed dataset is served");
        assert_eq!(updated_at(program.address()), expected, "{count}");
    }
}

#[test]
fn files_copied_one_after_another_are_read_as_one_set() {
    let data = DataDir::with_reviews(3, FIRST);
    let next = DataDir::empty();
    // The reviews mention this service.
    let service = r#"{"id":"wills","label":"Wills","phrases":["practice"]}"#;
    next.write("taxonomy.json", &taxonomy_json(service));
    next.write("reviews.json", &reviews_json(5, SECOND));
    let program = Program::serve(&["--data", data.path().to_str().unwrap(), "--no-hub"]);
    for name in ["reviews.json", "taxonomy.json"] {
        fs::copy(next.path().join(name), data.path().join(name)).unwrap();
        // Longer than the program waits between two looks: it sees the first file without the second.
        thread::sleep(Duration::from_millis(400));
    }
    program.wait_for_log("a changed dataset is served");
    let document = get(program.address(), "/reviews.json", &[]).json();
    assert_eq!(document["reviews"][0]["mentioned_services"][0], "wills");
}

#[test]
fn a_response_in_progress_keeps_its_dataset_during_a_reload() {
    let data = DataDir::empty();
    data.write("reviews.json", &large_reviews_json(FIRST));
    let server = Server::start_on(data.path());
    let before = server.get("/reviews.json").body;
    let mut connections = [(); 4].map(|()| server.connect());
    for connection in &mut connections {
        connection.request("GET", "/reviews.json", &[], b"");
        // The first byte of the response has arrived.
        connection.stream().peek(&mut [0]).unwrap();
    }
    data.write("reviews.json", &reviews_json(5, SECOND));
    wait_for_count(&server, 5);
    for connection in &mut connections {
        assert!(connection.response("GET").body == before);
    }
}
