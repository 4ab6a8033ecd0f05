//! Each refusal with its exact words, those of reviews aside.

use super::*;

#[test]
fn business_and_top_level_are_refused_in_their_own_words() {
    let cases = [
        (
            r#""name":"A""#,
            r#""name":"""#,
            "business.name: \"\" is empty",
        ),
        (
            r#""url":"https://a.example/""#,
            r#""url":"https://""#,
            "business.url: \"https://\" is not an absolute http or https URL",
        ),
        (
            r#""latitude":1.5"#,
            r#""latitude":90.5"#,
            "business.geo.latitude: 90.5 is not a number from -90 to 90",
        ),
        (
            r#""longitude":-2"#,
            r#""longitude":"2""#,
            "business.geo.longitude: \"2\" is not a number from -180 to 180",
        ),
        (
            r#""locality":"","#,
            "",
            "business.address.locality: is missing",
        ),
        (
            r#""opening_hours":[]"#,
            r#""opening_hours":null"#,
            "business.opening_hours: null is not an array",
        ),
        (
            r#"[{"id":"wills","label":"Wills"}]"#,
            r#"[{"id":"wills","label":"Wills"},{"id":"WILLS","label":"W"}]"#,
            "business.services[1].id: \"WILLS\" is the id of entry 0 too",
        ),
        (
            r#""same_as":[]"#,
            r#""same_as":["b"]"#,
            "business.same_as[0]: \"b\" is not an absolute http or https URL",
        ),
        (
            r#""disclaimer":"D""#,
            r#""disclaimer":"""#,
            "disclaimer: \"\" is empty",
        ),
        (
            r#""disclaimer":"D""#,
            r#""disclaimer":"D","disclaimer":"E""#,
            "disclaimer: is given twice",
        ),
        (
            r#""disclaimer":"D""#,
            r#""disclaimr":"D","disclaimer":"D""#,
            "disclaimr: is not a known key; did you mean \"disclaimer\"?",
        ),
        (r#""disclaimer":"D","#, "", "disclaimer: is missing"),
        (
            r#""2026-11-18T00:00:00Z""#,
            r#""2026-11-18""#,
            "updated_at: \"2026-11-18\" is not a time in whole seconds such as \"2026-11-21T09:00:00Z\"",
        ),
        (
            r#""2026-11-18T00:00:00Z""#,
            r#""2026-11-18T00:00:00.5Z""#,
            "updated_at: \"2026-11-18T00:00:00.5Z\" is not a time in whole seconds such as \"2026-11-21T09:00:00Z\"",
        ),
        (
            r#""2026-11-18T00:00:00Z""#,
            r#""2026-11-18T11:06:41Z""#,
            "updated_at: \"2026-11-18T11:06:41Z\" lies in the future: set it to the time of the last change",
        ),
    ];
    for (part, replacement, expected) in cases {
        assert_eq!(
            problems_of(&reviews_file(REVIEW), part, replacement),
            format!("reviews.json: {expected}")
        );
    }
    let no_array = reviews_file("").replace("\"reviews\":[]", "\"reviews\":{\"a\":[1]}");
    let mut no_array = files(no_array);
    no_array.editorial = None;
    assert_eq!(
        outcome(no_array).map(|_| ()),
        Err("reviews.json: reviews: an object is not an array".to_owned())
    );
}

#[test]
fn taxonomy_and_editorial_are_refused_in_their_own_words() {
    let taxonomy = |part: &str, replacement: &str| {
        let mut files = files(reviews_file(REVIEW));
        files.taxonomy = Some(TAXONOMY_TEXT.replacen(part, replacement, 1).into());
        outcome(files).map(|_| ()).expect_err("refused")
    };
    assert_eq!(
        taxonomy(r#""aspects":[],"#, ""),
        "taxonomy.json: aspects: is missing"
    );
    assert_eq!(
        taxonomy(r#"["Annie"]"#, r#"[""]"#),
        "taxonomy.json: technicians[0].aliases[0]: \"\" is empty"
    );
    assert_eq!(
        taxonomy(r#""phrases":["last will"]"#, r#""phrase":[]"#),
        "taxonomy.json: services[0].phrases: is missing\ntaxonomy.json: services[0].phrase: is not a known key; \
        did you mean \"phrases\"?"
    );
    assert_eq!(
        taxonomy(
            r#"{"name":"Ann Lee","aliases":["Annie"]}"#,
            r#"{"name":"Ann Lee","aliases":[]},{"name":"ANN LEE","aliases":[]}"#
        ),
        "taxonomy.json: technicians[1].name: \"ANN LEE\" is the name of entry 0 too"
    );
    assert_eq!(
        taxonomy(
            r#""phrases":["last will"]}"#,
            r#""phrases":[]},{"id":"w","label":"Wills","phrases":[]}"#
        ),
        "taxonomy.json: services[1].label: \"Wills\" is the label of entry 0 too"
    );
    assert_eq!(
        taxonomy("{", "["),
        "taxonomy.json: line 1, column 11: is not JSON that can be read: expected `,` or `]`"
    );
    let editorial = |part: &str, replacement: &str| {
        let mut files = files(reviews_file(REVIEW));
        files.editorial = Some(EDITORIAL_TEXT.replacen(part, replacement, 1).into());
        outcome(files).map(|_| ()).expect_err("refused")
    };
    assert_eq!(
        editorial(r#""answer":"A""#, r#""answer":" ""#),
        "editorial.json: faq[0].answer: \" \" is empty"
    );
    assert_eq!(
        editorial(r#""summary":null"#, r#""summary":1"#),
        "editorial.json: summary: 1 is not a string"
    );
    assert_eq!(
        editorial(r#""r1""#, r#""r2""#),
        "editorial.json: faq[0].review_ids[0]: \"r2\" is not the id of a review"
    );
    let unverified = reviews_file(&REVIEW.replace("\"verified\":true", "\"verified\":false"));
    assert_eq!(
        outcome(files(unverified)).map(|_| ()),
        Err(
            "editorial.json: faq[0].review_ids[0]: \"r1\" is the id of a review \
        that is not verified and so not published"
                .to_owned()
        )
    );
}

#[test]
fn files_that_are_no_json_are_refused_with_the_place() {
    let deep = format!("{{\"reviews\":{}", "[".repeat(100_000));
    let cases: [(&[u8], &str); 15] = [
        (b"", "is empty"),
        (b" \n", "is empty"),
        (
            b"\xEF\xBB\xBF{}",
            "begins with a byte order mark: save it as UTF-8 without one",
        ),
        (b"\xFF\xFE{\0", "is UTF-16: save it as UTF-8"),
        (b"{\n \"\xC3\x28", "line 2, column 3: is not UTF-8"),
        (
            b"{\"reviews\":\n[{\"id\"",
            "line 2, column 6: ends too early, as a half-written file does (EOF while parsing an object)",
        ),
        (
            b"{\"reviews\":[],}",
            "line 1, column 15: is not JSON that can be read: trailing comma",
        ),
        (
            b"{\"updated_at\":1e999}",
            "line 1, column 19: is not JSON that can be read: number out of range",
        ),
        (
            b"{\"updated_at\":\"\\ud800\"}",
            "line 1, column 22: is not JSON that can be read: an escape such as \\ud800 is half a character; write both halves, or the character itself",
        ),
        (
            b"{\"updated_at\":\"\\udc00x\"}",
            "line 1, column 21: is not JSON that can be read: an escape such as \\ud800 is half a character; write both halves, or the character itself",
        ),
        (
            b"{'updated_at':1}",
            "line 1, column 2: is not JSON that can be read: key must be a string",
        ),
        (
            b"{\"updated_at\":01}",
            "line 1, column 16: is not JSON that can be read: invalid number",
        ),
        (
            b"{\"updated_at\":NaN}",
            "line 1, column 15: is not JSON that can be read: expected value",
        ),
        (
            b"{\"updated_at\":\"\n\"}",
            "line 2, column 0: is not JSON that can be read: control character (\\u0000-\\u001F) found while parsing a string",
        ),
        (
            deep.as_bytes(),
            "line 1, column 138: is not JSON that can be read: recursion limit exceeded",
        ),
    ];
    for (bytes, expected) in cases {
        let error = outcome(files(bytes)).map(|_| ()).expect_err("refused");
        assert_eq!(error, format!("reviews.json: {expected}"));
    }
}
