//! Checks the documentation: links resolve, README stays short, each page names its audience, and the checks of
//! docs/promises.md exist.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::source;

/// Limit of the bytes of README.md, which a reader takes in in a few minutes.
const README_BYTES_MAX: usize = 8_192;

#[test]
fn the_readme_is_short() {
    let bytes = read("README.md").len();
    let is_short = bytes <= README_BYTES_MAX;
    assert!(is_short, "{bytes} bytes: move details to docs");
}

#[test]
fn every_page_names_its_audience_and_is_listed_in_the_readme() {
    let readme = read("README.md");
    for page in pages().iter().filter(|page| page.starts_with("docs")) {
        let name = page.display();
        let text = read(page);
        let mut lines = text.lines().skip(1).filter(|line| !line.is_empty());
        let is_for = lines.next().is_some_and(|line| line.starts_with("For "));
        let has_head = text.starts_with("# ") && is_for;
        assert!(has_head, "{name}: no heading, or no line `For …`");
        let is_listed = readme.contains(&format!("({name})"));
        assert!(is_listed, "README.md does not link to {name}");
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
            let is_there =
                target.exists() && (anchor.is_empty() || anchors(&read(&target)).contains(anchor));
            if !is_there {
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
            let block = line.strip_prefix("```");
            let block = block.filter(|block| block.starts_with("sh"));
            let is_known = block.is_none_or(|block| known.contains(&block));
            let name = page.display();
            assert!(
                is_known,
                "{name}: .ci/steps/60-docs.sh does not know {line}"
            );
        }
    }
}

/// The folder or file of the tests of each program that docs/promises.md names.
const PROGRAMS: &[(&str, &str)] = &[
    ("it", "tests/it"),
    ("tidy", "tests/tidy"),
    ("allocations", "tests/allocations"),
    ("exports", "crates/reviews-import/tests/exports"),
    ("lib", "src"),
    ("reviewd-data", "crates/reviewd-data/src"),
    ("reviewd-oracle", "tests/oracle/src"),
    ("reviews-import", "crates/reviews-import/src"),
    ("websub-hub", "crates/websub-hub/src"),
];

#[test]
fn every_promise_has_a_check_that_exists_or_says_that_it_has_none() {
    let page = read("docs/promises.md");
    let (_, tables) = page.split_once("\n## ").expect("a group of promises");
    let rows: Vec<&str> = tables
        .lines()
        .filter(|line| line.starts_with("| "))
        .filter(|line| *line != "| promise | where | check |")
        .collect();
    assert!(rows.len() > 90, "{} promises", rows.len());
    let mut faults = Vec::new();
    for row in rows {
        let cells: Vec<&str> = row.split(" | ").collect();
        let [_, _, check] = cells[..] else {
            faults.push(format!("three columns, not {row}"));
            continue;
        };
        let names: Vec<&str> = check.split('`').skip(1).step_by(2).collect();
        if names.is_empty() && !check.contains("**Not held by a check**") {
            faults.push(format!("no check: {row}"));
        }
        let missing = names.iter().filter(|name| !is_check(name));
        faults.extend(missing.map(|name| format!("there is no {name}")));
    }
    assert!(faults.is_empty(), "docs/promises.md: {faults:#?}");
}

#[test]
fn a_check_is_a_step_or_a_test_by_its_path() {
    assert!(is_check(".ci/steps/60-feeds.sh"));
    assert!(is_check(
        "tidy docs::a_check_is_a_step_or_a_test_by_its_path"
    ));
    assert!(is_check(
        "lib mcp::clean::tests::a_clean_text_is_not_copied"
    ));
    for name in [
        ".ci/steps/60-nothing.sh",
        "tidy docs::nothing",
        "tidy docs::is_check",
        "nothing docs::a_check_is_a_step_or_a_test_by_its_path",
        "tidy names::a_check_is_a_step_or_a_test_by_its_path",
    ] {
        assert!(!is_check(name), "{name}");
    }
}

/// Tells whether `name` is a file of `.ci`, or a test as docs/promises.md names it: `PROGRAM MODULE::…::FUNCTION`.
fn is_check(name: &str) -> bool {
    if name.starts_with(".ci/") {
        return root().join(name).is_file();
    }
    let Some((program, path)) = name.split_once(' ') else {
        return false;
    };
    let Some((_, folder)) = PROGRAMS.iter().find(|(known, _)| *known == program) else {
        return false;
    };
    let (modules, function) = path.rsplit_once("::").unwrap_or(("", path));
    // A module `tests` is a file of its own, or within the file of its parent.
    let parent = modules.strip_suffix("::tests").unwrap_or(modules);
    for module in [modules, parent] {
        let place = root().join(folder).join(module.replace("::", "/"));
        for file in [place.with_extension("rs"), place.join("mod.rs")] {
            if file.is_file() && has_test(&source::read(&file), function) {
                return true;
            }
        }
    }
    false
}

/// Tells whether the text of a file has a test of this name.
fn has_test(text: &str, function: &str) -> bool {
    let before = text
        .split_once(&format!("fn {function}("))
        .map(|(before, _)| before);
    // The attributes of a function follow the empty line before it.
    let attributes = before.and_then(|before| before.rsplit("\n\n").next());
    attributes.is_some_and(|attributes| attributes.contains("#[test]"))
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the text of a file by its path from the root.
fn read(path: impl AsRef<Path>) -> String {
    source::read(&root().join(path))
}

/// Every Markdown file of the repository, relative to its root.
fn pages() -> BTreeSet<PathBuf> {
    // Only these folders, because the root also contains build directories.
    let folders = ".ci .github benches crates data deploy docs fuzz LICENSES tests".split(' ');
    let below = folders.flat_map(|folder| source::files_below(&root().join(folder)));
    let entries = fs::read_dir(root()).expect("a readable folder").flatten();
    let paths = entries.map(|entry| entry.path()).chain(below);
    let pages = paths
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .map(|path| path.strip_prefix(root()).map(Path::to_owned));
    pages
        .collect::<Result<_, _>>()
        .expect("paths below the root")
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
