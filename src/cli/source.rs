//! `reviewd source add KIND URL`, `list` and `remove`: edit `sources.json`, from which `reviewd sync` reads.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand, ValueEnum};
use thiserror::Error;

use super::config::DATA_DEFAULT;
use super::exit::{Failure, Status, print};
use super::folder::put;
use super::init::parse_name;
use super::lock::lock;
use crate::import::remote::{RemoteKind, RemoteList, RemoteSource, RemoteVerification};

/// The file in the data directory.
pub(super) const SOURCES_FILE: &str = "sources.json";

/// Most bytes of the file with the sources.
const SOURCES_BYTES_MAX: u64 = 1 << 20;

/// Most bytes of a file with a token.
const TOKEN_BYTES_MAX: u64 = 64 << 10;

/// Why the token of a source cannot be read.
#[derive(Debug, Error)]
pub(super) enum TokenError {
    #[error("the environment variable {0} has no token")]
    Variable(String),
    #[error("{file}: {error}")]
    Read { file: String, error: io::Error },
    #[error("{file}: has mode {mode:o}, so that others may read the token: chmod 600")]
    Exposed { file: String, mode: u32 },
    #[error("{0}: is not text")]
    NotText(String),
}

#[derive(Args)]
pub(super) struct SourceArgs {
    #[command(subcommand)]
    action: SourceAction,
    /// Directory with reviews.json
    #[arg(long, global = true, value_name = "DIR", default_value = DATA_DEFAULT)]
    data: PathBuf,
}

#[derive(Subcommand)]
enum SourceAction {
    /// Add a source, or replace the one with the same id
    Add(AddSourceArgs),
    /// List the sources
    List,
    /// Remove a source; its reviews stay
    Remove {
        /// Id of the source
        #[arg(value_name = "ID")]
        id: String,
    },
}

#[derive(Args)]
struct AddSourceArgs {
    /// Kind of the source
    #[arg(value_name = "KIND", value_parser = kind_parser())]
    kind: RemoteKind,
    /// Address of the reviews; docs/importing.md shows its form for each kind
    #[arg(value_name = "URL")]
    url: String,
    /// Id of the source in reports [default: its kind]
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    /// Environment variable that has the token
    #[arg(long, value_name = "NAME", conflicts_with = "token_file")]
    token_env: Option<String>,
    /// File that has the token, readable by its owner only
    #[arg(long, value_name = "FILE")]
    token_file: Option<String>,
    /// Id of the location that its reviews are about
    #[arg(long, value_name = "ID", value_parser = parse_name)]
    location: Option<String>,
    /// What is known of reviews of which the source does not say how they were verified
    #[arg(long, value_name = "HOW")]
    verification: Option<VerificationWord>,
}

/// The words of `--verification`.
#[derive(Clone, Copy, ValueEnum)]
enum VerificationWord {
    /// The business has matched the authors with customers
    Business,
    /// The platform published them with an account; pages say that they are not verified
    Account,
}

fn kind_parser() -> impl TypedValueParser<Value = RemoteKind> {
    let parser = PossibleValuesParser::new(RemoteKind::ALL.map(RemoteKind::word));
    parser.map(|word| {
        let mut kinds = RemoteKind::ALL.into_iter();
        let kind = kinds.find(|kind| kind.word() == word);
        // The parser has checked that the word is one of these.
        kind.unwrap_or(RemoteKind::Json)
    })
}

/// Runs the action and prints its result.
pub(super) fn run(args: &SourceArgs) -> Result<(), Failure> {
    match &args.action {
        SourceAction::Add(add) => add_source(&args.data, add),
        SourceAction::List => list(&args.data),
        SourceAction::Remove { id } => remove_source(&args.data, id),
    }
}

fn add_source(data: &Path, args: &AddSourceArgs) -> Result<(), Failure> {
    let id = args
        .id
        .clone()
        .unwrap_or_else(|| args.kind.word().to_owned());
    let verification = args.verification.map(|word| match word {
        VerificationWord::Business => RemoteVerification::Business,
        VerificationWord::Account => RemoteVerification::Account,
    });
    let source = RemoteSource {
        id: id.clone(),
        kind: args.kind,
        url: args.url.clone(),
        token_env: args.token_env.clone(),
        token_file: args.token_file.clone(),
        location: args.location.clone(),
        verification,
    };
    let _lock = lock(data)?;
    let mut list = read_sources(data)?;
    let listed = list.sources.iter_mut().find(|listed| listed.id == id);
    let done = match listed {
        Some(listed) => {
            *listed = source;
            "replaced"
        }
        None => {
            list.sources.push(source);
            "added"
        }
    };
    write_sources(data, &list)?;
    let shown = data.display();
    print(format!("{id}: {done}; `reviewd sync {shown}` reads it\n").as_bytes())
}

fn list(data: &Path) -> Result<(), Failure> {
    let mut report = String::new();
    for source in read_sources(data)?.sources {
        let token = match (&source.token_env, &source.token_file) {
            (Some(name), _) => format!(", token in the variable {name}"),
            (None, Some(file)) => format!(", token in {file}"),
            (None, None) => String::new(),
        };
        // The query of an address may have a secret.
        let address = source.url.split('?').next().unwrap_or_default();
        report.push_str(&format!(
            "{}: {} {address}{token}\n",
            source.id, source.kind
        ));
    }
    print(report.as_bytes())
}

fn remove_source(data: &Path, id: &str) -> Result<(), Failure> {
    let _lock = lock(data)?;
    let mut list = read_sources(data)?;
    let before = list.sources.len();
    list.sources.retain(|source| source.id != id);
    if list.sources.len() == before {
        let message = format!("no source has the id {id}; nothing was changed");
        return Err(Failure::new(Status::NoInput, message));
    }
    write_sources(data, &list)?;
    print(format!("{id}: removed; its reviews stay\n").as_bytes())
}

/// Reads the sources of a folder; none without the file.
pub(super) fn read_sources(data: &Path) -> Result<RemoteList, Failure> {
    let path = data.join(SOURCES_FILE);
    let bytes = match read_bounded(&path, SOURCES_BYTES_MAX) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(RemoteList::default()),
        Err(error) => {
            let message = format!("{}: {error}", path.display());
            return Err(Failure::new(Status::Io, message));
        }
        Ok(bytes) => bytes,
    };
    RemoteList::parse(&bytes).map_err(|error| {
        let message = format!("{}: {error}", data.display());
        Failure::new(Status::Data, message)
    })
}

fn write_sources(data: &Path, list: &RemoteList) -> Result<(), Failure> {
    let checked = list.check();
    checked.map_err(|error| Failure::new(Status::Data, error.to_string()))?;
    put(&data.join(SOURCES_FILE), None, list.render().as_bytes())
}

/// Reads the token of a source from its variable or file; `None` if it has neither.
///
/// # Errors
/// If the variable or the file has none, or if others than its owner may read the file.
pub(super) fn read_token(data: &Path, source: &RemoteSource) -> Result<Option<String>, TokenError> {
    if let Some(name) = &source.token_env {
        return match std::env::var(name) {
            Ok(token) if !token.trim().is_empty() => Ok(Some(token)),
            _ => Err(TokenError::Variable(name.clone())),
        };
    }
    let Some(file) = &source.token_file else {
        return Ok(None);
    };
    let path = data.join(file);
    let mode = fs::metadata(&path)
        .map_err(|error| unreadable_token(file, error))?
        .mode();
    if mode & 0o077 != 0 {
        return Err(TokenError::Exposed {
            file: file.clone(),
            mode: mode & 0o777,
        });
    }
    let bytes =
        read_bounded(&path, TOKEN_BYTES_MAX).map_err(|error| unreadable_token(file, error))?;
    let token = String::from_utf8(bytes).map_err(|_| TokenError::NotText(file.clone()))?;
    Ok(Some(token))
}

fn unreadable_token(file: &str, error: io::Error) -> TokenError {
    TokenError::Read {
        file: file.to_owned(),
        error,
    }
}

/// Reads a file of at most `bytes_max` bytes.
pub(super) fn read_bounded(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    if fs::metadata(path)?.len() > bytes_max {
        return Err(io::Error::other(format!(
            "is larger than {bytes_max} bytes"
        )));
    }
    fs::read(path)
}
