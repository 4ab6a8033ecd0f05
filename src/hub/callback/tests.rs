use super::*;

fn parse(text: &str) -> Callback {
    Callback::parse(text).unwrap_or_else(|what| panic!("{text}: {what}"))
}

fn refusal(text: &str) -> String {
    Callback::parse(text).expect_err(text)
}

#[test]
fn https_urls_are_taken_apart() {
    for (text, host, port) in [
        ("https://a.example/cb", "a.example", 443),
        ("https://a.example", "a.example", 443),
        ("https://a.example?x=1", "a.example", 443),
        ("HTTPS://A.Example:8443/", "a.example", 8443),
        ("https://192.0.2.7:65535/cb", "192.0.2.7", 65535),
        ("https://[2001:db8::1]:444/cb", "[2001:db8::1]", 444),
        ("https://[2001:db8::1]", "[2001:db8::1]", 443),
        ("https://a_b.example/", "a_b.example", 443),
    ] {
        let callback = parse(text);
        assert_eq!(
            (callback.host().to_string().as_str(), callback.port()),
            (host, port),
            "{text}"
        );
        assert_eq!(callback.uri(), text);
    }
}

#[test]
fn h23_escaped_unreserved_characters_are_decoded_and_others_kept() {
    assert_eq!(
        parse("https://a.example/%66eed%2Exml%2f%2F?%7e=%20%2B").uri(),
        "https://a.example/feed.xml%2f%2F?~=%20%2B"
    );
    assert_eq!(
        parse("https://a.example/%2566").uri(),
        "https://a.example/%2566"
    );
}

#[test]
fn other_schemes_and_shapes_are_refused() {
    for (text, what) in [
        ("http://a.example/", "must be https, plain http is refused"),
        ("HTTP://a.example/", "must be https, plain http is refused"),
        ("ftp://a.example/", "must be an https URL, not \"ftp\""),
        ("a.example/cb", "must be an absolute https URL"),
        ("", "must be an absolute https URL"),
        ("https://", "must have a host"),
        ("https:///cb", "must have a host"),
        ("https://a.example/#x", "must not have a fragment"),
        ("https://user@a.example/", "must not carry credentials"),
        ("https://user:pw@a.example/", "must not carry credentials"),
        (
            "https://a.example/a b",
            "byte 19 may not appear in a URL unescaped",
        ),
        (
            "https://a.example/\u{e9}",
            "byte 18 may not appear in a URL unescaped",
        ),
        (
            "https://a.example/\r\nHost: b",
            "byte 18 may not appear in a URL unescaped",
        ),
        ("https://a.example/%4", "has a broken percent-escape"),
        ("https://a.example/%zz", "has a broken percent-escape"),
        ("https://a.example/%", "has a broken percent-escape"),
        ("https://a.example/%é", "has a broken percent-escape"),
        (
            "https://a.example/a\\b",
            "\"\\\\\" may not appear in it unescaped",
        ),
        (
            "https://a.example/<script>",
            "\"<\" may not appear in it unescaped",
        ),
        (
            "https://a.example/a[b",
            "\"[\" may not appear in it unescaped",
        ),
    ] {
        assert_eq!(refusal(text), what, "{text}");
    }
}

#[test]
fn ports_are_from_1_to_65535() {
    for text in ["0", "65536", "", "80a", "+80", "000443", "-1", "443:443"] {
        assert!(
            refusal(&format!("https://a.example:{text}/")).starts_with("port "),
            "{text}"
        );
    }
    assert_eq!(parse("https://a.example:00443/").port(), 443);
}

#[test]
fn hosts_that_resolvers_take_for_addresses_are_refused() {
    for host in [
        "127.1",
        "2130706433",
        "017700000001",
        "0x7f000001",
        "0x7f.1",
        "0X7F.0.0.1",
        "127.0.0.0x1",
        "1.2.3.4.5",
        "256.1.1.1",
        "127.0.0.01",
        "1.2.3",
        "0",
    ] {
        let what = refusal(&format!("https://{host}/"));
        assert!(what.contains("is a number"), "{host}: {what}");
    }
}

#[test]
fn hosts_that_are_no_names_are_refused() {
    let long_label = format!("{}.example", "a".repeat(64));
    for host in [
        "a..example",
        ".example",
        "a.example.",
        "a%00.example",
        "[::1",
        "::1",
        "[fe80::1%25eth0]",
        "[127.0.0.1]",
        "a,b",
        "a!b",
        &long_label,
    ] {
        assert!(
            Callback::parse(&format!("https://{host}/")).is_err(),
            "{host}"
        );
    }
    parse(&format!("https://{}.example/", "a".repeat(63)));
    let longest = format!(
        "{}.{}.{}.{}",
        "a".repeat(63),
        "b".repeat(63),
        "c".repeat(63),
        "d".repeat(61)
    );
    assert_eq!(longest.len(), 253);
    parse(&format!("https://{longest}/"));
    assert_eq!(
        refusal(&format!("https://{longest}d/")),
        "host must be at most 253 bytes, not 254"
    );
}

#[test]
fn a_callback_of_2048_bytes_is_taken_and_of_2049_refused() {
    let head = "https://a.example/";
    parse(&format!("{head}{}", "x".repeat(2048 - head.len())));
    assert_eq!(
        refusal(&format!("{head}{}", "x".repeat(2049 - head.len()))),
        "must be at most 2048 bytes, not 2049"
    );
}

#[test]
fn h24_the_callbacks_own_query_is_kept_and_pairs_are_appended() {
    let pairs = [
        ("hub.mode", "subscribe"),
        ("hub.topic", "https://h/x?a=b&c"),
    ];
    let tail = "hub.mode=subscribe&hub.topic=https%3A%2F%2Fh%2Fx%3Fa%3Db%26c";
    for (text, joint) in [
        ("https://a.example/cb", "?"),
        ("https://a.example", "?"),
        ("https://a.example/cb?", ""),
        ("https://a.example/cb?x=%20&y[]=1", "&"),
        ("https://a.example/cb?x&", ""),
    ] {
        assert_eq!(
            parse(text).with_query(&pairs),
            format!("{text}{joint}{tail}")
        );
    }
}

#[test]
fn h25_pairs_of_the_same_name_are_not_overwritten() {
    let callback = parse("https://a.example/cb?hub.mode=mine");
    assert_eq!(
        callback.with_query(&[("hub.mode", "subscribe")]),
        "https://a.example/cb?hub.mode=mine&hub.mode=subscribe"
    );
}

#[test]
fn an_internationalized_host_is_told_how_to_be_written() {
    let error = Callback::parse("https://bücher.example/cb").expect_err("not ASCII");
    assert_eq!(
        error,
        "host must be written in ASCII: an internationalized name in its xn-- form"
    );
    assert!(Callback::parse("https://xn--bcher-kva.example/cb").is_ok());
}
