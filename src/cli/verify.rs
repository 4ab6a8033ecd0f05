//! `reviewd verify ID… | --all-from SOURCE`: says how stored reviews were verified.

use std::path::PathBuf;

use clap::Args;

use super::config::DATA_DEFAULT;
use super::exit::{Failure, Status, print};
use super::folder::{BACKUP, Folder};
use super::init::parse_name;
use crate::import::{Merge, VerifiedAs};
use crate::model::typed_platform;

#[derive(Args)]
pub(super) struct VerifyArgs {
    /// Ids of the reviews
    #[arg(required_unless_present = "all_from", value_name = "ID")]
    ids: Vec<String>,
    /// All reviews from this source, such as google
    #[arg(long, value_name = "SOURCE", value_parser = parse_name)]
    all_from: Option<String>,
    /// Who verified that the authors are customers [default: the business itself]
    #[arg(long, value_name = "NAME", value_parser = parse_name)]
    by: Option<String>,
    /// Method of that verifier, such as purchase or invitation
    #[arg(long, value_name = "METHOD", requires = "by", value_parser = parse_name)]
    method: Option<String>,
    /// Not verified, but published by their platform with an account; pages say that they are not verified
    #[arg(long, conflicts_with_all = ["by", "withdraw"])]
    account: bool,
    /// Not verified, and so not published
    #[arg(long, conflicts_with = "by")]
    withdraw: bool,
    /// Directory with reviews.json
    #[arg(long, value_name = "DIR", default_value = DATA_DEFAULT)]
    data: PathBuf,
}

/// Changes the verification of the reviews, and writes the folder.
pub(super) fn run(args: &VerifyArgs) -> Result<(), Failure> {
    let folder = Folder::open(&args.data, false)?;
    let mut merge = folder.merge()?;
    let ids = chosen_ids(args, &merge)?;
    let mut changed = 0;
    for id in &ids {
        let source = merge.source_of(id).unwrap_or_default();
        let how = verification(args, &source, &merge)?;
        if merge.verify(id, &how) {
            changed += 1;
        }
    }
    let file = args.data.join("reviews.json");
    let count = ids.len();
    if changed == 0 {
        let report = format!(
            "{}: nothing to change in {count}, not written\n",
            file.display()
        );
        return print(report.as_bytes());
    }
    let updated_at = folder.write(&merge, None)?;
    let report = format!(
        "{}: {changed} of {count} changed, updated_at {updated_at}; the previous file is {BACKUP}\n",
        file.display()
    );
    print(report.as_bytes())
}

/// Returns the ids on the command line, each of which must be that of a review, and those of all reviews from the
/// source.
fn chosen_ids(args: &VerifyArgs, merge: &Merge<'_>) -> Result<Vec<String>, Failure> {
    let unknown: Vec<&str> = args
        .ids
        .iter()
        .filter(|id| merge.source_of(id).is_none())
        .map(String::as_str)
        .collect();
    if !unknown.is_empty() {
        let message = format!(
            "no review has the id {}; nothing was changed",
            unknown.join(", ")
        );
        return Err(Failure::new(Status::NoInput, message));
    }
    let mut ids = args.ids.clone();
    if let Some(source) = &args.all_from {
        let found = merge.ids_from(source);
        if found.is_empty() {
            let sources = merge.sources().join(", ");
            let message = format!("no review is from {source:?}; the sources are: {sources}");
            return Err(Failure::new(Status::Data, message));
        }
        ids.extend(found);
    }
    ids.sort_unstable();
    ids.dedup();
    Ok(ids)
}

/// Returns how a review of `source` was verified, by the flags.
fn verification(args: &VerifyArgs, source: &str, merge: &Merge<'_>) -> Result<VerifiedAs, Failure> {
    if args.withdraw {
        return Ok(VerifiedAs::Unverified);
    }
    if args.account {
        return match typed_platform(source) {
            Some(name) if !merge.is_business(source) => Ok(VerifiedAs::Account(name.to_owned())),
            _ => {
                let message =
                    format!("--account: {source:?} is not a platform; nothing was changed");
                Err(Failure::new(Status::Data, message))
            }
        };
    }
    Ok(match &args.by {
        None => VerifiedAs::Business,
        Some(by) => VerifiedAs::Platform {
            by: by.clone(),
            method: args.method.clone(),
        },
    })
}
