//! The same searches by reviewd's index, SQLite FTS5, tantivy and a plain scan: answers compared, times side by side.
//!
//! One engine is in memory at a time. Each answers the searches of every class in turn, one thread, in process; what it
//! returns, the exact number matched and the newest 20 rows, must equal what the scan returned, or the program fails.
//! The time of a search is the shortest of three in turns (of one where it takes over 20 ms), that of a class the median.
//! With the argument `words` the searches are for three words instead, in the peers' own indexes of words.

#[path = "../../../support/mod.rs"]
#[allow(
    dead_code,
    reason = "the benches use more of it than this comparison does"
)]
mod support;

mod fulltext;
mod ngrams;
mod plain;
mod words;

use std::hint::black_box;
use std::io::Write;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use plain::Scan;
use reviewd::search::filter::Query;
use reviewd::search::index::{Index, IndexOptions};
use reviewd::search::query::Buffers;
use reviewd::search::run::{Scratch, run};
use support::{CLASSES, Data, Search, Searches, data, sizes};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Searches of each class.
const SEARCHES: usize = 31;

/// Searches for words: enough for a 99th percentile.
const WORD_SEARCHES: usize = 301;

/// Ids, dates and filters of a review in the index of reviewd.
const ROW_BYTES: u64 = 51;

/// Rows of a page.
const PAGE: usize = Query::LIMIT_DEFAULT as usize;

/// The classes of the benches but the last ones: no peer keeps the other orders, and words have a comparison of their own.
const COMPARED: usize = CLASSES.len() - 5;

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
    let is_for_words = std::env::args().any(|argument| argument == "words");
    let mut good = true;
    for size in sizes() {
        let data = data(size);
        let mut searches = Searches::new(&data, 5);
        let mut drawn = Vec::new();
        let mut rows = Vec::new();
        if is_for_words {
            drawn = words::draw(&mut searches, WORD_SEARCHES);
            println!("\n{size} reviews, µs of {WORD_SEARCHES} searches for three words\n");
            rows.extend([50, 99].map(|percent| {
                let name = format!("three words p{percent}");
                (name, 0..WORD_SEARCHES, percent)
            }));
        } else {
            println!("\n{size} reviews, medians in µs of {SEARCHES} searches a class\n");
            for class in &CLASSES[..COMPARED] {
                let start = drawn.len();
                drawn.extend((0..SEARCHES).map(|_| searches.draw(class)));
                rows.push(((*class).to_owned(), start..drawn.len(), 50));
            }
        }
        let outcomes = measure_all(&data, &drawn, is_for_words);
        print(size, &outcomes, &rows);
        good &= agree(&outcomes, &drawn);
    }
    match good {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

/// The scan, reviewd, SQLite and tantivy, one after the other.
fn measure_all(data: &Data, drawn: &[Search], is_for_words: bool) -> [Outcome; 4] {
    let scan = measure("scan", data, drawn, Scan::new, Scan::bytes, Scan::answer);
    let mut scratch = Scratch::default();
    let ours = measure(
        "reviewd",
        data,
        drawn,
        index,
        index_bytes,
        |index, query| {
            let page = run(index, query, &mut scratch);
            Answer {
                matched: page.matched,
                newest: page.rows.iter().map(|row| row.0).collect(),
            }
        },
    );
    let (sql, tantivy) = ("SQLite FTS5", "tantivy");
    match is_for_words {
        false => {
            use {fulltext::FullText, ngrams::Ngrams};
            let (bytes, answer) = (FullText::bytes, FullText::answer);
            let fulltext = measure(sql, data, drawn, FullText::new, bytes, answer);
            let (bytes, answer) = (Ngrams::bytes, Ngrams::answer);
            let ngrams = measure(tantivy, data, drawn, Ngrams::new, bytes, answer);
            [scan, ours, fulltext, ngrams]
        }
        true => {
            use words::{FullText, Prefixes};
            let (bytes, answer) = (FullText::bytes, FullText::answer);
            let fulltext = measure(sql, data, drawn, FullText::new, bytes, answer);
            let (bytes, answer) = (Prefixes::bytes, Prefixes::answer);
            let prefixes = measure(tantivy, data, drawn, Prefixes::new, bytes, answer);
            [scan, ours, fulltext, prefixes]
        }
    }
}

fn index(data: &Data) -> Index {
    let per_review = std::env::var("REVIEWD_BENCH_MEMORY")
        .ok()
        .and_then(|bytes| bytes.parse::<u64>().ok());
    let options = IndexOptions {
        memory_bytes: per_review.unwrap_or(2_100) * data.reviews.len() as u64,
        threads: NonZeroUsize::MIN.saturating_add(1),
    };
    Index::build(&data.reviews, &data.taxonomy, &options)
}

fn index_bytes(index: &Index) -> u64 {
    index.text_bytes() + index.tree_bytes() + ROW_BYTES * u64::from(index.len())
}

/// Builds an engine and asks it for every search, three times where that is soon done.
fn measure<E>(
    name: &'static str,
    data: &Data,
    drawn: &[Search],
    build: impl FnOnce(&Data) -> E,
    bytes: impl FnOnce(&E) -> u64,
    mut answer: impl FnMut(&E, &Query<'_>) -> Answer,
) -> Outcome {
    let began = Instant::now();
    let engine = build(data);
    let build = began.elapsed();
    eprintln!("{name}: built in {build:.1?}");
    let mut buffers = Buffers::default();
    let mut answers = Vec::with_capacity(drawn.len());
    let mut times = vec![Duration::MAX; drawn.len()];
    for turn in 0..3 {
        for (search, time) in drawn.iter().zip(&mut times) {
            if turn > 0 && *time > Duration::from_millis(20) {
                continue;
            }
            let query = search.query(&mut buffers);
            let began = Instant::now();
            let answered = black_box(answer(&engine, &query));
            *time = began.elapsed().min(*time);
            if turn == 0 {
                answers.push(answered);
            }
        }
    }
    Outcome {
        name,
        build,
        bytes: bytes(&engine) / data.reviews.len() as u64,
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

/// Prints the table of the documentation: for each row a percentile of the searches in a range, and what the engines cost
/// otherwise.
fn print(size: usize, outcomes: &[Outcome; 4], rows: &[(String, Range<usize>, usize)]) {
    println!(
        "| µs | reviewd | SQLite FTS5 | tantivy | scan | FTS5 / reviewd | tantivy / reviewd | scan / reviewd |\n\
         |---|---|---|---|---|---|---|---|"
    );
    for (name, range, percent) in rows {
        let [linear, own, sql, grams] = outcomes.each_ref().map(|outcome| {
            let mut times = outcome.times[range.clone()].to_vec();
            times.sort_unstable();
            times[times.len() * percent / 100].as_nanos().max(1) as f64 / 1000.0
        });
        let ratios = [sql / own, grams / own, linear / own];
        let cells = [&[own, sql, grams, linear][..], &ratios].concat();
        let cells: Vec<String> = cells.into_iter().map(figure).collect();
        println!("| {name} | {} |", cells.join(" | "));
        if let Ok(path) = std::env::var("CSV") {
            let series = [
                ("reviewd", own),
                ("tantivy", grams),
                ("SQLite FTS5", sql),
                ("scan", linear),
            ];
            record(&path, name, size, &series);
        }
    }
    let [scan, ours, fulltext, tantivy] = outcomes;
    let row = |name: &str, tell: &dyn Fn(&Outcome) -> String| {
        let cells = [ours, fulltext, tantivy, scan].map(tell);
        println!("| {name} | {} | | | |", cells.join(" | "));
    };
    row("build, s", &|outcome| {
        format!("{:.1}", outcome.build.as_secs_f64())
    });
    row("bytes a review", &|outcome| outcome.bytes.to_string());
}

/// Appends the figures of a row to a file, as `benches/plot.py` reads them.
fn record(path: &str, class: &str, size: usize, series: &[(&str, f64)]) {
    let rows: String = series
        .iter()
        .map(|(name, figure)| format!("\"{class}, {size} reviews\",{name},1,{figure:.2}\n"))
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
