//! `reviewd insights`: prints the derived insights of a folder, or the reasons for an aspect's figures.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, value_parser};

use super::exit::{Failure, Status, print};
use super::values::parse_file_size;
use crate::dataset;
use crate::insights::explain::explain;
use crate::insights::{self, Options};
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
    let dataset = &decoded.dataset;
    let Some(aspect) = &args.explain else {
        let mut document = insights::document(dataset, &options).bytes;
        document.push(b'\n');
        return print(&document);
    };
    let Some(text) = explain(dataset, &options, aspect) else {
        let aspects = dataset.taxonomy.aspects.iter();
        let known: Vec<&str> = aspects.map(|aspect| aspect.id.as_str()).collect();
        let message = format!(
            "--explain: the taxonomy has no aspect of that id or label, but: {}",
            known.join(", ")
        );
        return Err(Failure::new(Status::Usage, message));
    };
    print(text.as_bytes())
}
