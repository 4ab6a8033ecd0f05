//! The parsed values; values that flags refuse are tested with the flags.

use super::{parse_base_url, parse_host, parse_listen, parse_size, parse_time};
use std::time::Duration;

#[test]
fn times_and_sizes_have_units() {
    for (text, ms) in [
        ("0", 0),
        ("250ms", 250),
        ("10s", 10_000),
        ("2m", 120_000),
        ("1h", 3_600_000),
        ("366d", 366 * 86_400_000),
    ] {
        assert_eq!(parse_time(text), Ok(Duration::from_millis(ms)));
    }
    for (text, bytes) in [
        ("0", 0),
        ("512B", 512),
        ("16KiB", 16_384),
        ("1MiB", 1_048_576),
        ("1GiB", 1_073_741_824),
    ] {
        assert_eq!(parse_size(text), Ok(bytes));
    }
}

#[test]
fn addresses_and_hosts_are_in_lower_case_without_the_usual_port() {
    for (text, origin) in [
        ("https://Reviews.Example/", "https://reviews.example"),
        ("https://reviews.example:443", "https://reviews.example"),
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
    ] {
        assert_eq!(parse_base_url(text), Ok(origin.to_owned()));
    }
    for (text, host) in [
        ("Reviews.internal", "reviews.internal"),
        ("reviewd:8080", "reviewd:8080"),
        ("[::1]:80", "[::1]"),
    ] {
        assert_eq!(parse_host(text), Ok(host.to_owned()));
    }
}

#[test]
fn a_port_alone_is_on_loopback_and_one_after_a_colon_on_all_addresses() {
    for (text, address) in [
        ("8080", "127.0.0.1:8080"),
        ("localhost:0", "127.0.0.1:0"),
        (":8080", "[::]:8080"),
        ("[::1]:80", "[::1]:80"),
        ("192.0.2.1:65535", "192.0.2.1:65535"),
    ] {
        assert_eq!(parse_listen(text), Ok(address.parse().unwrap()), "{text}");
    }
    for text in [
        "",
        ":",
        "localhost",
        "65536",
        ":65536",
        "a.example:80",
        "127.0.0.1",
        "-1",
    ] {
        assert!(parse_listen(text).is_err(), "{text}");
    }
}
