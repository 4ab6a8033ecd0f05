//! Compares answers and times of the same searches in reviewd's index, SQLite FTS5, tantivy and a plain scan.
//!
//! One engine is in memory at a time. Each answers the searches of every class in turn, one thread, in process; what it
//! returns, the exact number matched and the newest 20 rows, must equal what the scan returned, or the program fails.
//! The time of a search is the shortest of three passes (of one if it takes over 20 ms), that of a class is the median.
//! With the argument `words` the searches are for three words, in separate word indexes of the peers.

#[path = "../../../support/mod.rs"]
#[allow(
    dead_code,
    reason = "the benches use more of it than this comparison does"
)]
mod support;

mod fulltext;
mod ngrams;
mod plain;

use std::fs::OpenOptions;
use std::hint::black_box;
use std::io::Write;
use std::ops::Range;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use fulltext::FullText;
use ngrams::{Ngrams, PREFIX_MAX};
use plain::{Scan, runs};
use reviewd::search::filter::Query;
use reviewd::search::index::Index;
use reviewd::search::query::Buffers;
use reviewd::search::run::{Scratch, run};
use support::{CLASSES, Data, Search, Searches, data, options, sizes};

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

/// The first class of the benches that is not compared: no peer supports other orders, and words, which follow it, are
/// compared separately.
const FIRST_LEFT_OUT: &str = "other orders";

/// The number matched and the newest rows.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Answer {
    matched: u32,
    newest: Vec<u32>,
}

/// A search engine in the comparison.
trait Engine {
    /// Builds an index of the reviews, for words or for everything else.
    fn new(data: &Data, is_for_words: bool) -> Self;

    /// Returns the bytes of the index, as far as the engine reports them.
    fn bytes(&self) -> u64;

    fn answer(&mut self, query: &Query<'_>) -> Answer;
}

/// The index of reviewd, which is the same for all searches.
struct Own(Index, Scratch);

impl Engine for Own {
    fn new(data: &Data, _is_for_words: bool) -> Own {
        let per_review = std::env::var("REVIEWD_BENCH_MEMORY")
            .ok()
            .and_then(|bytes| bytes.parse::<u64>().ok());
        let options = options(per_review.unwrap_or(2_100) * data.reviews.len() as u64);
        let index = Index::build(&data.reviews, &data.taxonomy, &options);
        Own(index, Scratch::default())
    }

    fn bytes(&self) -> u64 {
        self.0.text_bytes() + self.0.tree_bytes() + ROW_BYTES * u64::from(self.0.len())
    }

    fn answer(&mut self, query: &Query<'_>) -> Answer {
        let page = run(&self.0, query, &mut self.1);
        Answer {
            matched: page.matched,
            newest: page.rows.iter().map(|row| row.0).collect(),
        }
    }
}

/// The results of one engine.
struct Outcome {
    name: &'static str,
    build: Duration,
    /// Bytes for each review.
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
            drawn = draw_words(&mut searches);
            println!("\n{size} reviews, µs of {WORD_SEARCHES} searches for three words\n");
            rows.extend([50, 99].map(|percent| {
                let name = format!("three words p{percent}");
                (name, 0..WORD_SEARCHES, percent)
            }));
        } else {
            println!("\n{size} reviews, medians in µs of {SEARCHES} searches a class\n");
            for class in CLASSES.iter().take_while(|class| **class != FIRST_LEFT_OUT) {
                let start = drawn.len();
                drawn.extend((0..SEARCHES).map(|_| searches.draw(class)));
                rows.push(((*class).to_owned(), start..drawn.len(), 50));
            }
        }
        // The scan is the reference for the others.
        let scan = measure::<Scan>("scan", &data, &drawn, is_for_words);
        let own = measure::<Own>("reviewd", &data, &drawn, is_for_words);
        let sql = measure::<FullText>("SQLite FTS5", &data, &drawn, is_for_words);
        let tantivy = measure::<Ngrams>("tantivy", &data, &drawn, is_for_words);
        // Each prints its differences, so all are compared.
        for outcome in [&own, &sql, &tantivy] {
            good &= agrees(outcome, &scan, &drawn);
        }
        print(size, &[own, sql, tantivy, scan], &rows);
    }
    if good {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Draws searches for three words that are runs of letters and digits, none longer than tantivy's terms.
fn draw_words(searches: &mut Searches<'_>) -> Vec<Search> {
    let are_runs = |search: &Search| {
        let mut buffers = Buffers::default();
        let words = search.query(&mut buffers).filter.words;
        words
            .iter()
            .flat_map(|words| words.terms())
            .all(|term| term.text.len() <= PREFIX_MAX && runs(term.text).eq([term.text]))
    };
    let drawn = std::iter::repeat_with(|| searches.draw("three words"));
    drawn.filter(are_runs).take(WORD_SEARCHES).collect()
}

/// Builds an engine and runs every search, three times unless it is slow.
fn measure<E: Engine>(
    name: &'static str,
    data: &Data,
    drawn: &[Search],
    is_for_words: bool,
) -> Outcome {
    let began = Instant::now();
    let mut engine = E::new(data, is_for_words);
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
            let answered = black_box(engine.answer(&query));
            *time = began.elapsed().min(*time);
            if turn == 0 {
                answers.push(answered);
            }
        }
    }
    Outcome {
        name,
        build,
        bytes: engine.bytes() / data.reviews.len() as u64,
        answers,
        times,
    }
}

/// Tells whether an engine gave the answers of the scan, and prints those that differ.
fn agrees(outcome: &Outcome, scan: &Outcome, drawn: &[Search]) -> bool {
    let pairs = scan.answers.iter().zip(&outcome.answers);
    for ((right, answer), search) in pairs.zip(drawn) {
        if answer != right {
            println!("{}: {search:?}: {answer:?} is not {right:?}", outcome.name);
        }
    }
    scan.answers == outcome.answers
}

/// Prints the table of the documentation: for each row a percentile of the searches in a range, then build time and
/// memory. `CSV` in the environment names a file to which the figures are appended, as `benches/figures.py` reads them.
fn print(size: usize, outcomes: &[Outcome; 4], rows: &[(String, Range<usize>, usize)]) {
    let mut csv = String::new();
    println!(
        "| µs | reviewd | SQLite FTS5 | tantivy | scan | FTS5 / reviewd | tantivy / reviewd | scan / reviewd |\n\
         |---|---|---|---|---|---|---|---|"
    );
    for (name, range, percent) in rows {
        let figures = outcomes.each_ref().map(|outcome| {
            let mut times = outcome.times[range.clone()].to_vec();
            times.sort_unstable();
            times[times.len() * percent / 100].as_nanos().max(1) as f64 / 1000.0
        });
        let ratios = figures[1..].iter().map(|peer| peer / figures[0]);
        let cells = figures.iter().copied().chain(ratios).map(figure);
        println!("| {name} | {} |", cells.collect::<Vec<_>>().join(" | "));
        for (outcome, figure) in outcomes.iter().zip(figures) {
            let series = outcome.name;
            csv += &format!("\"{name}, {size} reviews\",{series},1,{figure:.2}\n");
        }
    }
    let build = outcomes.each_ref().map(|o| figure(o.build.as_secs_f64()));
    println!("| build, s | {} | | | |", build.join(" | "));
    let bytes = outcomes.each_ref().map(|outcome| outcome.bytes.to_string());
    println!("| bytes a review | {} | | | |", bytes.join(" | "));
    if let Ok(path) = std::env::var("CSV") {
        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&path)
            .expect(&path);
        file.write_all(csv.as_bytes()).expect(&path);
    }
}

/// Writes three digits of a number, or all before the point.
fn figure(number: f64) -> String {
    match number {
        0.0..10.0 => format!("{number:.2}"),
        10.0..100.0 => format!("{number:.1}"),
        _ => format!("{number:.0}"),
    }
}
