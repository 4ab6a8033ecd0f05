//! The commands for operators: healthcheck, config, export, insights.

use crate::support::program::{Ended, command, run};
use crate::support::{Program, service};

#[test]
fn healthcheck_ends_with_0_for_a_good_answer_and_1_for_none() {
    let base = format!("http://{}", service().address());
    for (url, status) in [
        (&*format!("{base}/readyz"), 0),
        (&*format!("{base}/nowhere"), 1),
        ("http://127.0.0.1:1/", 1),
        ("ftp://127.0.0.1/", 64),
        ("127.0.0.1:9090/readyz", 64),
    ] {
        assert_eq!(run(&["healthcheck", url]).status, Some(status), "{url}");
    }
}

#[test]
fn config_lists_each_setting_with_its_origin() {
    let mut command = command();
    let password = "0123456789abcdef";
    let store = format!("postgres://me:{password}@db.example/hub");
    command.args(["config", "--json", "--threads", "3"]);
    command
        .env("REVIEWD_POLL", "1m")
        .env("REVIEWD_STORE", store);
    let text = Ended::of(&mut command).with(0);
    assert!(!text.contains(password), "a secret is not shown");
    let settings: Vec<serde_json::Value> = serde_json::from_str(&text).unwrap();
    for (flag, value, origin) in [
        ("--threads", Some("3"), "flag"),
        ("--poll", Some("1m"), "environment"),
        ("--listen", Some("127.0.0.1:8080"), "default"),
        ("--base-url", Some("http://127.0.0.1:8080"), "computed"),
        ("--hsts", None, "default"),
    ] {
        let mut settings = settings.iter();
        let setting = settings.find(|setting| setting["flag"] == flag).unwrap();
        let found = (setting["value"].as_str(), setting["origin"].as_str());
        assert_eq!(found, (value, Some(origin)), "{flag}");
    }
    let mut computed = settings.iter().filter(|one| one["origin"] == "computed");
    assert!(computed.all(|one| one["value"].is_string()), "{text}");
    let table = run(&["config"]).with(0);
    assert_eq!(table.lines().count(), settings.len());
    run(&["config", "--threads", "0"]).with(64);
}

#[test]
fn export_prints_every_published_review_as_json_lines() {
    let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/data");
    let lines = run(&["export", sample, "--format", "ndjson"]).with(0);
    let exported: Vec<serde_json::Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let served = service().get("/reviews.json").json();
    assert_eq!(exported, *served["reviews"].as_array().unwrap());
}

#[test]
fn export_prints_a_table_with_a_row_for_each_review() {
    let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/data");
    let table = run(&["export", sample]).with(0);
    assert!(table.starts_with("id,author,rating,date,text,"));
    let served = service().get("/reviews.json").json();
    let reviews = served["reviews"].as_array().unwrap();
    // A line feed in a text stands alone.
    assert_eq!(table.matches("\r\n").count(), reviews.len() + 1);
    run(&["export", sample, "--format", "xml"]).with(64);
}

#[test]
fn insights_prints_the_document_that_is_served() {
    let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/data");
    let program = Program::serve(&["--data", sample]);
    let mut served = crate::support::get(program.address(), "/insights.json", &[]).body;
    served.push(b'\n');
    assert!(run(&["insights", sample]).stdout.as_bytes() == served);
}

#[test]
fn insights_explains_what_an_aspect_was_counted_from() {
    let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/data");
    let text = run(&["insights", sample, "--explain", "fees"]).with(0);
    for part in ["\nnegative  ", "[fees]"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    run(&["insights", sample, "--explain", "none"]).with(64);
}
