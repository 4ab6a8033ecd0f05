//! How reviews were verified, and who published them first: in the file, the documents, the pages and after an import.

use serde_json::{Value, json};

use crate::import::{file, import, reviews};
use crate::support::dataset::{DataDir, reviews_json};
use crate::support::{Server, get};
use reviewd::server::DataSource;

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
    let server = Server::start_with(|config| {
        config.data = DataSource::Directory(data.path().to_owned());
    });
    (data, server)
}

fn page(server: &Server) -> String {
    let reply = get(server.address(), "/", &[]);
    String::from_utf8(reply.body.to_vec()).expect("UTF-8")
}

#[test]
fn the_optional_keys_are_published_last_and_always() {
    let extra = r#""media":[{"url":"https://cdn.example/a.jpg","alt":"The door","type":"image/jpeg"}],"language":"pt-BR","verification":{"by":"trustpilot","method":"invitation"}"#;
    let (_data, server) = serve(2, &[extra]);
    let text = |target: &str| {
        let reply = get(server.address(), target, &[]);
        String::from_utf8(reply.body.to_vec()).expect("UTF-8")
    };
    assert!(
        text("/api/reviews/r00000").ends_with(
            r#""mentioned_services":[],"verification":{"by":"trustpilot","method":"invitation"},"language":"pt-BR","media":[{"url":"https://cdn.example/a.jpg","alt":"The door","type":"image/jpeg"}]}"#
        ),
        "{}",
        text("/api/reviews/r00000")
    );
    let bare = text("/api/reviews/r00001");
    assert!(
        bare.ends_with(r#""verification":null,"language":null,"media":[]}"#),
        "{bare}"
    );
    let feed: Value = serde_json::from_str(&text("/api/feed.json")).expect("JSON");
    assert_eq!(feed["items"][1]["_review"]["language"], "pt-BR");
}

#[test]
fn the_page_names_each_verifier_and_how() {
    let (_data, server) = serve(3, &[]);
    let own = page(&server);
    assert!(
        own.contains("Every review was verified by Example &#38; Partners itself."),
        "{own}"
    );
    assert!(!own.contains("verified client"), "{own}");
    let judge = r#""verification":{"by":"judge.me","method":"purchase"}"#;
    let (_data, server) = serve(3, &[judge]);
    let mixed = page(&server);
    assert!(
        mixed.contains(
            "Reviews were verified: 2 by Example &#38; Partners itself, 1 by Judge.me (purchase)."
        ),
        "{mixed}"
    );
    assert_eq!(
        mixed
            .matches("· Verified by <bdi>Judge.me (purchase)</bdi>")
            .count(),
        1
    );
    let (_data, server) = serve(0, &[]);
    let empty = page(&server);
    assert!(!empty.to_lowercase().contains("verified"), "{empty}");
}

#[test]
fn further_verifiers_are_counted_together() {
    let extra: Vec<String> = (0..6)
        .map(|number| format!(r#""verification":{{"by":"V{number}","method":null}}"#))
        .collect();
    let extra: Vec<&str> = extra.iter().map(String::as_str).collect();
    let (_five, server) = serve(5, &extra[..5]);
    assert!(page(&server).contains("1 by V0, 1 by V1, 1 by V2, 1 by V3, 1 by V4."));
    let (_six, server) = serve(6, &extra);
    assert!(page(&server).contains("1 by V3, 1 by V4, 1 by others."));
}

#[test]
fn imported_reviews_name_their_publisher_in_the_linked_data() {
    let data = DataDir::empty();
    let text = reviews_json(3, DATE)
        .replacen(r#""source":"google""#, r#""source":"website""#, 1)
        .replacen(
            r#""source":"google","source_url":null"#,
            r#""source":"local guide","source_url":"https://guide.example/r/1""#,
            1,
        );
    data.write("reviews.json", &text);
    let server = Server::start_with(|config| {
        config.data = DataSource::Directory(data.path().to_owned());
    });
    let reply = get(server.address(), "/reviews.jsonld", &[]);
    let document: Value = serde_json::from_slice(&reply.body).expect("JSON");
    let of = |at: usize| &document["review"][at];
    assert_eq!(
        of(0)["publisher"],
        json!({"@type": "Organization", "name": "Google"})
    );
    assert_eq!(of(1)["publisher"]["name"], "Local guide");
    assert_eq!(of(1)["url"], "https://guide.example/r/1");
    assert_eq!(of(2).get("publisher"), None);
}

#[test]
fn an_import_sets_the_verification_that_a_platform_states() {
    let folder = tempfile::tempdir().unwrap();
    let table = "id,author,rating,date,text,verified\n\
        1,Ann,5,2024-03-04,Good.,yes\n2,Bob,4,2024-03-05,Fair.,no\n3,Cy,4,2024-03-06,Fine.,\n";
    let source = file(folder.path(), "a.csv", table);
    import(
        folder.path(),
        &[&source, "--source", "trustpilot", "--verified"],
    );
    let found = reviews(folder.path());
    let stated: Vec<_> = found.iter().map(|one| one.get("verification")).collect();
    let by = json!({"by": "trustpilot", "method": null});
    assert_eq!(stated, [None, None, Some(&by)]);
    // A table of the operator's own is the business itself.
    let own = tempfile::tempdir().unwrap();
    import(own.path(), &[&source, "--source", "website"]);
    assert!(
        reviews(own.path())
            .iter()
            .all(|one| one.get("verification").is_none())
    );
}

#[test]
fn an_import_keeps_the_optional_keys_and_takes_those_of_a_reviewd() {
    let extra = r#""verification":{"by":"yelp","method":"visit"},"language":"fr","media":[{"url":"https://a.example/a","alt":"b","type":"image/png"}]"#;
    let (_data, server) = serve(1, &[extra]);
    let document = get(server.address(), "/reviews.json", &[]);
    let folder = tempfile::tempdir().unwrap();
    let source = file(folder.path(), "theirs.json", &document.body);
    import(folder.path(), &[&source]);
    let first = reviews(folder.path());
    assert_eq!(
        first[0]["verification"],
        json!({"by": "yelp", "method": "visit"})
    );
    assert_eq!(first[0]["language"], "fr");
    assert_eq!(first[0]["media"][0]["alt"], "b");
}
