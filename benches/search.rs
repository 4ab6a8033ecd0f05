//! Searches by kind of needle and filter: a reader waits for the whole of it, and `matched` is exact for each.
//!
//! Each iteration answers 64 searches of one class, drawn once, one after another; every answer is first compared with
//! that of an index without a budget, which scans. `REVIEWD_CORPUS=DIR cargo bench --bench search` measures real
//! texts; `REVIEWD_BENCH_REVIEWS=1000000` other numbers of them.

mod support;

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use reviewd::search::index::Index;
use reviewd::search::run::{Scratch, run};
use support::{CLASSES, Search, Searches, data, options, sizes};

/// The allocator of the program, which asks for huge pages: a search meets memory all over the index.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Searches in one iteration.
const SEARCHES: usize = 64;

/// Bytes that the index may take for each review, about the default of the service for a million.
const MEMORY_PER_REVIEW: u64 = 2_100;

fn search(criterion: &mut Criterion) {
    for size in sizes() {
        let data = data(size);
        let build = |memory| Index::build(&data.reviews, &data.taxonomy, &options(memory));
        let index = build(size as u64 * MEMORY_PER_REVIEW);
        let scan = build(0);
        let mut searches = Searches::new(&data, 11);
        let mut scratch = Scratch::default();
        let mut group = criterion.benchmark_group(format!("search/{size}"));
        group.throughput(Throughput::Elements(SEARCHES as u64));
        for class in CLASSES {
            let drawn: Vec<Search> = (0..SEARCHES).map(|_| searches.draw(class)).collect();
            for search in &drawn {
                let (fast, slow) = (
                    run(&index, &search.query(), &mut scratch),
                    run(&scan, &search.query(), &mut scratch),
                );
                assert_eq!(
                    (fast.matched, &*fast.rows),
                    (slow.matched, &*slow.rows),
                    "{search:?}"
                );
            }
            group.bench_function(class, |bencher| {
                bencher.iter(|| {
                    for search in &drawn {
                        black_box(run(&index, &search.query(), &mut scratch));
                    }
                });
            });
        }
        group.finish();
    }
}

fn build(criterion: &mut Criterion) {
    let size = sizes()[0];
    let data = data(size);
    let mut group = criterion.benchmark_group("search/build");
    group.sample_size(10);
    group.throughput(Throughput::Elements(size as u64));
    group.bench_function(size.to_string(), |bencher| {
        bencher.iter(|| {
            let memory = size as u64 * MEMORY_PER_REVIEW;
            let index = Index::build(&data.reviews, &data.taxonomy, &options(memory));
            assert_eq!(index.len() as usize, size);
            index
        });
    });
    group.finish();
}

criterion_group!(benches, search, build);
criterion_main!(benches);
