//! `reviewd init`: a folder that passes the check, is served, and takes an import.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::import::{file, import};
use crate::support::program::run;
use crate::support::{Program, get};

fn init(folder: &Path, flags: &[&str]) -> (Option<i32>, String) {
    let output = run(&[&["init", folder.to_str().unwrap()], flags].concat());
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(text).unwrap())
}

const FLAGS: [&str; 6] = [
    "--name",
    "Bright \"Smile\" & Co",
    "--trade",
    "dental",
    "--site",
    "https://brightsmile.example",
];

#[test]
fn a_new_folder_passes_the_check_is_served_and_takes_an_import() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("a/b");
    let (status, text) = init(&folder, &FLAGS);
    assert_eq!(status, Some(0), "{text}");
    let taxonomy = fs::read_to_string(folder.join("taxonomy.json")).unwrap();
    assert!(taxonomy.contains("\"extends\": \"medical\""), "{taxonomy}");
    let check = run(&["check", folder.to_str().unwrap()]);
    assert_eq!(check.status.code(), Some(0), "{check:?}");
    let program = Program::serve(&["--data", folder.to_str().unwrap()]);
    let document = get(program.address(), "/reviews.json", &[]);
    let document: Value = serde_json::from_slice(&document.body).unwrap();
    let business = &document["business"];
    assert_eq!(business["name"], "Bright \"Smile\" & Co");
    assert_eq!(business["type"], "Dentist");
    assert_eq!(business["url"], "https://brightsmile.example");
    assert_eq!(document["reviews"], Value::Array(Vec::new()));
    assert_eq!(get(program.address(), "/", &[]).status, 200);
    let table = "id,author,rating,date,text\n1,Ann,5,2024-03-04,The price was fair.\n";
    let source = file(parent.path(), "a.csv", table);
    let (status, report) = import(&folder, &[&source, "--verified"]);
    assert_eq!((status, &report["published_count"]), (Some(0), &1.into()));
}

#[test]
fn trades_become_types_of_schema_org_and_values_have_limits() {
    let parent = tempfile::tempdir().unwrap();
    let [name, trade] = ["x".repeat(1_024), "x".repeat(1_024)];
    // The place of a value among the flags, the value, and the type that comes of it.
    for (at, value, kind) in [
        (3, "law", "LegalService"),
        (3, "Lawyer", "LegalService"),
        (3, "plumbing", "Plumber"),
        (3, "hair salon", "HairSalon"),
        (3, "HVACBusiness", "HVACBusiness"),
        (3, "GardenStore", "GardenStore"),
        (3, "attorneys", "Attorney"),
        (3, "attorney at law", "Attorney"),
        (3, "legal services", "LegalService"),
        (3, "Dentists", "Dentist"),
        (3, "dentist office", "Dentist"),
        (3, "accountant", "AccountingService"),
        (3, "clinic", "MedicalClinic"),
        (3, "hotels", "Hotel"),
        (3, "restaurants", "Restaurant"),
        (3, "realtor", "RealEstateAgent"),
        (3, "roofer", "RoofingContractor"),
        (3, "salon", "BeautySalon"),
        (3, "insurance broker", "InsuranceAgency"),
        (3, "auto", "AutoRepair"),
        (3, "auto dealer", "AutoDealer"),
        (3, "shop", "Store"),
        (3, "hospitality", "LocalBusiness"),
        (3, "a", "LocalBusiness"),
        (3, "kite repair", "LocalBusiness"),
        (3, &trade, "LocalBusiness"),
        (1, &name, "Dentist"),
    ] {
        let folder = parent.path().join("new");
        let mut flags = FLAGS;
        flags[at] = value;
        let (status, text) = init(&folder, &flags);
        assert_eq!(status, Some(0), "{value}: {text}");
        let file = fs::read(folder.join("reviews.json")).unwrap();
        let file: Value = serde_json::from_slice(&file).unwrap();
        assert_eq!(file["business"]["type"], kind, "{value}");
        fs::remove_dir_all(folder).unwrap();
    }
    for (at, value) in [(1, String::new()), (1, name + "x"), (3, trade + "x")] {
        let mut flags = FLAGS;
        flags[at] = &value;
        let (status, text) = init(&parent.path().join("y"), &flags);
        assert_eq!(status, Some(64), "{text}");
        assert!(
            text.contains("must be one line of 1 to 1024 bytes"),
            "{text}"
        );
    }
}

#[test]
fn a_folder_with_any_data_file_is_left_alone() {
    for name in ["reviews.json", "taxonomy.json", "ignored.json"] {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(name), "mine").unwrap();
        let (status, text) = init(folder.path(), &FLAGS);
        assert_eq!(status, Some(73), "{text}");
        assert!(
            text.contains(&format!("has {name}, and is left alone")),
            "{text}"
        );
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}

#[test]
fn without_a_terminal_a_missing_flag_is_named() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("x");
    for (flags, missing) in [(&FLAGS[2..], "--name"), (&FLAGS[..4], "--site")] {
        let (status, text) = init(&folder, flags);
        assert_eq!(status, Some(64), "{text}");
        assert!(text.contains(missing), "{text}");
        assert!(!folder.exists());
    }
    let (status, _) = init(&folder, &[&FLAGS[..4], &["--site", "brightsmile"]].concat());
    assert_eq!(status, Some(64));
    // The trade may stay open.
    assert_eq!(
        init(&folder, &[&FLAGS[..2], &FLAGS[4..]].concat()).0,
        Some(0)
    );
}

#[test]
fn a_terminal_is_asked_for_the_business_until_the_answers_fit() {
    let folder = tempfile::tempdir().unwrap();
    let answers = file(
        folder.path(),
        "answers",
        "Weiß & Söhne\nno address\nhttps://weiss.example/\n",
    );
    let line = format!(
        "{} init {}/new --trade law",
        env!("CARGO_BIN_EXE_reviewd"),
        folder.path().display()
    );
    // A terminal of its own.
    let mut terminal = Command::new("script");
    terminal.args(["-qec", &line, "/dev/null"]);
    terminal.stdin(Stdio::from(File::open(answers).unwrap()));
    let output = terminal.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    let again = "Its website (https://…): must be an http or https address";
    assert!(
        shown.contains("Name of the business: ") && shown.contains(again),
        "{shown}"
    );
    let text = fs::read(folder.path().join("new/reviews.json")).unwrap();
    let written: Value = serde_json::from_slice(&text).unwrap();
    assert_eq!(written["business"]["name"], "Weiß & Söhne");
    assert_eq!(written["business"]["url"], "https://weiss.example/");
}
