//! What every snapshot keeps: bytes, ranges and tags agree with each other.

use std::num::NonZeroUsize;

use super::*;
use crate::dataset;
use crate::wire::negotiate::Coding;

/// Long after every date of the sample.
const NOW: i64 = 1_900_000_000;

fn sample() -> Dataset {
    dataset::decode(dataset::embedded(), Timestamp::from_unix(NOW))
        .expect("the sample is valid")
        .dataset
}

fn build(dataset: Dataset) -> Snapshot {
    let threads = NonZeroUsize::MIN;
    let index = IndexOptions {
        memory_bytes: 64 << 20,
        threads,
    };
    Snapshot::build(
        dataset,
        &Settings {
            base_url: "https://reviews.example".into(),
            index,
            mentions_min: insights::MENTIONS_MIN,
        },
    )
}

#[test]
fn variants_arrive_once_and_decode_to_the_document() {
    let snapshot = build(sample());
    assert!(snapshot.reviews.encoded(Coding::Gzip).is_none());
    snapshot.compress(|| true);
    assert!(
        snapshot.reviews.encoded(Coding::Gzip).is_none(),
        "a cancelled run makes nothing"
    );
    snapshot.compress(|| false);
    let body = &snapshot.reviews.body;
    let mut plain = Vec::new();
    let gzip = snapshot.reviews.encoded(Coding::Gzip).expect("a variant");
    std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(&gzip[..]), &mut plain)
        .expect("gzip");
    assert_eq!(plain, body[..]);
    let brotli = snapshot.reviews.encoded(Coding::Brotli).expect("a variant");
    let mut plain = Vec::new();
    brotli::BrotliDecompress(&mut &brotli[..], &mut plain).expect("brotli");
    assert_eq!(plain, body[..]);
    assert!(gzip.len() < body.len() && brotli.len() < body.len());
}

#[test]
fn neighbours_are_one_run_with_the_commas_between_them() {
    let snapshot = build(sample());
    let last = snapshot.len() - 1;
    let pages: [&[u32]; 6] = [
        &[],
        &[0],
        &[0, 1, 2],
        &[last],
        &[2, 1, 0, 1],
        &[0, 2, 3, last - 1, last, 0],
    ];
    for page in pages {
        let rows: Vec<Row> = page.iter().map(|row| Row(*row)).collect();
        let each: Vec<&[u8]> = rows.iter().map(|row| snapshot.review(*row)).collect();
        let runs: Vec<&[u8]> = snapshot.runs(&rows).collect();
        assert_eq!(runs.join(&b','), each.join(&b','), "{page:?}");
    }
}

#[test]
fn a_document_is_compressed_from_a_kilobyte_on() {
    let compressed = |bytes: usize| {
        let body = Bytes::from(vec![b'x'; bytes]);
        let resource = Resource::new(body.clone(), "text/plain", Timestamp::from_unix(0));
        resource.compress(&|| false);
        assert_eq!(resource.encoded(Coding::Identity), Some(&body));
        resource.encoded(Coding::Brotli).is_some()
    };
    assert!(!compressed(1_023));
    assert!(compressed(1_024));
}
