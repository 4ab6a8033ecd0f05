//! What a model waits for: ranked search of questions as people ask them, and every tool on the sample beside a ping.
//!
//! The path matters because each word of a question has several lists of reviews (the word, its forms, its subject, names
//! with it, pairs), and every review that has one of them gets a score. Processor time counts, because this machine may
//! have other work: of the thread, the shortest of several runs of each question; and of the server's threads, in turn
//! with pings, the median of several rounds.
//!
//! `REVIEWD_CORPUS=DIR cargo bench --bench answers`; `REVIEWD_BENCH_REVIEWS=1000000` for a million reviews.

#[allow(dead_code, reason = "the searches of search_random")]
mod support;

use std::hint::black_box;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use clap::Parser;
use criterion::{BenchmarkId, Criterion, Throughput};
use reviewd::cli::ServeArgs;
use reviewd::search::index::Index;
use reviewd::search::query::{Buffers, parse_query};
use reviewd::search::rank;
use reviewd::search::run::Scratch;
use reviewd::server::{self, DataSource};
use rustix::time::{ClockId, clock_gettime};
use support::{Data, data, options, sizes};

/// The program's allocator, which uses huge pages: a search accesses memory all over the index.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How often each question is asked for its shortest time.
const ROUNDS: usize = 7;

/// Rounds of calls at the socket, and calls of each kind in a round.
const CALL_ROUNDS: usize = 15;
const CALLS: usize = 150;

/// What is asked of the server, as `params` of `tools/call`.
const TOOL_CALLS: [(&str, &str); 20] = [
    (
        "search of ten by filter",
        r#"{"name":"search_reviews","arguments":{"min_rating":4,"limit":10}}"#,
    ),
    (
        "search of ten by text",
        r#"{"name":"search_reviews","arguments":{"query":"deadline","limit":10}}"#,
    ),
    (
        "search of ten by two words",
        r#"{"name":"search_reviews","arguments":{"words":"missed deadline","limit":10}}"#,
    ),
    (
        "search of ten by a question",
        r#"{"name":"search_reviews","arguments":{"words":"did anyone complain that the lawyer never called back","limit":10}}"#,
    ),
    (
        "search of ten without result",
        r#"{"name":"search_reviews","arguments":{"words":"swimming pool with a slide","limit":10}}"#,
    ),
    (
        "search of a hundred",
        r#"{"name":"search_reviews","arguments":{"limit":100}}"#,
    ),
    (
        "an unknown person",
        r#"{"name":"search_reviews","arguments":{"mentions_technician":"Okafar"}}"#,
    ),
    (
        "search",
        r#"{"name":"search","arguments":{"query":"best lawyer for a divorce"}}"#,
    ),
    (
        "list_reviews_since",
        r#"{"name":"list_reviews_since","arguments":{"date":"2025-01-01"}}"#,
    ),
    ("get_business", r#"{"name":"get_business"}"#),
    ("get_rating_summary", r#"{"name":"get_rating_summary"}"#),
    ("get_insights", r#"{"name":"get_insights"}"#),
    (
        "get_insights, aspects",
        r#"{"name":"get_insights","arguments":{"sections":["aspects"]}}"#,
    ),
    (
        "get_insights, a year",
        r#"{"name":"get_insights","arguments":{"since":"2025-01-01","until":"2025-12-31"}}"#,
    ),
    (
        "get_aspect_sentiment",
        r#"{"name":"get_aspect_sentiment","arguments":{"aspect":"fees"}}"#,
    ),
    (
        "an unknown aspect",
        r#"{"name":"get_aspect_sentiment","arguments":{"aspect":"accessibility"}}"#,
    ),
    (
        "get_technician",
        r#"{"name":"get_technician","arguments":{"name":"Adaeze Okafor"}}"#,
    ),
    (
        "get_service",
        r#"{"name":"get_service","arguments":{"service":"probate"}}"#,
    ),
    (
        "list_services_and_technicians",
        r#"{"name":"list_services_and_technicians"}"#,
    ),
    ("get_faq", r#"{"name":"get_faq"}"#),
];

/// What people ask about films, shops, apps, flights, practices and workshops, as a model puts it into `words`.
const QUESTIONS: &str = include_str!("support/questions.txt");

fn main() {
    call_tools();
    let mut criterion = Criterion::default().configure_from_args();
    for size in sizes() {
        let data = data(size);
        let index = Index::build(&data.reviews, &data.taxonomy, &options(2_100 * size as u64));
        compare_with_scan(&data, &index);
        report(size, &index);
        measure(&mut criterion, size, &index);
    }
    criterion.final_summary();
}

/// Flags of `serve`.
#[derive(Parser)]
struct Flags {
    #[command(flatten)]
    serve: ServeArgs,
}

/// Calls every tool on the sample, in turn with pings, and prints what each costs the server.
fn call_tools() {
    let flags =
        "serve --listen 127.0.0.1:0 --threads 1 --poll 0 --no-hub --read-rate 0 --mcp-rate 0";
    let mut config = Flags::parse_from(flags.split(' '))
        .serve
        .config()
        .expect("valid flags");
    config.data = DataSource::Sample;
    config.state = None;
    let running = server::start(config, None).expect("a server");
    let mut client = Client::connect(running.local_addr());
    client.wait_for_insights();
    let ping = message("ping", "{}");
    let rounds = if std::env::args().any(|argument| argument == "--test") {
        1
    } else {
        CALL_ROUNDS
    };
    println!(
        "call on the sample, one thread: processor time of the server, and times that of a ping in turn"
    );
    for (name, params) in TOOL_CALLS {
        let call = message("tools/call", params);
        let mut times = Vec::new();
        let mut ratios = Vec::new();
        for _ in 0..rounds {
            let of_ping = client.cost(&ping);
            let of_call = client.cost(&call);
            times.push(of_call);
            ratios.push(of_call / of_ping);
        }
        let micros = median(times) / 1_000.0;
        println!("{name:36} {micros:7.1} µs  {:5.2}", median(ratios));
    }
}

fn message(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}

/// A client on a kept connection.
struct Client {
    address: SocketAddr,
    stream: BufReader<TcpStream>,
    body: Vec<u8>,
}

impl Client {
    fn connect(address: SocketAddr) -> Client {
        let stream = TcpStream::connect(address).expect("a connection");
        stream.set_nodelay(true).expect("a socket");
        Client {
            address,
            stream: BufReader::new(stream),
            body: Vec::new(),
        }
    }

    /// Waits until aspects can be asked for.
    fn wait_for_insights(&mut self) {
        let deadline = Instant::now() + Duration::from_secs(60);
        let call = message("tools/call", r#"{"name":"get_insights"}"#);
        loop {
            self.post(&call);
            if !String::from_utf8_lossy(&self.body).contains("isError") {
                return;
            }
            assert!(Instant::now() < deadline, "no insights after a minute");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Sends `message` many times, and returns the processor time of the server for each, in nanoseconds. On a connection of
    /// its own, as the service ends one after some thousands of requests.
    fn cost(&mut self, message: &str) -> f64 {
        *self = Client::connect(self.address);
        let began = others_time();
        for _ in 0..CALLS {
            self.post(message);
        }
        let spent = others_time().saturating_sub(began);
        assert!(self.body.starts_with(b"{\"jsonrpc\""), "{message}");
        spent.as_nanos() as f64 / CALLS as f64
    }

    /// Sends `message`, and reads the response.
    fn post(&mut self, message: &str) {
        let request = format!(
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2025-06-18\r\n\
             Content-Length: {}\r\n\r\n{message}",
            message.len()
        );
        let socket = self.stream.get_mut();
        socket.write_all(request.as_bytes()).expect("a request");
        let mut length = 0;
        let mut line = String::new();
        loop {
            line.clear();
            let bytes = self.stream.read_line(&mut line).expect("a head");
            assert_ne!(bytes, 0, "the service has closed the connection");
            if line.starts_with("HTTP/") {
                assert!(line.contains(" 200 "), "{line}");
            }
            if let Some(value) = line.strip_prefix("content-length: ") {
                length = value.trim().parse().expect("a length");
            }
            if line == "\r\n" {
                break;
            }
        }
        self.body.resize(length, 0);
        self.stream.read_exact(&mut self.body).expect("a body");
    }
}

/// Returns the processor time of all other threads of this process, also of those that have ended.
fn others_time() -> Duration {
    let all = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(all.tv_sec as u64, all.tv_nsec as u32).saturating_sub(cpu_time())
}

/// All questions, one after the other.
fn measure(criterion: &mut Criterion, size: usize, index: &Index) {
    let questions: Vec<String> = QUESTIONS.lines().map(query_string).collect();
    let mut buffers = Buffers::default();
    let mut scratch = Scratch::default();
    let mut group = criterion.benchmark_group("ranked");
    group.sample_size(20);
    group.throughput(Throughput::Elements(questions.len() as u64));
    group.bench_function(BenchmarkId::new("questions", size), |bencher| {
        bencher.iter(|| {
            for question in &questions {
                ask(index, question, &mut buffers, &mut scratch);
            }
        });
    });
    group.finish();
}

/// Prints the percentiles of the questions' times, and the dearest question.
fn report(size: usize, index: &Index) {
    let questions: Vec<String> = QUESTIONS.lines().map(query_string).collect();
    let mut buffers = Buffers::default();
    let mut scratch = Scratch::default();
    let mut shortest = vec![Duration::MAX; questions.len()];
    for _ in 0..ROUNDS {
        for (question, shortest) in questions.iter().zip(&mut shortest) {
            let began = cpu_time();
            ask(index, question, &mut buffers, &mut scratch);
            *shortest = (cpu_time() - began).min(*shortest);
        }
    }
    let mut timed: Vec<(Duration, &str)> = shortest.into_iter().zip(QUESTIONS.lines()).collect();
    timed.sort_unstable();
    for (name, share) in [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("max", 1.0)] {
        let at = ((timed.len() - 1) as f64 * share).round() as usize;
        let (time, question) = timed[at];
        let micros = time.as_nanos() as f64 / 1_000.0;
        println!("ranked, {size} reviews: {name} {micros:10.1} µs  {question:?}");
    }
}

/// Every question lists the same reviews with an index that scans the texts.
fn compare_with_scan(data: &Data, index: &Index) {
    let scan = Index::build(&data.reviews, &data.taxonomy, &options(0));
    let step = data.reviews.len().div_ceil(20_000);
    let mut buffers = Buffers::default();
    let mut scratch = Scratch::default();
    let mut listed = 0;
    for line in QUESTIONS.lines().step_by(step) {
        let question = query_string(line);
        let fast = ask(index, &question, &mut buffers, &mut scratch);
        let slow = ask(&scan, &question, &mut buffers, &mut scratch);
        assert_eq!(fast.matched, slow.matched, "{line}");
        assert_eq!(fast.rows, slow.rows, "{line}");
        listed += fast.rows.len();
    }
    assert!(listed > 0, "no question lists a review");
}

/// Returns the search for the ten reviews that fit a question best.
fn query_string(question: &str) -> String {
    let words: String = question
        .bytes()
        .map(|byte| format!("%{byte:02X}"))
        .collect();
    format!("words={words}&sort=relevance&limit=10")
}

/// The measured function, with a name that a profiler finds.
#[inline(never)]
fn ask(
    index: &Index,
    question: &str,
    buffers: &mut Buffers,
    scratch: &mut Scratch,
) -> reviewd::search::run::Page {
    let query = parse_query(black_box(question.as_bytes()), buffers).expect("a valid search");
    rank::search(index, &query, scratch)
}

/// Returns the processor time of this thread.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
