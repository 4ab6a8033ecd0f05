//! A search page of 20 reviews: parse, search, read the reviews back, mark, render.
//!
//! The only HTML that is made per request, so what it costs bounds how many people can search at a time. The bound is
//! 200 µs of processor time; the page without parameters is a stored document, which `request` measures.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use reviewd::pages::{Pages, Scratch};
use reviewd::snapshot::Snapshot;

fn render(criterion: &mut Criterion) {
    let settings = oracle::service::snapshot_settings();
    let snapshot = Snapshot::build(oracle::service::sample(), &settings);
    let pages = Pages::new(Arc::new(snapshot));
    let mut scratch = Scratch::default();
    let mut group = criterion.benchmark_group("pages");
    group.throughput(Throughput::Elements(20));
    for (name, query) in [
        ("newest", "sort=newest"),
        ("words", "query=the"),
        ("aspect", "aspect=fees&sort=lowest"),
        ("days_and_stars", "since=2023-01-01&min_rating=4"),
    ] {
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                let asked = pages.ask(black_box(query.as_bytes()), &mut scratch.buffers);
                let page = pages.find(&asked.expect("a valid query"), &mut scratch.run);
                let articles = memchr::memmem::find_iter(&page, b"<article").count();
                assert_eq!(articles, 20, "{query}");
                page
            });
        });
    }
    group.finish();
}

criterion_group!(benches, render);
criterion_main!(benches);
