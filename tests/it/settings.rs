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
    ("--allow-host", &["*", "https://reviewd"], 64),
    ("--no-hub", &["banana"], 64),
    ("--retry-delays", &["0", "soon", "31d"], 64),
    ("--delivery-timeout", &["0s", "6m"], 64),
    ("--callback-ca", &["/nowhere/ca.pem", "/dev/null"], 78),
    ("--allow-private-callbacks", &["banana"], 64),
    ("--callback-ports", &["0", "65536", "9-8", "x"], 64),
    ("--hub-rate", &["-1", "1000001", "99999999999"], 64),
    ("--subscriptions-max", &["0", "10000001"], 64),
    ("--subscriptions-per-host", &["0", "10000001"], 64),
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
    ("--read-rate", &["-1", "1000001"], 64),
    ("--mcp-rate", &["x", "1000001"], 64),
    ("--idle-time", &["0", "25h"], 64),
    ("--hsts", &["-1", "63072001", "31536000"], 64),
    ("--log-format", &["yaml"], 64),
    ("--log-level", &["loud"], 64),
];

/// Flags whose values are secrets, which are not repeated, each with one that cannot be.
const SECRETS: &[(&str, &str, u8)] =
    &[("--store", "mysql://me:0123456789abcdef@db.example/hub", 78)];

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

/// Returns the one line that a refused start prints, after checking status and shape.
pub(crate) fn one_line(output: &Output, status: u8, what: &str) -> String {
    let said = refusal(output, status, what);
    assert_eq!(said.lines().count(), 1, "{what}: {said}");
    assert!(said.starts_with("reviewd: "), "{what}: {said}");
    said
}

/// Returns what a refused start prints: clap's message about a flag, or a line of our own.
fn refusal(output: &Output, status: u8, what: &str) -> String {
    let said = String::from_utf8(output.stderr.clone()).unwrap();
    assert_eq!(output.status.code(), Some(status.into()), "{what}: {said}");
    let starts = ["error: ", "reviewd: "];
    let is_message = starts.iter().any(|start| said.starts_with(start));
    assert!(is_message && output.stdout.is_empty(), "{what}: {said}");
    said
}

#[test]
fn each_impossible_value_is_refused_and_the_message_names_flag_and_value() {
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
            let said = refusal(&output, *status, &what);
            assert!(
                said.contains(flag) && said.contains(value),
                "{what}: {said}"
            );
        }
    }
}

#[test]
fn every_flag_has_values_that_are_refused() {
    let flags = flags();
    assert!((30..=40).contains(&flags.len()), "{flags:?}");
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
fn unknown_flags_and_commands_are_64_with_the_nearest_that_exist() {
    for (arguments, parts) in [
        (&["--lisen", "x"][..], &["'--lisen'", "--listen"][..]),
        (&["serv"], &["'serv'", "'serve'"]),
        (&["serve", "--threads", "-1"], &["'-1'", "--threads"]),
        (&["completions"], &["<SHELL>"]),
        (&["man", "a", "b"], &["'b'"]),
    ] {
        let said = refusal(&run(arguments), 64, &arguments.join(" "));
        for part in parts {
            assert!(said.contains(part), "{arguments:?}: {said}");
        }
    }
    // A command without what it needs prints its help.
    assert_eq!(run(&["hub"]).status.code(), Some(64));
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
            &["--tls-cert", "/a/cert.pem"][..],
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
}

#[test]
fn a_port_in_use_is_69_and_the_line_says_what_to_change() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let refused = |flags: &[&str], what: &str| {
        let state = tempfile::tempdir().unwrap();
        let mut command = command();
        command.args(["serve", "--log-level", "error"]);
        command.env("REVIEWD_LISTEN", "127.0.0.1:0");
        command.env("REVIEWD_STATE", state.path());
        let output = command.args(flags).output().unwrap();
        let said = one_line(&output, 69, what);
        for part in [what, &address, "take another port"] {
            assert!(said.contains(part), "{said}");
        }
    };
    for flag in ["--listen", "--admin-listen"] {
        refused(&[flag, &address], flag);
    }
    // One port for both, found when the second one listens.
    drop(taken);
    refused(
        &["--listen", &address, "--admin-listen", &address],
        "--listen",
    );
}
