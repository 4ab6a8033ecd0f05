//! Rates and proxies by the fast path: the same bucket, the same fields and the same refusal as by hyper.

use reviewd::http::ProxyField;

use super::{LAST, exchange, plain, start_with, undated};
use crate::rates::behind_proxies;

/// Returns the replies to `row` of a server that permits three reads a minute, and how many hyper has not seen.
fn replies(field: ProxyField, fast_path: bool, row: &str) -> (String, u64) {
    let server = start_with(|config| {
        behind_proxies(field)(config);
        config.base_url = Some("https://reviews.example".to_owned());
        config.limits.rates.reads = 3;
        config.fast_path = fast_path;
    });
    let replies = undated(exchange(server.address(), row.as_bytes()));
    (untimed(&String::from_utf8_lossy(&replies)), plain(&server))
}

/// Returns the lines of `replies` without seconds: those may pass between two requests, requests that are left may not.
pub(super) fn untimed(replies: &str) -> String {
    let lines = replies
        .split("\r\n")
        .map(|line| match line.split_once(";t=") {
            Some((before, _)) => before,
            None if line.starts_with("retry-after: ") => "retry-after",
            None => line,
        });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn rates_are_told_and_held_alike_whoever_answers() {
    for (field, name, prefix) in [
        (ProxyField::XForwardedFor, "X-Forwarded-For", ""),
        (ProxyField::Forwarded, "Forwarded", "for="),
    ] {
        let one = |method: &str, path: &str, client: &str| {
            format!(
                "{method} {path} HTTP/1.1\r\nHost: a\r\n{name}: {prefix}203.0.113.1\r\n{name}: {prefix}{client}\r\n\r\n"
            )
        };
        let row = [
            one("GET", "/robots.txt", "192.0.2.1"),
            one("GET", "/reviews.json", "192.0.2.1"),
            one("HEAD", "/api/reviews/search?rating=9", "192.0.2.1"),
            one("GET", "/reviews.json", "192.0.2.1"),
            one("HEAD", "/nowhere", "192.0.2.1"),
            one("GET", "/nowhere", "192.0.2.2"),
            one("GET", "/api/reviews/since/2000-01-01", "192.0.2.2"),
            one("GET", "/api/reviews/search?limit=1", "192.0.2.2"),
            one(
                "GET",
                "/api/reviews/search?limit=1",
                &format!("192.0.2.2, {prefix}127.0.0.9"),
            ),
            LAST.to_owned(),
        ];
        let (fast, answered) = replies(field, true, &row.concat());
        let (slow, none) = replies(field, false, &row.concat());
        assert_eq!((answered, none), (9, 0));
        assert!(fast == slow, "{name}");
        let starts = fast.split("HTTP/1.1 ").skip(1);
        let statuses: Vec<_> = starts.filter_map(|start| start.split(' ').next()).collect();
        assert_eq!(
            statuses,
            [
                "200", "200", "400", "429", "429", "404", "200", "200", "429", "200"
            ]
        );
        assert_eq!(fast.matches("ratelimit: \"reads\";r=2\n").count(), 2);
    }
}
