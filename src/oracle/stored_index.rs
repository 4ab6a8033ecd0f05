//! Index files of any bytes: what was written comes back and answers the same, and no other bytes do harm.

use std::convert::Infallible;
use std::num::NonZeroUsize;

use super::search::{Source, check_answer, taxonomy};
use crate::model::Review;
use crate::search::index::{Index, IndexOptions};
use crate::search::run::{Scratch, run};
use crate::search::stored::{Checksum, SUM_BYTES};

const OPTIONS: IndexOptions = IndexOptions {
    memory_bytes: 1 << 20,
    threads: NonZeroUsize::MIN,
};

/// Checks an index of a small dataset made of `data`: as bytes and back, and with the changes that the rest of
/// `data` makes in those bytes, under a sum that is right again; and `data` itself as an index.
///
/// # Panics
/// If an index that comes back answers otherwise than its twin; or where changed bytes make a search panic.
pub fn check_stored_index(data: &[u8]) {
    let mut source = Source { data };
    let tuning = source.tuning();
    let reviews = source.reviews(&taxonomy());
    let index = Index::build_tuned(&reviews, &taxonomy(), tuning, &OPTIONS);
    let bytes = encode(&index);
    let back = read(&bytes, &reviews);
    assert!(back.is_restored(), "its own bytes are taken");
    assert!(encode(&back) == bytes, "and are written again as they were");
    let mut forged = bytes;
    while !source.data.is_empty() && forged.len() > SUM_BYTES {
        let place = u16::from_le_bytes([source.next(), source.next()]);
        let place = usize::from(place) % (forged.len() - SUM_BYTES);
        forged[place] = source.next();
    }
    let end = forged.len() - SUM_BYTES;
    let mut sum = Checksum::new();
    sum.update(&forged[..end]);
    forged[end..].copy_from_slice(&sum.finish());
    let forged = read(&forged, &reviews);
    let junk = read(data, &reviews);
    assert!(!junk.is_restored(), "no sum is met by chance");

    let mut scratch = Scratch::default();
    let mut source = Source { data };
    for _ in 0..10 {
        let needle = source.needle(&reviews);
        let names = [source.name(), source.name()];
        let query = source.query(&needle, &names, &reviews);
        check_answer(&reviews, &taxonomy(), &back, &query, &mut scratch);
        let page = run(&forged, &query, &mut scratch);
        assert!(
            page.rows.iter().all(|row| row.0 < forged.len()),
            "rows are those of reviews"
        );
    }
}

fn encode(index: &Index) -> Vec<u8> {
    let mut bytes = Vec::new();
    let Ok(()) = index.encode::<Infallible>(|part| {
        bytes.extend_from_slice(part);
        Ok(())
    });
    bytes
}

/// Reads `bytes` as the index of `reviews`, or builds one where they are refused.
fn read(bytes: &[u8], reviews: &[Review]) -> Index {
    Index::build_or_restore(reviews, &taxonomy(), &OPTIONS, |wanted| {
        let mut rest = bytes;
        let source = |part: &mut [u8]| {
            let (taken, after) = rest.split_at_checked(part.len()).ok_or(())?;
            part.copy_from_slice(taken);
            rest = after;
            Ok::<_, ()>(())
        };
        wanted.decode(bytes.len() as u64, source).ok()
    })
}
