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
    for source in sources() {
        push_faults(&source.path, &source.prose(), &mut faults);
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
        push_faults(&path.to_string_lossy(), &read(&file), &mut faults);
    }
    super::report(faults);
}

fn push_faults(path: &str, prose: &str, faults: &mut Vec<String>) {
    for (number, line) in (1..).zip(prose.lines()) {
        for (word, instead) in found(line) {
            faults.push(format!("{path}:{number}: `{word}`: write {instead}"));
        }
    }
}

#[test]
fn words_are_found_in_names_and_prose() {
    for (line, expected) in [
        (
            "// Whoever asks, and his twin.",
            &["Whoever", "his", "twin"][..],
        ),
        ("fn nobody_is_asked(parcel: u8) {}", &["nobody", "parcel"]),
        ("the, this, whisper, twine, history", &[]),
        ("\"/api/reviews/nobody\"", &[]),
    ] {
        let words: Vec<&str> = found(line).map(|(word, _)| word).collect();
        assert_eq!(words, expected);
    }
}

/// Finds the unwanted words of a line, with their replacements.
fn found(line: &str) -> impl Iterator<Item = (&str, &'static str)> {
    // A path, such as /api/reviews/nobody, is an example and no prose.
    line.split(' ')
        .filter(|part| !part.contains('/') || part.starts_with("//"))
        .flat_map(|part| part.split(|character: char| !character.is_ascii_alphabetic()))
        .filter_map(|word| Some((word, *INSTEAD.get(&*word.to_lowercase())?)))
}

/// What is written instead of each word.
static INSTEAD: LazyLock<HashMap<&str, &str>> = LazyLock::new(|| {
    let mut instead_of = HashMap::new();
    for (words, instead) in WORDS.lines().filter_map(|row| row.split_once(": ")) {
        for word in words.split(", ") {
            instead_of.insert(word, instead);
        }
    }
    instead_of
});
