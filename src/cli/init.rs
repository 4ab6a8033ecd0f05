//! `reviewd init DIR`: creates the data directory of a business, without reviews, ready for an import.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, BufRead, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;
use thiserror::Error;

use super::exit::{Failure, Status, print};
use super::folder::{create, new_log, remove};
use crate::clock;
use crate::dataset::{
    CHANGES, FILES, FileSpec, NAME_BYTES_MAX, PAGE_LANGUAGES, REVIEWS, SITE, TAXONOMY,
    URL_BYTES_MAX, is_absolute_url, is_listed_type, trade_names, trade_of_type, type_in_words,
};
use crate::import::new_file;
use crate::model::changes::ChangeRecord;
use crate::model::site::Color;

/// The schema.org type of a business whose trade is unknown.
const TYPE_DEFAULT: &str = "LocalBusiness";

/// Longest answer in bytes, 4 KiB; a longer line is read as several answers.
const ANSWER_BYTES_MAX: u64 = 4 << 10;

/// Why a flag or an answer is refused, as the end of a line that begins with the name of the flag.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(super) enum AnswerError {
    #[error("must be one line of 1 to {NAME_BYTES_MAX} bytes")]
    Name,
    /// The permitted languages.
    #[error("must be one of {0}")]
    Language(String),
    #[error("must be a color such as #1f5f58")]
    Color,
    #[error("must be an http or https address such as https://example.com/")]
    Website,
}

#[derive(Args)]
pub(super) struct InitArgs {
    /// Data directory to create
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Name of the business
    #[arg(long, value_name = "NAME", value_parser = parse_name)]
    name: Option<String>,
    /// Trade, such as law, dental or plumbing, or a schema.org type such as LegalService
    #[arg(long, value_name = "TRADE", value_parser = parse_name)]
    trade: Option<String>,
    /// Website of the business
    #[arg(long, value_name = "URL", value_parser = parse_url)]
    site: Option<String>,
    /// Language of the pages' own words, such as de; without it each visitor gets the best one for the browser
    #[arg(long, value_name = "LANGUAGE", value_parser = parse_language)]
    language: Option<String>,
    /// Color of links and buttons, such as #1f5f58
    #[arg(long, value_name = "COLOR", value_parser = parse_color)]
    accent: Option<String>,
}

/// A business that gets a directory.
struct NewBusiness {
    name: String,
    /// Its schema.org type.
    kind: String,
    /// The trade as the owner wrote it, if no starter list is for it.
    unknown_trade: Option<String>,
    website: String,
}

/// Creates the directory and its files.
pub(super) fn run(args: &InitArgs) -> Result<(), Failure> {
    let folder = &args.folder;
    let shown = folder.display();
    for name in FILES.map(|file| file.name) {
        if folder.join(name).symlink_metadata().is_ok() {
            let message = format!("{shown}: has {name}, so nothing was changed");
            return Err(Failure::new(Status::CannotCreate, message));
        }
    }
    let business = ask_for_business(args)?;
    fs::create_dir_all(folder)
        .map_err(|error| creation_failure(Status::CannotCreate, folder, &error))?;
    let now = clock::now();
    let record = ChangeRecord {
        log: new_log()?,
        began_at: now,
        reviews: BTreeMap::new(),
    };
    let NewBusiness {
        name,
        kind,
        unknown_trade,
        website,
    } = &business;
    // Other commands require reviews.json, so it is written last.
    create_all(
        folder,
        [
            (TAXONOMY, taxonomy_json(kind)),
            (SITE, site_json(args, &business)),
            (CHANGES, record.render()),
            (REVIEWS, new_file(name, kind, website, now)),
        ],
    )?;
    let remark = unknown_trade.as_deref().map(remark_on_trade);
    let remark = remark.unwrap_or_default();
    let report = format!(
        "{shown}: created for a business of type {kind}, with no reviews yet\n{remark}\n  \
         reviewd import FILE --into {shown} --dry-run\n  reviewd serve --data {shown}\n"
    );
    print(report.as_bytes())
}

/// Returns what the flags say of the business; what they do not say is asked for on a terminal.
fn ask_for_business(args: &InitArgs) -> Result<NewBusiness, Failure> {
    let name = stated_or_asked(&args.name, "Name of the business: ", parse_name);
    let name = name.ok_or_else(|| missing("--name"))?;
    let question = "What it does (law, dental, plumbing …): ";
    let trade = stated_or_asked(&args.trade, question, parse_name);
    let kind = trade.as_deref().and_then(type_of_trade);
    let website = stated_or_asked(&args.site, "Its website (https://…): ", parse_url);
    Ok(NewBusiness {
        name,
        unknown_trade: trade.filter(|_| !kind.as_deref().is_some_and(is_listed_type)),
        kind: kind.unwrap_or_else(|| TYPE_DEFAULT.to_owned()),
        website: website.ok_or_else(|| missing("--site"))?,
    })
}

/// Returns a `taxonomy.json` with the starter list of the trade of a schema.org type.
fn taxonomy_json(kind: &str) -> String {
    let taxonomy = json!({
        "extends": trade_of_type(kind),
        "aspects": [],
        "technicians": [],
        "services": [],
        "service_areas": [],
    });
    format!("{taxonomy:#}\n")
}

/// Returns a `site.json` with all keys, so that an owner sees what can be set.
fn site_json(args: &InitArgs, business: &NewBusiness) -> String {
    let site = json!({
        "language": args.language,
        "trade": trade_of_type(&business.kind),
        "accent": args.accent,
        "scheme": "auto",
        "radius": null,
        "font": "mixed",
        "back_url": business.website,
        "review_links": [],
    });
    format!("{site:#}\n")
}

/// Creates the files in this order. If one cannot be created, the earlier ones are removed, so that the next attempt is
/// not refused.
fn create_all(folder: &Path, contents: [(FileSpec, String); 4]) -> Result<(), Failure> {
    let mut created: Vec<PathBuf> = Vec::new();
    for (file, content) in contents {
        let path = folder.join(file.name);
        if let Err(error) = create(&path, None, content.as_bytes()) {
            for earlier in &created {
                let _gone = remove(earlier);
            }
            return Err(creation_failure(Status::Io, &path, &error));
        }
        created.push(path);
    }
    Ok(())
}

/// Returns the failure of a required value that no flag sets, and that was not asked for or got an empty answer.
fn missing(flag: &str) -> Failure {
    let message = format!("{flag} is missing: set it, or run this command on a terminal");
    Failure::new(Status::Usage, message)
}

fn creation_failure(status: Status, path: &Path, error: &io::Error) -> Failure {
    let message = format!("{}: cannot be created: {error}", path.display());
    Failure::new(status, message)
}

/// Returns the schema.org type of a trade: the trade itself if it is written like a type, else the type that it names
/// in words.
fn type_of_trade(trade: &str) -> Option<String> {
    if is_type_name(trade) {
        return Some(trade.to_owned());
    }
    type_in_words(&trade.to_lowercase()).map(str::to_owned)
}

/// Says that no starter list of aspects is for a trade.
fn remark_on_trade(trade: &str) -> String {
    let known: Vec<&str> = trade_names().collect();
    let known = known.join(", ");
    format!(
        "the trade {trade:?} is not known, so the aspects are general ones; known: {known}, and words for them such as \
         dentist, Friseur or plombier\n"
    )
}

/// Returns whether a trade is written like a schema.org type: `LegalService`.
fn is_type_name(trade: &str) -> bool {
    let capitals = trade.bytes().filter(u8::is_ascii_uppercase).count();
    trade.starts_with(|first: char| first.is_ascii_uppercase())
        && capitals > 1
        && trade.bytes().any(|byte| byte.is_ascii_lowercase())
        && trade.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Returns a name without the spaces around it.
pub(super) fn parse_name(text: &str) -> Result<String, AnswerError> {
    let name = text.trim();
    if name.is_empty() || name.len() > NAME_BYTES_MAX || name.contains(char::is_control) {
        return Err(AnswerError::Name);
    }
    Ok(name.to_owned())
}

/// Returns a language in which the pages have words.
fn parse_language(text: &str) -> Result<String, AnswerError> {
    let language = text.trim().to_lowercase();
    if PAGE_LANGUAGES.contains(&language.as_str()) {
        return Ok(language);
    }
    Err(AnswerError::Language(PAGE_LANGUAGES.join(", ")))
}

/// Returns a color in the notation of `site.json`.
fn parse_color(text: &str) -> Result<String, AnswerError> {
    let color = text.trim().to_lowercase();
    if Color::parse(&color).is_none() {
        return Err(AnswerError::Color);
    }
    Ok(color)
}

fn parse_url(text: &str) -> Result<String, AnswerError> {
    let url = text.trim();
    if url.len() > URL_BYTES_MAX || !is_absolute_url(url) {
        return Err(AnswerError::Website);
    }
    Ok(url.to_owned())
}

/// Returns the value of a flag. Without one, asks on a terminal until `parse` accepts the answer; `None` for an empty
/// answer or without a terminal.
fn stated_or_asked(
    flag: &Option<String>,
    question: &str,
    parse: fn(&str) -> Result<String, AnswerError>,
) -> Option<String> {
    if flag.is_some() {
        return flag.clone();
    }
    let can_ask = io::stdin().is_terminal() && io::stderr().is_terminal();
    if !can_ask {
        return None;
    }
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
            Err(error) => drop(writeln!(io::stderr(), "{error}")),
        }
    }
}
