//! The exact message of each problem.

use super::*;

/// One case per line: a part of a review => its replacement => the expected problem.
const OF_REVIEWS: &str = r##"
"rating":5 => "rating":7 => .rating: 7 is not a whole number from 1 to 5
"rating":5 => "rating":4.5 => .rating: 4.5 is not a whole number from 1 to 5
"rating":5 => "rating":1e300 => .rating: 1e+300 is not a whole number from 1 to 5
"rating":5 => "rating":18446744073709551616 => .rating: 1.8446744073709552e+19 is not a whole number from 1 to 5
"rating":5 => "rating":5,"rating":4 => .rating: is given twice
"rating":5 => "rating":5,"Autor":4 => .Autor: is not a known key; did you mean "author"?
"rating":5 => "rating":5,"\u001b[1m":4 => ["\u{1b}[1m"]: is not a known key
"date":"2026-01-02" => "date":"2026-02-30" => .date: "2026-02-30" is not a day that exists, such as "2026-11-21"
"date":"2026-01-02" => "date":"02.01.2026" => .date: "02.01.2026" is not a day that exists, such as "2026-11-21"
"id":"r1" => "id":"a b" => .id: "a b" is not an id: 1 to 64 characters of A-Z, a-z, 0-9, _ and -, but not "search", "since" or "changes"
"id":"r1" => "id":"search" => .id: "search" is not an id: 1 to 64 characters of A-Z, a-z, 0-9, _ and -, but not "search", "since" or "changes"
"id":"r1" => "id":"changes" => .id: "changes" is not an id: 1 to 64 characters of A-Z, a-z, 0-9, _ and -, but not "search", "since" or "changes"
"id":"r1" => "id":1 => .id: 1 is not an id: 1 to 64 characters of A-Z, a-z, 0-9, _ and -, but not "search", "since" or "changes"
"author":"Bo" => "author":"  " => .author: "  " is empty
"author":"Bo" => "author":"B\no" => .author: "B\no" has a control character
"author_avatar_url":null => "author_avatar_url":"/a.png" => .author_avatar_url: "/a.png" is not an absolute http or https URL
"source_url":null => "source_url":"ftp://a.example/" => .source_url: "ftp://a.example/" is not an absolute http or https URL
"source_url":null => "source_url":"https:///a.example" => .source_url: "https:///a.example" is not an absolute http or https URL
"text":"Good", =>  => .text: is missing
"verified":true => "verified":"yes" => .verified: "yes" is not true or false
["wills"] => "wills" => .mentioned_services: "wills" is not an array
["wills"] => [],"verification":{"by":"x"} => .verification.method: is missing
["wills"] => [],"verification":{"by":"x","method":"account"} => .verification: an object has the method "account", which needs "verified": false, as no customer was matched
["wills"] => [],"location":"" => .location: "" is empty
["wills"] => [],"date_precision":"day" => .date_precision: "day" is not "month", "year" or "unknown"
["wills"] => [],"rating_original":{"value":8.3} => .rating_original.best: is missing
["wills"] => [],"rating_original":{"value":8.3,"best":1001} => .rating_original.best: 1001 is not a number from 1 to 1000
["wills"] => [],"added_at":"2026-01-02" => .added_at: "2026-01-02" is not a time in whole seconds such as "2026-11-21T09:00:00Z"
["wills"] => [],"language":"english language" => .language: "english language" is not a language tag such as "en" or "pt-BR"
["wills"] => [],"language":"abcdefgh-abcdefgh-abcdefgh-12345678x" => .language: "abcdefgh-abcdefgh-abcdefgh-12345678x" is not a language tag such as "en" or "pt-BR"
["wills"] => [],"media":[{"url":"/a","alt":"","type":"image/png"}] => .media[0].url: "/a" is not an absolute http or https URL
["wills"] => [],"media":[{"url":"https://a.example/a","alt":"","type":"text/html"}] => .media[0].type: "text/html" is not a media type of an image, a video or a recording, such as "image/jpeg"
"##;

/// Cases for the rest of the file.
const OF_THE_REST: &str = r##"
"url":"https://a.example/" => "url":"https://" => business.url: "https://" is not an absolute http or https URL
"latitude":1.5 => "latitude":90.5 => business.geo.latitude: 90.5 is not a number from -90 to 90
"locality":"", =>  => business.address.locality: is missing
[{"id":"wills","label":"Wills"}] => [{"id":"wills","label":"Wills"},{"id":"WILLS","label":"W"}] => business.services[1].id: "WILLS" is also the id of entry 0
"same_as":[] => "same_as":[],"locations":[{"id":"a","label":"A","address":null},{"id":"a","label":"B","address":null}] => business.locations[1].id: "a" is also the id of entry 0
"same_as":[] => "same_as":["b"] => business.same_as[0]: "b" is not an absolute http or https URL
"disclaimer":"D", =>  => disclaimer: is missing
"2026-11-18T00:00:00Z" => "2026-11-18T00:00:00.5Z" => updated_at: "2026-11-18T00:00:00.5Z" is not a time in whole seconds such as "2026-11-21T09:00:00Z"
"2026-11-18T00:00:00Z" => "2026-11-18T11:06:41Z" => updated_at: "2026-11-18T11:06:41Z" is in the future: set it to the time of the last change
"##;

fn cases(table: &str) -> impl Iterator<Item = [&str; 3]> {
    table.lines().filter(|line| !line.is_empty()).map(|line| {
        let fields: Vec<&str> = line.split(" => ").collect();
        fields.try_into().expect("three fields")
    })
}

#[test]
fn each_field_of_a_review_is_refused_in_its_own_words() {
    for [part, replacement, expected] in cases(OF_REVIEWS) {
        let problems = review_problems(part, replacement);
        assert_eq!(problems, expected, "{replacement}");
    }
    let long = format!(r#""author":"{}""#, "x".repeat(1_025));
    let expected = format!(".author: \"{}…\" is longer than 1024 bytes", "x".repeat(64));
    assert_eq!(review_problems(r#""author":"Bo""#, &long), expected);
    let problems = problems_of(&reviews_file(REVIEW), REVIEW, "5");
    assert_eq!(problems, "reviews.json: reviews[0]: 5 is not an object");
}

#[test]
fn business_and_top_level_are_refused_in_their_own_words() {
    for [part, replacement, expected] in cases(OF_THE_REST) {
        let problems = problems_of(&reviews_file(REVIEW), part, replacement);
        assert_eq!(problems, format!("reviews.json: {expected}"));
    }
    let mut no_array = files(reviews_file("").replace("reviews\":[]", "reviews\":{\"a\":[1]}"));
    no_array.editorial = None;
    let problems = outcome(no_array).map(|_| ());
    let expected = "reviews.json: reviews: an object is not an array";
    assert_eq!(problems, Err(expected.to_owned()));
}

/// Cases for the taxonomy and, below the blank line, for the editorial.
const OF_OTHERS: &str = r##""aspects":[], =>  => aspects: is missing
["Annie"] => [""] => technicians[0].aliases[0]: "" is empty
"phrases":["last will"] => "phrases":["last will"],"phrase":[] => services[0].phrase: is not a known key; did you mean "phrases"?
"aliases":["Annie"]} => "aliases":[]},{"name":"ANN LEE","aliases":[]} => technicians[1].name: "ANN LEE" is also the name of entry 0
["last will"]} => []},{"id":"w","label":"Wills","phrases":[]} => services[1].label: "Wills" is also the label of entry 0
{ => [ => line 1, column 11: is not readable JSON: expected `,` or `]`

"answer":"A" => "answer":" " => faq[0].answer: " " is empty
"r1" => "r2" => faq[0].review_ids[0]: "r2" is not the id of a published review"##;

#[test]
fn taxonomy_and_editorial_are_refused_in_their_own_words() {
    let (taxonomy, editorial) = OF_OTHERS.split_once("\n\n").expect("two tables");
    let mut tried = files(reviews_file(REVIEW));
    for [part, replacement, expected] in cases(taxonomy) {
        tried.taxonomy = Some(TAXONOMY_TEXT.replacen(part, replacement, 1).into());
        let problems = outcome(tried.clone()).map(|_| ()).expect_err("refused");
        assert_eq!(problems, format!("taxonomy.json: {expected}"));
    }
    let mut tried = files(reviews_file(REVIEW));
    for [part, replacement, expected] in cases(editorial) {
        tried.editorial = Some(EDITORIAL_TEXT.replacen(part, replacement, 1).into());
        let problems = outcome(tried.clone()).map(|_| ()).expect_err("refused");
        assert_eq!(problems, format!("editorial.json: {expected}"));
    }
    let unverified = reviews_file(&REVIEW.replace("\"verified\":true", "\"verified\":false"));
    let problems = outcome(files(unverified)).map(|_| ());
    let expected =
        "editorial.json: faq[0].review_ids[0]: \"r1\" is not the id of a published review";
    assert_eq!(problems, Err(expected.to_owned()));
}

#[test]
fn files_that_are_no_json_are_refused_with_the_place() {
    let deep = format!("{{\"reviews\":{}", "[".repeat(100_000));
    let cases: [(&[u8], &str); 11] = [
        (b"", "is empty"),
        (
            b"\xEF\xBB\xBF{}",
            "begins with a byte order mark: save it as UTF-8 without one",
        ),
        (b"\xFF\xFE{\0", "is UTF-16: save it as UTF-8"),
        (b"{\n \"\xC3\x28", "line 2, column 3: is not UTF-8"),
        (
            b"{\"reviews\":\n[{\"id\"",
            "line 2, column 6: is truncated, like a partially written file (EOF while parsing an object)",
        ),
        (
            b"{\"reviews\":[],}",
            "line 1, column 15: is not readable JSON: trailing comma",
        ),
        (
            b"{\"updated_at\":1e999}",
            "line 1, column 19: is not readable JSON: number out of range",
        ),
        (
            b"{\"updated_at\":\"\\ud800\"}",
            "line 1, column 22: is not readable JSON: unexpected end of hex escape",
        ),
        (
            b"{\"updated_at\":\"\n\"}",
            "line 2, column 0: is not readable JSON: control character (\\u0000-\\u001F) found while parsing a string",
        ),
        (
            b"{\"$serde_json::private::RawValue\":\"[\",\n]}",
            "line 2, column 1: is not readable JSON: key must be a string",
        ),
        (
            deep.as_bytes(),
            "line 1, column 138: is not readable JSON: recursion limit exceeded",
        ),
    ];
    for (bytes, expected) in cases {
        let error = outcome(files(bytes)).map(|_| ()).expect_err("refused");
        assert_eq!(error, format!("reviews.json: {expected}"));
    }
}
