//! `reviewd check DIR`: every error and warning that the service would find in a folder.

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
pub(super) fn run(args: &CheckArgs) -> Result<ExitCode, Failure> {
    let files = files::read(&args.data, args.data_file_bytes)?;
    let result = dataset::decode(files, crate::clock::now()).map(|mut decoded| {
        let is_allowed = |warning: &Warning| args.allow.iter().any(|rule| rule == warning.code);
        decoded.warnings.retain(|warning| !is_allowed(warning));
        decoded
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
    let mut lines = Vec::new();
    let end = match result {
        Ok(decoded) => {
            let warnings = decoded.warnings.iter();
            lines.extend(warnings.map(|warning| format!("warning: {warning} [{}]", warning.code)));
            let published = decoded.dataset.reviews.len();
            let unverified = decoded.dataset.unverified_count;
            let warnings = counted(lines.len() as u64, "warning");
            format!("valid, {published} published, {unverified} unverified, {warnings}")
        }
        Err(problems) => {
            let kept = problems.kept().iter();
            lines.extend(kept.map(|problem| format!("error: {problem}")));
            let more = problems.total() - problems.kept().len() as u64;
            if more > 0 {
                lines.push(format!("and {more} more"));
            }
            format!("not valid, {}", counted(problems.total(), "error"))
        }
    };
    lines.push(format!("{}: {end}\n", directory.display()));
    lines.join("\n")
}

fn counted(count: u64, noun: &str) -> String {
    match count {
        0 => format!("no {noun}s"),
        1 => format!("1 {noun}"),
        _ => format!("{count} {noun}s"),
    }
}

fn render_json(result: &Result<Decoded, Problems>) -> String {
    let (decoded, problems) = (result.as_ref().ok(), result.as_ref().err());
    let errors = problems.map_or(&[][..], Problems::kept);
    let errors: Vec<Value> = errors.iter().map(render_problem).collect();
    let warnings = decoded.map_or(&[][..], |decoded| &decoded.warnings);
    let warnings = warnings.iter().map(|warning| {
        json!({
            "code": warning.code,
            "file": warning.file,
            "place": warning.path,
            "message": warning.message,
        })
    });
    let report = json!({
        "valid": result.is_ok(),
        "published_count": decoded.map(|decoded| decoded.dataset.reviews.len()),
        "unverified_count": decoded.map(|decoded| decoded.dataset.unverified_count),
        "error_count": problems.map_or(0, Problems::total),
        "errors": errors,
        "warnings": Vec::from_iter(warnings),
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
