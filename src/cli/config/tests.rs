//! The bounds of every flag that has some: the last value that is taken and the first that is not, on either side.

use crate::cli::command;

/// A flag, and four of its values: just below what is taken, the least and the greatest of that, and just above.
type Row = (&'static str, [&'static str; 4]);

/// A flag of `serve` whose value is a number, a size or a time and that has no row fails
/// `every_flag_that_counts_or_measures_has_a_row`.
const BOUNDS: &[Row] = &[
    // 0 is allowed as well: no polling.
    ("--poll", ["99ms", "100ms", "24h", "86400001ms"]),
    ("--data-file-bytes", ["0", "1", "1GiB", "1073741825"]),
    ("--mentions-min", ["0", "1", "1000000", "1000001"]),
    ("--retry-delays", ["0", "1ms", "30d", "2592000001ms"]),
    ("--delivery-timeout", ["99ms", "100ms", "5m", "300001ms"]),
    ("--hub-rate", ["-1", "0", "1000000", "1000001"]),
    ("--subscriptions-max", ["0", "1", "10000000", "10000001"]),
    (
        "--subscriptions-per-host",
        ["0", "1", "10000000", "10000001"],
    ),
    ("--threads", ["0", "1", "1024", "1025"]),
    ("--drain-time", ["-1s", "0", "1h", "3600001ms"]),
    ("--max-connections", ["0", "1", "1000000", "1000001"]),
    ("--address-connections", ["-1", "0", "1000000", "1000001"]),
    ("--read-rate", ["-1", "0", "1000000", "1000001"]),
    ("--mcp-rate", ["-1", "0", "1000000", "1000001"]),
    ("--hsts", ["-1", "0", "63072000", "63072001"]),
    ("--idle-time", ["99ms", "100ms", "24h", "86400001ms"]),
];

/// Any size will do: what is more than the texts need is not taken.
const WITHOUT_BOUNDS: &[&str] = &["--search-memory"];

fn is_taken(flag: &str, value: &str) -> bool {
    let line = ["reviewd", "serve", &format!("{flag}={value}")];
    match command().try_get_matches_from(line) {
        Ok(_) => true,
        Err(error) => {
            assert!(error.to_string().contains(flag), "{flag}={value}: {error}");
            false
        }
    }
}

#[test]
fn each_flag_is_bounded_where_it_says_on_both_sides() {
    for (flag, values) in BOUNDS {
        let taken = values.map(|value| is_taken(flag, value));
        assert_eq!(taken, [false, true, true, false], "{flag} {values:?}");
    }
    assert!(is_taken("--poll", "0"));
}

#[test]
fn every_flag_that_counts_or_measures_has_a_row() {
    let program = command();
    let serve = program.find_subcommand("serve").expect("the command");
    let mut bounded = 0;
    for flag in serve.get_arguments() {
        let (Some(name), Some([value])) = (flag.get_long(), flag.get_value_names()) else {
            continue;
        };
        let name = format!("--{name}");
        let is_bounded =
            ["NUMBER", "COUNT", "SIZE", "TIME", "TIMES", "SECONDS"].contains(&value.as_str());
        if is_bounded && !WITHOUT_BOUNDS.contains(&name.as_str()) {
            bounded += 1;
            let has_row = BOUNDS.iter().any(|(flag, _)| *flag == name);
            assert!(has_row, "{name} has no row");
        }
    }
    assert_eq!(bounded, BOUNDS.len());
}

#[test]
fn a_header_that_is_set_has_1024_bytes_at_most() {
    assert!(is_taken("--cache-control", &"a".repeat(1_024)));
    assert!(!is_taken("--cache-control", &"a".repeat(1_025)));
}
