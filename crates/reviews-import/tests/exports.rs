//! The exports of `tests/fixtures/exports`: what is read from each, or why it is refused.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use reviewd_wire::date::{Date, Timestamp};
use reviews_import::{ImportSource, Merge, Options, new_file, parse_mapping};
use serde_json::Value;

/// The flags of an import as the command line has them, the file, and what is read: one line for each review, with the
/// keys that have a value, or the error; then the reasons of refused records.
const CASES: &str = include_str!("exports.txt");

/// The kinds of lines in the file of cases.
const RUN: &str = "> ";

#[test]
fn every_export_is_read_as_in_the_file_of_cases() {
    let mut all = String::new();
    for run in CASES.lines().filter_map(|line| line.strip_prefix(RUN)) {
        let (file, flags) = run.split_once(' ').unwrap_or((run, ""));
        writeln!(all, "{RUN}{run}\n{}", outcome(file, flags)).expect("a text");
    }
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/exports.txt");
        fs::write(path, &all).expect("the file can be written");
        return;
    }
    let cases: Vec<&str> = CASES.lines().collect();
    let lines: Vec<&str> = all.lines().collect();
    for (line, expected) in lines.iter().zip(&cases) {
        assert_eq!(line, expected);
    }
    assert_eq!(lines.len(), cases.len());
}

/// Imports a file, and renders the result.
fn outcome(file: &str, flags: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/fixtures/exports")
        .join(file);
    let bytes = fs::read(path).expect("the file is there");
    let now = Timestamp::from_unix(1_800_000_000);
    let mut options = Options::new(now.date());
    options.file_date = Date::new(2026, 11, 1).ok();
    for flag in flags.split("; ").filter(|flag| !flag.is_empty()) {
        set_flag(&mut options, flag);
    }
    let source = match ImportSource::open(file, &bytes, &options) {
        Ok(source) => source,
        Err(error) => return format!("error: {error}\n"),
    };
    let stored = new_file("Crumb Bakery", "Bakery", "https://crumb.example/", now);
    let mut merge = Merge::new(&stored).expect("a new file");
    merge.begin(&source);
    for found in source.records() {
        merge.take(found.expect("the whole source is read"), &source);
    }
    let report = merge.report(false);
    let mut text = format!(
        "{}, {} hidden\n",
        report.sources[0].kind, report.hidden_count
    );
    for refused in &report.rejected {
        let reason = refused.reason.as_deref().unwrap_or_default();
        writeln!(text, "refused: {}: {reason}", refused.line).expect("a text");
    }
    if report.undated_reply_count > 0 {
        let count = report.undated_reply_count;
        writeln!(text, "replies with the day of the review: {count}").expect("a text");
    }
    for note in &report.undated_replies {
        let remark = note.remark.as_deref().unwrap_or_default();
        writeln!(text, "reply: {}: {remark}", note.line).expect("a text");
    }
    for column in &report.sources[0].likely_reply_columns {
        writeln!(text, "may be replies: {column}").expect("a text");
    }
    let rendered: Value = serde_json::from_str(&merge.render(now)).expect("JSON");
    for review in rendered["reviews"].as_array().expect("a list") {
        let mut review = review.as_object().expect("an object").clone();
        review.retain(|key, value| key != "id" && !value.is_null());
        writeln!(text, "{}", Value::Object(review)).expect("a text");
    }
    text
}

fn set_flag(options: &mut Options, flag: &str) {
    let (name, value) = flag.split_once(' ').unwrap_or((flag, ""));
    match name {
        "--map" => options
            .mapping
            .extend(parse_mapping(value).expect("a mapping")),
        "--scale" => options.scale = value.parse().ok(),
        "--source" => options.source = Some(value.to_owned()),
        "--from-platform" => options.is_from_platform = true,
        "--undated" => options.is_undated = true,
        "--no-text" => options.is_without_text = true,
        "--place" => options.place = Some(value.to_owned()),
        "--location" => options.location = Some(value.to_owned()),
        _ => panic!("{flag} is not a flag of these cases"),
    }
}
