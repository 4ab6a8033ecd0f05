//! Both sides of every bound of a search request.

use super::*;
use crate::model::Rating;
use crate::search::cursor::{Cursor, ReviewId};
use crate::search::filter::{Filter, Sort};

mod json;

/// What a refused query answers: path, code and what was received, one for each issue.
fn refusals(raw: &str) -> Vec<(String, Code, String)> {
    let mut buffers = Buffers::default();
    match parse_query(raw.as_bytes(), &mut buffers) {
        Ok(query) => panic!("{raw} was accepted as {query:?}"),
        Err(issues) => listed(&issues),
    }
}

fn listed(issues: &Issues) -> Vec<(String, Code, String)> {
    let path = |issue: &Issue| issue.path.as_deref().unwrap_or("").to_owned();
    issues
        .iter()
        .map(|issue| (path(issue), issue.code, issue.received.clone()))
        .collect()
}

fn assert_refused(raw: &str, path: &str, code: Code, received: &str) {
    assert_eq!(
        refusals(raw),
        [(path.to_owned(), code, received.to_owned())],
        "{raw}"
    );
}

fn with<T>(raw: &str, look: impl FnOnce(Query<'_>) -> T) -> T {
    let mut buffers = Buffers::default();
    match parse_query(raw.as_bytes(), &mut buffers) {
        Ok(query) => look(query),
        Err(issues) => panic!("{raw} was refused: {issues}"),
    }
}

fn stars(raw: &str) -> Vec<u8> {
    with(raw, |query| {
        (1..=5)
            .filter(|stars| {
                Rating::new(*stars).is_some_and(|rating| query.filter.ratings.contains(rating))
            })
            .collect()
    })
}

fn cursor(sort: Sort) -> Cursor {
    Cursor {
        sort,
        rating: Rating::MAX,
        date: Date::MIN,
        id: ReviewId::new("r1").expect("an id"),
    }
}

#[test]
fn nothing_given_selects_everything_newest_first_20_a_page() {
    for raw in ["", "&&", "rating=&query=&cursor=&sort", "=&=x&limit="] {
        with(raw, |query| {
            assert_eq!(query.filter, Filter::ALL, "{raw}");
            assert_eq!(
                (query.sort, query.limit, query.cursor),
                (Sort::Newest, 20, None)
            );
        });
    }
}

#[test]
fn rating_is_digits_from_1_to_5() {
    assert_eq!(stars("rating=1"), [1]);
    assert_eq!(stars("rating=5"), [5]);
    assert_eq!(stars("rating=05"), [5]);
    assert_eq!(stars("r%61ting=%35"), [5]);
    for text in ["0", "6", "9", "00", "99999999999999999999999"] {
        assert_refused(&format!("rating={text}"), "rating", Code::OutOfRange, text);
    }
    for text in ["x", "-1", "5.0", "5e0", "0x5", "٣", "5 "] {
        assert_refused(&format!("rating={text}"), "rating", Code::InvalidType, text);
    }
    assert_refused("rating=+5", "rating", Code::InvalidType, " 5");
}

#[test]
fn min_rating_becomes_the_least_whole_rating_not_below_it() {
    for (text, lowest) in [
        ("1", 1),
        ("1.0", 1),
        ("1.000001", 2),
        ("4", 4),
        ("4.5", 5),
        ("4.999999", 5),
        ("5", 5),
        ("5.000000", 5),
        ("0004.0", 4),
    ] {
        assert_eq!(stars(&format!("min_rating={text}"))[0], lowest, "{text}");
    }
    for text in ["0", "0.999999", "5.000001", "6", "5.1", "4294967296"] {
        assert_refused(
            &format!("min_rating={text}"),
            "min_rating",
            Code::OutOfRange,
            text,
        );
    }
    for text in [
        "4.",
        ".5",
        "4.5000000",
        "-4",
        "4e0",
        "4,5",
        "four",
        ".",
        "4.5.0",
    ] {
        assert_refused(
            &format!("min_rating={text}"),
            "min_rating",
            Code::InvalidType,
            text,
        );
    }
}

#[test]
fn contradictory_filters_are_no_error() {
    assert!(stars("rating=2&min_rating=4").is_empty());
    assert_eq!(stars("rating=4&min_rating=2"), [4]);
    with("since=2024-02-02&until=2024-02-01", |query| {
        assert!(query.filter.since > query.filter.until);
    });
}

#[test]
fn limit_is_digits_from_1_to_100() {
    assert_eq!(with("limit=1", |query| query.limit), 1);
    assert_eq!(with("limit=100", |query| query.limit), 100);
    for text in ["0", "101", "256", "4294967297"] {
        assert_refused(&format!("limit={text}"), "limit", Code::OutOfRange, text);
    }
    assert_refused("limit=ten", "limit", Code::InvalidType, "ten");
}

#[test]
fn dates_are_full_dates_that_exist() {
    let day = |raw: &str| with(raw, |query| (query.filter.since, query.filter.until));
    let leap = Date::new(2024, 2, 29).ok();
    assert_eq!(day("since=2024-02-29"), (leap, None));
    assert_eq!(day("until=2024%2d02%2D29"), (None, leap));
    for text in [
        "2023-02-29",
        "2024-2-9",
        "20240229",
        "2024-02-29T00:00:00Z",
        "0000-01-01",
    ] {
        assert_refused(&format!("since={text}"), "since", Code::InvalidDate, text);
        assert_refused(&format!("until={text}"), "until", Code::InvalidDate, text);
    }
}

#[test]
fn texts_are_folded_and_at_most_1024_bytes() {
    with(
        "query=Stra%C3%9Fe+E%CC%81A&mentions_technician=ANA&mentions_service=Wills",
        |query| {
            assert_eq!(query.filter.text, Some("strasse ea"));
            assert_eq!(query.filter.technician, Some("ana"));
            assert_eq!(query.filter.service, Some("wills"));
        },
    );
    for name in ["query", "mentions_technician", "mentions_service"] {
        let fits = "é".repeat(512);
        with(&format!("{name}={fits}"), |query| {
            let filter = query.filter;
            let text = filter.text.or(filter.technician).or(filter.service);
            assert_eq!(text.map(str::len), Some(512));
        });
        let long = format!("{fits}x");
        assert_refused(
            &format!("{name}={long}"),
            name,
            Code::TooLong,
            &"é".repeat(32),
        );
    }
    assert!(with("query=+", |query| query.filter.text == Some(" ")));
}

#[test]
fn words_are_at_most_16_terms() {
    let fits = ["a"; 16].join("+");
    let count = with(&format!("words={fits}"), |query| {
        query.filter.words.map(|words| words.terms().count())
    });
    assert_eq!(count, Some(16));
    let refused = refusals(&format!("words={fits}+%E2%80%9Cb+c%E2%80%9D"));
    assert_eq!((refused.len(), refused[0].1), (1, Code::TooMany));
}

#[test]
fn the_other_filters_are_judged_like_these() {
    assert_eq!(stars("max_rating=2"), [1, 2]);
    assert_eq!(stars("max_rating=4.5&min_rating=3.5"), [4]);
    for text in ["0", "5.000001", "6"] {
        let raw = format!("max_rating={text}");
        assert_refused(&raw, "max_rating", Code::OutOfRange, text);
    }
    with(
        "polarity=negative&has_reply=false&language=EN&source=Yelp&aspect=Fees",
        |query| {
            let filter = query.filter;
            assert_eq!(
                filter.polarity,
                Some(crate::model::insights::Polarity::Negative)
            );
            assert_eq!(
                (filter.has_reply, filter.language),
                (Some(false), Some("en"))
            );
            assert_eq!((filter.source, filter.aspect), (Some("yelp"), Some("fees")));
            assert!(filter.needs_insights());
        },
    );
    assert_refused("polarity=bad", "polarity", Code::UnknownValue, "bad");
    assert_refused("has_reply=1", "has_reply", Code::UnknownValue, "1");
}

#[test]
fn sort_is_one_of_four_words() {
    for sort in Sort::ALL {
        assert_eq!(
            with(&format!("sort={}", sort.as_str()), |query| query.sort),
            sort
        );
    }
    assert_refused("sort=Newest", "sort", Code::UnknownValue, "Newest");
    assert_refused("sort=best", "sort", Code::UnknownValue, "best");
}

#[test]
fn cursor_is_for_the_order_it_was_made_for() {
    for sort in Sort::ALL {
        let (cursor, word) = (cursor(sort), sort.as_str());
        let text = cursor.render();
        for raw in [
            format!("sort={word}&cursor={text}"),
            format!("cursor={text}&sort={word}"),
        ] {
            assert_eq!(with(&raw, |query| query.cursor), Some(cursor));
        }
        if sort != Sort::Newest {
            assert_refused(
                &format!("cursor={text}"),
                "cursor",
                Code::InvalidCursor,
                &text,
            );
        }
    }
    let newest = cursor(Sort::Newest).render();
    assert!(with(&format!("cursor={newest}"), |query| query
        .cursor
        .is_some()));
    assert_refused("cursor=abc", "cursor", Code::InvalidCursor, "abc");
    let (long, longest) = ("A".repeat(257), "A".repeat(256));
    assert_refused(
        &format!("cursor={long}"),
        "cursor",
        Code::TooLong,
        &long[..64],
    );
    assert_refused(
        &format!("cursor={longest}"),
        "cursor",
        Code::InvalidCursor,
        &long[..64],
    );
    let raw = format!("cursor={newest}&sort=best");
    assert_refused(&raw, "sort", Code::UnknownValue, "best");
}

#[test]
fn a_parameter_given_twice_is_one_issue_and_an_empty_one_is_not_given() {
    assert_refused("rating=4&rating=5&rating=6", "rating", Code::Duplicate, "5");
    assert_refused("rating=4&r%61ting=4", "rating", Code::Duplicate, "4");
    assert_eq!(stars("rating=&rating=4&rating="), [4]);
}

#[test]
fn broken_escapes_and_bytes_that_are_not_utf8_are_issues() {
    for raw in ["%", "%4", "%zz", "a%", "%%41"] {
        assert_refused(&format!("query={raw}"), "query", Code::InvalidEncoding, raw);
        assert_refused(&format!("{raw}=1"), raw, Code::InvalidEncoding, raw);
    }
    assert_refused("query=%ff", "query", Code::InvalidEncoding, "%ff");
    assert_refused("query=%C3", "query", Code::InvalidEncoding, "%C3");
    assert_eq!(
        with("utm_term=100%", |query| query.ignored.to_vec()),
        ["utm_term"]
    );
}

#[test]
fn unknown_parameters_are_listed_once_eight_at_most_and_cut() {
    let ignored = |raw: &str| with(raw, |query| query.ignored.to_vec());
    assert_eq!(
        ignored("utm=1&utm=2&ratin%67s=5&empty="),
        ["utm", "ratings"]
    );
    let nine: Vec<String> = (0..9).map(|at| format!("p{at}=1")).collect();
    assert_eq!(ignored(&nine.join("&")).len(), 8);
    assert_eq!(ignored(&format!("{}=1", "x".repeat(64))), ["x".repeat(64)]);
    assert_eq!(ignored(&format!("{}=1", "x".repeat(65))), ["x".repeat(64)]);
    assert_eq!(
        ignored(&format!("x{}=1", "é".repeat(40))),
        [format!("x{}", "é".repeat(31))]
    );
}

#[test]
fn more_than_64_pairs_are_too_many() {
    let pairs = |count: usize| vec!["x=1"; count].join("&");
    assert_eq!(with(&pairs(64), |query| query.ignored.len()), 1);
    assert_refused(&pairs(65), "", Code::TooMany, "65");
    assert_refused(&format!("{}&rating=9", pairs(64)), "", Code::TooMany, "65");
    let hundred_thousand = format!("rating=9&{}", pairs(99_999));
    let expected = [
        ("rating".to_owned(), Code::OutOfRange, "9".to_owned()),
        (String::new(), Code::TooMany, "100000".to_owned()),
    ];
    assert_eq!(refusals(&hundred_thousand), expected);
}

#[test]
fn every_issue_is_reported_in_one_answer_and_in_order() {
    let found = refusals(
        "since=x&rating=9&limit=0&min_rating=a&sort=z&cursor=%21&query=%&until=y&rating=1",
    );
    let found: Vec<(&str, Code)> = found
        .iter()
        .map(|(path, code, _)| (path.as_str(), *code))
        .collect();
    let expected = [
        ("since", Code::InvalidDate),
        ("rating", Code::OutOfRange),
        ("limit", Code::OutOfRange),
        ("min_rating", Code::InvalidType),
        ("sort", Code::UnknownValue),
        ("cursor", Code::InvalidCursor),
        ("query", Code::InvalidEncoding),
        ("until", Code::InvalidDate),
        ("rating", Code::Duplicate),
    ];
    assert_eq!(found, expected);
}

#[test]
fn buffers_hold_nothing_over_from_an_earlier_query() {
    let mut buffers = Buffers::default();
    assert!(parse_query(b"query=one&a=1&b=2&c=3", &mut buffers).is_ok());
    assert!(parse_query(b"query=%&d=4", &mut buffers).is_err());
    let query = parse_query(b"mentions_service=two&e=5", &mut buffers).expect("a good query");
    assert_eq!(
        (query.filter.text, query.filter.service),
        (None, Some("two"))
    );
    assert_eq!(query.ignored, ["e"]);
}

#[test]
fn an_accepted_query_allocates_nothing_in_the_steady_state() {
    let text = cursor(Sort::Highest).render();
    let raw = format!(
        "rating=4&min_rating=3.5&since=2019-01-01&until=2026-01-01&query=Caf%C3%A9+Z&mentions_technician=Ana%20P\
         &mentions_service=wills&limit=50&sort=highest&cursor={text}&utm_source=x&fbclid=y"
    );
    let mut buffers = Buffers::default();
    assert!(parse_query(raw.as_bytes(), &mut buffers).is_ok());
    let info = allocation_counter::measure(|| {
        assert!(parse_query(raw.as_bytes(), &mut buffers).is_ok());
    });
    assert_eq!(info.count_total, 0);
}

#[test]
fn since_paths_are_dates_escaped_or_not() {
    let leap = Date::new(2024, 2, 29).expect("a day");
    for segment in [
        "2024-02-29",
        "2024%2D02%2d29",
        "%32%30%32%34%2d%30%32%2d%32%39",
    ] {
        assert_eq!(parse_since(segment.as_bytes()), Ok(leap), "{segment}");
    }
    for segment in [
        "",
        "2023-02-29",
        "2024-02-29/",
        "2024-02-29%00",
        "%",
        "2024+02+29",
        "%ff",
        "0000-01-01",
    ] {
        let issues = parse_since(segment.as_bytes()).expect_err("not a date");
        let expected = [("date".to_owned(), Code::InvalidDate, segment.to_owned())];
        assert_eq!(listed(&issues), expected, "{segment}");
    }
    let long = "%32%30%32%34%2d%30%32%2d%32%39".to_owned() + &"x".repeat(1000);
    let issues = parse_since(long.as_bytes()).expect_err("too long");
    assert_eq!(listed(&issues)[0].2, &long[..64]);
}
