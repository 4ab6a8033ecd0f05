//! Thousands of random searches of all classes: the percentiles of their times, and the slowest search.
//!
//! The tail shows which clients wait too long. Each answer is compared with that of an index that scans. Each search is
//! timed three times, between others, and the shortest time counts: on a shared machine the longest is the scheduler's.
//!
//! `REVIEWD_CORPUS=DIR REVIEWD_BENCH_REVIEWS=1000000 cargo bench --bench search_random`; `REVIEWD_BENCH_MEMORY` is the
//! budget of the index in bytes for each review, and `REVIEWD_BENCH_TUNING=T,bitmap,steps` sets its tree, or several
//! trees, separated by spaces, which are measured one after the other.

mod support;

use std::hint::black_box;
use std::time::{Duration, Instant};

use reviewd::search::Tuning;
use reviewd::search::filter::Query;
use reviewd::search::index::Index;
use reviewd::search::query::Buffers;
use reviewd::search::rank;
use reviewd::search::run::Scratch;
use support::{CLASSES, Data, Search, Searches, data, options, sizes};

/// The program's allocator, which uses huge pages: a search accesses memory all over the index.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const SEARCHES: usize = 5_000;

/// The measured function of benches/instructions.sh, with a name that a profiler finds.
#[inline(never)]
fn search_once(index: &Index, query: &Query<'_>, scratch: &mut Scratch) -> u32 {
    rank::search(index, black_box(query), scratch).matched
}

/// The function after which benches/instructions.sh writes the counts of one class.
#[inline(never)]
fn end_of_case(class: &str) {
    println!("search-{}", black_box(class).replace(' ', "-"));
}

fn main() {
    if let Ok(times) = std::env::var("REVIEWD_BENCH_COUNTED") {
        let times = times.parse().expect("a number of searches");
        return count(&data(sizes()[0]), times);
    }
    for size in sizes() {
        let data = data(size);
        let scan = Index::build(&data.reviews, &data.taxonomy, &options(0));
        let tunings = std::env::var("REVIEWD_BENCH_TUNING").unwrap_or_default();
        for tuning in tunings.split(' ') {
            let began = Instant::now();
            let index = build(&data, tuning);
            let elapsed = began.elapsed();
            let per_review = |bytes: u64| bytes / size as u64;
            println!(
                "{size} reviews, {tuning:?}: built in {elapsed:.1?}; bytes a review: texts {}, words {}, tree {}",
                per_review(index.text_bytes()),
                per_review(index.words_bytes()),
                per_review(index.tree_bytes()),
            );
            measure(&data, &index, &scan);
        }
    }
}

/// Searches `times` times in each class, for a profiler that counts [`search_once`].
fn count(data: &Data, times: usize) {
    let index = build(data, "");
    let mut searches = Searches::new(data, 7);
    let mut scratch = Scratch::default();
    let mut buffers = Buffers::default();
    for class in CLASSES {
        for _ in 0..times {
            let search = searches.draw(class);
            let query = search.query(&mut buffers);
            // The first search of a query would also count the growth of the buffers.
            let expected = rank::search(&index, &query, &mut scratch).matched;
            let matched = search_once(&index, &query, &mut scratch);
            assert_eq!(matched, expected, "{search:?}");
        }
        end_of_case(class);
    }
}

/// Builds the index with the tree of `tuning`, or, if it is empty, with that for the budget.
fn build(data: &Data, tuning: &str) -> Index {
    let memory = std::env::var("REVIEWD_BENCH_MEMORY")
        .ok()
        .and_then(|bytes| bytes.parse::<u64>().ok());
    let mut options = options(memory.unwrap_or(2_100) * data.reviews.len() as u64);
    if tuning.is_empty() {
        return Index::build(&data.reviews, &data.taxonomy, &options);
    }
    let mut numbers = tuning.split(',').map(str::parse);
    let mut next = || numbers.next().expect("three numbers").expect("a number");
    options.tuning = Some(Tuning {
        leaf_rows_max: next(),
        bitmap_rows_min: next(),
        union_steps_max: next(),
    });
    Index::build(&data.reviews, &data.taxonomy, &options)
}

fn measure(data: &Data, index: &Index, scan: &Index) {
    let mut searches = Searches::new(data, 7);
    let drawn: Vec<Search> = (0..SEARCHES)
        .map(|number| searches.draw(CLASSES[number % CLASSES.len()]))
        .collect();
    let mut scratch = Scratch::default();
    let mut buffers = Buffers::default();
    let mut shortest = vec![Duration::MAX; drawn.len()];
    for _ in 0..3 {
        for (search, shortest) in drawn.iter().zip(&mut shortest) {
            let query = search.query(&mut buffers);
            let began = Instant::now();
            black_box(rank::search(index, &query, &mut scratch));
            *shortest = began.elapsed().min(*shortest);
        }
    }
    let step = if data.reviews.len() > 100_000 { 97 } else { 1 };
    for search in drawn.iter().step_by(step) {
        let query = search.query(&mut buffers);
        let fast = rank::search(index, &query, &mut scratch);
        let slow = rank::search(scan, &query, &mut scratch);
        let answers = [fast, slow].map(|page| (page.matched, page.rows));
        assert_eq!(answers[0], answers[1], "{search:?}");
    }
    report("all", shortest.clone());
    for class in CLASSES {
        let times = drawn
            .iter()
            .zip(&shortest)
            .filter(|(search, _)| search.class == class);
        report(class, times.map(|(_, time)| *time).collect());
    }
    let slowest = drawn.iter().zip(&shortest).max_by_key(|(_, time)| **time);
    if let Some((search, time)) = slowest {
        println!("slowest, {time:.1?}: {:?}", search.query(&mut buffers));
    }
}

fn report(name: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    let at =
        |share: f64| times[((times.len() - 1) as f64 * share) as usize].as_nanos() as f64 / 1000.0;
    println!(
        "{name:18} p50 {:9.2} µs  p90 {:9.2}  p99 {:9.2}  max {:9.2}",
        at(0.5),
        at(0.9),
        at(0.99),
        at(1.0)
    );
}
