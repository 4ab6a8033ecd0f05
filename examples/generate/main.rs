//! Generates a larger dataset from the sentences of a given one, for tests and measurements.
//!
//! `cargo run --release --example generate -- --reviews 100000 --into DIR [--seed S] [--from DIR]`. The same seed makes
//! the same bytes; without `--from` the sentences are the sample's.

mod recombine;

use std::error::Error;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use clap::Parser;
use recombine::Recombined;
use reviewd::dataset::publish::push_json;
use reviewd::model::Dataset;
use reviewd::server::files;
use reviewd::wire::json::push_string;
use reviewd::{clock, dataset};

#[derive(Debug, Parser)]
struct Arguments {
    /// Number of reviews to generate
    #[arg(long)]
    reviews: u64,
    /// Directory to create; must not contain reviews.json or taxonomy.json yet
    #[arg(long)]
    into: PathBuf,
    /// Seed of the random numbers
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Directory with the reviews whose sentences are used [default: the sample]
    #[arg(long)]
    from: Option<PathBuf>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    let files = match &arguments.from {
        None => dataset::embedded(),
        Some(directory) => files::read(directory)?,
    };
    let taxonomy = files.taxonomy.clone();
    let given = dataset::decode(files, clock::now())
        .map_err(|problems| problems.to_string())?
        .dataset;
    if given.reviews.is_empty() {
        return Err("there is no verified review to take sentences from".into());
    }
    fs::create_dir_all(&arguments.into)?;
    if let Some(bytes) = taxonomy {
        File::create_new(arguments.into.join("taxonomy.json"))?.write_all(&bytes)?;
    }
    write_reviews(&arguments, &given)
}

/// Writes `reviews.json` review by review, so that memory does not grow with their number.
fn write_reviews(arguments: &Arguments, given: &Dataset) -> Result<(), Box<dyn Error>> {
    let file = File::create_new(arguments.into.join("reviews.json"))?;
    let mut file = BufWriter::with_capacity(1 << 20, file);
    let mut out = b"{\"business\":".to_vec();
    push_json(&mut out, &given.business);
    out.extend_from_slice(b",\"disclaimer\":");
    match &given.disclaimer {
        Some(disclaimer) => push_string(&mut out, disclaimer),
        None => out.extend_from_slice(b"null"),
    }
    out.extend_from_slice(b",\"updated_at\":\"");
    out.extend_from_slice(given.updated_at.to_string().as_bytes());
    out.extend_from_slice(b"\",\"reviews\":[");
    let reviews = Recombined::new(&given.reviews, arguments.seed);
    for (number, review) in (0..arguments.reviews).zip(reviews) {
        out.extend_from_slice(if number == 0 { b"\n" } else { b",\n" });
        // A file states languages only; where one is from is added when it is read.
        let mut review = serde_json::to_value(&review)?;
        if let Some(keys) = review.as_object_mut() {
            keys.shift_remove("language_source");
        }
        push_json(&mut out, &review);
        file.write_all(&out)?;
        out.clear();
    }
    file.write_all(b"\n]}\n")?;
    Ok(file.flush()?)
}
