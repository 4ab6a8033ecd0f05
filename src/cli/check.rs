//! `reviewd check DIR`: prints the errors and warnings that the service would find in a data directory.

use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::PossibleValuesParser;
use serde_json::{Value, json};

use super::config::DATA_DEFAULT;
use super::exit::{Failure, Status, print};
use super::suggestions::{Suggestion, suggestions};
use super::values::OutputFormat;
use crate::clock;
use crate::dataset::{self, Problem, Problems, Warning};
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

/// What a check has found.
struct CheckReport {
    /// The first errors.
    errors: Vec<Problem>,
    /// All errors, also those that are not listed.
    error_count: u64,
    warnings: Vec<Warning>,
    suggestions: Vec<Suggestion>,
    /// What is published of a directory without errors.
    counts: Option<ReviewCounts>,
    sources: SyncState,
}

/// How many reviews of a directory are published, and how many are not.
struct ReviewCounts {
    published: usize,
    unverified: u32,
}

/// Checks a data directory and prints the result; fails if the service would not serve it, or with `--strict` if there
/// are warnings.
pub(super) fn run(args: &CheckArgs) -> Result<(), Failure> {
    let report = check(args)?;
    let printed = match args.format {
        OutputFormat::Text => report.lines(),
        OutputFormat::Json => format!("{}\n", report.json()),
    };
    print(printed.as_bytes())?;
    let summary = format!("{}: {}", args.data.display(), report.summary());
    let is_prevented = args.strict && !report.warnings.is_empty();
    if report.error_count > 0 || is_prevented {
        return Err(Failure::new(Status::Data, summary));
    }
    match args.format {
        OutputFormat::Text => print(format!("{summary}\n").as_bytes()),
        OutputFormat::Json => Ok(()),
    }
}

/// Reads and checks the files.
fn check(args: &CheckArgs) -> Result<CheckReport, Failure> {
    let decoded = dataset::decode(files::read(&args.data)?, clock::now());
    let notices = notices::read(&files::read_notices(&args.data)?);
    let mut report = CheckReport {
        errors: Vec::new(),
        error_count: 0,
        warnings: Vec::new(),
        suggestions: Vec::new(),
        counts: None,
        sources: read_sync_state(&args.data),
    };
    if let Err(problems) = &decoded {
        report.push_errors(problems);
    }
    if let Err(problems) = &notices {
        report.push_errors(problems);
    }
    if let Ok(decoded) = &decoded
        && report.error_count == 0
    {
        report.warnings = decoded.warnings();
        report.suggestions = suggestions(&decoded.dataset);
        report.counts = Some(ReviewCounts {
            published: decoded.dataset.reviews.len(),
            unverified: decoded.dataset.unverified_count,
        });
    }
    let warnings = &mut report.warnings;
    warnings.retain(|warning| !args.allow.iter().any(|rule| rule == warning.code));
    Ok(report)
}

impl CheckReport {
    fn push_errors(&mut self, problems: &Problems) {
        self.errors.extend_from_slice(&problems.listed);
        self.error_count += problems.total;
    }

    /// Returns a line for each error, warning, suggestion and source.
    fn lines(&self) -> String {
        let mut lines = Vec::new();
        for error in &self.errors {
            lines.push(format!("error: {error}\n"));
        }
        for warning in &self.warnings {
            lines.push(format!("warning: {warning} [{}]\n", warning.code));
        }
        lines.extend(self.suggestions.iter().map(ToString::to_string));
        lines.extend(source_lines(&self.sources));
        lines.concat()
    }

    fn json(&self) -> Value {
        let counts = self.counts.as_ref();
        json!({
            "valid": counts.is_some(),
            "published_count": counts.map(|counts| counts.published),
            "unverified_count": counts.map(|counts| counts.unverified),
            "error_count": self.error_count,
            "errors": self.errors,
            "warnings": self.warnings,
            "suggestions": self.suggestions,
            "sources": self.sources.sources,
        })
    }

    /// Returns the result in a few words.
    fn summary(&self) -> String {
        let Some(counts) = &self.counts else {
            return format!("not valid, {}", counted(self.error_count, "error"));
        };
        let ReviewCounts {
            published,
            unverified,
        } = counts;
        let warning_count = counted(self.warnings.len() as u64, "warning");
        format!("valid, {published} published, {unverified} unverified, {warning_count}")
    }
}

/// Returns a number and its noun, in the plural unless the number is 1.
fn counted(count: u64, noun: &str) -> String {
    match count {
        1 => format!("1 {noun}"),
        _ => format!("{count} {noun}s"),
    }
}

/// Reads what `reviewd sync` has noted of the sources; there are none if it has not run, or if its file is damaged.
fn read_sync_state(data: &Path) -> SyncState {
    let read = files::read_file(&data.join(SYNC_FILE), SYNC_BYTES_MAX);
    let bytes = read.ok().flatten().unwrap_or_default();
    SyncState::parse(&bytes).unwrap_or_default()
}

/// One line for each source: how long ago it was read, and the error of the last try.
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

/// A duration in its two largest units; less than an hour in minutes.
fn duration(seconds: u64) -> String {
    let minutes = seconds / 60;
    let hours = minutes / 60;
    match (hours / 24, hours % 24, minutes % 60) {
        (0, 0, minutes) => format!("{minutes} min"),
        (0, hours, minutes) => format!("{hours} h {minutes} min"),
        (days, hours, _) => format!("{days} d {hours} h"),
    }
}
