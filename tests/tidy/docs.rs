//! The documentation: its links lead somewhere, README stays short, and each page says for whom it is.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Bytes of README.md: what a reader takes in in a few minutes.
const README_BYTES_MAX: usize = 8_192;

#[test]
fn the_readme_is_short() {
    let bytes = read("README.md").len();
    assert!(
        bytes <= README_BYTES_MAX,
        "{bytes} bytes: move details to docs"
    );
}

#[test]
fn every_page_says_for_whom_it_is_and_is_listed_in_the_readme() {
    let readme = read("README.md");
    for page in pages().iter().filter(|page| page.starts_with("docs")) {
        let name = page.display();
        let text = read(page);
        let mut lines = text.lines().skip(1).filter(|line| !line.is_empty());
        let is_for = lines.next().is_some_and(|line| line.starts_with("For "));
        assert!(
            text.starts_with("# ") && is_for,
            "{name}: no heading, or no line `For …`"
        );
        assert!(
            readme.contains(&format!("({name})")),
            "README.md does not link to {name}"
        );
    }
}

#[test]
fn every_link_leads_to_a_file_and_a_heading() {
    let mut broken = Vec::new();
    for page in pages() {
        for link in links(&prose(&read(&page))) {
            if link.contains(':') {
                continue;
            }
            let (file, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = match file {
                "" => root().join(&page),
                _ => root().join(&page).with_file_name("").join(file),
            };
            let has_anchor = || anchor.is_empty() || anchors(&read(&target)).contains(anchor);
            if !target.exists() || !has_anchor() {
                broken.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(broken.is_empty(), "broken links: {broken:#?}");
}

#[test]
fn every_block_of_commands_says_where_it_runs() {
    let known = ["sh server", "sh test", "sh elsewhere"];
    for page in pages() {
        let is_documentation = page.starts_with("docs") || page == Path::new("README.md");
        for line in read(&page).lines().filter(|_| is_documentation) {
            let block = line
                .strip_prefix("```")
                .filter(|block| block.starts_with("sh"));
            let is_known = block.is_none_or(|block| known.contains(&block));
            assert!(
                is_known,
                "{}: .ci/steps/63-docs.sh does not know {line}",
                page.display()
            );
        }
    }
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the text of a file by its path from the root.
fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Every Markdown file of the repository, relative to its root.
fn pages() -> BTreeSet<PathBuf> {
    let folders = [
        "", ".ci", ".github", "benches", "data", "deploy", "docs", "fuzz", "LICENSES", "tests",
    ];
    let mut pages = BTreeSet::new();
    for folder in folders {
        // Below the root only the folders that are named: it holds build directories, too.
        collect(Path::new(folder), !folder.is_empty(), &mut pages);
    }
    pages
}

fn collect(folder: &Path, deep: bool, pages: &mut BTreeSet<PathBuf>) {
    let Ok(entries) = fs::read_dir(root().join(folder)) else {
        return;
    };
    for entry in entries.flatten() {
        let path = folder.join(entry.file_name());
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_folder && deep && entry.file_name() != "target" {
            collect(&path, deep, pages);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            pages.insert(path);
        }
    }
}

/// The text without fenced code and without code spans.
fn prose(text: &str) -> String {
    let mut is_code = false;
    let mut prose = String::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if !is_code {
            // Every second piece between backticks is code.
            prose.extend(line.split('`').step_by(2));
            prose.push('\n');
        }
    }
    prose
}

/// The targets of links and pictures: `](target)`, `src="target"`, `srcset="target"`.
fn links(prose: &str) -> Vec<String> {
    let ends = [("](", ')'), ("src=\"", '"'), ("srcset=\"", '"')];
    let pieces = ends.iter().flat_map(|(begin, end)| {
        let rests = prose.split(begin).skip(1);
        rests.filter_map(|rest| rest.split(*end).next())
    });
    pieces.map(str::to_owned).collect()
}

/// The anchors of the headings, as GitHub makes them.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut is_code = false;
    let mut anchors = BTreeSet::new();
    for line in text.lines() {
        is_code ^= line.starts_with("```");
        let heading = line.trim_start_matches('#');
        if !is_code && heading.len() < line.len() && heading.starts_with(' ') {
            let kept = heading.trim().chars().filter_map(|letter| match letter {
                ' ' => Some('-'),
                '-' | '_' => Some(letter),
                _ if letter.is_alphanumeric() => Some(letter.to_ascii_lowercase()),
                _ => None,
            });
            anchors.insert(kept.collect());
        }
    }
    anchors
}
