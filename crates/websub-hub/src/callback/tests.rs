use super::*;

fn parse(text: &str) -> Callback {
    Callback::parse(text).unwrap_or_else(|what| panic!("{text}: {what}"))
}

fn refusal(text: &str) -> String {
    Callback::parse(text).expect_err(text).to_string()
}

#[test]
fn https_urls_are_taken_apart() {
    for (text, host, port) in [
        ("https://a.example/cb", "a.example", 443),
        ("https://a.example?x=1", "a.example", 443),
        ("HTTPS://A.Example:8443/", "a.example", 8443),
        ("https://a.example:00443/", "a.example", 443),
        ("https://192.0.2.7:65535/cb", "192.0.2.7", 65535),
        ("https://[2001:db8::1]:444/cb", "[2001:db8::1]", 444),
        ("https://[2001:db8::1]", "[2001:db8::1]", 443),
        ("https://a_b.xn--p1ai", "a_b.xn--p1ai", 443),
    ] {
        let callback = parse(text);
        assert_eq!(callback.host().to_string(), host, "{text}");
        assert_eq!(callback.port(), port, "{text}");
        assert_eq!(callback.uri(), text);
    }
}

#[test]
fn escaped_unreserved_characters_are_decoded_and_others_kept() {
    let escaped = "https://a.example/%66eed%2Exml%2f%2F?%7e=%20%2B&%2566";
    let decoded = "https://a.example/feed.xml%2f%2F?~=%20%2B&%2566";
    assert_eq!(parse(escaped).uri(), decoded);
}

#[test]
fn other_schemes_and_shapes_are_refused() {
    let unescaped = "byte 18 must be percent-encoded in a URL";
    let unicode = "host must be ASCII: an internationalized name must be in its xn-- form";
    for (text, what) in [
        ("HTTP://a.example/", "must be an https URL, not \"http\""),
        ("ftp://a.example/", "must be an https URL, not \"ftp\""),
        ("a.example", "must be an absolute https URL"),
        ("", "must be an absolute https URL: empty string"),
        ("https://a.example/#x", "must not have a fragment"),
        ("https://user:pw@a.example/", "must not contain credentials"),
        ("https://a.example/\u{e9}", unescaped),
        ("https://a.example/\r\nHost: b", unescaped),
        ("https://a.example/%4", "has an invalid percent-encoding"),
        ("https://a.example/%zz", "has an invalid percent-encoding"),
        ("https://a.example/%é", "has an invalid percent-encoding"),
        ("https://bücher.example/cb", unicode),
    ] {
        assert_eq!(refusal(text), what, "{text}");
    }
    for text in ["a.example/cb", "https:///cb", "https://a.example/<b>"] {
        let what = refusal(text);
        let begin = "must be an absolute https URL: ";
        assert!(what.starts_with(begin), "{what}");
    }
    for port in ["0", "65536", "", "80a"] {
        let what = refusal(&format!("https://a.example:{port}/"));
        assert!(what.starts_with("port "), "{port}: {what}");
    }
}

#[test]
fn hosts_that_are_neither_names_nor_addresses_are_refused() {
    let hosts = "a%00.example [::1 ::1 [fe80::1%25eth0] [127.0.0.1] a.example:443:443";
    for host in hosts.split(' ') {
        refusal(&format!("https://{host}/"));
    }
    let what = refusal("https://[127.0.0.1]/");
    assert_eq!(what, "host \"[127.0.0.1]\" is not an IPv6 address");
}

#[test]
fn hosts_that_no_lookup_can_find_are_refused() {
    let label = "x".repeat(64);
    for host in [
        "",
        ".",
        ".a.example",
        "a..b.example",
        "*.a.example",
        "a.example,b.example",
        "a$.example",
        label.as_str(),
    ] {
        for port in ["", ":443"] {
            refusal(&format!("https://{host}{port}/x"));
        }
    }
    assert_eq!(refusal("https://:443/"), "must have a host");
    let what = refusal("https://*.a.example/x");
    assert_eq!(what, "host \"*.a.example\" is not a name");
    let labels = [&label[..63]; 4].join(".");
    parse(&format!("https://{}/", &labels[..253]));
    refusal(&format!("https://{}/", &labels[..254]));
    parse("https://a.example./");
}

#[test]
fn a_callback_of_2048_bytes_is_taken_and_of_2049_refused() {
    let longest = format!("{:x<2048}", "https://a.example/");
    parse(&longest);
    let what = refusal(&format!("{longest}x"));
    assert_eq!(what, "must be at most 2048 bytes, not 2049");
}

#[test]
fn the_callbacks_own_query_is_kept_and_pairs_are_appended() {
    let pairs = [
        ("hub.mode", "subscribe"),
        ("hub.topic", "https://h/x?a=b&c"),
    ];
    let tail = "hub.mode=subscribe&hub.topic=https%3A%2F%2Fh%2Fx%3Fa%3Db%26c";
    for (text, joint) in [
        ("https://a.example", "?"),
        ("https://a.example/cb?", ""),
        ("https://a.example/cb?x=%20&y[]=1", "&"),
        ("https://a.example/cb?x&", ""),
        ("https://a.example/cb?hub.mode=mine", "&"),
    ] {
        let asked = parse(text).with_query(&pairs);
        assert_eq!(asked, format!("{text}{joint}{tail}"));
    }
}

#[test]
fn operators_see_no_query_and_logs_no_path() {
    let callback = parse("https://a.example:8443/cb?token=secret?");
    assert_eq!(callback.without_query(), "https://a.example:8443/cb?…");
    let logged = "Callback(https://a.example:8443/… (39 bytes))";
    assert_eq!(format!("{callback:?}"), logged);
    let whole = "https://a.example/cb";
    assert_eq!(parse(whole).without_query(), whole);
}
