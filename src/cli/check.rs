//! `reviewd check DIR`: every error and warning that the service would find in a folder.

use std::path::PathBuf;

use clap::Args;
use clap::builder::PossibleValuesParser;
use serde_json::{Value, json};

use super::config::DATA_DEFAULT;
use super::exit::{Failure, Status, print};
use super::values::OutputFormat;
use crate::clock;
use crate::dataset::{self, Problem, Problems, Warning};
use crate::model::Dataset;
use crate::server::files;

#[derive(Debug, Args)]
pub(super) struct CheckArgs {
    /// Directory with reviews.json and its companions
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

/// Checks a folder and prints what was found; fails if the service would not serve it, or if there are warnings and
/// `--strict`.
pub(super) fn run(args: &CheckArgs) -> Result<(), Failure> {
    let decoded = dataset::decode(files::read(&args.data)?, clock::now());
    let result = decoded.map(|decoded| {
        let is_allowed = |warning: &Warning| args.allow.iter().any(|rule| rule == warning.code);
        let mut warnings = decoded.warnings();
        warnings.retain(|warning| !is_allowed(warning));
        (decoded.dataset, warnings)
    });
    let report = match args.format {
        OutputFormat::Text => render_text(&result),
        OutputFormat::Json => format!("{}\n", render_json(&result)),
    };
    print(report.as_bytes())?;
    let counted = |count: u64, noun: &str| match count {
        1 => format!("1 {noun}"),
        _ => format!("{count} {noun}s"),
    };
    let (is_good, verdict) = match &result {
        Ok((dataset, warnings)) => {
            let (published, unverified) = (dataset.reviews.len(), dataset.unverified_count);
            let is_good = warnings.is_empty() || !args.strict;
            let warnings = counted(warnings.len() as u64, "warning");
            let verdict =
                format!("valid, {published} published, {unverified} unverified, {warnings}");
            (is_good, verdict)
        }
        Err(problems) => {
            let errors = counted(problems.total(), "error");
            (false, format!("not valid, {errors}"))
        }
    };
    let verdict = format!("{}: {verdict}", args.data.display());
    match args.format {
        _ if !is_good => Err(Failure::new(Status::Data, verdict)),
        OutputFormat::Text => print(format!("{verdict}\n").as_bytes()),
        OutputFormat::Json => Ok(()),
    }
}

/// A valid dataset with its warnings, or why it is not valid.
type Checked = Result<(Dataset, Vec<Warning>), Problems>;

fn render_text(result: &Checked) -> String {
    let warning = |warning: &Warning| format!("warning: {warning} [{}]\n", warning.code);
    let problem = |problem: &Problem| format!("error: {problem}\n");
    match result {
        Ok((_, warnings)) => warnings.iter().map(warning).collect(),
        Err(problems) => problems.kept().iter().map(problem).collect(),
    }
}

fn render_json(result: &Checked) -> Value {
    let (valid, problems) = (result.as_ref().ok(), result.as_ref().err());
    json!({
        "valid": result.is_ok(),
        "published_count": valid.map(|(dataset, _)| dataset.reviews.len()),
        "unverified_count": valid.map(|(dataset, _)| dataset.unverified_count),
        "error_count": problems.map_or(0, Problems::total),
        "errors": problems.map_or(&[][..], Problems::kept),
        "warnings": valid.map_or(&[][..], |(_, warnings)| warnings),
    })
}
