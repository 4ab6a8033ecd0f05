//! `reviewd check DIR`: what the service would say of a folder, without serving it.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};

use super::exit::{Status, tell};
use super::values::parse_file_size;
use crate::dataset::{self, Decoded, Problem, Problems, Warning};
use crate::server::files;

use crate::wire::json::{Array, Object};

/// Flags of `check`.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// Directory with reviews.json and its companions
    #[arg(env = "REVIEWD_DATA", value_name = "DIR", default_value = super::config::DATA_DEFAULT)]
    data: PathBuf,

    /// What to print: lines for people or one JSON object for scripts
    #[arg(
        long,
        env = "REVIEWD_CHECK_FORMAT",
        value_name = "FORMAT",
        default_value = "text"
    )]
    format: Format,

    /// Say nothing of this rule; may be given more than once. DIR/check.json silences it for single reviews
    #[arg(long, env = "REVIEWD_CHECK_ALLOW", value_name = "RULE", value_delimiter = ',',
        value_parser = PossibleValuesParser::new(dataset::RULES), hide_possible_values = true)]
    allow: Vec<String>,

    /// Fail on warnings too
    #[arg(long, env = "REVIEWD_CHECK_STRICT")]
    strict: bool,

    /// Largest data file that is read
    #[arg(long, env = "REVIEWD_DATA_FILE_BYTES", value_name = "SIZE", default_value = "256MiB", value_parser = parse_file_size)]
    data_file_bytes: u64,
}

/// How the findings are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// One line for each finding
    Text,
    /// One object
    Json,
}

/// Checks a folder and prints what was found.
///
/// Ends with 0 where the service would serve it, 65 where it would refuse it (or where there are warnings and
/// `--strict`), 66 where it is not there, 74 where it cannot be read or the findings cannot be written.
pub fn run(args: &CheckArgs) -> ExitCode {
    let files = match files::read(&args.data, args.data_file_bytes) {
        Ok(files) => files,
        Err(error) => {
            tell(&error);
            return match &error {
                error if error.is_missing() => Status::NoInput.into(),
                error if error.is_wrong() => Status::Data.into(),
                _ => Status::Io.into(),
            };
        }
    };
    let mut outcome = dataset::decode(files, crate::clock::now()).and_then(|decoded| {
        dataset::refuse_placeholders(&decoded.dataset)?;
        Ok(decoded)
    });
    if let Ok(decoded) = &mut outcome {
        let is_allowed = |warning: &Warning| args.allow.iter().any(|rule| rule == warning.code);
        decoded.warnings.retain(|warning| !is_allowed(warning));
    }
    let report = match args.format {
        Format::Text => render_text(&args.data, &outcome),
        Format::Json => render_json(&outcome),
    };
    match io::stdout().lock().write_all(report.as_bytes()) {
        // A reader such as `head` that has seen enough is no failure of ours.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => return Status::Io.into(),
        _ => {}
    }
    match outcome {
        Ok(decoded) if decoded.warnings.is_empty() || !args.strict => ExitCode::SUCCESS,
        _ => Status::Data.into(),
    }
}

fn render_text(directory: &Path, outcome: &Result<Decoded, Problems>) -> String {
    let directory = directory.display();
    match outcome {
        Ok(decoded) => {
            let mut lines = String::new();
            for warning in &decoded.warnings {
                lines.push_str(&format!("warning: {warning} [{}]\n", warning.code));
            }
            let published = decoded.dataset.reviews.len();
            let unverified = decoded.dataset.unverified_count;
            let warnings = counted(decoded.warnings.len() as u64, "warning");
            lines
                + &format!(
                    "{directory}: valid, {published} published, {unverified} unverified, {warnings}\n"
                )
        }
        Err(problems) => {
            let mut lines = String::new();
            for problem in problems.kept() {
                lines.push_str(&format!("error: {problem}\n"));
            }
            let unkept = problems.total() - problems.kept().len() as u64;
            if unkept > 0 {
                lines.push_str(&format!("and {unkept} more\n"));
            }
            lines
                + &format!(
                    "{directory}: not valid, {}\n",
                    counted(problems.total(), "error")
                )
        }
    }
}

fn counted(count: u64, noun: &str) -> String {
    match count {
        0 => format!("no {noun}s"),
        1 => format!("1 {noun}"),
        _ => format!("{count} {noun}s"),
    }
}

fn render_json(outcome: &Result<Decoded, Problems>) -> String {
    let none = Problems::default();
    let (problems, warnings) = match outcome {
        Ok(decoded) => (&none, decoded.warnings.as_slice()),
        Err(problems) => (problems, &[][..]),
    };
    let mut out = Vec::new();
    let mut object = Object::begin(&mut out);
    object.bool("valid", outcome.is_ok());
    for (key, value) in [
        (
            "published_count",
            outcome
                .as_ref()
                .ok()
                .map(|decoded| decoded.dataset.reviews.len() as u64),
        ),
        (
            "unverified_count",
            outcome
                .as_ref()
                .ok()
                .map(|decoded| u64::from(decoded.dataset.unverified_count)),
        ),
    ] {
        match value {
            Some(value) => object.u64(key, value),
            None => object.null(key),
        };
    }
    object.u64("error_count", problems.total());
    let mut list = Array::begin(object.key("errors"));
    for problem in problems.kept() {
        render_problem(list.item(), problem);
    }
    list.end();
    let mut list = Array::begin(object.key("warnings"));
    for warning in warnings {
        render_warning(list.item(), warning);
    }
    list.end();
    object.end();
    out.push(b'\n');
    // What was written is UTF-8, being made of strings; were it not, the reader would see the replacement mark.
    String::from_utf8_lossy(&out).into_owned()
}

fn render_problem(out: &mut Vec<u8>, problem: &Problem) {
    let mut each = Object::begin(out);
    each.string("file", problem.file)
        .string("place", &problem.place);
    for (key, number) in [
        ("line", problem.position.map(|position| position.line)),
        ("column", problem.position.map(|position| position.column)),
    ] {
        match number {
            Some(number) => each.u64(key, number),
            None => each.null(key),
        };
    }
    each.opt_string("value", problem.value.as_deref())
        .string("message", &problem.message);
    each.end();
}

fn render_warning(out: &mut Vec<u8>, warning: &Warning) {
    let mut each = Object::begin(out);
    each.string("code", warning.code)
        .string("file", warning.file)
        .string("place", &warning.place)
        .string("message", &warning.message);
    each.end();
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
