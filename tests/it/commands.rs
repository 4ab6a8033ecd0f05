//! The commands that are for those who run the program: healthcheck, config, completions, man.

use crate::support::Program;
use crate::support::program::{command, run};

#[test]
fn healthcheck_ends_with_0_for_a_good_answer_and_1_for_none() {
    let program = Program::serve(&[]);
    let base = format!("http://{}", program.address());
    for (url, status) in [
        (format!("{base}/readyz"), 0),
        (format!("{base}/nowhere"), 1),
        ("http://127.0.0.1:1/".to_owned(), 1),
        ("ftp://127.0.0.1/".to_owned(), 64),
        ("127.0.0.1:9090/readyz".to_owned(), 64),
    ] {
        let output = run(&["healthcheck", &url]);
        assert_eq!(output.status.code(), Some(status), "{url}");
    }
}

#[test]
fn config_tells_each_setting_and_where_it_came_from() {
    let mut command = command();
    let password = "0123456789abcdef";
    command
        .args(["config", "--json", "--threads", "3"])
        .env("REVIEWD_POLL", "1m")
        .env("REVIEWD_NO_HUB", "true")
        .env(
            "REVIEWD_STORE",
            format!("postgres://me:{password}@db.example/hub"),
        );
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(!text.contains(password), "a secret is not shown");
    let settings: Vec<serde_json::Value> = serde_json::from_str(&text).unwrap();
    let setting = |flag: &str| {
        let found = settings.iter().find(|setting| setting["flag"] == flag);
        let found = found.unwrap_or_else(|| panic!("no {flag}"));
        (found["value"].clone(), found["origin"].as_str().unwrap())
    };
    assert_eq!(setting("--threads"), ("3".into(), "flag"));
    assert_eq!(setting("--poll"), ("1m".into(), "environment"));
    assert_eq!(setting("--no-hub"), ("true".into(), "environment"));
    assert_eq!(setting("--store").1, "environment");
    assert_eq!(setting("--listen"), ("127.0.0.1:8080".into(), "default"));
    assert_eq!(setting("--base-url"), (serde_json::Value::Null, "default"));
    let table = String::from_utf8(run(&["config"]).stdout).unwrap();
    assert_eq!(table.lines().count(), settings.len());
    assert_eq!(run(&["config", "--threads", "0"]).status.code(), Some(64));
}

#[test]
fn shells_and_the_manual_know_every_command() {
    for (arguments, parts) in [
        (
            &["completions", "bash"][..],
            ["--admin-listen", "healthcheck"],
        ),
        (&["man"], [".TH reviewd 1", "Exit status"]),
        (&["man", "serve"], ["REVIEWD_ADMIN_LISTEN", "SIGHUP"]),
    ] {
        let text = String::from_utf8(run(arguments).stdout).unwrap();
        for part in parts {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}
