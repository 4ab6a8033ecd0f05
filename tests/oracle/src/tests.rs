//! Each check on inputs built from typical pieces, because random bytes rarely form a tag or a date.

use base64::Engine;
use base64::engine::general_purpose::{URL_SAFE, URL_SAFE_NO_PAD};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use super::*;

/// Checks, and the words, separated by bars, of which their inputs are composed in any order.
#[expect(clippy::type_complexity, reason = "a function and its words")]
const WORDS: &[(fn(&[u8]), &str)] = &[
    (
        form::check_form,
        "&|=|+|%|%41|%c3|%A9|é|name|%F0%9F%98%80|%zz",
    ),
    (
        forwarded::check_forwarded,
        "192.0.2.1|[2001:db8::1]:80|\"|,|, |;| |:80|unknown|[::1]|::ffff:1.2.3.4|\n",
    ),
    (json::check_json, "\"|\\|\n|\0|\u{1f}|é|\u{2028}|ab|😀"),
    (
        negotiate::check_accept_encoding,
        "gzip|BR|zstd|identity|x-gzip|*|deflate|,|, |;|q=|Q=|0|1|.|5|\t| |\n|;q=0.5|;q=0|;q=1.000|;q=1.001|;q=0.1234|\
         gzip,br;q=0.9",
    ),
    (
        conditional::check_conditional,
        "\nN|\nM|\nE|\nS|\nU|\"a\"|\"b\"|\"a-gz\"|W/|*|,|, |\"|a|-br|-zst|\t|Sun, 06 Nov 1994 08:49:37 GMT|\
         Sun, 06 Nov 1994 08:49:36 GMT|Sunday, 06-Nov-94 08:49:38 GMT",
    ),
    (
        query::check_query,
        "rating=|min_rating=|since=|until=|query=|mentions_technician=|mentions_service=|limit=|sort=|cursor=|utm=|&|&|&|\
         r%61ting=|words=|aspect=|polarity=|has_reply=|has_photos=|=|1|5|9|100|0|.|5|newest|oldest|highest|2024-02-29|2023-02-29|true|\
         AQAFAAAAAHIx|AQIFAAAAAHIx|%|%C3%89|%c3|+|x|%00|Ünï|neutral|utm_source=a&fbclid=b|\
         rating=4&|r%61ting=5&|limit=100&|limit=101&|sort=oldest&",
    ),
    (
        check_mcp_body,
        concat!(
            r#"{|}|[|]|,|:|"jsonrpc":"2.0"|"id":1|"id":"a"|"id":null|"id":1.5|"method":"ping"|"method":"tools/list"|"\u0061"|"#,
            r#""method":"tools/call"|"params":{|"params":[]|"name":"get_faq"|"arguments":{}|"result":{}|"error":{}|"a":| |-1|"#,
            r#"{"jsonrpc":"2.0","id":7,"method":"ping"}|0.5|true|null|{"jsonrpc":"2.0","method":"x"}|"method":"initialize"|"#,
            r#""protocolVersion":"2025-06-18""#,
        ),
    ),
    (
        xml::check_xml,
        "<|>|&|\"|'|\t|\r\n|\0|\u{fffe}|\u{ffff}|\u{fffd}|]]>|é",
    ),
    (
        insights::check_insights,
        "fee|Fees|FEE’S|fee's|coffee|court|COURTS|courtly|naïve|nai\u{308}ve|fee\u{301}| | | the | and |. |! |\n|\n5|\r|\
         \u{2028}|-|(|İ|ſ|ß| good | not | but |😀|Mr. |…|\u{a0}| le la et |你好",
    ),
    (
        check_connection,
        "GET |HEAD |POST |OPTIONS |CONNECT |/|/reviews.json|/api/reviews/search|?query=will|&limit=2|/mcp|*|/?rating=9|/%2e|\
         /api/reviews/since/2026-01-01|http://a/|localhost:443| HTTP/1.1\r\n| HTTP/1.0\r\n|Host: a\r\n|Host: b\r\n|: |name|:|\
         Accept-Encoding:| gzip|: \t|If-None-Match: *\r\n|connection: close \r\n|Content-Length: 2\r\n|gzip, chunked| |\0|\
         Transfer-Encoding: chunked\r\n|X-Forwarded-For: ::1\r\n|Expect: 100-continue\r\n|Content-Type: application/json\r\n|{}|\
         Upgrade: h2c\r\n|2\r\n{}\r\n0\r\n\r\n|\r\n|\r\n|\r|\n|\r\n\r\n| folded\r\n",
    ),
];

/// Checks a request with this body, whose only header field is its media type.
fn check_mcp_body(data: &[u8]) {
    let head = b"POST\n-\n-\napplication/json\n-\n-\n-\n-\n\n";
    mcp::check_mcp(&[&head[..], data].concat());
}

/// Checks `data` after up to two complete requests, with and without the beginning of a head before it.
fn check_connection(data: &[u8]) {
    let before = b"GET /feed.xml HTTP/1.1\r\nHost: a\r\n\r\n".repeat(data.len() % 3);
    let begun = b"GET / HTTP/1.1\r\nHost: a\r\n";
    request::check_request(&[&before, &begun[..], data, b"\r\n"].concat());
    request::check_request(&[&before, data].concat());
}

#[test]
fn every_check_holds_for_its_words() {
    for (check, words) in WORDS {
        let words: Vec<&'static str> = words.split('|').collect();
        let piece = prop_oneof![
            8 => prop::sample::select(words).prop_map(|word| word.as_bytes().to_vec()),
            1 => prop::collection::vec(any::<u8>(), 0..4),
        ];
        let data = prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat());
        check_cases(*check, 256, &data);
    }
}

#[test]
fn every_check_holds_for_any_bytes() {
    for (name, check) in CHECKS {
        // Two of the checks derive a dataset or a sequence of events from the bytes.
        let (cases, bytes_max) = match *name {
            "search" => (512, 1_500),
            "hub_sequence" => (96, 600),
            _ => (48, 200),
        };
        let data = prop::collection::vec(any::<u8>(), 0..bytes_max);
        check_cases(*check, cases, &data);
    }
}

fn check_cases(check: fn(&[u8]), cases: u32, data: &impl Strategy<Value = Vec<u8>>) {
    let mut runner = TestRunner::new(ProptestConfig::with_cases(cases));
    let checked = runner.run(data, |data| {
        check(&data);
        Ok(())
    });
    checked.unwrap_or_else(|failed| panic!("{failed}"));
}

proptest! {
    #[test]
    fn dates_agree_with_their_reference(
        date in "(0000|0001|1900|1970|2000|2023|2024|9999|[0-9]{4})-(0[0-9]|1[0-3]|[0-9]{2})-(0[01]|2[89]|3[0-2]|[0-9]{2})",
        time in "[Tt ](00|23|24|[0-2][0-9]):(00|59|60):(00|59|60)",
        end in "(\\.0{1,3}|\\.5|\\.|)([zZ]|[zZ]|[+-](00|23|24):(00|59|60)|[+-]0100|)",
        http in "(Mon|Tue|Wed|Thu|Fri|Sat|Sun), [0-3][0-9] (Jan|Feb|Mar|Dec) (19|20)[0-9]{2} [0-2][0-9]:[0-5][0-9]:[0-5][0-9] GMT",
    ) {
        for data in [format!("{date}{time}{end}"), date.replacen('-', "%2d", 1), date, http] {
            date::check_date(data.as_bytes());
        }
    }

    #[test]
    fn crowded_queries_agree_with_their_reference(piece in "[a-z]{1,3}(=[a-z]?)?", count in 60usize..70) {
        query::check_query(vec![piece; count].join("&").as_bytes());
        query::check_query(&(0..count).map(|at| format!("p{at}=1")).collect::<Vec<_>>().join("&").into_bytes());
    }

    #[test]
    fn cursors_agree_with_their_reference(head in prop::collection::vec(0u8..8, 7), id in "[A-Za-z0-9_/-]{0,66}") {
        let key = [&head[..], id.as_bytes()].concat();
        query::check_cursor(&key[1..]);
        query::check_cursor(URL_SAFE_NO_PAD.encode(&key).as_bytes());
        query::check_cursor(URL_SAFE.encode(&key).as_bytes());
    }

    #[test]
    fn forms_that_are_almost_valid_agree_with_their_rules(
        mode in "(subscribe|unsubscribe|%[0-9a-f]{2}|)",
        callback in "(https|http)%3A%2F%2F[a-z0-9.:@%-]{1,20}(%2F[ -~]{0,10})?",
        topic in "https%3a//[a-z]{1,8}/[ -~]{0,10}",
        lease in "(&hub.lease_seconds=[0-9e+.-]{0,25}){0,2}",
        secret in "(&hub.secret=[ -~]{0,210}){0,2}",
    ) {
        let form = format!("hub.mode={mode}&hub.callback={callback}&hub.topic={topic}{lease}{secret}");
        hub::check_hub_form(form.as_bytes());
    }
}

/// Values of the lines of a request to MCP, separated by bars.
const MCP_LINES: [&str; 10] = [
    "POST|POST|POST|POST|GET|DELETE|OPTIONS",
    "-|-|-|+|https://reviews.example|http://localhost:5|http://[::1]|https://evil.example|null",
    "-|-|+|reviews.example:1|127.0.0.1|[::1]:8|evil.example|a:b:c",
    "application/json|application/json|Application/Json;x|text/plain|-|+",
    "-|+|2025-03-26|2025-06-18|2026-07-28|2026-07-28|2027-01-01|x",
    "-|-|-|x|+",
    "-|+|tools/call|tools/call|tools/list|ping",
    "-|+|get_faq|get_faq|=?base64?Z2V0X2ZhcQ==?=|=?base64?Z2V0X2ZhcQ?=|x",
    "",
    concat!(
        r#"{}|[]|{|1|{"jsonrpc":"2.0","id":1,"method":"ping"}|{"jsonrpc":"2.0","method":"x"}|"#,
        r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},5]|{"jsonrpc":"2.0","id":1,"id":1,"method":"ping"}|"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}|"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_faq"}}|"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_faq","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}|"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2027-01-01","io.modelcontextprotocol/clientCapabilities":{}}}}"#,
    ),
];

#[test]
fn every_mcp_request_has_a_valid_response() {
    let lines = MCP_LINES.map(|values| prop::sample::select(values.split('|').collect::<Vec<_>>()));
    let data = lines.prop_map(|lines| lines.join("\n").into_bytes());
    check_cases(mcp::check_mcp, 256, &data);
}

/// The request check examines only the responses that arrive, so this test counts them.
#[test]
fn every_pipelined_request_is_answered() {
    let row = ["/reviews.json", "/nowhere", "/api/reviews/search?limit=0"]
        .map(|target| format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n"));
    assert_eq!(request::responses(row.concat().as_bytes()), [200, 404, 400]);
}
