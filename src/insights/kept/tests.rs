use std::num::NonZeroUsize;

use proptest::prelude::*;

use super::*;
use crate::dataset::{decode, embedded};
use crate::insights::{MENTIONS_MIN, derive, document};
use crate::model::Rating;
use crate::wire::date::Timestamp;

fn sample() -> Dataset {
    let decoded = decode(embedded(), Timestamp::from_unix(4_000_000_000));
    decoded.expect("the sample is valid").dataset
}

const OPTIONS: Options = Options {
    threads: NonZeroUsize::MIN,
    mentions_min: MENTIONS_MIN,
};

fn encoded(kept: &Kept) -> Vec<u8> {
    let mut bytes = Vec::new();
    let filled: Result<(), ()> = kept.encode(|part| {
        bytes.extend_from_slice(part);
        Ok(())
    });
    filled.expect("nothing fails");
    bytes
}

#[test]
fn what_is_read_is_what_was_written() {
    let dataset = sample();
    let kept = derive(&dataset, &OPTIONS, None);
    let read = Kept::decode(&encoded(&kept), &dataset.taxonomy).expect("kept insights");
    assert!(read.is_of(&dataset, &OPTIONS));
    assert_eq!(
        (&read.derived.keys, &read.derived.outcomes),
        (&kept.derived.keys, &kept.derived.outcomes)
    );
    assert_eq!(read.derived.mentions, kept.derived.mentions);
    assert_eq!(encoded(&read), encoded(&kept));
    assert_eq!(read.into_document(), document(&dataset, &OPTIONS));
}

#[test]
fn a_document_is_of_its_files_and_settings_alone() {
    let mut dataset = sample();
    let kept = derive(&dataset, &OPTIONS, None);
    let other = Options {
        mentions_min: MENTIONS_MIN + 1,
        ..OPTIONS
    };
    assert!(!kept.is_of(&dataset, &other));
    let more_threads = Options {
        threads: NonZeroUsize::MIN.saturating_add(1),
        ..OPTIONS
    };
    assert!(kept.is_of(&dataset, &more_threads));
    dataset.digest[0] ^= 1;
    assert!(!kept.is_of(&dataset, &OPTIONS));
}

#[test]
fn any_changed_or_missing_byte_is_damage() {
    let mut dataset = sample();
    dataset.reviews.truncate(3);
    let bytes = encoded(&derive(&dataset, &OPTIONS, None));
    let refused = |bytes: &[u8]| Kept::decode(bytes, &dataset.taxonomy).err();
    assert_eq!(refused(&bytes), None);
    for length in (0..bytes.len()).step_by(7).chain([bytes.len() - 1]) {
        assert_eq!(refused(&bytes[..length]), Some(KeptError::Damaged));
    }
    for at in (0..bytes.len()).step_by(7).chain([bytes.len() - 1]) {
        let mut changed = bytes.clone();
        changed[at] ^= 0x10;
        assert_eq!(refused(&changed), Some(KeptError::Damaged), "byte {at}");
    }
    let longer = [&bytes[..], b"\n"].concat();
    assert_eq!(refused(&longer), Some(KeptError::Damaged));
}

/// `bytes` changed by `change`, with a sum that fits.
fn forged(bytes: &[u8], change: impl Fn(&mut Vec<u8>)) -> Vec<u8> {
    let mut body = bytes[..bytes.len() - SUM_BYTES].to_vec();
    change(&mut body);
    let sum = Sha256::digest(&body);
    body.extend_from_slice(&sum);
    body
}

#[test]
fn numbers_that_lead_nowhere_are_damage_even_with_a_sum_that_fits() {
    let mut dataset = sample();
    dataset.reviews.truncate(40);
    let kept = derive(&dataset, &OPTIONS, None);
    let bytes = encoded(&kept);
    let lengths = HEADER_BYTES - 24;
    let mentions = HEADER_BYTES + 40 * REVIEW_BYTES;
    assert!(kept.derived.mentions.len() > 3);
    for (at, value) in [
        (lengths, 0xff),
        (lengths + 7, 0xff),
        (lengths + 15, 0xff),
        (lengths + 16, bytes[lengths + 16] ^ 1),
        (HEADER_BYTES + KEY_BYTES, 9),
        (HEADER_BYTES + KEY_BYTES + 8, 0xff),
        (mentions + 1, 0xff),
        (mentions + 14, 3),
    ] {
        let forged = forged(&bytes, |body| body[at] = value);
        let refused = Kept::decode(&forged, &dataset.taxonomy).err();
        assert_eq!(refused, Some(KeptError::Damaged), "byte {at}");
    }
}

#[test]
fn other_aspects_are_another_method() {
    let mut dataset = sample();
    let kept = derive(&dataset, &OPTIONS, None);
    let bytes = encoded(&kept);
    let removed = dataset.taxonomy.aspects[1].phrases.pop();
    let refused = Kept::decode(&bytes, &dataset.taxonomy).err();
    assert_eq!(refused, Some(KeptError::Method));
    let renewed = derive(&dataset, &OPTIONS, Some(&kept));
    assert_eq!(renewed.into_document(), document(&dataset, &OPTIONS));
    // A phrase that moves to the next aspect is no less of a change.
    dataset.taxonomy.aspects[2].phrases.extend(removed);
    let refused = Kept::decode(&bytes, &dataset.taxonomy).err();
    assert_eq!(refused, Some(KeptError::Method));
}

#[test]
fn unchanged_reviews_are_not_read_again() {
    let dataset = sample();
    let mut kept = derive(&dataset, &OPTIONS, None);
    // A reading that no review gives, to be told from a new one.
    let row = kept.derived.mentions[0].row as usize;
    kept.derived.outcomes[row] = Outcome::Scored(7);
    let mut changed = dataset.clone();
    changed.reviews[row + 1].text.push_str(" I was happy.");
    let next = derive(&changed, &OPTIONS, Some(&kept)).derived;
    assert_eq!(next.outcomes[row], Outcome::Scored(7));
    let fresh = derive(&changed, &OPTIONS, None).derived;
    assert_eq!(next.outcomes[row + 1], fresh.outcomes[row + 1]);
    assert_ne!(next.keys[row + 1], kept.derived.keys[row + 1]);
}

/// Whoever changes what is derived has to raise [`REVISION`], or readings of before would be taken for those of now.
/// The digest is of what is read in the sample and of its document; a change of the sample alone changes it as well.
#[test]
fn a_change_of_what_is_derived_raises_the_revision() {
    let kept = derive(&sample(), &OPTIONS, None);
    let mut hash = Sha256::new();
    hash.update(format!("{:?}", kept.derived));
    hash.update(&kept.document);
    let digest: String = hash.finalize()[..8]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    assert_eq!(
        (REVISION, digest.as_str()),
        (3, "8ac2a7777c95e72e"),
        "raise REVISION, and put both numbers here"
    );
}

/// A change of a dataset: which review or phrase it is about, and of what kind.
fn edit(dataset: &mut Dataset, (kind, at): (u8, usize), original: &Dataset) {
    let count = dataset.reviews.len().max(1);
    let phrases = &mut dataset.taxonomy.aspects[at % 2].phrases;
    match (kind, dataset.reviews.get_mut(at % count)) {
        (0, Some(_)) => drop(dataset.reviews.remove(at % count)),
        (1, Some(review)) => review.text.push_str(" The fees were too high, sadly."),
        (2, Some(review)) => review.rating = Rating::new(1 + (at % 5) as u8).expect("stars"),
        (3, Some(review)) => review.text.clear(),
        (4, _) => phrases.push("sadly".to_owned()),
        (5, _) => drop(phrases.pop()),
        (6, _) => dataset.reviews.rotate_left(at % count),
        _ => dataset
            .reviews
            .push(original.reviews[at % original.reviews.len()].clone()),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn after_any_edits_the_document_is_that_of_a_fresh_derivation(
        edits in prop::collection::vec(prop::collection::vec((0u8..9, 0usize..40), 0..4), 1..5),
    ) {
        let mut original = sample();
        // Names have a part of their own, and automata over them would be most of the work.
        original.taxonomy.technicians.clear();
        original.taxonomy.services.clear();
        original.taxonomy.aspects.truncate(2);
        original.reviews.truncate(40);
        let mut dataset = original.clone();
        dataset.reviews.truncate(12);
        let mut kept: Option<Kept> = None;
        for step in edits {
            for one in step {
                edit(&mut dataset, one, &original);
            }
            let derived = derive(&dataset, &OPTIONS, kept.as_ref());
            let read = Kept::decode(&encoded(&derived), &dataset.taxonomy).expect("kept insights");
            prop_assert_eq!(derived.into_document(), document(&dataset, &OPTIONS));
            kept = Some(read);
        }
    }
}

#[test]
fn a_cancelled_derivation_ends_after_the_chunk_in_hand() {
    let mut dataset = sample();
    let reviews = dataset.reviews.clone();
    let chunk_rows = crate::insights::parallel::CHUNK_ROWS;
    dataset.reviews = reviews.into_iter().cycle().take(3 * chunk_rows).collect();
    for review in &mut dataset.reviews {
        review.text.truncate(0);
    }
    let asked = std::sync::atomic::AtomicUsize::new(0);
    let from = |from: usize| {
        asked.store(0, std::sync::atomic::Ordering::Relaxed);
        let cancelled = || asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed) >= from;
        crate::insights::derive_unless(&dataset, &OPTIONS, None, &cancelled).is_some()
    };
    assert!(!from(0) && !from(2));
    assert!(from(3), "asked once for each chunk");
}
