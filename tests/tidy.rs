//! The rules that the compiler does not hold: who may import whom, who may name hyper, touch the disk and read the
//! clock, which words are not used. It also counts the lines of each folder.
//!
//! Every message names file and line. Code under `#[cfg(test)]` and files of tests are not looked at, nor are
//! comments and strings.

#[path = "tidy/circles.rs"]
mod circles;
#[path = "tidy/docs.rs"]
mod docs;
#[path = "tidy/source.rs"]
mod source;
#[path = "tidy/words.rs"]
mod words;

use std::collections::BTreeMap;

use source::{Source, sources};

/// The modules that may name hyper and its kin.
const MAY_NAME_HYPER: &[&str] = &["http", "server"];

/// The modules that get bytes and the time handed in: they open no file and no socket, and read no environment.
const WITHOUT_IO: &[&str] = &[
    "wire", "model", "dataset", "import", "insights", "search", "snapshot", "mcp", "pages",
];

/// Files of the hub that hold to this as well: its rules.
const HUB_RULES: &[&str] = &[
    "src/hub/callback",
    "src/hub/moment",
    "src/hub/refusal",
    "src/hub/outcome",
    "src/hub/request",
    "src/hub/subscription",
];

/// The file that asks for the time of day; everything else is told it.
const CLOCK: &str = "src/clock.rs";
/// The modules that measure durations, for deadlines and for logs.
const MAY_MEASURE: &[&str] = &["clock", "server", "hub"];

#[test]
fn modules_import_only_what_lies_below_them() {
    let table = import_table();
    let mut faults = Vec::new();
    for source in sources() {
        let module = source.module();
        let Some((_, allowed)) = table.iter().find(|(name, _)| name == module) else {
            faults.push(format!(
                "{}:1: `{module}` has no row in the import table of src/lib.rs",
                source.path
            ));
            continue;
        };
        for (line, name) in source.imports() {
            let known = table.iter().any(|(module, _)| *module == name);
            if known && name != module && !allowed.contains(&name) {
                faults.push(format!(
                    "{}:{line}: `{module}` may not import `{name}`",
                    source.path
                ));
            }
        }
        for line in source.climbs() {
            faults.push(format!(
                "{}:{line}: `super::` leaves `{module}`; write `crate::` instead",
                source.path
            ));
        }
    }
    report(faults);
}

/// Who may import whom, from the table in the crate's documentation: data flows one way, so each module sees only
/// what lies below it, and no circle can form.
fn import_table() -> Vec<(String, Vec<String>)> {
    let sources = sources();
    let root = sources
        .iter()
        .find(|source| source.path == "src/lib.rs")
        .expect("src/lib.rs");
    let lines = root
        .text
        .lines()
        .skip_while(|line| *line != "//! | module | turns what into what | may import |")
        .skip(2);
    let mut table: Vec<(String, Vec<String>)> = Vec::new();
    for line in lines.map_while(|line| line.strip_prefix("//! | ")?.strip_suffix(" |")) {
        let columns: Vec<&str> = line.split(" | ").collect();
        let [module, _, allowed] = columns[..] else {
            panic!("src/lib.rs: three columns, not {line:?}");
        };
        let module = module.trim_matches(|mark: char| !mark.is_ascii_lowercase());
        let above = || table.iter().map(|(module, _)| module.clone());
        let allowed = match allowed {
            "nothing of ours" => Vec::new(),
            "all of the above" | "everything" => above().collect(),
            names => names.split(", ").map(str::to_owned).collect(),
        };
        let known = |name: &String| above().any(|above| above == *name);
        assert!(
            allowed.iter().all(known),
            "src/lib.rs: the row of `{module}` names a module that is not above it"
        );
        table.push((module.to_owned(), allowed));
    }
    assert!(
        table.len() > 10,
        "the import table of src/lib.rs was not found"
    );
    // The two roots of the crate: one names no module in code, the other only starts a command.
    table.push(("lib".to_owned(), Vec::new()));
    table.push(("main".to_owned(), vec!["cli".to_owned()]));
    table
}

#[test]
fn sibling_modules_form_no_circles() {
    report(circles::faults(&sources()));
}

#[test]
fn only_http_and_server_name_hyper() {
    let names = ["hyper", "hyper_util", "http_body_util"];
    report(words(
        &names,
        |source| MAY_NAME_HYPER.contains(&source.module()),
        "only http and server may name",
    ));
}

#[test]
fn pure_layers_do_no_io() {
    let names = [
        "std::fs",
        "File::open",
        "File::create",
        "TcpStream",
        "TcpListener",
        "UdpSocket",
        "env::var",
    ];
    let may_do_io = |source: &Source| {
        !WITHOUT_IO.contains(&source.module())
            && !HUB_RULES.iter().any(|file| source.path.starts_with(file))
    };
    report(words(
        &names,
        may_do_io,
        "pure layers and rules do no I/O, so not",
    ));
}

#[test]
fn one_place_reads_the_clock() {
    let mut faults = words(
        &["SystemTime::now"],
        |source| source.path == CLOCK,
        "the time is asked for in src/clock.rs, not here:",
    );
    let measures = |source: &Source| MAY_MEASURE.contains(&source.module());
    faults.extend(words(
        &["Instant::now"],
        measures,
        "a duration is measured by clock, server and hub, not here:",
    ));
    report(faults);
}

#[test]
fn nothing_is_unwrapped_or_left_undone() {
    let names = [
        ".unwrap()",
        ".unwrap_err()",
        "todo!",
        "unimplemented!",
        "dbg!",
    ];
    report(words(
        &names,
        |_| false,
        "say why it cannot fail, or refuse it, instead of",
    ));
}

#[test]
fn only_the_commands_print() {
    let names = ["println!", "eprintln!", "print!", "eprint!"];
    report(words(
        &names,
        |source| source.module() == "cli",
        "log it with tracing instead of",
    ));
}

/// Prints the lines of each folder, with those below it, without tests, comments included: `cargo test --test tidy lines --
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
            faults.push(format!(
                "{}:1: a module begins with a `//!` line that says what it is",
                source.path
            ));
        }
    }
    report(faults);
}

#[test]
fn the_rules_see_what_they_look_for() {
    let source = Source::of(
        "src/wire/sample.rs",
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
    assert_eq!(source.module(), "wire");
    assert_eq!(
        source.imports(),
        [(2, "model"), (2, "search"), (2, "search"), (5, "hub")]
            .map(|(line, name)| (line, name.to_owned()))
    );
    assert_eq!(source.climbs(), [5]);
    assert_eq!(source.product_lines, 7);
    assert_eq!(source.words("hub"), [5]);
    assert_eq!(source.words("mod"), [] as [usize; 0]);
    assert_eq!(
        Source::of("src/main.rs", "fn main() { reviewd::cli::run() }").imports(),
        [(1, "cli".to_owned())]
    );
}

/// A fault for each place outside the exempt files where one of `names` stands.
fn words(names: &[&str], exempt: impl Fn(&Source) -> bool, rule: &str) -> Vec<String> {
    let mut faults = Vec::new();
    for source in sources().into_iter().filter(|source| !exempt(source)) {
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
    assert!(
        faults.is_empty(),
        "{} fault(s) of tidiness\n{}",
        faults.len(),
        faults.join("\n")
    );
}
