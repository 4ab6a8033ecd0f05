//! `reviewd insights`: prints the derived insights of a folder, or the reasons for an aspect's figures.

use std::io::{self, IsTerminal};
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, ValueEnum, value_parser};

use super::exit::{Failure, Status, print};
use super::values::parse_file_size;
use crate::dataset;
use crate::insights::explain::{Explanation, Reason, explain};
use crate::insights::{self, Options};
use crate::model::Dataset;
use crate::model::insights::Polarity;
use crate::server::files;

/// Flags of `insights`.
#[derive(Debug, Args)]
pub struct InsightsArgs {
    /// Directory with reviews.json and its companions
    #[arg(env = "REVIEWD_DATA", value_name = "DIR", default_value = super::config::DATA_DEFAULT)]
    data: PathBuf,

    /// Show every mention of an aspect with its sentence, polarity and reasons instead of the document
    #[arg(long, env = "REVIEWD_INSIGHTS_EXPLAIN", value_name = "ASPECT")]
    explain: Option<String>,

    /// Fewest mentions for which an aspect gets a score; below it the aspect is only counted
    #[arg(long, env = "REVIEWD_MENTIONS_MIN", value_name = "NUMBER", default_value_t = insights::MENTIONS_MIN,
        value_parser = value_parser!(u32).range(1..=1_000_000))]
    mentions_min: u32,

    /// Threads that read reviews; the result does not depend on it [default: one for each core, at most 8]
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

/// Derives or explains, and prints the result.
///
/// # Errors
/// When files cannot be read or are refused, when there is no such aspect, and when the output cannot be written.
pub fn run(args: &InsightsArgs) -> Result<(), Failure> {
    let options = Options {
        threads: args.threads.unwrap_or_else(threads),
        mentions_min: args.mentions_min,
    };
    let dataset = decoded(args)?;
    let output = match &args.explain {
        Some(aspect) => explained(&dataset, &options, aspect, colored(args.color))?.into_bytes(),
        None => {
            let mut document = insights::document(&dataset, &options).bytes;
            document.push(b'\n');
            document
        }
    };
    print(&output)
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
    let files = files::read(&args.data, args.data_file_bytes)?;
    let decoded = dataset::decode(files, crate::clock::now()).map_err(|problems| {
        Failure::new(
            Status::Data,
            format!("{}: not valid\n{problems}", args.data.display()),
        )
    })?;
    Ok(decoded.dataset)
}

fn explained(
    dataset: &Dataset,
    options: &Options,
    aspect: &str,
    color: bool,
) -> Result<String, Failure> {
    let Some(explanations) = explain(dataset, options, aspect) else {
        let known = dataset.taxonomy.aspects.iter();
        let known: Vec<&str> = known.map(|aspect| aspect.id.as_str()).collect();
        let message = format!(
            "--explain: the taxonomy has no aspect of that id or label, but: {}",
            known.join(", ")
        );
        return Err(Failure::new(Status::Usage, message));
    };
    let mut out: String = explanations
        .iter()
        .map(|explanation| explanation_lines(explanation, color))
        .collect();
    let [negative, neutral, positive] = Polarity::ALL.map(|polarity| {
        let of_polarity = explanations.iter().filter(|one| one.polarity == polarity);
        of_polarity.count()
    });
    out.push_str(&format!(
        "{aspect}: {positive} positive, {neutral} neutral or unclear, {negative} negative\n"
    ));
    Ok(out)
}

fn explanation_lines(explanation: &Explanation<'_>, color: bool) -> String {
    let code = match explanation.polarity {
        Polarity::Positive => "32",
        Polarity::Neutral => "33",
        Polarity::Negative => "31",
    };
    let paint = |code: &str, text: &str| match color {
        true => format!("\x1b[{code}m{text}\x1b[0m"),
        false => text.to_owned(),
    };
    let (review, sentence) = (explanation.review, explanation.sentence);
    let polarity = paint(code, &format!("{:8}", explanation.polarity.word()));
    let stars = review.rating.stars();
    let place = format!("{}  {}  {stars} of 5", review.id, review.date);
    let [before, mention, after] = [
        &sentence[..explanation.mention.start],
        &sentence[explanation.mention.clone()],
        &sentence[explanation.mention.end..],
    ]
    .map(printable);
    let mention = match color {
        true => paint("1", &mention),
        // Without color the mention is told apart by marks.
        false => format!("[{mention}]"),
    };
    let reasons: Vec<String> = explanation.reasons.iter().map(reason_words).collect();
    let reasons = format!(
        "for praise (+) or complaint (-), in log-odds: {}; together {}",
        reasons.join(", "),
        signed(explanation.total)
    );
    let (place, reasons) = (paint("2", &place), paint("2", &reasons));
    format!("{polarity}  {place}\n  {before}{mention}{after}\n  {reasons}\n\n")
}

/// Such as `"late" -1.4 (in 41 reviews, 34 of them with one or two stars)`.
fn reason_words(reason: &Reason) -> String {
    let counts = reason.counts.map_or_else(String::new, |[low, high]| {
        let all = low + high;
        format!(" (in {all} reviews, {low} of them with one or two stars)")
    });
    let what = printable(&reason.what);
    format!("{what} {}{counts}", signed(reason.tenths))
}

/// Tenths with their sign.
fn signed(tenths: i32) -> String {
    let (sign, size) = (if tenths < 0 { '-' } else { '+' }, tenths.unsigned_abs());
    format!("{sign}{}.{}", size / 10, size % 10)
}

/// The text without what would move a terminal's cursor or change its colors.
fn printable(text: &str) -> String {
    text.replace(char::is_control, " ")
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

    const OPTIONS: Options = Options {
        threads: NonZeroUsize::MIN,
        mentions_min: 5,
    };

    #[test]
    fn an_explanation_shows_sentence_polarity_and_content_words() {
        let text = explained(&sample(), &OPTIONS, "fees", false).unwrap();
        assert!(text.contains("\nnegative  "), "{text}");
        assert!(
            text.contains("great communication, clear [fees], done\n"),
            "{text}"
        );
        assert!(text.contains("the stars +1."), "{text}");
        assert!(text.contains("\"great\" +"), "{text}");
        for word in ["the", "and", "for", "to", "a"] {
            assert!(!text.contains(&format!(" \"{word}\" ")), "{word}: {text}");
        }
        let labelled = explained(&sample(), &OPTIONS, "FEES and billing", false).unwrap();
        assert_eq!(labelled.lines().next(), text.lines().next());
        assert!(text.ends_with(" negative\n"), "{text}");
        assert!(!text.contains('\x1b'));
        let colored = explained(&sample(), &OPTIONS, "fees", true).unwrap();
        assert!(colored.contains("\x1b[1mfees\x1b[0m"));
    }

    #[test]
    fn an_unknown_aspect_is_refused_with_the_known_ones() {
        let failure = explained(&sample(), &OPTIONS, "fee", false).unwrap_err();
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
