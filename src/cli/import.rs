//! `reviewd import SOURCE… --into DIR`: reads exports of review platforms, merges them into a data directory, and
//! prints a report as text or as JSON.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use serde_json::Value;

use super::exit::{Failure, Status, print};
use super::folder::{BACKUP, Folder};
use super::init::parse_name;
use super::photos::{FetchedPhotos, PhotoStore};
use super::progress::WorkProgress;
use super::values::{OutputFormat, number};
use crate::clock;
use crate::dataset::REVIEWS_BYTES_MAX;
use crate::import::archive::{self, ArchivedFile};
use crate::import::date::DateOrder;
use crate::import::fetch::FetchSettings;
use crate::import::{
    Encoding, ImportSource, Mapping, Merge, Options, PhotoCounts, PublishedIf, ReadError, Report,
    SourceFormat, SourceReport, StatusOptions, Vouched, formats, named, parse_mapping,
    parse_published_if,
};
use crate::model::METHOD_ACCOUNT;
use crate::wire::date::{Date, Timestamp, parse_date};
use crate::wire::text::truncate;

/// Most bytes of a text that a report shows.
const SHOWN_BYTES_MAX: usize = 200;

/// What publishes reviews that are not verified, for each of the two reasons that the operator may have.
const HOW_TO_PUBLISH: &str = "\
if you know the authors as your customers: --verified for new reviews, --verify-existing also for the others
if a platform published them, and you do not know it: --from-platform, with --source NAME if the table names none";

#[derive(Args)]
pub(super) struct ImportArgs {
    /// Files, or - for standard input
    #[arg(required_unless_present = "undo", value_name = "SOURCE")]
    sources: Vec<String>,
    /// Directory with the reviews.json to update
    #[arg(long, value_name = "DIR")]
    into: PathBuf,
    /// Format of the sources [default: detected from their contents]
    #[arg(long, value_name = "FORMAT", value_parser = format_parser())]
    from: Option<&'static SourceFormat>,
    /// Columns of fields that are not recognized by name: rating=Points,date=Posted on. May be repeated; a nested key
    /// of JSON is user.name
    #[arg(long, value_name = "FIELD=COLUMN,…", value_parser = parse_mapping)]
    map: Vec<Mapping>,
    /// Path of the list of reviews in JSON, such as data.reviews [default: detected]
    #[arg(long, value_name = "PATH")]
    list: Option<String>,
    /// Place whose reviews are imported, if the source has those of several
    #[arg(long, value_name = "NAME")]
    place: Option<String>,
    /// Id of the location that the reviews are about, for a business with several
    #[arg(long, value_name = "ID", value_parser = parse_name)]
    location: Option<String>,
    /// Column that says which reviews are published, and its values for that: Status=live,shown. May be repeated
    #[arg(long, value_name = "COLUMN=VALUE,…", value_parser = parse_published_if)]
    published_if: Vec<PublishedIf>,
    /// Column that does not say which reviews are published. May be repeated
    #[arg(long, value_name = "COLUMN")]
    ignore: Vec<String>,
    /// Import reviews although no column with their texts is found
    #[arg(long)]
    no_text: bool,
    /// Give reviews without a date that of --as-of, or else of the file; pages show such dates as not known
    #[arg(long)]
    undated: bool,
    /// Day on which the source was collected, for dates such as "9 months ago" [default: stated in the source, else the
    /// day of the file]
    #[arg(long, value_name = "DATE", value_parser = parse_day)]
    as_of: Option<Date>,
    /// Best rating of the scale, such as 10 or 100; ratings are rounded to whole stars, and --scale 5 rounds half stars
    #[arg(long, value_name = "BEST", value_parser = number(2, 1_000))]
    scale: Option<u32>,
    /// Order of day, month and year in numeric dates: dmy, mdy, ymd, or a pattern such as %d/%m/%Y [default: detected,
    /// where all dates of the file agree]
    #[arg(long, value_name = "ORDER", value_parser = DateOrder::parse)]
    date_format: Option<DateOrder>,
    /// Character encoding of the sources, such as utf-8, windows-1252 or utf-16le [default: detected]
    #[arg(long, value_name = "NAME", value_parser = parse_encoding)]
    encoding: Option<&'static Encoding>,
    /// Platform on which the reviews were written; overrides a column [default: the platform of the export, else
    /// import]
    #[arg(long, value_name = "NAME", value_parser = parse_name)]
    source: Option<String>,
    /// Mark new reviews as verified unless the source says whether they are; only verified reviews are published
    #[arg(long)]
    verified: bool,
    /// As --verified, and also for reviews that were imported before, even if `verified` was set to false by hand
    #[arg(long)]
    verify_existing: bool,
    /// Publish reviews that are not verified as those of their platform, which published them with an account; pages
    /// say that they are not verified
    #[arg(long, conflicts_with_all = ["verified", "verify_existing"])]
    from_platform: bool,
    /// Fetch the pictures of reviews and authors into the data directory, so that pages show them without the platform
    #[arg(long)]
    media: bool,
    /// Certificate authorities to trust for pictures instead of the public ones, a file in PEM
    #[arg(long, value_name = "FILE", requires = "media")]
    media_ca: Option<PathBuf>,
    /// Fetch pictures from private addresses, too, such as those of your own network
    #[arg(long, requires = "media")]
    allow_private_media: bool,
    /// Restore the file before the last import, verification or --undo, instead of importing
    #[arg(long, conflicts_with = "sources")]
    undo: bool,
    /// Show the result without writing it
    #[arg(long)]
    dry_run: bool,
    /// Remove reviews that are missing from their source; only for complete exports
    #[arg(long)]
    prune: bool,
    /// Write nothing if any record is rejected
    #[arg(long)]
    strict: bool,
    /// Output format: lines of text, or one JSON object
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: OutputFormat,
}

/// Parses the name of a format.
fn format_parser() -> impl TypedValueParser<Value = &'static SourceFormat> {
    let values = formats()
        .iter()
        .map(|format| PossibleValue::new(&*format.flag).help(&*format.title));
    let parser = PossibleValuesParser::new(values);
    // The parser has checked that the name is one of these.
    parser.map(|flag| named(&flag).unwrap_or(&formats()[0]))
}

fn parse_encoding(text: &str) -> Result<&'static Encoding, &'static str> {
    let found = Encoding::for_label_no_replacement(text.as_bytes());
    found.ok_or("is not a known encoding, such as utf-8, windows-1252 or utf-16le")
}

fn parse_day(text: &str) -> Result<Date, &'static str> {
    parse_date(text.as_bytes()).map_err(|_| "is not a day such as 2026-03-04")
}

/// Reads the sources, merges them and writes the data directory; a dry run only reports the result.
pub(super) fn run(args: &ImportArgs) -> Result<(), Failure> {
    if args.undo {
        return undo(args);
    }
    let options = options(args)?;
    let folder = Folder::open(&args.into, args.dry_run)?;
    let mut merge = folder.merge()?;
    check_platform(args, &merge)?;
    merge.ignore(folder.ignored.clone().into_iter().map(|entry| entry.id));
    let mut store = PhotoStore::open(&args.into)?;
    merge.know_photos(store.table.clone());
    merge_sources(&mut merge, &args.sources, &options)?;
    if args.prune {
        let pruned = merge.prune();
        pruned.map_err(|error| Failure::new(Status::Data, error.to_string()))?;
    }
    let is_prevented = args.strict && merge.report(args.dry_run).rejected_count > 0;
    let mut photos = None;
    if args.media && !is_prevented {
        photos = Some(fetch_photos(args, &store, &mut merge)?);
    }
    let mut report = merge.report(args.dry_run);
    report.photos = photos.as_ref().map(|photos| photos.counts.clone());
    if report.changes && !is_prevented {
        let checked = folder.check(&merge.render(clock::now()), None);
        checked.inspect_err(|_| store.discard())?;
        if !args.dry_run {
            if let Some(photos) = photos {
                store.keep(photos.table)?;
            }
            report.updated_at = Some(folder.write(&merge, None)?.to_string());
            report.written = true;
        }
    }
    store.discard();
    print_report(&report, args)?;
    check_rejected(&report, is_prevented)
}

/// Refuses the business itself as the platform that has published the reviews.
fn check_platform(args: &ImportArgs, merge: &Merge<'_>) -> Result<(), Failure> {
    match &args.source {
        Some(name) if args.from_platform && merge.is_business(name) => {
            let message = format!("--source: {name:?} is the business itself, and not a platform");
            Err(Failure::new(Status::Data, message))
        }
        _ => Ok(()),
    }
}

/// Reads the sources and merges their records.
fn merge_sources(
    merge: &mut Merge<'_>,
    names: &[String],
    options: &Options,
) -> Result<(), Failure> {
    for name in names {
        let source = read(name)?;
        let options = Options {
            file_date: source.date,
            ..options.clone()
        };
        for file in source.unpack(&options)? {
            merge_file(merge, &file, &options).map_err(|error| {
                let message = format!("{}: {error}; nothing was written", file.name);
                Failure::new(Status::Data, message)
            })?;
        }
    }
    Ok(())
}

fn print_report(report: &Report, args: &ImportArgs) -> Result<(), Failure> {
    let rendered = match args.format {
        OutputFormat::Text => render(report, &args.into),
        OutputFormat::Json => {
            serde_json::to_string(report).expect("texts and numbers are JSON") + "\n"
        }
    };
    print(rendered.as_bytes())
}

/// Fails if rejected records have prevented that any record is written: by `--strict` (`is_prevented`), or because the
/// sources have no others.
fn check_rejected(report: &Report, is_prevented: bool) -> Result<(), Failure> {
    let rejected = report.rejected_count;
    let has_none_else = report.sources.iter().all(|source| source.taken() == 0);
    let why = if is_prevented {
        " and --strict"
    } else if rejected > 0 && has_none_else {
        ", and there was nothing else"
    } else {
        return Ok(());
    };
    // Pictures of reviews that were stored before may have been written.
    let end = if report.written {
        ""
    } else {
        ": nothing was written"
    };
    let message = format!("{rejected} rejected{why}{end}");
    Err(Failure::new(Status::Data, message))
}

/// Fetches the pictures of the new file and uses them in it; a dry run only counts them.
fn fetch_photos(
    args: &ImportArgs,
    store: &PhotoStore,
    merge: &mut Merge<'_>,
) -> Result<FetchedPhotos, Failure> {
    let mut urls = merge.photo_urls();
    urls.retain(|url| !store.table.contains_key(url));
    // A stored review may have the address of a picture that the folder has already.
    merge.use_photos(&store.table);
    if args.dry_run || urls.is_empty() {
        let counts = PhotoCounts {
            fetched: urls.len() as u64,
            ..PhotoCounts::default()
        };
        return Ok(FetchedPhotos {
            counts,
            ..FetchedPhotos::default()
        });
    }
    let authorities = match &args.media_ca {
        None => Vec::new(),
        Some(path) => std::fs::read(path).map_err(|error| {
            Failure::new(Status::NoInput, format!("{}: {error}", path.display()))
        })?,
    };
    let settings = FetchSettings {
        allow_private: args.allow_private_media,
        authorities,
    };
    let fetched = store.fetch(&urls, &settings)?;
    merge.use_photos(&fetched.table);
    Ok(fetched)
}

/// Restores the previous file.
fn undo(args: &ImportArgs) -> Result<(), Failure> {
    let folder = Folder::open(&args.into, false)?;
    let updated_at = folder.restore()?;
    let file = args.into.join("reviews.json");
    let report = format!(
        "{}: restored, updated_at {updated_at}; {BACKUP} is the file of before, so --undo again takes this back\n",
        file.display()
    );
    print(report.as_bytes())
}

/// Returns the settings of all sources.
fn options(args: &ImportArgs) -> Result<Options, Failure> {
    let mapping = args.map.concat();
    for (at, one) in mapping.iter().enumerate() {
        if mapping[..at].iter().any(|other| other.field == one.field) {
            let message = format!("--map: {} is given twice", one.field);
            return Err(Failure::new(Status::Usage, message));
        }
    }
    let vouched = if args.verify_existing {
        Vouched::All
    } else if args.verified {
        Vouched::New
    } else {
        Vouched::Nothing
    };
    Ok(Options {
        format: args.from,
        mapping,
        encoding: args.encoding,
        order: args.date_format,
        source: args.source.clone(),
        vouched,
        is_from_platform: args.from_platform,
        list: args.list.clone(),
        place: args.place.clone(),
        location: args.location.clone(),
        statuses: StatusOptions {
            published_if: args.published_if.clone(),
            ignored: args.ignore.clone(),
        },
        is_without_text: args.no_text,
        is_undated: args.undated,
        scale: args.scale,
        as_of: args.as_of,
        ..Options::new(clock::now().date())
    })
}

/// A file that was named on the command line, or standard input.
struct SourceFile {
    name: String,
    bytes: Vec<u8>,
    /// The day of its last change; `None` for standard input.
    date: Option<Date>,
}

impl SourceFile {
    /// Returns the files of an archive that have reviews; of any other file the file itself.
    fn unpack(self, options: &Options) -> Result<Vec<ArchivedFile>, Failure> {
        let name = self.name;
        if !archive::is_archive(&self.bytes) {
            let bytes = self.bytes;
            return Ok(vec![ArchivedFile { name, bytes }]);
        }
        let unpacked = archive::unpack(&self.bytes, options.place.as_deref());
        let mut files = unpacked.map_err(|error| {
            let message = format!("{name}: {error}; nothing was written");
            Failure::new(Status::Data, message)
        })?;
        for file in &mut files {
            file.name = format!("{name}/{}", file.name);
        }
        Ok(files)
    }
}

/// Merges the records of one file.
fn merge_file(
    merge: &mut Merge<'_>,
    file: &ArchivedFile,
    options: &Options,
) -> Result<(), ReadError> {
    let source = ImportSource::open(&file.name, &file.bytes, options)?;
    merge.begin(&source);
    let what = format!("reading {}", file.name);
    let progress = WorkProgress::begin(what, source.count());
    for found in source.records() {
        merge.take(found?, &source);
        progress.step();
    }
    Ok(())
}

/// Reads a file, or standard input (`-`); it may be as large as a data file.
fn read(name: &str) -> Result<SourceFile, Failure> {
    if name.starts_with("https://") || name.starts_with("http://") {
        let message = "URLs are not fetched: curl -fsS URL | reviewd import - --into DIR";
        return Err(Failure::new(Status::Usage, format!("{name}: {message}")));
    }
    if Path::new(name).is_dir() {
        let message = "is a directory: list the files in it";
        return Err(Failure::new(Status::NoInput, format!("{name}: {message}")));
    }
    let is_input = name == "-";
    let read = if is_input {
        read_within(io::stdin(), REVIEWS_BYTES_MAX)
    } else {
        File::open(name).and_then(|file| read_within(file, REVIEWS_BYTES_MAX))
    };
    let bytes = read.map_err(|error| {
        let status = match error.kind() {
            io::ErrorKind::NotFound => Status::NoInput,
            io::ErrorKind::FileTooLarge => Status::Data,
            _ => Status::Io,
        };
        Failure::new(status, format!("{name}: {error}"))
    })?;
    Ok(SourceFile {
        name: if is_input { "standard input" } else { name }.to_owned(),
        bytes,
        date: if is_input { None } else { date_of(name) },
    })
}

/// The day on which a file was last changed.
fn date_of(name: &str) -> Option<Date> {
    let modified = std::fs::metadata(name)
        .and_then(|data| data.modified())
        .ok()?;
    let age = modified.duration_since(UNIX_EPOCH).ok()?;
    Some(Timestamp::from_unix(i64::try_from(age.as_secs()).ok()?).date())
}

/// Reads at most `bytes_max` bytes; a longer input is an error.
fn read_within(input: impl Read, bytes_max: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    input.take(bytes_max as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > bytes_max {
        let message = format!("is larger than {bytes_max} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(bytes)
}

/// Renders a report on an import into the folder `into`.
fn render(report: &Report, into: &Path) -> String {
    let mut lines: Vec<String> = Vec::new();
    for source in &report.sources {
        lines.extend(render_source(source));
    }
    lines.extend(render_notes(report));
    if !report.sample.is_empty() {
        lines.push("as they would be published:".to_owned());
        for sample in &report.sample {
            lines.push(format!("  {}:", sample.why));
            lines.extend(render_review(&sample.review));
        }
    }
    lines.extend(render_stored(report));
    if let Some(photos) = &report.photos {
        lines.extend(render_photos(photos, report.dry_run));
    }
    lines.extend(render_result(report));
    let end = match &report.updated_at {
        Some(at) => format!("written, updated_at {at}; the previous file is {BACKUP}"),
        None if report.changes => "not written".to_owned(),
        None => "nothing to change, not written".to_owned(),
    };
    lines.push(format!("{}: {end}\n", into.join("reviews.json").display()));
    lines.join("\n")
}

/// Renders how many replies have no usable day, and the first of them.
fn render_undated_replies(report: &Report) -> Vec<String> {
    let count = report.undated_reply_count;
    if count == 0 {
        return Vec::new();
    }
    let have = if count == 1 {
        "reply has"
    } else {
        "replies have"
    };
    let mut lines = vec![format!(
        "{count} {have} no usable day: that of the review is shown"
    )];
    let notes = &report.undated_replies;
    for note in notes {
        let why = note.remark.as_deref().unwrap_or_default();
        lines.push(format!("  {}:{}: {why}", note.source, note.line));
    }
    let more = count.saturating_sub(notes.len() as u64);
    if more > 0 && !notes.is_empty() {
        lines.push(format!("  and {more} more"));
    }
    lines
}

/// Renders the rejected records and the remarks, and how many more there are than are listed.
fn render_notes(report: &Report) -> Vec<String> {
    let mut lines = Vec::new();
    lines.extend(render_undated_replies(report));
    for (notes, count, what) in [
        (&report.rejected, report.rejected_count, "rejected"),
        (&report.remarks, report.remark_count, "remarks"),
    ] {
        for note in notes {
            let text = note.reason.as_deref().or(note.remark.as_deref());
            let text = text.unwrap_or_default();
            lines.push(format!("{}:{}: {text}", note.source, note.line));
        }
        let more = count.saturating_sub(notes.len() as u64);
        if more > 0 {
            lines.push(format!("and {more} more {what}"));
        }
    }
    lines
}

/// Renders what becomes of stored reviews that the source replaces or no longer has.
fn render_stored(report: &Report) -> Vec<String> {
    let mut lines = Vec::new();
    if report.replaced_count > 0 {
        let count = report.replaced_count;
        lines.push(format!(
            "{count} of an earlier import replaced, which had no text or an approximate date"
        ));
    }
    for (count, ids, what) in [
        (report.missing_count, &report.missing_ids, "kept"),
        (report.pruned_count, &report.pruned_ids, "removed"),
    ] {
        if count > 0 {
            let ids = ids.join(", ");
            lines.push(format!(
                "{count} no longer in the source and {what}, such as {ids}"
            ));
        }
    }
    lines
}

/// Renders how many pictures were fetched, or would be, and the failures.
fn render_photos(photos: &PhotoCounts, is_dry_run: bool) -> Vec<String> {
    let what = if is_dry_run { "to fetch" } else { "fetched" };
    let PhotoCounts {
        fetched,
        failed,
        bytes,
        ..
    } = photos;
    let pictures = if *fetched == 1 { "picture" } else { "pictures" };
    let mut lines = vec![format!(
        "{fetched} {pictures} {what} ({bytes} bytes), {failed} not"
    )];
    lines.extend(photos.failures.iter().map(|failure| format!("  {failure}")));
    lines
}

/// Renders how many reviews of the new file are published, with a hint if some are not because of their verification.
fn render_result(report: &Report) -> Vec<String> {
    let published = report.published_count;
    let all = report.review_count;
    let new = report.newly_published_count;
    let hidden = report.hidden_count;
    let mut line = format!("{published} of {all} are published");
    if new > 0 {
        line.push_str(&format!(
            "; already in the data directory, and new on the pages: {new}"
        ));
    }
    if hidden > 0 {
        line.push_str(&format!("; hidden at their source: {hidden}"));
    }
    let mut lines = vec![line];
    if all - published > hidden {
        lines.push(HOW_TO_PUBLISH.to_owned());
    }
    lines
}

/// Renders the detected properties of a source, and its counts.
fn render_source(source: &SourceReport) -> Vec<String> {
    let name = &source.source;
    let encoding = source.encoding.unwrap_or("workbook");
    let mut head = format!("{name}: {}, {encoding}", source.kind);
    if let Some(delimiter) = source.delimiter {
        head += &format!(", columns separated by {delimiter:?}");
    }
    if let Some(order) = source.date_order {
        head += &format!(", dates {order}");
    }
    let mut lines = vec![head];
    if !source.near_formats.is_empty() {
        let near = source.near_formats.join(", ");
        lines.push(format!("  resembles {near}, but lacks some of its columns"));
    }
    if !source.columns.is_empty() {
        lines.push(format!("  {:20} column", "field"));
    }
    for (field, column) in &source.columns {
        lines.push(format!("  {field:20} {}", printable(column)));
    }
    if !source.unused_columns.is_empty() {
        let names = source.unused_columns.join(", ");
        let names = names.replace(char::is_control, " ");
        lines.push(format!("  {:20} {names}", "not used"));
    }
    for column in &source.likely_reply_columns {
        lines.push(format!(
            "  {column:?}: if these are your answers: --map 'owner_reply={column}'"
        ));
    }
    lines.push(format!(
        "  {} added, {} changed, {} unchanged, {} repeated, {} rejected, {} on the ignore list and not added",
        source.added,
        source.changed,
        source.unchanged,
        source.repeated,
        source.rejected,
        source.ignored
    ));
    lines
}

/// Renders a review as it would be published, so that the operator notices a wrong column or date.
fn render_review(review: &Value) -> Vec<String> {
    let stars = "★".repeat(review["rating"].as_u64().unwrap_or_default().min(5) as usize);
    let date = printable(&review["date"]);
    let author = printable(&review["author"]);
    let source = printable(&review["source"]);
    let remark = match review["verified"].as_bool() {
        Some(true) => "",
        _ if review["verification"]["method"] == METHOD_ACCOUNT => " (not matched with a customer)",
        Some(false) => " (not published: not verified, or hidden at its source)",
        None => " (not published: not verified)",
    };
    let mut lines = vec![format!("  {stars:☆<5} {date} {author}, {source}{remark}")];
    let text = printable(&review["text"]);
    if !text.is_empty() {
        lines.push(format!("    {text}"));
    }
    let reply = printable(&review["owner_reply"]["text"]);
    if !reply.is_empty() {
        lines.push(format!("    reply: {reply}"));
    }
    lines
}

/// Returns a text of a review for a terminal: truncated, without control characters.
fn printable(value: &Value) -> String {
    let text = value.as_str().unwrap_or_default();
    let shown = truncate(text, SHOWN_BYTES_MAX);
    let more = if shown.len() < text.len() { "…" } else { "" };
    shown.replace(char::is_control, " ") + more
}

#[cfg(test)]
mod tests {
    use super::read_within;

    #[test]
    fn a_source_may_have_the_size_limit_and_no_byte_more() {
        assert_eq!(read_within(&[b'x'; 9][..], 9).unwrap().len(), 9);
        let error = read_within(&[b'x'; 10][..], 9).unwrap_err();
        assert_eq!(error.to_string(), "is larger than 9 bytes");
    }
}
