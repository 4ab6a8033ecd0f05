//! `/api/reviews/changes`: a mirror that polls it has the same reviews as `/reviews.json`, whatever was changed and
//! how.

mod life;
mod mirror;

use serde_json::{Value, json};

use crate::support::dataset::DataDir;
use crate::support::program::run;
use crate::support::{Server, service, wait_until};
use mirror::{Mirror, published};

const DATE: &str = "2026-01-01T00:00:00Z";

/// Runs a command on the folder, which must succeed, waits until the server has other reviews, and polls once. Returns
/// the ids that the poll told.
fn told_after(server: &Server, mirror: &mut Mirror, change: impl FnOnce()) -> Vec<String> {
    let before = server.get("/reviews.json").body;
    change();
    wait_until("the change is served", || {
        server.get("/reviews.json").body != before
    });
    let told = mirror.poll(server.address());
    assert_eq!(mirror.reviews, published(server.address()));
    told
}

/// A folder with a record of its three reviews, and one that is not verified.
fn recorded() -> DataDir {
    let data = DataDir::with_reviews(3, DATE);
    let text = std::fs::read_to_string(data.path().join("reviews.json")).unwrap();
    let mut file: Value = serde_json::from_str(&text).unwrap();
    let mut hidden = file["reviews"][0].clone();
    hidden["id"] = json!("hidden");
    hidden["verified"] = json!(false);
    file["reviews"].as_array_mut().unwrap().push(hidden);
    data.write("reviews.json", &file.to_string());
    let said = run(&["record", data.path().to_str().unwrap()]).with(0);
    assert!(said.ends_with("the record was begun\n"), "{said}");
    data
}

/// Imports one review, as JSON with all keys of a CSV column.
fn import(data: &DataDir, id: &str, text: &str, reply: &str) {
    let table = format!(
        "id,author,rating,date,text,source,reply,reply_date,verified\n{id},Author {id},4,2019-02-03,{text},google,{reply},{},true\n",
        if reply.is_empty() { "" } else { "2019-02-04" }
    );
    let path = data.path().join("more.csv");
    std::fs::write(&path, table).unwrap();
    let into = data.path().to_str().unwrap();
    run(&["import", path.to_str().unwrap(), "--into", into]).with(0);
}

#[test]
fn every_kind_of_change_is_told_within_one_poll() {
    let data = recorded();
    let folder = data.path().to_str().unwrap().to_owned();
    let server = Server::start_on(data.path());
    let mut mirror = Mirror::default();
    mirror.poll(server.address());
    let known: Vec<String> = mirror.reviews.keys().cloned().collect();
    // A late import: the review is older than all others.
    let late = told_after(&server, &mut mirror, || import(&data, "7", "Late.", ""));
    assert_eq!(late.len(), 1);
    assert!(!known.contains(&late[0]));
    let edited = told_after(&server, &mut mirror, || import(&data, "7", "Edited.", ""));
    assert_eq!(edited, late);
    assert_eq!(mirror.reviews[&late[0]]["text"], "Edited.");
    let replied = told_after(&server, &mut mirror, || {
        import(&data, "7", "Edited.", "Thanks.")
    });
    assert_eq!(replied, late);
    let verified = told_after(&server, &mut mirror, || {
        run(&["verify", "hidden", "--data", &folder]).with(0);
    });
    assert_eq!(verified, ["hidden"]);
    let removed = told_after(&server, &mut mirror, || {
        run(&["forget", "r00001", "--reason", "asked", "--data", &folder]).with(0);
    });
    assert_eq!(removed, ["r00001"]);
    assert_eq!(mirror.poll(server.address()), [] as [String; 0]);
}

#[test]
fn an_edit_by_hand_is_told_and_recording_it_dates_it() {
    let data = recorded();
    let folder = data.path().to_str().unwrap().to_owned();
    let server = Server::start_on(data.path());
    let mut mirror = Mirror::default();
    mirror.poll(server.address());
    let path = data.path().join("reviews.json");
    let edit = |from: &str, to: &str| {
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.replace(from, to)).unwrap();
    };
    let edited = told_after(&server, &mut mirror, || {
        edit("number 1 of", "number one of")
    });
    assert_eq!(edited, ["r00001"]);
    let recorded = told_after(&server, &mut mirror, || {
        let said = run(&["record", &folder]).with(0);
        assert!(
            said.ends_with("recorded 0 added, 1 changed, 0 removed\n"),
            "{said}"
        );
    });
    assert_eq!(recorded, ["r00001"]);
    let changed_at = mirror.reviews["r00001"]["changed_at"]
        .as_str()
        .unwrap()
        .to_owned();
    let feed = server.get("/feed.xml");
    assert!(
        feed.text()
            .contains(&format!("<updated>{changed_at}</updated>"))
    );
    let feed = server.get("/api/feed.json").json();
    let is_edited = |item: &&Value| item["_review"]["id"] == "r00001";
    let item = feed["items"]
        .as_array()
        .unwrap()
        .iter()
        .find(is_edited)
        .unwrap();
    assert_eq!(item["date_modified"], *changed_at);
}

#[test]
fn pages_follow_one_another_and_each_id_is_told_once() {
    let all = published(service().address());
    for limit in [1, 7, 1_000] {
        let mut after = String::new();
        let mut ids = Vec::new();
        loop {
            let target = format!("/api/reviews/changes?limit={limit}&after={after}");
            let page = service().get(&target).json();
            let changed = page["changed"].as_array().unwrap();
            assert_eq!(page["returned"], changed.len());
            ids.extend(
                changed
                    .iter()
                    .map(|review| review["id"].as_str().unwrap().to_owned()),
            );
            after = page["next_cursor"].as_str().unwrap().to_owned();
            if page["has_more"] == false {
                break;
            }
            assert_eq!(changed.len(), limit);
        }
        assert!(ids.is_sorted(), "all have one time");
        assert!(ids.iter().eq(all.keys()));
    }
}

#[test]
fn the_last_cursor_waits_and_its_response_is_not_modified() {
    let whole = service().get("/api/reviews/changes?limit=1000").json();
    let cursor = whole["next_cursor"].as_str().unwrap();
    let target = format!("/api/reviews/changes?after={cursor}");
    let empty = service().get(&target);
    let expected = json!({
        "returned": 0,
        "next_cursor": cursor,
        "has_more": false,
        "changed": [],
        "removed": [],
    });
    assert_eq!(empty.json(), expected);
    let tag = [("If-None-Match", empty.etag())];
    let again = service().get_with(&target, &tag);
    assert_eq!((again.status, again.body.len()), (304, 0));
    let head = service().send("HEAD", &target, &[]);
    assert_eq!((head.status, head.etag()), (200, empty.etag()));
}

#[test]
fn a_wrong_parameter_or_method_is_refused() {
    for (query, path, code) in [
        ("after=x", "after", "invalid_cursor"),
        ("after=1.other.a", "after", "invalid_cursor"),
        ("limit=1001", "limit", "out_of_range"),
        ("limit=x", "limit", "invalid_type"),
    ] {
        let reply = service().get(&format!("/api/reviews/changes?{query}"));
        reply.assert_error(400, "validation_error");
        let issue = &reply.json()["issues"][0];
        let found = [&issue["path"], &issue["code"]];
        assert_eq!(found, [&json!([path]), &json!(code)], "{query}");
    }
    let refused = service().send("POST", "/api/reviews/changes", &[]);
    assert_eq!(refused.status, 405);
    let ignored = service().get("/api/reviews/changes?utm=1&limit=1").json();
    assert_eq!(ignored["ignored_parameters"], json!(["utm"]));
}

#[test]
fn a_log_that_begins_again_makes_old_cursors_invalid() {
    let data = recorded();
    let server = Server::start_on(data.path());
    let mut mirror = Mirror::default();
    mirror.poll(server.address());
    let folder = data.path().to_str().unwrap().to_owned();
    let told = told_after(&server, &mut mirror, || {
        run(&["record", "--restart", &folder]).with(0);
    });
    assert_eq!(told.len(), 3, "it reads all again");
}
