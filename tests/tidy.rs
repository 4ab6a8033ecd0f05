//! Rules that the compiler does not enforce: which modules may import each other, name hyper, do I/O and read the
//! clock, and which words are not used. It also counts the lines of each folder.
//!
//! Every message names file and line. Code under `#[cfg(test)]`, test files and strings are not checked, and of
//! comments only the words.

#[path = "tidy/asserts.rs"]
mod asserts;
#[path = "tidy/circles.rs"]
mod circles;
#[path = "tidy/docs.rs"]
mod docs;
#[path = "tidy/names.rs"]
mod names;
#[path = "tidy/source.rs"]
mod source;
#[path = "tidy/walks.rs"]
mod walks;
#[path = "tidy/words.rs"]
mod words;

use std::collections::BTreeMap;

use source::{Source, sources};

/// The modules that may name hyper and its helper crates.
const MAY_NAME_HYPER: &[&str] = &["http", "server"];

/// The modules that get bytes and the time as arguments: they open no file and no socket, and read no environment.
const WITHOUT_IO: &[&str] = &[
    "wire",
    "substring_index",
    "model",
    "dataset",
    "import",
    "insights",
    "search",
    "snapshot",
    "mcp",
    "notices",
    "pages",
];

/// What opens files and sockets, starts programs, and reads the environment.
const IO_PATHS: &[&str] = &[
    "std::env",
    "std::fs",
    "std::net::TcpListener",
    "std::net::TcpStream",
    "std::net::UdpSocket",
    "std::os::unix::net",
    "std::process",
];

/// Files of the hub with the same restriction: its rules.
const HUB_RULES: &[&str] = &[
    "crates/websub-hub/src/callback",
    "crates/websub-hub/src/request",
    "crates/websub-hub/src/scheduler",
    "crates/websub-hub/src/subscription",
    "crates/websub-hub/src/unix_millis",
];

/// The only files that read the time of day: the program's, and the hub's for callers that bring no clock.
const CLOCKS: &[&str] = &["src/clock.rs", "crates/websub-hub/src/clock.rs"];
/// The modules that measure durations, for deadlines and for logs.
const MAY_MEASURE: &[&str] = &["clock", "server", "hub"];

#[test]
fn modules_import_only_what_the_table_allows() {
    let table = import_table();
    let mut faults = Vec::new();
    for source in sources() {
        let module = source.module();
        let path = &source.path;
        let Some(allowed) = table.get(module) else {
            faults.push(format!("{path}:1: `{module}` has no row in src/lib.rs"));
            continue;
        };
        for (line, name) in source.imports() {
            if table.contains_key(&name) && !allowed.contains(&name) {
                faults.push(format!("{path}:{line}: `{module}` may not import `{name}`"));
            }
        }
    }
    report(faults);
}

/// The modules that each module may import, from the table in the crate's documentation: data flows one way, so only
/// modules of earlier rows are allowed, and no circle can form.
fn import_table() -> BTreeMap<String, Vec<String>> {
    let mut sources = sources().iter();
    let root = sources
        .find(|source| source.path == "src/lib.rs")
        .expect("src/lib.rs");
    let rows = root.text.lines();
    let head = "//! | module | turns what into what | may import |";
    let rows = rows.skip_while(|line| *line != head).skip(2);
    let mut table: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for row in rows.map_while(|line| line.strip_prefix("//! | ")?.strip_suffix(" |")) {
        let columns: Vec<&str> = row.split(" | ").collect();
        let [module, _, allowed] = columns[..] else {
            panic!("src/lib.rs: three columns, not {row:?}");
        };
        let module = module.trim_matches(|mark: char| !mark.is_ascii_lowercase());
        let allowed: Vec<String> = match allowed {
            "nothing of ours" => Vec::new(),
            "all of the above" | "everything" => table.keys().cloned().collect(),
            names => names.split(", ").map(str::to_owned).collect(),
        };
        assert!(
            allowed.iter().all(|name| table.contains_key(name)),
            "src/lib.rs: `{module}` names what is not above"
        );
        table.insert(module.to_owned(), allowed);
    }
    assert!(table.len() > 10, "the table of src/lib.rs was not found");
    // The two roots of the package: one shows the crates as modules, the other only starts a command.
    table.insert("lib".to_owned(), table.keys().cloned().collect());
    table.insert("main".to_owned(), vec!["cli".to_owned()]);
    table
}

#[test]
fn the_rules_hold_for_every_crate() {
    let listed = source::crates_listed();
    let mut faults = Vec::new();
    for crate_folder in source::crates_found() {
        if !listed.contains(&crate_folder.as_str()) {
            faults.push(format!(
                "{crate_folder}: not in CRATES of tests/tidy/source.rs"
            ));
        }
    }
    report(faults);
}

#[test]
fn sibling_modules_form_no_circles() {
    report(circles::faults(sources()));
}

#[test]
fn only_http_and_server_name_hyper() {
    let names = ["hyper", "hyper_util", "http_body_util"];
    report(occurrences(
        &names,
        |source| MAY_NAME_HYPER.contains(&source.module()),
        "only http and server may name",
    ));
}

#[test]
fn pure_layers_do_no_io() {
    let mut faults = Vec::new();
    for source in sources().iter().filter(|source| !may_do_io(source)) {
        for (line, path) in io_paths(source) {
            let file = &source.path;
            faults.push(format!(
                "{file}:{line}: pure layers and rules do no I/O, so not `{path}`"
            ));
        }
    }
    report(faults);
}

/// Returns the paths of the file that lead to one of [`IO_PATHS`], each with its line.
fn io_paths(source: &Source) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (line, names) in source.paths_from("std") {
        let path = names.join("::");
        let is_io = |io: &&str| path == **io || path.starts_with(&format!("{io}::"));
        if IO_PATHS.iter().any(is_io) {
            found.push((line, path));
        }
    }
    found
}

fn may_do_io(source: &Source) -> bool {
    let is_rule = HUB_RULES.iter().any(|file| source.path.starts_with(file));
    !is_rule && !WITHOUT_IO.contains(&source.module())
}

#[test]
fn every_entry_of_these_lists_names_a_file() {
    let mut faults = Vec::new();
    for entry in HUB_RULES.iter().chain(CLOCKS) {
        if !sources()
            .iter()
            .any(|source| source.path.starts_with(entry))
        {
            faults.push(format!("tests/tidy.rs: no file is called {entry}"));
        }
    }
    for entry in MAY_NAME_HYPER.iter().chain(WITHOUT_IO).chain(MAY_MEASURE) {
        if !sources().iter().any(|source| source.module() == *entry) {
            faults.push(format!("tests/tidy.rs: no module is called {entry}"));
        }
    }
    report(faults);
}

#[test]
fn one_place_reads_the_clock() {
    let rule = "only the files of CLOCKS read the time of day, and only clock, server and hub measure time, so not";
    let mut faults = occurrences(
        &["SystemTime::now"],
        |source| CLOCKS.contains(&source.path.as_str()),
        rule,
    );
    faults.extend(occurrences(
        &["Instant::now"],
        |source| MAY_MEASURE.contains(&source.module()),
        rule,
    ));
    report(faults);
}

#[test]
fn only_the_commands_print() {
    let names = ["println!", "eprintln!", "print!", "eprint!"];
    report(occurrences(
        &names,
        |source| source.module() == "cli",
        "log it with tracing instead of",
    ));
}

/// Prints the number of lines below each folder, without tests, with comments: `cargo test --test tidy lines --
/// --nocapture`.
#[test]
fn lines_by_folder_are_counted() {
    let mut folders: BTreeMap<String, usize> = BTreeMap::new();
    for source in sources() {
        for (end, _) in source.path.match_indices('/') {
            *folders.entry(source.path[..end].to_owned()).or_default() += source.product_lines;
        }
    }
    for (folder, lines) in &folders {
        println!("{lines:>7} {folder}");
    }
    let all: usize = sources().iter().map(|source| source.product_lines).sum();
    println!("{all:>7} in all");
}

#[test]
fn every_module_says_what_it_is() {
    let mut faults = Vec::new();
    for source in sources() {
        let first = source.text.lines().next().unwrap_or_default();
        if !first.starts_with("//! ") || first.len() < 12 {
            let path = &source.path;
            faults.push(format!("{path}:1: a `//!` line says what a module is"));
        }
    }
    report(faults);
}

#[test]
fn the_rules_find_what_they_look_for() {
    let source = Source::of(
        "src/pages/sample.rs",
        r##"//! "crate::http" in a comment
use crate::{model::Review, search::{index, run}};
fn long(text: &'static str) -> char { let _ = "crate::mcp }"; let _ = r#"crate::cli"#; '}' }
pub fn other() {
    super::json::push(super::super::hub::x());
}
trait Shape { fn area(&self) -> u32; }
#[cfg(test)]
mod tests {
use crate::server; fn hidden() {}
}
"##,
    );
    assert_eq!(source.module(), "pages");
    let imports = [(2, "model"), (2, "search"), (2, "search"), (5, "hub")]
        .map(|(line, name)| (line, name.to_owned()));
    assert_eq!(source.imports(), imports);
    assert_eq!(source.product_lines, 7);
    assert_eq!(source.words("hub"), [5]);
    assert_eq!(source.words("mod"), [] as [usize; 0]);
    let date = Source::of(
        "crates/reviewd-wire/src/date.rs",
        "use crate::text::hex; use reviewd::hub::x;",
    );
    assert_eq!(date.module(), "wire");
    assert_eq!(date.module_path(), ["wire", "date"]);
    assert_eq!(date.imports(), [(1, "hub".to_owned())]);
    let types = Source::of(
        "src/pages/sample.rs",
        "pub(super) struct One;\nenum Two<'a> {}\nimpl One { type Three = u8; }\ntype Four = u8;\n    struct Five {}",
    );
    let names = [(1, "One"), (2, "Two"), (4, "Four"), (5, "Five")];
    assert_eq!(
        types.types(),
        names.map(|(line, name)| (line, name.to_owned()))
    );
    let io = Source::of(
        "src/pages/sample.rs",
        "use std::{fs, io};\nuse std::env::{self, var_os as v};\nfn f(_: std::net::IpAddr) { std::fs::read(\"x\") }",
    );
    let paths = [
        (1, "std::fs"),
        (2, "std::env::self"),
        (2, "std::env::var_os"),
        (3, "std::fs::read"),
    ];
    assert_eq!(
        io_paths(&io),
        paths.map(|(line, path)| (line, path.to_owned()))
    );
    let main = Source::of("src/main.rs", "fn main() { reviewd::cli::run() }");
    assert_eq!(main.imports(), [(1, "cli".to_owned())]);
}

/// Returns a fault for each occurrence of one of `names` outside the exempt files.
fn occurrences(names: &[&str], exempt: impl Fn(&Source) -> bool, rule: &str) -> Vec<String> {
    let mut faults = Vec::new();
    for source in sources().iter().filter(|source| !exempt(source)) {
        for name in names {
            for line in source.words(name) {
                faults.push(format!("{}:{line}: {rule} `{name}`", source.path));
            }
        }
    }
    faults
}

/// Fails with all faults, one on each line.
fn report(faults: Vec<String>) {
    assert!(faults.is_empty(), "not tidy:\n{}", faults.join("\n"));
}
