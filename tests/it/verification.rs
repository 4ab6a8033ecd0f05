//! How reviews were verified, and who published them first: in the file, the documents, the pages and after an import.

use serde_json::json;

use crate::import::Folder;
use crate::support::Server;
use crate::support::dataset::{DataDir, reviews_json};
use crate::support::program::run;

const DATE: &str = "2026-01-01T00:00:00Z";

/// Serves a folder whose oldest reviews have these further keys.
fn serve(count: usize, extra: &[&str]) -> (DataDir, Server) {
    let data = DataDir::empty();
    let mut text = reviews_json(count, DATE);
    for (number, extra) in extra.iter().enumerate() {
        let id = format!(r#"{{"id":"r{number:05}","#);
        text = text.replace(&id, &format!("{id}{extra},"));
    }
    data.write("reviews.json", &text);
    let server = Server::start_on(data.path());
    (data, server)
}

fn text(server: &Server, target: &str) -> String {
    String::from_utf8(server.get(target).body).expect("UTF-8")
}

#[test]
fn the_optional_keys_are_published_last_and_always() {
    let extra = r#""media":[{"url":"https://cdn.example/a.jpg","alt":"The door","type":"image/jpeg","thumbnail_url":"https://cdn.example/s.jpg"}],
        "language":"pt-BR","verification":{"by":"trustpilot","method":"invitation"},"translation":"Good.","location":"north",
        "date_precision":"month","rating_original":{"value":8.3,"best":10},"added_at":"2026-01-02T03:04:05Z","changed_at":null"#;
    let (_data, server) = serve(2, &[extra]);
    let first = text(&server, "/api/reviews/r00000");
    let media = r#"[{"url":"https://cdn.example/a.jpg","alt":"The door","type":"image/jpeg","thumbnail_url":"https://cdn.example/s.jpg","source_url":null}]"#;
    let end = format!(
        r#""mentioned_services":[],"verification":{{"by":"trustpilot","method":"invitation"}},"language":"pt-BR","media":{media},"translation":"Good.","language_source":"stated","location":"north","date_precision":"month","rating_original":{{"value":8.3,"best":10}},"added_at":"2026-01-02T03:04:05Z","changed_at":null}}"#
    );
    assert!(first.ends_with(&end), "{first}");
    let bare = text(&server, "/api/reviews/r00001");
    let end = r#""verification":null,"language":"en","media":[],"translation":null,"language_source":"detected","location":null,"date_precision":null,"rating_original":null,"added_at":null,"changed_at":null}"#;
    assert!(bare.ends_with(end), "{bare}");
    let feed = server.get("/api/feed.json").json();
    assert_eq!(feed["items"][1]["_review"]["language"], "pt-BR");
}

/// The front page of a folder whose oldest reviews have these further keys.
fn page(count: usize, extra: &[&str]) -> String {
    let (_data, server) = serve(count, extra);
    text(&server, "/")
}

#[test]
fn the_page_names_the_verifiers_with_their_methods() {
    let own = page(3, &[]);
    let said = "<bdi>3 reviews verified by Example &#38; Partners</bdi>.";
    assert!(own.contains(said), "{own}");
    let mark = "<bdi>Client, verified by Example &#38; Partners</bdi>";
    assert_eq!(own.matches(mark).count(), 3);
    let judge = r#""verification":{"by":"judge.me","method":"purchase"}"#;
    let mixed = page(3, &[judge]);
    let said = "<bdi>2 reviews verified by Example &#38; Partners</bdi>; \
        <bdi>1 review verified by Judge.me (purchase)</bdi>.";
    assert!(mixed.contains(said), "{mixed}");
    let mark = "<bdi>Client, verified by Judge.me</bdi>";
    assert_eq!(mixed.matches(mark).count(), 1);
    let empty = page(0, &[]);
    assert!(!empty.to_lowercase().contains("verified"), "{empty}");
}

#[test]
fn the_page_names_five_verifiers_and_counts_further_ones_together() {
    let extra = [0, 1, 2, 3, 4, 5]
        .map(|number| format!(r#""verification":{{"by":"V{number}","method":null}}"#));
    let extra = extra.each_ref().map(String::as_str);
    let five = page(5, &extra[..5]);
    assert!(five.contains("<bdi>1 review verified by V4</bdi>."));
    assert!(page(6, &extra).contains("<bdi>1 review verified by others</bdi>."));
}

/// A review that its platform published with an account.
const ACCOUNT: &str = r#""verification":{"by":"google","method":"account"}"#;

/// Serves three reviews, the oldest of which is not verified and has these further keys.
fn serve_unverified(extra: &str) -> (DataDir, Server) {
    let data = DataDir::empty();
    let text = reviews_json(3, DATE);
    let (newer, oldest) = text.split_at(text.find(r#"{"id":"r00000""#).expect("a review"));
    let oldest = oldest.replacen(
        r#"{"id":"r00000","#,
        &format!(r#"{{"id":"r00000",{extra}"#),
        1,
    );
    let oldest = oldest.replacen(r#""verified":true"#, r#""verified":false"#, 1);
    data.write("reviews.json", &format!("{newer}{oldest}"));
    let server = Server::start_on(data.path());
    (data, server)
}

#[test]
fn a_review_published_with_an_account_is_the_only_unverified_one_that_is_published() {
    for (extra, status) in [
        (format!("{ACCOUNT},"), 200),
        (ACCOUNT.replace("account", "purchase") + ",", 404),
        (String::new(), 404),
    ] {
        let (_data, server) = serve_unverified(&extra);
        let response = server.get("/api/reviews/r00000");
        assert_eq!(response.status, status, "{extra}");
    }
}

#[test]
fn a_platform_that_is_not_listed_is_accepted_and_is_the_publisher_in_the_linked_data() {
    let data = DataDir::empty();
    let text = reviews_json(1, DATE).replacen(r#""source":"google""#, r#""source":"arztnavi""#, 1);
    data.write("reviews.json", &text);
    let folder = data.path().to_str().expect("a path");
    run(&["verify", "r00000", "--account", "--data", folder]).with(0);
    let server = Server::start_on(data.path());
    let review = server.get("/api/reviews/r00000").json();
    let account = json!({"by": "arztnavi", "method": "account"});
    assert_eq!(review["verification"], account);
    let document = server.get("/reviews.jsonld").json();
    assert_eq!(document["review"][0]["publisher"]["name"], "Arztnavi");
    for own in [
        "own website",
        "Kontaktformular",
        "n/a",
        "practice.example",
        "Example & Partners",
    ] {
        data.write("reviews.json", &text.replacen("arztnavi", own, 1));
        let said = run(&["verify", "r00000", "--account", "--data", folder]).with(65);
        let expected = format!("{own:?} is not a platform");
        assert!(said.contains(&expected), "{said}");
    }
}

#[test]
fn the_aggregate_rating_counts_the_states_where_a_review_is_published_with_an_account() {
    let (_data, server) = serve_unverified(&format!("{ACCOUNT},"));
    let rating = &server.get("/reviews.json").json()["aggregate_rating"];
    let expected = json!({"business": 2, "platform": 0, "account": 1});
    assert_eq!(rating["by_verification"], expected);
    let (_data, server) = serve_unverified("");
    let rating = &server.get("/reviews.json").json()["aggregate_rating"];
    assert_eq!(rating.get("by_verification"), None);
}

#[test]
fn the_page_says_which_reviews_were_not_matched_with_a_customer() {
    let (_data, server) = serve_unverified(&format!("{ACCOUNT},"));
    let page = text(&server, "/");
    for said in [
        "<bdi>2 reviews verified by Example &#38; Partners</bdi>",
        "<bdi>1 review published by Google, not verified</bdi>",
        "<bdi>As published on Google, not verified</bdi>",
    ] {
        assert!(page.contains(said), "{said}: {page}");
    }
    assert!(!page.contains("verified by Google"), "{page}");
}

#[test]
fn imported_reviews_name_their_publisher_in_the_linked_data() {
    let data = DataDir::empty();
    let google = r#""source":"google","source_url":null"#;
    let guide = r#""source":"local guide","source_url":"https://guide.example/r/1""#;
    let text = reviews_json(3, DATE)
        .replacen("google", "website", 1)
        .replacen(google, guide, 1);
    data.write("reviews.json", &text);
    let document = Server::start_on(data.path()).get("/reviews.jsonld").json();
    let reviews = &document["review"];
    let google = json!({"@type": "Organization", "name": "Google"});
    assert_eq!(reviews[0]["publisher"], google);
    assert_eq!(reviews[1]["publisher"]["name"], "Local guide");
    assert_eq!(reviews[1]["url"], "https://guide.example/r/1");
    assert_eq!(reviews[2].get("publisher"), None);
}

#[test]
fn an_import_sets_the_verification_that_a_platform_states() {
    let table = "id,author,rating,date,text,verified\n\
        1,Ann,5,2024-03-04,Good.,yes\n2,Bob,4,2024-03-05,Fair.,no\n3,Cy,4,2024-03-06,Fine.,\n";
    let by = json!({"by": "trustpilot", "method": null});
    let vouched = ["--source", "trustpilot", "--verified"];
    for (flags, expected) in [
        (&vouched[..], [None, None, Some(&by)]),
        // For a table of the business itself, no verifier is set.
        (&["--source", "website"], [None; 3]),
    ] {
        let folder = Folder::new();
        let source = folder.file("a.csv", table);
        folder.import(&[&[source.as_str()], flags].concat());
        let found = folder.reviews();
        let stated: Vec<_> = found.iter().map(|one| one.get("verification")).collect();
        assert_eq!(stated, expected);
    }
}

#[test]
fn an_import_keeps_the_optional_keys_and_takes_those_of_a_reviewd() {
    let extra = r#""verification":{"by":"yelp","method":"visit"},"language":"fr","media":[{"url":"https://a.example/a","alt":"b","type":"image/png"}]"#;
    let (_data, server) = serve(1, &[extra]);
    let folder = Folder::new();
    let document = server.get("/reviews.json").body;
    folder.import(&[&folder.file("theirs.json", &document)]);
    let first = &folder.reviews()[0];
    let visit = json!({"by": "yelp", "method": "visit"});
    assert_eq!(first["verification"], visit);
    assert_eq!(first["language"], "fr");
    assert_eq!(first["media"][0]["alt"], "b");
}
