//! Each check on inputs made to reach its corners: random bytes alone rarely spell a tag or a date.

use proptest::prelude::*;

use super::*;

/// Up to `pieces` of the given words, joined, with a few random bytes among them.
fn words(words: &'static [&'static str], pieces: usize) -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        8 => prop::sample::select(words).prop_map(|word| word.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..4),
    ];
    prop::collection::vec(piece, 0..pieces).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn dates_agree_with_their_reference(
        data in "(0000|0001|1900|2000|2023|2024|9999|[0-9]{4})-(0[0-9]|1[0-3]|[0-9]{2})-(0[01]|2[89]|3[0-2]|[0-9]{2})",
    ) {
        check_date(data.as_bytes());
    }

    #[test]
    fn times_agree_with_their_reference(
        date in "(0000|0001|1970|2024|9999)-(01|02|12)-(01|29|31)",
        time in "[Tt ](00|23|24|[0-2][0-9]):(00|59|60):(00|59|60)",
        end in "(\\.0{1,3}|\\.5|\\.|)([zZ]|[zZ]|[+-](00|23|24):(00|59|60)|[+-]0100|)",
    ) {
        check_date(format!("{date}{time}{end}").as_bytes());
    }

    #[test]
    fn http_dates_agree_with_their_rendering(
        data in "(Mon|Tue|Wed|Thu|Fri|Sat|Sun), [0-3][0-9] (Jan|Feb|Mar|Dec) (19|20)[0-9]{2} [0-2][0-9]:[0-5][0-9]:[0-5][0-9] GMT",
    ) {
        check_date(data.as_bytes());
    }

    #[test]
    fn forms_agree_with_their_reference(
        data in words(&["&", "=", "+", "%", "%41", "%c3", "%A9", "é", "name", "%F0%9F%98%80", "%zz"], 40),
    ) {
        check_form(&data);
    }

    #[test]
    fn any_bytes_get_well_formed_responses(
        data in words(
            &[
                "GET ", "HEAD ", "POST ", "OPTIONS ", "/", "/reviews.json", "/api/reviews/search", "?query=will", "&limit=2",
                "/api/reviews/since/2026-01-01", "/mcp", "*", "/?rating=9", "/%2e", " HTTP/1.1\r\n", "Host: a\r\n",
                "Accept-Encoding:", " gzip", ": \t", "If-None-Match: *\r\n", "connection: close \r\n", "Content-Length: 2\r\n",
                "Transfer-Encoding: chunked\r\n", "Forwarded: for=a\r\n", "name", ":", " ", "\r\n", "\r\n", "\r", "\n", "\r\n\r\n",
                "CONNECT ", "http://a/", "localhost:443", " HTTP/1.0\r\n", "Expect: 100-continue\r\n", " folded\r\n", "gzip, chunked",
                "Content-Type: application/json\r\n", "Upgrade: h2c\r\n", "2\r\n{}\r\n0\r\n\r\n", "{}", "\0", "Host: b\r\n",
            ],
            24,
        ),
        row in 0..3_usize,
    ) {
        let plain = b"GET /feed.xml HTTP/1.1\r\nHost: a\r\n\r\n".repeat(row);
        let begun = b"GET / HTTP/1.1\r\nHost: a\r\n";
        check_request(&[&plain[..], begun, &data, b"\r\n"].concat());
        check_request(&[plain, data].concat());
    }

    #[test]
    fn hops_agree_with_their_reference(
        data in words(
            &[
                "for=", "For=", "by=", "192.0.2.1", "\"[2001:db8::1]:80\"", "\"", "\\", ",", ", ", ";", " ", ":80",
                "_hidden", "unknown", "=", "[::1]", "::ffff:1.2.3.4", "\n",
            ],
            24,
        ),
    ) {
        check_forwarded(&data);
    }

    #[test]
    fn json_agrees_with_serde_json(data in words(&["\"", "\\", "\n", "\0", "\u{1f}", "é", "\u{2028}", "ab", "😀"], 40)) {
        check_json(&data);
    }

    #[test]
    fn accept_encoding_agrees_with_its_reference(
        data in words(
            &["gzip", "BR", "zstd", "identity", "x-gzip", "*", "deflate", ",", ", ", ";", "q=", "Q=", "0", "1", ".", "5",
              "\t", " ", "\n", ";q=0.5", ";q=0", ";q=1.000", ";q=1.001", ";q=0.1234", "gzip,br;q=0.9"],
            40,
        ),
    ) {
        check_accept_encoding(&data);
    }

    #[test]
    fn conditions_agree_with_their_reference(
        data in words(
            &["\nN", "\nM", "\nE", "\nS", "\nU", "\"a\"", "\"b\"", "\"a-gz\"", "W/", "*", ",", ", ", "\"", "a", "-br", "-zst",
              "Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:36 GMT", "Sunday, 06-Nov-94 08:49:38 GMT", "\t"],
            24,
        ),
    ) {
        check_conditional(&data);
    }

    #[test]
    fn queries_agree_with_their_reference(
        data in words(
            &["rating=", "min_rating=", "since=", "until=", "query=", "mentions_technician=", "mentions_service=", "limit=",
              "sort=", "cursor=", "utm=", "r%61ting=", "&", "&", "&", "=", "1", "5", "9", "100", "0", ".", "5", "newest",
              "oldest", "highest", "2024-02-29", "2023-02-29", "AQAFAAAAAHIx", "AQIFAAAAAHIx", "%", "%C3%89", "%c3", "+",
              "x", "%00", "Ünï", "utm_source=a&fbclid=b"],
            40,
        ),
    ) {
        check_query(&data);
    }

    #[test]
    fn crowded_queries_agree_with_their_reference(piece in "[a-z]{1,3}(=[a-z]?)?", count in 60usize..70) {
        check_query(vec![piece; count].join("&").as_bytes());
        check_query(&(0..count).map(|at| format!("p{at}=1")).collect::<Vec<_>>().join("&").into_bytes());
    }

    #[test]
    fn since_paths_agree_with_their_reference(
        data in words(&["2024", "-", "%2d", "%2D", "02", "29", "28", "%32", "0", "%", "/", "%00", "+", "é"], 16),
    ) {
        check_since_path(&data);
    }

    #[test]
    fn cursors_agree_with_their_reference(head in prop::collection::vec(0u8..8, 7), id in "[A-Za-z0-9_/-]{0,66}") {
        use base64::Engine;
        let key = [&head[..], id.as_bytes()].concat();
        check_cursor(base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(&key).as_bytes());
        check_cursor(base64::engine::general_purpose::URL_SAFE.encode(&key).as_bytes());
    }

    #[test]
    fn every_message_has_an_answer_that_fits(
        data in words(
            &["{", "}", "[", "]", ",", ":", "\"jsonrpc\":\"2.0\"", "\"id\":1", "\"id\":\"a\"", "\"id\":null", "\"id\":1.5",
              "\"method\":\"ping\"", "\"method\":\"tools/list\"", "\"method\":\"tools/call\"", "\"params\":{",
              "\"params\":[]", "\"name\":\"get_faq\"", "\"arguments\":{}", "\"result\":{}", "\"error\":{}", "\"a\":",
              "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}", "-1", "0.5", "true", "null", "\"\\u0061\"", " ",
              "{\"jsonrpc\":\"2.0\",\"method\":\"x\"}", "\"protocolVersion\":\"2025-06-18\"", "\"method\":\"initialize\""],
            24,
        ),
    ) {
        check_jsonrpc(&data);
    }

    #[test]
    fn every_head_has_an_answer_that_fits(
        method in prop::sample::select(vec!["POST", "POST", "POST", "POST", "GET", "DELETE", "OPTIONS"]),
        origin in prop::sample::select(vec!["-", "-", "-", "+", "https://reviews.example", "http://localhost:5", "http://[::1]", "https://evil.example", "null"]),
        host in prop::sample::select(vec!["-", "-", "+", "reviews.example:1", "127.0.0.1", "[::1]:8", "evil.example", "a:b:c"]),
        media_type in prop::sample::select(vec!["application/json", "application/json", "Application/Json;x", "text/plain", "-", "+"]),
        version in prop::sample::select(vec!["-", "+", "2025-03-26", "2025-06-18", "2026-07-28", "2026-07-28", "2027-01-01", "x"]),
        session in prop::sample::select(vec!["-", "-", "-", "x", "+"]),
        mcp_method in prop::sample::select(vec!["-", "+", "tools/call", "tools/call", "tools/list", "ping"]),
        mcp_name in prop::sample::select(vec!["-", "+", "get_faq", "get_faq", "=?base64?Z2V0X2ZhcQ==?=", "=?base64?Z2V0X2ZhcQ?=", "x"]),
        body in prop::sample::select(vec![
            "{}", "[]", "{", "1", r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, r#"{"jsonrpc":"2.0","method":"x"}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},5]"#,
            r#"[{"jsonrpc":"2.0","method":"x"}]"#, r#"{"jsonrpc":"2.0","id":1,"id":1,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"x"}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_faq"}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_faq","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"nothing","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2027-01-01","io.modelcontextprotocol/clientCapabilities":{}}}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":5}}}"#,
        ]),
    ) {
        let fields = [method, origin, host, media_type, version, session, mcp_method, mcp_name, "", body];
        check_mcp_head(fields.join("\n").as_bytes());
    }

    #[test]
    fn xml_agrees_with_its_reference(
        data in words(&["<", ">", "&", "\"", "'", "\t", "\r\n", "\0", "\u{fffe}", "\u{ffff}", "\u{fffd}", "]]>", "é"], 40),
    ) {
        check_xml(&data);
    }

    #[test]
    fn insights_agree_with_their_reference(
        data in words(
            &["fee", "Fees", "FEE’S", "fee's", "coffee", "court", "COURTS", "courtly", "naïve", "nai\u{308}ve", "fee\u{301}", " ", " ",
              " the ", " and ", ". ", "! ", "\n", "\n5", "\r", "\u{2028}", "-", "(", "İ", "ſ", "ß", " good ", " not ", " but ", "😀",
              "Mr. ", "…", "\u{a0}", " le la et ", "你好"],
            40,
        ),
    ) {
        check_insights(&data);
    }
}

proptest! {
    // Each case is two dozen checks.
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn every_check_takes_any_bytes(data in prop::collection::vec(any::<u8>(), 0..200)) {
        for (_, check) in CHECKS {
            check(&data);
        }
    }
}

#[test]
fn checks_are_named_once_and_in_order() {
    assert!(CHECKS.is_sorted_by(|(left, _), (right, _)| left < right));
}

/// The check of requests reads what it got, so a row has to be answered to its end.
#[test]
fn every_request_of_a_row_is_answered() {
    let row = ["/reviews.json", "/nowhere", "/api/reviews/search?limit=0"];
    let row = row.map(|target| format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n"));
    assert_eq!(request::responses(row.concat().as_bytes()), [200, 404, 400]);
}
