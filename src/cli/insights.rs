//! `reviewd insights`: what can be derived from a folder, why, and how well.

use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::exit::{Failure, Status};
use super::values::{parse_file_size, whole};
use crate::dataset;
use crate::insights::evaluate::{self, evaluate};
use crate::insights::explain::{Cause, Explanation, explain};
use crate::insights::polarity::Polarity;
use crate::insights::{self, Options};
use crate::model::Dataset;
use crate::server::files;

/// Flags of `insights`.
#[derive(Debug, Args)]
pub struct InsightsArgs {
    /// Directory with reviews.json and its companions
    #[arg(env = "REVIEWD_DATA", value_name = "DIR", default_value = super::config::DATA_DEFAULT)]
    data: PathBuf,

    /// Show every mention of an aspect with its sentence, polarity and reasons instead of the document
    #[arg(
        long,
        env = "REVIEWD_INSIGHTS_EXPLAIN",
        value_name = "ASPECT",
        conflicts_with = "evaluate"
    )]
    explain: Option<String>,

    /// Measure the method on labelled mentions instead: JSON lines {"text", "from", "to", "rating", "gold"}
    #[arg(long, env = "REVIEWD_INSIGHTS_EVALUATE", value_name = "FILE")]
    evaluate: Option<PathBuf>,

    /// What to measure
    #[arg(
        long,
        env = "REVIEWD_INSIGHTS_METHOD",
        value_name = "METHOD",
        default_value = "own"
    )]
    method: Method,

    /// Mentions from which on an aspect is scored; with fewer it is counted only
    #[arg(long, env = "REVIEWD_MENTIONS_MIN", value_name = "NUMBER", default_value_t = insights::MENTIONS_MIN,
        value_parser = whole::<u32>(1, 1_000_000))]
    mentions_min: u32,

    /// Threads that read reviews; the document does not depend on it [default: as many as there are cores, at most 8]
    #[arg(long, env = "REVIEWD_INSIGHTS_THREADS", value_name = "NUMBER")]
    threads: Option<NonZeroUsize>,

    /// When to color explanations
    #[arg(
        long,
        env = "REVIEWD_COLOR",
        value_name = "WHEN",
        default_value = "auto"
    )]
    color: Color,

    /// Largest data file that is read
    #[arg(long, env = "REVIEWD_DATA_FILE_BYTES", value_name = "SIZE", default_value = "256MiB", value_parser = parse_file_size)]
    data_file_bytes: u64,
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Method {
    /// What the document is made with
    Own,
    /// The same without ratings
    Unrated,
    /// Plain VADER over the sentence, to compare
    Vader,
}

/// When output is colored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Color {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// Threads that are used unless told otherwise.
const THREADS_MAX: usize = 8;

/// Derives, explains or measures, and prints the outcome.
///
/// # Errors
/// When files cannot be read or are refused, when there is no such aspect, and when the output cannot be written.
pub fn run(args: &InsightsArgs) -> Result<(), Failure> {
    let output = match (&args.evaluate, &args.explain) {
        (Some(file), _) => measured(file, args)?,
        (None, Some(aspect)) => {
            explained(&decoded(args)?, aspect, colored(args.color))?.into_bytes()
        }
        (None, None) => {
            let options = Options {
                threads: args.threads.unwrap_or_else(threads),
                mentions_min: args.mentions_min,
            };
            let mut document = insights::document(&decoded(args)?, &options);
            document.push(b'\n');
            document
        }
    };
    match io::stdout().lock().write_all(&output) {
        // A reader such as `head` that has seen enough is no failure of ours.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::new(
            Status::Io,
            format!("standard output: {error}"),
        )),
        _ => Ok(()),
    }
}

fn threads() -> NonZeroUsize {
    let cores = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    NonZeroUsize::new(cores.get().min(THREADS_MAX)).unwrap_or(NonZeroUsize::MIN)
}

fn colored(color: Color) -> bool {
    match color {
        Color::Auto => io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none(),
        Color::Always => true,
        Color::Never => false,
    }
}

fn decoded(args: &InsightsArgs) -> Result<Dataset, Failure> {
    let files = files::read(&args.data, args.data_file_bytes).map_err(|error| {
        let status = match &error {
            error if error.is_missing() => Status::NoInput,
            error if error.is_wrong() => Status::Data,
            _ => Status::Io,
        };
        Failure::new(status, error.to_string())
    })?;
    let decoded = dataset::decode(files, crate::clock::now()).map_err(|problems| {
        Failure::new(
            Status::Data,
            format!("{}: not valid\n{problems}", args.data.display()),
        )
    })?;
    Ok(decoded.dataset)
}

fn measured(file: &Path, args: &InsightsArgs) -> Result<Vec<u8>, Failure> {
    let failure = |status, message: &dyn std::fmt::Display| {
        Failure::new(status, format!("{}: {message}", file.display()))
    };
    let open = File::open(file).map_err(|error| failure(Status::NoInput, &error))?;
    let mut lines = String::new();
    let read = open
        .take(args.data_file_bytes + 1)
        .read_to_string(&mut lines);
    let bytes = read.map_err(|error| match error.kind() {
        io::ErrorKind::InvalidData => failure(Status::Data, &"is not UTF-8"),
        _ => failure(Status::Io, &error),
    })?;
    if bytes as u64 > args.data_file_bytes {
        let message = format!(
            "is larger than {} bytes (--data-file-bytes)",
            args.data_file_bytes
        );
        return Err(failure(Status::Data, &message));
    }
    let method = match args.method {
        Method::Own => evaluate::Method::Own,
        Method::Unrated => evaluate::Method::Unrated,
        Method::Vader => evaluate::Method::Vader,
    };
    let confusion = evaluate(&lines, method).map_err(|error| failure(Status::Data, &error))?;
    if confusion.n() == 0 {
        return Err(failure(
            Status::Data,
            &"holds no case, so there is nothing to measure",
        ));
    }
    let mut rendered = confusion.render();
    rendered.push(b'\n');
    Ok(rendered)
}

fn explained(dataset: &Dataset, aspect: &str, color: bool) -> Result<String, Failure> {
    let Some(explanations) = explain(dataset, aspect) else {
        let known: Vec<&str> = dataset
            .taxonomy
            .aspects
            .iter()
            .map(|aspect| aspect.id.as_str())
            .collect();
        let message = format!(
            "--explain: the taxonomy has no aspect of that id or label, but: {}",
            known.join(", ")
        );
        return Err(Failure::new(Status::Usage, message));
    };
    let mut out = String::new();
    for explanation in &explanations {
        push_explanation(&mut out, explanation, color);
    }
    let count = |polarity| {
        explanations
            .iter()
            .filter(|one| one.polarity == polarity)
            .count()
    };
    out.push_str(&format!(
        "{aspect}: {} positive, {} neutral, {} negative, {} unscored\n",
        count(Some(Polarity::Positive)),
        count(Some(Polarity::Neutral)),
        count(Some(Polarity::Negative)),
        count(None)
    ));
    Ok(out)
}

fn push_explanation(out: &mut String, explanation: &Explanation<'_>, color: bool) {
    let (code, word) = match explanation.polarity {
        Some(Polarity::Positive) => ("32", "positive"),
        Some(Polarity::Neutral) => ("33", "neutral"),
        Some(Polarity::Negative) => ("31", "negative"),
        None => ("2", "unscored"),
    };
    let paint = |code: &str, text: &str| match color {
        true => format!("\x1b[{code}m{text}\x1b[0m"),
        false => text.to_owned(),
    };
    let review = explanation.review;
    let stars = review.rating.stars();
    let place = format!("{}  {}  {stars} of 5", review.id, review.date);
    out.push_str(&format!(
        "{}  {}\n",
        paint(code, &format!("{word:8}")),
        paint("2", &place)
    ));
    let (before, rest) = explanation.sentence.split_at(explanation.from);
    let (mention, after) = rest.split_at(explanation.to - explanation.from);
    let mention = match color {
        true => paint("1", &printable(mention)),
        // Without color the mention is told apart by marks.
        false => format!("[{}]", printable(mention)),
    };
    out.push_str(&format!(
        "  {}{mention}{}\n",
        printable(before),
        printable(after)
    ));
    let reasons: Vec<String> = explanation
        .reasons
        .iter()
        .map(|reason| {
            let what = match &reason.cause {
                Cause::Stars => "the stars".to_owned(),
                Cause::Tone => "the tone".to_owned(),
                Cause::Number => "a number".to_owned(),
                Cause::Word(word) => format!("\"{}\"", printable(word)),
            };
            format!("{what} {}.{}", reason.tenths / 10, reason.tenths % 10)
        })
        .collect();
    let reasons = match explanation.polarity {
        None => "not scored: not in English, or too short to tell".to_owned(),
        Some(_) if reasons.is_empty() => "nothing spoke for more".to_owned(),
        Some(_) => format!("for {word}, in log-odds: {}", reasons.join(", ")),
    };
    out.push_str(&format!("  {}\n\n", paint("2", &reasons)));
}

/// The text without what would move a terminal's cursor or change its colors.
fn printable(text: &str) -> String {
    text.chars()
        .map(|character| {
            if character.is_control() {
                ' '
            } else {
                character
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::{decode, embedded};
    use crate::wire::date::Timestamp;

    fn sample() -> Dataset {
        decode(embedded(), Timestamp::from_unix(4_000_000_000))
            .unwrap()
            .dataset
    }

    #[test]
    fn an_explanation_shows_sentence_polarity_and_reasons() {
        let text = explained(&sample(), "fees", false).unwrap();
        assert!(text.contains("\nnegative  "), "{text}");
        assert!(
            text.contains("great communication, clear [fees], done\n"),
            "{text}"
        );
        assert!(
            text.contains("positive, in log-odds: the stars 1."),
            "{text}"
        );
        let calls = explained(&sample(), "communication", false).unwrap();
        assert!(calls.contains("\"for\" 1.0, a number 0.4, "), "{calls}");
        let labelled = explained(&sample(), "FEES and billing", false).unwrap();
        assert_eq!(labelled.lines().next(), text.lines().next());
        assert!(text.ends_with(" unscored\n"), "{text}");
        assert!(!text.contains('\x1b'));
        assert!(
            explained(&sample(), "fees", true)
                .unwrap()
                .contains("\x1b[1mfees\x1b[0m")
        );
    }

    #[test]
    fn an_unknown_aspect_is_refused_with_the_known_ones() {
        let failure = explained(&sample(), "fee", false).unwrap_err();
        assert_eq!(failure.status, Status::Usage);
        assert!(
            failure.message.contains("communication, fees, "),
            "{failure}"
        );
    }

    #[test]
    fn escapes_of_a_review_do_not_reach_the_terminal() {
        assert_eq!(printable("a\x1b[31mb\u{9b}c\nd"), "a [31mb c d");
    }
}
