//! `reviewd hub export` and `reviewd hub import`: subscriptions from one store to another, a page at a time.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use clap::Args;

use super::{Format, PAGE, failure, now};
use crate::cli::exit::{Failure, Status, tell};
use crate::websub::StoreLocation;
use crate::websub::store::Store;
use crate::websub::transfer::{
    ExportedSubscription, ImportDecision, LINE_BYTES, LineError, parse_line, render_line,
};
use crate::wire::json::Object;

/// Flags of `hub export`.
#[derive(Debug, Args)]
pub(super) struct ExportArgs {
    /// File to write, readable by its owner alone [default: standard output]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Write the secrets of the signatures as well; without them the subscribers' signatures end with the move
    #[arg(long)]
    secrets: bool,
}

/// Flags of `hub import`.
#[derive(Debug, Args)]
pub(super) struct ImportArgs {
    /// File that `hub export` has written
    file: PathBuf,
    /// Take over subscriptions whose secret the file lacks: they get deliveries without a signature, which their
    /// subscribers will not trust, until they subscribe again
    #[arg(long)]
    unsigned: bool,
}

/// Writes every subscription of `store`, and says on standard error how many.
///
/// # Errors
/// `CannotCreate` where the file cannot be made, `Io` where writing fails, and what the store met.
pub(super) fn export(
    args: &ExportArgs,
    place: &StoreLocation,
    store: &mut dyn Store,
) -> Result<(), Failure> {
    let written = match &args.out {
        None => write_lines(&mut io::stdout().lock(), store, args.secrets)?,
        Some(path) => write_file(path, store, args.secrets)?,
    };
    let Written { lines, signed } = written;
    let without = if args.secrets || signed == 0 {
        String::new()
    } else {
        format!(", {signed} of them without the secret that they have (--secrets)")
    };
    tell(format_args!("{} exported{without}", subscriptions(lines)));
    // Whoever goes on delivering does what the file then knows nothing of.
    let who = match place {
        // Nobody holds a role there, so nobody can be asked.
        #[cfg(feature = "postgres")]
        StoreLocation::Database(_) => "replicas may be running on",
        StoreLocation::Directory(_) if matches!(place.try_take_role(), Ok(None)) => {
            "a service runs on"
        }
        StoreLocation::Directory(_) => return Ok(()),
    };
    tell(format_args!(
        "{who} {place}: what is done from now on is not in the export; stop the service before the last one"
    ));
    Ok(())
}

/// How much was written.
struct Written {
    lines: u64,
    /// Those whose subscriber gave a secret.
    signed: u64,
}

fn write_lines(
    out: &mut dyn Write,
    store: &mut dyn Store,
    with_secrets: bool,
) -> Result<Written, Failure> {
    let failed = |error: io::Error| {
        Failure::new(Status::Io, format!("the export cannot be written: {error}"))
    };
    let mut out = BufWriter::new(out);
    let mut written = Written {
        lines: 0,
        signed: 0,
    };
    let (mut after, mut line) = (0, Vec::new());
    loop {
        let page = store
            .list(after, PAGE, now())
            .map_err(|error| failure(&error))?;
        // Whoever is leaving has left when the line arrives.
        for listed in page.iter().filter(|listed| !listed.state.is_leaving()) {
            line.clear();
            render_line(&mut line, listed, with_secrets);
            out.write_all(&line).map_err(failed)?;
            written.lines += 1;
            written.signed += u64::from(listed.state.secret.is_some());
        }
        match page.last() {
            Some(last) if page.len() == PAGE => after = last.id,
            _ => break,
        }
    }
    out.flush().map_err(failed)?;
    Ok(written)
}

/// Writes beside the file and renames, so that nobody takes half of an export for one. The file is its owner's alone
/// with and without secrets: the callbacks in it are often capabilities.
fn write_file(path: &Path, store: &mut dyn Store, with_secrets: bool) -> Result<Written, Failure> {
    let refused = |error: io::Error| {
        let message = format!("{} cannot be written (--out): {error}", path.display());
        Failure::new(Status::CannotCreate, message)
    };
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".partial.{}", std::process::id()));
    let beside = PathBuf::from(name);
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&beside)
        .map_err(refused)?;
    let written = write_lines(&mut file, store, with_secrets).and_then(|written| {
        file.sync_all().map_err(refused)?;
        fs::rename(&beside, path).map_err(refused)?;
        Ok(written)
    });
    if written.is_err() {
        // The error that led here is the one to tell.
        let _gone = fs::remove_file(&beside);
    }
    written
}

/// Takes over the subscriptions in a file. It is read twice: nothing is written before every line was found good.
///
/// # Errors
/// `NoInput` without the file, `Data` for refused lines and topics of others, `Io` and what the store met.
pub(super) fn import(
    args: &ImportArgs,
    place: &StoreLocation,
    format: Format,
) -> Result<(), Failure> {
    check(&args.file, args.unsigned)?;
    let mut store = place.open().map_err(|error| failure(&error))?;
    let store = store.as_mut();
    let mut tally = Tally::default();
    let mut batch = Vec::with_capacity(PAGE);
    for_each_line(&args.file, |number, line| {
        let moved = parse_line(line).map_err(|error| refused(&args.file, number, &error))?;
        batch.push((number, moved));
        if batch.len() == PAGE {
            take(store, &mut batch, &mut tally)?;
        }
        Ok(())
    })?;
    take(store, &mut batch, &mut tally)?;
    tally.report(format)?;
    if tally.unknown > 0 {
        let message = format!(
            "{} of topics that this store does not have, such as that of line {}: the --base-url is another; \
             the others were imported",
            subscriptions(tally.unknown),
            tally.unknown_line
        );
        return Err(Failure::new(Status::Data, message));
    }
    Ok(())
}

/// Refuses a file that holds a wrong line, naming the first of them and counting the others, and one that lacks secrets
/// unless it may.
fn check(path: &Path, may_lack_secrets: bool) -> Result<(), Failure> {
    let (mut messages, mut total, mut unsigned) = (Vec::new(), 0_u64, 0_u64);
    for_each_line(path, |number, line| {
        match parse_line(line) {
            Ok(moved) => unsigned += u64::from(moved.signed && moved.state.secret.is_none()),
            Err(error) => {
                total += 1;
                if messages.len() < REFUSALS_MAX {
                    messages.push(refused(path, number, &error).message);
                }
            }
        }
        Ok(())
    })?;
    if total == 0 && unsigned > 0 && !may_lack_secrets {
        let message = format!(
            "{}: {} without the secret that they have: export with --secrets, or import with --unsigned; nothing was \
             imported",
            path.display(),
            subscriptions(unsigned)
        );
        return Err(Failure::new(Status::Data, message));
    }
    if total == 0 {
        return Ok(());
    }
    let plural = if total == 1 { "" } else { "s" };
    messages.push(format!(
        "{total} line{plural} refused; nothing was imported"
    ));
    Err(Failure::new(Status::Data, messages.join("\n")))
}

fn take(
    store: &mut dyn Store,
    batch: &mut Vec<(u64, ExportedSubscription)>,
    tally: &mut Tally,
) -> Result<(), Failure> {
    if batch.is_empty() {
        return Ok(());
    }
    let (numbers, moved): (Vec<u64>, Vec<ExportedSubscription>) = batch.drain(..).unzip();
    let answers = store
        .adopt(&moved, now())
        .map_err(|error| failure(&error))?;
    for ((number, moved), adopted) in numbers.into_iter().zip(&moved).zip(answers) {
        tally.note(number, moved, adopted);
    }
    Ok(())
}

/// What came of the lines.
#[derive(Debug, Default)]
struct Tally {
    added: u64,
    updated: u64,
    known: u64,
    expired: u64,
    unknown: u64,
    /// The first line with a topic that is not here.
    unknown_line: u64,
    unsigned: u64,
}

impl Tally {
    fn note(&mut self, number: u64, moved: &ExportedSubscription, adopted: ImportDecision) {
        match adopted {
            ImportDecision::Added => self.added += 1,
            ImportDecision::Updated => self.updated += 1,
            ImportDecision::Known => self.known += 1,
            ImportDecision::Expired => self.expired += 1,
            ImportDecision::UnknownTopic => {
                self.unknown += 1;
                if self.unknown_line == 0 {
                    self.unknown_line = number;
                }
            }
        }
        let is_taken = matches!(adopted, ImportDecision::Added | ImportDecision::Updated);
        if is_taken && moved.signed && moved.state.secret.is_none() {
            self.unsigned += 1;
            tell(format_args!(
                "line {number}: {} has lost its secret for {}: its deliveries are not signed until it subscribes again",
                moved.callback.host(),
                moved.topic
            ));
        }
    }

    fn report(&self, format: Format) -> Result<(), Failure> {
        let mut out = Vec::new();
        match format {
            Format::Json => {
                let mut object = Object::begin(&mut out);
                object
                    .u64("added", self.added)
                    .u64("updated", self.updated)
                    .u64("known", self.known)
                    .u64("expired", self.expired)
                    .u64("unknown_topic", self.unknown)
                    .u64("without_secret", self.unsigned);
                object.end();
                out.push(b'\n');
            }
            Format::Text => {
                for (count, what) in [
                    (self.added, "added"),
                    (self.updated, "updated"),
                    (self.known, "known already, in this state or a later one"),
                    (self.expired, "left out, as their lease is over"),
                    (
                        self.unknown,
                        "left out, as their topic is none of this store's",
                    ),
                    (self.unsigned, "without the secret that they had"),
                ] {
                    out.extend_from_slice(format!("{count}\t{what}\n").as_bytes());
                }
            }
        }
        let written = io::stdout().write_all(&out);
        written.map_err(|error| {
            Failure::new(Status::Io, format!("the report cannot be written: {error}"))
        })
    }
}

/// Reads a file line by line, none longer than the bound; empty lines are passed over.
fn for_each_line(
    path: &Path,
    mut each: impl FnMut(u64, &[u8]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let failed = |error: io::Error| {
        let status = match error.kind() {
            io::ErrorKind::NotFound => Status::NoInput,
            _ => Status::Io,
        };
        Failure::new(status, format!("{}: {error}", path.display()))
    };
    // It is read twice, so a pipe will not do; and opening one would wait for its writer.
    if !fs::metadata(path).map_err(failed)?.is_file() {
        let message = format!("{}: is not a regular file", path.display());
        return Err(Failure::new(Status::NoInput, message));
    }
    let mut reader = BufReader::new(File::open(path).map_err(failed)?);
    let mut line = Vec::new();
    let mut number = 0;
    loop {
        line.clear();
        let room = LINE_BYTES as u64 + 1;
        let read = (&mut reader).take(room).read_until(b'\n', &mut line);
        if read.map_err(failed)? == 0 {
            return Ok(());
        }
        number += 1;
        let text = line.strip_suffix(b"\n").unwrap_or(&line);
        if text.len() > LINE_BYTES {
            let message = format!(
                "{}: line {number}: is longer than {LINE_BYTES} bytes; nothing more of the file was read",
                path.display()
            );
            return Err(Failure::new(Status::Data, message));
        }
        if !text.trim_ascii().is_empty() {
            each(number, text)?;
        }
    }
}

fn refused(path: &Path, number: u64, error: &LineError) -> Failure {
    let message = format!("{}: line {number}: {error}", path.display());
    Failure::new(Status::Data, message)
}

fn subscriptions(count: u64) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} subscription{plural}")
}

/// Refused lines that are named; the others are counted.
const REFUSALS_MAX: usize = 100;
