//! Source files as the rules see them: comments, strings and tests are blanked out, and line numbers are kept.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// One of our crates.
struct Krate {
    /// The folder of its sources, from the workspace's root, with a slash at the end.
    folder: &'static str,
    /// Its name in a path of Rust.
    name: &'static str,
    /// The module of the root package by which others see it, or `None` if each of its own modules is one there.
    module: Option<&'static str>,
}

/// All crates whose code the rules hold for.
const CRATES: &[Krate] = &[
    Krate {
        folder: "src/",
        name: "reviewd",
        module: None,
    },
    Krate {
        folder: "crates/reviewd-data/src/",
        name: "reviewd_data",
        module: None,
    },
    Krate {
        folder: "crates/reviewd-wire/src/",
        name: "reviewd_wire",
        module: Some("wire"),
    },
    Krate {
        folder: "crates/reviews-import/src/",
        name: "reviews_import",
        module: Some("import"),
    },
    Krate {
        folder: "crates/substring-index/src/",
        name: "substring_index",
        module: Some("substring_index"),
    },
    Krate {
        folder: "crates/websub-hub/src/",
        name: "websub_hub",
        module: Some("hub"),
    },
];

/// One file.
pub(crate) struct Source {
    /// The path from the workspace's root, such as `src/http/router.rs`.
    pub(crate) path: String,
    /// The unchanged text.
    pub(crate) text: String,
    /// The file with comments, strings and tests turned into spaces, byte for byte.
    code: String,
    /// Lines without tests, comments and empty lines included.
    pub(crate) product_lines: usize,
}

/// All files of our crates that are not tests, in the order of their paths.
pub(crate) fn sources() -> &'static [Source] {
    static SOURCES: OnceLock<Vec<Source>> = OnceLock::new();
    SOURCES.get_or_init(|| {
        let mut sources = Vec::new();
        for path in rust_files() {
            if is_product(Path::new(&path)) {
                sources.push(Source::of(&path, &read(&root().join(&path))));
            }
        }
        sources
    })
}

/// All files of our crates, whose tests are not blanked out, in the order of their paths.
pub(crate) fn sources_with_tests() -> Vec<Source> {
    let mut sources = Vec::new();
    for path in rust_files() {
        let text = read(&root().join(&path));
        sources.push(Source::until(text.len(), &path, &text));
    }
    sources
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The paths of all Rust files of our crates, from the workspace's root.
fn rust_files() -> Vec<String> {
    let mut paths = Vec::new();
    for krate in CRATES {
        let files = files_below(&root().join(krate.folder));
        assert!(!files.is_empty(), "{}: no such crate", krate.folder);
        for path in files {
            let path = path.strip_prefix(root()).expect("a path below the root");
            if path.extension().is_some_and(|extension| extension == "rs") {
                paths.push(path.to_string_lossy().into_owned());
            }
        }
    }
    paths
}

/// The source folders of the crates that the rules hold for.
pub(crate) fn crates_listed() -> Vec<&'static str> {
    CRATES.iter().map(|krate| krate.folder).collect()
}

/// The source folders of the crates in `crates`.
pub(crate) fn crates_found() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates");
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a readable folder") {
        let name = entry.expect("a readable folder").file_name();
        found.push(format!("crates/{}/src/", name.to_string_lossy()));
    }
    found
}

/// Whether the Rust file `path` is outside of folders and files named `tests`.
fn is_product(path: &Path) -> bool {
    !path.with_extension("").iter().any(|name| name == "tests")
}

/// Every file below `path`, which may be a file itself, except build directories.
pub(crate) fn files_below(path: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(path) else {
        return Vec::from_iter(path.is_file().then(|| path.to_owned()));
    };
    let entries = entries.map(|entry| entry.expect("a readable folder").path());
    let mut paths: Vec<PathBuf> = entries.filter(|path| !path.ends_with("target")).collect();
    paths.sort();
    paths.iter().flat_map(|path| files_below(path)).collect()
}

/// The text of a file.
pub(crate) fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

impl Krate {
    /// The path of the crate's root as the root package names it.
    fn base(&self) -> Vec<String> {
        Vec::from_iter(self.module.map(str::to_owned))
    }
}

impl Source {
    pub(crate) fn of(path: &str, text: &str) -> Source {
        // Tests are at the end of a file, or in separate files.
        let mut marks = text.match_indices("#[cfg(test)]\n");
        let tests = marks.find_map(|(at, mark)| {
            let line = text[at + mark.len()..].lines().next()?;
            line.ends_with("mod tests {").then_some(at)
        });
        Source::until(tests.unwrap_or(text.len()), path, text)
    }

    /// Reads a file whose tests begin at the byte `tests`.
    fn until(tests: usize, path: &str, text: &str) -> Source {
        let mut code = blank_text(text.as_bytes());
        blank(&mut code[tests..]);
        let declared = text[..tests].matches("#[cfg(test)]\n").count();
        let product_lines = text[..tests].lines().count() - 2 * declared;
        let code = String::from_utf8_lossy(&code).into_owned();
        Source {
            path: path.to_owned(),
            text: text.to_owned(),
            code,
            product_lines,
        }
    }

    /// The comments and names of the file, line by line, without strings; of tests, only the comments.
    pub(crate) fn prose(&self) -> String {
        let lines = self.text.lines().zip(self.code.lines());
        let lines = lines.map(|(text, code)| match text.split_once("//") {
            Some((before, comment)) if !before.ends_with(':') => format!("{code} {comment}\n"),
            _ => format!("{code}\n"),
        });
        lines.collect()
    }

    /// The top-level module that the file belongs to: `http` for `src/http/router.rs` and for `src/http.rs`, `wire` for
    /// every file of its crate.
    pub(crate) fn module(&self) -> &str {
        let krate = self.krate();
        if let Some(module) = krate.module {
            return module;
        }
        let inside = self.path.trim_start_matches(krate.folder);
        let first = inside.split('/').next().unwrap_or(inside);
        first.trim_end_matches(".rs")
    }

    /// The path of the file's module: `http` for `src/http/mod.rs`; `http`, `router` for `src/http/router.rs`; `wire`,
    /// `date` for `crates/reviewd-wire/src/date.rs`.
    pub(crate) fn module_path(&self) -> Vec<String> {
        let krate = self.krate();
        let inside = self
            .path
            .trim_start_matches(krate.folder)
            .trim_end_matches(".rs")
            .trim_end_matches("/mod");
        let mut path: Vec<String> = krate.base();
        if path.is_empty() || inside != "lib" {
            path.extend(inside.split('/').map(str::to_owned));
        }
        path
    }

    fn krate(&self) -> &'static Krate {
        let krate = CRATES
            .iter()
            .find(|krate| self.path.starts_with(krate.folder));
        krate.unwrap_or_else(|| panic!("{}: in no crate", self.path))
    }

    /// Every path that begins with the crate or `super`, with its line, as names from the crate's root on.
    pub(crate) fn references(&self) -> Vec<(usize, Vec<String>)> {
        let own = self.module_path();
        let mut references = Vec::new();
        let mut roots = vec![("crate::".to_owned(), self.krate().base())];
        roots.extend(
            CRATES
                .iter()
                .map(|krate| (format!("{}::", krate.name), krate.base())),
        );
        for (root, base) in &roots {
            for at in self.places(root) {
                self.push_references(at, base, at + root.len(), &mut references);
            }
        }
        for (at, chain) in self.super_chains() {
            let base = &own[..own.len().saturating_sub(chain)];
            self.push_references(at, base, at + chain * "super::".len(), &mut references);
        }
        references
    }

    /// Returns each path that begins with the name of the crate `root`, such as `std::fs`, and its line number. The group
    /// `std::{fs, io}` stands for two paths.
    pub(crate) fn paths_from(&self, root: &str) -> Vec<(usize, Vec<String>)> {
        let prefix = format!("{root}::");
        let base = [root.to_owned()];
        let mut references = Vec::new();
        for at in self.places(&prefix) {
            self.push_references(at, &base, at + prefix.len(), &mut references);
        }
        references
    }

    /// Adds the paths that begin at `at` with the names of `base`, and go on at `rest`.
    fn push_references(
        &self,
        at: usize,
        base: &[String],
        rest: usize,
        references: &mut Vec<(usize, Vec<String>)>,
    ) {
        let mut paths = Vec::new();
        push_paths(base, &self.code[rest..], &mut paths);
        let line = self.line(at);
        references.extend(paths.into_iter().map(|path| (line, path)));
    }

    /// Each top-level module named by a path that begins at the crate, with its line.
    pub(crate) fn imports(&self) -> Vec<(usize, String)> {
        let references = self.references().into_iter();
        let imports = references.filter_map(|(line, path)| Some((line, path.first()?.clone())));
        let own = self.module();
        imports.filter(|(_, name)| name != own).collect()
    }

    /// Where each chain of `super::` begins, and its length.
    fn super_chains(&self) -> Vec<(usize, usize)> {
        let mut chains = Vec::new();
        for at in self.places("super::") {
            if self.code[..at].ends_with("super::") {
                continue;
            }
            let mut length = 1;
            while self.code[at + length * "super::".len()..].starts_with("super::") {
                length += 1;
            }
            chains.push((at, length));
        }
        chains
    }

    /// Every type that the file declares, with its line: structs, enums and traits anywhere, aliases outside of blocks.
    pub(crate) fn types(&self) -> Vec<(usize, String)> {
        let mut types = Vec::new();
        for (number, line) in (1..).zip(self.code.lines()) {
            let mut words = line.split_whitespace();
            let mut keyword = words.next().unwrap_or_default();
            if keyword == "pub" || keyword.starts_with("pub(") {
                keyword = words.find(|word| !word.ends_with(')')).unwrap_or_default();
            }
            let is_alias = keyword == "type" && !line.starts_with(' ');
            if is_alias || ["struct", "enum", "trait", "union"].contains(&keyword) {
                let name = identifier(words.next().unwrap_or_default());
                types.push((number, name.to_owned()));
            }
        }
        types
    }

    /// The lines that contain `word`, except as a part of a longer identifier.
    pub(crate) fn words(&self, word: &str) -> Vec<usize> {
        let mut lines = Vec::new();
        for at in self.places(word) {
            let goes_on = word.ends_with(is_identifier)
                && self.code[at + word.len()..].starts_with(is_identifier);
            if !goes_on {
                lines.push(self.line(at));
            }
        }
        lines
    }

    /// The positions of `text` in the code. If it begins with an identifier, positions inside a longer one are left
    /// out.
    fn places<'a>(&'a self, text: &'a str) -> impl Iterator<Item = usize> + 'a {
        let places = self.code.match_indices(text).map(|(at, _)| at);
        places.filter(|at| {
            !self.code[..*at].ends_with(is_identifier) || !text.starts_with(is_identifier)
        })
    }

    fn line(&self, at: usize) -> usize {
        self.code[..at].matches('\n').count() + 1
    }
}

fn is_identifier(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

fn identifier(text: &str) -> &str {
    text.split(|character| !is_identifier(character))
        .next()
        .unwrap_or_default()
}

/// Adds the path at the beginning of `text`, after `base`, or each of a group such as `{model::Review, search::{run}}`.
fn push_paths(base: &[String], text: &str, paths: &mut Vec<Vec<String>>) {
    let mut path = base.to_vec();
    let mut rest = text;
    loop {
        if let Some(group) = rest.strip_prefix('{') {
            for item in group_items(group) {
                push_paths(&path, item.trim_start(), paths);
            }
            return;
        }
        let name = identifier(rest);
        if !name.is_empty() {
            path.push(name.to_owned());
        }
        match rest[name.len()..].strip_prefix("::") {
            Some(after) if !name.is_empty() => rest = after,
            _ => break,
        }
    }
    if path.len() > base.len() {
        paths.push(path);
    }
}

/// The items of a group, whose opening brace has been taken.
fn group_items(group: &str) -> Vec<&str> {
    let mut items = Vec::new();
    let mut depth = 0;
    let mut start = 0;
    for (at, character) in group.char_indices() {
        match character {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                items.push(&group[start..at]);
                start = at + 1;
                if character == '}' {
                    break;
                }
            }
            _ => {}
        }
    }
    items
}

/// The code without comments and the insides of strings and characters.
fn blank_text(text: &[u8]) -> Vec<u8> {
    let mut code = text.to_vec();
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let after_name = at > 0 && (text[at - 1].is_ascii_alphanumeric() || text[at - 1] == b'_');
        let len = match rest {
            [b'/', b'/', ..] => find(rest, b"\n").unwrap_or(rest.len()),
            [b'/', b'*', ..] => find(rest, b"*/").map_or(rest.len(), |end| end + 2),
            [b'"', ..] => quoted(rest, b'"'),
            [b'r', b'"' | b'#', ..] if !after_name || text[at - 1] == b'b' => raw_string(rest),
            [b'\'', b'\\', ..] => quoted(rest, b'\''),
            [b'\'', _, b'\'', ..] => 3,
            // A character of several bytes; otherwise a lifetime.
            [b'\'', first, ..] if !first.is_ascii() => quoted(rest, b'\''),
            _ => 0,
        };
        blank(&mut code[at..at + len]);
        at += len.max(1);
    }
    code
}

/// The length of a string or character with its quotes, escapes skipped.
fn quoted(text: &[u8], quote: u8) -> usize {
    let mut at = 1;
    while at < text.len() && text[at] != quote {
        at += if text[at] == b'\\' { 2 } else { 1 };
    }
    (at + 1).min(text.len())
}

/// The length of `r"…"` or `r#"…"#`, or 0 if it is an identifier such as `r#type`.
fn raw_string(text: &[u8]) -> usize {
    let hashes = text[1..].iter().take_while(|&&byte| byte == b'#').count();
    if text.get(1 + hashes) != Some(&b'"') {
        return 0;
    }
    let end = [b"\"".as_slice(), &b"#".repeat(hashes)].concat();
    let start = hashes + 2;
    find(&text[start..], &end).map_or(text.len(), |at| start + at + end.len())
}

fn find(text: &[u8], needle: &[u8]) -> Option<usize> {
    text.windows(needle.len())
        .position(|window| window == needle)
}

fn blank(bytes: &mut [u8]) {
    bytes
        .iter_mut()
        .filter(|byte| **byte != b'\n')
        .for_each(|byte| *byte = b' ');
}
