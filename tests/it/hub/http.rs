//! The hub behind its address: what a form over HTTP is answered, and a whole life on a changing dataset.

use std::path::Path;
use std::time::Duration;

use reviewd::hub::Settings;
use reviewd::hub::StoreLocation;
use reviewd::hub::stats::Stats;
use reviewd::server::DataSource;

use super::rig;
use super::subscriber::{Received, Subscriber};
use crate::support::dataset::{DataDir, reviews_json};
use crate::support::{Response, Server, wait_until};

const FORM: &str = "application/x-www-form-urlencoded";

/// Starts a server with a hub, on the files in `data` or on the sample.
fn start(
    temp: &tempfile::TempDir,
    data: Option<&Path>,
    change: impl FnOnce(&mut Settings),
) -> Server {
    let mut settings = rig::settings(temp);
    change(&mut settings);
    Server::start_with(|config| {
        config.hub = Some(settings);
        if let Some(data) = data {
            config.data = DataSource::Directory(data.to_owned());
        }
    })
}

fn post(server: &Server, content_type: &str, body: &[u8]) -> Response {
    let mut connection = server.connect();
    let host = server.address();
    let head = format!(
        "POST /api/websub/hub HTTP/1.1\r\nHost: {host}\r\nContent-Type: {content_type}\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    connection.write(&[head.as_bytes(), body].concat());
    connection.response("POST")
}

fn stats(server: &Server) -> &Stats {
    server.running().app().hub().expect("a hub").stats()
}

fn form(pairs: &[(&str, &str)]) -> String {
    url::form_urlencoded::Serializer::new(String::new())
        .extend_pairs(pairs)
        .finish()
}

fn subscribe(server: &Server, path: &str, callback: &str) -> Response {
    let topic = format!("http://{}{path}", server.address());
    let body = form(&[
        ("hub.mode", "subscribe"),
        ("hub.topic", &topic),
        ("hub.callback", callback),
    ]);
    post(server, FORM, body.as_bytes())
}

/// Checks a plain-text answer of one line that begins as expected.
fn assert_line(response: &Response, status: u16, line: &str) {
    assert_eq!(response.status, status, "{}", response.text());
    assert_eq!(
        response.field("content-type"),
        Some("text/plain; charset=utf-8")
    );
    assert_eq!(response.field("cache-control"), Some("no-store"));
    assert_eq!(response.field("etag"), None);
    assert!(response.text().starts_with(line), "{}", response.text());
    assert_eq!(response.text().matches('\n').count(), 1);
}

#[test]
fn h27_a_request_that_can_be_handled_is_answered_202() {
    let temp = tempfile::tempdir().unwrap();
    let server = start(&temp, None, |_| {});
    assert_line(
        &subscribe(&server, "/feed.xml", "https://127.0.0.1:8443/nobody"),
        202,
        "accepted",
    );
}

#[test]
fn h29_h30_refusals_are_a_4xx_with_one_plain_line() {
    let temp = tempfile::tempdir().unwrap();
    let server = start(&temp, None, |_| {});
    for (content_type, body, status, line) in [
        (
            FORM,
            form(&[("hub.mode", "subscribe")]),
            400,
            "hub.callback: is missing",
        ),
        (
            FORM,
            form(&[("hub.mode", "publish"), ("hub.url", "x")]),
            400,
            "hub.mode: must be subscribe or unsubscribe, not \"publish\"",
        ),
        (
            "application/json",
            "{}".to_owned(),
            415,
            "content-type: must be application/x-www-form-urlencoded, not \"application/json\"",
        ),
        (
            FORM,
            "x".repeat(8 * 1024 + 1),
            413,
            "the request body must not be longer than 8192 bytes",
        ),
        (FORM, "x".repeat(8 * 1024), 400, "hub.mode: is missing"),
    ] {
        assert_line(&post(&server, content_type, body.as_bytes()), status, line);
    }
    let plain = subscribe(&server, "/feed.xml", "http://127.0.0.1:8443/cb");
    assert_line(
        &plain,
        400,
        "hub.callback: must be https, plain http is refused",
    );
    let unknown = subscribe(&server, "/insights.json", "https://127.0.0.1:8443/cb");
    assert_line(&unknown, 400, "hub.topic: is not one of ");
}

#[test]
fn a_content_type_given_twice_or_not_at_all_is_415() {
    let temp = tempfile::tempdir().unwrap();
    let server = start(&temp, None, |_| {});
    for fields in [
        "",
        "Content-Type: application/x-www-form-urlencoded\r\nContent-Type: application/x-www-form-urlencoded\r\n",
    ] {
        let mut connection = server.connect();
        connection.write(
            format!(
                "POST /api/websub/hub HTTP/1.1\r\nHost: {}\r\n{fields}Content-Length: 1\r\n\r\nx",
                server.address()
            )
            .as_bytes(),
        );
        let response = connection.response("POST");
        assert_line(&response, 415, "content-type: ");
        assert_eq!(response.field("accept-post"), Some(FORM));
    }
}

#[test]
fn a_chunked_body_that_never_ends_is_408_and_nothing_is_created() {
    let temp = tempfile::tempdir().unwrap();
    let settings = rig::settings(&temp);
    let server = Server::start_with(|config| {
        config.hub = Some(settings);
        config.limits.body_time = Duration::from_millis(300);
    });
    let mut connection = server.connect();
    connection.write(format!("POST /api/websub/hub HTTP/1.1\r\nHost: {}\r\nContent-Type: {FORM}\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhub.m\r\n", server.address()).as_bytes());
    let response = connection.response("POST");
    assert_line(&response, 408, "the request body must arrive within ");
    assert_eq!(response.field("connection"), Some("close"));
    assert_eq!(stats(&server).accepted.value(), 0);
}

#[test]
fn a_chunked_form_may_have_8_kib_and_no_more() {
    let temp = tempfile::tempdir().unwrap();
    let server = start(&temp, None, |_| {});
    let topic = format!("http://{}/feed.xml", server.address());
    let body = form(&[
        ("hub.mode", "subscribe"),
        ("hub.topic", &topic),
        ("hub.callback", "https://127.0.0.1:8443/cb"),
        ("padding", ""),
    ]);
    for (bytes, status) in [(8 * 1024, 202), (8 * 1024 + 1, 413)] {
        let padding = "x".repeat(bytes - body.len());
        let mut connection = server.connect();
        connection.write(format!("POST /api/websub/hub HTTP/1.1\r\nHost: {}\r\nContent-Type: {FORM}\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{body}\r\n{:x}\r\n{padding}\r\n0\r\n\r\n", server.address(), body.len(), padding.len()).as_bytes());
        assert_eq!(connection.response("POST").status, status, "{bytes}");
    }
}

#[test]
fn one_client_may_ask_so_often_and_is_told_when_to_come_back() {
    let temp = tempfile::tempdir().unwrap();
    let settings = rig::settings(&temp);
    let server = Server::start_with(|config| {
        config.hub = Some(settings);
        config.limits.rates.hub = 2;
    });
    for left in [1, 0] {
        let response = subscribe(&server, "/feed.xml", "https://127.0.0.1:8443/cb");
        assert_eq!(response.status, 202);
        let policy = response.field("ratelimit-policy");
        assert_eq!(policy, Some("\"hub\";q=2;w=60"));
        let limit = response.field("ratelimit").unwrap();
        assert!(
            limit.starts_with(&format!("\"hub\";r={left};t=")),
            "{limit}"
        );
    }
    let response = subscribe(&server, "/feed.xml", "https://127.0.0.1:8443/cb");
    assert_line(
        &response,
        429,
        "more than 2 requests a minute from one address",
    );
    let wait_s: u32 = response.field("retry-after").unwrap().parse().unwrap();
    assert!((1..=30).contains(&wait_s), "{wait_s}");
    assert_eq!(
        response.field("ratelimit"),
        Some(&*format!("\"hub\";r=0;t={wait_s}"))
    );
    // The form was left unread.
    assert_eq!(response.field("connection"), Some("close"));
}

#[test]
fn bounds_of_what_is_kept_are_429_for_a_host_and_503_for_all() {
    let temp = tempfile::tempdir().unwrap();
    let silent = Subscriber::start_with(None, super::subscriber::Reply::good);
    let server = start(&temp, None, |settings| {
        settings.quotas.requests = 3;
        settings.quotas.requests_per_host = 2;
        settings.verify_timeout = Duration::from_secs(30);
    });
    let ask = |host: &str, path: &str| {
        subscribe(
            &server,
            "/feed.xml",
            &format!("https://{host}:{}/{path}", silent.port()),
        )
    };
    assert_eq!(ask("127.0.0.1", "1").status, 202);
    assert_eq!(ask("127.0.0.1", "2").status, 202);
    let response = ask("127.0.0.1", "3");
    assert_line(
        &response,
        429,
        "hub.callback: 2 requests for its host wait for verification",
    );
    assert_eq!(response.field("retry-after"), Some("30"));
    assert_eq!(ask("localhost", "1").status, 202);
    let response = ask("127.0.0.3", "1");
    assert_line(&response, 503, "3 requests wait for verification");
    assert_eq!(response.field("retry-after"), Some("30"));
}

#[test]
fn without_a_hub_its_address_answers_503() {
    let response = post(&Server::start(), FORM, b"hub.mode=subscribe");
    assert_eq!(response.status, 503);
    assert!(response.field("retry-after").is_some());
}

#[test]
fn an_authorization_header_is_ignored() {
    let temp = tempfile::tempdir().unwrap();
    let server = start(&temp, None, |_| {});
    let topic = format!("http://{}/feed.xml", server.address());
    let body = form(&[
        ("hub.mode", "subscribe"),
        ("hub.topic", &topic),
        ("hub.callback", "https://127.0.0.1:8443/x"),
    ]);
    let mut connection = server.connect();
    connection.write(format!("POST /api/websub/hub HTTP/1.1\r\nHost: {}\r\nAuthorization: Basic eDp5\r\nContent-Type: {FORM}\r\nContent-Length: {}\r\n\r\n{body}", server.address(), body.len()).as_bytes());
    assert_eq!(connection.response("POST").status, 202);
}

/// Checks that a delivery is what a GET of its topic answers.
fn assert_is_topic(server: &Server, path: &str, delivery: &Received) {
    let topic = server.get(path);
    assert_eq!(delivery.body, topic.body);
    assert_eq!(delivery.field("content-type"), topic.field("content-type"));
    // The topic advertises itself and its hub with the very same field, on GET and HEAD.
    assert_eq!(delivery.field("link"), topic.field("link"));
    let head = server.connect().send("HEAD", path, &[]);
    assert_eq!(head.field("link"), topic.field("link"));
}

#[test]
fn p1_h6_h47_h48_a_changed_dataset_comes_as_a_get_of_the_topic_would_answer() {
    let (temp, subscriber) = (tempfile::tempdir().unwrap(), Subscriber::good());
    let data = DataDir::with_reviews(3, "2026-01-01T00:00:00Z");
    let server = start(&temp, Some(data.path()), |_| {});
    let paths = ["/feed.xml", "/api/feed.json", "/reviews.json"];
    for (number, path) in paths.into_iter().enumerate() {
        assert_eq!(
            subscribe(&server, path, &subscriber.callback(path)).status,
            202
        );
        subscriber.wait_verification(number + 1);
    }
    wait_until("active", || stats(&server).confirmed.value() == 3);
    data.write("reviews.json", &reviews_json(4, "2026-01-02T00:00:00Z"));
    subscriber.wait_delivery(3);
    for path in paths {
        let delivery = subscriber
            .deliveries()
            .into_iter()
            .find(|delivery| delivery.target == path)
            .unwrap();
        assert_is_topic(&server, path, &delivery);
    }
}

#[test]
fn readiness_names_a_state_directory_that_cannot_be_used_and_reads_go_on() {
    let temp = tempfile::tempdir().unwrap();
    let server = start(&temp, None, |settings| {
        let StoreLocation::Directory(directory) = &settings.place else {
            panic!("the hub has no directory");
        };
        std::fs::write(directory, "not a directory").unwrap();
    });
    wait_until("the reason", || {
        server.get("/readyz").text().contains("\"hub_store\"")
    });
    assert_eq!(server.get("/readyz").status, 503);
    assert_eq!(server.get("/reviews.json").status, 200);
    let response = subscribe(&server, "/feed.xml", "https://127.0.0.1:8443/cb");
    assert_line(&response, 503, "the hub cannot store requests at present");
    assert_eq!(response.field("retry-after"), Some("10"));
    // Once it can be used, the hub takes requests without a restart.
    std::fs::remove_file(temp.path().join("state")).unwrap();
    wait_until("accepted", || {
        subscribe(&server, "/feed.xml", "https://127.0.0.1:8443/cb").status == 202
    });
    wait_until("no reason", || {
        !server.get("/readyz").text().contains("\"hub_store\"")
    });
}
