//! `reviewd import SOURCE… --into DIR`: reads exports of review platforms and merges them into a folder of reviews.

pub(super) mod folder;
mod report;

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};

use encoding_rs::Encoding;

use super::exit::{Failure, Status, print};
use super::init::parse_name;
use super::values::parse_file_size;
use crate::dataset::REVIEWS_BYTES_MAX;
use crate::import::date::Order;
use crate::import::{
    ImportSource, Mapping, Merge, Options, ReadError, SourceFormat, Vouched, formats, named,
    parse_mapping,
};
use folder::Folder;

/// Flags of `import`.
#[derive(Debug, Args)]
pub(super) struct ImportArgs {
    /// Files, or - for standard input
    #[arg(required = true, value_name = "SOURCE")]
    sources: Vec<String>,

    /// Directory with the reviews.json to update
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

    /// Character encoding of the sources, such as utf-8, windows-1252 or utf-16le [default: detected]
    #[arg(long, env = "REVIEWD_IMPORT_ENCODING", value_name = "NAME", value_parser = parse_encoding)]
    encoding: Option<&'static Encoding>,

    /// Platform on which the reviews were written; overrides a column [default: the platform of the export, else import]
    #[arg(long, env = "REVIEWD_IMPORT_SOURCE", value_name = "NAME", value_parser = parse_name)]
    source: Option<String>,

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

fn parse_encoding(text: &str) -> Result<&'static Encoding, String> {
    let found = Encoding::for_label_no_replacement(text.as_bytes());
    found.ok_or(
        "is no encoding that is known here, such as utf-8, windows-1252 or utf-16le".to_owned(),
    )
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
