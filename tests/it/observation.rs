//! Metrics on the admin port. `.ci/check_metrics.py` checks their text with a strict parser.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use reviewd::server::{Config, DataSource};

use crate::support::CLIENT;
use crate::support::dataset::{DataDir, reviews_json};
use crate::support::{Connection, Server, get, send, wait_until};

pub(crate) const ANY_PORT: &str = "127.0.0.1:0";

fn observed() -> Server {
    observed_with(|_| {})
}

fn observed_with(change: impl FnOnce(&mut Config)) -> Server {
    Server::start_with(|config| {
        config.admin_listen = Some(ANY_PORT.parse().unwrap());
        change(config);
    })
}

pub(crate) fn admin(server: &Server) -> SocketAddr {
    server.running().admin_addr().expect("there is one")
}

/// Returns the samples by name and labels, as written in the text.
pub(crate) fn metrics(address: SocketAddr) -> HashMap<String, f64> {
    let response = get(address, "/metrics", &[]);
    let mut samples = HashMap::new();
    let lines = response.text().lines();
    for line in lines.filter(|line| !line.starts_with('#')) {
        let (key, value) = line.rsplit_once(' ').expect(line);
        let value = value.parse().expect(line);
        assert!(samples.insert(key.to_owned(), value).is_none(), "{line}");
    }
    samples
}

/// Asserts samples, each a line of the text without the prefix `reviewd_`.
fn assert_samples(server: &Server, expected: &str) {
    let samples = metrics(admin(server));
    let lines = expected.lines().map(str::trim);
    for line in lines.filter(|line| !line.is_empty()) {
        let (key, value) = line.rsplit_once(' ').expect(line);
        let found = samples.get(&format!("reviewd_{key}"));
        assert_eq!(found.copied(), value.parse().ok(), "{line}");
    }
}

#[test]
fn metrics_are_openmetrics_and_requests_make_no_new_lines() {
    let server = observed();
    let response = get(admin(&server), "/metrics", &[]);
    assert_eq!(response.status, 200);
    let media_type = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    assert_eq!(response.field("content-type"), Some(media_type));
    assert_eq!(response.field("cache-control"), Some("no-store"));
    assert_eq!(response.field("access-control-allow-origin"), None);
    assert!(response.text().ends_with("# EOF\n"));
    let samples = metrics(admin(&server));
    let version = env!("CARGO_PKG_VERSION");
    let expected = format!("build_info{{version=\"{version}\"}} 1\ndataset_reviews 207\nready 1");
    assert_samples(&server, &expected);
    assert!(samples["process_resident_memory_bytes"] > 1e6);
    assert!(samples["process_open_fds"] < samples["process_max_fds"]);
    for number in 0..50 {
        server.get(&format!("/nowhere/{number}"));
        server.get(&format!("/api/reviews/r{number}"));
    }
    assert_eq!(metrics(admin(&server)).len(), samples.len());
}

#[test]
fn requests_are_counted_by_address_and_status() {
    let server = observed_with(|config| {
        config.limits.rates.reads = 8;
        config.proxies.networks = vec!["127.0.0.0/8".parse().unwrap()];
    });
    let get = |target| server.get_with(target, &[CLIENT]);
    let etag = get("/reviews.json").etag().to_owned();
    let again = server.get_with("/reviews.json", &[CLIENT, ("If-None-Match", &etag)]);
    assert_eq!(again.status, 304);
    let length = get("/api/reviews/search?limit=1").body.len();
    get("/api/reviews/search?limit=0");
    get("/api/reviews/nobody");
    get("/nowhere/at/all");
    assert_eq!(server.send("HEAD", "/feed.xml", &[CLIENT]).status, 200);
    for status in [200, 429] {
        assert_eq!(get("/badge.svg").status, status);
    }
    // A request over the rate limit is counted with its route; a HEAD sends no body.
    assert_samples(
        &server,
        r#"
        http_requests_total{route="/reviews.json",status="2xx"} 1
        http_requests_total{route="/reviews.json",status="3xx"} 1
        http_requests_total{route="/api/reviews/search",status="2xx"} 1
        http_requests_total{route="/api/reviews/search",status="4xx"} 1
        http_requests_total{route="/api/reviews/{id}",status="4xx"} 1
        http_requests_total{route="other",status="4xx"} 1
        http_requests_total{route="/badge.svg",status="4xx"} 1
        rate_limited_total{surface="reads"} 1
        rate_limited_total{surface="mcp"} 0
        rate_limited_total{surface="hub"} 0
        http_response_body_bytes_total{route="/feed.xml"} 0
        http_request_duration_seconds_bucket{le="+Inf",route="/reviews.json"} 2
        http_request_duration_seconds_count{route="/reviews.json"} 2"#,
    );
    let samples = metrics(admin(&server));
    let sent = "reviewd_http_response_body_bytes_total{route=\"/api/reviews/search\"}";
    assert!(samples[sent] as usize > length);
    let time = "reviewd_http_request_duration_seconds_sum{route=\"/reviews.json\"}";
    assert!(samples[time] > 0.0);
}

#[test]
fn tool_calls_are_counted_by_name_and_unknown_names_together() {
    let server = observed();
    for name in ["search_reviews", "search_reviews", "unheard_of", "nor_this"] {
        let params = serde_json::json!({"name": name, "arguments": {}});
        server.post_mcp(&[], &crate::mcp::request("tools/call", params).to_string());
    }
    assert_samples(
        &server,
        r#"
        mcp_tool_calls_total{tool="search_reviews"} 2
        mcp_tool_calls_total{tool="unknown"} 2
        http_requests_total{route="/mcp",status="2xx"} 4"#,
    );
}

#[test]
fn idle_clients_do_not_block_the_admin_port() {
    let server = observed();
    let mut held = [(); 8].map(|()| Connection::kept(admin(&server)));
    // One more connection replaces the one that has been idle longest.
    Connection::kept(admin(&server));
    assert_eq!(held[0].rest(), b"");
    // Long before the idle timeout of one minute on the public port.
    let began = Instant::now();
    for connection in held.iter_mut().skip(1) {
        assert_eq!(connection.rest(), b"");
    }
    assert!(began.elapsed() < Duration::from_secs(30));
    // An unfinished request does not delay shutdown either.
    let mut half = Connection::kept(admin(&server));
    half.write(b"GET /metrics HTTP/1.1\r\nHost: ");
    let began = Instant::now();
    assert!(server.shutdown());
    assert!(began.elapsed() < Duration::from_secs(4));
}

#[test]
fn reloads_are_counted_by_outcome() {
    let data = DataDir::with_reviews(2, "2026-01-01T00:00:00Z");
    let server =
        observed_with(|config| config.data = DataSource::Directory(data.path().to_owned()));
    let wait_for = |outcome: &str| {
        let name = format!("reviewd_reloads_total{{outcome=\"{outcome}\"}}");
        wait_until(outcome, || metrics(admin(&server))[&name] == 1.0);
        metrics(admin(&server))
    };
    let reason = "reviewd_ready_reason{code=\"reload_failed\"}";
    data.write("reviews.json", "{");
    assert_eq!(wait_for("refused")[reason], 1.0);
    data.write("reviews.json", &reviews_json(3, "2026-01-02T00:00:00Z"));
    let samples = wait_for("replaced");
    assert_eq!(samples["reviewd_dataset_reviews"], 3.0);
    assert!(!samples.contains_key(reason));
    std::fs::remove_file(data.path().join("reviews.json")).unwrap();
    wait_for("gone");
}

#[test]
fn the_admin_port_has_its_own_routes_and_the_public_port_no_metrics() {
    let server = observed();
    assert_eq!(server.get("/metrics").status, 404);
    let address = admin(&server);
    assert_eq!(get(address, "/readyz", &[]).json()["ready"], true);
    assert_eq!(get(address, "/reviews.json", &[]).status, 404);
    let refused = send(address, "POST", "/metrics", &[], b"x");
    assert_eq!(refused.status, 405);
    assert_eq!(refused.field("allow"), Some("GET, HEAD"));
    assert_eq!(refused.field("connection"), Some("close"));
    assert_eq!(send(address, "HEAD", "/metrics", &[], b"").status, 200);
    // A web page whose host name resolves to this port (DNS rebinding) can read nothing.
    for path in ["/metrics", "/readyz", "/healthz"] {
        for (host, status) in [
            ("page.example:9090", 421),
            ("127.0.0.1", 200),
            ("localhost:9090", 200),
            ("[::1]:9090", 200),
        ] {
            let reply = get(address, path, &[("Host", host)]);
            assert_eq!(reply.status, status, "{path} {host}");
            assert_eq!(reply.field("access-control-allow-origin"), None);
        }
    }
}

#[test]
fn requests_refused_by_the_http_parser_are_counted_as_other() {
    let server = observed_with(|config| config.limits.header_time = Duration::from_millis(300));
    let long = "x".repeat(17 << 10);
    let long = format!("GET / HTTP/1.1\r\nHost: a\r\nX: {long}\r\n\r\n");
    let other = "reviewd_http_requests_total{route=\"other\",status=\"4xx\"}";
    let count = || metrics(admin(&server))[other];
    for (bytes, status) in [
        ("no request\r\n\r\n", 400),
        (&long, 431),
        ("GET / HTTP/1.1\r\nHost", 408),
    ] {
        let before = count();
        let mut connection = server.connect();
        connection.write(bytes.as_bytes());
        assert_eq!(connection.response("GET").status, status);
        wait_until("it is counted", || count() == before + 1.0);
    }
    // A connection that closes without a request is not counted.
    let before = count();
    drop(server.connect());
    assert_eq!(server.get("/healthz").status, 200);
    assert_eq!(count(), before);
}
