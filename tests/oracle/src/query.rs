//! Reference implementation of `search::query`: decodes every pair to text, then checks each rule separately. It tells
//! which parameters are refused; the reasons are tested over HTTP, and the effects of the others in `search`.

use std::collections::{BTreeMap, BTreeSet};

use super::form::{decoded, pairs};
use super::search::{fold, terms};
use reviewd::model::Rating;
use reviewd::search::filter::{Cursor, ReviewId, Sort};
use reviewd::search::query::{Buffers, Parameter, parse_query};
use reviewd::wire::date::{Date, parse_date};
use reviewd::wire::text::{cut, cut_lossy};

/// Checks the rules of a search request on `data`, a raw query string: the parameters that are refused, or ignored.
///
/// # Panics
/// If code and reference differ, or if reused buffers change the result.
pub fn check_query(data: &[u8]) {
    let (ignored, refused) = ignored_and_refused(data);
    let mut buffers = Buffers::default();
    for _ in 0..2 {
        match parse_query(data, &mut buffers) {
            Ok(query) => {
                let names = query.ignored.iter().map(|name| name.as_str());
                assert!(names.eq(&ignored), "{query:?} {ignored:?} {refused:?}");
                assert!(refused.is_empty(), "{query:?} {ignored:?} {refused:?}");
            }
            Err(issues) => {
                assert!(issues.iter().all(|issue| issue.received.len() <= 64));
                let paths: BTreeSet<&str> = issues
                    .iter()
                    .map(|issue| issue.path.as_deref())
                    .map(Option::unwrap_or_default)
                    .collect();
                assert!(paths.into_iter().eq(&refused), "{issues:?} {refused:?}");
            }
        }
    }
}

/// The parameters of a query string that are ignored, and those with an issue; an empty name stands for the query
/// string as a whole.
fn ignored_and_refused(raw: &[u8]) -> (Vec<String>, BTreeSet<String>) {
    let mut ignored = Vec::new();
    let mut refused = BTreeSet::new();
    // The first value of each parameter; `None` if it is invalid.
    let mut values: BTreeMap<String, Option<String>> = BTreeMap::new();
    for (at, (name, value)) in pairs(raw).enumerate() {
        if at == 64 {
            refused.insert(String::new());
            break;
        }
        let Some(name) = decoded(name, true) else {
            refused.insert(cut_lossy(name));
            continue;
        };
        if value.is_empty() {
            continue;
        }
        if Parameter::named(&name).is_none() {
            let name = cut(&name).to_owned();
            if ignored.len() < 8 && !ignored.contains(&name) {
                ignored.push(name);
            }
            continue;
        }
        let value = decoded(value, true).filter(|text| is_right(&name, text));
        if value.is_none() || values.contains_key(&name) {
            refused.insert(name.clone());
        }
        values.entry(name).or_insert(value);
    }
    // A cursor contains its sort order; if the value of `sort` is refused, the two are not compared.
    let sort = values.get("sort").map_or(Some("newest"), Option::as_deref);
    let cursor = values
        .get("cursor")
        .and_then(Option::as_deref)
        .and_then(Cursor::parse)
        .zip(sort);
    if cursor.is_some_and(|(cursor, sort)| cursor.sort.as_str() != sort) {
        refused.insert("cursor".to_owned());
    }
    if sort == Some("relevance") && !values.contains_key("words") {
        refused.insert("sort".to_owned());
    }
    (ignored, refused)
}

/// Tells whether a parameter may have this value.
fn is_right(name: &str, text: &str) -> bool {
    let number: f64 = text.parse().unwrap_or(0.0);
    match name {
        "rating" => is_digits(text) && (1.0..=5.0).contains(&number),
        "min_rating" | "max_rating" => is_decimal(text) && (1.0..=5.0).contains(&number),
        "limit" => is_digits(text) && (1.0..=100.0).contains(&number),
        "since" | "until" => parse_date(text.as_bytes()).is_ok(),
        "polarity" => ["positive", "neutral", "negative"].contains(&text),
        "verified_by" => text
            .split(',')
            .all(|part| ["business", "platform", "account"].contains(&part.trim())),
        "include" => text
            .split(',')
            .all(|part| ["matches", "distribution"].contains(&part.trim())),
        "has_reply" | "has_photos" => ["true", "false"].contains(&&*text.to_ascii_lowercase()),
        "sort" => ["newest", "oldest", "highest", "lowest", "relevance"].contains(&text),
        "cursor" => text.len() <= 256 && Cursor::parse(text).is_some(),
        "words" => text.len() <= 1024 && terms(&fold(text)).len() <= 16,
        _ => text.len() <= 1024,
    }
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Tells whether a text is a number with at most six decimals.
fn is_decimal(text: &str) -> bool {
    match text.split_once('.') {
        Some((whole, fraction)) => is_digits(whole) && is_digits(fraction) && fraction.len() <= 6,
        None => is_digits(text),
    }
}

/// Checks that each cursor has exactly one text: for the cursor in `data`, if any, and for one built from its bytes.
///
/// # Panics
/// If a text or a cursor changes when it is parsed and rendered.
pub fn check_cursor(data: &[u8]) {
    if let Ok(text) = str::from_utf8(data)
        && let Some(cursor) = Cursor::parse(text)
    {
        assert_eq!(*cursor.render(), *text);
    }
    if let [sort, stars, a, b, c, d, id @ ..] = data
        && let Some(rating) = Rating::new(*stars)
        && let Some(date) = Date::from_days(u32::from_be_bytes([*a, *b, *c, *d]))
        && let Ok(id) = str::from_utf8(id)
        && !id.is_empty()
        && id
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
        && let Ok(id) = ReviewId::from(id)
    {
        let sort = Sort::ALL[usize::from(sort % 4)];
        let cursor = Cursor {
            sort,
            rating,
            date,
            id,
        };
        assert_eq!(Cursor::parse(&cursor.render()), Some(cursor));
    }
}
