use super::*;

#[test]
fn fields_that_change_framing_or_meaning_are_left_to_hyper() {
    for field in [
        "Host: a",
        "If-Match: *",
        "If-Unmodified-Since: x",
        "Expect: 100-continue",
        "Upgrade: h2c",
        "Content-Length: 0",
        "Transfer-Encoding: chunked",
        "TE: trailers",
        "Trailer: x",
        "Connection: close",
        "Connection: keep-alive, upgrade",
        "Access-Control-Request-Method: GET",
        "Accept-Encoding: gzip\r\nAccept-Encoding: br",
        "If-None-Match: \"a\"\r\nIf-None-Match: \"b\"",
        "If-Modified-Since: x\r\nif-modified-since: x",
        "Name : value",
        "Name",
        " folded: value",
        "Name: a\rb",
        "Name: a\nHost: b",
        "Name: caf\u{e9}",
        "Name: \0",
        "Name: \x7f",
    ] {
        let request = format!("GET / HTTP/1.1\r\nHost: a\r\n{field}\r\n\r\n");
        assert_eq!(parse_simple(request.as_bytes()), None, "{field:?}");
    }
}

#[test]
fn fields_of_one_name_are_found_from_the_last() {
    let request =
        "GET / HTTP/1.1\r\nX-A: 1\r\nHost: a\r\nx-a:\t2: \r\nX-AB: 3\r\nX: 4\r\nX-A:\r\n\r\n";
    let parsed = parse_simple(request.as_bytes()).expect("a simple request");
    let values = |name| parsed.lines.from_last(name).collect::<Vec<_>>();
    assert_eq!(values("x-a"), [&b""[..], b"2:", b"1"]);
    assert_eq!(values("host"), [b"a"]);
    assert!(values("").is_empty() && values("x-abc").is_empty());
}

#[test]
fn text_ends_at_the_first_byte_that_is_none_wherever_it_stands() {
    for at in 0..20 {
        for byte in 0..=u8::MAX {
            // Tabs are text, and what is behind the first end does not matter.
            for (around, behind) in [(b'a', b'a'), (b'\t', b'\0'), (b'~', u8::MAX), (b' ', 0x7f)] {
                let mut bytes = [around; 20];
                bytes[at] = byte;
                bytes[at + 1..].fill(behind);
                let is_text = |byte: &&u8| matches!(**byte, b' '..=b'~' | b'\t');
                let length = bytes.iter().take_while(is_text).count();
                assert_eq!(text_length(&bytes), length, "{byte} at {at} among {around}");
            }
        }
    }
}
