//! `reviewd forget ID… --reason TEXT`: removes reviews permanently, and lists them so that no import adds them again.

use std::collections::HashSet;
use std::path::PathBuf;

use clap::Args;

use super::exit::{Failure, Status, print};
use super::import::folder::Folder;
use super::values::parse_file_size;
use crate::dataset::{Ignored, is_id};
use crate::import::Merge;

/// What the command's help says after its flags.
pub(super) const AFTER_HELP: &str = "\
The reviews are removed from reviews.json; reviews.json.bak, which contains them, is deleted. Ids, day and reason are added
to ignored.json; ids and days are published for mirrors, the reason is not. docs/erasure.md lists other copies.

Examples:
  reviewd forget 01EBE3JY0F1H7ZNVH1E8G8W00Z --reason 'asked by the author on 3 March'
  reviewd forget r1 r2 --reason spam --data /srv/reviews

Exit status:
  0   done                              66  there is no reviews.json
  64  wrong flags or ids                69  another import is running
  65  errors in the data files          74  reading or writing failed";

/// Flags of `forget`.
#[derive(Debug, Args)]
pub(super) struct ForgetArgs {
    /// Ids of the reviews; one that is not in the folder is only added to the list
    #[arg(required = true, value_name = "ID", value_parser = parse_id)]
    ids: Vec<String>,

    /// Reason, kept in ignored.json and not published
    #[arg(long, env = "REVIEWD_FORGET_REASON", value_name = "TEXT", value_parser = parse_reason)]
    reason: String,

    /// Directory with reviews.json
    #[arg(long, env = "REVIEWD_DATA", value_name = "DIR", default_value = super::config::DATA_DEFAULT)]
    data: PathBuf,

    /// Largest data file that is read or written
    #[arg(long, env = "REVIEWD_DATA_FILE_BYTES", value_name = "SIZE", default_value = "256MiB", value_parser = parse_file_size)]
    data_file_bytes: u64,
}

fn parse_id(id: &str) -> Result<String, String> {
    match is_id(id) {
        true => Ok(id.to_owned()),
        false => Err("is not an id: 1 to 64 characters of A-Z, a-z, 0-9, _ and -".to_owned()),
    }
}

fn parse_reason(reason: &str) -> Result<String, String> {
    match reason.trim() {
        "" => Err("is empty".to_owned()),
        reason => Ok(reason.to_owned()),
    }
}

/// Removes the reviews and lists them.
pub(super) fn run(args: &ForgetArgs) -> Result<(), Failure> {
    let folder = Folder::open(&args.data, args.data_file_bytes, false)?;
    let merge = Merge::new(folder.reviews());
    let mut merge = merge.map_err(|error| Failure::new(Status::Data, error))?;
    let mut list = folder.ignored()?;
    let listed: HashSet<String> = list.iter().map(|entry| entry.id.clone()).collect();
    let today = crate::clock::now().date();
    let mut report = String::new();
    let mut done = HashSet::new();
    for id in args.ids.iter().filter(|id| done.insert(id.as_str())) {
        let removed = merge.forget(id);
        let is_new = !listed.contains(id);
        if is_new {
            list.push(Ignored {
                id: id.clone(),
                date: today,
                reason: args.reason.clone(),
            });
        }
        report.push_str(&format!("{id}: {}\n", outcome(removed, is_new)));
    }
    let updated_at = folder.forget(&merge, &list)?;
    let file = args.data.join("reviews.json");
    report.push_str(&format!(
        "{}: written, updated_at {updated_at}; docs/erasure.md says what else may hold a copy\n",
        file.display()
    ));
    print(report.as_bytes())
}

/// What became of one id.
fn outcome(removed: bool, is_new: bool) -> &'static str {
    match (removed, is_new) {
        (true, true) => "removed, and on the ignore list",
        (true, false) => "removed; was on the ignore list",
        (false, true) => "not in the folder; on the ignore list now, so that no import adds it",
        (false, false) => "was on the ignore list",
    }
}
