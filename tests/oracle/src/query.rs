//! The reference implementation of `search::query`: every pair decoded into text first, then each rule by itself over all of them.

use std::collections::BTreeMap;

use super::form::decoded;
use super::search::{fold, terms};
use reviewd::model::Rating;
use reviewd::model::insights::Polarity;
use reviewd::search::filter::{Cursor, Filter, Query, RatingSet, ReviewId, Sort, Words};
use reviewd::search::issue::{Code, Issues};
use reviewd::search::query::{Buffers, Parameter, parse_query, parse_since};
use reviewd::wire::date::{Date, parse_date};

/// Checks the rules of a search request on `data`, a raw query string: the outcome and every issue.
///
/// # Panics
/// If code and reference differ, or if buffers that were used before change the outcome.
pub fn check_query(data: &[u8]) {
    let given = Given::read(data);
    let texts = given.values.iter();
    let texts = texts
        .map(|(name, text)| (name.as_str(), fold(text)))
        .collect();
    let expected = match &given.issues[..] {
        [] => Ok(given.query(&texts)),
        issues => Err(issues.to_vec()),
    };
    let mut buffers = Buffers::default();
    for _ in 0..2 {
        let found = parse_query(data, &mut buffers).map_err(|issues| sorted(&issues));
        assert_eq!(found, expected);
    }
}

/// Path, code and what was received.
type Issue = (String, Code, String);

fn sorted(issues: &Issues) -> Vec<Issue> {
    let issues = issues.iter().map(|issue| {
        let path = issue.path.as_deref().unwrap_or("").to_owned();
        (path, issue.code, issue.received.clone())
    });
    let mut issues: Vec<Issue> = issues.collect();
    issues.sort();
    issues
}

/// What a query string says.
#[derive(Default)]
struct Given {
    /// How often each parameter has a value.
    counts: BTreeMap<String, usize>,
    /// Their first values, those that are right.
    values: BTreeMap<String, String>,
    ignored: Vec<String>,
    issues: Vec<Issue>,
}

impl Given {
    fn read(raw: &[u8]) -> Given {
        let mut given = Given::default();
        let pieces = raw.split(|&byte| byte == b'&');
        let pieces: Vec<&[u8]> = pieces.filter(|piece| !piece.is_empty()).collect();
        if pieces.len() > 64 {
            given.refuse("", Code::TooMany, &pieces.len().to_string());
        }
        for piece in pieces.into_iter().take(64) {
            let mut halves = piece.splitn(2, |&byte| byte == b'=');
            let (name, value) = (halves.next(), halves.next());
            given.take(name.unwrap_or_default(), value.unwrap_or_default());
        }
        // A cursor is of its own order; where the order is refused, it is not compared.
        let is_known = given.counts.contains_key("sort") == given.value("sort").is_some();
        let sort = given.value("sort").unwrap_or("newest");
        if let Some(cursor) = given.value("cursor").and_then(Cursor::parse)
            && is_known
            && cursor.sort.as_str() != sort
        {
            given.refuse("cursor", Code::InvalidCursor, &cursor.render());
        }
        given.issues.sort();
        given
    }

    /// Takes a pair; one without a value counts as not given.
    fn take(&mut self, name: &[u8], raw: &[u8]) {
        let Some(name) = decoded(name, true) else {
            let name = lossy(name);
            return self.refuse(&name, Code::InvalidEncoding, &name);
        };
        if raw.is_empty() {
            return;
        }
        if Parameter::named(&name).is_none() {
            let name = head(&name);
            if self.ignored.len() < 8 && !self.ignored.contains(&name) {
                self.ignored.push(name);
            }
            return;
        }
        let (text, count) = (
            decoded(raw, true),
            self.counts.entry(name.clone()).or_default(),
        );
        *count += 1;
        let judged = match (*count, &text) {
            (1, None) => Err(Code::InvalidEncoding),
            (1, Some(text)) => judge(&name, text),
            (2, _) => Err(Code::Duplicate),
            _ => return,
        };
        let text = text.unwrap_or_else(|| lossy(raw));
        match judged {
            Ok(()) => drop(self.values.insert(name, text)),
            Err(code) => self.refuse(&name, code, &text),
        }
    }

    fn refuse(&mut self, path: &str, code: Code, received: &str) {
        self.issues.push((path.to_owned(), code, head(received)));
    }

    fn value(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    /// The search, of which no part is refused; `texts` are the folded values.
    fn query<'b>(&'b self, texts: &'b BTreeMap<&str, String>) -> Query<'b> {
        let text = |name: &str| texts.get(name).map(String::as_str);
        let day = |name: &str| {
            self.value(name)
                .and_then(|text| parse_date(text.as_bytes()).ok())
        };
        let stars = |name: &str| self.value(name).and_then(|text| text.parse::<f64>().ok());
        let rating = |stars: f64| Rating::new(stars as u8).expect("1 to 5");
        let ratings = [
            stars("rating").map(|stars| RatingSet::only(rating(stars))),
            stars("min_rating").map(|stars| RatingSet::at_least(rating(stars.ceil()))),
            stars("max_rating").map(|stars| RatingSet::at_most(rating(stars.floor()))),
        ];
        let is_word = |polarity: &Polarity| self.value("polarity") == Some(polarity.word());
        Query {
            filter: Filter {
                ratings: ratings
                    .into_iter()
                    .flatten()
                    .fold(RatingSet::ALL, RatingSet::and),
                since: day("since"),
                until: day("until"),
                text: text("query"),
                words: text("words").and_then(Words::parse),
                technician: text("mentions_technician"),
                service: text("mentions_service"),
                aspect: text("aspect"),
                polarity: Polarity::ALL.into_iter().find(is_word),
                has_reply: self.value("has_reply").map(|word| word == "true"),
                language: text("language"),
                source: text("source"),
            },
            sort: self.value("sort").and_then(Sort::parse).unwrap_or_default(),
            limit: self
                .value("limit")
                .map_or(20, |text| text.parse().expect("1 to 100")),
            cursor: self.value("cursor").and_then(Cursor::parse),
            ignored: &self.ignored,
        }
    }
}

/// Tells whether a parameter may have this value.
fn judge(name: &str, text: &str) -> Result<(), Code> {
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_decimal = match text.split_once('.') {
        Some((whole, fraction)) => is_digits(whole) && is_digits(fraction) && fraction.len() <= 6,
        None => is_digits(text),
    };
    let within = |most: f64| match text.parse::<f64>() {
        Ok(number) if (1.0..=most).contains(&number) => Ok(()),
        _ => Err(Code::OutOfRange),
    };
    let one_of = |words: &[&str]| match words.contains(&text) {
        true => Ok(()),
        false => Err(Code::UnknownValue),
    };
    match name {
        "rating" | "limit" if !is_digits(text) => Err(Code::InvalidType),
        "min_rating" | "max_rating" if !is_decimal => Err(Code::InvalidType),
        "rating" | "min_rating" | "max_rating" => within(5.0),
        "limit" => within(100.0),
        "since" | "until" => parse_date(text.as_bytes())
            .map(drop)
            .map_err(|_| Code::InvalidDate),
        "polarity" => one_of(&["positive", "neutral", "negative"]),
        "has_reply" => one_of(&["true", "false"]),
        "sort" => one_of(&["newest", "oldest", "highest", "lowest"]),
        "cursor" if text.len() > 256 => Err(Code::TooLong),
        "cursor" => Cursor::parse(text).map(drop).ok_or(Code::InvalidCursor),
        _ if text.len() > 1024 => Err(Code::TooLong),
        "words" if terms(&fold(text)).len() > 16 => Err(Code::TooMany),
        _ => Ok(()),
    }
}

/// Checks the path segment of the since address on `data`.
///
/// # Panics
/// If code and reference differ.
pub fn check_since_path(data: &[u8]) {
    let date = decoded(data, false).and_then(|text| parse_date(text.as_bytes()).ok());
    let found = parse_since(data).map_err(|issues| sorted(&issues));
    let issue = || vec![("date".to_owned(), Code::InvalidDate, lossy(data))];
    assert_eq!(found, date.ok_or_else(issue));
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

/// The longest run of whole characters within 64 bytes.
fn head(text: &str) -> String {
    reviewd::wire::text::cut(text).to_owned()
}

fn lossy(bytes: &[u8]) -> String {
    head(&String::from_utf8_lossy(&bytes[..bytes.len().min(64)]))
}
