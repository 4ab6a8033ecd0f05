//! `reviewd import SOURCE… --into DIR`: reads exports of review platforms and merges them into a folder of reviews.

mod fetch;
pub(super) mod folder;
mod report;
mod sample;
mod shape;
mod source;

use std::io::{self, BufRead, IsTerminal, Read, Write};
use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};

use super::bar::Bar;
use super::exit::{Failure, Status, print};
use super::values::parse_file_size;
use crate::dataset::{NAME_BYTES_MAX, URL_BYTES_MAX, is_absolute_url};
use crate::import::date::Order;
use crate::import::detect;
use crate::import::formats::{FORMATS, SourceFormat};
use crate::import::merge::{Bounds, BusinessFacts, Merge};
use crate::import::normalise::Vouched;
use crate::import::{Mapping, parse_mapping};
use encoding_rs::Encoding;
use folder::Folder;
use report::{Outcome, Report};
use source::Source;

/// Flags of `import`.
#[derive(Debug, Args)]
pub(super) struct ImportArgs {
    /// Files, https:// addresses, or - for standard input
    #[arg(required = true, value_name = "SOURCE")]
    sources: Vec<String>,

    /// Directory with the reviews.json to update or create
    #[arg(long, env = "REVIEWD_IMPORT_INTO", value_name = "DIR")]
    into: PathBuf,

    /// Format of the sources [default: detected from their contents]
    #[arg(long, env = "REVIEWD_IMPORT_FROM", value_name = "FORMAT", value_parser = format_parser())]
    from: Option<&'static SourceFormat>,

    /// Columns of fields, where they are not recognised by name: rating=Points,date=Posted on
    #[arg(long, env = "REVIEWD_IMPORT_MAP", value_name = "FIELD=COLUMN,…", value_parser = parse_mapping_value)]
    map: Option<MappingValue>,

    /// Order of day, month and year in numeric dates: dmy, mdy, ymd, or a pattern such as %d/%m/%Y [default: detected, where all dates of the file agree]
    #[arg(long, env = "REVIEWD_IMPORT_DATE_FORMAT", value_name = "ORDER", value_parser = Order::parse)]
    date_format: Option<Order>,

    /// Separator of the columns of a table: one character or `tab` [default: detected from its first row]
    #[arg(long, env = "REVIEWD_IMPORT_DELIMITER", value_name = "CHARACTER", value_parser = parse_delimiter)]
    delimiter: Option<u8>,

    /// Character encoding of the sources, such as utf-8, windows-1252 or utf-16le [default: detected]
    #[arg(long, env = "REVIEWD_IMPORT_ENCODING", value_name = "NAME", value_parser = parse_encoding)]
    encoding: Option<&'static Encoding>,

    /// Platform on which the reviews were written; overrides a column [default: the platform of the export, else import]
    #[arg(long, env = "REVIEWD_IMPORT_SOURCE", value_name = "NAME", value_parser = parse_source)]
    source: Option<String>,

    /// Name of the business, if the file has none yet [default: asked for on a terminal]
    #[arg(long, env = "REVIEWD_IMPORT_BUSINESS_NAME", value_name = "NAME", value_parser = parse_business_name)]
    business_name: Option<String>,

    /// Website of the business, if the file has none yet [default: asked for on a terminal]
    #[arg(long, env = "REVIEWD_IMPORT_BUSINESS_URL", value_name = "URL", value_parser = parse_business_url)]
    business_url: Option<String>,

    /// Match reviews without an id (older Google Takeouts) by source, author and text
    #[arg(long, env = "REVIEWD_IMPORT_MERGE_SAME_TEXT")]
    merge_same_text: bool,

    /// Mark new reviews as verified where the source does not say so; only verified reviews are published
    #[arg(long, env = "REVIEWD_IMPORT_VERIFIED")]
    verified: bool,

    /// As --verified, and also for reviews that were imported before, even if `verified` was set to false by hand
    #[arg(long, env = "REVIEWD_IMPORT_VERIFY_EXISTING")]
    verify_existing: bool,

    /// File of certificate authorities (PEM) to trust for https sources, besides the public ones
    #[arg(long, env = "REVIEWD_IMPORT_CA", value_name = "FILE")]
    ca: Option<PathBuf>,

    /// Show the result without writing it
    #[arg(long, env = "REVIEWD_IMPORT_DRY_RUN")]
    dry_run: bool,

    /// Remove reviews that are missing from their source; only for complete exports
    #[arg(long, env = "REVIEWD_IMPORT_PRUNE")]
    prune: bool,

    /// Write nothing if any record is refused
    #[arg(long, env = "REVIEWD_IMPORT_STRICT")]
    strict: bool,

    /// Output format: lines of text, or one JSON object
    #[arg(
        long,
        env = "REVIEWD_IMPORT_FORMAT",
        value_name = "FORMAT",
        default_value = "text"
    )]
    format: Format,

    /// Largest data file that is read or written
    #[arg(long, env = "REVIEWD_DATA_FILE_BYTES", value_name = "SIZE", default_value = "256MiB", value_parser = parse_file_size)]
    data_file_bytes: u64,
}

impl ImportArgs {
    /// The reviews that the operator declares verified.
    fn vouched(&self) -> Vouched {
        match (self.verify_existing, self.verified) {
            (true, _) => Vouched::All,
            (false, true) => Vouched::New,
            (false, false) => Vouched::Nothing,
        }
    }
}

/// Parses the name of a format.
fn format_parser() -> impl TypedValueParser<Value = &'static SourceFormat> {
    let values = FORMATS
        .iter()
        .map(|format| PossibleValue::new(format.flag).help(format.title));
    let values: Vec<PossibleValue> = values.collect();
    PossibleValuesParser::new(values).map(|flag| detect::named(&flag).unwrap_or(&FORMATS[0]))
}

/// Smallest size of all sources for which progress is printed where there is no terminal.
const LINES_BYTES_MIN: u64 = 4 << 20;

/// Output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Lines and a table
    Text,
    /// One object
    Json,
}

/// A mapping as one value of a flag; clap takes a plain list for a flag that may be given more than once.
#[derive(Clone, Debug)]
struct MappingValue(Mapping);

fn parse_mapping_value(text: &str) -> Result<MappingValue, String> {
    parse_mapping(text).map(MappingValue)
}

fn parse_delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        _ if text.eq_ignore_ascii_case("tab") || text == "\\t" => Ok(b'\t'),
        [byte] if !matches!(byte, b'"' | b'\n' | b'\r') && byte.is_ascii() => Ok(*byte),
        _ => Err("must be one ASCII character, or tab".to_owned()),
    }
}

fn parse_encoding(text: &str) -> Result<&'static Encoding, String> {
    Encoding::for_label_no_replacement(text.as_bytes()).ok_or_else(|| {
        "is no encoding that is known here, such as utf-8, windows-1252 or utf-16le".to_owned()
    })
}

fn parse_source(text: &str) -> Result<String, String> {
    let fits = !text.trim().is_empty() && text.len() <= 100 && !text.contains(char::is_control);
    match fits {
        true => Ok(text.trim().to_owned()),
        false => Err("must be a name of at most 100 bytes".to_owned()),
    }
}

pub(super) fn parse_business_name(text: &str) -> Result<String, String> {
    let name = text.trim();
    let fits = !name.is_empty() && name.len() <= NAME_BYTES_MAX && !name.contains(char::is_control);
    match fits {
        true => Ok(name.to_owned()),
        false => Err(format!(
            "must be one line of at most {NAME_BYTES_MAX} bytes"
        )),
    }
}

pub(super) fn parse_business_url(text: &str) -> Result<String, String> {
    let url = text.trim();
    match url.len() <= URL_BYTES_MAX && is_absolute_url(url) {
        true => Ok(url.to_owned()),
        false => Err("must be an http or https address such as https://example.com/".to_owned()),
    }
}

/// Fills in what the flags say of the business, and asks on a terminal for what they do not; an empty answer, or the end
/// of the input, leaves the placeholder.
fn fill_in(args: &ImportArgs, merge: &mut Merge<'_>) -> Result<(), String> {
    let mut business = BusinessFacts {
        name: args.business_name.clone(),
        url: args.business_url.clone(),
        kind: None,
    };
    merge.fill_in(business.clone())?;
    if args.dry_run || !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Ok(());
    }
    let [name, url] = merge.placeholders();
    if name {
        business.name = asked("Name of the business: ", parse_business_name);
    }
    if url {
        business.url = asked("Its website (https://…): ", parse_business_url);
    }
    merge.fill_in(business)
}

/// Asks until the answer fits; `None` for an empty one.
pub(super) fn asked(
    question: &str,
    parse: impl Fn(&str) -> Result<String, String>,
) -> Option<String> {
    loop {
        let _unwritten = write!(io::stderr(), "{question}");
        let mut answer = String::new();
        let read = io::stdin()
            .lock()
            .take(ANSWER_BYTES_MAX)
            .read_line(&mut answer);
        if read.is_err() || answer.trim().is_empty() {
            return None;
        }
        match parse(&answer) {
            Ok(value) => return Some(value),
            Err(why) => {
                let _unwritten = writeln!(io::stderr(), "{why}");
            }
        }
    }
}

/// An answer has at most 4 KiB; what is beyond is the next one.
const ANSWER_BYTES_MAX: u64 = 4 << 10;

/// Reads the sources, merges them and writes the folder, or says what would come of it.
///
/// # Errors
/// 64 for a source over plain http, 65 where a source, the folder or the result is wrong, 66 where a source is not
/// there, 69 while another import runs, 73 and 74 where the disk or the network refuses, 78 where authorities cannot be
/// used.
pub(super) fn run(args: &ImportArgs) -> Result<(), Failure> {
    let sources = open(args)?;
    let folder = Folder::open(&args.into, args.data_file_bytes, args.dry_run)?;
    let merge = Merge::new(folder.reviews(), Bounds::of(args.data_file_bytes));
    let mut merge = merge.map_err(|error| Failure::new(Status::Data, error))?;
    merge.ignore(folder.ignored()?.into_iter().map(|entry| entry.id));
    let total = sources.iter().map(Source::bytes).sum();
    let mut bar = Bar::new(total, "bytes");
    if total >= LINES_BYTES_MIN {
        bar = bar.with_lines();
    }
    let mut done = 0;
    let mut shapes = Vec::new();
    for source in &sources {
        let shape = source.import(args, &mut merge, &mut |bytes| bar.show(done + bytes))?;
        done += source.bytes();
        bar.show(done);
        shapes.push(shape);
    }
    fill_in(args, &mut merge).map_err(|error| Failure::new(Status::Data, error))?;
    if args.prune {
        merge
            .prune()
            .map_err(|error| Failure::new(Status::Data, error))?;
    }
    let refused: u64 = merge.tallies().iter().map(|tally| tally.refused).sum();
    let outcome = if args.strict && refused > 0 {
        Outcome::Refused
    } else if !merge.is_change() {
        Outcome::Unchanged
    } else if args.dry_run {
        folder.check(&merge)?;
        Outcome::DryRun
    } else {
        Outcome::Written(folder.write(&merge)?)
    };
    let nothing = refused > 0 && merge.tallies().iter().all(|tally| tally.taken() == 0);
    let report = Report {
        into: &args.into,
        sources: &shapes,
        merge: &merge,
        outcome,
        is_dry: args.dry_run,
    };
    let rendered = match args.format {
        Format::Text => report.render_text(),
        Format::Json => report.render_json(),
    };
    print(rendered.as_bytes())?;
    match outcome {
        Outcome::Refused => Err(Failure::new(
            Status::Data,
            format!("{refused} refused and --strict: nothing was written"),
        )),
        _ if nothing => Err(Failure::new(
            Status::Data,
            match refused {
                1 => "the only record was refused: nothing was written".to_owned(),
                _ => format!("all {refused} refused: nothing was written"),
            },
        )),
        _ => Ok(()),
    }
}

/// Finds the sources before anything is read, so that a mistyped name costs no time.
fn open(args: &ImportArgs) -> Result<Vec<Source>, Failure> {
    args.sources
        .iter()
        .map(|name| Source::open(name, args))
        .collect()
}
