//! The help of each command, held against a file: it is an interface as well.

use std::fs;
use std::path::PathBuf;

use crate::support::program::run;

/// Holds `text` against the file `name` in `tests/it/golden`.
pub(crate) fn assert_golden(name: &str, text: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/it/golden")
        .join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, text).expect("the golden file can be written");
    }
    let golden = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        text, golden,
        "{name}: run with UPDATE_GOLDEN=1 if the change is meant"
    );
}

/// Returns what `reviewd` prints, which has to be a success.
fn printed(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}");
    String::from_utf8(output.stdout).expect("it prints text")
}

#[test]
fn the_help_of_the_program_is_as_it_was() {
    assert_golden("help.txt", &printed(&["--help"]));
}

#[test]
fn the_help_of_serve_names_every_flag_with_default_and_variable() {
    let help = printed(&["serve", "--help"]);
    assert_golden("help-serve.txt", &help);
    // A flag has its place at the beginning of a line; deeper lines only speak of it.
    let flags = help
        .lines()
        .filter_map(|line| line.strip_prefix("      --"));
    for flag in flags {
        assert!(
            help.contains(&format!("REVIEWD_{}", variable(flag))),
            "{flag} has no variable"
        );
    }
}

#[test]
fn the_readme_lists_every_flag_of_serve_with_its_default() {
    let help = printed(&["serve", "--help"]);
    let readme = include_str!("../../README.md");
    let flags = help
        .lines()
        .filter_map(|line| line.strip_prefix("      --"));
    for flag in flags {
        let name = flag.split(' ').next().unwrap_or_default();
        let row = readme
            .lines()
            .find(|line| {
                line.starts_with(&format!("| `--{name}`"))
                    || line.starts_with(&format!("| `--{name} "))
            })
            .unwrap_or_else(|| panic!("README.md has no row for --{name}"));
        let entry = help.split(&format!("      --{name} ")).nth(1);
        let entry = entry.unwrap_or_default().split("\n      --").next();
        let words: Vec<&str> = entry.unwrap_or_default().split_whitespace().collect();
        let entry = words.join(" ");
        let default = entry
            .split("[default: ")
            .nth(1)
            .and_then(|rest| rest.split(']').next());
        let default = default.unwrap_or_default().trim_matches('"');
        assert!(row.contains(default), "--{name}: README.md says {row}");
    }
}

/// Whatever lists the flags lists the same: the help, `config`, the manual, and what completes them in each shell.
#[test]
fn config_manual_and_completions_know_every_flag_of_serve() {
    let help = printed(&["serve", "--help"]);
    let lines = help
        .lines()
        .filter_map(|line| line.strip_prefix("      --"));
    let flags: Vec<&str> = lines.filter_map(|line| line.split(' ').next()).collect();
    assert!(flags.len() > 50, "{flags:?}");
    let config = printed(&["config", "--json"]);
    let page = printed(&["man", "serve"]).replace("\\-", "-");
    for flag in &flags {
        assert!(config.contains(&format!("\"flag\":\"--{flag}\"")), "{flag}");
        assert!(page.contains(&format!("--{flag}")), "{flag}");
        assert!(
            page.contains(&format!("REVIEWD_{}", variable(flag))),
            "{flag}"
        );
    }
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = printed(&["completions", shell]);
        for flag in &flags {
            assert!(script.contains(flag), "{shell}: {flag}");
        }
    }
}

/// Returns the end of the name of a flag's variable.
fn variable(line: &str) -> String {
    let name = line.split([' ', '=']).next().unwrap_or_default();
    name.replace('-', "_").to_uppercase()
}

#[test]
fn the_version_is_that_of_the_package() {
    assert_eq!(
        printed(&["--version"]),
        format!("reviewd {}\n", env!("CARGO_PKG_VERSION"))
    );
}
