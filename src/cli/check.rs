//! `reviewd check DIR`: prints every error and warning that the service would find in a data directory.

use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::PossibleValuesParser;
use serde_json::json;

use super::config::DATA_DEFAULT;
use super::exit::{Failure, Status, print};
use super::suggestions::suggestions;
use super::values::OutputFormat;
use crate::clock;
use crate::dataset::{self, Decoded, Problem};
use crate::model::sync::{SYNC_BYTES_MAX, SYNC_FILE, SyncState};
use crate::notices;
use crate::server::files;

#[derive(Args)]
pub(super) struct CheckArgs {
    /// Directory with reviews.json and the files beside it
    #[arg(value_name = "DIR", default_value = DATA_DEFAULT)]
    data: PathBuf,
    /// Output format: lines of text, or one JSON object
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: OutputFormat,
    /// Skip this rule; may be repeated. DIR/check.json skips a rule for single reviews
    #[arg(long, value_name = "RULE", value_delimiter = ',', hide_possible_values = true,
        value_parser = PossibleValuesParser::new(dataset::rules()))]
    allow: Vec<String>,
    /// Fail on warnings too
    #[arg(long)]
    strict: bool,
}

/// Checks a data directory and prints the result; fails if the service would not serve it, or with `--strict` if there
/// are warnings.
pub(super) fn run(args: &CheckArgs) -> Result<(), Failure> {
    let decoded = dataset::decode(files::read(&args.data)?, clock::now());
    let notices = notices::read(&files::read_notices(&args.data)?);
    let mut errors: Vec<&Problem> = Vec::new();
    let mut error_count = 0;
    for problems in [decoded.as_ref().err(), notices.as_ref().err()] {
        errors.extend(problems.iter().flat_map(|problems| &problems.listed));
        error_count += problems.map_or(0, |problems| problems.total);
    }
    let valid = decoded.as_ref().ok().filter(|_| error_count == 0);
    let mut warnings = valid.map(Decoded::warnings).unwrap_or_default();
    warnings.retain(|warning| !args.allow.iter().any(|rule| rule == warning.code));
    let published = valid.map(|decoded| decoded.dataset.reviews.len());
    let unverified = valid.map(|decoded| decoded.dataset.unverified_count);
    let suggestions = match valid {
        Some(decoded) => suggestions(&decoded.dataset),
        None => Vec::new(),
    };
    let sources = read_sync_state(&args.data);
    let report: String = match args.format {
        OutputFormat::Text => {
            let mut lines = Vec::new();
            for error in &errors {
                lines.push(format!("error: {error}\n"));
            }
            for warning in &warnings {
                lines.push(format!("warning: {warning} [{}]\n", warning.code));
            }
            lines.extend(suggestions.iter().map(ToString::to_string));
            lines.extend(source_lines(&sources));
            lines.concat()
        }
        OutputFormat::Json => {
            let json = json!({
                "valid": valid.is_some(),
                "published_count": published,
                "unverified_count": unverified,
                "error_count": error_count,
                "errors": errors,
                "warnings": warnings,
                "suggestions": suggestions,
                "sources": sources.sources,
            });
            format!("{json}\n")
        }
    };
    print(report.as_bytes())?;
    let state = match published.zip(unverified) {
        Some((published, unverified)) => {
            let warning_count = counted(warnings.len() as u64, "warning");
            format!("valid, {published} published, {unverified} unverified, {warning_count}")
        }
        None => format!("not valid, {}", counted(error_count, "error")),
    };
    let summary = format!("{}: {state}", args.data.display());
    let is_good = valid.is_some() && (warnings.is_empty() || !args.strict);
    if !is_good {
        return Err(Failure::new(Status::Data, summary));
    }
    match args.format {
        OutputFormat::Text => print(format!("{summary}\n").as_bytes()),
        OutputFormat::Json => Ok(()),
    }
}

fn counted(count: u64, noun: &str) -> String {
    match count {
        1 => format!("1 {noun}"),
        _ => format!("{count} {noun}s"),
    }
}

/// Reads what `reviewd sync` has noted of the sources; nothing if it has not run, or its file is damaged.
fn read_sync_state(data: &Path) -> SyncState {
    let read = files::read_file(&data.join(SYNC_FILE), SYNC_BYTES_MAX);
    let bytes = read.ok().flatten().unwrap_or_default();
    SyncState::parse(&bytes).unwrap_or_default()
}

/// One line for each source: its age, and why it was not read.
fn source_lines(state: &SyncState) -> impl Iterator<Item = String> {
    let now = clock::now();
    state.sources.iter().map(move |(id, source)| {
        let age = match source.succeeded_at {
            None => "never read".to_owned(),
            Some(_) => format!("read {} ago", duration(source.age_s(now).unwrap_or(0))),
        };
        let error = match &source.error {
            None => String::new(),
            Some(error) => format!(", the last try failed: {error}"),
        };
        format!("source {id}: {age}{error}\n")
    })
}

/// A duration in its two largest units.
fn duration(seconds: u64) -> String {
    let minutes = seconds / 60;
    let hours = minutes / 60;
    match (hours / 24, hours % 24, minutes % 60) {
        (0, 0, minutes) => format!("{minutes} min"),
        (0, hours, minutes) => format!("{hours} h {minutes} min"),
        (days, hours, _) => format!("{days} d {hours} h"),
    }
}
