//! `reviewd check DIR`: every error and warning that the service would find in a folder.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use super::exit::{Failure, Status, print};
use super::values::parse_file_size;
use crate::dataset::{self, Decoded, Problem, Problems, Warning};
use crate::server::files;

/// Flags of `check`.
#[derive(Debug, Args)]
pub(super) struct CheckArgs {
    /// Directory with reviews.json and its companions
    #[arg(env = "REVIEWD_DATA", value_name = "DIR", default_value = super::config::DATA_DEFAULT)]
    data: PathBuf,

    /// Output format: lines of text, or one JSON object
    #[arg(
        long,
        env = "REVIEWD_CHECK_FORMAT",
        value_name = "FORMAT",
        default_value = "text"
    )]
    format: Format,

    /// Skip this rule; may be repeated. DIR/check.json skips a rule for single reviews
    #[arg(long, env = "REVIEWD_CHECK_ALLOW", value_name = "RULE", value_delimiter = ',',
        value_parser = PossibleValuesParser::new(dataset::rules()), hide_possible_values = true)]
    allow: Vec<String>,

    /// Fail on warnings too
    #[arg(long, env = "REVIEWD_CHECK_STRICT")]
    strict: bool,

    /// Largest data file that is read
    #[arg(long, env = "REVIEWD_DATA_FILE_BYTES", value_name = "SIZE", default_value = "256MiB", value_parser = parse_file_size)]
    data_file_bytes: u64,
}

/// How the findings are printed.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// One line for each finding
    Text,
    /// One object
    Json,
}

/// Checks a folder and prints what was found. Ends with 0 if the service would serve it, and with 65 if it would not, or
/// if there are warnings and `--strict`.
///
/// # Errors
/// 66 where the folder does not exist, 65 and 74 where its files cannot be read, 74 where nothing can be printed.
pub(super) fn run(args: &CheckArgs) -> Result<ExitCode, Failure> {
    let files = files::read(&args.data, args.data_file_bytes)?;
    let result = dataset::decode(files, crate::clock::now()).and_then(|mut decoded| {
        dataset::refuse_placeholders(&decoded.dataset)?;
        let is_allowed = |warning: &Warning| args.allow.iter().any(|rule| rule == warning.code);
        decoded.warnings.retain(|warning| !is_allowed(warning));
        Ok(decoded)
    });
    let report = match args.format {
        Format::Text => render_text(&args.data, &result),
        Format::Json => render_json(&result),
    };
    print(report.as_bytes())?;
    match result {
        Ok(decoded) if decoded.warnings.is_empty() || !args.strict => Ok(ExitCode::SUCCESS),
        _ => Ok(Status::Data.into()),
    }
}

fn render_text(directory: &Path, result: &Result<Decoded, Problems>) -> String {
    let directory = directory.display();
    let mut out = String::new();
    // A string takes everything.
    let _always = match result {
        Ok(decoded) => {
            for warning in &decoded.warnings {
                out += &format!("warning: {warning} [{}]\n", warning.code);
            }
            let published = decoded.dataset.reviews.len();
            let unverified = decoded.dataset.unverified_count;
            let warnings = counted(decoded.warnings.len() as u64, "warning");
            writeln!(
                out,
                "{directory}: valid, {published} published, {unverified} unverified, {warnings}"
            )
        }
        Err(problems) => {
            for problem in problems.kept() {
                out += &format!("error: {problem}\n");
            }
            let more = problems.total() - problems.kept().len() as u64;
            if more > 0 {
                out += &format!("and {more} more\n");
            }
            let errors = counted(problems.total(), "error");
            writeln!(out, "{directory}: not valid, {errors}")
        }
    };
    out
}

fn counted(count: u64, noun: &str) -> String {
    match count {
        0 => format!("no {noun}s"),
        1 => format!("1 {noun}"),
        _ => format!("{count} {noun}s"),
    }
}

fn render_json(result: &Result<Decoded, Problems>) -> String {
    let decoded = result.as_ref().ok();
    let problems = result.as_ref().err();
    let errors = problems.map_or(&[][..], Problems::kept);
    let errors: Vec<Value> = errors.iter().map(render_problem).collect();
    let warnings = decoded.map_or(&[][..], |decoded| &decoded.warnings);
    let warnings: Vec<Value> = warnings.iter().map(render_warning).collect();
    let report = json!({
        "valid": result.is_ok(),
        "published_count": decoded.map(|decoded| decoded.dataset.reviews.len()),
        "unverified_count": decoded.map(|decoded| decoded.dataset.unverified_count),
        "error_count": problems.map_or(0, Problems::total),
        "errors": errors,
        "warnings": warnings,
    });
    format!("{report}\n")
}

fn render_problem(problem: &Problem) -> Value {
    json!({
        "file": problem.file,
        "place": problem.path,
        "line": problem.position.map(|position| position.line),
        "column": problem.position.map(|position| position.column),
        "value": problem.value,
        "message": problem.message,
    })
}

fn render_warning(warning: &Warning) -> Value {
    json!({
        "code": warning.code,
        "file": warning.file,
        "place": warning.path,
        "message": warning.message,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::{Files, decode, embedded};
    use crate::wire::date::Timestamp;

    fn sample() -> Result<Decoded, Problems> {
        decode(embedded(), Timestamp::from_unix(4_000_000_000))
    }

    fn broken(reviews: &str) -> Result<Decoded, Problems> {
        let files = Files {
            reviews: reviews.into(),
            ..Files::default()
        };
        decode(files, Timestamp::from_unix(4_000_000_000))
    }

    #[test]
    fn text_ends_with_a_line_that_sums_up() {
        let text = render_text(Path::new("d"), &sample());
        assert!(
            text.lines().last().unwrap().starts_with("d: valid, "),
            "{text}"
        );
        assert!(
            text.lines()
                .rev()
                .skip(1)
                .all(|line| line.starts_with("warning: ")),
            "{text}"
        );
        let text = render_text(Path::new("d"), &broken("[]"));
        assert_eq!(
            text,
            "error: reviews.json: an array is not an object\nd: not valid, 1 error\n"
        );
        let text = render_text(
            Path::new("d"),
            &broken(&format!("{{\"reviews\":[{}1]}}", "1,".repeat(100))),
        );
        assert!(
            text.ends_with("and 3 more\nd: not valid, 103 errors\n"),
            "{text}"
        );
    }

    #[test]
    fn json_holds_the_same() {
        let value: serde_json::Value = serde_json::from_str(&render_json(&sample())).unwrap();
        assert_eq!(value["valid"], true);
        assert_eq!(
            value["warnings"].as_array().map(Vec::len),
            Some(sample().unwrap().warnings.len())
        );
        let value: serde_json::Value = serde_json::from_str(&render_json(&broken("[]"))).unwrap();
        let expected = serde_json::json!({
            "valid": false, "published_count": null, "unverified_count": null, "error_count": 1,
            "errors": [{"file": "reviews.json", "place": "", "line": null, "column": null, "value": "an array", "message": "is not an object"}],
            "warnings": []
        });
        assert_eq!(value, expected);
    }
}
