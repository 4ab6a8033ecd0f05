//! The hub over HTTP: its responses to forms, and deliveries when the dataset changes.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use reviewd::hub::HubSettings;
use reviewd::server::DataSource;

use super::rig;
use super::subscriber::{Reply, Subscriber};
use crate::support::dataset::{DataDir, reviews_json};
use crate::support::{FORM, Response, Server, ask_hub, hub_form, send, wait_until};

const HUB: &str = "/api/websub/hub";

/// Starts a server with a hub.
fn start_with(temp: &tempfile::TempDir, change: impl FnOnce(&mut HubSettings)) -> Server {
    let mut settings = rig::settings(temp);
    change(&mut settings);
    Server::start_with(|config| config.hub = Some(settings))
}

/// Requests a subscription to the document at `path`.
pub(super) fn subscribe(server: &Server, path: &str, callback: &str) -> Response {
    let topic = format!("http://{}{path}", server.address());
    ask_hub(server.address(), "subscribe", &topic, callback, &[])
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

/// A callback without a server.
const CALLBACK: &str = "https://127.0.0.1:8443/cb";

#[test]
fn a_request_that_can_be_handled_is_answered_202() {
    let temp = tempfile::tempdir().unwrap();
    let server = start_with(&temp, |_| {});
    assert_line(&subscribe(&server, "/feed.xml", CALLBACK), 202, "accepted");
    let topic = format!("http://{}/feed.xml", server.address());
    let body = hub_form("subscribe", &topic, CALLBACK, &[]);
    let credentials = [("Authorization", "Basic eDp5"), FORM];
    let answer = send(server.address(), "POST", HUB, &credentials, body.as_bytes());
    assert_eq!(answer.status, 202);
}

/// Refusals of bodies that are not forms are tested in `bodies`.
#[test]
fn refusals_are_a_4xx_with_one_plain_line() {
    let temp = tempfile::tempdir().unwrap();
    let server = start_with(&temp, |_| {});
    let missing = send(
        server.address(),
        "POST",
        HUB,
        &[FORM],
        b"hub.mode=subscribe",
    );
    assert_line(&missing, 400, "hub.callback: is missing");
    let plain = subscribe(&server, "/feed.xml", "http://127.0.0.1:8443/cb");
    let line = "hub.callback: must be an https URL, not \"http\"";
    assert_line(&plain, 400, line);
    let unknown = subscribe(&server, "/insights.json", CALLBACK);
    let line = "hub.topic: \"http://127.0.0.1:";
    assert_line(&unknown, 400, line);
    let what = "/insights.json\" is not one of http://127.0.0.1:";
    assert!(unknown.text().contains(what), "{}", unknown.text());
    let without = subscribe(&Server::start(), "/feed.xml", CALLBACK);
    assert_eq!(without.status, 503, "without a hub");
    assert!(without.field("retry-after").is_some());
}

#[test]
fn bounds_of_pending_requests_are_429_for_a_host_and_for_an_address() {
    let temp = tempfile::tempdir().unwrap();
    let silent = Subscriber::start_with(None, Reply::good);
    let server = start_with(&temp, |settings| {
        settings.quotas.requests = 6;
        settings.quotas.requests_per_host = 2;
        settings.timeout = Duration::from_secs(30);
    });
    let of_host = "hub.callback: too many pending verifications for the callback's host (limit 2)";
    let of_address =
        "hub.callback: too many pending verifications for requests of your address (limit 3)";
    for (host, path, status, line) in [
        ("127.0.0.1", "/1", 202, "accepted"),
        ("127.0.0.1", "/2", 202, "accepted"),
        ("127.0.0.1", "/3", 429, of_host),
        ("localhost", "/1", 202, "accepted"),
        ("127.0.0.3", "/1", 429, of_address),
    ] {
        let response = subscribe(&server, "/feed.xml", &silent.callback_at(host, path));
        assert_line(&response, status, line);
        let wait = (status != 202).then_some("30");
        assert_eq!(response.field("retry-after"), wait);
    }
}

#[test]
fn a_changed_dataset_comes_as_a_get_of_the_topic_would_answer() {
    let temp = tempfile::tempdir().unwrap();
    let subscriber = Subscriber::good();
    let data = DataDir::with_reviews(3, "2026-01-01T00:00:00Z");
    let settings = rig::settings(&temp);
    let server = Server::start_with(|config| {
        config.hub = Some(settings);
        config.data = DataSource::Directory(data.path().to_owned());
    });
    for path in ["/feed.xml", "/api/feed.json", "/reviews.json"] {
        let response = subscribe(&server, path, &subscriber.callback(path));
        assert_eq!(response.status, 202);
    }
    let stats = server.running().app().hub().unwrap().stats();
    wait_until("active", || stats.confirmed.load(Relaxed) == 3);
    data.write("reviews.json", &reviews_json(4, "2026-01-02T00:00:00Z"));
    subscriber.wait_delivery(3);
    for delivery in subscriber.deliveries() {
        let topic = server.get(&delivery.target);
        assert_eq!(delivery.body, topic.body);
        // GET and HEAD of the topic have the same Content-Type and Link as the delivery.
        let head = server.connect().send("HEAD", &delivery.target, &[]);
        for response in [topic, head] {
            for name in ["content-type", "link"] {
                assert_eq!(delivery.field(name), response.field(name));
            }
        }
    }
}
