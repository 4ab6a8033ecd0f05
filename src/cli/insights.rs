//! `reviewd insights`: prints the derived insights of a folder, or the reasons for an aspect's figures.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::thread::available_parallelism;

use clap::Args;

use super::config::DATA_DEFAULT;
use super::exit::{Failure, Status, print};
use super::read::read_dataset;
use crate::insights::document;
use crate::insights::explain::explain;
use crate::wire::text::quote;

#[derive(Args)]
pub(super) struct InsightsArgs {
    /// Directory with reviews.json and the files beside it
    #[arg(value_name = "DIR", default_value = DATA_DEFAULT)]
    data: PathBuf,
    /// Show every mention of an aspect with its sentence, polarity and reasons instead of the document
    #[arg(long, value_name = "ASPECT")]
    explain: Option<String>,
}

/// Prints the insights, or the explanation of one aspect.
pub(super) fn run(args: &InsightsArgs) -> Result<(), Failure> {
    let threads = available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let dataset = read_dataset(&args.data)?.dataset;
    let Some(aspect) = &args.explain else {
        let document = document(&dataset, threads, &|| false);
        let mut bytes = document.expect("nothing cancels it").bytes;
        bytes.push(b'\n');
        return print(&bytes);
    };
    let Some(text) = explain(&dataset, threads, aspect) else {
        let aspects = dataset.taxonomy.aspects.iter();
        let ids: Vec<&str> = aspects.map(|aspect| aspect.id.as_str()).collect();
        let message = format!(
            "--explain: {} is no id or label of an aspect; known ids: {}",
            quote(aspect),
            ids.join(", ")
        );
        return Err(Failure::new(Status::Usage, message));
    };
    print(text.as_bytes())
}
