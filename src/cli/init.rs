//! `reviewd init DIR`: creates the data directory of a business, without reviews, ready for an import.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};

use clap::Args;

use super::exit::{Failure, Status, print};
use crate::dataset::{NAME_BYTES_MAX, URL_BYTES_MAX, is_absolute_url, trade_of_type};
use crate::import::new_file;
use crate::server::files::{CHECK, EDITORIAL, IGNORED, INSIGHTS, REVIEWS, TAXONOMY};

/// What the command's help says after its flags.
pub(super) const AFTER_HELP: &str = "\
Missing values are asked for on a terminal. The folder gets reviews.json without reviews, and taxonomy.json, which names the
starter list of subjects for the trade; edit both as you like. A folder that has any of the data files is not changed.

Examples:
  reviewd init my-reviews
  reviewd init my-reviews --name 'Bright Smile Dental' --trade dental --site https://brightsmile.example

Exit status:
  0   done                         73  the folder has data files, or cannot be created
  64  wrong flags, or one missing  74  writing failed";

/// Flags of `init`.
#[derive(Debug, Args)]
pub(super) struct InitArgs {
    /// Folder to create
    #[arg(value_name = "DIR")]
    folder: PathBuf,

    /// Name of the business
    #[arg(long, env = "REVIEWD_INIT_NAME", value_name = "NAME", value_parser = parse_name)]
    name: Option<String>,

    /// Trade, such as law, dental or plumbing, or a schema.org type such as LegalService
    #[arg(long, env = "REVIEWD_INIT_TRADE", value_name = "TRADE", value_parser = parse_trade)]
    trade: Option<String>,

    /// Website of the business
    #[arg(long, env = "REVIEWD_INIT_SITE", value_name = "URL", value_parser = parse_url)]
    site: Option<String>,
}

/// Types of schema.org, each with the beginnings of words that mean it; the first type counts.
const TRADES: [(&str, &[&str]); 32] = [
    ("HomeAndConstructionBusiness", &["lawn"]),
    ("LegalService", &["law", "legal", "anwalt"]),
    ("AccountingService", &["account"]),
    ("Attorney", &["attorney"]),
    ("AutoRepair", &["auto"]),
    ("Bakery", &["bak"]),
    ("BeautySalon", &["beauty", "salon"]),
    ("CafeOrCoffeeShop", &["cafe"]),
    ("DaySpa", &["spa"]),
    ("Dentist", &["dental", "dentist", "zahn"]),
    ("EducationalOrganization", &["tutor"]),
    ("Electrician", &["electric"]),
    ("ExerciseGym", &["gym"]),
    ("HVACBusiness", &["hvac"]),
    ("HairSalon", &["hair"]),
    ("Hotel", &["hotel"]),
    ("HousePainter", &["paint"]),
    ("InsuranceAgency", &["insurance"]),
    ("Locksmith", &["locksmith"]),
    ("MedicalClinic", &["clinic", "medic"]),
    ("Motel", &["motel"]),
    ("MovingCompany", &["mover", "moving"]),
    ("Notary", &["notar"]),
    ("Physician", &["doctor", "physician"]),
    ("Plumber", &["plumb"]),
    ("ProfessionalService", &["consult"]),
    ("RealEstateAgent", &["real"]),
    ("Restaurant", &["restaurant"]),
    ("RoofingContractor", &["roof"]),
    ("School", &["school"]),
    ("Store", &["shop", "store"]),
    ("TravelAgency", &["travel"]),
];

/// The type of schema.org that a trade means; one in capitals is taken as it is, and an unknown word is a local business.
fn parse_trade(trade: &str) -> Result<String, String> {
    let trade = trade.trim();
    if trade.is_empty() || trade.len() > TRADE_BYTES_MAX {
        return Err(format!("must have 1 to {TRADE_BYTES_MAX} bytes"));
    }
    let is_upper = |letter: char| letter.is_ascii_uppercase();
    let is_type = trade.starts_with(is_upper)
        && trade[1..].contains(is_upper)
        && trade.contains(|letter: char| letter.is_ascii_lowercase())
        && trade.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if is_type {
        return Ok(trade.to_owned());
    }
    let word = trade.to_lowercase();
    let means = |starts: &[&str]| starts.iter().any(|start| word.starts_with(start));
    let known = TRADES.iter().find(|(_, starts)| means(starts));
    Ok(known.map_or("LocalBusiness", |(kind, _)| kind).to_owned())
}

/// Bytes of a trade, at most: 100.
const TRADE_BYTES_MAX: usize = 100;

/// Returns a taxonomy that extends the starter list of the trade of a schema.org type.
fn taxonomy(kind: &str) -> String {
    let trade = trade_of_type(kind);
    format!(
        "{{\n  \"extends\": \"{trade}\",\n  \"aspects\": [],\n  \"technicians\": [],\n  \"services\": [],\n  \
         \"service_areas\": []\n}}\n"
    )
}

/// Makes the folder.
pub(super) fn run(args: &InitArgs) -> Result<(), Failure> {
    let folder = &args.folder;
    for name in [REVIEWS, TAXONOMY, EDITORIAL, INSIGHTS, CHECK, IGNORED] {
        if folder.join(name).symlink_metadata().is_ok() {
            let message = format!("{}: has {name}, and is left alone", folder.display());
            return Err(Failure::new(Status::CannotCreate, message));
        }
    }
    let Business { name, kind, url } = business(args)?;
    let kind = kind.as_deref().unwrap_or("LocalBusiness");
    let taxonomy = taxonomy(kind);
    let reviews = new_file(&name, kind, &url, crate::clock::now());
    fs::create_dir_all(folder).map_err(|error| failed(Status::CannotCreate, folder, &error))?;
    // The file that makes it a folder of reviews comes last.
    for (name, text) in [(TAXONOMY, &taxonomy), (REVIEWS, &reviews)] {
        let path = folder.join(name);
        write(&path, text).map_err(|error| failed(Status::Io, &path, &error))?;
    }
    let shown = folder.display();
    let report = format!(
        "{shown}: made, with no reviews yet\n\n  reviewd import FILE --into {shown} --dry-run\n  reviewd serve --data {shown}\n"
    );
    print(report.as_bytes())
}

/// What is known of a business.
struct Business {
    name: String,
    /// A type of schema.org.
    kind: Option<String>,
    url: String,
}

/// What the flags say, and on a terminal the answers to what they do not; name and site have to be known.
fn business(args: &InitArgs) -> Result<Business, Failure> {
    let is_terminal = io::stdin().is_terminal() && io::stderr().is_terminal();
    let known = |given: &Option<String>, question, parse| {
        let given = given.clone();
        given.or_else(|| is_terminal.then(|| asked(question, parse)).flatten())
    };
    let missing = |flag: &str| {
        let message = format!("{flag} is missing: give it, or answer on a terminal");
        Failure::new(Status::Usage, message)
    };
    let name = known(&args.name, "Name of the business: ", parse_name);
    let name = name.ok_or_else(|| missing("--name"))?;
    let trade = "What it does (law, dental, plumbing …): ";
    let kind = known(&args.trade, trade, parse_trade);
    let url = known(&args.site, "Its website (https://…): ", parse_url);
    let url = url.ok_or_else(|| missing("--site"))?;
    Ok(Business { name, kind, url })
}

pub(super) fn parse_name(text: &str) -> Result<String, String> {
    let name = text.trim();
    let fits = !name.is_empty() && name.len() <= NAME_BYTES_MAX && !name.contains(char::is_control);
    let name = fits.then(|| name.to_owned());
    name.ok_or(format!(
        "must be one line of at most {NAME_BYTES_MAX} bytes"
    ))
}

fn parse_url(text: &str) -> Result<String, String> {
    let url = text.trim();
    let url = (url.len() <= URL_BYTES_MAX && is_absolute_url(url)).then(|| url.to_owned());
    url.ok_or("must be an http or https address such as https://example.com/".to_owned())
}

/// Longest answer that is read at once, 4 KiB; a longer line is read as several answers.
const ANSWER_BYTES_MAX: u64 = 4 << 10;

/// Asks until `parse` accepts the answer; `None` for an empty answer.
fn asked(question: &str, parse: fn(&str) -> Result<String, String>) -> Option<String> {
    loop {
        let _unwritten = write!(io::stderr(), "{question}");
        let mut answer = String::new();
        let mut input = io::stdin().lock().take(ANSWER_BYTES_MAX);
        let read = input.read_line(&mut answer);
        if read.is_err() || answer.trim().is_empty() {
            return None;
        }
        match parse(&answer) {
            Ok(value) => return Some(value),
            Err(why) => drop(writeln!(io::stderr(), "{why}")),
        }
    }
}

/// Writes a file that is not there yet.
fn write(path: &Path, text: &str) -> io::Result<()> {
    let mut file: File = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

fn failed(status: Status, path: &Path, error: &io::Error) -> Failure {
    let message = format!("{}: cannot be made: {error}", path.display());
    Failure::new(status, message)
}
