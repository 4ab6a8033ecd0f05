//! The help texts are an interface, so they are compared with golden files.

use std::fs;
use std::path::PathBuf;

use clap::Arg;

use crate::support::program::run;

/// Compares `text` with the file `name` in `tests/it/golden`.
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

#[test]
fn the_help_of_the_program_is_unchanged() {
    assert_golden("help.txt", &run(&["--help"]).with(0));
}

/// The flags of `serve` that operators see.
fn flags() -> Vec<Arg> {
    let program = reviewd::cli::command();
    let serve = program.find_subcommand("serve").expect("the command");
    let shown = serve.get_arguments().filter(|flag| !flag.is_hide_set());
    shown.cloned().collect()
}

#[test]
fn the_short_help_of_serve_shows_ten_flags_and_the_long_one_all() {
    let [short, long] = ["-h", "--help"].map(|flag| run(&["serve", flag]).with(0));
    let count = |help: &str| {
        help.lines()
            .filter(|line| line.starts_with("      --"))
            .count()
    };
    assert_eq!(count(&short), 10, "{short}");
    assert_eq!(count(&long), flags().len());
    assert!(count(&long) <= 40);
    assert_golden("help-serve-short.txt", &short);
    assert_golden("help-serve.txt", &long);
}

/// docs/configuration.md is generated from the flags: one table for each group.
#[test]
fn the_configuration_page_is_the_help_of_serve() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("docs/configuration.md");
    let page = fs::read_to_string(&path).expect("docs/configuration.md");
    let begin = page.find("<!-- Made from").expect("the mark");
    let begin = begin + page[begin..].find("-->").expect("the mark's end") + 4;
    let made = format!("{}{}", &page[..begin], tables());
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, &made).expect("the page can be written");
        return;
    }
    assert_eq!(
        made, page,
        "run with UPDATE_GOLDEN=1 if the change is meant"
    );
}

/// The flags as tables of Markdown, one for each group.
fn tables() -> String {
    let mut tables = String::new();
    let mut group = String::new();
    for flag in flags() {
        let heading = flag.get_help_heading().expect("a group").to_owned();
        if heading != group {
            tables += &format!(
                "\n## {heading}\n\n| flag | variable | default | meaning |\n|---|---|---|---|\n"
            );
            group = heading;
        }
        tables += &row(&flag);
    }
    tables
}

/// The row of a flag; the cells of one that has no variable, value or default are empty.
fn row(flag: &Arg) -> String {
    let help = flag.get_help().expect("a meaning").to_string();
    let is_switch = !flag.get_action().takes_values();
    let mut default = if is_switch {
        String::new()
    } else {
        let values = flag.get_default_values().iter();
        let values: Vec<_> = values.map(|value| value.to_string_lossy()).collect();
        values.join(",")
    };
    let mut meaning = help.as_str();
    if let Some((before, described)) = help.split_once(" [default: ") {
        meaning = before;
        if default.is_empty() {
            // The service computes the default, which only the help text describes.
            default = described.replace(['`', ']'], "");
        }
    }
    let value = match flag.get_value_names() {
        Some([name]) if !is_switch => format!(" {name}"),
        _ => String::new(),
    };
    let values = flag.get_possible_values();
    let values: Vec<&str> = values.iter().map(|value| value.get_name()).collect();
    let possible = if values.is_empty() || is_switch {
        String::new()
    } else {
        format!(" ({})", values.join(", "))
    };
    let name = code(&format!("--{}{value}", flag.get_long().expect("a name")));
    let variable = flag.get_env().expect("a variable").to_string_lossy();
    let meaning = format!("{meaning}{possible}");
    let cells = [name, code(&variable), code(&default), meaning];
    let cells = cells.map(|cell| cell.replace('|', "\\|"));
    format!("| {} |\n", cells.join(" | "))
}

/// Markdown of a text that is code; an empty text stays empty.
fn code(text: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    format!("`{text}`")
}

#[test]
fn the_version_is_that_of_the_package() {
    let version = format!("reviewd {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(run(&["--version"]).with(0), version);
}
