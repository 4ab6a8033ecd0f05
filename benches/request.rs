//! A request's path through our own code: the cost of a read without sockets and hyper.
//!
//! Two thirds of the time of a small request are spent in the kernel, and most of the rest in hyper; our part must stay
//! small beside both. Each case asserts its status and the length of its body. The header map of each response is
//! reused for the next request, as in hyper.
//!
//! `cargo bench --bench request` for times, `benches/instructions.sh` for instructions, which a busy machine does not
//! disturb.

use std::hint::black_box;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Request, Response};
use oracle::service;
use reviewd::http::{AppState, Body, Peer, respond};
use reviewd::mcp::{self, Catalog, Head, SingleField};
use reviewd::model::Dataset;
use reviewd::wire::date::Date;

/// The program's allocator. With that of the C library, counts of instructions differ by 3 % from run to run.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The number of reviews: those of a group of large practices; fewer if the bench runs as a test, or under a profiler,
/// which takes 50 times as long.
fn review_count() -> usize {
    let is_test = std::env::args().any(|argument| argument == "--test");
    let is_counted = std::env::var_os("REVIEWD_BENCH_COUNTED").is_some();
    if is_test || is_counted { 1_000 } else { 10_000 }
}

/// The sample practice, its reviews repeated day after day until there are enough.
fn dataset() -> Dataset {
    let count = review_count();
    let mut dataset = service::sample();
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

/// The address of the client.
const PEER: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));

/// One request, to be sent repeatedly.
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
    fn answer(&self, app: &AppState, peer: &Peer, headers: HeaderMap) -> (u16, u64, HeaderMap) {
        let response = ask(app, peer, self.parts(headers));
        let status = response.status().as_u16();
        let (parts, body): (_, Body) = response.into_parts();
        (status, body.length(), parts.headers)
    }
}

/// The measured function, with a name that a profiler finds; it does not include creating the request.
#[inline(never)]
fn ask(app: &AppState, peer: &Peer, parts: Parts) -> Response<Body> {
    respond(app, black_box(parts), false, peer).expect("a read is answered at once")
}

/// The measured function for `/mcp`: from the bytes of a message to those of its response.
#[inline(never)]
fn ask_mcp(
    server: &mcp::Server,
    catalog: &Catalog,
    head: &Head<'_>,
    message: &[u8],
) -> mcp::McpReply {
    let origin = server.check_origin(head).expect("no page asks");
    server.handle(catalog, head, origin, black_box(message))
}

/// The name of a case, its target, its header fields, the expected status, and the range of the body's length.
type Plan<'t> = (
    &'static str,
    &'static str,
    Vec<(&'static str, &'t str)>,
    u16,
    std::ops::Range<u64>,
);

/// The reads that are measured; `tag` is that of `/reviews.json`.
fn plans(tag: &str) -> Vec<Plan<'_>> {
    let plan = |name, target, status, length| (name, target, Vec::new(), status, length);
    let search = |name, target| plan(name, target, 200, 5_000..50_000);
    let codings = vec![("accept-encoding", "gzip, deflate, br, zstd")];
    let known = vec![("if-none-match", tag)];
    let feed = "/api/feed.json";
    let filters = "/api/reviews/search?min_rating=4&since=2022-01-01&limit=20";
    vec![
        plan("stored", feed, 200, 1_000..200_000),
        ("stored-negotiated", feed, codings, 200, 1_000..200_000),
        ("not-modified", "/reviews.json", known, 304, 0..1),
        search("since-20", "/api/reviews/since/2026-10-28"),
        plan("review", "/api/reviews/R00000500", 200, 100..5_000),
        search("search-newest", "/api/reviews/search?limit=20"),
        search("search-filter", filters),
        search("search-text", "/api/reviews/search?query=probate&limit=20"),
        plan(
            "search-refused",
            "/api/reviews/search?rating=9",
            400,
            50..1_000,
        ),
        plan("search-page", "/?query=the&limit=20", 200, 20_000..200_000),
        plan("unknown", "/nowhere", 404, 20..200),
    ]
}

/// Messages to `/mcp`: the name, the members after the id, and the range of the response's length.
const MESSAGES: [(&str, &str, std::ops::Range<usize>); 10] = [
    ("mcp-ping", r#""method":"ping""#, 20..100),
    (
        "mcp-search-filter",
        r#""method":"tools/call","params":{"name":"search_reviews","arguments":{"min_rating":4,"limit":20}}"#,
        10_000..100_000,
    ),
    (
        "mcp-search-text",
        r#""method":"tools/call","params":{"name":"search_reviews","arguments":{"query":"probate","limit":20}}"#,
        10_000..100_000,
    ),
    (
        "mcp-search-question",
        r#""method":"tools/call","params":{"name":"search_reviews","arguments":{"words":"did anyone complain that the lawyer never called back","limit":10}}"#,
        5_000..100_000,
    ),
    (
        "mcp-search-titles",
        r#""method":"tools/call","params":{"name":"search","arguments":{"query":"best lawyer for a divorce"}}"#,
        1_000..100_000,
    ),
    (
        "mcp-search-nothing",
        r#""method":"tools/call","params":{"name":"search_reviews","arguments":{"query":"zeppelin","limit":10}}"#,
        100..100_000,
    ),
    (
        "mcp-insights-year",
        r#""method":"tools/call","params":{"name":"get_insights","arguments":{"since":"2025-01-01","until":"2025-12-31"}}"#,
        500..5_000,
    ),
    (
        "mcp-aspect",
        r#""method":"tools/call","params":{"name":"get_aspect_sentiment","arguments":{"aspect":"fees"}}"#,
        5_000..100_000,
    ),
    (
        "mcp-aspect-unknown",
        r#""method":"tools/call","params":{"name":"get_aspect_sentiment","arguments":{"aspect":"xylophone"}}"#,
        100..100_000,
    ),
    (
        "mcp-review",
        r#""method":"tools/call","params":{"name":"get_review","arguments":{"id":"R00000500"}}"#,
        200..10_000,
    ),
];

/// A name, and a function to be called repeatedly.
type Repeated<'a> = (&'static str, Box<dyn FnMut() + 'a>);

/// Every case as one request that checks its answer.
fn cases<'a>(
    app: &'a AppState,
    server: &'a mcp::Server,
    catalog: &'a Catalog,
) -> Vec<Repeated<'a>> {
    let peer = app.peer(PEER);
    let response = ask(
        app,
        &peer,
        Case::new("/reviews.json", &[]).parts(HeaderMap::new()),
    );
    let tag = response.headers()["etag"].to_str().expect("tags are ASCII");
    let mut cases: Vec<Repeated<'a>> = Vec::new();
    for (name, target, fields, status, length) in plans(tag) {
        let case = Case::new(target, &fields);
        let peer = peer.clone();
        let mut headers = HeaderMap::new();
        let once = move || {
            let (answered, bytes, map) = case.answer(app, &peer, std::mem::take(&mut headers));
            assert!(answered == status, "{name}: {answered}, {bytes} bytes");
            assert!(length.contains(&bytes), "{name}: {answered}, {bytes} bytes");
            headers = map;
        };
        cases.push((name, Box::new(once)));
    }
    for (name, members, length) in MESSAGES {
        let message = format!(r#"{{"jsonrpc":"2.0","id":1,{members}}}"#);
        let head = Head {
            host: SingleField::One(b"reviews.example"),
            content_type: SingleField::One(b"application/json"),
            protocol_version: SingleField::One(b"2025-11-25"),
            method: b"POST",
            ..Head::default()
        };
        let once = move || {
            let reply = ask_mcp(server, catalog, &head, message.as_bytes());
            let bytes = reply.body.len();
            assert!(
                reply.status == 200,
                "{name}: {}, {bytes} bytes",
                reply.status
            );
            assert!(
                length.contains(&bytes),
                "{name}: {}, {bytes} bytes",
                reply.status
            );
        };
        cases.push((name, Box::new(once)));
    }
    cases
}

/// The function after which instructions.sh writes the counts of one case.
#[inline(never)]
fn end_of_case(name: &str) {
    println!("{}", black_box(name));
}

fn requests(criterion: &mut Criterion) {
    let snapshot = service::snapshot(dataset());
    let app = service::app(service::settings(), Arc::clone(&snapshot));
    let catalog = Catalog::new(Arc::clone(&snapshot));
    let server = mcp::Server::new(service::settings().mcp);
    // As the server does in the background.
    app.current().compress(|| false);
    let counted = std::env::var("REVIEWD_BENCH_COUNTED");
    let cases = cases(&app, &server, &catalog);
    if let Ok(times) = counted {
        let times: u32 = times.parse().expect("a number of requests");
        for (name, mut once) in cases {
            (0..times).for_each(|_| once());
            end_of_case(name);
        }
        return;
    }
    let mut group = criterion.benchmark_group("request");
    group.throughput(Throughput::Elements(1));
    for (name, mut once) in cases {
        group.bench_function(name, |bencher| bencher.iter(&mut once));
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1));
    targets = requests
}
criterion_main!(benches);
