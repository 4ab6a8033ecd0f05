use super::*;
use crate::dataset::{Files, decode};
use reviewd_wire::date::Timestamp;

const BASE_URL: &str = "https://reviews.example";

#[test]
fn without_reviews_there_is_one_offset_and_an_empty_array() {
    let mut dataset = tiny();
    dataset.reviews.clear();
    let published = publish(&dataset, BASE_URL);
    assert!(published.reviews_json.ends_with(b"\"reviews\":[]}"));
    assert_eq!(published.offsets, [published.reviews_json.len() as u64 - 2]);
}

#[test]
fn means_have_two_decimals_and_round_halves_up() {
    for (sum, count, expected) in [
        (0, 0, "null"),
        (9, 2, "4.50"),
        (13, 3, "4.33"),
        (14, 3, "4.67"),
        (201, 200, "1.01"),
        (801, 800, "1.00"),
    ] {
        assert_eq!(mean(sum, count), expected);
    }
}

/// A dataset of three reviews with everything that needs escaping.
fn tiny() -> Dataset {
    let reviews = r#"{
        "business": {"name": "Lee & \"Daughter\"", "type": "LegalService", "description": "Wills <and> more.", "url": "https://www.lee.example/",
            "telephone": "+1 970-555-0142", "email": "office@lee.example", "address": {"street_address": "1 Main St", "locality": "Quillhaven",
            "region": "CO", "postal_code": "80699", "country": "US"}, "geo": {"latitude": 40.50, "longitude": -103.9046}, "opening_hours": ["Mo-Fr 09:00-17:30"],
            "service_areas": ["Quillhaven"], "services": [{"id": "wills", "label": "Wills"}], "technicians": [{"name": "Ann Lee", "title": "Partner"}],
            "same_as": ["https://social.example/lee"]},
        "disclaimer": "Past results promise nothing.", "updated_at": "2026-11-20T10:00:00+01:00",
        "reviews": [
            {"id": "a", "author": "Renée <R>", "author_avatar_url": "https://a.example/r.png?s=1&t=2", "rating": 5, "date": "2026-01-02",
                "text": "\"Ann Lee\" wrote my will\n\u0000\u000b\ufffe\ud83d\ude00 in Quillhaven & more", "source": "google", "source_url": "https://g.example/?a=1&b='2'",
                "owner_reply": {"text": "Thanks <3", "date": "2026-01-05"}, "verified": true},
            {"id": "b", "author": "Bo", "author_avatar_url": null, "rating": 2, "date": "2026-01-02", "text": null, "source": "site", "source_url": null,
                "owner_reply": null, "verified": true, "mentioned_technicians": [], "mentioned_services": []},
            {"id": "c", "author": "Cy", "author_avatar_url": null, "rating": 4, "date": "2025-12-31", "text": "Ann helped.", "source": "site", "source_url": null,
                "owner_reply": null, "verified": true},
            {"id": "d", "author": "Di", "author_avatar_url": null, "rating": 1, "date": "2026-01-03", "text": "Not a client.", "source": "site", "source_url": null,
                "owner_reply": null, "verified": false}
        ]}"#;
    let taxonomy = r#"{"aspects": [], "technicians": [{"name": "Ann Lee", "aliases": ["Ann"]}], "services": [{"id": "wills", "label": "Wills",
        "phrases": ["my will"]}], "service_areas": [{"id": "qh", "label": "Quillhaven", "phrases": []}]}"#;
    let editorial = r#"{"summary": "Kind & clear.", "pull_quote": null, "faq": [{"question": "Wills?", "answer": "Yes.", "review_ids": ["a"]}]}"#;
    let files = Files {
        reviews: reviews.into(),
        taxonomy: Some(taxonomy.into()),
        editorial: Some(editorial.into()),
        ..Files::default()
    };
    decode(files, Timestamp::from_unix(4_000_000_000))
        .expect("valid")
        .dataset
}

/// Compact JSON, one key per line.
fn lines(json: &[u8]) -> String {
    String::from_utf8_lossy(json).replace(",\"", ",\n\"")
}

#[test]
fn the_documents_have_the_settled_shape() {
    let published = publish(&tiny(), BASE_URL);
    let feed_xml = String::from_utf8_lossy(&published.feed_xml);
    assert_golden("reviews.json", &lines(&published.reviews_json));
    assert_golden("feed.json", &lines(&published.feed_json));
    assert_golden("feed.xml", &feed_xml);
}

/// Compares a text with its file in `golden`, or rewrites the file if `UPDATE_GOLDEN` is set.
fn assert_golden(name: &str, text: &str) {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/dataset/publish/golden");
    let path = std::path::Path::new(folder).join(name);
    let text = format!("{}\n", text.trim_end());
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &text).expect(name);
    }
    let expected = std::fs::read_to_string(&path).expect(name);
    assert_eq!(
        text, expected,
        "{name}: run with UPDATE_GOLDEN=1 if the change is meant"
    );
}
