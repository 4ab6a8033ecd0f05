//! Query strings to queries: the cost of every search before the lookup.
//!
//! The path matters because hostile input reaches it first, and because a 304 costs nothing else. Inputs are typical
//! ones: no filter, one, all of them; and the worst within the limits.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use reviewd::search::query::{Buffers, parse_query};

fn parse(criterion: &mut Criterion) {
    let everything = "rating=4&min_rating=3.5&since=2019-01-01&until=2026-01-01&query=caf%C3%A9+on+Main+Street\
        &mentions_technician=Ana%20P%C3%A9rez&mentions_service=wills&limit=50&sort=highest&utm_source=x";
    let unknown: Vec<String> = (0..64).map(|at| format!("campaign{at}=value")).collect();
    let refused: Vec<String> = (0..64).map(|at| format!("%zz{at}=%zz")).collect();
    let inputs = [
        ("empty", String::new(), true),
        ("one_filter", "min_rating=4&limit=5".to_owned(), true),
        ("everything", everything.to_owned(), true),
        ("long_text", format!("query={}", "%C3%89".repeat(512)), true),
        ("64_unknown", unknown.join("&"), true),
        ("64_refusals", refused.join("&"), false),
        ("100000_pairs", vec!["x=1"; 100_000].join("&"), false),
    ];
    let mut group = criterion.benchmark_group("query");
    let mut buffers = Buffers::default();
    for (name, raw, is_accepted) in &inputs {
        group.throughput(Throughput::Bytes(raw.len() as u64));
        group.bench_function(*name, |bencher| {
            bencher.iter(|| {
                let parsed = parse_query(black_box(raw.as_bytes()), &mut buffers);
                assert_eq!(parsed.is_ok(), *is_accepted);
            });
        });
    }
    group.finish();
}

criterion_group!(benches, parse);
criterion_main!(benches);
