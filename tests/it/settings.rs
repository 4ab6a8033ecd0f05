//! Settings that cannot be: each is refused with one line that names the flag and its value, and with 64, 69 or 78.

mod handed;
pub(crate) mod state;

use std::net::TcpListener;
use std::process::Output;

use crate::support::program::{command, run};

/// A value for each flag of `serve` that cannot be, and the exit status.
///
/// A flag without a row fails `every_flag_has_values_that_are_refused`.
const IMPOSSIBLE: &[(&str, &[&str], u8)] = &[
    ("--data", &["/nowhere/at/all", "/dev/null"], 66),
    ("--no-watch", &["banana"], 64),
    ("--poll", &["soon", "1", "99ms", "25h", "-1s"], 64),
    ("--data-file-bytes", &["0", "1025MiB", "1GB", "much"], 64),
    ("--mentions-min", &["0", "1000001", "x"], 64),
    ("--search-memory", &["-1", "1TB", "1.5GiB"], 64),
    (
        "--listen",
        &[
            "8080",
            "localhost:8080",
            "127.0.0.1",
            "[::1:80",
            "127.0.0.1:65536",
        ],
        64,
    ),
    ("--listen", &["192.0.2.1:0"], 69),
    ("--no-fast-path", &["banana"], 64),
    (
        "--base-url",
        &[
            "reviews.example",
            "ftp://reviews.example",
            "https://",
            "https://reviews.example/path",
            "https://reviews.example?x",
            "https://me@reviews.example",
        ],
        64,
    ),
    ("--cache-control", &["a\nb", "ä"], 64),
    ("--tls-cert", &["/nowhere/cert.pem"], 64),
    ("--tls-key", &["/nowhere/key.pem"], 64),
    (
        "--trusted-proxy",
        &["10.0.0.1/8", "proxy.example", "0.0.0.0/0", "10.0.0.0/33"],
        64,
    ),
    ("--proxy-field", &["via"], 64),
    (
        "--mcp-allow-origin",
        &["app.example", "https://app.example/path"],
        64,
    ),
    ("--no-hub", &["banana"], 64),
    ("--lease-min", &["0", "1500ms", "31d", "367d", "5"], 64),
    ("--lease-default", &["1s", "31d", "0"], 64),
    ("--lease-max", &["1m", "0", "9d"], 64),
    ("--retry-delays", &["0", "soon", "31d"], 64),
    ("--retry-after-max", &["31d", "x"], 64),
    ("--failures-max", &["0", "1001"], 64),
    ("--delivery-timeout", &["0s", "6m"], 64),
    ("--verify-timeout", &["99ms", "6m"], 64),
    ("--callback-ca", &["/nowhere/ca.pem", "/dev/null"], 78),
    ("--allow-private-callbacks", &["banana"], 64),
    ("--callback-ports", &["0", "65536", "9-8", "x"], 64),
    ("--hub-rate", &["-1", "1000001", "99999999999"], 64),
    ("--pending-max", &["0", "1000001"], 64),
    ("--pending-per-host", &["0", "1000001"], 64),
    ("--subscriptions-max", &["0", "10000001"], 64),
    ("--subscriptions-per-host", &["0", "10000001"], 64),
    ("--deliveries", &["0", "1025"], 64),
    ("--slow-deliveries", &["0", "1025"], 64),
    ("--verifications", &["0", "1025"], 64),
    ("--exchanges-per-host", &["0", "1025"], 64),
    ("--tombstones", &["367d", "x"], 64),
    (
        "--state",
        &["/dev/null", "/dev/null/below", "/proc/nowhere/below"],
        78,
    ),
    ("--threads", &["0", "1025", "-1"], 64),
    ("--drain-time", &["61m", "8"], 64),
    ("--admin-listen", &["9090", "localhost:9090"], 64),
    ("--admin-listen", &["192.0.2.1:0"], 69),
    (
        "--access-log",
        &["/nowhere/access.log", "/dev/null/access.log"],
        78,
    ),
    ("--max-connections", &["0", "1000001"], 64),
    ("--address-connections", &["-1", "1000001"], 64),
    ("--connection-requests", &["0", "1000000001"], 64),
    ("--read-rate", &["-1", "1000001"], 64),
    ("--mcp-rate", &["x", "1000001"], 64),
    ("--header-time", &["10", "0s", "61m"], 64),
    ("--idle-time", &["0", "25h"], 64),
    ("--stall-time", &["99ms", "61m"], 64),
    ("--min-rate", &["2MiB", "1KB"], 64),
    ("--rate-time", &["0", "61m"], 64),
    ("--hsts", &["-1", "63072001", "31536000"], 64),
    ("--header-bytes", &["1023", "2MiB"], 64),
    ("--header-fields", &["0", "101"], 64),
    ("--target-bytes", &["1023", "2MiB"], 64),
    ("--body-time", &["0", "61m"], 64),
    ("--mcp-body-bytes", &["1023", "65MiB"], 64),
    ("--hub-body-bytes", &["1023", "65MiB"], 64),
    ("--http2-streams", &["0", "1001"], 64),
    ("--http2-resets", &["0", "1001"], 64),
    ("--log-format", &["yaml"], 64),
    ("--log-level", &["loud"], 64),
];

/// Flags whose values are secrets, which are not repeated, each with one that cannot be.
const SECRETS: &[(&str, &str, u8)] = &[
    ("--session-key", "0123456789abcdef-almost-a-key", 64),
    ("--store", "mysql://me:0123456789abcdef@db.example/hub", 78),
];

/// What `reviewd serve --help` has of flags.
fn flags() -> Vec<String> {
    let help = String::from_utf8(run(&["serve", "--help"]).stdout).unwrap();
    let lines = help
        .lines()
        .filter_map(|line| line.strip_prefix("      --"));
    lines
        .map(|line| format!("--{}", line.split(' ').next().unwrap_or_default()))
        .collect()
}

/// Returns the one line that a refused start says, after checking status and shape.
pub(crate) fn one_line(output: &Output, status: u8, what: &str) -> String {
    let said = String::from_utf8(output.stderr.clone()).unwrap();
    assert_eq!(output.status.code(), Some(status.into()), "{what}: {said}");
    assert_eq!(said.lines().count(), 1, "{what}: {said}");
    assert!(said.starts_with("reviewd: "), "{what}: {said}");
    said
}

/// How a value is quoted in the line, in pieces without what is escaped.
fn pieces(value: &str) -> Vec<&str> {
    value.split(['\n']).collect()
}

#[test]
fn each_impossible_value_is_refused_in_one_line_that_names_flag_and_value() {
    let temp = tempfile::tempdir().unwrap();
    for (flag, values, status) in IMPOSSIBLE {
        for value in *values {
            let what = format!("{flag} {value}");
            let mut command = command();
            command
                .args(["serve", "--log-level", "error"])
                .env("REVIEWD_STATE", temp.path())
                .env("REVIEWD_LISTEN", "127.0.0.1:0");
            if *flag == "--log-level" {
                command = crate::support::program::command();
                command.arg("serve");
            }
            let output = command.arg(format!("{flag}={value}")).output().unwrap();
            let said = one_line(&output, *status, &what);
            assert!(said.contains(flag), "{what}: {said}");
            for piece in pieces(value) {
                assert!(said.contains(piece), "{what}: {said}");
            }
        }
    }
}

#[test]
fn each_impossible_variable_is_refused_in_one_line_that_names_it() {
    for (flag, values, status) in IMPOSSIBLE.iter().filter(|(_, _, status)| *status == 64) {
        let variable = format!("REVIEWD_{}", flag.trim_matches('-').replace('-', "_"));
        let variable = variable.to_uppercase();
        let value = values[0];
        let output = command().arg("serve").env(&variable, value).output();
        let said = one_line(&output.unwrap(), *status, &variable);
        let is_named = said.contains(&variable) || said.contains(flag);
        assert!(is_named, "{variable}={value}: {said}");
        assert!(
            said.contains(pieces(value)[0]),
            "{variable}={value}: {said}"
        );
    }
}

#[test]
fn every_flag_has_values_that_are_refused() {
    let flags = flags();
    assert!(flags.len() > 50, "{flags:?}");
    for flag in &flags {
        let is_tried = IMPOSSIBLE.iter().any(|(tried, _, _)| tried == flag);
        let is_secret = SECRETS.iter().any(|(secret, _, _)| secret == flag);
        assert!(is_tried || is_secret, "no impossible value for {flag}");
    }
    for (tried, _, _) in IMPOSSIBLE {
        assert!(
            flags.iter().any(|flag| flag == tried),
            "there is no {tried}"
        );
    }
}

#[test]
fn a_refused_secret_is_not_repeated() {
    for (flag, value, status) in SECRETS {
        let variable = format!("REVIEWD_{}", flag.trim_matches('-').replace('-', "_"));
        for by_flag in [true, false] {
            let mut command = command();
            command.arg("serve");
            match by_flag {
                true => command.args([flag, value]),
                false => command.env(variable.to_uppercase(), value),
            };
            let said = one_line(&command.output().unwrap(), *status, flag);
            assert!(
                said.contains(flag) && !said.contains("0123456789"),
                "{said}"
            );
        }
    }
}

#[test]
fn what_is_no_flag_or_no_command_is_told_in_one_line_with_the_nearest_that_is() {
    for (arguments, parts) in [
        (
            &["--lisen", "x"][..],
            &["'--lisen'", "--listen", "reviewd serve --help"][..],
        ),
        (&["serve", "extra"], &["'extra'"]),
        (&["serv"], &["'serv'", "serve", "reviewd --help"]),
        (&["serve", "--poll"], &["--poll <TIME> needs a value"]),
        (
            &["serve", "--threads", "1", "--threads", "2"],
            &["--threads <NUMBER> is given twice"],
        ),
        (
            &["serve", "--threads", "-1"],
            &["--threads '-1'", "from 1 to 1024"],
        ),
        (
            &["serve", "--log-level", "loud"],
            &["must be one of error, warn, info, debug, trace"],
        ),
        (&["completions"], &["<SHELL> is missing"]),
        (&["hub"], &["reviewd hub --help"]),
        (&["man", "a", "b"], &["'b'"]),
        (
            &["check", "--format", "yaml"],
            &["--format 'yaml'", "text, json", "reviewd check --help"],
        ),
    ] {
        let output = run(arguments);
        let said = one_line(&output, 64, &arguments.join(" "));
        for part in parts {
            assert!(said.contains(part), "{arguments:?}: {said}");
        }
    }
}

#[test]
fn a_long_value_is_cut_and_control_characters_are_escaped() {
    let long = "9".repeat(5_000);
    let said = one_line(&run(&["serve", "--threads", &long]), 64, "long");
    assert!(said.len() < 300 && said.contains('…'), "{said}");
    let said = one_line(&run(&["serve", "--threads", "1\n\u{1b}[31mred"]), 64, "red");
    assert!(said.contains(r"1\n\u{1b}[31mred"), "{said}");
}

#[test]
fn an_empty_variable_counts_as_unset_and_a_switch_takes_every_common_word() {
    let mut command = command();
    command.args(["config", "--json"]);
    for flag in flags() {
        let variable = format!("REVIEWD_{}", flag.trim_matches('-').replace('-', "_"));
        command.env(variable.to_uppercase(), "");
    }
    let output = command.output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{said}");
    let settings: Vec<serde_json::Value> = serde_json::from_slice(&output.stdout).unwrap();
    for setting in &settings {
        assert_eq!(setting["origin"], "default", "{setting}");
    }
    for (word, value) in [
        ("1", "true"),
        ("true", "true"),
        ("YES", "true"),
        ("on", "true"),
        ("0", "false"),
        ("False", "false"),
        ("no", "false"),
        ("off", "false"),
    ] {
        let mut command = crate::support::program::command();
        command
            .args(["config", "--json"])
            .env("REVIEWD_NO_HUB", word);
        let output = command.output().unwrap();
        let settings: Vec<serde_json::Value> = serde_json::from_slice(&output.stdout).unwrap();
        let setting = settings
            .iter()
            .find(|setting| setting["flag"] == "--no-hub");
        assert_eq!(setting.unwrap()["value"], value, "{word}");
    }
    // The help names the variables all the same.
    let mut command = crate::support::program::command();
    command.args(["serve", "--help"]).env("REVIEWD_POLL", "");
    let help = String::from_utf8(command.output().unwrap().stdout).unwrap();
    assert!(help.contains("[env: REVIEWD_POLL=]"), "{help}");
}

#[test]
fn flags_that_contradict_each_other_are_64_in_one_line_also_for_config() {
    for (arguments, parts) in [
        (
            &["--lease-min", "31d"][..],
            ["--lease-min 31d", "--lease-max 30d"],
        ),
        (
            &["--lease-max", "1d"],
            ["--lease-default 10d", "--lease-max 1d"],
        ),
        (
            &["--tls-cert", "/a/cert.pem"],
            ["--tls-cert /a/cert.pem", "--tls-key"],
        ),
        (
            &["--tls-key", "/a/key.pem"],
            ["--tls-key /a/key.pem", "--tls-cert"],
        ),
    ] {
        for command in ["serve", "config"] {
            let said = one_line(&run(&[&[command], arguments].concat()), 64, command);
            for part in parts {
                assert!(said.contains(part), "{arguments:?}: {said}");
            }
        }
    }
    let same = ["--listen", "127.0.0.1:1", "--admin-listen", "127.0.0.1:1"];
    let said = one_line(&run(&[&["serve"], &same[..]].concat()), 64, "one port");
    assert!(said.contains("--admin-listen 127.0.0.1:1"), "{said}");
}

#[test]
fn a_port_in_use_is_69_and_the_line_says_what_to_change() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    for flag in ["--listen", "--admin-listen"] {
        let mut command = command();
        command.args(["serve", "--log-level", "error"]);
        command.env("REVIEWD_LISTEN", "127.0.0.1:0");
        let output = command.args([flag, &address]).output().unwrap();
        let said = one_line(&output, 69, flag);
        for part in [flag, &address, "take another port"] {
            assert!(said.contains(part), "{said}");
        }
    }
}
