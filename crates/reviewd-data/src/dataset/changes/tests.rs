use super::*;
use crate::dataset::{Files, decode, embedded, sample};

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_unix(seconds)
}

/// The sample with this record.
fn with_record(record: &str) -> Files {
    Files {
        changes: Some(record.into()),
        ..embedded()
    }
}

#[test]
fn a_record_is_read_as_it_was_written() {
    let dataset = sample();
    let mut record = ChangeRecord::begin("log".to_owned(), &dataset);
    let mut fewer = dataset.clone();
    let removed = fewer.reviews.remove(0);
    fewer.reviews[0].text.push('!');
    let changed_id = fewer.reviews[0].id.clone();
    let time = next_time(dataset.updated_at, at(0));
    let counts = record.update(&fewer, time);
    let expected = RecordedCounts {
        added: 0,
        changed: 1,
        removed: 1,
    };
    assert_eq!(counts, expected);
    let decoded = decode(with_record(&record.render()), Timestamp::MAX).unwrap();
    assert_eq!(decoded.record.as_ref(), Some(&record));
    assert_eq!(record.reviews[&removed.id].digest, None);
    assert_eq!(record.reviews[&changed_id].changed_at, Some(time));
    // The sample has neither change, as if the owner had undone both by hand: two reviews differ from their record.
    let changes = &decoded.dataset.changes;
    let unrecorded = changes.reviews.iter().filter(|change| change.at.is_none());
    assert_eq!(unrecorded.count(), 2);
    assert_eq!(decoded.dataset.updated_at.unix(), time.unix() + 1);
}

#[test]
fn the_times_of_the_record_are_published_only_with_the_recorded_content() {
    let dataset = sample();
    let mut none = dataset.clone();
    none.reviews.clear();
    let mut record = ChangeRecord::begin("log".to_owned(), &none);
    record.update(&dataset, at(1_900_000_000));
    let first = &dataset.reviews[0].id;
    record.reviews.get_mut(first).unwrap().digest = Some(ReviewDigest([0; 16]));
    let decoded = decode(with_record(&record.render()), Timestamp::MAX).unwrap();
    let [edited, same] = [0, 1].map(|row| &decoded.dataset.reviews[row]);
    assert_eq!(edited.added_at, Some(at(1_900_000_000)));
    assert_eq!(edited.changed_at, None);
    assert_eq!(same.changed_at, Some(at(1_900_000_000)));
}

#[test]
fn a_review_that_is_published_again_keeps_the_time_of_its_first_publication() {
    let dataset = sample();
    let mut none = dataset.clone();
    none.reviews.clear();
    let mut record = ChangeRecord::begin("log".to_owned(), &none);
    for (time, state) in [(1, &dataset), (2, &none), (3, &dataset)] {
        record.update(state, at(time));
    }
    let expected = RecordedReview {
        digest: Some(digest_review(&dataset.reviews[0])),
        added_at: Some(at(1)),
        changed_at: Some(at(3)),
        removed_at: None,
    };
    assert_eq!(record.reviews[&dataset.reviews[0].id], expected);
}

#[test]
fn the_digest_covers_all_but_the_times() {
    let review = sample().reviews.remove(0);
    let digest = digest_review(&review);
    let mut dated = review.clone();
    dated.added_at = Some(at(1));
    dated.changed_at = Some(at(2));
    assert_eq!(digest_review(&dated), digest);
    let mut named = review;
    named.mentioned_services.push("other".to_owned());
    assert_ne!(digest_review(&named), digest);
}

#[test]
fn a_damaged_record_is_refused_with_its_place() {
    let good = entry("null", "null");
    for (list, expected) in [
        (
            format!("{good},{good}"),
            "reviews[1]: an object has the id of an earlier entry",
        ),
        (
            entry(r#""0a""#, "null"),
            r#"reviews[0].digest: "0a" is not a digest: 32 hexadecimal digits"#,
        ),
        (
            entry("null", r#""2026-11-30T00:00:01Z""#),
            r#"reviews[0].changed_at: "2026-11-30T00:00:01Z" is more than a day in the future"#,
        ),
    ] {
        let now = parse_timestamp(b"2026-11-29T00:00:00Z").unwrap();
        let problems = decode(with_record(&record_of(&list)), now).unwrap_err();
        let text = problems.to_string();
        assert!(text.contains(expected), "{text}");
    }
}

#[test]
fn a_time_may_be_a_day_in_the_future() {
    let list = entry("null", r#""2026-11-30T00:00:00Z""#);
    let now = parse_timestamp(b"2026-11-29T00:00:00Z").unwrap();
    decode(with_record(&record_of(&list)), now).unwrap();
}

/// Returns a record with this list of reviews.
fn record_of(list: &str) -> String {
    format!(r#"{{"log": "x", "began_at": "2026-11-01T00:00:00Z", "reviews": [{list}]}}"#)
}

fn entry(digest: &str, changed_at: &str) -> String {
    format!(
        r#"{{"id": "a", "digest": {digest}, "added_at": null, "changed_at": {changed_at}, "removed_at": null}}"#
    )
}
