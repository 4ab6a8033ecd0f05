//! The reference implementation of `search::query`: every pair decoded into text first, then each rule by itself over all of them.

use std::collections::BTreeMap;

use super::search::terms;
use reviewd::model::Rating;
use reviewd::search::filter::{Cursor, Query, Sort};
use reviewd::search::fold::fold_into;
use reviewd::search::issue::{Code, Issues};
use reviewd::search::query::{Buffers, parse_query, parse_since};
use reviewd::wire::date::parse_date;

/// Checks the rules of a search request on `data`, a raw query string: the outcome and every issue.
///
/// # Panics
/// If code and reference differ, or if buffers that were used before change the outcome.
pub fn check_query(data: &[u8]) {
    let mut buffers = Buffers::default();
    let first = outcome(parse_query(data, &mut buffers));
    assert_eq!(first, reference_query(data));
    assert_eq!(outcome(parse_query(data, &mut buffers)), first);
}

/// Checks the path segment of the since address on `data`.
///
/// # Panics
/// If code and reference differ.
pub fn check_since_path(data: &[u8]) {
    let reference = decoded(data, false)
        .and_then(|text| parse_date(text.as_bytes()).ok())
        .ok_or(Code::InvalidDate);
    let code = parse_since(data).map_err(|issues| {
        let codes: Vec<Code> = issues.iter().map(|issue| issue.code).collect();
        assert_eq!(codes.len(), 1);
        codes[0]
    });
    assert_eq!(code, reference);
}

/// Checks that `data` parses as a cursor exactly if it is the text of one.
///
/// # Panics
/// If a cursor has two texts, or a text does not come back.
pub fn check_cursor(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let fields = |cursor: Cursor| {
        assert_eq!(cursor.render(), text);
        let id = cursor.id.as_str().to_owned();
        (cursor.sort, cursor.rating.stars(), cursor.date.days(), id)
    };
    assert_eq!(Cursor::parse(text).map(fields), reference_cursor(text));
}

/// Everything that a query says, or everything that is wrong with it, in a form to compare.
type Outcome = Result<BTreeMap<&'static str, String>, Vec<(String, Code, String)>>;

fn outcome(result: Result<Query<'_>, Issues>) -> Outcome {
    let query = match result {
        Ok(query) => query,
        Err(issues) => {
            let mut found: Vec<_> = issues
                .iter()
                .map(|issue| {
                    let path = issue.path.as_deref().unwrap_or("").to_owned();
                    (path, issue.code, issue.received.clone())
                })
                .collect();
            found.sort();
            return Err(found);
        }
    };
    let filter = query.filter;
    let mut said = BTreeMap::new();
    let ratings = (1..=5)
        .filter(|stars| Rating::new(*stars).is_some_and(|rating| filter.ratings.contains(rating)));
    said.insert("ratings", format!("{:?}", ratings.collect::<Vec<u8>>()));
    said.insert("limit", query.limit.to_string());
    said.insert("sort", query.sort.as_str().to_owned());
    said.insert("ignored", format!("{:?}", query.ignored));
    let day = |date: reviewd::wire::date::Date| date.to_string();
    let parts = [
        ("since", filter.since.map(day)),
        ("until", filter.until.map(day)),
        ("query", filter.text.map(str::to_owned)),
        ("words", filter.words.map(|words| words.as_str().to_owned())),
        ("aspect", filter.aspect.map(str::to_owned)),
        (
            "polarity",
            filter.polarity.map(|polarity| polarity.word().to_owned()),
        ),
        (
            "has_reply",
            filter.has_reply.map(|has_reply| has_reply.to_string()),
        ),
        ("language", filter.language.map(str::to_owned)),
        ("source", filter.source.map(str::to_owned)),
        ("mentions_technician", filter.technician.map(str::to_owned)),
        ("mentions_service", filter.service.map(str::to_owned)),
        ("cursor", query.cursor.map(|cursor| cursor.render())),
    ];
    for (name, value) in parts {
        if let Some(value) = value {
            said.insert(name, value);
        }
    }
    Ok(said)
}

/// A value decoded if it can be, and as it came.
struct Value {
    text: Option<String>,
    raw: String,
}

/// The rules one after the other, each over all pairs.
fn reference_query(raw: &[u8]) -> Outcome {
    let mut issues = Vec::new();
    let (given, ignored) = reference_pairs(raw, &mut issues);
    let mut said = BTreeMap::new();
    let mut ratings = vec![1u8, 2, 3, 4, 5];
    said.insert("limit", "20".to_owned());
    said.insert("sort", "newest".to_owned());
    for (name, values) in &given {
        if let Some(second) = values.get(1) {
            let received = head(second.text.as_ref().unwrap_or(&second.raw));
            issues.push((name.to_string(), Code::Duplicate, received));
        }
        let refusal = match &values[0].text {
            None => Some((Code::InvalidEncoding, values[0].raw.clone())),
            Some(text) => reference_value(name, text, &mut ratings, &mut said)
                .err()
                .map(|code| (code, head(text))),
        };
        if let Some((code, received)) = refusal {
            issues.push((name.to_string(), code, received));
        }
    }
    if let Some(cursor) = said.get("cursor").and_then(|text| Cursor::parse(text)) {
        let is_sort_refused = issues
            .iter()
            .any(|(path, code, _)| path == "sort" && *code != Code::Duplicate);
        if !is_sort_refused && cursor.sort.as_str() != said["sort"] {
            issues.push(("cursor".into(), Code::InvalidCursor, head(&cursor.render())));
        }
    }
    if !issues.is_empty() {
        issues.sort();
        return Err(issues);
    }
    let mut listed: Vec<String> = Vec::new();
    for name in ignored {
        if !listed.contains(&name) && listed.len() < 8 {
            listed.push(name);
        }
    }
    said.insert("ignored", format!("{listed:?}"));
    said.insert("ratings", format!("{ratings:?}"));
    Ok(said)
}

/// The pairs that have a value, and the names of those that we do not know.
fn reference_pairs(
    raw: &[u8],
    issues: &mut Vec<(String, Code, String)>,
) -> (BTreeMap<&'static str, Vec<Value>>, Vec<String>) {
    let all: Vec<&[u8]> = raw
        .split(|&byte| byte == b'&')
        .filter(|piece| !piece.is_empty())
        .collect();
    if all.len() > 64 {
        issues.push((String::new(), Code::TooMany, all.len().to_string()));
    }
    let mut ignored: Vec<String> = Vec::new();
    let mut given: BTreeMap<&'static str, Vec<Value>> = BTreeMap::new();
    for piece in all.into_iter().take(64) {
        let mut halves = piece.splitn(2, |&byte| byte == b'=');
        let name = halves.next().unwrap_or_default();
        let value = halves.next().unwrap_or_default();
        let Some(text) = decoded(name, true) else {
            issues.push((lossy(name), Code::InvalidEncoding, lossy(name)));
            continue;
        };
        if value.is_empty() {
            continue;
        }
        match NAMES.iter().find(|known| **known == text) {
            Some(known) => {
                let (text, raw) = (decoded(value, true), lossy(value));
                given.entry(known).or_default().push(Value { text, raw });
            }
            None => ignored.push(head(&text)),
        }
    }
    (given, ignored)
}

/// One parameter's rule.
fn reference_value(
    name: &'static str,
    text: &str,
    ratings: &mut Vec<u8>,
    said: &mut BTreeMap<&'static str, String>,
) -> Result<(), Code> {
    let number = |text: &str| {
        let trimmed = text.trim_start_matches('0');
        let is_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        is_digits.then(|| match trimmed.len() {
            0 => 0,
            1..=9 => trimmed.parse::<u64>().unwrap_or(0),
            _ => u64::MAX,
        })
    };
    match name {
        "rating" | "limit" => {
            let bound = if name == "rating" { 5 } else { 100 };
            let value = number(text).ok_or(Code::InvalidType)?;
            if value < 1 || value > bound {
                return Err(Code::OutOfRange);
            }
            if name == "rating" {
                ratings.retain(|stars| u64::from(*stars) == value);
            } else {
                said.insert("limit", value.to_string());
            }
        }
        "min_rating" | "max_rating" => {
            let parts: Vec<&str> = text.split('.').collect();
            let (whole, fraction) = match parts[..] {
                [whole] => (whole, ""),
                [whole, fraction] if (1..=6).contains(&fraction.len()) => (whole, fraction),
                _ => return Err(Code::InvalidType),
            };
            let millionths = number(&format!("{whole:0>1}{fraction:0<6}"))
                .filter(|_| !whole.is_empty() && number(whole).is_some());
            let millionths = millionths.ok_or(Code::InvalidType)?;
            if !(1_000_000..=5_000_000).contains(&millionths) {
                return Err(Code::OutOfRange);
            }
            let is_minimum = name == "min_rating";
            ratings.retain(|stars| match u64::from(*stars) * 1_000_000 {
                stars if is_minimum => stars >= millionths,
                stars => stars <= millionths,
            });
        }
        "since" | "until" => {
            parse_date(text.as_bytes()).map_err(|_| Code::InvalidDate)?;
            said.insert(name, text.to_owned());
        }
        "polarity" | "has_reply" => {
            let words: &[&str] = match name {
                "polarity" => &["positive", "neutral", "negative"],
                _ => &["true", "false"],
            };
            if !words.contains(&text) {
                return Err(Code::UnknownValue);
            }
            said.insert(name, text.to_owned());
        }
        "sort" => {
            let words = ["newest", "oldest", "highest", "lowest"];
            if !words.contains(&text) {
                return Err(Code::UnknownValue);
            }
            said.insert("sort", text.to_owned());
        }
        "cursor" if text.len() > 256 => return Err(Code::TooLong),
        "cursor" => {
            reference_cursor(text).ok_or(Code::InvalidCursor)?;
            said.insert("cursor", text.to_owned());
        }
        _ if text.len() > 1024 => return Err(Code::TooLong),
        _ => {
            let mut folded = String::new();
            fold_into(text, &mut folded);
            if name == "words" && terms(&folded).len() > 16 {
                return Err(Code::TooMany);
            }
            said.insert(name, folded);
        }
    }
    Ok(())
}

/// Six bits for each character, then the fields from the bytes; the text must be the only one for them.
fn reference_cursor(text: &str) -> Option<(Sort, u8, u32, String)> {
    let alphabet: Vec<char> = ('A'..='Z')
        .chain('a'..='z')
        .chain('0'..='9')
        .chain(['-', '_'])
        .collect();
    let mut bits = String::new();
    for character in text.chars() {
        let value = alphabet.iter().position(|other| *other == character)?;
        bits.push_str(&format!("{value:06b}"));
    }
    let (whole, rest) = bits.split_at(bits.len() / 8 * 8);
    if rest.len() >= 6 || rest.contains('1') {
        return None;
    }
    let bytes: Vec<u8> = (0..whole.len() / 8)
        .map(|at| u8::from_str_radix(&whole[at * 8..at * 8 + 8], 2).unwrap_or(0))
        .collect();
    let [1, sort @ 0..=3, stars @ 1..=5, a, b, c, d, id @ ..] = &bytes[..] else {
        return None;
    };
    let days = u32::from_be_bytes([*a, *b, *c, *d]);
    let id = String::from_utf8(id.to_vec()).ok()?;
    let is_id = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let is_good = (1..=64).contains(&id.len()) && id.chars().all(is_id) && days <= 3_652_058;
    let sorts = [Sort::Newest, Sort::Oldest, Sort::Highest, Sort::Lowest];
    is_good.then(|| (sorts[usize::from(*sort)], *stars, days, id))
}

/// Percent-decoding over a list of bytes; `None` for a broken escape or invalid UTF-8.
fn decoded(raw: &[u8], is_form: bool) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = raw.iter().copied();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' if is_form => b' ',
            b'%' => {
                let high = char::from(rest.next()?).to_digit(16)?;
                let low = char::from(rest.next()?).to_digit(16)?;
                (high * 16 + low) as u8
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

/// The longest run of whole characters within 64 bytes.
fn head(text: &str) -> String {
    let mut head = String::new();
    for character in text.chars() {
        if head.len() + character.len_utf8() > 64 {
            break;
        }
        head.push(character);
    }
    head
}

fn lossy(bytes: &[u8]) -> String {
    head(&String::from_utf8_lossy(&bytes[..bytes.len().min(64)]))
}

const NAMES: [&str; 17] = [
    "rating",
    "min_rating",
    "max_rating",
    "words",
    "aspect",
    "polarity",
    "has_reply",
    "language",
    "source",
    "since",
    "until",
    "query",
    "mentions_technician",
    "mentions_service",
    "limit",
    "sort",
    "cursor",
];
