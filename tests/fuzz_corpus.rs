//! Replays every file of the fuzz corpora through the check that its target calls.
//!
//! `CHECKS` (in `tests/oracle/src/lib.rs`), `fuzz/fuzz_targets` and `fuzz/corpus` must name the same targets; to add
//! one, follow `fuzz/README.md`.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::panic;
use std::path::{Path, PathBuf};

use oracle::CHECKS;

/// Environment variable with the only target to replay; without it all are replayed.
const ONLY: &str = "REVIEWD_FUZZ_ONLY";

/// Environment variable with a folder of further corpora, such as those found by fuzzing.
const FOUND: &str = "REVIEWD_FUZZ_FOUND";

#[test]
fn every_corpus_file_passes_its_check() {
    let mut failed = Vec::new();
    let only = env::var(ONLY).unwrap_or_default();
    let found = env::var_os(FOUND).map(PathBuf::from);
    let is_meant = |target: &str| only.is_empty() || only == target;
    let known = CHECKS.iter().any(|(target, _)| is_meant(target));
    assert!(known, "{ONLY}: there is no target {only}");
    for (target, check) in CHECKS.iter().filter(|(target, _)| is_meant(target)) {
        let mut files = entries(&fuzz().join("corpus").join(target));
        assert!(!files.is_empty(), "{target} has no corpus");
        if let Some(found) = &found {
            files.extend(entries(&found.join(target)));
        }
        for file in files {
            let data = fs::read(&file).expect("a readable corpus file");
            // The panic hook prints the message, but not the name of the file.
            if panic::catch_unwind(|| check(&data)).is_err() {
                failed.push(file);
            }
        }
    }
    assert!(failed.is_empty(), "these fail their check: {failed:#?}");
}

#[test]
fn every_check_has_a_target_and_a_corpus() {
    let checks: BTreeSet<String> = CHECKS.iter().map(|(name, _)| (*name).to_owned()).collect();
    let manifest = fs::read_to_string(fuzz().join("Cargo.toml")).expect("fuzz/Cargo.toml");
    for folder in ["fuzz_targets", "corpus"] {
        let names: BTreeSet<String> = entries(&fuzz().join(folder))
            .into_iter()
            .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
            .collect();
        assert_eq!(checks, names, "CHECKS (left) against fuzz/{folder} (right)");
    }
    for name in checks {
        let path = format!("fuzz_targets/{name}.rs");
        let is_listed = manifest.contains(&format!("path = \"{path}\""));
        assert!(is_listed, "fuzz/Cargo.toml has no [[bin]] for {name}");
        let source = fs::read_to_string(fuzz().join(path)).expect("a readable target");
        let call = format!("::check_{name}(data)");
        assert!(source.contains(&call), "{name} does not call {call}");
    }
}

/// The fuzz targets use the same versions of crates as the package.
#[test]
fn the_targets_are_locked_to_the_versions_of_the_package() {
    let package = locked(&fuzz().join("../Cargo.lock"));
    let targets = locked(&fuzz().join("Cargo.lock"));
    let own = ["reviewd-fuzz", "libfuzzer-sys", "arbitrary", "jobserver"];
    let other: Vec<_> = targets
        .difference(&package)
        .filter(|(name, _)| !own.contains(&name.as_str()))
        .collect();
    assert!(
        other.is_empty(),
        "fuzz/Cargo.lock has {other:?}: copy Cargo.lock over it and run `cargo metadata --manifest-path fuzz/Cargo.toml`"
    );
}

/// Names and versions of the packages in a lock file.
fn locked(file: &Path) -> BTreeSet<(String, String)> {
    let text = fs::read_to_string(file).expect("a lock file");
    let packages = text.split("[[package]]\n").skip(1).filter_map(|package| {
        let (name, rest) = package.strip_prefix("name = \"")?.split_once('"')?;
        let (version, _) = rest.strip_prefix("\nversion = \"")?.split_once('"')?;
        Some((name.to_owned(), version.to_owned()))
    });
    packages.collect()
}

fn fuzz() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz")
}

/// The paths in `folder`, in order.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.expect("a readable folder").path())
        .collect();
    paths.sort();
    paths
}
