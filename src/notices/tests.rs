//! Which changes are told to a target, in which order, and how many at once.

use super::*;
use crate::dataset::sample;
use crate::model::notices::{HiddenText, NoticeFilter, NoticeKind};
use crate::model::{OwnerReply, Rating, Review, sort_newest_first};
use crate::snapshot::tests::settings;

/// A webhook with this filter.
fn setting(filter: NoticeFilter) -> NoticeSetting {
    NoticeSetting {
        id: "shop".to_owned(),
        kind: NoticeKind::Webhook,
        url: HiddenText::new("https://x.example/secret".to_owned()),
        secret: None,
        chat_id: None,
        filter,
    }
}

fn date(text: &str) -> Date {
    crate::wire::date::parse_date(text.as_bytes()).expect("a day")
}

/// A review without a reply, in German.
fn review(id: &str, stars: u8, day: &str) -> Review {
    let mut review = sample().reviews.swap_remove(0);
    review.id = id.to_owned();
    review.rating = Rating::new(stars).expect("a rating");
    review.date = date(day);
    review.owner_reply = None;
    review.language = Some("de-AT".to_owned());
    review
}

/// The notices to targets with this filter about these reviews.
fn source(mut reviews: Vec<Review>, filter: NoticeFilter) -> ReviewNotices {
    let mut dataset = sample();
    sort_newest_first(&mut reviews);
    dataset.reviews = reviews;
    let snapshot = Arc::new(Snapshot::build(dataset, &settings()));
    ReviewNotices::new(snapshot, Arc::new([setting(filter)]))
}

/// The ids of what is told of these changes.
fn told(source: &ReviewNotices, changes: &NoticeChanges) -> Vec<String> {
    let notices = source.compose(changes);
    notices.into_iter().map(|notice| notice.item).collect()
}

fn all_new(ids: &[&str]) -> NoticeChanges {
    NoticeChanges {
        added: ids.iter().map(|id| (*id).to_owned()).collect(),
        ..NoticeChanges::default()
    }
}

#[test]
fn a_filter_selects_by_stars_language_and_location() {
    let mut reviews = vec![
        review("two", 2, "2026-01-01"),
        review("four", 4, "2026-01-01"),
    ];
    reviews[1].language = Some("en".to_owned());
    reviews[1].location = Some("north".to_owned());
    let everything = NoticeFilter::default;
    for (filter, expected) in [
        (everything(), vec!["four", "two"]),
        (
            NoticeFilter {
                max_rating: Rating::new(2),
                ..everything()
            },
            vec!["two"],
        ),
        (
            NoticeFilter {
                max_rating: Rating::new(1),
                ..everything()
            },
            vec![],
        ),
        (
            NoticeFilter {
                min_rating: Rating::new(4),
                ..everything()
            },
            vec!["four"],
        ),
        (
            NoticeFilter {
                language: Some("DE".to_owned()),
                ..everything()
            },
            vec!["two"],
        ),
        (
            NoticeFilter {
                language: Some("d".to_owned()),
                ..everything()
            },
            vec![],
        ),
        (
            NoticeFilter {
                location: Some("north".to_owned()),
                ..everything()
            },
            vec!["four"],
        ),
        (
            NoticeFilter {
                events: Some(vec![NoticeEvent::Removed]),
                ..everything()
            },
            vec![],
        ),
        (
            NoticeFilter {
                events: Some(vec![NoticeEvent::New]),
                ..everything()
            },
            vec!["four", "two"],
        ),
    ] {
        let source = source(reviews.clone(), filter.clone());
        assert_eq!(
            told(&source, &all_new(&["two", "four"])),
            expected,
            "{filter:?}"
        );
    }
}

#[test]
fn new_reviews_are_told_oldest_first_after_removed_and_changed_ones() {
    let reviews = vec![
        review("a", 5, "2026-01-01"),
        review("b", 5, "2026-01-02"),
        review("c", 5, "2026-01-03"),
    ];
    let source = source(reviews, NoticeFilter::default());
    // In the order of the items: newest first.
    let mut changes = all_new(&["c", "b"]);
    changes.changed = vec!["a".to_owned()];
    changes.removed = vec![NoticeItem {
        name: "gone".to_owned(),
        digest: [0; 32],
        facts: r#"{"rating":2,"date":"2025-01-01","language":null,"location":null}"#.to_owned(),
    }];
    assert_eq!(told(&source, &changes), ["gone", "a", "b", "c"]);
}

#[test]
fn a_removed_review_is_filtered_by_what_is_known_of_it() {
    let filter = NoticeFilter {
        max_rating: Rating::new(3),
        ..NoticeFilter::default()
    };
    let source = source(vec![review("a", 5, "2026-01-01")], filter);
    let facts = |rating: u8| {
        format!(r#"{{"rating":{rating},"date":"2025-01-01","language":null,"location":null}}"#)
    };
    for (rating, count) in [(3, 1), (4, 0)] {
        let changes = NoticeChanges {
            removed: vec![NoticeItem {
                name: "gone".to_owned(),
                digest: [0; 32],
                facts: facts(rating),
            }],
            ..NoticeChanges::default()
        };
        assert_eq!(told(&source, &changes).len(), count, "{rating}");
    }
}

/// No change of a review; the days after `after` up to `until` have begun.
fn begun(after: &str, until: &str) -> NoticeChanges {
    NoticeChanges {
        days: Some(DaysBegun {
            after: date(after),
            until: date(until),
        }),
        ..NoticeChanges::default()
    }
}

#[test]
fn a_review_without_a_reply_is_told_once_on_the_day_after_its_time() {
    let mut answered = review("answered", 1, "2026-03-01");
    answered.owner_reply = Some(OwnerReply {
        text: "Sorry.".to_owned(),
        date: date("2026-03-02"),
    });
    let reviews = vec![
        review("open", 1, "2026-03-01"),
        review("happy", 5, "2026-03-01"),
        review("next", 1, "2026-03-02"),
        answered,
    ];
    let filter = NoticeFilter {
        max_rating: Rating::new(3),
        unanswered_days: Some(3),
        ..NoticeFilter::default()
    };
    let source = source(reviews, filter);
    let none: [&str; 0] = [];
    assert_eq!(told(&source, &begun("2026-03-02", "2026-03-03")), none);
    assert_eq!(told(&source, &begun("2026-03-03", "2026-03-04")), ["open"]);
    assert_eq!(told(&source, &begun("2026-03-04", "2026-03-05")), ["next"]);
    assert_eq!(told(&source, &begun("2026-03-05", "2026-03-06")), none);
    // A service that was down for days tells all of them.
    assert_eq!(
        told(&source, &begun("2026-02-01", "2026-04-01")),
        ["open", "next"]
    );
    assert_eq!(told(&source, &NoticeChanges::default()), none);
}

#[test]
fn the_record_of_a_change_is_no_change() {
    let plain = review("a", 5, "2026-01-01");
    let mut dated = plain.clone();
    dated.added_at = Some(Timestamp::from_unix(1_700_000_000));
    dated.changed_at = Some(Timestamp::from_unix(1_700_000_001));
    let mut edited = plain.clone();
    edited.text.push_str(" ,\"added_at\":");
    let digest = |review| source(vec![review], NoticeFilter::default()).items()[0].digest;
    assert_eq!(digest(plain.clone()), digest(dated));
    assert_ne!(digest(plain), digest(edited));
}

#[test]
fn ten_changes_are_told_one_by_one_and_eleven_together() {
    let ids: Vec<String> = (10..21).map(|number| format!("r{number}")).collect();
    let reviews = ids.iter().map(|id| review(id, 5, "2026-01-01")).collect();
    let source = source(reviews, NoticeFilter::default());
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    assert_eq!(told(&source, &all_new(&ids[..10])).len(), 10);
    assert_eq!(told(&source, &all_new(&ids)), [""]);
}
