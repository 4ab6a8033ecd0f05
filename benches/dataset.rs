//! From files to documents: the cost of a start and of every reload.
//!
//! The path matters because it bounds how soon a changed review is public, and because it runs beside the requests
//! on the same cores. Inputs are the sample and the folder that `REVIEWD_CORPUS` names. The insights take most of the
//! time; a second thread halves theirs.

#[path = "support/files.rs"]
mod files;

use std::hint::black_box;
use std::num::NonZeroUsize;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use files::{corpus, decoded};
use reviewd::dataset::embedded;
use reviewd::dataset::publish::publish;
use reviewd::insights::document;

fn files_to_documents(criterion: &mut Criterion) {
    let mut inputs = vec![("sample", embedded())];
    inputs.extend(corpus().map(|files| ("corpus", files)));
    for (name, files) in inputs {
        let bytes = files.reviews.len() as u64;
        let dataset = decoded(files.clone());
        let count = dataset.reviews.len();
        let mut group = criterion.benchmark_group(format!("dataset/{name}"));
        group.sample_size(10).throughput(Throughput::Bytes(bytes));
        group.bench_function("decode", |bencher| {
            bencher.iter_batched(
                || files.clone(),
                |files| assert_eq!(decoded(files).reviews.len(), count),
                BatchSize::PerIteration,
            );
        });
        group.bench_function("publish", |bencher| {
            bencher.iter(|| {
                let published = publish(black_box(&dataset), "https://reviews.example");
                assert_eq!(published.offsets.len(), count + 1);
                published
            });
        });
        group.bench_function("insights", |bencher| {
            bencher.iter(|| {
                let document = document(black_box(&dataset), NonZeroUsize::MIN, &|| false);
                let document = document.expect("nothing cancels it");
                assert!(document.bytes.ends_with(b"}"));
                document
            });
        });
        group.finish();
    }
}

criterion_group!(benches, files_to_documents);
criterion_main!(benches);
