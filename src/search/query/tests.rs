//! What the table of bounds in `tests/it/search.rs` does not show: values, buffers, and the arguments of tools.

use super::*;
use crate::model::Rating;
use crate::search::cursor::{Cursor, ReviewId};
use crate::search::filter::{Filter, Sort};

/// Path, code and received text of each issue.
fn listed(issues: &Issues) -> Vec<(String, Code, String)> {
    let path = |issue: &Issue| issue.path.as_deref().unwrap_or("").to_owned();
    let listed = |issue: &Issue| (path(issue), issue.code, issue.received.clone());
    issues.iter().map(listed).collect()
}

fn assert_refused(raw: &str, path: &str, code: Code, received: &str) {
    let mut buffers = Buffers::default();
    let issues = parse_query(raw.as_bytes(), &mut buffers).expect_err(raw);
    let expected = [(path.to_owned(), code, received.to_owned())];
    assert_eq!(listed(&issues), expected, "{raw}");
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
        let ratings = query.filter.ratings;
        let is_in = |stars: &u8| Rating::new(*stars).is_some_and(|one| ratings.contains(one));
        (1..=5).filter(is_in).collect()
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
            let expected = Query::new(Filter::ALL, Sort::Newest, 20);
            assert_eq!(
                Query {
                    ignored: &[],
                    ..query
                },
                expected,
                "{raw}"
            );
        });
    }
}

#[test]
fn ratings_are_whole_within_their_bounds() {
    for (raw, expected) in [
        ("r%61ting=%305", &[5][..]),
        ("min_rating=1.000001", &[2, 3, 4, 5]),
        ("min_rating=0004.0", &[4, 5]),
        ("min_rating=4.999999", &[5]),
        ("max_rating=4.5&min_rating=3.5", &[4]),
        ("rating=2&min_rating=4", &[]),
        ("rating=&rating=4&rating=", &[4]),
    ] {
        assert_eq!(stars(raw), expected, "{raw}");
    }
}

#[test]
fn texts_are_folded_and_at_most_1024_bytes() {
    let raw = "query=Stra%C3%9Fe+E%CC%81A&mentions_technician=ANA&mentions_service=Wills\
        &language=EN&source=Yelp&aspect=Fees";
    with(raw, |query| {
        let filter = query.filter;
        assert_eq!(filter.text, Some("strasse ea"));
        assert_eq!(
            (filter.technician, filter.service),
            (Some("ana"), Some("wills"))
        );
        assert_eq!((filter.language, filter.source), (Some("en"), Some("yelp")));
        assert_eq!(filter.aspect, Some("fees"));
        assert!(filter.needs_insights());
    });
    let fits = "é".repeat(512);
    let length = with(&format!("query={fits}"), |query| {
        query.filter.text.map(str::len)
    });
    assert_eq!(length, Some(512));
    assert_refused(
        &format!("query={fits}x"),
        "query",
        Code::TooLong,
        &"é".repeat(32),
    );
    assert!(with("query=+", |query| query.filter.text == Some(" ")));
}

#[test]
fn words_are_at_most_16_terms() {
    let fits = ["a"; 16].join("+");
    let count = |words: Words<'_>| words.terms().count();
    let count = with(&format!("words={fits}"), |query| {
        query.filter.words.map(count)
    });
    assert_eq!(count, Some(16));
    let (raw, text) = (format!("words={fits}+b"), ["a "; 16].concat() + "b");
    assert_refused(&raw, "words", Code::TooMany, &text);
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
        let other = Sort::ALL[(sort as usize + 1) % 4].as_str();
        let raw = format!("cursor={text}&sort={other}");
        assert_refused(&raw, "cursor", Code::InvalidCursor, &text);
        // An order that is refused says nothing about the cursor.
        let raw = format!("cursor={text}&sort=best");
        assert_refused(&raw, "sort", Code::UnknownValue, "best");
    }
    let long = "A".repeat(257);
    let raw = format!("cursor={long}");
    assert_refused(&raw, "cursor", Code::TooLong, &long[..64]);
    assert_refused(
        &raw[..raw.len() - 1],
        "cursor",
        Code::InvalidCursor,
        &long[..64],
    );
}

#[test]
fn unknown_parameters_are_listed_once_eight_at_most_and_cut() {
    let ignored = |raw: &str| with(raw, |query| query.ignored.to_vec());
    let raw = "utm=1&utm=2&ratin%67s=5&empty=&term=100%";
    assert_eq!(ignored(raw), ["utm", "ratings", "term"]);
    let nine: Vec<String> = (0..9).map(|at| format!("p{at}=1")).collect();
    assert_eq!(ignored(&nine.join("&")).len(), 8);
    assert_eq!(ignored(&format!("{}=1", "x".repeat(65))), ["x".repeat(64)]);
    let cut = format!("x{}", "é".repeat(31));
    assert_eq!(ignored(&format!("x{}=1", "é".repeat(40))), [cut]);
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
fn since_paths_are_quoted_up_to_64_bytes() {
    let long = "%32%30%32%34%2d%30%32%2d%32%39".to_owned();
    assert_eq!(
        parse_since(long.as_bytes()),
        Ok(Date::new(2024, 2, 29).expect("a day"))
    );
    let long = long + &"x".repeat(1_000);
    let issues = parse_since(long.as_bytes()).expect_err("too long");
    let expected = [("date".to_owned(), Code::InvalidDate, long[..64].to_owned())];
    assert_eq!(listed(&issues), expected);
}

#[test]
fn json_values_follow_the_same_rules_by_their_types() {
    use serde_json::json;
    let refusals = |parameter: Parameter, value: &serde_json::Value| {
        let mut buffers = Buffers::default();
        let mut builder = Builder::new(&mut buffers);
        builder.json(parameter, value);
        let finished = builder.finish();
        finished.map_or_else(|issues| listed(&issues), |_| Vec::new())
    };
    for (parameter, value) in [
        (Parameter::Rating, json!(5)),
        (Parameter::MinRating, json!(4.5)),
        (Parameter::Since, json!("2024-01-01")),
        (Parameter::HasReply, json!(true)),
        (Parameter::Rating, json!(null)),
        (Parameter::Rating, json!("")),
    ] {
        assert_eq!(refusals(parameter, &value), [], "{parameter:?} {value:?}");
    }
    for (parameter, value, code, received) in [
        (Parameter::Rating, json!("5"), Code::InvalidType, "\"5\""),
        (Parameter::Rating, json!(4.5), Code::InvalidType, "4.5"),
        (Parameter::Rating, json!(-1), Code::OutOfRange, "-1"),
        (Parameter::Rating, json!(-1.5), Code::InvalidType, "-1.5"),
        (Parameter::MinRating, json!(-0.5), Code::OutOfRange, "-0.5"),
        (Parameter::Limit, json!(true), Code::InvalidType, "true"),
        (
            Parameter::HasReply,
            json!("true"),
            Code::InvalidType,
            "true",
        ),
        (Parameter::Query, json!(5), Code::InvalidType, "5"),
        (Parameter::Cursor, json!([]), Code::InvalidType, "an array"),
    ] {
        let expected = [(parameter.name().to_owned(), code, received.to_owned())];
        assert_eq!(
            refusals(parameter, &value),
            expected,
            "{parameter:?} {value:?}"
        );
    }
}
