//! `reviewd mcp`: the same server over standard input and output, for programs that start their tools themselves.
//!
//! One message a line, as the stdio transport has it; nothing but answers goes to standard output.

mod remote;

use std::io::{self, BufRead, Read, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;

use super::config::DATA_DEFAULT;
use super::exit::{Failure, Status, tell};
use super::values::{parse_base_url, parse_file_size, parse_size};
use crate::clock;
use crate::dataset;
use crate::mcp::protocol::Revision;
use crate::mcp::{Catalog, Server, Settings};
use crate::search::index::IndexOptions;
use crate::server::files::{self, Stamps};
use crate::server::process;
use crate::snapshot::{self, Snapshot};

/// Longest message in bytes; a longer one is answered with an error and skipped.
const LINE_BYTES_MAX: usize = 1 << 20;

/// The flags of `mcp`.
#[derive(Args, Clone, Debug)]
pub struct McpArgs {
    /// Public address of a running reviewd to ask, in place of data on this machine
    #[arg(long, env = "REVIEWD_URL", value_name = "URL", conflicts_with = "data", value_parser = parse_address)]
    url: Option<String>,
    /// Directory with reviews.json and its companions [default: `data` if that directory exists, else a sample]
    #[arg(long, env = "REVIEWD_DATA", value_name = "DIR")]
    data: Option<PathBuf>,
    /// Public address that the documents name
    #[arg(long, env = "REVIEWD_BASE_URL", value_name = "URL", default_value = "http://127.0.0.1:8080",
        value_parser = parse_base_url)]
    base_url: String,
    /// Largest data file that is read
    #[arg(long, env = "REVIEWD_DATA_FILE_BYTES", value_name = "SIZE", default_value = "256MiB", value_parser = parse_file_size)]
    data_file_bytes: u64,
    /// Most memory that the index of the texts may take [default: five times the texts, at least 128MiB, at most a
    /// quarter of the memory]
    #[arg(long, env = "REVIEWD_SEARCH_MEMORY", value_name = "SIZE", value_parser = parse_size)]
    search_memory: Option<u64>,
}

/// Takes the address of a reviewd, with or without the `/mcp` that set-up pages show.
fn parse_address(text: &str) -> Result<String, String> {
    parse_base_url(text.strip_suffix("/mcp").unwrap_or(text))
}

/// Answers messages until standard input ends.
///
/// # Errors
/// When the data cannot be used, or standard output is gone.
pub(super) fn run(args: &McpArgs) -> Result<(), Failure> {
    let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
    let outcome = match &args.url {
        Some(url) => {
            let mut remote = remote::Remote::new(url);
            let outcome = converse(&mut input, &mut output, |line| remote.answer(line));
            remote.end();
            outcome
        }
        None => {
            let mut local = Local::open(args)?;
            converse(&mut input, &mut output, |line| local.answer(line))
        }
    };
    outcome.map_err(|error| Failure::new(Status::Io, error.to_string()))
}

/// A server in this process, on files of this machine.
struct Local<'a> {
    args: &'a McpArgs,
    /// `None` for the sample.
    directory: Option<&'a Path>,
    seen: Stamps,
    catalog: Catalog,
    server: Server,
    revision: Revision,
}

impl<'a> Local<'a> {
    fn open(args: &'a McpArgs) -> Result<Local<'a>, Failure> {
        let usual = Path::new(DATA_DEFAULT);
        let directory = args.data.as_deref().or(usual.is_dir().then_some(usual));
        Ok(Local {
            args,
            directory,
            seen: directory.map(Stamps::of).unwrap_or_default(),
            catalog: catalog(args, directory)?,
            server: Server::new(Settings {
                base_url: args.base_url.clone(),
                allowed_origins: Vec::new(),
                allowed_hosts: Vec::new(),
                body_bytes_max: LINE_BYTES_MAX,
            }),
            revision: Revision::ASSUMED,
        })
    }

    /// Answers from the files as they are now.
    fn answer(&mut self, line: &[u8]) -> Option<Vec<u8>> {
        if let Some(directory) = self.directory {
            let stamps = Stamps::of(directory);
            if stamps != self.seen {
                self.seen = stamps;
                match catalog(self.args, self.directory) {
                    Ok(catalog) => self.catalog = catalog,
                    Err(failure) => tell(format_args!(
                        "changed data cannot be used, so answers come from the data before: {}",
                        failure.message
                    )),
                }
            }
        }
        self.server
            .answer_line(&self.catalog, line, &mut self.revision)
    }
}

/// Reads the files of a directory, or the sample.
fn catalog(args: &McpArgs, directory: Option<&Path>) -> Result<Catalog, Failure> {
    let files = match directory {
        None => dataset::embedded(),
        Some(directory) => files::read(directory, args.data_file_bytes)?,
    };
    let decoded = dataset::decode(files, clock::now())
        .map_err(|problems| Failure::new(Status::Data, problems.to_string()))?;
    let texts = decoded
        .dataset
        .reviews
        .iter()
        .map(|review| review.text.len() as u64);
    let text_bytes = texts.sum();
    let settings = snapshot::Settings {
        base_url: args.base_url.clone(),
        index: IndexOptions {
            memory_bytes: args
                .search_memory
                .unwrap_or_else(|| process::search_memory(text_bytes)),
            threads: NonZeroUsize::MIN,
        },
        mentions_min: crate::insights::MENTIONS_MIN,
    };
    let snapshot = Snapshot::build(decoded.dataset, &settings);
    Ok(Catalog::new(Arc::new(snapshot)))
}

/// Hands each line to `answer` and writes what it returns; empty lines are skipped.
fn converse(
    input: &mut impl BufRead,
    output: &mut impl Write,
    mut answer: impl FnMut(&[u8]) -> Option<Vec<u8>>,
) -> io::Result<()> {
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = input
            .take(LINE_BYTES_MAX as u64 + 1)
            .read_until(b'\n', &mut line)?;
        if read == 0 {
            return Ok(());
        }
        let is_whole = line.ends_with(b"\n") || line.len() <= LINE_BYTES_MAX;
        let answered = match is_whole {
            _ if line.trim_ascii().is_empty() => None,
            true => answer(line.trim_ascii()),
            false => {
                input.skip_until(b'\n')?;
                Some(TOO_LONG.to_vec())
            }
        };
        if let Some(answered) = answered {
            output.write_all(&answered)?;
            output.write_all(b"\n")?;
            output.flush()?;
        }
    }
}

const TOO_LONG: &[u8] =
    br#"{"jsonrpc":"2.0","error":{"code":-32600,"message":"a message must be at most 1048576 bytes"}}"#;

#[cfg(test)]
mod tests {
    use super::*;

    fn conversation(input: &[u8]) -> Vec<String> {
        let mut output = Vec::new();
        let echo = |line: &[u8]| (line != b"quiet").then(|| line.to_vec());
        converse(&mut &input[..], &mut output, echo).unwrap();
        let text = String::from_utf8(output).unwrap();
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn each_line_is_answered_by_a_line_and_notifications_by_none() {
        assert_eq!(conversation(b"a\n\r\n quiet\r\nb"), ["a", "b"]);
        assert!(conversation(b"").is_empty());
    }

    #[test]
    fn a_line_over_a_megabyte_is_refused_and_the_next_one_read() {
        let fits = "x".repeat(LINE_BYTES_MAX);
        let input = format!("{fits}\n{fits}y\nz\n");
        let lines = conversation(input.as_bytes());
        assert_eq!((lines[0] == fits, lines.len()), (true, 3));
        assert!(lines[1].contains("-32600") && lines[2] == "z");
    }

    #[test]
    fn the_address_may_name_the_endpoint() {
        let address = Ok("https://reviews.example".to_owned());
        assert_eq!(parse_address("https://reviews.example/mcp"), address);
        assert_eq!(parse_address("https://reviews.example"), address);
        assert!(parse_address("reviews.example").is_err());
    }
}
