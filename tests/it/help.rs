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

/// docs/configuration.md is made from the help: a table for each of its groups.
#[test]
fn the_configuration_page_is_the_help_of_serve() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("docs/configuration.md");
    let page = fs::read_to_string(&path).expect("docs/configuration.md");
    let begin = page.find("<!-- Made from").expect("the mark");
    let begin = begin + page[begin..].find("-->").expect("the mark's end") + 4;
    let made = format!(
        "{}{}",
        &page[..begin],
        tables(&printed(&["serve", "--help"]))
    );
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, &made).expect("the page can be written");
        return;
    }
    assert_eq!(
        made, page,
        "run with UPDATE_GOLDEN=1 if the change is meant"
    );
}

/// Turns the groups of flags in a help text into tables of Markdown.
fn tables(help: &str) -> String {
    let mut tables = String::new();
    let groups = help
        .split("\n\n")
        .filter(|group| group.contains("\n      --"));
    for group in groups {
        let (heading, flags) = group.split_once('\n').expect("a heading");
        let heading = heading.trim_end_matches(':');
        tables += &format!(
            "\n## {heading}\n\n| flag | variable | default | meaning |\n|---|---|---|---|\n"
        );
        for flag in format!("\n{flags}").split("\n      --").skip(1) {
            let words: Vec<&str> = flag.split_whitespace().collect();
            tables += &row(&words.join(" "));
        }
    }
    tables
}

/// One flag: `NAME <VALUE> meaning [default: …] [env: …] [possible values: …]`, in any order of the brackets.
fn row(flag: &str) -> String {
    let mark = |name: &str| {
        let rest = flag.split(&format!("[{name}: ")).nth(1)?;
        rest.split(']').next()
    };
    let (name, rest) = flag.split_once(' ').expect("a meaning");
    let (value, rest) = match rest
        .strip_prefix('<')
        .and_then(|rest| rest.split_once("> "))
    {
        Some((value, rest)) => (format!(" {value}"), rest),
        None => (String::new(), rest),
    };
    let meaning = rest.split(" [").next().unwrap_or_default();
    let possible = mark("possible values").map_or(String::new(), |values| format!(" ({values})"));
    let default = mark("default").map_or(String::new(), |default| {
        format!("`{}`", default.trim_matches('"').replace('`', ""))
    });
    let variable = mark("env").unwrap_or_default().trim_end_matches('=');
    let escape = |text: &str| text.replace('|', "\\|");
    format!(
        "| `--{name}{}` | `{variable}` | {} | {} |\n",
        escape(&value),
        escape(&default),
        escape(&format!("{meaning}{possible}"))
    )
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
