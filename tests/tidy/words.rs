//! Unwanted words in code, docs, help and scripts: pronouns for roles, and private names in place of the field's terms.

use std::collections::HashMap;
use std::path::Path;
use std::sync::LazyLock;

use super::source::{files_below, read, sources};

/// The replacements of each word.
const WORDS: &str = "\
whoever: the role: client, subscriber, operator, peer, replica
somebody, someone, anybody, anyone, he, him: the role
nobody: no and the role
everybody, everyone: all and the role
stranger, strangers: unknown client
his: the role's
culprit: the cause
parcel: message, or the type's name
errand: job
sentry: deadline
twin, twins: reference implementation, duplicate";

/// Searched in addition to the comments and names of our crates; paths from the root.
const SEARCHED: [&str; 5] = ["crates", "docs", "deploy", "README.md", "src/pages/assets"];

/// Extensions of the files that are searched there.
const EXTENSIONS: &[&str] = &["md", "sh", "py", "yml", "yaml", "service", "socket"];

#[test]
fn no_private_words() {
    let mut faults = Vec::new();
    let mut check = |path: &str, prose: &str| {
        for (number, line) in (1..).zip(prose.lines()) {
            for (word, instead) in found(line) {
                faults.push(format!("{path}:{number}: `{word}`: write {instead}"));
            }
        }
    };
    for source in sources() {
        check(&source.path, &source.prose());
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = SEARCHED.map(|name| files_below(&root.join(name))).concat();
    files.retain(|file| {
        EXTENSIONS
            .iter()
            .any(|known| file.extension() == Some(known.as_ref()))
    });
    for file in files {
        let path = file.strip_prefix(root).expect("a path below the root");
        check(&path.to_string_lossy(), &read(&file));
    }
    super::report(faults);
}

#[test]
fn words_are_found_in_names_and_prose() {
    let words = |line| -> Vec<&str> { found(line).map(|(word, _)| word).collect() };
    for (line, expected) in [
        (
            "// Whoever asks, and his twin.",
            &["Whoever", "his", "twin"][..],
        ),
        ("fn nobody_is_asked(parcel: u8) {}", &["nobody", "parcel"]),
        ("the, this, whisper, twine, history", &[]),
        ("\"/api/reviews/nobody\"", &[]),
    ] {
        assert_eq!(words(line), expected);
    }
}

/// Finds the unwanted words of a line, with their replacements.
fn found(line: &str) -> impl Iterator<Item = (&str, &'static str)> {
    // A path, such as /api/reviews/nobody, is an example and no prose.
    let is_prose = |part: &&str| !part.contains('/') || part.starts_with("//");
    let parts = line.split(' ').filter(is_prose);
    let words = parts.flat_map(|part| part.split(|letter: char| !letter.is_ascii_alphabetic()));
    words.filter_map(|word| Some((word, *INSTEAD.get(&*word.to_lowercase())?)))
}

static INSTEAD: LazyLock<HashMap<&str, &str>> = LazyLock::new(|| {
    let rows = WORDS.lines().filter_map(|row| row.split_once(": "));
    let words =
        rows.flat_map(|(words, instead)| words.split(", ").map(move |word| (word, instead)));
    words.collect()
});
