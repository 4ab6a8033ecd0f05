//! From files to documents: what a start and every reload pay before a snapshot can be built.
//!
//! The path matters because it bounds how soon a changed review is public, and because it runs beside the requests
//! on the same cores. Inputs are the sample, 10,000 reviews made of it, and the folder that `REVIEWD_CORPUS` names.

use std::hint::black_box;
use std::path::Path;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use reviewd::dataset::publish::publish;
use reviewd::dataset::{Files, decode, embedded};
use reviewd::model::Dataset;
use reviewd::wire::date::Timestamp;

/// Later than any `updated_at` that is not a mistake.
const NOW: i64 = 4_000_000_000;

fn files_to_documents(criterion: &mut Criterion) {
    for (name, files) in inputs() {
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
        group.finish();
    }
}

fn decoded(files: Files) -> Dataset {
    match decode(files, Timestamp::from_unix(NOW)) {
        Ok(decoded) => decoded.dataset,
        Err(problems) => panic!("{problems}"),
    }
}

fn inputs() -> Vec<(&'static str, Files)> {
    let mut inputs = vec![("sample", embedded()), ("10000", multiplied(10_000))];
    match std::env::var_os("REVIEWD_CORPUS") {
        None => eprintln!("REVIEWD_CORPUS is not set: the corpus is skipped"),
        Some(directory) => inputs.push(("corpus", read(Path::new(&directory)))),
    }
    inputs
}

fn read(directory: &Path) -> Files {
    let file = |name: &str| std::fs::read(directory.join(name)).ok();
    Files {
        reviews: file("reviews.json").expect("REVIEWD_CORPUS names a folder with reviews.json"),
        taxonomy: file("taxonomy.json"),
        editorial: file("editorial.json"),
        ..Files::default()
    }
}

/// The sample's reviews over and over, with ids of their own, until there are `count`.
fn multiplied(count: usize) -> Files {
    let mut files = embedded();
    let mut file: serde_json::Value =
        serde_json::from_slice(&files.reviews).expect("the sample is JSON");
    let reviews = file["reviews"].as_array().expect("an array").clone();
    let copies = (0..count).map(|at| {
        let mut review = reviews[at % reviews.len()].clone();
        review["id"] = format!("r{at}").into();
        review
    });
    file["reviews"] = copies.collect();
    files.reviews = file.to_string().into_bytes();
    // Its answers lean on ids that are gone.
    files.editorial = None;
    files
}

criterion_group!(benches, files_to_documents);
criterion_main!(benches);
