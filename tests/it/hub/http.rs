//! The hub behind its address: what a form over HTTP is answered, and a whole life on a changing dataset.

use std::path::Path;
use std::time::Duration;

use reviewd::hub::{Settings, Stats};
use reviewd::server::{Config, DataSource};

use super::rig;
use super::subscriber::{Reply, Subscriber};
use crate::support::dataset::{DataDir, reviews_json};
use crate::support::{Response, Server, wait_until};

const FORM: &str = "application/x-www-form-urlencoded";

/// Starts a server with a hub.
fn start_with(temp: &tempfile::TempDir, change: impl FnOnce(&mut Config)) -> Server {
    let settings = rig::settings(temp);
    Server::start_with(|config| {
        config.hub = Some(settings);
        change(config);
    })
}

fn hub(config: &mut Config) -> &mut Settings {
    config.hub.as_mut().unwrap()
}

/// Posts to the hub with these header fields, each with its end of line.
fn send(server: &Server, fields: &str, body: &str) -> Response {
    let mut connection = server.connect();
    let head = format!(
        "POST /api/websub/hub HTTP/1.1\r\nHost: {}",
        server.address()
    );
    connection.write(format!("{head}\r\n{fields}\r\n{body}").as_bytes());
    connection.response("POST")
}

fn post(server: &Server, content_type: &str, body: &str) -> Response {
    let length = body.len();
    let fields = format!("Content-Type: {content_type}\r\nContent-Length: {length}\r\n");
    send(server, &fields, body)
}

fn stats(server: &Server) -> &Stats {
    server.running().app().hub().expect("a hub").stats()
}

fn form(server: &Server, path: &str, callback: &str) -> String {
    let topic = format!("http://{}{path}", server.address());
    url::form_urlencoded::Serializer::new(String::new())
        .append_pair("hub.mode", "subscribe")
        .append_pair("hub.topic", &topic)
        .append_pair("hub.callback", callback)
        .finish()
}

fn subscribe(server: &Server, path: &str, callback: &str) -> Response {
    post(server, FORM, &form(server, path, callback))
}

/// Checks a plain-text answer of one line that begins as expected.
fn assert_line(response: &Response, status: u16, line: &str) {
    assert_eq!(response.status, status, "{}", response.text());
    let media_type = response.field("content-type");
    assert_eq!(media_type, Some("text/plain; charset=utf-8"));
    assert_eq!(response.field("cache-control"), Some("no-store"));
    assert_eq!(response.field("etag"), None);
    assert!(response.text().starts_with(line), "{}", response.text());
    assert_eq!(response.text().matches('\n').count(), 1);
}

/// A callback that nothing answers at.
const CALLBACK: &str = "https://127.0.0.1:8443/cb";

#[test]
fn h27_a_request_that_can_be_handled_is_answered_202() {
    let temp = tempfile::tempdir().unwrap();
    let server = start_with(&temp, |_| {});
    assert_line(&subscribe(&server, "/feed.xml", CALLBACK), 202, "accepted");
    let body = form(&server, "/feed.xml", CALLBACK);
    let fields = format!(
        "Authorization: Basic eDp5\r\nContent-Type: {FORM}\r\nContent-Length: {}\r\n",
        body.len()
    );
    assert_eq!(send(&server, &fields, &body).status, 202, "credentials");
}

#[test]
fn h29_h30_refusals_are_a_4xx_with_one_plain_line() {
    let temp = tempfile::tempdir().unwrap();
    let server = start_with(&temp, |_| {});
    let plain = form(&server, "/feed.xml", "http://127.0.0.1:8443/cb");
    let unknown = form(&server, "/insights.json", CALLBACK);
    for (content_type, body, status, line) in [
        (FORM, "hub.mode=subscribe", 400, "hub.callback: is missing"),
        (
            FORM,
            &plain,
            400,
            "hub.callback: must be https, plain http is refused",
        ),
        (FORM, &unknown, 400, "hub.topic: is not one of "),
        (
            "application/json",
            "{}",
            415,
            "content-type: must be application/x-www-form-urlencoded, not \"application/json\"",
        ),
    ] {
        assert_line(&post(&server, content_type, body), status, line);
    }
    let twice = format!("Content-Type: {FORM}\r\nContent-Type: {FORM}\r\nContent-Length: 1\r\n");
    for fields in ["Content-Length: 1\r\n", &twice] {
        let response = send(&server, fields, "x");
        assert_line(&response, 415, "content-type: ");
        assert_eq!(response.field("accept-post"), Some(FORM));
    }
    let response = post(&Server::start(), FORM, "hub.mode=subscribe");
    assert_eq!(response.status, 503, "without a hub");
    assert!(response.field("retry-after").is_some());
}

#[test]
fn one_client_may_ask_so_often_and_is_told_when_to_come_back() {
    let temp = tempfile::tempdir().unwrap();
    let server = start_with(&temp, |config| config.limits.rates.hub = 1);
    let response = subscribe(&server, "/feed.xml", CALLBACK);
    assert_eq!(response.status, 202);
    let policy = response.field("ratelimit-policy");
    assert_eq!(policy, Some("\"hub\";q=1;w=60"));
    let response = subscribe(&server, "/feed.xml", CALLBACK);
    let line = "more than 1 requests a minute from one address";
    assert_line(&response, 429, line);
    let wait = response.field("retry-after").unwrap();
    let limit = format!("\"hub\";r=0;t={wait}");
    assert_eq!(response.field("ratelimit"), Some(limit.as_str()));
    // The form was left unread.
    assert_eq!(response.field("connection"), Some("close"));
}

#[test]
fn bounds_of_what_is_kept_are_429_for_a_host_and_503_for_all() {
    let temp = tempfile::tempdir().unwrap();
    let silent = Subscriber::start_with(None, Reply::good);
    let server = start_with(&temp, |config| {
        hub(config).quotas.requests = 3;
        hub(config).quotas.requests_per_host = 2;
        hub(config).timeout = Duration::from_secs(30);
    });
    for (host, path, status, line) in [
        ("127.0.0.1", "/1", 202, "accepted"),
        ("127.0.0.1", "/2", 202, "accepted"),
        (
            "127.0.0.1",
            "/3",
            429,
            "hub.callback: 2 requests for its host wait for verification",
        ),
        ("localhost", "/1", 202, "accepted"),
        ("127.0.0.3", "/1", 503, "3 requests wait for verification"),
    ] {
        let response = subscribe(&server, "/feed.xml", &silent.callback_at(host, path));
        assert_line(&response, status, line);
        let wait = (status != 202).then_some("30");
        assert_eq!(response.field("retry-after"), wait);
    }
}

#[test]
fn p1_h6_h47_h48_a_changed_dataset_comes_as_a_get_of_the_topic_would_answer() {
    let (temp, subscriber) = (tempfile::tempdir().unwrap(), Subscriber::good());
    let data = DataDir::with_reviews(3, "2026-01-01T00:00:00Z");
    let path: &Path = data.path();
    let server = start_with(&temp, |config| {
        config.data = DataSource::Directory(path.to_owned());
    });
    for path in ["/feed.xml", "/api/feed.json", "/reviews.json"] {
        let response = subscribe(&server, path, &subscriber.callback(path));
        assert_eq!(response.status, 202);
    }
    wait_until("active", || stats(&server).confirmed.value() == 3);
    data.write("reviews.json", &reviews_json(4, "2026-01-02T00:00:00Z"));
    subscriber.wait_delivery(3);
    for delivery in subscriber.deliveries() {
        let topic = server.get(&delivery.target);
        assert_eq!(delivery.body, topic.body);
        // The topic advertises itself and its hub with the very same field, on GET and HEAD.
        let head = server.connect().send("HEAD", &delivery.target, &[]);
        for response in [topic, head] {
            for name in ["content-type", "link"] {
                assert_eq!(delivery.field(name), response.field(name));
            }
        }
    }
}
