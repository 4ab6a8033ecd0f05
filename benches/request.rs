//! A request's way through our own code, without sockets and without hyper: what a read costs beyond them.
//!
//! Two thirds of a small request are the kernel's and most of the rest is hyper's; what is ours must stay small
//! beside both, or every reader pays. Each case asserts its status and the length of its body. Measured with the
//! header map of the reply before, as hyper hands it on.
//!
//! `cargo bench --bench request` for times. For instructions, which a busy machine does not disturb, count one case:
//! `valgrind --tool=callgrind --toggle-collect='*ask*' target/release/deps/request-* --profile-time 1 stored$`.

use std::hint::black_box;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Request, Response};
use reviewd::http::{App, Limits, Proxies, ProxyField, Rates, Settings, Site, respond};
use reviewd::model::Dataset;
use reviewd::search::index::IndexOptions;
use reviewd::snapshot::{self, Snapshot};
use reviewd::wire::date::{Date, Timestamp};
use reviewd::{dataset, http};

/// How many reviews the service has: those of a group of large practices, fewer where the bench is run as a test.
fn review_count() -> usize {
    let is_test = std::env::args().any(|argument| argument == "--test");
    if is_test { 1_000 } else { 10_000 }
}

/// The sample practice, its reviews repeated day after day until there are enough.
fn dataset() -> Dataset {
    let count = review_count();
    let decoded = dataset::decode(dataset::embedded(), Timestamp::from_unix(1_800_000_000));
    let mut dataset = decoded.expect("the sample is well formed").dataset;
    let sample = std::mem::take(&mut dataset.reviews);
    dataset.reviews = (0..count)
        .map(|number| {
            let mut review = sample[number % sample.len()].clone();
            let newest = Date::new(2026, 11, 1).expect("a day").days();
            review.date = Date::from_days(newest - number as u32 / 4).expect("a day");
            review.id = format!("R{:08}", count - number);
            review
        })
        .collect();
    dataset
}

fn app() -> App {
    let base_url = "https://reviews.example".to_owned();
    let settings = snapshot::Settings {
        base_url: base_url.clone(),
        index: IndexOptions {
            memory_bytes: 64 << 20,
            threads: NonZeroUsize::MIN,
        },
        mentions_min: reviewd::insights::MENTIONS_MIN,
    };
    let snapshot = Snapshot::build(dataset(), &settings);
    let settings = Settings {
        base_url,
        cache_control: "public, max-age=60, stale-while-revalidate=600".to_owned(),
        rates: Rates {
            reads: 0,
            mcp: 0,
            hub: 0,
        },
        proxies: Proxies {
            networks: Vec::new(),
            field: ProxyField::XForwardedFor,
        },
        limits: Limits {
            header_fields: 64,
            target_bytes: 8_192,
            hub_body_bytes: 8_192,
            mcp_body_bytes: 1 << 20,
            body_time: Duration::from_secs(10),
        },
    };
    let site = Site::new(Arc::new(snapshot)).expect("the base URL fits a header");
    App::new(settings, site).expect("the settings fit headers")
}

/// One request, ready to be sent over and over.
struct Case {
    template: Parts,
    fields: Vec<(HeaderName, HeaderValue)>,
}

impl Case {
    fn new(target: &str, fields: &[(&'static str, &str)]) -> Case {
        let (template, ()) = Request::get(target)
            .body(())
            .expect("the target fits")
            .into_parts();
        let common = [
            ("host", "reviews.example"),
            ("user-agent", "bench/1.0"),
            ("accept", "*/*"),
        ];
        let fields = common.iter().chain(fields).map(|(name, value)| {
            let value = HeaderValue::from_str(value).expect("the value fits");
            (HeaderName::from_static(name), value)
        });
        Case {
            template,
            fields: fields.collect(),
        }
    }

    fn parts(&self, mut headers: HeaderMap) -> Parts {
        headers.clear();
        for (name, value) in &self.fields {
            headers.append(name, value.clone());
        }
        let mut parts = self.template.clone();
        parts.headers = headers;
        parts
    }

    /// Answers once; returns the status, the length of the body, and the map for the next request.
    fn answer(&self, app: &App, headers: HeaderMap) -> (u16, u64, HeaderMap) {
        let response = ask(app, self.parts(headers));
        let status = response.status().as_u16();
        let (parts, body): (_, http::Body) = response.into_parts();
        (status, body.length(), parts.headers)
    }
}

/// What is measured, under a name that a profiler finds; making the request is not part of it.
#[inline(never)]
fn ask(app: &App, parts: Parts) -> Response<http::Body> {
    respond(app, black_box(parts), false).expect("a read is answered at once")
}

fn requests(criterion: &mut Criterion) {
    let app = app();
    let tag = {
        let response = ask(
            &app,
            Case::new("/reviews.json", &[]).parts(HeaderMap::new()),
        );
        response.headers()["etag"]
            .to_str()
            .expect("tags are ASCII")
            .to_owned()
    };
    let mut group = criterion.benchmark_group("request");
    group.throughput(Throughput::Elements(1));
    let newest = "/api/reviews/search?limit=20";
    for (name, target, fields, status, length) in [
        ("stored", "/api/feed.json", &[][..], 200, 1_000..200_000),
        (
            "stored-negotiated",
            "/api/feed.json",
            &[("accept-encoding", "gzip, deflate, br, zstd")],
            200,
            1_000..200_000,
        ),
        (
            "not-modified",
            "/reviews.json",
            &[("if-none-match", tag.as_str())],
            304,
            0..1,
        ),
        (
            "since-20",
            "/api/reviews/since/2026-10-28",
            &[],
            200,
            5_000..50_000,
        ),
        ("review", "/api/reviews/R00000500", &[], 200, 100..5_000),
        ("search-newest", newest, &[], 200, 5_000..50_000),
        (
            "search-filter",
            "/api/reviews/search?min_rating=4&since=2022-01-01&limit=20",
            &[],
            200,
            5_000..50_000,
        ),
        (
            "search-text",
            "/api/reviews/search?query=probate&limit=20",
            &[],
            200,
            5_000..50_000,
        ),
        (
            "search-refused",
            "/api/reviews/search?rating=9",
            &[],
            400,
            50..1_000,
        ),
        ("unknown", "/nowhere", &[], 404, 20..200),
    ] {
        let case = Case::new(target, fields);
        let mut headers = HeaderMap::new();
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                let (answered, bytes, map) = case.answer(&app, std::mem::take(&mut headers));
                assert!(
                    answered == status && length.contains(&bytes),
                    "{name}: {answered}, {bytes} bytes"
                );
                headers = map;
            });
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1));
    targets = requests
}
criterion_main!(benches);
