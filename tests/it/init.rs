//! `reviewd init`: a folder that passes the check, is served, and takes an import.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::support::program::{Ended, run, shell};
use crate::support::{Program, get};

/// Runs `reviewd init`, asserts its exit status, and returns its output.
#[track_caller]
fn init(folder: &Path, flags: &[&str], status: i32) -> String {
    run(&[&["init", folder.to_str().unwrap()], flags].concat()).with(status)
}

const NAME: &str = "Bright \"Smile\" & Co";
const SITE: &str = "https://brightsmile.example";
const FLAGS: [&str; 6] = ["--name", NAME, "--trade", "dental", "--site", SITE];

/// The flags with another value of one of them.
fn with<'a>(flag: &str, value: &'a str) -> [&'a str; 6] {
    let mut flags: [&str; 6] = FLAGS;
    let at = flags.iter().position(|found| *found == flag);
    flags[at.expect("one of the flags") + 1] = value;
    flags
}

#[test]
fn a_new_folder_passes_the_check_is_served_and_takes_an_import() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("a/b");
    init(&folder, &FLAGS, 0);
    let taxonomy = fs::read_to_string(folder.join("taxonomy.json")).unwrap();
    assert!(taxonomy.contains("\"extends\": \"medical\""), "{taxonomy}");
    run(&["check", folder.to_str().unwrap()]).with(0);
    let program = Program::serve(&["--data", folder.to_str().unwrap()]);
    let document = get(program.address(), "/reviews.json", &[]).json();
    let keys = ["name", "type", "url"].map(|key| &document["business"][key]);
    assert_eq!(keys, [NAME, "Dentist", SITE]);
    assert_eq!(document["reviews"], Value::Array(Vec::new()));
    assert_eq!(get(program.address(), "/", &[]).status, 200);
    let linked = get(program.address(), "/reviews.jsonld", &[]).json();
    assert_eq!(linked.get("address"), None, "{linked}");
    let source = parent.path().join("a.csv");
    let table = "id,author,rating,date,text\n1,Ann,5,2024-03-04,The price was fair.\n";
    fs::write(&source, table).unwrap();
    let [source, into] = [&source, &folder].map(|path| path.to_str().unwrap());
    run(&["import", source, "--into", into, "--verified"]).with(0);
}

#[test]
fn a_new_folder_has_the_look_that_was_asked_for() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("new");
    let flags = [&FLAGS[..], &["--language", "de", "--accent", "#C2410C"]].concat();
    init(&folder, &flags, 0);
    let site = fs::read(folder.join("site.json")).unwrap();
    let site: Value = serde_json::from_slice(&site).unwrap();
    assert_eq!(site["language"], "de");
    assert_eq!(site["trade"], "medical");
    assert_eq!(site["back_url"], SITE);
    run(&["check", folder.to_str().unwrap()]).with(0);
    let program = Program::serve(&["--data", folder.to_str().unwrap()]);
    let home = get(program.address(), "/", &[]).text().to_owned();
    assert!(home.contains("<html lang=\"de\""), "{home}");
    let sheet = get(program.address(), "/site.css", &[]).text().to_owned();
    assert!(sheet.contains("--accent: #c2410c;"), "the accent");
}

#[test]
fn a_language_or_color_that_the_pages_do_not_have_is_refused() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("new");
    for (flag, value, expected) in [
        ("--language", "tlh", "must be one of en, de"),
        ("--accent", "teal", "must be a color such as #1f5f58"),
    ] {
        let flags = [&FLAGS[..], &[flag, value]].concat();
        let message = init(&folder, &flags, 64);
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn the_owners_logo_and_styles_are_served() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("new");
    init(&folder, &FLAGS, 0);
    let drawing = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 9 9\"/>";
    fs::write(folder.join("logo.svg"), drawing).unwrap();
    fs::write(folder.join("theme.css"), "h1 { color: rebeccapurple }").unwrap();
    run(&["check", folder.to_str().unwrap()]).with(0);
    let program = Program::serve(&["--data", folder.to_str().unwrap()]);
    let address = program.address();
    let home = get(address, "/", &[]).text().to_owned();
    let (_, rest) = home
        .split_once("<img class=\"logo\" src=\"")
        .expect("a logo");
    let (path, _) = rest.split_once('"').expect("an address");
    let logo = get(address, path, &[]);
    assert_eq!(logo.text(), drawing);
    assert_eq!(logo.field("content-type"), Some("image/svg+xml"));
    let control = logo.field("cache-control");
    assert_eq!(control, Some("public, max-age=31536000, immutable"));
    let sheet = get(address, "/site.css", &[]).text().to_owned();
    assert!(sheet.ends_with("h1 { color: rebeccapurple }"), "{sheet}");
    fs::write(folder.join("logo.svg"), "no drawing").unwrap();
    let message = run(&["check", folder.to_str().unwrap()]).with(65);
    assert!(message.contains("logo.svg"), "{message}");
}

/// Trades, and the type of schema.org that each becomes.
const TRADES: &str = "law: LegalService, Lawyer: LegalService, legal services: LegalService, attorneys: Attorney, \
    attorney at law: Attorney, plumbing: Plumber, hair salon: HairSalon, salon: BeautySalon, HVACBusiness: HVACBusiness, \
    GardenStore: GardenStore, Dentists: Dentist, dentist office: Dentist, accountant: AccountingService, \
    clinic: MedicalClinic, hotels: Hotel, restaurants: Restaurant, realtor: RealEstateAgent, roofer: RoofingContractor, \
    insurance broker: InsuranceAgency, auto: AutoRepair, auto dealer: AutoDealer, shop: Store, \
    Rechtsanwalt: LegalService, Friseur: HairSalon, Tierarzt: VeterinaryCare, Restaurant: Restaurant, Hotel: Hotel, \
    Handwerker: GeneralContractor, Zahnarzt: Dentist, Autowerkstatt: AutoRepair, abogado: LegalService, \
    peluquería: HairSalon, plombier: Plumber, vétérinaire: VeterinaryCare, avvocato: LegalService, \
    hospitality: LocalBusiness, a: LocalBusiness, kite repair: LocalBusiness";

#[test]
fn trades_become_types_of_schema_org() {
    let parent = tempfile::tempdir().unwrap();
    for (number, row) in TRADES.split(", ").enumerate() {
        let (trade, kind) = row.split_once(": ").unwrap();
        let folder = parent.path().join(number.to_string());
        init(&folder, &with("--trade", trade), 0);
        assert_eq!(business_type(&folder), kind, "{trade}");
    }
}

#[test]
fn an_unknown_trade_is_told_with_the_known_ones() {
    let parent = tempfile::tempdir().unwrap();
    let said = init(&parent.path().join("a"), &with("--trade", "kite repair"), 0);
    let expected =
        "the trade \"kite repair\" is not known, so the aspects are general ones; known: legal, ";
    assert!(said.contains(expected), "{said}");
    let said = init(
        &parent.path().join("b"),
        &with("--trade", "Rechtsanwalt"),
        0,
    );
    assert!(!said.contains("is not known"), "{said}");
}

/// The type of the business in a folder.
fn business_type(folder: &Path) -> Value {
    let file = fs::read(folder.join("reviews.json")).unwrap();
    let mut file: Value = serde_json::from_slice(&file).unwrap();
    file["business"]["type"].take()
}

#[test]
fn names_and_trades_have_at_most_1024_bytes() {
    let parent = tempfile::tempdir().unwrap();
    let longest = "x".repeat(1_024);
    let folder = parent.path().join("trade");
    init(&folder, &with("--trade", &longest), 0);
    assert_eq!(business_type(&folder), "LocalBusiness");
    let folder = parent.path().join("name");
    init(&folder, &with("--name", &longest), 0);
    assert_eq!(business_type(&folder), "Dentist");
    let folder = parent.path().join("refused");
    let longer = longest + "x";
    for (flag, value) in [("--name", ""), ("--name", &longer), ("--trade", &longer)] {
        let text = init(&folder, &with(flag, value), 64);
        let bound = "must be one line of 1 to 1024 bytes";
        assert!(text.contains(bound), "{text}");
    }
}

#[test]
fn a_folder_with_any_data_file_is_left_alone() {
    for name in ["reviews.json", "taxonomy.json", "ignored.json"] {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(name), "mine").unwrap();
        let text = init(folder.path(), &FLAGS, 73);
        let why = format!("has {name}, so nothing was changed");
        assert!(text.contains(&why), "{text}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}

#[test]
fn after_a_failed_write_the_folder_has_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let program = env!("CARGO_BIN_EXE_reviewd");
    let long = "x".repeat(1_024);
    // One block has room for taxonomy.json, but not for reviews.json.
    for blocks in [0, 1] {
        let limited = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$@\"");
        let mut command = shell();
        command.args(["-c", &limited, "sh", program, "init"]);
        command.arg(folder.path()).args(with("--name", &long));
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(74), "{output:?}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "{blocks}");
    }
    init(folder.path(), &FLAGS, 0);
}

#[test]
fn without_a_terminal_a_missing_flag_is_named() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("x");
    for (flags, missing) in [(&FLAGS[2..], "--name"), (&FLAGS[..4], "--site")] {
        let text = init(&folder, flags, 64);
        assert!(text.contains(missing), "{text}");
        assert!(!folder.exists());
    }
    init(&folder, &with("--site", "brightsmile"), 64);
    // The trade is optional.
    init(&folder, &[&FLAGS[..2], &FLAGS[4..]].concat(), 0);
}

#[test]
fn on_a_terminal_missing_values_are_prompted_for_until_they_are_valid() {
    let folder = tempfile::tempdir().unwrap();
    let answers = "Weiß & Söhne\nno address\nhttps://weiss.example/\n";
    let path = folder.path().join("answers");
    fs::write(&path, answers).unwrap();
    let program = env!("CARGO_BIN_EXE_reviewd");
    let line = format!("{program} init {}/new --trade law", folder.path().display());
    // `script` runs the command on a pseudo-terminal.
    let mut terminal = Command::new("script");
    terminal.args(["-qec", &line, "/dev/null"]);
    terminal.stdin(Stdio::from(File::open(path).unwrap()));
    let shown = Ended::of(&mut terminal).with(0);
    for part in [
        "Name of the business: ",
        "Its website (https://…): must be an http or https address",
    ] {
        assert!(shown.contains(part), "{shown}");
    }
    let text = fs::read(folder.path().join("new/reviews.json")).unwrap();
    let written: Value = serde_json::from_slice(&text).unwrap();
    let keys = ["name", "url"].map(|key| &written["business"][key]);
    assert_eq!(keys, ["Weiß & Söhne", "https://weiss.example/"]);
}
