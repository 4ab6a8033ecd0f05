//! Replays every file of the fuzz corpora through the check that its target calls.
//!
//! `CHECKS` (in `tests/oracle/src/lib.rs`), `fuzz/fuzz_targets` and `fuzz/corpus` must name the same targets; to add one,
//! follow `fuzz/README.md`.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::panic;
use std::path::{Path, PathBuf};

use oracle::CHECKS;

/// Names the one target whose files are replayed; without it all are.
const ONLY: &str = "REVIEWD_FUZZ_ONLY";

/// Names a folder with further corpora, such as fuzzing has found.
const FOUND: &str = "REVIEWD_FUZZ_FOUND";

#[test]
fn every_corpus_file_passes_its_check() {
    let mut failed = Vec::new();
    let mut replayed = 0;
    let only = env::var(ONLY).unwrap_or_default();
    let found = env::var_os(FOUND).map(PathBuf::from);
    for (target, check) in CHECKS {
        if !only.is_empty() && only != *target {
            continue;
        }
        let known = entries(&fuzz().join("corpus").join(target));
        let further = found
            .as_ref()
            .map_or_else(Vec::new, |found| entries(&found.join(target)));
        for file in known.into_iter().chain(further) {
            let data = fs::read(&file).expect("a readable corpus file");
            replayed += 1;
            // The panic's own message is printed by the hook; the file's name is what it lacks.
            if panic::catch_unwind(|| check(&data)).is_err() {
                failed.push(file);
            }
        }
    }
    assert!(
        failed.is_empty(),
        "these of {replayed} files fail their check: {failed:#?}"
    );
}

#[test]
fn every_check_has_a_target_and_every_target_a_check() {
    let checks = CHECKS
        .iter()
        .map(|(target, _)| (*target).to_owned())
        .collect::<BTreeSet<_>>();
    let targets = stems(&fuzz().join("fuzz_targets"));
    assert_eq!(
        checks, targets,
        "CHECKS in tests/oracle/src/lib.rs (left) against fuzz/fuzz_targets (right)"
    );
    let manifest = fs::read_to_string(fuzz().join("Cargo.toml")).expect("fuzz/Cargo.toml");
    for target in targets {
        assert!(
            manifest.contains(&format!("path = \"fuzz_targets/{target}.rs\"")),
            "fuzz/Cargo.toml has no [[bin]] for {target}"
        );
        let file = fuzz()
            .join("fuzz_targets")
            .join(&target)
            .with_extension("rs");
        let source = fs::read_to_string(&file).expect("a readable target");
        let call = format!("oracle::check_{target}(data)");
        assert!(
            source.contains(&call),
            "{} does not call {call}",
            file.display()
        );
    }
}

#[test]
fn every_target_has_a_corpus_and_every_corpus_a_target() {
    let checks = CHECKS
        .iter()
        .map(|(target, _)| (*target).to_owned())
        .collect::<BTreeSet<_>>();
    let corpora = stems(&fuzz().join("corpus"));
    assert_eq!(
        checks, corpora,
        "CHECKS in tests/oracle/src/lib.rs (left) against fuzz/corpus (right)"
    );
    for corpus in corpora {
        let folder = fuzz().join("corpus").join(corpus);
        assert!(
            !entries(&folder).is_empty(),
            "{} holds no file",
            folder.display()
        );
    }
}

/// What is fuzzed is what is built: the same versions of the same crates.
#[test]
fn the_targets_are_locked_to_the_versions_of_the_package() {
    let package = locked(&fuzz().join("../Cargo.lock"));
    let targets = locked(&fuzz().join("Cargo.lock"));
    let own = ["reviewd-fuzz", "libfuzzer-sys", "arbitrary", "jobserver"];
    let differs =
        |locked: &&(String, String)| !package.contains(locked) && !own.contains(&locked.0.as_str());
    let other: Vec<_> = targets.iter().filter(differs).collect();
    let manifest = fs::read_to_string(fuzz().join("../Cargo.toml")).expect("Cargo.toml");
    let dependencies = manifest
        .lines()
        .skip_while(|line| *line != "[dependencies]")
        .skip(1);
    // The targets do without optional dependencies.
    let names = dependencies
        .map_while(|line| line.split_once(" = "))
        .filter(|(_, wanted)| !wanted.contains("optional = true"))
        .map(|(name, _)| name.to_owned());
    let text = fs::read_to_string(fuzz().join("Cargo.lock")).expect("a lock file");
    let reviewd = text
        .split("[[package]]")
        .find(|package| package.contains("name = \"reviewd\"\n"));
    // A dependency that is there in two versions is named with its version.
    let is_locked = |name: &String| {
        reviewd.is_some_and(|text| {
            text.contains(&format!("\"{name}\"")) || text.contains(&format!("\"{name} "))
        })
    };
    let missing: Vec<_> = names.filter(|name| !is_locked(name)).collect();
    assert!(
        other.is_empty() && missing.is_empty(),
        "fuzz/Cargo.lock has {other:?} and lacks {missing:?}: copy Cargo.lock over it and run \
         `cargo metadata --manifest-path fuzz/Cargo.toml`"
    );
}

/// Names and versions of the packages in a lock file.
fn locked(file: &Path) -> BTreeSet<(String, String)> {
    let text = fs::read_to_string(file).expect("a lock file");
    let quoted = |line: &str, key: &str| {
        Some(
            line.strip_prefix(key)?
                .strip_prefix(" = \"")?
                .strip_suffix('"')?
                .to_owned(),
        )
    };
    let lines: Vec<&str> = text.lines().collect();
    lines
        .windows(2)
        .filter_map(|pair| Some((quoted(pair[0], "name")?, quoted(pair[1], "version")?)))
        .collect()
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

/// The names in `folder` without their extensions.
fn stems(folder: &Path) -> BTreeSet<String> {
    let stem = |path: &PathBuf| {
        path.file_stem()
            .map(|stem| stem.to_string_lossy().into_owned())
    };
    entries(folder).iter().filter_map(stem).collect()
}
