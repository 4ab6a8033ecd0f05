//! The values that each flag of `serve` refuses, and both sides of its limits.

use std::time::Duration;

use clap::Parser;

use super::ServeArgs;
use crate::cli::command;
use crate::hub::HubSettings;

/// A flag and four values: just below the least valid one, the least, the greatest, and just above the greatest.
const BOUNDS: &[[&str; 5]] = &[
    ["--poll", "99ms", "100ms", "24h", "86400001ms"],
    ["--hsts", "-1", "0", "63072000", "63072001"],
    ["--retry-delays", "0", "1ms", "30d", "2592000001ms"],
    ["--delivery-timeout", "99ms", "100ms", "5m", "300001ms"],
    ["--hub-rate", "-1", "0", "1000000", "1000001"],
    ["--subscriptions-max", "0", "1", "10000000", "10000001"],
    ["--subscriptions-per-host", "0", "1", "10000000", "10000001"],
    ["--threads", "0", "1", "1024", "1025"],
    ["--drain-time", "-1s", "0", "1h", "3600001ms"],
    ["--max-connections", "0", "1", "1000000", "1000001"],
    ["--address-connections", "-1", "0", "1000000", "1000001"],
    ["--read-rate", "-1", "0", "1000000", "1000001"],
    ["--mcp-rate", "-1", "0", "1000000", "99999999999"],
    ["--idle-time", "99ms", "100ms", "24h", "86400001ms"],
];

/// A flag and invalid values, separated by bars.
const REFUSED: &[(&str, &str)] = &[
    ("--poll", "soon|1|-1s"),
    ("--search-memory", "-1|1KB|1.5GiB|100"),
    ("--in-flight-memory", "0|1048575B|1048576|1KB"),
    ("--client-memory", "-1|1KB|8"),
    ("--listen", "65536|localhost|127.0.0.1:65536|127.0.0.1"),
    ("--base-url", "reviews.example|ftp://a.example|https://"),
    ("--base-url", "https://a.example/path|https://a.example?x"),
    ("--base-url", "https://a.example#x|https://me@a.example"),
    ("--cache-control", "|a\nb|ä"),
    ("--trusted-proxy", "10.0.0.1/8|a.example|0.0.0.0/0"),
    ("--mcp-allow-origin", "app.example|https://a.example/b"),
    ("--allow-host", "|*.example|https://reviewd|a b"),
    ("--allow-host", "reviewd/mcp|a:99999|u@a"),
    ("--no-hub", "banana"),
    ("--allow-private-callbacks", "banana"),
    ("--callback-ports", "0|65536|9-8|x"),
    ("--admin-listen", "65536|localhost"),
    ("--log-format", "yaml"),
    ("--log-level", "loud"),
];

/// Flags of files, directories and a secret, which take any text here.
const ANY: &str = "--data --tls-cert --tls-key --store --callback-ca --state --access-log";

fn error(flag: &str, value: &str) -> Option<String> {
    let flag = format!("{flag}={value}");
    // --hsts needs both.
    let line = ["reviewd", "serve", "--tls-cert=a", "--tls-key=b", &flag];
    let error = command().try_get_matches_from(line).err()?;
    Some(error.to_string())
}

#[test]
fn each_flag_is_bounded_where_it_says_on_both_sides() {
    for [flag, values @ ..] in BOUNDS {
        let taken = values.map(|value| error(flag, value).is_none());
        assert_eq!(taken, [false, true, true, false], "{flag} {values:?}");
    }
    assert_eq!(error("--poll", "0"), None);
    assert_eq!(error("--cache-control", &"a".repeat(1_024)), None);
    assert!(error("--cache-control", &"a".repeat(1_025)).is_some());
}

#[test]
fn a_number_out_of_bounds_and_a_word_are_refused_with_the_bounds() {
    for (flag, value) in [
        ("--threads", "0"),
        ("--threads", "abc"),
        ("--threads", "1.5"),
    ] {
        let said = error(flag, value).unwrap_or_default();
        let expected = "must be a whole number from 1 to 1024";
        assert!(said.contains(expected), "{said}");
        assert!(said.contains(value), "{said}");
    }
    assert_eq!(error("--client-memory", "0"), None);
}

#[test]
fn what_a_flag_refuses_is_named_with_it() {
    for (flag, values) in REFUSED {
        for value in values.split('|') {
            let said = error(flag, value).unwrap_or_default();
            let is_named = said.contains(flag) && said.contains(value);
            assert!(is_named, "{flag} {value}: {said}");
        }
    }
}

#[test]
fn every_flag_has_a_row() {
    let program = command();
    let serve = program.find_subcommand("serve").expect("the command");
    for name in serve.get_arguments().filter_map(|flag| flag.get_long()) {
        let flag = format!("--{name}");
        let is_bounded = BOUNDS.iter().any(|row| row[0] == flag);
        let is_refused = REFUSED.iter().any(|row| row.0 == flag);
        assert!(
            is_bounded || is_refused || ANY.split(' ').any(|any| any == flag),
            "{flag}"
        );
    }
}

#[test]
fn flags_of_tls_need_each_other() {
    for (flag, needed) in [
        ("--tls-cert=a", "--tls-key"),
        ("--tls-key=a", "--tls-cert"),
        ("--hsts=1", "--tls-cert"),
    ] {
        let matches = command().try_get_matches_from(["reviewd", "serve", flag]);
        let said = matches.expect_err("it needs another flag").to_string();
        assert!(said.contains(needed), "{said}");
    }
}

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    serve: ServeArgs,
}

/// The settings of the hub with these flags, or the error.
fn hub(flags: &[&str]) -> Result<Option<HubSettings>, String> {
    let line = Line::parse_from([&["reviewd"], flags].concat());
    let config = line.serve.config().map_err(|failure| failure.message)?;
    Ok(config.hub)
}

#[test]
fn the_defaults_of_the_hub_are_those_that_the_documentation_names() {
    let settings = hub(&[]).unwrap().expect("a hub");
    let leases = settings.leases;
    let leases_s = [leases.min_s, leases.default_s, leases.max_s];
    assert_eq!(leases_s, [300, 864_000, 2_592_000]);
    let policy = settings.policy;
    assert_eq!(policy.retry_delays, [60, 900].map(Duration::from_secs));
    assert_eq!(policy.failures_max, 3);
    let quotas = settings.quotas;
    assert_eq!((quotas.requests, quotas.requests_per_host), (1_000, 10));
    assert!(!settings.guard.allow_private);
    assert!(hub(&["--no-hub"]).unwrap().is_none());
}

#[test]
fn flags_of_the_hub_decide_the_limits_that_follow_from_them() {
    let flags = ["--subscriptions-max=500000", "--subscriptions-per-host=50"];
    let quotas = hub(&flags).unwrap().unwrap().quotas;
    assert_eq!((quotas.requests, quotas.requests_per_host), (5_000, 1));
    let why = "--retry-delays: must have at most 1000 times, not 1001";
    for (count, failures_max) in [(3, Ok(4)), (1_000, Ok(1_001)), (1_001, Err(why))] {
        let delays = vec!["1s"; count].join(",");
        let settings = hub(&["--retry-delays", &delays]);
        let found = settings.map(|settings| settings.unwrap().policy.failures_max);
        assert_eq!(found, failures_max.map_err(str::to_owned));
    }
}
