//! Files that are accepted, cut short, and with one wrong byte.

use proptest::option::of;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use reviewd::dataset::embedded;

/// Any text, from plain words to controls, surrogate pairs, quotation marks and markup.
fn words() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z ]{0,12}",
        "\\PC{0,20}",
        any::<String>(),
        Just("\"\\\u{0}\u{1f}\u{2028}]]>&<\u{ffff}😀".to_owned())
    ]
}

const DATE: &str = "(0001|2025|2026|9999)-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])";

fn review() -> impl Strategy<Value = Value> {
    let reply =
        (words(), DATE).prop_map(|(text, date)| json!({"text": format!("x{text}"), "date": date}));
    let rating = prop_oneof![
        (1..=5u8).prop_map(Value::from),
        (1..=5u8).prop_map(|stars| json!(f64::from(stars)))
    ];
    let mentions = of(proptest::collection::vec("[A-Za-z]{1,8}", 0..3));
    ("\\PC{0,12}", rating, DATE, of(words()), of(reply), any::<bool>(), mentions).prop_map(
        |(author, rating, date, text, reply, verified, mentions)| {
            let mut review = json!({
                "author": format!("x{author}"), "author_avatar_url": null, "rating": rating, "date": date, "text": text,
                "source": "google", "source_url": "https://a.example/?a=1&b='<", "owner_reply": reply, "verified": verified,
            });
            if let Some(mentions) = mentions {
                review["mentioned_technicians"] = json!(mentions);
                review["mentioned_services"] = json!(mentions);
            }
            review
        },
    )
}

/// A valid file; its ids are distinct, and not in the order of the file.
fn file() -> impl Strategy<Value = Value> {
    let business: Value = serde_json::from_slice(&embedded().reviews).expect("the sample is JSON");
    let business = business["business"].clone();
    (words(), proptest::collection::vec(review(), 0..60)).prop_map(move |(disclaimer, mut reviews)| {
        for (at, review) in reviews.iter_mut().enumerate() {
            review["id"] = json!(format!("r{}", at * 37 % 61));
        }
        let disclaimer = format!("x{disclaimer}");
        json!({"business": business, "disclaimer": disclaimer, "updated_at": "2026-11-18T00:00:00Z", "reviews": reviews})
    })
}

proptest! {
    #[test]
    fn published_reviews_are_those_of_the_file(file in file()) {
        let reviews = serde_json::to_vec(&file).expect("JSON");
        check_dataset(&reviews);
        let files = Files { reviews, ..Files::default() };
        let outcome = decode(files, Timestamp::from_unix(NOW));
        prop_assert!(outcome.is_ok(), "{}", outcome.err().map(|problems| problems.to_string()).unwrap_or_default());
    }

    #[test]
    fn a_truncated_file_is_refused_and_one_wrong_byte_is_handled(
        file in file(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let mut bytes = serde_json::to_vec(&file).expect("JSON");
        let at = at.index(bytes.len());
        let cut = Files { reviews: bytes[..at].to_vec(), ..Files::default() };
        check_dataset(&cut.reviews);
        prop_assert!(decode(cut, Timestamp::from_unix(NOW)).is_err());
        bytes[at] = byte;
        check_dataset(&bytes);
    }
}
