//! Deriving the insights: what a start and every reload pay after the files are decoded.
//!
//! The path matters because it runs beside the requests on the same cores, and because the first reader of a changed
//! dataset waits for it. Inputs are 2,000 reviews made of the sample and the folder that `REVIEWD_CORPUS` names; a
//! second thread halves the time.

#[path = "support/files.rs"]
mod files;

use std::hint::black_box;
use std::num::NonZeroUsize;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use files::{corpus, decoded, multiplied};
use reviewd::insights::evidence::Context;
use reviewd::insights::text_model::Sentence;
use reviewd::insights::{MENTIONS_MIN, Options, document};
use reviewd::model::insights::Polarity;
use reviewd::model::{Dataset, Rating};

const SENTENCE: &str = "The lawyer was friendly and very helpful, but the waiting room was dirty and nobody returned my calls!";

fn sentences(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("insights/sentence");
    group.throughput(Throughput::Bytes(SENTENCE.len() as u64));
    let mut judge = Sentence::default();
    let from = SENTENCE.find("waiting room").expect("it stands there");
    group.bench_function("judge", |bencher| {
        bencher.iter(|| {
            let context = Context {
                is_english: true,
                rating: Rating::new(2),
                ..Context::default()
            };
            judge.read(black_box(SENTENCE));
            let judgement = judge.judge(Some(&(from..from + 12)), &context);
            assert_eq!(judgement.polarity, Polarity::Negative);
            judgement
        });
    });
    group.finish();
}

fn documents(criterion: &mut Criterion) {
    for (name, dataset) in inputs() {
        let bytes: usize = dataset.reviews.iter().map(|review| review.text.len()).sum();
        let mut group = criterion.benchmark_group(format!("insights/{name}"));
        group
            .sample_size(10)
            .throughput(Throughput::Bytes(bytes as u64));
        for threads in [1, 2] {
            let options = Options {
                threads: NonZeroUsize::new(threads).expect("not zero"),
                mentions_min: MENTIONS_MIN,
            };
            group.bench_function(format!("threads-{threads}"), |bencher| {
                bencher.iter(|| {
                    let document = document(black_box(&dataset), &options);
                    assert!(document.bytes.ends_with(b"}"));
                    document
                });
            });
        }
        group.finish();
    }
}

fn inputs() -> Vec<(&'static str, Dataset)> {
    let mut inputs = vec![("2000", decoded(multiplied(2_000)))];
    inputs.extend(corpus().map(|files| ("corpus", decoded(files))));
    inputs
}

criterion_group!(benches, sentences, documents);
criterion_main!(benches);
