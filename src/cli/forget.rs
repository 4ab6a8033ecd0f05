//! `reviewd forget ID… --reason TEXT`: removes reviews permanently, and lists them so that no import adds them again.

use std::path::PathBuf;

use clap::Args;

use super::config::DATA_DEFAULT;
use super::exit::{Failure, Status, print};
use super::folder::Folder;
use super::init::parse_name;
use super::photos::PhotoStore;
use crate::clock;
use crate::dataset::is_review_id;
use crate::import::Merge;
use crate::model::RemovedReview;

#[derive(Args)]
pub(super) struct ForgetArgs {
    /// Ids of the reviews
    #[arg(required = true, value_name = "ID", value_parser = parse_id)]
    ids: Vec<String>,
    /// Reason, kept in ignored.json and not published
    #[arg(long, value_name = "TEXT", value_parser = parse_name)]
    reason: String,
    /// Directory with reviews.json
    #[arg(long, value_name = "DIR", default_value = DATA_DEFAULT)]
    data: PathBuf,
}

fn parse_id(id: &str) -> Result<String, &'static str> {
    if !is_review_id(id) {
        return Err(
            "must be 1 to 64 characters of A-Z, a-z, 0-9, _ and -, but not \"search\", \"since\" or \"changes\"",
        );
    }
    Ok(id.to_owned())
}

/// Removes the reviews and adds them to `ignored.json`; then removes the pictures that no other review has.
pub(super) fn run(args: &ForgetArgs) -> Result<(), Failure> {
    let folder = Folder::open(&args.data, false)?;
    let mut merge = folder.merge()?;
    let mut list = folder.ignored.clone();
    check_ids(&args.ids, &merge, &list)?;
    let mut report = String::new();
    for id in &args.ids {
        let was_stored = merge.forget(id);
        let was_listed = list.iter().any(|entry| entry.id == *id);
        let outcome = if !was_stored {
            "was on the ignore list"
        } else if was_listed {
            "removed; was on the ignore list"
        } else {
            "removed, and on the ignore list"
        };
        report.push_str(&format!("{id}: {outcome}\n"));
        if !was_listed {
            list.push(RemovedReview {
                id: id.clone(),
                date: clock::now().date(),
                reason: args.reason.clone(),
            });
        }
    }
    let updated_at = folder.write(&merge, Some(&list))?;
    let mut store = PhotoStore::open(&args.data)?;
    let pictures = store.remove_all_but(&merge.photo_digests())?;
    if pictures > 0 {
        report.push_str(&format!("{pictures} files of pictures removed\n"));
    }
    let file = args.data.join("reviews.json");
    report.push_str(&format!(
        "{}: written, updated_at {updated_at}; docs/erasure.md lists other copies\n",
        file.display()
    ));
    print(report.as_bytes())
}

/// Fails if one of the ids is neither that of a review nor on the ignore list.
fn check_ids(ids: &[String], merge: &Merge<'_>, list: &[RemovedReview]) -> Result<(), Failure> {
    let mut unknown: Vec<&str> = Vec::new();
    for id in ids {
        let is_listed = list.iter().any(|entry| entry.id == *id);
        if merge.source_of(id).is_none() && !is_listed {
            unknown.push(id);
        }
    }
    if unknown.is_empty() {
        return Ok(());
    }
    let message = format!(
        "no review has the id {}; nothing was changed",
        unknown.join(", ")
    );
    Err(Failure::new(Status::NoInput, message))
}
