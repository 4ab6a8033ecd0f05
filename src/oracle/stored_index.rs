//! Index files of any bytes: what was written comes back and answers the same, and no other bytes do harm.

use std::convert::Infallible;
use std::num::NonZeroUsize;

use super::search::{Source, check_answer, taxonomy};
use crate::model::Review;
use crate::search::index::{Index, IndexOptions};
use crate::search::run::{Scratch, run};
use crate::search::stored::{Checksum, Reading, Restored, SUM_BYTES, StoredError, Wanted};

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
///
/// # Panics
/// If reading them before the texts are known ends otherwise.
fn read(bytes: &[u8], reviews: &[Review]) -> Index {
    let restore = |read: fn(&Wanted<'_>, &[u8]) -> Option<Restored>| {
        Index::build_or_restore(reviews, &taxonomy(), &OPTIONS, |wanted| read(wanted, bytes))
    };
    let index = restore(|wanted, bytes| wanted.decode(bytes.len() as u64, source(bytes)).ok());
    let ahead = restore(|wanted, bytes| read_ahead(wanted, bytes).ok());
    assert_eq!(index.is_restored(), ahead.is_restored(), "alike");
    assert!(
        !index.is_restored() || encode(&index) == encode(&ahead),
        "and the same"
    );
    index
}

/// Reads `bytes` as a start does: judged by their header once that is there, and taken if they are of the texts.
fn read_ahead(wanted: &Wanted<'_>, bytes: &[u8]) -> Result<Restored, StoredError<()>> {
    let reading = Reading::begin(bytes.len() as u64, OPTIONS.memory_bytes, source(bytes))?;
    let judged = wanted.check(reading.origin());
    let restored = reading.finish().and_then(|stored| wanted.accept(stored));
    assert!(
        judged.is_ok() || restored.is_err(),
        "never taken against its header"
    );
    judged?;
    restored
}

/// Hands over `bytes` and nothing beyond them.
fn source(bytes: &[u8]) -> impl FnMut(&mut [u8]) -> Result<(), ()> {
    let mut rest = bytes;
    move |part| {
        let (taken, after) = rest.split_at_checked(part.len()).ok_or(())?;
        part.copy_from_slice(taken);
        rest = after;
        Ok(())
    }
}
