//! The message files are complete, and the formats are those of the languages.

use std::collections::BTreeSet;

use serde_json::Value;

use super::*;

fn values(file: &str) -> serde_json::Map<String, Value> {
    serde_json::from_str(file).expect("an object")
}

/// The placeholders of a text.
fn placeholders(text: &str) -> BTreeSet<&str> {
    let parts = text.split('{').skip(1);
    parts.filter_map(|part| part.split('}').next()).collect()
}

/// Asserts that a message and its translation have the same shape and placeholders.
fn assert_same(path: &str, english: &Value, other: &Value) {
    match (english, other) {
        (Value::String(english), Value::String(other)) => {
            assert_eq!(placeholders(english), placeholders(other), "{path}");
            assert!(!other.trim().is_empty(), "{path} is empty");
        }
        (Value::Object(english), Value::Object(other)) => {
            // Forms: those of a language differ, and `{count}` may be a word in some.
            let fallback = english.get("other").unwrap_or(&Value::Null);
            for (key, value) in other {
                let english = english.get(key).unwrap_or(fallback);
                let (Some(english), Some(text)) = (english.as_str(), value.as_str()) else {
                    panic!("{path}.{key} is not a text");
                };
                let mut expected = placeholders(english);
                let mut found = placeholders(text);
                expected.remove("count");
                found.remove("count");
                assert_eq!(expected, found, "{path}.{key}");
            }
        }
        _ => assert!(english.is_array(), "{path} has another type"),
    }
}

#[test]
fn every_file_has_every_message_with_its_placeholders() {
    let english = values(FILES[0].pages);
    for files in FILES {
        let file = files.pages;
        // Unknown and missing keys are errors of the type.
        let messages: Messages = serde_json::from_str(file).expect("a message file");
        for (key, value) in values(file) {
            let path = format!("{}: {key}", messages.code);
            if !matches!(
                key.as_str(),
                "direction"
                    | "grouping"
                    | "plural_rule"
                    | "code"
                    | "language"
                    | "day"
                    | "day_long"
                    | "months_alone"
            ) {
                let english = english.get(&key).expect("a key of the English file");
                assert_same(&path, english, &value);
            }
        }
    }
}

#[test]
fn every_plural_form_of_a_language_is_there() {
    let rules: [(PluralRule, &[&str]); 6] = [
        (PluralRule::Other, &["other"]),
        (PluralRule::OneOther, &["one", "other"]),
        (PluralRule::OneManyOther, &["one", "many", "other"]),
        (PluralRule::ZeroOneManyOther, &["one", "many", "other"]),
        (
            PluralRule::Arabic,
            &["zero", "one", "two", "few", "many", "other"],
        ),
        (PluralRule::Polish, &["one", "few", "many", "other"]),
    ];
    for language in Language::all() {
        let messages = language.messages();
        let rule = rules.iter().find(|(rule, _)| *rule == messages.plural_rule);
        let (_, expected) = rule.expect("a rule of the table");
        for (key, value) in values(FILES[usize::from(language.number())].pages) {
            let Some(forms) = value
                .as_object()
                .filter(|forms| forms.contains_key("other"))
            else {
                continue;
            };
            let mut found: Vec<&str> = forms.keys().map(String::as_str).collect();
            let mut expected = expected.to_vec();
            found.sort_unstable();
            expected.sort_unstable();
            assert_eq!(found, expected, "{}: {key}", messages.code);
        }
    }
}

#[test]
fn numbers_select_the_forms_of_cldr() {
    let arabic = [0, 1, 2, 3, 10, 11, 99, 100, 103, 111, 202]
        .map(|count| PluralRule::Arabic.category(count));
    use Category::{Few, Many, One, Other, Two, Zero};
    let expected = [
        Zero, One, Two, Few, Few, Many, Many, Other, Few, Many, Other,
    ];
    assert_eq!(arabic, expected);
    let polish = [0, 1, 2, 5, 12, 22, 112, 122].map(|count| PluralRule::Polish.category(count));
    assert_eq!(polish, [Many, One, Few, Many, Many, Few, Many, Few]);
    let french = [0, 1, 2, 1_000_000].map(|count| PluralRule::ZeroOneManyOther.category(count));
    assert_eq!(french, [One, One, Other, Many]);
    let japanese = [0, 1, 2].map(|count| PluralRule::Other.category(count));
    assert_eq!(japanese, [Other; 3]);
}

#[test]
fn a_value_with_braces_is_not_filled_again() {
    let pattern = Pattern("{name} on {source}".to_owned());
    let filled = pattern.fill(&[("name", "{source}"), ("source", "x")]);
    assert_eq!(filled, "{source} on x");
}

#[test]
fn a_tag_selects_its_primary_language() {
    assert_eq!(Language::of_tag(b"EN-gb"), Some(Language::DEFAULT));
    assert_eq!(Language::of_tag(b"tlh"), None);
}

#[test]
fn the_languages_of_site_json_are_those_of_the_message_files() {
    let codes: Vec<&str> = Language::all().map(Language::code).collect();
    assert_eq!(codes, crate::dataset::PAGE_LANGUAGES);
}

#[test]
fn dates_and_numbers_are_those_of_the_language() {
    let date = crate::wire::date::parse_date(b"2026-03-04").expect("a day");
    for (code, day, number, mean) in [
        ("en", "4 Mar 2026", "12,345", "4.1"),
        ("de", "4. März 2026", "12.345", "4,1"),
        ("fr", "4 mars 2026", "12\u{202f}345", "4,1"),
        ("es", "4 mar 2026", "12.345", "4,1"),
        ("pl", "4 mar 2026", "12\u{a0}345", "4,1"),
        ("ja", "2026年3月4日", "12,345", "4.1"),
        ("ar", "4 مارس 2026", "12,345", "4.1"),
    ] {
        let t = Language::of_tag(code.as_bytes()).expect(code).messages();
        assert_eq!(t.short_day(date), day);
        assert_eq!(t.number(12_345), number);
        assert_eq!(t.tenths(41), mean);
    }
}

#[test]
fn a_polish_month_without_a_day_is_in_the_nominative() {
    let date = crate::wire::date::parse_date(b"2026-03-04").expect("a day");
    let t = Language::of_tag(b"pl").expect("Polish").messages();
    assert_eq!(t.long_day(date), "4 marca 2026");
    assert_eq!(t.month(date), "marzec 2026");
}
