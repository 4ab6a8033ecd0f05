//! What the merge takes and refuses; its laws over random records are in `tests/oracle`.

use super::merge::{Bounds, Merge};
use super::normalise::{Rules, Vouched};
use super::record::{Field, Found, Record};
use crate::wire::date::{Date, Timestamp};

/// A review of a reviewd.
fn review(id: &str, author: &str, text: &str) -> Record {
    let mut record = Record::at(1);
    record.is_ours = true;
    for (field, value) in [
        (Field::Id, id),
        (Field::Author, author),
        (Field::Rating, "5"),
        (Field::Date, "2024-03-04"),
        (Field::Text, text),
    ] {
        record.set(field, value);
    }
    record
}

fn rules(vouched: Vouched) -> Rules {
    Rules {
        format: &super::formats::FORMATS[0],
        source: None,
        vouched,
        merges_same_text: false,
        order: None,
        today: Date::MAX,
    }
}

fn merged<'f>(
    file: Option<&'f str>,
    records: &[Record],
    bytes_max: u64,
    vouched: Vouched,
) -> Result<Merge<'f>, String> {
    let mut merge = Merge::new(file, Bounds::of(bytes_max))?;
    merge.begin();
    for record in records {
        merge.take(Found::Record(record.clone()), &rules(vouched))?;
    }
    Ok(merge)
}

#[test]
fn the_operators_word_for_new_reviews_leaves_the_others_alone() {
    let (old, new) = (review("a", "Ann", "Good."), review("b", "Bob", "Bad."));
    let file = merged(None, std::slice::from_ref(&old), u64::MAX, Vouched::Nothing).unwrap();
    let file = file.render(Timestamp::from_unix(0));
    let both = merged(
        Some(&file),
        &[old.clone(), new.clone()],
        u64::MAX,
        Vouched::New,
    )
    .unwrap();
    assert_eq!((both.counts(), both.newly_verified()), ((2, 1), 0));
    let mut denied = new;
    denied.set(Field::Verified, "false");
    let records = [old, denied];
    let all = merged(Some(&file), &records, u64::MAX, Vouched::All).unwrap();
    assert_eq!(
        (all.counts(), all.newly_verified()),
        ((2, 1), 1),
        "what was there is lifted, and the source's own word stands"
    );
}

#[test]
fn a_changed_review_gives_its_bytes_back() {
    let file = merged(
        None,
        &[review("a", "Ann", &"x".repeat(500))],
        u64::MAX,
        Vouched::Nothing,
    )
    .unwrap();
    let file = file.render(Timestamp::from_unix(0));
    let changed = [review("a", "Ann", &"y".repeat(510))];
    let size = file.len() as u64;
    assert!(merged(Some(&file), &changed, size + 10, Vouched::Nothing).is_ok());
    assert!(merged(Some(&file), &changed, size + 9, Vouched::Nothing).is_err());
}

#[test]
fn an_id_that_someone_elses_review_bears_is_refused() {
    let file = merged(
        None,
        &[review("a", "Ann", "Good.")],
        u64::MAX,
        Vouched::Nothing,
    )
    .unwrap();
    let file = file.render(Timestamp::from_unix(0));
    let mut other = review("a", "Bob", "Bad.");
    other.set(Field::Date, "2024-03-05");
    let merge = merged(Some(&file), &[other], u64::MAX, Vouched::Nothing).unwrap();
    assert!(!merge.is_change());
    assert_eq!(
        merge.refusals()[0].text,
        "id: is that of the review by \"Ann\" from \"import\" that is there"
    );
}

#[test]
fn a_reviewds_correction_of_the_author_the_words_or_the_day_is_taken() {
    let file = merged(
        None,
        &[review("a", "Ann", "Good.")],
        u64::MAX,
        Vouched::Nothing,
    )
    .unwrap();
    let file = file.render(Timestamp::from_unix(0));
    let changed = |author, text, date| {
        let mut record = review("a", author, text);
        record.set(Field::Date, date);
        let merge = merged(Some(&file), &[record], u64::MAX, Vouched::Nothing).unwrap();
        merge.is_change()
    };
    assert!(changed("Anne", "Good.", "2024-03-05"), "the words agree");
    assert!(changed("Anne", "Fine.", "2024-03-04"), "the day agrees");
    assert!(changed("Ann", "Fine.", "2024-03-05"), "the author agrees");
    assert!(!changed("Anne", "Fine.", "2024-03-05"), "nothing agrees");
}
