//! The reference implementation of `search::query`: every pair decoded into text first, then each rule by itself. It tells
//! which parameters are refused. Why is tested at the socket, and what the others mean by `search`.

use std::collections::{BTreeMap, BTreeSet};

use super::form::decoded;
use super::search::{fold, terms};
use reviewd::model::Rating;
use reviewd::search::filter::{Cursor, ReviewId, Sort};
use reviewd::search::query::{Buffers, Parameter, parse_query, parse_since};
use reviewd::wire::date::{Date, parse_date};
use reviewd::wire::text::{cut, cut_lossy};

/// Checks the rules of a search request on `data`, a raw query string: the parameters that are refused, or ignored.
///
/// # Panics
/// If code and reference differ, or if buffers that were used before change the outcome.
pub fn check_query(data: &[u8]) {
    let given = Given::read(data);
    let mut buffers = Buffers::default();
    for _ in 0..2 {
        match parse_query(data, &mut buffers) {
            Ok(query) => assert_eq!(
                (query.ignored, given.refused.len()),
                (&given.ignored[..], 0)
            ),
            Err(issues) => {
                assert!(issues.iter().all(|issue| issue.received.len() <= 64));
                let paths = issues.iter().map(|issue| issue.path.as_deref());
                let paths: BTreeSet<&str> = paths.map(Option::unwrap_or_default).collect();
                assert!(
                    paths.into_iter().eq(&given.refused),
                    "{issues:?} {:?}",
                    given.refused
                );
            }
        }
    }
}

/// What a query string says.
#[derive(Default)]
struct Given {
    /// First values of parameters, those that are right.
    values: BTreeMap<String, String>,
    ignored: Vec<String>,
    /// Parameters with an issue; an empty name stands for the query string as a whole.
    refused: BTreeSet<String>,
}

impl Given {
    fn read(raw: &[u8]) -> Given {
        let mut given = Given::default();
        let mut seen = BTreeSet::new();
        let pieces = raw.split(|&byte| byte == b'&');
        for (at, piece) in pieces.filter(|piece| !piece.is_empty()).enumerate() {
            if at == 64 {
                given.refused.insert(String::new());
                break;
            }
            let mut halves = piece.splitn(2, |&byte| byte == b'=');
            let [name, value] = [(); 2].map(|()| halves.next().unwrap_or_default());
            let Some(name) = decoded(name, true) else {
                given.refused.insert(cut_lossy(name));
                continue;
            };
            if value.is_empty() {
                continue;
            }
            if Parameter::named(&name).is_none() {
                let name = cut(&name).to_owned();
                if given.ignored.len() < 8 && !given.ignored.contains(&name) {
                    given.ignored.push(name);
                }
                continue;
            }
            let is_first = seen.insert(name.clone());
            let value = decoded(value, true).filter(|text| is_first && is_right(&name, text));
            match value {
                Some(value) => drop(given.values.insert(name, value)),
                None => drop(given.refused.insert(name)),
            }
        }
        // A cursor is of its own order; where the order is refused, it is not compared.
        let sort = given.value("sort").unwrap_or("newest");
        let is_known = seen.contains("sort") == given.values.contains_key("sort");
        let cursor = given.value("cursor").and_then(Cursor::parse);
        if is_known && cursor.is_some_and(|cursor| cursor.sort.as_str() != sort) {
            given.refused.insert("cursor".to_owned());
        }
        given
    }

    fn value(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }
}

/// Tells whether a parameter may have this value.
fn is_right(name: &str, text: &str) -> bool {
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_decimal = |text: &str| match text.split_once('.') {
        Some((whole, fraction)) => is_digits(whole) && is_digits(fraction) && fraction.len() <= 6,
        None => is_digits(text),
    };
    let within = |most: f64| (1.0..=most).contains(&text.parse().unwrap_or(0.0));
    match name {
        "rating" => is_digits(text) && within(5.0),
        "min_rating" | "max_rating" => is_decimal(text) && within(5.0),
        "limit" => is_digits(text) && within(100.0),
        "since" | "until" => parse_date(text.as_bytes()).is_ok(),
        "polarity" => ["positive", "neutral", "negative"].contains(&text),
        "has_reply" => ["true", "false"].contains(&text),
        "sort" => ["newest", "oldest", "highest", "lowest"].contains(&text),
        "cursor" => text.len() <= 256 && Cursor::parse(text).is_some(),
        "words" => text.len() <= 1024 && terms(&fold(text)).len() <= 16,
        _ => text.len() <= 1024,
    }
}

/// Checks the path segment of the since address on `data`.
///
/// # Panics
/// If code and reference differ.
pub fn check_since_path(data: &[u8]) {
    let date = decoded(data, false).and_then(|text| parse_date(text.as_bytes()).ok());
    assert_eq!(parse_since(data).ok(), date);
}

/// Checks that each cursor has one text: the cursor that `data` spells, if any, and one that is made of its bytes.
///
/// # Panics
/// If a text or a cursor does not come back.
pub fn check_cursor(data: &[u8]) {
    if let Ok(text) = str::from_utf8(data)
        && let Some(cursor) = Cursor::parse(text)
    {
        assert_eq!(*cursor.render(), *text);
    }
    if let [sort, stars, a, b, c, d, id @ ..] = data
        && let Some(rating) = Rating::new(*stars)
        && let Some(date) = Date::from_days(u32::from_be_bytes([*a, *b, *c, *d]))
        && let Some(id) = str::from_utf8(id).ok().and_then(ReviewId::new)
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
