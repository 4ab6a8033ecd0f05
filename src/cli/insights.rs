//! `reviewd insights`: prints the derived insights of a folder, or the reasons for an aspect's figures.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, value_parser};

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
pub(super) struct InsightsArgs {
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

    /// Largest data file that is read
    #[arg(long, env = "REVIEWD_DATA_FILE_BYTES", value_name = "SIZE", default_value = "256MiB", value_parser = parse_file_size)]
    data_file_bytes: u64,
}

/// Most threads without `--threads`.
const THREADS_MAX: usize = 8;

/// Derives or explains, and prints the result.
///
/// # Errors
/// When files cannot be read or are refused, when there is no such aspect, and when the output cannot be written.
pub(super) fn run(args: &InsightsArgs) -> Result<(), Failure> {
    let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let threads = NonZeroUsize::new(cores.min(THREADS_MAX));
    let options = Options {
        threads: args.threads.or(threads).unwrap_or(NonZeroUsize::MIN),
        mentions_min: args.mentions_min,
    };
    let files = files::read(&args.data, args.data_file_bytes)?;
    let decoded = dataset::decode(files, crate::clock::now()).map_err(|problems| {
        let message = format!("{}: not valid\n{problems}", args.data.display());
        Failure::new(Status::Data, message)
    })?;
    let output = match &args.explain {
        Some(aspect) => explained(&decoded.dataset, &options, aspect)?.into_bytes(),
        None => {
            let mut document = insights::document(&decoded.dataset, &options).bytes;
            document.push(b'\n');
            document
        }
    };
    print(&output)
}

fn explained(dataset: &Dataset, options: &Options, aspect: &str) -> Result<String, Failure> {
    let Some(explanations) = explain(dataset, options, aspect) else {
        let aspects = dataset.taxonomy.aspects.iter();
        let known: Vec<&str> = aspects.map(|aspect| aspect.id.as_str()).collect();
        let message = format!(
            "--explain: the taxonomy has no aspect of that id or label, but: {}",
            known.join(", ")
        );
        return Err(Failure::new(Status::Usage, message));
    };
    let count = |polarity| {
        let same = explanations.iter().filter(|one| one.polarity == polarity);
        same.count()
    };
    let summary = format!(
        "{aspect}: {} positive, {} neutral or unclear, {} negative\n",
        count(Polarity::Positive),
        count(Polarity::Neutral),
        count(Polarity::Negative)
    );
    let lines: String = explanations.iter().map(render_explanation).collect();
    Ok(lines + &summary)
}

fn render_explanation(explanation: &Explanation<'_>) -> String {
    let polarity = explanation.polarity.word();
    let review = explanation.review;
    let (before, rest) = explanation.sentence.split_at(explanation.mention.start);
    let (mention, after) = rest.split_at(explanation.mention.len());
    let reasons: Vec<String> = explanation.reasons.iter().map(render_reason).collect();
    format!(
        "{polarity:8}  {}  {}  {} of 5\n  {}[{}]{}\n  for praise (+) or complaint (-), in log-odds: {}; together {}\n\n",
        review.id,
        review.date,
        review.rating.stars(),
        printable(before),
        printable(mention),
        printable(after),
        reasons.join(", "),
        signed(explanation.total)
    )
}

/// Returns a line such as `"late" -1.4 (in 41 reviews, 34 of them with one or two stars)`.
fn render_reason(reason: &Reason) -> String {
    let counts = reason.counts.map_or_else(String::new, |[low, high]| {
        let all = low + high;
        format!(" (in {all} reviews, {low} of them with one or two stars)")
    });
    let what = printable(&reason.what);
    format!("{what} {}{counts}", signed(reason.tenths))
}

/// Returns tenths with their sign.
fn signed(tenths: i32) -> String {
    let (sign, size) = (if tenths < 0 { '-' } else { '+' }, tenths.unsigned_abs());
    format!("{sign}{}.{}", size / 10, size % 10)
}

/// Returns the text with spaces for the characters that would move a terminal's cursor or change its colors.
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
        let text = explained(&sample(), &OPTIONS, "fees").unwrap();
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
        let labelled = explained(&sample(), &OPTIONS, "FEES and billing").unwrap();
        assert_eq!(labelled.lines().next(), text.lines().next());
        assert!(text.ends_with(" negative\n"), "{text}");
    }

    #[test]
    fn an_unknown_aspect_is_refused_with_the_known_ones() {
        let failure = explained(&sample(), &OPTIONS, "fee").unwrap_err();
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
