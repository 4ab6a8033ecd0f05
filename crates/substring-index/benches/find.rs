//! One lookup of a needle: what every search in the index begins with. The needles end inside the tree, at a leaf, and
//! nowhere; each answer is compared with a scan of the texts.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use substring_index::{Options, SubstringIndex};

/// Sentences of 100,000 texts, made of a few words and numbers.
fn texts() -> Vec<String> {
    let words = [
        "probate",
        "lawyer",
        "patient",
        "Köln",
        "called back",
        "fees",
    ];
    let mut texts = Vec::new();
    for number in 0..100_000_usize {
        let first = words[number % words.len()];
        let second = words[number * number % words.len()];
        texts.push(format!("The {first} of case {number} was {second}."));
    }
    texts
}

fn find(criterion: &mut Criterion) {
    let texts = texts();
    let index = SubstringIndex::build(texts.iter().map(String::as_str), &Options::default());
    for (name, needle) in [
        ("frequent", "lawyer"),
        ("rare", "case 4711 "),
        ("nowhere", "surgeon"),
    ] {
        let expected = texts.iter().filter(|text| text.contains(needle)).count();
        assert_eq!(index.count(needle), expected, "{needle}");
        criterion.bench_function(name, |bencher| {
            bencher.iter(|| index.count(black_box(needle)));
        });
    }
}

criterion_group!(benches, find);
criterion_main!(benches);
