//! `reviewd generate`: a larger dataset out of a given one, for tests and measurements.

pub mod recombine;

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::Args;

use super::bar::Bar;
use super::exit::{Failure, Status};
use super::values::parse_file_size;
use crate::dataset::publish::{render_business, render_review};
use crate::dataset::{self, Problems};
use crate::model::Dataset;
use crate::server::files;
use crate::wire::json::{push_null, push_string};
use recombine::Recombined;

/// Flags of `generate`.
#[derive(Args, Debug)]
pub struct GenerateArgs {
    /// Directory whose reviews lend their sentences [default: the sample]
    #[arg(long, env = "REVIEWD_GENERATE_FROM", value_name = "DIR")]
    from: Option<PathBuf>,

    /// How many reviews to make
    #[arg(long, env = "REVIEWD_GENERATE_REVIEWS", value_name = "N", value_parser = clap::value_parser!(u64).range(1..=REVIEWS_MAX))]
    reviews: u64,

    /// Which of all possible datasets to make; the same seed makes the same bytes
    #[arg(
        long,
        env = "REVIEWD_GENERATE_SEED",
        value_name = "S",
        default_value_t = 1
    )]
    seed: u64,

    /// Directory to make; reviews.json and taxonomy.json in it must not be there yet
    #[arg(long, env = "REVIEWD_GENERATE_INTO", value_name = "DIR")]
    into: PathBuf,

    /// Largest data file that is read
    #[arg(long, env = "REVIEWD_DATA_FILE_BYTES", value_name = "SIZE", default_value = "256MiB", value_parser = parse_file_size)]
    data_file_bytes: u64,
}

/// More reviews than any business has; a larger number is refused.
const REVIEWS_MAX: u64 = 20_000_000;

/// Makes the dataset, with progress on a terminal.
///
/// # Errors
/// 65 or 66 where the given dataset is wrong or missing, 73 where a file cannot be made, 74 where writing fails.
pub(super) fn run(args: &GenerateArgs) -> Result<(), Failure> {
    let files = match &args.from {
        None => dataset::embedded(),
        Some(directory) => files::read(directory, args.data_file_bytes).map_err(|error| {
            let status = if error.is_missing() {
                Status::NoInput
            } else {
                Status::Io
            };
            Failure::new(status, error.to_string())
        })?,
    };
    let taxonomy = files.taxonomy.clone();
    let wrong = |problems: Problems| Failure::new(Status::Data, problems.to_string());
    let given = dataset::decode(files, crate::clock::now())
        .map_err(wrong)?
        .dataset;
    if given.reviews.is_empty() {
        return Err(Failure::new(
            Status::Data,
            "there is no verified review to take sentences from",
        ));
    }
    let made = |error: io::Error, path: &Path| {
        Failure::new(
            Status::CannotCreate,
            format!("{}: cannot be made: {error}", path.display()),
        )
    };
    fs::create_dir_all(&args.into).map_err(|error| made(error, &args.into))?;
    if let Some(bytes) = taxonomy {
        let path = args.into.join(files::TAXONOMY);
        let mut file = File::create_new(&path).map_err(|error| made(error, &path))?;
        file.write_all(&bytes)
            .map_err(|error| failed(&error, &path))?;
    }
    let path = args.into.join(files::REVIEWS);
    let file = File::create_new(&path).map_err(|error| made(error, &path))?;
    write_reviews(BufWriter::with_capacity(1 << 20, file), &given, args)
        .map_err(|error| failed(&error, &path))
}

fn failed(error: &io::Error, path: &Path) -> Failure {
    Failure::new(
        Status::Io,
        format!("{}: cannot be written: {error}", path.display()),
    )
}

/// Writes `reviews.json` review by review, so that memory does not grow with their number.
fn write_reviews(
    mut file: BufWriter<File>,
    given: &Dataset,
    args: &GenerateArgs,
) -> io::Result<()> {
    let mut out = b"{\"business\":".to_vec();
    render_business(&mut out, &given.business);
    out.extend_from_slice(b",\"disclaimer\":");
    match &given.disclaimer {
        Some(disclaimer) => push_string(&mut out, disclaimer),
        None => push_null(&mut out),
    }
    out.extend_from_slice(b",\"updated_at\":\"");
    out.extend_from_slice(&given.updated_at.render_rfc3339());
    out.extend_from_slice(b"\",\"reviews\":[");
    let mut progress = Bar::new(args.reviews, "reviews");
    for (number, review) in (0..args.reviews).zip(Recombined::new(&given.reviews, args.seed)) {
        out.extend_from_slice(if number == 0 { b"\n" } else { b",\n" });
        render_review(&mut out, &review);
        file.write_all(&out)?;
        out.clear();
        progress.show(number + 1);
    }
    file.write_all(b"\n]}\n")?;
    file.into_inner()
        .map_err(io::IntoInnerError::into_error)?
        .sync_all()
}
