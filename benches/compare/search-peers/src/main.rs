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

use reviewd::search::filter::Query;
use reviewd::search::index::{Index, IndexOptions};
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

/// What the peers are not to take longer for than this many times of what reviewd takes.
const TIMES_FULLTEXT: f64 = 100.0;
const TIMES_SCAN_OF_COMMON_WORD: f64 = 10_000.0;

/// What a search for three words is not to take longer than: the median and the 99th percentile, in microseconds.
const WORDS_P50_US: f64 = 100.0;
const WORDS_P99_US: f64 = 2_000.0;

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
        good &= match is_for_words {
            true => compare_words(&data, &words::draw(&mut searches, WORD_SEARCHES)),
            false => compare_texts(&data, &mut searches),
        };
    }
    if good {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn compare_texts(data: &Data, searches: &mut Searches<'_>) -> bool {
    let drawn: Vec<Search> = CLASSES[..COMPARED]
        .iter()
        .flat_map(|class| (0..SEARCHES).map(|_| *class).collect::<Vec<_>>())
        .map(|class| searches.draw(class))
        .collect();
    let outcomes = [
        by_scan(data, &drawn),
        by_reviewd(data, &drawn),
        by_fulltext(data, &drawn),
        by_ngrams(data, &drawn),
    ];
    print(data.reviews.len(), &outcomes);
    agree(&outcomes, &drawn)
}

fn compare_words(data: &Data, drawn: &[Search]) -> bool {
    let reviews = data.reviews.len() as u64;
    let scan = {
        let began = Instant::now();
        let scan = words::Scan::new(data);
        let bytes = scan.bytes() / reviews;
        measure("scan", began.elapsed(), bytes, drawn, |query| {
            scan.answer(query)
        })
    };
    let ours = by_reviewd(data, drawn);
    let fulltext = {
        let began = Instant::now();
        let fulltext = words::FullText::new(data);
        let bytes = fulltext.bytes() / reviews;
        measure("SQLite FTS5", began.elapsed(), bytes, drawn, |query| {
            fulltext.answer(query)
        })
    };
    let prefixes = {
        let began = Instant::now();
        let prefixes = words::Prefixes::new(data);
        let bytes = prefixes.bytes() / reviews;
        measure("tantivy", began.elapsed(), bytes, drawn, |query| {
            prefixes.answer(query)
        })
    };
    let outcomes = [scan, ours, fulltext, prefixes];
    print_words(data.reviews.len(), &outcomes);
    agree(&outcomes, drawn)
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
    let bytes = (index.text_bytes() + index.tree_bytes()) / data.reviews.len() as u64 + ROW_BYTES;
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
    println!("\n{size} reviews, medians in µs of {SEARCHES} searches a class\n");
    print_head("class");
    let mut short = Vec::new();
    for (number, class) in CLASSES[..COMPARED].iter().enumerate() {
        let of_class = number * SEARCHES..(number + 1) * SEARCHES;
        let [linear, own, sql, grams] = print_row(class, size, outcomes, of_class, 50);
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
    print_foot(outcomes, &short);
}

/// Prints the median and the 99th percentile of searches for three words, and what falls short.
fn print_words(size: usize, outcomes: &[Outcome; 4]) {
    println!("\n{size} reviews, µs of {WORD_SEARCHES} searches for three words\n");
    print_head("percentile");
    let mut short = Vec::new();
    for (percent, most) in [(50, WORDS_P50_US), (99, WORDS_P99_US)] {
        let name = format!("three words p{percent}");
        let [_, own, sql, prefixes] = print_row(&name, size, outcomes, 0..WORD_SEARCHES, percent);
        if own > most {
            short.push(format!("{name}: above {most} µs"));
        }
        if own > sql.min(prefixes) {
            short.push(format!("{name}: slower than a peer"));
        }
    }
    print_foot(outcomes, &short);
}

fn print_head(first: &str) {
    println!(
        "| {first} | reviewd | SQLite FTS5 | tantivy | scan | FTS5 / reviewd | tantivy / reviewd | scan / reviewd |"
    );
    println!("|---|---|---|---|---|---|---|---|");
}

/// Prints a percentile of the searches in `range`, records it, and returns it for each of the outcomes.
fn print_row(
    name: &str,
    size: usize,
    outcomes: &[Outcome; 4],
    range: Range<usize>,
    percent: usize,
) -> [f64; 4] {
    let all = outcomes.each_ref().map(|outcome| {
        let mut times = outcome.times[range.clone()].to_vec();
        times.sort_unstable();
        times[times.len() * percent / 100].as_nanos().max(1) as f64 / 1000.0
    });
    let [linear, own, sql, grams] = all;
    let cells = [
        own,
        sql,
        grams,
        linear,
        sql / own,
        grams / own,
        linear / own,
    ]
    .map(figure);
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
    all
}

/// Prints what the engines cost otherwise, and what falls short.
fn print_foot(outcomes: &[Outcome; 4], short: &[String]) {
    let [scan, ours, fulltext, tantivy] = outcomes;
    let row = |name: &str, tell: &dyn Fn(&Outcome) -> String| {
        let cells = [ours, fulltext, tantivy, scan].map(tell);
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
