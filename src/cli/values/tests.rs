//! Values with units, and those of addresses and headers, on both sides of their bounds.

use super::{parse_base_url, parse_header_value, parse_host, parse_size, parse_time, time};
use std::time::Duration;

#[test]
fn times_have_units() {
    assert_eq!(parse_time("250ms"), Ok(Duration::from_millis(250)));
    assert_eq!(parse_time("10s"), Ok(Duration::from_secs(10)));
    assert_eq!(parse_time("2m"), Ok(Duration::from_secs(120)));
    assert_eq!(parse_time("1h"), Ok(Duration::from_secs(3_600)));
    assert_eq!(parse_time("366d"), Ok(Duration::from_secs(366 * 86_400)));
    assert_eq!(parse_time("0"), Ok(Duration::ZERO));
}

#[test]
fn bounds_of_times_hold_on_both_sides() {
    let seconds = time(Duration::from_secs(1), Duration::from_secs(60));
    for (text, fits) in [
        ("1s", true),
        ("1m", true),
        ("999ms", false),
        ("60001ms", false),
    ] {
        assert_eq!(seconds(text).is_ok(), fits, "{text}");
    }
    assert_eq!(seconds("0").unwrap_err(), "must be from 1s to 60s");
}

#[test]
fn sizes_have_units_of_1024() {
    assert_eq!(parse_size("512"), Ok(512));
    assert_eq!(parse_size("512B"), Ok(512));
    assert_eq!(parse_size("16KiB"), Ok(16_384));
    assert_eq!(parse_size("1MiB"), Ok(1_048_576));
    assert_eq!(parse_size("1GiB"), Ok(1_073_741_824));
    assert!(parse_size("1KB").is_err());
    assert!(parse_size("18446744073709551615KiB").is_err());
}

#[test]
fn a_base_url_is_an_origin() {
    assert_eq!(
        parse_base_url("https://reviews.example"),
        Ok("https://reviews.example".to_owned())
    );
    assert_eq!(
        parse_base_url("https://Reviews.Example/"),
        Ok("https://reviews.example".to_owned())
    );
    assert_eq!(
        parse_base_url("http://127.0.0.1:8080"),
        Ok("http://127.0.0.1:8080".to_owned())
    );
    assert_eq!(
        parse_base_url("https://reviews.example:443"),
        Ok("https://reviews.example".to_owned())
    );
}

#[test]
fn a_base_url_with_anything_more_is_refused() {
    for text in [
        "reviews.example",
        "ftp://reviews.example",
        "https://",
        "https://reviews.example/api",
        "https://reviews.example?x",
        "https://reviews.example#x",
        "https://me@reviews.example",
        "https://me:secret@reviews.example",
    ] {
        assert!(parse_base_url(text).is_err(), "{text}");
    }
}

#[test]
fn header_values_are_visible_ascii() {
    assert!(parse_header_value("public, max-age=60").is_ok());
    assert!(parse_header_value("").is_err());
    assert!(parse_header_value("a\r\nb").is_err());
    assert!(parse_header_value("ä").is_err());
}

#[test]
fn hosts_are_names_with_or_without_a_port() {
    for (text, host) in [
        ("reviewd", "reviewd"),
        ("reviewd:8080", "reviewd:8080"),
        ("Reviews.internal", "reviews.internal"),
        ("[::1]:80", "[::1]"),
    ] {
        assert_eq!(parse_host(text), Ok(host.to_owned()));
    }
    for wrong in [
        "",
        "*",
        "*.example",
        "https://reviewd",
        "a b",
        "reviewd/mcp",
        "a:99999",
        "u@a",
    ] {
        assert!(parse_host(wrong).is_err(), "{wrong}");
    }
}
