//! `reviewd bundle`: the data files in one file that replicas follow, and its digest beside it.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;

use super::exit::{Failure, Status};
use super::values::parse_file_size;
use crate::dataset;
use crate::server::bundle::pack::{digest_line, pack};
use crate::server::files;

/// Flags of `bundle`.
#[derive(Debug, Args)]
pub(super) struct BundleArgs {
    /// Directory with reviews.json and its companions
    #[arg(long, env = "REVIEWD_DATA", value_name = "DIR", default_value = super::config::DATA_DEFAULT)]
    data: PathBuf,
    /// File to write, with a name that ends with .tar.zst; its digest goes beside it, with .sha256 behind the name
    #[arg(long, value_name = "FILE", value_parser = parse_out)]
    out: PathBuf,
    /// Largest data file that is read
    #[arg(long, env = "REVIEWD_DATA_FILE_BYTES", value_name = "SIZE", default_value = "256MiB", value_parser = parse_file_size)]
    data_file_bytes: u64,
}

/// Checks the files as the service would, and packs them.
///
/// # Errors
/// `NoInput` without the files, `Data` for those that would be refused, `CannotCreate` where the bundle cannot be
/// written.
pub(super) fn run(args: &BundleArgs) -> Result<(), Failure> {
    let read = || files::read(&args.data, args.data_file_bytes);
    let given = read().map_err(|error| {
        let status = match &error {
            error if error.is_missing() => Status::NoInput,
            error if error.is_wrong() => Status::Data,
            _ => Status::Io,
        };
        Failure::new(status, error.to_string())
    })?;
    let packed = dataset::Files {
        reviews: given.reviews.clone(),
        taxonomy: given.taxonomy.clone(),
        editorial: given.editorial.clone(),
        insights: given.insights.clone(),
        check: given.check.clone(),
        ignored: given.ignored.clone(),
    };
    let dataset = dataset::decode(given, crate::clock::now())
        .map_err(|problems| Failure::new(Status::Data, problems.to_string()))?
        .dataset;
    let name = args.out.file_name().unwrap_or_default().to_string_lossy();
    let unpackable = |error: io::Error| Failure::new(Status::Io, format!("cannot pack: {error}"));
    let bundle = pack(&packed, dataset.updated_at).map_err(unpackable)?;
    let line = digest_line(&bundle, &name);
    let mut beside = args.out.as_os_str().to_owned();
    beside.push(".sha256");
    // The digest last: whoever reads it finds the bundle that it names.
    for (path, bytes) in [
        (args.out.as_path(), bundle.as_slice()),
        (Path::new(&beside), line.as_bytes()),
    ] {
        replace(path, bytes).map_err(|error| {
            let message = format!("{} cannot be written (--out): {error}", path.display());
            Failure::new(Status::CannotCreate, message)
        })?;
    }
    let digest = line.get(..12).unwrap_or_default();
    println!(
        "{}: {} reviews of {}, {} bytes, sha256 {digest}…",
        args.out.display(),
        dataset.reviews.len(),
        dataset.updated_at,
        bundle.len()
    );
    Ok(())
}

/// Writes beside and renames, so that nobody ever reads half.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".partial.{}", std::process::id()));
    let beside = PathBuf::from(name);
    let written = File::create(&beside).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&beside, path)
    });
    if written.is_err() {
        // The error that led here is the one to tell.
        let _gone = fs::remove_file(&beside);
    }
    written
}

fn parse_out(text: &str) -> Result<PathBuf, String> {
    if text.ends_with(".tar.zst") {
        Ok(PathBuf::from(text))
    } else {
        Err("must end with .tar.zst".to_owned())
    }
}
