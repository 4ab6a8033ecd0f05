//! The same searches by reviewd's index, SQLite FTS5, tantivy and a plain scan: answers compared, times side by side.
//!
//! One engine is in memory at a time. Each answers the searches of every class in turn, one thread, in process; what it
//! returns, the exact number matched and the newest 20 rows, must equal what the scan returned, or the program fails.
//! The time of a search is the shortest of three in turns (of one where it takes over 20 ms), that of a class the median.

#[path = "../../../support/mod.rs"]
#[allow(
    dead_code,
    reason = "the benches use more of it than this comparison does"
)]
mod support;

mod fulltext;
mod ngrams;
mod plain;

use std::hint::black_box;
use std::io::Write;
use std::num::NonZeroUsize;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use reviewd::search::filter::Query;
use reviewd::search::index::{Index, IndexOptions};
use reviewd::search::run::{Scratch, run};
use support::{CLASSES, Data, Search, Searches, data, sizes};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Searches of each class.
const SEARCHES: usize = 31;

/// Rows of a page.
const PAGE: usize = Query::LIMIT_DEFAULT as usize;

/// The classes of the benches but the last ones, since no peer keeps the other orders, and their words are not ours.
const COMPARED: usize = CLASSES.len() - 5;

/// What the peers are not to take longer for than this many times of what reviewd takes.
const TIMES_FULLTEXT: f64 = 100.0;
const TIMES_SCAN_OF_COMMON_WORD: f64 = 10_000.0;

/// The number matched and the newest rows.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Answer {
    matched: u32,
    newest: Vec<u32>,
}

/// What one engine did.
struct Outcome {
    name: &'static str,
    build: Duration,
    /// Bytes for each review, as far as the engine tells.
    bytes: u64,
    answers: Vec<Answer>,
    times: Vec<Duration>,
}

fn main() -> ExitCode {
    let mut good = true;
    for size in sizes() {
        let data = data(size);
        let mut searches = Searches::new(&data, 5);
        let drawn: Vec<Search> = CLASSES[..COMPARED]
            .iter()
            .flat_map(|class| (0..SEARCHES).map(|_| *class).collect::<Vec<_>>())
            .map(|class| searches.draw(class))
            .collect();
        let outcomes = [
            by_scan(&data, &drawn),
            by_reviewd(&data, &drawn),
            by_fulltext(&data, &drawn),
            by_ngrams(&data, &drawn),
        ];
        good &= agree(&outcomes, &drawn);
        print(size, &outcomes);
    }
    if good {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn by_scan(data: &Data, drawn: &[Search]) -> Outcome {
    let began = Instant::now();
    let plain = plain::Plain::new(data);
    let build = began.elapsed();
    let bytes = plain.bytes() / data.reviews.len() as u64;
    measure("scan", build, bytes, drawn, |query| plain.answer(query))
}

fn by_reviewd(data: &Data, drawn: &[Search]) -> Outcome {
    let per_review = std::env::var("REVIEWD_BENCH_MEMORY")
        .ok()
        .and_then(|bytes| bytes.parse::<u64>().ok());
    let options = IndexOptions {
        memory_bytes: per_review.unwrap_or(2_100) * data.reviews.len() as u64,
        threads: NonZeroUsize::MIN.saturating_add(1),
    };
    let began = Instant::now();
    let index = Index::build(&data.reviews, &data.taxonomy, &options);
    let build = began.elapsed();
    let footprint = index.footprint();
    let bytes = (footprint.texts + footprint.tree + footprint.rows) / data.reviews.len() as u64;
    let mut scratch = Scratch::default();
    measure("reviewd", build, bytes, drawn, |query| {
        let page = run(&index, query, &mut scratch);
        Answer {
            matched: page.matched,
            newest: page.rows.iter().map(|row| row.0).collect(),
        }
    })
}

fn by_fulltext(data: &Data, drawn: &[Search]) -> Outcome {
    let began = Instant::now();
    let fulltext = fulltext::FullText::new(data);
    let build = began.elapsed();
    let bytes = fulltext.bytes() / data.reviews.len() as u64;
    measure("SQLite FTS5", build, bytes, drawn, |query| {
        fulltext.answer(query)
    })
}

fn by_ngrams(data: &Data, drawn: &[Search]) -> Outcome {
    let began = Instant::now();
    let ngrams = ngrams::Ngrams::new(data);
    let build = began.elapsed();
    let bytes = ngrams.bytes() / data.reviews.len() as u64;
    measure("tantivy", build, bytes, drawn, |query| ngrams.answer(query))
}

/// Asks `answer` for every search, three times where that is soon done.
fn measure(
    name: &'static str,
    build: Duration,
    bytes: u64,
    drawn: &[Search],
    mut answer: impl FnMut(&Query<'_>) -> Answer,
) -> Outcome {
    eprintln!("{name}: built in {build:.1?}");
    let mut answers = Vec::with_capacity(drawn.len());
    let mut times = vec![Duration::MAX; drawn.len()];
    for turn in 0..3 {
        for (search, time) in drawn.iter().zip(&mut times) {
            if turn > 0 && *time > Duration::from_millis(20) {
                continue;
            }
            let query = search.query();
            let began = Instant::now();
            let answered = black_box(answer(&query));
            *time = began.elapsed().min(*time);
            if turn == 0 {
                answers.push(answered);
            }
        }
    }
    Outcome {
        name,
        build,
        bytes,
        answers,
        times,
    }
}

/// Tells whether all engines gave the answers of the first, and which did not.
fn agree(outcomes: &[Outcome], drawn: &[Search]) -> bool {
    let mut good = true;
    for outcome in &outcomes[1..] {
        let pairs = outcomes[0].answers.iter().zip(&outcome.answers);
        for ((right, given), search) in pairs.zip(drawn).filter(|((a, b), _)| a != b) {
            println!("{}: {search:?}: {given:?} is not {right:?}", outcome.name);
            good = false;
        }
    }
    if good {
        println!("all {} answers are equal", drawn.len());
    }
    good
}

/// Prints the medians as the table of the README, and what falls short.
fn print(size: usize, outcomes: &[Outcome; 4]) {
    let [scan, ours, fulltext, ngrams] = outcomes;
    println!("\n{size} reviews, medians in µs of {SEARCHES} searches a class\n");
    println!(
        "| class | reviewd | SQLite FTS5 | tantivy | scan | FTS5 / reviewd | tantivy / reviewd | scan / reviewd |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    let mut short = Vec::new();
    for (number, class) in CLASSES[..COMPARED].iter().enumerate() {
        let median = |outcome: &Outcome| {
            let mut times = outcome.times[number * SEARCHES..][..SEARCHES].to_vec();
            times.sort_unstable();
            times[SEARCHES / 2].as_nanos().max(1) as f64 / 1000.0
        };
        let [own, sql, grams, linear] = [ours, fulltext, ngrams, scan].map(median);
        println!(
            "| {class} | {} | {} | {} | {} | {} | {} | {} |",
            figure(own),
            figure(sql),
            figure(grams),
            figure(linear),
            figure(sql / own),
            figure(grams / own),
            figure(linear / own)
        );
        if let Ok(path) = std::env::var("CSV") {
            let series = [
                ("reviewd", own),
                ("tantivy", grams),
                ("SQLite FTS5", sql),
                ("scan", linear),
            ];
            record(&path, class, size, &series);
        }
        let is_text = *class != "filters";
        if is_text && sql / own < TIMES_FULLTEXT {
            short.push(format!("{class}: {:.1} times SQLite FTS5", sql / own));
        }
        if *class == "common word" && linear / own < TIMES_SCAN_OF_COMMON_WORD {
            short.push(format!("{class}: {:.0} times the scan", linear / own));
        }
        if own > sql.min(grams).min(linear) {
            short.push(format!("{class}: slower than a peer"));
        }
    }
    let row = |name: &str, tell: &dyn Fn(&Outcome) -> String| {
        let cells = [ours, fulltext, ngrams, scan].map(tell);
        println!("| {name} | {} | | | |", cells.join(" | "));
    };
    row("build, s", &|outcome| {
        format!("{:.1}", outcome.build.as_secs_f64())
    });
    row("bytes a review", &|outcome| outcome.bytes.to_string());
    for line in short {
        println!("falls short: {line}");
    }
}

/// Appends the medians of a class to a file, as `benches/plot.py` reads them.
fn record(path: &str, class: &str, size: usize, series: &[(&str, f64)]) {
    let rows: String = series
        .iter()
        .map(|(name, median)| format!("\"{class}, {size} reviews\",{name},1,{median:.2}\n"))
        .collect();
    let file = std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(path);
    if let Err(error) = file.and_then(|mut file| file.write_all(rows.as_bytes())) {
        eprintln!("{path}: {error}");
    }
}

/// Writes three digits of a number, with commas between thousands.
fn figure(number: f64) -> String {
    match number {
        0.0..10.0 => format!("{number:.2}"),
        10.0..100.0 => format!("{number:.1}"),
        100.0..1000.0 => format!("{number:.0}"),
        _ => {
            let digits = format!("{number:.0}");
            let mut out = String::new();
            for (place, digit) in digits.chars().enumerate() {
                if place > 0 && (digits.len() - place).is_multiple_of(3) {
                    out.push(',');
                }
                out.push(digit);
            }
            out
        }
    }
}
