//! Each refusal of a review with its exact words.

use super::*;

#[test]
fn each_field_of_a_review_is_refused_in_its_own_words() {
    let long = "x".repeat(1_025);
    let cases = [
        (
            r#""rating":5"#,
            r#""rating":7"#,
            ".rating: 7 is not from 1 to 5",
        ),
        (
            r#""rating":5"#,
            r#""rating":0"#,
            ".rating: 0 is not from 1 to 5",
        ),
        (
            r#""rating":5"#,
            r#""rating":-1"#,
            ".rating: -1 is not a whole number from 1 to 5",
        ),
        (
            r#""rating":5"#,
            r#""rating":4.5"#,
            ".rating: 4.5 is not a whole number from 1 to 5",
        ),
        (
            r#""rating":5"#,
            r#""rating":1e300"#,
            ".rating: 1e+300 is not a whole number from 1 to 5",
        ),
        (
            r#""rating":5"#,
            r#""rating":"5""#,
            ".rating: \"5\" is not a whole number from 1 to 5",
        ),
        (
            r#""rating":5"#,
            r#""rating":18446744073709551616"#,
            ".rating: 1.8446744073709552e+19 is not a whole number from 1 to 5",
        ),
        (r#""rating":5,"#, "", ".rating: is missing"),
        (
            r#""rating":5"#,
            r#""rating":5,"rating":4"#,
            ".rating: is given twice",
        ),
        (
            r#""rating":5"#,
            r#""rating":5,"stars":4"#,
            ".stars: is not a known key",
        ),
        (
            r#""rating":5"#,
            r#""rating":5,"Autor":4"#,
            ".Autor: is not a known key; did you mean \"author\"?",
        ),
        (
            r#""rating":5"#,
            "\"rating\":5,\"\\u001b[1m\":4",
            "[\"\\u{1b}[1m\"]: is not a known key",
        ),
        (
            r#""date":"2026-01-02""#,
            r#""date":"2026-02-30""#,
            ".date: \"2026-02-30\" is not a day that exists",
        ),
        (
            r#""date":"2026-01-02""#,
            r#""date":"02.01.2026""#,
            ".date: \"02.01.2026\" is not a day of the form YYYY-MM-DD",
        ),
        (
            r#""date":"2026-01-02""#,
            r#""date":20260102"#,
            ".date: 20260102 is not a day such as \"2026-11-21\"",
        ),
        (
            r#""id":"r1""#,
            r#""id":"""#,
            ".id: \"\" is not an id: 1 to 64 characters of A-Z, a-z, 0-9, _ and -",
        ),
        (
            r#""id":"r1""#,
            r#""id":"a b""#,
            ".id: \"a b\" is not an id: 1 to 64 characters of A-Z, a-z, 0-9, _ and -",
        ),
        (
            r#""id":"r1""#,
            r#""id":"search""#,
            ".id: \"search\" is an address of the service and cannot be an id",
        ),
        (
            r#""id":"r1""#,
            r#""id":"since""#,
            ".id: \"since\" is an address of the service and cannot be an id",
        ),
        (r#""id":"r1""#, r#""id":1"#, ".id: 1 is not a string"),
        (
            r#""author":"Bo""#,
            r#""author":"  ""#,
            ".author: \"  \" is empty",
        ),
        (
            r#""author":"Bo""#,
            r#""author":null"#,
            ".author: null is not a string",
        ),
        (
            r#""author":"Bo""#,
            r#""author":"B\no""#,
            ".author: \"B\\no\" holds a control character",
        ),
        (
            r#""author_avatar_url":null"#,
            r#""author_avatar_url":"/a.png""#,
            ".author_avatar_url: \"/a.png\" is not an absolute http or https URL",
        ),
        (
            r#""source_url":null"#,
            r#""source_url":"ftp://a.example/""#,
            ".source_url: \"ftp://a.example/\" is not an absolute http or https URL",
        ),
        (
            r#""source_url":null"#,
            r#""source_url":"https://a b.example/""#,
            ".source_url: \"https://a b.example/\" is not an absolute http or https URL",
        ),
        (
            r#""text":"Good""#,
            r#""text":["Good"]"#,
            ".text: an array is not a string",
        ),
        (r#""text":"Good","#, "", ".text: is missing"),
        (
            r#""source":"google""#,
            r#""source":"""#,
            ".source: \"\" is empty",
        ),
        (
            r#""text":"Thanks""#,
            r#""text":"""#,
            ".owner_reply.text: \"\" is empty",
        ),
        (
            r#""date":"2026-01-03""#,
            r#""date":"2026-01-32""#,
            ".owner_reply.date: \"2026-01-32\" is not a day that exists",
        ),
        (
            r#""verified":true"#,
            r#""verified":"yes""#,
            ".verified: \"yes\" is not true or false",
        ),
        (
            r#"["Ann Lee"]"#,
            r#"["Ann Lee",1]"#,
            ".mentioned_technicians[1]: 1 is not a string",
        ),
        (
            r#"["wills"]"#,
            r#""wills""#,
            ".mentioned_services: \"wills\" is not an array",
        ),
        (
            r#""author":"Bo""#,
            &format!(r#""author":"{long}""#),
            &format!(".author: \"{}…\" is longer than 1024 bytes", "x".repeat(64)),
        ),
    ];
    for (part, replacement, expected) in cases {
        assert_eq!(
            review_problems(part, replacement),
            *expected,
            "{replacement}"
        );
    }
}

#[test]
fn a_review_that_is_no_object_is_refused() {
    assert_eq!(
        problems_of(&reviews_file(REVIEW), REVIEW, "5"),
        "reviews.json: reviews[0]: 5 is not an object"
    );
}
