//! `reviewd import SOURCE… --into DIR`: reads exports of review platforms and merges them into a folder of reviews.

pub(super) mod folder;
mod report;

use std::fs::File;
use std::io::{self, BufRead, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};

use encoding_rs::Encoding;

use super::exit::{Failure, Status, print};
use super::values::parse_file_size;
use crate::dataset::{NAME_BYTES_MAX, REVIEWS_BYTES_MAX, URL_BYTES_MAX, is_absolute_url};
use crate::import::date::Order;
use crate::import::{
    BusinessFacts, ImportSource, Mapping, Merge, Options, ReadError, SourceFormat, Vouched,
    formats, named, parse_mapping,
};
use folder::Folder;

/// Flags of `import`.
#[derive(Debug, Args)]
pub(super) struct ImportArgs {
    /// Files, or - for standard input
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
    #[arg(long, env = "REVIEWD_IMPORT_SOURCE", value_name = "NAME", value_parser = parse_name)]
    source: Option<String>,

    /// Name of the business, if the file has none yet [default: asked for on a terminal]
    #[arg(long, env = "REVIEWD_IMPORT_BUSINESS_NAME", value_name = "NAME", value_parser = parse_name)]
    business_name: Option<String>,

    /// Website of the business, if the file has none yet [default: asked for on a terminal]
    #[arg(long, env = "REVIEWD_IMPORT_BUSINESS_URL", value_name = "URL", value_parser = parse_url)]
    business_url: Option<String>,

    /// Mark new reviews as verified where the source does not say so; only verified reviews are published
    #[arg(long, env = "REVIEWD_IMPORT_VERIFIED")]
    verified: bool,

    /// As --verified, and also for reviews that were imported before, even if `verified` was set to false by hand
    #[arg(long, env = "REVIEWD_IMPORT_VERIFY_EXISTING")]
    verify_existing: bool,

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

    /// Largest source, and largest data file that is read or written
    #[arg(long, env = "REVIEWD_DATA_FILE_BYTES", value_name = "SIZE", default_value = "256MiB", value_parser = parse_file_size)]
    data_file_bytes: u64,
}

impl ImportArgs {
    fn options(&self) -> Options {
        Options {
            format: self.from,
            mapping: self.map.clone().unwrap_or_default().0,
            delimiter: self.delimiter,
            encoding: self.encoding,
            order: self.date_format,
            source: self.source.clone(),
            vouched: match (self.verify_existing, self.verified) {
                (true, _) => Vouched::All,
                (false, true) => Vouched::New,
                (false, false) => Vouched::Nothing,
            },
            today: crate::clock::now().date(),
        }
    }
}

/// Parses the name of a format.
fn format_parser() -> impl TypedValueParser<Value = &'static SourceFormat> {
    let value =
        |format: &'static SourceFormat| PossibleValue::new(&*format.flag).help(&*format.title);
    let parser = PossibleValuesParser::new(formats().iter().map(value));
    parser.map(|flag| named(&flag).unwrap_or(&formats()[0]))
}

/// Output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Lines and a table
    Text,
    /// One object
    Json,
}

/// A mapping as one value of a flag; clap takes a plain list for a flag that may be given more than once.
#[derive(Clone, Debug, Default)]
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
    let found = Encoding::for_label_no_replacement(text.as_bytes());
    found.ok_or(
        "is no encoding that is known here, such as utf-8, windows-1252 or utf-16le".to_owned(),
    )
}

pub(super) fn parse_name(text: &str) -> Result<String, String> {
    let name = text.trim();
    let fits = !name.is_empty() && name.len() <= NAME_BYTES_MAX && !name.contains(char::is_control);
    let name = fits.then(|| name.to_owned());
    name.ok_or(format!(
        "must be one line of at most {NAME_BYTES_MAX} bytes"
    ))
}

pub(super) fn parse_url(text: &str) -> Result<String, String> {
    let url = text.trim();
    let url = (url.len() <= URL_BYTES_MAX && is_absolute_url(url)).then(|| url.to_owned());
    url.ok_or("must be an http or https address such as https://example.com/".to_owned())
}

/// Fills in what the flags say of the business, and asks on a terminal for what they do not; an empty answer, or the end
/// of the input, leaves the placeholder.
fn fill_in(args: &ImportArgs, merge: &mut Merge<'_>) {
    let mut business = BusinessFacts {
        name: args.business_name.clone(),
        url: args.business_url.clone(),
        kind: None,
    };
    merge.fill_in(business.clone());
    if args.dry_run || !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return;
    }
    let [name, url] = merge.placeholders();
    if name {
        business.name = asked("Name of the business: ", parse_name);
    }
    if url {
        business.url = asked("Its website (https://…): ", parse_url);
    }
    merge.fill_in(business);
}

/// An answer has at most 4 KiB; what is beyond is the next one.
const ANSWER_BYTES_MAX: u64 = 4 << 10;

/// Asks until the answer fits; `None` for an empty one.
pub(super) fn asked(question: &str, parse: fn(&str) -> Result<String, String>) -> Option<String> {
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

/// Reads a file, or standard input (`-`), of at most `limit` bytes.
fn read(name: &str, limit: u64) -> Result<Vec<u8>, Failure> {
    let failure = |status, message: &str| Failure::new(status, format!("{name}: {message}"));
    if name.starts_with("https://") || name.starts_with("http://") {
        let message = "addresses are not fetched: curl -fsS ADDRESS | reviewd import - --into DIR";
        return Err(failure(Status::Usage, message));
    }
    if Path::new(name).is_dir() {
        let message = "is a directory: name the files in it";
        return Err(failure(Status::NoInput, message));
    }
    let mut bytes = Vec::new();
    let input: io::Result<Box<dyn Read>> = match name {
        "-" => Ok(Box::new(io::stdin())),
        path => File::open(path).map(|file| Box::new(file) as Box<dyn Read>),
    };
    let read = input.and_then(|input| input.take(limit.saturating_add(1)).read_to_end(&mut bytes));
    match read {
        Ok(length) if length as u64 <= limit => Ok(bytes),
        Ok(_) => {
            let message = format!("is larger than {limit} bytes (--data-file-bytes)");
            Err(failure(Status::Data, &message))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(failure(Status::NoInput, "there is no such file"))
        }
        Err(error) => Err(failure(Status::Io, &error.to_string())),
    }
}

/// Reads the sources, merges them and writes the folder, or says what would come of it.
pub(super) fn run(args: &ImportArgs) -> Result<(), Failure> {
    let wrong = |error: String| Failure::new(Status::Data, error);
    let folder = Folder::open(&args.into, args.data_file_bytes, args.dry_run)?;
    let mut merge = Merge::new(folder.reviews()).map_err(wrong)?;
    merge.ignore(folder.ignored()?.into_iter().map(|entry| entry.id));
    let options = args.options();
    for name in &args.sources {
        let bytes = read(name, args.data_file_bytes)?;
        let name = if name == "-" { "standard input" } else { name };
        let failed = |error: ReadError| wrong(format!("{name}: {error}; nothing was written"));
        let source = ImportSource::open(name, &bytes, &options).map_err(failed)?;
        merge.begin(&source);
        for found in source.records() {
            merge.take(found.map_err(failed)?, &source);
        }
    }
    fill_in(args, &mut merge);
    if args.prune {
        merge.prune().map_err(wrong)?;
    }
    let text = merge.render(crate::clock::now());
    let bytes_max = args.data_file_bytes.min(REVIEWS_BYTES_MAX as u64);
    if text.len() as u64 > bytes_max {
        return Err(wrong(format!(
            "reviews.json would be larger than {bytes_max} bytes (--data-file-bytes); \
             check and serve need the same flag, and take at most {REVIEWS_BYTES_MAX}"
        )));
    }
    let mut report = merge.report(args.dry_run, text.len() as u64);
    let refused = report.refused_count;
    let is_barred = args.strict && refused > 0;
    if report.changes && !is_barred {
        if args.dry_run {
            folder.check(&text)?;
        } else {
            report.updated_at = Some(folder.write(&merge)?.to_string());
            report.written = true;
        }
    }
    let rendered = match args.format {
        Format::Text => report::render(&report, &args.into, is_barred),
        Format::Json => serde_json::to_string(&report).unwrap_or_default() + "\n",
    };
    print(rendered.as_bytes())?;
    let is_nothing = refused > 0 && report.sources.iter().all(|source| source.taken() == 0);
    let why = match refused {
        _ if is_barred => format!("{refused} refused and --strict"),
        _ if !is_nothing => return Ok(()),
        1 => "the only record was refused".to_owned(),
        _ => format!("all {refused} refused"),
    };
    Err(wrong(format!("{why}: nothing was written")))
}
