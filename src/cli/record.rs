//! `reviewd record DIR`: records in `changes.json` what was changed by hand, for mirrors and feeds.

use std::path::PathBuf;

use clap::Args;

use super::config::DATA_DEFAULT;
use super::exit::{Failure, print};
use super::folder::Folder;
use crate::dataset::CHANGES;

#[derive(Args)]
pub(super) struct RecordArgs {
    /// Directory with reviews.json
    #[arg(value_name = "DIR", default_value = DATA_DEFAULT)]
    data: PathBuf,
    /// Begin the log of changes again, after the data directory was restored from a backup: mirrors then read all reviews again
    #[arg(long)]
    restart: bool,
}

/// Records what differs between the reviews and the record of changes.
pub(super) fn run(args: &RecordArgs) -> Result<(), Failure> {
    let folder = Folder::open(&args.data, false)?;
    let has_record = folder.has_record();
    let counts = folder.record(args.restart)?;
    let file = args.data.join(CHANGES.name);
    if !has_record {
        let report = format!("{}: the record was begun\n", file.display());
        return print(report.as_bytes());
    }
    let report = format!(
        "{}: recorded {} added, {} changed, {} removed\n",
        file.display(),
        counts.added,
        counts.changed,
        counts.removed
    );
    print(report.as_bytes())
}
