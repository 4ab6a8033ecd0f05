//! What a card says about its review: how exact the day is, the rating at the source, translations and photos.

use serde_json::{Value, json};

use super::{Pages, ask, dataset_of, pages};
use crate::dataset::Files;
use crate::model::Row;
use crate::search::run::Scratch;
use crate::snapshot::tests::settings;

/// The pages of one review with these keys.
fn pages_of(keys: &Value) -> Pages {
    let files = dataset_of("word", 1);
    let mut document: Value = serde_json::from_slice(&files.reviews).expect("JSON");
    let review = document["reviews"][0].as_object_mut().expect("a review");
    for (key, value) in keys.as_object().expect("keys") {
        review.insert(key.clone(), value.clone());
    }
    pages(Files {
        reviews: document.to_string().into_bytes(),
        ..files
    })
}

/// The card of the review, and its page.
fn shown(pages: &Pages, lang: &str) -> [String; 2] {
    let query = format!("rating=5&{lang}");
    let card = ask(pages, &query).expect("a page");
    let language = pages.language(lang.as_bytes(), std::iter::empty());
    let page = pages.review(Row(0), language, &mut Scratch::default());
    [card, page]
}

#[test]
fn a_day_is_shown_as_exactly_as_it_is_known() {
    for (precision, lang, expected) in [
        (Value::Null, "lang=en", "data-ago>2 Jan 2026<"),
        (
            json!("month"),
            "lang=en",
            "datetime=\"2026-01\">January 2026<",
        ),
        (
            json!("month"),
            "lang=pl",
            "datetime=\"2026-01\">styczeń 2026<",
        ),
        (json!("year"), "lang=en", "datetime=\"2026\">2026<"),
        (json!("unknown"), "lang=en", ">Date not known</a>"),
        (json!("unknown"), "lang=ja", ">日付不明</a>"),
    ] {
        let pages = pages_of(&json!({"date_precision": precision}));
        for text in shown(&pages, lang) {
            assert!(text.contains(expected), "{precision} {lang}: {text}");
        }
    }
}

#[test]
fn the_rating_at_the_source_is_shown_on_its_own_scale() {
    let keys = json!({"source": "booking", "rating_original": {"value": 8.5, "best": 10}});
    let pages = pages_of(&keys);
    for (lang, expected) in [
        ("lang=en", "8.5 of 10 on "),
        ("lang=de", "8,5 von 10 bei "),
        ("lang=ja", "評価は10点中8.5点"),
    ] {
        for text in shown(&pages, lang) {
            assert!(text.contains(expected), "{lang}: {text}");
        }
    }
}

#[test]
fn a_translation_is_offered_to_those_who_do_not_read_the_original() {
    let keys = json!({"text": "Alles gut erklärt.", "language": "de", "translation": "All explained well."});
    let pages = pages_of(&keys);
    for (lang, is_shown) in [("lang=en", true), ("lang=fr", true), ("lang=de", false)] {
        for text in shown(&pages, lang) {
            let marked = text.contains("<p lang=\"en\" dir=\"ltr\">All explained well.</p>");
            assert_eq!(marked, is_shown, "{lang}");
        }
    }
}

#[test]
fn a_card_has_three_photos_and_the_page_has_all() {
    let base_url = settings().base_url;
    let mut media = Vec::new();
    for name in ["a", "b", "c", "d", "e"] {
        let url = format!("{base_url}/media/{name}");
        media.push(json!({"url": url, "alt": "", "type": "image/jpeg"}));
    }
    let pages = pages_of(&json!({"media": media}));
    let [card, page] = shown(&pages, "lang=en");
    assert_eq!(card.matches("class=\"photo\"").count(), 3);
    let rest = "+2 <span class=\"unseen\">All 5 photos, on the page of the review</span></a>";
    assert!(card.contains(rest), "{card}");
    assert_eq!(page.matches("class=\"photo\"").count(), 5);
}

#[test]
fn a_search_without_a_hit_names_the_filter_that_is_in_the_way() {
    let pages = pages(dataset_of("word", 3));
    let text = ask(&pages, "rating=5&words=absent").expect("a page");
    assert!(text.contains(
        "<a href=\"/?rating=5#reviews\"><bdi>3 reviews without the filter “Words: absent”</bdi></a>"
    ));
    let german = ask(&pages, "rating=5&words=absent&lang=de").expect("a page");
    assert!(german.contains("3 Bewertungen ohne den Filter „Wörter: absent“"));
    let neither = ask(&pages, "rating=4&words=absent").expect("a page");
    assert!(!neither.contains("class=\"hints\""));
}

#[test]
fn the_closest_reviews_are_listed_if_none_has_all_words() {
    const CLOSEST: &str = "No review matches exactly; these come closest";
    let pages = pages(crate::dataset::embedded());
    let page = ask(&pages, "words=the+lawyer+never+called+back").expect("a page");
    assert!(page.contains(CLOSEST));
    assert!(!page.contains("id=\"order\""), "the best come first");
    assert!(page.contains("<mark"), "{page}");
    // "the" would be marked everywhere.
    assert!(!page.contains(">the</mark>"), "{page}");
    let same = ask(&pages, "words=the+lawyer+never+called+back&sort=relevance").expect("a page");
    assert!(same.contains(CLOSEST));
    let unknown = ask(&pages, "words=xyzzy").expect("a page");
    assert!(unknown.contains("No review matches<"));
    // A text is searched for as it is.
    let text = ask(&pages, "query=lawyer+never+called+back").expect("a page");
    assert!(text.contains("No review matches<"));
}

#[test]
fn the_closest_reviews_stand_below_the_filter_that_is_in_the_way() {
    let pages = pages(crate::dataset::embedded());
    let page = ask(&pages, "words=lawyer+never+called+back&rating=1").expect("a page");
    let hint = page.find("without the filter “Words:").expect("a hint");
    let card = page.find("class=\"review").expect("a card");
    assert!(hint < card);
    // The filter holds for the closest ones, too.
    let none = ask(&pages, "words=lawyer+never+called+back&until=1990-01-01").expect("a page");
    assert!(none.contains("No review matches<"));
}
