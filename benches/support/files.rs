//! The dataset that `REVIEWD_CORPUS` names.

use std::path::Path;

use reviewd::dataset::{Files, decode};
use reviewd::model::Dataset;
use reviewd::wire::date::Timestamp;

/// Returns the files of the corpus, if there is one.
pub(crate) fn corpus() -> Option<Files> {
    let Some(directory) = std::env::var_os("REVIEWD_CORPUS") else {
        eprintln!("REVIEWD_CORPUS is not set: the corpus is skipped");
        return None;
    };
    let file = |name: &str| std::fs::read(Path::new(&directory).join(name)).ok();
    Some(Files {
        reviews: file("reviews.json").expect("REVIEWD_CORPUS names a folder with reviews.json"),
        taxonomy: file("taxonomy.json"),
        editorial: file("editorial.json"),
        ..Files::default()
    })
}

/// Returns the dataset of valid files.
pub(crate) fn decoded(files: Files) -> Dataset {
    // Later than any plausible `updated_at`.
    match decode(files, Timestamp::from_unix(4_000_000_000)) {
        Ok(decoded) => decoded.dataset,
        Err(problems) => panic!("{problems}"),
    }
}
