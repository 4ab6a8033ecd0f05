//! Checks the three walks in the documentation of the crate: each name is a file, and a reader need not open many.

use std::collections::BTreeSet;

use super::source::sources;

/// The walks by the beginnings of their titles, each with the most files that it may name.
const WALKS: &[(&str, usize)] = &[
    ("**`GET /reviews.json`**", 15),
    // The files that this walk adds to those of the first one.
    ("**`GET /api/reviews/search?", 16),
    ("**From a changed file to a notified subscriber**", 33),
];

#[test]
fn the_walks_name_files_that_exist() {
    let mut faults = Vec::new();
    for (title, _) in WALKS {
        for name in files_of_walk(title) {
            let file = format!("/{name}.rs");
            let folder = format!("/{name}/mod.rs");
            let mut paths = sources().iter().map(|source| &source.path);
            if !paths.any(|path| path.ends_with(&file) || path.ends_with(&folder)) {
                faults.push(format!("src/lib.rs: {title}: no file is called {name}"));
            }
        }
    }
    super::report(faults);
}

#[test]
fn a_reader_of_a_walk_opens_few_files() {
    let mut faults = Vec::new();
    for (title, files_max) in WALKS {
        let count = files_of_walk(title).len();
        println!("{count:>3} files: {title}");
        if !(1..=*files_max).contains(&count) {
            faults.push(format!(
                "src/lib.rs: {title} names {count} files, not 1 to {files_max}"
            ));
        }
    }
    super::report(faults);
}

/// Returns the names of files in a walk, without the modules before them.
fn files_of_walk(title: &str) -> BTreeSet<String> {
    let root = sources().iter().find(|source| source.path == "src/lib.rs");
    let text = &root.expect("src/lib.rs").text;
    let start = text
        .find(title)
        .unwrap_or_else(|| panic!("src/lib.rs has no walk {title}"));
    let walk = &text[start..];
    let walk = walk.split("\n//!\n").next().unwrap_or_default();
    // Every second part stands between backquotes.
    let quoted = walk.split('`').skip(1).step_by(2);
    let mut files = BTreeSet::new();
    for name in quoted {
        if name.chars().all(is_of_path) {
            files.extend(name.rsplit("::").next().map(str::to_owned));
        }
    }
    files
}

/// Tells whether the path of a module, such as `http::head`, may have this character.
fn is_of_path(character: char) -> bool {
    character.is_ascii_lowercase() || "_:".contains(character)
}
