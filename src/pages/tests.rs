//! Pages rendered from small datasets, without a socket: hostile text is escaped, and all expected content is present.

mod aspects;
mod cards;
mod filters;
mod interface;

use std::sync::Arc;

use serde_json::{Value, json};

use super::text::turns_direction;
use super::{Pages, QueryPage};
use crate::dataset::{self, Files};
use crate::http::documents::{self, DOCUMENTS};
use crate::search::query::Buffers;
use crate::search::run::Scratch;
use crate::snapshot::Snapshot;
use crate::snapshot::tests::settings;
use crate::wire::date::Timestamp;

/// Markup, quotation marks of every kind, a template expression, and characters that change the direction of text.
const HOSTILE: &str =
    "</script><script>alert(1)</script><!--\"'`&amp;{{7*7}}\u{202e}evil\u{2066}]]>";

fn pages(files: Files) -> Pages {
    let decoded =
        dataset::decode(files, Timestamp::from_unix(1_800_000_000)).expect("a valid dataset");
    Pages::new(Arc::new(Snapshot::build(decoded.dataset, &settings())))
}

fn sample() -> Pages {
    pages(dataset::embedded())
}

/// Returns the stored document with this address.
fn text(pages: &Pages, address: &str) -> String {
    let index = documents::index_of(address).expect("a document has the address");
    let resource = DOCUMENTS[index].resource(&pages.context());
    let body = resource.expect("the document is ready").body.to_vec();
    String::from_utf8(body).expect("UTF-8")
}

/// Requests `/?query`; returns the page, or the error page.
fn ask(pages: &Pages, query: &str) -> Result<String, String> {
    let mut buffers = Buffers::default();
    let language = pages.language(query.as_bytes(), std::iter::empty());
    let parsed = pages
        .parse(QueryPage::Home, query.as_bytes(), language, &mut buffers)
        .map_err(|error_page| error_page.0)?;
    assert!(!parsed.is_empty(), "{query}");
    Ok(pages.search(&parsed, language, &mut Scratch::default()))
}

/// Like [`dataset_of`], with `text` as the text of every review.
fn dataset_of_texts(text: &str, count: usize) -> Files {
    let files = dataset_of("word", count);
    let mut document: Value = serde_json::from_slice(&files.reviews).expect("JSON");
    for review in document["reviews"].as_array_mut().expect("reviews") {
        review["text"] = text.into();
    }
    Files {
        reviews: document.to_string().into_bytes(),
        ..files
    }
}

/// A dataset of `count` reviews with `word` in every text field.
fn dataset_of(word: &str, count: usize) -> Files {
    let review = |number: usize| {
        json!({
            "id": format!("r{number}"), "author": word, "author_avatar_url": null, "rating": 5, "date": "2026-01-02",
            "text": word, "source": word, "source_url": null, "owner_reply": {"text": word, "date": "2026-01-03"},
            "verified": true, "mentioned_technicians": [word], "mentioned_services": [word],
        })
    };
    let reviews: Vec<Value> = (0..count).map(review).collect();
    let document = json!({
        "business": {
            "name": word, "type": "LegalService", "description": word, "url": "https://practice.example",
            "telephone": word, "email": "a@b.example", "address": {"street_address": word, "locality": word,
            "region": word, "postal_code": word, "country": word}, "geo": null, "opening_hours": [],
            "service_areas": [word], "services": [{"id": "s", "label": word}],
            "technicians": [{"name": word, "title": word}], "same_as": [],
        },
        "disclaimer": word, "updated_at": "2026-11-20T09:00:00Z", "reviews": reviews,
    });
    let question = json!({"question": word, "answer": word, "review_ids": ["r0"]});
    let questions = vec![question; count.min(1)];
    let editorial = json!({"summary": word, "pull_quote": word, "faq": questions});
    Files {
        reviews: document.to_string().into_bytes(),
        editorial: Some(editorial.to_string().into_bytes()),
        ..Files::default()
    }
}

/// Tells whether hostile text of the dataset could be markup in `page`.
fn has_markup(page: &str) -> bool {
    ["<script>alert", "</script><script", "<!--", "\"'`"]
        .iter()
        .any(|hostile| page.contains(hostile))
}

/// Returns the contents of the `bdi` elements of `page`, which isolate names within a line.
fn names(page: &str) -> Vec<&str> {
    let elements = page.split("<bdi>").skip(1);
    elements
        .map(|rest| rest.split("</bdi>").next().unwrap_or(rest))
        .collect()
}

#[test]
fn a_name_turns_no_text_around_it() {
    let word = "ev\u{2066}il \u{202e}name\u{202a}";
    let pages = pages(dataset_of(word, 3));
    let found = ask(&pages, "mentions_technician=x&query=il").unwrap_or_else(|refused| refused);
    let some = ask(&pages, "sort=oldest").expect("a page");
    for page in [text(&pages, "/"), found, some] {
        let names = names(&page);
        assert!(names.len() > 2, "{page}");
        for name in names {
            assert!(!name.contains(turns_direction), "{name:?}");
        }
    }
}

#[test]
fn hostile_texts_are_texts_in_every_document() {
    let pages = pages(dataset_of(HOSTILE, 3));
    // The OpenAPI document has texts unescaped, but it is JSON, which no browser renders as markup.
    let shown = DOCUMENTS.iter().filter(|row| row.policy.is_some());
    for row in shown.filter(|row| row.address != "/openapi.json") {
        let page = row.address;
        let whole = text(&pages, page);
        // Linked data contains quotation marks, but nothing that could end the element around it.
        let (before, after) = match page {
            "/reviews.jsonld" => ("", whole.as_str()),
            _ => whole.split_once("ld+json\">{").unwrap_or((&whole, "")),
        };
        let (data, after) = after.split_once("</script>").unwrap_or((after, ""));
        assert!(!has_markup(before), "{page:?}");
        assert!(!has_markup(after), "{page:?}");
        assert!(!data.contains('<'), "{page:?}");
        assert!(!data.contains('&'), "{page:?}");
    }
    for query in "query=evil mentions_service=s sort=oldest query=%3Cscript%3E".split(' ') {
        let page = ask(&pages, query).expect("a page");
        assert!(!has_markup(&page), "{query}");
        let is_shown = page.contains("&#60;script&#62;");
        assert!(is_shown || query.contains("service"), "{query}");
    }
    let home = text(&pages, "/");
    assert!(home.contains("{{7*7}}"));
    assert!(!home.contains("amp;49"));
    // Nothing changes the direction of the title, which cannot be isolated.
    let title = home.split_once("</title>").expect("a title").0;
    assert!(!title.contains('\u{202e}'));
    assert!(!title.contains('\u{2066}'));
}

#[test]
fn hostile_parameters_are_texts() {
    let pages = sample();
    let encoded: String = HOSTILE.bytes().map(|byte| format!("%{byte:02x}")).collect();
    for name in "query words mentions_technician mentions_service aspect".split(' ') {
        let page = ask(&pages, &format!("{name}={encoded}"));
        let page = page.expect("a page without matches");
        let is_empty = page.contains("No review matches");
        assert!(!has_markup(&page), "{name}");
        assert!(is_empty, "{name}");
    }
    for name in "rating since sort cursor aspect=fees&polarity limit".split(' ') {
        let page = ask(&pages, &format!("{name}={encoded}")).expect_err("no such value");
        let is_refused = page.contains("This search is not valid");
        assert!(!has_markup(&page), "{name}");
        assert!(is_refused, "{name}");
    }
}

#[test]
fn search_engines_may_index_what_the_front_page_leads_to_and_no_other_search() {
    let pages = sample();
    for (query, subject) in [
        ("mentions_service=probate", "reviews match: Probate"),
        ("sort=newest", "207 reviews match"),
    ] {
        let page = ask(&pages, query).expect("a page");
        let address = format!("https://reviews.example/?{query}");
        let canonical = format!("<link rel=\"canonical\" href=\"{address}\">");
        assert!(page.contains(&canonical), "{query}");
        assert!(!page.contains("noindex"), "{query}");
        assert!(page.contains("<meta name=\"description\""), "{query}");
        assert!(page.contains(subject), "{query}");
    }
    for query in "query=probate rating=5&sort=newest mentions_service=unknown".split(' ') {
        let page = ask(&pages, query).expect("a page");
        assert!(page.contains("noindex"), "{query}");
        assert!(!page.contains("canonical"), "{query}");
    }
}

#[test]
fn the_badge_has_the_comma_of_its_language() {
    for (tag, comma) in [("en", ", "), ("ar", "، "), ("ja", "、")] {
        let language = crate::pages::Language::of_tag(tag.as_bytes()).expect("a language");
        let pages = sample();
        let badge = pages.badge(language, None);
        let label = badge.split("aria-label=\"").nth(1).expect("a label");
        let label = label.split('"').next().expect("its end");
        let t = language.messages();
        let count = t.counted(&t.review_count, pages.stats.count);
        assert!(label.ends_with(&format!("{comma}{count}")), "{label}");
    }
}

#[test]
fn without_reviews_there_is_no_rating_and_every_document_is_there() {
    let pages = pages(dataset_of("word", 0));
    let document: Value = serde_json::from_str(&text(&pages, "/reviews.jsonld")).expect("JSON");
    assert!(document.get("aggregateRating").is_none());
    assert!(document.get("review").is_none());
    let home = text(&pages, "/");
    assert!(home.contains("No reviews yet."));
    assert!(!home.contains("class=\"stars large\""));
    assert!(text(&pages, "/badge.svg").contains("No reviews yet"));
    assert!(text(&pages, "/widget.html").contains("No reviews yet."));
    let page = ask(&pages, "sort=newest").expect("a page");
    assert!(page.contains("No review matches"));
}

#[test]
fn marks_of_long_texts_end_where_the_page_has_spent_its_time() {
    // 60 KB each; only the first word and the last word match.
    let long = format!("Слово {} слово", "оченьдлинный".repeat(2_500));
    let page = ask(&pages(dataset_of_texts(&long, 20)), "query=слово&limit=20").expect("a page");
    assert_eq!(page.matches("<article").count(), 20);
    assert_eq!(page.matches("<mark>Слово</mark>").count(), 20);
    assert!(!page.contains("<mark>слово</mark>"));
    let page = ask(&pages(dataset_of_texts(&long, 1)), "query=слово").expect("a page");
    let is_marked = page.contains("<mark>слово</mark>");
    assert!(is_marked, "a single text is searched to its end");
}

#[test]
fn chips_take_one_filter_away_and_the_search_repeats_all() {
    let query = "query=probate&rating=5&min_rating=4&mentions_service=probate&limit=7";
    let page = ask(&sample(), query).expect("a page");
    let others = "/?rating=5&#38;min_rating=4&#38;mentions_service=probate&#38;limit=7#reviews";
    assert!(page.contains(&format!("href=\"{others}\" aria-current=\"true\"")));
    for (name, value) in [("query", "probate"), ("min_rating", "4"), ("limit", "7")] {
        let field = format!("<input type=\"hidden\" name=\"{name}\" value=\"{value}\">");
        assert!(page.contains(&field), "{name}");
    }
}

/// The front page of `count` reviews.
fn home_of(count: usize) -> String {
    text(&pages(dataset_of("A word.", count)), "/")
}

#[test]
fn few_reviews_have_no_mean_no_filters_and_no_chart() {
    let mean = "class=\"number\"";
    let distribution = "class=\"bars\"";
    let tools = "id=\"tools\"";
    for (count, expected) in [
        (0, [false, false, false]),
        (1, [false, false, false]),
        (2, [false, false, false]),
        (3, [true, true, false]),
        (9, [true, true, false]),
        (10, [true, true, true]),
    ] {
        let home = home_of(count);
        let found = [mean, distribution, tools].map(|part| home.contains(part));
        assert_eq!(found, expected, "{count}");
        assert!(!home.contains("class=\"chart\""), "{count}");
    }
}

#[test]
fn the_owner_sets_language_color_corners_and_links() {
    let files = Files {
        site: Some(
            br##"{"language": "ar", "accent": "#ffd24a", "radius": 3, "scheme": "light", "back_url": "https://own.example/",
            "review_links": [{"source": "google", "url": "https://g.example/write"}]}"##
                .to_vec(),
        ),
        ..dataset_of("A word.", 12)
    };
    let pages = pages(files);
    let home = text(&pages, "/");
    assert!(home.contains("<html lang=\"ar\" dir=\"rtl\">"));
    assert!(home.contains("href=\"https://own.example/\""));
    assert!(home.contains("href=\"https://g.example/write\""));
    assert!(home.contains("<meta name=\"color-scheme\" content=\"light\">"));
    let styles = text(&pages, "/site.css");
    assert!(styles.contains("--radius: 3px;"));
    assert!(
        !styles.contains("--accent: #ffd24a"),
        "too pale for a light page"
    );
    assert!(!styles.contains("prefers-color-scheme"));
}

#[test]
fn pinned_reviews_come_first_and_once() {
    let files = dataset_of("A word.", 20);
    let editorial = files.editorial.as_ref().expect("a file");
    let mut editorial: Value = serde_json::from_slice(editorial).expect("JSON");
    editorial["featured"] = json!(["r3", "r19"]);
    let files = Files {
        editorial: Some(editorial.to_string().into_bytes()),
        ..files
    };
    let home = text(&pages(files), "/");
    let ids: Vec<&str> = home
        .split("<article class=\"review pair\" id=\"review-")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .collect();
    assert_eq!(ids[..3], ["r3", "r19", "r9"]);
    assert_eq!(ids.iter().filter(|id| **id == "r19").count(), 1);
    assert_eq!(home.matches("class=\"pinned\"").count(), 2);
}

#[test]
fn the_link_to_more_reviews_goes_on_after_the_last_one_shown() {
    let pages = sample();
    let home = text(&pages, "/");
    let (_, rest) = home.split_once("href=\"/?cursor=").expect("a link");
    let cursor = rest.split('#').next().unwrap_or_default();
    let next = ask(&pages, &format!("cursor={cursor}")).expect("a page");
    let tenth = pages.snapshot.index.id(crate::model::Row(9));
    let eleventh = pages.snapshot.index.id(crate::model::Row(10));
    assert!(home.contains(&format!("id=\"review-{tenth}\"")));
    assert!(next.contains(&format!("id=\"review-{eleventh}\"")));
    assert!(!next.contains(&format!("id=\"review-{tenth}\"")));
}

#[test]
fn links_to_more_reviews_lead_through_all_of_them() {
    let pages = sample();
    let mut page = text(&pages, "/");
    let mut shown = page.matches("<article").count();
    while let Some((_, rest)) = page.split_once("href=\"/?cursor=") {
        let (cursor, rest) = rest.split_once('#').expect("an anchor");
        let (_, rest) = rest.split_once('>').expect("a label");
        let (label, _) = rest.split_once('<').expect("its end");
        assert_eq!(label, "Show more");
        page = ask(&pages, &format!("cursor={cursor}")).expect("a page");
        shown += page.matches("<article").count();
    }
    assert_eq!(shown as u32, pages.snapshot.len());
}

#[test]
fn every_language_renders_every_page() {
    let pages = sample();
    for language in crate::pages::Language::all() {
        let query = format!("lang={}", language.code());
        let chosen = pages.language(query.as_bytes(), std::iter::empty());
        let home = pages.home(chosen);
        assert!(home.contains(&format!("<html lang=\"{}\"", language.code())));
        assert!(home.contains(&format!("?lang={}", language.code())));
        let list = ask(&pages, &format!("rating=1&{query}")).expect("a page");
        assert!(list.contains(&format!("&#38;lang={}#reviews", language.code())));
    }
}
