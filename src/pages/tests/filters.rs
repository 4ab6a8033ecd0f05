//! The filters of a list of reviews: which are offered, and where they lead.

use serde_json::{Value, json};

use super::{Pages, ask, dataset_of, pages};
use crate::dataset::Files;
use crate::pages::{Language, PageLanguage};

/// The pages of 12 reviews, of which two have photos and three were verified by a platform.
fn pages_to_filter() -> Pages {
    let files = dataset_of("word", 12);
    let mut document: Value = serde_json::from_slice(&files.reviews).expect("JSON");
    let reviews = document["reviews"].as_array_mut().expect("reviews");
    for review in &mut reviews[..2] {
        review["media"] = json!([{"url": "https://a.example/1", "alt": "", "type": "image/png"}]);
    }
    for review in &mut reviews[2..5] {
        review["verification"] = json!({"by": "Yelp", "method": "purchase"});
    }
    pages(Files {
        reviews: document.to_string().into_bytes(),
        ..files
    })
}

/// The front page in the language `chosen`.
fn home(pages: &Pages, chosen: Language) -> String {
    pages.home(PageLanguage {
        chosen,
        is_explicit: true,
        is_negotiated: false,
    })
}

#[test]
fn photos_are_a_filter_in_every_language() {
    let pages = pages_to_filter();
    for language in Language::all() {
        let code = language.code();
        let label = &language.messages().with_photos;
        let chip = format!("href=\"/?has_photos=true&#38;lang={code}#reviews\">{label}</a>");
        let page = home(&pages, language);
        assert!(page.contains(&chip), "{code}: {page}");
    }
}

#[test]
fn verification_is_a_filter_in_every_language() {
    let pages = pages_to_filter();
    for language in Language::all() {
        let code = language.code();
        let labels = &language.messages().verified_values;
        let page = home(&pages, language);
        for (value, label, count) in [
            ("business", &labels.business, "9"),
            ("platform", &labels.platform, "3"),
        ] {
            let count = language.messages().number(count.parse().expect("a number"));
            let entry = format!(
                "href=\"/?verified_by={value}&#38;lang={code}#reviews\"><bdi>{label}</bdi><span class=\"n\">{count}</span>"
            );
            assert!(page.contains(&entry), "{code}: {page}");
        }
    }
}

#[test]
fn a_filter_that_all_reviews_pass_is_not_offered() {
    let page = home(&pages(dataset_of("word", 12)), Language::DEFAULT);
    assert!(!page.contains("has_photos"), "{page}");
    assert!(!page.contains("verified_by"), "{page}");
}

/// The labels of the chips that remove a filter.
fn used_labels(page: &str) -> Vec<&str> {
    let labels = page.split("aria-label=\"Remove the filter ").skip(1);
    labels.filter_map(|rest| rest.split('"').next()).collect()
}

#[test]
fn a_switch_in_capital_letters_has_the_chip_of_its_value() {
    let pages = pages_to_filter();
    for (query, label) in [
        ("has_photos=true", "With photos"),
        ("has_photos=True", "With photos"),
        ("has_photos=FALSE", "Without photos"),
        ("has_reply=True", "With reply"),
        ("has_reply=False", "Without reply"),
    ] {
        let page = ask(&pages, query).expect("a page");
        assert_eq!(used_labels(&page), [label], "{query}");
    }
}

#[test]
fn a_filter_that_is_not_valid_has_a_chip_with_what_was_asked() {
    let pages = pages_to_filter();
    for (query, label) in [
        ("rating=nine", "Stars: nine"),
        ("rating=%2B5", "Stars: +5"),
        ("has_photos=some", "With photos: some"),
        ("has_reply=some", "With reply: some"),
    ] {
        let page = ask(&pages, query).expect_err("no such value");
        assert_eq!(used_labels(&page), [label], "{query}");
    }
}

#[test]
fn the_chip_of_a_verification_names_it_and_removes_it() {
    let page = ask(&pages_to_filter(), "verified_by=platform,account").expect("a page");
    let chip = "href=\"/#reviews\" aria-current=\"true\" aria-label=\"Remove the filter Verified by a platform, Not verified\"";
    assert!(page.contains(chip), "{page}");
}
