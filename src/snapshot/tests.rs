//! Properties of every snapshot: bytes, ranges and tags agree with each other.

use std::num::NonZeroUsize;

use super::*;
use crate::dataset::sample;
use crate::wire::negotiate::Coding;

/// A small index, built by one thread.
pub(crate) fn settings() -> SnapshotSettings {
    SnapshotSettings {
        base_url: "https://reviews.example".into(),
        index: IndexOptions {
            memory_bytes: 64 << 20,
            threads: NonZeroUsize::MIN,
            tuning: None,
        },
    }
}

#[test]
fn neighbors_are_one_run_with_the_commas_between_them() {
    let snapshot = Snapshot::build(sample(), &settings());
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
        let each: Vec<&[u8]> = rows.iter().map(|row| snapshot.review_json(*row)).collect();
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
