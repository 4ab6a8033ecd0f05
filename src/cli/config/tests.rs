//! What each flag of `serve` takes and refuses, on both sides of its bounds.

use crate::cli::command;

/// A flag, values that it takes, and values that it refuses.
type Row = (
    &'static str,
    &'static [&'static str],
    &'static [&'static str],
);

const RATES: (&[&str], &[&str]) = (&["0", "1000000"], &["-1", "1000001", "99999999999"]);

const ROWS: &[Row] = &[
    (
        "--poll",
        &["0", "100ms", "24h"],
        &["soon", "1", "99ms", "86400001ms", "-1s"],
    ),
    ("--mentions-min", &["1", "1000000"], &["0", "1000001", "x"]),
    (
        "--search-memory",
        &["0", "512B", "1GiB"],
        &["-1", "1KB", "1.5GiB", "18446744073709551615KiB"],
    ),
    (
        "--listen",
        &["[::]:80"],
        &[
            "8080",
            "localhost:8080",
            "127.0.0.1",
            "[::1:80",
            "127.0.0.1:65536",
        ],
    ),
    (
        "--base-url",
        &[
            "https://reviews.example",
            "https://Reviews.Example/",
            "http://127.0.0.1:8080",
        ],
        &[
            "reviews.example",
            "ftp://reviews.example",
            "https://",
            "https://reviews.example/path",
            "https://reviews.example?x",
            "https://reviews.example#x",
            "https://me@reviews.example",
            "https://me:secret@reviews.example",
        ],
    ),
    (
        "--cache-control",
        &["public, max-age=60"],
        &["", "a\nb", "ä"],
    ),
    ("--hsts", &["0", "63072000"], &["-1", "63072001"]),
    (
        "--trusted-proxy",
        &["10.0.0.0/8"],
        &["10.0.0.1/8", "proxy.example", "0.0.0.0/0", "10.0.0.0/33"],
    ),
    ("--proxy-field", &["forwarded"], &["via"]),
    (
        "--mcp-allow-origin",
        &["*", "https://app.example"],
        &["app.example", "https://app.example/path"],
    ),
    (
        "--allow-host",
        &["reviewd", "Reviews.internal", "[::1]:80"],
        &[
            "",
            "*",
            "*.example",
            "https://reviewd",
            "a b",
            "reviewd/mcp",
            "a:99999",
            "u@a",
        ],
    ),
    ("--no-hub", &[], &["banana"]),
    (
        "--retry-delays",
        &["1ms", "30d"],
        &["0", "soon", "2592000001ms"],
    ),
    (
        "--delivery-timeout",
        &["100ms", "5m"],
        &["99ms", "300001ms"],
    ),
    ("--allow-private-callbacks", &[], &["banana"]),
    (
        "--callback-ports",
        &["443,1024-"],
        &["0", "65536", "9-8", "x"],
    ),
    ("--hub-rate", RATES.0, RATES.1),
    (
        "--subscriptions-max",
        &["1", "10000000"],
        &["0", "10000001"],
    ),
    (
        "--subscriptions-per-host",
        &["1", "10000000"],
        &["0", "10000001"],
    ),
    ("--threads", &["1", "1024"], &["0", "1025", "-1"]),
    ("--drain-time", &["0", "1h"], &["-1s", "3600001ms", "8"]),
    (
        "--admin-listen",
        &["127.0.0.1:9090"],
        &["9090", "localhost:9090"],
    ),
    ("--log-format", &["json"], &["yaml"]),
    ("--log-level", &["trace"], &["loud"]),
    ("--max-connections", &["1", "1000000"], &["0", "1000001"]),
    (
        "--address-connections",
        &["0", "1000000"],
        &["-1", "1000001"],
    ),
    ("--read-rate", RATES.0, RATES.1),
    ("--mcp-rate", RATES.0, RATES.1),
    ("--idle-time", &["100ms", "24h"], &["99ms", "86400001ms"]),
];

/// Flags of files, directories and a secret, which take any text here.
const ANY: &[&str] = &[
    "--data",
    "--tls-cert",
    "--tls-key",
    "--store",
    "--callback-ca",
    "--state",
    "--access-log",
];

fn error(arguments: &[&str]) -> Option<String> {
    let line = [&["reviewd", "serve"], arguments].concat();
    let error = command().try_get_matches_from(line).err()?;
    Some(error.to_string())
}

#[test]
fn each_flag_is_bounded_where_it_says_on_both_sides() {
    for (flag, taken, refused) in ROWS {
        // --hsts needs both.
        let tls = ["--tls-cert=a", "--tls-key=b"];
        for value in *taken {
            let said = error(&[&[format!("{flag}={value}").as_str()], &tls[..]].concat());
            assert_eq!(said, None, "{flag} {value}");
        }
        for value in *refused {
            let said = error(&[&[format!("{flag}={value}").as_str()], &tls[..]].concat());
            let said = said.unwrap_or_else(|| panic!("{flag} takes {value}"));
            assert!(said.contains(flag) && said.contains(value), "{said}");
        }
    }
    assert_eq!(error(&["--cache-control", &"a".repeat(1_024)]), None);
    assert!(error(&["--cache-control", &"a".repeat(1_025)]).is_some());
}

#[test]
fn every_flag_has_a_row() {
    let program = command();
    let serve = program.find_subcommand("serve").expect("the command");
    let flags = serve.get_arguments().filter_map(|flag| flag.get_long());
    let flags: Vec<String> = flags.map(|name| format!("--{name}")).collect();
    for flag in &flags {
        let has_row = ROWS.iter().any(|(known, ..)| known == flag);
        assert!(has_row || ANY.contains(&flag.as_str()), "{flag}");
    }
    assert_eq!(flags.len(), ROWS.len() + ANY.len());
}

#[test]
fn flags_of_tls_need_each_other() {
    for (flag, needed) in [
        ("--tls-cert=a", "--tls-key"),
        ("--tls-key=a", "--tls-cert"),
        ("--hsts=1", "--tls-cert"),
    ] {
        let said = error(&[flag]).expect("it needs another flag");
        assert!(said.contains(needed), "{said}");
    }
}
