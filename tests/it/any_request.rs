//! Whatever is asked, the answer is one of those that the interface knows, and its parts agree with each other.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, OnceLock};

use http_body_util::BodyExt;
use hyper::http::request::Parts;
use hyper::http::uri::Uri;
use hyper::{Request, Response};
use proptest::prelude::*;
use reviewd::http::{AppState, Body, ServedState, respond};

use crate::exchange::{sample, settings, snapshot_of};

const PEER: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

fn app() -> &'static AppState {
    static APP: OnceLock<AppState> = OnceLock::new();
    APP.get_or_init(|| {
        let site =
            ServedState::new(Arc::new(snapshot_of(sample()))).expect("the base URL fits a header");
        AppState::new(settings(), site).expect("the settings fit headers")
    })
}

fn request(method: &str, target: &Uri, fields: &[(&str, String)]) -> Parts {
    let mut builder = Request::builder()
        .method(method)
        .uri(target.clone())
        .header("host", "reviews.example");
    for (name, value) in fields {
        builder = builder.header(*name, value);
    }
    builder
        .body(())
        .expect("methods and fields of the test fit")
        .into_parts()
        .0
}

/// Answers a request; `None` if its body would be read first.
fn answer(method: &str, target: &Uri, fields: &[(&str, String)]) -> Option<Response<Body>> {
    respond(app(), request(method, target, fields), false, PEER)
}

fn collect(body: Body) -> Vec<u8> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime can be made");
    runtime
        .block_on(body.collect())
        .expect("our bodies do not fail")
        .to_bytes()
        .to_vec()
}

fn pieces(words: &'static [&'static str], count: usize) -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(words), 0..count).prop_map(|words| words.concat())
}

/// Targets near those of the interface.
fn target() -> impl Strategy<Value = Uri> {
    let path = pieces(
        &[
            "/api",
            "/reviews",
            "/search",
            "/since",
            "/",
            ".json",
            "/reviews.json",
            "/feed.xml",
            "/2024-01-01",
            "/..",
            "%2F",
            "%",
            "%00",
            "%c3%a9",
            "/healthz",
            "/api/reviews/search",
            "/api/reviews/since/2024-01-01",
            "é",
            "x",
        ],
        5,
    );
    let query = pieces(
        &[
            "aspect=",
            "polarity=positive",
            "fees",
            "rating=",
            "min_rating=",
            "since=",
            "until=",
            "query=",
            "limit=",
            "sort=",
            "cursor=",
            "mentions_service=",
            "5",
            "4.5",
            "0",
            "101",
            "2024-01-01",
            "probate",
            "oldest",
            "%",
            "%zz",
            "+",
            "&",
            "&",
            "=",
            "é",
            "utm=",
        ],
        12,
    );
    (path, query).prop_filter_map("no target that hyper hands on", |(path, query)| {
        format!("/{path}?{query}").parse().ok()
    })
}

fn fields() -> impl Strategy<Value = Vec<(&'static str, String)>> {
    let name = prop::sample::select(
        &[
            "accept-encoding",
            "if-none-match",
            "if-modified-since",
            "if-match",
            "if-unmodified-since",
            "origin",
            "range",
            "access-control-request-method",
            "transfer-encoding",
            "authorization",
            "expect",
        ][..],
    );
    let value = pieces(
        &[
            "gzip",
            "br;q=0.5",
            ", ",
            "*",
            "\"a\"",
            "W/",
            "Sun, 06 Nov 1994 08:49:37 GMT",
            "chunked",
            "x",
            " ",
        ],
        4,
    );
    prop::collection::vec((name, value), 0..5)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn every_answer_is_one_of_ours(
        method in prop::sample::select(&["GET", "HEAD", "OPTIONS", "POST", "DELETE", "BREW", "CONNECT"][..]),
        target in target(),
        fields in fields(),
    ) {
        let Some(reply) = answer(method, &target, &fields) else { return Ok(()) };
        let (parts, body) = reply.into_parts();
        let (status, announced) = (parts.status.as_u16(), body.length());
        prop_assert!([200, 204, 304, 400, 404, 405, 412, 501].contains(&status), "{status}");
        prop_assert_eq!(parts.headers.contains_key("etag"), parts.headers.contains_key("last-modified"));
        prop_assert!(status < 400 || !parts.headers.contains_key("etag"));
        prop_assert_eq!(&parts.headers["access-control-allow-origin"], "*");
        let bytes = collect(body);
        match (method, status) {
            ("HEAD", _) => prop_assert!(bytes.is_empty()),
            (_, 204 | 304) => prop_assert_eq!(announced, 0),
            _ => prop_assert_eq!(announced, bytes.len() as u64),
        }
        let is_page = parts.headers.get("content-type").is_some_and(|value| value == "text/html; charset=utf-8");
        if is_page {
            let is_front = target.path() == "/" && [200, 400].contains(&status);
            prop_assert!(is_front && parts.headers.contains_key("content-security-policy"), "{target}");
        } else if status >= 400 && method != "HEAD" {
            let error: serde_json::Value = serde_json::from_slice(&bytes).expect("errors are JSON");
            prop_assert!(error["error"].is_string() && error["message"].is_string());
        }
    }

    #[test]
    fn head_is_get_without_its_body(target in target(), fields in fields()) {
        let (Some(get), Some(head)) = (answer("GET", &target, &fields), answer("HEAD", &target, &fields)) else {
            return Ok(());
        };
        prop_assert_eq!((get.status(), get.headers(), get.body().length()), (head.status(), head.headers(), head.body().length()));
    }

    #[test]
    fn an_entity_tag_confirms_what_it_came_with(target in target(), accepted in "(gzip|br|)") {
        let fields = [("accept-encoding", accepted)];
        let Some(reply) = answer("GET", &target, &fields) else { return Ok(()) };
        let Some(tag) = reply.headers().get("etag") else { return Ok(()) };
        let tag = tag.to_str().expect("tags are ASCII").to_owned();
        let again = [fields[0].clone(), ("if-none-match", tag.clone())];
        let held = answer("GET", &target, &again).expect("the same request");
        prop_assert_eq!(held.status().as_u16(), 304);
        prop_assert_eq!(&held.headers()["etag"], &tag);
    }
}
